/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of pooling: a work-item computes an element of dx, over the windows that it is in. A
 * maximum is found again in x: the first of equals in row-major order, a NaN above all. Items that
 * are neighbours have elements that are neighbours in memory.
 *
 * Defines: the numbers of gpu_pool.c, for three axes each (depth, height, width). */

/* The taps of position o along an axis whose elements are inside x: [FIRST, END), and how many are
 * inside x and its padding. */
#if ADAPTIVE
#define FIRST(i, o)      0
#define END(i, o)        ((((o) + 1) * IN_##i + OUT_##i - 1) / OUT_##i - (o) * IN_##i / OUT_##i)
#define PADDED(i, o)     END(i, o)
#define FROM(i, e)       ((e) * OUT_##i / IN_##i)
#define TO(i, e)         ((((e) + 1) * OUT_##i + IN_##i - 1) / IN_##i - 1)
#define MEETS(i, e, o)   ((o) >= 0)
#define PLACE(i, o, tap) ((o) * IN_##i / OUT_##i + (tap))
#else
#define FIRST(i, o) max(0, (PAD_##i - (o) * STRIDE_##i + DILATION_##i - 1) / DILATION_##i)
#define END(i, o)   min(TAPS_##i, (IN_##i + PAD_##i - (o) * STRIDE_##i + DILATION_##i - 1) / DILATION_##i)
#define PADDED(i, o)                                                                       \
    min(TAPS_##i, (IN_##i + PAD_##i + PAD_END_##i - (o) * STRIDE_##i + DILATION_##i - 1) / \
                      DILATION_##i)
/* The positions along an axis that may have element e: [FROM, TO], those whose REST is a multiple of
 * the dilation. */
#define FROM(i, e)                                                                         \
    (max(0, (e) + PAD_##i - (TAPS_##i - 1) * DILATION_##i + STRIDE_##i - 1) / STRIDE_##i)
#define TO(i, e)      min(OUT_##i - 1, ((e) + PAD_##i) / STRIDE_##i)
#define REST(i, e, o) ((e) + PAD_##i - (o) * STRIDE_##i)
#define MEETS(i, e, o) (REST(i, e, o) % DILATION_##i == 0)
#define PLACE(i, o, tap) ((o) * STRIDE_##i - PAD_##i + (tap) * DILATION_##i)
#endif

#if MAXIMUM
/* Is the element `own`, at (e0, e1, e2), its window's maximum? */
FUNCTION int is_maximum(GLOBAL const TYPE_1 *x, float own, int e0, int e1, int e2, int o0, int o1,
                        int o2)
{
    const int end_0 = END(0, o0), end_1 = END(1, o1), end_2 = END(2, o2);
    int before = 1;
    for (int r = FIRST(0, o0); r < end_0; r++) {
        const int i0 = PLACE(0, o0, r);
        for (int s = FIRST(1, o1); s < end_1; s++) {
            const int i1 = PLACE(1, o1, s);
            for (int t = FIRST(2, o2); t < end_2; t++) {
                const int i2 = PLACE(2, o2, t);
                const float other = LOAD_1(x, (INDEX)i0 * X_STEP_0 + (INDEX)i1 * X_STEP_1 +
                                                  (INDEX)i2 * X_STEP_2);
                before = before && !(i0 == e0 && i1 == e1 && i2 == e2);
                const int nan = other != other;
                const int above = own == own && (nan || other > own),
                          equal = own == own ? other == own : nan;
                if (above || (equal && before)) {
                    return 0;
                }
            }
        }
    }
    return 1;
}
#endif

KERNEL(run)(ARGUMENTS)
{
    INDEX rest = (INDEX)GROUP * GROUP_ITEMS + ITEM;
    if (rest >= (INDEX)IMAGES * CHANNELS * IN_0 * IN_1 * IN_2) {
        return;
    }
#if DX_ALONG_CHANNELS
    const int channel = (int)(rest % CHANNELS);
    rest /= CHANNELS;
#endif
    const int e2 = (int)(rest % IN_2);
    rest /= IN_2;
    const int e1 = (int)(rest % IN_1);
    rest /= IN_1;
    const int e0 = (int)(rest % IN_0);
    rest /= IN_0;
#if !DX_ALONG_CHANNELS
    const int channel = (int)(rest % CHANNELS);
    rest /= CHANNELS;
#endif
    const int image = (int)rest;
    GLOBAL const TYPE_0 *dy =
        IN(TYPE_0, 0) + ((INDEX)image * DY_IMAGE + (INDEX)channel * DY_CHANNEL);
#if MAXIMUM
    GLOBAL const TYPE_1 *x =
        IN(TYPE_1, 1) + ((INDEX)image * X_IMAGE + (INDEX)channel * X_CHANNEL);
    const float own =
        LOAD_1(x, (INDEX)e0 * X_STEP_0 + (INDEX)e1 * X_STEP_1 + (INDEX)e2 * X_STEP_2);
#endif
    float sum = 0.0f;
    for (int o0 = FROM(0, e0); o0 <= TO(0, e0); o0++) {
        for (int o1 = FROM(1, e1); o1 <= TO(1, e1); o1++) {
            for (int o2 = FROM(2, e2); o2 <= TO(2, e2); o2++) {
                if (!MEETS(0, e0, o0) || !MEETS(1, e1, o1) || !MEETS(2, e2, o2)) {
                    continue;
                }
                const float given = LOAD_0(dy, (INDEX)o0 * DY_STEP_0 + (INDEX)o1 * DY_STEP_1 +
                                                   (INDEX)o2 * DY_STEP_2);
#if MAXIMUM
                sum += is_maximum(x, own, e0, e1, e2, o0, o1, o2) ? given : 0.0f;
#else
                const int count = COUNT_PAD
                                      ? PADDED(0, o0) * PADDED(1, o1) * PADDED(2, o2)
                                      : (END(0, o0) - FIRST(0, o0)) * (END(1, o1) - FIRST(1, o1)) *
                                            (END(2, o2) - FIRST(2, o2));
                sum += given / (float)count;
#endif
            }
        }
    }
    STORE(OUT(TYPE_Y, 0),
          (INDEX)image * DX_IMAGE + (INDEX)channel * DX_CHANNEL + (INDEX)e0 * DX_STEP_0 +
              (INDEX)e1 * DX_STEP_1 + (INDEX)e2 * DX_STEP_2,
          sum);
}
