/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a model: decoded, functions inlined, sorted.
 */
#ifndef RY_ONNX_NODES_H
#define RY_ONNX_NODES_H

#include "onnx/proto.h"

/* The newest opset of the default domain whose operators the table knows. */
#define RY_OPSET_NEWEST 28

typedef struct ry_opset_import {
    const char *domain; /* "" is the default domain, whatever the file calls it */
    int64_t version;
} ry_opset_import;

typedef struct ry_opsets {
    ry_opset_import *at;
    size_t count;
    ry_names domains; /* domain -> index; the first entry of a domain counts */
} ry_opsets;

/* The names inside one call of a function, or one copy of a graph in an attribute. */
typedef struct ry_scope {
    const char *prefix; /* a name inside becomes "prefix/number/name" ... */
    size_t number;
    ry_names names; /* ... unless found here: its index in `actual` */
    const char **actual;
    ry_node_record call;                /* the call whose attributes the nodes refer to */
    const struct ry_function *function; /* NULL: none */
} ry_scope;

typedef struct ry_functions ry_functions;

typedef struct ry_node_list {
    ry_node_record *at;
    size_t count, capacity;
    uint32_t *order; /* ry_nodes_sort: the index of the i-th node to make */
} ry_node_list;

/* Absent imports mean opset 1 of the default domain. */
rynd_status ry_opsets_read(ry_reader *reader, const ry_slices *imports, ry_opsets *opsets);
int64_t ry_opsets_find(const ry_opsets *opsets, const char *domain); /* 0: not imported */

/* Reads ModelProto.functions into reader->functions. */
rynd_status ry_functions_read(ry_reader *reader, const ry_slices *functions);

/* Decodes; calls of functions are replaced by their bodies. scope NULL: names stay. */
rynd_status ry_nodes_read(ry_reader *reader, const ry_slices *nodes, const ry_opsets *opsets,
                          const ry_scope *scope, ry_node_list *list);

/* What a name inside the scope is outside. */
rynd_status ry_scope_rename(ry_reader *reader, const ry_scope *scope, const char **name);

/* Fills the node's captures: what the graphs in its attributes read and do not make. */
rynd_status ry_captures_find(ry_reader *reader, ry_node_record *node);

/* Fills list->order: as in the file where that is possible. `known` has the names of inputs and
 * initializers. A name made twice, a name that nobody makes, and a cycle are errors. */
rynd_status ry_nodes_sort(ry_reader *reader, ry_node_list *list, const ry_names *known);

#endif
