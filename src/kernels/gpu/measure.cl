/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of one kind, WHAT, in GROUPS groups of ITEMS work-items, for ROUNDS rounds. */
#define NOTHING 0
#define PRODUCTS 1
#define READS 2
#define CHASE 3
#define DOTS 4
#define UNITS_BF16 5
#define UNITS_S8 6

/* What a work-item multiplies at once: on a processor it is a core's whole vector. */
#if PROCESSOR
#define VECTOR           VECTOR16
#define ALL_OF(x)        ((VECTOR16)(x))
#define KEEP(p, i, v)    STORE16((p), 16 * (i), (v))
#else
#define VECTOR           float
#define ALL_OF(x)        (x)
#define KEEP(p, i, v)    ((p)[i] = (v))
#endif

#if WHAT == NOTHING
KERNEL(measure)(ARGUMENTS)
{
    if (GROUP == 0 && ITEM == 0) {
        OUT(float, 0)[0] = 1;
    }
}
#elif WHAT == PRODUCTS
/* Eight independent sums hide the latency. */
KERNEL(measure)(ARGUMENTS)
{
    const int at = GROUP * ITEMS + ITEM;
    const VECTOR x = ALL_OF(IN(float, 0)[0]), y = ALL_OF(IN(float, 0)[1]);
    VECTOR a = x, b = x + y, c = b + y, d = c + y, e = d + y, f = e + y, g = f + y, h = g + y;
    for (int i = 0; i < ROUNDS; i++) {
        a = a * x + y;
        b = b * x + y;
        c = c * x + y;
        d = d * x + y;
        e = e * x + y;
        f = f * x + y;
        g = g * x + y;
        h = h * x + y;
    }
    KEEP(OUT(float, 0), at, a + b + c + d + e + f + g + h);
}
#elif WHAT == DOTS
/* Products of four signed bytes; each takes the sum before, so that no compiler sums once. */
KERNEL(measure)(ARGUMENTS)
{
    const uint x = IN(uint, 0)[0];
    int a = (int)x, b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5, g = a + 6, h = a + 7;
    for (int i = 0; i < ROUNDS; i++) {
        a = DOT_QUADS(x, (uint)a, a);
        b = DOT_QUADS(x, (uint)b, b);
        c = DOT_QUADS(x, (uint)c, c);
        d = DOT_QUADS(x, (uint)d, d);
        e = DOT_QUADS(x, (uint)e, e);
        f = DOT_QUADS(x, (uint)f, f);
        g = DOT_QUADS(x, (uint)g, g);
        h = DOT_QUADS(x, (uint)h, h);
    }
    OUT(float, 0)[GROUP * ITEMS + ITEM] = (float)(a ^ b ^ c ^ d ^ e ^ f ^ g ^ h);
}
#elif WHAT == UNITS_BF16 || WHAT == UNITS_S8
#if WHAT == UNITS_S8
#define SUM          int
#define MULTIPLY     multiply_s8_s8
#else
#define SUM          float
#define MULTIPLY     multiply_bf16
#endif
/* Eight independent tiles of sums. */
KERNEL(measure)(ARGUMENTS)
{
    const uint x = IN(uint, 0)[0];
    const uint left[4] = {x, x, x, x}, right[2] = {x, x};
    SUM sums[8][4];
    BARRIER; /* units need all items of a step at once */
    for (int t = 0; t < 8; t++) {
        sums[t][0] = sums[t][1] = sums[t][2] = sums[t][3] = (SUM)t;
    }
    for (int i = 0; i < ROUNDS; i++) {
        UNROLL
        for (int t = 0; t < 8; t++) {
            MULTIPLY(sums[t], sums[t] + 2, left, right);
        }
    }
    float sum = 0;
    for (int t = 0; t < 8; t++) {
        sum += (float)(sums[t][0] + sums[t][1] + sums[t][2] + sums[t][3]);
    }
    OUT(float, 0)[GROUP * ITEMS + ITEM] = sum;
}
#elif WHAT == READS
/* FLOATS of them, in order: neighbouring items read neighbours, but on a processor each group has a
 * range of its own. */
KERNEL(measure)(ARGUMENTS)
{
    const int at = GROUP * ITEMS + ITEM;
    GLOBAL const float *x = IN(float, 0);
    VECTOR a = ALL_OF(0.0f), b = a, c = a, d = a;
    for (int round = 0; round < ROUNDS; round++) {
#if PROCESSOR
        x = IN(float, 0) + (long)(FLOATS / GROUPS) * GROUP;
        for (int i = 0; i < FLOATS / GROUPS; i += 64) {
            a += LOAD16(x, i);
            b += LOAD16(x, i + 16);
            c += LOAD16(x, i + 32);
            d += LOAD16(x, i + 48);
        }
#else
        for (int i = 4 * at; i < FLOATS; i += 4 * GROUPS * ITEMS) {
            const VECTOR4 v = LOAD4_f32(x, i);
            a += v.x;
            b += v.y;
            c += v.z;
            d += v.w;
        }
#endif
    }
    KEEP(OUT(float, 0), at, a + b + c + d);
}
#else
/* Each element is the number of the next one. */
KERNEL(measure)(ARGUMENTS)
{
    GLOBAL const int *next = IN(int, 0);
    int at = 0;
    for (int i = 0; i < ROUNDS; i++) {
        at = next[at];
    }
    OUT(float, 0)[0] = (float)at;
}
#endif
