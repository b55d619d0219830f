/* SPDX-License-Identifier: Apache-2.0 */
/* The bias' gradient in the product of weight gradients (igemm.cl): groups behind those of the tiles
 * sum a row of the first matrix each.
 *
 * Defined for it: the window, TYPE_SUMS, STORE_SUMS and SUMS_STEP. */

/* The sum over all terms of the row that channel `row` of all groups has in the first matrix, by
 * the items of a group: short sums meet the longer ones. */
FUNCTION void sum_row(GLOBAL const TYPE_1 *w, int row, TO_LOCAL float *room, GLOBAL TYPE_SUMS *sums)
{
    float all = 0.0f;
    for (int at = ITEM; at < CHANNELS * WINDOW; at += 32 * GROUP_OF_run) {
        float part = 0.0f;
        for (int l = 0; l < 32; l++) {
            const int k = at + l * GROUP_OF_run, tap = k % WINDOW;
            part += k < CHANNELS * WINDOW
                        ? LOAD_1(w, (INDEX)row * W_OUT + (INDEX)(k / WINDOW) * W_IN +
                                        (INDEX)(tap / (WINDOW_2 * WINDOW_1)) * W_STEP_0 +
                                        (INDEX)(tap / WINDOW_2 % WINDOW_1) * W_STEP_1 +
                                        (INDEX)(tap % WINDOW_2) * W_STEP_2)
                        : 0.0f;
        }
        all += part;
    }
    room[ITEM] = all;
    BARRIER;
    for (int span = GROUP_OF_run / 2; span > 0; span /= 2) {
        if (ITEM < span) {
            room[ITEM] += room[ITEM + span];
        }
        BARRIER;
    }
    if (ITEM == 0) {
        STORE_SUMS(sums, (INDEX)row * SUMS_STEP, room[0]);
    }
}

/* The same in a kernel, with room for a float an item. */
#define SUM_ROW_IN(room)                                                                    \
    if (GROUP >= TILES_ALL * SPLITS) {                                                      \
        sum_row(IN(TYPE_1, 1), GROUP - TILES_ALL * SPLITS, room, OUT(TYPE_SUMS, 1));        \
        return;                                                                             \
    }
#define SUM_ROW                     \
    LOCAL float room[GROUP_OF_run]; \
    SUM_ROW_IN(room)
