/* SPDX-License-Identifier: Apache-2.0 */
/* Resize: a work-item computes one output. Items that are neighbours have outputs that are
 * neighbours in memory.
 *
 * Defined for it by gpu_resize.c: of output i the offset y_at(i), that of what is not resized,
 * x_at(i), and its position along each of three axes, position_0(i) and so on. Position o of axis a
 * is at (A_a * o + B_a) / D_a of the input, which has IN_a positions, X_STEP_a apart: of nearest
 * rounded down, of the others whole and fraction. LOW_a to HIGH_a: the taps round it. */

#define PLACE(a)                                                                      \
    const POSITION numerator_##a = (POSITION)A_##a * (POSITION)position_##a(i) + B_##a; \
    const POSITION whole_##a = floor_of(numerator_##a, D_##a);

FUNCTION POSITION floor_of(POSITION n, POSITION d)
{
    return n >= 0 ? n / d : -((d - 1 - n) / d);
}

FUNCTION INDEX inside(POSITION position, POSITION in)
{
    return (INDEX)(position < 0 ? 0 : position >= in ? in - 1 : position);
}

#if NEAREST

#define VALUE IN(UNIT, 0)[x_at(i) + inside(whole_0, IN_0) * X_STEP_0 + \
                          inside(whole_1, IN_1) * X_STEP_1 + inside(whole_2, IN_2) * X_STEP_2]
#define WRITE(at, v) (OUT(UNIT, 0)[at] = (v))

#else

/* The triangle, or Keys' cubic kernel. */
FUNCTION float filter(float distance)
{
    const float d = fabs(distance);
#if CUBIC
    return d <= 1.0f   ? ((CUBIC_A + 2.0f) * d - (CUBIC_A + 3.0f)) * d * d + 1.0f
           : d < 2.0f ? ((CUBIC_A * d - 5.0f * CUBIC_A) * d + 8.0f * CUBIC_A) * d - 4.0f * CUBIC_A
                      : 0.0f;
#else
    return d < 1.0f ? 1.0f - d : 0.0f;
#endif
}

/* Weight of tap k, counted from the whole position. */
FUNCTION float weight(int k, float fraction, float stretch, POSITION whole, POSITION in)
{
#if EXCLUDE_OUTSIDE
    if (whole + k < 0 || whole + k >= in) {
        return 0.0f;
    }
#endif
    return filter(((float)k - fraction) * stretch);
}

/* What a sum of taps is multiplied with. */
FUNCTION float share(int low, int high, float fraction, float stretch, POSITION whole, POSITION in)
{
    float total = 1.0f;
#if NORMALISED
    total = 0.0f;
    for (int k = low; k <= high; k++) {
        total += weight(k, fraction, stretch, whole, in);
    }
#endif
    return total != 0.0f ? 1.0f / total : 1.0f;
}

#define FRACTION(a)                                                                    \
    const float fraction_##a = (float)(numerator_##a - whole_##a * D_##a) / (float)D_##a; \
    const float share_##a =                                                            \
        share(LOW_##a, HIGH_##a, fraction_##a, STRETCH_##a, whole_##a, IN_##a);

/* A tap that weighs nothing is not read: it may be infinite. */
#define TAPS(a)                                                                           \
    for (int k_##a = LOW_##a; k_##a <= HIGH_##a; k_##a++) {                               \
        const float w_##a = weight(k_##a, fraction_##a, STRETCH_##a, whole_##a, IN_##a) * \
                            share_##a;                                                    \
        const INDEX at_##a = inside(whole_##a + k_##a, IN_##a) * X_STEP_##a;              \
        if (w_##a == 0.0f) {                                                              \
            continue;                                                                     \
        }

#define VALUE        (ROUNDED ? rint(sum) : sum)
#define WRITE(at, v) STORE(OUT(TYPE_Y, 0), at, v)
#endif

KERNEL(run)(ARGUMENTS)
{
    const INDEX i = (INDEX)GROUP * GROUP_ITEMS + ITEM;
    if (i >= OUTPUTS_ALL) {
        return;
    }
    PLACE(0)
    PLACE(1)
    PLACE(2)
#if CROPS
#define IS_OUTSIDE(a) (CROPS_##a && (numerator_##a < 0 || numerator_##a > (IN_##a - 1) * D_##a))
    if (IS_OUTSIDE(0) || IS_OUTSIDE(1) || IS_OUTSIDE(2)) {
        STORE(OUT(TYPE_Y, 0), y_at(i), EXTRAPOLATION);
        return;
    }
#endif
#if !NEAREST
    FRACTION(0)
    FRACTION(1)
    FRACTION(2)
    GLOBAL const TYPE_0 *x = IN(TYPE_0, 0) + x_at(i);
    float sum = 0.0f;
    TAPS(0)
        float sum_1 = 0.0f;
        TAPS(1)
            float sum_2 = 0.0f;
            TAPS(2)
                sum_2 += w_2 * LOAD_0(x, at_0 + at_1 + at_2);
            }
            sum_1 += w_1 * sum_2;
        }
        sum += w_0 * sum_1;
    }
#endif
    WRITE(y_at(i), VALUE);
}
