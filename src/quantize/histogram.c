/* SPDX-License-Identifier: Apache-2.0 */
/* Counts values in bins. */
#include "quantize/histogram.h"

#include <math.h>

enum { ZERO = RY_BINS / 2 }; /* the bin that begins at zero */

/* Doubles the width of the bins: bin i of the new ones holds bins 2i and 2i + 1 around zero. */
static void widen(ry_histogram *h)
{
    uint64_t *up = h->bin + ZERO, *down = h->bin + ZERO - 1;
    for (int i = 0; i < ZERO; i++) {
        const bool inside = 2 * i < ZERO;
        const uint64_t above = inside ? up[2 * i] + up[2 * i + 1] : 0,
                       below = inside ? down[-2 * i] + down[-2 * i - 1] : 0;
        up[i] = above;
        down[-i] = below;
    }
    h->width *= 2;
}

/* Makes room for a magnitude. The width is a power of two, so histograms can be joined. */
static void reach(ry_histogram *h, double magnitude)
{
    if (h->width == 0 && magnitude > 0) {
        int exponent;
        frexp(magnitude, &exponent);
        h->width = ldexp(1, exponent) / ZERO;
        h->bin[ZERO] = h->zeros;
    }
    while (magnitude >= h->width * ZERO && h->width > 0) {
        widen(h);
    }
}

void ry_histogram_add(ry_histogram *h, const float *values, int64_t count)
{
    float low = h->low, high = h->high;
    for (int64_t i = 0; i < count; i++) {
        h->bad = h->bad || !isfinite(values[i]);
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    if (h->bad) {
        return;
    }
    h->low = low;
    h->high = high;
    reach(h, -low > high ? -low : high);
    h->count += (uint64_t)count;
    if (h->width == 0) {
        h->zeros += (uint64_t)count;
        return;
    }
    const double per = 1 / h->width;
    for (int64_t i = 0; i < count; i++) {
        int bin = (int)floor(values[i] * per) + ZERO;
        h->bin[bin < RY_BINS ? bin : RY_BINS - 1]++;
    }
}

void ry_histogram_join(ry_histogram *h, const ry_histogram *other)
{
    h->bad = h->bad || other->bad;
    h->low = other->low < h->low ? other->low : h->low;
    h->high = other->high > h->high ? other->high : h->high;
    h->count += other->count;
    if (other->width == 0) {
        *(h->width == 0 ? &h->zeros : &h->bin[ZERO]) += other->zeros;
        return;
    }
    reach(h, other->width * ZERO / 2);
    while (h->width < other->width) {
        widen(h);
    }
    const int times = (int)(h->width / other->width);
    for (int i = 0; i < RY_BINS; i++) {
        const int from_zero = i - ZERO;
        const int bin = (int)floor((double)from_zero / times);
        h->bin[bin + ZERO] += other->bin[i];
    }
}
