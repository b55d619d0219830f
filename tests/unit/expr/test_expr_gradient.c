/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of pointwise programs: as short as by hand, right where the function is smooth, and
 * PyTorch's where it is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "expr/expr.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static ry_arena arena;
static ry_error error;

static int setup(void **state)
{
    (void)state;
    ry_arena_init(&arena, &ry_system_allocator);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ry_arena_free(&arena);
    return 0;
}

static const ry_expr *parse(const char *text)
{
    const ry_expr *program = NULL;
    if (ry_expr_parse(text, NULL, 0, &arena, &program, &error) != RYND_OK) {
        fail_msg("%s: %s", text, error.text);
    }
    return program;
}

/* Of every input of f64; known: outputs may be read. */
static const ry_expr *gradient_of(const char *text, bool known, int *at)
{
    const ry_expr *program = parse(text), *gradient = NULL;
    ry_dtype types[RY_EXPR_MAX_INPUTS];
    bool all[RY_EXPR_MAX_INPUTS];
    for (int i = 0; i < RY_EXPR_MAX_INPUTS; i++) {
        types[i] = RY_f64;
        all[i] = true;
    }
    const ry_expr_gradient_options options = {types, all, NULL, known ? all : NULL};
    if (ry_expr_gradient(program, &options, &arena, &gradient, at, &error) != RYND_OK) {
        fail_msg("%s: %s", text, error.text);
    }
    return gradient;
}

/* x1 (or the input behind the last) is the gradient of y0; the one after it, y0. */
static void is_as_short_as_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *text, *gradient;
        bool known;
    } cases[] = {
        {"x0 * 2 + 1", "x1 * 2", false},
        {"x0 * x0", "x0 * x1 * 2", false},
        {"pow(x0, 2)", "x1 * (x0 * 2)", false},
        {"pow(x0, 3)", "x1 * (x0 * x0 * 3)", false},
        {"-(3 - x0)", "x1", false},
        {"max(x0, 0)", "select(x0 <= 0, 0, x1)", false},
        {"max(x0, 0)", "select(x2 <= 0, 0, x1)", true},
        {"min(max(x0, 0), 6)", "select(x2 <= 0, 0, select(x2 >= 6, 0, x1))", true},
        {"max(min(x0, 6), 0)", "select(x2 >= 6, 0, select(x2 <= 0, 0, x1))", true},
        {"min(max(x0, -1), 2)", "select(x0 >= -1, select(max(x0, -1) <= 2, x1, 0), 0)", false},
        {"select(x0 < 0, x0 * 0.1, x0)", "select(x0 <= 0, x1 * 0.1, x1)", false},
        {"sigmoid(x0)", "x1 * (x2 * (1 - x2))", true},
        {"tanh(x0)", "x1 * (1 - x2 * x2)", true},
        {"exp(x0)", "x1 * x2", true},
        {"sqrt(x0)", "x1 / (x2 * 2)", true},
        {"silu(x0)", "t0 = sigmoid(x0); y0 = x1 * (t0 * (x0 * (1 - t0) + 1))", true},
        {"x0 * min(max(x0 * 0.25 + 0.5, 0), 1)",
         "t0 = x0 * 0.25 + 0.5; t1 = max(t0, 0); y0 = x1 * min(t1, 1) + "
         "select(t0 <= 0, 0, select(t1 >= 1, 0, x0 * x1) * 0.25)",
         true},
        {"x0 - floor(x0)", "x1", false},
        {"cast(x0, f32) * 2", "cast(x1 * 2, f64)", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int at[RY_EXPR_MAX_INPUTS];
        const ry_expr *gradient = gradient_of(cases[i].text, cases[i].known, at);
        assert_non_null(gradient);
        const ry_expr *expected = parse(cases[i].gradient);
        int map[RY_EXPR_MAX_INPUTS];
        for (int k = 0; k < expected->inputs; k++) {
            map[k] = k;
        }
        assert_int_equal(ry_expr_rename(expected, map, gradient->inputs, &arena, &expected, &error),
                         RYND_OK);
        if (!ry_expr_equal(gradient, expected)) {
            fail_msg("the gradient of %s is %s, not %s", cases[i].text,
                     ry_expr_print(gradient, &arena), cases[i].gradient);
        }
    }
}

/* In f64, without any kernel. */
static void evaluate(const ry_expr *program, const double *x, double *y)
{
    double value[RY_EXPR_MAX_INSTRUCTIONS];
    for (int i = 0; i < program->count; i++) {
        const ry_expr_instruction *in = &program->code[i];
        double operand[3] = {0, 0, 0};
        for (int k = 0; k < ry_expr_code_operands(in->code); k++) {
            operand[k] = value[in->operand[k]];
        }
        switch (in->code) {
        case RY_EXPR_input: value[i] = x[in->index]; break;
        case RY_EXPR_constant: value[i] = in->value; break;
        case RY_EXPR_cast: value[i] = in->dtype == RY_bool ? operand[0] != 0 : operand[0]; break;
        default: value[i] = ry_expr_scalar_f64(in->code, operand[0], operand[1], operand[2]);
        }
    }
    for (int o = 0; o < program->outputs; o++) {
        y[o] = value[program->result[o]];
    }
}

/* Differences of 1 / 2^17: their error is about the step's square beside f64's over the step. */
static void check_differences(const char *text, const double *point, bool known)
{
    enum { MAX = 4 };
    const double step = 0x1p-17;
    int at[RY_EXPR_MAX_INPUTS];
    const ry_expr *program = parse(text), *gradient = gradient_of(text, known, at);
    double x[3 * MAX] = {0}, y[MAX], dx[RY_EXPR_MAX_OUTPUTS] = {0};
    assert_true(program->inputs <= MAX && program->outputs <= MAX);
    memcpy(x, point, (size_t)program->inputs * sizeof *x);
    evaluate(program, x, y);
    for (int o = 0; o < program->outputs; o++) {
        x[program->inputs + o] = 0.75 + o;
        x[program->inputs + program->outputs + o] = known ? y[o] : (double)NAN;
    }
    if (gradient) {
        evaluate(gradient, x, dx);
    }
    for (int i = 0; i < program->inputs; i++) {
        double above[MAX], below[MAX], expected = 0, got = at[i] < 0 ? 0 : dx[at[i]];
        memcpy(x, point, (size_t)program->inputs * sizeof *x);
        x[i] = point[i] + step;
        evaluate(program, x, above);
        x[i] = point[i] - step;
        evaluate(program, x, below);
        for (int o = 0; o < program->outputs; o++) {
            expected += (0.75 + o) * (above[o] - below[o]) / (2 * step);
        }
        if (!(fabs(got - expected) <= 1e-8 * (1 + fabs(expected)))) {
            fail_msg("%s at %g, %g: the gradient of x%d is %.12g, differences say %.12g (%s)", text,
                     point[0], point[1], i, got, expected,
                     gradient ? ry_expr_print(gradient, &arena) : "0");
        }
    }
}

/* Where a function of the list is smooth. */
static void point_of(ry_expr_code code, int round, double *x)
{
    static const double anywhere[][3] = {{0.3, 1.7, 0.4}, {-1.2, 0.7, 2.5}, {2.3, -0.7, -1.4}};
    static const double inside[][3] = {{0.3, 0.7, 0}, {-0.6, 0.9, 0}, {0.85, 0.2, 0}};
    static const double above[][3] = {{1.3, 1.7, 0}, {2.6, -0.6, 0}, {4.5, 3.25, 0}};
    const double(*list)[3] = anywhere;
    switch (code) {
    case RY_EXPR_asin:
    case RY_EXPR_acos:
    case RY_EXPR_atanh: list = inside; break;
    case RY_EXPR_pow:
    case RY_EXPR_sqrt:
    case RY_EXPR_log:
    case RY_EXPR_log1p:
    case RY_EXPR_acosh: list = above; break;
    default: break;
    }
    memcpy(x, list[round], 3 * sizeof *x);
}

/* Every function of floats has a row, and its gradient is that of differences, whether or not it
 * may read the result. */
static void every_function(void **state)
{
    (void)state;
    int functions = 0;
    for (int code = RY_EXPR_saturate + 1; code < RY_EXPR_CODES; code++) {
        const ry_expr_class class = ry_expr_code_class((ry_expr_code)code);
        const bool smooth = class == RY_EXPR_CLASS_SAME || class == RY_EXPR_CLASS_FLOAT;
        const bool has_row = ry_expr_code_gradient((ry_expr_code)code) != NULL;
        assert_int_equal(has_row, smooth || class == RY_EXPR_CLASS_SELECT);
        if (!smooth) {
            continue;
        }
        const char *name = ry_expr_code_name((ry_expr_code)code);
        char text[128];
        const char *sign = code == RY_EXPR_add   ? "+"
                           : code == RY_EXPR_sub ? "-"
                           : code == RY_EXPR_mul ? "*"
                                                 : "/";
        if (code == RY_EXPR_add || code == RY_EXPR_sub || code == RY_EXPR_mul ||
            code == RY_EXPR_div) {
            snprintf(text, sizeof text, "y0 = x0 %s x1; y1 = x0", sign);
        } else if (ry_expr_code_operands((ry_expr_code)code) == 2) {
            snprintf(text, sizeof text, "y0 = %s(x0, x1); y1 = y0 * x1", name);
        } else {
            snprintf(text, sizeof text, "y0 = %s(x0); y1 = y0 * x1", name);
        }
        for (int round = 0; round < 3; round++) {
            double x[3];
            point_of((ry_expr_code)code, round, x);
            check_differences(text, x, false);
            check_differences(text, x, true);
        }
        functions++;
    }
    assert_true(functions >= 36);
}

static void composed(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "select(x0 < x1, x0 * x1, x1 / x0)",
        "y0 = x0 * x1; y1 = y0 * y0 + x2; y2 = exp(y1 * 0.1)",
        "max(x0, x1) * min(x0, x2)",
        "max(x0, 0) + min(0, 0.7 * expm1(x0 / 0.7)) + x1",
        "x0 * min(max(x0 / 6 + 0.5, 0), 1)",
        "0.5 * x0 * (1 + erf(x0 / sqrt(2))) * tanh(x1)",
        "pow(x1 * x1 + 1, x0)",
        "fmod(x0 * 3, x1) + mod(x0 * 3, x1) + reciprocal(x2)",
        "select(x0 > 0.5, x0, 0) * select(x1 > 0, 0, x2)",
        "abs(x0 - x1) * sign(x2) + sin(x0) / cos(x1)",
        "-(x0 * -x1) - -(x2 / -3)",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        for (int round = 0; round < 3; round++) {
            double x[3];
            point_of(RY_EXPR_add, round, x);
            check_differences(texts[i], x, false);
            check_differences(texts[i], x, true);
        }
    }
}

/* Where functions have no derivative: what PyTorch gives. */
static void edges_are_those_of_pytorch(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double x[2], dx[2]; /* the gradient of y0 is 1 */
    } cases[] = {
        {"abs(x0)", {0}, {0}},
        {"max(x0, 0)", {0}, {0}},
        {"max(x0, 0)", {1}, {1}},
        {"max(x0, 2)", {2}, {1}},
        {"min(x0, 2)", {2}, {1}},
        {"min(max(x0, 0), 6)", {0}, {0}},
        {"min(max(x0, 0), 6)", {6}, {0}},
        {"min(max(x0, 0), 6)", {5}, {1}},
        {"max(min(x0, 6), 0)", {6}, {0}},
        {"min(max(x0, -1), 1)", {1}, {1}},
        {"min(max(x0, -1), 1)", {-1}, {1}},
        {"max(x0, x1)", {3, 3}, {0.5, 0.5}},
        {"min(x0, x1)", {3, 3}, {0.5, 0.5}},
        {"max(x0, x1)", {3, 2}, {1, 0}},
        {"min(x0, x1)", {3, 2}, {0, 1}},
        {"pow(x0, x1)", {0, 0}, {0, 0}},
        {"pow(x0, x1)", {0, 2}, {0, 0}},
        {"pow(x0, x1)", {-2, 2}, {-4, NAN}},
        {"pow(x0, 0)", {0}, {0}},
        {"pow(x0, 1)", {0}, {1}},
        {"sqrt(x0)", {0}, {INFINITY}},
        {"select(x0 < 0, x0 * 0.25, x0)", {0}, {0.25}},
        {"select(x0 < 0, x0 * x1, x0)", {0, 3}, {3, 0}},
        {"select(x0 < 0, 2 * expm1(x0), x0)", {0}, {2}},
        {"select(x0 < 0, expm1(x0), x0)", {0}, {1}},
        {"select(x0 < 0, 7, x0)", {0}, {1}},
        {"select(x0 < x1, x0 * 2, x0)", {0, 0}, {1, 0}},
        {"sign(x0)", {0}, {0}},
        {"round(x0)", {0.5}, {0}},
        {"select(x0 > 0, x0, x1)", {0, 5}, {0, 1}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int at[RY_EXPR_MAX_INPUTS];
        const ry_expr *program = parse(cases[i].text);
        const ry_expr *gradient = gradient_of(cases[i].text, false, at);
        double x[4] = {cases[i].x[0], cases[i].x[1], 0, 0}, y[2] = {0, 0};
        x[program->inputs] = 1;
        if (gradient) {
            evaluate(gradient, x, y);
        }
        for (int k = 0; k < program->inputs; k++) {
            const double got = at[k] < 0 ? 0 : y[at[k]];
            if (got != cases[i].dx[k] && !(isnan(got) && isnan(cases[i].dx[k]))) {
                fail_msg("%s at %g, %g: the gradient of x%d is %g, not %g", cases[i].text, x[0],
                         x[1], k, got, cases[i].dx[k]);
            }
        }
    }
}

/* What has no gradient says so, and what is not asked for is not made. */
static void nothing_where_there_is_none(void **state)
{
    (void)state;
    int at[RY_EXPR_MAX_INPUTS];
    assert_null(gradient_of("floor(x0) + sign(x1)", false, at));
    assert_int_equal(at[0], -1);
    assert_null(gradient_of("cast(cast(x0, i32), f64)", false, at));
    const ry_expr *program = parse("x0 * x1"), *gradient;
    const ry_dtype mixed[] = {RY_f32, RY_f32}, whole[] = {RY_i32, RY_i32};
    const bool second[] = {false, true};
    ry_expr_gradient_options options = {.inputs = mixed, .wanted = second};
    assert_int_equal(ry_expr_gradient(program, &options, &arena, &gradient, at, &error), RYND_OK);
    assert_int_equal(at[0], -1);
    assert_int_equal(at[1], 0);
    assert_int_equal(gradient->outputs, 1);
    options.inputs = whole;
    assert_int_equal(ry_expr_gradient(program, &options, &arena, &gradient, at, &error), RYND_OK);
    assert_null(gradient);
    assert_int_equal(ry_expr_gradient(parse("sum(x0)"), &options, &arena, &gradient, at, &error),
                     RYND_ERROR_UNSUPPORTED);
}

/* A long program is derived, or refused with a message: never in more than the bound. */
static void long_programs(void **state)
{
    (void)state;
    char text[16384] = "y0 = x0";
    size_t used = strlen(text);
    for (int i = 0; i < 200; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "; y%d = max(y%d * %d.5, 0)",
                                 i % 60 + 1, i % 60, i + 1);
        if (i == 59) {
            break;
        }
    }
    int at[RY_EXPR_MAX_INPUTS];
    assert_non_null(gradient_of(text, false, at));
    snprintf(text, sizeof text, "t0 = x0");
    used = strlen(text);
    for (int i = 0; i < 300; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "; t%d = mish(t%d)", i + 1, i);
    }
    snprintf(text + used, sizeof text - used, "; y0 = t300");
    const ry_dtype type = RY_f32;
    const bool wanted = true;
    const ry_expr *gradient;
    assert_int_equal(ry_expr_gradient(parse(text),
                                      &(ry_expr_gradient_options){&type, &wanted, NULL, NULL},
                                      &arena, &gradient, at, &error),
                     RYND_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "instructions"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(is_as_short_as_by_hand, setup, teardown),
        cmocka_unit_test_setup_teardown(every_function, setup, teardown),
        cmocka_unit_test_setup_teardown(composed, setup, teardown),
        cmocka_unit_test_setup_teardown(edges_are_those_of_pytorch, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_where_there_is_none, setup, teardown),
        cmocka_unit_test_setup_teardown(long_programs, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
