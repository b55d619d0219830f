/* SPDX-License-Identifier: Apache-2.0 */
/* copy, views, transpose, slice, expand, tile, depth_to_space and space_to_depth against their
 * definitions. */
#include "move_case.h"

enum { ROUNDS = 400 };

static int64_t random_shape(int max_rank, int64_t max_dim, int64_t *dim)
{
    int rank = (int)move_pick(0, max_rank);
    for (int i = 0; i < rank; i++) {
        dim[i] = move_pick(0, 30) == 0  ? 0
                 : move_pick(0, 8) == 0 ? move_pick(1, 4 * max_dim)
                                        : move_pick(1, max_dim);
    }
    return rank;
}

static void expect_same(const move_case *c, int out, const int64_t *index, void *value)
{
    (void)out;
    move_take(&c->in[0], index, value);
}

static void test_copy(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        move_case c;
        int64_t dim[RY_MAX_RANK];
        int rank = (int)random_shape(5, 9, dim);
        move_begin(&c, round & 1 ? RY_OP_copy : RY_OP_identity);
        ry_dtype dtype = move_dtype();
        move_in(&c, dtype, rank, dim);
        move_out(&c, dtype, rank, dim, false);
        move_check(&c, expect_same);
    }
}

static void expect_converted(const move_case *c, int out, const int64_t *index, void *value)
{
    (void)out;
    ry_dtype from = (ry_dtype)c->in[0].dtype, to = (ry_dtype)c->out[0].dtype;
    if (ry_dtype_is_float(from) || ry_dtype_is_float(to)) {
        ry_set_f64(to, value, 0, ry_get_f64(from, move_at(&c->in[0], index), 0));
    } else {
        ry_set_i64(to, value, 0, ry_get_i64(from, move_at(&c->in[0], index), 0));
    }
    const void *got = move_at(&c->out[0], index);
    /* which NaN is not promised */
    if (isnan(ry_get_f64(to, value, 0)) && isnan(ry_get_f64(to, got, 0))) {
        memcpy(value, got, ry_dtype_size(to));
    }
}

static void test_convert(void **state)
{
    (void)state;
    const ry_dtype floats[] = {RY_f32, RY_f16, RY_bf16};
    for (int round = 0; round < 2 * ROUNDS; round++) {
        move_case c;
        int64_t dim[RY_MAX_RANK];
        int rank = (int)random_shape(4, 12, dim);
        ry_dtype from = round & 1 ? floats[move_pick(0, 2)] : move_dtype(),
                 to = round & 1 ? floats[move_pick(0, 2)] : move_dtype();
        to = to == from ? RY_f64 : to; /* conversion alone is meant */
        from = to == from ? RY_u8 : from;
        move_begin(&c, RY_OP_copy);
        move_in(&c, from, rank, dim);
        move_out(&c, to, rank, dim, false);
        /* random bits are seldom in range: use small numbers */
        if (from == RY_f64 && to != RY_f64 && ry_dtype_is_float(to)) {
            move_fill(&c.in[0], -100, 100);
        }
        move_check(&c, expect_converted);
    }
}

static void expect_view(const move_case *c, int out, const int64_t *index, void *value)
{
    (void)out;
    int64_t linear = 0, from[RY_MAX_RANK] = {0};
    for (int i = 0; i < c->out[0].rank; i++) {
        linear = linear * c->out[0].dim[i] + index[i];
    }
    for (int i = c->in[0].rank - 1; i >= 0; i--) {
        from[i] = linear % c->in[0].dim[i];
        linear /= c->in[0].dim[i];
    }
    move_take(&c->in[0], from, value);
}

static void test_views(void **state)
{
    (void)state;
    const int64_t shapes[][5] = {{2, 3, 4, 5, 1}, {24, 5, 1, 1, 1},  {4, 30, 1, 1, 1},
                                 {6, 4, 5, 1, 1}, {120, 1, 1, 1, 1}, {3, 5, 1, 2, 4}};
    const int ranks[] = {5, 2, 2, 3, 1, 5};
    const ry_op ops[] = {RY_OP_reshape, RY_OP_flatten, RY_OP_squeeze, RY_OP_unsqueeze};
    for (int round = 0; round < ROUNDS; round++) {
        move_case c;
        int a = (int)move_pick(0, 5), b = (int)move_pick(0, 5);
        ry_dtype dtype = move_dtype();
        move_begin(&c, ops[round % 4]);
        move_in(&c, dtype, ranks[a], shapes[a]);
        move_out(&c, dtype, ranks[b], shapes[b], (round & 8) != 0);
        move_check(&c, expect_view);
    }
}

static void expect_transposed(const move_case *c, int out, const int64_t *index, void *value)
{
    (void)out;
    int64_t from[RY_MAX_RANK] = {0};
    for (int i = 0; i < c->out[0].rank; i++) {
        from[c->problem.attrs.transpose.perm.at[i]] = index[i];
    }
    move_take(&c->in[0], from, value);
}

static void check_transpose(ry_dtype dtype, int rank, const int64_t *dim)
{
    move_case c;
    move_begin(&c, RY_OP_transpose);
    ry_ints *perm = &c.problem.attrs.transpose.perm;
    int64_t to[RY_MAX_RANK];
    perm->count = rank;
    for (int i = 0; i < rank; i++) {
        int64_t j = move_pick(0, i);
        perm->at[i] = perm->at[j];
        perm->at[j] = i;
    }
    for (int i = 0; i < rank; i++) {
        to[i] = dim[perm->at[i]];
    }
    move_in(&c, dtype, rank, dim);
    move_out(&c, dtype, rank, to, false);
    move_check(&c, expect_transposed);
}

static void test_transpose(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t dim[RY_MAX_RANK];
        int rank = (int)random_shape(6, 7, dim);
        check_transpose(move_dtype(), rank, dim);
    }
    const int64_t large[][3] = {{3, 211, 157}, {130, 67, 4},  {2, 300, 97},
                                {1, 5, 30000}, {40000, 3, 1}, {17, 33, 65}};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        for (int round = 0; round < 12; round++) {
            check_transpose((ry_dtype)move_pick(1, RY_DTYPES - 1), 3, large[i]);
        }
    }
    const int64_t deep[16] = {2, 1, 2, 1, 2, 2, 1, 2, 2, 1, 2, 1, 2, 1, 2, 2};
    for (int round = 0; round < 20; round++) {
        check_transpose(move_dtype(), 16, deep);
    }
}

static void expect_slice(const move_case *c, int out, const int64_t *index, void *value)
{
    (void)out;
    int64_t from[RY_MAX_RANK];
    for (int i = 0; i < c->in[0].rank; i++) {
        from[i] =
            c->problem.attrs.slice.starts.at[i] + index[i] * c->problem.attrs.slice.steps.at[i];
    }
    move_take(&c->in[0], from, value);
}

static void test_slice(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        move_case c;
        int64_t dim[RY_MAX_RANK], to[RY_MAX_RANK];
        int rank = (int)random_shape(4, 14, dim);
        move_begin(&c, RY_OP_slice);
        ry_slice_attrs *a = &c.problem.attrs.slice;
        a->starts.count = a->steps.count = rank;
        for (int i = 0; i < rank; i++) {
            int64_t step = move_pick(1, 4),
                    count = dim[i] > 0 ? move_pick(0, (dim[i] - 1) / step + 1) : 0;
            to[i] = move_pick(0, 20) > 0 && dim[i] > 0 && count == 0 ? 1 : count;
            int64_t span = to[i] > 0 ? (to[i] - 1) * step : 0,
                    start = dim[i] > 0 ? move_pick(0, dim[i] - 1 - span) : 0;
            bool back = move_pick(0, 2) == 0;
            a->starts.at[i] = back ? start + span : start;
            a->steps.at[i] = back ? -step : step;
            /* no second element: any step is right, and no product with it may overflow */
            if (to[i] <= 1 && move_pick(0, 3) == 0) {
                a->steps.at[i] = back ? INT64_MIN : (int64_t)1 << 62;
            }
        }
        ry_dtype dtype = move_dtype();
        move_in(&c, dtype, rank, dim);
        move_out(&c, dtype, rank, to, false);
        move_check(&c, expect_slice);
    }
}

static void expect_expanded(const move_case *c, int out, const int64_t *index, void *value)
{
    (void)out;
    int64_t from[RY_MAX_RANK];
    int skip = c->out[0].rank - c->in[0].rank;
    for (int i = 0; i < c->in[0].rank; i++) {
        from[i] = c->in[0].dim[i] == 1 ? 0 : index[skip + i];
    }
    move_take(&c->in[0], from, value);
}

static void test_expand(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        move_case c;
        int64_t dim[RY_MAX_RANK], to[RY_MAX_RANK];
        int rank = (int)random_shape(4, 9, dim), more = (int)move_pick(0, 2);
        for (int i = 0; i < more; i++) {
            to[i] = move_pick(1, 4);
        }
        for (int i = 0; i < rank; i++) {
            dim[i] = move_pick(0, 2) == 0 ? 1 : dim[i];
            to[more + i] = dim[i] == 1 ? move_pick(1, 20) : dim[i];
        }
        ry_dtype dtype = move_dtype();
        move_begin(&c, RY_OP_expand);
        move_in(&c, dtype, rank, dim);
        move_out(&c, dtype, rank + more, to, false);
        move_check(&c, expect_expanded);
    }
}

static void expect_tiled(const move_case *c, int out, const int64_t *index, void *value)
{
    (void)out;
    int64_t from[RY_MAX_RANK];
    for (int i = 0; i < c->in[0].rank; i++) {
        from[i] = index[i] % c->in[0].dim[i];
    }
    move_take(&c->in[0], from, value);
}

static void test_tile(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        move_case c;
        int64_t dim[RY_MAX_RANK], to[RY_MAX_RANK];
        int rank = (int)random_shape(4, 6, dim);
        for (int i = 0; i < rank; i++) {
            to[i] = dim[i] * (move_pick(0, 20) == 0 ? 0 : move_pick(1, 3));
        }
        ry_dtype dtype = move_dtype();
        move_begin(&c, RY_OP_tile);
        move_in(&c, dtype, rank, dim);
        move_out(&c, dtype, rank, to, false);
        move_check(&c, expect_tiled);
    }
}

/* ONNX's reshape and transpose, spelled as indices: channel of the deep tensor for block position
 * (r, s). */
static void deep_index(int64_t block, bool crd, int64_t channels, const int64_t *wide,
                       int64_t *deep)
{
    int64_t r = wide[2] % block, s = wide[3] % block;
    deep[0] = wide[0];
    deep[1] = crd ? (wide[1] * block + r) * block + s : (r * block + s) * channels + wide[1];
    deep[2] = wide[2] / block;
    deep[3] = wide[3] / block;
}

static void expect_depth_to_space(const move_case *c, int out, const int64_t *index, void *value)
{
    (void)out;
    int64_t from[4];
    const ry_depth_to_space_attrs *a = &c->problem.attrs.depth_to_space;
    deep_index(a->block, a->crd != 0, c->out[0].dim[1], index, from);
    move_take(&c->in[0], from, value);
}

static void expect_space_to_depth(const move_case *c, int out, const int64_t *index, void *value)
{
    (void)out;
    bool crd = c->problem.attrs.space_to_depth.crd != 0;
    int64_t block = c->problem.attrs.space_to_depth.block, channels = c->in[0].dim[1];
    int64_t place = crd ? index[1] % (block * block) : index[1] / channels;
    const int64_t from[] = {index[0], crd ? index[1] / (block * block) : index[1] % channels,
                            index[2] * block + place / block, index[3] * block + place % block};
    move_take(&c->in[0], from, value);
}

static void test_blocks(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        move_case c;
        int64_t block = move_pick(1, 5), n = move_pick(0, 2), ch = move_pick(1, 5),
                h = move_pick(1, 6), w = move_pick(1, 20);
        const int64_t deep[] = {n, ch * block * block, h, w},
                      wide[] = {n, ch, h * block, w * block};
        ry_dtype dtype = move_dtype();
        bool back = move_pick(0, 2) == 0;
        move_begin(&c, back ? RY_OP_space_to_depth : RY_OP_depth_to_space);
        if (back) {
            c.problem.attrs.space_to_depth.block = block;
            c.problem.attrs.space_to_depth.crd = move_pick(0, 1);
        } else {
            c.problem.attrs.depth_to_space.block = block;
            c.problem.attrs.depth_to_space.crd = move_pick(0, 1);
        }
        move_in(&c, dtype, 4, back ? wide : deep);
        move_out(&c, dtype, 4, back ? deep : wide, false);
        move_check(&c, back ? expect_space_to_depth : expect_depth_to_space);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy),  cmocka_unit_test(test_convert),
        cmocka_unit_test(test_views), cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_slice), cmocka_unit_test(test_expand),
        cmocka_unit_test(test_tile),  cmocka_unit_test(test_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
