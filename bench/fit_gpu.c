/* SPDX-License-Identifier: Apache-2.0 */
#include "fit_gpu.h"

#include <stdio.h>
#include <string.h>

static ry_gpu_costs rows[RY_GPU_COST_ROWS] = {
    {
#define RY_GPU_COST(name, gpu, pocl, intel) .name = gpu,
#include "kernels/gpu/gpu_costs.inc"
#undef RY_GPU_COST
    },
    {
#define RY_GPU_COST(name, gpu, pocl, intel) .name = pocl,
#include "kernels/gpu/gpu_costs.inc"
#undef RY_GPU_COST
    },
    {
#define RY_GPU_COST(name, gpu, pocl, intel) .name = intel,
#include "kernels/gpu/gpu_costs.inc"
#undef RY_GPU_COST
    },
};

static const char *const names[] = {
#define RY_GPU_COST(name, gpu, pocl, intel) #name,
#include "kernels/gpu/gpu_costs.inc"
#undef RY_GPU_COST
};
enum { COUNT = sizeof names / sizeof *names };

const ry_gpu_costs *ry_gpu_costs_of(const ry_machine *machine)
{
    return &rows[ry_gpu_costs_row(machine)];
}

const char *fit_gpu_name(int i)
{
    return i < COUNT ? names[i] : NULL;
}

double *fit_gpu_value(int row, int i)
{
    return (double *)(void *)&rows[row] + i;
}

static bool set_one(int row, const char *name, double value)
{
    for (int i = 0; i < COUNT; i++) {
        if (strcmp(names[i], name) == 0) {
            *fit_gpu_value(row, i) = value;
            return true;
        }
    }
    return false;
}

bool fit_gpu_set(int row, const char *text)
{
    char name[64];
    double value;
    int length;
    for (; sscanf(text, " %63[a-z0-9_]=%lf%n", name, &value, &length) == 2; text += length) {
        if (!set_one(row, name, value)) {
            return false;
        }
    }
    return text[strspn(text, " ")] == 0;
}
