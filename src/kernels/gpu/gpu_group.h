/* SPDX-License-Identifier: Apache-2.0 */
/* The knob of kernels whose work-groups may have any size: "group", their items. */
#ifndef RY_KERNELS_GPU_GPU_GROUP_H
#define RY_KERNELS_GPU_GPU_GROUP_H

#include "kernels/kernel.h"
#include "machine/machine.h"

enum { RY_GPU_GROUP_KNOB, RY_GPU_GROUP_KNOBS };

extern const ry_knob ry_gpu_group_knobs[RY_GPU_GROUP_KNOBS];

/* The largest power of two, up to `wanted`, that a work-group may have on the machine, with so many
 * bytes of local memory an item. */
int64_t ry_gpu_group_most(const ry_machine *machine, int64_t wanted, size_t item_bytes);

/* Adds `least` (or the most there is, if that is less) to `most` items, powers of two. */
void ry_gpu_group_add(const ry_query *query, int64_t least, int64_t most, ry_knob_values *values);

/* 64, 128 and 256, as far as the machine has so large groups, else its largest. */
void ry_gpu_group_values(const ry_query *query, int knob, ry_knob_values *values);

/* Returns the size that a query asks for, or `chosen`, or the largest there is; it becomes the
 * form's, and one phase of so many tasks has it. */
int64_t ry_gpu_group_size(const ry_query *query, int64_t chosen);
void ry_gpu_group_prepare(int64_t group, int64_t tasks, ry_prepared *prepared);

/* GROUP_ITEMS, and sum_of_group and max_of_group (group.cl). */
void ry_gpu_group_define(const ry_prepared *prepared, ry_text *text);

/* The fields of a kernel's row that follow from the knob. */
#define RY_GPU_GROUP_KNOB_FIELDS \
    .knobs = ry_gpu_group_knobs, .knob_count = RY_GPU_GROUP_KNOBS, .values = ry_gpu_group_values

#endif
