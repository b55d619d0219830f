/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers as nodes: the next parameter, and the optimizer's states. */
#ifndef RY_TRAIN_OPTIMIZER_H
#define RY_TRAIN_OPTIMIZER_H

#include "graph/emitter.h"

typedef enum ry_optimizer {
#define RY_OPTIMIZER(name, rates, rates_text, moments, first, second, text) RY_OPTIMIZER_##name,
#include "train/optimizers.inc"
#undef RY_OPTIMIZER
    RY_OPTIMIZERS
} ry_optimizer;

const char *ry_optimizer_name(ry_optimizer optimizer); /* "sgd_momentum" */

enum { RY_MAX_RATES = 3, RY_MAX_MOMENTS = 2 };

typedef struct ry_optimizer_options {
    ry_optimizer optimizer;
    double momentum, decay, beta1, beta2, epsilon;
} ry_optimizer_options;

/* What is the same for all parameters of a step. */
typedef struct ry_optimizer_step {
    ry_value_id rate[RY_MAX_RATES]; /* scalars of f32 */
    ry_value_id scale; /* factor of all gradients, a scalar of f32; RY_NO_VALUE: none */
} ry_optimizer_step;

/* learning_rate: a scalar of f64; before: the number of steps until then, another, in the graph
 * without a producer, which becomes a state. */
void ry_emit_optimizer_step(ry_emitter *emitter, const ry_optimizer_options *options,
                            ry_value_id learning_rate, ry_value_id before, ry_optimizer_step *step);

/* One step of a parameter (f32, in the graph without a producer, and not yet among its inputs) by
 * its gradient. Makes it a state, with `initial`; and its moments, "<parameter>/momentum". */
void ry_emit_update(ry_emitter *emitter, const ry_optimizer_options *options,
                    const ry_optimizer_step *step, ry_value_id parameter, ry_value_id gradient,
                    const void *initial);

/* What gradients are multiplied by so that the root of the sum of all their squares is at most
 * `norm`: norm / (root + 1e-6), 1 at most. RY_NO_VALUE among them counts nothing. ranks: they are
 * sums over so many, and clipped are the means, which the factor makes of them, too. */
ry_value_id ry_emit_clip_scale(ry_emitter *emitter, size_t count, const ry_value_id *gradients,
                               double norm, int ranks);

#endif
