/* SPDX-License-Identifier: Apache-2.0 */
/* concat, split, pad in all modes, center_crop_pad, constant_of_shape, trilu, eye_like, range,
 * shape, one_hot, reverse_sequence against their definitions. */
#include "move_case.h"

enum { ROUNDS = 400 };

static int random_dims(int min_rank, int max_rank, int64_t max_dim, int64_t *dim)
{
    int rank = (int)move_pick(min_rank, max_rank);
    for (int i = 0; i < rank; i++) {
        dim[i] = move_pick(0, 30) == 0 ? 0 : move_pick(1, max_dim);
    }
    return rank;
}

static void expect_concat(const move_case *c, int out, const int64_t *index, void *value)
{
    (void)out;
    int axis = (int)c->problem.attrs.concat.axis;
    int64_t from[RY_MAX_RANK];
    memcpy(from, index, sizeof from);
    int k = 0;
    while (from[axis] >= c->in[k].dim[axis]) {
        from[axis] -= c->in[k++].dim[axis];
    }
    move_take(&c->in[k], from, value);
}

static void test_concat(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        move_case c;
        int64_t dim[RY_MAX_RANK];
        int rank = random_dims(1, 4, 9, dim), axis = (int)move_pick(0, rank - 1),
            parts = (int)move_pick(1, 6);
        ry_dtype dtype = move_dtype();
        int64_t total = 0;
        move_begin(&c, RY_OP_concat);
        c.problem.attrs.concat.axis = axis;
        for (int i = 0; i < parts; i++) {
            dim[axis] = move_pick(0, 10);
            total += dim[axis];
            move_in(&c, dtype, rank, dim);
        }
        dim[axis] = total;
        move_out(&c, dtype, rank, dim, false);
        move_check(&c, expect_concat);
    }
}

static void expect_split(const move_case *c, int out, const int64_t *index, void *value)
{
    int axis = (int)c->problem.attrs.split.axis;
    int64_t from[RY_MAX_RANK];
    memcpy(from, index, sizeof from);
    for (int k = 0; k < out; k++) {
        from[axis] += c->out[k].dim[axis];
    }
    move_take(&c->in[0], from, value);
}

static void test_split(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        move_case c;
        int64_t dim[RY_MAX_RANK];
        int rank = random_dims(1, 4, 9, dim), axis = (int)move_pick(0, rank - 1),
            parts = (int)move_pick(1, 6);
        ry_dtype dtype = move_dtype();
        int64_t total = 0;
        move_begin(&c, RY_OP_split);
        c.problem.attrs.split.axis = axis;
        for (int i = 0; i < parts; i++) {
            dim[axis] = move_pick(0, 10);
            total += dim[axis];
            move_out(&c, dtype, rank, dim, false);
        }
        dim[axis] = total;
        move_in(&c, dtype, rank, dim);
        move_check(&c, expect_split);
    }
}

/* The definition, one step at a time: crop, then walk from the border inwards as the mode says. */
static void expect_pad(const move_case *c, int out, const int64_t *index, void *value)
{
    (void)out;
    const ry_pad_attrs *a = &c->problem.attrs.pad;
    const ry_tensor *x = &c->in[0];
    int64_t from[RY_MAX_RANK] = {0};
    for (int i = 0; i < x->rank; i++) {
        int64_t begin = a->pads.at[i], end = a->pads.at[x->rank + i];
        int64_t low = begin < 0 ? -begin : 0, high = x->dim[i] + (end < 0 ? end : 0),
                at = index[i] - begin;
        if (a->mode == RY_pad_mode_constant && (at < 0 || at >= x->dim[i])) {
            if (c->problem.inputs > 2) {
                memcpy(value, c->in[2].data, ry_dtype_size((ry_dtype)x->dtype));
            } else {
                ry_set_f64((ry_dtype)x->dtype, value, 0, a->value);
            }
            return;
        }
        while (at < low || at >= high) {
            if (a->mode == RY_pad_mode_edge || high - low == 1) {
                at = at < low ? low : high - 1;
            } else if (a->mode == RY_pad_mode_wrap) {
                at += at < low ? high - low : low - high;
            } else {
                at = at < low ? 2 * low - at : 2 * (high - 1) - at;
            }
        }
        from[i] = at;
    }
    move_take(x, from, value);
}

static void test_pad(void **state)
{
    (void)state;
    for (int round = 0; round < 3 * ROUNDS; round++) {
        move_case c;
        int64_t dim[RY_MAX_RANK], to[RY_MAX_RANK];
        ry_pad_mode mode = (ry_pad_mode)(round % RY_pad_mode_count);
        int rank = random_dims(0, 4, 9, dim);
        move_begin(&c, RY_OP_pad);
        ry_pad_attrs *a = &c.problem.attrs.pad;
        a->mode = mode;
        a->value = 3;
        a->pads.count = 2 * rank;
        for (int i = 0; i < rank; i++) {
            dim[i] = mode != RY_pad_mode_constant && dim[i] == 0 ? 1 : dim[i];
            int64_t spare = mode == RY_pad_mode_constant ? dim[i] : (dim[i] - 1) / 2;
            a->pads.at[i] = move_pick(0, 2) == 0 ? 0 : move_pick(-(spare < 3 ? spare : 3), 12);
            a->pads.at[rank + i] =
                move_pick(0, 2) == 0 ? 0 : move_pick(-(spare < 3 ? spare : 3), 12);
            to[i] = dim[i] + a->pads.at[i] + a->pads.at[rank + i];
            if (to[i] < 0) {
                a->pads.at[rank + i] -= to[i];
                to[i] = 0;
            }
        }
        ry_dtype dtype = move_dtype();
        move_in(&c, dtype, rank, dim);
        if (move_pick(0, 1)) {
            move_in(&c, RY_i64, 1, (const int64_t[]){2 * rank});
            move_in(&c, dtype, 0, NULL);
        }
        move_out(&c, dtype, rank, to, false);
        move_check(&c, expect_pad);
    }
}

static void expect_center(const move_case *c, int out, const int64_t *index, void *value)
{
    (void)out;
    const ry_tensor *x = &c->in[0], *y = &c->out[0];
    int64_t from[RY_MAX_RANK];
    for (int i = 0; i < x->rank; i++) {
        bool crop = x->dim[i] > y->dim[i];
        from[i] =
            crop ? index[i] + (x->dim[i] - y->dim[i]) / 2 : index[i] - (y->dim[i] - x->dim[i]) / 2;
        if (from[i] < 0 || from[i] >= x->dim[i]) {
            return;
        }
    }
    move_take(x, from, value);
}

static void test_center_crop_pad(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        move_case c;
        int64_t dim[RY_MAX_RANK], to[RY_MAX_RANK];
        int rank = random_dims(1, 4, 9, dim);
        for (int i = 0; i < rank; i++) {
            to[i] = move_pick(0, 2) == 0 ? dim[i] : move_pick(0, 15);
        }
        ry_dtype dtype = move_dtype();
        move_begin(&c, RY_OP_center_crop_pad);
        move_in(&c, dtype, rank, dim);
        move_out(&c, dtype, rank, to, false);
        move_check(&c, expect_center);
    }
}

static void expect_constant(const move_case *c, int out, const int64_t *index, void *value)
{
    (void)out;
    (void)index;
    ry_dtype dtype = (ry_dtype)c->out[0].dtype;
    if (ry_dtype_is_float(dtype)) {
        ry_set_f64(dtype, value, 0, c->problem.attrs.constant_of_shape.value);
    } else {
        ry_set_i64(dtype, value, 0, c->problem.attrs.constant_of_shape.integer);
    }
}

static void test_constant_of_shape(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        move_case c;
        int64_t dim[RY_MAX_RANK];
        int rank = random_dims(0, 4, 9, dim);
        move_begin(&c, RY_OP_constant_of_shape);
        c.problem.attrs.constant_of_shape.value = 2.5;
        c.problem.attrs.constant_of_shape.integer = -3;
        move_out(&c, move_dtype(), rank, dim, false);
        move_check(&c, expect_constant);
    }
}

static void expect_trilu(const move_case *c, int out, const int64_t *index, void *value)
{
    (void)out;
    const ry_trilu_attrs *a = &c->problem.attrs.trilu;
    int64_t d = index[c->in[0].rank - 1] - index[c->in[0].rank - 2];
    if (a->upper ? d >= a->k : d <= a->k) {
        move_take(&c->in[0], index, value);
    }
}

static void test_trilu(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        move_case c;
        int64_t dim[RY_MAX_RANK];
        int rank = random_dims(2, 4, 9, dim);
        ry_dtype dtype = move_dtype();
        move_begin(&c, RY_OP_trilu);
        c.problem.attrs.trilu.upper = move_pick(0, 1);
        c.problem.attrs.trilu.k =
            move_pick(0, 20) == 0 ? (move_pick(0, 1) ? INT64_MAX : INT64_MIN) : move_pick(-12, 12);
        move_in(&c, dtype, rank, dim);
        move_out(&c, dtype, rank, dim, false);
        move_check(&c, expect_trilu);
    }
}

static void expect_eye(const move_case *c, int out, const int64_t *index, void *value)
{
    (void)out;
    ry_set_i64((ry_dtype)c->out[0].dtype, value, 0,
               index[1] - index[0] == c->problem.attrs.eye_like.k);
}

static void expect_range(const move_case *c, int out, const int64_t *index, void *value)
{
    (void)out;
    const ry_range_attrs *a = &c->problem.attrs.range;
    const ry_dtype dtype = (ry_dtype)c->out[0].dtype;
    if (ry_dtype_is_float(dtype)) {
        ry_set_f64(dtype, value, 0, a->start + (double)index[0] * a->delta);
        return;
    }
    int64_t number = a->integer_start;
    for (int64_t i = 0; i < index[0]; i++) {
        assert_false(__builtin_add_overflow(number, a->integer_delta, &number));
    }
    ry_set_i64(dtype, value, 0, number);
}

static void expect_shape(const move_case *c, int out, const int64_t *index, void *value)
{
    (void)out;
    const ry_shape_attrs *a = &c->problem.attrs.shape;
    int64_t start = a->start < -c->in[0].rank ? -c->in[0].rank : a->start;
    start = start < 0 ? start + c->in[0].rank : start;
    ry_set_i64(RY_i64, value, 0,
               a->size ? ry_tensor_count(&c->in[0]) : c->in[0].dim[start + index[0]]);
}

static void test_patterns(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        move_case c;
        int64_t dim[RY_MAX_RANK];
        random_dims(2, 2, 12, dim);
        move_begin(&c, RY_OP_eye_like);
        c.problem.attrs.eye_like.k = move_pick(0, 20) == 0 ? INT64_MAX : move_pick(-13, 13);
        move_in(&c, RY_f32, 2, dim);
        move_out(&c, move_dtype(), 2, dim, false);
        move_check(&c, expect_eye);

        const ry_dtype types[] = {RY_f32, RY_f64, RY_i64, RY_i32, RY_i16, RY_f16};
        ry_dtype dtype = types[round % 6];
        move_begin(&c, RY_OP_range);
        c.problem.attrs.range.start = (double)move_pick(-20, 20) + 0.25;
        c.problem.attrs.range.delta = (double)move_pick(-5, 5) + 0.5;
        c.problem.attrs.range.integer_start = move_pick(-20, 20);
        c.problem.attrs.range.integer_delta = move_pick(-5, 5);
        move_out(&c, dtype, 1, (const int64_t[]){move_pick(0, 40)}, false);
        move_check(&c, expect_range);

        int rank = random_dims(0, 5, 7, dim);
        move_begin(&c, RY_OP_shape);
        c.problem.attrs.shape.size = move_pick(0, 3) == 0;
        c.problem.attrs.shape.start = rank > 0 ? move_pick(-rank - 1, rank) : 0;
        int64_t from = c.problem.attrs.shape.start;
        from = from < 0 ? (from + rank < 0 ? 0 : from + rank) : from;
        move_in(&c, move_dtype(), rank, dim);
        move_out(&c, RY_i64, c.problem.attrs.shape.size ? 0 : 1,
                 (const int64_t[]){move_pick(0, rank - from)}, false);
        move_check(&c, expect_shape);
    }
}

/* Numbers that no double holds, and products of position and pace beyond 64 bits. */
static void test_wide_ranges(void **state)
{
    (void)state;
    static const struct {
        int64_t start, delta, count;
    } rows[] = {
        {(INT64_C(1) << 53) + 1, 2, 5},
        {-(INT64_C(1) << 53) - 1, -1, 5},
        {INT64_MAX, -(INT64_C(1) << 62), 4},
        {INT64_MIN, INT64_MAX, 3},
        {INT64_MAX - 39, 1, 40},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        move_case c;
        move_begin(&c, RY_OP_range);
        c.problem.attrs.range.integer_start = rows[i].start;
        c.problem.attrs.range.integer_delta = rows[i].delta;
        move_out(&c, RY_i64, 1, &rows[i].count, false);
        move_check(&c, expect_range);
    }
}

static void expect_one_hot(const move_case *c, int out, const int64_t *index, void *value)
{
    (void)out;
    const ry_tensor *indices = &c->in[0], *y = &c->out[0];
    int axis = ry_axis(c->problem.attrs.one_hot.axis, y->rank);
    int64_t at[RY_MAX_RANK];
    for (int i = 0; i < indices->rank; i++) {
        at[i] = index[i < axis ? i : i + 1];
    }
    int64_t class = ry_get_i64((ry_dtype)indices->dtype, move_at(indices, at), 0);
    bool on = class == index[axis] ||
              (class + y->dim[axis] == index[axis] && indices->dtype != RYND_DTYPE_U64);
    move_take(&c->in[2], (const int64_t[]){on}, value);
}

static void test_one_hot(void **state)
{
    (void)state;
    const ry_dtype types[] = {RY_i64, RY_i32, RY_f32, RY_i8, RY_u64};
    for (int round = 0; round < ROUNDS; round++) {
        move_case c;
        int64_t dim[RY_MAX_RANK], to[RY_MAX_RANK], depth = move_pick(1, 9);
        int rank = random_dims(0, 3, 9, dim), axis = (int)move_pick(0, rank);
        for (int i = 0; i <= rank; i++) {
            to[i] = i == axis ? depth : dim[i < axis ? i : i - 1];
        }
        ry_dtype dtype = move_dtype();
        move_begin(&c, RY_OP_one_hot);
        c.problem.attrs.one_hot.axis = move_pick(0, 1) ? axis : axis - rank - 1;
        move_fill(move_in(&c, types[round % 5], rank, dim), -12, 12);
        move_in(&c, RY_i64, 0, NULL);
        move_in(&c, dtype, 1, (const int64_t[]){2});
        move_out(&c, dtype, rank + 1, to, false);
        move_check(&c, expect_one_hot);
    }
}

static void expect_reversed(const move_case *c, int out, const int64_t *index, void *value)
{
    (void)out;
    const ry_reverse_sequence_attrs *a = &c->problem.attrs.reverse_sequence;
    int64_t from[RY_MAX_RANK],
        length = ry_get_i64(RY_i64, move_at(&c->in[1], &index[a->batch_axis]), 0);
    memcpy(from, index, sizeof from);
    if (index[a->time_axis] < length) {
        from[a->time_axis] = length - 1 - index[a->time_axis];
    }
    move_take(&c->in[0], from, value);
}

static void test_reverse_sequence(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        move_case c;
        int64_t dim[RY_MAX_RANK];
        int rank = random_dims(2, 4, 9, dim);
        ry_dtype dtype = move_dtype();
        move_begin(&c, RY_OP_reverse_sequence);
        c.problem.attrs.reverse_sequence.batch_axis = round & 1;
        c.problem.attrs.reverse_sequence.time_axis = 1 - (round & 1);
        move_in(&c, dtype, rank, dim);
        move_fill(move_in(&c, RY_i64, 1, (const int64_t[]){dim[round & 1]}), 0,
                  dim[1 - (round & 1)]);
        move_out(&c, dtype, rank, dim, false);
        move_check(&c, expect_reversed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_concat),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_pad),
        cmocka_unit_test(test_center_crop_pad),
        cmocka_unit_test(test_constant_of_shape),
        cmocka_unit_test(test_trilu),
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_wide_ranges),
        cmocka_unit_test(test_one_hot),
        cmocka_unit_test(test_reverse_sequence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
