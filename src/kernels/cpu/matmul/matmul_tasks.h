/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks of whole columns of a large matrix that is read once. */
#ifndef RY_KERNELS_CPU_MATMUL_MATMUL_TASKS_H
#define RY_KERNELS_CPU_MATMUL_MATMUL_TASKS_H

#include "kernels/common/task_cut.h"
#include "kernels/common/work.h"
#include "kernels/form_method.h"
#include "kernels/knob_values.h"

/* Work and memory of a product of few rows. */
typedef struct matmul_columns {
    double all;   /* multiply-adds of a vector, or what takes as long, of all tasks */
    double bytes; /* size of the matrix */
    double copy;  /* elements of a that each task copies */
} matmul_columns;

/* Cycles of all cores, the wait for the last task included, and what several tasks take to start. A
 * matrix in memory is read at the rate that all cores share. */
static inline double matmul_spent(const ry_query *query, const ry_task_cut *cut,
                                  const matmul_columns *columns)
{
    const ry_machine *machine = query->target->machine;
    const struct ry_matmul_costs *cost = &ry_costs_asked(query)->matmul;
    const double second = machine->f32.one / (2 * query->kernel->simd.width),
                 rate = machine->level[RYND_LEVEL_DRAM].bandwidth.all / machine->cores,
                 tasks = (double)ry_cut_tasks(cut);
    const bool from_memory = rate > 0 && ry_machine_exceeds_cache(machine, columns->bytes);
    const double read = from_memory ? columns->bytes / rate * second : 0,
                 all = columns->all > read ? columns->all : read,
                 task = cost->task + machine->task_seconds * second + columns->copy * cost->pack_a;
    return (all / tasks + task) * (tasks + machine->cores - 1) +
           (tasks > 1 ? machine->region_seconds * second * machine->cores : 0);
}

#endif
