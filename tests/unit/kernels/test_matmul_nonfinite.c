/* SPDX-License-Identifier: Apache-2.0 */
/* Infinities, NaNs and terms that overflow together in a row of a product with a large matrix that
 * is kept in fewer bits: columns of one size, and those that no scale fits. */
#include "kernel_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { DEPTH = 1500, COLUMNS = 400, AT = 700, FEW = 5 };

static const char *const texts[] = {"matmul x0=3x1500:f32 x1=1500x400:f32 y0=3x400:f32",
                                    "matmul x0=3x1500:f32 x1=400x1500:f32 y0=3x400:f32 trans_b=1"};

/* Columns in turns: ordinary; with a weight beside which the others are too large for five bits of
 * exponent; with negative weights where x is huge; both. */
static void set_weights(float *b, int64_t row, int64_t column)
{
    for (int64_t j = 0; j < COLUMNS; j++) {
        if (j % 4 & 1) {
            b[900 * row + j * column] = 1e-20f;
        }
        for (int64_t k = AT; (j % 4 & 2) && k < AT + FEW; k++) {
            b[k * row + j * column] = k == AT ? 0.75f : -1;
        }
    }
}

static void test_kinds(void **state)
{
    (void)state;
    static const float kinds[][FEW] = {
        {NAN, 1, 1, 1, 1},
        {NAN, INFINITY, 1, 1, 1},
        {INFINITY, 1, 1, 1, 1},
        {INFINITY, -INFINITY, 1, 1, 1},
        {0x1p124f, 0x1p124f, 1, 1, 1},
        /* finite terms alone make the other infinity */
        {INFINITY, 0x1p127f, 0x1p127f, 0x1p127f, 0x1p127f},
    };
    const size_t count = sizeof kinds / sizeof *kinds;
    for (size_t i = 0; i < count; i++) {
        /* along k even the direct sum goes by lanes, in which finite terms meet first */
        for (int turned = 0; turned < (i + 1 < count ? 2 : 1); turned++) {
            kernel_case c;
            kernel_case_parse(&c, texts[turned]);
            /* the second row */
            memcpy((float *)c.in[0].data + DEPTH + AT, kinds[i], sizeof *kinds);
            set_weights(c.in[1].data, turned ? 1 : COLUMNS, turned ? DEPTH : 1);
            kernel_case_check_isas(&c, "matmul_f32_float24", 1e-4);
            kernel_case_end(&c);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
