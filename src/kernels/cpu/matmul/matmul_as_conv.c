/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a matrix product as a convolution of one tap. */
#include "kernels/cpu/matmul/matmul_as_conv.h"

#include "kernels/cpu/matmul/matmul_shape.h"

/* [images][channels][pixels]: of `images` products, whose columns are channels, whose rows pixels.
 */
static ry_tensor image_of(const matmul_operand *o, int64_t images, int64_t rows, int64_t columns)
{
    const int64_t dim[3] = {images, columns, rows};
    const ry_shape shape = ry_shape_of(3, dim);
    ry_tensor tensor = ry_tensor_row_major(o->dtype, &shape, NULL);
    tensor.stride[0] = o->batch[0];
    tensor.stride[1] = o->column;
    tensor.stride[2] = o->row;
    return tensor;
}

/* [output channels][input channels][1] */
static ry_tensor weights_of(const matmul_shape *s)
{
    const int64_t dim[3] = {s->n, s->k, 1};
    const ry_shape shape = ry_shape_of(3, dim);
    ry_tensor tensor = ry_tensor_row_major(s->of[MATMUL_B].dtype, &shape, NULL);
    tensor.stride[0] = s->of[MATMUL_B].column;
    tensor.stride[1] = s->of[MATMUL_B].row;
    return tensor;
}

static ry_tensor bias_of(const matmul_shape *s)
{
    const ry_shape shape = ry_shape_of(1, &s->n);
    ry_tensor tensor = ry_tensor_row_major(s->of[MATMUL_C].dtype, &shape, NULL);
    tensor.stride[0] = s->of[MATMUL_C].column;
    return tensor;
}

static bool is_plain(const matmul_shape *s)
{
    const matmul_operand *sum = &s->of[MATMUL_C];
    return s->n > 1 && s->batch_rank <= 1 && s->of[MATMUL_B].batch[0] == 0 && s->alpha == 1 &&
           (sum->dtype == RY_NONE || (s->beta == 1 && sum->row == 0 && sum->batch[0] == 0));
}

bool ry_matmul_as_conv_of(const ry_problem *matmul, matmul_as_conv *conv)
{
    matmul_shape s;
    if (matmul->op != RY_OP_matmul || !ry_matmul_shape_as_given(matmul, &s) || !is_plain(&s)) {
        return false;
    }
    *conv = (matmul_as_conv){
        .problem = {.op = RY_OP_conv, .inputs = 4, .outputs = 1, .accuracy = matmul->accuracy}};
    conv->problem.attrs = ry_attrs_default(RY_OP_conv);
    ry_conv_attrs *attrs = &conv->problem.attrs.conv;
    attrs->activation = matmul->attrs.matmul.activation;
    attrs->act_alpha = matmul->attrs.matmul.act_alpha;
    attrs->act_beta = matmul->attrs.matmul.act_beta;
    conv->in[0] = image_of(&s.of[MATMUL_A], s.batches, s.m, s.k);
    conv->in[1] = weights_of(&s);
    if (s.of[MATMUL_C].dtype != RY_NONE) {
        conv->in[2] = bias_of(&s);
    }
    if (s.of[MATMUL_RESIDUAL].dtype != RY_NONE) {
        conv->in[3] = image_of(&s.of[MATMUL_RESIDUAL], s.batches, s.m, s.n);
    }
    conv->out[0] = image_of(&s.of[MATMUL_Y], s.batches, s.m, s.n);
    conv->problem.in = conv->in;
    conv->problem.out = conv->out;
    return true;
}

bool ry_matmul_as_conv_query(const ry_query *query, matmul_as_conv *conv, ry_query *asked)
{
    *asked = *query;
    asked->problem = &conv->problem;
    return ry_matmul_as_conv_of(query->problem, conv);
}

bool ry_matmul_as_conv_takes(const ry_problem *matmul, bool (*takes)(const ry_problem *conv))
{
    matmul_as_conv conv;
    return ry_matmul_as_conv_of(matmul, &conv) && takes(&conv.problem);
}

void ry_matmul_as_conv_values(const ry_query *query, int knob, ry_knob_values *values,
                              void (*of_conv)(const ry_query *query, int knob,
                                              ry_knob_values *values))
{
    matmul_as_conv conv;
    ry_query asked;
    if (ry_matmul_as_conv_query(query, &conv, &asked)) {
        of_conv(&asked, knob, values);
    }
}

rynd_status ry_matmul_as_conv_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error,
                                      rynd_status (*of_conv)(const ry_query *query,
                                                             ry_prepared *prepared,
                                                             ry_error *error))
{
    matmul_as_conv conv;
    ry_query asked;
    if (!ry_matmul_as_conv_query(query, &conv, &asked)) {
        return ry_fail(error, RYND_ERROR_SHAPE, "matmul: not a product of two matrices");
    }
    RY_TRY(of_conv(&asked, prepared, error));
    prepared->state_size += ry_aligned(sizeof conv);
    return RYND_OK;
}

void ry_matmul_as_conv_initialise(const ry_query *query, void *state,
                                  void (*of_conv)(const ry_query *query, void *state))
{
    matmul_as_conv *conv = state;
    ry_query asked;
    if (ry_matmul_as_conv_query(query, conv, &asked)) {
        of_conv(&asked, (char *)state + ry_aligned(sizeof *conv));
        conv->problem.in = conv->problem.out = NULL;
    }
}

const void *ry_matmul_as_conv_state(const void *state)
{
    return (const char *)state + ry_aligned(sizeof(matmul_as_conv));
}

ry_cpu_launch ry_matmul_as_conv_launch(const ry_cpu_launch *launch, ry_problem *conv)
{
    const matmul_as_conv *described = launch->state;
    *conv = described->problem;
    conv->in = described->in;
    conv->out = described->out;
    ry_cpu_launch as_conv = *launch;
    as_conv.problem = conv;
    as_conv.state = ry_matmul_as_conv_state(launch->state);
    return as_conv;
}
