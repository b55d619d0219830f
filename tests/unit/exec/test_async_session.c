/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that are started and waited for, and tensors that stay on the device: on every device that
 * there is, with the bits of a plain run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "onnx_bytes.h"
#include "tiny_model.h"
#include <rynd/rynd.h>

#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 2,
    INPUTS = BATCH * TINY_CHANNELS * TINY_SIDE * TINY_SIDE,
    OUTPUTS = BATCH * TINY_CLASSES,
    TABLE = 8,
    INDICES = 3
};

static const int64_t x_dims[] = {BATCH, TINY_CHANNELS, TINY_SIDE, TINY_SIDE},
                     y_dims[] = {BATCH, TINY_CLASSES};

#define OK(call) assert_int_equal((call), RYND_OK)

typedef struct setup {
    rynd_context *context;
    rynd_model *model;
    rynd_plan *plan;
    float x[INPUTS], y[OUTPUTS]; /* input and output of a synchronous run */
} setup;

static void run_plainly(const setup *s, const float *x, float *y)
{
    rynd_session *session = NULL;
    const rynd_tensor in = rynd_tensor_of((void *)(uintptr_t)x, RYND_DTYPE_F32, 4, x_dims),
                      out = rynd_tensor_of(y, RYND_DTYPE_F32, 2, y_dims);
    OK(rynd_session_create(s->plan, &session));
    OK(rynd_session_bind(session, "x", &in));
    OK(rynd_session_bind(session, "y", &out));
    OK(rynd_session_run(session));
    rynd_session_destroy(session);
}

static void close_device(setup *s)
{
    rynd_plan_destroy(s->plan);
    rynd_model_destroy(s->model);
    rynd_context_destroy(s->context);
}

static void open_device(setup *s, size_t device)
{
    static uint8_t bytes[TINY_MODEL_CAPACITY];
    char name[32];
    OK(rynd_device_get_name(device, name, sizeof name));
    const rynd_context_options options =
        RYND_SIZED(rynd_context_options, .threads = 2, .device = name);
    const rynd_plan_options plan_options = RYND_SIZED(rynd_plan_options, .batch = BATCH);
    memset(s, 0, sizeof *s);
    OK(rynd_context_create(&options, &s->context));
    OK(rynd_model_load_memory(s->context, bytes, tiny_model(bytes), &s->model));
    OK(rynd_plan_create(s->model, &plan_options, &s->plan));
    tiny_values(s->x, INPUTS, 7);
    run_plainly(s, s->x, s->y);
}

static void on_each_device(void (*test)(setup *s))
{
    for (size_t device = 0; device < rynd_device_count(); device++) {
        setup s;
        open_device(&s, device);
        test(&s);
        close_device(&s);
    }
}

static rynd_session *session_of(const setup *s)
{
    rynd_session *session = NULL;
    OK(rynd_session_create(s->plan, &session));
    return session;
}

static rynd_buffer *buffer_of(const setup *s, size_t size)
{
    rynd_buffer *buffer = NULL;
    OK(rynd_buffer_create(s->context, size, &buffer));
    assert_int_equal(rynd_buffer_size(buffer), size);
    return buffer;
}

static void host_memory(setup *s)
{
    rynd_session *session = session_of(s);
    void *memory = NULL;
    OK(rynd_host_allocate(s->context, sizeof s->x, &memory));
    assert_int_equal((uintptr_t)memory % 64, 0);
    float *x = memory, strided[OUTPUTS * 2];
    const rynd_tensor in = rynd_tensor_of(x, RYND_DTYPE_F32, 4, x_dims);
    rynd_tensor out = rynd_tensor_of(strided, RYND_DTYPE_F32, 2, y_dims);
    out.stride[0] *= 2;
    out.stride[1] *= 2;
    OK(rynd_session_bind(session, "x", &in));
    OK(rynd_session_bind(session, "y", &out));
    OK(rynd_session_wait(session)); /* for nothing */
    for (int run = 0; run < 3; run++) {
        memcpy(x, s->x, sizeof s->x);
        memset(strided, 0, sizeof strided);
        OK(rynd_session_run_async(session, NULL));
        OK(rynd_session_wait(session));
        for (int i = 0; i < OUTPUTS; i++) {
            assert_memory_equal(&strided[2 * i], &s->y[i], sizeof(float));
            assert_true(strided[2 * i + 1] == 0);
        }
    }
    rynd_session_destroy(session);
    rynd_host_free(s->context, memory);
}

/* Runs in the caller's stream, in order with other work there, and in the session's own again. */
static void callers_stream(setup *s)
{
    rynd_session *session = session_of(s);
    rynd_stream *stream = NULL;
    float y[OUTPUTS];
    const rynd_tensor in = rynd_tensor_of(s->x, RYND_DTYPE_F32, 4, x_dims),
                      out = rynd_tensor_of(y, RYND_DTYPE_F32, 2, y_dims);
    OK(rynd_session_bind(session, "x", &in));
    OK(rynd_session_bind(session, "y", &out));
    OK(rynd_stream_create(s->context, &stream));
    const rynd_run_options options = RYND_SIZED(rynd_run_options, .stream = stream);
    for (int run = 0; run < 3; run++) {
        memset(y, 0, sizeof y);
        OK(rynd_session_run_async(session, &options));
        OK(rynd_stream_synchronize(stream));
        OK(rynd_session_wait(session));
        assert_memory_equal(y, s->y, sizeof y);
    }
    OK(rynd_session_run_async(session, &options));
    OK(rynd_session_wait(session));
    rynd_stream_destroy(stream);
    memset(y, 0, sizeof y);
    OK(rynd_session_run(session));
    assert_memory_equal(y, s->y, sizeof y);
    rynd_session_destroy(session);
}

/* The output stays; the next run's input is the same memory, at an offset that is not aligned. */
static void device_memory(setup *s)
{
    rynd_session *session = session_of(s);
    enum { IN = 4, OUT = IN + (int)sizeof s->x + 8, END = OUT + (int)sizeof s->y + 4 };
    rynd_buffer *buffer = buffer_of(s, END), *same = NULL;
    float y[OUTPUTS], edge[1] = {1.5f};
    rynd_tensor got;
    OK(rynd_buffer_write(buffer, IN, s->x, sizeof s->x));
    OK(rynd_buffer_write(buffer, OUT - 4, edge, 4));
    OK(rynd_buffer_write(buffer, END - 4, edge, 4));
    OK(rynd_session_bind_buffer(session, "x", buffer, IN));
    OK(rynd_session_bind_buffer(session, "y", buffer, OUT));
    OK(rynd_session_run(session));
    OK(rynd_buffer_read(buffer, OUT, y, sizeof y));
    assert_memory_equal(y, s->y, sizeof y);
    OK(rynd_buffer_read(buffer, OUT - 4, edge, 4));
    assert_true(edge[0] == 1.5f);
    OK(rynd_buffer_read(buffer, END - 4, edge, 4));
    assert_true(edge[0] == 1.5f);
    OK(rynd_session_get_output(session, 0, &got));
    assert_null(got.data);
    assert_int_equal(got.dim[1], TINY_CLASSES);
    /* the same memory by the name that the device's own interface has for it */
    OK(rynd_buffer_import(s->context, rynd_buffer_native(buffer), END, &same));
    assert_ptr_equal(rynd_buffer_native(same), rynd_buffer_native(buffer));
    rynd_device_info info = RYND_SIZED(rynd_device_info);
    OK(rynd_context_get_info(s->context, &info));
    assert_int_equal(rynd_context_native(s->context) == NULL, !strcmp(info.device, "cpu"));
    OK(rynd_session_bind_buffer(session, "x", same, IN));
    memset(y, 0, sizeof y);
    const rynd_tensor out = rynd_tensor_of(y, RYND_DTYPE_F32, 2, y_dims);
    OK(rynd_session_bind(session, "y", &out)); /* and back to the host */
    OK(rynd_session_run(session));
    assert_memory_equal(y, s->y, sizeof y);
    rynd_session_destroy(session);
    rynd_buffer_destroy(same);
    rynd_buffer_destroy(buffer);
    rynd_buffer_destroy(NULL);
}

/* Two sessions of a plan, one behind the other by an event; the events' times. */
static void events(setup *s)
{
    rynd_session *first = session_of(s), *second = session_of(s);
    rynd_buffer *x = buffer_of(s, sizeof s->x), *y = buffer_of(s, 2 * sizeof s->y);
    rynd_event *begin = NULL, *end = NULL;
    double seconds = -1;
    int done = 0;
    float got[2][OUTPUTS];
    OK(rynd_event_create(s->context, &begin));
    OK(rynd_event_create(s->context, &end));
    OK(rynd_event_get_done(begin, &done));
    assert_int_equal(done, 1);
    OK(rynd_event_wait(begin));
    OK(rynd_buffer_write(x, 0, s->x, sizeof s->x));
    OK(rynd_session_bind_buffer(first, "x", x, 0));
    OK(rynd_session_bind_buffer(first, "y", y, 0));
    OK(rynd_session_bind_buffer(second, "x", x, 0));
    OK(rynd_session_bind_buffer(second, "y", y, sizeof s->y));
    OK(rynd_session_profile(first, 1));
    OK(rynd_session_profile(second, 1));
    const rynd_run_options one = RYND_SIZED(rynd_run_options, .record = begin);
    const rynd_event *const wait[] = {begin, end};
    const rynd_run_options other =
        RYND_SIZED(rynd_run_options, .wait = wait, .wait_count = 2, .record = end);
    for (int run = 0; run < 5; run++) {
        OK(rynd_session_run_async(first, &one));
        OK(rynd_session_run_async(second, &other));
    }
    OK(rynd_event_wait(end));
    OK(rynd_event_get_done(begin, &done));
    assert_int_equal(done, 1);
    OK(rynd_event_get_elapsed(begin, end, &seconds));
    assert_true(seconds >= 0 && seconds < 60);
    OK(rynd_session_wait(second));
    OK(rynd_session_wait(first));
    OK(rynd_buffer_read(y, 0, got, sizeof got));
    assert_memory_equal(got[0], s->y, sizeof s->y);
    assert_memory_equal(got[1], s->y, sizeof s->y);
    rynd_session_destroy(first);
    rynd_session_destroy(second);
    rynd_event_destroy(begin);
    rynd_event_destroy(end);
    rynd_event_destroy(NULL);
    rynd_buffer_destroy(x);
    rynd_buffer_destroy(y);
}

/* Destroying a running session waits for it. */
static void destroyed_early(setup *s)
{
    const rynd_tensor in = rynd_tensor_of(s->x, RYND_DTYPE_F32, 4, x_dims);
    for (int run = 0; run < 5; run++) {
        rynd_session *session = session_of(s);
        OK(rynd_session_bind(session, "x", &in));
        OK(rynd_session_run_async(session, NULL));
        rynd_session_destroy(session);
    }
}

static void step_times(setup *s)
{
    rynd_session *session = session_of(s);
    const rynd_tensor in = rynd_tensor_of(s->x, RYND_DTYPE_F32, 4, x_dims);
    double sum = 0;
    OK(rynd_session_bind(session, "x", &in));
    OK(rynd_session_profile(session, 1));
    for (int run = 0; run < 2; run++) {
        OK(rynd_session_run_async(session, NULL));
        OK(rynd_session_wait(session));
        sum = 0;
        for (size_t i = 0; i < rynd_plan_step_count(s->plan); i++) {
            assert_true(rynd_session_step_time(session, i) >= 0);
            sum += rynd_session_step_time(session, i);
        }
        assert_true(sum > 0 && sum < 60);
    }
    rynd_session_destroy(session);
}

#define REFUSED(call, words)                                 \
    do {                                                     \
        assert_int_equal((call), RYND_ERROR_ARGUMENT);       \
        assert_non_null(strstr(rynd_last_error(), (words))); \
    } while (0)

static void refusals(setup *s)
{
    setup other;
    open_device(&other, 0);
    rynd_session *session = session_of(s);
    rynd_buffer *buffer = buffer_of(s, sizeof s->x + 4), *foreign = buffer_of(&other, sizeof s->x);
    rynd_event *event = NULL, *abroad = NULL;
    char byte = 0;
    double seconds;
    OK(rynd_event_create(s->context, &event));
    OK(rynd_event_create(other.context, &abroad));
    const rynd_event *const none[] = {NULL};
    const rynd_run_options counted = RYND_SIZED(rynd_run_options, .wait_count = 1),
                           absent = RYND_SIZED(rynd_run_options, .wait = none, .wait_count = 1),
                           theirs = RYND_SIZED(rynd_run_options, .record = abroad);
    rynd_buffer *empty = NULL;
    REFUSED(rynd_buffer_create(s->context, 0, &empty), "0 bytes");
    assert_null(empty);
    REFUSED(rynd_session_bind_buffer(session, "x", buffer, 8), "'x': 1536 bytes at 8 do not fit");
    REFUSED(rynd_session_bind_buffer(session, "x", buffer, SIZE_MAX), "do not fit");
    REFUSED(rynd_session_bind_buffer(session, "x", buffer, 3), "offset 3 is no multiple of 4");
    REFUSED(rynd_session_bind_buffer(session, "x", foreign, 0), "of another context");
    assert_int_equal(rynd_session_bind_buffer(session, "z", buffer, 0), RYND_ERROR_NOT_FOUND);
    REFUSED(rynd_buffer_write(buffer, sizeof s->x + 4, &byte, 1), "do not fit");
    REFUSED(rynd_buffer_read(buffer, SIZE_MAX, &byte, 2), "do not fit");
    REFUSED(rynd_session_run_async(session, &counted), "wait is NULL, wait_count 1");
    REFUSED(rynd_session_run_async(session, &absent), "wait[0] is NULL");
    REFUSED(rynd_session_run_async(session, &theirs), "of another context");
    REFUSED(rynd_session_run_async(session, NULL), "input 'x' is not bound");
    REFUSED(rynd_event_get_elapsed(event, abroad, &seconds), "of two contexts");
    rynd_event_destroy(event);
    rynd_event_destroy(abroad);
    rynd_buffer_destroy(buffer);
    rynd_buffer_destroy(foreign);
    rynd_session_destroy(session);
    close_device(&other);
}

/* y = x[int64(i)] */
static onnx_bytes indexed_model(void)
{
    enum { TO_I64 = 7 };
    onnx_bytes graph = {0}, cast = make_node("Cast", "i", "j");
    add_int_attribute(&cast, "to", TO_I64);
    add_node(&graph, cast);
    add_node(&graph, make_node("Gather", "x,j", "y"));
    put_text(&graph, 2, "indexed");
    add_input(&graph, make_value("x", 1, (const int64_t[]){TABLE}));
    add_input(&graph, make_value("i", 1, (const int64_t[]){INDICES}));
    add_output(&graph, make_value("y", 1, (const int64_t[]){INDICES}));
    return make_model(8, 17, graph);
}

/* Content that is illegal is told by the wait; the session goes on. */
static void faults(setup *s)
{
    onnx_bytes bytes = indexed_model();
    rynd_model *model = NULL;
    rynd_plan *plan = NULL;
    rynd_session *session = NULL;
    float x[TABLE], i[INDICES] = {7, 0, -2}, y[INDICES];
    for (int k = 0; k < TABLE; k++) {
        x[k] = (float)k * 0.5f;
    }
    const int64_t table = TABLE, indices = INDICES;
    const rynd_tensor in = rynd_tensor_of(x, RYND_DTYPE_F32, 1, &table),
                      at = rynd_tensor_of(i, RYND_DTYPE_F32, 1, &indices),
                      out = rynd_tensor_of(y, RYND_DTYPE_F32, 1, &indices);
    OK(rynd_model_load_memory(s->context, bytes.data, bytes.size, &model));
    OK(rynd_plan_create(model, NULL, &plan));
    OK(rynd_session_create(plan, &session));
    OK(rynd_session_bind(session, "x", &in));
    OK(rynd_session_bind(session, "i", &at));
    OK(rynd_session_bind(session, "y", &out));
    for (int run = 0; run < 3; run++) {
        i[1] = run == 1 ? 8 : 0;
        rynd_status status = rynd_session_run_async(session, NULL);
        status = status == RYND_OK ? rynd_session_wait(session) : status;
        assert_int_equal(status, run == 1 ? RYND_ERROR_SHAPE : RYND_OK);
        if (run == 1) {
            assert_non_null(strstr(rynd_last_error(), "8"));
            assert_non_null(strstr(rynd_last_error(), "Gather"));
            continue;
        }
        assert_true(y[0] == 3.5f && y[1] == 0 && y[2] == 3);
    }
    rynd_session_destroy(session);
    rynd_plan_destroy(plan);
    rynd_model_destroy(model);
    onnx_bytes_free(&bytes);
}

/* Plans and sessions that are gone leave nothing. */
static void memory_comes_back(setup *s)
{
    enum { PLANS = 1000 };
    const rynd_plan_options options = RYND_SIZED(rynd_plan_options, .batch = BATCH);
    rynd_device_memory before = RYND_SIZED(rynd_device_memory), after = before;
    OK(rynd_context_get_memory(s->context, &before));
    for (int i = 0; i < PLANS; i++) {
        rynd_plan *plan = NULL;
        rynd_session *session = NULL;
        OK(rynd_plan_create(s->model, &options, &plan));
        OK(rynd_session_create(plan, &session));
        rynd_session_destroy(session);
        rynd_plan_destroy(plan);
    }
    OK(rynd_context_get_memory(s->context, &after));
    assert_int_equal(after.used, before.used);
    assert_true(after.peak > after.used && after.held >= after.used);
    rynd_context_trim(s->context, 0);
    OK(rynd_context_get_memory(s->context, &after));
    assert_int_equal(after.held, after.used);
}

#define EACH_DEVICE(name)                 \
    static void test_##name(void **state) \
    {                                     \
        (void)state;                      \
        on_each_device(name);             \
    }
EACH_DEVICE(host_memory)
EACH_DEVICE(callers_stream)
EACH_DEVICE(device_memory)
EACH_DEVICE(events)
EACH_DEVICE(destroyed_early)
EACH_DEVICE(step_times)
EACH_DEVICE(refusals)
EACH_DEVICE(faults)
EACH_DEVICE(memory_comes_back)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_memory),       cmocka_unit_test(test_callers_stream),
        cmocka_unit_test(test_device_memory),     cmocka_unit_test(test_events),
        cmocka_unit_test(test_destroyed_early),   cmocka_unit_test(test_step_times),
        cmocka_unit_test(test_refusals),          cmocka_unit_test(test_faults),
        cmocka_unit_test(test_memory_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
