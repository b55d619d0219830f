/* SPDX-License-Identifier: Apache-2.0 */
/* The transforms of one axis, on vectors: B^T of t inputs in place, A^T of t products to m outputs.
 * Everything comes in as a constant, so that arrays are registers. Points: 0, +a, -a, +b, -b, ...,
 * infinity.
 *
 * The rows of B^T are the coefficients of the products of (x - q) over the other finite points q.
 * Those of +a and -a share their even and odd parts: x (x^2 - b^2) ... (x + a) = (x^2 + a x) (x^2 -
 * b^2) .... */
#ifndef RY_KERNELS_CPU_PARTS_WINOGRAD_TRANSFORM_H
#define RY_KERNELS_CPU_PARTS_WINOGRAD_TRANSFORM_H

#include "kernels/cpu/parts/winograd_points.h"
#include "kernels/cpu/simd/simd.h"

RY_INLINE ry_vf winograd_difference(ry_vf a, ry_vf b)
{
    return a - b;
}

/* Sums and differences run beside multiply-adds where a core has other oc blocks for them. */
RY_INLINE ry_vf winograd_scaled_sum(ry_vf a, float by, ry_vf b)
{
    return by == 1.0f    ? ry_vf_add(a, b)
           : by == -1.0f ? winograd_difference(a, b)
                         : ry_vf_fma(ry_vf_set(by), b, a);
}

/* +a and -a from the even and odd parts. */
RY_INLINE void winograd_pair(ry_vf even, ry_vf odd, float a, ry_vf *plus, ry_vf *minus)
{
    *plus = winograd_scaled_sum(even, a, odd);
    *minus = winograd_scaled_sum(even, -a, odd);
}

/* x2 - s1 x1 + s2 x0 */
RY_INLINE ry_vf winograd_quadratic(ry_vf x2, ry_vf x1, ry_vf x0, float s1, float s2)
{
    return winograd_scaled_sum(winograd_scaled_sum(x2, -s1, x1), s2, x0);
}

/* Three of six points, the first ones or the last, take half the operations. */
RY_INLINE void winograd_input_half(const int half, const ry_vf d[WINOGRAD_MAX_POINTS], ry_vf v[3])
{
    const float a = WINOGRAD_6_A, b = WINOGRAD_6_B, s1 = a * a + b * b, s2 = a * a * b * b;
    if (half == 0) {
        v[0] = winograd_quadratic(d[4], d[2], d[0], s1, s2);
        winograd_pair(winograd_scaled_sum(d[4], -b * b, d[2]),
                      winograd_scaled_sum(d[3], -b * b, d[1]), a, &v[1], &v[2]);
    } else {
        winograd_pair(winograd_scaled_sum(d[4], -a * a, d[2]),
                      winograd_scaled_sum(d[3], -a * a, d[1]), b, &v[0], &v[1]);
        v[2] = winograd_quadratic(d[5], d[3], d[1], s1, s2);
    }
}

RY_INLINE void winograd_input(const int points, ry_vf d[WINOGRAD_MAX_POINTS])
{
    ry_vf v[WINOGRAD_MAX_POINTS];
    if (points == 4) {
        v[0] = winograd_difference(d[2], d[0]);
        v[1] = ry_vf_add(d[2], d[1]);
        v[2] = winograd_difference(d[2], d[1]);
        v[3] = winograd_difference(d[3], d[1]);
    } else if (points == 6) {
        winograd_input_half(0, d, v);
        winograd_input_half(1, d, v + 3);
    } else if (points == 8) {
        const float a = WINOGRAD_8_A, b = WINOGRAD_8_B, c = WINOGRAD_8_C;
        /* here s1 = s2 and s3 = 1 */
        const float s = a * a + b * b + c * c;
        v[0] = winograd_scaled_sum(winograd_difference(d[6], d[0]), s,
                                   winograd_difference(d[2], d[4]));
        winograd_pair(winograd_quadratic(d[6], d[4], d[2], b * b + c * c, b * b * c * c),
                      winograd_quadratic(d[5], d[3], d[1], b * b + c * c, b * b * c * c), a, &v[1],
                      &v[2]);
        winograd_pair(winograd_quadratic(d[6], d[4], d[2], a * a + c * c, a * a * c * c),
                      winograd_quadratic(d[5], d[3], d[1], a * a + c * c, a * a * c * c), b, &v[3],
                      &v[4]);
        winograd_pair(winograd_quadratic(d[6], d[4], d[2], a * a + b * b, a * a * b * b),
                      winograd_quadratic(d[5], d[3], d[1], a * a + b * b, a * a * b * b), c, &v[5],
                      &v[6]);
        v[7] = winograd_scaled_sum(winograd_difference(d[7], d[1]), s,
                                   winograd_difference(d[3], d[5]));
    } else {
        v[0] = d[0];
    }
#pragma GCC unroll 8
    for (int i = 0; i < points; i++) {
        d[i] = v[i];
    }
}

/* y[i] = sum over points of p^i m[p]; infinity adds to the last. */
RY_INLINE void winograd_output(const int points, const int outputs,
                               const ry_vf m[WINOGRAD_MAX_POINTS], ry_vf y[WINOGRAD_MAX_POINTS])
{
    const float magnitude[3] = {points == 4   ? 1.0f
                                : points == 6 ? WINOGRAD_6_A
                                              : WINOGRAD_8_A,
                                points == 6 ? WINOGRAD_6_B : WINOGRAD_8_B, WINOGRAD_8_C};
    const int pairs = points / 2 - 1;
    ry_vf part[2][3]; /* even and odd in p */
    if (points == 1) {
        y[0] = m[0];
        return;
    }
#pragma GCC unroll 3
    for (int i = 0; i < pairs; i++) {
        part[0][i] = ry_vf_add(m[1 + 2 * i], m[2 + 2 * i]);
        part[1][i] = winograd_difference(m[1 + 2 * i], m[2 + 2 * i]);
    }
    float power[3] = {1.0f, 1.0f, 1.0f};
#pragma GCC unroll 8
    for (int i = 0; i < outputs; i++) {
        ry_vf sum = i == 0             ? ry_vf_add(m[0], part[0][0])
                    : power[0] == 1.0f ? part[i % 2][0]
                                       : ry_vf_mul(ry_vf_set(power[0]), part[i % 2][0]);
#pragma GCC unroll 3
        for (int j = 1; j < pairs; j++) {
            sum = i == 0 || power[j] == 1.0f ? ry_vf_add(sum, part[i % 2][j])
                                             : winograd_scaled_sum(sum, power[j], part[i % 2][j]);
        }
        y[i] = i == outputs - 1 ? ry_vf_add(sum, m[points - 1]) : sum;
#pragma GCC unroll 3
        for (int j = 0; j < pairs; j++) {
            power[j] *= magnitude[j];
        }
    }
}

#endif
