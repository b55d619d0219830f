/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and its logarithm. Lanes whose neighbours in memory are other lanes are an item's each;
 * others are a work-group's. An item that has few elements keeps them in registers, and reads each once.
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

/* Elements of an item: EACH_ELEMENT runs over them, i being one's number in the lane, l in the item. */
#define EACH ((LENGTH + STEP - 1) / STEP)
#define KEPT (KEEPS_ELEMENTS && EACH <= 16)
#if KEPT
#define EACH_ELEMENT                                                      \
    UNROLL                                                                \
    for (int l = 0, i = FIRST; l < EACH; l++, i += STEP)                  \
        if (LENGTH % STEP == 0 || l + 1 < EACH || i < LENGTH)
#define READ_ELEMENT kept[l]
#else
#define EACH_ELEMENT for (INDEX i = FIRST; i < LENGTH; i += STEP)
#define READ_ELEMENT LOAD_0(x, x_at(i))
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
#if KEPT
    float kept[EACH];
    EACH_ELEMENT
    {
        kept[l] = LOAD_0(x, x_at(i));
    }
#endif
    EACH_ELEMENT
    {
        const float value = READ_ELEMENT;
        highest = value > highest || value != value ? value : highest;
    }
    highest = TOGETHER(max, highest);
    EACH_ELEMENT
    {
        sum += exp(READ_ELEMENT - highest);
    }
    sum = TOGETHER(sum, sum);
#if LOGARITHM
    const float log_sum = log(sum);
#else
    const float share = 1.0f / sum;
#endif
    EACH_ELEMENT
    {
        const float d = READ_ELEMENT - highest;
#if LOGARITHM
        STORE(y, y_at(i), d - log_sum);
#else
        STORE(y, y_at(i), exp(d) * share);
#endif
    }
}
