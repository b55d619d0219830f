/* SPDX-License-Identifier: Apache-2.0 */
/* Loads models made byte by byte. Include it behind cmocka.h. */
#ifndef TESTS_SUPPORT_ONNX_LOAD_H
#define TESTS_SUPPORT_ONNX_LOAD_H

#include "onnx/onnx.h"
#include "onnx_bytes.h"

#include <string.h>

/* Frees the bytes of the graph. */
static inline rynd_status load(int64_t ir_version, int64_t opset, onnx_bytes graph,
                               ry_onnx_model *model, ry_error *error)
{
    static onnx_bytes kept; /* the model points into them until the next call */
    onnx_bytes_free(&kept);
    kept = make_model(ir_version, opset, graph);
    error->text[0] = '\0';
    return ry_onnx_load_memory(kept.data, kept.size, NULL, &ry_system_allocator, model, error);
}

/* x [N,3] -> y, with one node of the given operator. */
static inline onnx_bytes graph_of(onnx_bytes node)
{
    onnx_bytes graph = {0};
    put_text(&graph, 2, "test");
    add_node(&graph, node);
    add_input(&graph, make_value("x", 2, (const int64_t[]){-1, 3}));
    add_output(&graph, make_value("y", -1, NULL));
    return graph;
}

/* Checks that loading fails with `status` and a message that contains `part`. */
static inline void expect_error(onnx_bytes graph, rynd_status status, const char *part)
{
    ry_onnx_model model;
    ry_error error;
    assert_int_equal(load(8, 17, graph, &model, &error), status);
    if (!strstr(error.text, part)) {
        fail_msg("the message \"%s\" does not say \"%s\"", error.text, part);
    }
    assert_null(model.graph);
}

#endif
