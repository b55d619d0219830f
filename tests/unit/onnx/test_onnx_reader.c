/* SPDX-License-Identifier: Apache-2.0 */
/* Reading models made byte by byte: what a good one becomes, and the message for each bad one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "onnx_load.h"

#include <stdlib.h>
#include <string.h>

static const int64_t dims_n3[] = {-1, 3};
static const int64_t three[] = {3};

static void test_good_model(void **state)
{
    (void)state;
    ry_onnx_model model;
    ry_error error;
    /* Not sorted: b comes from the second node. */
    onnx_bytes graph = graph_of(make_node("Relu", "b", "y"));
    const float numbers[] = {1, 2, 3};
    add_node(&graph, make_node("Add", "x,w", "b"));
    add_initializer(&graph, make_floats("w", 1, three, numbers));
    put_text(&graph, 99, "a field from the future");
    assert_int_equal(load(8, 17, graph, &model, &error), RYND_OK);
    assert_int_equal(model.ir_version, 8);
    assert_int_equal(model.opset, 17);
    assert_string_equal(model.producer, "a test");
    assert_string_equal(model.graph->name, "test");
    assert_int_equal(model.usage_count, 2);
    assert_string_equal(model.usage[0].operator_name, "Add");
    assert_string_equal(model.usage[1].operator_name, "Relu");
    assert_int_equal(model.graph->node_count, 2);
    assert_string_equal(model.graph->nodes[0].source, "Add");
    assert_string_equal(model.graph->nodes[0].name, "b"); /* it has none of its own */
    const ry_value *y = &model.graph->values[model.graph->outputs[0]];
    assert_int_equal(y->dtype, RY_f32);
    assert_int_equal(y->shape.rank, 2);
    assert_string_equal(ry_graph_symbol_text(model.graph, y->shape.dim[0]), "N");
    assert_int_equal(y->shape.dim[1], 3);
    ry_onnx_free(&model);
    ry_onnx_free(&model); /* twice does no harm */
}

/* IR version 3: no opset_import is opset 1, initializers are repeated among the inputs. */
static void test_old_model(void **state)
{
    (void)state;
    ry_onnx_model model;
    ry_error error;
    const int64_t x_dims[] = {2, 3, 4}, ignored[] = {0};
    const float numbers[] = {1, 2, 3};
    onnx_bytes graph = {0}, node = make_node("Add", "x,w", "y");
    add_int_attribute(&node, "broadcast", 1);
    add_int_attribute(&node, "axis", 1);
    add_ints_attribute(&node, "consumed_inputs", 1, ignored);
    add_node(&graph, node);
    add_input(&graph, make_value("x", 3, x_dims));
    add_input(&graph, make_value("w", 1, three));
    add_initializer(&graph, make_floats("w", 1, three, numbers));
    add_output(&graph, make_value("y", 3, x_dims));
    assert_int_equal(load(3, 0, graph, &model, &error), RYND_OK);
    assert_int_equal(model.opset, 1);
    assert_int_equal(model.graph->input_count, 1);
    assert_int_equal(model.graph->node_count, 2); /* the axis became an unsqueeze */
    ry_onnx_free(&model);
}

static void test_absent_input(void **state)
{
    (void)state;
    ry_onnx_model model;
    ry_error error;
    const float six = 6;
    onnx_bytes graph = graph_of(make_node("Clip", "x,,high", "y"));
    add_initializer(&graph, make_floats("high", 0, NULL, &six));
    assert_int_equal(load(8, 17, graph, &model, &error), RYND_OK);
    assert_int_equal(model.graph->node_count, 1);
    /* a bound that is known is part of the expression */
    assert_int_equal(model.graph->nodes[0].inputs, 1);
    ry_onnx_free(&model);
    expect_error(graph_of(make_node("Add", ",x", "y")), RYND_ERROR_FORMAT, "input 0 is absent");
    expect_error(graph_of(make_node("Min", "x,,x", "y")), RYND_ERROR_FORMAT, "input 1 is absent");
}

/* f(a) = Relu(Neg(a)) as a function of the model. */
static void test_function(void **state)
{
    (void)state;
    ry_onnx_model model;
    ry_error error;
    onnx_bytes function = {0}, import = {0}, call = make_node("Twice", "x", "y");
    put_text(&call, 7, "mine");
    put_text(&function, 1, "Twice");
    put_text(&function, 4, "a");
    put_text(&function, 5, "b");
    put_message(&function, 7, make_node("Neg", "a", "t"));
    put_message(&function, 7, make_node("Relu", "t", "b"));
    put_int(&import, 2, 14);
    put_message(&function, 9, import);
    put_text(&function, 10, "mine");
    onnx_bytes bytes = make_model(8, 17, graph_of(call));
    put_message(&bytes, 25, function);
    assert_int_equal(
        ry_onnx_load_memory(bytes.data, bytes.size, NULL, &ry_system_allocator, &model, &error),
        RYND_OK);
    assert_int_equal(model.graph->node_count, 2);
    assert_string_equal(model.graph->nodes[0].source, "Neg");
    assert_string_equal(model.graph->nodes[1].source, "Relu");
    ry_onnx_free(&model);
    onnx_bytes_free(&bytes);
}

/* A function that calls itself. */
static void test_endless_function(void **state)
{
    (void)state;
    ry_onnx_model model;
    ry_error error;
    onnx_bytes function = {0}, call = make_node("F", "x", "y"), again = make_node("F", "a", "b");
    put_text(&call, 7, "mine");
    put_text(&again, 7, "mine");
    put_text(&function, 1, "F");
    put_text(&function, 4, "a");
    put_text(&function, 5, "b");
    put_message(&function, 7, again);
    put_text(&function, 10, "mine");
    onnx_bytes bytes = make_model(8, 17, graph_of(call));
    put_message(&bytes, 25, function);
    assert_int_equal(
        ry_onnx_load_memory(bytes.data, bytes.size, NULL, &ry_system_allocator, &model, &error),
        RYND_ERROR_FORMAT);
    assert_non_null(strstr(error.text, "16 functions deep"));
    onnx_bytes_free(&bytes);
}

static void put_function(onnx_bytes *model, const char *domain, const char *name)
{
    onnx_bytes function = {0};
    put_text(&function, 1, name);
    put_text(&function, 4, "a");
    put_text(&function, 5, "b");
    put_message(&function, 7, make_node("Relu", "a", "b"));
    put_text(&function, 10, domain);
    put_message(model, 25, function);
}

/* Two of one name and domain; a name in two domains is two functions. */
static void test_two_functions(void **state)
{
    (void)state;
    static const char *const domains[] = {"mine", "yours", "mine"}, *const names[] = {"H", "A",
                                                                                      "Z"};
    for (int count = 1; count <= 3; count++) {
        ry_onnx_model model;
        ry_error error;
        onnx_bytes call = make_node("F", "x", "y");
        put_text(&call, 7, "mine");
        onnx_bytes bytes = make_model(8, 17, graph_of(call));
        for (int i = 0; i < count; i++) {
            put_function(&bytes, domains[i], "F");
            put_function(&bytes, "others", names[i]);
        }
        const rynd_status status =
            ry_onnx_load_memory(bytes.data, bytes.size, NULL, &ry_system_allocator, &model, &error);
        assert_int_equal(status, count < 3 ? RYND_OK : RYND_ERROR_FORMAT);
        if (status == RYND_OK) {
            assert_string_equal(model.graph->nodes[0].source, "Relu");
            ry_onnx_free(&model);
        } else {
            assert_non_null(strstr(error.text, "two functions 'F' of domain 'mine'"));
        }
        onnx_bytes_free(&bytes);
    }
}

static void test_structure(void **state)
{
    (void)state;
    onnx_bytes graph = graph_of(make_node("Add", "x,b", "a"));
    add_node(&graph, make_node("Relu", "a", "b"));
    add_node(&graph, make_node("Relu", "a", "y"));
    expect_error(graph, RYND_ERROR_FORMAT, "'a', 'b' form a cycle");

    expect_error(graph_of(make_node("Add", "x,w", "y")), RYND_ERROR_FORMAT,
                 "node 'y' (Add): its input 'w' is missing");
    expect_error(graph_of(make_node("Relu", "x", "z")), RYND_ERROR_FORMAT, "output 'y' is missing");

    graph = graph_of(make_node("Relu", "x", "y"));
    add_node(&graph, make_node("Neg", "x", "y"));
    expect_error(graph, RYND_ERROR_FORMAT, "its output 'y' is also made by node 'y'");

    graph = graph_of(make_node("Relu", "x", "y"));
    add_node(&graph, make_node("Neg", "x", "x"));
    expect_error(graph, RYND_ERROR_FORMAT,
                 "its output 'x' is also made by an input or initializer");

    graph = graph_of(make_node("Relu", "x", "y"));
    add_input(&graph, make_value("x", 2, dims_n3));
    expect_error(graph, RYND_ERROR_FORMAT, "two inputs have the name 'x'");

    const float numbers[] = {1, 2, 3};
    graph = graph_of(make_node("Add", "x,w", "y"));
    add_initializer(&graph, make_floats("w", 1, three, numbers));
    add_initializer(&graph, make_floats("w", 1, three, numbers));
    expect_error(graph, RYND_ERROR_FORMAT, "two initializers have the name 'w'");

    graph = (onnx_bytes){0};
    add_node(&graph, make_node("Relu", "x", "y"));
    add_input(&graph, make_value("x", 2, dims_n3));
    expect_error(graph, RYND_ERROR_FORMAT, "no outputs");
}

/* What is declared of outputs and of values inside, and contradicts what the nodes compute. */
static void test_wrong_declarations(void **state)
{
    (void)state;
    enum { VALUE_INFO = 13 };
    const int64_t wrong[] = {-1, 4}, right[] = {7, 3}, flat[] = {6};
    ry_onnx_model model;
    ry_error error;
    onnx_bytes graph = {0}, odd = {0}, type = {0}, tensor = {0};
    put_int(&tensor, 1, 99); /* no data type of ONNX */
    put_message(&type, 1, tensor);
    put_text(&odd, 1, "a");
    put_message(&odd, 2, type);
    add_node(&graph, make_node("Neg", "x", "a"));
    add_node(&graph, make_node("Relu", "a", "y"));
    add_input(&graph, make_value("x", 2, dims_n3));
    add_output(&graph, make_value("y", 2, wrong));
    put_message(&graph, VALUE_INFO, make_value("a", 1, flat));
    put_message(&graph, VALUE_INFO, make_value("a", 2, right));
    put_message(&graph, VALUE_INFO, odd);
    put_message(&graph, VALUE_INFO, make_value("gone", 1, flat));
    if (load(8, 17, graph, &model, &error) != RYND_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(model.graph->warning_count, 3);
    assert_string_equal(model.graph->warnings[0],
                        "value 'a' is declared with shape 6, but has Nx3, which holds");
    assert_non_null(strstr(model.graph->warnings[1], "value 'a' has the ONNX data type 99"));
    assert_string_equal(model.graph->warnings[2],
                        "output 'y' is declared with shape Nx4, but has Nx3, which holds");
    const ry_value *y = &model.graph->values[ry_graph_find(model.graph, "y")];
    assert_int_equal(y->shape.dim[1], 3);
    assert_int_equal(model.graph->symbol_count, 1); /* declarations inside make no symbols */
    ry_onnx_free(&model);
}

/* The same domain twice: what both say is taken, under either of its names; what they contradict
 * each other in is refused. */
static void test_two_opsets(void **state)
{
    (void)state;
    for (int64_t second = 17; second <= 18; second++) {
        ry_onnx_model model;
        ry_error error = {""};
        onnx_bytes bytes = make_model(8, 17, graph_of(make_node("Relu", "x", "y"))), import = {0};
        put_text(&import, 1, "ai.onnx");
        put_int(&import, 2, second);
        put_message(&bytes, 8, import);
        const rynd_status status =
            ry_onnx_load_memory(bytes.data, bytes.size, NULL, &ry_system_allocator, &model, &error);
        if (second == 17) {
            assert_int_equal(status, RYND_OK);
            assert_int_equal(model.opset, 17);
            ry_onnx_free(&model);
        } else {
            assert_int_equal(status, RYND_ERROR_FORMAT);
            assert_non_null(strstr(error.text, "opset 17 and as opset 18"));
        }
        onnx_bytes_free(&bytes);
    }
}

static void test_operators_refused(void **state)
{
    (void)state;
    ry_onnx_model model;
    ry_error error;
    onnx_bytes graph = graph_of(make_node("SequenceMap", "x", "a")),
               foreign = make_node("FusedConv", "a", "b");
    put_text(&foreign, 7, "com.example");
    add_node(&graph, foreign);
    add_node(&graph, make_node("Gelu", "b", "y"));
    assert_int_equal(load(8, 17, graph, &model, &error), RYND_ERROR_UNSUPPORTED);
    /* Every one of them. */
    assert_non_null(strstr(error.text, "3 nodes"));
    assert_non_null(strstr(error.text, "node 'a': SequenceMap of opset 17"));
    assert_non_null(strstr(error.text, "node 'b': FusedConv of domain 'com.example'"));
    assert_non_null(strstr(error.text, "node 'y': Gelu of opset 17 (ONNX has it from opset 20)"));

    assert_int_equal(load(8, 29, graph_of(make_node("Relu", "x", "y")), &model, &error),
                     RYND_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "opset 29"));
    assert_non_null(strstr(error.text, "the newest that rynd knows is 28"));
    assert_int_equal(load(99, 17, graph_of(make_node("Relu", "x", "y")), &model, &error),
                     RYND_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "IR version 99"));
}

static void test_attributes(void **state)
{
    (void)state;
    onnx_bytes node = make_node("Elu", "x", "y");
    add_float_attribute(&node, "beta", 2);
    expect_error(graph_of(node), RYND_ERROR_UNSUPPORTED,
                 "node 'y' (Elu): its attribute 'beta' is not one");

    node = make_node("Elu", "x", "y");
    add_int_attribute(&node, "alpha", 2);
    expect_error(graph_of(node), RYND_ERROR_FORMAT,
                 "its attribute 'alpha' is int; it must be float");

    expect_error(graph_of(make_node("DepthToSpace", "x", "y")), RYND_ERROR_FORMAT,
                 "its attribute 'blocksize' is missing");

    node = make_node("Elu", "x", "y");
    add_float_attribute(&node, "alpha", 2);
    add_float_attribute(&node, "_note", 2);
    add_float_attribute(&node, "alpha", 3);
    expect_error(graph_of(node), RYND_ERROR_FORMAT,
                 "node 'y' (Elu): its attribute 'alpha' is given twice");

    node = make_node("Resize", "x,,s", "y");
    add_text_attribute(&node, "mode", "sinc");
    onnx_bytes graph = graph_of(node);
    const int64_t two[] = {2};
    const float scales[] = {1, 2};
    add_initializer(&graph, make_floats("s", 1, two, scales));
    expect_error(graph, RYND_ERROR_UNSUPPORTED,
                 "its attribute 'mode' has the unknown value 'sinc'");

    expect_error(graph_of(make_node("Relu", "x,x", "y")), RYND_ERROR_FORMAT,
                 "it has 2 inputs; Relu of opset 17 takes 1");
    expect_error(graph_of(make_node("Not", "x", "y")), RYND_ERROR_SHAPE,
                 "its input 'x' has type f32, which Not does not take");
}

/* Every beginning of a model, and every single damaged byte: refused or read, never more. */
static void test_damage(void **state)
{
    (void)state;
    const float numbers[] = {1, 2, 3};
    onnx_bytes graph = graph_of(make_node("Add", "x,w", "a")),
               node = make_node("Transpose", "a", "y");
    add_ints_attribute(&node, "perm", 2, (const int64_t[]){1, 0});
    add_node(&graph, node);
    add_initializer(&graph, make_floats("w", 1, three, numbers));
    onnx_bytes bytes = make_model(8, 17, graph);
    ry_onnx_model model;
    ry_error error;
    assert_int_equal(
        ry_onnx_load_memory(bytes.data, bytes.size, NULL, &ry_system_allocator, &model, &error),
        RYND_OK);
    ry_onnx_free(&model);
    size_t opset_import = 4; /* the last field: a model without it is whole, and of opset 1 */
    for (size_t size = 0; size < bytes.size - opset_import; size++) {
        /* exactly as long, so that a sanitizer sees a step beyond */
        uint8_t *cut = malloc(size + 1);
        assert_non_null(cut);
        memcpy(cut, bytes.data, size);
        assert_int_not_equal(
            ry_onnx_load_memory(cut, size, NULL, &ry_system_allocator, &model, &error), RYND_OK);
        free(cut);
    }
    for (size_t i = 0; i < bytes.size; i++) {
        for (int bit = 0; bit < 8; bit++) {
            bytes.data[i] ^= (uint8_t)(1 << bit);
            if (ry_onnx_load_memory(bytes.data, bytes.size, NULL, &ry_system_allocator, &model,
                                    &error) == RYND_OK) {
                ry_onnx_free(&model);
            }
            bytes.data[i] ^= (uint8_t)(1 << bit);
        }
    }
    onnx_bytes_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_model),
        cmocka_unit_test(test_old_model),
        cmocka_unit_test(test_two_opsets),
        cmocka_unit_test(test_absent_input),
        cmocka_unit_test(test_function),
        cmocka_unit_test(test_endless_function),
        cmocka_unit_test(test_structure),
        cmocka_unit_test(test_wrong_declarations),
        cmocka_unit_test(test_operators_refused),
        cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_two_functions),

    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
