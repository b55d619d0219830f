/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes of operators that move data, change shapes, or make data. */
#include "grammar.h"

#include <string.h>

static int product_of(const int64_t *dim, int count)
{
    int64_t product = 1;
    for (int i = 0; i < count; i++) {
        product *= dim[i];
    }
    return (int)product;
}

static void make_concat(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 1, 4);
    const grammar_value v = *grammar_value_of(g, x);
    const int axis = (int)choose(&g->c, (unsigned)v.rank), count = 1 + (int)choose(&g->c, 4);
    grammar_set_int(node, "axis", chance(&g->c, 128) ? axis : axis - v.rank);
    grammar_add_input(node, x);
    for (int i = 1; i < count; i++) {
        int64_t dim[GRAMMAR_RANK];
        memcpy(dim, v.dim, sizeof dim);
        dim[axis] = chance(&g->c, 128) ? dim[axis] : grammar_dim(g);
        grammar_add_input(node, grammar_like(g, x, v.rank, dim, CONTENT_NUMBERS));
    }
}

static void make_split(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 1, 4);
    const grammar_value v = *grammar_value_of(g, x);
    const int axis = (int)choose(&g->c, (unsigned)v.rank), parts = 1 + (int)choose(&g->c, 4);
    int64_t sizes[5], rest = v.dim[axis];
    for (int i = 0; i < parts - 1; i++) {
        sizes[i] = rest ? (int64_t)choose(&g->c, (unsigned)(rest < 200 ? rest : 200)) : 0;
        rest -= sizes[i];
    }
    sizes[parts - 1] = rest;
    node->outputs = parts;
    grammar_set_int(node, "axis", chance(&g->c, 128) ? axis : axis - v.rank);
    grammar_add_input(node, x);
    const bool given = v.dim[axis] % parts || chance(&g->c, 128);
    if (given && grammar_row_has(node, "split")) {
        grammar_set_ints(node, "split", parts, sizes);
    } else if (given) {
        grammar_add_input(node, grammar_list(g, parts, sizes));
        grammar_leave_out(node, "num_outputs"); /* one or the other */
    } else {
        grammar_set_int(node, "num_outputs", parts);
        grammar_leave_out(node, "split");
    }
}

static void make_slice(grammar *g, grammar_node *node)
{
    static const int64_t ends[] = {INT64_MAX, INT32_MAX, -1, 3, 1, INT64_MIN, -2};
    const int x = grammar_operand(g, node->row->types, 1, 4);
    const grammar_value v = *grammar_value_of(g, x);
    const bool attributes = grammar_row_has(node, "starts");
    int64_t start[GRAMMAR_RANK], end[GRAMMAR_RANK], axis[GRAMMAR_RANK], step[GRAMMAR_RANK];
    int count = 0;
    const bool stepped = !attributes && chance(&g->c, 100), all = chance(&g->c, 80);
    for (int i = 0; i < v.rank; i++) {
        if (all || chance(&g->c, 128)) {
            step[count] = stepped ? choose_between(&g->c, 1, 3) * (chance(&g->c, 80) ? -1 : 1) : 1;
            start[count] = choose_between(&g->c, -3, 2);
            end[count] = ends[choose(&g->c, sizeof ends / sizeof *ends)];
            axis[count++] = chance(&g->c, 80) ? i - v.rank : i;
        }
    }
    grammar_add_input(node, x);
    if (attributes) {
        grammar_set_ints(node, "starts", count, start);
        grammar_set_ints(node, "ends", count, end);
        if (!all || chance(&g->c, 128)) {
            grammar_set_ints(node, "axes", count, axis);
        }
        grammar_leave_out(node, "axes");
        return;
    }
    grammar_add_input(node, grammar_list(g, count, start));
    grammar_add_input(node, grammar_list(g, count, end));
    if (!all || stepped || chance(&g->c, 128)) {
        grammar_add_input(node, all && chance(&g->c, 80) ? -1 : grammar_list(g, count, axis));
    }
    if (stepped) {
        grammar_add_input(node, grammar_list(g, count, step));
    }
}

static void make_pad(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 1, 5);
    const grammar_value v = *grammar_value_of(g, x);
    int64_t pads[2 * GRAMMAR_RANK], axes[GRAMMAR_RANK];
    const bool some = node->row->max_inputs > 3 && g->opset >= 18 && chance(&g->c, 60);
    const int count = some ? 1 + (int)choose(&g->c, (unsigned)v.rank) : v.rank;
    for (int i = 0; i < count; i++) {
        pads[i] = chance(&g->c, 40) ? -1 : (int64_t)choose(&g->c, 3);
        pads[i + count] = chance(&g->c, 40) ? -1 : (int64_t)choose(&g->c, 3);
        axes[i] = v.rank - count + i;
    }
    grammar_add_input(node, x);
    grammar_set_ints(node, "pads", 2 * count, pads);
    grammar_set_ints(node, "paddings", 2 * count, pads);
    if (node->row->max_inputs > 1) {
        grammar_add_input(node, grammar_list(g, 2 * count, pads));
        if (some || chance(&g->c, 128)) {
            grammar_add_input(node,
                              some && chance(&g->c, 128) ? -1 : grammar_scalar(g, v.dtype, 1));
        }
        if (some) {
            grammar_add_input(node, grammar_list(g, count, axes));
        }
    }
}

static void make_tile(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 1, 4);
    const grammar_value v = *grammar_value_of(g, x);
    int64_t repeats[GRAMMAR_RANK];
    grammar_add_input(node, x);
    if (node->row->max_inputs > 2) {
        grammar_add_input(node, grammar_list(g, -1, (int64_t[]){1 + (int64_t)choose(&g->c, 3)}));
        grammar_add_input(
            node, grammar_list(g, -1, (int64_t[]){(int64_t)choose(&g->c, (unsigned)v.rank)}));
        return;
    }
    for (int i = 0; i < v.rank; i++) {
        repeats[i] = chance(&g->c, 100) ? (int64_t)choose(&g->c, 4) : 1;
    }
    grammar_add_input(node, grammar_list(g, v.rank, repeats));
}

static void make_expand(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 0, 4);
    const grammar_value v = *grammar_value_of(g, x);
    int64_t shape[GRAMMAR_RANK];
    const int more = (int)choose(&g->c, 2), rank = v.rank + more;
    for (int i = 0; i < rank; i++) {
        shape[i] = i < more               ? grammar_dim(g)
                   : v.dim[i - more] == 1 ? grammar_dim(g)
                   : chance(&g->c, 60)    ? 1
                                          : v.dim[i - more];
    }
    grammar_add_input(node, x);
    grammar_add_input(node, grammar_list(g, rank, shape));
}

static void make_transpose(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 0, 6);
    const int rank = grammar_value_of(g, x)->rank;
    int64_t perm[GRAMMAR_RANK];
    for (int i = 0; i < rank; i++) {
        const int at = (int)choose(&g->c, (unsigned)i + 1);
        perm[i] = perm[at];
        perm[at] = i;
    }
    grammar_add_input(node, x);
    if (!chance(&g->c, 40)) {
        grammar_set_ints(node, "perm", rank, perm);
    }
}

static void make_depth_to_space(grammar *g, grammar_node *node)
{
    const bool back = strcmp(node->row->name, "SpaceToDepth") == 0;
    const int64_t block = 1 + (int64_t)choose(&g->c, 3), deep = back ? 1 : block * block,
                  wide = back ? block : 1;
    const int64_t dim[4] = {grammar_dim(g), deep * (1 + (int64_t)choose(&g->c, 4)),
                            wide * (1 + (int64_t)choose(&g->c, 4)), wide * grammar_dim(g)};
    grammar_set_int(node, "blocksize", block);
    grammar_add_input(
        node, grammar_new(g, grammar_type(g, node->row->types), 4, dim, CONTENT_NUMBERS, 0));
}

static void make_trilu(grammar *g, grammar_node *node)
{
    grammar_add_input(node, grammar_operand(g, node->row->types, 2, 4));
    if (chance(&g->c, 128)) {
        grammar_add_input(node, grammar_list(g, -1, (int64_t[]){choose_between(&g->c, -4, 4)}));
    }
}

static void make_center_crop_pad(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 1, 4);
    const int rank = grammar_value_of(g, x)->rank,
              count = chance(&g->c, 100) ? 1 + (int)choose(&g->c, (unsigned)rank) : rank;
    int64_t shape[GRAMMAR_RANK], axes[GRAMMAR_RANK];
    for (int i = 0; i < count; i++) {
        shape[i] = grammar_dim(g);
        axes[i] = rank - count + i;
    }
    grammar_add_input(node, x);
    grammar_add_input(node, grammar_list(g, count, shape));
    if (count < rank) {
        grammar_set_ints(node, "axes", count, axes);
    }
    grammar_leave_out(node, "axes");
}

static void make_reshape(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 0, 5);
    const grammar_value v = *grammar_value_of(g, x);
    int64_t shape[GRAMMAR_RANK];
    const int join = v.rank ? (int)choose(&g->c, (unsigned)v.rank) : 0; /* dims join.. become one */
    int count = 0;
    for (; count < join; count++) {
        shape[count] = chance(&g->c, 60) && g->opset >= 5 ? 0 : v.dim[count];
    }
    shape[count++] = chance(&g->c, 128) && grammar_elements(&v) > 0
                         ? -1
                         : product_of(v.dim + join, v.rank - join);
    if (chance(&g->c, 80)) {
        shape[count++] = 1;
    }
    grammar_add_input(node, x);
    grammar_set_ints(node, "shape", count, shape);
    grammar_set_int(node, "allowzero", chance(&g->c, 10));
    if (node->row->max_inputs > 1) {
        grammar_add_input(node, grammar_list(g, count, shape));
    }
}

static void make_squeeze(grammar *g, grammar_node *node)
{
    const bool grow = node->row->name[0] == 'U';
    const int x = grammar_operand(g, node->row->types, 0, 5);
    const grammar_value v = *grammar_value_of(g, x);
    const int rank = grow ? v.rank + 1 + (int)choose(&g->c, 2) : v.rank;
    int64_t axes[GRAMMAR_RANK];
    int count = 0;
    for (int i = 0; i < rank; i++) {
        const bool takes = grow ? count < rank - v.rank &&
                                      (chance(&g->c, 128) || rank - i <= rank - v.rank - count)
                                : v.dim[i] == 1;
        if (takes) {
            axes[count++] = chance(&g->c, 80) ? i - rank : i;
        }
    }
    grammar_add_input(node, x);
    if (!grow && chance(&g->c, 80)) {
        grammar_leave_out(node, "axes"); /* all that are 1 */
        return;
    }
    if (node->row->max_inputs > 1) {
        grammar_add_input(node, grammar_list(g, count, axes));
    } else {
        grammar_set_ints(node, "axes", count, axes);
    }
}

static void make_flatten(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 0, 5);
    grammar_add_input(node, x);
    grammar_set_int(node, "axis", choose_between(&g->c, 0, grammar_value_of(g, x)->rank));
}

/* A tensor for an attribute. */
static void set_tensor(grammar *g, grammar_node *node, ry_dtype dtype, int rank, const int64_t *dim)
{
    grammar_attribute *a = grammar_add_attribute(node, "value");
    if (a) {
        a->tensor = grammar_new(g, dtype, rank, dim, CONTENT_NUMBERS, 0);
        g->values[a->tensor].source = SOURCE_INITIALIZER;
        g->attribute_value[a->tensor] = true;
    }
}

static void make_constant(grammar *g, grammar_node *node)
{
    const int64_t dim[3] = {grammar_dim(g), grammar_dim(g), grammar_dim(g)};
    switch (g->opset < 12 ? 0 : choose(&g->c, 5)) {
    case 0:
        set_tensor(g, node, grammar_type(g, node->row->types), (int)choose(&g->c, 4), dim);
        break;
    case 1: grammar_set_int(node, "value_int", choose_between(&g->c, -3, 9)); break;
    case 2: grammar_set_int(node, "value_float", choose_between(&g->c, -3, 9)); break;
    case 3: grammar_set_ints(node, "value_ints", 3, dim); break;
    default:
        grammar_set_ints(node, "value_floats", 3, dim); /* zeros */
        break;
    }
    static const char *const all[] = {"value", "value_int", "value_float", "value_ints",
                                      "value_floats"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        grammar_leave_out(node, all[i]);
    }
}

static void make_constant_of_shape(grammar *g, grammar_node *node)
{
    const int64_t one = 1, shape[4] = {grammar_dim(g), grammar_dim(g), grammar_dim(g), 2};
    grammar_add_input(node, grammar_list(g, (int)choose(&g->c, 5), shape));
    if (chance(&g->c, 128)) {
        set_tensor(g, node, grammar_type(g, node->row->types), 1, &one);
    }
}

static void make_eye_like(grammar *g, grammar_node *node)
{
    grammar_add_input(node, grammar_operand(g, node->row->types, 2, 2));
}

static void make_range(grammar *g, grammar_node *node)
{
    const ry_dtype dtype =
        grammar_type(g, node->row->types & (1u << RY_f32 | 1u << RY_f64 | 1u << RY_i16 |
                                            1u << RY_i32 | 1u << RY_i64));
    const double start = (double)choose_between(&g->c, -3, 3),
                 delta = chance(&g->c, 80) ? -2 : 1 + (double)choose(&g->c, 3);
    grammar_add_input(node, grammar_scalar(g, dtype, start));
    grammar_add_input(node, grammar_scalar(g, dtype, start + delta * (double)choose(&g->c, 9)));
    grammar_add_input(node, grammar_scalar(g, dtype, delta));
}

const grammar_recipe_row grammar_moves[] = {
    {"Concat", make_concat},
    {"Split", make_split},
    {"Slice", make_slice},
    {"Pad", make_pad},
    {"Tile", make_tile},
    {"Expand", make_expand},
    {"Transpose", make_transpose},
    {"DepthToSpace", make_depth_to_space},
    {"SpaceToDepth", make_depth_to_space},
    {"Trilu", make_trilu},
    {"CenterCropPad", make_center_crop_pad},
    {"Reshape", make_reshape},
    {"Squeeze", make_squeeze},
    {"Unsqueeze", make_squeeze},
    {"Flatten", make_flatten},
    {"Constant", make_constant},
    {"ConstantOfShape", make_constant_of_shape},
    {"EyeLike", make_eye_like},
    {"Range", make_range},
    {NULL, NULL},
};
