/* SPDX-License-Identifier: Apache-2.0 */
/* Products of a matrix of few rows (or columns) with a large one, which is read once: LANES
 * work-items of a group share the terms of each column, and add up what they have in local memory.
 * Items that are neighbours read neighbours: terms, where a column's are beside each other, else
 * columns.
 *
 * Defined for it: gpu_matmul.c's numbers; FEW columns of terms, MANY of them, LOAD_FEW, LOAD_MANY,
 * FINISH_FEW. */
#define GROUP_COLUMNS (ITEMS / LANES)
#define GROUPS        ((MANY + GROUP_COLUMNS - 1) / GROUP_COLUMNS)

KERNEL(run)(ARGUMENTS)
{
    LOCAL float partial[FEW * ITEMS];
    const int lane = ALONG_K ? ITEM % LANES : ITEM / GROUP_COLUMNS,
              column = ALONG_K ? ITEM / LANES : ITEM % GROUP_COLUMNS;
    const int batch = GROUP / GROUPS, n = GROUP % GROUPS * GROUP_COLUMNS + column;
    const INDEX few_base = FEW_AT(batch), many_base = MANY_AT(batch);
    float sum[FEW];
    UNROLL
    for (int f = 0; f < FEW; f++) {
        sum[f] = 0.0f;
    }
    if (n < MANY) {
        for (int k = lane; k < TERMS; k += LANES) {
            const float many = LOAD_MANY(many_base, n, k);
            UNROLL
            for (int f = 0; f < FEW; f++) {
                sum[f] += LOAD_FEW(few_base, f, k) * many;
            }
        }
    }
    const int at = lane * GROUP_COLUMNS + column;
    UNROLL
    for (int f = 0; f < FEW; f++) {
        partial[f * ITEMS + at] = sum[f];
    }
    for (int step = LANES / 2; step > 0; step /= 2) {
        BARRIER;
        if (lane < step) {
            UNROLL
            for (int f = 0; f < FEW; f++) {
                partial[f * ITEMS + at] += partial[f * ITEMS + at + step * GROUP_COLUMNS];
            }
        }
    }
    if (lane == 0 && n < MANY) {
        UNROLL
        for (int f = 0; f < FEW; f++) {
            FINISH_FEW(batch, f, n, partial[f * ITEMS + at]);
        }
    }
}
