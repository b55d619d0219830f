/* SPDX-License-Identifier: Apache-2.0 */
/* A model's file as nodes and constants that can be changed, and written as another model.
 *
 * Names are the file's. Fields that rynd does not know stay as they are; a node that nobody changes
 * is written with the attributes of the file. */
#ifndef RY_ONNX_NET_H
#define RY_ONNX_NET_H

#include "onnx/onnx.h"

struct ry_slice;

typedef struct ry_net_node {
    const char *name, *op, *domain; /* "": the default domain */
    int inputs, outputs, attributes;
    const char **in, **out;     /* "": absent */
    struct ry_slice *attribute; /* AttributeProto messages */
    bool graphs;                /* an attribute is a graph, which may read any value */
} ry_net_node;

typedef struct ry_net_constant {
    const char *name;
    ry_tensor tensor; /* row-major */
} ry_net_constant;

/* In the first output's declaration, dims behind the first of size `before` get size `now`. */
typedef struct ry_net_resized {
    int64_t before, now; /* 0: none */
} ry_net_resized;

/* Everything is in the arena, except constants' data, which may be the model's. */
typedef struct ry_net {
    const ry_onnx_model *model; /* outlives the net */
    ry_arena *arena;
    int64_t opset;
    ry_net_node *nodes; /* producers first */
    size_t node_count, node_capacity;
    /* new initializers, and new content of old ones */
    ry_net_constant *constants;
    size_t constant_count, constant_capacity;
    ry_names constant_names;
    bool retyped; /* values have other types: the file's declarations of inner ones are dropped */
    ry_net_resized resized;
} ry_net;

/* Reads the nodes of a model's file. UNSUPPORTED: the model has no file (a part), or functions. */
rynd_status ry_net_read(const ry_onnx_model *model, ry_arena *arena, ry_net *net, ry_error *error);
/* A copy whose nodes and constants can be changed and added; the lists of names are shared. */
rynd_status ry_net_copy(const ry_net *net, ry_arena *arena, ry_net *copy, ry_error *error);

/* Finds a constant: a new one, an initializer, the output of a Constant node, or such a one behind
 * nodes that change only its shape. False: the value is computed. */
bool ry_net_constant_of(const ry_net *net, const char *name, ry_tensor *tensor);
/* What the model's graph knows of a value. NULL: nothing. */
const ry_value *ry_net_value(const ry_net *net, const char *name);
bool ry_net_is_output(const ry_net *net, const char *name);

/* A number attribute; without it: `otherwise`. */
double ry_net_number(const ry_net_node *node, const char *name, double otherwise);
/* Has the node a text attribute of this content? */
bool ry_net_says(const ry_net_node *node, const char *name, const char *text);
rynd_status ry_net_set_int(ry_net *net, ry_net_node *node, const char *name, int64_t value,
                           ry_error *error);
rynd_status ry_net_set_text(ry_net *net, ry_net_node *node, const char *name, const char *text,
                            ry_error *error);
/* In place: copies of the node share the list. */
void ry_net_drop_attribute(ry_net_node *node, const char *name);

/* Changing. The lists of a node that was read are replaced, never written to. */
rynd_status ry_net_set_inputs(ry_net *net, ry_net_node *node, int count, const char *const *in,
                              ry_error *error);
rynd_status ry_net_set_input(ry_net *net, ry_net_node *node, int i, const char *name,
                             ry_error *error);
rynd_status ry_net_set_output(ry_net *net, ry_net_node *node, int i, const char *name,
                              ry_error *error);
/* Appends a node; its strings are borrowed. */
rynd_status ry_net_add_node(ry_net *net, const ry_net_node *node, ry_error *error);
/* Adds or replaces a constant; name and data are borrowed. */
rynd_status ry_net_add_constant(ry_net *net, const char *name, const ry_tensor *tensor,
                                ry_error *error);
/* "NAME/SUFFIX", with underscores behind it if the net has that name. NULL: out of memory. */
const char *ry_net_name(const ry_net *net, const char *name, const char *suffix);

/* Rewrites nodes so that they mean in opset `opset` (10 to 13) what they mean in the net's own.
 * UNSUPPORTED names the first node for which there is no rule. Nothing happens if the net's opset
 * is as new. */
rynd_status ry_net_raise(ry_net *net, int64_t opset, ry_error *error);

/* Writes the model's file with the net's nodes and constants. Nodes and initializers that no output
 * needs are left out. Call it with outputs that only count first: errors then come early. */
rynd_status ry_net_write(const ry_net *net, const ry_onnx_output *to, ry_error *error);

#endif
