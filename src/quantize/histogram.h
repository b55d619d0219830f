/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of values that come batch by batch, in bounded memory: bins of equal width around
 * zero, which double their width when a value lies outside. */
#ifndef RY_QUANTIZE_HISTOGRAM_H
#define RY_QUANTIZE_HISTOGRAM_H

#include <rynd/quantize.h>

#include <stdbool.h>
#include <stdint.h>

enum { RY_BINS = 8192 };

typedef struct ry_histogram {
    uint64_t bin[RY_BINS]; /* bin i: values from (i - RY_BINS / 2) * width on */
    double width;          /* 0: no value but zeros yet */
    uint64_t zeros;        /* while width is 0 */
    uint64_t count;
    float low, high; /* least and largest value, or zero */
    bool bad;        /* NaN or infinity was seen */
} ry_histogram;

void ry_histogram_add(ry_histogram *histogram, const float *values, int64_t count);
/* Adds the values of another histogram. */
void ry_histogram_join(ry_histogram *histogram, const ry_histogram *other);

/* The range that a tensor is quantised by; it contains zero. */
typedef struct ry_range {
    double low, high;
} ry_range;

/* percentile: for RYND_CALIBRATION_PERCENTILE, percent of the values inside. */
ry_range ry_histogram_range(const ry_histogram *histogram, rynd_calibration method,
                            double percentile);
/* Mean squared error of quantising the values by a range: of rounding and clipping. */
double ry_histogram_error(const ry_histogram *histogram, ry_range range);

#endif
