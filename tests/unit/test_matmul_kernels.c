/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products against the reference: shapes from one row to many, vectors, batches,
 * transpositions, every end, every type. */
#include "product_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static int64_t between(int64_t low, int64_t high)
{
    return low + (int64_t)case_random((uint32_t)(high - low + 1));
}

static case_layout any_layout(void)
{
    return between(0, 2) ? CASE_ROW_MAJOR : CASE_STRIDED;
}

/* A matrix whose memory is along its rows, its columns, or apart, with the batch dims before it. */
static ry_tensor matrix(ry_dtype dtype, int rank, const int64_t *dim)
{
    ry_tensor t = case_tensor(dtype, rank, dim, any_layout());
    if (rank >= 2 && between(0, 4) == 0) {
        const int64_t rows = dim[rank - 2];
        t = case_tensor(dtype, rank, dim, CASE_ROW_MAJOR);
        t.stride[rank - 2] = 1;
        t.stride[rank - 1] = rows;
    }
    return t;
}

static int check_product(int64_t m, int64_t n, int64_t k, ry_dtype dtype, bool plain)
{
    product_case c = {.problem = {.accuracy = RY_ACCURACY_bf16, .op = RY_OP_matmul, .inputs = 4}};
    c.problem.attrs = ry_attrs_default(RY_OP_matmul);
    ry_matmul_attrs *attrs = &c.problem.attrs.matmul;
    const int batch_rank = plain ? 0 : (int)between(0, 2);
    const bool a_vector = m == 1 && between(0, 3) == 0, b_vector = n == 1 && between(0, 1);
    attrs->trans_a = !a_vector && between(0, 2) == 0;
    attrs->trans_b = !b_vector && between(0, 1);
    int64_t a[4], b[4], y[4];
    int a_rank = 0, b_rank = 0, y_rank = 0;
    for (int i = 0; i < batch_rank; i++) {
        const int64_t count = between(1, 3);
        const bool a_has = !a_vector && between(0, 3), b_has = !b_vector && between(0, 1);
        if (!a_has && !b_has && count > 1) {
            continue;
        }
        if (!a_vector && (a_has || a_rank)) {
            a[a_rank++] = a_has ? count : 1;
        }
        if (!b_vector && (b_has || b_rank)) {
            b[b_rank++] = b_has ? count : 1;
        }
        if (a_rank || b_rank) {
            y[y_rank++] = count;
        }
    }
    if (!a_vector) {
        a[a_rank++] = attrs->trans_a ? k : m;
        y[y_rank++] = m;
    }
    a[a_rank++] = attrs->trans_a ? m : k;
    b[b_rank++] = attrs->trans_b ? n : k;
    if (!b_vector) {
        b[b_rank++] = attrs->trans_b ? k : n;
        y[y_rank++] = n;
    }
    c.in[0] = matrix(dtype, a_rank, a);
    c.in[1] = matrix(dtype, b_rank, b);
    c.out[0] = matrix(dtype, y_rank, y);
    if (ry_dtype_is_float(dtype)) {
        attrs->alpha = between(0, 2) ? 1 : 0.5;
        attrs->beta = between(0, 2) ? 1 : -2;
        if (between(0, 1)) {
            const int skip = (int)between(0, y_rank);
            int64_t dim[4];
            for (int i = skip; i < y_rank; i++) {
                dim[i - skip] = between(0, 3) ? y[i] : 1;
            }
            c.in[2] = case_tensor(dtype, y_rank - skip, dim, any_layout());
        }
        if (between(0, 2) == 0) {
            c.in[3] = between(0, 1)
                          ? c.out[0]
                          : case_tensor(between(0, 1) ? RY_f32 : dtype, y_rank, y, any_layout());
        }
        attrs->activation =
            (ry_activation)(between(0, 1) ? 0 : between(0, RY_activation_count - 1));
        attrs->act_alpha = 0.25;
        attrs->act_beta = 0.5;
    }
    c.terms = (double)k;
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
        checked += check_product(between(1, 20), between(1, 40), between(1, 40), RY_f32, false);
    }
    assert_true(checked > 400);
}

static void test_vectors(void **state)
{
    (void)state;
    int checked = 0;
    for (int i = 0; i < 200; i++) {
        const bool column = between(0, 1);
        const int64_t few = between(1, 5), many = between(1, 300);
        checked +=
            check_product(column ? many : few, column ? few : many, between(1, 200), RY_f32, false);
    }
    assert_true(checked > 200);
}

/* Longer than a chunk of k, more than a block of rows and columns. */
static void test_large(void **state)
{
    (void)state;
    int checked = 0;
    for (int i = 0; i < 6; i++) {
        checked +=
            check_product(between(1, 60), between(100, 300), between(380, 900), RY_f32, true);
        checked += check_product(between(1, 33), between(1, 30), between(2000, 5000), RY_f32, true);
        checked += check_product(between(100, 300), between(1, 4), between(380, 900), RY_f32, true);
    }
    assert_true(checked > 20);
}

static void test_types(void **state)
{
    (void)state;
    int checked = 0;
    static const ry_dtype dtypes[] = {RY_f16, RY_bf16, RY_i32};
    for (int i = 0; i < 300; i++) {
        checked +=
            check_product(between(1, 20), between(1, 40), between(1, 60), dtypes[i % 3], false);
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
        const int64_t m = i < count ? between(1, 3) : between(5, 32), n = between(500, 1400),
                      k = between(530000, 700000) / n;
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
