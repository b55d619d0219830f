/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of several micro-batches, summed up in a state. */
#ifndef RY_TRAIN_ACCUMULATE_H
#define RY_TRAIN_ACCUMULATE_H

#include "graph/emitter.h"

/* Adds a gradient to a sum of its shape, a state of the emitter's name. `more` is a scalar of f32:
 * 0 where the sum begins with this one, else 1. */
void ry_emit_to_sum(ry_emitter *emitter, ry_value_id gradient, ry_value_id more);

#endif
