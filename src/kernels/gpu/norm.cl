/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation of rows: a work-group computes one, its mean and its variance in two passes, so that
 * nothing is lost to cancellation.
 *
 * Defined for it: gpu_norm.c's numbers, sum_of_group (group.cl), and offsets of a row and of an element in it. */

KERNEL(run)(ARGUMENTS)
{
    LOCAL float sums[GROUP_ITEMS];
    GLOBAL const TYPE_0 *x = IN(TYPE_0, 0);
    GLOBAL TYPE_Y *y = OUT(TYPE_Y, 0);
    const INDEX x_row = x_row_at(GROUP), y_row = y_row_at(GROUP);
    float sum = 0.0f;
#if CENTRED
    for (INDEX i = ITEM; i < LENGTH; i += GROUP_ITEMS) {
        sum += LOAD_0(x, x_row + x_at(i));
    }
    const float mean = sum_of_group(sum, sums) / (float)LENGTH;
#else
    const float mean = 0.0f;
#endif
    sum = 0.0f;
    for (INDEX i = ITEM; i < LENGTH; i += GROUP_ITEMS) {
        const float d = LOAD_0(x, x_row + x_at(i)) - mean;
        sum += d * d;
    }
    const float inverse = 1.0f / sqrt(sum_of_group(sum, sums) / (float)LENGTH + EPSILON);
    for (INDEX i = ITEM; i < LENGTH; i += GROUP_ITEMS) {
        float value = (LOAD_0(x, x_row + x_at(i)) - mean) * inverse;
#if HAS_SCALE
        value *= LOAD_1(IN(TYPE_1, 1), scale_row_at(GROUP) + scale_at(i));
#endif
#if HAS_BIAS
        value += LOAD_2(IN(TYPE_2, 2), bias_row_at(GROUP) + bias_at(i));
#endif
        STORE(y, y_row + y_at(i), value);
    }
}
