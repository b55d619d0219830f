/* SPDX-License-Identifier: Apache-2.0 */
/* The coefficients of GPUs' kernels (gpu_costs.inc), a row for each kind of machine. */
#ifndef RY_KERNELS_GPU_GPU_COSTS_H
#define RY_KERNELS_GPU_GPU_COSTS_H

#include "machine/machine.h"

#include <string.h>

typedef struct ry_gpu_costs {
#define RY_GPU_COST(name, gpu, pocl, intel) double name;
#include "kernels/gpu/gpu_costs.inc"
#undef RY_GPU_COST
} ry_gpu_costs;

enum { RY_GPU_COST_ROWS = 3 };

/* Which row a machine has: a number of gpu_costs.inc's columns. */
static inline int ry_gpu_costs_row(const ry_machine *machine)
{
    return strcmp(machine->architecture, "PoCL") == 0           ? 1
           : strcmp(machine->architecture, "Intel OpenCL") == 0 ? 2
                                                                : 0;
}

/* bench/fit replaces this function to vary the costs. */
const ry_gpu_costs *ry_gpu_costs_of(const ry_machine *machine);

#endif
