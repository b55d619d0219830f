/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses a range of 256 steps for the values of a histogram. */
#include "quantize/histogram.h"

#include <math.h>

enum { ZERO = RY_BINS / 2, STEPS = 255 };

static double middle_of(const ry_histogram *h, int bin)
{
    return ((double)(bin - ZERO) + 0.5) * h->width;
}

/* Cuts (100 - percentile) / 2 percent of the values off at either end. */
static ry_range by_percentile(const ry_histogram *h, double percentile)
{
    const double cut = (double)h->count * (1 - percentile / 100) / 2;
    double below = 0, above = 0;
    int low = 0, high = RY_BINS - 1;
    for (; low < RY_BINS - 1 && below + (double)h->bin[low] <= cut; low++) {
        below += (double)h->bin[low];
    }
    for (; high > low && above + (double)h->bin[high] <= cut; high--) {
        above += (double)h->bin[high];
    }
    return (ry_range){((double)low - ZERO) * h->width, ((double)high + 1 - ZERO) * h->width};
}

/* Sum of the squared errors: of rounding inside the range, of clipping outside. */
static double squared_error(const ry_histogram *h, ry_range r)
{
    const double step = (r.high - r.low) / STEPS, rounding = step * step / 12;
    double error = 0;
    for (int i = 0; i < RY_BINS; i++) {
        if (h->bin[i]) {
            const double x = middle_of(h, i);
            const double beyond = x < r.low ? r.low - x : x > r.high ? x - r.high : 0;
            error += (double)h->bin[i] * (beyond > 0 ? beyond * beyond : rounding);
        }
    }
    return error;
}

/* Values of a bin; those of zero, which every range represents exactly, do not count. */
static double count_of(const ry_histogram *h, int bin)
{
    return bin == ZERO ? 0 : (double)h->bin[bin];
}

/* Divergence (Kullback-Leibler) of the quantised values from the values: those in bins [from, to)
 * take 256 levels, and the end bins hold all values beyond.
 * Migacz, "8-bit inference with TensorRT", GTC 2017. */
static double divergence(const ry_histogram *h, int from, int to)
{
    const int bins = to - from;
    double below = 0, above = 0, total = 0, distance = 0;
    for (int i = 0; i < RY_BINS; i++) {
        below += i < from ? count_of(h, i) : 0;
        above += i >= to ? count_of(h, i) : 0;
        total += count_of(h, i);
    }
    double kept = total - below - above;
    for (int level = 0; level <= STEPS && kept > 0; level++) {
        const int begin = from + (int)((int64_t)bins * level / (STEPS + 1)),
                  end = from + (int)((int64_t)bins * (level + 1) / (STEPS + 1));
        double sum = 0;
        int filled = 0;
        for (int i = begin; i < end; i++) {
            sum += count_of(h, i);
            filled += count_of(h, i) > 0;
        }
        for (int i = begin; i < end; i++) {
            const double p = count_of(h, i) + (i == from ? below : 0) + (i == to - 1 ? above : 0);
            const double q = count_of(h, i) > 0 ? sum / filled / kept : 0;
            /* an end that holds values only from outside has no level of its own */
            distance += p > 0 ? p / total * log(p / total / (q > 0 ? q : 1e-9)) : 0;
        }
    }
    return kept > 0 ? distance : HUGE_VAL;
}

static double entropy_error(const ry_histogram *h, ry_range r)
{
    const int from = (int)floor(r.low / h->width) + ZERO, to = (int)ceil(r.high / h->width) + ZERO;
    return divergence(h, from < 0 ? 0 : from, to > RY_BINS ? RY_BINS : to);
}

/* The least error over ranges that are parts of the whole one: a bound for both ends first, then each
 * end alone around the best. */
static ry_range by_search(const ry_histogram *h, double (*error)(const ry_histogram *, ry_range))
{
    enum { COARSE = 64, FINE = 16 };
    const ry_range all = {h->low, h->high};
    const double most = fmax(-all.low, all.high);
    ry_range best = all;
    double least = error(h, all);
    for (int i = 2; i < COARSE; i++) {
        const double bound = most * i / COARSE;
        const ry_range r = {fmax(all.low, -bound), fmin(all.high, bound)};
        const double e = error(h, r);
        if (e < least) {
            least = e;
            best = r;
        }
    }
    const ry_range around = best;
    for (int i = -2 * FINE; i < 2 * FINE; i++) {
        const double factor = 1 + (double)(i / 2) / (2 * FINE);
        ry_range r = best;
        *(i % 2 ? &r.low : &r.high) =
            i % 2 ? fmax(all.low, around.low * factor) : fmin(all.high, around.high * factor);
        const double e = error(h, r);
        if (e < least) {
            least = e;
            best = r;
        }
    }
    return best;
}

ry_range ry_histogram_range(const ry_histogram *h, rynd_calibration method, double percentile)
{
    ry_range r = {h->low, h->high};
    if (h->width > 0 && method == RYND_CALIBRATION_PERCENTILE) {
        r = by_percentile(h, percentile);
    } else if (h->width > 0 && method == RYND_CALIBRATION_MSE) {
        r = by_search(h, squared_error);
    } else if (h->width > 0 && method == RYND_CALIBRATION_ENTROPY) {
        r = by_search(h, entropy_error);
    }
    return (ry_range){fmax(fmin(r.low, 0), h->low), fmin(fmax(r.high, 0), h->high)};
}

double ry_histogram_error(const ry_histogram *h, ry_range range)
{
    return h->width > 0 && h->count > 0 ? squared_error(h, range) / (double)h->count : 0;
}
