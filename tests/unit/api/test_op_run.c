/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, and operators on device memory in streams, on every device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "each_device.h"

#include <string.h>

#define OK(call)            expect_ok((call), #call)
#define FAILS(call, status) assert_int_equal((call), (status))

static void expect_ok(rynd_status status, const char *call)
{
    if (status != RYND_OK) {
        fail_msg("%s: %s", call, rynd_last_error());
    }
}

enum { MOST = 8, ROOM = 4096 };

static rynd_op *op_of(rynd_context *context, const char *problem)
{
    rynd_op *op = NULL;
    OK(rynd_op_create(context, problem, NULL, &op));
    return op;
}

static rynd_stream *stream_of(rynd_context *context)
{
    rynd_stream *stream = NULL;
    OK(rynd_stream_create(context, &stream));
    return stream;
}

static void expect_error(const char *part)
{
    if (!strstr(rynd_last_error(), part)) {
        fail_msg("'%s' is not in '%s'", part, rynd_last_error());
    }
}

/* One stream's work reaches another's. */
static void streams_order(rynd_context *context)
{
    enum { SIDE = 64, COUNT = SIDE * SIDE };
    static float ones[COUNT], twos[COUNT];
    for (int i = 0; i < COUNT; i++) {
        ones[i] = 1;
        twos[i] = 1024;
    }
    rynd_stream *a = stream_of(context), *b = stream_of(context);
    rynd_event *event = NULL;
    OK(rynd_event_create(context, &event));
    rynd_buffer *x = buffer_with(context, ones, sizeof ones);
    rynd_op *op = op_of(context, "expr x0=64x64:f32 y0=64x64:f32 program='x0 + x0'");
    rynd_op *other = op_of(context, "expr x0=64x64:f32 y0=64x64:f32 program='x0 + x0'");
    const rynd_operand place = {.buffer = x};
    int done = 0;
    OK(rynd_stream_wait_event(a, event)); /* not recorded */
    for (int i = 0; i < 5; i++) {
        OK(rynd_op_run_async(op, &place, &place, NULL, a));
        OK(rynd_stream_record(a, event));
        OK(i % 2 ? rynd_stream_wait_event(b, event) : rynd_stream_wait_stream(b, a));
        OK(rynd_op_run_async(other, &place, &place, NULL, b));
        OK(rynd_stream_wait_stream(a, b));
    }
    OK(rynd_stream_synchronize(a));
    OK(rynd_event_get_done(event, &done));
    assert_int_equal(done, 1);
    OK(rynd_op_wait(op));
    expect_floats(x, twos, COUNT, 0);
    rynd_op_destroy(op);
    rynd_op_destroy(other);
    rynd_buffer_destroy(x);
    rynd_event_destroy(event);
    rynd_stream_destroy(a);
    rynd_stream_destroy(b);
}

/* One operator in two streams: its runs follow one another, also after a stream is gone. */
static void op_follows_itself(rynd_context *context)
{
    const float one[4] = {1, 2, 3, 4}, wanted[4] = {16, 32, 48, 64};
    rynd_stream *a = stream_of(context), *b = stream_of(context);
    rynd_buffer *x = buffer_with(context, one, sizeof one);
    rynd_op *op = op_of(context, "expr x0=4:f32 y0=4:f32 program='x0 + x0'");
    const rynd_operand place = {.buffer = x};
    OK(rynd_op_run_async(op, &place, &place, NULL, a));
    OK(rynd_op_run_async(op, &place, &place, NULL, b));
    OK(rynd_op_run_async(op, &place, &place, NULL, a));
    rynd_stream_destroy(a);
    OK(rynd_op_run_async(op, &place, &place, NULL, b));
    OK(rynd_stream_synchronize(b));
    expect_floats(x, wanted, 4, 0);
    rynd_stream_destroy(b);
    rynd_op_destroy(op);
    rynd_buffer_destroy(x);
}

static void timed_stream(rynd_context *context)
{
    rynd_stream *stream = stream_of(context);
    rynd_event *from = NULL, *to = NULL;
    double seconds = -1;
    OK(rynd_event_create(context, &from));
    OK(rynd_event_create(context, &to));
    OK(rynd_stream_profile(stream, 1));
    OK(rynd_stream_record(stream, from));
    OK(rynd_stream_record(stream, to));
    OK(rynd_event_get_elapsed(from, to, &seconds));
    assert_true(seconds >= 0);
    rynd_event_destroy(from);
    rynd_event_destroy(to);
    rynd_stream_destroy(stream);
}

/* A problem with numbers, by execute and in a stream, with offsets and the caller's workspace. */
typedef struct row {
    const char *problem;
    unsigned constants; /* bit i: input i is constant */
} row;

static const row rows[] = {
    {"conv n=1 c=4 h=9 w=9 k=8 r=3 s=3 pad=1 bias=1", 6},
    {"conv n=2 c=4 h=9 w=9 k=8 r=3 s=3 pad=1 bias=1 act=relu", 0},
    {"conv n=2 c=4 h=9 w=9 k=8 r=3 s=3 pad=1 dir=bwd_weights bias=1", 0},
    {"convt n=1 c=4 h=5 w=5 k=3 r=3 s=3 stride=2", 0},
    {"matmul x0=17x33:f32 x1=33x9:f32 y0=17x9:f32", 0},
    {"softmax x0=5x37:f32 y0=5x37:f32 axis=1", 0},
    {"pool x0=1x3x9x9:f32 y0=1x3x4x4:f32 kernel=3,3 stride=2,2", 0},
    {"expr x0=8x6:f32:1,8 x1=6:f32 y0=8x6:f32:1,8 program='max(x0 * x1, 0)'", 0},
    {"expr x0=8x6:f32 y0=8:f32 program='sum(x0 * x0)' axes=1 keepdims=0", 0},
    {"expr x0=5x4:f32 y0=5x4:f32:10,2 program='exp(x0)'", 0},
    {"einsum x0=2x5x7:f32 x1=2x7x3:f32 y0=2x5x3:f32 equation='bij,bjk->bik'", 0},
};

typedef struct operands {
    float in[MOST][ROOM], out[MOST][ROOM], got[ROOM + 4];
    rynd_operand from[MOST], to[MOST];
} operands;

static void fill(operands *m)
{
    uint32_t seed = 1;
    for (int i = 0; i < MOST; i++) {
        for (int at = 0; at < ROOM; at++) {
            seed = seed * 1664525u + 1013904223u;
            m->in[i][at] = (float)(seed >> 24) / 128 - 1;
            m->out[i][at] = 0;
        }
    }
}

static rynd_op *create_row(rynd_context *context, const row *r, operands *m)
{
    rynd_op *op = op_of(context, r->problem);
    rynd_tensor given[MOST] = {0};
    rynd_op_options options = RYND_SIZED(rynd_op_options, .inputs = given);
    for (size_t i = 0; i < rynd_op_input_count(op); i++) {
        OK(rynd_op_get_input(op, i, &given[i]));
        given[i].data = r->constants >> i & 1u ? m->in[i] : NULL;
    }
    rynd_op_destroy(op);
    OK(rynd_op_create(context, r->problem, &options, &op));
    return op;
}

/* Buffers with a float in front of the first element. */
static void take_buffers(rynd_context *context, rynd_op *op, const row *r, operands *m)
{
    float image[ROOM + 1];
    memset(m->from, 0, sizeof m->from);
    memset(m->to, 0, sizeof m->to);
    for (size_t i = 0; i < rynd_op_input_count(op); i++) {
        memcpy(image + 1, m->in[i], sizeof m->in[i]);
        if (!(r->constants >> i & 1u)) {
            m->from[i] = (rynd_operand){buffer_with(context, image, sizeof image), 4, NULL};
        }
    }
    memset(image, 0, sizeof image);
    for (size_t i = 0; i < rynd_op_output_count(op); i++) {
        m->to[i] = (rynd_operand){buffer_with(context, image, sizeof image), 4, NULL};
    }
}

static void drop_buffers(operands *m)
{
    for (int i = 0; i < MOST; i++) {
        rynd_buffer_destroy(m->from[i].buffer);
        rynd_buffer_destroy(m->to[i].buffer);
    }
}

static void run_row(rynd_context *context, const row *r, operands *m)
{
    const void *in[MOST];
    void *out[MOST];
    fill(m);
    rynd_op *op = create_row(context, r, m);
    for (int i = 0; i < MOST; i++) {
        in[i] = m->in[i];
        out[i] = m->out[i];
    }
    rynd_stream *stream = stream_of(context);
    take_buffers(context, op, r, m);
    rynd_operand workspace = {NULL, 64, NULL};
    if (rynd_op_workspace(op)) {
        OK(rynd_buffer_create(context, 64 + rynd_op_workspace(op), &workspace.buffer));
    }
    OK(rynd_op_run_async(op, m->from, m->to, &workspace, stream));
    OK(rynd_op_wait(op));
    OK(rynd_op_execute(op, in, out));
    for (int pass = 0; pass < 2; pass++) { /* the second: own workspace, after execute */
        for (size_t o = 0; o < rynd_op_output_count(op); o++) {
            if (out[o]) {
                OK(rynd_buffer_read(m->to[o].buffer, 4, m->got, sizeof m->out[o]));
                assert_memory_equal(m->got, out[o], sizeof m->out[o]);
            }
        }
        OK(rynd_op_run_async(op, m->from, m->to, NULL, stream));
        OK(rynd_stream_synchronize(stream));
    }
    rynd_buffer_destroy(workspace.buffer);
    drop_buffers(m);
    rynd_op_destroy(op);
    rynd_stream_destroy(stream);
}

static void same_bits(rynd_context *context)
{
    static operands m;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        run_row(context, &rows[i], &m);
    }
}

/* ReLU, and an optimizer's step whose learning rate is a value. */
static void in_place(rynd_context *context)
{
    const float x[4] = {-1, 2, -3, 4}, relu[4] = {0, 2, 0, 4}, g[4] = {1, 1, 2, 2};
    const float stepped[4] = {-0.75f, 1.25f, -1.5f, 2.5f};
    rynd_stream *stream = stream_of(context);
    rynd_buffer *p = buffer_with(context, x, sizeof x), *dp = buffer_with(context, g, sizeof g);
    rynd_op *op = op_of(context, "expr x0=2x2:f32 y0=2x2:f32 program='max(x0, 0)'");
    const rynd_operand place = {.buffer = p};
    assert_int_equal(rynd_op_in_place(op, 0, 0), 1);
    OK(rynd_op_run_async(op, &place, &place, NULL, stream));
    OK(rynd_op_wait(op));
    expect_floats(p, relu, 4, 0);
    rynd_op_destroy(op);

    op = op_of(context, "expr x0=2x2:f32 x1=2x2:f32 x2=scalar:f32 y0=2x2:f32 "
                        "program='x0 - x1 * x2'");
    for (float rate = 0.5f; rate > 0.2f; rate /= 2) {
        const rynd_operand in[] = {place, {.buffer = dp}, {.value = &rate}};
        OK(rynd_op_run_async(op, in, &place, NULL, stream));
    }
    OK(rynd_stream_synchronize(stream));
    expect_floats(p, stepped, 4, 0);
    rynd_op_destroy(op);
    rynd_buffer_destroy(p);
    rynd_buffer_destroy(dp);
    rynd_stream_destroy(stream);
}

static void refusals(rynd_context *context)
{
    const float x[8] = {0};
    rynd_stream *stream = stream_of(context);
    rynd_buffer *b = buffer_with(context, x, sizeof x), *c = buffer_with(context, x, sizeof x);
    rynd_op *op = op_of(context, "softmax x0=1x4:f32 y0=1x4:f32 axis=1");
    rynd_operand in = {.buffer = b}, out = {.buffer = b};
    float value = 1;
    assert_int_equal(rynd_op_in_place(op, 0, 0), 0);
    FAILS(rynd_op_run_async(op, &in, &out, NULL, stream), RYND_ERROR_ARGUMENT);
    expect_error("rynd_op_run_async: output 0: it shares memory with input 0");
    out.offset = 8; /* partly */
    FAILS(rynd_op_run_async(op, &in, &out, NULL, stream), RYND_ERROR_ARGUMENT);
    out = (rynd_operand){.buffer = c, .offset = 20};
    FAILS(rynd_op_run_async(op, &in, &out, NULL, stream), RYND_ERROR_ARGUMENT);
    expect_error("output 0: 16 bytes at 20 do not fit into a buffer of 32");
    out.offset = 2;
    FAILS(rynd_op_run_async(op, &in, &out, NULL, stream), RYND_ERROR_ARGUMENT);
    expect_error("offset 2 is no multiple of 4");
    out.offset = 0;
    in = (rynd_operand){.value = &value};
    FAILS(rynd_op_run_async(op, &in, &out, NULL, stream), RYND_ERROR_ARGUMENT);
    expect_error("input 0: a value is one element, and this input has 4");
    in = (rynd_operand){.buffer = NULL};
    FAILS(rynd_op_run_async(op, &in, &out, NULL, stream), RYND_ERROR_ARGUMENT);
    expect_error("input 0: it has neither a buffer nor a value");
    in.buffer = b; /* next to it is allowed */
    out = (rynd_operand){.buffer = b, .offset = 16};
    OK(rynd_op_run_async(op, &in, &out, NULL, stream));
    OK(rynd_op_wait(op));
    rynd_op_destroy(op);
    rynd_buffer_destroy(b);
    rynd_buffer_destroy(c);
    rynd_stream_destroy(stream);
}

static void illegal_content(rynd_context *context)
{
    const float x[4] = {1, 2, 3, 4}, wanted[2] = {4, 1};
    const int64_t bad[2] = {3, 9}, good[2] = {3, 0};
    rynd_stream *stream = stream_of(context);
    rynd_buffer *b = buffer_with(context, x, sizeof x), *i = buffer_with(context, bad, sizeof bad);
    rynd_buffer *y = buffer_with(context, x, sizeof x);
    rynd_op *op = op_of(context, "gather x0=4:f32 x1=2:i64 y0=2:f32 axis=0");
    const rynd_operand in[] = {{.buffer = b}, {.buffer = i}}, out = {.buffer = y};
    rynd_status status = rynd_op_run_async(op, in, &out, NULL, stream);
    if (status == RYND_OK) {
        OK(rynd_buffer_write(y, 0, x, sizeof x));
        status = rynd_op_wait(op);
    }
    FAILS(status, RYND_ERROR_SHAPE);
    expect_error("gather: ");
    OK(rynd_op_wait(op)); /* said once */
    OK(rynd_buffer_write(i, 0, good, sizeof good));
    OK(rynd_op_run_async(op, in, &out, NULL, stream));
    OK(rynd_op_wait(op));
    expect_floats(y, wanted, 2, 0);
    rynd_op_destroy(op);
    rynd_buffer_destroy(b);
    rynd_buffer_destroy(i);
    rynd_buffer_destroy(y);
    rynd_stream_destroy(stream);
}

/* An extent that depends on data, on devices that have the operator. */
static void result(rynd_context *context)
{
    const float x[6] = {0, 2, 0, 4, 5, 0};
    const int64_t wanted[6] = {0, 1, 1, 1, 0, 1};
    int64_t got[6];
    rynd_op *op = NULL;
    rynd_tensor tensor;
    const rynd_status made = rynd_op_create(context, "nonzero x0=2x3:f32 y0=2x6:i64", NULL, &op);
    if (rynd_context_native(context)) {
        FAILS(made, RYND_ERROR_UNSUPPORTED);
        return;
    }
    OK(made);
    FAILS(rynd_op_get_result(op, 0, &tensor), RYND_ERROR_ARGUMENT);
    rynd_stream *stream = stream_of(context);
    rynd_buffer *b = buffer_with(context, x, sizeof x), *y = NULL;
    OK(rynd_buffer_create(context, 12 * sizeof *got, &y));
    const rynd_operand in = {.buffer = b}, out = {.buffer = y};
    OK(rynd_op_run_async(op, &in, &out, NULL, stream));
    OK(rynd_op_get_result(op, 0, &tensor));
    assert_int_equal(tensor.dim[0], 2);
    assert_int_equal(tensor.dim[1], 3);
    OK(rynd_buffer_read(y, 0, got, sizeof got));
    assert_memory_equal(got, wanted, sizeof got);
    FAILS(rynd_op_get_result(op, 1, &tensor), RYND_ERROR_ARGUMENT);
    rynd_op_destroy(op);
    rynd_buffer_destroy(b);
    rynd_buffer_destroy(y);
    rynd_stream_destroy(stream);
}

static void other_context(rynd_context *context)
{
    rynd_context *cpu = NULL;
    const rynd_context_options options =
        RYND_SIZED(rynd_context_options, .threads = 1, .device = "cpu");
    OK(rynd_context_create(&options, &cpu));
    rynd_stream *here = stream_of(context), *there = stream_of(cpu);
    rynd_event *event = NULL;
    OK(rynd_event_create(cpu, &event));
    FAILS(rynd_stream_wait_stream(here, there), RYND_ERROR_ARGUMENT);
    expect_error("the stream is of another context");
    FAILS(rynd_stream_wait_event(here, event), RYND_ERROR_ARGUMENT);
    expect_error("the event is of another context");
    FAILS(rynd_stream_record(here, event), RYND_ERROR_ARGUMENT);
    rynd_op *op = op_of(context, "expr x0=2:f32 y0=2:f32 program='x0 + 1'");
    const rynd_operand none = {.buffer = NULL};
    FAILS(rynd_op_run_async(op, &none, &none, NULL, there), RYND_ERROR_ARGUMENT);
    rynd_op_destroy(op);
    rynd_event_destroy(event);
    rynd_stream_destroy(here);
    rynd_stream_destroy(there);
    rynd_context_destroy(cpu);
}

#define ON_EACH_DEVICE(test)              \
    static void each_##test(void **state) \
    {                                     \
        (void)state;                      \
        on_each_device(test);             \
    }

ON_EACH_DEVICE(streams_order)
ON_EACH_DEVICE(op_follows_itself)
ON_EACH_DEVICE(timed_stream)
ON_EACH_DEVICE(same_bits)
ON_EACH_DEVICE(in_place)
ON_EACH_DEVICE(refusals)
ON_EACH_DEVICE(illegal_content)
ON_EACH_DEVICE(result)
ON_EACH_DEVICE(other_context)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_streams_order),   cmocka_unit_test(each_op_follows_itself),
        cmocka_unit_test(each_timed_stream),    cmocka_unit_test(each_same_bits),
        cmocka_unit_test(each_in_place),        cmocka_unit_test(each_refusals),
        cmocka_unit_test(each_illegal_content), cmocka_unit_test(each_result),
        cmocka_unit_test(each_other_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
