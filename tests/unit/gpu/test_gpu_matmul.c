/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of GPUs against the reference: shapes from one row to many, vectors, batches,
 * transpositions, every end, every type. */
#include "gpu_product.h"
#include "gpu_run.h"
#include "machine/machine.h"
#include "random_product.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static int check_product(int64_t m, int64_t n, int64_t k, ry_dtype dtype, bool plain, int forms)
{
    gpu_run_need();
    product_case c = random_product(m, n, k, dtype, plain);
    c.problem.accuracy = RY_ACCURACY_strict;
    case_fill(&c);
    const int checked = gpu_product_check(&c, "matmul_f32_igemm_gpu", "matmul_ref", forms) +
                        gpu_product_check(&c, "matmul_f32_gemv_gpu", "matmul_ref", forms);
    case_free(&c);
    return checked;
}

/* How many of matrix units' kernels and forms took it: on a device without them none. */
static int check_units(int64_t m, int64_t n, int64_t k, ry_dtype dtype, bool plain, int forms)
{
    static const char *const names[] = {"matmul_half_units_gpu", "matmul_tf32_units_gpu",
                                        "matmul_bf16_units_gpu"};
    product_case c = random_product(m, n, k, dtype, plain);
    int checked = 0;
    c.problem.accuracy = RY_ACCURACY_bf16;
    case_fill(&c);
    for (int i = 0; i < 3; i++) {
        checked += gpu_product_check(&c, names[i], "matmul_ref", forms);
    }
    case_free(&c);
    return checked;
}

static void test_matrix_units(void **state)
{
    (void)state;
    static const ry_dtype types[] = {RY_f32, RY_f16, RY_bf16};
    gpu_run_need();
    int checked = 0;
    for (int i = 0; i < 12; i++) {
        checked += check_units(case_between(1, 60), case_between(1, 80), case_between(1, 90),
                               types[i % 3], false, 1);
    }
    checked += check_units(137, 151, 130, RY_f32, true, 0);
    assert_true(gpu_run_target()->machine->matrix_units ? checked > 30 : checked == 0);
}

static void test_small(void **state)
{
    (void)state;
    for (int i = 0; i < 12; i++) {
        assert_true(check_product(case_between(1, 20), case_between(1, 40), case_between(1, 40),
                                  RY_f32, false, 1) > 0);
    }
}

static void test_vectors(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        const bool column = i % 2;
        const int64_t few = case_between(1, 8), many = case_between(1, 300);
        assert_true(check_product(column ? many : few, column ? few : many, case_between(1, 200),
                                  RY_f32, false, 1) > 1);
    }
}

static void test_large(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        check_product(case_between(1, 200), case_between(100, 300), case_between(380, 900), RY_f32,
                      true, 1);
    }
}

static void test_types(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        check_product(case_between(1, 20), case_between(1, 40), case_between(1, 60),
                      i % 2 ? RY_f16 : RY_bf16, false, 1);
    }
}

static void test_forms(void **state)
{
    (void)state;
    assert_true(check_product(137, 151, 200, RY_f32, true, 0) > 20);
    assert_true(check_product(5, 131, 300, RY_f32, true, 0) > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small), cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_large), cmocka_unit_test(test_types),
        cmocka_unit_test(test_forms), cmocka_unit_test(test_matrix_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
