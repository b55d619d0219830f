/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of eager frameworks on every device, beside the float64 references: gradients of
 * softmax and normalisations, adaptive pools, dropout with a mask, random fills. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "each_device.h"
#include "eager_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) expect_ok((call), #call)

static void expect_ok(rynd_status status, const char *call)
{
    if (status != RYND_OK) {
        fail_msg("%s: %s", call, rynd_last_error());
    }
}

enum { MOST = 8, ROOM = 1 << 13, GUARD = 64, GUARD_BYTE = 0xa5 };

static rynd_context *host;

static rynd_op *op_of(rynd_context *context, const char *problem, const char *kernel)
{
    rynd_op *op = NULL;
    const rynd_op_options options = RYND_SIZED(rynd_op_options, .kernel = kernel);
    const rynd_status status = rynd_op_create(context, problem, &options, &op);
    if (status != RYND_OK) {
        fail_msg("%s: %s", problem, rynd_last_error());
    }
    return op;
}

/* Converts elements on the host. */
static void convert(rynd_dtype to, void *y, rynd_dtype from, const void *x, int64_t count)
{
    char text[160];
    if (count == 0) {
        return;
    }
    snprintf(text, sizeof text, "expr x0=%lld:%s y0=%lld:%s program='cast(x0, %s)'",
             (long long)count, rynd_dtype_name(from), (long long)count, rynd_dtype_name(to),
             rynd_dtype_name(to));
    rynd_op *op = op_of(host, text, NULL);
    OK(rynd_op_execute(op, (const void *[]){x}, (void *[]){y}));
    rynd_op_destroy(op);
}

typedef struct operands {
    uint64_t in[MOST][ROOM], wanted[MOST][ROOM], got[MOST][ROOM + 2 * GUARD / 8];
    double a[ROOM], b[ROOM];
} operands;

static operands m;

static double step; /* what a scalar of f64 is */

static void fill_inputs(const rynd_op *op)
{
    static float numbers[ROOM];
    uint32_t seed = 7;
    for (size_t i = 0; i < rynd_op_input_count(op); i++) {
        rynd_tensor t;
        OK(rynd_op_get_input(op, i, &t));
        const int64_t count = t.dtype == RYND_DTYPE_NONE ? 0 : rynd_tensor_elements(&t);
        for (int64_t j = 0; j < count; j++) {
            seed = seed * 1664525u + 1013904223u;
            numbers[j] = (float)(seed >> 24) / 128 - 1; /* with equal ones */
        }
        if (count && t.dtype == RYND_DTYPE_F64 && t.rank == 0) {
            memcpy(m.in[i], &step, sizeof step);
        } else if (count) {
            convert(t.dtype, m.in[i], RYND_DTYPE_F32, numbers, count);
        }
    }
}

/* Runs on the device, between guards. */
static void run_there(rynd_context *context, rynd_op *op)
{
    rynd_operand in[MOST] = {{0}}, out[MOST] = {{0}};
    rynd_stream *stream = NULL;
    OK(rynd_stream_create(context, &stream));
    for (size_t i = 0; i < rynd_op_input_count(op); i++) {
        rynd_tensor t;
        OK(rynd_op_get_input(op, i, &t));
        in[i].buffer =
            t.dtype == RYND_DTYPE_NONE ? NULL : buffer_with(context, m.in[i], sizeof m.in[i]);
    }
    memset(m.got, GUARD_BYTE, sizeof m.got);
    for (size_t i = 0; i < rynd_op_output_count(op); i++) {
        rynd_tensor t;
        OK(rynd_op_get_output(op, i, &t));
        if (t.dtype != RYND_DTYPE_NONE) {
            out[i] = (rynd_operand){buffer_with(context, m.got[i], sizeof m.got[i]), GUARD, NULL};
        }
    }
    OK(rynd_op_run_async(op, in, out, NULL, stream));
    OK(rynd_op_wait(op));
    for (size_t i = 0; i < MOST; i++) {
        if (out[i].buffer) {
            OK(rynd_buffer_read(out[i].buffer, 0, m.got[i], sizeof m.got[i]));
        }
        rynd_buffer_destroy(in[i].buffer);
        rynd_buffer_destroy(out[i].buffer);
    }
    rynd_stream_destroy(stream);
}

static void expect_guards(const char *problem, int output, size_t bytes)
{
    const unsigned char *got = (const unsigned char *)m.got[output];
    for (size_t i = 0; i < sizeof m.got[output]; i++) {
        if ((i < GUARD || i >= GUARD + bytes) && got[i] != GUARD_BYTE) {
            fail_msg("%s: byte %zu of output %d is written, which is not its", problem, i, output);
        }
    }
}

static const void *result(int output)
{
    return (const char *)m.got[output] + GUARD;
}

static void compare(rynd_context *context, const row *r)
{
    rynd_op *reference = op_of(host, r->problem, r->reference),
            *op = op_of(context, r->problem, NULL);
    const void *in[MOST];
    void *out[MOST];
    fill_inputs(reference);
    for (int i = 0; i < MOST; i++) {
        in[i] = m.in[i];
        out[i] = m.wanted[i];
    }
    OK(rynd_op_execute(reference, in, out));
    run_there(context, op);
    for (size_t i = 0; i < rynd_op_output_count(op); i++) {
        rynd_tensor t;
        OK(rynd_op_get_output(op, i, &t));
        const int64_t count = t.dtype == RYND_DTYPE_NONE ? 0 : rynd_tensor_elements(&t);
        expect_guards(r->problem, (int)i, (size_t)count * rynd_dtype_size(t.dtype));
        convert(RYND_DTYPE_F64, m.a, t.dtype, m.wanted[i], count);
        convert(RYND_DTYPE_F64, m.b, t.dtype, result((int)i), count);
        double largest = 0;
        for (int64_t j = 0; j < count; j++) {
            largest = fmax(largest, fabs(m.a[j]));
        }
        for (int64_t j = 0; j < count; j++) {
            if (!(fabs(m.a[j] - m.b[j]) <= r->error * largest)) {
                fail_msg("%s: output %zu, element %lld is %.9g, not %.9g", r->problem, i,
                         (long long)j, m.b[j], m.a[j]);
            }
        }
    }
    rynd_op_destroy(reference);
    rynd_op_destroy(op);
}

static void gradients_are_the_references(rynd_context *context)
{
    for (size_t i = 0; i < sizeof gradients / sizeof *gradients; i++) {
        compare(context, &gradients[i]);
    }
}

static void pools_are_the_references(rynd_context *context)
{
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
        compare(context, &pools[i]);
    }
}

/* ---- random numbers ---- */

static const uint64_t offsets[] = {0, 1, 5, (UINT64_C(1) << 33) + 7};

static void set_numbers(int first, uint64_t seed, uint64_t offset)
{
    m.in[first][0] = seed;
    m.in[first + 1][0] = offset;
}

/* A dropout's mask and output are those of the public numbers; its gradient reads the mask. */
static void dropout_of(rynd_context *context, int count, double ratio, uint64_t offset)
{
    static float number[ROOM], dx[ROOM];
    const uint64_t seed = UINT64_C(0x123456789abcdef) + offset;
    const rynd_random random = {.seed = seed, .stream = 3};
    char text[200];
    snprintf(
        text, sizeof text,
        "dropout x0=%d:f32 x2=scalar:u64 x3=scalar:u64 y0=%d:f32 y1=%d:bool ratio=%.17g stream=3",
        count, count, count, ratio);
    rynd_op *op = op_of(context, text, NULL);
    fill_inputs(op);
    set_numbers(2, seed, offset);
    run_there(context, op);
    rynd_op_destroy(op);
    expect_guards(text, 0, (size_t)count * 4);
    expect_guards(text, 1, (size_t)count);
    OK(rynd_random_uniform(&random, 4 * offset, (size_t)count, number));
    const float scale = (float)(1 / (1 - ratio)), *x = (const float *)m.in[0], *y = result(0);
    const unsigned char *mask = result(1);
    for (int i = 0; i < count; i++) {
        const int stays = (double)number[i] >= ratio;
        assert_int_equal(mask[i], stays);
        assert_true(y[i] == (stays ? x[i] * scale : 0));
    }
    snprintf(text, sizeof text,
             "expr x0=%d:f32 x1=%d:bool y0=%d:f32 program='x0 * cast(x1, f32) * %.9g'", count,
             count, count, (double)scale);
    memcpy(m.in[1], mask, (size_t)count);
    memcpy(dx, y, (size_t)count * sizeof *dx);
    op = op_of(context, text, NULL);
    run_there(context, op);
    rynd_op_destroy(op);
    for (int i = 0; i < count; i++) {
        assert_true(((const float *)result(0))[i] == dx[i]);
    }
}

static void dropout_gives_a_mask(rynd_context *context)
{
    static const int counts[] = {1, 3, 64, 65, 4097};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            dropout_of(context, counts[c], i % 2 ? 0.3 : 0.5, offsets[i]);
        }
    }
}

/* With a step, as in training; of another layout: numbers go by row-major place. */
static void dropout_by_step(rynd_context *context)
{
    static const row rows[] = {
        {"dropout x0=5x7:f32 x1=scalar:f64 y0=5x7:f32 ratio=0.4 seed=-5 stream=2", "dropout_ref",
         F32},
        {"dropout x0=5x7:f32:1,5 x1=scalar:f64 y0=5x7:f32 y1=5x7:bool ratio=0.4 seed=9",
         "dropout_ref", F32},
        {"dropout x0=5x7:f16 x1=scalar:f64 y0=5x7:f16 ratio=0.4 seed=9", "dropout_ref", HALF},
        {"dropout x0=77:f32 y0=77:f32 ratio=0.25 seed=1", "dropout_ref", F32},
    };
    static const double steps[] = {0, 1, 3, 4294967297.0, 9007199254740991.0, -1};
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
        step = steps[s];
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            compare(context, &rows[i]);
        }
    }
}

/* The bits of a fill are those of the public functions, on each device. */
static void fill_of(rynd_context *context, int kind, int count, uint64_t offset)
{
    static const char *const words[] = {"kind=uniform low=-1.5 high=2",
                                        "kind=normal mean=0.25 deviation=3",
                                        "kind=bernoulli p=0.3"};
    static float number[ROOM];
    const rynd_random random = {.seed = 99, .stream = 4};
    char text[200];
    snprintf(text, sizeof text, "random x0=scalar:u64 x1=scalar:u64 y0=%d:f32 %s stream=4", count,
             words[kind]);
    rynd_op *op = op_of(context, text, NULL);
    set_numbers(0, 99, offset);
    run_there(context, op);
    rynd_op_destroy(op);
    expect_guards(text, 0, (size_t)count * 4);
    OK((kind == 1 ? rynd_random_normal : rynd_random_uniform)(&random, 4 * offset, (size_t)count,
                                                              number));
    for (int i = 0; i < count; i++) {
        const float scaled = number[i] * (kind == 1 ? 3.0f : 3.5f);
        number[i] =
            kind == 2 ? (float)((double)number[i] < 0.3) : (kind == 1 ? 0.25f : -1.5f) + scaled;
    }
    if (memcmp(result(0), number, (size_t)count * sizeof *number) != 0) {
        fail_msg("%s: other bits than those of <rynd/random.h>", text);
    }
}

static void fills_have_the_public_bits(rynd_context *context)
{
    static const int counts[] = {1, 5, 64, 131, 8191};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        for (int kind = 0; kind < 3; kind++) {
            for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
                fill_of(context, kind, counts[c], offsets[i]);
            }
        }
    }
}

static void fills_of_other_types(rynd_context *context)
{
    static const row rows[] = {
        {"random x0=scalar:u64 x1=scalar:u64 y0=5x7:f16 kind=uniform", "random_ref", 0},
        {"random x0=scalar:u64 x1=scalar:u64 y0=5x7:bf16 kind=normal", "random_ref", 0},
        {"random x0=scalar:u64 x1=scalar:u64 y0=65x7:bool kind=bernoulli p=1", "random_ref", 0},
        {"random x0=scalar:u64 x1=scalar:u64 y0=5x7:f32:1,5 kind=normal", "random_ref", 0},
        {"random x0=scalar:u64 x1=scalar:u64 y0=0x7:f32 kind=normal", "random_ref", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        compare(context, &rows[i]);
    }
}

/* Any number of threads, and parts of a row: the same bits. */
static void threads_do_not_matter(void **state)
{
    (void)state;
    enum { COUNT = 100003 };
    static float one[COUNT], three[COUNT];
    const uint64_t seed = 5, offset = 11;
    for (int kind = 0; kind < 2; kind++) {
        for (int t = 0; t < 2; t++) {
            rynd_context *context = NULL;
            char text[160];
            snprintf(text, sizeof text, "random x0=scalar:u64 x1=scalar:u64 y0=%d:f32 kind=%s",
                     COUNT, kind ? "normal" : "uniform");
            const rynd_context_options options =
                RYND_SIZED(rynd_context_options, .threads = t ? 3 : 1, .device = "cpu");
            OK(rynd_context_create(&options, &context));
            rynd_op *op = op_of(context, text, NULL);
            OK(rynd_op_execute(op, (const void *[]){&seed, &offset}, (void *[]){t ? three : one}));
            rynd_op_destroy(op);
            rynd_context_destroy(context);
        }
        assert_memory_equal(one, three, sizeof one);
    }
}

static void illegal_problems(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"pool x0=1x2x5x5:f32 y0=1x2x3x3:f32 output=3,3 stride=2,2", "has no kernel, strides"},
        {"pool x0=1x2x5x5:f32 y0=1x2x3x3:f32 output=3", "output has 1 numbers, expected 2"},
        {"pool x0=1x2x5x5:f32 y0=1x2x3x3:f32 output=3,4", "y0 is f32"},
        {"pool_grad x0=1x2x3x3:f32 y0=1x2x5x5:f32 kind=average image=5,5 adaptive=1 pads=1,1,1,1",
         "has no kernel, strides"},
        {"softmax_grad x0=2x3:f32 x1=2x3:f32 y0=2x3:f32 axis=1 kind=hardmax", "no gradient"},
        {"layer_norm_grad x0=2x3:f32 x1=2x3:f32 x2=3:f32 x4=2x1:f32 y0=2x3:f32 axis=1",
         "needs the mean (input 3)"},
        {"layer_norm_grad x0=2x3:f32 x1=2x3:f32 x2=3:f32 x3=2x1:f32 y0=2x3:f32 axis=1",
         "needs the inverse deviation (input 4)"},
        {"group_norm_grad x0=2x4:f32 x1=2x4:f32 x3=2x3:f32 x4=2x3:f32 y0=2x4:f32 groups=3",
         "a divisor of the 4 channels"},
        {"dropout x0=4:f32 x2=scalar:f32 y0=4:f32", "the seed, expected u64"},
        {"random x0=scalar:u64 x1=scalar:u64 y0=4:i32 kind=normal", "expected a float type"},
        {"random x0=scalar:u64 x1=scalar:u64 y0=4:f32 kind=bernoulli p=2",
         "p is 2, expected 0 to 1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rynd_op *op = NULL;
        const rynd_status status = rynd_op_create(host, rows[i][0], NULL, &op);
        if (status != RYND_ERROR_SHAPE || !strstr(rynd_last_error(), rows[i][1])) {
            fail_msg("%s: status %d, '%s'", rows[i][0], (int)status, rynd_last_error());
        }
    }
}

#define ON_EACH_DEVICE(test)              \
    static void each_##test(void **state) \
    {                                     \
        (void)state;                      \
        on_each_device(test);             \
    }

ON_EACH_DEVICE(gradients_are_the_references)
ON_EACH_DEVICE(pools_are_the_references)
ON_EACH_DEVICE(dropout_gives_a_mask)
ON_EACH_DEVICE(dropout_by_step)
ON_EACH_DEVICE(fills_have_the_public_bits)
ON_EACH_DEVICE(fills_of_other_types)

static int make_host(void **state)
{
    (void)state;
    const rynd_context_options options =
        RYND_SIZED(rynd_context_options, .threads = 1, .device = "cpu");
    return rynd_context_create(&options, &host) != RYND_OK;
}

static int drop_host(void **state)
{
    (void)state;
    rynd_context_destroy(host);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_gradients_are_the_references),
        cmocka_unit_test(each_pools_are_the_references),
        cmocka_unit_test(each_dropout_gives_a_mask),
        cmocka_unit_test(each_dropout_by_step),
        cmocka_unit_test(each_fills_have_the_public_bits),
        cmocka_unit_test(each_fills_of_other_types),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(illegal_problems),
    };
    return cmocka_run_group_tests(tests, make_host, drop_host);
}
