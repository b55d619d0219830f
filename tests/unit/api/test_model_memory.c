/* SPDX-License-Identifier: Apache-2.0 */
/* Models loaded from memory: their messages name no file. */
#include "onnx_bytes.h"

#include <rynd/rynd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* The two largest of N numbers: no plan for a batch of one. */
static onnx_bytes two_largest(void)
{
    static const int64_t open = -1;
    onnx_bytes graph = {0}, node = make_node("TopK", "x", "y,i");
    add_int_attribute(&node, "k", 2);
    add_int_attribute(&node, "axis", 0);
    add_node(&graph, node);
    add_input(&graph, make_value("x", 1, &open));
    add_output(&graph, make_value("y", -1, NULL));
    return make_model(8, 9, graph);
}

static void messages_begin_with_the_node(void **state)
{
    (void)state;
    rynd_context *context = NULL;
    rynd_model *model = NULL;
    rynd_plan *plan = NULL;
    onnx_bytes bytes = two_largest();
    assert_int_equal(rynd_context_create(NULL, &context), RYND_OK);
    assert_int_equal(rynd_model_load_memory(context, bytes.data, bytes.size, &model), RYND_OK);
    const rynd_plan_options options = RYND_SIZED(rynd_plan_options, .batch = 1);
    assert_int_equal(rynd_plan_create(model, &options, &plan), RYND_ERROR_SHAPE);
    assert_int_equal(strncmp(rynd_last_error(), "node 'y'", strlen("node 'y'")), 0);
    rynd_model_destroy(model);
    rynd_context_destroy(context);
    onnx_bytes_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(messages_begin_with_the_node)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
