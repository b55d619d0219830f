/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks of whole columns of a large matrix that is read once. */
#ifndef RY_KERNELS_CPU_MATMUL_MATMUL_TASKS_H
#define RY_KERNELS_CPU_MATMUL_MATMUL_TASKS_H

#include "base/integer.h"
#include "kernels/costs.h"
#include "kernels/form.h"
#include "machine/machine.h"

/* Columns of a task, whole grains of them: a share of all, and so many bytes that taking the task
 * is little beside reading them. */
static inline int64_t matmul_task_columns(const ry_query *query, int64_t columns,
                                          int64_t column_bytes, int64_t grain)
{
    const ry_machine *machine = query->target->machine;
    const struct ry_blocks_costs *limit = &ry_costs_asked(query)->blocks;
    const double rate = machine->level[RYND_LEVEL_DRAM].bandwidth.one,
                 min = machine->task_seconds * limit->column_task_times * rate;
    const int64_t tasks = (int64_t)limit->column_tasks * (int64_t)machine->cores,
                  share = ry_round_up(ry_ceil_div(columns, tasks), grain);
    const int64_t enough = ry_round_up(ry_ceil_div((int64_t)min, column_bytes), grain);
    return ry_min(ry_max(share, enough), ry_round_up(columns, grain));
}

/* The knob's values: halves of all columns, in whole grains, and what is chosen. */
static inline void matmul_list_columns(int64_t columns, int64_t grain, int64_t chosen,
                                       ry_knob_values *values)
{
    *values = (ry_knob_values){0};
    int64_t parts = 1;
    while (parts * grain < columns) {
        parts *= 2;
    }
    for (int64_t last = 0; parts > 0; parts /= 2) {
        const int64_t next = ry_round_up(ry_ceil_div(columns, parts), grain);
        if (chosen > last && chosen < next) {
            values->value[values->count++] = chosen;
        }
        if (next > last) {
            values->value[values->count++] = next;
        }
        last = next;
    }
}

#endif
