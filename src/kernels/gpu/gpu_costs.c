/* SPDX-License-Identifier: Apache-2.0 */
/* The coefficients as they stand in the table. */
#include "kernels/gpu/gpu_costs.h"

static const ry_gpu_costs rows[RY_GPU_COST_ROWS] = {
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

const ry_gpu_costs *ry_gpu_costs_of(const ry_machine *machine)
{
    return &rows[ry_gpu_costs_row(machine)];
}
