/* SPDX-License-Identifier: Apache-2.0 */
/* The text of the quantised depthwise convolution, channels last: included once for quads of taps
 * and once for pairs. LANE: its kind of lane (ry_lane); PARTS: lanes of a quad;
 * DOT: the product of one. */
#include "base/integer.h"
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/qconv/qdepthwise_plan.h"
#include "kernels/cpu/qconv/requantise.h"

#include <string.h>

enum { BYTES = 4 * RY_W }; /* channels of a block */

/* A block's packed memory: weights [column of the window][quad][vector], starts, scales; each
 * vector in the order of ry_vi_interleave_bytes. */
typedef struct block {
    const int32_t *weights, *start;
    const float *scale;
} block;

static block block_of(const qdepthwise_plan *plan, const void *packed, int64_t index)
{
    const char *at = (const char *)packed + index * plan->block_bytes;
    const int64_t weights = plan->lanes * plan->kernel[2] * QDEPTHWISE_TAPS * BYTES;
    return (block){(const int32_t *)(const void *)at, (const int32_t *)(const void *)(at + weights),
                   (const float *)(const void *)(at + weights + BYTES * (int64_t)sizeof(int32_t))};
}

/* The last block overlaps the one before instead of ending within a vector: both compute the shared
 * channels, with the same bits. */
static int64_t first_channel(const qdepthwise_plan *plan, int64_t index)
{
    return ry_min(index * BYTES, ry_max(plan->channels - BYTES, 0));
}

/* lane[i]: the channel whose taps lane i of the four vectors of a block holds. */
static void find_lanes(int32_t lane[BYTES])
{
    uint8_t iota[BYTES], zero[BYTES] = {0};
    for (int i = 0; i < BYTES; i++) {
        iota[i] = (uint8_t)i;
    }
    ry_vi q[QDEPTHWISE_TAPS];
    const ry_vi none = ry_vi_load_bytes(zero, BYTES);
    ry_vi_interleave_bytes(ry_vi_load_bytes(iota, BYTES), none, none, none, q);
    for (int i = 0; i < QDEPTHWISE_TAPS; i++) {
        ry_vi_store(lane + i * RY_W, q[i]);
    }
}

static void pack(const ry_cpu_launch *launch, size_t task)
{
    const qdepthwise_plan *plan = launch->state;
    const ry_problem *problem = launch->problem;
    const int64_t taps = plan->rows * plan->kernel[2], first = first_channel(plan, (int64_t)task);
    const int8_t *w = launch->in[1];
    int32_t lane[BYTES];
    find_lanes(lane);
    char *at = (char *)launch->packed_out + (int64_t)task * plan->block_bytes;
    int32_t *start = (int32_t *)(void *)(at + plan->lanes * plan->kernel[2] * 4 * BYTES);
    float *scale = (float *)(void *)(start + BYTES);
    for (int64_t i = 0; i < BYTES; i++) {
        const int64_t channel = first + lane[i];
        const bool real = channel < plan->channels;
        int32_t sum = 0;
        for (int64_t s = 0; s < plan->kernel[2]; s++) {
            for (int64_t r = 0; r < plan->quads * QDEPTHWISE_TAPS; r++) {
                const int64_t lane_of_tap = r / QDEPTHWISE_TAPS * PARTS + r % PARTS;
                const int32_t weight =
                    real && r < plan->rows ? w[channel * taps + r * plan->kernel[2] + s] : 0;
                if (lane_of_tap < plan->lanes) {
                    char *to = at + ((s * plan->lanes + lane_of_tap) * BYTES + i) * 4;
                    memcpy(to + r % QDEPTHWISE_TAPS / PARTS * PARTS, &weight, PARTS);
                }
                sum += weight;
            }
        }
        const int32_t bias =
            real && ry_problem_has_input(problem, 2)
                ? ((const int32_t *)launch->in[2])[channel * problem->in[2].stride[0]]
                : 0;
        start[i] = (int32_t)((uint32_t)bias -
                             (uint32_t)(problem->attrs.qconv.x_zero - ry_lane_offset(LANE)) *
                                 (uint32_t)sum);
        scale[i] = real && ry_problem_has_input(problem, 4)
                       ? ((const float *)launch->in[4])[channel * problem->in[4].stride[0]]
                       : 0;
    }
}

/* The rows of x that a row of outputs covers, NULL where they are padding: `quad` of them from tap
 * `first` on. */
static void find_rows(const qdepthwise_plan *plan, const uint8_t *image, const int64_t q[2],
                      int64_t first, const uint8_t *row[QDEPTHWISE_TAPS])
{
    for (int64_t j = 0; j < QDEPTHWISE_TAPS; j++) {
        const int64_t r = first + j, t = r / plan->kernel[1];
        const int64_t at[2] = {q[0] * plan->stride[0] + t * plan->dilation[0] - plan->before[0],
                               q[1] * plan->stride[1] + r % plan->kernel[1] * plan->dilation[1] -
                                   plan->before[1]};
        const bool inside = r < plan->rows && at[0] >= 0 && at[0] < plan->in[0] && at[1] >= 0 &&
                            at[1] < plan->in[1];
        row[j] = inside ? image + at[0] * plan->x_step[0] + at[1] * plan->x_step[1] : NULL;
    }
}

RY_INLINE ry_vi load_row(const uint8_t *row, int64_t at, int64_t channels, bool full, ry_vi zero)
{
    return !row   ? zero
           : full ? ry_vi_load_bytes(row + at, BYTES)
                  : ry_vi_load_bytes(row + at, channels);
}

/* Stores the first `parts` lanes of each quad. */
RY_INLINE void store_quads(const ry_vi v[QDEPTHWISE_TAPS], int64_t parts, int32_t *to)
{
#pragma GCC unroll 4
    for (int k = 0; k < QDEPTHWISE_TAPS; k++) {
        ry_vi_store(to + k * RY_W, PARTS == 1 ? v[k] : ry_vi_even_bytes(v[k]));
        if (parts > 1) {
            ry_vi_store(to + BYTES + k * RY_W, ry_vi_odd_bytes(v[k]));
        }
    }
}

/* Interleaves columns [from, from + columns) of x, which may lie outside of it. */
static void interleave(const qdepthwise_plan *plan, const uint8_t *image, const int64_t q[2],
                       int64_t from, int64_t columns, int64_t channels, uint8_t x_zero, int32_t *to)
{
    const ry_vi zero = ry_vi_set((int32_t)((uint32_t)x_zero * 0x01010101u));
    const bool full = channels >= BYTES;
    for (int64_t d = 0; d < plan->quads; d++) {
        const uint8_t *row[QDEPTHWISE_TAPS];
        find_rows(plan, image, q, d * QDEPTHWISE_TAPS, row);
        for (int64_t i = 0; i < columns; i++) {
            ry_vi v[QDEPTHWISE_TAPS] = {zero, zero, zero, zero};
            const int64_t column = from + i, at = column * plan->x_step[2];
            if (column >= 0 && column < plan->in[2]) {
                ry_vi_interleave_bytes(load_row(row[0], at, channels, full, zero),
                                       load_row(row[1], at, channels, full, zero),
                                       load_row(row[2], at, channels, full, zero),
                                       load_row(row[3], at, channels, full, zero), v);
            }
            store_quads(v, ry_min(PARTS, plan->lanes - d * PARTS),
                        to + (i * plan->lanes + d * PARTS) * BYTES);
        }
    }
}

/* Sums of an output: `lanes` lanes a column of the window, of `taps` columns `step` elements
 * apart. */
RY_INLINE void add_taps(const int32_t *x, const block *b, const int64_t lanes, const int64_t taps,
                        int64_t step, ry_vi sum[QDEPTHWISE_TAPS])
{
#pragma GCC unroll 4
    for (int k = 0; k < QDEPTHWISE_TAPS; k++) {
        sum[k] = ry_vi_load(b->start + k * RY_W);
    }
    const int32_t *w = b->weights;
    for (int64_t s = 0; s < taps; s++, x += step) {
        for (int64_t d = 0; d < lanes; d++, w += BYTES) {
#pragma GCC unroll 4
            for (int k = 0; k < QDEPTHWISE_TAPS; k++) {
                sum[k] =
                    DOT(ry_vi_load(x + d * BYTES + k * RY_W), ry_vi_load(w + k * RY_W), sum[k]);
            }
        }
    }
}

/* An output of bytes. */
RY_INLINE void output(const int32_t *x, const block *b, const int64_t lanes, const int64_t taps,
                      int64_t step, const ry_ends *ends, uint8_t *y, int64_t channels)
{
    ry_vi sum[QDEPTHWISE_TAPS];
    add_taps(x, b, lanes, taps, step, sum);
#pragma GCC unroll 4
    for (int k = 0; k < QDEPTHWISE_TAPS; k++) {
        sum[k] =
            ry_round_below(ends->y.high, ry_scale_sums(sum[k], ry_vf_load(b->scale + k * RY_W)));
    }
    ry_vi_store_bytes(y, channels, ry_vi_join_bytes(sum, &ends->pack));
}

/* Where a strip of outputs comes from and goes to. */
typedef struct strip_ends {
    const int32_t *x; /* interleaved columns */
    int64_t step;     /* elements from a column of the window to the next one */
    int64_t next;     /* the same from output to output */
    const block *block;
    const ry_ends *how;
    uint8_t *y;
    int64_t y_step, channels;
} strip_ends;

/* Outputs of a window of few taps. The weights of `some` vectors stay in registers at a time; the rounded
 * sums of the others wait in memory. */
RY_INLINE void strip_window(const strip_ends *e, int64_t count, const int lanes, const int taps,
                            const int some)
{
    enum { OUTPUTS = 16, MOST = 16 };
    const ry_byte_pack pack = e->how->pack;
    const ry_vf high = e->how->y.high;
    const block b = *e->block;
    for (int64_t first = 0; first < count; first += OUTPUTS) {
        const int64_t here = ry_min(OUTPUTS, count - first);
        uint8_t *y = e->y + first * e->y_step;
        ry_vi rounded[OUTPUTS][QDEPTHWISE_TAPS];
        for (int k = 0; k < QDEPTHWISE_TAPS; k += some) {
            ry_vi w[MOST][QDEPTHWISE_TAPS];
#pragma GCC unroll 16
            for (int t = 0; t < taps * lanes; t++) {
#pragma GCC unroll 4
                for (int v = 0; v < some; v++) {
                    w[t][v] = ry_vi_load(b.weights + t * BYTES + (k + v) * RY_W);
                }
            }
            for (int64_t i = 0; i < here; i++) {
                const int32_t *x = e->x + (first + i) * e->next + k * RY_W;
                ry_vi sum[QDEPTHWISE_TAPS];
#pragma GCC unroll 4
                for (int v = 0; v < some; v++) {
                    sum[v] = ry_vi_load(b.start + (k + v) * RY_W);
#pragma GCC unroll 16
                    for (int t = 0; t < taps * lanes; t++) {
                        const int32_t *at = x + t / lanes * e->step + t % lanes * BYTES + v * RY_W;
                        sum[v] = DOT(ry_vi_load(at), w[t][v], sum[v]);
                    }
                    const ry_vf scale = ry_vf_load(b.scale + (k + v) * RY_W);
                    sum[v] = ry_round_below(high, ry_scale_sums(sum[v], scale));
                    if (some < QDEPTHWISE_TAPS) {
                        rounded[i][k + v] = sum[v];
                    }
                }
                if (some == QDEPTHWISE_TAPS) {
                    ry_vi_store_bytes(y + i * e->y_step, e->channels, ry_vi_join_bytes(sum, &pack));
                }
            }
        }
        for (int64_t i = 0; some < QDEPTHWISE_TAPS && i < here; i++) {
            ry_vi_store_bytes(y + i * e->y_step, e->channels, ry_vi_join_bytes(rounded[i], &pack));
        }
    }
}

/* Vectors at once in windows of 3x3 and 5x5, by registers; of 7x7: one, of quads. */
#if RY_TILE_ROWS * RY_TILE_VECTORS > 16
enum { SOME_3 = 4 / PARTS, SOME_5 = 2 / PARTS };
#else
enum { SOME_3 = 2 / PARTS, SOME_5 = 1 };
#endif

/* A strip of outputs from interleaved columns. */
static void strip(const qdepthwise_plan *plan, const int32_t *x, const block *b, int64_t count,
                  const ry_ends *ends, uint8_t *y, int64_t channels)
{
    enum { LANES_5 = PARTS + 1 };
    const int64_t column = plan->lanes * BYTES, taps = plan->kernel[2];
    const strip_ends e = {.x = x,
                          .step = plan->dilation[2] * column,
                          .next = plan->stride[2] * column,
                          .block = b,
                          .how = ends,
                          .y = y,
                          .y_step = plan->y_step[2],
                          .channels = channels};
    if (taps == 3 && plan->lanes == PARTS) {
        strip_window(&e, count, PARTS, 3, SOME_3);
    } else if (taps == 5 && plan->lanes == LANES_5) {
        strip_window(&e, count, LANES_5, 5, SOME_5);
    } else if (PARTS == 1 && taps == 7 && plan->lanes == 2) {
        strip_window(&e, count, 2, 7, 1);
    } else {
        for (int64_t i = 0; i < count; i++, y += plan->y_step[2]) {
            output(x + i * e.next, b, plan->lanes, taps, e.step, ends, y, channels);
        }
    }
}

/* Stores the words of a block: every four lanes hold neighbouring channels. */
RY_INLINE void store_words(int32_t *y, const int32_t word[BYTES], const int32_t lane[BYTES],
                           int64_t channels)
{
    enum { NEXT = 4 };
    for (int c = 0; c < BYTES; c += NEXT) {
        const int64_t rest = channels - lane[c];
        if (rest >= NEXT) {
            memcpy(y + lane[c], word + c, NEXT * sizeof *y);
        } else if (rest > 0) {
            memcpy(y + lane[c], word + c, (size_t)rest * sizeof *y);
        }
    }
}

/* The same with y in float32, or in int32 without scales: words of 32 bits. */
static void strip_words(const qdepthwise_plan *plan, const int32_t *x, const block *b,
                        int64_t count, bool scaled, int32_t *y, int64_t channels)
{
    const int64_t column = plan->lanes * BYTES;
    int32_t lane[BYTES], word[BYTES];
    find_lanes(lane);
    for (int64_t i = 0; i < count; i++, y += plan->y_step[2]) {
        ry_vi sum[QDEPTHWISE_TAPS];
        add_taps(x + i * plan->stride[2] * column, b, plan->lanes, plan->kernel[2],
                 plan->dilation[2] * column, sum);
        for (int k = 0; k < QDEPTHWISE_TAPS; k++) {
            if (scaled) {
                const ry_vf scale = ry_vf_load(b->scale + k * RY_W);
                ry_vf_store((float *)(void *)(word + k * RY_W),
                            ry_vf_mul(ry_vf_from_vi(sum[k]), scale));
            } else {
                ry_vi_store(word + k * RY_W, sum[k]);
            }
        }
        store_words(y, word, lane, channels);
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const qdepthwise_plan *plan = launch->state;
    const ry_qconv_attrs *attrs = &launch->problem->attrs.qconv;
    const ry_ends ends = ry_ends_of(attrs);
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->cut, task, range);
    const int64_t q[2] = {range[1].first, range[2].first};
    const uint8_t *image = (const uint8_t *)launch->in[0] + range[0].first * plan->x_batch;
    const int64_t row =
        range[0].first * plan->y_batch + q[0] * plan->y_step[0] + q[1] * plan->y_step[1];
    for (int64_t i = 0; i < plan->blocks; i++) {
        const int64_t at_channel = first_channel(plan, i), channels = ry_min(BYTES, plan->channels);
        const block b = block_of(plan, launch->packed, i);
        for (int64_t first = 0; first < plan->out[2]; first += plan->strip) {
            const int64_t count = ry_min(plan->strip, plan->out[2] - first);
            interleave(plan, image + at_channel, q, first * plan->stride[2] - plan->before[2],
                       (count - 1) * plan->stride[2] + (plan->kernel[2] - 1) * plan->dilation[2] +
                           1,
                       channels, (uint8_t)attrs->x_zero, launch->scratch);
            const int64_t at = row + first * plan->y_step[2] + at_channel;
            if (plan->words) {
                strip_words(plan, launch->scratch, &b, count, attrs->dequantise,
                            (int32_t *)launch->out[0] + at, channels);
            } else {
                strip(plan, launch->scratch, &b, count, &ends, (uint8_t *)launch->out[0] + at,
                      channels);
            }
        }
    }
}
