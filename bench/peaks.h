/* SPDX-License-Identifier: Apache-2.0 */
/* Loops at the peak of one instruction, to time beside a kernel: both meet the same neighbours. */
#ifndef BENCH_PEAKS_H
#define BENCH_PEAKS_H

typedef struct bench_peak {
    const char *suffix;         /* end of the names of its kernels */
    const char *part;           /* also part of them */
    double (*run)(long rounds); /* returns the operations */
} bench_peak;

/* The peak of a kernel's instructions; NULL if no loop is known. */
const bench_peak *bench_find_peak(const char *kernel);

#endif
