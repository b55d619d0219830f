/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of grouped convolutions. */
#include "kernels/cpu/depthwise/depthwise_block_template.h"

#define BLOCK(window, stride, height, pixels, sources)                          \
    static void permuted_##window##_##stride##_##height##_##pixels##_##sources( \
        const depthwise_block *b)                                               \
    {                                                                           \
        sum_permuted(b, window, stride, height, pixels, sources);               \
    }
#define BLOCKS(window, stride, height, sources) \
    BLOCK(window, stride, height, 4, sources)   \
    BLOCK(window, stride, height, 5, sources)   \
    BLOCK(window, stride, height, 6, sources)   \
    BLOCK(window, stride, height, 7, sources)
#define STRIDES(window, height, sources) \
    BLOCKS(window, 1, height, sources) BLOCKS(window, 2, height, sources)
#define WINDOWS(sources)     \
    BLOCKS(0, 1, 1, sources) \
    STRIDES(3, 1, sources)   \
    STRIDES(3, 2, sources)   \
    STRIDES(5, 1, sources)   \
    STRIDES(7, 1, sources)   \
    STRIDES(9, 1, sources)   \
    STRIDES(11, 1, sources)
WINDOWS(1)
WINDOWS(2)

#define ROW(window, stride, height, sources)                       \
    {                                                              \
        permuted_##window##_##stride##_##height##_4_##sources,     \
            permuted_##window##_##stride##_##height##_5_##sources, \
            permuted_##window##_##stride##_##height##_6_##sources, \
            permuted_##window##_##stride##_##height##_7_##sources  \
    }
#define LINES(window, sources)                                 \
    {                                                          \
        ROW(window, 1, 1, sources), ROW(window, 2, 1, sources) \
    }
#define PAIRS(sources)                               \
    {                                                \
        ROW(3, 1, 2, sources), ROW(3, 2, 2, sources) \
    }
#define WINDOWS_OF(sources)                                                         \
    {                                                                               \
        LINES(3, sources), LINES(5, sources), LINES(7, sources), LINES(9, sources), \
            LINES(11, sources)                                                      \
    }

static const block_function any_window[2][4] = {ROW(0, 1, 1, 1), ROW(0, 1, 1, 2)};
static const block_function windows[2][NHWC_WINDOWS][2][4] = {WINDOWS_OF(1), WINDOWS_OF(2)};
static const block_function pairs[2][2][4] = {PAIRS(1), PAIRS(2)}; /* two lines at once */

void RY_ISA_SYMBOL(depthwise_nhwc_permuted)(const depthwise_block *block, int sources,
                                            int64_t window, int64_t stride, int64_t height,
                                            int64_t pixels)
{
    const int64_t p = pixels - NHWC_FEWEST;
    if (window == 0) {
        any_window[sources - 1][p](block);
    } else if (height == 2) {
        pairs[sources - 1][stride - 1][p](block);
    } else {
        windows[sources - 1][window / 2 - 1][stride - 1][p](block);
    }
}
