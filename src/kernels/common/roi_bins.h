/* SPDX-License-Identifier: Apache-2.0 */
/* RoiAlign, one axis at a time: where a region's bins are sampled (He et al., arXiv:1703.06870). */
#ifndef RY_KERNELS_COMMON_ROI_BINS_H
#define RY_KERNELS_COMMON_ROI_BINS_H

#include "problem/problem.h"

#include <math.h>

/* A bin is sampled at most this often along an axis: an adaptive count comes from data, and must
 * not decide how long a run takes. */
enum { RY_ROI_SAMPLES = 512 };

typedef struct ry_roi_bins {
    double start, size; /* bin, in feature-map pixels */
    int64_t samples;
} ry_roi_bins;

/* Bin `bin` of `count` between the two ends of a region along one axis. */
static inline ry_roi_bins ry_roi_bins_of(const ry_roi_align_attrs *attrs, double begin, double end,
                                         int64_t bin, int64_t count)
{
    double offset = attrs->half_pixel ? 0.5 : 0;
    double start = begin * attrs->spatial_scale - offset,
           extent = end * attrs->spatial_scale - offset - start;
    if (!attrs->half_pixel) {
        extent = fmax(extent, 1);
    }
    ry_roi_bins b = {.size = extent / (double)count};
    b.start = start + (double)bin * b.size;
    double samples = attrs->sampling_ratio > 0 ? (double)attrs->sampling_ratio : ceil(b.size);
    b.samples = samples > 0 ? (int64_t)fmin(samples, RY_ROI_SAMPLES) : 0;
    return b;
}

/* The taps low and high at sample s, and the weight of `high`; false beyond one pixel outside a map
 * of `size`. */
static inline bool ry_roi_sample(const ry_roi_bins *b, int64_t s, int64_t size, int64_t *low,
                                 int64_t *high, double *weight)
{
    double x = b->start + ((double)s + 0.5) * b->size / (double)b->samples;
    if (!(x >= -1 && x <= (double)size) || size == 0) {
        return false;
    }
    x = fmin(fmax(x, 0), (double)(size - 1));
    *low = (int64_t)x;
    *high = *low + 1 < size ? *low + 1 : *low;
    *weight = x - (double)*low;
    return true;
}

#endif
