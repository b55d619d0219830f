/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of the expression language (RY_OP_expr).
 *
 * Defined for it by gpu_expr.c: INDEX; the program (expr_text.h); KEPT and BEHIND, how many
 * positions the kept and the reduced dims have; LOAD(x, k, r), STORE(y, k, r), STORE_BEHIND(y, k)
 * for position k of the kept and r of the reduced dims; GROUP_SIZE.
 *
 * REDUCES 0: an item computes a position; with VECTORS four that are neighbours, moved at once
 * where all operands are ALIGNED (LOAD_VECTORS(k), LANE(c), STORE_VECTORS(k)).
 *
 * REDUCES 1: a group has COLUMNS kept positions and for each LANES items, which add up every
 * LANES-th of a slice of SLICE reduced positions, and then each other's sums as a tree. With ROWS
 * items that are neighbours are lanes, else columns. Where SLICES are more than one the sums of each
 * go through the workspace, and `finish` joins them, FINISH_LANES to a position. */

#if !REDUCES

KERNEL(run)(ARGUMENTS)
{
    program_inputs x;
    program_outputs y;
    program_sums t;
    INDEX k = (INDEX)GROUP * GROUP_SIZE + ITEM;
#if VECTORS
    if (ALIGNED && 4 * k + 4 <= KEPT) {
        k *= 4;
        LOAD_VECTORS(k)
        LANE(k, x)
        LANE(k, y)
        LANE(k, z)
        LANE(k, w)
        STORE_VECTORS(k)
        return;
    }
    const INDEX end = 4 * k + 4 < KEPT ? 4 * k + 4 : KEPT;
    for (k *= 4; k < end; k++) {
#else
    if (k < KEPT) {
#endif
        LOAD(x, k, 0)
        front(x, &y, &t);
        STORE(y, k, 0)
    }
}

KERNEL(finish)(ARGUMENTS)
{
}

#else

/* Sums of so many numbers meet the longer sums: the error is that of short sums. */
#define BLOCK 32

/* Adds up what the lanes of a column have; the first lane gets it. */
#define TREE(shared, own, lanes, columns, lane, column)                       \
    if ((lanes) > 1) {                                                        \
        shared[(lane) * (columns) + (column)] = own;                          \
    }                                                                         \
    for (int half_ = (lanes) / 2; half_ > 0; half_ /= 2) {                    \
        BARRIER;                                                              \
        if ((lane) < half_) {                                                 \
            const program_sums other_ = shared[((lane) + half_) * (columns) + (column)]; \
            join(&own, &other_);                                              \
            shared[(lane) * (columns) + (column)] = own;                      \
        }                                                                     \
    }

KERNEL(run)(ARGUMENTS)
{
    LOCAL program_sums shared[GROUP_SIZE];
#if ROWS
    const int lane = ITEM % LANES, column = ITEM / LANES;
#else
    const int lane = ITEM / COLUMNS, column = ITEM % COLUMNS;
#endif
    const INDEX slice = (INDEX)GROUP % SLICES;
    const INDEX k = (INDEX)GROUP / SLICES * COLUMNS + column;
    const INDEX last = (slice + 1) * SLICE < BEHIND ? (slice + 1) * SLICE : BEHIND;
    program_inputs x;
    program_outputs y;
    program_sums own, block, term;
    begin(&own);
    if (k < KEPT) {
        INDEX r = slice * SLICE + lane;
        while (r + (BLOCK - 1) * LANES < last) {
            begin(&block);
            for (int i = 0; i < BLOCK; i++, r += LANES) {
                LOAD(x, k, r)
                front(x, &y, &term);
                STORE(y, k, r)
                join(&block, &term);
            }
            join(&own, &block);
        }
        begin(&block);
        for (; r < last; r += LANES) {
            LOAD(x, k, r)
            front(x, &y, &term);
            STORE(y, k, r)
            join(&block, &term);
        }
        join(&own, &block);
    }
    TREE(shared, own, LANES, COLUMNS, lane, column)
    if (lane == 0 && k < KEPT) {
#if SLICES > 1
        WORKSPACE(program_sums)[slice * KEPT + k] = own;
#else
        behind(own, &y);
        STORE_BEHIND(y, k)
#endif
    }
}

KERNEL(finish)(ARGUMENTS)
{
#if SLICES > 1
    LOCAL program_sums shared[GROUP_SIZE];
    const int lane = ITEM / FINISH_COLUMNS, column = ITEM % FINISH_COLUMNS;
    const INDEX k = (INDEX)GROUP * FINISH_COLUMNS + column;
    program_outputs y;
    program_sums own;
    begin(&own);
    if (k < KEPT) {
        for (INDEX slice = lane; slice < SLICES; slice += FINISH_LANES) {
            const program_sums part = WORKSPACE(program_sums)[slice * KEPT + k];
            join(&own, &part);
        }
    }
    TREE(shared, own, FINISH_LANES, FINISH_COLUMNS, lane, column)
    if (lane == 0 && k < KEPT) {
        behind(own, &y);
        STORE_BEHIND(y, k)
    }
#endif
}

#endif
