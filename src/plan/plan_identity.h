/* SPDX-License-Identifier: Apache-2.0 */
/* What a network is, and what a plan made of it, as numbers: what was measured of a plan holds for
 * the same network, and while it makes the same steps of it. */
#ifndef RY_PLAN_PLAN_IDENTITY_H
#define RY_PLAN_PLAN_IDENTITY_H

#include "plan/plan_builder.h"

enum { RY_NETWORK_TEXT = 96 };

/* "network nodes=54 hash=00c0ffee00c0ffee accuracy=near32": the graph before kernels, layouts and
 * fusions are chosen. The hash covers operators, attributes, shapes, types, which values are
 * constants, edges and the inputs' strides; not names, nor contents of constants. */
rynd_status ry_plan_print_network(const ry_plan_builder *b, char text[RY_NETWORK_TEXT],
                                  ry_error *error);

/* Hashes the steps' problems with their layouts, in order, and their micro-batches. Never 0. */
rynd_status ry_plan_hash_steps(const ry_plan *plan, uint64_t *hash, ry_error *error);

#endif
