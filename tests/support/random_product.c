/* SPDX-License-Identifier: Apache-2.0 */
/* Draws ranks, batches, transpositions, layouts, ends. */
#include "random_product.h"

static case_layout any_layout(void)
{
    return case_between(0, 2) ? CASE_ROW_MAJOR : CASE_STRIDED;
}

/* A matrix whose memory is along its rows, its columns, or apart, with the batch dims before it. */
static ry_tensor matrix(ry_dtype dtype, int rank, const int64_t *dim)
{
    ry_tensor t = case_tensor(dtype, rank, dim, any_layout());
    if (rank >= 2 && case_between(0, 4) == 0) {
        const int64_t rows = dim[rank - 2];
        t = case_tensor(dtype, rank, dim, CASE_ROW_MAJOR);
        t.stride[rank - 2] = 1;
        t.stride[rank - 1] = rows;
    }
    return t;
}

/* Factors, addend, residual, activation. */
static void draw_ends(product_case *c, ry_dtype dtype, int y_rank, const int64_t *y)
{
    ry_matmul_attrs *attrs = &c->problem.attrs.matmul;
    attrs->alpha = case_between(0, 2) ? 1 : 0.5;
    attrs->beta = case_between(0, 2) ? 1 : -2;
    if (case_between(0, 1)) {
        const int skip = (int)case_between(0, y_rank);
        int64_t dim[4];
        for (int i = skip; i < y_rank; i++) {
            dim[i - skip] = case_between(0, 3) ? y[i] : 1;
        }
        c->in[2] = case_tensor(dtype, y_rank - skip, dim, any_layout());
    }
    if (case_between(0, 2) == 0) {
        c->in[3] = case_between(0, 1)
                       ? c->out[0]
                       : case_tensor(case_between(0, 1) ? RY_f32 : dtype, y_rank, y, any_layout());
    }
    attrs->activation =
        (ry_activation)(case_between(0, 1) ? 0 : case_between(0, RY_activation_count - 1));
    attrs->act_alpha = 0.25;
    attrs->act_beta = 0.5;
}

product_case random_product(int64_t m, int64_t n, int64_t k, ry_dtype dtype, bool plain)
{
    product_case c = {.problem = {.accuracy = RY_ACCURACY_bf16, .op = RY_OP_matmul, .inputs = 4}};
    c.problem.attrs = ry_attrs_default(RY_OP_matmul);
    ry_matmul_attrs *attrs = &c.problem.attrs.matmul;
    const int batch_rank = plain ? 0 : (int)case_between(0, 2);
    const bool a_vector = m == 1 && case_between(0, 3) == 0,
               b_vector = n == 1 && case_between(0, 1);
    attrs->trans_a = !a_vector && case_between(0, 2) == 0;
    attrs->trans_b = !b_vector && case_between(0, 1);
    int64_t a[4], b[4], y[4];
    int a_rank = 0, b_rank = 0, y_rank = 0;
    for (int i = 0; i < batch_rank; i++) {
        const int64_t count = case_between(1, 3);
        const bool a_has = !a_vector && case_between(0, 3), b_has = !b_vector && case_between(0, 1);
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
        draw_ends(&c, dtype, y_rank, y);
    }
    c.terms = (double)k;
    return c;
}
