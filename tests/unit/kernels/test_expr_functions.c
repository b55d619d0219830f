/* SPDX-License-Identifier: Apache-2.0 */
/* Every function of the expression language against libm in double: dense sweeps of f32, special
 * values, all of f16 and bf16, f64; and reductions: accuracy, identities, NaN, integer means, the
 * same bits at any number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/threads.h"
#include "every_kernel.h"
#include "expr_bounds.h"
#include "expr_evaluation.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const kernel_names[] = {"expr_generic", "expr_neon", "expr_avx2", "expr_avx512"};
static const char *const near_names[] = {"expr_near_generic", "expr_near_neon", "expr_near_avx2",
                                         "expr_near_avx512"};

static const ry_kernel *kernel_of(size_t i)
{
    return expr_kernel(kernel_names[i]);
}

/* Every 4099th float of all of them: more than a million, odd so that all mantissas' ends occur.
 * Bounds are a little above what every 127th gives. */
enum { STEP = 4099, SWEEP = (int)(0x100000000 / STEP) };

static void unary_f32(void **state)
{
    (void)state;
    int64_t n = SWEEP + (int64_t)EXPR_SPECIALS;
    float *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)n * sizeof *y);
    double *truth = malloc((size_t)n * sizeof *truth);
    assert_true(x && y && truth);
    for (int64_t i = 0; i < n; i++) {
        x[i] = i < SWEEP ? expr_float_of_bits((uint32_t)i * STEP) : expr_specials[i - SWEEP];
    }
    for (size_t f = 0; f < EXPR_FUNCTIONS; f++) {
        for (int64_t i = 0; i < n; i++) {
            truth[i] = ry_expr_scalar_f64(expr_functions[f].code, (double)x[i], 0, 0);
        }
        for (size_t k = 0; k < COUNT(kernel_names); k++) {
            const ry_kernel *kernel = kernel_of(k);
            if (!kernel) {
                continue;
            }
            expr_map(kernel, expr_functions[f].text, RY_f32, n, x, NULL, RY_f32, y);
            for (int64_t i = 0; i < n; i++) {
                if (!(expr_ulps_f32((double)y[i], truth[i]) <= expr_functions[f].bound)) {
                    fail_msg("%s: %s at %a: %a instead of %a: %g ulp", kernel->name,
                             expr_functions[f].text, (double)x[i], (double)y[i], truth[i],
                             expr_ulps_f32((double)y[i], truth[i]));
                }
            }
        }
    }
    free(x);
    free(y);
    free(truth);
}

/* The class near32: wrong by at most 1e-6 of the function's scale, |x| for the gated ones; of the
 * same kind, and exactly 0 or 1 where f32 cannot tell. */
static void near_f32(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        ry_expr_code code;
        bool of_value; /* the scale is the value */
    } rows[] = {{"erf(x0)", RY_EXPR_erf, true},
                {"silu(x0)", RY_EXPR_silu, false},
                {"gelu(x0)", RY_EXPR_gelu, false},
                {"gelu_tanh(x0)", RY_EXPR_gelu_tanh, false}};
    int64_t n = SWEEP + (int64_t)EXPR_SPECIALS;
    float *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)n * sizeof *y);
    assert_true(x && y);
    for (int64_t i = 0; i < n; i++) {
        x[i] = i < SWEEP ? expr_float_of_bits((uint32_t)i * STEP) : expr_specials[i - SWEEP];
    }
    for (size_t k = 0; k < COUNT(rows) * COUNT(near_names); k++) {
        const ry_kernel *kernel = expr_kernel(near_names[k % COUNT(near_names)]);
        if (!kernel) {
            continue;
        }
        double sum = 0, squares = 0;
        expr_map(kernel, rows[k / COUNT(near_names)].text, RY_f32, n, x, NULL, RY_f32, y);
        for (int64_t i = 0; i < n; i++) {
            const double truth = ry_expr_scalar_f64(rows[k / COUNT(near_names)].code, (double)x[i],
                                                    0, 0),
                         got = (double)y[i];
            const double scale = rows[k / COUNT(near_names)].of_value ? fabs(truth)
                                                                      : fabs((double)x[i]),
                         error = fabs(got - truth);
            const bool same = isnan(truth)   ? isnan(got)
                              : isinf(truth) ? got == truth
                                             : error <= 1e-6 * scale + 0x1p-149;
            if (!same || (fabs((double)x[i]) > 30 && isfinite(truth) && fabs(truth) < 0x1p-149 &&
                          got != 0)) {
                fail_msg("%s: %s at %a: %a instead of %a", kernel->name,
                         rows[k / COUNT(near_names)].text, (double)x[i], got, truth);
            }
            if (fabs((double)x[i]) < 16) {
                sum += error * error;
                squares += truth * truth;
            }
        }
        assert_true(sqrt(sum / squares) <= 1e-6);
    }
    free(x);
    free(y);
}

static void class_chooses_the_text(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        ry_dtype dtype;
        bool near;
    } rows[] = {{"gelu(x0)", RY_f32, true},  {"gelu(x0)", RY_f16, true},
                {"gelu(x0)", RY_f64, false}, {"x0 * erf(-x0)", RY_f32, true},
                {"exp(x0)", RY_f32, false},  {"cast(x0 > 0, f32)", RY_f32, false}};
    const ry_kernel *kernel = every_kernel_find("expr_near_generic");
    const ry_shape shape = {1, {5}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        ry_arena arena;
        ry_error error = {""};
        ry_tensor x = ry_tensor_row_major(rows[i].dtype, &shape, NULL), y = x;
        ry_problem problem = {.op = RY_OP_expr,
                              .inputs = 1,
                              .outputs = 1,
                              .in = &x,
                              .out = &y,
                              .accuracy = RY_ACCURACY_near32};
        ry_arena_init(&arena, &ry_system_allocator);
        assert_int_equal(
            ry_expr_parse(rows[i].text, NULL, 0, &arena, &problem.attrs.expr.program, &error),
            RYND_OK);
        assert_int_equal(kernel->applicable(&problem), rows[i].near);
        assert_int_equal(every_kernel_first(&problem, RY_ISA_generic) == kernel, rows[i].near);
        problem.accuracy = RY_ACCURACY_strict;
        assert_ptr_not_equal(every_kernel_first(&problem, RY_ISA_generic), kernel);
        ry_arena_free(&arena);
    }
}

static void binary_f32(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        ry_expr_code code;
        double bound;
    } pairs[] = {
        {"pow(x0, x1)", RY_EXPR_pow, 0.51}, {"x0 / x1", RY_EXPR_div, 0.5},
        {"x0 * x1", RY_EXPR_mul, 0.5},      {"x0 + x1", RY_EXPR_add, 0.5},
        {"fmod(x0, x1)", RY_EXPR_fmod, 0},  {"mod(x0, x1)", RY_EXPR_mod, 0.5},
        {"min(x0, x1)", RY_EXPR_min, 0},    {"max(x0, x1)", RY_EXPR_max, 0},
    };
    int64_t square = (int64_t)(EXPR_SPECIALS * EXPR_SPECIALS), n = square + 300000;
    float *a = malloc((size_t)n * sizeof *a), *b = malloc((size_t)n * sizeof *b),
          *y = malloc((size_t)n * sizeof *y);
    assert_true(a && b && y);
    for (int64_t i = 0; i < n; i++) {
        uint32_t r = (uint32_t)i * 2654435761u;
        a[i] = i < square ? expr_specials[i % (int64_t)EXPR_SPECIALS] : expr_float_of_bits(r);
        b[i] = i < square ? expr_specials[i / (int64_t)EXPR_SPECIALS]
                          : (float)((int)(r >> 7 & 0xffff) - 0x8000) / (i % 3 ? 256.0f : 8192.0f);
        b[i] = i % 5 ? b[i] : floorf(b[i]);
    }
    for (size_t f = 0; f < COUNT(pairs); f++) {
        for (size_t k = 0; k < COUNT(kernel_names); k++) {
            const ry_kernel *kernel = kernel_of(k);
            if (!kernel) {
                continue;
            }
            expr_map(kernel, pairs[f].text, RY_f32, n, a, b, RY_f32, y);
            for (int64_t i = 0; i < n; i++) {
                double truth = ry_expr_scalar_f64(pairs[f].code, (double)a[i], (double)b[i], 0);
                /* either zero */
                bool zeros = truth == 0 && y[i] == 0.0f &&
                             (pairs[f].code == RY_EXPR_min || pairs[f].code == RY_EXPR_max);
                if (!zeros && !(expr_ulps_f32((double)y[i], truth) <= pairs[f].bound)) {
                    fail_msg("%s: %s at %a, %a: %a instead of %a", kernel->name, pairs[f].text,
                             (double)a[i], (double)b[i], (double)y[i], truth);
                }
            }
        }
    }
    free(a);
    free(b);
    free(y);
}

/* A literal in the place of a tensor: kernels have shorter ways for some of them. */
static void power_with_a_literal(void **state)
{
    (void)state;
    static const double literals[] = {-2, -1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5};
    enum { INTEGERS = 41 };
    float y[EXPR_SPECIALS];
    int32_t small[INTEGERS], product[INTEGERS];
    for (int i = 0; i < INTEGERS; i++) {
        small[i] = i - INTEGERS / 2;
    }
    for (size_t k = 0; k < COUNT(kernel_names) * COUNT(literals) * 2; k++) {
        const ry_kernel *kernel = kernel_of(k / 2 / COUNT(literals));
        const double literal = literals[k / 2 % COUNT(literals)];
        const bool base = k % 2;
        char text[64];
        if (!kernel) {
            continue;
        }
        snprintf(text, sizeof text, base ? "pow(%g, x0)" : "pow(x0, %g)", literal);
        expr_map(kernel, text, RY_f32, (int64_t)EXPR_SPECIALS, expr_specials, NULL, RY_f32, y);
        for (size_t i = 0; i < EXPR_SPECIALS; i++) {
            double x = (double)expr_specials[i],
                   truth =
                       ry_expr_scalar_f64(RY_EXPR_pow, base ? literal : x, base ? x : literal, 0);
            if (!(expr_ulps_f32((double)y[i], truth) <= 0.51)) {
                fail_msg("%s: %s at %a: %a instead of %a", kernel->name, text, x, (double)y[i],
                         truth);
            }
        }
        if (base || literal < 0 || literal != floor(literal)) {
            continue;
        }
        expr_map(kernel, text, RY_i32, INTEGERS, small, NULL, RY_i32, product);
        for (int i = 0; i < INTEGERS; i++) {
            assert_int_equal(product[i], (int32_t)pow(small[i], literal));
        }
    }
}

/* All values of the 16-bit floats: a function is the true value rounded, but for what f32 loses
 * before. */
static void half_floats(void **state)
{
    (void)state;
    static uint16_t x[65536], y[65536];
    for (int i = 0; i < 65536; i++) {
        x[i] = (uint16_t)i;
    }
    for (size_t f = 0; f < EXPR_FUNCTIONS; f++) {
        for (size_t k = 0; k < 2 * COUNT(kernel_names); k++) {
            const ry_kernel *kernel = kernel_of(k / 2);
            ry_dtype dtype = k % 2 ? RY_f16 : RY_bf16;
            if (!kernel) {
                continue;
            }
            expr_map(kernel, expr_functions[f].text, dtype, 65536, x, NULL, dtype, y);
            for (int i = 0; i < 65536; i++) {
                double truth = ry_expr_scalar_f64(expr_functions[f].code, ry_get_f64(dtype, x, i),
                                                  0, 0),
                       got = ry_get_f64(dtype, y, i);
                double error = dtype == RY_f16 ? expr_ulps(got, truth, 11, -13, 65504)
                                               : expr_ulps(got, truth, 8, FLT_MIN_EXP, 0x1.fep127);
                if (!(error <= 0.501)) {
                    fail_msg("%s: %s of %s at %g: %g instead of %g", kernel->name,
                             expr_functions[f].text, ry_dtype_name(dtype), ry_get_f64(dtype, x, i),
                             got, truth);
                }
            }
        }
    }
}

static void unary_f64(void **state)
{
    (void)state;
    enum { N = 20000 };
    static double x[N], y[N];
    for (int i = 0; i < N; i++) {
        x[i] = i < (int)EXPR_SPECIALS
                   ? (double)expr_specials[i]
                   : (double)expr_float_of_bits((uint32_t)i * 214747u) * 1.000000001;
    }
    for (size_t f = 0; f < EXPR_FUNCTIONS; f++) {
        for (size_t k = 0; k < COUNT(kernel_names); k++) {
            const ry_kernel *kernel = kernel_of(k);
            if (!kernel) {
                continue;
            }
            expr_map(kernel, expr_functions[f].text, RY_f64, N, x, NULL, RY_f64, y);
            for (int i = 0; i < N; i++) {
                double truth = ry_expr_scalar_f64(expr_functions[f].code, x[i], 0, 0);
                /* what 1 + tanh cancels below 0 depends on whether a compiler joins the product and
                 * the sum before it */
                const bool cancels = expr_functions[f].code == RY_EXPR_gelu_tanh &&
                                     fabs(y[i] - truth) <= 4 * DBL_EPSILON * fabs(x[i]);
                if (!cancels &&
                    !(expr_ulps(y[i], truth, DBL_MANT_DIG, DBL_MIN_EXP, DBL_MAX) <= 2)) {
                    fail_msg("%s: %s in f64 at %a: %a instead of %a", kernel->name,
                             expr_functions[f].text, x[i], y[i], truth);
                }
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
    float *x = malloc(N * sizeof *x);
    static float y[100000];
    assert_non_null(x);
    for (int i = 0; i < N; i++) {
        x[i] = (float)((uint32_t)i * 2654435761u >> 8) * 0x1p-24f;
    }
    for (size_t c = 0; c < COUNT(shapes); c++) {
        for (size_t k = 0; k < COUNT(kernel_names); k++) {
            const ry_kernel *kernel = kernel_of(k);
            ry_shape out = shapes[c];
            static double truth[100000];
            int64_t index[RY_MAX_RANK] = {0}, at = 0;
            const void *in[1] = {x};
            for (int i = 0; axes[c][i] >= 0; i++) {
                out.dim[axes[c][i]] = 1;
            }
            if (!kernel) {
                continue;
            }
            ry_tensor kept = ry_tensor_row_major(RY_f64, &out, NULL);
            for (int d = 0; d < out.rank; d++) {
                kept.stride[d] = out.dim[d] == 1 ? 0 : kept.stride[d];
            }
            memset(truth, 0, sizeof truth);
            do {
                truth[ry_index_offset(&kept, index)] += (double)x[at++];
            } while (ry_index_next(shapes[c].rank, shapes[c].dim, index));
            expr_evaluate(&(expr_evaluation){kernel, "sum(x0)", RY_f32, &shapes[c], in, 1, &out,
                                             RY_f32, y, axes[c], 1});
            for (int64_t i = 0; i < ry_shape_elements(&out); i++) {
                if (fabs((double)y[i] - truth[i]) > 2e-7 * truth[i]) {
                    fail_msg("%s: case %zu, sum %d: %.9g instead of %.9g", kernel->name, c, (int)i,
                             (double)y[i], truth[i]);
                }
            }
        }
    }
    free(x);
}

static void same_bits(void **state)
{
    (void)state;
    static const ry_shape shapes[] = {
        {1, {300000}}, {2, {3000, 100}}, {2, {100, 3000}}, {2, {150000, 2}}};
    static const unsigned threads[] = {1, 2, 3, 7};
    float *x = malloc(300000 * sizeof *x);
    assert_non_null(x);
    for (int i = 0; i < 300000; i++) {
        x[i] = sinf((float)i) * (float)(i % 77);
    }
    for (size_t c = 0; c < COUNT(shapes); c++) {
        for (size_t k = 0; k < COUNT(kernel_names); k++) {
            static float first[3000], y[3000];
            ry_shape out = shapes[c];
            const int axes[] = {0, -1};
            const void *in[1] = {x};
            out.dim[0] = 1;
            for (size_t t = 0; t < COUNT(threads) && kernel_of(k); t++) {
                memset(y, 0, sizeof y);
                expr_evaluate(&(expr_evaluation){kernel_of(k), "mean(x0 * x0 - 3)", RY_f32,
                                                 &shapes[c], in, 1, &out, RY_f32, y, axes,
                                                 threads[t]});
                memcpy(t == 0 ? first : y, y, sizeof y);
                assert_memory_equal(first, y, (size_t)ry_shape_elements(&out) * sizeof *y);
            }
        }
    }
    free(x);
}

/* Reductions of zero elements, and of NaN. */
static void identities(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        ry_dtype dtype;
        double value;
    } cases[] = {
        {"sum(x0)", RY_f32, 0},           {"prod(x0)", RY_f32, 1},
        {"min(x0)", RY_f32, INFINITY},    {"max(x0)", RY_f32, -INFINITY},
        {"mean(x0)", RY_f32, NAN},        {"min(x0)", RY_i8, 127},
        {"max(x0)", RY_i8, -128},         {"max(x0)", RY_u16, 0},
        {"min(x0)", RY_i32, 2147483647.}, {"max(x0)", RY_i32, -0x1p31},
        {"mean(x0)", RY_i32, 0},          {"sum(x0)", RY_u8, 0},
        {"prod(x0)", RY_i64, 1},          {"min(x0)", RY_bool, 1},
        {"max(x0)", RY_bool, 0},          {"min(x0)", RY_f16, INFINITY},
        {"mean(x0) + 1", RY_f64, NAN},    {"sum(x0) + 2", RY_bf16, 2},
        {"max(x0)", RY_f64, -INFINITY},
    };
    static const ry_shape empty[] = {{2, {3, 0}}, {2, {0, 3}}, {3, {3, 0, 5}}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        for (size_t s = 0; s < COUNT(empty); s++) {
            for (size_t k = 0; k <= COUNT(kernel_names); k++) {
                const ry_kernel *kernel =
                    k < COUNT(kernel_names) ? kernel_of(k) : every_kernel_find("expr_ref");
                const int axes[] = {s == 1 ? 0 : 1, -1};
                ry_shape out = empty[s];
                double y[16] = {0}, none = 0;
                const void *in[1] = {&none};
                out.dim[axes[0]] = 1;
                if (!kernel) {
                    continue;
                }
                expr_evaluate(&(expr_evaluation){kernel, cases[i].text, cases[i].dtype, &empty[s],
                                                 in, 1, &out, cases[i].dtype, y, axes, 1});
                for (int64_t e = 0; e < ry_shape_elements(&out); e++) {
                    double got = ry_get_f64(cases[i].dtype, y, e);
                    if (got != cases[i].value && !(isnan(got) && isnan(cases[i].value))) {
                        fail_msg("%s: empty %s of %s: %g instead of %g", kernel->name,
                                 cases[i].text, ry_dtype_name(cases[i].dtype), got, cases[i].value);
                    }
                }
            }
        }
    }
}

static void nan_and_means(void **state)
{
    (void)state;
    enum { N = 1000 };
    static float x[N];
    static int32_t v[N];
    static const char *const texts[] = {"min(x0)", "max(x0)", "sum(x0)", "mean(x0)", "prod(x0)"};
    static const ry_shape shapes[] = {{1, {N}}, {2, {N / 4, 4}}}, outs[] = {{1, {1}}, {2, {1, 4}}};
    const int axes[] = {0, -1};
    for (int place = 0; place < N; place += 37) {
        for (int i = 0; i < N; i++) {
            x[i] = i == place ? (float)NAN : 1.0f;
            v[i] = i % 3 - 2; /* -2 -1 0 */
        }
        for (size_t k = 0; k < 2 * COUNT(kernel_names); k++) {
            const ry_kernel *kernel = kernel_of(k / 2);
            const ry_shape *shape = &shapes[k % 2], *out = &outs[k % 2];
            const void *in[1] = {x}, *ints[1] = {v};
            if (!kernel) {
                continue;
            }
            for (size_t t = 0; t < COUNT(texts); t++) {
                float y[4];
                expr_evaluate(&(expr_evaluation){kernel, texts[t], RY_f32, shape, in, 1, out,
                                                 RY_f32, y, axes, 1});
                assert_true(isnan(y[k % 2 ? place % 4 : 0]));
                assert_true(k % 2 == 0 || !isnan(y[(place + 1) % 4]));
            }
            int32_t mean[4];
            expr_evaluate(&(expr_evaluation){kernel, "mean(x0)", RY_i32, shape, ints, 1, out,
                                             RY_i32, mean, axes, 1});
            assert_int_equal(mean[0], -1); /* -1001 / 1000 and -251 / 250 */
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unary_f32),
        cmocka_unit_test(near_f32),
        cmocka_unit_test(class_chooses_the_text),
        cmocka_unit_test(binary_f32),
        cmocka_unit_test(power_with_a_literal),
        cmocka_unit_test(half_floats),
        cmocka_unit_test(unary_f64),
        cmocka_unit_test(sum_accuracy),
        cmocka_unit_test(same_bits),
        cmocka_unit_test(identities),
        cmocka_unit_test(nan_and_means),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
