/* SPDX-License-Identifier: Apache-2.0 */
/* Fuses a depthwise convolution with the pointwise convolution of its output. */
#ifndef RY_PLAN_FUSE_SEPARABLE_H
#define RY_PLAN_FUSE_SEPARABLE_H

#include "plan/plan_builder.h"

/* Makes a separable_conv of each pair whose value between is read by nothing else, where one kernel
 * is predicted to be faster than two. */
rynd_status ry_plan_fuse_separable(ry_plan_builder *b, ry_error *error);

#endif
