/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator's loops that dequantise and quantise bytes in one pass. */
#include "base/integer.h"
#include "kernels/cpu/expr/expr_loops.h"
#include "kernels/cpu/simd/simd.h"
#include "kernels/cpu/simd/simd_int8.h"
#include "kernels/cpu/simd/vector_math.h"

/* One instruction where the compiler's vectors have one: the same bits as f32_round. */
#if defined(__SSE4_1__) || defined(__aarch64__)
#define ROUND(v) __builtin_rintf(v)
#else
#define ROUND(v) f32_round(v)
#endif

enum { BLOCK = 32 * RY_W }; /* floats between two passes */

/* t = round(round(p / s) + z) within the bounds; NaN becomes 0. Bounds are vector functions: GCC
 * makes chains of masks of comparisons in C. t has room for a full last vector. */
static void quantise_block(int64_t n, float *restrict t, const float *restrict p, float z, float s,
                           float low, float high)
{
    for (int64_t i = 0; i < n; i++) {
        const float v = ROUND(ROUND(p[i] / s) + z);
        t[i] = v == v ? v : 0;
    }
    for (int64_t i = 0; i < n; i += RY_W) {
        const ry_vf raised = ry_vf_max(ry_vf_set(low), ry_vf_load(t + i));
        ry_vf_store(t + i, ry_vf_min(ry_vf_set(high), raised));
    }
}

#define BYTES(name, TYPE, LOW, HIGH)                                                           \
    static void dequantise_##name(size_t n, void *restrict y, const void *a, const void *zero, \
                                  const void *scale)                                           \
    {                                                                                          \
        float *restrict r = y;                                                                 \
        const TYPE *p = a;                                                                     \
        const uint32_t z = *(const uint32_t *)zero;                                            \
        const float s = *(const float *)scale;                                                 \
        for (size_t i = 0; i < n; i++) {                                                       \
            r[i] = (float)(int32_t)((uint32_t)(int32_t)p[i] - z) * s;                          \
        }                                                                                      \
    }                                                                                          \
    static void quantise_##name(size_t n, void *restrict y, const void *a, const void *zero,   \
                                const void *scale)                                             \
    {                                                                                          \
        float t[BLOCK] = {0};                                                                  \
        for (int64_t at = 0; at < (int64_t)n; at += BLOCK) {                                   \
            const int64_t count = ry_min((int64_t)n - at, BLOCK);                              \
            TYPE *restrict r = (TYPE *)y + at;                                                 \
            quantise_block(count, t, (const float *)a + at, *(const float *)zero,              \
                           *(const float *)scale, LOW, HIGH);                                  \
            for (int64_t i = 0; i < count; i++) {                                              \
                r[i] = (TYPE)(int32_t)t[i];                                                    \
            }                                                                                  \
        }                                                                                      \
    }

BYTES(u8, uint8_t, 0, UINT8_MAX)
BYTES(i8, int8_t, INT8_MIN, INT8_MAX)

/* The same of whole zero points, which need no second rounding. The bounds come first; NaN becomes
 * the lower one. */
static void quantise_whole(size_t n, uint8_t *restrict y, const float *p, float z, float s)
{
    const ry_vf low = ry_vf_set(0 - z), high = ry_vf_set(UINT8_MAX - z), scale = ry_vf_set(s);
    const ry_vi zero = ry_vi_set((int32_t)z);
    for (size_t i = 0; i < n; i += RY_W) {
        const int64_t rest = (int64_t)(n - i);
        const ry_vf x = rest >= RY_W ? ry_vf_load(p + i) : ry_vf_load_m(p + i, ry_vm_first(rest));
        const ry_vf v = ry_vf_min(high, ry_vf_max(ry_vf_div(x, scale), low));
        ry_vi_store_u8(y + i, rest, ry_vi_add(ry_vi_round(v), zero));
    }
}

static void quantise_bytes(size_t n, void *restrict y, const void *a, const void *zero,
                           const void *scale)
{
    const float z = *(const float *)zero;
    if (z == ROUND(z) && z >= INT16_MIN && z <= INT16_MAX) {
        quantise_whole(n, y, a, z, *(const float *)scale);
    } else {
        quantise_u8(n, y, a, zero, scale);
    }
}

const ry_expr_loop RY_ISA_SYMBOL(expr_dequantise)[RY_LOOP_TYPES] = {
    [RY_LOOP_u8] = dequantise_u8, [RY_LOOP_i8] = dequantise_i8};
const ry_expr_loop RY_ISA_SYMBOL(expr_quantise)[RY_LOOP_TYPES] = {
    [RY_LOOP_u8] = quantise_bytes, [RY_LOOP_i8] = quantise_i8};
