/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of repeated timings. */
#ifndef CLI_STATISTICS_H
#define CLI_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cli_samples {
    double *seconds;
    size_t count, capacity;
} cli_samples;

typedef struct cli_statistics {
    size_t n;
    /* the variance is the sample's (n-1); 0 for one sample */
    double mean, variance, median, min, max;
    double quiet; /* first quartile: other work disturbs it less than the median */
} cli_statistics;

bool cli_samples_add(cli_samples *samples, double seconds); /* false: out of memory */
void cli_samples_free(cli_samples *samples);
/* Sorts the samples. */
cli_statistics cli_samples_statistics(cli_samples *samples);

double cli_now(void); /* seconds of the monotonic clock */

#endif
