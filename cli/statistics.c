/* SPDX-License-Identifier: Apache-2.0 */
/* Mean, variance, median and extremes of timings. */
#include "statistics.h"

#include <stdlib.h>
#include <time.h>

bool cli_samples_add(cli_samples *samples, double seconds)
{
    if (samples->count == samples->capacity) {
        size_t capacity = samples->capacity ? 2 * samples->capacity : 64;
        double *grown = realloc(samples->seconds, capacity * sizeof *grown);
        if (!grown) {
            return false;
        }
        samples->seconds = grown;
        samples->capacity = capacity;
    }
    samples->seconds[samples->count++] = seconds;
    return true;
}

void cli_samples_free(cli_samples *samples)
{
    free(samples->seconds);
    *samples = (cli_samples){0};
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

cli_statistics cli_samples_statistics(cli_samples *samples)
{
    cli_statistics s = {.n = samples->count};
    if (s.n == 0) {
        return s;
    }
    qsort(samples->seconds, s.n, sizeof *samples->seconds, compare);
    s.min = samples->seconds[0];
    s.max = samples->seconds[s.n - 1];
    s.median = (samples->seconds[(s.n - 1) / 2] + samples->seconds[s.n / 2]) / 2;
    s.quiet = samples->seconds[(s.n - 1) / 4];
    for (size_t i = 0; i < s.n; i++) {
        s.mean += samples->seconds[i] / (double)s.n;
    }
    for (size_t i = 0; i < s.n && s.n > 1; i++) {
        double d = samples->seconds[i] - s.mean;
        s.variance += d * d / (double)(s.n - 1);
    }
    return s;
}

double cli_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
