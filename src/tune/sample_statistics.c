/* SPDX-License-Identifier: Apache-2.0 */
/* Means, medians, and Student's distribution as a table. */
#include "tune/sample_statistics.h"

#include <math.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double middle(const double *sorted, int count)
{
    return count ? (sorted[(count - 1) / 2] + sorted[count / 2]) / 2 : 0;
}

double ry_median(double *numbers, int count)
{
    qsort(numbers, (size_t)count, sizeof *numbers, by_size);
    return middle(numbers, count);
}

double ry_quiet(double *numbers, int count)
{
    qsort(numbers, (size_t)count, sizeof *numbers, by_size);
    return count ? numbers[(count - 1) / 4] : 0;
}

ry_statistics ry_statistics_of(double *numbers, int count)
{
    ry_statistics s = {.n = count};
    if (count == 0) {
        return s;
    }
    s.median = ry_median(numbers, count);
    s.min = numbers[0];
    s.max = numbers[count - 1];
    for (int i = 0; i < count; i++) {
        s.mean += numbers[i] / count;
    }
    for (int i = 0; i < count && count > 1; i++) {
        s.variance += (numbers[i] - s.mean) * (numbers[i] - s.mean) / (count - 1);
    }
    return s;
}

/* Quantiles of Student's t for so many degrees of freedom, and up to the next row. */
static const struct {
    int freedom;
    double sure, likely; /* 0.99, 0.80, one-sided */
} student[] = {
    {1, 31.821, 1.376}, {2, 6.965, 1.061},  {3, 4.541, 0.978},  {4, 3.747, 0.941},
    {5, 3.365, 0.920},  {6, 3.143, 0.906},  {7, 2.998, 0.896},  {8, 2.896, 0.889},
    {9, 2.821, 0.883},  {10, 2.764, 0.879}, {12, 2.681, 0.873}, {15, 2.602, 0.866},
    {20, 2.528, 0.860}, {30, 2.457, 0.854}, {60, 2.390, 0.848},
};

double ry_student_bound(int count, int sure)
{
    if (count < 2) {
        return INFINITY;
    }
    size_t row = 0;
    while (row + 1 < sizeof student / sizeof *student && student[row + 1].freedom <= count - 1) {
        row++;
    }
    return (sure ? student[row].sure : student[row].likely) / sqrt(count);
}
