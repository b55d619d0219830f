/* SPDX-License-Identifier: Apache-2.0 */
/* Batch normalisation in training, and its gradient, as parts: sums of each channel over parts of
 * the batch, their joining, and the result. What its kernels of every instruction set share.
 *
 *   NCHW   a task has whole channels and does all three, so that its second pass reads the cache;
 *          where a machine has more cores than that gives work, `cut`: as NHWC
 *   NHWC   phases: sums of parts that have all channels, joining, result
 *
 * A part is `step` images (NHWC: positions), or a piece of one image's channel. Parts follow the
 * shape alone: their sums have the same bits, whoever computes them. */
#ifndef RY_KERNELS_CPU_NORM_BATCH_SUMS_PLAN_H
#define RY_KERNELS_CPU_NORM_BATCH_SUMS_PLAN_H

#include "base/integer.h"
#include "kernels/common/batch_norm_over.h"
#include "kernels/common/task_cut.h"
#include "kernels/kernel.h"

/* Numbers of each channel: of a part's sums (SUMS), and that make the result (FACTORS). */
enum { BATCH_SUMS = 3, BATCH_FACTORS = 4, BATCH_JOINED = 16 };

typedef struct batch_sums_plan {
    bool last; /* NHWC */
    bool cut;
    int64_t channels, rows, length; /* images and their positions; NHWC: positions and 1 */
    int64_t step, pieces, piece;    /* pieces of a row, and their length */
    int64_t parts;
    ry_cut_axis units;  /* channels; parts of a channel (cut); parts (NHWC) */
    ry_cut_axis joined; /* channels of the second phase */
} batch_sums_plan;

/* Rows [first, first + count), elements [from, from + length) of each. */
typedef struct batch_part {
    int64_t first, count, from, length;
} batch_part;

static inline batch_part batch_part_of(const batch_sums_plan *s, int64_t part)
{
    const int64_t first = part / s->pieces * s->step, from = part % s->pieces * s->piece;
    return (batch_part){first, ry_min(s->step, s->rows - first), from,
                        ry_min(s->piece, s->length - from)};
}

/* Where the sums of some channels are, part after part, and the factors that they give: number k
 * of channel c of part p is sums[(p * BATCH_SUMS + k) * channels + c]. */
typedef struct batch_sums {
    float *sums, *factors;
    int64_t channels;
} batch_sums;

/* One channel's, in scratch; all channels', in workspace. */
static inline batch_sums batch_sums_in(const batch_sums_plan *s, void *memory, int64_t channels)
{
    float *sums = memory;
    return (batch_sums){sums, sums + s->parts * BATCH_SUMS * channels, channels};
}

static inline float *batch_sums_at(const batch_sums *in, int64_t part, int64_t c)
{
    return in->sums + part * BATCH_SUMS * in->channels + c;
}

bool ry_batch_norm_train_applicable(const ry_problem *problem);
bool ry_batch_norm_grad_applicable(const ry_problem *problem);
/* state: a batch_sums_plan */
rynd_status ry_batch_sums_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_batch_sums_initialise(const ry_query *query, void *state);

#endif
