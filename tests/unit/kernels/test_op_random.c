/* SPDX-License-Identifier: Apache-2.0 */
/* rynd_op_execute on random problems whose operands are stored anyhow, weights constant or not,
 * against the reference kernel in float64. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "placed_tensor.h"
#include <rynd/rynd.h>

#include <math.h>
#include <stdio.h>

enum { ROUNDS = 40, OPERANDS = 4, TEXT = 512 };

static rynd_context *context;
static uint32_t seed;

/* A number from least to most; the same ones in every run. */
static int pick(int least, int most)
{
    seed = seed * 1664525u + 1013904223u;
    return least + (int)((seed >> 8) % (unsigned)(most - least + 1));
}

static void conv_text(char *text, const char *type)
{
    const int groups = pick(0, 3) ? 1 : pick(2, 3), r = pick(1, 4), s = pick(1, 4),
              dilation = pick(0, 3) ? 1 : 2;
    snprintf(text, TEXT,
             "conv n=%d c=%d h=%d w=%d k=%d r=%d s=%d pad=%d stride=%d dilation=%d groups=%d "
             "bias=%d residual=%d act=%s dtype=%s",
             pick(1, 3), groups * pick(1, 20), pick(7, 20), pick(7, 20), groups * pick(1, 20), r, s,
             pick(0, 2), pick(1, 3), dilation, groups, pick(0, 1), pick(0, 1),
             pick(0, 1) ? "relu" : "none", type);
}

static void convt_text(char *text, const char *type)
{
    const int stride = pick(1, 3);
    snprintf(text, TEXT,
             "convt n=%d c=%d h=%d w=%d k=%d r=%d s=%d pad=%d stride=%d opad=%d bias=%d dtype=%s",
             pick(1, 2), pick(1, 20), pick(2, 10), pick(2, 10), pick(1, 20), pick(3, 5), pick(3, 5),
             pick(0, 1), stride, pick(0, stride - 1), pick(0, 1), type);
}

static void matmul_text(char *text, const char *type)
{
    const int b = pick(1, 3), m = pick(1, 40), k = pick(1, 60), n = pick(1, 40);
    snprintf(text, TEXT, "matmul x0=%dx%dx%d:%s x1=%dx%d:%s y0=%dx%dx%d:%s", b, m, k, type, k, n,
             type, b, m, n, type);
}

static void pool_text(char *text, const char *type)
{
    const int n = pick(1, 2), c = pick(1, 20), h = pick(4, 20), w = pick(4, 20), size = pick(1, 4),
              stride = pick(1, 3);
    const int pad = pick(0, size - 1), oh = (h + 2 * pad - size) / stride + 1,
              ow = (w + 2 * pad - size) / stride + 1;
    snprintf(
        text, TEXT,
        "pool x0=%dx%dx%dx%d:%s y0=%dx%dx%dx%d:%s kernel=%d,%d stride=%d,%d pads=%d,%d,%d,%d%s", n,
        c, h, w, type, n, c, oh, ow, type, size, size, stride, stride, pad, pad, pad, pad,
        pick(0, 1) ? " kind=average" : "");
}

static void softmax_text(char *text, const char *type)
{
    const int a = pick(1, 6), b = pick(1, 40), c = pick(1, 12);
    snprintf(text, TEXT, "softmax x0=%dx%dx%d:%s y0=%dx%dx%d:%s axis=%d", a, b, c, type, a, b, c,
             type, pick(0, 2));
}

static const struct {
    const char *reference;
    void (*text)(char *text, const char *type);
} families[] = {
    {"conv_ref", conv_text}, {"convt_ref", convt_text},     {"matmul_ref", matmul_text},
    {"pool_ref", pool_text}, {"softmax_ref", softmax_text},
};

static void assert_ok(rynd_status status, const char *text)
{
    if (status != RYND_OK) {
        fail_msg("%s: %s", text, rynd_last_error());
    }
}

/* The operands of one problem. */
typedef struct operands {
    size_t inputs;
    double *in[OPERANDS], *y; /* row-major */
    int64_t outputs;
} operands;

/* The reference's result on values that float32 holds. */
static void compute_reference(const char *text, const char *kernel, operands *all)
{
    rynd_op *op = NULL;
    rynd_tensor t;
    const rynd_op_options options = RYND_SIZED(rynd_op_options, .kernel = kernel);
    assert_ok(rynd_op_create(context, text, &options, &op), text);
    all->inputs = rynd_op_input_count(op);
    assert_true(all->inputs <= OPERANDS && rynd_op_output_count(op) == 1);
    for (size_t i = 0; i < all->inputs; i++) {
        assert_int_equal(rynd_op_get_input(op, i, &t), RYND_OK);
        const int64_t count = t.dtype == RYND_DTYPE_NONE ? 0 : rynd_tensor_elements(&t);
        all->in[i] = count ? malloc((size_t)count * sizeof(double)) : NULL;
        for (int64_t k = 0; k < count; k++) {
            all->in[i][k] = (float)pick(-1000, 1000) / 1000.0f;
        }
    }
    assert_int_equal(rynd_op_get_output(op, 0, &t), RYND_OK);
    all->outputs = rynd_tensor_elements(&t);
    all->y = malloc((size_t)all->outputs * sizeof(double));
    assert_ok(rynd_op_execute(op, (const void *const *)all->in, (void *const[]){all->y}), text);
    rynd_op_destroy(op);
}

static placed place_randomly(const rynd_tensor *t)
{
    const lie how = {
        "", pick(0, 1) == 0, pick(0, 2) ? 1 : 2, pick(0, 2) ? 0 : (unsigned)pick(0, 15), 0, 0};
    return place(&how, t->rank, t->dim);
}

/* Relative to the whole result, as the class near32 is defined. */
static double relative_error(const placed *y, const operands *all)
{
    double error = 0, norm = 1e-300;
    for (int64_t k = 0; k < all->outputs; k++) {
        float got;
        memcpy(&got, element(&y->tensor, k), sizeof got);
        error += ((double)got - all->y[k]) * ((double)got - all->y[k]);
        norm += all->y[k] * all->y[k];
    }
    return sqrt(error / norm);
}

static void compare(const char *text, const operands *all)
{
    rynd_op *op = NULL;
    placed in[OPERANDS] = {{.size = 0}}, y;
    rynd_tensor inputs[OPERANDS] = {{0}}, t;
    const void *data[OPERANDS] = {0};
    assert_ok(rynd_op_create(context, text, NULL, &op), text); /* for the shapes */
    for (size_t i = 0; i < all->inputs; i++) {
        assert_int_equal(rynd_op_get_input(op, i, &t), RYND_OK);
        if (!all->in[i]) {
            continue;
        }
        in[i] = place_randomly(&t);
        for (int64_t k = 0; k < rynd_tensor_elements(&t); k++) {
            const float value = (float)all->in[i][k];
            memcpy(element(&in[i].tensor, k), &value, sizeof value);
        }
        inputs[i] = in[i].tensor;
        data[i] = inputs[i].data;
        if (i == 0 || i > 2 || pick(0, 1)) {
            inputs[i].data = NULL; /* not constant */
        }
    }
    assert_int_equal(rynd_op_get_output(op, 0, &t), RYND_OK);
    y = place_randomly(&t);
    rynd_op_destroy(op);
    const rynd_op_options options =
        RYND_SIZED(rynd_op_options, .inputs = inputs, .outputs = &y.tensor);
    assert_ok(rynd_op_create(context, text, &options, &op), text);
    assert_ok(rynd_op_execute(op, data, (void *const[]){y.tensor.data}), text);
    const double error = relative_error(&y, all);
    if (!(error <= 1e-5)) {
        rynd_step_info info = RYND_SIZED(rynd_step_info);
        rynd_op_get_info(op, &info);
        fail_msg("%s by %s: relative error %g", text, info.kernel, error);
    }
    rynd_op_destroy(op);
    check_bytes(&y, text);
    for (size_t i = 0; i < all->inputs; i++) {
        free(in[i].memory);
    }
    free(y.memory);
}

static void random_problems(void **state)
{
    (void)state;
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        for (unsigned round = 0; round < ROUNDS; round++) {
            char exact[TEXT], text[TEXT];
            operands all;
            seed = 1 + round;
            families[f].text(text, "f32");
            seed = 1 + round;
            families[f].text(exact, "f64");
            compute_reference(exact, families[f].reference, &all);
            compare(text, &all);
            for (size_t i = 0; i < all.inputs; i++) {
                free(all.in[i]);
            }
            free(all.y);
        }
    }
}

static int begin(void **state)
{
    (void)state;
    const rynd_context_options options = RYND_SIZED(rynd_context_options, .threads = 2);
    return (int)rynd_context_create(&options, &context);
}

static int end(void **state)
{
    (void)state;
    rynd_context_destroy(context);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_problems)};
    return cmocka_run_group_tests(tests, begin, end);
}
