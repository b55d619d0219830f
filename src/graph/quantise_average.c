/* SPDX-License-Identifier: Apache-2.0 */
/* Averages of dequantised data: quantised depthwise convolutions by ones, whose sums are exact. A
 * mean over large planes is one of tiles, whose sums of integers are added. */
#include "base/integer.h"
#include "graph/derive.h"
#include "graph/quantise_inside.h"
#include "graph/rewrite.h"
#include "problem/window.h"

#include <string.h>

enum {
    MAX_TAPS = 1024, /* most taps of a window that the depthwise kernel takes */
    MAX_TILE = 32,   /* longest side of a tile */
    LEAST_TILE = 16  /* smaller tiles save nothing */
};

typedef struct average {
    ry_node_id node;
    ry_value_id x; /* bytes */
    ry_quantiser q;
    int rank; /* spatial dims */
    int64_t taps[RY_MAX_RANK], stride[RY_MAX_RANK], dilation[RY_MAX_RANK];
    int64_t pads[2 * RY_MAX_RANK];
    int64_t count; /* elements of a mean */
    bool tiled;
} average;

/* Windows whose divisor is the same everywhere. */
static bool read_pool(const ry_graph *graph, const ry_node *node, average *a)
{
    const ry_pool_attrs *p = &node->attrs.pool;
    if (node->op != RY_OP_pool || p->kind != RY_pool_kind_average || p->ceil_mode ||
        p->auto_pad != RY_auto_pad_explicit ||
        (!p->count_include_pad && !ry_ints_are(&p->pads, 0))) {
        return false;
    }
    const ry_shape *x = &graph->values[node->in[0]].shape, *y = &graph->values[node->out[0]].shape;
    const ry_window w =
        ry_window_of_attrs(node->op, &node->attrs, x->rank - 2, x->dim + 2, y->dim + 2, NULL);
    a->rank = w.rank;
    a->count = 1;
    for (int i = 0; i < w.rank; i++) {
        a->taps[i] = w.axis[i].taps;
        a->stride[i] = w.axis[i].stride;
        a->dilation[i] = w.axis[i].dilation;
        a->pads[i] = w.axis[i].pad;
        a->pads[w.rank + i] = w.axis[i].pad_end;
        a->count = ry_product(a->count, a->taps[i]);
    }
    return a->count <= MAX_TAPS;
}

/* The largest divisor of a side that a tile may have. */
static int64_t side_of(int64_t dim)
{
    int64_t side = ry_min(dim, MAX_TILE);
    while (dim % side) {
        side--;
    }
    return side;
}

/* Does the node average all spatial dims? */
static bool read_mean(const ry_quantising *z, const ry_node *node, average *a)
{
    const ry_shape *x = &z->graph->values[node->in[0]].shape;
    if (node->op != RY_OP_expr || node->inputs != 1 || node->attrs.expr.axes_input || x->rank < 3 ||
        node->attrs.expr.axes.count != x->rank - 2 || !ry_rewrite_is_expr(node, z->programs.mean)) {
        return false;
    }
    int64_t tile = 1;
    a->rank = x->rank - 2;
    a->count = 1;
    for (int i = 0; i < a->rank; i++) {
        const int64_t dim = x->dim[2 + i];
        if (node->attrs.expr.axes.at[i] != 2 + i || dim < 1) {
            return false;
        }
        a->count = ry_product(a->count, dim);
        tile *= side_of(dim);
    }
    a->tiled = a->count > MAX_TAPS;
    for (int i = 0; i < a->rank; i++) {
        a->taps[i] = a->stride[i] = a->tiled ? side_of(x->dim[2 + i]) : x->dim[2 + i];
        a->dilation[i] = 1;
    }
    return a->count <= INT32_MAX / UINT8_MAX &&
           (!a->tiled || (tile >= LEAST_TILE && tile <= MAX_TAPS));
}

static void fill_ones(ry_graph *graph, const void *how, void *to)
{
    (void)graph;
    memset(to, 1, *(const size_t *)how);
}

static ry_value_id ones(ry_graph *graph, const ry_shape *shape)
{
    const size_t count = (size_t)ry_shape_elements(shape);
    const ry_recipe recipe = {"ones", 0, NULL, shape->dim,
                              (size_t)shape->rank * sizeof *shape->dim};
    return ry_graph_add_derived(graph, &recipe, RY_i8, shape, fill_ones, &count);
}

static ry_value_id scales(ry_graph *graph, int64_t channels, float scale)
{
    const ry_shape shape = {.rank = 1, .dim = {channels}};
    const ry_value_id id = ry_graph_add_constant(graph, NULL, RY_f32, &shape, NULL);
    float *to = id == RY_NO_VALUE ? NULL : ry_graph_constant_data(graph, id);
    for (int64_t k = 0; to && k < channels; k++) {
        to[k] = scale;
    }
    return id;
}

static void set_list(ry_ints *list, int count, const int64_t *from)
{
    list->count = count;
    memcpy(list->at, from, (size_t)count * sizeof *from);
}

/* The quantised convolution of the average, without its end. */
static ry_attrs attrs_of(const average *a, int64_t channels)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_qconv);
    set_list(&attrs.qconv.stride, a->rank, a->stride);
    set_list(&attrs.qconv.dilation, a->rank, a->dilation);
    set_list(&attrs.qconv.pads, 2 * a->rank, a->pads);
    attrs.qconv.groups = channels;
    attrs.qconv.x_zero = a->q.zero;
    return attrs;
}

/* `y` as a view of the convolution's output, whose dims of 1 it may lack. */
static void give(ry_emitter *emitter, ry_value_id made, ry_value_id y)
{
    const ry_shape shape = ry_emit_shape(emitter, y), from = ry_emit_shape(emitter, made);
    if (ry_shape_equal(&shape, &from)) {
        ry_emit_into(emitter, RY_OP_identity, NULL, 1, &made, 1, &y);
        return;
    }
    ry_attrs view = ry_attrs_default(RY_OP_reshape);
    view.reshape.allow_zero = 1;
    set_list(&view.reshape.shape, shape.rank, shape.dim);
    ry_emit_into(emitter, RY_OP_reshape, &view, 1, &made, 1, &y);
}

/* Sums of tiles are added in integers. */
static ry_value_id add_tiles(ry_emitter *emitter, const average *a, ry_value_id tiles)
{
    ry_ints axes = {.count = a->rank};
    for (int i = 0; i < a->rank; i++) {
        axes.at[i] = 2 + i;
    }
    const ry_value_id sum = ry_emit_reduce(emitter, "sum(x0)", &axes, true, 1, &tiles);
    const ry_expr_parameter scale = {"s", (double)(a->q.scale / (float)a->count)};
    return ry_emit_expr_with(emitter, "cast(cast(x0, f32) * s, f32)", &scale, 1, 1, &sum);
}

static rynd_status make(ry_quantising *z, const average *a, const ry_quantised_end *end)
{
    ry_graph *graph = z->graph;
    const ry_node *node = &graph->nodes[a->node];
    const char *name = node->name, *source = node->source;
    const int64_t channels = graph->values[a->x].shape.dim[1];
    const float scale = a->q.scale / (float)a->count;
    ry_value_id y = node->out[0];
    ry_shape shape = {.rank = 2 + a->rank, .dim = {channels, 1}};
    memcpy(shape.dim + 2, a->taps, (size_t)a->rank * sizeof *a->taps);
    ry_attrs attrs = attrs_of(a, channels);
    attrs.qconv.dequantise = !end && !a->tiled;
    if (end) {
        attrs.qconv.zero = end->q.zero;
        attrs.qconv.low = end->low;
        attrs.qconv.high = end->high;
    }
    const ry_value_id x = ry_unsigned_of(z, a->x),
                      in[5] = {x, ones(graph, &shape), RY_NO_VALUE, RY_NO_VALUE,
                               a->tiled
                                   ? RY_NO_VALUE
                                   : scales(graph, channels, end ? scale / end->q.scale : scale)};
    if (x == RY_NO_VALUE || in[1] == RY_NO_VALUE || (!a->tiled && in[4] == RY_NO_VALUE)) {
        return ry_fail_memory(z->error);
    }
    ry_graph_remove_node(graph, a->node);
    y = end ? ry_take_end(z, end) : y;
    if (y == RY_NO_VALUE) {
        return ry_fail_memory(z->error);
    }
    ry_emitter emitter = {graph, graph->values[y].name, z->error, RYND_OK};
    ry_value_id made = ry_emit(&emitter, RY_OP_qconv, &attrs, 5, in);
    if (emitter.status == RYND_OK) {
        ry_node *convolution = &graph->nodes[graph->values[made].producer];
        convolution->name = name;
        convolution->source = source;
    }
    made = a->tiled ? add_tiles(&emitter, a, made) : made;
    give(&emitter, made, y);
    return emitter.status;
}

rynd_status ry_quantise_average(ry_quantising *z, ry_node_id id)
{
    const ry_node *node = &z->graph->nodes[id];
    average a = {.node = id};
    ry_quantised_end end;
    bool found = false;
    const ry_node *from = node->outputs == 1 && node->inputs >= 1
                              ? ry_find_dequantise(z->graph, &z->programs, node->in[0], &a.q)
                              : NULL;
    if (!from || z->graph->values[from->in[0]].constant ||
        (!read_pool(z->graph, node, &a) && !read_mean(z, node, &a))) {
        return RYND_OK;
    }
    a.x = from->in[0];
    if (!a.tiled) {
        RY_TRY(ry_find_quantised_end(z, node->out[0], &end, &found));
    }
    return make(z, &a, found ? &end : NULL);
}
