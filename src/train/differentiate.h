/* SPDX-License-Identifier: Apache-2.0 */
/* Reverse mode, graph to graph: the gradients of values with respect to others, as further nodes of
 * the same graph. */
#ifndef RY_TRAIN_DIFFERENTIATE_H
#define RY_TRAIN_DIFFERENTIATE_H

#include "graph/graph.h"

/* Told of a gradient as soon as it is complete, in the order in which they become so: nodes that
 * are added now stand before those of the gradients that follow. gradient: RY_NO_VALUE where `of`
 * does not depend on the value. */
typedef rynd_status ry_gradient_reached(void *user, size_t index, ry_value_id gradient);

typedef struct ry_differentiation {
    size_t of_count;
    const ry_value_id *of; /* usually one, a loss; of floating-point types */
    const ry_value_id *dy; /* their gradients, with the same shapes and types */
    size_t held_count;
    const ry_value_id *held; /* constants here: no gradient passes through them */
    size_t count;
    const ry_value_id *wanted;    /* with respect to these; none twice */
    ry_value_id *gradient;        /* receives theirs, like ry_gradient_reached */
    ry_gradient_reached *reached; /* NULL: nobody hears */
    void *user;
} ry_differentiation;

/* Rewrites nodes into parts that have gradients. The graph is bound, sorted and inferred, before and
 * after. */
rynd_status ry_graph_take_apart(ry_graph *graph, ry_error *error);

/* The graph is bound, sorted and inferred: every dim is a number. Adds what leads to the wanted
 * gradients, and nothing else. Fails with UNSUPPORTED and the names of node and operator where a
 * gradient would have to go through an operator that has none; the graph is then of no use. */
rynd_status ry_differentiate(ry_graph *graph, const ry_differentiation *what, ry_error *error);

#endif
