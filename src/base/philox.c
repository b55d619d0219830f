/* SPDX-License-Identifier: Apache-2.0 */
/* Uniform and normal numbers, and permutations, of Philox's words. Compiled without fused
 * multiply-adds, which would make other bits of the same source. */
#include "base/philox.h"

#include <math.h>

#define TERMS(array) (sizeof(array) / sizeof *(array))

static double polynomial(const double *coefficients, size_t count, double x)
{
    double y = coefficients[0];
    for (size_t i = 1; i < count; i++) {
        y = y * x + coefficients[i];
    }
    return y;
}

/* -ln of a probability, as 2 atanh((m - 1) / (m + 1)) of its mantissa, which lies between sqrt(1/2)
 * and sqrt(2): there the twelfth term is below 2^-60 of the first. */
static double minus_log(double p)
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
        sum = sum * s2 + 1.0 / term;
    }
    return -(2 * s * sum + exponent * 0.69314718055994531);
}

/* The quantile of the normal distribution: M. J. Wichura, Algorithm AS 241, Applied Statistics 37
 * (1988), whose last case is for probabilities below 2^-36, which a word does not reach. */
float ry_random_normal_of(uint32_t word)
{
    static const double far_over[] = {7.7454501427834140764e-4,  2.27238449892691845833e-2,
                                      2.41780725177450611770e-1, 1.27045825245236838258e+0,
                                      3.64784832476320460504e+0, 5.76949722146069140550e+0,
                                      4.63033784615654529590e+0, 1.42343711074968357734e+0};
    static const double far_under[] = {1.05075007164441684324e-9, 5.47593808499534494600e-4,
                                       1.51986665636164571966e-2, 1.48103976427480074590e-1,
                                       6.89767334985100004550e-1, 1.67638483018380384940e+0,
                                       2.05319162663775882187e+0, 1.0};
    if (ry_random_is_near(word)) {
        return ry_random_normal_near(word);
    }
    const double p = ((double)word + 0.5) * 0x1p-32, q = p - 0.5;
    const double r = sqrt(minus_log(q < 0 ? p : 1 - p)) - 1.6;
    const double x =
        polynomial(far_over, TERMS(far_over), r) / polynomial(far_under, TERMS(far_under), r);
    return (float)(q < 0 ? -x : x);
}

/* A block is computed once for its four elements. */
static void fill(const ry_random *random, uint64_t first, size_t count, float (*of)(uint32_t),
                 float *values)
{
    ry_philox_block block = {{0}};
    for (size_t i = 0; i < count; i++) {
        const uint64_t element = first + i;
        if (i == 0 || element % 4 == 0) {
            block = ry_random_block(random, element / 4);
        }
        values[i] = of(block.word[element % 4]);
    }
}

void ry_random_uniform(const ry_random *random, uint64_t first, size_t count, float *values)
{
    fill(random, first, count, ry_random_uniform_of, values);
}

void ry_random_normal(const ry_random *random, uint64_t first, size_t count, float *values)
{
    fill(random, first, count, ry_random_normal_of, values);
}

/* The high half of number * count, which is below count. */
static uint64_t below(uint64_t number, uint64_t count)
{
    const uint64_t high = (number >> 32) * (count >> 32);
    const uint64_t a = (number >> 32) * (uint32_t)count, b = (uint32_t)number * (count >> 32);
    const uint64_t low = (uint64_t)(uint32_t)number * (uint32_t)count;
    const uint64_t carry = ((low >> 32) + (uint32_t)a + (uint32_t)b) >> 32;
    return high + (a >> 32) + (b >> 32) + carry;
}

void ry_random_permutation(const ry_random *random, size_t count, uint64_t *order)
{
    for (size_t i = 0; i < count; i++) {
        const ry_philox_block block = ry_random_block(random, i / 2);
        const uint32_t *words = block.word + i % 2 * 2;
        const uint64_t place = below((uint64_t)words[1] << 32 | words[0], i + 1);
        order[i] = place < i ? order[place] : i;
        order[place] = i;
    }
}
