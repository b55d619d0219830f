/* SPDX-License-Identifier: Apache-2.0 */
/* Group normalisation as parts: what its kernels of every instruction set share. */
#ifndef RY_KERNELS_CPU_NORM_GROUP_NORM_PLAN_H
#define RY_KERNELS_CPU_NORM_GROUP_NORM_PLAN_H

#include "kernels/common/task_cut.h"
#include "kernels/kernel.h"

/* NCHW: a part is some channels' rows of one group, or a piece of one row; NHWC: some positions of
 * one image, all groups. width: channels of a group; parts: of a group (of an image, NHWC). */
typedef struct group_norm_plan {
    bool last; /* NHWC */
    int64_t images, groups, channels, spatial, width, parts;
    ry_task_cut cut; /* images and groups (images, NHWC), elements (positions) of parts */
} group_norm_plan;

bool ry_group_norm_applicable(const ry_problem *problem);
rynd_status ry_group_norm_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
/* state: a group_norm_plan */
void ry_group_norm_initialise(const ry_query *query, void *state);

#endif
