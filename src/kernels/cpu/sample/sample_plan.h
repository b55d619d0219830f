/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that sample at positions. The state of grid_sample and deform_columns is a
 * ry_points_plan. */
#ifndef RY_KERNELS_CPU_SAMPLE_SAMPLE_PLAN_H
#define RY_KERNELS_CPU_SAMPLE_SAMPLE_PLAN_H

#include "kernels/cpu/sample/points_plan.h"

typedef struct ry_roi_align_plan {
    ry_points_plan points; /* tasks also are cut along channels */
    bool by_bin;           /* an axis's tables have an entry a bin, else one a position */
    size_t positions[2];   /* row and column of each bin of a block: bytes into the scratch */
} ry_roi_align_plan;

/* Channels of a task. */
enum { RY_ROI_CHANNELS = 64 };

/* Lines along the last spatial dim. */
typedef struct ry_affine_grid_plan {
    ry_cut_axis lines;
} ry_affine_grid_plan;

bool ry_grid_sample_applicable(const ry_problem *problem);
rynd_status ry_grid_sample_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_grid_sample_initialise(const ry_query *query, void *state);
bool ry_deform_columns_applicable(const ry_problem *problem);
rynd_status ry_deform_columns_prepare(const ry_query *query, ry_prepared *prepared,
                                      ry_error *error);
void ry_deform_columns_initialise(const ry_query *query, void *state);
bool ry_roi_align_applicable(const ry_problem *problem);
rynd_status ry_roi_align_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_roi_align_initialise(const ry_query *query, void *state);
bool ry_affine_grid_applicable(const ry_problem *problem);
rynd_status ry_affine_grid_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_affine_grid_initialise(const ry_query *query, void *state);

#endif
