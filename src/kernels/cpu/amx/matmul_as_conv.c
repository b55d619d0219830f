/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a matrix product as a convolution of one tap. */
#include "kernels/cpu/amx/matmul_as_conv.h"

#include "kernels/cpu/matmul/matmul_shape.h"

/* [images 1][channels][pixels], or the weights' [output channels][input channels][1]. */
static ry_tensor tensor_of(int64_t first, int64_t first_step, int64_t second, int64_t second_step, int64_t third, int64_t third_step)
{
    const int64_t dim[3] = {first, second, third};
    const ry_shape shape = ry_shape_of(3, dim);
    ry_tensor tensor = ry_tensor_row_major(RY_f32, &shape, NULL);
    tensor.stride[0] = first_step;
    tensor.stride[1] = second_step;
    tensor.stride[2] = third_step;
    return tensor;
}

static bool is_plain(const matmul_shape *s)
{
    for (int i = 0; i < MATMUL_OPERANDS; i++) {
        if (s->of[i].dtype != RY_f32 && (s->of[i].dtype != RY_NONE || i < MATMUL_C || i == MATMUL_Y)) {
            return false;
        }
    }
    const matmul_operand *sum = &s->of[MATMUL_C];
    return s->batches == 1 && !s->swapped && s->alpha == 1 && (sum->dtype == RY_NONE || (s->beta == 1 && sum->row == 0));
}

bool matmul_as_conv_of(const ry_problem *matmul, matmul_as_conv *conv)
{
    matmul_shape s;
    if (matmul->op != RY_OP_matmul || !matmul_shape_of(matmul, &s) || !is_plain(&s)) {
        return false;
    }
    *conv = (matmul_as_conv){.problem = {.op = RY_OP_conv, .inputs = 4, .outputs = 1, .accuracy = matmul->accuracy}};
    const matmul_operand *x = &s.of[MATMUL_A], *w = &s.of[MATMUL_B], *bias = &s.of[MATMUL_C], *r = &s.of[MATMUL_RESIDUAL],
                         *y = &s.of[MATMUL_Y];
    conv->problem.attrs = ry_attrs_default(RY_OP_conv);
    ry_conv_attrs *attrs = &conv->problem.attrs.conv;
    attrs->activation = matmul->attrs.matmul.activation;
    attrs->act_alpha = matmul->attrs.matmul.act_alpha;
    attrs->act_beta = matmul->attrs.matmul.act_beta;
    conv->in[0] = tensor_of(1, 0, s.k, x->column, s.m, x->row);
    conv->in[1] = tensor_of(s.n, w->column, s.k, w->row, 1, 0);
    if (bias->dtype != RY_NONE) {
        const ry_shape shape = ry_shape_of(1, &s.n);
        conv->in[2] = ry_tensor_row_major(RY_f32, &shape, NULL);
        conv->in[2].stride[0] = bias->column;
    }
    if (r->dtype != RY_NONE) {
        conv->in[3] = tensor_of(1, 0, s.n, r->column, s.m, r->row);
    }
    conv->out[0] = tensor_of(1, 0, s.n, y->column, s.m, y->row);
    conv->problem.in = conv->in;
    conv->problem.out = conv->out;
    return true;
}
