/* SPDX-License-Identifier: Apache-2.0 */
/* Linear enlargements by 2, 4 or 8, whose weights are few bits: sums of bytes are exact in float32. */
#ifndef RY_PROBLEM_RESIZE_DYADIC_H
#define RY_PROBLEM_RESIZE_DYADIC_H

#include "problem/attrs.h"

/* Are the weights of a resize between these dims multiples of 2^-12? */
static inline bool ry_resize_is_dyadic(const ry_resize_attrs *a, int rank, const int64_t *in,
                                       const int64_t *out)
{
    enum { MOST = 8, MOST_ALL = 64 };
    int64_t all = 1;
    bool dyadic = a->mode == RY_resize_mode_linear && !a->antialias && !a->exclude_outside &&
                  (a->coordinates == RY_resize_coordinates_half_pixel ||
                   a->coordinates == RY_resize_coordinates_pytorch_half_pixel ||
                   a->coordinates == RY_resize_coordinates_asymmetric);
    for (int d = 0; dyadic && d < rank; d++) {
        const int64_t scale = in[d] > 0 ? out[d] / in[d] : 0;
        dyadic = scale >= 1 && scale <= MOST && (scale & (scale - 1)) == 0 &&
                 out[d] == scale * in[d] &&
                 (d >= a->scales.count || a->scales.at[d] == (double)scale);
        all *= scale;
    }
    return dyadic && all <= MOST_ALL;
}

#endif
