/* SPDX-License-Identifier: Apache-2.0 */
/* Where values, workspaces and constants live. */
#ifndef RY_PLAN_ARENA_OFFSETS_H
#define RY_PLAN_ARENA_OFFSETS_H

#include "plan/plan_builder.h"

/* Gives every value a home, lays out the arena and the packed weights, and wraps constants as
 * device buffers. Call after the last change of steps. */
rynd_status ry_plan_place(ry_plan_builder *b, ry_error *error);

#endif
