/* SPDX-License-Identifier: Apache-2.0 */
/* Work of moves within the caches, from the machine's rates. */
#include "kernels/common/work.h"

/* Measured on Zen 4 (EPYC, one thread), copies and sums of 200 KiB to 6 MiB: reading and writing in
 * order, in the second-level cache's bandwidth of reading; a line's share of memory's latency where
 * several loads wait at once (transposing 12 to 50 MiB); of the shorter of two kinds of work, what the
 * longer does not hide (pooling of NHWC). */
static const struct {
    double stream_rate, far_latency, exposed;
} costs = {0.87, 0.17, 0.25};

double ry_stream_work(const ry_machine *machine, double bytes)
{
    const double rate = machine->level[RYND_LEVEL_L2].bandwidth.one * costs.stream_rate;
    return rate > 0 ? bytes / rate * machine->f32.one : 0;
}

double ry_far_lines_work(const ry_machine *machine, double lines)
{
    return lines * machine->level[RYND_LEVEL_DRAM].latency.one * costs.far_latency * machine->f32.one;
}

double ry_overlapped_work(double a, double b)
{
    return a > b ? a + costs.exposed * b : b + costs.exposed * a;
}

void ry_count_work(const ry_query *query, double work, double bytes, ry_prepared *prepared)
{
    const bool far = ry_machine_is_far(query->target->machine, ry_problem_bytes(query->problem));
    prepared->work = work;
    prepared->counts = (ry_counts){.flop = work, .bytes = far ? bytes : 0};
}
