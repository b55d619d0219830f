/* SPDX-License-Identifier: Apache-2.0 */
/* The quantised depthwise convolution, channels last: a block of channels, a byte each, is a vector.
 * Four taps of a column of the window are interleaved, so that a multiply-add of a lane is four
 * taps of a channel; or, by pairs, taps 0 and 2, then taps 1 and 3.
 *
 * A row of outputs is made in two steps: the rows of x that its windows cover are interleaved,
 * column by column, into scratch; then each output adds its columns' products. */
#ifndef RY_KERNELS_CPU_QCONV_QDEPTHWISE_PLAN_H
#define RY_KERNELS_CPU_QCONV_QDEPTHWISE_PLAN_H

#include "kernels/common/task_cut.h"
#include "kernels/cpu/parts/conv_geometry.h"

enum { QDEPTHWISE_TAPS = 4 }; /* taps in a lane */

typedef struct qdepthwise_plan {
    int64_t batch, channels;
    int64_t in[RY_SPACE], out[RY_SPACE];
    int64_t kernel[RY_SPACE], stride[RY_SPACE], dilation[RY_SPACE], before[RY_SPACE];
    int64_t x_batch, x_step[RY_SPACE]; /* bytes; channels are next to each other */
    int64_t y_batch, y_step[RY_SPACE]; /* elements */
    int64_t width;                     /* channels of a vector of bytes */
    int64_t blocks;                    /* vectors of channels */
    int64_t rows;                      /* taps of a column: depth by height of the window */
    int64_t quads;                     /* quads that they fill */
    int64_t lanes;                     /* in a column: one a quad, or two but for an empty pair */
    int64_t columns;                   /* columns of x that a strip of outputs covers */
    int64_t strip;                     /* outputs of a strip */
    bool words;                        /* y has 32 bits an element */
    int64_t block_bytes;               /* packed: weights, starts and scales of a block */
    ry_task_cut cut;                   /* images, planes, rows of y */
} qdepthwise_plan;

bool ry_qdepthwise_takes(const ry_problem *problem);
rynd_status ry_qdepthwise_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_qdepthwise_initialise(const ry_query *query, void *state);
void ry_qdepthwise_packing(const ry_prepared *prepared, ry_text *key);

#endif
