/* SPDX-License-Identifier: Apache-2.0 */
/* gather, gather_elements, gather_nd, scatter_elements, scatter_nd, nonzero and compress against
 * their definitions. */
#include "move_case.h"

enum { ROUNDS = 400 };

static int random_dims(int min_rank, int max_rank, int64_t max_dim, int64_t *dim)
{
    int rank = (int)move_pick(min_rank, max_rank);
    for (int i = 0; i < rank; i++) {
        dim[i] = move_pick(1, max_dim);
    }
    return rank;
}

static const ry_dtype index_types[] = {RY_i64, RY_i32};

/* An index may count from the end. */
static int64_t wrapped(const ry_tensor *indices, const int64_t *at, int64_t n)
{
    int64_t i = ry_get_i64((ry_dtype)indices->dtype, move_at(indices, at), 0);
    return i < 0 ? i + n : i;
}

/* Component k of each tuple is legal in dim first + k of the data. */
static void fill_tuples(const ry_tensor *indices, const ry_tensor *data, int first)
{
    int64_t at[RY_MAX_RANK] = {0};
    do {
        int64_t n = data->dim[first + at[indices->rank - 1]];
        ry_set_i64((ry_dtype)indices->dtype, move_at(indices, at), 0, move_pick(-n, n - 1));
    } while (ry_index_next(indices->rank, indices->dim, at));
}

static void expect_gather(const move_case *c, int out, const int64_t *index, void *value)
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

static void test_gather(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
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
}

static void expect_gather_elements(const move_case *c, int out, const int64_t *index, void *value)
{
    (void)out;
    int axis = (int)c->problem.attrs.gather_elements.axis;
    int64_t from[RY_MAX_RANK];
    memcpy(from, index, sizeof from);
    from[axis] = wrapped(&c->in[1], index, c->in[0].dim[axis]);
    move_take(&c->in[0], from, value);
}

static void test_gather_elements(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
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
}

static void expect_gather_nd(const move_case *c, int out, const int64_t *index, void *value)
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

static void test_gather_nd(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
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
}

/* What the definition's loop leaves in one element. */
static void reduce_element(ry_dtype dtype, ry_scatter_reduction reduction, void *value,
                           const void *update)
{
    bool real = ry_dtype_is_float(dtype);
    double a = ry_get_f64(dtype, value, 0), b = ry_get_f64(dtype, update, 0);
    int64_t m = ry_get_i64(dtype, value, 0), n = ry_get_i64(dtype, update, 0);
    if (reduction == RY_scatter_reduction_none ||
        (!real && reduction == RY_scatter_reduction_max && n > m) ||
        (!real && reduction == RY_scatter_reduction_min && n < m) ||
        (real && reduction == RY_scatter_reduction_max && b > a) ||
        (real && reduction == RY_scatter_reduction_min && b < a)) {
        memcpy(value, update, ry_dtype_size(dtype));
    } else if (reduction == RY_scatter_reduction_add || reduction == RY_scatter_reduction_mul) {
        bool add = reduction == RY_scatter_reduction_add;
        if (real) {
            ry_set_f64(dtype, value, 0, add ? a + b : a * b);
        } else {
            ry_set_i64(dtype, value, 0,
                       add ? (int64_t)((uint64_t)m + (uint64_t)n)
                           : (int64_t)((uint64_t)m * (uint64_t)n));
        }
    }
}

/* Small numbers, so that sums in float and double agree. */
static void fill_small(const ry_tensor *t)
{
    ry_dtype_kind kind = ry_dtype_get_kind((ry_dtype)t->dtype);
    move_fill(t, kind == RY_KIND_BOOL || kind == RY_KIND_UNSIGNED ? 0 : -3,
              kind == RY_KIND_BOOL ? 1 : 3);
}

static void expect_scatter_elements(const move_case *c, int out, const int64_t *index, void *value)
{
    (void)out;
    int axis = (int)c->problem.attrs.scatter_elements.axis;
    int64_t at[RY_MAX_RANK];
    move_take(&c->in[0], index, value);
    memcpy(at, index, sizeof at);
    for (int i = 0; i < c->in[1].rank; i++) {
        if (i != axis && index[i] >= c->in[1].dim[i]) {
            return;
        }
    }
    for (at[axis] = 0; at[axis] < c->in[1].dim[axis]; at[axis]++) {
        if (wrapped(&c->in[1], at, c->in[0].dim[axis]) == index[axis]) {
            reduce_element((ry_dtype)c->out[0].dtype, c->problem.attrs.scatter_elements.reduction,
                           value, move_at(&c->in[2], at));
        }
    }
}

static void test_scatter_elements(void **state)
{
    (void)state;
    for (int round = 0; round < 2 * ROUNDS; round++) {
        move_case c;
        int64_t dim[RY_MAX_RANK], index[RY_MAX_RANK];
        int rank = random_dims(1, 4, 9, dim), axis = (int)move_pick(0, rank - 1);
        for (int i = 0; i < rank; i++) {
            index[i] = i == axis ? move_pick(0, 6) : move_pick(1, dim[i]);
        }
        ry_dtype dtype = move_dtype();
        move_begin(&c, RY_OP_scatter_elements);
        c.problem.attrs.scatter_elements.axis = axis;
        c.problem.attrs.scatter_elements.reduction =
            (ry_scatter_reduction)(round % RY_scatter_reduction_count);
        fill_small(move_in(&c, dtype, rank, dim));
        move_fill(move_in(&c, index_types[round & 1], rank, index), -dim[axis], dim[axis] - 1);
        fill_small(move_in(&c, dtype, rank, index));
        move_out(&c, dtype, rank, dim, false);
        move_check(&c, expect_scatter_elements);
    }
}

static void expect_scatter_nd(const move_case *c, int out, const int64_t *index, void *value)
{
    (void)out;
    int last = c->in[1].rank - 1;
    int64_t depth = c->in[1].dim[last], at[RY_MAX_RANK] = {0}, from[RY_MAX_RANK] = {0};
    move_take(&c->in[0], index, value);
    do {
        bool hit = true;
        for (int64_t k = 0; k < depth; k++) {
            at[last] = k;
            hit &= wrapped(&c->in[1], at, c->in[0].dim[k]) == index[k];
        }
        at[last] = 0;
        if (hit) {
            memcpy(from, at, sizeof from);
            for (int i = (int)depth; i < c->in[0].rank; i++) {
                from[last + i - depth] = index[i];
            }
            reduce_element((ry_dtype)c->out[0].dtype, c->problem.attrs.scatter_nd.reduction, value,
                           move_at(&c->in[2], from));
        }
    } while (ry_index_next(last, c->in[1].dim, at));
}

static void test_scatter_nd(void **state)
{
    (void)state;
    for (int round = 0; round < 2 * ROUNDS; round++) {
        move_case c;
        int64_t dim[RY_MAX_RANK], index[RY_MAX_RANK], updates[RY_MAX_RANK];
        int rank = random_dims(1, 4, 6, dim), depth = (int)move_pick(1, rank),
            more = (int)move_pick(0, 2), n = 0;
        for (int i = 0; i < more; i++) {
            index[i] = updates[n++] = move_pick(1, 5);
        }
        index[more] = depth;
        for (int i = depth; i < rank; i++) {
            updates[n++] = dim[i];
        }
        ry_dtype dtype = move_dtype();
        move_begin(&c, RY_OP_scatter_nd);
        c.problem.attrs.scatter_nd.reduction =
            (ry_scatter_reduction)(round % RY_scatter_reduction_count);
        fill_small(move_in(&c, dtype, rank, dim));
        fill_tuples(move_in(&c, index_types[round & 1], more + 1, index), &c.in[0], 0);
        fill_small(move_in(&c, dtype, n, updates));
        move_out(&c, dtype, rank, dim, false);
        move_check(&c, expect_scatter_nd);
    }
}

/* Large slices are cut into pieces, each a task. */
static void test_large_slices(void **state)
{
    (void)state;
    for (int round = 0; round < 4; round++) {
        move_case c;
        const int64_t dim[] = {5, 300, 129}, index[] = {3, 1}, to[] = {3, 300, 129};
        move_begin(&c, round & 1 ? RY_OP_scatter_nd : RY_OP_gather_nd);
        move_in(&c, RY_f32, 3, dim);
        move_fill(move_in(&c, RY_i64, 2, index), 0, 4);
        if (round & 1) {
            move_in(&c, RY_f32, 3, to);
        }
        move_out(&c, RY_f32, 3, round & 1 ? dim : to, false);
        move_check(&c, round & 1 ? expect_scatter_nd : expect_gather_nd);
    }
}

static void test_nothing_to_index(void **state)
{
    (void)state;
    move_case c;
    move_begin(&c, RY_OP_gather);
    move_in(&c, RY_f32, 2, (const int64_t[]){0, 3});
    move_in(&c, RY_i64, 1, (const int64_t[]){2});
    move_out(&c, RY_f32, 2, (const int64_t[]){2, 3}, true);
    c.problem.in = c.in;
    c.problem.out = c.out;
    ry_error error = {{0}};
    ry_prepared prepared = {0};
    const ry_kernel *kernel = every_kernel_first(&c.problem, RY_ISA_generic);
    assert_non_null(kernel);
    assert_int_equal(every_kernel_prepare(kernel, &c.problem, &prepared, &error), RYND_ERROR_SHAPE);
    assert_non_null(strstr(error.text, "gather"));
    move_end(&c);
}

/* Bytes that belong to no element of the output. */
static void check_gaps(const move_case *c)
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

static void check_illegal(move_case *c, int axis, const int64_t *at, int64_t value)
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
static void test_illegal_indices(void **state)
{
    (void)state;
    const int64_t dim[] = {7, 5, 6};
    for (int round = 0; round < 5 * ROUNDS; round++) {
        move_case c;
        int64_t at[RY_MAX_RANK] = {0}, first_at[RY_MAX_RANK] = {0}, first_value = 0;
        int kind = round % 5, first_axis = -1;
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
}

static void test_nonzero(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        move_case c;
        int64_t dim[RY_MAX_RANK];
        int rank = random_dims(0, 4, 7, dim);
        if (rank > 0 && move_pick(0, 15) == 0) {
            dim[0] = 0;
        }
        move_begin(&c, RY_OP_nonzero);
        ry_tensor *x = move_in(&c, move_dtype(), rank, dim);
        move_fill(x, 0, move_pick(0, 2));
        /* minus zero is zero */
        if (ry_dtype_is_float((ry_dtype)x->dtype) && ry_tensor_count(x) > 0) {
            ry_set_f64((ry_dtype)x->dtype, x->data, 0, -0.0);
        }
        int64_t most = ry_tensor_count(x), count = 0, index[RY_MAX_RANK] = {0};
        move_out(&c, RY_i64, 2, (const int64_t[]){rank, most}, true);
        move_execute(&c);
        for (bool more = most > 0; more; more = ry_index_next(rank, dim, index)) {
            count += ry_get_f64((ry_dtype)x->dtype, move_at(x, index), 0) != 0;
        }
        assert_int_equal(c.actual[0][0], rank);
        assert_int_equal(c.actual[0][1], count);
        int64_t found = 0, *y = c.out[0].data;
        memset(index, 0, sizeof index);
        for (bool more = most > 0; more; more = ry_index_next(rank, dim, index)) {
            if (ry_get_f64((ry_dtype)x->dtype, move_at(x, index), 0) != 0) {
                for (int i = 0; i < rank; i++) {
                    assert_int_equal(y[i * count + found], index[i]);
                }
                found++;
            }
        }
        unsigned char *after = (unsigned char *)(y + rank * count);
        size_t used = (size_t)(after - c.out_host[0].memory);
        assert_memory_equal(after, c.out_host[0].before + used, c.out_host[0].bytes - used);
        move_end(&c);
    }
}

static void test_compress(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        move_case c;
        int64_t dim[RY_MAX_RANK], to[RY_MAX_RANK], kept[64], count = 0;
        int rank = random_dims(1, 4, 6, dim), axis = (int)move_pick(0, rank - 1);
        bool flat = move_pick(0, 2) == 0;
        move_begin(&c, RY_OP_compress);
        c.problem.attrs.compress.flat = flat;
        c.problem.attrs.compress.axis = move_pick(0, 1) ? axis : axis - rank;
        ry_tensor *x = move_in(&c, move_dtype(), rank, dim);
        int64_t extent = flat ? ry_tensor_count(x) : dim[axis],
                length = move_pick(0, extent < 60 ? extent : 60);
        ry_tensor *condition = move_in(&c, RY_bool, 1, &length);
        for (int64_t i = 0; i < length; i++) {
            if (ry_get_i64(RY_bool, condition->data, i * condition->stride[0])) {
                kept[count++] = i;
            }
        }
        memcpy(to, dim, sizeof to);
        to[flat ? 0 : axis] = length;
        ry_tensor *y = move_out(&c, (ry_dtype)x->dtype, flat ? 1 : rank, to, true);
        move_execute(&c);
        ry_shape shape = ry_tensor_shape(y);
        shape.dim[flat ? 0 : axis] = count;
        assert_memory_equal(c.actual[0], shape.dim, (size_t)shape.rank * sizeof(int64_t));
        ry_tensor compact = ry_tensor_row_major((ry_dtype)x->dtype, &shape, y->data);
        int64_t index[RY_MAX_RANK] = {0};
        size_t size = ry_dtype_size((ry_dtype)x->dtype);
        for (bool more = ry_tensor_count(&compact) > 0; more;
             more = ry_index_next(shape.rank, shape.dim, index)) {
            int64_t from[RY_MAX_RANK], linear = kept[index[0]];
            memcpy(from, index, sizeof from);
            for (int i = rank - 1; flat && i >= 0; i--) {
                from[i] = linear % dim[i];
                linear /= dim[i];
            }
            if (!flat) {
                from[axis] = kept[index[axis]];
            }
            assert_memory_equal(move_at(&compact, index), move_at(x, from), size);
        }
        unsigned char *after = (unsigned char *)y->data + ry_tensor_bytes(&compact);
        size_t used = (size_t)(after - c.out_host[0].memory);
        assert_memory_equal(after, c.out_host[0].before + used, c.out_host[0].bytes - used);
        move_end(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gather),           cmocka_unit_test(test_gather_elements),
        cmocka_unit_test(test_gather_nd),        cmocka_unit_test(test_scatter_elements),
        cmocka_unit_test(test_scatter_nd),       cmocka_unit_test(test_large_slices),
        cmocka_unit_test(test_nothing_to_index), cmocka_unit_test(test_illegal_indices),
        cmocka_unit_test(test_nonzero),          cmocka_unit_test(test_compress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
