/* SPDX-License-Identifier: Apache-2.0 */
/* Transposes that leave every element where it is run no kernel, at any place of a network, and
 * change no result. */
#include "small_net.h"

#include "device/cpu/cpu_device.h"
#include "exec/session.h"
#include "plan/make_plan.h"

static ry_value_id transpose(small_net *n, ry_value_id x, int rank, const int *perm)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_transpose);
    attrs.transpose.perm.count = rank;
    for (int i = 0; i < rank; i++) {
        attrs.transpose.perm.at[i] = perm[i];
    }
    return small_net_node(n, RY_OP_transpose, &attrs, 1, &x);
}

static const int to_last[] = {0, 2, 3, 1}, to_first[] = {0, 3, 1, 2};

/* Plans and runs the graph, compares each output with the graph node by node; returns how many
 * steps are transposes or copies. */
static int check(small_net *n)
{
    ry_graph *graph = n->builder.graph;
    const ry_tensor input = ry_graph_tensor(graph, graph->inputs[0]);
    float *x = malloc(ry_tensor_bytes(&input));
    assert_non_null(x);
    for (int64_t i = 0; i < ry_tensor_count(&input); i++) {
        x[i] = (float)(rand() % 2001 - 1000) / 500.0f;
    }
    void *inputs[] = {x};
    graph_run_result expected = graph_run(graph, inputs);
    ry_threads *threads;
    ry_device *device;
    const ry_plan *plan;
    ry_session *session;
    ry_isa isa;
    const ry_plan_options options = {.accuracy = RY_ACCURACY_near32};
    assert_true(ry_isa_parse(n->machine.isa, &isa));
    assert_int_equal(ry_threads_create(&ry_system_allocator, 2, NULL, NULL, &threads, &n->error),
                     RYND_OK);
    assert_int_equal(ry_cpu_device_create(&ry_system_allocator, threads, isa, &device, &n->error),
                     RYND_OK);
    device->machine = &n->machine;
    assert_int_equal(ry_plan_create(device, graph, &options, &plan, &n->error), RYND_OK);
    assert_int_equal(ry_session_create(plan, NULL, &session, &n->error), RYND_OK);
    ry_tensor bound = plan->inputs[0];
    bound.data = x;
    assert_int_equal(ry_session_bind_input(session, 0, &bound, &n->error), RYND_OK);
    assert_int_equal(ry_session_run(session, &n->error), RYND_OK);
    for (size_t o = 0; o < plan->output_count; o++) {
        ry_tensor y;
        assert_int_equal(ry_session_output(session, o, &y, &n->error), RYND_OK);
        const float *is = y.data, *should = expected.data[graph->outputs[o]];
        for (int64_t i = 0; i < ry_tensor_count(&y); i++) {
            assert_true(fabsf(is[i] - should[i]) <= 1e-4f * (1 + fabsf(should[i])));
        }
    }
    int moves = 0;
    for (size_t s = 0; s < plan->step_count; s++) {
        moves +=
            plan->steps[s].problem.op == RY_OP_transpose || plan->steps[s].problem.op == RY_OP_copy;
    }
    ry_session_destroy(session);
    ry_plan_destroy(plan);
    device->table->destroy(device);
    ry_threads_destroy(threads);
    graph_run_free(&expected);
    free(x);
    return moves;
}

/* A block as ConvNeXt has it: a convolution of images, then a node on [N, H, W, C], then back. */
static void blocks_of_pixels(void **state)
{
    (void)state;
    for (int64_t batch = 1; batch <= 4; batch += 3) {
        small_net n;
        small_net_begin(&n, 1e11);
        n.batch = batch;
        n.machine.level[RYND_LEVEL_DRAM].bandwidth.all = 1e6;
        n.machine.level[RYND_LEVEL_L2] =
            (rynd_memory_level){.bytes = 16 * CHANNELS * SIDE * SIDE, .shared_by = n.machine.cores};
        n.machine.level[RYND_LEVEL_L3].bytes = 0;
        ry_attrs softmax = ry_attrs_default(RY_OP_softmax);
        ry_value_id v = small_net_input(&n);
        for (int i = 0; i < 3; i++) {
            v = transpose(&n, small_net_convolve(&n, v, 1, 1), 4, to_last);
            v = transpose(&n, small_net_node(&n, RY_OP_softmax, &softmax, 1, &v), 4, to_first);
            v = small_net_convolve(&n, small_net_pool(&n, v), 1, 1);
        }
        assert_true(ry_graph_add_output(n.builder.graph, v));
        assert_true(check(&n) <= 1); /* the output is row-major: one copy, or the last transpose */
        small_net_end(&n);
    }
}

/* The input itself under another description, and outputs that share memory. */
static void ends_of_a_network(void **state)
{
    (void)state;
    small_net n;
    small_net_begin(&n, 1e11);
    const ry_shape shape = ry_shape_of(4, (int64_t[]){1, SIDE, SIDE, CHANNELS});
    const ry_value_id x = ry_graph_add_value(n.builder.graph, NULL, RY_f32, &shape);
    assert_true(ry_graph_add_input(n.builder.graph, x));
    const ry_value_id image = transpose(&n, x, 4, to_first), pooled = small_net_pool(&n, image);
    const ry_value_id pixels = transpose(&n, pooled, 4, to_last),
                      again = transpose(&n, pixels, 4, (int[]){1, 0, 2, 3});
    assert_true(ry_graph_add_output(n.builder.graph, pixels) &&
                ry_graph_add_output(n.builder.graph, again) &&
                ry_graph_add_output(n.builder.graph, transpose(&n, x, 4, (int[]){1, 2, 0, 3})));
    assert_int_equal(check(&n), 0);
    small_net_end(&n);
}

/* What moves elements stays a step. */
static void transposes_that_move(void **state)
{
    (void)state;
    small_net n;
    small_net_begin(&n, 1e11);
    const ry_value_id x = small_net_input(&n), y = transpose(&n, x, 4, to_last),
                      z = transpose(&n, x, 4, (int[]){0, 1, 3, 2});
    assert_true(ry_graph_add_output(n.builder.graph, y) && ry_graph_add_output(n.builder.graph, z));
    assert_int_equal(check(&n), 2);
    small_net_end(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_of_pixels),
                                       cmocka_unit_test(ends_of_a_network),
                                       cmocka_unit_test(transposes_that_move)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
