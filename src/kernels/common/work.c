/* SPDX-License-Identifier: Apache-2.0 */
/* Work of moves within the caches, from the machine's rates. */
#include "kernels/common/work.h"

#include "kernels/costs.h"

double ry_stream_work(const ry_machine *machine, double bytes)
{
    const struct ry_stream_costs *cost = &ry_costs_of(RY_COSTS_PARTS)->stream;
    const double rate = machine->level[RYND_LEVEL_L2].bandwidth.one * cost->rate;
    return rate > 0 ? ry_cost_weight(RY_COST_L2) * bytes / rate * machine->f32.one : 0;
}

double ry_memory_lines_work(const ry_machine *machine, double lines)
{
    const struct ry_stream_costs *cost = &ry_costs_of(RY_COSTS_PARTS)->stream;
    return ry_cost_weight(RY_COST_DRAM) * lines * machine->level[RYND_LEVEL_DRAM].latency.one *
           cost->memory_latency * machine->f32.one;
}

double ry_overlapped_work(double a, double b)
{
    const struct ry_stream_costs *cost = &ry_costs_of(RY_COSTS_PARTS)->stream;
    return a > b ? a + cost->exposed * b : b + cost->exposed * a;
}

double ry_spread_work(const ry_work *work, size_t tasks, unsigned cores, ry_cost_column costs)
{
    if (cores <= 1 || tasks == 0) {
        return work->all;
    }
    const double largest = work->largest > 0 ? work->largest : work->all / (double)tasks,
                 others = cores - 1;
    const double rounds = (double)((tasks + cores - 1) / cores * cores) * largest;
    /* R. Graham, Bounds on multiprocessing timing anomalies, 1969 */
    const double at_most = work->all + others * largest;
    const double even = rounds < at_most ? rounds : at_most;
    return (even > work->all ? even : work->all) +
           ry_costs_of(costs)->prediction.uneven * others * largest;
}

void ry_count_work(double work, double bytes, ry_prepared *prepared)
{
    prepared->work[0] = (ry_work){work, 0};
    prepared->counts = (ry_counts){.flop = work, .bytes = bytes};
}
