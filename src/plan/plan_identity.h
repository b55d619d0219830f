/* SPDX-License-Identifier: Apache-2.0 */
/* What a network is, and what a plan made of it, as numbers: what was measured of a plan holds for
 * the same network, and while it makes the same steps of it. */
#ifndef RY_PLAN_PLAN_IDENTITY_H
#define RY_PLAN_PLAN_IDENTITY_H

#include "plan/plan_builder.h"

enum { RY_NETWORK_TEXT = 96 };

/* "network nodes=54 hash=00c0ffee00c0ffee accuracy=near32": of b->graph before kernels, layouts
 * and fusions are chosen. Operators, attributes, shapes, types, which values are constants, who
 * reads whom, and the inputs' strides decide; names and contents of constants do not. */
rynd_status ry_plan_print_network(const ry_plan_builder *b, char text[RY_NETWORK_TEXT],
                                  ry_error *error);

/* Of the steps' problems, layouts included, in their order, and of their micro-batches. Never 0. */
rynd_status ry_plan_hash_steps(const ry_plan *plan, uint64_t *hash, ry_error *error);

#endif
