/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of wgrad_correlate.h for every number of taps whose sums registers hold. */
#include "kernels/cpu/wgrad/wgrad_correlate.h"

#include "base/integer.h"
#include "kernels/cpu/simd/simd.h"
#include "kernels/cpu/wgrad/wgrad_direct_plan.h"

RY_INLINE void correlate(const float *dy, const float *x, const int64_t *shift, const int taps,
                         int64_t vectors, float *sums)
{
    ry_vf sum[WGRAD_MAX_TAPS];
    const float *at[WGRAD_MAX_TAPS];
#pragma GCC unroll 9
    for (int i = 0; i < taps; i++) {
        sum[i] = ry_vf_load(sums + i * RY_W);
        at[i] = x + shift[i];
    }
    for (int64_t j = 0; j < vectors * RY_W; j += RY_W) {
        const ry_vf d = ry_vf_load(dy + j);
#pragma GCC unroll 9
        for (int i = 0; i < taps; i++) {
            sum[i] = ry_vf_fma(d, ry_vf_load(at[i] + j), sum[i]);
        }
    }
#pragma GCC unroll 9
    for (int i = 0; i < taps; i++) {
        ry_vf_store(sums + i * RY_W, sum[i]);
    }
}

#define EACH_TAPS(of) of(1) of(2) of(3) of(4) of(5) of(6) of(7) of(8) of(9)
#define OF_TAPS(taps)                                                                   \
    static void correlate_##taps(const float *dy, const float *x, const int64_t *shift, \
                                 int64_t vectors, float *sums)                          \
    {                                                                                   \
        correlate(dy, x, shift, taps, vectors, sums);                                   \
    }
EACH_TAPS(OF_TAPS)

typedef void (*correlate_function)(const float *dy, const float *x, const int64_t *shift,
                                   int64_t vectors, float *sums);
#define NAME_OF(taps) correlate_##taps,
static const correlate_function functions[WGRAD_MAX_TAPS] = {EACH_TAPS(NAME_OF)};

void RY_ISA_SYMBOL(wgrad_correlate)(const float *dy, const float *x, const int64_t *shift,
                                    int64_t taps, int64_t vectors, float *sums)
{
    const int64_t pieces = ry_ceil_div(taps, WGRAD_MAX_TAPS), each = taps / pieces,
                  extra = taps % pieces;
    for (int64_t piece = 0, tap = 0; piece < pieces; piece++) {
        const int64_t count = each + (piece < extra);
        functions[count - 1](dy, x, shift + tap, vectors, sums + tap * RY_W);
        tap += count;
    }
}
