/* SPDX-License-Identifier: Apache-2.0 */
/* Reference batch normalisation by the statistics of the batch (Ioffe and Szegedy,
 * arXiv:1502.03167), and its gradient: a channel at a time. */
#include "kernels/common/activation_scalar.h"
#include "kernels/common/batch_norm_over.h"
#include "kernels/ref/ref_common.h"

static double get(const ry_cpu_launch *launch, int input, int64_t offset)
{
    const ry_tensor *t = &launch->problem->in[input];
    return ry_ref_get(ry_ref_dtype(t), launch->in[input], offset);
}

static double get_at(const ry_cpu_launch *launch, int input, const int64_t *at)
{
    return get(launch, input, ry_index_offset(&launch->problem->in[input], at));
}

static void set(const ry_cpu_launch *launch, int output, const int64_t *at, double value)
{
    const ry_tensor *t = &launch->problem->out[output];
    if (ry_problem_has_output(launch->problem, output)) {
        ry_set_f64(ry_ref_dtype(t), launch->out[output], ry_index_offset(t, at), value);
    }
}

/* The next element of the channel at[1]. */
static bool next_of_channel(const ry_tensor *x, int64_t *at)
{
    return ry_index_next(x->rank - 2, x->dim + 2, at + 2) || ry_index_next(1, x->dim, at);
}

/* Two passes: their sums lose nothing to cancellation. */
static void channel_train(const ry_cpu_launch *launch, const int64_t *channel)
{
    const ry_problem *p = launch->problem;
    const ry_batch_norm_train_attrs *a = &p->attrs.batch_norm_train;
    const ry_tensor *x = &p->in[0];
    const int64_t c = *channel;
    const double count = (double)(ry_tensor_count(x) / x->dim[1]);
    double mean = 0, squares = 0;
    int64_t at[RY_MAX_RANK] = {0, c};
    do {
        mean += get_at(launch, 0, at);
    } while (next_of_channel(x, at));
    mean /= count;
    do {
        const double d = get_at(launch, 0, at) - mean;
        squares += d * d;
    } while (next_of_channel(x, at));
    const double inverse = 1 / sqrt(squares / count + a->epsilon);
    const double factor = inverse * get_at(launch, 1, channel), bias = get_at(launch, 2, channel);
    do {
        const double residual = ry_problem_has_input(p, 5) ? get_at(launch, 5, at) : 0;
        set(launch, 0, at,
            ry_activation_scalar(a->activation, a->act_alpha, a->act_beta,
                                 (get_at(launch, 0, at) - mean) * factor + bias + residual));
    } while (next_of_channel(x, at));
    set(launch, 1, channel, mean);
    set(launch, 2, channel, inverse);
    set(launch, 3, channel, (1 - a->momentum) * get_at(launch, 3, channel) + a->momentum * mean);
    set(launch, 4, channel,
        (1 - a->momentum) * get_at(launch, 4, channel) + a->momentum * squares / (count - 1));
}

/* y's gradient as it passes the activation: only between the bounds, as in PyTorch. */
static double passed(const ry_cpu_launch *launch, const int64_t *at)
{
    const ry_batch_norm_grad_attrs *a = &launch->problem->attrs.batch_norm_grad;
    const double dy = get_at(launch, 0, at);
    if (a->activation == RY_activation_none) {
        return dy;
    }
    const bool clip = a->activation == RY_activation_clip;
    const double y = get_at(launch, 5, at);
    return y <= (clip ? a->act_alpha : 0) || (clip && y >= a->act_beta) ? 0 : dy;
}

static void channel_grad(const ry_cpu_launch *launch, const int64_t *channel)
{
    const ry_problem *p = launch->problem;
    const ry_tensor *x = &p->in[1];
    const int64_t c = *channel;
    const double count = (double)(ry_tensor_count(x) / x->dim[1]);
    const double mean = get_at(launch, 3, channel), inverse = get_at(launch, 4, channel);
    double sum = 0, products = 0;
    int64_t at[RY_MAX_RANK] = {0, c};
    do {
        const double dy = passed(launch, at);
        sum += dy;
        products += dy * (get_at(launch, 1, at) - mean);
    } while (next_of_channel(x, at));
    const bool fixed = p->attrs.batch_norm_grad.fixed != 0;
    const double factor = inverse * get_at(launch, 2, channel);
    do {
        const double dy = passed(launch, at);
        const double normal = (get_at(launch, 1, at) - mean) * inverse;
        const double shift = fixed ? 0 : (sum + normal * products * inverse) / count;
        set(launch, 0, at, (dy - shift) * factor);
        set(launch, 3, at, dy);
    } while (next_of_channel(x, at));
    set(launch, 1, channel, products * inverse);
    set(launch, 2, channel, sum);
}

static bool per_channel(const ry_problem *problem, int first, int end)
{
    for (int i = first; i < end; i++) {
        if (!ry_problem_has_input(problem, i) || problem->in[i].rank != 1) {
            return false;
        }
    }
    return ry_ref_floats(problem) && problem->in[0].rank >= 2 &&
           ry_tensor_count(&problem->in[0]) > 0;
}

static bool applicable_train(const ry_problem *problem)
{
    return per_channel(problem, 1, 5);
}

static bool applicable_grad(const ry_problem *problem)
{
    return per_channel(problem, 2, 5) && ry_problem_has_input(problem, 1) &&
           (problem->attrs.batch_norm_grad.activation == RY_activation_none ||
            ry_problem_has_input(problem, 5));
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    (void)error;
    ry_ref_prepare(prepared, query->problem->in[0].dim[1]);
    return RYND_OK;
}

static void run_train(const ry_cpu_launch *launch, size_t task)
{
    ry_ref_each(launch, 1, launch->problem->in[0].dim + 1, launch->prepared->tasks[0], task,
                channel_train);
}

static void run_grad(const ry_cpu_launch *launch, size_t task)
{
    ry_ref_each(launch, 1, launch->problem->in[0].dim + 1, launch->prepared->tasks[0], task,
                channel_grad);
}

RY_REF_KERNEL(batch_norm_train, applicable_train, prepare, .run = run_train,
              .over = RY_BATCH_NORM_TRAIN_OVER);
RY_REF_KERNEL(batch_norm_grad, applicable_grad, prepare, .run = run_grad,
              .over = RY_BATCH_NORM_GRAD_OVER);
