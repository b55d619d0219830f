/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions on a GPU against the reference: the random programs of test_expr_random.c in three
 * sizes of groups, every function over dense sweeps, sums of a million numbers, and activations of
 * epilogues. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "expr_bounds.h"
#include "expr_random.h"
#include "gpu_run.h"
#include "kernel_case.h"
#include "kernels/form.h"
#include "kernels/gpu/expr_text.h"
#include "machine/machine.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const ry_kernel *gpu_kernel(void)
{
    const ry_kernel *kernel = every_kernel_find("expr_gpu");
    assert_non_null(kernel);
    gpu_run_need();
    return kernel;
}

static void run_reference(const expr_case *c, unsigned char *const *blocks)
{
    const void *in[8];
    void *out[8];
    ry_error error = {""};
    for (int i = 0; i < c->problem.inputs; i++) {
        in[i] = expr_operand_data(&c->given[i]);
    }
    for (int o = 0; o < c->problem.outputs; o++) {
        out[o] = blocks[o] + EXPR_GUARD + c->given[4 + o].start;
    }
    if (every_kernel_execute(every_kernel_find("expr_ref"), &c->problem, in, out, NULL,
                             &ry_system_allocator, &error) != RYND_OK) {
        fail_msg("%s: %s", c->name, error.text);
    }
}

static gpu_operand operand_of(const expr_operand *o, unsigned char *block)
{
    const size_t size = o->size + 2 * EXPR_GUARD;
    return (gpu_operand){block, size, block + EXPR_GUARD + o->start};
}

static void run_gpu(const ry_kernel *kernel, const expr_case *c, unsigned char *const *blocks)
{
    static unsigned round;
    ry_form form = ry_form_free();
    ry_error error = {""};
    gpu_operand in[8], out[8];
    const ry_query query = {kernel, &c->problem, gpu_run_target(), &form};
    form.value[0] = gpu_run_group(64 << round++ % 3);
    for (int i = 0; i < c->problem.inputs; i++) {
        in[i] = operand_of(&c->given[i], c->given[i].block);
    }
    for (int o = 0; o < c->problem.outputs; o++) {
        out[o] = operand_of(&c->given[4 + o], blocks[o]);
    }
    if (!kernel->applicable(&c->problem)) {
        fail_msg("%s is not applicable to %s", kernel->name, c->name);
    }
    if (gpu_run(&query, in, out, &error) != RYND_OK) {
        fail_msg("%s: %s", c->name, error.text);
    }
}

static void check_case(const expr_case *c)
{
    const ry_kernel *kernel = every_kernel_find("expr_gpu");
    unsigned char *expected[4], *got[4];
    if (!ry_kernel_takes(kernel, &c->problem, gpu_run_target())) { /* without doubles */
        assert_false(gpu_run_target()->machine->fp64);
        return;
    }
    for (int o = 0; o < c->problem.outputs; o++) {
        const size_t size = c->given[4 + o].size + 2 * EXPR_GUARD;
        expected[o] = malloc(size);
        got[o] = malloc(size);
        assert_true(expected[o] && got[o]);
        memset(expected[o], EXPR_GUARD_BYTE, size);
        memset(got[o], EXPR_GUARD_BYTE, size);
    }
    run_reference(c, expected);
    run_gpu(kernel, c, got);
    for (int o = 0; o < c->problem.outputs; o++) {
        expr_case_compare(kernel, c, o, got[o], expected[o]);
        free(expected[o]);
        free(got[o]);
    }
}

static void pointwise(void **state)
{
    (void)state;
    gpu_kernel();
    expr_random_pointwise(70, check_case);
}

static void reductions(void **state)
{
    (void)state;
    gpu_kernel();
    expr_random_reductions(70, check_case);
}

static void large_reductions(void **state)
{
    (void)state;
    gpu_kernel();
    expr_random_large_reductions(12, check_case);
}

static void casts(void **state)
{
    (void)state;
    gpu_kernel();
    expr_random_casts(7, check_case);
}

/* One program on row-major tensors. axes: -1 ends. */
static void evaluate(const char *text, ry_dtype dtype, const ry_shape *shape, const void *const *in,
                     int inputs, const ry_shape *out_shape, void *out, const int *axes)
{
    ry_arena arena;
    ry_error error = {""};
    const ry_tensor given = ry_tensor_row_major(dtype, shape, NULL), x[2] = {given, given},
                    y = ry_tensor_row_major(dtype, out_shape, NULL);
    ry_problem problem = {.op = RY_OP_expr, .inputs = inputs, .outputs = 1, .in = x, .out = &y};
    const ry_query query = {gpu_kernel(), &problem, gpu_run_target(), NULL};
    gpu_operand from[2], to = {out, ry_tensor_bytes(&y), out};
    ry_arena_init(&arena, &ry_system_allocator);
    assert_int_equal(ry_expr_parse(text, NULL, 0, &arena, &problem.attrs.expr.program, &error),
                     RYND_OK);
    problem.attrs.expr.keepdims = 1;
    for (int i = 0; axes && axes[i] >= 0; i++) {
        problem.attrs.expr.axes.at[problem.attrs.expr.axes.count++] = axes[i];
    }
    for (int i = 0; i < inputs; i++) {
        void *data = (void *)(uintptr_t)in[i];
        from[i] = (gpu_operand){data, ry_tensor_bytes(&given), data};
    }
    assert_true(query.kernel->applicable(&problem));
    if (gpu_run(&query, from, &to, &error) != RYND_OK) {
        fail_msg("%s: %s", text, error.text);
    }
    ry_arena_free(&arena);
}

/* What the device computes itself, within OpenCL's bounds; the rest as on the CPU. */
static double bound_of(const expr_function *function)
{
    switch (function->code) {
    case RY_EXPR_sin:
    case RY_EXPR_cos: return 4;
    case RY_EXPR_tan: return 5;
    default: return function->bound;
    }
}

/* Every 4099th float of all of them. */
static void unary_f32(void **state)
{
    (void)state;
    enum { STEP = 4099, SWEEP = (int)(0x100000000 / STEP), N = SWEEP + EXPR_SPECIALS };
    const ry_shape shape = {1, {N}};
    float *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
    const void *in[] = {x};
    assert_true(x && y);
    gpu_kernel();
    for (int i = 0; i < N; i++) {
        x[i] = i < SWEEP ? expr_float_of_bits((uint32_t)i * STEP) : expr_specials[i - SWEEP];
    }
    for (int f = 0; f < EXPR_FUNCTIONS; f++) {
        const double bound = bound_of(&expr_functions[f]);
        evaluate(expr_functions[f].text, RY_f32, &shape, in, 1, &shape, y, NULL);
        for (int i = 0; i < N; i++) {
            const double truth = ry_expr_scalar_f64(expr_functions[f].code, (double)x[i], 0, 0);
            const double error = expr_ulps_f32((double)y[i], truth);
            if (!(error <= bound)) {
                fail_msg("%s at %a: %a instead of %a: %g ulp", expr_functions[f].text, (double)x[i],
                         (double)y[i], truth, error);
            }
        }
    }
    free(x);
    free(y);
}

/* Every conversion from f32 of a sweep and of numbers near the ends of the types' ranges: one
 * program with an output for each. */
static void conversions(void **state)
{
    (void)state;
    enum { N = 40000, TYPES = RY_DTYPES - 1, SATURATED = 8 };
    static const ry_dtype saturated[SATURATED] = {RY_i8, RY_i16, RY_i32, RY_i64,
                                                  RY_u8, RY_u16, RY_u32, RY_u64};
    static float x[N];
    static unsigned char y[TYPES + SATURATED][8 * N];
    const ry_shape shape = {1, {N}};
    ry_tensor in = ry_tensor_row_major(RY_f32, &shape, NULL), out[TYPES + SATURATED];
    ry_problem problem = {
        .op = RY_OP_expr, .inputs = 1, .outputs = TYPES + SATURATED, .in = &in, .out = out};
    gpu_operand from = {x, sizeof x, x}, to[TYPES + SATURATED];
    ry_error error = {""};
    ry_arena arena;
    const ry_query query = {gpu_kernel(), &problem, gpu_run_target(), NULL};
    ry_arena_init(&arena, &ry_system_allocator);
    ry_text text = {.arena = &arena};
    for (int i = 0; i < N; i++) {
        /* specials; halves near powers of two; all magnitudes */
        const double edge = ldexp(1, i % 70) + (i / 70 % 9 - 4) * 0.5;
        x[i] = i < EXPR_SPECIALS ? expr_specials[i]
               : i < N / 2       ? (float)(i % 2 ? edge : -edge)
                                 : expr_float_of_bits((uint32_t)i * 214747u);
    }
    for (int t = 0; t < TYPES + SATURATED; t++) {
        const ry_dtype wanted = t < TYPES ? (ry_dtype)(t + 1) : saturated[t - TYPES];
        const bool lacks = wanted == RY_f64 && !query.target->machine->fp64;
        const ry_dtype dtype = lacks ? RY_f32 : wanted;
        out[t] = ry_tensor_row_major(dtype, &shape, NULL);
        to[t] = (gpu_operand){y[t], ry_tensor_bytes(&out[t]), y[t]};
        ry_text_add(&text, "%sy%d = %s(x0, %s)", t ? "; " : "", t, t < TYPES ? "cast" : "saturate",
                    ry_dtype_name(dtype));
    }
    if (ry_expr_parse(text.at, NULL, 0, &arena, &problem.attrs.expr.program, &error) != RYND_OK) {
        fail_msg("%s: %s", text.at, error.text);
    }
    if (gpu_run(&query, &from, to, &error) != RYND_OK) {
        fail_msg("%s: %s", text.at, error.text);
    }
    for (int t = 0; t < TYPES + SATURATED; t++) {
        const ry_dtype dtype = (ry_dtype)out[t].dtype;
        unsigned char wanted[8];
        for (int i = 0; i < N; i++) {
            if (ry_dtype_is_float(dtype)) {
                ry_set_f64(dtype, wanted, 0, (double)x[i]);
            } else {
                ry_set_i64(dtype, wanted, 0, ry_expr_to_int(dtype, (double)x[i], t >= TYPES));
            }
            const double got = ry_get_f64(dtype, y[t], i), expected = ry_get_f64(dtype, wanted, 0);
            if (!ry_expr_same_number(got, expected)) {
                fail_msg("%s %a to %s: %a instead of %a", t < TYPES ? "cast" : "saturate",
                         (double)x[i], ry_dtype_name(dtype), got, expected);
            }
        }
    }
    ry_arena_free(&arena);
}

static void binary_f32(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        ry_expr_code code;
        double bound;
    } pairs[] = {
        {"pow(x0, x1)", RY_EXPR_pow, 16},  {"x0 / x1", RY_EXPR_div, 0.5},
        {"x0 * x1", RY_EXPR_mul, 0.5},     {"x0 + x1", RY_EXPR_add, 0.5},
        {"fmod(x0, x1)", RY_EXPR_fmod, 0}, {"mod(x0, x1)", RY_EXPR_mod, 0.5},
        {"min(x0, x1)", RY_EXPR_min, 0},   {"max(x0, x1)", RY_EXPR_max, 0},
    };
    enum { SQUARE = EXPR_SPECIALS * EXPR_SPECIALS, N = SQUARE + 100000 };
    static float a[N], b[N], y[N];
    const void *in[] = {a, b};
    const ry_shape shape = {1, {N}};
    gpu_kernel();
    for (int i = 0; i < N; i++) {
        const uint32_t r = (uint32_t)i * 2654435761u;
        a[i] = i < SQUARE ? expr_specials[i % EXPR_SPECIALS] : expr_float_of_bits(r);
        b[i] = i < SQUARE ? expr_specials[i / EXPR_SPECIALS]
                          : (float)((int)(r >> 7 & 0xffff) - 0x8000) / (i % 3 ? 256.0f : 8192.0f);
        b[i] = i % 5 ? b[i] : floorf(b[i]);
    }
    for (size_t f = 0; f < COUNT(pairs); f++) {
        evaluate(pairs[f].text, RY_f32, &shape, in, 2, &shape, y, NULL);
        for (int i = 0; i < N; i++) {
            const double truth = ry_expr_scalar_f64(pairs[f].code, (double)a[i], (double)b[i], 0);
            const bool zeros = truth == 0 && y[i] == 0.0f && pairs[f].bound == 0;
            if (!zeros && !(expr_ulps_f32((double)y[i], truth) <= pairs[f].bound)) {
                fail_msg("%s at %a, %a: %a instead of %a", pairs[f].text, (double)a[i],
                         (double)b[i], (double)y[i], truth);
            }
        }
    }
}

/* Sums of a million numbers, along every axis: the error is that of a short sum. */
static void sum_accuracy(void **state)
{
    (void)state;
    static const ry_shape shapes[] = {{1, {1000000}},    {2, {1000000, 1}}, {2, {10, 100000}},
                                      {2, {100000, 10}}, {2, {1000, 1000}}, {3, {1000, 5, 200}}};
    static const int axes[][3] = {{0, -1, -1}, {0, -1, -1}, {1, -1, -1},
                                  {0, -1, -1}, {0, -1, -1}, {0, 2, -1}};
    enum { N = 1000000 };
    static float x[N], y[100000];
    static double truth[100000];
    const void *in[] = {x};
    gpu_kernel();
    for (int i = 0; i < N; i++) {
        x[i] = (float)((uint32_t)i * 2654435761u >> 8) * 0x1p-24f;
    }
    for (size_t c = 0; c < COUNT(shapes); c++) {
        ry_shape out = shapes[c];
        int64_t index[RY_MAX_RANK] = {0}, at = 0;
        for (int i = 0; axes[c][i] >= 0; i++) {
            out.dim[axes[c][i]] = 1;
        }
        ry_tensor kept = ry_tensor_row_major(RY_f64, &out, NULL);
        for (int d = 0; d < out.rank; d++) {
            kept.stride[d] = out.dim[d] == 1 ? 0 : kept.stride[d];
        }
        memset(truth, 0, sizeof truth);
        do {
            truth[ry_index_offset(&kept, index)] += (double)x[at++];
        } while (ry_index_next(shapes[c].rank, shapes[c].dim, index));
        evaluate("sum(x0)", RY_f32, &shapes[c], in, 1, &out, y, axes[c]);
        for (int64_t i = 0; i < ry_shape_elements(&out); i++) {
            if (!(fabs((double)y[i] - truth[i]) <= 2e-7 * truth[i])) {
                fail_msg("case %zu, sum %d: %.9g instead of %.9g", c, (int)i, (double)y[i],
                         truth[i]);
            }
        }
    }
}

/* Odd shapes in every form and layout: vectors and their rests, rows, columns, slices. */
static void shapes(void **state)
{
    (void)state;
    static const char *const problems[] = {
        "expr x0=3x5x7:f32 x1=5x1:f32 y0=3x5x7:f32 program='y0 = x0 * x1 + 1'",
        "expr x0=1029:f32 x1=1:f32 y0=1029:bool program='y0 = x0 < x1'",
        "expr x0=2x3x8x4:i8 x1=3x1x1:i8 y0=2x3x8x4:i8 program='y0 = max(x0, x1)'",
        "expr x0=37x70000:f32 y0=37:f32 program='sum(x0 * x0)' axes=1 keepdims=0",
        "expr x0=70001x3:f32 y0=3:f32 program='max(x0)' axes=0 keepdims=0",
        "expr x0=9x33x10x11:f32 y0=1x33x1x1:f32 program='mean(x0)' axes=0,2,3",
        "expr x0=5x130:f32 y0=5x1:f32 y1=5x130:f32 program='y0 = sum(x0 * x0); y1 = x0 + 1' axes=1",
    };
    gpu_kernel();
    for (size_t i = 0; i < COUNT(problems); i++) {
        kernel_case c;
        kernel_case_parse(&c, problems[i]);
        c.forms = true;
        kernel_case_check(&c, "expr_gpu", 2e-6);
        kernel_case_end(&c);
    }
}

static float with_activation(ry_activation activation, float x)
{
    const double a = 0.2, b = 0.5, d = (double)x;
    const double bounded = fmin(fmax(d * a + b, 0), 1);
    switch (activation) {
    case RY_activation_relu: return (float)fmax(d, 0);
    case RY_activation_leaky_relu: return (float)(d < 0 ? d * a : d);
    case RY_activation_clip: return (float)fmin(fmax(d, a), b);
    case RY_activation_hard_sigmoid: return (float)bounded;
    case RY_activation_hard_swish: return (float)(d * bounded);
    case RY_activation_sigmoid: return (float)ry_expr_scalar_f64(RY_EXPR_sigmoid, d, 0, 0);
    case RY_activation_tanh: return (float)tanh(d);
    case RY_activation_silu: return (float)ry_expr_scalar_f64(RY_EXPR_silu, d, 0, 0);
    case RY_activation_gelu: return (float)ry_expr_scalar_f64(RY_EXPR_gelu, d, 0, 0);
    case RY_activation_gelu_tanh: return (float)ry_expr_scalar_f64(RY_EXPR_gelu_tanh, d, 0, 0);
    case RY_activation_mish: return (float)ry_expr_scalar_f64(RY_EXPR_mish, d, 0, 0);
    default: return x;
    }
}

/* y = activate(x), as a text of its own. */
static void run_activation(ry_activation activation, const float *x, float *y, int n)
{
    static const char *const entries[] = {"run"};
    ry_device *device = gpu_run_device();
    ry_stream *stream = NULL;
    ry_program program;
    ry_error error = {""};
    ry_arena arena;
    ry_pointer pointers[2] = {{0}};
    void *resolved[2];
    const size_t tasks = 1, bytes = (size_t)n * sizeof *x;
    const unsigned group = (unsigned)n;
    ry_arena_init(&arena, &ry_system_allocator);
    ry_text text = {.arena = &arena};
    ry_gpu_activation(&text, activation, 0.2f, 0.5f);
    ry_text_add(&text, "#define GROUP_OF_run %u\n", group);
    assert_false(text.failed);
    const ry_gpu_source source = {"activation", text.at,
                                  "KERNEL(run)(ARGUMENT(in0), ARGUMENT(out0))\n"
                                  "{ OUT(float, 0)[ITEM] = activate(IN(float, 0)[ITEM]); }\n",
                                  1, entries};
    if (device->table->program_create(device, &source, &program, &error) != RYND_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(device->table->stream_create(device, &stream, &error), RYND_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(device->table->buffer_create(device, bytes, &pointers[i].buffer, &error),
                         RYND_OK);
    }
    const ry_launch launch = {.program = program,
                              .phases = 1,
                              .tasks = &tasks,
                              .group = &group,
                              .argument_count = 2,
                              .arguments = pointers,
                              .resolved = resolved};
    assert_int_equal(device->table->upload(stream, pointers[0], x, bytes, &error), RYND_OK);
    assert_int_equal(device->table->launch(stream, &launch, &error), RYND_OK);
    assert_int_equal(device->table->download(stream, y, pointers[1], bytes, &error), RYND_OK);
    assert_int_equal(device->table->synchronize(stream, &error), RYND_OK);
    for (int i = 0; i < 2; i++) {
        device->table->buffer_destroy(device, pointers[i].buffer);
    }
    device->table->program_destroy(device, program);
    device->table->stream_destroy(device, stream);
    ry_arena_free(&arena);
}

/* Within 1e-6 of |x| or of the value. */
static void activations(void **state)
{
    (void)state;
    enum { N = 128 };
    float x[N], y[N];
    gpu_kernel();
    for (int i = 0; i < N; i++) {
        x[i] = i < EXPR_SPECIALS ? expr_specials[i] : (float)(i - N / 2) * 0.07f;
    }
    for (int a = 0; a < RY_activation_count; a++) {
        run_activation((ry_activation)a, x, y, N);
        for (int i = 0; i < N; i++) {
            const double wanted = (double)with_activation((ry_activation)a, x[i]);
            const double allowed = 1e-6 * fmax(fabs((double)x[i]), fabs(wanted)) + 0x1p-149;
            if (isfinite(x[i]) && !(fabs((double)y[i] - wanted) <= allowed)) {
                fail_msg("activation %d at %a: %a instead of %a", a, (double)x[i], (double)y[i],
                         wanted);
            }
            assert_true(!isnan(x[i]) || isnan(y[i]));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointwise),        cmocka_unit_test(reductions),
        cmocka_unit_test(large_reductions), cmocka_unit_test(casts),
        cmocka_unit_test(unary_f32),        cmocka_unit_test(conversions),
        cmocka_unit_test(binary_f32),       cmocka_unit_test(sum_accuracy),
        cmocka_unit_test(shapes),           cmocka_unit_test(activations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
