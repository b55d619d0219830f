/* SPDX-License-Identifier: Apache-2.0 */
/* Operations and bytes of a problem's definition. */
#include "problem/problem.h"

#include <string.h>

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

/* The product of all labels' extents; a multiplication and an addition less for a single operand.
 * Labels: 52 letters, then the dims of the ellipsis from its right end. */
static double einsum_flop(const ry_problem *p)
{
    enum { LETTERS = 52 };
    double extent[LETTERS + RY_MAX_RANK];
    for (int i = 0; i < LETTERS + RY_MAX_RANK; i++) {
        extent[i] = 1;
    }
    const char *at = p->attrs.einsum.equation ? p->attrs.einsum.equation : "";
    for (int i = 0; i < p->inputs; i++) {
        size_t length = strcspn(at, ",-");
        int letters = 0, axis = 0;
        for (size_t k = 0; k < length; k++) {
            letters += (at[k] >= 'a' && at[k] <= 'z') || (at[k] >= 'A' && at[k] <= 'Z');
        }
        for (size_t k = 0; k < length && axis < p->in[i].rank; k++) {
            bool dots = at[k] == '.';
            int label = at[k] >= 'a' && at[k] <= 'z'   ? at[k] - 'a'
                        : at[k] >= 'A' && at[k] <= 'Z' ? at[k] - 'A' + 26
                                                       : -1;
            for (int d = p->in[i].rank - letters - 1;
                 dots && d >= 0 && d < RY_MAX_RANK && axis < p->in[i].rank; d--) {
                extent[LETTERS + d] = fmax(extent[LETTERS + d], (double)p->in[i].dim[axis++]);
            }
            if (label >= 0) {
                extent[label] =
                    p->in[i].dim[axis] == 1 ? extent[label] : (double)p->in[i].dim[axis];
                axis++;
            }
            k += dots && k + 2 < length ? 2 : 0;
        }
        at += length + (at[length] == ',');
    }
    double all = p->inputs > 1 ? 2 : 0;
    for (int i = 0; i < LETTERS + RY_MAX_RANK; i++) {
        all *= extent[i];
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
