/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of values in batches, and the ranges chosen from them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "quantize/histogram.h"

#include <math.h>
#include <string.h>

enum { COUNT = 20000 };

/* Values of a bell curve with deviation 1, the same on every machine. */
static void fill(float *values, uint32_t seed)
{
    for (int i = 0; i < COUNT; i++) {
        double sum = 0;
        for (int k = 0; k < 12; k++) {
            seed = seed * 1664525u + 1013904223u;
            sum += (double)(seed >> 8) / (1 << 24);
        }
        values[i] = (float)(sum - 6);
    }
}

static uint64_t total_of(const ry_histogram *h)
{
    uint64_t total = 0;
    for (int i = 0; i < RY_BINS; i++) {
        total += h->bin[i];
    }
    return total;
}

/* Batches of growing values make the bins of all values at once. */
static void batches_are_one(void **state)
{
    (void)state;
    static float values[COUNT];
    static ry_histogram whole, parts;
    fill(values, 1);
    for (int i = 0; i < COUNT; i++) {
        values[i] *= i < COUNT / 2 ? 1e-3f : 10.0f;
    }
    values[0] = 0;
    ry_histogram_add(&whole, values, COUNT);
    for (int i = 0; i < COUNT; i += 100) {
        ry_histogram_add(&parts, values + i, 100);
    }
    assert_int_equal(total_of(&parts), COUNT);
    assert_true(whole.width == parts.width && whole.low == parts.low && whole.high == parts.high);
    assert_memory_equal(whole.bin, parts.bin, sizeof whole.bin);
}

static void joining_adds(void **state)
{
    (void)state;
    static float values[COUNT];
    static ry_histogram whole, first, second, zeros;
    const float none[3] = {0};
    fill(values, 2);
    ry_histogram_add(&whole, values, COUNT);
    for (int i = 0; i < COUNT; i++) {
        values[i] *= 100;
    }
    ry_histogram_add(&whole, values, COUNT);
    ry_histogram_add(&second, values, COUNT);
    fill(values, 2);
    ry_histogram_add(&first, values, COUNT);
    ry_histogram_add(&zeros, none, 3);
    ry_histogram_add(&whole, none, 3);
    ry_histogram_join(&first, &second);
    ry_histogram_join(&first, &zeros);
    assert_memory_equal(whole.bin, first.bin, sizeof whole.bin);
    ry_histogram_join(&zeros, &second);
    assert_int_equal(total_of(&zeros), COUNT + 3);
    assert_true(first.low == whole.low && first.high == whole.high);
}

static void zeros_have_a_range(void **state)
{
    (void)state;
    static ry_histogram h;
    const float none[3] = {0};
    ry_histogram_add(&h, none, 3);
    const ry_range r = ry_histogram_range(&h, RYND_CALIBRATION_MSE, 99);
    assert_true(r.low == 0 && r.high == 0);
    const float bad[1] = {NAN};
    ry_histogram_add(&h, bad, 1);
    assert_true(h.bad);
}

/* One far value in 20,000: only min-max takes the range for it. */
static void outliers(void **state)
{
    (void)state;
    static float values[COUNT];
    static ry_histogram h;
    fill(values, 3);
    values[7] = 60;
    ry_histogram_add(&h, values, COUNT);
    ry_range r = ry_histogram_range(&h, RYND_CALIBRATION_MINMAX, 0);
    assert_true(r.high == 60 && r.low == h.low);
    r = ry_histogram_range(&h, RYND_CALIBRATION_PERCENTILE, 99.9);
    assert_true(r.high > 2.5 && r.high < 5 && r.low < -2.5);
    r = ry_histogram_range(&h, RYND_CALIBRATION_ENTROPY, 0);
    assert_true(r.high > 2 && r.high < 15);
    r = ry_histogram_range(&h, RYND_CALIBRATION_MSE, 0);
    assert_true(r.high > 2 && r.high <= 60);
    /* the exact error of the range is no larger than that of the whole one */
    double errors[2] = {0, 0};
    const ry_range ranges[2] = {r, {h.low, h.high}};
    for (int k = 0; k < 2; k++) {
        const double step = (ranges[k].high - ranges[k].low) / 255;
        for (int i = 0; i < COUNT; i++) {
            const double x = fmin(fmax((double)values[i], ranges[k].low), ranges[k].high);
            const double y = rint(x / step) * step - (double)values[i];
            errors[k] += y * y;
        }
    }
    assert_true(errors[0] <= errors[1] * 1.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_are_one),
        cmocka_unit_test(joining_adds),
        cmocka_unit_test(zeros_have_a_range),
        cmocka_unit_test(outliers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
