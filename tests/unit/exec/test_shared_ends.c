/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and outputs that share a name, a value or memory, on every device that there is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "onnx_bytes.h"
#include <rynd/rynd.h>

#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, COLUMNS = 4, COUNT = ROWS * COLUMNS };
/* outputs of the model: inputs, a constant, an alias, and one value twice */
enum { OUT_Z, OUT_X, OUT_SUM, OUT_SUM_AGAIN, OUT_W, OUT_ALIAS, OUT_TURNED, OUTPUTS };
static const char *const outputs[OUTPUTS] = {"z", "x", "sum", "sum", "w", "alias", "turned"};
static const int64_t dims[] = {ROWS, COLUMNS}, turned[] = {COLUMNS, ROWS}, order[] = {1, 0};

#define OK(call) assert_int_equal((call), RYND_OK)

typedef struct setup {
    rynd_context *context;
    rynd_model *model;
    rynd_plan *plan;
    rynd_session *session;
    float x[COUNT], z[COUNT];
} setup;

static float weight(int i)
{
    return (float)(i * i % 7);
}

static onnx_bytes model_bytes(void)
{
    float w[COUNT];
    for (int i = 0; i < COUNT; i++) {
        w[i] = weight(i);
    }
    onnx_bytes graph = {0}, turn = make_node("Transpose", "x", "turned");
    add_ints_attribute(&turn, "perm", 2, order);
    add_node(&graph, make_node("Add", "x,z", "first"));
    add_node(&graph, make_node("Add", "first,w", "sum"));
    add_node(&graph, make_node("Identity", "x", "alias"));
    add_node(&graph, turn);
    add_initializer(&graph, make_floats("w", 2, dims, w));
    add_input(&graph, make_value("x", 2, dims));
    add_input(&graph, make_value("z", 2, dims));
    for (int o = 0; o < OUTPUTS; o++) {
        add_output(&graph, make_value(outputs[o], 2, o == OUT_TURNED ? turned : dims));
    }
    return make_model(8, 17, graph);
}

static float expected(const setup *s, int output, int i)
{
    switch (output) {
    case OUT_Z: return s->z[i];
    case OUT_X:
    case OUT_ALIAS: return s->x[i];
    case OUT_W: return weight(i);
    case OUT_TURNED: return s->x[i % ROWS * COLUMNS + i / ROWS];
    default: return s->x[i] + s->z[i] + weight(i);
    }
}

static rynd_tensor tensor_of(int output, float *data)
{
    return rynd_tensor_of(data, RYND_DTYPE_F32, 2, output == OUT_TURNED ? turned : dims);
}

static void check(const setup *s, int output, const float *got)
{
    for (int i = 0; i < COUNT; i++) {
        if (got[i] != expected(s, output, i)) {
            fail_msg("output %d ('%s'), element %d: %g, expected %g", output, outputs[output], i,
                     (double)got[i], (double)expected(s, output, i));
        }
    }
}

/* Checks an output in the session's own host memory. */
static void check_kept(const setup *s, int output)
{
    rynd_tensor got;
    OK(rynd_session_get_output(s->session, (size_t)output, &got));
    check(s, output, got.data);
}

static void bind_inputs(const setup *s, float *x, float *z)
{
    memcpy(x, s->x, sizeof s->x);
    memcpy(z, s->z, sizeof s->z);
    const rynd_tensor first = tensor_of(OUT_X, x), second = tensor_of(OUT_Z, z);
    OK(rynd_session_bind_input(s->session, 0, &first));
    OK(rynd_session_bind_input(s->session, 1, &second));
}

static void on_each_device(void (*test)(setup *s))
{
    onnx_bytes bytes = model_bytes();
    for (size_t device = 0; device < rynd_device_count(); device++) {
        char name[32];
        setup s = {0};
        OK(rynd_device_get_name(device, name, sizeof name));
        const rynd_context_options options = RYND_SIZED(rynd_context_options, .device = name);
        for (int i = 0; i < COUNT; i++) {
            s.x[i] = (float)(i + 1);
            s.z[i] = (float)(100 * i);
        }
        OK(rynd_context_create(&options, &s.context));
        OK(rynd_model_load_memory(s.context, bytes.data, bytes.size, &s.model));
        OK(rynd_plan_create(s.model, NULL, &s.plan));
        OK(rynd_session_create(s.plan, &s.session));
        test(&s);
        rynd_session_destroy(s.session);
        rynd_plan_destroy(s.plan);
        rynd_model_destroy(s.model);
        rynd_context_destroy(s.context);
    }
    onnx_bytes_free(&bytes);
}

static void outputs_of_every_kind(setup *s)
{
    float x[COUNT], z[COUNT], got[OUTPUTS][COUNT];
    bind_inputs(s, x, z);
    OK(rynd_session_run(s->session));
    for (int o = 0; o < OUTPUTS; o++) {
        check_kept(s, o);
    }
    for (int o = 0; o < OUTPUTS; o++) {
        const rynd_tensor out = tensor_of(o, memset(got[o], 0xff, sizeof got[o]));
        OK(rynd_session_bind_output(s->session, (size_t)o, &out));
    }
    OK(rynd_session_run_async(s->session, NULL));
    OK(rynd_session_wait(s->session));
    for (int o = 0; o < OUTPUTS; o++) {
        check(s, o, got[o]);
    }
    assert_memory_equal(x, s->x, sizeof x);
    assert_memory_equal(z, s->z, sizeof z);
}

/* A name of both roles is the input's. */
static void names(setup *s)
{
    float x[COUNT], z[COUNT], sum[COUNT];
    bind_inputs(s, x, z);
    const rynd_tensor given = tensor_of(OUT_X, s->x), out = tensor_of(OUT_SUM, sum);
    memset(x, 0, sizeof x);
    OK(rynd_session_bind(s->session, "x", &given));
    OK(rynd_session_bind(s->session, "sum", &out));
    OK(rynd_session_run(s->session));
    check(s, OUT_SUM, sum);
    assert_int_equal(rynd_session_bind_input(s->session, 2, &given), RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(rynd_last_error(), "input 2: the model has 2"));
    assert_int_equal(rynd_session_bind_output(s->session, OUTPUTS, &out), RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(rynd_last_error(), "output 7: the model has 7"));
}

/* An output over an input's memory, and inputs as outputs over each other. */
static void over_inputs(setup *s)
{
    float x[COUNT], z[COUNT], elsewhere[COUNT];
    const rynd_tensor over_x = tensor_of(OUT_SUM, x), over_z = tensor_of(OUT_X, z),
                      apart = tensor_of(OUT_SUM, elsewhere), z_over_x = tensor_of(OUT_Z, x);
    bind_inputs(s, x, z);
    OK(rynd_session_bind_output(s->session, OUT_SUM, &over_x));
    OK(rynd_session_run(s->session));
    check(s, OUT_SUM, x);
    for (int o = 0; o < OUTPUTS; o++) {
        check_kept(s, o);
    }
    OK(rynd_session_bind_output(s->session, OUT_SUM, &apart)); /* and back */
    OK(rynd_session_bind_output(s->session, OUT_X, &over_z));
    OK(rynd_session_bind_output(s->session, OUT_Z, &z_over_x));
    bind_inputs(s, x, z);
    OK(rynd_session_run_async(s->session, NULL));
    OK(rynd_session_wait(s->session));
    check(s, OUT_X, z);
    check(s, OUT_Z, x);
    check(s, OUT_SUM, elsewhere);
}

/* Each run reads the previous run's output: the memory changes roles. */
static void roles_that_change(setup *s)
{
    float memory[2][COUNT];
    bind_inputs(s, memory[0], memory[1]);
    for (int run = 0; run < 4; run++) {
        const rynd_tensor in = tensor_of(OUT_X, memory[run % 2]),
                          out = tensor_of(OUT_SUM, memory[(run + 1) % 2]),
                          z = tensor_of(OUT_Z, s->z);
        memcpy(s->x, memory[run % 2], sizeof s->x);
        OK(rynd_session_bind_input(s->session, 0, &in));
        OK(rynd_session_bind_input(s->session, 1, &z));
        OK(rynd_session_bind_output(s->session, OUT_SUM, &out));
        OK(rynd_session_run(s->session));
        check(s, OUT_SUM, memory[(run + 1) % 2]);
    }
}

/* The same in memory of the device, part of which both have. */
static void buffers(setup *s)
{
    const size_t size = sizeof s->x, gap = size / 2;
    float got[COUNT];
    rynd_buffer *buffer = NULL;
    OK(rynd_buffer_create(s->context, 3 * size, &buffer));
    for (int run = 0; run < 3; run++) { /* apart, over a half, over the whole */
        const size_t sum = run == 0 ? 2 * size : run == 1 ? gap : 0;
        OK(rynd_buffer_write(buffer, 0, s->x, size));
        OK(rynd_buffer_write(buffer, size, s->z, size));
        OK(rynd_session_bind_input_buffer(s->session, 0, buffer, 0));
        OK(rynd_session_bind_input_buffer(s->session, 1, buffer, size));
        OK(rynd_session_bind_output_buffer(s->session, OUT_SUM, buffer, sum));
        OK(rynd_session_run(s->session));
        OK(rynd_buffer_read(buffer, sum, got, size));
        check(s, OUT_SUM, got);
        check_kept(s, OUT_X);
        check_kept(s, OUT_TURNED);
    }
    assert_int_equal(rynd_session_bind_input_buffer(s->session, 2, buffer, 0), RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_session_bind_output_buffer(s->session, OUTPUTS, buffer, 0),
                     RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_session_bind_output_buffer(s->session, OUT_SUM, buffer, 2 * size + 4),
                     RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(rynd_last_error(), "output 'sum'"));
    rynd_session_destroy(s->session); /* before its memory */
    s->session = NULL;
    rynd_buffer_destroy(buffer);
}

static void test_outputs_of_every_kind(void **state)
{
    (void)state;
    on_each_device(outputs_of_every_kind);
}

static void test_names(void **state)
{
    (void)state;
    on_each_device(names);
}

static void test_over_inputs(void **state)
{
    (void)state;
    on_each_device(over_inputs);
}

static void test_roles_that_change(void **state)
{
    (void)state;
    on_each_device(roles_that_change);
}

static void test_buffers(void **state)
{
    (void)state;
    on_each_device(buffers);
}

/* An output whose shape depends on data has no memory to bind. */
static void outputs_that_come_later(void **state)
{
    (void)state;
    rynd_context *context = NULL;
    rynd_model *model = NULL;
    rynd_plan *plan = NULL;
    rynd_session *session = NULL;
    rynd_buffer *buffer = NULL;
    float x[COUNT] = {1, 0, 2};
    onnx_bytes graph = {0};
    add_node(&graph, make_node("NonZero", "x", "places"));
    add_node(&graph, make_node("Shape", "places", "shape"));
    add_node(&graph, make_node("Expand", "s,shape", "y"));
    add_input(&graph, make_value("x", 2, dims));
    add_input(&graph, make_value("s", 2, (int64_t[]){1, 1}));
    add_output(&graph, make_value("s", 2, (int64_t[]){1, 1}));
    add_output(&graph, make_value("y", -1, NULL));
    add_output(&graph, make_value("x", 2, dims));
    onnx_bytes bytes = make_model(8, 17, graph);
    OK(rynd_context_create(NULL, &context));
    OK(rynd_model_load_memory(context, bytes.data, bytes.size, &model));
    OK(rynd_plan_create(model, NULL, &plan));
    OK(rynd_session_create(plan, &session));
    OK(rynd_buffer_create(context, 64, &buffer));
    assert_int_equal(rynd_session_bind_buffer(session, "y", buffer, 0), RYND_ERROR_UNSUPPORTED);
    float s[1] = {5}, got[COUNT];
    const rynd_tensor first = tensor_of(OUT_X, x), out = tensor_of(OUT_X, got),
                      second = rynd_tensor_of(s, RYND_DTYPE_F32, 2, (int64_t[]){1, 1});
    OK(rynd_session_bind_input(session, 0, &first));
    OK(rynd_session_bind_input(session, 1, &second));
    OK(rynd_session_bind_output(session, 2, &out));
    OK(rynd_session_run(session));
    rynd_tensor y;
    OK(rynd_session_get_output(session, 1, &y));
    assert_int_equal(y.dim[0], 2);
    assert_int_equal(y.dim[1], 2);
    for (int i = 0; i < 4; i++) {
        assert_true(((float *)y.data)[i] == 5);
    }
    assert_memory_equal(got, x, sizeof x);
    rynd_session_destroy(session);
    rynd_buffer_destroy(buffer);
    rynd_plan_destroy(plan);
    rynd_model_destroy(model);
    rynd_context_destroy(context);
    onnx_bytes_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outputs_of_every_kind),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_over_inputs),
        cmocka_unit_test(test_roles_that_change),
        cmocka_unit_test(test_buffers),
        cmocka_unit_test(outputs_that_come_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
