/* SPDX-License-Identifier: Apache-2.0 */
/* Reference matrix product: numpy's rules for vectors and batches, transposes, scaled broadcast
 * addend, residual, activation. */
#include "kernels/ref/ref_common.h"

/* A matrix operand as [batch.., rows, columns] after its transpose; a vector is one row (left) or
 * one column (right). */
typedef struct matrix {
    int64_t inner, inner_step, outer_step;
    int batch_rank;
} matrix;

static matrix left(const ry_tensor *a, bool transposed)
{
    if (a->rank == 1) {
        return (matrix){.inner = a->dim[0], .inner_step = a->stride[0]};
    }
    int inner = transposed ? a->rank - 2 : a->rank - 1,
        outer = transposed ? a->rank - 1 : a->rank - 2;
    return (matrix){a->dim[inner], a->stride[inner], a->stride[outer], a->rank - 2};
}

static matrix right(const ry_tensor *b, bool transposed)
{
    return left(b, b->rank == 1 ? false : !transposed);
}

/* Where the batch part of `index` (batch_rank dims, aligned to the right, broadcast) is in an
 * operand. */
static int64_t batch_offset(const ry_tensor *t, int batch_rank, const int64_t *index,
                            int index_rank)
{
    ry_tensor batch = *t;
    batch.rank = batch_rank;
    return ry_ref_broadcast_offset(&batch, index, index_rank);
}

static void scale(ry_ref_sum *sum, double factor)
{
    if (factor == 1) {
        return;
    }
    if (sum->integer) {
        sum->i = (uint64_t)(int64_t)((double)(int64_t)sum->i * factor);
    } else {
        sum->f *= factor;
    }
}

static void add_broadcast(const ry_cpu_launch *launch, int input, double factor,
                          const int64_t *index, ry_ref_sum *sum)
{
    const ry_problem *p = launch->problem;
    if (!ry_problem_has_input(p, input)) {
        return;
    }
    const ry_tensor *t = &p->in[input];
    ry_ref_sum term = {.integer = sum->integer};
    ry_ref_add(&term, ry_ref_dtype(t), launch->in[input],
               ry_ref_broadcast_offset(t, index, p->out[0].rank));
    scale(&term, factor);
    sum->i += term.i;
    sum->f += term.f;
}

static void element(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_matmul_attrs *attrs = &p->attrs.matmul;
    const ry_tensor *ta = &p->in[0], *tb = &p->in[1], *ty = &p->out[0];
    matrix a = left(ta, attrs->trans_a != 0), b = right(tb, attrs->trans_b != 0);
    int rank = ty->rank;
    int64_t column = tb->rank > 1 ? index[--rank] : 0, row = ta->rank > 1 ? index[--rank] : 0;
    ry_ref_operand x = {.dtype = ry_ref_dtype(ta), .data = launch->in[0], .step = {a.inner_step}};
    ry_ref_operand z = {.dtype = ry_ref_dtype(tb), .data = launch->in[1], .step = {b.inner_step}};
    x.offset = batch_offset(ta, a.batch_rank, index, rank) + row * a.outer_step;
    z.offset = batch_offset(tb, b.batch_rank, index, rank) + column * b.outer_step;
    ry_ref_sum sum = {.integer = ry_ref_integers(p)};
    ry_ref_dot(&sum, 1, &a.inner, &x, &z);
    scale(&sum, attrs->alpha);
    add_broadcast(launch, 2, attrs->beta, index, &sum);
    add_broadcast(launch, 3, 1, index, &sum);
    ry_ref_activate(&sum, attrs->activation, attrs->act_alpha, attrs->act_beta);
    ry_ref_store(&sum, ry_ref_dtype(ty), launch->out[0], ry_index_offset(ty, index));
}

static bool applicable(const ry_problem *problem)
{
    return ry_ref_numeric(problem) && ry_problem_has_input(problem, 1) && problem->in[0].rank > 0 &&
           problem->in[1].rank > 0;
}

RY_REF_ELEMENTS(matmul, applicable, element)
