/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of a number of measurements. */
#ifndef RY_TUNE_SAMPLE_STATISTICS_H
#define RY_TUNE_SAMPLE_STATISTICS_H

/* The variance is the sample's (n - 1); 0 for one. Of no measurements everything is 0. */
typedef struct ry_statistics {
    int n;
    double mean, variance, median, min, max;
} ry_statistics;

/* Sorts the numbers. */
ry_statistics ry_statistics_of(double *numbers, int count);

/* Sorts the numbers and returns their median; 0 if count is 0. */
double ry_median(double *numbers, int count);

/* Sorts the numbers and returns the quiet quantile: the first quartile of times, which other work
 * on the machine disturbs less than their median, and chance less than their minimum. */
double ry_quiet(double *numbers, int count);

/* How far the true mean of normal numbers may be from the mean of so many at most, in standard
 * deviations of one of them, in 99 (sure) or 80 of 100 such questions, on one side (Student, 1908).
 * INFINITY below two numbers. */
double ry_student_bound(int count, int sure);

#endif
