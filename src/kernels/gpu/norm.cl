/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation of rows: a work-group computes one, its mean and its variance in two passes, so that
 * nothing is lost to cancellation. An item that has few elements keeps them in registers, and reads each
 * once.
 *
 * Defined for it: gpu_norm.c's numbers, sum_of_group (group.cl), and offsets of a row and of an element in it. */

/* Elements of an item: EACH_ELEMENT runs over them, i being one's number in the row, l in the item. */
#define EACH ((LENGTH + GROUP_ITEMS - 1) / GROUP_ITEMS)
#define KEPT (KEEPS_ELEMENTS && EACH <= 16)
#if KEPT
#define EACH_ELEMENT                                                      \
    UNROLL                                                                \
    for (int l = 0, i = ITEM; l < EACH; l++, i += GROUP_ITEMS)            \
        if (LENGTH % GROUP_ITEMS == 0 || l + 1 < EACH || i < LENGTH)
#define READ_ELEMENT kept[l]
#else
#define EACH_ELEMENT for (INDEX i = ITEM; i < LENGTH; i += GROUP_ITEMS)
#define READ_ELEMENT LOAD_0(x, x_row + x_at(i))
#endif

KERNEL(run)(ARGUMENTS)
{
    LOCAL float sums[GROUP_ITEMS];
    GLOBAL const TYPE_0 *x = IN(TYPE_0, 0);
    GLOBAL TYPE_Y *y = OUT(TYPE_Y, 0);
    const INDEX x_row = x_row_at(GROUP), y_row = y_row_at(GROUP);
    float sum = 0.0f;
#if KEPT
    float kept[EACH];
    EACH_ELEMENT
    {
        kept[l] = LOAD_0(x, x_row + x_at(i));
    }
#endif
#if CENTRED
    EACH_ELEMENT
    {
        sum += READ_ELEMENT;
    }
    const float mean = sum_of_group(sum, sums) / (float)LENGTH;
#else
    const float mean = 0.0f;
#endif
    sum = 0.0f;
    EACH_ELEMENT
    {
        const float d = READ_ELEMENT - mean;
        sum += d * d;
    }
    const float inverse = 1.0f / sqrt(sum_of_group(sum, sums) / (float)LENGTH + EPSILON);
    EACH_ELEMENT
    {
        float value = (READ_ELEMENT - mean) * inverse;
#if HAS_SCALE
        value *= LOAD_1(IN(TYPE_1, 1), scale_row_at(GROUP) + scale_at(i));
#endif
#if HAS_BIAS
        value += LOAD_2(IN(TYPE_2, 2), bias_row_at(GROUP) + bias_at(i));
#endif
        STORE(y, y_row + y_at(i), value);
    }
}
