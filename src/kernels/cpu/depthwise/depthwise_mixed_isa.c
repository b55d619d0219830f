/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of grouped convolutions. */
#include "kernels/cpu/depthwise/depthwise_block_text.h"

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
#define WINDOWS(mix)     \
    BLOCKS(0, 1, 1, mix) \
    BLOCKS(3, 1, 1, mix) \
    BLOCKS(3, 2, 1, mix) \
    BLOCKS(3, 1, 2, mix) \
    BLOCKS(3, 2, 2, mix)
WINDOWS(1)
WINDOWS(2)

#define ROW(window, stride, height, mix)                                                                   \
    {                                                                                                      \
        mixed_##window##_##stride##_##height##_4_##mix, mixed_##window##_##stride##_##height##_5_##mix,    \
            mixed_##window##_##stride##_##height##_6_##mix, mixed_##window##_##stride##_##height##_7_##mix \
    }
#define ROWS_OF_3(mix)                           \
    {                                            \
        {ROW(3, 1, 1, mix), ROW(3, 2, 1, mix)},  \
        {                                        \
            ROW(3, 1, 2, mix), ROW(3, 2, 2, mix) \
        }                                        \
    }

static const block_function any_window[2][4] = {ROW(0, 1, 1, 1), ROW(0, 1, 1, 2)};
static const block_function window_of_3[2][NHWC_ROWS][2][4] = {ROWS_OF_3(1), ROWS_OF_3(2)};

void RY_ISA_SYMBOL(depthwise_nhwc_mixed)(const depthwise_block *block, int mix, int64_t window, int64_t stride, int64_t height,
                                         int64_t pixels)
{
    const int64_t p = pixels - NHWC_FEWEST;
    if (window == 0) {
        any_window[mix - 1][p](block);
    } else {
        window_of_3[mix - 1][height - 1][stride - 1][p](block);
    }
}
