/* SPDX-License-Identifier: Apache-2.0 */
/* What the content of inputs may do. An index outside its axis is an error that names node, value
 * and bounds wherever a kernel runs: an operator, constant folding, a session on any number of
 * threads, the part of a plan that waits for data; afterwards good data gives right results. And
 * content that decides a shape is read in every run of a session. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/cpu/cpu_device.h"
#include "exec/session.h"
#include "machine/machine.h"
#include "plan/make_plan.h"
#include <rynd/rynd.h>

#include <stdlib.h>
#include <string.h>

/* An operator whose inputs are zeros but for one number. */
typedef struct content {
    const char *problem;
    int input;
    size_t position;
    int64_t value;
    const char *message; /* NULL: legal */
} content;

#define GATHER   "gather x0=5x3:f32 x1=2x4:i64 y0=2x4x3:f32"
#define GATHER_1 "gather x0=5x3:f32 x1=2:i32 y0=5x2:f32 axis=1"
#define ELEMENTS "gather_elements x0=5x3:f32 x1=2x3:i64 y0=2x3:f32 axis=0"
#define TUPLES   "gather_nd x0=2x5x3:f32 x1=2x4x2:i64 y0=2x4:f32 batch_dims=1"
#define SCATTER  "scatter_elements x0=5x3:f32 x1=5x2:i64 x2=5x2:f32 y0=5x3:f32 axis=1"
#define SUMS     SCATTER " reduction=add"
#define SLICES   "scatter_nd x0=5x3:f32 x1=4x1:i64 x2=4x3:f32 y0=5x3:f32"
#define UNPOOL   "max_unpool x0=1x2x2x2:f32 x1=1x2x2x2:i64 y0=1x2x4x4:f32 kernel=2,2 stride=2,2"
#define ALIGN \
    "roi_align x0=3x2x4x4:f32 x1=5x4:f32 x2=5:i64 y0=5x2x2x2:f32 output_height=2 output_width=2"
#define REVERSE "reverse_sequence x0=3x4:f32 x1=3:i64 y0=3x4:f32 batch_axis=0 time_axis=1"

static const content contents[] = {
    {GATHER, 1, 6, 4, NULL},
    {GATHER, 1, 6, -5, NULL},
    {GATHER, 1, 6, 5, "gather: input 1, at [1, 2], is 5, expected -5 to 4 (axis 0 of input 0)"},
    {GATHER, 1, 0, -6, "input 1, at [0, 0], is -6, expected -5 to 4 (axis 0 of input 0)"},
    {GATHER, 1, 7, INT64_MAX, "at [1, 3], is 9223372036854775807,"},
    {GATHER, 1, 7, INT64_MIN, "at [1, 3], is -9223372036854775808,"},
    {GATHER_1, 1, 1, -3, NULL},
    {GATHER_1, 1, 1, 3, "gather: input 1, at [1], is 3, expected -3 to 2 (axis 1 of input 0)"},
    {"gather x0=5:f32 x1=scalar:i64 y0=scalar:f32", 1, 0, 5,
     "gather: input 1, is 5, expected -5 to 4 (axis 0 of input 0)"},
    {"gather x0=5:f32 x1=2:u64 y0=2:f32", 1, 1, -1,
     "input 1, at [1], is 18446744073709551615, expected"},
    {ELEMENTS, 1, 5, -5, NULL},
    {ELEMENTS, 1, 5, 5,
     "gather_elements: input 1, at [1, 2], is 5, expected -5 to 4 (axis 0 of input 0)"},
    {TUPLES, 1, 15, 2, NULL},
    {TUPLES, 1, 14, 5,
     "gather_nd: input 1, at [1, 3, 0], is 5, expected -5 to 4 (axis 1 of input 0)"},
    {TUPLES, 1, 15, 3,
     "gather_nd: input 1, at [1, 3, 1], is 3, expected -3 to 2 (axis 2 of input 0)"},
    {SCATTER, 1, 3, -3, NULL},
    {SCATTER, 1, 3, -4,
     "scatter_elements: input 1, at [1, 1], is -4, expected -3 to 2 (axis 1 of input 0)"},
    {SUMS, 1, 9, 3,
     "scatter_elements: input 1, at [4, 1], is 3, expected -3 to 2 (axis 1 of input 0)"},
    {SLICES, 1, 3, 4, NULL},
    {SLICES, 1, 3, 5, "scatter_nd: input 1, at [3, 0], is 5, expected -5 to 4 (axis 0 of input 0)"},
    {UNPOOL, 1, 6, 31, NULL},
    {UNPOOL, 1, 6, 32, "max_unpool: input 1, at [0, 1, 1, 0], is 32, expected 0 to 31"},
    {UNPOOL, 1, 0, -1, "max_unpool: input 1, at [0, 0, 0, 0], is -1, expected 0 to 31"},
    {ALIGN, 2, 4, 2, NULL},
    {ALIGN, 2, 4, 3, "roi_align: input 2, at [4], is 3, expected 0 to 2 (axis 0 of input 0)"},
    {ALIGN, 2, 1, -1, "roi_align: input 2, at [1], is -1, expected 0 to 2 (axis 0 of input 0)"},
    {REVERSE, 1, 2, 4, NULL},
    {REVERSE, 1, 2, 5,
     "reverse_sequence: input 1, at [2], is 5, expected 0 to 4 (axis 1 of input 0)"},
    {REVERSE, 1, 0, -1,
     "reverse_sequence: input 1, at [0], is -1, expected 0 to 4 (axis 1 of input 0)"},
};

static rynd_status execute(rynd_op *op, const content *c)
{
    enum { OPERANDS = 4 };
    void *in[OPERANDS] = {0}, *out[1];
    rynd_tensor t;
    for (size_t i = 0; i < rynd_op_input_count(op); i++) {
        assert_int_equal(rynd_op_get_input(op, i, &t), RYND_OK);
        in[i] = calloc(ry_tensor_bytes(&t), 1);
        assert_non_null(in[i]);
        if ((int)i == c->input) {
            ry_set_i64((ry_dtype)t.dtype, in[i], (int64_t)c->position, c->value);
        }
    }
    assert_int_equal(rynd_op_get_output(op, 0, &t), RYND_OK);
    out[0] = malloc(ry_tensor_bytes(&t));
    assert_non_null(out[0]);
    rynd_status status = rynd_op_execute(op, (const void *const *)in, out);
    for (int i = 0; i < OPERANDS; i++) {
        free(in[i]);
    }
    free(out[0]);
    return status;
}

static void content_of_every_operator(void **state)
{
    (void)state;
    rynd_context *context = NULL;
    assert_int_equal(rynd_context_create(NULL, &context), RYND_OK);
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        const content *c = &contents[i];
        rynd_op *op = NULL;
        if (rynd_op_create(context, c->problem, NULL, &op) != RYND_OK) {
            fail_msg("%s: %s", c->problem, rynd_last_error());
        }
        const rynd_status status = execute(op, c);
        if (status != (c->message ? RYND_ERROR_SHAPE : RYND_OK) ||
            (c->message && !strstr(rynd_last_error(), c->message))) {
            fail_msg("%s with %lld: status %d, %s", c->problem, (long long)c->value, (int)status,
                     rynd_last_error());
        }
        assert_int_equal(execute(op, &(content){.input = -1}), RYND_OK);
        rynd_op_destroy(op);
    }
    rynd_context_destroy(context);
}

/* A graph, its plan and a session. */
typedef struct net {
    ry_error error;
    ry_threads *threads;
    ry_device *device;
    ry_machine machine;
    ry_graph *graph;
    const ry_plan *plan;
    ry_session *session;
} net;

static void net_begin(net *n, unsigned threads)
{
    ry_cpu_info cpu;
    *n = (net){.error = {""}};
    ry_cpu_detect(&cpu);
    ry_machine_built_in(&cpu, cpu.isa, &n->machine);
    assert_int_equal(
        ry_threads_create(&ry_system_allocator, threads, NULL, NULL, &n->threads, &n->error),
        RYND_OK);
    assert_int_equal(
        ry_cpu_device_create(&ry_system_allocator, n->threads, cpu.isa, &n->device, &n->error),
        RYND_OK);
    n->device->machine = &n->machine;
    assert_int_equal(ry_graph_create(&ry_system_allocator, &n->graph, &n->error), RYND_OK);
}

static void net_end(net *n)
{
    ry_session_destroy(n->session);
    ry_plan_destroy(n->plan);
    ry_graph_destroy(n->graph);
    n->device->table->destroy(n->device);
    ry_threads_destroy(n->threads);
}

static ry_value_id net_input(net *n, const char *name, ry_dtype dtype, ry_shape shape)
{
    const ry_value_id v = ry_graph_add_value(n->graph, name, dtype, &shape);
    assert_true(ry_graph_add_input(n->graph, v));
    return v;
}

static ry_value_id net_node(net *n, ry_op op, const char *name, int inputs, const ry_value_id *in)
{
    const ry_shape unknown = {.rank = -1};
    const ry_attrs attrs = ry_attrs_default(op);
    const ry_value_id out = ry_graph_add_value(n->graph, NULL, RY_NONE, &unknown);
    ry_graph_add_node(n->graph, op, name, "Test", &attrs, inputs, in, 1, &out);
    return out;
}

static rynd_status net_plan(net *n, ry_value_id output)
{
    const ry_plan_options options = {.accuracy = RY_ACCURACY_strict};
    assert_true(ry_graph_add_output(n->graph, output));
    const rynd_status status = ry_plan_create(n->device, n->graph, &options, &n->plan, &n->error);
    return status == RYND_OK ? ry_session_create(n->plan, NULL, &n->session, &n->error) : status;
}

static void net_bind(net *n, size_t input, const void *data)
{
    ry_tensor t = n->plan->inputs[input];
    t.data = (void *)(uintptr_t)data;
    assert_int_equal(ry_session_bind_input(n->session, input, &t, &n->error), RYND_OK);
}

static ry_tensor net_run(net *n)
{
    ry_tensor y = {0};
    if (ry_session_run(n->session, &n->error) != RYND_OK) {
        fail_msg("%s", n->error.text);
    }
    assert_int_equal(ry_session_output(n->session, 0, &y, &n->error), RYND_OK);
    return y;
}

#define VECTOR(length) ((ry_shape){.rank = 1, .dim = {length}})

/* Many indices are wrong: the first is told of, whoever finds which first. */
static void sessions_on_any_number_of_threads(void **state)
{
    (void)state;
    enum { COUNT = 1 << 18, FIRST = 70001, EXTENT = 1000 };
    float *x = malloc(EXTENT * sizeof *x);
    int64_t *good = malloc(COUNT * sizeof *good), *bad = malloc(COUNT * sizeof *bad);
    assert_true(x && good && bad);
    for (int64_t i = 0; i < COUNT; i++) {
        good[i] = i * 7919 % EXTENT - (i % 2 ? EXTENT : 0);
        bad[i] = i >= FIRST && i % 3 == FIRST % 3 ? EXTENT + i : good[i];
    }
    for (int i = 0; i < EXTENT; i++) {
        x[i] = (float)i;
    }
    for (unsigned threads = 1; threads <= 8; threads *= 2) {
        net n;
        net_begin(&n, threads);
        ry_value_id in[2];
        in[0] = net_input(&n, "x", RY_f32, VECTOR(EXTENT));
        in[1] = net_input(&n, "i", RY_i64, VECTOR(COUNT));
        assert_int_equal(net_plan(&n, net_node(&n, RY_OP_gather, "the_gather", 2, in)), RYND_OK);
        net_bind(&n, 0, x);
        for (int round = 0; round < 20; round++) {
            net_bind(&n, 1, bad);
            assert_int_equal(ry_session_run(n.session, &n.error), RYND_ERROR_SHAPE);
            assert_string_equal(n.error.text, "node 'the_gather' (Test): input 1, at [70001], is "
                                              "71001, expected -1000 to 999 (axis 0 of input 0)");
        }
        net_bind(&n, 1, good);
        const float *y = net_run(&n).data;
        for (int64_t i = 0; i < COUNT; i++) {
            assert_true(y[i] == (float)(i * 7919 % EXTENT));
        }
        net_end(&n);
    }
    free(x);
    free(good);
    free(bad);
}

static void constants_are_checked_when_planned(void **state)
{
    (void)state;
    for (int64_t index = 2; index <= 3; index++) {
        net n;
        net_begin(&n, 1);
        const ry_value_id in[] = {ry_graph_add_i64s(n.graph, "x", 3, (int64_t[]){4, 5, 6}),
                                  ry_graph_add_i64s(n.graph, "i", 2, (int64_t[]){0, index})};
        const rynd_status status = net_plan(&n, net_node(&n, RY_OP_gather, "the_gather", 2, in));
        assert_int_equal(status, index < 3 ? RYND_OK : RYND_ERROR_SHAPE);
        if (index == 3) {
            assert_string_equal(n.error.text, "node 'the_gather' (Test): input 1, at [1], is 3, "
                                              "expected -3 to 2 (axis 0 of input 0)");
        } else {
            assert_int_equal(((const int64_t *)net_run(&n).data)[1], 6);
        }
        net_end(&n);
    }
}

/* y = x[positions of the mask's ones]: how many there are only a run knows. */
static void what_waits_for_data(void **state)
{
    (void)state;
    enum { MASK = 100, EXTENT = 90 };
    /* the first so many; more than what a shape's numbers may be, and fewer */
    static const int ones[] = {3, 60, 60, 75, 0, MASK, 60};
    float x[EXTENT];
    bool mask[MASK];
    net n;
    net_begin(&n, 2);
    const ry_value_id m = net_input(&n, "mask", RY_bool, VECTOR(MASK));
    const ry_value_id in[] = {net_input(&n, "x", RY_f32, VECTOR(EXTENT)),
                              net_node(&n, RY_OP_nonzero, "where", 1, &m)};
    assert_int_equal(net_plan(&n, net_node(&n, RY_OP_gather, "the_gather", 2, in)), RYND_OK);
    for (size_t run = 0; run < sizeof ones / sizeof *ones; run++) {
        for (int i = 0; i < MASK; i++) {
            mask[i] = i < ones[run];
        }
        for (int i = 0; i < EXTENT; i++) {
            x[i] = (float)(i * ((int)run + 1));
        }
        net_bind(&n, 0, mask);
        net_bind(&n, 1, x);
        if (ones[run] > EXTENT) {
            assert_int_equal(ry_session_run(n.session, &n.error), RYND_ERROR_SHAPE);
            assert_string_equal(n.error.text, "node 'the_gather' (Test): input 1, at [0, 90], is "
                                              "90, expected -90 to 89 (axis 0 of input 0)");
            continue;
        }
        const ry_tensor y = net_run(&n);
        assert_int_equal(y.dim[1], ones[run]);
        assert_memory_equal(y.data, x, (size_t)ones[run] * sizeof *x);
    }
    net_end(&n);
}

/* y = x[start:end]: the same shape from another place, and another shape. */
static void content_that_decides_a_shape(void **state)
{
    (void)state;
    static const int64_t ends[][2] = {{0, 3}, {2, 5}, {2, 5}, {1, 6}, {0, 0}, {0, 3}};
    static const float x[] = {10, 11, 12, 13, 14, 15};
    net n;
    net_begin(&n, 1);
    ry_value_id in[3];
    in[0] = net_input(&n, "x", RY_f32, VECTOR(6));
    in[1] = net_input(&n, "start", RY_i64, VECTOR(1));
    in[2] = net_input(&n, "end", RY_i64, VECTOR(1));
    assert_int_equal(net_plan(&n, net_node(&n, RY_OP_slice, "the_slice", 3, in)), RYND_OK);
    net_bind(&n, 0, x);
    for (size_t run = 0; run < sizeof ends / sizeof *ends; run++) {
        net_bind(&n, 1, &ends[run][0]);
        net_bind(&n, 2, &ends[run][1]);
        const ry_tensor y = net_run(&n);
        assert_int_equal(y.dim[0], ends[run][1] - ends[run][0]);
        assert_memory_equal(y.data, x + ends[run][0], (size_t)y.dim[0] * sizeof *x);
    }
    net_end(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_of_every_operator),
        cmocka_unit_test(sessions_on_any_number_of_threads),
        cmocka_unit_test(constants_are_checked_when_planned),
        cmocka_unit_test(what_waits_for_data),
        cmocka_unit_test(content_that_decides_a_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
