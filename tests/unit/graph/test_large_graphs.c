/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of a hundred thousand nodes load and plan in seconds. Where a step of the work were
 * quadratic in nodes, edges or names, one of them would take minutes and the test its time limit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/cpu/cpu_device.h"
#include "machine/machine.h"
#include "onnx/onnx.h"
#include "onnx_bytes.h"
#include "plan/make_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 100000 };

static const ry_shape small = {.rank = 4, .dim = {1, 2, 2, 3}};

typedef struct bench {
    ry_graph *graph;
    ry_value_id x;
} bench;

static bench begin(void)
{
    bench b = {0};
    assert_int_equal(ry_graph_create(&ry_system_allocator, &b.graph, NULL), RYND_OK);
    b.x = ry_graph_add_value(b.graph, "x", RY_f32, &small);
    assert_true(ry_graph_add_input(b.graph, b.x));
    return b;
}

static ry_value_id add(bench *b, ry_op op, const ry_attrs *attrs, int inputs, const ry_value_id *in)
{
    const ry_value_id out = ry_graph_add_value(b->graph, NULL, RY_NONE, NULL);
    assert_int_not_equal(out, RY_NO_VALUE);
    assert_int_not_equal(ry_graph_add_node(b->graph, op, NULL, "Test", attrs, inputs, in, 1, &out),
                         RY_NO_NODE);
    return out;
}

/* A cheap node that no rewrite takes. */
static ry_value_id softmax(bench *b, ry_value_id x)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_softmax);
    attrs.softmax.axis = -1;
    return add(b, RY_OP_softmax, &attrs, 1, &x);
}

static void plan(bench *b, ry_value_id y, size_t steps)
{
    ry_threads *threads;
    ry_device *device;
    const ry_plan *plan;
    ry_machine machine;
    ry_error error;
    ry_cpu_info cpu;
    const ry_plan_options options = {.accuracy = RY_ACCURACY_near32};
    ry_cpu_detect(&cpu);
    ry_machine_built_in(&cpu, cpu.isa, &machine);
    assert_true(ry_graph_add_output(b->graph, y));
    assert_int_equal(ry_threads_create(&ry_system_allocator, 1, NULL, NULL, &threads, &error),
                     RYND_OK);
    assert_int_equal(ry_cpu_device_create(&ry_system_allocator, threads, cpu.isa, &device, &error),
                     RYND_OK);
    device->machine = &machine;
    if (ry_plan_create(device, b->graph, &options, &plan, &error) != RYND_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(plan->step_count, steps);
    ry_plan_destroy(plan);
    device->table->destroy(device);
    ry_threads_destroy(threads);
    ry_graph_destroy(b->graph);
}

static void chain(void **state)
{
    (void)state;
    bench b = begin();
    ry_value_id y = b.x;
    for (int i = 0; i < NODES; i++) {
        y = softmax(&b, y);
    }
    plan(&b, y, NODES);
}

/* A graph of identities, which are all removed. */
static void identities(void **state)
{
    (void)state;
    bench b = begin();
    ry_value_id y = b.x;
    for (int i = 0; i < NODES; i++) {
        y = add(&b, RY_OP_identity, NULL, 1, &y);
    }
    plan(&b, softmax(&b, y), 1);
}

/* One value is read by all nodes, all their results are alive at once and go into one node; some
 * are outputs, too. */
static void fan(void **state)
{
    (void)state;
    bench b = begin();
    ry_value_id *all = calloc(NODES, sizeof *all);
    for (int i = 0; i < NODES; i++) {
        all[i] = softmax(&b, b.x);
    }
    for (int i = 0; i < NODES; i += 4) {
        assert_true(ry_graph_add_output(b.graph, all[i]));
    }
    ry_attrs attrs = ry_attrs_default(RY_OP_concat);
    attrs.concat.axis = 1;
    const ry_value_id y = add(&b, RY_OP_concat, &attrs, NODES, all);
    free(all);
    plan(&b, y, NODES + 1);
}

/* Every result is read again behind all others, the last first. */
static void long_skips(void **state)
{
    (void)state;
    enum { DEPTH = NODES / 3 };
    bench b = begin();
    ry_value_id *all = calloc(DEPTH + 1, sizeof *all);
    ry_attrs join = ry_attrs_default(RY_OP_concat), first = ry_attrs_default(RY_OP_slice);
    first.slice.starts = first.slice.axes = (ry_ints){.count = 1};
    first.slice.ends = (ry_ints){.count = 1, .at = {1}};
    all[0] = b.x;
    for (int i = 0; i < DEPTH; i++) {
        all[i + 1] = softmax(&b, all[i]);
    }
    ry_value_id y = all[DEPTH];
    for (int i = DEPTH - 1; i > 0; i--) {
        const ry_value_id in[] = {y, all[i]}, both = add(&b, RY_OP_concat, &join, 2, in);
        y = add(&b, RY_OP_slice, &first, 1, &both);
    }
    free(all);
    plan(&b, y, b.graph->node_count);
}

/* Constants that decide shapes, and fold. */
static void constants(void **state)
{
    (void)state;
    bench b = begin();
    ry_attrs attrs = ry_attrs_default(RY_OP_concat);
    attrs.concat.axis = 0;
    ry_value_id y = b.x, dims = ry_graph_add_i64s(b.graph, NULL, 1, (int64_t[]){2});
    const ry_value_id rest = ry_graph_add_i64s(b.graph, NULL, 1, (int64_t[]){6});
    for (int i = 0; i < NODES / 3; i++) {
        const ry_value_id in[] = {dims, rest}, shape = add(&b, RY_OP_concat, &attrs, 2, in);
        const ry_value_id to[] = {y, shape};
        y = softmax(&b, add(&b, RY_OP_reshape, NULL, 2, to));
        dims = ry_graph_add_i64s(b.graph, NULL, 1, (int64_t[]){2});
    }
    plan(&b, y, NODES / 3);
}

/* Convolutions with shared weights: layouts are chosen for all of them together. */
static void convolutions(void **state)
{
    (void)state;
    enum { CONVS = NODES / 4 };
    bench b = begin();
    const ry_shape shape = {.rank = 4, .dim = {2, 2, 1, 1}};
    const ry_value_id w = ry_graph_add_constant(b.graph, "w", RY_f32, &shape, NULL);
    ry_attrs pool = ry_attrs_default(RY_OP_pool);
    pool.pool.kernel = pool.pool.stride = (ry_ints){.count = 2, .at = {1, 1}};
    ry_value_id y = b.x;
    for (int i = 0; i < CONVS; i++) {
        const ry_value_id in[] = {y, w};
        y = add(&b, RY_OP_conv, NULL, 2, in);
        y = add(&b, RY_OP_pool, &pool, 1, &y);
    }
    /* a convolution reads one layout and writes the other: the ends need no conversion */
    y = add(&b, RY_OP_conv, NULL, 2, (ry_value_id[]){y, w});
    plan(&b, y, 2 * CONVS + 1);
}

/* A file of as many nodes, functions, domains, declarations and long names. */
static void file(void **state)
{
    (void)state;
    enum { FUNCTIONS = 20000 };
    const int64_t dims[] = {-1, 3};
    char in[300], out[300], name[64], path[200];
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    onnx_bytes graph = {0};
    add_input(&graph, make_value("x", 2, dims));
    snprintf(in, sizeof in, "x");
    for (int i = 0; i < NODES; i++) {
        snprintf(out, sizeof out, "%s/%d", path, i);
        snprintf(name, sizeof name, "F%d", i % FUNCTIONS);
        onnx_bytes node = make_node(i % 2 ? name : "Softmax", in, out);
        if (i % 2) {
            put_text(&node, 7, "mine");
        }
        add_node(&graph, node);
        put_message(&graph, 13, make_value(out, 2, dims));
        memcpy(in, out, sizeof in);
    }
    add_output(&graph, make_value(out, -1, NULL));
    onnx_bytes bytes = make_model(8, 17, graph);
    for (int i = 0; i < FUNCTIONS; i++) {
        onnx_bytes function = {0}, import = {0}, other = {0};
        snprintf(name, sizeof name, "F%d", i);
        put_text(&function, 1, name);
        put_text(&function, 4, "a");
        put_text(&function, 5, "b");
        put_message(&function, 7, make_node("Relu", "a", "b"));
        put_int(&import, 2, 14);
        put_message(&function, 9, import);
        put_text(&function, 10, "mine");
        put_message(&bytes, 25, function);
        snprintf(name, sizeof name, "domain%d", i);
        put_text(&other, 1, name);
        put_int(&other, 2, 1);
        put_message(&bytes, 8, other);
    }
    ry_onnx_model model;
    ry_error error;
    if (ry_onnx_load_memory(bytes.data, bytes.size, NULL, &ry_system_allocator, &model, &error) !=
        RYND_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(model.graph->node_count, NODES);
    assert_int_equal(model.graph->warning_count, 0);
    ry_onnx_free(&model);
    onnx_bytes_free(&bytes);
}

/* Each dim a symbol of its own, all of them to be bound through an expression of it. */
static void symbols(void **state)
{
    (void)state;
    bench b = begin();
    ry_shape *shapes = calloc(NODES + 1, sizeof *shapes);
    shapes[0].rank = -1;
    for (int i = 0; i < NODES; i++) {
        char text[32];
        const int length = snprintf(text, sizeof text, "%s%d", i % 2 ? "2*d" : "d", i / 2);
        const ry_shape shape = {.rank = 1, .dim = {ry_graph_symbol(b.graph, text, (size_t)length)}};
        const ry_value_id input = ry_graph_add_value(b.graph, NULL, RY_f32, &shape);
        assert_true(ry_graph_add_input(b.graph, input));
        shapes[i + 1] = i % 2 ? (ry_shape){.rank = -1} : (ry_shape){.rank = 1, .dim = {i + 1}};
    }
    ry_error error;
    if (ry_graph_bind(b.graph, shapes, NULL, 0, &error) != RYND_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(b.graph->values[b.graph->inputs[NODES]].shape.dim[0], 2 * (NODES - 1));
    free(shapes);
    ry_graph_destroy(b.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain),      cmocka_unit_test(identities), cmocka_unit_test(fan),
        cmocka_unit_test(long_skips), cmocka_unit_test(constants),  cmocka_unit_test(convolutions),
        cmocka_unit_test(file),       cmocka_unit_test(symbols),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
