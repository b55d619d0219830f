/* SPDX-License-Identifier: Apache-2.0 */
/* The graph: values and nodes, our layout-free IR.
 *
 * A graph owns everything it points to through its arena, except constants' data, which may lie in a mapped file that the model keeps open.
 * Values and nodes are named by index; removing a node marks it dead (op RY_OP_dead); ry_graph_compact drops the dead and sorts the rest
 * topologically. A graph is not thread-safe; a finished one may be read by many threads.
 *
 * Dims: at least 0, or a symbol (negative): "N", "batch", or an expression of them ("2*H"). A graph with symbols is as the model states it;
 * ry_graph_bind gives them numbers, and shape inference, rewrites and planning work on the bound copy. */
#ifndef RY_GRAPH_GRAPH_H
#define RY_GRAPH_GRAPH_H

#include "base/memory.h"
#include "base/status.h"
#include "problem/attrs.h"

#define RY_NO_VALUE UINT32_MAX
#define RY_NO_NODE  UINT32_MAX
#define RY_OP_dead  RY_OPS

typedef uint32_t ry_value_id;
typedef uint32_t ry_node_id;

typedef struct ry_value {
    const char *name;     /* as in the model; unique; made-up ones hold a '/' after the name they come from */
    ry_dtype dtype;       /* RY_NONE: not known */
    ry_shape shape;       /* rank -1: not known */
    const void *constant; /* row-major data, or NULL: the value is computed or an input */
    ry_node_id producer;  /* RY_NO_NODE: a constant or an input */
    bool bounded;         /* the shape is an upper bound: the extent depends on data */
    bool unaligned;       /* a large constant whose address is no multiple of its element's size: read it with memcpy, or copy it */
} ry_value;

typedef struct ry_node {
    ry_op op;
    const char *name;   /* the model's node name, or one made from its first output */
    const char *source; /* the ONNX operator it came from, for messages: "HardSwish" */
    ry_attrs attrs;
    int inputs, outputs;
    ry_value_id *in; /* RY_NO_VALUE: absent */
    ry_value_id *out;
} ry_node;

/* Finds values and symbols by name; kept by the functions below. */
typedef struct ry_names {
    struct ry_name_slot *slots;
    size_t used, capacity; /* capacity: a power of two */
} ry_names;

typedef struct ry_graph {
    ry_arena arena;
    const char *name;
    ry_value *values;
    size_t value_count, value_capacity;
    ry_node *nodes;
    size_t node_count, node_capacity;
    ry_value_id *inputs, *outputs;
    size_t input_count, input_capacity, output_count, output_capacity;
    const char **symbols;
    size_t symbol_count, symbol_capacity;
    struct ry_dim_form *forms; /* what each symbol is: graph_symbols.c */
    size_t form_capacity;
    ry_names value_names, symbol_names;
    bool exhausted; /* memory was out when a symbol was to be made: why a dim is RY_DIM_ERROR */
} ry_graph;

rynd_status ry_graph_create(const ry_allocator *allocator, ry_graph **graph, ry_error *error);
void ry_graph_destroy(ry_graph *graph); /* NULL is allowed */
/* A deep copy of all but constants' data, which both share. */
rynd_status ry_graph_clone(const ry_graph *graph, ry_graph **copy, ry_error *error);

/* Building. Adding may move graph->values and graph->nodes: hold ids, not pointers. Names are copied; a NULL name makes one up. Each returns RY_NO_VALUE / RY_NO_NODE when out of memory. */
ry_value_id ry_graph_add_value(ry_graph *graph, const char *name, ry_dtype dtype, const ry_shape *shape);
/* data NULL: zeroed memory from the arena, to be filled through ry_graph_constant_data. */
ry_value_id ry_graph_add_constant(ry_graph *graph, const char *name, ry_dtype dtype, const ry_shape *shape, const void *data);
void *ry_graph_constant_data(ry_graph *graph, ry_value_id value); /* only for constants made with data NULL */
ry_value_id ry_graph_add_i64s(ry_graph *graph, const char *name, int64_t count,
                              const int64_t *numbers); /* a 1-D constant; count -1: a scalar */
ry_value_id ry_graph_add_scalar(ry_graph *graph, ry_dtype dtype, double number);
ry_node_id ry_graph_add_node(ry_graph *graph, ry_op op, const char *name, const char *source, const ry_attrs *attrs, int inputs,
                             const ry_value_id *in, int outputs, const ry_value_id *out);
bool ry_graph_add_input(ry_graph *graph, ry_value_id value);
bool ry_graph_add_output(ry_graph *graph, ry_value_id value);

/* Changing. */
void ry_graph_remove_node(ry_graph *graph, ry_node_id node);
/* A copy of `name` becomes the value's name, and ry_graph_find finds it by that (never set value->name directly). False when out of memory. */
bool ry_graph_rename_value(ry_graph *graph, ry_value_id value, const char *name);
void ry_graph_replace_value(ry_graph *graph, ry_value_id old, ry_value_id with); /* in every node's inputs and in the graph's outputs */
int ry_graph_use_count(const ry_graph *graph, ry_value_id value);                /* nodes' inputs and graph outputs */
/* Drops dead nodes, nodes whose outputs nobody uses (a constant's content needs no node), sorts topologically (stable: a sorted graph keeps its
 * order) and sets every value's producer anew. Value ids stay; node ids do not. A cycle is an error that names its nodes. */
rynd_status ry_graph_compact(ry_graph *graph, ry_error *error);

/* Looking. */
ry_value_id ry_graph_find(const ry_graph *graph, const char *name); /* RY_NO_VALUE when there is none; constant time */
bool ry_graph_is_output(const ry_graph *graph, ry_value_id value);
ry_tensor ry_graph_tensor(const ry_graph *graph,
                          ry_value_id value); /* row-major; data is the constant's or NULL; dtype none for RY_NO_VALUE */

/* Symbols. ry_dim_* compute with numbers when both are numbers and otherwise make the symbol of the expression; equal texts are equal symbols. */
int64_t ry_graph_symbol(ry_graph *graph, const char *text, size_t length); /* negative; 0 when out of memory */
const char *ry_graph_symbol_text(const ry_graph *graph, int64_t dim);
/* What ry_dim_* give when the result does not fit int64 or is negative, a divisor is 0, or memory is out; it goes through further ry_dim_*. */
#define RY_DIM_ERROR INT64_MIN
/* The largest dim that verification and inference let pass, so that adding a window's reach to it cannot overflow. */
#define RY_DIM_MOST ((int64_t)1 << 62)
int64_t ry_dim_add(ry_graph *graph, int64_t a, int64_t b);
int64_t ry_dim_sub(ry_graph *graph, int64_t a, int64_t b);
int64_t ry_dim_mul(ry_graph *graph, int64_t a, int64_t b);
int64_t ry_dim_floor_div(ry_graph *graph, int64_t a, int64_t b);
int64_t ry_dim_ceil_div(ry_graph *graph, int64_t a, int64_t b);
/* (dim + offset) / divisor, rounded down; offset may be negative (a negative `a` of the others is a symbol), divisor at least 1. */
int64_t ry_dim_affine(ry_graph *graph, int64_t dim, int64_t offset, int64_t divisor);
int64_t ry_dim_unknown(ry_graph *graph);                    /* a fresh symbol "?k" */
bool ry_dim_is_unknown(const ry_graph *graph, int64_t dim); /* a symbol of ry_dim_unknown, or an expression with one */
/* "1x3xHxW" for messages. */
const char *ry_shape_text(const ry_graph *graph, const ry_shape *shape, char *buffer, size_t size);

#endif
