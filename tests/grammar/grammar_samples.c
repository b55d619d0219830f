/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes of operators that sample: resizing, grids, regions, boxes. */
#include "grammar.h"

#include <string.h>

static float choose_scale(grammar *g)
{
    static const float scales[] = {2, 1, 0.5F, 3, 1.5F, 0.7F, 1.3F, 2.25F, 0.3F};
    return scales[choose(&g->c, sizeof scales / sizeof *scales)];
}

static int make_roi(grammar *g, int rank)
{
    float roi[2 * GRAMMAR_RANK];
    for (int i = 0; i < rank; i++) {
        roi[i] = 0.25F * (float)choose(&g->c, 3);
        roi[i + rank] = 0.5F + 0.25F * (float)choose(&g->c, 4);
    }
    return grammar_floats(g, 2 * rank, roi);
}

static void make_resize(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 1, 5);
    const grammar_value v = *grammar_value_of(g, x);
    float scales[GRAMMAR_RANK];
    int64_t sizes[GRAMMAR_RANK], axes[GRAMMAR_RANK];
    int first = v.rank > 2 ? 2 : 0;
    const bool some = grammar_row_has(node, "axes") && chance(&g->c, 60);
    first = some || !chance(&g->c, 40) ? first : 0;
    for (int i = 0; i < v.rank; i++) {
        scales[i] = i >= first ? choose_scale(g) : 1;
        sizes[i] = i >= first ? 1 + (int64_t)choose(&g->c, 12) : v.dim[i];
        axes[i] = i;
    }
    const int begin = some ? first : 0;
    grammar_add_input(node, x);
    if (some) {
        grammar_set_ints(node, "axes", v.rank - begin, axes + begin);
    }
    grammar_leave_out(node, "axes");
    if (node->row->max_inputs == 2) {
        grammar_add_input(node, grammar_floats(g, v.rank, scales));
        return;
    }
    grammar_add_input(node, chance(&g->c, 40) ? make_roi(g, v.rank - begin) : -1);
    const bool by_size = chance(&g->c, 128);
    grammar_add_input(node, by_size ? -1 : grammar_floats(g, v.rank - begin, scales + begin));
    if (by_size) {
        grammar_add_input(node, grammar_list(g, v.rank - begin, sizes + begin));
    }
}

static void make_upsample(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 4, 4);
    const float scales[4] = {1, 1, 1 + (float)choose(&g->c, 3), choose_scale(g)};
    grammar_add_input(node, x);
    if (node->row->max_inputs > 1) {
        grammar_add_input(node, grammar_floats(g, 4, scales));
        return;
    }
    grammar_attribute *list = grammar_add_attribute(node, "scales");
    if (list) {
        list->count = 4;
        memcpy(list->floats, scales, sizeof scales);
    }
    for (int i = 0; i < 2; i++) {
        grammar_attribute *one = grammar_add_attribute(node, i ? "width_scale" : "height_scale");
        if (one) {
            one->f = scales[2 + i];
        }
    }
}

static void make_grid_sample(grammar *g, grammar_node *node)
{
    static const ry_dtype_set FLOATS = 1u << RY_f32 | 1u << RY_f16 | 1u << RY_f64;
    const int x = grammar_operand(g, node->row->types, 4, chance(&g->c, 50) ? 5 : 4);
    const grammar_value v = *grammar_value_of(g, x);
    int64_t dim[5] = {v.dim[0], grammar_dim(g), grammar_dim(g), 2, 3};
    dim[v.rank - 1] = v.rank - 2;
    grammar_add_input(node, x);
    grammar_add_input(node, grammar_new(g, FLOATS >> v.dtype & 1u ? v.dtype : RY_f32, v.rank, dim,
                                        CONTENT_UNIT, 0));
}

static void make_affine_grid(grammar *g, grammar_node *node)
{
    const int spatial = 2 + (int)chance(&g->c, 80);
    const int64_t size[5] = {grammar_dim(g), 1 + (int64_t)choose(&g->c, 3), grammar_dim(g),
                             grammar_dim(g), grammar_dim(g)};
    const int64_t dim[3] = {size[0], spatial, spatial + 1};
    grammar_add_input(
        node, grammar_new(g, grammar_type(g, node->row->types), 3, dim, CONTENT_NUMBERS, 0));
    grammar_add_input(node, grammar_list(g, spatial + 2, size));
}

static void make_roi_align(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 4, 4);
    const grammar_value v = *grammar_value_of(g, x);
    const int64_t rois[2] = {(int64_t)choose(&g->c, 5), 4};
    grammar_add_input(node, x);
    grammar_add_input(node, grammar_new(g, v.dtype, 2, rois, CONTENT_POSITIVE, 0));
    grammar_add_input(node, grammar_new(g, RY_i64, 1, rois, CONTENT_COUNTS, v.dim[0]));
    static const char *const words[] = {"half_pixel", "output_half_pixel"};
    grammar_set_text(node, "coordinate_transformation_mode", words[choose(&g->c, 2)]);
    grammar_set_int(node, "sampling_ratio", choose(&g->c, 4));
}

static void make_nms(grammar *g, grammar_node *node)
{
    const int64_t batches = 1 + (int64_t)choose(&g->c, 2), boxes = grammar_dim(g),
                  classes = 1 + (int64_t)choose(&g->c, 3);
    grammar_add_input(
        node, grammar_new(g, RY_f32, 3, (int64_t[]){batches, boxes, 4}, CONTENT_POSITIVE, 0));
    grammar_add_input(
        node, grammar_new(g, RY_f32, 3, (int64_t[]){batches, classes, boxes}, CONTENT_POSITIVE, 0));
    const int more = (int)choose(&g->c, 4);
    for (int i = 0; i < more; i++) {
        if (i == 0) {
            grammar_add_input(node, grammar_list(g, chance(&g->c, 128) ? 1 : -1,
                                                 (int64_t[]){(int64_t)choose(&g->c, 9)}));
        } else {
            grammar_add_input(node, grammar_floats(g, chance(&g->c, 128) ? 1 : -1,
                                                   (float[]){0.25F * (float)choose(&g->c, 5)}));
        }
    }
}

static void make_image_scaler(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 4, 4);
    const int64_t channels = grammar_value_of(g, x)->dim[1];
    grammar_add_input(node, x);
    grammar_attribute *bias =
        channels < GRAMMAR_NUMBERS ? grammar_add_attribute(node, "bias") : NULL;
    for (int i = 0; bias && i < (int)channels; i++) {
        bias->floats[bias->count++] = (float)i - 1;
    }
}

static void make_crop(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 4, 4);
    int64_t border[4];
    for (int i = 0; i < 4; i++) {
        border[i] = (int64_t)choose(&g->c, 3);
    }
    grammar_add_input(node, x);
    grammar_set_ints(node, "border", 4, border);
    if (chance(&g->c, 100)) {
        grammar_set_ints(node, "scale", 2,
                         (int64_t[]){1 + (int64_t)choose(&g->c, 4), 1 + (int64_t)choose(&g->c, 4)});
    }
    grammar_leave_out(node, "scale");
}

const grammar_recipe_row grammar_samples[] = {
    {"Resize", make_resize},
    {"Upsample", make_upsample},
    {"GridSample", make_grid_sample},
    {"AffineGrid", make_affine_grid},
    {"RoiAlign", make_roi_align},
    {"NonMaxSuppression", make_nms},
    {"ImageScaler", make_image_scaler},
    {"Crop", make_crop},
    {NULL, NULL},
};
