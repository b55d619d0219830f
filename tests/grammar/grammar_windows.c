/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes of operators with windows: convolution, pooling, and their like. */
#include "grammar.h"

#include <string.h>

typedef struct window {
    int spatial;
    int64_t kernel[3], stride[3], dilation[3], pads[6];
    bool automatic; /* auto_pad says the pads */
} window;

static window choose_window(grammar *g, const grammar_value *v)
{
    static const uint8_t kernels[] = {3, 1, 2, 3, 5, 4, 7, 3};
    window w = {.spatial = v->rank - 2};
    w.automatic = chance(&g->c, 40);
    const bool same = chance(&g->c, 128); /* in all dims */
    for (int i = 0; i < w.spatial; i++) {
        w.kernel[i] = same && i ? w.kernel[0] : kernels[choose(&g->c, sizeof kernels)];
        w.stride[i] = same && i           ? w.stride[0]
                      : chance(&g->c, 90) ? 1 + (int64_t)choose(&g->c, 3)
                                          : 1;
        w.dilation[i] = same && i                           ? w.dilation[0]
                        : chance(&g->c, 50) && !w.automatic ? 1 + (int64_t)choose(&g->c, 3)
                                                            : 1;
        const int64_t reach = (w.kernel[i] - 1) * w.dilation[i];
        w.pads[i] = chance(&g->c, 150) ? reach / 2 : (int64_t)choose(&g->c, (unsigned)reach + 1);
        w.pads[i + w.spatial] =
            chance(&g->c, 180) ? w.pads[i] : (int64_t)choose(&g->c, (unsigned)reach + 1);
        const int64_t missing = 1 + reach - (v->dim[i + 2] + w.pads[i] + w.pads[i + w.spatial]);
        w.pads[i] += missing > 0 && !slip(&g->c) ? missing : 0;
    }
    return w;
}

static bool plain(int count, const int64_t *numbers, int64_t number)
{
    for (int i = 0; i < count; i++) {
        if (numbers[i] != number) {
            return false;
        }
    }
    return true;
}

static void set_window(grammar *g, grammar_node *node, const window *w, bool kernel)
{
    const bool brief = chance(&g->c, 128); /* what is the default is left out */
    if (kernel) {
        grammar_set_ints(node, "kernel_shape", w->spatial, w->kernel);
    }
    if (!brief || !plain(w->spatial, w->stride, 1)) {
        grammar_set_ints(node, "strides", w->spatial, w->stride);
    }
    if (!brief || !plain(w->spatial, w->dilation, 1)) {
        grammar_set_ints(node, "dilations", w->spatial, w->dilation);
    }
    grammar_leave_out(node, "kernel_shape");
    grammar_leave_out(node, "strides");
    grammar_leave_out(node, "dilations");
    if (w->automatic) {
        static const char *const words[] = {"SAME_UPPER", "SAME_LOWER", "VALID"};
        grammar_set_text(node, "auto_pad", words[choose(&g->c, 3)]);
        grammar_leave_out(node, "pads");
    } else {
        grammar_set_ints(node, "pads", 2 * w->spatial, w->pads);
        grammar_set_text(node, "auto_pad", "NOTSET");
    }
}

static int64_t choose_groups(grammar *g, int64_t channels)
{
    if (!chance(&g->c, 90)) {
        return 1;
    }
    if (chance(&g->c, 128)) {
        return channels ? channels : 1;
    }
    for (int64_t groups = 2 + choose(&g->c, 3); groups > 1; groups--) {
        if (channels % groups == 0) {
            return groups;
        }
    }
    return 1;
}

/* Weights of `outer` by `inner` channels with the window's size. */
static int make_weights(grammar *g, ry_dtype dtype, int64_t outer, int64_t inner, const window *w)
{
    int64_t dim[5] = {outer, inner};
    memcpy(dim + 2, w->kernel, (size_t)w->spatial * sizeof *dim);
    return grammar_new(g, dtype, w->spatial + 2, dim, CONTENT_NUMBERS, 0);
}

static int64_t extent(const window *w, const grammar_value *v, int i)
{
    return (v->dim[i + 2] + w->pads[i] + w->pads[i + w->spatial] -
            (w->kernel[i] - 1) * w->dilation[i] - 1) /
               w->stride[i] +
           1;
}

static void set_output_shape(grammar *g, grammar_node *node, const window *w,
                             const grammar_value *v)
{
    int64_t shape[3], padding[3] = {0};
    for (int i = 0; i < w->spatial; i++) {
        const int64_t reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
        shape[i] = (v->dim[i + 2] - 1) * w->stride[i] + reach - (int64_t)choose(&g->c, 3);
        shape[i] = shape[i] < 1 ? 1 : shape[i];
        padding[i] = w->stride[i] > 1 ? (int64_t)choose(&g->c, (unsigned)w->stride[i]) : 0;
    }
    const unsigned how = choose(&g->c, 4);
    if (how == 3) {
        grammar_set_ints(node, "output_shape", w->spatial, shape);
    } else if (how == 2) {
        grammar_set_ints(node, "output_padding", w->spatial, padding);
    }
    grammar_leave_out(node, "output_shape");
    grammar_leave_out(node, "output_padding");
}

static void make_conv(grammar *g, grammar_node *node)
{
    const bool transposed = strcmp(node->row->name, "ConvTranspose") == 0;
    const int x = grammar_operand(g, node->row->types, 3, chance(&g->c, 50) ? 5 : 4);
    const grammar_value v = *grammar_value_of(g, x);
    const window w = choose_window(g, &v);
    const int64_t groups = choose_groups(g, v.dim[1]);
    const int64_t each =
        groups > 1 && groups == v.dim[1] ? 1 + (int64_t)choose(&g->c, 2) : grammar_channels(g);
    const int64_t outputs = each * groups;
    grammar_add_input(node, x);
    grammar_add_input(node, transposed ? make_weights(g, v.dtype, v.dim[1], each, &w)
                                       : make_weights(g, v.dtype, outputs, v.dim[1] / groups, &w));
    if (chance(&g->c, 128)) {
        grammar_add_input(node, grammar_new(g, v.dtype, 1, &outputs, CONTENT_NUMBERS, 0));
    }
    grammar_set_int(node, "group", groups);
    if (transposed) {
        set_output_shape(g, node, &w, &v);
    }
    set_window(g, node, &w, chance(&g->c, 128));
}

static void make_deform_conv(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 4, 4);
    const grammar_value v = *grammar_value_of(g, x);
    window w = choose_window(g, &v);
    w.automatic = false;
    const int64_t groups = choose_groups(g, v.dim[1]),
                  outputs = groups * (1 + (int64_t)choose(&g->c, 4));
    const int64_t offset_groups = chance(&g->c, 80) ? choose_groups(g, v.dim[1]) : 1;
    const int64_t taps = w.kernel[0] * w.kernel[1], high = extent(&w, &v, 0),
                  wide = extent(&w, &v, 1);
    grammar_add_input(node, x);
    grammar_add_input(node, make_weights(g, v.dtype, outputs, v.dim[1] / groups, &w));
    grammar_add_input(node, grammar_new(g, v.dtype, 4,
                                        (int64_t[]){v.dim[0], 2 * taps * offset_groups, high, wide},
                                        CONTENT_NUMBERS, 0));
    grammar_add_input(
        node, chance(&g->c, 100) ? grammar_new(g, v.dtype, 1, &outputs, CONTENT_NUMBERS, 0) : -1);
    if (chance(&g->c, 100)) {
        grammar_add_input(node, grammar_new(g, v.dtype, 4,
                                            (int64_t[]){v.dim[0], taps * offset_groups, high, wide},
                                            CONTENT_POSITIVE, 0));
    }
    grammar_set_int(node, "group", groups);
    grammar_set_int(node, "offset_group", offset_groups);
    set_window(g, node, &w, chance(&g->c, 128));
}

static void add_zero_point(grammar *g, grammar_node *node, ry_dtype dtype, int64_t length)
{
    grammar_add_input(node, grammar_new(g, dtype, length > 0, &length, CONTENT_COUNTS, 9));
}

static void make_conv_integer(grammar *g, grammar_node *node)
{
    const bool scaled = strcmp(node->row->name, "QLinearConv") == 0;
    const int x = grammar_operand(g, node->row->types, 3, 4);
    const grammar_value v = *grammar_value_of(g, x);
    const window w = choose_window(g, &v);
    const int64_t groups = choose_groups(g, v.dim[1]),
                  outputs = groups * (1 + (int64_t)choose(&g->c, 5));
    const ry_dtype weights = chance(&g->c, 128) ? RY_u8 : RY_i8,
                   result = chance(&g->c, 128) ? RY_u8 : RY_i8;
    const int64_t along = chance(&g->c, 100) ? outputs : 0; /* a number for each output channel */
    grammar_add_input(node, x);
    if (scaled) {
        grammar_add_input(node, grammar_scalar(g, RY_f32, 0.125));
        add_zero_point(g, node, v.dtype, 0);
    }
    grammar_add_input(node, make_weights(g, weights, outputs, v.dim[1] / groups, &w));
    if (scaled) {
        grammar_add_input(node, grammar_new(g, RY_f32, along > 0, &along, CONTENT_POSITIVE, 0));
        add_zero_point(g, node, weights, along);
        grammar_add_input(node, grammar_scalar(g, RY_f32, 0.75));
        add_zero_point(g, node, result, 0);
        if (chance(&g->c, 100)) {
            grammar_add_input(node, grammar_new(g, RY_i32, 1, &outputs, CONTENT_NUMBERS, 0));
        }
    } else if (chance(&g->c, 160)) {
        add_zero_point(g, node, v.dtype, 0);
        if (chance(&g->c, 160)) {
            add_zero_point(g, node, weights, along);
        }
    }
    grammar_set_int(node, "group", groups);
    set_window(g, node, &w, chance(&g->c, 128));
}

static void make_pool(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 3, chance(&g->c, 50) ? 5 : 4);
    const grammar_value v = *grammar_value_of(g, x);
    window w = choose_window(g, &v);
    for (int i = 0; i < w.spatial; i++) { /* a window that is in the padding alone has no maximum */
        for (int side = 0; side < 2; side++) {
            int64_t *pad = &w.pads[i + side * w.spatial];
            *pad = *pad >= w.kernel[i] && !slip(&g->c) ? w.kernel[i] - 1 : *pad;
        }
    }
    grammar_add_input(node, x);
    set_window(g, node, &w, true);
    node->outputs = 1 + (node->row->max_outputs > 1 && chance(&g->c, 80));
}

static void make_global_pool(grammar *g, grammar_node *node)
{
    grammar_add_input(node, grammar_operand(g, node->row->types, 3, 5));
}

static void make_max_unpool(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 3, 5);
    const grammar_value v = *grammar_value_of(g, x);
    window w = {
        .spatial = v.rank - 2, .stride = {2, 2, 2}, .kernel = {2, 2, 2}, .dilation = {1, 1, 1}};
    w.kernel[0] = 2 + (int64_t)choose(&g->c, 2);
    int64_t shape[5] = {v.dim[0], v.dim[1]}, elements = v.dim[0] * v.dim[1];
    for (int i = 0; i < w.spatial; i++) {
        shape[i + 2] = (v.dim[i + 2] - 1) * w.stride[i] + w.kernel[i];
        elements *= shape[i + 2];
    }
    grammar_add_input(node, x);
    grammar_add_input(node, grammar_new(g, RY_i64, v.rank, v.dim, CONTENT_COUNTS, elements));
    if (chance(&g->c, 60)) {
        grammar_add_input(node, grammar_list(g, v.rank, shape));
    }
    set_window(g, node, &w, true);
}

static void make_col2im(grammar *g, grammar_node *node)
{
    const int spatial = 1 + (int)choose(&g->c, 3);
    const grammar_value image = {.rank = spatial + 2,
                                 .dim = {1, 1, grammar_dim(g) + 2, grammar_dim(g) + 2, 4}};
    const window w = choose_window(g, &image);
    int64_t columns = 1, block = 1;
    for (int i = 0; i < spatial; i++) {
        columns *= extent(&w, &image, i);
        block *= w.kernel[i];
    }
    const int64_t dim[3] = {1 + (int64_t)choose(&g->c, 2), block * (1 + (int64_t)choose(&g->c, 3)),
                            columns};
    grammar_add_input(
        node, grammar_new(g, grammar_type(g, node->row->types), 3, dim, CONTENT_NUMBERS, 0));
    grammar_add_input(node, grammar_list(g, spatial, image.dim + 2));
    grammar_add_input(node, grammar_list(g, spatial, w.kernel));
    set_window(g, node, &w, false);
}

const grammar_recipe_row grammar_windows[] = {
    {"Conv", make_conv},
    {"ConvTranspose", make_conv},
    {"ConvInteger", make_conv_integer},
    {"QLinearConv", make_conv_integer},
    {"DeformConv", make_deform_conv},
    {"AveragePool", make_pool},
    {"MaxPool", make_pool},
    {"LpPool", make_pool},
    {"MaxUnpool", make_max_unpool},
    {"GlobalAveragePool", make_global_pool},
    {"GlobalMaxPool", make_global_pool},
    {"Col2Im", make_col2im},
    {NULL, NULL},
};
