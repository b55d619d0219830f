/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and log-softmax along any axis, computed in f32: by rows where the axis is contiguous,
 * else by blocks of columns side by side. Blocks of f16 and bf16 are converted in scratch memory.
 */
#include "kernels/cpu/norm/softmax_plan.h"

#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/simd/half_rows.h"
#include "kernels/cpu/simd/lane_sums.h"
#include "kernels/cpu/simd/simd.h"
#include "kernels/cpu/simd/vector_math.h"

/* The lanes of a row's last vector. */
typedef struct tail {
    ry_vm mask;
    ry_vf live, none; /* 1 and 0 in them, 0 and -inf in others */
} tail;

static tail tail_of(int64_t n)
{
    float live[RY_W], none[RY_W];
    for (int i = 0; i < RY_W; i++) {
        live[i] = i < n % RY_W ? 1 : 0;
        none[i] = i < n % RY_W ? 0 : -INFINITY;
    }
    return (tail){ry_vm_first(n % RY_W), ry_vf_load(live), ry_vf_load(none)};
}

static float row_maximum(const float *x, int64_t n, const tail *t)
{
    const int64_t full = n - n % RY_W;
    ry_vf m = ry_vf_add(ry_vf_load_m(x + full, t->mask), t->none), other = ry_vf_set(-INFINITY);
    m = ry_vf_max(m, other); /* a NaN is passed over: its exponential will tell */
    int64_t i = 0;
    for (; i + 2 * RY_W <= full; i += 2 * RY_W) {
        m = ry_vf_max(ry_vf_load(x + i), m);
        other = ry_vf_max(ry_vf_load(x + i + RY_W), other);
    }
    for (; i < full; i += RY_W) {
        m = ry_vf_max(ry_vf_load(x + i), m);
    }
    return ry_vf_largest(ry_vf_max(other, m));
}

RY_INLINE ry_vf exponentials(ry_vf x)
{
    float lanes[RY_W];
    ry_vf_store(lanes, x);
    for (int i = 0; i < RY_W; i++) {
        lanes[i] = f32_exp(lanes[i]);
    }
    return ry_vf_load(lanes);
}

/* Writes the exponentials of the differences from the maximum but for the tail's, which it gives,
 * and gives their sum. */
RY_INLINE float row_exponentials(float *restrict y, const float *restrict x, int64_t n,
                                 float maximum, const tail *t, ry_vf *last)
{
    const int64_t full = n - n % RY_W;
    const ry_vf minus = ry_vf_set(-maximum);
    *last = exponentials(ry_vf_fma(minus, t->live, ry_vf_load_m(x + full, t->mask))); /* 1 in dead
                                                                                         lanes:
                                                                                         subnormal
                                                                                         numbers are
                                                                                         slow */
    ry_vf sum = ry_vf_mul(*last, t->live);
    for (int64_t i = 0; i < full; i += RY_W) {
        const ry_vf e = exponentials(ry_vf_add(ry_vf_load(x + i), minus));
        ry_vf_store(y + i, e);
        sum = ry_vf_add(sum, e);
    }
    return ry_vf_sum(sum);
}

static void softmax_row(float *restrict y, const float *restrict x, int64_t n, const tail *t,
                        bool logarithm)
{
    const int64_t full = n - n % RY_W;
    ry_vf last;
    const float shift = row_maximum(x, n, t), sum = row_exponentials(y, x, n, shift, t, &last);
    if (logarithm) {
        const ry_vf less = ry_vf_set(-shift), rest = ry_vf_set(-f32_log(sum));
        for (int64_t i = 0; i < full; i += RY_W) {
            ry_vf_store(y + i, ry_vf_add(ry_vf_add(ry_vf_load(x + i), less), rest));
        }
        ry_vf_store_m(y + full, t->mask,
                      ry_vf_add(ry_vf_add(ry_vf_load_m(x + full, t->mask), less), rest));
    } else {
        const ry_vf factor = ry_vf_set(1 / sum);
        for (int64_t i = 0; i < full; i += RY_W) {
            ry_vf_store(y + i, ry_vf_mul(ry_vf_load(y + i), factor));
        }
        ry_vf_store_m(y + full, t->mask, ry_vf_mul(last, factor));
    }
}

static void add_exponentials(float *restrict y, const float *restrict x,
                             const float *restrict shift, float *restrict sum, int64_t columns)
{
    for (int64_t i = 0; i < columns; i++) {
        y[i] = f32_exp(x[i] - shift[i]);
        sum[i] += y[i];
    }
}

/* `columns` softmaxes of `length` elements that are stored `step` apart. */
static void softmax_columns(float *restrict y, const float *restrict x, int64_t length,
                            int64_t step, int64_t columns, bool logarithm)
{
    float shift[RY_LANE_COLUMNS], sum[RY_LANE_COLUMNS];
    for (int64_t i = 0; i < columns; i++) {
        shift[i] = x[i];
        sum[i] = 0;
    }
    for (int64_t k = 1; k < length; k++) {
        for (int64_t i = 0; i < columns; i++) {
            shift[i] = x[k * step + i] > shift[i] ? x[k * step + i] : shift[i];
        }
    }
    for (int64_t k = 0; k < length; k++) {
        add_exponentials(y + k * step, x + k * step, shift, sum, columns);
    }
    for (int64_t i = 0; i < columns; i++) {
        sum[i] = logarithm ? f32_log(sum[i]) : 1 / sum[i];
    }
    for (int64_t k = 0; k < length; k++) {
        for (int64_t i = 0; i < columns; i++) {
            y[k * step + i] =
                logarithm ? (x[k * step + i] - shift[i]) - sum[i] : y[k * step + i] * sum[i];
        }
    }
}

/* `columns` lanes (one, where lanes are rows) from element `at` on. */
static void softmax_block(const ry_lane_blocks *s, float *y, const float *x, int64_t step,
                          int64_t columns, const tail *t, bool logarithm)
{
    if (s->blocks == 0) {
        softmax_row(y, x, s->lanes.length, t, logarithm);
    } else {
        softmax_columns(y, x, s->lanes.length, step, columns, logarithm);
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const ry_lane_blocks *s = launch->state;
    const rynd_dtype dtype = launch->problem->in[0].dtype;
    const int64_t length = s->lanes.length, inner = s->lanes.inner;
    const bool logarithm = launch->problem->attrs.softmax.kind == RY_softmax_kind_log_softmax;
    const tail t = tail_of(length);
    float *block = launch->scratch;
    const ry_cut_range units = ry_cut_part(&s->units, task);
    for (int64_t unit = units.first; unit < units.end; unit++) {
        const ry_lane_unit u = ry_lane_blocks_unit(s, unit);
        const int64_t at = u.at, columns = u.columns;
        if (dtype == RYND_DTYPE_F32) {
            softmax_block(s, (float *)launch->out[0] + at, (const float *)launch->in[0] + at, inner,
                          columns, &t, logarithm);
            continue;
        }
        float *result = block + length * columns;
        int64_t rows = s->blocks ? length : 1, width = s->blocks ? columns : length;
        for (int64_t k = 0; k < rows; k++) {
            ry_row_load(dtype, block + k * width, launch->in[0], at + k * inner, width);
        }
        softmax_block(s, result, block, columns, columns, &t, logarithm);
        for (int64_t k = 0; k < rows; k++) {
            ry_row_store(dtype, launch->out[0], at + k * inner, result + k * width, width);
        }
    }
}

RY_CPU_KERNEL(softmax_f32, softmax, strict, .simd = RY_SIMD, .applicable = ry_softmax_applicable,
              .prepare = ry_softmax_prepare, .initialise = ry_softmax_initialise, .run = run);
