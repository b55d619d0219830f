/* SPDX-License-Identifier: Apache-2.0 */
/* States: inputs that a session keeps, and that are in the next run what the last one computed.
 * They are written where they are read only by a step that may do so, and every step that reads the
 * old content reads it. The same of values that end in the step that makes others. */
#include "graph_run.h"

#include "device/cpu/cpu_device.h"
#include "exec/session.h"
#include "expr/expr.h"
#include "machine/machine.h"
#include "plan/make_plan.h"

#include <math.h>

enum { COUNT = 1003 };

typedef struct kept {
    ry_graph *graph;
    ry_threads *threads;
    ry_device *device;
    ry_machine machine;
    const ry_plan *plan;
    ry_session *session;
    ry_error error;
    float x[COUNT];
} kept;

static const ry_shape vector = {.rank = 1, .dim = {COUNT}};

static ry_value_id value(kept *k, const char *name, const ry_shape *shape)
{
    return ry_graph_add_value(k->graph, name, RY_f32, shape);
}

static void add(kept *k, const char *text, int inputs, const ry_value_id *in, int outputs,
                const ry_value_id *out)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_expr);
    assert_int_equal(ry_expr_parse(text, NULL, 0, &k->graph->arena, &attrs.expr.program, &k->error),
                     RYND_OK);
    ry_graph_add_node(k->graph, RY_OP_expr, NULL, NULL, &attrs, inputs, in, outputs, out);
}

static ry_value_id begin(kept *k)
{
    *k = (kept){0};
    assert_int_equal(ry_graph_create(&ry_system_allocator, &k->graph, &k->error), RYND_OK);
    const ry_value_id x = value(k, "x", &vector);
    assert_true(ry_graph_add_input(k->graph, x));
    for (int i = 0; i < COUNT; i++) {
        k->x[i] = (float)(i % 17 - 8) / 4;
    }
    return x;
}

static void plan(kept *k)
{
    const ry_plan_options options = {.accuracy = RY_ACCURACY_near32};
    assert_int_equal(ry_graph_verify(k->graph, &k->error), RYND_OK);
    assert_int_equal(ry_threads_create(&ry_system_allocator, 2, NULL, NULL, &k->threads, &k->error),
                     RYND_OK);
    assert_int_equal(ry_cpu_device_create(&ry_system_allocator, k->threads, RY_ISA_generic,
                                          &k->device, &k->error),
                     RYND_OK);
    ry_cpu_info cpu;
    ry_cpu_detect(&cpu);
    ry_machine_built_in(&cpu, RY_ISA_generic, &k->machine);
    k->device->machine = &k->machine;
    if (ry_plan_create(k->device, k->graph, &options, &k->plan, &k->error) != RYND_OK ||
        ry_session_create(k->plan, NULL, &k->session, &k->error) != RYND_OK) {
        fail_msg("%s", k->error.text);
    }
    const ry_tensor x = ry_tensor_row_major(RY_f32, &vector, k->x);
    assert_int_equal(ry_session_bind_input(k->session, 0, &x, &k->error), RYND_OK);
}

static void run(kept *k)
{
    if (ry_session_run(k->session, &k->error) != RYND_OK) {
        fail_msg("%s", k->error.text);
    }
}

static void end(kept *k)
{
    ry_session_destroy(k->session);
    ry_plan_destroy(k->plan);
    k->device->table->destroy(k->device);
    ry_threads_destroy(k->threads);
    ry_graph_destroy(k->graph);
}

static float output(const kept *k, size_t index, int at)
{
    ry_tensor tensor;
    ry_error error;
    assert_int_equal(ry_session_output(k->session, index, &tensor, &error), RYND_OK);
    return ((const float *)tensor.data)[at];
}

/* w' = w - (m' = m / 2 + x) / 4 in one step, as an optimizer's; y = w * 2 reads the old w, before
 * that step or behind it. */
static void moments(kept *k, bool reader_first, const float *initial)
{
    const ry_value_id x = begin(k), w = value(k, "w", &vector), m = value(k, "m", &vector),
                      next_w = value(k, "w/next", NULL), next_m = value(k, "m/next", NULL),
                      y = value(k, "y", NULL);
    assert_true(ry_graph_add_output(k->graph, y));
    assert_true(ry_graph_add_state(k->graph, w, next_w, initial));
    assert_true(ry_graph_add_state(k->graph, m, next_m, NULL));
    if (reader_first) {
        add(k, "x0 * 2", 1, &w, 1, &y);
    }
    add(k, "t = x1 * 0.5 + x2; y0 = x0 - t * 0.25; y1 = t * 1", 3, (ry_value_id[]){w, m, x}, 2,
        (ry_value_id[]){next_w, next_m});
    if (!reader_first) {
        add(k, "x0 * 2", 1, &w, 1, &y);
    }
    plan(k);
}

static void check_moments(kept *k, const float *initial)
{
    float w[COUNT], m[COUNT] = {0}, got[COUNT];
    for (int i = 0; i < COUNT; i++) {
        w[i] = initial ? initial[i] : 0;
    }
    for (int step = 0; step < 4; step++) {
        run(k);
        for (int i = 0; i < COUNT; i++) {
            assert_true(output(k, 0, i) == w[i] * 2);
            m[i] = m[i] * 0.5f + k->x[i];
            w[i] = w[i] - m[i] * 0.25f;
        }
    }
    assert_int_equal(ry_session_read_state(k->session, 0, got, &k->error), RYND_OK);
    assert_memory_equal(got, w, sizeof w);
    assert_int_equal(ry_session_read_state(k->session, 1, got, &k->error), RYND_OK);
    assert_memory_equal(got, m, sizeof m);
}

static void optimizers_write_in_place(void **state)
{
    (void)state;
    kept k;
    float initial[COUNT];
    for (int i = 0; i < COUNT; i++) {
        initial[i] = (float)i / 8;
    }
    moments(&k, true, initial);
    assert_true(k.plan->states[0].in_place);
    assert_true(k.plan->states[1].in_place);
    check_moments(&k, initial);
    end(&k);
}

static void who_reads_later_keeps_the_old(void **state)
{
    (void)state;
    kept k;
    moments(&k, false, NULL);
    assert_false(k.plan->states[0].in_place);
    assert_true(k.plan->states[1].in_place);
    check_moments(&k, NULL);
    end(&k);
}

/* A later instruction of the same program reads the old content. */
static void programs_that_look_back_are_copied(void **state)
{
    (void)state;
    kept k;
    const ry_value_id x = begin(&k), w = value(&k, "w", &vector), next = value(&k, "w/next", NULL),
                      y = value(&k, "y", NULL);
    assert_true(ry_graph_add_output(k.graph, y));
    assert_true(ry_graph_add_state(k.graph, w, next, NULL));
    add(&k, "y0 = x0 + x1; y1 = y0 * x0", 2, (ry_value_id[]){w, x}, 2, (ry_value_id[]){next, y});
    plan(&k);
    assert_false(k.plan->states[0].in_place);
    float then[COUNT] = {0};
    for (int step = 0; step < 3; step++) {
        run(&k);
        for (int i = 0; i < COUNT; i++) {
            const float now = then[i] + k.x[i];
            assert_true(output(&k, 0, i) == now * then[i]);
            then[i] = now;
        }
    }
    end(&k);
}

/* What is made of other elements than the same: a sum, and elements in another order. */
static void what_moves_elements_is_copied(void **state)
{
    (void)state;
    kept k;
    const ry_shape scalar = {.rank = 0};
    const ry_value_id x = begin(&k), total = value(&k, "total", &scalar),
                      w = value(&k, "w", &vector), next = value(&k, "w/next", NULL),
                      sum = value(&k, "total/next", NULL);
    assert_true(ry_graph_add_state(k.graph, total, sum, NULL));
    assert_true(ry_graph_add_state(k.graph, w, next, k.x));
    ry_attrs flip = ry_attrs_default(RY_OP_slice), all = ry_attrs_default(RY_OP_expr);
    flip.slice = (ry_slice_attrs){{1, {-1}}, {1, {INT64_MIN}}, {1, {0}}, {1, {-1}}};
    all.expr.keepdims = 0;
    ry_graph_add_node(k.graph, RY_OP_slice, NULL, NULL, &flip, 1, &w, 1, &next);
    assert_int_equal(
        ry_expr_parse("sum(x0 * x1 + x2)", NULL, 0, &k.graph->arena, &all.expr.program, &k.error),
        RYND_OK);
    ry_graph_add_node(k.graph, RY_OP_expr, NULL, NULL, &all, 3, (ry_value_id[]){x, w, total}, 1,
                      &sum);
    plan(&k);
    assert_false(k.plan->states[0].in_place);
    assert_false(k.plan->states[1].in_place);
    float before = 0, after = 0, got[COUNT];
    run(&k);
    assert_int_equal(ry_session_read_state(k.session, 0, &before, &k.error), RYND_OK);
    run(&k);
    assert_int_equal(ry_session_read_state(k.session, 0, &after, &k.error), RYND_OK);
    double squares = 0, crossed = 0;
    for (int i = 0; i < COUNT; i++) {
        squares += (double)k.x[i] * (double)k.x[i];
        crossed += (double)k.x[i] * (double)k.x[COUNT - 1 - i];
    }
    assert_true(fabs((double)before - squares) < 1e-3);
    assert_true(fabs((double)after - crossed - COUNT * squares) < 1);
    assert_int_equal(ry_session_read_state(k.session, 1, got, &k.error), RYND_OK);
    assert_memory_equal(got, k.x, sizeof got); /* turned around twice */
    end(&k);
}

static void states_are_read_written_and_not_bound(void **state)
{
    (void)state;
    kept k;
    float written[COUNT], got[COUNT];
    moments(&k, true, NULL);
    const ry_tensor tensor = ry_tensor_row_major(RY_f32, &vector, written);
    for (int i = 0; i < COUNT; i++) {
        written[i] = (float)-i;
    }
    assert_int_equal(ry_session_bind_input(k.session, k.plan->states[0].input, &tensor, &k.error),
                     RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(k.error.text, "'w' is a state"));
    assert_int_equal(ry_session_write_state(k.session, 0, written, &k.error), RYND_OK);
    assert_int_equal(ry_session_read_state(k.session, 0, got, &k.error), RYND_OK);
    assert_memory_equal(got, written, sizeof got);
    check_moments(&k, written);
    end(&k);
}

/* Each of two sessions has its own. */
static void sessions_share_no_state(void **state)
{
    (void)state;
    kept k;
    ry_session *other;
    float got[COUNT], zeros[COUNT] = {0};
    moments(&k, true, NULL);
    run(&k);
    assert_int_equal(ry_session_create(k.plan, NULL, &other, &k.error), RYND_OK);
    assert_int_equal(ry_session_read_state(other, 0, got, &k.error), RYND_OK);
    assert_memory_equal(got, zeros, sizeof got);
    ry_session_destroy(other);
    end(&k);
}

/* softmax, twice of it (or of it and of the other end), softmax: the middle one may be where the
 * first is, if nobody reads that again. */
static void middle(kept *k, bool read_again, const char *text)
{
    const ry_value_id x = begin(k), s = value(k, "s", &vector), t = value(k, "t", NULL),
                      u = value(k, "u", &vector), y = value(k, "y", NULL);
    const ry_attrs softmax = ry_attrs_default(RY_OP_softmax);
    assert_true(ry_graph_add_output(k->graph, y));
    ry_graph_add_node(k->graph, RY_OP_softmax, NULL, NULL, &softmax, 1, &x, 1, &s);
    add(k, text, 1, &s, 1, &t);
    ry_graph_add_node(k->graph, RY_OP_softmax, NULL, NULL, &softmax, 1, &t, 1, &u);
    add(k, read_again ? "x0 + x1" : "x0 + x0", read_again ? 2 : 1, (ry_value_id[]){u, s}, 1, &y);
    plan(k);
    run(k);
}

static void values_are_where_others_end(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool read_again, in_place;
    } cases[] = {{"x0 * 2", false, true},
                 {"max(x0, 0.001)", false, true},
                 {"select(x0 < 0.001, 0, x0)", false, true},
                 {"exp(x0)", false, false},
                 {"x0 * 2", true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kept k;
        middle(&k, cases[i].read_again, cases[i].text);
        const ry_step *step = &k.plan->steps[1];
        assert_int_equal(k.plan->step_count, 4);
        assert_int_equal(step->in[0].storage, RY_STORAGE_ARENA);
        assert_int_equal(step->out[0].storage, RY_STORAGE_ARENA);
        assert_true((step->in[0].offset == step->out[0].offset) == cases[i].in_place);
        assert_int_equal(step->activations, sizeof k.x * (cases[i].in_place ? 1 : 2));
        float largest = 0;
        for (int at = 0; at < COUNT; at++) {
            largest = fmaxf(largest, output(&k, 0, at));
        }
        assert_true(largest > 1e-4f && largest < 1);
        end(&k);
    }
}

static void mismatched_states_are_refused(void **state)
{
    (void)state;
    kept k;
    const ry_shape other = {.rank = 1, .dim = {COUNT - 1}};
    const ry_value_id x = begin(&k), w = value(&k, "w", &other), next = value(&k, "next", &vector);
    add(&k, "x0 * 2", 1, &x, 1, &next);
    assert_true(ry_graph_add_state(k.graph, w, next, NULL));
    assert_int_equal(ry_graph_verify(k.graph, &k.error), RYND_ERROR_SHAPE);
    assert_non_null(strstr(k.error.text, "state 'w' becomes 'next'"));
    ry_graph_destroy(k.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimizers_write_in_place),
        cmocka_unit_test(who_reads_later_keeps_the_old),
        cmocka_unit_test(programs_that_look_back_are_copied),
        cmocka_unit_test(what_moves_elements_is_copied),
        cmocka_unit_test(states_are_read_written_and_not_bound),
        cmocka_unit_test(sessions_share_no_state),
        cmocka_unit_test(values_are_where_others_end),
        cmocka_unit_test(mismatched_states_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
