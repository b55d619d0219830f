/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products against the reference: shapes from one row to many, vectors, batches,
 * transpositions, every end, every type. */
#include "random_product.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static int check_product(int64_t m, int64_t n, int64_t k, ry_dtype dtype, bool plain)
{
    product_case c = random_product(m, n, k, dtype, plain);
    case_fill(&c);
    const int checked = case_check_all(&c, "matmul_ref");
    case_free(&c);
    return checked;
}

static void test_small(void **state)
{
    (void)state;
    int checked = 0;
    for (int i = 0; i < 400; i++) {
        checked += check_product(case_between(1, 20), case_between(1, 40), case_between(1, 40),
                                 RY_f32, false);
    }
    assert_true(checked > 400);
}

static void test_vectors(void **state)
{
    (void)state;
    int checked = 0;
    for (int i = 0; i < 200; i++) {
        const bool column = case_between(0, 1);
        const int64_t few = case_between(1, 5), many = case_between(1, 300);
        checked += check_product(column ? many : few, column ? few : many, case_between(1, 200),
                                 RY_f32, false);
    }
    assert_true(checked > 200);
}

/* Longer than a chunk of k, more than a block of rows and columns. */
static void test_large(void **state)
{
    (void)state;
    int checked = 0;
    for (int i = 0; i < 6; i++) {
        checked += check_product(case_between(1, 60), case_between(100, 300),
                                 case_between(380, 900), RY_f32, true);
        checked += check_product(case_between(1, 33), case_between(1, 30), case_between(2000, 5000),
                                 RY_f32, true);
        checked += check_product(case_between(100, 300), case_between(1, 4), case_between(380, 900),
                                 RY_f32, true);
    }
    assert_true(checked > 20);
}

static void test_types(void **state)
{
    (void)state;
    int checked = 0;
    static const ry_dtype dtypes[] = {RY_f16, RY_bf16, RY_i32};
    for (int i = 0; i < 300; i++) {
        checked += check_product(case_between(1, 20), case_between(1, 40), case_between(1, 60),
                                 dtypes[i % 3], false);
    }
    assert_true(checked > 300);
}

/* b[k][j] = value for one k of 64, whose x is 0: the other weights must not lose digits beside it.
 */
static void set_weights(product_case *c, int64_t k, int64_t n, double value)
{
    const ry_tensor *a = &c->in[0], *b = &c->in[1];
    const bool turned = c->problem.attrs.matmul.trans_b;
    for (int64_t i = 5; i < k; i += 64) {
        for (int64_t j = 0; j < n; j++) {
            ry_set_f64(RY_f32, c->data[1],
                       i * b->stride[turned ? 1 : 0] + j * b->stride[turned ? 0 : 1], value);
        }
        for (int64_t row = 0; row < a->dim[0]; row++) {
            ry_set_f64(RY_f32, c->data[0], row * a->stride[0] + i * a->stride[1], 0);
        }
    }
}

/* Large matrices, which a kernel may keep in fewer bits, whose weights differ in size: by more than
 * 24 bits hold, than a float's exponent holds beside others; and products that only b itself gives:
 * all layouts. */
static void test_uneven(void **state)
{
    (void)state;
    static const double values[] = {3e8, 1e6, 1e3, 1e12, -3e38, -1e-12, 1e-40, 1e-6, -1e12};
    const size_t count = sizeof values / sizeof *values;
    int checked = 0;
    for (size_t i = 0; i < count + 3; i++) {
        const int64_t m = i < count ? case_between(1, 3) : case_between(5, 32),
                      n = case_between(500, 1400), k = case_between(530000, 700000) / n;
        product_case c = {
            .problem = {.accuracy = RY_ACCURACY_near32, .op = RY_OP_matmul, .inputs = 4},
            .terms = (double)k};
        c.problem.attrs = ry_attrs_default(RY_OP_matmul);
        const bool turned = i % 3 == 1;
        c.problem.attrs.matmul.trans_b = turned;
        const int64_t b[] = {turned ? n : k, turned ? k : n};
        c.in[0] = case_tensor(RY_f32, 2, (const int64_t[]){m, k}, CASE_ROW_MAJOR);
        c.in[1] = case_tensor(RY_f32, 2, b, i % 3 == 2 ? CASE_STRIDED : CASE_ROW_MAJOR);
        c.out[0] = case_tensor(RY_f32, 2, (const int64_t[]){m, n}, CASE_ROW_MAJOR);
        case_fill(&c);
        set_weights(&c, k, n, values[i % count]);
        checked += case_check_all(&c, "matmul_ref");
        case_free(&c);
    }
    assert_true(checked >= (int)count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),  cmocka_unit_test(test_vectors), cmocka_unit_test(test_large),
        cmocka_unit_test(test_uneven), cmocka_unit_test(test_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
