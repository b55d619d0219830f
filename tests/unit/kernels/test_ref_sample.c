/* SPDX-License-Identifier: Apache-2.0 */
/* Reference resize, grid sampling, affine grids and RoI align: known values (PyTorch's and ONNX's),
 * identities, hostile coordinates. */
#include "kernel_case.h"
#include "kernels/common/resize_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(list) ((int64_t)(sizeof(list) / sizeof *(list)))

typedef struct resize_row {
    ry_resize_mode mode;
    ry_resize_coordinates coordinates;
    int64_t antialias;
    double cubic_a;
    const char *in, *out;
    int step, modulus;
    const double *y;
    int64_t count;
} resize_row;

static void check_resize(const resize_row *row)
{
    kernel_case c;
    kernel_case_begin(&c, RY_OP_resize);
    c.attrs.resize.mode = row->mode;
    c.attrs.resize.coordinates = row->coordinates;
    c.attrs.resize.antialias = row->antialias;
    c.attrs.resize.exclude_outside = row->antialias;
    c.attrs.resize.cubic_a = row->cubic_a;
    kernel_case_pattern(&c, RY_f32, row->in, row->step, row->modulus, 1);
    kernel_case_output(&c, RY_f32, row->out);
    kernel_case_known(&c, "resize_ref", row->y, row->count, 2e-7);
    kernel_case_end(&c);
}

/* Made by torch.nn.functional.interpolate in float64. */
static void resize_known_values(void **state)
{
    (void)state;
    static const double linear[] = {
        -3.833333333, 0,   3.833333333,  -2.166666667, 0.2, 2.566666667,
        0.3333333333, 0.5, 0.6666666667, -1.566666667, 0.8, -2.333333333,
        -2.833333333, 1,   -4.333333333};
    static const double corners[] = {-5,   -1.5, 2,    0,    -2, 1.5,  5, -2, -1.25, -0.5, 0.25,  1,
                                     1.75, 2.5,  1,    -1,   -3, 0.5,  4, 2,  0,     -1.5, -0.75, 0,
                                     0.75, 1.5,  -0.5, -2.5, -4, -0.5, 3, 1,  -1,    -3,   -5};
    static const double cubic[] = {
        -6.106840346,   -1.086868286,   2.212438513,   -2.284215856,  1.015090942,  6.035063002,
        -0.5047522651,  -1.633041382,   -1.355652421,  1.759552567,   2.767074585,  2.34793769,
        -0.03453742133, -1.162826538,   -0.7956396032, 2.678757279,   0.6511077881, -2.803200616,
        -5.035063002,   -0.01509094238, 3.488895558,   -0.1890400074, -3.807907104, -5.706108941};
    static const double smooth[] = {-1.531561462, 1.594684385, -0.7209302326,
                                    0.1511627907, 1.694352159, -0.9867109635};
    static const double smooth_cubic[] = {-1.836736853,  1.948692751, -0.9487868419,
                                          0.04114829147, 1.812154187, -1.03960516};
    static const resize_row rows[] = {
        {RY_resize_mode_linear, RY_resize_coordinates_half_pixel, 0, -0.75, "1x1x3x4", "1x1x5x3", 7,
         11, linear, COUNT(linear)},
        {RY_resize_mode_linear, RY_resize_coordinates_align_corners, 0, -0.75, "1x1x3x4", "1x1x5x7",
         7, 11, corners, COUNT(corners)},
        {RY_resize_mode_cubic, RY_resize_coordinates_half_pixel, 0, -0.75, "1x1x3x4", "1x1x4x6", 7,
         11, cubic, COUNT(cubic)},
        {RY_resize_mode_linear, RY_resize_coordinates_half_pixel, 1, -0.75, "1x1x6x7", "1x1x3x2", 7,
         23, smooth, COUNT(smooth)},
        {RY_resize_mode_cubic, RY_resize_coordinates_half_pixel, 1, -0.5, "1x1x6x7", "1x1x3x2", 7,
         23, smooth_cubic, COUNT(smooth_cubic)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_resize(&rows[i]);
    }
}

/* Every mode and coordinate map leaves a tensor of the same size as it is. */
static void resize_by_one_is_identity(void **state)
{
    (void)state;
    for (int mode = 0; mode < RY_resize_mode_count; mode++) {
        for (int map = 0; map < RY_resize_coordinates_count; map++) {
            kernel_case c;
            kernel_case_begin(&c, RY_OP_resize);
            c.attrs.resize.mode = (ry_resize_mode)mode;
            c.attrs.resize.coordinates = (ry_resize_coordinates)map;
            c.attrs.resize.scales = (ry_floats){4, {1, 1, 1, 1}};
            kernel_case_random(&c, RY_f32, "2x3x4x5", 1);
            kernel_case_output(&c, RY_f32, "2x3x4x5");
            assert_true(kernel_case_steady(&c, "resize_ref") > 0);
            assert_memory_equal(c.in[0].data, c.out[0].data, ry_tensor_bytes(&c.out[0]));
            kernel_case_end(&c);
        }
    }
}

static void weights_sum_to_one(void **state)
{
    (void)state;
    for (int n = 0; n < 3 * 7 * 2 * 2 * 5; n++) {
        static const int64_t sizes[] = {1, 2, 3, 8, 13};
        ry_resize_axis axis = {.in = 5,
                               .out = sizes[n % 5],
                               .mode = (ry_resize_mode)(n / 5 % 3),
                               .start = 0,
                               .end = 1,
                               .cubic_a = -0.75};
        axis.coordinates = (ry_resize_coordinates)(n / 15 % 7);
        axis.antialias = n / 105 % 2 && axis.mode != RY_resize_mode_nearest;
        axis.exclude_outside = n / 210 % 2;
        axis.scale = (double)axis.out / 5;
        axis.quotient = true;
        for (int64_t o = 0; o < axis.out; o++) {
            double weights[64] = {0}, sum = 0;
            int64_t first, count = ry_resize_taps(&axis, o, &first, weights);
            assert_in_range(count, 1, ry_resize_max_taps(&axis));
            assert_true(first >= 0 && first + count <= axis.in);
            for (int64_t j = 0; j < count; j++) {
                sum += weights[j];
            }
            assert_true(fabs(sum - 1) < 1e-12);
        }
    }
}

static void nearest_modes(void **state)
{
    (void)state;
    static const double x[] = {0, 1, 2, 3};
    static const double y[RY_resize_nearest_count][8] = {
        [RY_resize_nearest_round_prefer_floor] = {0, 0, 1, 1, 2, 2, 3, 3},
        [RY_resize_nearest_round_prefer_ceil] = {0, 1, 1, 2, 2, 3, 3, 3},
        [RY_resize_nearest_floor] = {0, 0, 1, 1, 2, 2, 3, 3},
        [RY_resize_nearest_ceil] = {0, 1, 1, 2, 2, 3, 3, 3},
    };
    for (int mode = 0; mode < RY_resize_nearest_count; mode++) {
        kernel_case c;
        kernel_case_begin(&c, RY_OP_resize);
        c.attrs.resize.coordinates = RY_resize_coordinates_asymmetric;
        c.attrs.resize.nearest = (ry_resize_nearest)mode;
        kernel_case_values(&c, RY_i64, "4", x);
        kernel_case_output(&c, RY_i64, "8");
        kernel_case_known(&c, "resize_ref", y[mode], 8, 0);
        kernel_case_end(&c);
    }
}

/* A third, as float32 has it, maps 0..8 to 0, 3, 6 exactly: rounding down must not slip to 2. */
static void scales_of_float_are_quotients(void **state)
{
    (void)state;
    static const double x[] = {0, 1, 2, 3, 4, 5, 6, 7, 8}, y[] = {0, 3, 6};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_resize);
    c.attrs.resize.coordinates = RY_resize_coordinates_asymmetric;
    c.attrs.resize.nearest = RY_resize_nearest_floor;
    c.attrs.resize.scales = (ry_floats){1, {(double)(1.0f / 3)}};
    kernel_case_values(&c, RY_f32, "9", x);
    kernel_case_output(&c, RY_f32, "3");
    kernel_case_known(&c, "resize_ref", y, 3, 0);
    kernel_case_end(&c);
}

/* A region that begins before the tensor: outside is the extrapolation value; so is everything when
 * it is not a number. */
static void crop_and_resize(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 3}, y[] = {-7, 1, 2, 3}, nothing[] = {-7, -7, -7, -7};
    static const double starts[] = {-0.5, NAN, 1e30, -INFINITY};
    for (int i = 0; i < 4; i++) {
        kernel_case c;
        kernel_case_begin(&c, RY_OP_resize);
        c.attrs.resize.mode = RY_resize_mode_linear;
        c.attrs.resize.coordinates = RY_resize_coordinates_tf_crop_and_resize;
        c.attrs.resize.extrapolation = -7;
        c.attrs.resize.roi = (ry_floats){2, {starts[i], i ? starts[i] : 1}};
        kernel_case_values(&c, RY_f32, "3", x);
        kernel_case_output(&c, RY_f32, "4");
        kernel_case_known(&c, "resize_ref", i ? nothing : y, 4, 0);
        kernel_case_end(&c);
    }
}

/* A region from a quarter to three quarters of 8 elements: the corners of the output are those of
 * the region, whatever scale its size came from. */
static void crop_by_scale(void **state)
{
    (void)state;
    static const double x[] = {0, 1, 2, 3, 4, 5, 6, 7}, y[] = {1.75, 2.625, 3.5, 4.375, 5.25};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_resize);
    c.attrs.resize.mode = RY_resize_mode_linear;
    c.attrs.resize.coordinates = RY_resize_coordinates_tf_crop_and_resize;
    c.attrs.resize.roi = (ry_floats){2, {0.25, 0.75}};
    c.attrs.resize.scales = (ry_floats){1, {0.7}}; /* 5.6 elements */
    kernel_case_values(&c, RY_f32, "8", x);
    kernel_case_output(&c, RY_f32, "5");
    kernel_case_known(&c, "resize_ref", y, 5, 1e-6);
    kernel_case_end(&c);
}

/* Cubic overshoots: a byte stays in its range. */
static void bytes_saturate(void **state)
{
    (void)state;
    static const double x[] = {0, 0, 255, 255};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_resize);
    c.attrs.resize.mode = RY_resize_mode_cubic;
    kernel_case_values(&c, RY_u8, "4", x);
    kernel_case_output(&c, RY_u8, "8");
    assert_true(kernel_case_steady(&c, "resize_ref") > 0);
    for (int64_t i = 0; i < 4; i++) {
        assert_true(kernel_case_get(&c, 0, i) < 128);
        assert_true(kernel_case_get(&c, 0, 7 - i) > 126);
    }
    kernel_case_end(&c);
}

/* Made by torch.nn.functional.grid_sample in float64. */
static void grid_known_values(void **state)
{
    (void)state;
    static const struct {
        ry_grid_mode mode;
        ry_grid_padding padding;
        int64_t align_corners;
        double y[6];
    } rows[] = {
        {RY_grid_mode_linear, RY_grid_padding_zeros, 0, {0, 3.034, -0.0748, 0.4957, 0.4, 1.89}},
        {RY_grid_mode_linear,
         RY_grid_padding_zeros,
         1,
         {-0.1586, 2.9424, -0.1924, 0.3991, 0.925, 2.91375}},
        {RY_grid_mode_linear, RY_grid_padding_border, 0, {-0.89, 5, -0.68, 0.4957, 1, 4.725}},
        {RY_grid_mode_linear, RY_grid_padding_border, 1, {-0.26, 2.9424, -0.26, 0.3991, 1, 3.15}},
        {RY_grid_mode_linear, RY_grid_padding_reflection, 0, {-0.9007, 5, -0.68, 0.4957, 1, 4.725}},
        {RY_grid_mode_linear,
         RY_grid_padding_reflection,
         1,
         {-0.9191, 2.9424, 0.5109, 0.3991, 0.7, 2.93025}},
        {RY_grid_mode_nearest, RY_grid_padding_zeros, 0, {0, 5, 0, 3, 0, 0}},
        {RY_grid_mode_nearest, RY_grid_padding_border, 0, {1, 5, -1, 3, 1, 5}},
        {RY_grid_mode_nearest, RY_grid_padding_reflection, 1, {1, 5, -1, 3, 1, 5}},
        {RY_grid_mode_cubic,
         RY_grid_padding_zeros,
         0,
         {0.006783166842, 4.260684422, -0.08041871279, 0.8440971429, 0.676, 2.419523658}},
        {RY_grid_mode_cubic,
         RY_grid_padding_zeros,
         1,
         {0.4632727408, 3.916189237, -0.1977612863, 0.4956587069, 1.132257813, 4.038978061}},
        {RY_grid_mode_cubic,
         RY_grid_padding_reflection,
         0,
         {-0.2476287169, 6.67211411, -0.819203732, 1.024417832, 1.72, 5.967539618}},
        {RY_grid_mode_cubic,
         RY_grid_padding_reflection,
         1,
         {-0.9177654226, 3.990290006, 0.7379393219, 0.8203807842, 0.9241679688, 4.045300305}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kernel_case c;
        kernel_case_begin(&c, RY_OP_grid_sample);
        c.attrs.grid_sample =
            (ry_grid_sample_attrs){rows[i].mode, rows[i].padding, rows[i].align_corners};
        kernel_case_pattern(&c, RY_f64, "1x1x3x4", 7, 11, 1);
        kernel_case_pattern(&c, RY_f64, "1x2x3x2", 5, 13, 0.21);
        kernel_case_output(&c, RY_f64, "1x1x2x3");
        kernel_case_known(&c, "grid_sample_ref", rows[i].y, 6, 1e-8);
        kernel_case_end(&c);
    }
}

static void grid_in_three_dimensions(void **state)
{
    (void)state;
    static const double y[] = {3.71, 3.29, 3.52, 1};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_grid_sample);
    c.attrs.grid_sample.padding = RY_grid_padding_border;
    kernel_case_pattern(&c, RY_f64, "1x1x2x2x3", 7, 11, 1);
    kernel_case_pattern(&c, RY_f64, "1x1x2x2x3", 5, 13, 0.21);
    kernel_case_output(&c, RY_f64, "1x1x1x2x2");
    kernel_case_known(&c, "grid_sample_ref", y, 4, 1e-12);
    kernel_case_end(&c);
}

/* Sampling the grid of the identity gives the image back, for either alignment; coordinates that
 * are no numbers read nothing outside. */
static void grid_of_the_identity(void **state)
{
    (void)state;
    static const double identity[] = {1, 0, 0, 0, 1, 0},
                        wild[] = {NAN, INFINITY, -1e30, 1e30, NAN, -INFINITY, 0, NAN};
    for (int64_t align = 0; align < 2; align++) {
        kernel_case grid, sample;
        kernel_case_begin(&grid, RY_OP_affine_grid);
        grid.attrs.affine_grid.align_corners = align;
        kernel_case_values(&grid, RY_f64, "1x2x3", identity);
        kernel_case_output(&grid, RY_f64, "1x3x4x2");
        assert_true(kernel_case_steady(&grid, "affine_grid_ref") > 0);
        double positions[24];
        for (int64_t i = 0; i < 24; i++) {
            positions[i] = kernel_case_get(&grid, 0, i);
        }
        kernel_case_begin(&sample, RY_OP_grid_sample);
        sample.attrs.grid_sample.align_corners = align;
        kernel_case_random(&sample, RY_f64, "1x2x3x4", 1);
        kernel_case_values(&sample, RY_f64, "1x3x4x2", positions);
        kernel_case_output(&sample, RY_f64, "1x2x3x4");
        kernel_case_run(&sample, every_kernel_find("grid_sample_ref"), CASE_NHWC);
        for (int64_t i = 0; i < 24; i++) {
            assert_true(fabs(kernel_case_get(&sample, 0, i) -
                             ry_get_f64(RY_f64, sample.in[0].data, i)) < 1e-14);
        }
        kernel_case_end(&grid);
        kernel_case_end(&sample);
    }
    for (int i = 0; i < RY_grid_mode_count * RY_grid_padding_count; i++) {
        kernel_case c;
        kernel_case_begin(&c, RY_OP_grid_sample);
        c.attrs.grid_sample =
            (ry_grid_sample_attrs){(ry_grid_mode)(i % 3), (ry_grid_padding)(i / 3), i % 2};
        kernel_case_random(&c, RY_f32, "1x1x3x1", 1);
        kernel_case_values(&c, RY_f32, "1x2x2x2", wild);
        kernel_case_output(&c, RY_f32, "1x1x2x2");
        kernel_case_run(&c, every_kernel_find("grid_sample_ref"), CASE_NCHW);
        kernel_case_end(&c);
    }
}

static void affine_grids(void **state)
{
    (void)state;
    static const double centres[] = {2.5, -1.166666667,  1.5, -1.5, 0.5, -1.833333333,
                                     2.5, -0.1666666667, 1.5, -0.5, 0.5, -0.8333333333};
    static const double corners[] = {3, -1.5, 1.5, -2, 0, -2.5, 3, 0.5, 1.5, 0, 0, -0.5};
    static const double solid[] = {-0.5, -2.25, 1.25, -2,   -1.25, 1.25,
                                   1,    -1.75, 0.75, -0.5, -0.75, 0.75};
    for (int64_t i = 0; i < 3; i++) {
        kernel_case c;
        kernel_case_begin(&c, RY_OP_affine_grid);
        c.attrs.affine_grid.align_corners = i == 1;
        kernel_case_pattern(&c, RY_f32, i == 2 ? "1x3x4" : "1x2x3", 3, 7, 0.5);
        kernel_case_output(&c, RY_f32, i == 2 ? "1x2x1x2x3" : "1x2x3x2");
        kernel_case_known(&c, "affine_grid_ref",
                          i == 0   ? centres
                          : i == 1 ? corners
                                   : solid,
                          12, 1e-7);
        kernel_case_end(&c);
    }
}

static void roi_align(void **state)
{
    (void)state;
    static const double rois[] = {0.5, 1, 4, 3.5, 1, 0, 6, 5}, batches[] = {0, 1};
    static const double adaptive[] = {-2.64,        -0.2,  6.24,  -0.98,
                                      0.5055555556, -1.85, -0.85, 0.2444444444};
    static const double fixed[] = {-1.14, 1.3, 5.325, -2.7, -0.2625, -2.3625, -1.3625, 1.1375};
    for (int i = 0; i < 2; i++) {
        kernel_case c;
        kernel_case_begin(&c, RY_OP_roi_align);
        c.attrs.roi_align = (ry_roi_align_attrs){.half_pixel = !i,
                                                 .output_height = 2,
                                                 .output_width = 2,
                                                 .sampling_ratio = 2 * i,
                                                 .spatial_scale = 0.8};
        kernel_case_pattern(&c, RY_f32, "2x1x5x6", 7, 23, 1);
        kernel_case_values(&c, RY_f32, "2x4", rois);
        kernel_case_values(&c, RY_i64, "2", batches);
        kernel_case_output(&c, RY_f32, "2x1x2x2");
        kernel_case_known(&c, "roi_align_ref", i ? fixed : adaptive, 8, 1e-6);
        kernel_case_end(&c);
    }
}

/* ONNX's max is of the corners times their weights. Regions that are no numbers give zeros; huge
 * ones take no longer than others. */
static void roi_align_corners(void **state)
{
    (void)state;
    static const double x[] = {4, 8, 12, 4},
                        rois[] = {0, 0, 2, 2, -1e30, -1e30, 1e30, 1e30, NAN, 0, NAN, 2};
    /* the sample at (0.5, 0.5): the largest is 12 / 4 */
    static const double batches[] = {0, 0, 0}, first = 3;
    kernel_case c;
    kernel_case_begin(&c, RY_OP_roi_align);
    c.attrs.roi_align = (ry_roi_align_attrs){.max = 1,
                                             .half_pixel = 1,
                                             .output_height = 1,
                                             .output_width = 1,
                                             .sampling_ratio = 1,
                                             .spatial_scale = 1};
    kernel_case_values(&c, RY_f32, "1x1x2x2", x);
    kernel_case_values(&c, RY_f32, "3x4", rois);
    kernel_case_values(&c, RY_i64, "3", batches);
    kernel_case_output(&c, RY_f32, "3x1x1x1");
    kernel_case_run(&c, every_kernel_find("roi_align_ref"), CASE_NCHW);
    assert_true(kernel_case_get(&c, 0, 0) == first && kernel_case_get(&c, 0, 2) == 0);
    c.attrs.roi_align.sampling_ratio = 0;
    c.attrs.roi_align.max = 0;
    kernel_case_run(&c, every_kernel_find("roi_align_ref"), CASE_NCHW);
    assert_true(fabs(kernel_case_get(&c, 0, 1)) < 12);
    kernel_case_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resize_known_values),
        cmocka_unit_test(resize_by_one_is_identity),
        cmocka_unit_test(weights_sum_to_one),
        cmocka_unit_test(nearest_modes),
        cmocka_unit_test(scales_of_float_are_quotients),
        cmocka_unit_test(crop_and_resize),
        cmocka_unit_test(crop_by_scale),
        cmocka_unit_test(bytes_saturate),
        cmocka_unit_test(grid_known_values),
        cmocka_unit_test(grid_in_three_dimensions),
        cmocka_unit_test(grid_of_the_identity),
        cmocka_unit_test(affine_grids),
        cmocka_unit_test(roi_align),
        cmocka_unit_test(roi_align_corners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
