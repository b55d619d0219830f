/* SPDX-License-Identifier: Apache-2.0 */
/* select(a > b, x, 0), the gradient of ReLU: one step of the evaluator, with the reference's bits.
 * So do programs that look like it and must stay as they are. */
#include "expr/expr.h"
#include "kernel_case.h"
#include "kernels/cpu/expr/expr_plan.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

typedef struct program {
    const char *text;
    int inputs; /* x0 and x1 are tensors, x2 and x3 single values */
    int steps;  /* a tile, without steps of single values; 0: any number */
} program;

static const program programs[] = {
    {"select(x1 > x2, x0, 0)", 3, 1},
    {"select(x1 > x2, select(x1 < x3, x0, 0), 0)", 4, 2},
    {"select(0.5 >= x1, x0 * x1, 0)", 2, 2},
    {"select(x1 <= 0, x0, 0)", 2, 1},
    {"select(x0 + x1 > x2, x0, 0)", 3, 2},
    {"select(x1 > x2, x2, 0)", 3, 0},
    {"select(x1 > x2, x0, 1)", 3, 3},
    {"select(x1 > x2, x0, -0.0)", 3, 0},
    {"select(x1 > x0, x0, 0)", 2, 3},
    {"select(x1 == x2, x0, 0)", 3, 3},
    {"t = x1 > x2; y0 = select(t, x0, 0) + select(t, x1, 0)", 3, 0},
    {"a = x0 + x1; b = a > x2; c = a * x0; y0 = select(b, c * x1, 0)", 3, 0},
    {"a = x0 * x1; b = a < x2; c = x0 * x0; y0 = select(b, c, 0) + a", 3, 0},
};

static void begin(kernel_case *c, const program *p, const char *shape)
{
    enum { ROOM = 2000 };
    static const double special[] = {NAN, 4096, -4096, 0.0, -0.0, 0.5, 1.25, -1.25, 2};
    enum { COUNT = sizeof special / sizeof *special };
    static double x[2][ROOM];
    for (int i = 0; i < ROOM; i++) {
        x[0][i] = special[i / COUNT % COUNT];
        x[1][i] = special[i % COUNT];
    }
    const double single[] = {0.5, 1.5};
    kernel_case_begin(c, RY_OP_expr);
    assert_int_equal(ry_expr_parse(p->text, NULL, 0, &c->arena, &c->attrs.expr.program, NULL),
                     RYND_OK);
    for (int i = 0; i < p->inputs; i++) {
        kernel_case_values(c, RY_f32, i < 2 ? shape : "", i < 2 ? x[i] : &single[i - 2]);
    }
    kernel_case_output(c, RY_f32, shape);
}

static void test_bits(void **state)
{
    (void)state;
    static const char *const shapes[] = {"1x1x1x3", "2x3x5x60"};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            kernel_case c;
            begin(&c, &programs[i], shapes[s]);
            kernel_case_check_isas(&c, "expr", 0);
            kernel_case_end(&c);
        }
    }
}

static void test_steps(void **state)
{
    (void)state;
    const ry_kernel *kernel = every_kernel_find("expr_generic");
    assert_non_null(kernel);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        kernel_case c;
        ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
        ry_prepared prepared = {0};
        ry_error error;
        begin(&c, &programs[i], "2x3x5x60");
        const ry_problem problem = kernel_case_problem(&c, CASE_NCHW, in, out);
        if (every_kernel_prepare(kernel, &problem, &prepared, &error) != RYND_OK) {
            fail_msg("%s: %s", programs[i].text, error.text);
        }
        ry_expr_plan *plan = test_malloc(prepared.state_size);
        every_kernel_initialise(&prepared, plan);
        const ry_expr_step *step = ry_expr_plan_part(plan, plan->steps_at);
        int steps = 0;
        for (int k = 0; k < plan->steps; k++) {
            steps += !step[plan->first_steps + k].single;
        }
        if (programs[i].steps > 0 && steps != programs[i].steps) {
            fail_msg("%s: %d steps", programs[i].text, steps);
        }
        test_free(plan);
        kernel_case_end(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits), cmocka_unit_test(test_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
