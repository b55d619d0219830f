/* SPDX-License-Identifier: Apache-2.0 */
/* gather, gather_elements, gather_nd, scatter_elements, scatter_nd, nonzero and compress against
 * their definitions. */
#include "index_case.h"

enum { ROUNDS = 400 };

static void test_gather(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        index_gather(round);
    }
}

static void test_gather_elements(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        index_gather_elements(round);
    }
}

static void test_gather_nd(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        index_gather_nd(round);
    }
}

static void test_illegal_indices(void **state)
{
    (void)state;
    for (int round = 0; round < 5 * ROUNDS; round++) {
        index_illegally(round % 5, round);
    }
}

/* Applies one update to an element, as the definition's loop does. */
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
        if (round % 8 < RY_scatter_reduction_count && depth < rank) {
            dim[rank - 1] = move_pick(60, 300); /* rows that are cut */
        }
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
