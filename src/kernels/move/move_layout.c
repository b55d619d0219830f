/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that only change the index map, as moves: copy, views, transpose, slice, expand, tile,
 * depth_to_space, space_to_depth. */
#include "kernels/move/move_describe.h"

ry_move ry_move_start(const ry_problem *problem, int from, int to)
{
    const ry_tensor *tensor = to >= 0 ? &problem->out[to] : &problem->in[from];
    return (ry_move){
        .from = from, .to = to, .box = {.size = ry_dtype_size((ry_dtype)tensor->dtype)}};
}

/* The box of `dim` between two maps of it. */
static void add_dims(ry_move *move, const ry_tensor *dst, const ry_tensor *src)
{
    for (int i = 0; i < dst->rank; i++) {
        ry_box_add(&move->box, dst->dim[i], dst->stride[i], src->stride[i]);
    }
}

void ry_move_same_shape(const ry_problem *problem, ry_move_list *list, int from, int to)
{
    ry_move move = ry_move_start(problem, from, to);
    add_dims(&move, &problem->out[to], &problem->in[from]);
    ry_move_list_add(list, &move);
}

void ry_describe_copy(const ry_problem *problem, ry_move_list *list)
{
    ry_move_same_shape(problem, list, 0, 0);
}

static ry_tensor dense(const ry_tensor *tensor)
{
    ry_shape shape = ry_tensor_shape(tensor);
    return ry_tensor_row_major((ry_dtype)tensor->dtype, &shape, NULL);
}

/* Row-major order is kept, so a side that is row-major can be read with the other side's shape.
 * Where neither does, a row-major copy is between. */
void ry_describe_view(const ry_problem *problem, ry_move_list *list)
{
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    ry_shape from = ry_tensor_shape(x), to = ry_tensor_shape(y);
    ry_tensor dense_x = dense(x), dense_y = dense(y);
    ry_move move = ry_move_start(problem, 0, 0);
    if (ry_shape_equal(&from, &to)) {
        add_dims(&move, y, x);
    } else if (ry_tensor_is_row_major(x)) {
        add_dims(&move, y, &dense_y);
    } else if (ry_tensor_is_row_major(y)) {
        add_dims(&move, &dense_x, x);
    } else {
        ry_move first = ry_move_start(problem, 0, RY_MOVE_WORKSPACE);
        add_dims(&first, &dense_x, x);
        ry_move_list_add(list, &first);
        ry_move_list_next_phase(list);
        move.from = RY_MOVE_WORKSPACE;
        add_dims(&move, y, &dense_y);
    }
    ry_move_list_add(list, &move);
}

void ry_describe_transpose(const ry_problem *problem, ry_move_list *list)
{
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    const ry_ints *perm = &problem->attrs.transpose.perm;
    ry_move move = ry_move_start(problem, 0, 0);
    for (int i = 0; i < y->rank; i++) {
        ry_box_add(&move.box, y->dim[i], y->stride[i],
                   x->stride[ry_ints_get(perm, i, y->rank - 1 - i)]);
    }
    ry_move_list_add(list, &move);
}

void ry_describe_slice(const ry_problem *problem, ry_move_list *list)
{
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    const ry_slice_attrs *a = &problem->attrs.slice;
    ry_move move = ry_move_start(problem, 0, 0);
    for (int i = 0; i < y->rank; i++) {
        move.src_offset += ry_box_times(ry_ints_get(&a->starts, i, 0), x->stride[i]);
        ry_box_add(&move.box, y->dim[i], y->stride[i],
                   ry_box_times(ry_ints_get(&a->steps, i, 1), x->stride[i]));
    }
    ry_move_list_add(list, &move);
}

void ry_describe_expand(const ry_problem *problem, ry_move_list *list)
{
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    ry_move move = ry_move_start(problem, 0, 0);
    for (int i = 0; i < y->rank; i++) {
        int j = i - (y->rank - x->rank);
        ry_box_add(&move.box, y->dim[i], y->stride[i], j < 0 || x->dim[j] == 1 ? 0 : x->stride[j]);
    }
    ry_move_list_add(list, &move);
}

void ry_describe_tile(const ry_problem *problem, ry_move_list *list)
{
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    ry_move move = ry_move_start(problem, 0, 0);
    for (int i = 0; i < y->rank; i++) {
        ry_box_add(&move.box, x->dim[i] > 0 ? y->dim[i] / x->dim[i] : 0,
                   ry_box_times(y->stride[i], x->dim[i]), 0);
        ry_box_add(&move.box, x->dim[i], y->stride[i], x->stride[i]);
    }
    ry_move_list_add(list, &move);
}

/* Position (row, column) of a block belongs to channels of stride `place` * (row * block + column);
 * the channel within has stride `inner`. DCR: the block position is the outer part of the channel
 * number; CRD: the inner part. */
static void add_blocks(ry_move *move, const ry_tensor *deep, const ry_tensor *wide, int64_t block,
                       bool crd, bool to_wide)
{
    int64_t channels = wide->dim[1], position = crd ? 1 : channels, inner = crd ? block * block : 1;
    const int64_t dim[] = {wide->dim[0], channels, deep->dim[2], block, deep->dim[3], block};
    const int64_t in_wide[] = {wide->stride[0], wide->stride[1],         block * wide->stride[2],
                               wide->stride[2], block * wide->stride[3], wide->stride[3]};
    const int64_t in_deep[] = {deep->stride[0], inner * deep->stride[1],
                               deep->stride[2], position * block * deep->stride[1],
                               deep->stride[3], position * deep->stride[1]};
    for (int i = 0; i < 6; i++) {
        ry_box_add(&move->box, dim[i], to_wide ? in_wide[i] : in_deep[i],
                   to_wide ? in_deep[i] : in_wide[i]);
    }
}

void ry_describe_depth_to_space(const ry_problem *problem, ry_move_list *list)
{
    const ry_depth_to_space_attrs *a = &problem->attrs.depth_to_space;
    ry_move move = ry_move_start(problem, 0, 0);
    add_blocks(&move, &problem->in[0], &problem->out[0], a->block, a->crd != 0, true);
    ry_move_list_add(list, &move);
}

void ry_describe_space_to_depth(const ry_problem *problem, ry_move_list *list)
{
    const ry_space_to_depth_attrs *a = &problem->attrs.space_to_depth;
    ry_move move = ry_move_start(problem, 0, 0);
    add_blocks(&move, &problem->out[0], &problem->in[0], a->block, a->crd != 0, false);
    ry_move_list_add(list, &move);
}
