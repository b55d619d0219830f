/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of several boxes, as moves: concat, split, constant padding, cropping and filling. */
#include "base/integer.h"
#include "kernels/move/move_describe.h"

#include <string.h>

void ry_describe_concat(const ry_problem *problem, ry_move_list *list)
{
    const ry_tensor *y = &problem->out[0];
    int axis = ry_axis(problem->attrs.concat.axis, y->rank);
    int64_t at = 0;
    for (int k = 0; k < problem->inputs; k++) {
        const ry_tensor *x = &problem->in[k];
        ry_move move = ry_move_start(problem, k, 0);
        move.dst_offset = at * y->stride[axis];
        for (int i = 0; i < y->rank; i++) {
            ry_box_add(&move.box, x->dim[i], y->stride[i], x->stride[i]);
        }
        ry_move_list_add(list, &move);
        at += x->dim[axis];
    }
}

void ry_describe_split(const ry_problem *problem, ry_move_list *list)
{
    const ry_tensor *x = &problem->in[0];
    int axis = ry_axis(problem->attrs.split.axis, x->rank);
    int64_t at = 0;
    for (int k = 0; k < problem->outputs; k++) {
        const ry_tensor *y = &problem->out[k];
        ry_move move = ry_move_start(problem, 0, k);
        move.src_offset = at * x->stride[axis];
        for (int i = 0; i < x->rank; i++) {
            ry_box_add(&move.box, y->dim[i], y->stride[i], x->stride[i]);
        }
        ry_move_list_add(list, &move);
        at += y->dim[axis];
    }
}

/* Fills what is outside [low, high) of dim `at`: dims before it only within their own [low, high),
 * so that every border element is written once. */
static void add_border(const ry_problem *problem, ry_move_list *list, const ry_move *fill, int at,
                       const int64_t *low, const int64_t *high)
{
    const ry_tensor *y = &problem->out[0];
    for (int side = 0; side < 2; side++) {
        ry_move move = *fill;
        for (int i = 0; i < y->rank; i++) {
            int64_t from = i < at ? low[i] : i > at || side == 0 ? 0 : high[i];
            int64_t to = i < at ? high[i] : i > at || side == 1 ? y->dim[i] : low[i];
            move.dst_offset += from * y->stride[i];
            ry_box_add(&move.box, to - from, y->stride[i], 0);
        }
        ry_move_list_add(list, &move);
    }
}

/* y[o] = x[o - begin] where that exists, else the fill. A negative begin crops. */
static void add_padded(const ry_problem *problem, ry_move_list *list, const ry_move *fill,
                       const int64_t *begin)
{
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    int64_t low[RY_MAX_RANK], high[RY_MAX_RANK];
    ry_move inside = ry_move_start(problem, 0, 0);
    for (int i = 0; i < y->rank; i++) {
        low[i] = ry_clamp(begin[i], 0, y->dim[i]);
        high[i] = ry_clamp(begin[i] + x->dim[i], low[i], y->dim[i]);
        inside.dst_offset += low[i] * y->stride[i];
        inside.src_offset += (low[i] - begin[i]) * x->stride[i];
        ry_box_add(&inside.box, high[i] - low[i], y->stride[i], x->stride[i]);
    }
    for (int i = 0; i < y->rank; i++) {
        add_border(problem, list, fill, i, low, high);
    }
    ry_move_list_add(list, &inside);
}

void ry_describe_pad(const ry_problem *problem, ry_move_list *list)
{
    const ry_pad_attrs *a = &problem->attrs.pad;
    ry_dtype dtype = (ry_dtype)problem->out[0].dtype;
    ry_move fill = ry_move_start(problem, ry_problem_has_input(problem, 2) ? 2 : RY_MOVE_VALUE, 0);
    ry_set_f64(dtype, &fill.value, 0, a->value);
    add_padded(problem, list, &fill, a->pads.at);
}

/* An odd difference leaves the smaller part on the left, whether it is padded or cropped: division
 * truncates. */
void ry_describe_center_crop_pad(const ry_problem *problem, ry_move_list *list)
{
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    int64_t begin[RY_MAX_RANK];
    for (int i = 0; i < y->rank; i++) {
        begin[i] = (y->dim[i] - x->dim[i]) / 2;
    }
    ry_move fill = ry_move_start(problem, RY_MOVE_VALUE, 0);
    add_padded(problem, list, &fill, begin);
}

void ry_describe_constant_of_shape(const ry_problem *problem, ry_move_list *list)
{
    const ry_constant_of_shape_attrs *a = &problem->attrs.constant_of_shape;
    const ry_tensor *y = &problem->out[0];
    ry_dtype dtype = (ry_dtype)y->dtype;
    ry_move fill = ry_move_start(problem, RY_MOVE_VALUE, 0);
    if (ry_dtype_is_float(dtype)) {
        ry_set_f64(dtype, &fill.value, 0, a->value);
    } else {
        ry_set_i64(dtype, &fill.value, 0, a->integer);
    }
    for (int i = 0; i < y->rank; i++) {
        ry_box_add(&fill.box, y->dim[i], y->stride[i], 0);
    }
    ry_move_list_add(list, &fill);
}
