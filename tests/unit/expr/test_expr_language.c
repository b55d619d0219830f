/* SPDX-License-Identifier: Apache-2.0 */
/* The expression language: parsing, printing, composing, matching, types. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "expr/expr.h"
#include "problem/attrs.h"

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

/* Texts and how they print: canonical order, folded constants, names for what is used twice. */
static void prints(void **state)
{
    (void)state;
    static const struct {
        const char *text, *printed;
    } cases[] = {
        {"max(x0*2+1, 0)", "max(x0 * 2 + 1, 0)"},
        {"y0 = 0.5 * x0 * (1 + erf(x0 * 0.7071067811865476))",
         "(erf(x0 * 0.7071067811865476) + 1) * (x0 * 0.5)"},
        {"x1 + x0", "x0 + x1"},
        {"x1 - x0", "x1 - x0"},
        {"x0 - (x1 - x2)", "x0 - (x1 - x2)"},
        {"x0 - x1 - x2", "x0 - x1 - x2"},
        {"x0 / (x1 * x2)", "x0 / (x1 * x2)"},
        {"-x0 * -(x1 + 2)", "-x0 * -(x1 + 2)"},
        {"!(x0 < 1) & x1 != 2 | x2 >= 3 ^ x3 <= 4", "x1 != 2 & !(x0 < 1) | x3 <= 4 ^ x2 >= 3"},
        {"min(x0)", "min(x0)"},
        {"min(x0, x1, 3)", "min(min(x0, x1), 3)"},
        {"t = x0 - x1; y0 = sqrt(sum(t * t)); y1 = max(t)",
         "t0 = x0 - x1; y0 = sqrt(sum(t0 * t0)); y1 = max(t0)"},
        {"y1 = x0; y0 = x1", "y0 = x1; y1 = x0"},
        {"cast(x0 >= x1, i32)", "cast(x0 >= x1, i32)"},
        {"saturate(x0 / 3e-2, u8)", "saturate(x0 / 0.03, u8)"},
        {"select(x0 < 0, x0 * (1/4), x0)", "select(x0 < 0, x0 * 0.25, x0)"},
        {"exp(0) * x0 + log(1)", "x0 * 1 + 0"},
        {"x0 * -inf + nan", "x0 * -inf + nan"},
        {"shift_left(x0, 1) + bit_and(x0, bit_or(5, 2))", "bit_and(x0, 7) + shift_left(x0, 1)"},
        {"1 < 2", "cast(1, bool)"},
        {"x0 * 1e300 * 1e-300 + .5 + 1E+2", "x0 * 1e+300 * 1e-300 + 0.5 + 100"},
        {"x0 == -0", "x0 == -0"},
        {"t = x5; y0 = x1", "unused = x5; y0 = x1"},
        {"t = x1; y0 = x1; y1 = 2", "y0 = x1; y1 = 2"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const ry_expr *program = parse(cases[i].text);
        const char *printed = ry_expr_print(program, &arena);
        assert_string_equal(printed, cases[i].printed);
        const ry_expr *again = parse(printed);
        assert_true(ry_expr_equal(program, again));
        assert_true(program->hash == again->hash);
    }
}

static void structure(void **state)
{
    (void)state;
    const ry_expr *program = parse("y0 = (x0 + x1) * (x1 + x0); y1 = mean(x0 + x1) * 2; y2 = 3");
    assert_int_equal(program->inputs, 2);
    assert_int_equal(program->outputs, 3);
    assert_int_equal(program->count, 8); /* x0 x1 add mul mean 2 mul 3 */
    assert_true(program->reduces);
    assert_false(program->reduced[program->result[0]]);
    assert_true(program->reduced[program->result[1]]);
    assert_false(program->reduced[program->result[2]]);
    assert_false(ry_expr_equal(parse("x0 + x1"), parse("x0 - x1")));
    assert_false(ry_expr_equal(parse("x0 + 1"), parse("x0 + 2")));
    const ry_expr_parameter numbers[] = {{"alpha", 2}, {"beta", 0.5}};
    const ry_expr *bound = NULL;
    assert_int_equal(ry_expr_parse("alpha * x0 + beta", numbers, 2, &arena, &bound, &error),
                     RYND_OK);
    assert_true(ry_expr_equal(bound, parse("x0 * 2 + 0.5")));
}

static void refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "expected a term at the end"},
        {"x0 +", "column 5: expected a term"},
        {"max(x0,", "column 8: expected a term"},
        {"x0 x1", "column 4: expected ';'"},
        {"foo(x0)", "column 1: unknown function"},
        {"1 + foo", "column 5: unknown name"},
        {"exp(x0, x1)", "column 7: expected ')'"},
        {"pow(x0)", "expected ','"},
        {"cast(x0, int)", "column 10: unknown element type"},
        {"saturate(x0, f32)", "integer type"},
        {"x0 - mean(x0)", "column 4: a reduced and an unreduced"},
        {"sum(max(x0))", "reduction of a reduced"},
        {"y1 = x0", "y0 is missing"},
        {"t = x0", "no output"},
        {"y0 = x0; y0 = x1", "column 10: the name is taken"},
        {"x1 = x0", "the name is taken"},
        {"y0 = x0; x1", "expected 'name ='"},
        {"x256", "too many inputs"},
        {"x01", "unknown name"},
        {"y64 = x0", "too many outputs"},
        {"x0 + 1e", "not a number"},
        {"x0 + 1.2.3", "not a number"},
        {"x0 $ 2", "column 4"},
        {"x0 = = 2", "expected a term"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const ry_expr *program = NULL;
        rynd_status status = ry_expr_parse(cases[i].text, NULL, 0, &arena, &program, &error);
        assert_int_not_equal(status, RYND_OK);
        assert_null(program);
        if (!strstr(error.text, cases[i].message)) {
            fail_msg("'%s': expected '%s' in '%s'", cases[i].text, cases[i].message, error.text);
        }
    }
}

static void bounded(void **state)
{
    (void)state;
    static char text[70000];
    const ry_expr *program = NULL;
    memset(text, '(', 5000);
    text[5000] = 0;
    assert_int_not_equal(ry_expr_parse(text, NULL, 0, &arena, &program, &error), RYND_OK);
    assert_non_null(strstr(error.text, "nested too deeply"));
    memset(text, '-', 60000);
    text[60000] = 0;
    assert_int_not_equal(ry_expr_parse(text, NULL, 0, &arena, &program, &error), RYND_OK);
    memset(text, '1', 69999);
    assert_int_not_equal(ry_expr_parse(text, NULL, 0, &arena, &program, &error), RYND_OK);
    size_t used = (size_t)sprintf(text, "x0");
    for (int i = 0; i < 2000; i++) {
        used += (size_t)sprintf(text + used, " + %d", i);
    }
    assert_int_not_equal(ry_expr_parse(text, NULL, 0, &arena, &program, &error), RYND_OK);
    assert_non_null(strstr(error.text, "too many instructions"));
}

/* A program deeper than any text may be still prints and parses back. */
static void deep(void **state)
{
    (void)state;
    const ry_expr *step = parse("exp(x0 + 1)"), *program = step;
    for (int i = 0; i < 300; i++) {
        assert_int_equal(ry_expr_compose(step, 0, program, 0, &arena, &program, &error), RYND_OK);
    }
    const char *text = ry_expr_print(program, &arena);
    assert_non_null(text);
    assert_true(ry_expr_equal(program, parse(text)));
    rynd_status status = RYND_OK;
    for (int i = 0; i < 300 && status == RYND_OK; i++) {
        status = ry_expr_compose(step, 0, program, 0, &arena, &program, &error);
    }
    assert_int_equal(status, RYND_ERROR_UNSUPPORTED);
    assert_null(program);
}

static void composes(void **state)
{
    (void)state;
    const ry_expr *program;
    assert_int_equal(
        ry_expr_compose(parse("x0 * x1"), 1, parse("sigmoid(x0)"), 0, &arena, &program, &error),
        RYND_OK);
    assert_true(ry_expr_equal(program, parse("x0 * sigmoid(x1)")));
    assert_int_equal(ry_expr_compose(parse("x0 - x1"), 0, parse("y0 = x0; y1 = x0 * x1"), 1, &arena,
                                     &program, &error),
                     RYND_OK);
    assert_true(ry_expr_equal(program, parse("x1 * x2 - x0")));
    assert_int_equal(
        ry_expr_compose(parse("sum(x0)"), 0, parse("x0 * x0"), 0, &arena, &program, &error),
        RYND_OK);
    assert_true(ry_expr_equal(program, parse("sum(x0 * x0)")));
    assert_int_equal(
        ry_expr_compose(parse("sqrt(x0)"), 0, parse("sum(x0)"), 0, &arena, &program, &error),
        RYND_ERROR_UNSUPPORTED);
    assert_int_equal(
        ry_expr_compose(parse("sqrt(x0)"), 1, parse("x0"), 0, &arena, &program, &error),
        RYND_ERROR_ARGUMENT);
    const int same[] = {0, 0}, swapped[] = {1, 0}, outside[] = {0, 2};
    assert_int_equal(ry_expr_rename(parse("x0 * sigmoid(x1)"), same, 1, &arena, &program, &error),
                     RYND_OK);
    assert_true(ry_expr_equal(program, parse("x0 * sigmoid(x0)")));
    assert_int_equal(ry_expr_rename(parse("x0 + x1 * 2"), swapped, 2, &arena, &program, &error),
                     RYND_OK);
    assert_true(ry_expr_equal(program, parse("x1 + x0 * 2")));
    assert_int_equal(ry_expr_rename(parse("x0 + x1"), outside, 2, &arena, &program, &error),
                     RYND_ERROR_ARGUMENT);
}

static bool is_like(const ry_expr *program, const char *text, ry_expr_parameter *parameters,
                    int count)
{
    bool found;
    assert_int_equal(
        ry_expr_match(program, text, parameters, count, &ry_system_allocator, &found, &error),
        RYND_OK);
    return found;
}

static void matches(void **state)
{
    (void)state;
    ry_expr_parameter ab[] = {{"a", -1}, {"b", -1}};
    assert_true(is_like(parse("max(0, x0)"), "max(x0, 0)", ab, 0));
    assert_true(is_like(parse("min(6, max(x0, 0))"), "min(max(x0, a), b)", ab, 2));
    assert_true(ab[0].value == 0 && ab[1].value == 6);
    assert_true(is_like(parse("(x0 * 0.25 + 3) * x0"), "x0 * (b + a * x0)", ab, 2));
    assert_true(ab[0].value == 0.25 && ab[1].value == 3);
    assert_true(is_like(parse("(1 + erf(x0 / 1.41421353816986)) * x0 * 0.5"),
                        "0.5 * (x0 * (erf(x0 / 1.4142135623730951) + 1))", ab, 0));
    assert_false(is_like(parse("max(x0, 1)"), "max(x0, 0)", ab, 0));
    assert_false(is_like(parse("max(x0, x1)"), "max(x0, a)", ab, 2));
    assert_false(is_like(parse("x0 * 2 + 3"), "x0 * a + a", ab, 1));
    assert_true(is_like(parse("x0 * 2 + 2"), "x0 * a + a", ab, 1));
    assert_false(is_like(parse("x0 + 16777217"), "x0 + 16777216", ab, 0));
    assert_false(is_like(parse("y0 = x0; y1 = x0"), "x0", ab, 0));
    assert_false(is_like(parse("x0"), "x0 +", ab, 0));
    static const char *const activations[] = {
#define RY_ACTIVATION(name, text) text,
#include "problem/activations.inc"
#undef RY_ACTIVATION
    };
    const ry_expr_parameter numbers[] = {{"a", 0.125}, {"b", 0.75}};
    for (size_t i = 0; i < COUNT(activations); i++) {
        const ry_expr *program = NULL;
        assert_int_equal(ry_expr_parse(activations[i], numbers, 2, &arena, &program, &error),
                         RYND_OK);
        for (size_t k = 0; k < COUNT(activations); k++) {
            ry_expr_parameter found[] = {{"a", 0.125}, {"b", 0.75}};
            assert_int_equal(is_like(program, activations[k], found, 2), i == k);
            assert_true(i != k || (found[0].value == 0.125 && found[1].value == 0.75));
        }
    }
}

static void types(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        ry_dtype in[3], out; /* RY_NONE: refused */
    } cases[] = {
        {"x0 + x1 * 2", {RY_f16, RY_f16}, RY_f16},
        {"x0 + x1", {RY_f16, RY_f32}, RY_NONE},
        {"x0 < x1", {RY_i8, RY_i8}, RY_bool},
        {"x0 < 1", {RY_u64}, RY_bool},
        {"select(x0 < 1, x1, 0)", {RY_f32, RY_i64}, RY_i64},
        {"select(x0 < 1, 1, 0) + x1", {RY_f32, RY_i16}, RY_i16},
        {"select(x0, 1, 0)", {RY_bool}, RY_f32},
        {"select(x0, 1, 0)", {RY_f32}, RY_NONE},
        {"exp(x0)", {RY_i32}, RY_NONE},
        {"exp(x0)", {RY_f64}, RY_f64},
        {"x0 & x1", {RY_bool, RY_bool}, RY_bool},
        {"x0 & x1", {RY_u8, RY_u8}, RY_NONE},
        {"bit_and(x0, 7)", {RY_u8}, RY_u8},
        {"bit_and(x0, 7)", {RY_f32}, RY_NONE},
        {"x0 + x0", {RY_bool}, RY_NONE},
        {"max(x0)", {RY_bool}, RY_bool},
        {"max(x0, 1)", {RY_bool}, RY_bool},
        {"mean(x0)", {RY_i32}, RY_i32},
        {"saturate(x0 / 3, i8)", {RY_f32}, RY_i8},
        {"cast(x0, f16) + x1", {RY_i32, RY_f16}, RY_f16},
        {"3", {RY_NONE}, RY_f32},
        {"cast(x0 > 0, i32) * 2", {RY_f64}, RY_i32},
        {"exp(select(x0 < 1, 1, 0)) + cast(x0, f32)", {RY_i32}, RY_f32},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const ry_expr *program = parse(cases[i].text);
        ry_dtype type[64];
        rynd_status status = ry_expr_types(program, cases[i].in, type, &error);
        ry_dtype out = status == RYND_OK ? type[program->result[0]] : RY_NONE;
        if (out != cases[i].out) {
            fail_msg("%s: type %s instead of %s", cases[i].text, ry_dtype_name(out),
                     ry_dtype_name(cases[i].out));
        }
    }
}

static void scalars(void **state)
{
    (void)state;
    assert_true(ry_expr_scalar_int(RY_EXPR_div, RY_i8, -128, -1) == -128);
    assert_true(ry_expr_scalar_int(RY_EXPR_div, RY_i32, 7, 0) == 0);
    assert_true(ry_expr_scalar_int(RY_EXPR_mod, RY_i32, -7, 3) == 2);
    assert_true(ry_expr_scalar_int(RY_EXPR_fmod, RY_i32, -7, 3) == -1);
    assert_true(ry_expr_scalar_int(RY_EXPR_pow, RY_u8, 3, 5) == 243);
    assert_true(ry_expr_scalar_int(RY_EXPR_pow, RY_u8, 3, 6) == (729 & 255));
    assert_true(ry_expr_scalar_int(RY_EXPR_pow, RY_i32, 2, -1) == 0);
    assert_true(ry_expr_scalar_int(RY_EXPR_bit_not, RY_u16, 1, 0) == 65534);
    assert_true(ry_expr_scalar_int(RY_EXPR_shift_right, RY_i16, -4, 1) == -2);
    assert_true(ry_expr_scalar_int(RY_EXPR_shift_left, RY_u8, 255, 8) == 0);
    assert_true(ry_expr_to_int(RY_i8, 127.5, true) == 127);
    assert_true(ry_expr_to_int(RY_i8, 2.5, true) == 2 && ry_expr_to_int(RY_i8, 3.5, true) == 4 &&
                ry_expr_to_int(RY_i8, -2.9, false) == -2);
    assert_true(ry_expr_to_int(RY_u8, -3, true) == 0 && ry_expr_to_int(RY_u8, 1e9, false) == 255 &&
                ry_expr_to_int(RY_i32, NAN, false) == 0);
    assert_true(ry_expr_to_int(RY_i64, 1e30, false) == INT64_MAX &&
                ry_expr_to_int(RY_i64, -1e30, false) == INT64_MIN);
    assert_true((uint64_t)ry_expr_to_int(RY_u64, 1e30, false) == UINT64_MAX);
    assert_true((uint64_t)ry_expr_to_int(RY_u64, 0x1p63, false) == (uint64_t)1 << 63);
    assert_true(ry_expr_scalar_f64(RY_EXPR_mod, -7, 3, 0) == 2 &&
                ry_expr_scalar_f64(RY_EXPR_fmod, -7, 3, 0) == -1);
    assert_true(isnan(ry_expr_scalar_f64(RY_EXPR_min, NAN, 1, 0)) &&
                isnan(ry_expr_scalar_f64(RY_EXPR_max, 1, NAN, 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(prints, setup, teardown),
        cmocka_unit_test_setup_teardown(structure, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses, setup, teardown),
        cmocka_unit_test_setup_teardown(bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(deep, setup, teardown),
        cmocka_unit_test_setup_teardown(composes, setup, teardown),
        cmocka_unit_test_setup_teardown(matches, setup, teardown),
        cmocka_unit_test_setup_teardown(types, setup, teardown),
        cmocka_unit_test_setup_teardown(scalars, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
