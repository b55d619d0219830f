/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of two values that say classes: a work-item writes one element. A class may be counted from
 * the end; one out of range is nowhere on. Items that are neighbours write neighbouring memory.
 *
 * Defined for it: gpu_one_hot.c's numbers; for element i of y, in the order of its memory, the
 * offsets y_at(i), index_at(i) and its place class_at(i) along the axis. Classes are compared in
 * COMPARED_TYPE (see gather.cl). */

KERNEL(run)(ARGUMENTS)
{
    const INDEX i = (INDEX)GROUP * GROUP_ITEMS + ITEM;
    if (i < COUNT) {
        const COMPARED_TYPE given = (COMPARED_TYPE)IN(INDEX_TYPE, 0)[index_at(i)],
                            own = (COMPARED_TYPE)class_at(i);
        const int is_on = given == own || (COUNTS_BACK && given == own - (COMPARED_TYPE)DEPTH);
        OUT(UNIT, 0)[y_at(i)] = IN(UNIT, 2)[is_on ? VALUES_STEP : 0];
    }
}
