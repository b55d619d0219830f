/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the output grid whose sums are in scratch: their bias before, and their way to y behind.
 *
 *     sums: [phase][output channel][position]     position: (image * image_rows + row) * pitch +
 *                                                 column */
#ifndef RY_KERNELS_CPU_PARTS_OUT_ROWS_H
#define RY_KERNELS_CPU_PARTS_OUT_ROWS_H

#include "kernels/cpu/parts/epilogue.h"
#include "kernels/cpu/simd/isa.h"

typedef struct out_rows {
    const ry_cpu_launch *launch;
    const ry_conv_geometry *geometry;
    int64_t group, image, images, slice, row, rows;
    int64_t image_rows, pitch;
    int64_t column, length; /* first grid column of each row; most columns */
    int64_t columns;        /* positions from the first one to behind the last one */
    int64_t positions;      /* floats of one output channel's sums */
    int64_t interleave;     /* phases that write to a row of y in turn; 1: none */
    /* y's channels are next to each other, and there are no others: they are interleaved on
     * their way */
    bool adjacent;
    float *sums;
    float *interleaved_row; /* buffer for an interleaved row of all phases */
    float *bias;            /* [phase][output channel] of the group */
    epilogue_run *run;      /* images * rows */
} out_rows;

/* Fills `bias` of phase number `index`, with zeros where the problem has none. */
void RY_ISA_SYMBOL(out_rows_read_bias)(const out_rows *rows, const ry_conv_phase *phase,
                                       int64_t index);

/* Adds the residual, activates and stores the sums of phase number `index`, and of those that are
 * interleaved with it and follow. */
void RY_ISA_SYMBOL(out_rows_epilogue)(const out_rows *rows, const ry_conv_phase *phase,
                                      int64_t index);

#endif
