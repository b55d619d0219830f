/* SPDX-License-Identifier: Apache-2.0 */
/* Reads depthwise problems. */
#include "kernels/cpu/depthwise/depthwise_problem.h"

#include <string.h>

static bool is_float(const ry_problem *problem, int i)
{
    const ry_dtype dtype = ry_type_of(&problem->in[i]);
    return dtype == RY_f32 || dtype == RY_f16 || dtype == RY_bf16;
}

bool ry_depthwise_is(const ry_problem *problem, int64_t max)
{
    if (!ry_conv_is_spatial(problem) || ry_conv_has_phase_bias(problem)) {
        return false;
    }
    ry_conv_geometry g;
    ry_conv_geometry_of(problem, &g, NULL, NULL);
    const ry_dtype y = ry_type_of(&problem->out[0]);
    return g.groups > 1 && g.channels_in <= max && is_float(problem, 0) && is_float(problem, 1) &&
           (y == RY_f32 || y == RY_f16 || y == RY_bf16) &&
           (!ry_problem_has_input(problem, 2) || ry_dtype_is_float(ry_type_of(&problem->in[2]))) &&
           (!ry_problem_has_input(problem, 3) || is_float(problem, 3));
}

void ry_depthwise_read(const ry_problem *problem, ry_conv_geometry *geometry, ry_conv_phase *phase)
{
    ry_conv_geometry_of(problem, geometry, NULL, NULL);
    memset(phase, 0, sizeof *phase);
    const int missing = RY_SPACE - (problem->in[0].rank - 2);
    for (int i = 0; i < RY_SPACE; i++) {
        const int listed = i - missing;
        geometry->dilation[i] = geometry->kernel[i] == 1 ? 1 : geometry->dilation[i];
        phase->grid[i] = geometry->out[i];
        phase->y_step[i] = listed < 0 ? 0 : problem->out[0].stride[listed + 2];
        phase->r_step[i] =
            listed < 0 || !ry_problem_has_input(problem, 3) ? 0 : problem->in[3].stride[listed + 2];
    }
    /* with one row of output a vertical stride means nothing */
    if (geometry->out[1] == 1 && geometry->kernel[1] == 1) {
        geometry->stride[1] = geometry->stride[2];
    }
}

float ry_depthwise_weight(const ry_cpu_launch *launch, const ry_conv_geometry *g, int64_t k,
                          int64_t i, int64_t t, int64_t r, int64_t s)
{
    const int64_t at = k / g->channels_out * g->w_group + k % g->channels_out * g->w_out +
                       i * g->w_in + g->w_first + t * g->w_step[0] + r * g->w_step[1] +
                       s * g->w_step[2];
    return (float)ry_get_f64(ry_type_of(&launch->problem->in[1]), launch->in[1], at);
}

float ry_depthwise_bias(const ry_cpu_launch *launch, int64_t k)
{
    const ry_tensor *bias = &launch->problem->in[2];
    return ry_problem_has_input(launch->problem, 2)
               ? (float)ry_get_f64(ry_type_of(bias), launch->in[2], k * bias->stride[0])
               : 0.0f;
}
