/* SPDX-License-Identifier: Apache-2.0 */
/* Reference matrix products and Einstein sums: numpy's shapes, transposes, addends, integers;
 * equations against products and loops. */
#include "kernel_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(list) ((int64_t)(sizeof(list) / sizeof *(list)))

/* [[-5 2 -2] [5 1 -3]] by [[-4 1] [-3 2] [-2 3]], and what numpy makes of their parts. */
static void numpy_shapes(void **state)
{
    (void)state;
    static const double matrices[] = {18, -7, -17, -2};
    static const double vector[] = {1, 2, -1};
    static const double matrix_vector[] = {1, 10}, vector_matrix[] = {-8, 2}, vectors[] = {6};
    static const struct {
        const char *a, *b, *y;
        const double *expected;
        int64_t count;
    } rows[] = {
        {"2x3", "3x2", "2x2", matrices, 4},
        {"2x3", "3", "2", matrix_vector, 2},
        {"3", "3x2", "2", vector_matrix, 2},
        {"3", "3", "", vectors, 1},
    };
    static const double a[] = {-5, 2, -2, 5, 1, -3}, b[] = {-4, 1, -3, 2, -2, 3};
    for (int i = 0; i < 4; i++) {
        kernel_case c;
        kernel_case_begin(&c, RY_OP_matmul);
        kernel_case_values(&c, RY_f32, rows[i].a, strlen(rows[i].a) > 1 ? a : vector);
        kernel_case_values(&c, RY_f32, rows[i].b, strlen(rows[i].b) > 1 ? b : vector);
        kernel_case_output(&c, RY_f32, rows[i].y);
        kernel_case_known(&c, "matmul_ref", rows[i].expected, rows[i].count, 0);
        kernel_case_end(&c);
    }
}

/* Element [i0, i1, r, c] of a by b whose batch dims 1 are repeated. */
static double batch_element(const kernel_case *c, int64_t i0, int64_t i1, int64_t row,
                            int64_t column)
{
    double sum = 0;
    for (int64_t k = 0; k < 3; k++) {
        sum += ry_get_f64(RY_f32, c->in[0].data, (i0 * 2 + row) * 3 + k) *
               ry_get_f64(RY_f32, c->in[1].data, (i1 * 3 + k) * 4 + column);
    }
    return sum;
}

static void batches_broadcast(void **state)
{
    (void)state;
    kernel_case c;
    kernel_case_begin(&c, RY_OP_matmul);
    kernel_case_random(&c, RY_f32, "2x1x2x3", 1);
    kernel_case_random(&c, RY_f32, "5x3x4", 2);
    kernel_case_output(&c, RY_f32, "2x5x2x4");
    double y[80];
    for (int64_t i = 0; i < 80; i++) {
        y[i] = batch_element(&c, i / 40, i / 8 % 5, i / 4 % 2, i % 4);
    }
    kernel_case_known(&c, "matmul_ref", y, 80, 1e-6);
    kernel_case_end(&c);
}

/* Every pair of transposes gives the product of the untransposed; 0.5 * ab + 2 * c, then the
 * residual, then relu. */
static void transposes_and_epilogue(void **state)
{
    (void)state;
    static const double plain[] = {-5, 2, -2, 5, 1, -3}, turned[] = {-5, 5, 2, 1, -2, -3};
    static const double column[] = {-4, -3, -2}, row_addend[] = {1, -1}, residual[] = {3, 4};
    for (int flags = 0; flags < 4; flags++) {
        kernel_case c;
        kernel_case_begin(&c, RY_OP_matmul);
        c.attrs.matmul.trans_a = flags & 1;
        c.attrs.matmul.trans_b = flags >> 1;
        c.attrs.matmul.alpha = 0.5;
        c.attrs.matmul.beta = 2;
        c.attrs.matmul.activation = RY_activation_relu;
        kernel_case_values(&c, RY_f32, flags & 1 ? "3x2" : "2x3", flags & 1 ? turned : plain);
        kernel_case_values(&c, RY_f32, flags >> 1 ? "1x3" : "3x1", column);
        kernel_case_values(&c, RY_f32, "2x1", row_addend);
        kernel_case_values(&c, RY_f32, "2x1", residual);
        kernel_case_output(&c, RY_f32, "2x1");
        static const double y[] = {0.5 * 18 + 2 + 3, 0}; /* the second: 0.5 * -17 - 2 + 4 < 0 */
        kernel_case_known(&c, "matmul_ref", y, 2, 0);
        kernel_case_end(&c);
    }
}

/* Beyond 2^53, and around the end of int64, where only integer arithmetic is right. */
static void integers_are_exact(void **state)
{
    (void)state;
    kernel_case c;
    kernel_case_begin(&c, RY_OP_matmul);
    kernel_case_values(&c, RY_i64, "1x2", (double[]){0, 3});
    kernel_case_values(&c, RY_i64, "2x1", (double[]){1, 1});
    kernel_case_output(&c, RY_i64, "1x1");
    ((int64_t *)c.in[0].data)[0] = INT64_MAX - 1;
    kernel_case_run(&c, every_kernel_find("matmul_ref"), CASE_NCHW);
    assert_true(((int64_t *)c.out[0].data)[0] == INT64_MIN + 1);
    kernel_case_end(&c);
}

typedef struct equation_row {
    const char *equation, *shape[3], *out;
} equation_row;

static void run_equation(kernel_case *c, const equation_row *row)
{
    kernel_case_begin(c, RY_OP_einsum);
    c->attrs.einsum.equation = row->equation;
    for (int i = 0; i < 3 && row->shape[i]; i++) {
        kernel_case_random(c, RY_f32, row->shape[i], (uint64_t)i + 1);
    }
    kernel_case_output(c, RY_f32, row->out);
    assert_true(kernel_case_steady(c, "einsum_ref") > 0);
}

/* Equations that are products, explicit, implicit, transposed and batched. */
static void equations_are_products(void **state)
{
    (void)state;
    static const struct {
        equation_row row;
        const char *a, *b, *y;
        int trans_a, trans_b;
    } rows[] = {
        {{"ij,jk->ik", {"2x3", "3x4"}, "2x4"}, "2x3", "3x4", "2x4", 0, 0},
        {{" i j , j k ", {"2x3", "3x4"}, "2x4"}, "2x3", "3x4", "2x4", 0, 0},
        {{"ji,kj->ik", {"3x2", "4x3"}, "2x4"}, "3x2", "4x3", "2x4", 1, 1},
        {{"...ij,...jk->...ik", {"5x2x3", "1x3x4"}, "5x2x4"}, "5x2x3", "1x3x4", "5x2x4", 0, 0},
        {{"ij,jk", {"2x3", "3x4"}, "2x4"}, "2x3", "3x4", "2x4", 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kernel_case sum, product;
        run_equation(&sum, &rows[i].row);
        kernel_case_begin(&product, RY_OP_matmul);
        product.attrs.matmul.trans_a = rows[i].trans_a;
        product.attrs.matmul.trans_b = rows[i].trans_b;
        kernel_case_random(&product, RY_f32, rows[i].a, 1);
        kernel_case_random(&product, RY_f32, rows[i].b, 2);
        kernel_case_output(&product, RY_f32, rows[i].y);
        kernel_case_run(&product, every_kernel_find("matmul_ref"), CASE_NCHW);
        assert_int_equal(ry_tensor_count(&sum.out[0]), ry_tensor_count(&product.out[0]));
        assert_memory_equal(sum.out[0].data, product.out[0].data, ry_tensor_bytes(&sum.out[0]));
        kernel_case_end(&sum);
        kernel_case_end(&product);
    }
}

static void equations_by_hand(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, v[] = {1, 10, 100};
    static const double trace[] = {15}, diagonal[] = {1, 5, 9},
                        turned[] = {1, 4, 7, 2, 5, 8, 3, 6, 9};
    static const double total[] = {45}, outer[] = {1, 10, 100, 10, 100, 1000, 100, 1000, 10000},
                        weighted[] = {321, 654, 987};
    static const struct {
        const char *equation, *second, *out;
        const double *y;
        int64_t count;
        bool vectors;
    } rows[] = {
        {"ii", NULL, "", trace, 1, false},         {"ii->i", NULL, "3", diagonal, 3, false},
        {"ij->ji", NULL, "3x3", turned, 9, false}, {"ba", NULL, "3x3", turned, 9, false},
        {"ij->", NULL, "", total, 1, false},       {"i,j->ij", "3", "3x3", outer, 9, true},
        {"ij,j->i", "3", "3", weighted, 3, false}, {"i...,...->i", "3", "3", weighted, 3, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kernel_case c;
        kernel_case_begin(&c, RY_OP_einsum);
        c.attrs.einsum.equation = rows[i].equation;
        kernel_case_values(&c, RY_i32, rows[i].vectors ? "3" : "3x3", rows[i].vectors ? v : x);
        if (rows[i].second) {
            kernel_case_values(&c, RY_i32, rows[i].second, v);
        }
        kernel_case_output(&c, RY_i32, rows[i].out);
        kernel_case_known(&c, "einsum_ref", rows[i].y, rows[i].count, 0);
        kernel_case_end(&c);
    }
}

static void three_operands(void **state)
{
    (void)state;
    kernel_case c;
    run_equation(&c, &(equation_row){"abc,cd,bd->ad", {"2x3x4", "4x5", "3x5"}, "2x5"});
    for (int64_t a = 0; a < 2; a++) {
        for (int64_t d = 0; d < 5; d++) {
            double sum = 0;
            for (int64_t n = 0; n < 12; n++) {
                sum += ry_get_f64(RY_f32, c.in[0].data, a * 12 + n) *
                       ry_get_f64(RY_f32, c.in[1].data, n % 4 * 5 + d) *
                       ry_get_f64(RY_f32, c.in[2].data, n / 4 * 5 + d);
            }
            assert_true(fabs(sum - kernel_case_get(&c, 0, a * 5 + d)) < 1e-6);
        }
    }
    kernel_case_end(&c);
}

static void bad_equations_are_refused(void **state)
{
    (void)state;
    static const char *const equations[] = {
        NULL,        "",           "ij",          "ij,jk,k->ik",    "ij,jk->iz",
        "ij,jk->ii", "i1,jk->ik",  "ijk,jk->ik",  "ij,jk-ik",       "ij,jk->i",
        "ij,ki->ik", "ij,jk->ik,", "..ij,jk->ik", "i......j,jk->ik"};
    for (size_t i = 0; i < sizeof equations / sizeof *equations; i++) {
        kernel_case c;
        kernel_case_begin(&c, RY_OP_einsum);
        c.attrs.einsum.equation = equations[i];
        kernel_case_random(&c, RY_f32, "2x3", 1);
        kernel_case_random(&c, RY_f32, "3x4", 2);
        kernel_case_output(&c, RY_f32, "2x4");
        ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
        ry_problem problem = kernel_case_problem(&c, CASE_NCHW, in, out);
        ry_prepared prepared;
        ry_error error = {0};
        assert_int_equal(
            every_kernel_prepare(every_kernel_find("einsum_ref"), &problem, &prepared, &error),
            RYND_ERROR_SHAPE);
        assert_non_null(strstr(error.text, equations[i] ? equations[i] : "''"));
        kernel_case_end(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numpy_shapes),
        cmocka_unit_test(batches_broadcast),
        cmocka_unit_test(transposes_and_epilogue),
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(equations_are_products),
        cmocka_unit_test(equations_by_hand),
        cmocka_unit_test(three_operands),
        cmocka_unit_test(bad_equations_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
