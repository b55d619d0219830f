/* SPDX-License-Identifier: Apache-2.0 */
/* Includes the text RY_LANE_TEXT once for each numeric element type. The text finds defined:
 *   LANE(name)    name, followed by _ and the type
 *   ELEMENT, SUM  the type as stored, and that of sums and weights
 *   LOAD(e)       an element as a SUM
 *   LOAD_ONE(e)   the same where the loop is not vectorised; undefined: LOAD
 *   STORE(s)      a SUM as an element; integers take the nearest number of their range
 * and undefines them at its end. */
#include "kernels/cpu/simd/half.h"

#include <math.h>

/* Halves round to even. */
static inline double lane_round(double s, double low, double high)
{
    const double r = rint(s);
    return r < low ? low : r > high ? high : r;
}

#define LANE(name) name##_f32
#define ELEMENT    float
#define SUM        float
#define LOAD(e)    (e)
#define STORE(s)   (s)
#include RY_LANE_TEXT

#define LANE(name)  name##_f16
#define ELEMENT     uint16_t
#define SUM         float
#define LOAD(e)     ry_f16_to_f32_inline(e)
#define LOAD_ONE(e) ry_f16_to_f32_alone(e)
#define STORE(s)    ry_f32_to_f16_inline(s)
#include RY_LANE_TEXT

#define LANE(name) name##_bf16
#define ELEMENT    uint16_t
#define SUM        float
#define LOAD(e)    ry_bf16_to_f32_inline(e)
#define STORE(s)   ry_f32_to_bf16_inline(s)
#include RY_LANE_TEXT

#define LANE(name) name##_f64
#define ELEMENT    double
#define SUM        double
#define LOAD(e)    (e)
#define STORE(s)   (s)
#include RY_LANE_TEXT

#define LANE(name) name##_i8
#define ELEMENT    int8_t
#define SUM        double
#define LOAD(e)    (double)(e)
#define STORE(s)   (int8_t) lane_round(s, -0x1p7, 0x1p7 - 1)
#include RY_LANE_TEXT

#define LANE(name) name##_i16
#define ELEMENT    int16_t
#define SUM        double
#define LOAD(e)    (double)(e)
#define STORE(s)   (int16_t) lane_round(s, -0x1p15, 0x1p15 - 1)
#include RY_LANE_TEXT

#define LANE(name) name##_i32
#define ELEMENT    int32_t
#define SUM        double
#define LOAD(e)    (double)(e)
#define STORE(s)   (int32_t) lane_round(s, -0x1p31, 0x1p31 - 1)
#include RY_LANE_TEXT

#define LANE(name) name##_u8
#define ELEMENT    uint8_t
#define SUM        double
#define LOAD(e)    (double)(e)
#define STORE(s)   (uint8_t) lane_round(s, 0, 0x1p8 - 1)
#include RY_LANE_TEXT

#define LANE(name) name##_u16
#define ELEMENT    uint16_t
#define SUM        double
#define LOAD(e)    (double)(e)
#define STORE(s)   (uint16_t) lane_round(s, 0, 0x1p16 - 1)
#include RY_LANE_TEXT

#define LANE(name) name##_u32
#define ELEMENT    uint32_t
#define SUM        double
#define LOAD(e)    (double)(e)
#define STORE(s)   (uint32_t) lane_round(s, 0, 0x1p32 - 1)
#include RY_LANE_TEXT

#define LANE(name) name##_i64
#define ELEMENT    int64_t
#define SUM        double
#define LOAD(e)    (double)(e)
#define STORE(s)   ((s) >= 0x1p63 ? INT64_MAX : (int64_t)lane_round(s, -0x1p63, 0x1p63))
#include RY_LANE_TEXT

#define LANE(name) name##_u64
#define ELEMENT    uint64_t
#define SUM        double
#define LOAD(e)    (double)(e)
#define STORE(s)   ((s) >= 0x1p64 ? UINT64_MAX : (uint64_t)lane_round(s, 0, 0x1p64))
#include RY_LANE_TEXT

/* A table by rynd_dtype: the functions LANE(name) of each type; bool has those of u8. */
#define RY_LANE_TABLE(ENTRY)                                                                       \
    [RYND_DTYPE_F32] = ENTRY(f32), [RYND_DTYPE_F16] = ENTRY(f16), [RYND_DTYPE_BF16] = ENTRY(bf16), \
    [RYND_DTYPE_F64] = ENTRY(f64), [RYND_DTYPE_I8] = ENTRY(i8), [RYND_DTYPE_I16] = ENTRY(i16),     \
    [RYND_DTYPE_I32] = ENTRY(i32), [RYND_DTYPE_U8] = ENTRY(u8), [RYND_DTYPE_U16] = ENTRY(u16),     \
    [RYND_DTYPE_U32] = ENTRY(u32), [RYND_DTYPE_I64] = ENTRY(i64), [RYND_DTYPE_U64] = ENTRY(u64),   \
    [RYND_DTYPE_BOOL] = ENTRY(u8)
