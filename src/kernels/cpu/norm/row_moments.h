/* SPDX-License-Identifier: Apache-2.0 */
/* Mean and variance of rows of floats, and applying them, for *_isa.c sources.
 *
 * Differences are taken from a first estimate of the mean, so that nothing is lost to cancellation;
 * parts are joined by Chan, Golub and LeVeque's formula
 * ("Algorithms for Computing the Sample Variance", The American Statistician 37, 1983). */
#ifndef RY_KERNELS_CPU_NORM_ROW_MOMENTS_H
#define RY_KERNELS_CPU_NORM_ROW_MOMENTS_H

#include "kernels/cpu/norm/moments.h"
#include "kernels/cpu/simd/lane_sums.h"

RY_INLINE ry_moments ry_moments_join(ry_moments a, ry_moments b)
{
    double count = a.count + b.count, d = b.mean - a.mean;
    if (a.count == 0) {
        return b;
    }
    return (ry_moments){count, a.mean + d * (b.count / count),
                        a.squares + b.squares + d * d * (a.count * b.count / count)};
}

/* Joins many moments with one division. */
RY_INLINE ry_moments ry_moments_join_all(const ry_moments *parts, int64_t n)
{
    double count = 0, sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) {
        count += parts[i].count;
        sum += parts[i].count * (parts[i].mean - parts[0].mean);
    }
    const double mean = parts[0].mean + sum / count;
    for (int64_t i = 0; i < n; i++) {
        const double d = parts[i].mean - mean;
        squares += parts[i].squares + parts[i].count * d * d;
    }
    return (ry_moments){count, mean, squares};
}

/* The sums of x - shift and of its square, over n numbers. */
RY_INLINE void ry_row_sums(const float *x, int64_t n, float shift, double *sum, double *squares)
{
    ry_vf s[4], q[4], minus = ry_vf_set(-shift);
    int64_t i = 0;
    for (int k = 0; k < 4; k++) {
        s[k] = q[k] = ry_vf_zero();
    }
    for (; i + 4 * RY_W <= n; i += 4 * RY_W) {
        for (int k = 0; k < 4; k++) {
            ry_vf d = ry_vf_add(ry_vf_load(x + i + k * RY_W), minus);
            s[k] = ry_vf_add(s[k], d);
            q[k] = ry_vf_fma(d, d, q[k]);
        }
    }
    for (; i + RY_W <= n; i += RY_W) {
        ry_vf d = ry_vf_add(ry_vf_load(x + i), minus);
        s[0] = ry_vf_add(s[0], d);
        q[0] = ry_vf_fma(d, d, q[0]);
    }
    double ds = 0, dq = 0;
    for (; i < n; i++) {
        float d = x[i] - shift;
        ds += (double)d;
        dq += (double)d * (double)d;
    }
    for (int k = 0; k < 4; k++) {
        ds += (double)ry_vf_sum(s[k]);
        dq += (double)ry_vf_sum(q[k]);
    }
    *sum = ds;
    *squares = dq;
}

/* Long rows go by parts: sums in f32 stay short. */
RY_INLINE ry_moments ry_row_moments(const float *x, int64_t n)
{
    enum { PART = 8192 };
    ry_moments all = {0};
    for (int64_t i = 0; i < n; i += PART) {
        int64_t count = n - i < PART ? n - i : PART;
        double sum, squares, max = (double)count;
        ry_row_sums(x + i, count, 0, &sum, &squares);
        float estimate = (float)(sum / max);
        ry_row_sums(x + i, count, estimate, &sum, &squares);
        all = ry_moments_join(
            all, (ry_moments){max, (double)estimate + sum / max, squares - sum * sum / max});
    }
    return all;
}

/* y = (x - mean) * factor + offset; the mean comes in two parts, so that a difference of large
 * numbers is exact. */
RY_INLINE void ry_row_apply(float *restrict y, const float *restrict x, int64_t n, float mean,
                            float rest, float factor, float offset)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = ((x[i] - mean) - rest) * factor + offset;
    }
}

#endif
