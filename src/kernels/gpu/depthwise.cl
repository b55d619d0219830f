/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions, forward and transposed, whose groups have few input channels: a work-item sums
 * OUTPUT_ROWS outputs one below the other, which read a column of x together. Items that are
 * neighbours have outputs that are neighbours in memory: channels, or positions along a row.
 *
 * Defined for it: gpu_depthwise.c's numbers; SUM, a sum's type, WEIGHT, a packed weight's, LOAD_X,
 * an element of x as it is multiplied, FINISH_SUM, which ends a sum; FOURS, VECTORS: depthwise_fours.cl
 * or depthwise_vectors.cl has the entry `run`. */

/* Packs the weights with output channels beside each other. */
KERNEL(pack)(ARGUMENTS)
{
    const INDEX at = (INDEX)GROUP * PACK_ITEMS + ITEM;
    const int k = (int)(at % (BATCHES * ROWS)), row = (int)(at / (BATCHES * ROWS));
    const int channel = row / WINDOW, tap = row % WINDOW;
    if (channel < CHANNELS) {
        const INDEX from = (INDEX)(k / ROWS) * W_GROUP + (INDEX)(k % ROWS) * W_OUT +
                           (INDEX)channel * W_IN +
                           (INDEX)(tap / (WINDOW_2 * WINDOW_1)) * W_STEP_0 +
                           (INDEX)(tap / WINDOW_2 % WINDOW_1) * W_STEP_1 +
                           (INDEX)(tap % WINDOW_2) * W_STEP_2;
        PACKED(WEIGHT)[at] = LOAD_1(IN(TYPE_1, 1), from);
    }
}

#define BLOCKS   ((OUT_1 + OUTPUT_ROWS - 1) / OUTPUT_ROWS)
#define CHANNELS_OUT (BATCHES * ROWS)
/* Elements of a column of x that an item reads. */
#define REACH    ((OUTPUT_ROWS - 1) * STRIDE_1 + (WINDOW_1 - 1) * STEP_1 + 1)

/* Is it inside x? Asked only where some position reads outside. */
FUNCTION int is_inside(int masked, int at, int extent)
{
    return masked ? (uint)at < (uint)extent : 1;
}

#if !FOURS && !VECTORS
KERNEL(run)(ARGUMENTS)
{
    INDEX rest = (INDEX)GROUP * GROUP_ITEMS + ITEM;
    if (rest >= (INDEX)IMAGES * CHANNELS_OUT * OUT_0 * BLOCKS * OUT_2) {
        return;
    }
#if Y_ALONG_M
    const int k = (int)(rest % CHANNELS_OUT);
    rest /= CHANNELS_OUT;
#endif
    const int o2 = (int)(rest % OUT_2);
    rest /= OUT_2;
    const int o1 = (int)(rest % BLOCKS) * OUTPUT_ROWS;
    rest /= BLOCKS;
    const int o0 = (int)(rest % OUT_0);
    rest /= OUT_0;
#if !Y_ALONG_M
    const int k = (int)(rest % CHANNELS_OUT);
    rest /= CHANNELS_OUT;
#endif
    const int image = (int)rest;
    const int r0 = o0 % SPREAD_0, r1 = o1 % SPREAD_1, r2 = o2 % SPREAD_2;
    const int at_0 = o0 / SPREAD_0 * STRIDE_0 + FIRST_0(r0),
              at_1 = o1 / SPREAD_1 * STRIDE_1 + FIRST_1(r1),
              at_2 = o2 / SPREAD_2 * STRIDE_2 + FIRST_2(r2);
    GLOBAL const TYPE_0 *x = IN(TYPE_0, 0);
    GLOBAL const WEIGHT *weights = PACKED(WEIGHT) + k;
    const INDEX base = (INDEX)image * X_IMAGE + (INDEX)(k / ROWS) * CHANNELS * X_CHANNEL;
    SUM sum[OUTPUT_ROWS];
    for (int i = 0; i < OUTPUT_ROWS; i++) {
        sum[i] = 0;
    }
    for (int channel = 0; channel < CHANNELS; channel++) {
        for (int j0 = 0; j0 < COUNT_0(r0); j0++) {
            const int i0 = at_0 + j0 * STEP_0;
            if (!is_inside(MASK_0, i0, IN_0)) {
                continue;
            }
            UNROLL_WINDOW
            for (int j2 = 0; j2 < COUNT_2(r2); j2++) {
                const int i2 = at_2 + j2 * STEP_2;
                const int inside = is_inside(MASK_2, i2, IN_2);
                const INDEX from = base + (INDEX)channel * X_CHANNEL + (INDEX)i0 * X_STEP_0 +
                                   (INDEX)i2 * X_STEP_2;
                const int tap_02 = (TAP_0(r0) + j0 * TAP_STEP_0) * (WINDOW_1 * WINDOW_2) +
                                   TAP_2(r2) + j2 * TAP_STEP_2;
#if OUTPUT_ROWS > 1
                SUM column[REACH];
                UNROLL
                for (int i = 0; i < REACH; i++) {
                    column[i] = inside && (uint)(at_1 + i) < (uint)IN_1
                                    ? LOAD_X(x, from + (INDEX)(at_1 + i) * X_STEP_1)
                                    : 0;
                }
                UNROLL
                for (int j1 = 0; j1 < WINDOW_1; j1++) {
                    const SUM w = weights[(INDEX)(channel * WINDOW + tap_02 + j1 * WINDOW_2) *
                                            CHANNELS_OUT];
                    UNROLL
                    for (int i = 0; i < OUTPUT_ROWS; i++) {
                        sum[i] += column[i * STRIDE_1 + j1 * STEP_1] * w;
                    }
                }
#else
                UNROLL_WINDOW
                for (int j1 = 0; j1 < COUNT_1(r1); j1++) {
                    const int i1 = at_1 + j1 * STEP_1;
                    if (inside && is_inside(MASK_1, i1, IN_1)) {
                        const int tap = tap_02 + (TAP_1(r1) + j1 * TAP_STEP_1) * WINDOW_2;
                        sum[0] += LOAD_X(x, from + (INDEX)i1 * X_STEP_1) *
                                  weights[(INDEX)(channel * WINDOW + tap) * CHANNELS_OUT];
                    }
                }
#endif
            }
        }
    }
    for (int i = 0; i < OUTPUT_ROWS; i++) {
        if (o1 + i < OUT_1) {
            FINISH_SUM(sum[i], image, k, (INDEX)o0, (INDEX)(o1 + i), (INDEX)o2, r0,
                       OUTPUT_ROWS > 1 ? 0 : r1, r2);
        }
    }
}
#endif
