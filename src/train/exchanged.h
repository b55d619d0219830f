/* SPDX-License-Identifier: Apache-2.0 */
/* What of a step is added up over all ranks: values become outputs, and what read them reads inputs
 * that are the sums. In the graph the two have nothing to do with each other: whoever runs it
 * writes the sum between the step that makes the one and those that read the other. */
#ifndef RY_TRAIN_EXCHANGED_H
#define RY_TRAIN_EXCHANGED_H

#include "graph/emitter.h"

/* One value, of f32. */
typedef struct ry_exchanged {
    uint32_t output; /* index of this rank's value among the step's outputs */
    uint32_t input;  /* index of the sum among the step's inputs; UINT32_MAX: no step reads it */
    size_t count;    /* elements */
} ry_exchanged;

typedef struct ry_exchanged_list {
    ry_exchanged *items; /* room for all is the owner's matter */
    size_t count;
    int ranks; /* 0: there is no exchange */
} ry_exchanged_list;

/* An output for `value`, and an input, named "<name>/sum". */
rynd_status ry_exchange_value(ry_graph *graph, ry_exchanged_list *list, ry_value_id value,
                              const char *name, ry_value_id *sum, ry_error *error);
/* Exchanges output 0, the loss, which the caller reads. */
rynd_status ry_exchange_loss(const ry_graph *graph, ry_exchanged_list *list, ry_error *error);
/* The mean of a sum over the ranks; what a sum is multiplied by to be one. */
ry_value_id ry_emit_mean(ry_emitter *emitter, const ry_exchanged_list *list, ry_value_id sum);
ry_value_id ry_emit_part(ry_emitter *emitter, const ry_exchanged_list *list);

#endif
