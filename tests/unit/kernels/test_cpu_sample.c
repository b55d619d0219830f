/* SPDX-License-Identifier: Apache-2.0 */
/* The vector kernels that sample at positions, against the references: modes, types, ranks, both
 * layouts. */
#include "kernel_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Sums of four float32 products of numbers up to 1; integers differ by less than one. */
static double bound_of(ry_dtype dtype)
{
    return dtype == RY_f64 ? 1e-14 : ry_dtype_is_float(dtype) ? 1e-6 : 1e-12;
}

/* Numbers in [-reach, reach): a grid names positions beyond the image, too. */
static void stretch(kernel_case *c, double reach)
{
    ry_tensor *grid = &c->in[c->inputs - 1];
    for (int64_t i = 0; i < ry_tensor_count(grid); i++) {
        ry_dtype dtype = (ry_dtype)grid->dtype;
        ry_set_f64(dtype, grid->data, i, reach * ry_get_f64(dtype, grid->data, i));
    }
}

static const char *const grids[][3] = {
    {"2x3x5x7", "2x4x6x2", "2x3x4x6"},         {"1x19x9x8", "1x23x17x2", "1x19x23x17"},
    {"3x1x1x6", "3x1x9x2", "3x1x1x9"},         {"2x5x11", "2x13x1", "2x5x13"},
    {"1x70x4x5x6", "1x3x4x5x3", "1x70x3x4x5"}, {"1x2x3x4x2x3", "1x2x3x2x3x4", "1x2x2x3x2x3"},
    {"2x37x6x6", "2x70x71x2", "2x37x70x71"},
};

static void sample(size_t shape, ry_dtype dtype, ry_dtype grid, ry_grid_sample_attrs attrs)
{
    kernel_case c;
    kernel_case_begin(&c, RY_OP_grid_sample);
    c.attrs.grid_sample = attrs;
    kernel_case_random(&c, dtype, grids[shape][0], shape);
    kernel_case_random(&c, grid, grids[shape][1], shape + 1);
    stretch(&c, shape % 2 ? 1.3 : 4);
    kernel_case_output(&c, dtype, grids[shape][2]);
    kernel_case_check_isas(&c, "grid_sample",
                           attrs.mode
                               ? bound_of(dtype) * (attrs.mode == RY_grid_mode_nearest ? 0 : 4)
                               : bound_of(dtype));
    kernel_case_end(&c);
}

static void test_grid_modes(void **state)
{
    (void)state;
    for (size_t shape = 0; shape < sizeof grids / sizeof *grids; shape++) {
        for (int i = 0; i < 3 * 3 * 2; i++) {
            sample(
                shape, RY_f32, RY_f32,
                (ry_grid_sample_attrs){(ry_grid_mode)(i % 3), (ry_grid_padding)(i / 3 % 3), i / 9});
        }
    }
}

static void test_grid_types(void **state)
{
    (void)state;
    static const ry_dtype types[] = {RY_f16, RY_bf16, RY_f64, RY_i8,  RY_u8, RY_i16,
                                     RY_u16, RY_i32,  RY_u32, RY_i64, RY_u64};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (int mode = 0; mode < 3; mode++) {
            for (size_t shape = 0; shape < 2; shape++) {
                sample(shape, types[t], t % 2 ? RY_f64 : RY_f32,
                       (ry_grid_sample_attrs){(ry_grid_mode)mode, (ry_grid_padding)(t % 3), 0});
            }
        }
    }
    for (int padding = 0; padding < 3; padding++) {
        sample(0, RY_bool, RY_f32,
               (ry_grid_sample_attrs){RY_grid_mode_nearest, (ry_grid_padding)padding, 0});
    }
}

/* Coordinates that are no numbers, or beyond all images; and pixels that are infinite beside what
 * is outside. */
static void test_grid_edges(void **state)
{
    (void)state;
    static const double odd[] = {NAN, INFINITY, -INFINITY, 1e30, -1e30, 1e9, 1, -1, 3, 0.999999, 0};
    for (int i = 0; i < 3 * 3 * 2; i++) {
        kernel_case c;
        double at[22 * 2];
        for (int k = 0; k < 22 * 2; k++) {
            at[k] = odd[(k / 2 * (k % 2 ? 7 : 1) + k) % 11];
        }
        kernel_case_begin(&c, RY_OP_grid_sample);
        c.attrs.grid_sample =
            (ry_grid_sample_attrs){(ry_grid_mode)(i % 3), (ry_grid_padding)(i / 3 % 3), i / 9};
        kernel_case_random(&c, RY_f32, "1x3x6x5", 1);
        ((float *)c.in[0].data)[0] = INFINITY;
        kernel_case_values(&c, RY_f32, "1x2x11x2", at);
        kernel_case_output(&c, RY_f32, "1x3x2x11");
        kernel_case_check_isas(&c, "grid_sample", 4e-6);
        kernel_case_end(&c);
    }
}

static void test_affine_grid(void **state)
{
    (void)state;
    static const char *const shapes[][2] = {
        {"2x2x3", "2x5x37x2"}, {"1x3x4", "1x3x4x19x3"}, {"3x1x2", "3x7x1"}, {"1x2x3", "1x1x1x2"}};
    static const ry_dtype types[] = {RY_f32, RY_f16, RY_bf16, RY_f64};
    for (size_t i = 0; i < 4 * 4 * 2; i++) {
        kernel_case c;
        kernel_case_begin(&c, RY_OP_affine_grid);
        c.attrs.affine_grid.align_corners = i % 2 != 0;
        kernel_case_random(&c, types[i / 8], shapes[i / 2 % 4][0], i);
        kernel_case_output(&c, types[i / 8], shapes[i / 2 % 4][1]);
        kernel_case_check_isas(&c, "affine_grid", bound_of(types[i / 8]));
        kernel_case_end(&c);
    }
}

static const char *const columns[] = {
    "deform_columns x0=2x6x7x9:f32 x1=2x36x7x9:f32 x2=2x18x7x9:f32 y0=2x54x7x9:f32 kernel=3,3 "
    "pads=1,1,1,1 offset_groups=2",
    "deform_columns x0=1x12x9x8:f32 x1=1x36x4x5:f32 y0=1x72x4x5:f32 kernel=2,3 stride=2,2 "
    "pads=1,2,0,1 dilation=2,1 groups=2 offset_groups=3",
    "deform_columns x0=1x70x5x6:f32 x1=1x8x4x5:f32 x2=1x4x4x5:f32 y0=1x280x4x5:f32 kernel=2,2",
    "deform_columns x0=2x3x30:f32 x1=2x3x28:f32 y0=2x9x28:f32 kernel=3",
    "deform_columns x0=1x4x3x4x5:f32 x1=1x24x2x3x4:f32 x2=1x8x2x3x4:f32 y0=1x32x2x3x4:f32 "
    "kernel=2,2,2 groups=4",
    "deform_columns x0=1x3x8x9:f16 x1=1x18x8x9:f16 x2=1x9x8x9:f16 y0=1x27x8x9:f16 kernel=3,3 "
    "pads=1,1,1,1",
    "deform_columns x0=1x3x8x9:f64 x1=1x18x8x9:f64 x2=1x9x8x9:f64 y0=1x27x8x9:f64 kernel=3,3 "
    "pads=1,1,1,1",
};

static void test_deform_columns(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * sizeof columns / sizeof *columns; i++) {
        kernel_case c;
        kernel_case_parse(&c, columns[i / 2]);
        for (int64_t k = 0; i % 2 && k < ry_tensor_count(&c.in[1]); k += 3) {
            /* onto whole pixels and over the edges */
            ry_dtype dtype = (ry_dtype)c.in[1].dtype;
            ry_set_f64(dtype, c.in[1].data, k, (double)(k % 11 - 5));
        }
        kernel_case_check_isas(&c, "deform_columns", bound_of((ry_dtype)c.in[0].dtype));
        kernel_case_end(&c);
    }
}

/* Regions inside, over the edges, empty, inside out, and far away. */
static const double regions[][4] = {{1, 2, 7.5, 6.25}, {-3, -2, 20, 30}, {4, 4, 4, 4},
                                    {8, 7, 2, 1},      {0, 0, 0.5, 0.5}, {100, 100, 120, 130},
                                    {-0.5, 3, 90, 9}};

static void roi_align(ry_dtype dtype, const char *x, const char *y, ry_roi_align_attrs attrs)
{
    enum { REGIONS = sizeof regions / sizeof *regions };
    static const double images[REGIONS] = {0, 1, 1, 0, 1, 0, 1};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_roi_align);
    c.attrs.roi_align = attrs;
    kernel_case_random(&c, dtype, x, 3);
    kernel_case_values(&c, dtype, "7x4", regions[0]);
    kernel_case_values(&c, RY_i64, "7", images);
    kernel_case_output(&c, dtype, y);
    kernel_case_check_isas(&c, "roi_align", bound_of(dtype));
    kernel_case_end(&c);
}

static void test_roi_align(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * 2 * 4; i++) {
        static const int ratios[] = {0, 1, 2, 5};
        const ry_roi_align_attrs attrs = {i % 2, i / 2 % 2, 3, 5, ratios[i / 4], i % 3 ? 1 : 0.4};
        roi_align(RY_f32, "2x70x11x13", "7x70x3x5", attrs);
        roi_align(RY_f32, "2x6x1x1", "7x6x3x5", attrs);
        roi_align(RY_f64, "2x3x9x40", "7x3x3x5", attrs);
        roi_align(i % 2 ? RY_f16 : RY_bf16, "2x17x11x13", "7x17x3x5", attrs);
    }
    /* more bins than tables have entries for */
    for (int i = 0; i < 2; i++) {
        roi_align(RY_f32, "2x66x9x9", "7x66x2x1025",
                  (ry_roi_align_attrs){i, i, 2, 1025, 2 - 2 * i, 1});
    }
    /* as many samples as a bin may have: their sum stays as exact as that of a few */
    for (int i = 0; i < 2; i++) {
        roi_align(RY_f32, "2x2x9x9", "7x2x1x1",
                  (ry_roi_align_attrs){.half_pixel = i,
                                       .output_height = 1,
                                       .output_width = 1,
                                       .sampling_ratio = 512,
                                       .spatial_scale = 1});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grid_modes),     cmocka_unit_test(test_grid_types),
        cmocka_unit_test(test_grid_edges),     cmocka_unit_test(test_affine_grid),
        cmocka_unit_test(test_deform_columns), cmocka_unit_test(test_roi_align)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
