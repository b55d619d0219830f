/* SPDX-License-Identifier: Apache-2.0 */
/* The graphs that single ONNX operators become. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "onnx_load.h"

/* NumPy's RandomState(7).rand(700); a block of its generator's state has 312 numbers. */
static const struct {
    int at;
    double number;
} drawn[] = {
    {0, 0x1.388f0a7465c98p-4},   {1, 0x1.8f5184146a0a7p-1},   {311, 0x1.ab40cb7005123p-1},
    {312, 0x1.bcf53886fea97p-1}, {313, 0x1.be6a51ec8bbbep-1}, {623, 0x1.1e786c8f43760p-4},
    {624, 0x1.573e6789d9f90p-1}, {699, 0x1.5ad8492b73378p-2},
};
enum { DROPPED = 700 };

/* In training mode Dropout gets the mask of NumPy's legacy generator. */
static void test_dropout_numbers(void **state)
{
    (void)state;
    static const float half = 0.5f;
    static const uint8_t yes = 1;
    const int64_t dim[] = {DROPPED};
    onnx_bytes node = make_node("Dropout", "x,ratio,training", "y"), graph = {0},
               training = make_tensor("training", 9, 0, NULL);
    add_int_attribute(&node, "seed", 7);
    put_bytes(&training, 9, &yes, 1);
    put_text(&graph, 2, "test");
    add_node(&graph, node);
    add_initializer(&graph, make_floats("ratio", 0, NULL, &half));
    add_initializer(&graph, training);
    add_input(&graph, make_value("x", 1, dim));
    add_output(&graph, make_value("y", -1, NULL));
    ry_onnx_model model;
    ry_error error;
    assert_int_equal(load(8, 17, graph, &model, &error), RYND_OK);
    const double *numbers = NULL;
    for (size_t v = 0; v < model.graph->value_count; v++) {
        const ry_value *value = &model.graph->values[v];
        if (value->constant && value->dtype == RY_f64 && value->shape.rank == 1) {
            numbers = value->constant;
            assert_int_equal(value->shape.dim[0], DROPPED);
        }
    }
    assert_non_null(numbers);
    for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++) {
        assert_true(numbers[drawn[i].at] == drawn[i].number);
    }
    ry_onnx_free(&model);
}

/* Resize of opset 10: only scales that grow one axis and shrink another take two steps. */
static void test_old_resize_steps(void **state)
{
    (void)state;
    static const struct {
        float scales[2];
        int steps;
    } cases[] = {{{1, 2}, 1}, {{1, 0.5f}, 1}, {{0.5f, 0.5f}, 1}, {{2, 0.5f}, 2}, {{0.5f, 3}, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        onnx_bytes graph = graph_of(make_node("Resize", "x,scales", "y"));
        add_initializer(&graph, make_floats("scales", 1, (const int64_t[]){2}, cases[i].scales));
        ry_onnx_model model;
        ry_error error;
        assert_int_equal(load(8, 10, graph, &model, &error), RYND_OK);
        int steps = 0;
        for (size_t n = 0; n < model.graph->node_count; n++) {
            steps += model.graph->nodes[n].op == RY_OP_resize;
        }
        assert_int_equal(steps, cases[i].steps);
        ry_onnx_free(&model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dropout_numbers),
        cmocka_unit_test(test_old_resize_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
