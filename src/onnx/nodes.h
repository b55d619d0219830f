/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a model: decoded, functions inlined, checked against the table of operators, sorted.
 */
#ifndef RY_ONNX_NODES_H
#define RY_ONNX_NODES_H

#include "onnx/proto.h"

typedef struct ry_opset_import {
    const char *domain; /* "" is the default domain, whatever the file calls it */
    int64_t version;
} ry_opset_import;

typedef struct ry_opsets {
    ry_opset_import *at;
    size_t count;
    ry_names domains; /* domain -> index; the first entry of a domain counts */
} ry_opsets;

typedef struct ry_node_list {
    ry_node_record *at;
    size_t count, capacity;
    uint32_t *order; /* ry_nodes_sort: the index of the i-th node to make */
} ry_node_list;

/* Absent imports mean opset 1 of the default domain. */
rynd_status ry_opsets_read(ry_reader *reader, const ry_slices *imports, ry_opsets *opsets);
int64_t ry_opsets_find(const ry_opsets *opsets, const char *domain); /* 0: not imported */

/* Decodes; calls of functions (ModelProto.functions) are replaced by their bodies. */
rynd_status ry_nodes_read(ry_reader *reader, const ry_slices *nodes, const ry_opsets *opsets,
                          const ry_slices *functions, ry_node_list *list);

/* Fails with a message that lists every node whose operator, domain or opset has no row. */
rynd_status ry_nodes_check_operators(ry_reader *reader, const ry_node_list *list);

/* Fills list->order: as in the file where that is possible. `known` has the names of inputs and
 * initializers. A name made twice, a name that nobody makes, and a cycle are errors. */
rynd_status ry_nodes_sort(ry_reader *reader, ry_node_list *list, const ry_names *known);

#endif
