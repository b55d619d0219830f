/* SPDX-License-Identifier: Apache-2.0 */
/* The types that loops compute in. */
#include "kernels/cpu/expr/expr_plan.h"

ry_loop_type ry_expr_loop_type(ry_dtype dtype)
{
    static const ry_loop_type types[RY_DTYPES] = {
        [RY_f16] = RY_LOOP_f32,
        [RY_bf16] = RY_LOOP_f32,
        [RY_bool] = RY_LOOP_u8,
#define RY_LOOP_FLOAT(name, type)                        [RY_##name] = RY_LOOP_##name,
#define RY_LOOP_INT(name, type, wide, low, high, beyond) [RY_##name] = RY_LOOP_##name,
#include "kernels/cpu/expr/expr_types.inc"
#undef RY_LOOP_FLOAT
#undef RY_LOOP_INT
    };
    return types[dtype];
}

uint32_t ry_expr_loop_size(ry_loop_type type)
{
    static const uint32_t sizes[RY_LOOP_TYPES] = {
#define RY_LOOP_FLOAT(name, type)                        sizeof(type),
#define RY_LOOP_INT(name, type, wide, low, high, beyond) sizeof(type),
#include "kernels/cpu/expr/expr_types.inc"
#undef RY_LOOP_FLOAT
#undef RY_LOOP_INT
    };
    return sizes[type];
}
