/* SPDX-License-Identifier: Apache-2.0 */
/* Work of moves within the caches, from the machine's rates. */
#include "kernels/common/work.h"

#include "kernels/costs.h"

double ry_stream_work(const ry_machine *machine, double bytes)
{
    const struct ry_stream_costs *cost = &ry_costs_of(0)->stream;
    const double rate = machine->level[RYND_LEVEL_L2].bandwidth.one * cost->rate;
    return rate > 0 ? bytes / rate * machine->f32.one : 0;
}

double ry_far_lines_work(const ry_machine *machine, double lines)
{
    const struct ry_stream_costs *cost = &ry_costs_of(0)->stream;
    return lines * machine->level[RYND_LEVEL_DRAM].latency.one * cost->far_latency * machine->f32.one;
}

double ry_overlapped_work(double a, double b)
{
    const struct ry_stream_costs *cost = &ry_costs_of(0)->stream;
    return a > b ? a + cost->exposed * b : b + cost->exposed * a;
}

void ry_count_work(const ry_query *query, double work, double bytes, ry_prepared *prepared)
{
    const bool far = ry_machine_is_far(query->target->machine, ry_problem_bytes(query->problem));
    prepared->work = work;
    prepared->counts = (ry_counts){.flop = work, .bytes = far ? bytes : 0};
}
