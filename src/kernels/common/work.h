/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels count that have no sums of products: operations at a core's peak (ry_prepared.work)
 * for arithmetic and for moves within the cores' own caches, and all bytes that they read and
 * write. */
#ifndef RY_KERNELS_COMMON_WORK_H
#define RY_KERNELS_COMMON_WORK_H

#include "kernels/costs.h"
#include "kernels/kernel.h"
#include "machine/machine.h"

/* Work of reading or writing `bytes` in order, in the caches. */
double ry_stream_work(const ry_machine *machine, double bytes);

/* Work of dependent loads from memory, a cache line each, in an order that no prefetcher predicts.
 */
double ry_memory_lines_work(const ry_machine *machine, double lines);

/* Work of two kinds that partly overlap. */
double ry_overlapped_work(double a, double b);

/* Converts vector multiply-adds to operations. */
static inline ry_work ry_work_of_cycles(ry_work cycles, int64_t width)
{
    return (ry_work){cycles.all * 2 * (double)width, cycles.largest * 2 * (double)width};
}

/* A phase's work as so many cores take for it together: tasks are handed out one by one, and cores
 * wait for the last. */
double ry_spread_work(const ry_work *work, size_t tasks, unsigned cores, ry_cost_column costs);

/* Sets work and counts; bytes: all that is read and written, in as many passes as it takes. */
void ry_count_work(double work, double bytes, ry_prepared *prepared);

#endif
