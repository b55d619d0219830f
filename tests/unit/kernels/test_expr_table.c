/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of bytes against the reference, byte by byte, at every instruction set. */
#include "expr/expr.h"
#include "kernel_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define PROGRAM(text)              \
    {                              \
        text ", u8)", text ", i8)" \
    }

/* For results of u8 and of i8. */
static const char *const programs[][2] = {
    PROGRAM("saturate(round(sigmoid((cast(x0, f32) - 117) * 0.0371) / 0.00391)"),
    PROGRAM("saturate(round(max((cast(x0, f32) - 3) * 0.02, -1) / 0.031) + 17"),
    PROGRAM("saturate(cast(x0, f32) * 1.5"),
};

static const char *const shapes[] = {"1x1x1", "1x17x5x3", "2x64x9x7", "3x41x33x2", "1x8x64x64"};

/* Every byte of the type, in an order that no vector sees twice. */
static void add(kernel_case *c, ry_dtype dtype, const char *shape, int seed)
{
    double values[1 << 16];
    for (int i = 0; i < 1 << 16; i++) {
        values[i] = (double)((i * 167 + seed + i / 256) % 256) - (dtype == RY_i8 ? 128 : 0);
    }
    kernel_case_values(c, dtype, shape, values);
}

static void tables_are_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (size_t k = 0; k < sizeof programs / sizeof *programs; k++) {
            for (int types = 0; types < 4; types++) {
                kernel_case c;
                const ry_dtype x = types & 1 ? RY_i8 : RY_u8, y = types & 2 ? RY_i8 : RY_u8;
                kernel_case_begin(&c, RY_OP_expr);
                assert_int_equal(ry_expr_parse(programs[k][y == RY_i8], NULL, 0, &c.arena,
                                               &c.attrs.expr.program, NULL),
                                 RYND_OK);
                add(&c, x, shapes[i], (int)(i + k));
                kernel_case_output(&c, y, shapes[i]);
                kernel_case_check_isas(&c, "expr_table", 0);
                kernel_case_end(&c);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tables_are_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
