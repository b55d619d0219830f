/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise and few-channel grouped convolutions against the reference: every window, stride,
 * dilation, multiplier, layout and type. */
#include "product_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* A square or odd window over `groups` groups. Returns how many kernels were checked. */
static int check_grouped(int64_t groups, int64_t in, int64_t out, int64_t size, int64_t kernel,
                         int64_t stride, ry_dtype dtype, case_layout layout)
{
    product_case c = {.problem = {.op = RY_OP_conv, .inputs = 4}};
    c.problem.attrs = ry_attrs_default(RY_OP_conv);
    ry_conv_attrs *a = &c.problem.attrs.conv;
    const int64_t batch = case_between(0, 2) ? 1 : 3, height = size + case_between(0, 3),
                  width = size + case_between(0, 5);
    const int64_t r = kernel, s = case_between(0, 3) ? kernel : case_between(1, 5),
                  dilation = case_between(0, 3) ? 1 : case_between(2, 3);
    const int64_t pad[4] = {case_between(0, r), case_between(0, s), case_between(0, r),
                            case_between(0, s)};
    a->groups = groups;
    a->stride = (ry_ints){2, {stride, case_between(0, 4) ? stride : 1}};
    a->dilation = (ry_ints){2, {dilation, dilation}};
    a->pads = (ry_ints){4, {pad[0], pad[1], pad[2], pad[3]}};
    const int64_t high = height + pad[0] + pad[2] - dilation * (r - 1) - 1,
                  wide = width + pad[1] + pad[3] - dilation * (s - 1) - 1;
    if (high < 0 || wide < 0) {
        return 0;
    }
    const int64_t x[4] = {batch, groups * in, height, width}, w[4] = {groups * out, in, r, s};
    const int64_t y[4] = {batch, groups * out, high / a->stride.at[0] + 1,
                          wide / a->stride.at[1] + 1},
                  bias[1] = {groups * out};
    c.in[0] = case_tensor(dtype, 4, x, layout);
    c.in[1] = case_tensor(dtype, 4, w, case_between(0, 3) ? CASE_ROW_MAJOR : CASE_STRIDED);
    if (case_between(0, 1)) {
        c.in[2] = case_tensor(dtype, 1, bias, CASE_ROW_MAJOR);
    }
    c.out[0] = case_tensor(dtype, 4, y, case_between(0, 3) ? layout : CASE_STRIDED);
    if (case_between(0, 2) == 0) {
        c.in[3] = case_tensor(dtype, 4, y, case_between(0, 1) ? layout : CASE_CHANNELS_LAST);
    }
    a->activation =
        (ry_activation)(case_between(0, 1) ? 0 : case_between(0, RY_activation_count - 1));
    a->act_alpha = 0.25;
    a->act_beta = 0.5;
    c.terms = (double)(in * r * s);
    case_fill(&c);
    const int checked = case_check_all(&c, "conv_ref");
    case_free(&c);
    return checked;
}

static void test_windows(void **state)
{
    (void)state;
    int checked = 0;
    for (int layout = 0; layout < CASE_LAYOUTS; layout++) {
        for (int64_t kernel = 1; kernel <= 11; kernel += kernel < 7 ? 1 : 2) {
            for (int64_t stride = 1; stride <= 5; stride++) {
                const int64_t size = kernel < 9 ? case_between(1, 20) : case_between(9, 36);
                checked += check_grouped(case_between(2, 21), 1, 1, size, kernel, stride, RY_f32,
                                         (case_layout)layout);
            }
        }
    }
    assert_true(checked > 100);
}

/* Windows of more rows than a word has bits, and wider than x. */
static void test_large_windows(void **state)
{
    (void)state;
    int checked = 0;
    for (int layout = 0; layout < CASE_LAYOUTS; layout++) {
        for (int64_t kernel = 31; kernel <= 71; kernel += 8) {
            for (int64_t stride = 1; stride <= 2; stride++) {
                checked += check_grouped(3, 1, 1, case_between(kernel - 12, kernel + 9), kernel,
                                         stride, RY_f32, (case_layout)layout);
            }
        }
    }
    assert_true(checked > 50);
}

static void test_sizes(void **state)
{
    (void)state;
    int checked = 0;
    for (int layout = 0; layout < CASE_LAYOUTS; layout++) {
        for (int64_t size = 1; size <= 64; size += 1 + size / 8) {
            checked += check_grouped(case_between(2, 40), 1, 1, size, 3, 1 + (size & 1), RY_f32,
                                     (case_layout)layout);
        }
    }
    assert_true(checked > 50);
}

static void test_multipliers_and_groups(void **state)
{
    (void)state;
    int checked = 0;
    for (int layout = 0; layout < CASE_LAYOUTS; layout++) {
        for (int64_t in = 1; in <= 9; in += 2) {
            for (int64_t out = 1; out <= 9; out++) {
                checked += check_grouped(case_between(2, 9), in, out, case_between(3, 18),
                                         case_between(1, 3), case_between(1, 2), RY_f32,
                                         (case_layout)layout);
            }
        }
        for (int64_t i = 0; i < 6; i++) {
            checked += check_grouped(case_between(2, 20), case_between(1, 3), case_between(1, 3),
                                     case_between(16, 30), i % 2 ? 9 : 11, 1 + i / 2, RY_f32,
                                     (case_layout)layout);
        }
        for (int64_t in = 1; in <= 70; in += 23) {
            checked += check_grouped(1, in, case_between(1, 2), case_between(3, 30), 3, 1, RY_f32,
                                     (case_layout)layout);
        }
    }
    assert_true(checked > 200);
}

/* One to three dimensions; every dimension with a stride, dilation and padding of its own. */
static int check_space(ry_op op, int space, int64_t groups, int64_t in, int64_t out,
                       case_layout layout)
{
    product_case c = {.problem = {.op = op, .inputs = 4}};
    c.problem.attrs = ry_attrs_default(op);
    const bool forward = op == RY_OP_conv;
    ry_conv_attrs *conv = &c.problem.attrs.conv;
    ry_convt_attrs *convt = &c.problem.attrs.convt;
    ry_ints *strides = forward ? &conv->stride : &convt->stride,
            *dilations = forward ? &conv->dilation : &convt->dilation;
    ry_ints *pads = forward ? &conv->pads : &convt->pads;
    int64_t x[5] = {case_between(1, 2), groups * in}, w[5] = {groups * out, in},
            y[5] = {x[0], groups * out}, terms = in;
    if (!forward) {
        w[0] = groups * in;
        w[1] = out;
    }
    *(forward ? &conv->groups : &convt->groups) = groups;
    strides->count = dilations->count = space;
    pads->count = 2 * space;
    for (int i = 0; i < space; i++) {
        const int64_t size = case_between(1, i + 1 == space ? 24 : 9),
                      r = case_between(0, 1) ? 3 : case_between(1, 7);
        const int64_t stride = case_between(1, 3),
                      dilation = case_between(0, 2) ? 1 : case_between(2, 3),
                      pad[2] = {case_between(0, r), case_between(0, r)};
        const int64_t reach = dilation * (r - 1) + 1, sum = pad[0] + pad[1];
        const int64_t extent = forward ? size + sum - reach : (size - 1) * stride + reach - sum;
        if (extent < !forward) {
            return 0;
        }
        x[2 + i] = size;
        w[2 + i] = r;
        y[2 + i] = forward ? extent / stride + 1 : extent;
        terms *= r;
        strides->at[i] = stride;
        dilations->at[i] = dilation;
        pads->at[i] = pad[0];
        pads->at[space + i] = pad[1];
    }
    c.in[0] = case_tensor(RY_f32, space + 2, x, layout);
    c.in[1] = case_tensor(RY_f32, space + 2, w, CASE_ROW_MAJOR);
    c.out[0] = case_tensor(RY_f32, space + 2, y, case_between(0, 3) ? layout : CASE_ROW_MAJOR);
    if (case_between(0, 2) == 0) {
        c.in[3] = case_tensor(RY_f32, space + 2, y, layout);
    }
    const ry_activation activation =
        (ry_activation)(case_between(0, 1) ? 0 : case_between(0, RY_activation_count - 1));
    *(forward ? &conv->activation : &convt->activation) = activation;
    *(forward ? &conv->act_alpha : &convt->act_alpha) = 0.25;
    *(forward ? &conv->act_beta : &convt->act_beta) = 0.5;
    c.terms = (double)terms;
    case_fill(&c);
    const int checked = case_check_all(&c, forward ? "conv_ref" : "convt_ref");
    case_free(&c);
    return checked;
}

static void test_spaces(void **state)
{
    (void)state;
    int checked = 0;
    for (int layout = 0; layout < CASE_LAYOUTS; layout++) {
        for (int i = 0; i < 60; i++) {
            checked += check_space(RY_OP_conv, 1 + i % 3, case_between(2, 40), 1,
                                   case_between(0, 3) ? 1 : 2, (case_layout)layout);
        }
    }
    assert_true(checked > 100);
}

/* Windows with depth over planes that strips take, where every pass but the first adds to y: narrow
 * planes in pairs, rows of some vectors, last vectors of two strips, windows with a variant of
 * their own; some slices of y read fewer slices of x than others. */
static int check_volume(int64_t size, int64_t depth, int64_t kernel, int64_t stride)
{
    product_case c = {.problem = {.op = RY_OP_conv, .inputs = 4}};
    c.problem.attrs = ry_attrs_default(RY_OP_conv);
    ry_conv_attrs *a = &c.problem.attrs.conv;
    const int64_t out = case_between(1, 2), groups = case_between(2, 19),
                  slices = case_between(depth, 6), step = case_between(1, 2),
                  dilation = case_between(1, 2);
    const int64_t pad = depth / 2 * dilation, row = kernel / 2, reach = dilation * (depth - 1) + 1;
    a->groups = groups;
    a->stride = (ry_ints){3, {step, stride, stride}};
    a->dilation = (ry_ints){3, {dilation, 1, 1}};
    a->pads = (ry_ints){6, {pad, row, row, pad, row, row}};
    a->activation =
        (ry_activation)(case_between(0, 1) ? 0 : case_between(0, RY_activation_count - 1));
    a->act_alpha = 0.25;
    a->act_beta = 0.5;
    const int64_t high = (size - 1) / stride + 1,
                  x[5] = {case_between(1, 2), groups, slices, size, size},
                  w[5] = {groups * out, 1, depth, kernel, kernel};
    const int64_t y[5] = {x[0], groups * out, (slices + 2 * pad - reach) / step + 1, high, high},
                  bias[1] = {groups * out};
    c.in[0] = case_tensor(RY_f32, 5, x, CASE_ROW_MAJOR);
    c.in[1] = case_tensor(RY_f32, 5, w, CASE_ROW_MAJOR);
    c.in[2] = case_tensor(RY_f32, 1, bias, CASE_ROW_MAJOR);
    c.out[0] = case_tensor(RY_f32, 5, y, CASE_ROW_MAJOR);
    if (case_between(0, 1)) {
        c.in[3] = case_tensor(RY_f32, 5, y, CASE_ROW_MAJOR);
    }
    c.terms = (double)(depth * kernel * kernel);
    case_fill(&c);
    const int checked = case_check_some(&c, "conv_ref", "depthwise_nchw");
    case_free(&c);
    return checked;
}

/* Windows of five and seven columns and any number of rows, of which two lines are summed together.
 */
static int check_lines(int64_t rows, int64_t columns, int64_t stride, case_layout layout)
{
    product_case c = {.problem = {.op = RY_OP_conv, .inputs = 4}};
    c.problem.attrs = ry_attrs_default(RY_OP_conv);
    ry_conv_attrs *a = &c.problem.attrs.conv;
    const int64_t groups = case_between(2, 40), height = case_between(rows, 15),
                  width = case_between(3, 31), above = case_between(0, rows - 1),
                  below = case_between(0, rows);
    a->groups = groups;
    a->stride = (ry_ints){2, {stride, stride}};
    a->pads = (ry_ints){4, {above, columns / 2, below, columns / 2}};
    const int64_t x[4] = {case_between(1, 2), groups, height, width},
                  w[4] = {groups, 1, rows, columns};
    const int64_t y[4] = {x[0], groups, (height + above + below - rows) / stride + 1,
                          (width - 1) / stride + 1},
                  bias[1] = {groups};
    c.in[0] = case_tensor(RY_f32, 4, x, layout);
    c.in[1] = case_tensor(RY_f32, 4, w, CASE_ROW_MAJOR);
    c.in[2] = case_tensor(RY_f32, 1, bias, CASE_ROW_MAJOR);
    c.out[0] = case_tensor(RY_f32, 4, y, layout);
    c.terms = (double)(rows * columns);
    case_fill(&c);
    const int checked = case_check_some(&c, "conv_ref", "depthwise_nhwc");
    case_free(&c);
    return checked;
}

static void test_two_lines(void **state)
{
    (void)state;
    for (int64_t rows = 1; rows <= 8; rows++) {
        for (int i = 0; i < 8; i++) {
            assert_true(check_lines(rows, 5 + i / 4 * 2, 1 + i % 2,
                                    i / 2 % 2 ? CASE_CHANNELS_LAST : CASE_ROW_MAJOR) > 0);
        }
    }
}

static void test_volumes(void **state)
{
    (void)state;
    static const int64_t sizes[] = {5, 7, 14, 20, 28, 41};
    for (int i = 0; i < 48; i++) {
        const int64_t kernel = i % 8 < 5 ? 3 : i % 8 < 7 ? 5 + 2 * (i % 2) : 1;
        assert_true(check_volume(sizes[i % 6], 2 + i % 3, kernel, 1 + i / 24) > 0);
    }
}

/* Groups whose vectors read one vector of x, two, and more than the permutations take; three
 * dimensions among them. */
static void test_wide_groups(void **state)
{
    (void)state;
    int checked = 0;
    for (int layout = 0; layout < CASE_LAYOUTS; layout++) {
        for (int64_t in = 2; in <= 18; in++) {
            checked +=
                check_space(RY_OP_conv, 2, case_between(2, 5), in,
                            case_between(0, 1) ? in : case_between(1, 18), (case_layout)layout);
            checked += check_space(RY_OP_conv, 3, case_between(2, 5), in, in, (case_layout)layout);
        }
    }
    assert_true(checked > 50);
}

static void test_transposed(void **state)
{
    (void)state;
    int checked = 0;
    for (int layout = 0; layout < CASE_LAYOUTS; layout++) {
        for (int i = 0; i < 60; i++) {
            const int64_t in = case_between(0, 2) ? 1 : case_between(1, 6);
            checked +=
                check_space(RY_OP_convt, 1 + i % 3, case_between(2, 40), in,
                            case_between(0, 2) ? 1 : case_between(1, 6), (case_layout)layout);
        }
    }
    assert_true(checked > 100);
}

/* Windows whose rows are cut into interleaved ones, and every number of a group's channels that a
 * vector has whole groups of. */
static void test_dilated_and_odd(void **state)
{
    (void)state;
    int checked = 0;
    for (int layout = 0; layout < CASE_LAYOUTS; layout++) {
        for (int64_t each = 1; each <= 17; each++) {
            for (int64_t kernel = 3; kernel <= 7; kernel += 2) {
                const int64_t in = case_between(0, 1) ? each : 1, stride = case_between(1, 2);
                checked += check_grouped(case_between(2, 9), in, each, case_between(3, 26), kernel,
                                         stride, RY_f32, (case_layout)layout);
            }
        }
    }
    assert_true(checked > 200);
}

/* Work for several tasks: cut by rows alone, by rows and channels, and (few rows) by channels
 * alone. */
static void test_many_channels(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{100, 20, 3}, {403, 15, 3}, {770, 2, 3}, {390, 14, 5}};
    int checked = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        checked += check_grouped(shapes[i][0], 1, 1, shapes[i][1], shapes[i][2], 1, RY_f32,
                                 CASE_CHANNELS_LAST);
        checked += check_grouped(shapes[i][0] / 2, 1, 2, shapes[i][1], shapes[i][2], 2, RY_f32,
                                 CASE_CHANNELS_LAST);
    }
    assert_true(checked > 8);
}

/* Planes row by row with padding that keeps their size (stride 1) or halves it, two images of five
 * channels. */
static int check_plane(int64_t height, int64_t width, int64_t kernel, int64_t stride,
                       int64_t dilation, bool residual)
{
    product_case c = {.problem = {.op = RY_OP_conv, .inputs = residual ? 4 : 3}};
    c.problem.attrs = ry_attrs_default(RY_OP_conv);
    ry_conv_attrs *a = &c.problem.attrs.conv;
    const int64_t pad = dilation * (kernel - 1) / 2, reach = dilation * (kernel - 1) + 1,
                  channels = 5;
    const int64_t high = (height + 2 * pad - reach) / stride + 1,
                  wide = (width + 2 * pad - reach) / stride + 1;
    a->groups = channels;
    a->stride = (ry_ints){2, {stride, stride}};
    a->dilation = (ry_ints){2, {dilation, dilation}};
    a->pads = (ry_ints){4, {pad, pad, pad, pad}};
    a->activation = RY_activation_relu;
    const int64_t x[4] = {2, channels, height, width}, w[4] = {channels, 1, kernel, kernel},
                  y[4] = {2, channels, high, wide};
    c.in[0] = case_tensor(RY_f32, 4, x, CASE_ROW_MAJOR);
    c.in[1] = case_tensor(RY_f32, 4, w, CASE_ROW_MAJOR);
    c.in[2] = case_tensor(RY_f32, 1, &channels, CASE_ROW_MAJOR);
    c.out[0] = case_tensor(RY_f32, 4, y, CASE_ROW_MAJOR);
    if (residual) {
        c.in[3] = case_tensor(RY_f32, 4, y, CASE_ROW_MAJOR);
    }
    c.terms = (double)(kernel * kernel);
    case_fill(&c);
    const int checked = case_check_all(&c, "conv_ref");
    case_free(&c);
    return checked;
}

/* Rows that end in half a vector or less, computed with the strip below; rows of exactly one
 * vector.
 */
static void test_half_vectors(void **state)
{
    (void)state;
    int checked = 0;
    for (int64_t last = 1; last <= 9; last++) {
        for (int64_t kernel = 3; kernel <= 7; kernel += 2) {
            checked += check_plane(13 + last, 16 + last, kernel, 1, 1, last & 1);
        }
        checked += check_plane(14 + 2 * last, 32 + last, 3, 1, 2, false);
        checked += check_plane(28, 32 + 2 * last, 3, 2, 1, last & 1);
        checked += check_plane(27 + 2 * last, 33 + 2 * last, 5, 2, 1, false);
    }
    checked += check_plane(28, 20, 9, 1, 1, true);
    checked += check_plane(29, 20, 2, 1, 1, false);
    checked += check_plane(30, 36, 1, 1, 1, true);
    assert_true(checked > 100);
}

/* Windows of 5x5 and 7x7 over strips at the upper and lower edge, between them and left over, and
 * vectors with and without edges. */
static void test_strips_of_windows(void **state)
{
    (void)state;
    static const int64_t heights[] = {7, 8, 14, 20, 28, 35}, widths[] = {7, 14, 16, 28, 33, 50, 60};
    int checked = 0;
    for (size_t i = 0; i < sizeof heights / sizeof *heights; i++) {
        for (size_t j = 0; j < sizeof widths / sizeof *widths; j++) {
            checked += check_plane(heights[i], widths[j], 5, 1, 1, (i + j) % 2);
            checked += check_plane(heights[i], widths[j], 7, 1, 1, (i + j) % 2 == 0);
        }
    }
    assert_true(checked > 150);
}

/* Rows of every rest of a vector, and planes higher than what goes down them at once. */
static void test_rotating_rows(void **state)
{
    (void)state;
    int checked = 0;
    for (int64_t stride = 1; stride <= 2; stride++) {
        for (int64_t width = 5; width <= 36; width++) {
            checked += check_plane(case_between(1, 70), width, 3, stride, 1, width % 2);
        }
    }
    assert_true(checked > 150);
}

/* Seven rows, or fourteen, of planes without gaps, whose rows are at most half a vector or one. */
static void test_seven_rows(void **state)
{
    (void)state;
    int checked = 0;
    for (int64_t width = 4; width <= 33; width++) {
        for (int64_t height = 7; height <= 22; height += 1 + width % 4) {
            checked += check_plane(height, width, 3, 1, 1, false);
        }
    }
    assert_true(checked > 400);
}

static void test_half_types(void **state)
{
    (void)state;
    int checked = 0;
    for (int i = 0; i < 40; i++) {
        const ry_dtype dtype = i & 1 ? RY_f16 : RY_bf16;
        checked += check_grouped(case_between(2, 30), 1, case_between(1, 2), case_between(1, 20),
                                 case_between(1, 5), case_between(1, 3), dtype,
                                 (case_layout)(i % CASE_LAYOUTS));
    }
    assert_true(checked > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_large_windows),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_multipliers_and_groups),
        cmocka_unit_test(test_spaces),
        cmocka_unit_test(test_two_lines),
        cmocka_unit_test(test_volumes),
        cmocka_unit_test(test_wide_groups),
        cmocka_unit_test(test_half_types),
        cmocka_unit_test(test_transposed),
        cmocka_unit_test(test_dilated_and_odd),
        cmocka_unit_test(test_many_channels),
        cmocka_unit_test(test_half_vectors),
        cmocka_unit_test(test_seven_rows),
        cmocka_unit_test(test_strips_of_windows),
        cmocka_unit_test(test_rotating_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
