/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling: a work-item computes one output, over the taps of its window that are inside x. Items
 * that are neighbours have outputs that are neighbours in memory.
 *
 * Defined for it: gpu_pool.c's numbers, of three axes each (depth, height, width); LEAST, below every
 * element. */

/* The taps of position o along an axis whose elements are inside x: [FIRST, END), and how many are
 * inside x and its padding. */
#if ADAPTIVE
#define FIRST(i, o)    0
#define END(i, o)      ((((o) + 1) * IN_##i + OUT_##i - 1) / OUT_##i - (o) * IN_##i / OUT_##i)
#define PADDED(i, o)   END(i, o)
#define PLACE(i, o, r) ((o) * IN_##i / OUT_##i + (r))
#else
#define FIRST(i, o) max(0, (PAD_##i - (o) * STRIDE_##i + DILATION_##i - 1) / DILATION_##i)
#define END(i, o)   min(TAPS_##i, (IN_##i + PAD_##i - (o) * STRIDE_##i + DILATION_##i - 1) / DILATION_##i)
#define PADDED(i, o)                                                                      \
    min(TAPS_##i, (IN_##i + PAD_##i + PAD_END_##i - (o) * STRIDE_##i + DILATION_##i - 1) / \
                      DILATION_##i)
#define PLACE(i, o, r) ((o) * STRIDE_##i - PAD_##i + (r) * DILATION_##i)
#endif

#if MAXIMUM
#define START       LEAST
#define JOIN(v, e)  ((e) > (v) || (e) != (e) ? (e) : (v))
#else
#define START       0.0f
#define JOIN(v, e)  ((v) + (e))
#endif

/* With indices a tap that wins leaves its number; without a winner the first tap's stays. */
#if INDICES
#define MEET(v, e, number)                           \
    if ((e) > (v) || ((e) != (e) && (v) == (v))) {   \
        v = (e);                                     \
        best = (number);                             \
    }
#else
#define MEET(v, e, number) v = JOIN(v, e);
#endif
#define INDEX_AT ((INDEX)o0 * INDEX_STEP_0 + (INDEX)o1 * INDEX_STEP_1 + (INDEX)o2 * INDEX_STEP_2)

KERNEL(run)(ARGUMENTS)
{
    INDEX rest = (INDEX)GROUP * GROUP_ITEMS + ITEM;
    if (rest >= (INDEX)IMAGES * CHANNELS * OUT_0 * OUT_1 * OUT_2) {
        return;
    }
#if Y_ALONG_CHANNELS
    const int channel = (int)(rest % CHANNELS);
    rest /= CHANNELS;
#endif
    const int o2 = (int)(rest % OUT_2);
    rest /= OUT_2;
    const int o1 = (int)(rest % OUT_1);
    rest /= OUT_1;
    const int o0 = (int)(rest % OUT_0);
    rest /= OUT_0;
#if !Y_ALONG_CHANNELS
    const int channel = (int)(rest % CHANNELS);
    rest /= CHANNELS;
#endif
    const int image = (int)rest;
    const int first_0 = FIRST(0, o0), first_1 = FIRST(1, o1), first_2 = FIRST(2, o2);
    const int end_0 = END(0, o0), end_1 = END(1, o1), end_2 = END(2, o2);
    GLOBAL const TYPE_0 *x = IN(TYPE_0, 0);
    const INDEX base = (INDEX)image * X_IMAGE + (INDEX)channel * X_CHANNEL;
    float value = START;
#if INDICES
    int64_t best = NUMBER(PLACE(0, o0, first_0), PLACE(1, o1, first_1), PLACE(2, o2, first_2));
#endif
    for (int r = first_0; r < end_0; r++) {
        const INDEX slice = base + (INDEX)PLACE(0, o0, r) * X_STEP_0;
        for (int s = first_1; s < end_1; s++) {
            const INDEX row = slice + (INDEX)PLACE(1, o1, s) * X_STEP_1;
            for (int t = first_2; t < end_2; t++) {
                const INDEX at = row + (INDEX)PLACE(2, o2, t) * X_STEP_2;
                const float element = LOAD_0(x, at);
                MEET(value, element, NUMBER(PLACE(0, o0, r), PLACE(1, o1, s), PLACE(2, o2, t)))
            }
        }
    }
#if !MAXIMUM
    const int count = COUNT_PAD ? PADDED(0, o0) * PADDED(1, o1) * PADDED(2, o2)
                                : max(end_0 - first_0, 0) * max(end_1 - first_1, 0) *
                                      max(end_2 - first_2, 0);
    value = count > 0 ? value / (float)count : 0.0f;
#endif
    const INDEX to = (INDEX)image * Y_IMAGE + (INDEX)channel * Y_CHANNEL + (INDEX)o0 * Y_STEP_0 +
                     (INDEX)o1 * Y_STEP_1 + (INDEX)o2 * Y_STEP_2;
    STORE(OUT(TYPE_Y, 0), to, value);
#if INDICES
    /* the maximum of nothing has index 0 */
    const int any = first_0 < end_0 && first_1 < end_1 && first_2 < end_2;
    const int64_t plane = WHOLE * ((int64_t)image * CHANNELS + channel) * IN_0 * IN_1 * IN_2;
    OUT(int64_t, 1)[(INDEX)image * INDEX_IMAGE + (INDEX)channel * INDEX_CHANNEL + INDEX_AT] =
        any ? plane + best : 0;
#endif
}
