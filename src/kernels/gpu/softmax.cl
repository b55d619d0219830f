/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and its logarithm. Lanes whose neighbours in memory are other lanes are an item's each;
 * others are a work-group's.
 *
 * Defined for it: gpu_softmax.c's numbers, group.cl, and offsets of a lane and of an element in it. */

#if COLUMNS
#define FIRST        0
#define STEP         1
#define LANE         ((INDEX)GROUP * GROUP_ITEMS + ITEM)
#define TOGETHER(kind, value) (value)
#else
#define FIRST        ITEM
#define STEP         GROUP_ITEMS
#define LANE         ((INDEX)GROUP)
#define TOGETHER(kind, value) kind##_of_group((value), room)
#endif

KERNEL(run)(ARGUMENTS)
{
#if COLUMNS
    if (LANE >= LANES) {
        return;
    }
#else
    LOCAL float room[GROUP_ITEMS];
#endif
    GLOBAL const TYPE_0 *x = IN(TYPE_0, 0) + x_lane_at(LANE);
    GLOBAL TYPE_Y *y = OUT(TYPE_Y, 0) + y_lane_at(LANE);
    float highest = -INFINITY, sum = 0.0f;
    for (INDEX i = FIRST; i < LENGTH; i += STEP) {
        const float value = LOAD_0(x, x_at(i));
        highest = value > highest || value != value ? value : highest;
    }
    highest = TOGETHER(max, highest);
    for (INDEX i = FIRST; i < LENGTH; i += STEP) {
        sum += exp(LOAD_0(x, x_at(i)) - highest);
    }
    sum = TOGETHER(sum, sum);
#if LOGARITHM
    const float log_sum = log(sum);
#else
    const float share = 1.0f / sum;
#endif
    for (INDEX i = FIRST; i < LENGTH; i += STEP) {
        const float d = LOAD_0(x, x_at(i)) - highest;
#if LOGARITHM
        STORE(y, y_at(i), d - log_sum);
#else
        STORE(y, y_at(i), exp(d) * share);
#endif
    }
}
