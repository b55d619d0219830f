/* SPDX-License-Identifier: Apache-2.0 */
/* How a method's work is cut into tasks: plain data, part of a plan. The number of tasks and the
 * decoding of a task's index follow. */
#ifndef RY_KERNELS_COMMON_TASK_CUT_H
#define RY_KERNELS_COMMON_TASK_CUT_H

#include "base/integer.h"

#include <stddef.h>

enum { RY_CUT_AXES = 5 };

/* Tasks take `part` of `extent` each, the last one the rest. */
typedef struct ry_cut_axis {
    int64_t extent, part;
} ry_cut_axis;

/* Axes from the outermost to the innermost: neighbouring tasks differ in the last. Unused axes come
 * last, and their part is 0. */
typedef struct ry_task_cut {
    ry_cut_axis axis[RY_CUT_AXES];
} ry_task_cut;

/* A task's range of an axis: [first, end). */
typedef struct ry_cut_range {
    int64_t first, count, end;
} ry_cut_range;

static inline int64_t ry_cut_parts(const ry_cut_axis *axis)
{
    return ry_ceil_div(axis->extent, axis->part);
}

/* Part number `part` of an axis. */
static inline ry_cut_range ry_cut_part(const ry_cut_axis *axis, size_t part)
{
    const int64_t first = (int64_t)part * axis->part,
                  end = ry_min(first + axis->part, axis->extent);
    return (ry_cut_range){first, end - first, end};
}

static inline int64_t ry_cut_tasks(const ry_task_cut *cut)
{
    int64_t tasks = 1;
    for (int i = 0; i < RY_CUT_AXES && cut->axis[i].part > 0; i++) {
        tasks *= ry_cut_parts(&cut->axis[i]);
    }
    return tasks;
}

/* The ranges of a task, an axis each. */
static inline void ry_cut_task(const ry_task_cut *cut, size_t task, ry_cut_range range[RY_CUT_AXES])
{
    for (int i = RY_CUT_AXES; i-- > 0;) {
        const ry_cut_axis *axis = &cut->axis[i];
        range[i] = (ry_cut_range){0, 0, 0};
        if (axis->part > 0) {
            const size_t parts = (size_t)ry_cut_parts(axis);
            range[i] = ry_cut_part(axis, task % parts);
            task /= parts;
        }
    }
}

#endif
