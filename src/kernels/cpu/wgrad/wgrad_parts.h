/* SPDX-License-Identifier: Apache-2.0 */
/* Weight gradients whose positions are cut into parts: each part has its sums, and where there are
 * several parts, a second phase adds them. */
#ifndef RY_KERNELS_CPU_WGRAD_WGRAD_PARTS_H
#define RY_KERNELS_CPU_WGRAD_WGRAD_PARTS_H

#include "kernels/common/task_cut.h"
#include "kernels/common/work.h"

/* Cycles of all cores: `tasks` of so many cycles, the wait for the last one included, then the
 * second phase. */
static inline double wgrad_spent(const ry_query *query, const ry_task_cut *tasks, double task,
                                 double finish)
{
    return task * (double)(ry_cut_tasks(tasks) + query->target->machine->cores - 1) + finish;
}

/* Predicted cycles of all cores, from the cycles of all tasks of each phase. */
static inline double wgrad_spent_on_parts(const ry_query *query, const ry_task_cut cut[2],
                                          const double cycles[2])
{
    const ry_machine *machine = query->target->machine;
    const int width = query->kernel->simd.width;
    const ry_cost_column costs = ry_cost_column_of(machine, width);
    const double start = ry_costs_of(costs)->prediction.region * machine->region_seconds *
                         machine->cores * machine->f32.one / (2 * width);
    double spent = 0;
    for (int i = 0; i < (cut->axis[0].extent > 1 ? 2 : 1); i++) {
        const ry_work work = {cycles[i], 0};
        spent +=
            start + ry_spread_work(&work, (size_t)ry_cut_tasks(&cut[i]), machine->cores, costs);
    }
    return spent;
}

/* Describes both phases: their tasks, and the cycles of all of each, of vectors of `width`. The
 * second phase is left out if there is one part. */
static inline void wgrad_describe(int64_t parts, const ry_task_cut cut[2], const double cycles[2],
                                  int64_t width, ry_prepared *prepared)
{
    prepared->phases = parts > 1 ? 2 : 1;
    for (int i = 0; i < 2; i++) {
        prepared->tasks[i] = i < prepared->phases ? (size_t)ry_cut_tasks(&cut[i]) : 0;
        prepared->work[i] = ry_work_of_cycles((ry_work){cycles[i], 0}, width);
    }
}

#endif
