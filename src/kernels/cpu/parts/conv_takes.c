/* SPDX-License-Identifier: Apache-2.0 */
/* Which convolutions a geometry and tiles can be made for. */
#include "kernels/cpu/parts/conv_geometry.h"
#include "problem/limits.h"

static bool is_float(const ry_problem *problem, int i)
{
    const ry_dtype dtype = ry_type_of(&problem->in[i]);
    return dtype == RY_f32 || dtype == RY_f16 || dtype == RY_bf16;
}

static bool has_few_phases(const ry_problem *problem)
{
    if (problem->op != RY_OP_convt) {
        return true;
    }
    int64_t phases = 1;
    for (int i = 0; i < problem->in[0].rank - 2; i++) {
        const int64_t stride = ry_ints_get(&problem->attrs.convt.stride, i, 1);
        phases *= stride < RY_LIMIT_STRIDED_PHASES + 1 ? stride : RY_LIMIT_STRIDED_PHASES + 1;
    }
    return phases <= RY_LIMIT_STRIDED_PHASES;
}

bool ry_conv_takes_floats(const ry_problem *problem)
{
    const ry_dtype y = ry_type_of(&problem->out[0]);
    return ry_conv_is_spatial(problem) && has_few_phases(problem) && is_float(problem, 0) &&
           is_float(problem, 1) &&
           (!ry_problem_has_input(problem, 2) || ry_dtype_is_float(ry_type_of(&problem->in[2]))) &&
           (!ry_problem_has_input(problem, 3) || is_float(problem, 3)) &&
           (y == RY_f32 || y == RY_f16 || y == RY_bf16);
}

bool ry_conv_takes_i32(const ry_problem *problem)
{
    return ry_conv_is_spatial(problem) && has_few_phases(problem) &&
           ry_type_of(&problem->in[0]) == RY_i32 && ry_type_of(&problem->in[1]) == RY_i32 &&
           (!ry_problem_has_input(problem, 2) || ry_type_of(&problem->in[2]) == RY_i32) &&
           !ry_problem_has_input(problem, 3) && ry_type_of(&problem->out[0]) == RY_i32 &&
           ry_conv_activation(problem).kind == RY_activation_none;
}
