/* SPDX-License-Identifier: Apache-2.0 */
/* Constants that planning derives from a model's constants: folded, scaled, spread. Graphs that
 * have the same store (ry_graph.derived) share them, so that the plans of a model for many shapes
 * compute and hold each once. */
#ifndef RY_GRAPH_DERIVE_H
#define RY_GRAPH_DERIVE_H

#include "base/text.h"
#include "graph/graph.h"

/* How a constant is derived. Equal recipes give equal bytes. */
typedef struct ry_recipe {
    const char *what; /* the rewrite, or the problem's text */
    int count;
    const ry_value_id *from; /* the constants it reads; RY_NO_VALUE: absent */
    const void *numbers;     /* what else its content depends on */
    size_t numbers_size;     /* bytes */
} ry_recipe;

/* Memory for the content of a derived constant of a dtype and shape, zeroed. *fill: the caller
 * computes the content, then calls ry_graph_set_derived; else another graph has. Kernels may write
 * a vector behind the content's end. NULL: memory is out. */
void *ry_graph_derive(ry_graph *graph, const ry_recipe *recipe, ry_dtype dtype,
                      const ry_shape *shape, bool *fill);

/* Makes the value the constant with that content, which is computed: other graphs may read it. */
void ry_graph_set_derived(ry_graph *graph, ry_value_id value, const void *content);

/* A new value with such content, which `compute` writes if no other graph has. RY_NO_VALUE: memory
 * is out. */
ry_value_id ry_graph_add_derived(ry_graph *graph, const ry_recipe *recipe, ry_dtype dtype,
                                 const ry_shape *shape,
                                 void (*compute)(ry_graph *graph, const void *how, void *to),
                                 const void *how);

/* A constant's content, which becomes a copy if its address is no multiple of its element's size,
 * as in a mapped file. NULL: memory is out. */
const void *ry_graph_align_constant(ry_graph *graph, ry_value_id value);

/* Adds what tells a constant's content to a key: its number, or the content of a small one. false:
 * nothing tells it. */
bool ry_graph_add_identity(const ry_graph *graph, ry_value_id value, ry_text *key);

/* Gives all constants of a model's graph their numbers. */
void ry_graph_number_constants(ry_graph *graph);

/* Creates a store for the graphs of one model; limit: bytes kept without a graph. */
rynd_status ry_derived_store_create(const ry_allocator *allocator, size_t limit, ry_kept **store,
                                    ry_error *error);

#endif
