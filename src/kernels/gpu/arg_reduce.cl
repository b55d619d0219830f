/* SPDX-License-Identifier: Apache-2.0 */
/* The position of the largest or the least element of a lane; a NaN is above all and below all.
 * Lanes whose neighbours in memory are other lanes are an item's each; others are a work-group's.
 *
 * Defined for it: gpu_arg_reduce.c's numbers, and offsets of a lane and of an element in it. */

/* Is element `a`, at position i, taken rather than `b`, at k? */
FUNCTION int is_better(VALUE_TYPE a, INDEX i, VALUE_TYPE b, INDEX k)
{
    const int in_a_tie = SELECT_LAST ? i > k : i < k;
#if HAS_NANS
    if (a != a || b != b) {
        return a == a ? 0 : b == b ? 1 : in_a_tie;
    }
#endif
    if (a == b) {
        return in_a_tie;
    }
    return MINIMUM ? a < b : a > b;
}

KERNEL(run)(ARGUMENTS)
{
#if COLUMNS
    const INDEX lane = (INDEX)GROUP * GROUP_ITEMS + ITEM;
    const INDEX first = 0, step = 1;
    if (lane >= LANES) {
        return;
    }
#else
    LOCAL VALUE_TYPE values[GROUP_ITEMS];
    LOCAL INDEX positions[GROUP_ITEMS];
    const INDEX lane = GROUP;
    const INDEX first = ITEM < LENGTH ? ITEM : 0, step = GROUP_ITEMS;
#endif
    const INDEX base = x_lane_at(lane);
    INDEX best = first;
    VALUE_TYPE value = LOAD_VALUE(base + x_at(first));
    for (INDEX i = first + step; i < LENGTH; i += step) {
        const VALUE_TYPE other = LOAD_VALUE(base + x_at(i));
        if (is_better(other, i, value, best)) {
            value = other;
            best = i;
        }
    }
#if COLUMNS
    OUT(RESULT_TYPE, 0)[y_lane_at(lane)] = (RESULT_TYPE)best;
#else
    values[ITEM] = value;
    positions[ITEM] = best;
    BARRIER;
    for (int span = GROUP_ITEMS / 2; span > 0; span /= 2) {
        if (ITEM < span &&
            is_better(values[ITEM + span], positions[ITEM + span], values[ITEM], positions[ITEM])) {
            values[ITEM] = values[ITEM + span];
            positions[ITEM] = positions[ITEM + span];
        }
        BARRIER;
    }
    if (ITEM == 0) {
        OUT(RESULT_TYPE, 0)[y_lane_at(lane)] = (RESULT_TYPE)positions[0];
    }
#endif
}
