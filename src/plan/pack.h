/* SPDX-License-Identifier: Apache-2.0 */
/* Packing of weights. */
#ifndef RY_PLAN_PACK_H
#define RY_PLAN_PACK_H

#include "plan/plan_builder.h"

/* Packs the weights of every step, unless another plan of the model has. Call after
 * ry_plan_place. */
rynd_status ry_plan_pack(ry_plan_builder *b, ry_error *error);

#endif
