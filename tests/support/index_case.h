/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds of gather, gather_elements and gather_nd against their definitions, and of those and the
 * scatters with illegal indices. */
#ifndef RY_TESTS_INDEX_CASE_H
#define RY_TESTS_INDEX_CASE_H

#include "move_case.h"

static inline int random_dims(int min_rank, int max_rank, int64_t max_dim, int64_t *dim)
{
    int rank = (int)move_pick(min_rank, max_rank);
    for (int i = 0; i < rank; i++) {
        dim[i] = move_pick(1, max_dim);
    }
    return rank;
}

static const ry_dtype index_types[] = {RY_i64, RY_i32};

/* An index may count from the end. */
static inline int64_t wrapped(const ry_tensor *indices, const int64_t *at, int64_t n)
{
    int64_t i = ry_get_i64((ry_dtype)indices->dtype, move_at(indices, at), 0);
    return i < 0 ? i + n : i;
}

/* Component k of each tuple is legal in dim first + k of the data. */
static inline void fill_tuples(const ry_tensor *indices, const ry_tensor *data, int first)
{
    int64_t at[RY_MAX_RANK] = {0};
    do {
        int64_t n = data->dim[first + at[indices->rank - 1]];
        ry_set_i64((ry_dtype)indices->dtype, move_at(indices, at), 0, move_pick(-n, n - 1));
    } while (ry_index_next(indices->rank, indices->dim, at));
}

static inline void expect_gather(const move_case *c, int out, const int64_t *index, void *value)
{
    (void)out;
    int axis = ry_axis(c->problem.attrs.gather.axis, c->in[0].rank), more = c->in[1].rank;
    int64_t from[RY_MAX_RANK];
    for (int i = 0; i < c->in[0].rank; i++) {
        from[i] = i < axis   ? index[i]
                  : i > axis ? index[i + more - 1]
                             : wrapped(&c->in[1], index + axis, c->in[0].dim[axis]);
    }
    move_take(&c->in[0], from, value);
}

static inline void index_gather(int round)
{
    move_case c;
    int64_t dim[RY_MAX_RANK], index[RY_MAX_RANK], to[RY_MAX_RANK];
    int rank = random_dims(1, 4, 9, dim), more = random_dims(0, 3, 5, index),
        axis = (int)move_pick(0, rank - 1), n = 0;
    if (more > 0 && move_pick(0, 20) == 0) {
        index[0] = 0;
    }
    for (int i = 0; i < rank; i++) {
        for (int k = 0; i == axis && k < more; k++) {
            to[n++] = index[k];
        }
        if (i != axis) {
            to[n++] = dim[i];
        }
    }
    ry_dtype dtype = move_dtype();
    move_begin(&c, RY_OP_gather);
    c.problem.attrs.gather.axis = move_pick(0, 1) ? axis : axis - rank;
    move_in(&c, dtype, rank, dim);
    move_fill(move_in(&c, index_types[round & 1], more, index), -dim[axis], dim[axis] - 1);
    move_out(&c, dtype, n, to, false);
    move_check(&c, expect_gather);
}

static inline void expect_gather_elements(const move_case *c, int out, const int64_t *index,
                                          void *value)
{
    (void)out;
    int axis = (int)c->problem.attrs.gather_elements.axis;
    int64_t from[RY_MAX_RANK];
    memcpy(from, index, sizeof from);
    from[axis] = wrapped(&c->in[1], index, c->in[0].dim[axis]);
    move_take(&c->in[0], from, value);
}

static inline void index_gather_elements(int round)
{
    move_case c;
    int64_t dim[RY_MAX_RANK], to[RY_MAX_RANK];
    int rank = random_dims(1, 4, 12, dim), axis = (int)move_pick(0, rank - 1);
    for (int i = 0; i < rank; i++) {
        to[i] = i == axis ? move_pick(0, 15) : move_pick(1, dim[i]);
    }
    ry_dtype dtype = move_dtype();
    move_begin(&c, RY_OP_gather_elements);
    c.problem.attrs.gather_elements.axis = axis;
    move_in(&c, dtype, rank, dim);
    move_fill(move_in(&c, index_types[round & 1], rank, to), -dim[axis], dim[axis] - 1);
    move_out(&c, dtype, rank, to, false);
    move_check(&c, expect_gather_elements);
}

static inline void expect_gather_nd(const move_case *c, int out, const int64_t *index, void *value)
{
    (void)out;
    int batch = (int)c->problem.attrs.gather_nd.batch_dims, last = c->in[1].rank - 1;
    int64_t depth = c->in[1].dim[last], from[RY_MAX_RANK], at[RY_MAX_RANK];
    memcpy(at, index, sizeof at);
    for (int i = 0; i < c->in[0].rank; i++) {
        at[last] = i - batch;
        from[i] = i < batch           ? index[i]
                  : i < batch + depth ? wrapped(&c->in[1], at, c->in[0].dim[i])
                                      : index[last + i - batch - depth];
    }
    move_take(&c->in[0], from, value);
}

static inline void index_gather_nd(int round)
{
    move_case c;
    int64_t dim[RY_MAX_RANK], index[RY_MAX_RANK], to[RY_MAX_RANK];
    int rank = random_dims(1, 5, 8, dim), batch = (int)move_pick(0, rank - 1);
    int depth = (int)move_pick(1, rank - batch), more = (int)move_pick(0, 2), n = 0;
    for (int i = 0; i < batch + more; i++) {
        index[i] = to[n++] = i < batch ? dim[i] : move_pick(1, 7);
    }
    index[batch + more] = depth;
    for (int i = batch + depth; i < rank; i++) {
        to[n++] = dim[i];
    }
    ry_dtype dtype = move_dtype();
    move_begin(&c, RY_OP_gather_nd);
    c.problem.attrs.gather_nd.batch_dims = batch;
    move_in(&c, dtype, rank, dim);
    fill_tuples(move_in(&c, index_types[round & 1], batch + more + 1, index), &c.in[0], batch);
    move_out(&c, dtype, n, to, false);
    move_check(&c, expect_gather_nd);
}

/* Bytes that belong to no element of the output. */
static inline void check_gaps(const move_case *c)
{
    const ry_tensor *y = &c->out[0];
    int64_t index[RY_MAX_RANK] = {0};
    do {
        unsigned char *at = move_at(y, index);
        memcpy(c->out_host[0].before + (at - c->out_host[0].memory), at,
               ry_dtype_size((ry_dtype)y->dtype));
    } while (ry_index_next(y->rank, y->dim, index));
    assert_memory_equal(c->out_host[0].memory, c->out_host[0].before, c->out_host[0].bytes);
}

static inline void check_illegal(move_case *c, int axis, const int64_t *at, int64_t value)
{
    char message[256];
    const ry_kernel *kernel;
    ry_error error = {{0}};
    int used = snprintf(message, sizeof message, "input 1, at [");
    for (int i = 0; i < c->in[1].rank; i++) {
        used += snprintf(message + used, sizeof message - (size_t)used, "%s%lld", i ? ", " : "",
                         (long long)at[i]);
    }
    int64_t n = c->in[0].dim[axis];
    snprintf(message + used, sizeof message - (size_t)used,
             "], is %lld, expected %lld to %lld (axis %d of input 0)", (long long)value,
             (long long)-n, (long long)n - 1, axis);
    assert_int_equal(move_try(c, &kernel, &error), RYND_ERROR_SHAPE);
    assert_string_equal(error.text, message);
    check_gaps(c);
    move_end(c);
}

/* Indices into 7 x 5 x 6 elements; `dense` is what is gathered or scattered. */
static const struct {
    ry_op op;
    ry_attrs attrs;
    /* tuples: the last dim of the indices goes along dims first, first + 1 of the data; else all
     * indices are along dim first */
    bool scatter, tuples;
    int first, dense_rank;
    int64_t indices[3], dense[5];
} illegal[] = {
    {RY_OP_gather, {.gather = {.axis = 1}}, false, false, 1, 5, {4, 3, 6}, {7, 4, 3, 6, 6}},
    {RY_OP_gather_elements,
     {.gather_elements = {.axis = 1}},
     false,
     false,
     1,
     3,
     {4, 3, 6},
     {4, 3, 6}},
    {RY_OP_gather_nd, {.gather_nd = {.batch_dims = 1}}, false, true, 1, 2, {7, 9, 2}, {7, 9}},
    {RY_OP_scatter_elements,
     {.scatter_elements = {.axis = 1}},
     true,
     false,
     1,
     3,
     {4, 3, 6},
     {4, 3, 6}},
    {RY_OP_scatter_nd,
     {.scatter_nd = {RY_scatter_reduction_none}},
     true,
     true,
     0,
     3,
     {7, 9, 2},
     {7, 9, 6}},
};

/* Some of the indices are illegal: the first in row-major order is told of, and nothing outside is
 * touched. */
static inline void index_illegally(int kind, int round)
{
    const int64_t dim[] = {7, 5, 6};
    move_case c;
    int64_t at[RY_MAX_RANK] = {0}, first_at[RY_MAX_RANK] = {0}, first_value = 0;
    int first_axis = -1;
    move_begin(&c, illegal[kind].op);
    c.problem.attrs = illegal[kind].attrs;
    move_in(&c, RY_f32, 3, dim);
    const ry_tensor *indices = move_in(&c, index_types[round & 1], 3, illegal[kind].indices);
    bool last;
    do {
        int axis = illegal[kind].first + (illegal[kind].tuples ? (int)at[2] : 0);
        int64_t n = dim[axis], value = move_pick(-n, n - 1);
        last = at[0] + at[1] + at[2] == indices->dim[0] + indices->dim[1] + indices->dim[2] - 3;
        if (move_pick(0, 60) == 0 || (last && first_axis < 0)) {
            value = (int64_t[]){n, -n - 1, INT32_MAX, INT32_MIN}[move_pick(0, 3)];
            if (first_axis < 0) {
                memcpy(first_at, at, sizeof at);
                first_axis = axis;
                first_value = value;
            }
        }
        ry_set_i64((ry_dtype)indices->dtype, move_at(indices, at), 0, value);
    } while (ry_index_next(3, indices->dim, at));
    if (illegal[kind].scatter) {
        move_in(&c, RY_f32, illegal[kind].dense_rank, illegal[kind].dense);
    }
    move_out(&c, RY_f32, illegal[kind].scatter ? 3 : illegal[kind].dense_rank,
             illegal[kind].scatter ? dim : illegal[kind].dense, false);
    check_illegal(&c, first_axis, first_at, first_value);
}

#endif
