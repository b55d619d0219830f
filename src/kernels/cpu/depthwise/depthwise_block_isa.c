/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks whose output channels read the channel of their own number. */
#include "kernels/cpu/depthwise/depthwise_block_template.h"

#define BLOCK(window, stride, height, pixels)                                             \
    static void block_##window##_##stride##_##height##_##pixels(const depthwise_block *b) \
    {                                                                                     \
        sum_block(b, window, stride, height, pixels);                                     \
    }
#define BLOCKS(window, stride, height) \
    BLOCK(window, stride, height, 4)   \
    BLOCK(window, stride, height, 5)   \
    BLOCK(window, stride, height, 6)   \
    BLOCK(window, stride, height, 7)
BLOCKS(0, 1, 1)
BLOCKS(3, 1, 1)
BLOCKS(3, 2, 1)
BLOCKS(3, 1, 2)
BLOCKS(3, 2, 2)
BLOCKS(5, 1, 1)
BLOCKS(5, 2, 1)
BLOCKS(7, 1, 1)
BLOCKS(7, 2, 1)
BLOCKS(5, 1, 2)
BLOCKS(5, 2, 2)
BLOCKS(7, 1, 2)
BLOCKS(7, 2, 2)
BLOCKS(9, 1, 1)
BLOCKS(9, 2, 1)
BLOCKS(11, 1, 1)
BLOCKS(11, 2, 1)

#define ROW(window, stride, height)                                                            \
    {                                                                                          \
        block_##window##_##stride##_##height##_4, block_##window##_##stride##_##height##_5,    \
            block_##window##_##stride##_##height##_6, block_##window##_##stride##_##height##_7 \
    }
#define LINES(window, height)                          \
    {                                                  \
        ROW(window, 1, height), ROW(window, 2, height) \
    }

static const block_function any_window[4] = ROW(0, 1, 1);
static const block_function windows[NHWC_WINDOWS][2][4] = {LINES(3, 1), LINES(5, 1), LINES(7, 1),
                                                           LINES(9, 1), LINES(11, 1)};
static const block_function pairs[3][2][4] = {LINES(3, 2), LINES(5, 2), LINES(7, 2)}; /* two lines
                                                                                         at once */

void RY_ISA_SYMBOL(depthwise_nhwc_block)(const depthwise_block *block, int64_t window,
                                         int64_t stride, int64_t height, int64_t pixels)
{
    const int64_t p = pixels - NHWC_FEWEST;
    if (window == 0) {
        any_window[p](block);
    } else if (height == 2) {
        pairs[window / 2 - 1][stride - 1][p](block);
    } else {
        windows[window / 2 - 1][stride - 1][p](block);
    }
}
