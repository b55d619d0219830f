/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout, and fills with random numbers: Philox 4x32-10 (base/philox.h). A work-item makes one
 * block of four words, for four elements that are neighbours in row-major order. All devices give
 * the same bits: sums of products are rounded in between.
 *
 * Defines: gpu_random.c's numbers, and offsets of element i in x, y and the mask. */

#ifdef __OPENCL_VERSION__
#pragma OPENCL FP_CONTRACT OFF
#endif

/* 10 rounds; c: counter, then the words. */
FUNCTION void philox(uint c[4], uint key0, uint key1)
{
    for (int round = 0; round < 10; round++) {
        const ulong a = (ulong)0xD2511F53u * c[0], b = (ulong)0xCD9E8D57u * c[2];
        const uint second = c[1], fourth = c[3];
        c[0] = (uint)(b >> 32) ^ second ^ key0;
        c[1] = (uint)b;
        c[2] = (uint)(a >> 32) ^ fourth ^ key1;
        c[3] = (uint)a;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
}

FUNCTION void words_of(ulong seed, ulong block, uint step, uint c[4])
{
    c[0] = (uint)block;
    c[1] = (uint)(block >> 32);
    c[2] = step;
    c[3] = STREAM;
    philox(c, (uint)seed, (uint)(seed >> 32));
}

#if DROPOUT

/* A double's bits, from 0 to below 2^53, as an integer's low word: devices without doubles have a
 * step, too. */
FUNCTION uint step_of(ulong bits)
{
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1075;
    const ulong mantissa = (bits & 0xfffffffffffffUL) | 0x10000000000000UL;
    return bits >> 63 || exponent > 0 || exponent < -52 ? 0u : (uint)(mantissa >> -exponent);
}

KERNEL(run)(ARGUMENTS)
{
    const INDEX block = (INDEX)GROUP * GROUP_ITEMS + ITEM;
    if (block >= BLOCKS) {
        return;
    }
#if HAS_IN_1
    const uint step = step_of(IN(ulong, 1)[0]);
#else
    const uint step = 0u;
#endif
#if HAS_IN_2
    const ulong seed = IN(ulong, 2)[0];
#else
    const ulong seed = SEED;
#endif
#if HAS_IN_3
    const ulong offset = IN(ulong, 3)[0];
#else
    const ulong offset = 0;
#endif
    uint word[4];
    words_of(seed, offset + (ulong)block, step, word);
    for (int j = 0; j < 4 && block * 4 + j < COUNT; j++) {
        const INDEX i = block * 4 + j;
        const int stays = word[j] >= LEAST;
        STORE(OUT(TYPE_Y, 0), y_at(i), stays ? LOAD_0(IN(TYPE_0, 0), x_at(i)) * SCALE : 0.0f);
#if HAS_MASK
        OUT(uchar, 1)[mask_at(i)] = (uchar)stays;
#endif
    }
}

#else

#if NORMAL
#ifdef __OPENCL_VERSION__
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

/* A polynomial by Horner's rule: the coefficient of the largest power comes first. */
#define TERM(y, x, c) (ROUNDED_PRODUCT((y), (x)) + (c))
#define POLYNOMIAL(x, a, b, c, d, e, f, g, h) \
    TERM(TERM(TERM(TERM(TERM(TERM(TERM(a, x, b), x, c), x, d), x, e), x, f), x, g), x, h)

/* base/philox.c's, operation by operation. */
FUNCTION double minus_log(double p)
{
    int exponent;
    double m = frexp(p, &exponent);
    if (m < 0.70710678118654752) {
        m *= 2;
        exponent--;
    }
    const double s = (m - 1) / (m + 1), s2 = s * s;
    double sum = 0;
    for (int term = 23; term >= 1; term -= 2) {
        sum = ROUNDED_PRODUCT(sum, s2) + 1.0 / term;
    }
    return -(ROUNDED_PRODUCT(2 * s, sum) + ROUNDED_PRODUCT((double)exponent, 0.69314718055994531));
}

FUNCTION float number_of(uint word)
{
    const double p = ((double)word + 0.5) * 0x1p-32, q = p - 0.5;
    if (q <= 0.425 && q >= -0.425) {
        const double r = 0.180625 - ROUNDED_PRODUCT(q, q);
        const double over =
            POLYNOMIAL(r, 2.5090809287301226727e+3, 3.3430575583588128105e+4,
                       6.7265770927008700853e+4, 4.5921953931549871457e+4, 1.3731693765509461125e+4,
                       1.9715909503065514427e+3, 1.3314166789178437745e+2, 3.3871328727963666080e+0);
        const double under =
            POLYNOMIAL(r, 5.2264952788528545610e+3, 2.8729085735721942674e+4,
                       3.9307895800092710610e+4, 2.1213794301586595867e+4, 5.3941960214247511077e+3,
                       6.8718700749205790830e+2, 4.2313330701600911252e+1, 1.0);
        return (float)(ROUNDED_PRODUCT(over, q) / under);
    }
    const double r = sqrt(minus_log(q < 0 ? p : 1 - p)) - 1.6;
    const double over =
        POLYNOMIAL(r, 7.7454501427834140764e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
                   1.27045825245236838258e+0, 3.64784832476320460504e+0, 5.76949722146069140550e+0,
                   4.63033784615654529590e+0, 1.42343711074968357734e+0);
    const double under =
        POLYNOMIAL(r, 1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
                   1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940e+0,
                   2.05319162663775882187e+0, 1.0);
    const double x = over / under;
    return (float)(q < 0 ? -x : x);
}
#else
FUNCTION float number_of(uint word)
{
    return (float)(word >> 8) * 0x1p-24f;
}
#endif

KERNEL(run)(ARGUMENTS)
{
    const INDEX block = (INDEX)GROUP * GROUP_ITEMS + ITEM;
    if (block >= BLOCKS) {
        return;
    }
    uint word[4];
    words_of(IN(ulong, 0)[0], IN(ulong, 1)[0] + (ulong)block, 0u, word);
    for (int j = 0; j < 4 && block * 4 + j < COUNT; j++) {
        const INDEX i = block * 4 + j;
#if BERNOULLI
        const float value = (ulong)word[j] < LEAST ? 1.0f : 0.0f;
#else
        const float value = BASE + ROUNDED_PRODUCT(number_of(word[j]), FACTOR);
#endif
#if BYTES
        OUT(uchar, 0)[y_at(i)] = (uchar)(value != 0.0f);
#else
        STORE(OUT(TYPE_Y, 0), y_at(i), value);
#endif
    }
}

#endif
