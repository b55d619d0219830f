/* SPDX-License-Identifier: Apache-2.0 */
/* The vector kernels of resize against the reference: modes, coordinates, scales, both layouts. */
#include "kernel_case.h"

#include "kernels/common/resize_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void check(kernel_case *c)
{
    kernel_case_check_isas(c, "resize", 1e-5);
    kernel_case_end(c);
}

/* Scales that the output's size implies. */
static const char *const shapes[][2] = {
    {"2x3x5x7", "2x3x10x14"},   {"1x4x9x11", "1x4x36x44"},  {"1x3x8x9", "1x3x24x27"},
    {"1x2x13x17", "1x2x20x31"}, {"1x3x20x30", "1x3x7x13"},  {"1x5x6x6", "1x5x6x18"},
    {"1x5x6x6", "1x5x18x6"},    {"2x3x1x1", "2x3x4x5"},     {"1x2x100x90", "1x2x3x80"},
    {"2x3x31", "2x3x62"},       {"1x64x7x7", "1x64x14x14"}, {"4x6", "8x9"},
};

static void resize(size_t shape, ry_resize_mode mode, ry_resize_coordinates coordinates,
                   ry_resize_nearest nearest, bool antialias)
{
    kernel_case c;
    kernel_case_begin(&c, RY_OP_resize);
    c.attrs.resize.mode = mode;
    c.attrs.resize.coordinates = coordinates;
    c.attrs.resize.nearest = nearest;
    c.attrs.resize.antialias = antialias;
    c.attrs.resize.exclude_outside = mode == RY_resize_mode_cubic && (shape & 1);
    kernel_case_random(&c, RY_f32, shapes[shape][0], shape);
    kernel_case_output(&c, RY_f32, shapes[shape][1]);
    check(&c);
}

static void test_nearest(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int coordinates = 0; coordinates < RY_resize_coordinates_tf_crop_and_resize;
             coordinates++) {
            for (int nearest = 0; nearest < RY_resize_nearest_count; nearest++) {
                resize(i, RY_resize_mode_nearest, (ry_resize_coordinates)coordinates,
                       (ry_resize_nearest)nearest, false);
            }
        }
    }
}

static void test_linear_and_cubic(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int coordinates = 0; coordinates < RY_resize_coordinates_tf_crop_and_resize;
             coordinates++) {
            for (int antialias = 0; antialias < 2; antialias++) {
                resize(i, RY_resize_mode_linear, (ry_resize_coordinates)coordinates,
                       RY_resize_nearest_floor, antialias);
                resize(i, RY_resize_mode_cubic, (ry_resize_coordinates)coordinates,
                       RY_resize_nearest_floor, antialias);
            }
        }
    }
}

/* Scales that are no quotients of sizes: positions of nearest pixels are computed in float32. */
static void test_decimal_scales(void **state)
{
    (void)state;
    for (int i = 0; i < RY_resize_mode_count * RY_resize_coordinates_tf_crop_and_resize; i++) {
        for (int nearest = 0; nearest < RY_resize_nearest_count; nearest++) {
            kernel_case c;
            kernel_case_begin(&c, RY_OP_resize);
            c.attrs.resize.mode = (ry_resize_mode)(i % RY_resize_mode_count);
            c.attrs.resize.coordinates = (ry_resize_coordinates)(i / RY_resize_mode_count);
            c.attrs.resize.nearest = (ry_resize_nearest)nearest;
            c.attrs.resize.antialias = nearest % 2;
            c.attrs.resize.scales = (ry_floats){4, {1, 1, 1.7F, 0.3F}};
            kernel_case_random(&c, RY_f32, "1x3x12x20", 7);
            kernel_case_output(&c, RY_f32, "1x3x20x6");
            check(&c);
        }
    }
}

/* Any dims and types; positions outside a region. Integers differ by 1 where a sum is near halfway:
 * random ones reach 4. */
static void any(ry_dtype dtype, const char *from, const char *to, int i, ry_floats roi)
{
    kernel_case c;
    kernel_case_begin(&c, RY_OP_resize);
    c.attrs.resize.mode = (ry_resize_mode)(i % RY_resize_mode_count);
    c.attrs.resize.coordinates =
        roi.count ? RY_resize_coordinates_tf_crop_and_resize : RY_resize_coordinates_half_pixel;
    c.attrs.resize.extrapolation = 3.25;
    c.attrs.resize.antialias = i / RY_resize_mode_count % 2;
    c.attrs.resize.roi = roi;
    kernel_case_random(&c, dtype, from, (uint64_t)i);
    kernel_case_output(&c, dtype, to);
    kernel_case_check_isas(&c, "resize", ry_dtype_is_float(dtype) ? 1e-5 : 0.26);
    kernel_case_end(&c);
}

static void test_any_dims(void **state)
{
    (void)state;
    static const char *const dims[][2] = {{"2x3x4x5x6", "2x3x8x10x12"},
                                          {"1x2x7x6x9", "1x2x3x9x4"},
                                          {"2x5x6x3", "2x10x12x3"},
                                          {"2x5x6x17", "2x7x4x17"},
                                          {"2x3x4x5", "3x5x4x5"},
                                          {"3x2x2x3x2", "5x2x3x2x3"},
                                          {"7", "12"},
                                          {"3x4", "3x4"}};
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++) {
        for (int i = 0; i < 2 * RY_resize_mode_count; i++) {
            any(RY_f32, dims[d][0], dims[d][1], i, (ry_floats){0});
            if (d > 1 && d != 5) { /* integers: two axes */
                any(RY_u8, dims[d][0], dims[d][1], i, (ry_floats){0});
            }
        }
    }
}

/* Tables that are too large for the state. */
static void test_long_axes(void **state)
{
    (void)state;
    any(RY_f32, "530001", "1150003", RY_resize_mode_linear, (ry_floats){0});
    any(RY_u8, "2100001x2", "2200000x3", RY_resize_mode_nearest, (ry_floats){0});
    any(RY_f32, "530001", "1150003", RY_resize_mode_linear, (ry_floats){2, {-0.2, 1.3}});
    any(RY_f32, "530001", "1150003", RY_resize_mode_cubic, (ry_floats){2, {0.9, -0.1}});
    any(RY_u8, "70001", "2200000", RY_resize_mode_nearest, (ry_floats){2, {0.25, 0.25}});
    any(RY_f32, "3000", "1150003", RY_resize_mode_linear, (ry_floats){2, {2, 3}});
}

static void test_types(void **state)
{
    (void)state;
    static const ry_dtype types[] = {RY_f16, RY_bf16, RY_f64, RY_i8,  RY_u8, RY_i16,
                                     RY_u16, RY_i32,  RY_u32, RY_i64, RY_u64};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (int i = 0; i < 2 * RY_resize_mode_count; i++) {
            any(types[t], "2x3x8x9", "2x3x16x27", i, (ry_floats){0});
            any(types[t], "1x5x9x11", "1x5x13x7", i, (ry_floats){0});
        }
    }
    any(RY_bool, "2x3x8x9", "2x3x16x27", 0, (ry_floats){0});
}

static void test_regions(void **state)
{
    (void)state;
    static const ry_floats regions[] = {{8, {0, 0, 0.2, -0.3, 1, 1, 0.7, 1.4}},
                                        {8, {0, 0, 0.9, 0.8, 1, 1, 0.1, -0.2}},
                                        {8, {0, 0, 2, 0, 1, 1, 3, 1}},
                                        {8, {0, 0, 0, 0.5, 1, 1, 1, 0.5}}};
    for (size_t r = 0; r < sizeof regions / sizeof *regions; r++) {
        for (int i = 0; i < RY_resize_mode_count; i++) {
            any(RY_f32, "2x3x7x8", "2x3x9x11", i, regions[r]);
            any(RY_u8, "2x3x7x8", "2x3x9x11", i, regions[r]);
            any(RY_f16, "2x4x7x8", "2x5x3x6", i, regions[r]);
        }
    }
}

/* The gradient of a resize from `image` to dy's shape. */
static void gradient_case(kernel_case *c, ry_dtype dtype, const char *image, const char *dy, int i,
                          ry_floats roi)
{
    kernel_case_begin(c, RY_OP_resize_grad);
    ry_resize_grad_attrs *a = &c->attrs.resize_grad;
    a->mode = (ry_resize_mode)(i % RY_resize_mode_count);
    i /= RY_resize_mode_count;
    a->antialias = i % 2;
    a->exclude_outside = a->mode == RY_resize_mode_cubic && i % 3 == 1;
    a->coordinates =
        roi.count ? RY_resize_coordinates_tf_crop_and_resize
                  : (ry_resize_coordinates)(i / 2 % RY_resize_coordinates_tf_crop_and_resize);
    a->nearest = (ry_resize_nearest)(i % RY_resize_nearest_count);
    a->roi = roi;
    for (const char *at = image; *at; at += *at == 'x') {
        char *end;
        a->image.at[a->image.count++] = strtol(at, &end, 10);
        at = end;
    }
    kernel_case_random(c, dtype, dy, (uint64_t)i);
    kernel_case_output(c, dtype, image);
}

static void gradient(ry_dtype dtype, const char *image, const char *dy, int i, ry_floats roi)
{
    kernel_case c;
    gradient_case(&c, dtype, image, dy, i, roi);
    kernel_case_check_isas(&c, "resize_grad", dtype == RY_f32 || dtype == RY_f64 ? 1e-5 : 2e-2);
    kernel_case_end(&c);
}

static void test_gradients(void **state)
{
    (void)state;
    const int forms = RY_resize_mode_count * 2 * RY_resize_coordinates_tf_crop_and_resize;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (int i = 0; i < forms; i++) {
            gradient(RY_f32, shapes[s][0], shapes[s][1], i, (ry_floats){0});
        }
    }
    for (int i = 0; i < RY_resize_mode_count; i++) {
        gradient(RY_f32, "2x3x4x5x6", "2x3x8x7x12", i, (ry_floats){0});
        gradient(RY_f32, "2x3x4x5", "2x3x4x5", i, (ry_floats){0});
        gradient(RY_f64, "2x3x8x9", "2x3x16x27", i, (ry_floats){0});
        gradient(RY_f16, "2x3x8x9", "2x3x16x27", i, (ry_floats){0});
        gradient(RY_f32, "2x3x7x8", "2x3x9x11", i,
                 (ry_floats){8, {0, 0, 0.2, -0.3, 1, 1, 0.7, 1.4}});
        gradient(RY_f32, "2x3x7x8", "2x3x9x11", i,
                 (ry_floats){8, {0, 0, 0.9, 0.8, 1, 1, 0.1, -0.2}});
        gradient(RY_f32, "2x3x7x8", "2x3x9x11", i, (ry_floats){8, {0, 0, 0, 0.5, 1, 1, 1, 0.5}});
    }
}

/* Each output of the forward map gives its weights times dy to its inputs, along one axis. */
static void give_back(const ry_resize_axis *axis, int64_t outer, int64_t inner, const double *dy,
                      double *dx)
{
    double *weight = malloc((size_t)ry_resize_max_taps(axis) * sizeof *weight);
    assert_non_null(weight);
    for (int64_t o = 0; o < axis->out; o++) {
        int64_t first;
        const int64_t taps = ry_resize_taps(axis, o, &first, weight);
        for (int64_t k = 0; k < outer * inner * taps; k++) {
            const int64_t at = k / taps / inner, element = k / taps % inner, tap = k % taps;
            dx[(at * axis->in + first + tap) * inner + element] +=
                weight[tap] * dy[(at * axis->out + o) * inner + element];
        }
    }
    free(weight);
}

/* A large gradient of at most two dims, which the reference has no tables for. */
static void large(ry_dtype dtype, const char *image, const char *dy, int i, ry_floats roi)
{
    kernel_case c;
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    gradient_case(&c, dtype, image, dy, i, roi);
    const ry_problem problem = kernel_case_problem(&c, CASE_NCHW, in, out);
    const int64_t count = ry_tensor_count(in), results = ry_tensor_count(out);
    const int rank = in->rank;
    int ran = 0;
    double *from = calloc((size_t)count, sizeof *from), *to = NULL;
    assert_non_null(from);
    for (int64_t k = 0; k < count; k++) {
        from[k] = ry_get_f64(dtype, c.in[0].data, k);
    }
    for (int d = 0; d < rank; d++) {
        ry_resize_axis axis;
        ry_resize_axis_make(&problem, d, &axis);
        const int64_t outer = d > 0 ? out->dim[0] : 1, inner = d + 1 < rank ? in->dim[rank - 1] : 1;
        to = calloc((size_t)(outer * axis.in * inner), sizeof *to);
        assert_non_null(to);
        give_back(&axis, outer, inner, from, to);
        free(from);
        from = to;
    }
    for (int isa = 0; isa < RY_ISAS; isa++) {
        const ry_kernel *kernel = every_kernel_first(&problem, (ry_isa)isa);
        if (kernel_case_machine_has((ry_isa)isa) && strcmp(kernel->name, "resize_grad_ref") != 0) {
            kernel_case_run(&c, kernel, CASE_NCHW);
            kernel_case_expect(&c, 0, to, results, dtype == RY_f32 ? 1e-4 : 2e-3);
            ran++;
        }
    }
    assert_true(ran > 0);
    free(to);
    kernel_case_end(&c);
}

/* Tables of the transposed map that are too large for the state: tasks find their readers. Of
 * positions in float32, many outputs read the same input. */
static void test_large_gradients(void **state)
{
    static const char *const sizes[][2] = {
        {"1150003", "530001"}, {"530001", "1150003"}, {"3", "700001"}, {"700001x2", "700001x3"}};
    static const ry_floats regions[] = {
        {2, {0.2, 0.7}}, {2, {0.9, -0.1}}, {2, {0.4, 0.4001}}, {2, {2, 3}}, {2, {0.5, 0.5}}};
    (void)state;
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) {
        large(RY_f32, sizes[i][0], sizes[i][1], i, (ry_floats){0});
    }
    for (int i = 0; i < (int)(sizeof regions / sizeof *regions); i++) {
        large(RY_f32, i % 2 ? "530001" : "1150003", i % 2 ? "1150003" : "430001", i, regions[i]);
    }
    large(RY_f16, "2194307", "2500000", RY_resize_mode_nearest, (ry_floats){2, {0.6, 0.95}});
    large(RY_f32, "2x700000", "3x800000", RY_resize_mode_cubic,
          (ry_floats){4, {0.1, 0.3, 1.2, 0.2}});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest),        cmocka_unit_test(test_linear_and_cubic),
        cmocka_unit_test(test_decimal_scales), cmocka_unit_test(test_any_dims),
        cmocka_unit_test(test_long_axes),      cmocka_unit_test(test_types),
        cmocka_unit_test(test_regions),        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_large_gradients)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
