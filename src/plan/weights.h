/* SPDX-License-Identifier: Apache-2.0 */
/* The weights that the plans of one model share: packed, derived by folding and rewrites, and which
 * form each is packed in.
 *
 * The first plan that reads a weight decides its form. Later plans choose among kernels that read
 * this form, so that a new shape packs nothing and takes no memory for weights. The choice for a
 * shape so depends on the first shape, and on no other. Weights below RY_SMALL_WEIGHT bytes, and
 * plans that may pack weights of their own (ry_plan_options.own_weights), are free: their choices
 * depend on nothing but the shape. Whatever the choice: equal packings are packed once, and go when
 * no plan reads them and the limit is reached. Any thread may call these functions. */
#ifndef RY_PLAN_WEIGHTS_H
#define RY_PLAN_WEIGHTS_H

#include "base/kept.h"
#include "predict/choices.h"

enum { RY_SMALL_WEIGHT = 16384 };

typedef struct ry_weights ry_weights;

/* keep: bytes of packed weights that stay without a plan that reads them, and as many of derived
 * ones. */
rynd_status ry_weights_create(const ry_allocator *allocator, size_t keep, ry_weights **weights,
                              ry_error *error);
/* All plans are gone. NULL is allowed. */
void ry_weights_destroy(ry_weights *weights);

/* A lot's content is a ry_packed_lot. */
ry_kept *ry_weights_packed(ry_weights *weights);
typedef struct ry_packed_lot {
    const ry_allocator *allocator; /* frees this struct */
    ry_device *device;
    ry_buffer *buffer;
} ry_packed_lot;

ry_kept *ry_weights_derived(ry_weights *weights);

/* How a new lot's content comes to a device. */
typedef struct ry_lot_maker {
    ry_device *device;
    /* makes the buffer of a lot, and fills it */
    rynd_status (*make)(void *context, const ry_lot *own, ry_buffer **buffer, ry_error *error);
    void *context;
} ry_lot_maker;

/* Holds the lots of all things in the store of packed weights, those that are missing made. On
 * failure nothing is held. */
rynd_status ry_weights_share(ry_weights *weights, ry_kept_thing *things, size_t count,
                             const ry_lot_maker *maker, ry_error *error);

static inline ry_buffer *ry_packed_buffer(const ry_lot *lot)
{
    return ((const ry_packed_lot *)ry_lot_content(lot))->buffer;
}

/* A weight as an operator reads it. */
typedef struct ry_weight_use {
    uint64_t identity; /* ry_value.identity */
    ry_op op;
    ry_accuracy accuracy;
    ry_wanted form; /* what a plan has chosen */
} ry_weight_use;

/* How many decisions were made. */
uint64_t ry_weights_decisions(ry_weights *weights);

/* The forms of a weight by the first `decisions`. false: none is decided. */
bool ry_weights_find(ry_weights *weights, uint64_t decisions, const ry_weight_use *use,
                     ry_bound_forms *bound);

/* Decides the forms of those weights that had none among the first `decisions`. *late: another plan
 * has decided one of them since then; nothing is decided. */
rynd_status ry_weights_decide(ry_weights *weights, uint64_t decisions, const ry_weight_use *uses,
                              size_t count, bool *late, ry_error *error);

/* Forgets all decisions: the next plan decides anew. */
void ry_weights_forget(ry_weights *weights);

#endif
