/* SPDX-License-Identifier: Apache-2.0 */
/* Places and ticks. */
#include "plot_axis.h"

#include <math.h>

double cli_axis_place(const cli_axis *axis, double value)
{
    const double low = axis->log ? log(axis->low) : axis->low,
                 high = axis->log ? log(axis->high) : axis->high,
                 at = axis->log ? log(value) : value;
    return high > low ? axis->from + (at - low) / (high - low) * (axis->to - axis->from)
                      : (axis->from + axis->to) / 2;
}

/* Inside the axis, but for what rounding puts outside. */
static size_t add(const cli_axis *axis, double value, double *ticks, size_t count)
{
    const double slack = 1e-9 * (axis->high - axis->low);
    if (count < CLI_MAX_TICKS && value >= axis->low - slack && value <= axis->high + slack) {
        ticks[count++] = value + 0.0; /* not -0 */
    }
    return count;
}

static const double DIGITS[] = {1, 2, 5};

/* Where the axis has few powers of ten, 2 and 5 times each, too. */
static size_t log_ticks(const cli_axis *axis, size_t wanted, bool whole, double *ticks)
{
    const double powers = log10(axis->high / axis->low);
    const size_t digits = powers * 3 <= (double)wanted + 1 ? 3 : 1;
    double every = ceil(powers / (double)wanted), power = floor(log10(axis->low));
    size_t count = 0;
    every = every < 1 ? 1 : every;
    for (; pow(10, power) <= axis->high; power += every) {
        for (size_t i = 0; i < digits; i++) {
            const double value = DIGITS[i] * pow(10, power);
            count = whole && value < 1 ? count : add(axis, value, ticks, count);
        }
    }
    return count;
}

static size_t linear_ticks(const cli_axis *axis, size_t wanted, bool whole, double *ticks)
{
    const double least = (axis->high - axis->low) / (double)wanted;
    double step = pow(10, floor(log10(least)));
    for (int i = 0; step < least * (1 - 1e-9); i++) {
        step *= i % 3 == 1 ? 2.5 : 2;
    }
    step = whole && step < 1 ? 1 : step;
    size_t count = 0;
    for (double at = ceil(axis->low / step - 1e-9); at * step <= axis->high + 1e-9 * step; at++) {
        count = add(axis, at * step, ticks, count);
    }
    return count;
}

size_t cli_axis_ticks(const cli_axis *axis, size_t wanted, bool whole, double ticks[CLI_MAX_TICKS])
{
    if (!(axis->high > axis->low)) {
        return add(axis, axis->low, ticks, 0);
    }
    const size_t count = axis->log ? log_ticks(axis, wanted, whole, ticks) : 0;
    /* a log axis of less than two such steps is nearly linear */
    return count >= 2 ? count : linear_ticks(axis, wanted, whole, ticks);
}
