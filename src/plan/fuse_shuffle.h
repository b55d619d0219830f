/* SPDX-License-Identifier: Apache-2.0 */
/* Joins convolutions and the pixel shuffles behind them. */
#ifndef RY_PLAN_FUSE_SHUFFLE_H
#define RY_PLAN_FUSE_SHUFFLE_H

#include "plan/plan_builder.h"

/* Makes one transposed convolution of each convolution and depth_to_space that is predicted to take
 * less time so; what follows joins its epilogue. */
rynd_status ry_plan_fuse_shuffles(ry_plan_builder *b, ry_error *error);

#endif
