/* SPDX-License-Identifier: Apache-2.0 */
/* Reference convolution: forward, gradient of the data, gradient of weights and bias, and
 * transposed convolution; any rank. */
#include "kernels/ref/ref_common.h"
#include "problem/window.h"

static ry_ref_operand operand(const ry_tensor *t, const void *data)
{
    return (ry_ref_operand){.dtype = ry_ref_dtype(t), .data = data};
}

/* Bias offset of the output channel. If phases of a transposed convolution have their own bias, it
 * depends on the position modulo the strides, too. */
static int64_t bias_offset(const ry_problem *p, const ry_tensor *bias, const int64_t *index)
{
    int64_t offset = index[1] * bias->stride[0];
    for (int i = 1; i < bias->rank; i++) {
        offset += index[1 + i] % ry_ints_get(&p->attrs.convt.stride, i - 1, 1) * bias->stride[i];
    }
    return offset;
}

/* bias[channel], residual[index] and the activation, then the store. in[first] is the bias. */
static void finish(const ry_cpu_launch *launch, ry_ref_sum *sum, int first, const int64_t *index,
                   ry_activation activation, double a, double b)
{
    const ry_problem *p = launch->problem;
    if (ry_problem_has_input(p, first)) {
        ry_ref_add(sum, ry_ref_dtype(&p->in[first]), launch->in[first],
                   bias_offset(p, &p->in[first], index));
    }
    if (ry_problem_has_input(p, first + 1)) {
        ry_ref_add(sum, ry_ref_dtype(&p->in[first + 1]), launch->in[first + 1],
                   ry_index_offset(&p->in[first + 1], index));
    }
    ry_ref_activate(sum, activation, a, b);
    ry_ref_store(sum, ry_ref_dtype(&p->out[0]), launch->out[0], ry_index_offset(&p->out[0], index));
}

/* y[n,k,o] = sum over the channels c of k's group and the taps r of x[n,c,o*s+r*d-p] * w[k,c,r] */
static void forward(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_conv_attrs *attrs = &p->attrs.conv;
    const ry_tensor *tx = &p->in[0], *tw = &p->in[1], *ty = &p->out[0];
    ry_window win = ry_window_of(p);
    ry_ref_operand x = operand(tx, launch->in[0]), w = operand(tw, launch->in[1]);
    int64_t count[RY_MAX_RANK] = {tw->dim[1]};
    int64_t group = index[1] / (ty->dim[1] / attrs->groups);
    x.offset = index[0] * tx->stride[0] + group * tw->dim[1] * tx->stride[1];
    x.step[0] = tx->stride[1];
    w.offset = index[1] * tw->stride[0];
    w.step[0] = tw->stride[1];
    for (int i = 0; i < win.rank; i++) {
        const ry_window_axis *axis = &win.axis[i];
        const ry_window_range taps = ry_window_taps(axis, index[i + 2]);
        count[i + 1] = taps.end - taps.begin;
        x.offset += ry_window_at(axis, index[i + 2], taps.begin) * tx->stride[i + 2];
        x.step[i + 1] = axis->dilation * tx->stride[i + 2];
        w.offset += taps.begin * tw->stride[i + 2];
        w.step[i + 1] = tw->stride[i + 2];
    }
    ry_ref_sum sum = {.integer = ry_ref_integers(p)};
    ry_ref_dot(&sum, win.rank + 1, count, &x, &w);
    finish(launch, &sum, 2, index, attrs->activation, attrs->act_alpha, attrs->act_beta);
}

/* big[n,c,i] = sum over the channels k of c's group and the taps r with i = o*s+r*d-p of
 * small[n,k,o] * w[k,c,r]: what convolution's data gradient and transposed convolution share. */
static ry_ref_sum scatter_sum(const ry_cpu_launch *launch, const ry_window *win, int64_t groups,
                              const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_tensor *ts = &p->in[0], *tw = &p->in[1];
    ry_ref_operand small = operand(ts, launch->in[0]), w = operand(tw, launch->in[1]);
    int64_t group = index[1] / tw->dim[1], channels = tw->dim[0] / groups;
    int64_t count[RY_MAX_RANK] = {channels};
    small.offset = index[0] * ts->stride[0] + group * channels * ts->stride[1];
    small.step[0] = ts->stride[1];
    w.offset = group * channels * tw->stride[0] + index[1] % tw->dim[1] * tw->stride[1];
    w.step[0] = tw->stride[0];
    for (int i = 0; i < win->rank; i++) {
        ry_window_readers readers = ry_window_readers_of(&win->axis[i], index[i + 2]);
        count[i + 1] = readers.count;
        small.offset += readers.out * ts->stride[i + 2];
        small.step[i + 1] = readers.out_step * ts->stride[i + 2];
        w.offset += readers.tap * tw->stride[i + 2];
        w.step[i + 1] = readers.tap_step * tw->stride[i + 2];
    }
    ry_ref_sum sum = {.integer = ry_ref_integers(p)};
    ry_ref_dot(&sum, win->rank + 1, count, &small, &w);
    return sum;
}

static void backward_data(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_conv_attrs *attrs = &p->attrs.conv;
    ry_window win = ry_window_of(p);
    ry_ref_sum sum = scatter_sum(launch, &win, attrs->groups, index);
    ry_ref_store(&sum, ry_ref_dtype(&p->out[0]), launch->out[0],
                 ry_index_offset(&p->out[0], index));
}

static void transposed(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_convt_attrs *attrs = &p->attrs.convt;
    ry_window win = ry_window_of(p);
    ry_ref_sum sum = scatter_sum(launch, &win, attrs->groups, index);
    finish(launch, &sum, 2, index, attrs->activation, attrs->act_alpha, attrs->act_beta);
}

/* dw[k,c,r] = sum over n and o of dy[n,k,o] * x[n,c,o*s+r*d-p] */
static void backward_weights(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_conv_attrs *attrs = &p->attrs.conv;
    const ry_tensor *tx = &p->in[0], *ty = &p->in[1], *tw = &p->out[0];
    ry_window win = ry_window_of(p);
    ry_ref_operand x = operand(tx, launch->in[0]), y = operand(ty, launch->in[1]);
    int64_t count[RY_MAX_RANK] = {tx->dim[0]};
    int64_t group = index[0] / (tw->dim[0] / attrs->groups);
    x.offset = (group * tw->dim[1] + index[1]) * tx->stride[1];
    x.step[0] = tx->stride[0];
    y.offset = index[0] * ty->stride[1];
    y.step[0] = ty->stride[0];
    for (int i = 0; i < win.rank; i++) {
        const ry_window_axis axis = ry_window_exchange(&win.axis[i]);
        const ry_window_range outputs = ry_window_taps(&axis, index[i + 2]);
        count[i + 1] = outputs.end - outputs.begin;
        x.offset += ry_window_at(&axis, index[i + 2], outputs.begin) * tx->stride[i + 2];
        x.step[i + 1] = axis.dilation * tx->stride[i + 2];
        y.offset += outputs.begin * ty->stride[i + 2];
        y.step[i + 1] = ty->stride[i + 2];
    }
    ry_ref_sum sum = {.integer = ry_ref_integers(p)};
    ry_ref_dot(&sum, win.rank + 1, count, &x, &y);
    ry_ref_store(&sum, ry_ref_dtype(tw), launch->out[0], ry_index_offset(tw, index));
}

/* db[k] = sum over n and o of dy[n,k,o] */
static void backward_bias(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_tensor *ty = &p->in[1], *tb = &p->out[1];
    ry_ref_operand y = operand(ty, launch->in[1]);
    int64_t count[RY_MAX_RANK] = {0};
    y.offset = index[0] * ty->stride[1];
    for (int i = 0; i < ty->rank; i++) {
        count[i] = i == 1 ? 1 : ty->dim[i];
        y.step[i] = ty->stride[i];
    }
    ry_ref_sum sum = {.integer = ry_ref_integers(p)};
    ry_ref_dot(&sum, ty->rank, count, &y, NULL);
    ry_ref_store(&sum, ry_ref_dtype(tb), launch->out[1], index[0] * tb->stride[0]);
}

static const ry_ref_element directions[] = {forward, backward_data, backward_weights};

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    RY_TRY(ry_ref_prepare_elements(query, prepared, error));
    if (problem->attrs.conv.dir == RY_direction_bwd_weights && ry_problem_has_output(problem, 1)) {
        prepared->tasks[prepared->phases++] = ry_ref_tasks(problem->out[1].dim[0]);
    }
    return RYND_OK;
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    if (launch->phase == 0) {
        ry_ref_each_output(launch, task, directions[launch->problem->attrs.conv.dir]);
    } else {
        ry_ref_each(launch, 1, launch->problem->out[1].dim, launch->prepared->tasks[1], task,
                    backward_bias);
    }
}

static void run_transposed(const ry_cpu_launch *launch, size_t task)
{
    ry_ref_each_output(launch, task, transposed);
}

RY_REF_KERNEL(conv, ry_ref_numeric, prepare, .run = run);
RY_REF_KERNEL(convt, ry_ref_numeric, ry_ref_prepare_elements, .run = run_transposed);
