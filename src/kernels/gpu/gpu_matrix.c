/* SPDX-License-Identifier: Apache-2.0 */
/* Reads matrix products into steps, and defines them. */
#include "kernels/gpu/gpu_matrix.h"

#include "kernels/gpu/expr_text.h"
#include "kernels/gpu/gpu_define.h"

static const ry_tensor *operand(const ry_problem *problem, int i)
{
    return i == RY_GPU_Y                      ? &problem->out[0]
           : ry_problem_has_input(problem, i) ? &problem->in[i]
                                              : NULL;
}

static bool is_empty(const ry_tensor *tensor)
{
    for (int i = 0; i < tensor->rank; i++) {
        if (tensor->dim[i] < 1) {
            return true;
        }
    }
    return false;
}

bool ry_gpu_matrix_takes(const ry_problem *problem)
{
    const int64_t most = INT32_MAX / 4;
    for (int i = 0; i < RY_GPU_OPERANDS; i++) {
        const ry_tensor *t = operand(problem, i);
        if (t ? !ry_gpu_is_float(t) || is_empty(t) || ry_tensor_count(t) > most : i < RY_GPU_C) {
            return false;
        }
    }
    return problem->in[0].rank > 0 && problem->in[1].rank > 0;
}

/* The tensor's stride along dim `at`; 0 if the tensor is absent, lacks the dim, or has one element
 * along it. */
static int64_t step_at(const ry_tensor *tensor, int at)
{
    return tensor && at >= 0 && tensor->dim[at] > 1 ? tensor->stride[at] : 0;
}

/* Dim `from_end` dims before the end of y, of what is broadcast to y: c, residual and y. */
static void fill_outputs(const ry_problem *problem, int from_end, ry_gpu_dim *dim)
{
    for (int i = RY_GPU_C; i < RY_GPU_OPERANDS; i++) {
        const ry_tensor *t = operand(problem, i);
        dim->step[i] = t ? step_at(t, t->rank - 1 - from_end) : 0;
    }
}

/* Where a batch dim that is so far before the batch's end is in a or b, which has two dims behind
 * it, or is a vector. */
static int64_t batch_step(const ry_tensor *tensor, int from_end)
{
    return tensor->rank > 2 ? step_at(tensor, tensor->rank - 3 - from_end) : 0;
}

static bool are_rows(const ry_gpu_dim *batch, const ry_gpu_dim *row)
{
    bool rows = batch->step[RY_GPU_B] == 0;
    for (int i = 0; i < RY_GPU_OPERANDS; i++) {
        rows = rows && batch->step[i] == row->count * row->step[i];
    }
    return rows;
}

ry_gpu_matrix ry_gpu_matrix_of(const ry_problem *problem)
{
    const ry_matmul_attrs *attrs = &problem->attrs.matmul;
    const ry_tensor *a = &problem->in[0], *b = &problem->in[1], *y = &problem->out[0];
    const bool has_row = a->rank > 1, has_column = b->rank > 1;
    const int a_term = has_row && attrs->trans_a ? a->rank - 2 : a->rank - 1,
              b_term = has_column && !attrs->trans_b ? b->rank - 2 : b->rank - 1;
    ry_gpu_matrix m = {.row = {.count = 1}, .column = {.count = 1}, .batches = 1};
    m.term = (ry_gpu_dim){a->dim[a_term], {step_at(a, a_term), step_at(b, b_term)}};
    int end = 0;
    if (has_column) {
        const int at = attrs->trans_b ? b->rank - 2 : b->rank - 1;
        m.column.count = b->dim[at];
        fill_outputs(problem, end++, &m.column);
        m.column.step[RY_GPU_B] = step_at(b, at);
    }
    if (has_row) {
        const int at = attrs->trans_a ? a->rank - 1 : a->rank - 2;
        m.row.count = a->dim[at];
        fill_outputs(problem, end++, &m.row);
        m.row.step[RY_GPU_A] = step_at(a, at);
    }
    for (int i = 0; i < y->rank - end; i++) {
        const int from_end = y->rank - end - 1 - i;
        ry_gpu_dim dim = {y->dim[i], {batch_step(a, from_end), batch_step(b, from_end)}};
        fill_outputs(problem, end + from_end, &dim);
        m.batch[m.batch_rank++] = dim;
    }
    while (m.batch_rank > 0 &&
           (m.batch[m.batch_rank - 1].count == 1 || are_rows(&m.batch[m.batch_rank - 1], &m.row))) {
        m.row.count *= m.batch[--m.batch_rank].count;
    }
    for (int i = 0; i < m.batch_rank; i++) {
        m.batches *= m.batch[i].count;
    }
    return m;
}

static void define_batch(ry_text *text, const ry_gpu_matrix *m, int operand)
{
    ry_text_add(text, "#define AT_%d(batch) (0", operand);
    int64_t inner = m->batches;
    for (int i = 0; i < m->batch_rank; i++) {
        inner /= m->batch[i].count;
        if (m->batch[i].step[operand]) {
            ry_text_add(text, " + (INDEX)((batch) / %lld %% %lld) * %lld", (long long)inner,
                        (long long)m->batch[i].count, (long long)m->batch[i].step[operand]);
        }
    }
    ry_text_add(text, ")\n");
}

static void add_offset(ry_text *text, const ry_gpu_matrix *m, int operand)
{
    ry_text_add(text, "AT_%d(batch) + (INDEX)(m) * %lld + (INDEX)(n) * %lld", operand,
                (long long)m->row.step[operand], (long long)m->column.step[operand]);
}

/* The offset of an element beside the sums: name(batch, m, n). */
static void define_offset(ry_text *text, const char *name, const ry_gpu_matrix *m, int operand)
{
    ry_text_add(text, "#define %s(batch, m, n) (", name);
    add_offset(text, m, operand);
    ry_text_add(text, ")\n");
}

/* " + 0.5f * in2[...]" */
static void add_term(ry_text *text, const ry_problem *problem, int input, const char *offset,
                     double factor)
{
    if (ry_problem_has_input(problem, input)) {
        char literal[RY_GPU_FLOAT];
        ry_gpu_float(factor, literal);
        ry_text_add(text, " + %s * LOAD_%d(IN(TYPE_%d, %d), %s(batch, m, n))", literal, input,
                    input, input, offset);
    }
}

void ry_gpu_matrix_define(const ry_problem *problem, const ry_gpu_matrix *matrix, ry_text *text)
{
    const ry_matmul_attrs *attrs = &problem->attrs.matmul;
    ry_gpu_define_types(text, problem, ry_gpu_is_wide(problem));
    ry_gpu_activation(text, attrs->activation, (float)attrs->act_alpha, (float)attrs->act_beta);
    for (int i = 0; i < RY_GPU_OPERANDS; i++) {
        define_batch(text, matrix, i);
    }
    define_offset(text, "PRODUCT_AT", matrix, RY_GPU_Y);
    define_offset(text, "PRODUCT_C_AT", matrix, RY_GPU_C);
    define_offset(text, "PRODUCT_RESIDUAL_AT", matrix, RY_GPU_RESIDUAL);
    char alpha[RY_GPU_FLOAT];
    ry_gpu_float(attrs->alpha, alpha);
    ry_text_add(text,
                "#define FINISH_PRODUCT(batch, m, n, sum) STORE(OUT(TYPE_Y, 0), "
                "PRODUCT_AT(batch, m, n), activate(%s * (sum)",
                alpha);
    add_term(text, problem, RY_GPU_C, "PRODUCT_C_AT", attrs->beta);
    add_term(text, problem, RY_GPU_RESIDUAL, "PRODUCT_RESIDUAL_AT", 1);
    ry_text_add(text, "))\n");
}
