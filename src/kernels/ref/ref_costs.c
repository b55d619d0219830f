/* SPDX-License-Identifier: Apache-2.0 */
/* What a reference does, counted in the unit of its row. */
#include "kernels/ref/ref_costs.h"

#include "expr/expr.h"
#include "kernels/common/resize_map.h"
#include "problem/window.h"

#include <math.h>

static double count(const ry_tensor *t)
{
    return ry_tensor_present(t) ? (double)ry_tensor_count(t) : 0;
}

/* Elements in the larger of input 0 and output 0. */
static double elements(const ry_problem *p)
{
    return fmax(p->inputs > 0 ? count(&p->in[0]) : 0, p->outputs > 0 ? count(&p->out[0]) : 0);
}

static double operations(const ry_problem *p)
{
    double most = elements(p);
    for (int i = 1; i < p->inputs; i++) {
        most = fmax(most, count(&p->in[i]));
    }
    return most * (double)p->attrs.expr.program->count;
}

/* Multiply-adds. */
static double products(const ry_problem *p)
{
    if (p->op == RY_OP_recurrent) {
        const double own = ry_problem_has_input(p, 1) ? count(&p->in[1]) : 0;
        return count(&p->in[0]) / fmax((double)p->in[0].dim[2], 1) * (own + count(&p->in[2]));
    }
    return fmax(ry_problem_flop(p) / 2, elements(p));
}

/* The depthwise sums are computed anew for each output channel. */
static double separable(const ry_problem *p)
{
    const double channels = fmax((double)p->in[3].dim[1], 1);
    return count(&p->out[0]) * (channels + count(&p->in[1]));
}

/* Elements of all windows; for the gradient of a maximum each is compared with its window's. */
static double windows(const ry_problem *p)
{
    const ry_window w = ry_window_of(p);
    double taps = 1;
    for (int i = 0; i < w.rank; i++) {
        taps *= (double)w.axis[i].taps;
    }
    const bool compared = p->op == RY_OP_pool_grad && p->attrs.pool_grad.kind == RY_pool_kind_max;
    return count(p->op == RY_OP_pool_grad ? &p->in[0] : &p->out[0]) * taps * (compared ? taps : 1);
}

static double resized(const ry_problem *p)
{
    double taps = 1;
    for (int d = 0; d < p->in[0].rank; d++) {
        ry_resize_axis axis;
        ry_resize_axis_make(p, d, &axis);
        taps *= ry_resize_axis_is_identity(&axis) ? 1 : (double)ry_resize_max_taps(&axis);
    }
    return count(p->op == RY_OP_resize ? &p->out[0] : &p->in[0]) * taps;
}

/* Elements of the input that are read. */
static double samples(const ry_problem *p)
{
    if (p->op == RY_OP_roi_align) {
        const double ratio = (double)p->attrs.roi_align.sampling_ratio;
        return 4 * count(&p->out[0]) * (ratio > 0 ? ratio * ratio : 4);
    }
    if (p->op == RY_OP_grid_sample) {
        static const double taps[] = {
            [RY_grid_mode_nearest] = 1, [RY_grid_mode_linear] = 2, [RY_grid_mode_cubic] = 4};
        return count(&p->out[0]) * pow(taps[p->attrs.grid_sample.mode], p->in[0].rank - 2);
    }
    return resized(p);
}

/* Comparisons of boxes: each box of a class with the selected ones. */
static double pairs(const ry_problem *p)
{
    const double boxes = (double)p->in[0].dim[1];
    return count(&p->in[1]) * fmin(fmax((double)p->attrs.nms.max_output, 1), boxes);
}

/* A run takes them, whatever the problem. */
static const double START_SECONDS = 1e-6;

double ry_ref_seconds(const ry_problem *problem)
{
    switch (problem->op) {
#define RY_REF_COST(op, unit, nanoseconds) \
    case RY_OP_##op:                       \
        return START_SECONDS + unit(problem) * (nanoseconds)*1e-9;
#include "kernels/ref/ref_costs.inc"
#undef RY_REF_COST
    default: return 0;
    }
}
