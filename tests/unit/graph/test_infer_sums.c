/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of matmul and einsum by numpy's rules, and of expressions. */
#include "infer_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* clang-format off */
static const infer_case products[] = {
    {"matmul", "3:f32 3:f32", "scalar:f32", NULL},
    {"matmul", "2x3:f32 3:f32", "2:f32", NULL},
    {"matmul", "3:f32 3x4:f32", "4:f32", NULL},
    {"matmul", "5x2x3:f32 3x4:f32", "5x2x4:f32", NULL},
    {"matmul", "5x1x2x3:f32 7x3x4:f32", "5x7x2x4:f32", NULL},
    {"matmul", "3:f32 5x3x4:f32", "5x4:f32", NULL},
    {"matmul", "5x2x3:f32 3:f32", "5x2:f32", NULL},
    {"matmul", "2x0:f32 0x4:f32", "2x4:f32", NULL},
    {"matmul trans_a=1", "3x2:f32 3x4:f32", "2x4:f32", NULL},
    {"matmul trans_b=1", "Nx3:f32 4x3:f32 4:f32", "Nx4:f32", NULL},
    {"matmul", "2x3:f32 3x4:f32 2x1:f32 2x4:f32", "2x4:f32", NULL},
    {"matmul", "2x3:f32 3x4:f32 3:f32", "!does not broadcast to the output's 2x4", NULL},
    {"matmul", "2x3:f32 4x4:f32", "!has 4 rows to sum over", NULL},
    {"matmul", "5x2x3:f32 4x3x4:f32", "!batch dims", NULL},
    {"matmul", "scalar:f32 4x3:f32", "!has rank 0, expected 1", NULL},
    {"einsum equation='ij,jk->ik'", "2x3:f32 3x4:f32", "2x4:f32", NULL},
    {"einsum equation='bij,bjk'", "5x2x3:f32 5x3x4:f32", "2x4:f32", NULL},
    {"einsum equation=' i j , jk -> ki'", "2x3:f32 3x4:f32", "4x2:f32", NULL},
    {"einsum equation='...ij,...jk->...ik'", "2x1x3x4:f32 5x4x6:f32", "2x5x3x6:f32", NULL},
    {"einsum equation='...ij,...jk'", "2x1x3x4:f32 5x4x6:f32", "2x5x3x6:f32", NULL},
    {"einsum equation='ii->i'", "3x3:f32", "3:f32", NULL},
    {"einsum equation='ii'", "3x3:f32", "scalar:f32", NULL},
    {"einsum equation='ij->'", "3x4:f32", "scalar:f32", NULL},
    {"einsum equation='i,j'", "3:f32 4:f32", "3x4:f32", NULL},
    {"einsum equation='b...,b...->...'", "2x3x4:f32 2x3x4:f32", "3x4:f32", NULL},
    {"einsum equation='nc,nc->n'", "Nx3:f32 Nx3:f32", "N:f32", NULL},
    {"einsum equation='ij,jk'", "2x3:f32", "!as many terms as there are inputs", NULL},
    {"einsum equation='ij'", "2x3:f32 2x3:f32", "!as many terms as there are inputs", NULL},
    {"einsum equation='ij,jk->ik'", "2x3:f32 4x4:f32", "!disagrees in dim 0", NULL},
    {"einsum equation='ijk'", "2x3:f32", "!has 3 letters", NULL},
    {"einsum equation='i'", "2x3:f32", "!has 1 letters", NULL},
    {"einsum equation='ij->iz'", "2x3:f32", "!each letter of the output", NULL},
    {"einsum equation='ij->ii'", "2x3:f32", "!each letter of the output", NULL},
    {"einsum equation='i?'", "2x3:f32", "!expected letters", NULL},
    {"einsum equation='...i...'", "2x3:f32", "!expected letters", NULL},
    {"einsum", "2x3:f32", "!equation is missing", NULL},
};

static const infer_case expressions[] = {
    {"expr program='x0 + x1'", "2x1x4:f32 3x1:f32", "2x3x4:f32", NULL},
    {"expr program='x0 + x1'", "NxCx1:f32 Cx4:f32", "NxCx4:f32", NULL},
    {"expr program='x0 + x1'", "N:f32 M:f32", "_:f32", NULL},
    {"expr program='x0 + x1'", "N:f32 4:f32", "4:f32", NULL},
    {"expr program='x0 + x1'", "2x3:f32 2:f32", "!does not broadcast with the inputs before it (2x3)", NULL},
    {"expr program='x0 + x1'", "2x3:f32 2x3:i64", "!", NULL},
    {"expr program='x0 + x1'", "2x3:f32 ?:f32", "later ?:f32", NULL},
    {"expr program='x0 < x1'", "2x3:f32 3:f32", "2x3:bool", NULL},
    {"expr program='cast(x0, i32)'", "2x3:f32", "2x3:i32", NULL},
    {"expr program='sum(x0)' axes=-1", "2x3:f32", "2x1:f32", "axes=1"},
    {"expr program='sum(x0)' axes=1,0 keepdims=0", "2x3x4:f32", "4:f32", "axes=0,1"},
    {"expr program='mean(x0)'", "2x3:f16", "1x1:f16", "axes=0,1"},
    {"expr program='mean(x0)' keepdims=0", "2x3:f32", "scalar:f32", NULL},
    {"expr program='sum(x0)' noop_empty=1", "2x3:f32", "2x3:f32", NULL},
    {"expr program='sum(x0)' axes_input=1", "2x3:f32 1:i64=1", "2x1:f32", "axes=1"},
    {"expr program='sum(x0)' axes_input=1", "2x3:f32 -", "1x1:f32", "axes=0,1"},
    {"expr program='sum(x0)' axes_input=1 noop_empty=1", "2x3:f32 0:i64", "2x3:f32", NULL},
    {"expr program='sum(x0)' axes_input=1", "2x3:f32 1:i64", "later _x_:f32", NULL},
    {"expr program='sum(x0)' axes_input=1 keepdims=0", "2x3:f32 1:i64", "later ?:f32", NULL},
    {"expr program='sum(x0)' axes=2", "2x3:f32", "!axis 2 is outside rank 2", NULL},
    {"expr program='sum(x0)' axes=1,-1", "2x3:f32", "!is given twice", NULL},
    {"expr program='y0 = sum(x0); y1 = x0 * 2' axes=0", "2x3:f32", "1x3:f32 2x3:f32", NULL},
    {"expr program='x0 + x1'", "2x3:f32", "!1 inputs", NULL},
    {"expr", "2x3:f32", "!expression is missing", NULL},
};

/* clang-format on */

static void test_products(void **state)
{
    (void)state;
    infer_cases(products, sizeof products / sizeof *products);
}

static void test_expressions(void **state)
{
    (void)state;
    infer_cases(expressions, sizeof expressions / sizeof *expressions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_expressions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
