/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a matmul problem into steps. */
#include "kernels/cpu/matmul/matmul_shape.h"

#include <string.h>

/* Steps in `t` along y's dims; 0 along a dim that `t` broadcasts. */
static void broadcast_steps(const ry_tensor *t, const ry_tensor *y, int64_t step[RY_MAX_RANK])
{
    for (int i = 0; i < y->rank; i++) {
        const int at = i - (y->rank - t->rank);
        step[i] = at < 0 || t->dim[at] == 1 ? 0 : t->stride[at];
    }
}

/* a or b: its two matrix dims are last; vectors have one. Batch dims are right-aligned with y's. */
static void read_factor(const ry_tensor *t, int batch_rank, matmul_operand *operand)
{
    const int own = t->rank > 2 ? t->rank - 2 : 0;
    for (int i = 0; i < own; i++) {
        const int at = batch_rank - own + i;
        operand->batch[at] = t->dim[i] == 1 ? 0 : t->stride[i];
    }
}

static void read_sum(const ry_tensor *t, const ry_tensor *y, int batch_rank, bool has_m, bool has_n,
                     matmul_operand *operand)
{
    int64_t step[RY_MAX_RANK] = {0};
    broadcast_steps(t, y, step);
    operand->dtype = (ry_dtype)t->dtype;
    memcpy(operand->batch, step, (size_t)batch_rank * sizeof *step);
    operand->row = has_m ? step[batch_rank] : 0;
    operand->column = has_n ? step[batch_rank + has_m] : 0;
}

/* Batches over one b are rows of one product where a's, y's and the others' rows go on with the
 * same step. */
static void fold_batches(matmul_shape *s)
{
    while (s->batch_rank > 0) {
        const int last = s->batch_rank - 1;
        const int64_t count = s->batch_dim[last];
        for (int i = 0; i < MATMUL_OPERANDS; i++) {
            const matmul_operand *o = &s->of[i];
            if (o->dtype != RY_NONE && count > 1 &&
                (i == MATMUL_B ? o->batch[last] != 0
                               : o->batch[last] != (s->m == 1 ? o->batch[last] : s->m * o->row))) {
                return;
            }
        }
        for (int i = 0; i < MATMUL_OPERANDS; i++) {
            if (i != MATMUL_B && s->m == 1) {
                s->of[i].row = s->of[i].batch[last];
            }
        }
        s->m *= count;
        s->batch_rank--;
    }
}

static void swap_operands(matmul_shape *s)
{
    const matmul_operand a = s->of[MATMUL_A];
    s->of[MATMUL_A] = s->of[MATMUL_B];
    s->of[MATMUL_B] = a;
    for (int i = 0; i < MATMUL_OPERANDS; i++) {
        const int64_t row = s->of[i].row;
        s->of[i].row = s->of[i].column;
        s->of[i].column = row;
    }
    const int64_t m = s->m;
    s->m = s->n;
    s->n = m;
    s->swapped = true;
}

bool ry_matmul_shape_as_given(const ry_problem *problem, matmul_shape *s)
{
    const ry_matmul_attrs *attrs = &problem->attrs.matmul;
    const ry_tensor *a = &problem->in[0], *b = &problem->in[1], *y = &problem->out[0];
    memset(s, 0, sizeof *s);
    s->alpha = (float)attrs->alpha;
    s->beta = (float)attrs->beta;
    const bool has_m = a->rank > 1, has_n = b->rank > 1;
    if (a->rank < 1 || b->rank < 1 || y->rank < has_m + has_n) {
        return false;
    }
    /* a transposed vector is the vector */
    const int ta = has_m && attrs->trans_a, tb = has_n && attrs->trans_b;
    matmul_operand *oa = &s->of[MATMUL_A], *ob = &s->of[MATMUL_B];
    s->m = has_m ? a->dim[a->rank - 2 + ta] : 1;
    s->k = has_m ? a->dim[a->rank - 1 - ta] : a->dim[0];
    s->n = has_n ? b->dim[b->rank - 1 - tb] : 1;
    oa->dtype = (ry_dtype)a->dtype;
    ob->dtype = (ry_dtype)b->dtype;
    oa->row = has_m ? a->stride[a->rank - 2 + ta] : 0;
    oa->column = has_m ? a->stride[a->rank - 1 - ta] : a->stride[0];
    ob->row = has_n ? b->stride[b->rank - 2 + tb] : b->stride[0];
    ob->column = has_n ? b->stride[b->rank - 1 - tb] : 0;
    s->batch_rank = y->rank - has_m - has_n;
    read_factor(a, s->batch_rank, oa);
    read_factor(b, s->batch_rank, ob);
    memcpy(s->batch_dim, y->dim, (size_t)s->batch_rank * sizeof *y->dim);
    read_sum(y, y, s->batch_rank, has_m, has_n, &s->of[MATMUL_Y]);
    for (int i = MATMUL_C; i <= MATMUL_RESIDUAL; i++) {
        if (ry_problem_has_input(problem, i)) {
            read_sum(&problem->in[i], y, s->batch_rank, has_m, has_n, &s->of[i]);
        }
    }
    fold_batches(s);
    s->batches = 1;
    for (int i = 0; i < s->batch_rank; i++) {
        s->batches *= s->batch_dim[i];
    }
    return s->m > 0 && s->n > 0 && s->k > 0 && s->batches > 0;
}

bool ry_matmul_shape_of(const ry_problem *problem, matmul_shape *s)
{
    const bool read = ry_matmul_shape_as_given(problem, s);
    if (read &&
        (s->n == 1 || (s->of[MATMUL_Y].column != 1 && s->of[MATMUL_Y].row == 1 && s->m > 1))) {
        swap_operands(s);
    }
    return read;
}

int64_t ry_matmul_batch_offset(const matmul_shape *s, int operand, int64_t batch)
{
    int64_t offset = 0;
    for (int i = s->batch_rank - 1; i >= 0; i--) {
        offset += batch % s->batch_dim[i] * s->of[operand].batch[i];
        batch /= s->batch_dim[i];
    }
    return offset;
}

const void *ry_matmul_input(const matmul_shape *s, const ry_cpu_launch *launch, int operand)
{
    if (operand < MATMUL_C && s->swapped) {
        operand = MATMUL_B - operand;
    }
    return s->of[operand].dtype == RY_NONE && operand >= MATMUL_C ? NULL : launch->in[operand];
}
