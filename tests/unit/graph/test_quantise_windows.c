/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed convolutions and averages of quantised models become quantised convolutions. */
#include "quantise_case.h"

/* Strides, pads, output padding and groups of transposed convolutions. */
static void transposed_convolutions(void **state)
{
    (void)state;
    static const struct {
        int64_t taps[2], stride[2], pads[4], more[2], groups;
        bool stays;
    } cases[] = {
        {{2, 2}, {2, 2}, {0, 0, 0, 0}, {0, 0}, 1, false},
        {{4, 4}, {2, 2}, {1, 1, 1, 1}, {0, 0}, 1, false},
        {{3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}, 1, false},
        {{5, 2}, {3, 1}, {4, 0, 1, 1}, {2, 0}, 2, false},
        {{3, 3}, {1, 1}, {1, 1, 1, 1}, {0, 0}, 2, false},
        {{6, 6}, {2, 2}, {5, 4, 3, 4}, {0, 0}, 2, false},
        {{1, 1}, {2, 2}, {0, 0, 0, 0}, {1, 1}, 1, false},
        {{1, 1}, {3, 3}, {0, 0, 0, 0}, {0, 0}, 1, true}, /* nine times as many weights */
        {{3, 3}, {2, 2}, {0, 0, 0, 0}, {0, 0}, 8, true}, /* a channel a group */
    };
    const int64_t first[4] = {8, 3, 1, 1};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const int type = (int)(i % 2), at = (int)(i / 2);
        fixture f = begin();
        const int64_t groups = cases[at].groups, k = 8,
                      w[4] = {8, 8 / groups, cases[at].taps[0], cases[at].taps[1]};
        ry_attrs attrs = ry_attrs_default(RY_OP_convt);
        attrs.convt.groups = groups;
        attrs.convt.stride = (ry_ints){2, {cases[at].stride[0], cases[at].stride[1]}};
        attrs.convt.output_padding = (ry_ints){2, {cases[at].more[0], cases[at].more[1]}};
        attrs.convt.pads.count = 4;
        memcpy(attrs.convt.pads.at, cases[at].pads, sizeof cases[at].pads);
        const numbers *q = &y_numbers[type];
        const ry_value_id x = convolve(&f, start(&f, type), weights(&f, 4, first, RY_i8, 0),
                                       RY_NO_VALUE, false),
                          in[3] = {dequantise(&f, quantise(&f, x, q), q),
                                   weights_along(&f, 1, 4, w, type ? RY_i8 : RY_u8, type ? 3 : 128),
                                   constant(&f, 1, &k, 0)};
        const ry_value_id y = expr1(&f, "max(x0, -1)", node(&f, RY_OP_convt, &attrs, 3, in));
        /* a step of x is some steps of y */
        compare(&f, quantise(&f, y, q), 3);
        assert_int_equal(count(f.graph, RY_OP_qconv), cases[at].stays ? 1 : 2);
        assert_int_equal(count(f.graph, RY_OP_convt), cases[at].stays ? 1 : 0);
        end(&f);
    }
}

/* Averages in windows are sums of bytes if all windows have one divisor. */
static void pools_are_sums(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        const int type = i % 2;
        fixture f = begin();
        ry_attrs pool = ry_attrs_default(RY_OP_pool);
        pool.pool.kind = RY_pool_kind_average;
        pool.pool.kernel = (ry_ints){2, {3, 2}};
        pool.pool.stride = (ry_ints){2, {1, 2}};
        pool.pool.pads = (ry_ints){4, {i >= 2, i >= 2, i >= 2, i >= 2}};
        pool.pool.count_include_pad = i < 4;
        const ry_value_id x = start(&f, type), y = node(&f, RY_OP_pool, &pool, 1, &x);
        compare(&f, quantise(&f, expr1(&f, "max(x0, -0.8)", y), &x_numbers[type]), 1);
        assert_int_equal(count(f.graph, RY_OP_qconv), i < 4);
        assert_int_equal(count(f.graph, RY_OP_pool), i >= 4);
        end(&f);
    }
}

/* Means of planes, the large ones by tiles; a side of a prime number has none. */
static void means_are_sums(void **state)
{
    (void)state;
    static const struct {
        int64_t x[4];
        bool floats;
        int stays;
    } cases[] = {{{8, 12, 6, 7}, false, 0},
                 {{8, 12, 5, 3}, true, 0},
                 {{4, 24, 34, 64}, true, 0},
                 {{4, 24, 34, 64}, false, 0},
                 {{4, 24, 37, 41}, false, 1}};
    const numbers y_numbers_of_means[2] = {{0.002, 120, RY_u8}, {0.002, 0, RY_i8}};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const int type = (int)(i % 2);
        fixture f = begin();
        const ry_ints space = {2, {2, 3}};
        const ry_value_id x = start_with(&f, type, cases[i / 2].x),
                          y = expr_axes(&f, "mean(x0)", 1, &x, 2, space.at);
        if (cases[i / 2].floats) {
            compare(&f, expr1(&f, "tanh(x0)", y), 1e-6);
        } else {
            compare(&f, quantise(&f, y, &y_numbers_of_means[type]), 1);
        }
        assert_int_equal(count(f.graph, RY_OP_qconv), 1 - cases[i / 2].stays);
        end(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transposed_convolutions),
        cmocka_unit_test(pools_are_sums),
        cmocka_unit_test(means_are_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
