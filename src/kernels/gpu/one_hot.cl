/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of two values that say classes: a work-item writes one element. A class may be counted from
 * the end; what is out of range is nowhere on. Items that are neighbours write neighbouring memory.
 *
 * Defined for it: gpu_one_hot.c's numbers; for element i of y, in the order of its memory, the
 * offsets y_at(i), index_at(i) and its place class_at(i) along the axis. */

KERNEL(run)(ARGUMENTS)
{
    const INDEX i = (INDEX)GROUP * GROUP_ITEMS + ITEM;
    if (i < COUNT) {
        const int64_t given = (int64_t)IN(INDEX_TYPE, 0)[index_at(i)];
        const int64_t chosen = given < 0 && COUNTS_BACK ? given + DEPTH : given;
        OUT(UNIT, 0)[y_at(i)] = IN(UNIT, 2)[chosen == (int64_t)class_at(i) ? VALUES_STEP : 0];
    }
}
