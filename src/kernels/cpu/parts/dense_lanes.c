/* SPDX-License-Identifier: Apache-2.0 */
/* Dense tensors in the order of memory. */
#include "kernels/cpu/parts/dense_lanes.h"

#include "base/integer.h"

/* The dims of more than one element, outermost in memory first; -1 when the tensor has gaps or
 * overlaps. */
static int memory_order(const ry_tensor *t, int *order)
{
    int count = 0;
    for (int i = 0; i < t->rank; i++) {
        if (t->dim[i] == 1) {
            continue;
        }
        int j = count++;
        for (; j > 0 && t->stride[order[j - 1]] < t->stride[i]; j--) {
            order[j] = order[j - 1];
        }
        order[j] = i;
    }
    int64_t step = 1;
    for (int k = count - 1; k >= 0; k--) {
        if (t->stride[order[k]] != step) {
            return -1;
        }
        step *= t->dim[order[k]];
    }
    return count;
}

bool ry_lanes_make(const ry_tensor *tensor, int begin, int end, ry_lanes *lanes)
{
    int order[RY_MAX_RANK], count = ry_tensor_count(tensor) > 0 ? memory_order(tensor, order) : -1,
                            last = -1;
    *lanes = (ry_lanes){1, 1, 1};
    for (int k = 0; k < count; k++) {
        int dim = order[k];
        bool inside = dim >= begin && dim < end;
        if (inside && (lanes->inner > 1 || dim < last)) {
            return false;
        }
        if (inside) {
            last = dim;
            lanes->length *= tensor->dim[dim];
        } else if (last < 0) {
            lanes->outer *= tensor->dim[dim];
        } else {
            lanes->inner *= tensor->dim[dim];
        }
    }
    if (last < 0) { /* a lane of one element: its stride does not matter */
        lanes->inner = lanes->outer;
        lanes->outer = 1;
    }
    return count >= 0;
}

bool ry_lanes_alike(const ry_tensor *a, const ry_tensor *b)
{
    if (a->rank != b->rank) {
        return false;
    }
    for (int i = 0; i < a->rank; i++) {
        if (a->dim[i] != b->dim[i] || (a->dim[i] > 1 && a->stride[i] != b->stride[i])) {
            return false;
        }
    }
    return true;
}

ry_cut_axis ry_lanes_cut(const ry_machine *machine, int64_t count, int64_t bytes)
{
    const double all = (double)count * (double)bytes;
    const int64_t fit = bytes > 0 ? ry_machine_task_bytes(machine, all) / bytes : count;
    return (ry_cut_axis){count, ry_clamp(fit, 1, ry_max(count, 1))};
}

void ry_lane_blocks_cut(const ry_machine *machine, int64_t columns, ry_lane_blocks *s)
{
    const int64_t inner = s->lanes.inner;
    s->columns = columns;
    s->blocks = inner > 1 ? ry_ceil_div(inner, columns) : 0;
    s->units = ry_lanes_cut(machine, s->lanes.outer * ry_max(s->blocks, 1),
                            4 * s->lanes.length * ry_min(inner, columns));
}

void ry_lane_blocks_prepare(const ry_lane_blocks *s, ry_prepared *prepared)
{
    prepared->phases = 1;
    prepared->tasks[0] = (size_t)ry_cut_parts(&s->units);
    prepared->state_size = sizeof *s;
}
