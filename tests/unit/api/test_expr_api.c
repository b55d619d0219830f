/* SPDX-License-Identifier: Apache-2.0 */
/* The public expressions: programs and problems, strides, several outputs and axes, gradients
 * beside central differences, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <rynd/rynd.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define OK(call)                                          \
    do {                                                  \
        if ((call) != RYND_OK) {                          \
            fail_msg("%s: %s", #call, rynd_last_error()); \
        }                                                 \
    } while (0)

enum { ELEMENTS = 64, MAX = 8 };

static rynd_context *context;

static int begin(void **state)
{
    (void)state;
    const rynd_context_options options =
        RYND_SIZED(rynd_context_options, .threads = 2, .wisdom = "off");
    return rynd_context_create(&options, &context) != RYND_OK;
}

static int end(void **state)
{
    (void)state;
    rynd_context_destroy(context);
    return 0;
}

/* Row-major. */
static rynd_tensor tensor(rynd_dtype dtype, int rank, const int64_t *dim, void *data)
{
    rynd_tensor t = {.data = data, .dtype = dtype, .rank = rank};
    int64_t stride = 1;
    for (int d = rank - 1; d >= 0; d--) {
        t.dim[d] = dim[d];
        t.stride[d] = stride;
        stride *= dim[d];
    }
    return t;
}

static int64_t elements(const rynd_tensor *t)
{
    int64_t count = 1;
    for (int d = 0; d < t->rank; d++) {
        count *= t->dim[d];
    }
    return count;
}

static void check_floats(const float *got, const float *expected, int count)
{
    for (int i = 0; i < count; i++) {
        if (!(fabsf(got[i] - expected[i]) <= 1e-6f * (1 + fabsf(expected[i])))) {
            fail_msg("element %d is %g, not %g", i, (double)got[i], (double)expected[i]);
        }
    }
}

/* Two outputs, one reduced, and broadcasting. */
static void computes(void **state)
{
    (void)state;
    float x[6] = {1, 2, 3, 4, 5, 6}, b[3] = {10, 20, 30}, y[6], sum[2];
    const rynd_tensor in[] = {tensor(RYND_DTYPE_F32, 2, (int64_t[]){2, 3}, x),
                              tensor(RYND_DTYPE_F32, 1, (int64_t[]){3}, b)};
    const int64_t axes[] = {-1};
    const rynd_expr_options options = RYND_SIZED(rynd_expr_options, .inputs = in, .input_count = 2,
                                                 .axes = axes, .axis_count = 1);
    rynd_expr *expr;
    OK(rynd_expr_create(context, "t = x0 + x1; y0 = t * 2; y1 = sum(t)", &options, &expr));
    assert_int_equal(rynd_expr_input_count(expr), 2);
    assert_int_equal(rynd_expr_output_count(expr), 2);
    rynd_tensor out[2];
    OK(rynd_expr_get_output(expr, 0, &out[0]));
    OK(rynd_expr_get_output(expr, 1, &out[1]));
    assert_int_equal(out[0].rank, 2);
    assert_int_equal(out[1].rank, 1);
    assert_int_equal(out[1].dim[0], 2);
    out[0].data = y;
    out[1].data = sum;
    OK(rynd_expr_execute(expr, in, out));
    check_floats(y, (const float[]){22, 44, 66, 28, 50, 72}, 6);
    check_floats(sum, (const float[]){66, 75}, 2);
    assert_int_equal(rynd_expr_get_input(expr, 2, &out[0]), RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_model_input_count(rynd_expr_model(expr)), 2);
    assert_true(rynd_plan_step_count(rynd_expr_plan(expr)) > 0);
    rynd_expr_destroy(expr);
}

/* A problem's text says all. */
static void of_a_problem(void **state)
{
    (void)state;
    float x[6] = {1, 2, 3, 4, 5, 6}, y[2], dy[2] = {1, 10}, dx[6];
    rynd_expr *expr, *gradient;
    OK(rynd_expr_create(context,
                        "expr x0=2x3:f32 y0=2:f32 program='mean(x0 * x0)' axes=1 keepdims=0", NULL,
                        &expr));
    const rynd_tensor in = tensor(RYND_DTYPE_F32, 2, (int64_t[]){2, 3}, x),
                      out = tensor(RYND_DTYPE_F32, 1, (int64_t[]){2}, y);
    OK(rynd_expr_execute(expr, &in, &out));
    check_floats(y, (const float[]){14.0f / 3, 77.0f / 3}, 2);
    OK(rynd_expr_create_gradient(expr, NULL, &gradient));
    rynd_expr_destroy(expr);
    const rynd_tensor both[] = {in, tensor(RYND_DTYPE_F32, 1, (int64_t[]){2}, dy)},
                      result = tensor(RYND_DTYPE_F32, 2, (int64_t[]){2, 3}, dx);
    OK(rynd_expr_execute(gradient, both, &result));
    check_floats(dx, (const float[]){2.0f / 3, 4.0f / 3, 2, 80.0f / 3, 100.0f / 3, 40}, 6);
    rynd_expr_destroy(gradient);
}

/* Backwards, with gaps, repeated; outputs with gaps. */
static void takes_strides(void **state)
{
    (void)state;
    float x[12], y[12], b = 5;
    for (int i = 0; i < 12; i++) {
        x[i] = (float)i;
        y[i] = -1;
    }
    rynd_tensor in[] = {tensor(RYND_DTYPE_F32, 2, (int64_t[]){2, 3}, x + 4),
                        tensor(RYND_DTYPE_F32, 2, (int64_t[]){2, 3}, &b)};
    in[0].stride[0] = 6;
    in[0].stride[1] = -2;
    in[1].stride[0] = in[1].stride[1] = 0;
    rynd_tensor out = tensor(RYND_DTYPE_F32, 2, (int64_t[]){2, 3}, y);
    out.stride[0] = 1;
    out.stride[1] = 4;
    const rynd_expr_options options = RYND_SIZED(rynd_expr_options, .inputs = in, .input_count = 2);
    rynd_expr *expr;
    OK(rynd_expr_create(context, "x0 + x1", &options, &expr));
    OK(rynd_expr_execute(expr, in, &out));
    check_floats(y, (const float[]){9, 15, -1, -1, 7, 13, -1, -1, 5, 11, -1, -1}, 12);
    rynd_expr_destroy(expr);
}

/* An output that is planned with gaps is written where it is, and a gap never. */
static void plans_output_strides(void **state)
{
    (void)state;
    float x[6] = {0, 1, 2, 3, 4, 5}, y[12];
    memset(y, 0, sizeof y);
    rynd_tensor in = tensor(RYND_DTYPE_F32, 2, (int64_t[]){2, 3}, x),
                out = tensor(RYND_DTYPE_F32, 2, (int64_t[]){2, 3}, y), kept;
    out.stride[0] = 1;
    out.stride[1] = 4;
    rynd_expr_options options = RYND_SIZED(rynd_expr_options, .inputs = &in, .input_count = 1,
                                           .outputs = &out, .output_count = 1);
    rynd_expr *expr;
    OK(rynd_expr_create(context, "x0 + 1", &options, &expr));
    OK(rynd_expr_get_output(expr, 0, &kept));
    assert_int_equal(kept.stride[0], 1);
    assert_int_equal(kept.stride[1], 4);
    OK(rynd_expr_execute(expr, &in, &out));
    check_floats(y, (const float[]){1, 4, 0, 0, 2, 5, 0, 0, 3, 6, 0, 0}, 12);
    rynd_expr_destroy(expr);
    out.stride[0] = 0;
    assert_int_equal(rynd_expr_create(context, "x0 + 1", &options, &expr), RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(rynd_last_error(), "rynd_expr_options: output 0: "));
    out = tensor(RYND_DTYPE_F32, 2, (int64_t[]){3, 2}, y);
    assert_int_equal(rynd_expr_create(context, "x0 + 1", &options, &expr), RYND_ERROR_SHAPE);
    options.output_count = 2;
    assert_int_equal(rynd_expr_create(context, "x0 + 1", &options, &expr), RYND_ERROR_ARGUMENT);
}

/* The sum of the outputs, times numbers. */
static double total(rynd_expr *expr, const rynd_tensor *in, const rynd_tensor *dy)
{
    double y[MAX][ELEMENTS], sum = 0;
    rynd_tensor out[MAX];
    for (size_t o = 0; o < rynd_expr_output_count(expr); o++) {
        OK(rynd_expr_get_output(expr, o, &out[o]));
        out[o].data = y[o];
    }
    OK(rynd_expr_execute(expr, in, out));
    for (size_t o = 0; o < rynd_expr_output_count(expr); o++) {
        for (int64_t k = 0; k < elements(&out[o]); k++) {
            sum += y[o][k] * ((const double *)dy[o].data)[k];
        }
    }
    return sum;
}

static void check_differences(rynd_expr *expr, rynd_tensor *in, rynd_tensor *dy,
                              double dx[MAX][ELEMENTS])
{
    const double step = 0x1p-17;
    for (size_t i = 0; i < rynd_expr_input_count(expr); i++) {
        double *x = in[i].data;
        for (int64_t k = 0; k < elements(&in[i]); k++) {
            const double kept = x[k];
            x[k] = kept + step;
            const double above = total(expr, in, dy);
            x[k] = kept - step;
            const double expected = (above - total(expr, in, dy)) / (2 * step);
            x[k] = kept;
            if (!(fabs(dx[i][k] - expected) <= 1e-6 * (1 + fabs(expected)))) {
                fail_msg("dx%zu[%d] is %g, differences say %g", i, (int)k, dx[i][k], expected);
            }
        }
    }
}

/* The shapes of three inputs, of which a text reads the first ones. */
static void check_gradient(const char *text, size_t count, const int64_t *axes, size_t axis_count,
                           int keepdims)
{
    static double x[MAX][ELEMENTS], g[MAX][ELEMENTS], dx[MAX][ELEMENTS];
    static const int64_t dims[3][3] = {{2, 3, 4}, {3, 1}, {4}};
    static const int ranks[3] = {3, 2, 1};
    rynd_tensor in[2 * MAX], out[MAX];
    for (size_t i = 0; i < MAX; i++) {
        for (size_t k = 0; k < ELEMENTS; k++) {
            x[i][k] = sin(1.3 * (double)(k * MAX + i) + 0.4) * 1.5;
            g[i][k] = cos(0.7 * (double)(k * MAX + i));
        }
    }
    for (size_t i = 0; i < count; i++) {
        in[i] = tensor(RYND_DTYPE_F64, ranks[i], dims[i], x[i]);
    }
    const rynd_expr_options options =
        RYND_SIZED(rynd_expr_options, .inputs = in, .input_count = count, .axes = axes,
                   .axis_count = axis_count, .keepdims = keepdims);
    rynd_expr *expr, *gradient;
    OK(rynd_expr_create(context, text, &options, &expr));
    OK(rynd_expr_create_gradient(expr, NULL, &gradient));
    assert_int_equal(rynd_expr_input_count(gradient), count + rynd_expr_output_count(expr));
    assert_int_equal(rynd_expr_output_count(gradient), count);
    for (size_t o = 0; o < rynd_expr_output_count(expr); o++) {
        OK(rynd_expr_get_input(gradient, count + o, &in[count + o]));
        in[count + o].data = g[o];
    }
    for (size_t i = 0; i < count; i++) {
        OK(rynd_expr_get_output(gradient, i, &out[i]));
        assert_int_equal(out[i].rank, in[i].rank);
        assert_memory_equal(out[i].dim, in[i].dim, (size_t)in[i].rank * sizeof *in[i].dim);
        out[i].data = dx[i];
    }
    OK(rynd_expr_execute(gradient, in, out));
    check_differences(expr, in, in + count, dx);
    rynd_expr_destroy(expr);
    rynd_expr_destroy(gradient);
}

static void gradients(void **state)
{
    (void)state;
    static const int64_t last[] = {-1}, outer[] = {0, 2};
    check_gradient("x0 * x1 + x2", 3, NULL, 0, 0);
    check_gradient("x0 + x1", 2, NULL, 0, 0);
    check_gradient("y0 = gelu(x0); y1 = tanh(x0 * x1); y2 = x2", 3, NULL, 0, 0);
    check_gradient("sum(x0 * x1)", 2, NULL, 0, 0);
    check_gradient("t = x0 * x1; y0 = sqrt(mean(t * t)) ; y1 = max(t); y2 = t + x2", 3, last, 1, 0);
    check_gradient("log(sum(exp(x0 - x1)))", 2, last, 1, 1);
    check_gradient("prod(x0 + x2) * min(x0)", 3, outer, 2, 1);
    check_gradient("floor(x0) * x1", 2, NULL, 0, 0);
}

/* More inputs than a program has outputs: the product of 1 + i / 1024 of all. */
static void gradients_by_many(void **state)
{
    (void)state;
    enum { INPUTS = 253, ROOM = 8 * INPUTS };
    char text[ROOM] = "x0";
    static float x[INPUTS], dx[INPUTS], dy = 2;
    static rynd_tensor in[INPUTS + 1], out[INPUTS];
    const int64_t dim[] = {1};
    double product = 1;
    for (int i = 0; i < INPUTS; i++) {
        x[i] = 1 + (float)i / 16384;
        product *= (double)x[i];
        in[i] = tensor(RYND_DTYPE_F32, 1, dim, &x[i]);
        out[i] = tensor(RYND_DTYPE_F32, 1, dim, &dx[i]);
        if (i > 0) {
            snprintf(text + strlen(text), ROOM - strlen(text), " * x%d", i);
        }
    }
    in[INPUTS] = tensor(RYND_DTYPE_F32, 1, dim, &dy);
    const rynd_expr_options options =
        RYND_SIZED(rynd_expr_options, .inputs = in, .input_count = INPUTS);
    rynd_expr *expr, *gradient;
    OK(rynd_expr_create(context, text, &options, &expr));
    OK(rynd_expr_create_gradient(expr, NULL, &gradient));
    assert_int_equal(rynd_expr_output_count(gradient), INPUTS);
    OK(rynd_expr_execute(gradient, in, out));
    for (int i = 0; i < INPUTS; i++) {
        const double wanted = 2 * product / (double)x[i];
        if (!(fabs((double)dx[i] - wanted) < 1e-4 * wanted)) {
            fail_msg("by x%d: %g, not %g", i, (double)dx[i], wanted);
        }
    }
    rynd_expr_destroy(gradient);
    rynd_expr_destroy(expr);
}

/* Gradients only of wanted inputs; integer inputs have none. */
static void only_what_is_wanted(void **state)
{
    (void)state;
    const int64_t dim[] = {4};
    rynd_tensor in[] = {tensor(RYND_DTYPE_BOOL, 1, dim, NULL), tensor(RYND_DTYPE_F32, 1, dim, NULL),
                        tensor(RYND_DTYPE_F32, 1, dim, NULL)};
    const rynd_expr_options options = RYND_SIZED(rynd_expr_options, .inputs = in, .input_count = 3);
    rynd_expr *expr, *gradient;
    OK(rynd_expr_create(context, "y0 = select(x0, x1, x2); y1 = x1 < x2", &options, &expr));
    OK(rynd_expr_create_gradient(expr, NULL, &gradient));
    assert_int_equal(rynd_expr_output_count(gradient), 2);
    /* no dy1: y1 is no float */
    assert_int_equal(rynd_expr_input_count(gradient), 4);
    unsigned char mask[] = {1, 0, 0, 1};
    float x[4] = {0}, dy[] = {1, 2, 3, 4}, dx1[4], dx2[4];
    const rynd_tensor given[] = {
        tensor(RYND_DTYPE_BOOL, 1, dim, mask), tensor(RYND_DTYPE_F32, 1, dim, x),
        tensor(RYND_DTYPE_F32, 1, dim, x), tensor(RYND_DTYPE_F32, 1, dim, dy)};
    const rynd_tensor out[] = {tensor(RYND_DTYPE_F32, 1, dim, dx1),
                               tensor(RYND_DTYPE_F32, 1, dim, dx2)};
    OK(rynd_expr_execute(gradient, given, out));
    check_floats(dx1, (const float[]){1, 0, 0, 4}, 4);
    check_floats(dx2, (const float[]){0, 2, 3, 0}, 4);
    rynd_expr *second;
    assert_int_equal(rynd_expr_create_gradient(gradient, NULL, &second), RYND_ERROR_UNSUPPORTED);
    rynd_expr_destroy(gradient);
    OK(rynd_expr_create_gradient(expr, (const int[]){0, 0, 1}, &gradient));
    assert_int_equal(rynd_expr_output_count(gradient), 1);
    OK(rynd_expr_execute(gradient, given, &out[1]));
    check_floats(dx2, (const float[]){0, 2, 3, 0}, 4);
    rynd_expr_destroy(gradient);
    assert_int_equal(rynd_expr_create_gradient(expr, (const int[]){1, 0, 0}, &gradient),
                     RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(rynd_last_error(), "x0 is bool"));
    assert_int_equal(rynd_expr_create_gradient(expr, (const int[]){0, 0, 0}, &gradient),
                     RYND_ERROR_ARGUMENT);
    assert_null(gradient);
    rynd_expr_destroy(expr);
}

static void refuses(const char *text, const rynd_expr_options *options, rynd_status status,
                    const char *words)
{
    rynd_expr *expr;
    assert_int_equal(rynd_expr_create(context, text, options, &expr), status);
    assert_null(expr);
    if (!strstr(rynd_last_error(), words)) {
        fail_msg("%s: '%s' does not say '%s'", text, rynd_last_error(), words);
    }
}

static void refuses_what_does_not_fit(void **state)
{
    (void)state;
    const rynd_tensor in[] = {tensor(RYND_DTYPE_F32, 1, (int64_t[]){4}, NULL),
                              tensor(RYND_DTYPE_F32, 1, (int64_t[]){3}, NULL)};
    const rynd_tensor none = {.dtype = RYND_DTYPE_NONE};
    const int64_t axis = 3;
    rynd_expr_options options = RYND_SIZED(rynd_expr_options, .inputs = in, .input_count = 2);
    refuses("x0 +", &options, RYND_ERROR_FORMAT, "column 5");
    refuses("x0 + x1", &options, RYND_ERROR_SHAPE, "broadcast");
    refuses("x0", &options, RYND_ERROR_ARGUMENT, "2 inputs are described, the expression has 1");
    refuses("x0 + x1", NULL, RYND_ERROR_ARGUMENT, "0 inputs are described");
    refuses("x0 - sum(x0)", &options, RYND_ERROR_FORMAT, "reduced");
    refuses("conv c=1 k=1 h=1 w=1", NULL, RYND_ERROR_ARGUMENT, "a problem of conv");
    refuses("expr x0=2:f32 y0=2:f32 program='x0'", &options, RYND_ERROR_ARGUMENT, "itself");
    options.input_count = 1;
    refuses("sum(x0)",
            &RYND_SIZED(rynd_expr_options, .inputs = in, .input_count = 1, .axes = &axis,
                        .axis_count = 1),
            RYND_ERROR_SHAPE, "3");
    refuses("x0", &RYND_SIZED(rynd_expr_options, .inputs = &none, .input_count = 1),
            RYND_ERROR_ARGUMENT, "dtype is NONE");
    refuses("x0",
            &RYND_SIZED(rynd_expr_options, .inputs = in, .input_count = 1,
                        .accuracy = (rynd_accuracy)77),
            RYND_ERROR_ARGUMENT, "accuracy");
    rynd_expr *expr;
    OK(rynd_expr_create(context, "x0 * 2", &options, &expr));
    float y[4];
    const rynd_tensor wrong = tensor(RYND_DTYPE_F32, 1, (int64_t[]){3}, y);
    assert_int_equal(rynd_expr_execute(expr, &wrong, &wrong), RYND_ERROR_SHAPE);
    rynd_expr_destroy(expr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(computes),
        cmocka_unit_test(of_a_problem),
        cmocka_unit_test(takes_strides),
        cmocka_unit_test(plans_output_strides),
        cmocka_unit_test(gradients),
        cmocka_unit_test(gradients_by_many),
        cmocka_unit_test(only_what_is_wanted),
        cmocka_unit_test(refuses_what_does_not_fit),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
