/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of stride 1 and 2 and transposed ones against the reference, on shapes that the
 * Winograd kernels take: every pair of kernel extents, ragged edges, dilation, strides of
 * transposed ones, groups, depth, layouts, epilogues; and what they must refuse. */
#include "product_case.h"
#include "window_shape.h"

#include "kernels/cpu/parts/conv_geometry.h"
#include "kernels/form.h"
#include "machine/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const ry_kernel *plain_kernel(bool transposed)
{
    const ry_kernel *kernel = every_kernel_find(transposed ? "convt_fwd_f32_winograd_generic"
                                                           : "conv_fwd_f32_winograd_generic");
    assert_non_null(kernel);
    return kernel;
}

/* Are all taps there that the shape has? Those that read padding only, on either side of a small x,
 * are left out before a kernel is asked. */
static bool is_whole(const product_case *c)
{
    ry_conv_geometry g;
    ry_conv_geometry_of(&c->problem, &g, NULL, NULL);
    const ry_tensor *w = &c->problem.in[1];
    int64_t taps = 1;
    for (int i = 2; i < w->rank; i++) {
        taps *= w->dim[i];
    }
    return g.kernel[0] * g.kernel[1] * g.kernel[2] == taps;
}

/* Checks the shape if Winograd kernels support it in these layouts. */
static int check(const window_shape *s, int space, case_layout x_layout, case_layout y_layout)
{
    product_case c;
    int checked = 0;
    if (window_shape_case(&c, s, space, x_layout, y_layout)) {
        case_fill(&c);
        const bool takes = plain_kernel(s->transposed)->applicable(&c.problem);
        const bool near =
            is_whole(&c) ? x_layout != CASE_STRIDED && y_layout != CASE_STRIDED : takes;
        assert_int_equal(takes, near);
        checked = near ? case_check_all(&c, s->transposed ? "convt_ref" : "conv_ref") : 0;
        case_free(&c);
    }
    return checked;
}

static case_layout any_layout(void)
{
    return case_between(0, 9) == 0 ? CASE_STRIDED
           : case_between(0, 1)    ? CASE_ROW_MAJOR
                                   : CASE_CHANNELS_LAST;
}

static void check_random(int count, int space, int64_t channels, int64_t size,
                         const int64_t *kernels, int kernel_count)
{
    int checked = 0;
    for (int n = 0; n < count; n++) {
        window_shape s = {.batch = case_between(0, 2) ? 1 : case_between(2, 3),
                          .channels = case_between(1, channels),
                          .out = case_between(1, channels),
                          .groups = 1,
                          .transposed = case_between(0, 2) == 0};
        if (case_between(0, 4) == 0) {
            s.groups = case_between(2, 3);
        }
        for (int i = 3 - space; i < 3; i++) {
            s.size[i] = case_between(1, i == 0 ? 4 : size);
            s.kernel[i] = kernels[case_random((uint32_t)kernel_count)];
            s.dilation[i] = case_between(0, 3) ? 1 : case_between(2, 3);
            s.before[i] = case_between(0, 1) ? s.kernel[i] / 2 : case_between(0, s.kernel[i] + 1);
            s.after[i] = case_between(0, 1) ? s.before[i] : case_between(0, s.kernel[i] + 1);
        }
        if (s.kernel[1] <= 1 && s.kernel[2] <= 1) {
            s.kernel[2] = 3;
        }
        const case_layout layout = any_layout();
        checked += check(&s, space, layout, case_between(0, 1) ? layout : any_layout());
    }
    assert_true(checked > count / 4);
}

/* Transposed ones with strides, all kernel extents that have at most five taps a phase and some
 * that have gaps between phases. */
static void check_strided(int count, int space, int64_t channels, int64_t size)
{
    int checked = 0;
    for (int n = 0; n < count; n++) {
        window_shape s = {.batch = case_between(1, 2),
                          .channels = case_between(1, channels),
                          .out = case_between(1, channels),
                          .groups = case_between(0, 4) ? 1 : case_between(2, 3),
                          .size = {1},
                          .kernel = {1},
                          .dilation = {1, 1, 1},
                          .transposed = true};
        for (int i = space < 3 ? 3 - space : 1; i < 3; i++) {
            s.size[i] = case_between(1, size);
            s.stride[i] = case_between(1, 4);
            s.kernel[i] = case_between(1, 5 * s.stride[i] < 11 ? 5 * s.stride[i] : 11);
            s.before[i] = case_between(0, s.kernel[i] - 1);
            /* output padding where it is more than the window's reach */
            s.after[i] = case_between(0, s.kernel[i] + s.stride[i] - 2);
        }
        if (s.kernel[1] <= s.stride[1] && s.kernel[2] <= s.stride[2]) {
            s.kernel[2] = 2 * s.stride[2];
        }
        const case_layout layout = any_layout();
        checked += check(&s, space, layout, case_between(0, 1) ? layout : any_layout());
    }
    assert_true(checked > count / 4);
}

/* Checks forward convolutions of stride 2 on one axis or two. */
static void check_halved(int count, int space, int64_t channels, int64_t size)
{
    int checked = 0;
    for (int n = 0; n < count; n++) {
        window_shape s = {.batch = case_between(1, 2),
                          .channels = case_between(1, channels),
                          .out = case_between(1, channels),
                          .groups = case_between(0, 4) ? 1 : case_between(2, 3),
                          .size = {case_between(1, 3)},
                          .kernel = {1},
                          .dilation = {1, 1, 1},
                          .stride = {case_between(1, 3), 1, 1}};
        for (int i = space < 3 ? 3 - space : 1; i < 3; i++) {
            s.stride[i] = case_between(0, 3) ? 2 : 1;
            s.size[i] = case_between(1, size);
            s.kernel[i] = case_between(1, s.stride[i] == 2 ? 11 : 7);
            s.before[i] = case_between(0, 1) ? s.kernel[i] / 2 : case_between(0, s.kernel[i]);
            s.after[i] = case_between(0, s.kernel[i]);
        }
        if (s.kernel[1] <= s.stride[1] && s.kernel[2] <= s.stride[2]) {
            s.kernel[2] = 3;
        }
        const case_layout layout = any_layout();
        checked += check(&s, space, layout, case_between(0, 1) ? layout : any_layout());
    }
    assert_true(checked > count / 4);
}

static const int64_t square[] = {3}, mixed[] = {1, 2, 3, 4, 5, 6, 7}, small[] = {1, 2, 3};

static void test_square(void **state)
{
    (void)state;
    check_random(60, 2, 20, 15, square, 1);
    check_random(12, 2, 70, 9, square, 1);
}

static void test_wide_images(void **state)
{
    (void)state;
    check_random(12, 2, 5, 80, square, 1);
}

/* Rows of positions pass through strips: whole rows of tiles at once, several of them to a block,
 * and rows longer than a strip. */
static void test_long_rows(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = {{13, 60}, {20, 38}, {5, 450}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        window_shape s = window_shape_3x3(17, sizes[i][1]);
        s.size[1] = sizes[i][0];
        assert_true(check(&s, 2, CASE_ROW_MAJOR, CASE_ROW_MAJOR) > 0);
        assert_true(check(&s, 2, CASE_CHANNELS_LAST, CASE_ROW_MAJOR) > 0);
        assert_true(check(&s, 2, CASE_ROW_MAJOR, CASE_CHANNELS_LAST) > 0);
    }
}

/* x and y that are expected in memory have their lines fetched while products run. */
static void test_far(void **state)
{
    (void)state;
    static const int64_t channels[][2] = {{16, 3}, {2, 16}}; /* channels of x and of y */
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        window_shape s = window_shape_3x3(channels[i][0], 330);
        s.size[1] = 310;
        s.out = channels[i][1];
        assert_true(check(&s, 2, CASE_CHANNELS_LAST, CASE_CHANNELS_LAST) > 0);
    }
}

static void test_mixed_kernels(void **state)
{
    (void)state;
    check_random(120, 2, 12, 14, mixed, 7);
}

static void test_lines(void **state)
{
    (void)state;
    check_random(50, 1, 40, 60, mixed, 7);
}

static void test_volumes(void **state)
{
    (void)state;
    check_random(30, 3, 9, 10, small, 3);
}

static void test_strided(void **state)
{
    (void)state;
    check_strided(60, 2, 12, 12);
    check_strided(10, 2, 80, 7);
    check_strided(40, 1, 40, 60);
    check_strided(20, 3, 9, 8);
}

/* Windows that are a multiple of the strides, as pixel shuffles make them: with channels innermost,
 * phases are output channels. */
static void test_folded(void **state)
{
    (void)state;
    int checked = 0;
    for (int n = 0; n < 60; n++) {
        window_shape s = {.batch = case_between(1, 2),
                          .channels = case_between(1, 40),
                          .out = case_between(0, 4) ? case_between(1, n % 8 == 0 ? 70 : 20) : 1,
                          .groups = n % 10 == 9 ? 2 : 1,
                          .size = {1},
                          .kernel = {1},
                          .dilation = {1, 1, 1},
                          .transposed = true};
        const int space = n % 4 == 3 ? 1 : 2;
        for (int i = 3 - space; i < 3; i++) {
            const int64_t taps = case_between(i == 2 ? 2 : 1, 4);
            s.size[i] = case_between(taps, 14);
            s.stride[i] = case_between(1, 4);
            s.kernel[i] = taps * s.stride[i];
            s.before[i] = s.stride[i] - 1 + s.stride[i] * case_between(0, taps - 1);
            s.after[i] = case_between(0, 9)
                             ? s.stride[i] - 1 + s.stride[i] * case_between(0, taps - 1)
                             : s.before[i];
        }
        checked += check(&s, space, any_layout(), s.out == 1 ? CASE_ROW_MAJOR : CASE_CHANNELS_LAST);
    }
    assert_true(checked > 60);
}

static void test_halved(void **state)
{
    (void)state;
    check_halved(60, 2, 12, 16);
    check_halved(10, 2, 80, 10);
    check_halved(40, 1, 40, 60);
    check_halved(20, 3, 9, 12);
}

/* Many channels and few tiles: V is shared, and tasks are cut along channels. */
static void test_shared(void **state)
{
    (void)state;
    for (int layout = 0; layout < CASE_STRIDED; layout++) {
        const window_shape s = {.batch = 1,
                                .channels = 130,
                                .out = 200,
                                .groups = 1,
                                .size = {0, 7, 6},
                                .kernel = {0, 3, 3},
                                .dilation = {0, 1, 1},
                                .before = {0, 1, 1},
                                .after = {0, 1, 1}};
        assert_true(check(&s, 2, (case_layout)layout, (case_layout)layout) > 0);
        window_shape strided = s;
        strided.transposed = true;
        strided.kernel[1] = strided.kernel[2] = 4;
        strided.before[1] = strided.before[2] = strided.after[1] = strided.after[2] = 2;
        strided.stride[1] = strided.stride[2] = 2;
        assert_true(check(&strided, 2, (case_layout)layout, (case_layout)layout) > 0);
    }
}

/* Groups of few channels among many: with channels innermost rows of x pass through strips, too. */
static void test_groups(void **state)
{
    (void)state;
    static const int64_t channels[] = {16, 21}, sizes[] = {8, 14, 19};
    for (int i = 0; i < 12; i++) {
        window_shape s = window_shape_3x3(channels[i % 2], sizes[i / 2 % 3]);
        s.groups = 16;
        s.batch = 1 + i / 6;
        s.stride[1] = s.stride[2] = 1 + i / 6;
        s.dilation[2] = i % 4 == 3 && i < 6 ? 2 : 1;
        assert_true(check(&s, 2, CASE_CHANNELS_LAST, CASE_CHANNELS_LAST) > 0);
        assert_true(i > 3 || check(&s, 2, CASE_CHANNELS_LAST, CASE_ROW_MAJOR) > 0);
    }
}

/* Dilated rows: phases of one length and of several, one output each, blocks of a part of a row and
 * of several rows. */
static void test_dilated(void **state)
{
    (void)state;
    static const int64_t dilations[] = {2, 3, 5, 12, 40}, widths[] = {7, 13, 24, 57, 130};
    int checked = 0;
    for (int i = 0; i < 25; i++) {
        window_shape s = window_shape_3x3(i % 3 == 0 ? 5 : 33, widths[i / 5]);
        s.size[1] = case_between(3, 9);
        s.dilation[2] = dilations[i % 5];
        s.before[2] = s.after[2] = s.dilation[2];
        s.dilation[1] = case_between(1, 2);
        s.batch = case_between(1, 2);
        checked += check(&s, 2, i % 4 == 1 ? CASE_CHANNELS_LAST : CASE_ROW_MAJOR,
                         i % 4 == 3 ? CASE_CHANNELS_LAST : CASE_ROW_MAJOR) > 0;
    }
    assert_true(checked > 15);
    static const int64_t wide[] = {34, 54, 70, 76, 105, 120, 127};
    /* runs of several groups, whose strips are as long as they may be */
    for (int i = 0; i < 7; i++) {
        window_shape row = {.batch = 8,
                            .channels = 8,
                            .out = 8,
                            .groups = 1,
                            .size = {0, 0, 1300 + i},
                            .kernel = {0, 0, 3 + 2 * (i % 2)},
                            .dilation = {0, 0, wide[i]},
                            .before = {0, 0, wide[i]},
                            .after = {0, 0, wide[i]}};
        assert_true(check(&row, 1, CASE_ROW_MAJOR, CASE_ROW_MAJOR) > 0);
    }
    /* the transformed tiles of all phases together are more than a cache holds */
    window_shape deep = window_shape_3x3(2500, 12);
    deep.out = 3;
    deep.size[1] = 4;
    deep.dilation[2] = deep.before[2] = deep.after[2] = 11;
    assert_true(check(&deep, 2, CASE_ROW_MAJOR, CASE_ROW_MAJOR) > 0);
}

static void test_refused(void **state)
{
    (void)state;
    const window_shape s = window_shape_3x3(4, 8);
    product_case c;
    assert_true(window_shape_case(&c, &s, 2, CASE_ROW_MAJOR, CASE_ROW_MAJOR));
    case_fill(&c);
    assert_true(plain_kernel(false)->applicable(&c.problem));
    c.problem.attrs.conv.stride = (ry_ints){2, {1, 3}};
    assert_false(plain_kernel(false)->applicable(&c.problem));
    case_free(&c);
    const window_shape pointwise = {.batch = 1,
                                    .channels = 4,
                                    .out = 4,
                                    .groups = 1,
                                    .size = {0, 8, 8},
                                    .kernel = {0, 1, 1},
                                    .dilation = {0, 1, 1}};
    assert_true(window_shape_case(&c, &pointwise, 2, CASE_ROW_MAJOR, CASE_ROW_MAJOR));
    case_fill(&c);
    assert_false(plain_kernel(false)->applicable(&c.problem));
    case_free(&c);
}

/* The point of it: fewer operations than the sum over taps, by about the ratio of taps times
 * outputs to points. */
static void test_counts(void **state)
{
    (void)state;
    const window_shape s = window_shape_3x3(64, 48);
    product_case c;
    assert_true(window_shape_case(&c, &s, 2, CASE_ROW_MAJOR, CASE_ROW_MAJOR));
    case_fill(&c);
    ry_prepared prepared = {0};
    ry_error error;
    assert_int_equal(every_kernel_prepare(plain_kernel(false), &c.problem, &prepared, &error),
                     RYND_OK);
    const double ratio = ry_problem_flop(&c.problem) / prepared.counts.flop;
    assert_true(ratio > 2 && ratio < 5.1);
    case_free(&c);
}

/* Weights that are packed before every run cost U = G g G^T, at least. */
static void test_packing(void **state)
{
    (void)state;
    const window_shape s = window_shape_3x3(64, 48);
    product_case c;
    assert_true(window_shape_case(&c, &s, 2, CASE_ROW_MAJOR, CASE_ROW_MAJOR));
    case_fill(&c);
    ry_prepared prepared = {0};
    ry_error error;
    const ry_kernel *kernel = plain_kernel(false);
    assert_int_equal(every_kernel_prepare(kernel, &c.problem, &prepared, &error), RYND_OK);
    const int64_t high = prepared.form.value[0], wide = prepared.form.value[1];
    assert_string_equal(kernel->knobs[0].name, "points_h");
    assert_string_equal(kernel->knobs[1].name, "points_w");
    assert_true(prepared.pack_work >= (double)(64 * 64 * 2 * high * 3 * (3 + wide)));
    case_free(&c);
}

enum { WEIGHTS = 1 << 1 | 1 << 2 }; /* constant inputs: nothing is packed in a run */

static double work_of(const ry_kernel *kernel, const product_case *c, const ry_target *target,
                      const ry_form *form)
{
    const ry_query query = {kernel, &c->problem, target, form};
    ry_prepared prepared = {0};
    ry_error error;
    const rynd_status status = ry_prepare(&query, WEIGHTS, &prepared, &error);
    return status == RYND_OK ? prepared.work[0].all + prepared.work[1].all : -1;
}

/* The search skips tiles whose products alone cost too much: for one core, whose cost is its work,
 * no form of a task's own V takes less. */
static void check_choice(const ry_kernel *kernel, const product_case *c)
{
    ry_target target = *every_kernel_target(kernel->isa);
    ry_machine machine = *target.machine;
    machine.cores = 1;
    target.machine = &machine;
    const ry_query query = {kernel, &c->problem, &target, NULL};
    enum { KNOBS = 5, SHARED = 2 };
    ry_knob_values values[KNOBS];
    ry_form form = ry_form_free();
    const double chosen = work_of(kernel, c, &target, NULL);
    assert_string_equal(kernel->knobs[SHARED].name, "shared");
    assert_true(chosen > 0);
    int64_t forms = 1;
    for (int i = 0; i < KNOBS; i++) {
        values[i] = ry_form_values(&query, i);
        forms *= i == SHARED ? 1 : values[i].count;
    }
    for (int64_t at = 0; at < forms; at++) {
        int64_t rest = at;
        for (int i = 0; i < KNOBS; i++) {
            const int count = i == SHARED ? 1 : values[i].count;
            form.value[i] = i == SHARED ? 0 : values[i].value[rest % count];
            rest /= count;
        }
        const double other = work_of(kernel, c, &target, &form);
        assert_true(other < 0 || chosen <= other * (1 + 1e-9));
    }
}

static void test_no_form_takes_less_work(void **state)
{
    (void)state;
    static const int sizes[][2] = {{64, 48}, {200, 14}, {3, 70}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const window_shape s = window_shape_3x3(sizes[i][0], sizes[i][1]);
        for (case_layout layout = CASE_ROW_MAJOR; layout <= CASE_CHANNELS_LAST; layout++) {
            product_case c;
            assert_true(window_shape_case(&c, &s, 2, layout, layout));
            case_fill(&c);
            check_choice(plain_kernel(false), &c);
            case_free(&c);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_square),
                                       cmocka_unit_test(test_wide_images),
                                       cmocka_unit_test(test_long_rows),
                                       cmocka_unit_test(test_mixed_kernels),
                                       cmocka_unit_test(test_lines),
                                       cmocka_unit_test(test_volumes),
                                       cmocka_unit_test(test_strided),
                                       cmocka_unit_test(test_halved),
                                       cmocka_unit_test(test_shared),
                                       cmocka_unit_test(test_groups),
                                       cmocka_unit_test(test_dilated),
                                       cmocka_unit_test(test_far),
                                       cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_counts),
                                       cmocka_unit_test(test_packing),
                                       cmocka_unit_test(test_folded),
                                       cmocka_unit_test(test_no_form_takes_less_work)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
