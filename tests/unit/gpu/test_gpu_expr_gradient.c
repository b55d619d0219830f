/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of expressions on a GPU, by OpenCL, beside the CPU's. Skipped where there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <rynd/rynd.h>

#include "gpu_run.h"

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

enum { ELEMENTS = 512, MAX = 6 };

static const char *const problems[] = {
    "expr x0=7x33:f32 y0=7x33:f32 program='max(x0, 0)'",
    "expr x0=7x33:f32 y0=7x33:f32 program='gelu(x0) * tanh(x0)'",
    "expr x0=7x33:f32 x1=33:f32 y0=7x33:f32 program='silu(x0 * x1)'",
    "expr x0=7x33:f32 x1=7x1:f32 y0=7x33:f32 y1=7x33:f32 program='y0=x0/(2+x1*x1); y1=mish(x0)'",
    "expr x0=7x33:f32 y0=7:f32 program='sqrt(sum(x0 * x0))' axes=1 keepdims=0",
    "expr x0=7x33:f32 y0=7x1:f32 program='mean(exp(x0))' axes=1",
    "expr x0=3x5x7:f32 y0=3x1x7:f32 program='max(x0)' axes=1",
    "expr x0=3x5x7:f32 y0=5:f32 program='prod(x0 + 1.5)' axes=0,2 keepdims=0",
};

/* The gradient's outputs, one behind the other. */
static size_t run_on(rynd_context *context, const char *problem, float *result)
{
    rynd_expr *expr, *gradient;
    static float data[MAX][ELEMENTS];
    rynd_tensor in[MAX], out[MAX];
    size_t used = 0;
    OK(rynd_expr_create(context, problem, NULL, &expr));
    OK(rynd_expr_create_gradient(expr, NULL, &gradient));
    assert_true(rynd_expr_input_count(gradient) <= MAX);
    for (size_t i = 0; i < rynd_expr_input_count(gradient); i++) {
        OK(rynd_expr_get_input(gradient, i, &in[i]));
        for (int64_t k = 0; k < rynd_tensor_elements(&in[i]); k++) {
            data[i][k] = sinf(0.37f * (float)(k * 3 + (int64_t)i) + 0.2f);
        }
        in[i].data = data[i];
    }
    for (size_t o = 0; o < rynd_expr_output_count(gradient); o++) {
        OK(rynd_expr_get_output(gradient, o, &out[o]));
        out[o].data = result + used;
        used += (size_t)rynd_tensor_elements(&out[o]);
        assert_true(used <= MAX * ELEMENTS);
    }
    OK(rynd_expr_execute(gradient, in, out));
    rynd_expr_destroy(expr);
    rynd_expr_destroy(gradient);
    return used;
}

static void as_on_the_cpu(void **state)
{
    (void)state;
    gpu_run_need();
    const char *named = getenv("RYND_TEST_GPU");
    static float got[MAX * ELEMENTS], expected[MAX * ELEMENTS];
    const rynd_context_options here = RYND_SIZED(rynd_context_options, .device = "cpu",
                                                 .wisdom = "off"),
                               there =
                                   RYND_SIZED(rynd_context_options,
                                              .device = named ? named : "opencl", .wisdom = "off");
    rynd_context *cpu, *gpu;
    OK(rynd_context_create(&here, &cpu));
    OK(rynd_context_create(&there, &gpu));
    for (size_t p = 0; p < COUNT(problems); p++) {
        const size_t count = run_on(cpu, problems[p], expected);
        assert_int_equal(run_on(gpu, problems[p], got), count);
        for (size_t i = 0; i < count; i++) {
            if (!(fabsf(got[i] - expected[i]) <= 2e-5f * (1 + fabsf(expected[i])))) {
                fail_msg("the gradient of %s: element %zu is %g, not %g", problems[p], i,
                         (double)got[i], (double)expected[i]);
            }
        }
    }
    rynd_context_destroy(cpu);
    rynd_context_destroy(gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_on_the_cpu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
