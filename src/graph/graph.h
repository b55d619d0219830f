/* SPDX-License-Identifier: Apache-2.0 */
/* The graph: values and nodes, our layout-free IR.
 *
 * A graph owns everything it points to through its arena, except constants' data, which may be in a
 * mapped file that the model keeps open. Values and nodes are named by index; removing a node marks
 * it dead (op RY_OP_dead); ry_graph_compact drops the dead and sorts the rest topologically. A
 * graph is not thread-safe; a finished one may be read by many threads.
 *
 * Dims: at least 0, or a symbol (negative): "N", "batch", or an expression of them ("2*H"). A graph
 * with symbols is as the model states it; ry_graph_bind gives them numbers, and shape inference,
 * rewrites and planning work on the bound copy. */
#ifndef RY_GRAPH_GRAPH_H
#define RY_GRAPH_GRAPH_H

#include "base/kept.h"
#include "base/memory.h"
#include "base/status.h"
#include "graph/graph_names.h"
#include "problem/attrs.h"

#define RY_NO_VALUE UINT32_MAX
#define RY_NO_NODE  UINT32_MAX
#define RY_OP_dead  RY_OPS

typedef uint32_t ry_value_id;
typedef uint32_t ry_node_id;

typedef struct ry_value {
    /* as in the model; unique; made-up ones hold a '/' after the name they come from */
    const char *name;
    ry_dtype dtype;       /* RY_NONE: not known */
    ry_shape shape;       /* rank -1: not known */
    const void *constant; /* row-major data, or NULL: the value is computed or an input */
    ry_node_id producer;  /* RY_NO_NODE: a constant or an input */
    /* how often the nodes' inputs and the graph's outputs name it; kept by the functions below */
    uint32_t uses;
    uint32_t outputs; /* how often the graph's outputs do */
    bool bounded;     /* the shape is an upper bound: the extent depends on data */
    bool initializer; /* listed as an initializer by the model: training may change it */
    bool folded;      /* a constant that planning made of others: the model has a node for it */
    bool stored;      /* to be kept in memory: no rewrite makes its readers compute it instead */
    /* a large constant whose address is no multiple of its element's size: read it with memcpy,
     * or copy it */
    bool unaligned;
    /* number of a constant's content: equal numbers in the graphs of one model are equal contents;
     * 0: unknown */
    uint64_t identity;
} ry_value;

typedef struct ry_node {
    ry_op op;
    const char *name;   /* the model's node name, or one made from its first output */
    const char *source; /* the ONNX operator it came from, for messages: "HardSwish" */
    ry_attrs attrs;
    int inputs, outputs;
    ry_value_id *in; /* RY_NO_VALUE: absent */
    ry_value_id *out;
    /* training drops this part of input 0, and passes on the rest as output 0, in the place of what
     * the node does (train/dropout_nodes.h); 0: none; NaN: a part that is not known */
    double drop;
    /* batch normalisations only: the part that a batch's statistics have in the running ones while
     * the model is trained */
    double norm_momentum;
    /* running mean and variance of a normalisation that reads the statistics of its own batch
     * (ONNX's training_mode); RY_NO_VALUE: inputs 3 and 4 are the running ones */
    ry_value_id running[2];
} ry_node;

/* ONNX's and PyTorch's default. */
#define RY_NORM_MOMENTUM 0.1

/* What lives between runs: an input of the graph and an output of the same type and shape, which is
 * the input of the next run. */
typedef struct ry_state {
    uint32_t input, output; /* places in the graph's lists */
    /* row-major content before the first run, at any address; NULL: zeros. Graphs and their copies
     * share it, like constants' data */
    const void *initial;
} ry_state;

/* What planning may still take for constants that it makes itself: a small file must not become
 * much memory. */
typedef struct ry_allowance {
    bool given;           /* else there is no bound */
    int64_t bytes, grown; /* most bytes; most for a value much larger than its inputs */
    double work;          /* operations of folding */
} ry_allowance;

/* A constant of the store of derived ones (derive.h). */
typedef struct ry_derivation {
    struct ry_derivation *next;
    ry_lot *lot;
    void *content;
    bool open; /* the content is not the lot's yet */
} ry_derivation;

typedef struct ry_graph {
    ry_arena arena;
    const char *name;
    ry_value *values;
    size_t value_count, value_capacity;
    ry_node *nodes;
    size_t node_count, node_capacity;
    ry_value_id *inputs, *outputs;
    size_t input_count, input_capacity, output_count, output_capacity;
    /* The first so many outputs are computed before all else (ry_graph_compact), so that a session can
     * stop behind them; 0: no part is first. */
    size_t first_outputs;
    size_t first_inputs; /* the first outputs depend on no later input */
    ry_state *states;
    size_t state_count, state_capacity;
    const char **symbols;
    size_t symbol_count, symbol_capacity;
    struct ry_dim_form *forms; /* what each symbol is: graph_symbols.c */
    size_t form_capacity;
    ry_names value_names, symbol_names;
    size_t next_name, next_unknown; /* made-up names below these numbers are taken */
    ry_allowance allowance;
    const char **warnings; /* ry_graph_warn */
    size_t warning_count, warning_capacity;
    bool exhausted; /* memory was out when a symbol was to be made: why a dim is RY_DIM_ERROR */
    /* store of derived constants, shared by the graphs of one model (derive.h); NULL: nothing is
     * shared */
    ry_kept *derived;
    ry_derivation *derivations; /* those that this graph holds */
} ry_graph;

rynd_status ry_graph_create(const ry_allocator *allocator, ry_graph **graph, ry_error *error);
void ry_graph_destroy(ry_graph *graph); /* NULL is allowed */
/* A deep copy of all but constants' data, which both share. */
rynd_status ry_graph_clone(const ry_graph *graph, ry_graph **copy, ry_error *error);

/* Building. Adding may move graph->values and graph->nodes: hold ids, not pointers. Names are
 * copied; a NULL name makes one up. Each returns RY_NO_VALUE / RY_NO_NODE when out of memory. */
ry_value_id ry_graph_add_value(ry_graph *graph, const char *name, ry_dtype dtype,
                               const ry_shape *shape);
/* data NULL: zeroed memory from the arena, to be filled through ry_graph_constant_data. */
ry_value_id ry_graph_add_constant(ry_graph *graph, const char *name, ry_dtype dtype,
                                  const ry_shape *shape, const void *data);
/* Asks for a constant of so many bytes, for folding and rewrites, which leave things as they are
 * when the allowance is spent. */
bool ry_graph_spend(ry_graph *graph, int64_t bytes);
/* only for constants made with data NULL */
void *ry_graph_constant_data(ry_graph *graph, ry_value_id value);
ry_value_id ry_graph_add_i64s(ry_graph *graph, const char *name, int64_t count,
                              const int64_t *numbers); /* a 1-D constant; count -1: a scalar */
ry_value_id ry_graph_add_scalar(ry_graph *graph, ry_dtype dtype, double number);
ry_node_id ry_graph_add_node(ry_graph *graph, ry_op op, const char *name, const char *source,
                             const ry_attrs *attrs, int inputs, const ry_value_id *in, int outputs,
                             const ry_value_id *out);
bool ry_graph_add_input(ry_graph *graph, ry_value_id value);
bool ry_graph_add_output(ry_graph *graph, ry_value_id value);
/* Adds both to the lists of inputs and outputs. */
bool ry_graph_add_state(ry_graph *graph, ry_value_id input, ry_value_id output,
                        const void *initial);
void ry_graph_clear_outputs(ry_graph *graph); /* the former list keeps its content */

/* Notes what whoever uses the graph should hear of though it is no error, for the callers to tell;
 * a copy of the graph begins without any. */
void ry_graph_warn(ry_graph *graph, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Changing. */
void ry_graph_remove_node(ry_graph *graph, ry_node_id node);
/* A copy of `name` becomes the value's name, and ry_graph_find finds it by that (never set
 * value->name directly). False when out of memory. */
bool ry_graph_rename_value(ry_graph *graph, ry_value_id value, const char *name);
/* Edits of node->in, so that values' uses stay right. `in` is memory of the graph's arena: another
 * list, or node->in itself to be shortened. */
void ry_graph_set_input(ry_graph *graph, ry_node *node, int i, ry_value_id value);
void ry_graph_set_inputs(ry_graph *graph, ry_node *node, int count, ry_value_id *in);
/* with[v] for v, in every node's inputs and in the graph's outputs. */
void ry_graph_replace_values(ry_graph *graph, const ry_value_id *with);
/* Drops dead nodes, nodes whose outputs nobody uses (a constant's content needs no node), sorts
 * topologically (stable: a sorted graph keeps its order), what leads to the first outputs
 * (first_outputs) before all else, and sets every value's producer anew.
 * Value ids stay; node ids do not. A cycle is an error that names its nodes. */
rynd_status ry_graph_compact(ry_graph *graph, ry_error *error);

/* Looking. */
/* RY_NO_VALUE if no value has the name; constant time */
ry_value_id ry_graph_find(const ry_graph *graph, const char *name);
bool ry_graph_is_output(const ry_graph *graph, ry_value_id value);
/* nodes' inputs and graph outputs */
int ry_graph_use_count(const ry_graph *graph, ry_value_id value);
/* row-major; data is the constant's or NULL; dtype none for RY_NO_VALUE */
ry_tensor ry_graph_tensor(const ry_graph *graph, ry_value_id value);

/* Symbols. ry_dim_* compute with numbers when both are numbers and otherwise make the symbol of the
 * expression; equal texts are equal symbols. */
/* negative; 0 when out of memory */
int64_t ry_graph_symbol(ry_graph *graph, const char *text, size_t length);
const char *ry_graph_symbol_text(const ry_graph *graph, int64_t dim);
/* What ry_dim_* give when the result does not fit int64 or is negative, a divisor is 0, or memory
 * is out; it goes through further ry_dim_*. */
#define RY_DIM_ERROR INT64_MIN
/* The largest dim that verification and inference let pass, so that adding a window's reach to it
 * cannot overflow. */
#define RY_MAX_DIM ((int64_t)1 << 62)
int64_t ry_dim_add(ry_graph *graph, int64_t a, int64_t b);
int64_t ry_dim_sub(ry_graph *graph, int64_t a, int64_t b);
int64_t ry_dim_mul(ry_graph *graph, int64_t a, int64_t b);
int64_t ry_dim_floor_div(ry_graph *graph, int64_t a, int64_t b);
int64_t ry_dim_ceil_div(ry_graph *graph, int64_t a, int64_t b);
/* (dim + offset) / divisor, rounded down; offset may be negative (a negative `a` of the others is a
 * symbol), divisor at least 1. */
int64_t ry_dim_affine(ry_graph *graph, int64_t dim, int64_t offset, int64_t divisor);
int64_t ry_dim_unknown(ry_graph *graph); /* a fresh symbol "?k" */
/* a symbol of ry_dim_unknown, or an expression with one */
bool ry_dim_is_unknown(const ry_graph *graph, int64_t dim);
/* "1x3xHxW" for messages. */
const char *ry_shape_text(const ry_graph *graph, const ry_shape *shape, char *buffer, size_t size);

#endif
