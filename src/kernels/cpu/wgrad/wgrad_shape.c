/* SPDX-License-Identifier: Apache-2.0 */
/* Reads shape and strides of a weight gradient. */
#include "kernels/cpu/wgrad/wgrad_shape.h"

#include "base/integer.h"

/* Taps along an axis: no window of a network is as wide, and plans look at each. */
enum { WIDEST = 4096 };

/* Floats of dw, so that partial sums of several parts can be counted. */
#define LARGEST ((int64_t)1 << 40)

static bool is_f32(const ry_tensor *tensor)
{
    return tensor->dtype == RYND_DTYPE_F32 && ry_tensor_count(tensor) > 0;
}

bool ry_wgrad_takes(const ry_problem *problem)
{
    if (problem->op != RY_OP_conv || problem->attrs.conv.dir != RY_direction_bwd_weights ||
        !ry_problem_has_input(problem, 0) || !ry_problem_has_input(problem, 1) ||
        !ry_problem_has_output(problem, 0)) {
        return false;
    }
    const ry_tensor *dw = &problem->out[0];
    bool small = ry_tensor_count(dw) < LARGEST;
    for (int i = 2; i < dw->rank; i++) {
        small = small && dw->dim[i] <= WIDEST;
    }
    return small && dw->rank >= 3 && dw->rank <= 2 + WGRAD_SPACE && is_f32(&problem->in[0]) &&
           is_f32(&problem->in[1]) && is_f32(dw) &&
           (!ry_problem_has_output(problem, 1) || is_f32(&problem->out[1]));
}

static wgrad_operand operand(const ry_tensor *tensor)
{
    wgrad_operand o = {.image = tensor->stride[0], .channel = tensor->stride[1]};
    const int missing = WGRAD_SPACE + 2 - tensor->rank;
    for (int i = missing; i < WGRAD_SPACE; i++) {
        o.step[i] = tensor->stride[2 + i - missing];
    }
    return o;
}

void ry_wgrad_shape_of(const ry_problem *problem, wgrad_shape *s)
{
    const ry_tensor *x = &problem->in[0], *dy = &problem->in[1], *dw = &problem->out[0];
    const ry_window window = ry_window_of(problem);
    const wgrad_operand weights = operand(dw);
    *s = (wgrad_shape){.images = x->dim[0],
                       .groups = problem->attrs.conv.groups,
                       .c = dw->dim[1],
                       .k = dw->dim[0] / problem->attrs.conv.groups,
                       .taps = 1,
                       .positions = 1,
                       .x = operand(x),
                       .dy = operand(dy),
                       .dw_k = dw->stride[0],
                       .dw_c = dw->stride[1],
                       .bias = ry_problem_has_output(problem, 1),
                       .plain = true};
    s->db_step = s->bias ? problem->out[1].stride[0] : 0;
    const int missing = WGRAD_SPACE - window.rank;
    for (int i = 0; i < WGRAD_SPACE; i++) {
        ry_window_axis *axis = &s->axis[i];
        *axis = i < missing ? RY_WINDOW_UNIT : window.axis[i - missing];
        s->dw_step[i] = weights.step[i];
        s->taps *= axis->taps;
        s->positions *= axis->out;
        s->plain = s->plain && axis->taps == 1 && axis->stride == 1 && axis->pad == 0 &&
                   axis->in == axis->out;
    }
    s->dense = s->dw_c == s->taps || s->c == 1;
    int64_t step = 1;
    for (int i = WGRAD_SPACE - 1; i >= 0; i--) {
        s->dense = s->dense && (s->axis[i].taps == 1 || s->dw_step[i] == step);
        step *= s->axis[i].taps;
    }
}

int64_t ry_wgrad_tap_offset(const wgrad_shape *shape, int64_t tap)
{
    int64_t at[WGRAD_SPACE], offset = 0;
    wgrad_tap_at(shape, tap, at);
    for (int i = 0; i < WGRAD_SPACE; i++) {
        offset += at[i] * shape->dw_step[i];
    }
    return offset;
}

double ry_wgrad_share_inside(const wgrad_shape *shape)
{
    double share = 1;
    for (int i = 0; i < WGRAD_SPACE; i++) {
        const ry_window_axis *axis = &shape->axis[i];
        double inside = 0;
        for (int64_t tap = 0; tap < axis->taps; tap++) {
            const ry_window_range range = wgrad_valid_range(axis, tap);
            inside += (double)(range.end - range.begin);
        }
        share *= inside / ((double)axis->taps * (double)axis->out);
    }
    return share;
}
