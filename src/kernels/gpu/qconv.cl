/* SPDX-License-Identifier: Apache-2.0 */
/* Quantised convolutions: how igemm.cl and depthwise.cl read bytes, and how a sum becomes one.
 *
 * Defined for it: gpu_qconv.c's numbers. LANES: four channels of x, less 128 each, are an element of
 * 32 bits, a quad, as are those of w. Sums of quads begin at what makes up for the 128. In copied tiles
 * x's bytes are multiplied as they are. */

/* An element of x less its zero point, and one of w. */
#define LOAD_X(p, at) ((int)(p)[at] - X_ZERO)
#define LOAD_W(p, at) ((int)(p)[at])
#define FETCHED_X     STAGED
#define FOUR_X        uint4
#define STAGE_X(v)    (v)
#define STAGE_W(v)    (v)

#if LANES > 1
#define LESS                      (COPIED ? 0 : 128)
#define SIGNS                     ((uint)LESS * 0x01010101u)
#define X_OUTSIDE                 ((uint)(X_ZERO) * 0x01010101u ^ SIGNS)
#define ADD_PRODUCT(sum, w, x)    ((sum) = DOT_QUADS(w, x, sum))
#define X_ELEMENT(x, at, channel) (quad_of((x) + (at), X_BYTE, GROUP_CHANNELS - (channel) * 4) ^ SIGNS)
#define W_ELEMENT(w, at, channel) \
    quad_of((GLOBAL const uint8_t *)(w) + (at), W_BYTE, GROUP_CHANNELS - (channel) * 4)

/* Bytes that are `step` apart, at most `count`; 0 for others. */
FUNCTION uint quad_of(GLOBAL const uint8_t *from, INDEX step, int count)
{
    if (step == 1 && count >= 4 && (ulong)from % 4 == 0) {
        return *(GLOBAL const uint *)from;
    }
    uint quad = 0;
    UNROLL_SHORT
    for (int i = 0; i < 4; i++) {
        quad |= (i < count ? (uint)from[i * step] : 0u) << 8 * i;
    }
    return quad;
}

/* What the sums of an output channel begin with. */
FUNCTION int start_of(GLOBAL const int8_t *w, int channel)
{
    const INDEX row = (INDEX)(channel / ROWS) * W_GROUP + (INDEX)(channel % ROWS) * W_OUT;
    int sum = 0;
    for (int c = 0; c < GROUP_CHANNELS; c++) {
        for (int tap = 0; tap < WINDOW; tap++) {
            sum += w[row + (INDEX)c * W_BYTE + (INDEX)(tap / (WINDOW_2 * WINDOW_1)) * W_STEP_0 +
                     (INDEX)(tap / WINDOW_2 % WINDOW_1) * W_STEP_1 +
                     (INDEX)(tap % WINDOW_2) * W_STEP_2];
        }
    }
    return (LESS - X_ZERO) * sum;
}
#endif

/* v rounded to a whole number within bounds; halves to even. */
FUNCTION float round_within(float v, int low, int high)
{
    return rint(fmin(fmax(v, (float)low), (float)high));
}

FUNCTION int requantise(int sum, float scale)
{
    return (int)round_within((float)sum * scale, LOW, HIGH) + ZERO;
}

/* The sum is rounded before the residual is added. */
FUNCTION int requantise_residual(int sum, float scale, int residual)
{
#ifdef __OPENCL_VERSION__
#pragma OPENCL FP_CONTRACT OFF
#endif
    const float own = round_within((float)sum * scale, SUM_LOW, SUM_HIGH),
                other = (float)(residual - RESIDUAL_ZERO);
    return (int)round_within(ROUNDED_PRODUCT(own, SUM_SCALE) +
                                 ROUNDED_PRODUCT(other, RESIDUAL_SCALE),
                             LOW, HIGH) +
           ZERO;
}
