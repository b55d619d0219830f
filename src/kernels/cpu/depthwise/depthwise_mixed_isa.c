/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of grouped convolutions. */
#include "kernels/cpu/depthwise/depthwise_block_template.h"

#define BLOCK(window, stride, height, pixels, mix)                                                \
    static void mixed_##window##_##stride##_##height##_##pixels##_##mix(const depthwise_block *b) \
    {                                                                                             \
        sum_mixed(b, window, stride, height, pixels, mix);                                        \
    }
#define BLOCKS(window, stride, height, mix) \
    BLOCK(window, stride, height, 4, mix)   \
    BLOCK(window, stride, height, 5, mix)   \
    BLOCK(window, stride, height, 6, mix)   \
    BLOCK(window, stride, height, 7, mix)
#define STRIDES(window, height, mix) BLOCKS(window, 1, height, mix) BLOCKS(window, 2, height, mix)
#define WINDOWS(mix)     \
    BLOCKS(0, 1, 1, mix) \
    STRIDES(3, 1, mix)   \
    STRIDES(3, 2, mix)   \
    STRIDES(5, 1, mix)   \
    STRIDES(7, 1, mix)   \
    STRIDES(9, 1, mix)   \
    STRIDES(11, 1, mix)
WINDOWS(1)
WINDOWS(2)

#define ROW(window, stride, height, mix)                    \
    {                                                       \
        mixed_##window##_##stride##_##height##_4_##mix,     \
            mixed_##window##_##stride##_##height##_5_##mix, \
            mixed_##window##_##stride##_##height##_6_##mix, \
            mixed_##window##_##stride##_##height##_7_##mix  \
    }
#define LINES(window, mix)                             \
    {                                                  \
        ROW(window, 1, 1, mix), ROW(window, 2, 1, mix) \
    }
#define PAIRS(mix)                           \
    {                                        \
        ROW(3, 1, 2, mix), ROW(3, 2, 2, mix) \
    }
#define WINDOWS_OF(mix)                                                            \
    {                                                                              \
        LINES(3, mix), LINES(5, mix), LINES(7, mix), LINES(9, mix), LINES(11, mix) \
    }

static const block_function any_window[2][4] = {ROW(0, 1, 1, 1), ROW(0, 1, 1, 2)};
static const block_function windows[2][NHWC_WINDOWS][2][4] = {WINDOWS_OF(1), WINDOWS_OF(2)};
static const block_function pairs[2][2][4] = {PAIRS(1), PAIRS(2)}; /* two lines at once */

void RY_ISA_SYMBOL(depthwise_nhwc_mixed)(const depthwise_block *block, int mix, int64_t window,
                                         int64_t stride, int64_t height, int64_t pixels)
{
    const int64_t p = pixels - NHWC_FEWEST;
    if (window == 0) {
        any_window[mix - 1][p](block);
    } else if (height == 2) {
        pairs[mix - 1][stride - 1][p](block);
    } else {
        windows[mix - 1][window / 2 - 1][stride - 1][p](block);
    }
}
