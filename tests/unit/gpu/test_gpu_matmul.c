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
    static const char *const names[] = {"matmul_half_units_gpu", "matmul_f32_units_gpu",
                                        "matmul_tf32_units_gpu", "matmul_bf16_units_gpu"};
    product_case c = random_product(m, n, k, dtype, plain);
    int checked = 0;
    c.problem.accuracy = RY_ACCURACY_bf16;
    case_fill(&c);
    for (int i = 0; i < 4; i++) {
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

/* A matrix whose elements along `dense` are beside each other, its other dim at steps of whole chunks. */
static ry_tensor chunked(ry_dtype dtype, int64_t rows, int64_t columns, int dense)
{
    const int64_t dim[] = {rows, columns}, lanes = 16 / (int64_t)ry_dtype_size(dtype);
    ry_tensor t = case_tensor(dtype, 2, dim, CASE_ROW_MAJOR);
    t.stride[dense] = 1;
    t.stride[1 - dense] = (dim[dense] + lanes - 1) / lanes * lanes;
    return t;
}

/* Forms whose tiles are copied: terms or rows and columns beside each other on either side, y along both, rows,
 * columns and terms that end within a chunk, within a tile, and beyond the first tile. */
static void test_copied_forms(void **state)
{
    (void)state;
    static const ry_dtype types[] = {RY_f32, RY_f16, RY_bf16};
    static const char *const names[] = {"matmul_half_units_gpu", "matmul_f32_units_gpu",
                                        "matmul_tf32_units_gpu", "matmul_bf16_units_gpu"};
    gpu_run_need();
    for (int i = 0; gpu_run_target()->machine->matrix_units && i < 16; i++) {
        const ry_dtype type = types[i < 8 ? 0 : 1 + i / 2 % 2];
        const int64_t m = case_between(2, 140), n = case_between(2, 140), k = case_between(2, 100);
        product_case c = {.problem = {.op = RY_OP_matmul, .inputs = 2}};
        c.problem.attrs = ry_attrs_default(RY_OP_matmul);
        c.problem.accuracy = RY_ACCURACY_bf16;
        c.in[0] = chunked(type, m, k, i % 2);
        c.in[1] = chunked(type, k, n, i / 2 % 2);
        c.out[0] = chunked(type, m, n, i / 4 % 2);
        c.terms = (double)k;
        case_fill(&c);
        int checked = 0;
        for (int j = 0; j < 4; j++) {
            checked +=
                gpu_product_check_word(&c, names[j], "matmul_ref", "copied", ry_dtype_size(type));
        }
        assert_true(checked >= (type == RY_f32 ? 11 : 4));
        case_free(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_large),        cmocka_unit_test(test_types),
        cmocka_unit_test(test_forms),        cmocka_unit_test(test_matrix_units),
        cmocka_unit_test(test_copied_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
