/* SPDX-License-Identifier: Apache-2.0 */
/* Local response normalisation across channels, computed in f32: NCHW by blocks of positions side
 * by side, NHWC by rows of channels. */
#include "kernels/cpu/norm/lrn_plan.h"

#include "base/integer.h"
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/simd/half_rows.h"
#include "kernels/cpu/simd/simd.h"
#include "kernels/cpu/simd/vector_math.h"

typedef struct formula {
    float bias, factor, beta;
} formula;

/* y = x * (bias + factor * sum) ^ -beta. The usual beta of 3/4 is two square roots. */
static void scale(float *restrict y, const float *restrict x, const float *restrict sum, int64_t n,
                  formula f)
{
    if (f.beta == 0.75f) {
        for (int64_t i = 0; i < n; i++) {
            float root = sqrtf(f.bias + f.factor * sum[i]);
            y[i] = x[i] / (root * sqrtf(root));
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            y[i] = x[i] / f32_pow(f.bias + f.factor * sum[i], f.beta);
        }
    }
}

/* sum (0 if `first`) plus x * x, and plus z * z where there are two rows. */
RY_INLINE void add_squares(float *restrict sum, const float *restrict x, const float *restrict z,
                           const bool first, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const float square = x[i] * x[i], one = first ? square : sum[i] + square;
        sum[i] = z ? one + z[i] * z[i] : one;
    }
}

/* n elements from element `at` on as floats: where they are, or in `buffer`. */
RY_INLINE const float *floats_at(rynd_dtype dtype, const void *x, int64_t at, int64_t n,
                                 float *buffer)
{
    if (dtype == RYND_DTYPE_F32) {
        return (const float *)x + at;
    }
    ry_row_load(dtype, buffer, x, at, n);
    return buffer;
}

/* y = scale(x) of n elements from element `at` on; `buffer` has x if it is not f32. */
RY_INLINE void scale_at(rynd_dtype dtype, void *y, int64_t at, const float *x, const float *sum,
                        int64_t n, float *buffer, formula f)
{
    if (dtype == RYND_DTYPE_F32) {
        scale((float *)y + at, x, sum, n, f);
    } else {
        scale(buffer, x, sum, n, f);
        ry_row_store(dtype, y, at, buffer, n);
    }
}

RY_INLINE void columns_of(const ry_cpu_launch *launch, rynd_dtype dtype, int64_t at,
                          int64_t columns, int64_t size, formula f)
{
    const ry_lane_blocks *s = launch->state;
    const int64_t channels = s->lanes.length, step = s->lanes.inner;
    float sum[RY_LANE_COLUMNS], row[RY_LANE_COLUMNS], next[RY_LANE_COLUMNS],
        result[RY_LANE_COLUMNS];
    for (int64_t c = 0; c < channels; c++) {
        int64_t k = ry_clamp(c - (size - 1) / 2, 0, channels);
        const int64_t end = ry_clamp(c + size / 2 + 1, 0, channels);
        add_squares(sum, floats_at(dtype, launch->in[0], at + k * step, columns, row), NULL, true,
                    columns);
        for (k++; k + 1 < end; k += 2) {
            add_squares(sum, floats_at(dtype, launch->in[0], at + k * step, columns, row),
                        floats_at(dtype, launch->in[0], at + (k + 1) * step, columns, next), false,
                        columns);
        }
        if (k < end) {
            add_squares(sum, floats_at(dtype, launch->in[0], at + k * step, columns, row), NULL,
                        false, columns);
        }
        const float *x = floats_at(dtype, launch->in[0], at + c * step, columns, row);
        scale_at(dtype, launch->out[0], at + c * step, x, sum, columns, result, f);
    }
}

/* scratch: three rows of floats */
RY_INLINE void row_of(const ry_cpu_launch *launch, rynd_dtype dtype, int64_t at, int64_t size,
                      formula f)
{
    const int64_t channels = ((const ry_lane_blocks *)launch->state)->lanes.length;
    float *sum = launch->scratch, *result = sum + 2 * channels;
    const float *x = floats_at(dtype, launch->in[0], at, channels, sum + channels);
    memset(sum, 0, (size_t)channels * sizeof *sum);
    for (int64_t k = -((size - 1) / 2); k <= size / 2; k++) {
        int64_t first = ry_clamp(-k, 0, channels), end = ry_clamp(channels - k, first, channels);
        if (first < end) {
            add_squares(sum + first, x + first + k, NULL, false, end - first);
        }
    }
    scale_at(dtype, launch->out[0], at, x, sum, channels, result, f);
}

/* Inlined with a constant type for f32, whose rows need no copies. */
RY_INLINE void run_units(const ry_cpu_launch *launch, rynd_dtype dtype, size_t task)
{
    const ry_lane_blocks *s = launch->state;
    const ry_lrn_attrs *a = &launch->problem->attrs.lrn;
    const formula f = {(float)a->bias, (float)(a->alpha / (double)a->size), (float)a->beta};
    const int64_t channels = s->lanes.length, size = ry_min(a->size, 2 * channels);
    const ry_cut_range units = ry_cut_part(&s->units, task);
    for (int64_t unit = units.first; unit < units.end; unit++) {
        if (s->blocks == 0) {
            row_of(launch, dtype, unit * channels, size, f);
        } else {
            const ry_lane_unit u = ry_lane_blocks_unit(s, unit);
            columns_of(launch, dtype, u.at, u.columns, size, f);
        }
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const rynd_dtype dtype = launch->problem->in[0].dtype;
    if (dtype == RYND_DTYPE_F32) {
        run_units(launch, RYND_DTYPE_F32, task);
    } else {
        run_units(launch, dtype, task);
    }
}

RY_CPU_KERNEL(lrn_f32, lrn, strict, .simd = RY_SIMD, .applicable = ry_lrn_applicable,
              .prepare = ry_lrn_prepare, .initialise = ry_lrn_initialise, .run = run);
