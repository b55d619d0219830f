/* SPDX-License-Identifier: Apache-2.0 */
/* Operations and bytes of a problem's definition. */
#include "problem/einsum.h"
#include "problem/problem.h"

#include <math.h>

static double product(const ry_tensor *t, int from, int to)
{
    double p = 1;
    for (int i = from; i < to; i++) {
        p *= (double)t->dim[i];
    }
    return p;
}

/* Every output element takes the whole kernel over its group's channels; the transposed convolution
 * the other way round: every input element gives to the whole kernel. Directions backward do the
 * same multiply-adds as the one forward. */
static double conv_flop(const ry_problem *p)
{
    bool back = p->op == RY_OP_conv && p->attrs.conv.dir == RY_direction_bwd_weights;
    bool data = p->op == RY_OP_conv && p->attrs.conv.dir == RY_direction_bwd_data;
    const ry_tensor *weights = back ? &p->out[0] : &p->in[1];
    const ry_tensor *y = back ? &p->in[1] : data || p->op == RY_OP_convt ? &p->in[0] : &p->out[0];
    return 2 * product(y, 0, y->rank) * product(weights, 1, weights->rank);
}

/* Every position takes its window of each channel, then all channels for each output channel. */
static double separable_flop(const ry_problem *p)
{
    const ry_tensor *dw = &p->in[1], *y = &p->out[0];
    const double positions = product(y, 0, 1) * product(y, 2, y->rank);
    return 2 * positions * (double)dw->dim[0] * (product(dw, 2, dw->rank) + (double)y->dim[1]);
}

static double matmul_flop(const ry_problem *p)
{
    const ry_tensor *a = &p->in[0], *y = &p->out[0];
    bool swapped = p->attrs.matmul.trans_a && a->rank > 1;
    int64_t depth = a->rank ? a->dim[swapped ? a->rank - 2 : a->rank - 1] : 1;
    return 2 * product(y, 0, y->rank) * (double)depth;
}

/* The product of all labels' extents; a single operand is only added. */
static double einsum_flop(const ry_problem *p)
{
    double extent[RY_EINSUM_LABELS] = {0}, all = p->inputs > 1 ? 2 : 0;
    ry_einsum_reader reader =
        ry_einsum_begin(p->attrs.einsum.equation ? p->attrs.einsum.equation : "");
    ry_einsum_term term;
    for (int i = 0; i < p->inputs && ry_einsum_operand(&reader, p->in[i].rank, &term); i++) {
        for (int d = 0; d < term.count; d++) {
            extent[term.label[d]] = fmax(extent[term.label[d]], (double)p->in[i].dim[d]);
        }
    }
    for (int label = 0; label < RY_EINSUM_LABELS; label++) {
        all *= reader.uses[label] ? extent[label] : 1;
    }
    return all;
}

/* A problem straight from a text may lack what its operator needs: it has no products then. */
static bool is_whole(const ry_problem *p)
{
    return ry_problem_has_input(p, 0) && ry_problem_has_input(p, 1) && ry_problem_has_output(p, 0);
}

double ry_problem_flop(const ry_problem *problem)
{
    if (problem->op != RY_OP_einsum && !is_whole(problem)) {
        return 0;
    }
    switch (problem->op) {
    case RY_OP_conv:
    case RY_OP_convt:
    case RY_OP_qconv:
    case RY_OP_deform_conv: return conv_flop(problem);
    case RY_OP_separable_conv: return separable_flop(problem);
    case RY_OP_matmul: return matmul_flop(problem);
    case RY_OP_einsum: return einsum_flop(problem);
    default: return 0;
    }
}

double ry_problem_bytes(const ry_problem *problem)
{
    double bytes = 0;
    for (int i = 0; i < problem->inputs; i++) {
        bytes += product(&problem->in[i], 0, problem->in[i].rank) *
                 (double)ry_dtype_size((ry_dtype)problem->in[i].dtype);
    }
    for (int i = 0; i < problem->outputs; i++) {
        bytes += product(&problem->out[i], 0, problem->out[i].rank) *
                 (double)ry_dtype_size((ry_dtype)problem->out[i].dtype);
    }
    return bytes;
}
