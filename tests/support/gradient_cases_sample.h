/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of gradients: images read between their positions, and blocks added to an image. */
#ifndef TESTS_SUPPORT_GRADIENT_CASES_SAMPLE_H
#define TESTS_SUPPORT_GRADIENT_CASES_SAMPLE_H

#include "gradient_case.h"

/* Positions beyond the edges, too: the grid goes from -1.6 to 1.6. */
static inline ry_value_id grid_case(gradient_case *c, ry_grid_mode mode, ry_grid_padding padding,
                                    bool aligned, int rank, const int64_t *x, const int64_t *grid)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_grid_sample);
    attrs.grid_sample.mode = mode;
    attrs.grid_sample.padding = padding;
    attrs.grid_sample.align_corners = aligned;
    const ry_value_id in[] = {gradient_input(c, rank, x),
                              gradient_input_between(c, -1.6, 1.6, rank, grid)};
    return gradient_node(c, RY_OP_grid_sample, &attrs, 2, in);
}

#define GRID_CASE(mode, padding, name, aligned)                                         \
    static inline ry_value_id grid_##mode##_##padding##_##name(gradient_case *c)        \
    {                                                                                   \
        return grid_case(c, RY_grid_mode_##mode, RY_grid_padding_##padding, aligned, 4, \
                         (int64_t[]){2, 3, 4, 5}, (int64_t[]){2, 3, 4, 2});             \
    }
#define GRID_CASES(mode)                    \
    GRID_CASE(mode, zeros, centres, 0)      \
    GRID_CASE(mode, zeros, corners, 1)      \
    GRID_CASE(mode, border, centres, 0)     \
    GRID_CASE(mode, border, corners, 1)     \
    GRID_CASE(mode, reflection, centres, 0) \
    GRID_CASE(mode, reflection, corners, 1)
GRID_CASES(linear)
GRID_CASES(cubic)
GRID_CASE(nearest, zeros, centres, 0)
GRID_CASE(nearest, border, corners, 1)
GRID_CASE(nearest, reflection, centres, 0)

static inline ry_value_id grid_line(gradient_case *c)
{
    return grid_case(c, RY_grid_mode_linear, RY_grid_padding_border, false, 3, (int64_t[]){2, 2, 6},
                     (int64_t[]){2, 5, 1});
}

static inline ry_value_id grid_volume(gradient_case *c)
{
    return grid_case(c, RY_grid_mode_linear, RY_grid_padding_zeros, false, 5,
                     (int64_t[]){1, 2, 3, 4, 3}, (int64_t[]){1, 2, 2, 3, 3});
}

/* Reflection along an axis of one element. */
static inline ry_value_id grid_narrow(gradient_case *c)
{
    return grid_case(c, RY_grid_mode_linear, RY_grid_padding_reflection, false, 4,
                     (int64_t[]){1, 2, 1, 4}, (int64_t[]){1, 2, 3, 2});
}

static inline ry_value_id affine_case(gradient_case *c, bool aligned, int rank,
                                      const int64_t *theta, const int64_t *size)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_affine_grid);
    attrs.affine_grid.align_corners = aligned;
    const ry_value_id in[] = {gradient_input(c, 3, theta), gradient_i64s(c, rank, size)};
    return gradient_node(c, RY_OP_affine_grid, &attrs, 2, in);
}

static inline ry_value_id affine_plane(gradient_case *c)
{
    return affine_case(c, false, 4, (int64_t[]){2, 2, 3}, (int64_t[]){2, 1, 3, 4});
}

static inline ry_value_id affine_volume(gradient_case *c)
{
    return affine_case(c, true, 5, (int64_t[]){2, 3, 4}, (int64_t[]){2, 1, 2, 3, 4});
}

static inline ry_value_id region_case(gradient_case *c, bool half_pixel, int64_t samples)
{
    static const double regions[] = {0.3, 1.1, 5.2, 6.3, -3, 2, 4.4, 12, 2, 2, 2.5, 2.2};
    const ry_shape boxes = {.rank = 2, .dim = {3, 4}}, list = {.rank = 1, .dim = {3}};
    ry_attrs attrs = ry_attrs_default(RY_OP_roi_align);
    attrs.roi_align.half_pixel = half_pixel;
    attrs.roi_align.output_height = 2;
    attrs.roi_align.output_width = 3;
    attrs.roi_align.sampling_ratio = samples;
    attrs.roi_align.spatial_scale = 0.75;
    ry_value_id in[3] = {gradient_input(c, DIMS(2, 3, 5, 6)),
                         ry_graph_add_constant(c->graph, NULL, RY_f64, &boxes, NULL),
                         ry_graph_add_constant(c->graph, NULL, RY_i64, &list, NULL)};
    memcpy(ry_graph_constant_data(c->graph, in[1]), regions, sizeof regions);
    memcpy(ry_graph_constant_data(c->graph, in[2]), (int64_t[]){1, 0, 1}, 3 * sizeof(int64_t));
    return gradient_node(c, RY_OP_roi_align, &attrs, 3, in);
}

static inline ry_value_id region_centres(gradient_case *c)
{
    return region_case(c, true, 2);
}

static inline ry_value_id region_old(gradient_case *c)
{
    return region_case(c, false, 3);
}

static inline ry_value_id columns_case(gradient_case *c, int64_t groups, int64_t offsets, bool mask)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_deform_columns);
    ry_deform_columns_attrs *a = &attrs.deform_columns;
    a->kernel = (ry_ints){2, {3, 2}};
    a->stride = (ry_ints){2, {2, 1}};
    a->dilation = (ry_ints){2, {1, 2}};
    a->pads = (ry_ints){4, {1, 1, 1, 0}};
    a->groups = groups;
    a->offset_groups = offsets;
    const int64_t taps = 6;
    const ry_value_id in[] = {
        gradient_input(c, DIMS(2, 4, 5, 6)),
        gradient_input_between(c, -1.3, 1.3, DIMS(2, offsets * taps * 2, 3, 5)),
        mask ? gradient_input(c, DIMS(2, offsets * taps, 3, 5)) : RY_NO_VALUE};
    return gradient_node(c, RY_OP_deform_columns, &attrs, mask ? 3 : 2, in);
}

static inline ry_value_id columns_plain(gradient_case *c)
{
    return columns_case(c, 1, 1, false);
}

static inline ry_value_id columns_masked(gradient_case *c)
{
    return columns_case(c, 1, 2, true);
}

static inline ry_value_id columns_groups(gradient_case *c)
{
    return columns_case(c, 2, 4, true);
}

static inline ry_value_id columns_few_offsets(gradient_case *c)
{
    return columns_case(c, 4, 2, false);
}

static inline ry_value_id blocks_padded(gradient_case *c)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_col2im);
    attrs.col2im.stride = (ry_ints){2, {2, 1}};
    attrs.col2im.dilation = (ry_ints){2, {1, 2}};
    attrs.col2im.pads = (ry_ints){4, {1, 0, 0, 1}};
    const ry_value_id in[] = {gradient_input(c, DIMS(2, 3 * 6, 2 * 5)),
                              gradient_i64s(c, 2, (int64_t[]){4, 6}),
                              gradient_i64s(c, 2, (int64_t[]){3, 2})};
    return gradient_node(c, RY_OP_col2im, &attrs, 3, in);
}

static inline ry_value_id blocks_line(gradient_case *c)
{
    const ry_value_id in[] = {gradient_input(c, DIMS(1, 2 * 3, 4)),
                              gradient_i64s(c, 1, (int64_t[]){6}),
                              gradient_i64s(c, 1, (int64_t[]){3})};
    return gradient_node(c, RY_OP_col2im, NULL, 3, in);
}

#endif
