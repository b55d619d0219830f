/* SPDX-License-Identifier: Apache-2.0 */
/* Weight gradients of convolutions whose groups have few input channels: a work-group sums a few
 * taps of an output and an input channel each of LANES, over all positions of all images.
 *
 * Defined for it: gpu_wgrad_depthwise.c's numbers, of the convolution that a weight gradient is
 * (gpu_wgrad.h): IMAGES input channels of a group, CHANNELS images, OUT_i taps, WINDOW_i positions;
 * lanes.cl; CHUNK, the taps of a work-group, one of CHUNKS that have them all. */
#define TAPS         (OUT_0 * OUT_1 * OUT_2)
#define CHANNELS_OUT (BATCHES * ROWS)
/* Sums of so many numbers meet the longer sums: the error is that of short sums. */
#define BLOCK        32

FUNCTION int is_inside(int masked, int at, int extent)
{
    return masked ? (uint)at < (uint)extent : 1;
}

KERNEL(run)(ARGUMENTS)
{
    LOCAL float room[GROUP_ITEMS];
    const int first = GROUP % CHUNKS * CHUNK, c = GROUP / CHUNKS % IMAGES,
              lane = GROUP / (CHUNKS * IMAGES) * LANES + LANE,
              k = min(lane, CHANNELS_OUT - 1);
    GLOBAL const TYPE_0 *x = IN(TYPE_0, 0);
    GLOBAL const TYPE_1 *dy = IN(TYPE_1, 1);
    const INDEX x_base = (INDEX)(k / ROWS) * X_GROUP + (INDEX)c * X_IMAGE,
                dy_base = (INDEX)k * W_OUT;
    float sum[CHUNK];
    float sum_of_dy = 0.0f;
    UNROLL
    for (int l = 0; l < CHUNK; l++) {
        sum[l] = 0.0f;
    }
    for (int block = ROW; block < CHANNELS * WINDOW; block += BLOCK * GROUP_ROWS) {
        const int end = min(CHANNELS * WINDOW, block + BLOCK * GROUP_ROWS);
        float part[CHUNK];
        float part_of_dy = 0.0f;
        UNROLL
        for (int l = 0; l < CHUNK; l++) {
            part[l] = 0.0f;
        }
        for (int at = block; at < end; at += GROUP_ROWS) {
            const int image = at / WINDOW, o = at % WINDOW, o2 = o % WINDOW_2,
                      o1 = o / WINDOW_2 % WINDOW_1, o0 = o / (WINDOW_2 * WINDOW_1);
            const float given =
                LOAD_1(dy, dy_base + (INDEX)image * W_IN + (INDEX)o0 * W_STEP_0 +
                               (INDEX)o1 * W_STEP_1 + (INDEX)o2 * W_STEP_2);
            const int at_0 = o0 * STEP_0 + FIRST_0(0), at_1 = o1 * STEP_1 + FIRST_1(0),
                      at_2 = o2 * STEP_2 + FIRST_2(0);
            const INDEX from = x_base + (INDEX)image * X_CHANNEL;
            UNROLL
            for (int l = 0; l < CHUNK; l++) {
                const int tap = first + l, i2 = at_2 + tap % OUT_2 * STRIDE_2,
                          i1 = at_1 + tap / OUT_2 % OUT_1 * STRIDE_1,
                          i0 = at_0 + tap / (OUT_2 * OUT_1) * STRIDE_0;
                if (is_inside(MASK_0 + TAPS % CHUNK, i0, IN_0) && is_inside(MASK_1, i1, IN_1) &&
                    is_inside(MASK_2, i2, IN_2)) {
                    part[l] += given * LOAD_0(x, from + (INDEX)i0 * X_STEP_0 +
                                                     (INDEX)i1 * X_STEP_1 + (INDEX)i2 * X_STEP_2);
                }
            }
            part_of_dy += given;
        }
        UNROLL
        for (int l = 0; l < CHUNK; l++) {
            sum[l] += part[l];
        }
        sum_of_dy += part_of_dy;
    }
    const int writes = ROW == 0 && lane < CHANNELS_OUT;
    for (int l = 0; l < CHUNK; l++) {
        const float all = sum_of_lane(sum[l], room);
        const int tap = first + l;
        if (writes && tap < TAPS) {
            const INDEX o0 = tap / (OUT_2 * OUT_1), o1 = tap / OUT_2 % OUT_1, o2 = tap % OUT_2;
            STORE_Y(c, k, o0, o1, o2, all);
        }
    }
#if SUMS_OF_W
    if (c == 0 && first == 0) {
        const float all = sum_of_lane(sum_of_dy, room);
        if (writes) {
            STORE_SUMS(OUT(TYPE_SUMS, 1), (INDEX)k * SUMS_STEP, all);
        }
    }
#endif
}
