/* SPDX-License-Identifier: Apache-2.0 */
/* Every s-th pixel, from each of the first s rows and columns on, joined along channels before a
 * convolution (YOLO's "Focus"): the convolution reads the pixels where they are stored, with s
 * times the window, stride and padding.
 *
 *     weights: w'[k][c][s r + b] = w[k][slice b's c][r]     in each spatial dim, b being where
 *         a slice begins
 *
 * It has the same products, and nothing is copied. */
#include "graph/derive.h"
#include "graph/rewrite.h"

#include <string.h>

enum { MAX_SLICES = 64 };

typedef struct parts {
    ry_value_id x;
    ry_ints step; /* along each dim of x */
    int slices;   /* the product of the steps */
    /* the number in the concatenation of the slice that begins at b: b row-major */
    int slot[MAX_SLICES];
} parts;

/* Where a value of slices of slices begins in what was cut first, and its steps. */
static ry_value_id unslice(const ry_graph *graph, ry_value_id value, ry_ints *start, ry_ints *step)
{
    const int rank = graph->values[value].shape.rank;
    *start = (ry_ints){.count = rank};
    *step = (ry_ints){.count = rank};
    for (int d = 0; d < rank; d++) {
        step->at[d] = 1;
    }
    const ry_node *node;
    for (int slices = 0; slices < RY_MAX_RANK && (node = ry_rewrite_producer(graph, value)) &&
                         node->op == RY_OP_slice;
         slices++, value = node->in[0]) { /* one a dim is enough */
        const ry_slice_attrs *a = &node->attrs.slice;
        for (int d = 0; d < rank; d++) {
            if (ry_ints_get(&a->steps, d, 1) < 1 || ry_ints_get(&a->steps, d, 1) > MAX_SLICES ||
                step->at[d] > MAX_SLICES) {
                return RY_NO_VALUE;
            }
            start->at[d] =
                ry_ints_get(&a->starts, d, 0) + ry_ints_get(&a->steps, d, 1) * start->at[d];
            step->at[d] *= ry_ints_get(&a->steps, d, 1);
        }
    }
    return value;
}

/* Are these slices, together, all pixels of x once? */
static bool parts_of(const ry_graph *graph, const ry_node *concat, parts *p)
{
    ry_ints start;
    p->x = concat->inputs > 1 && concat->in[0] != RY_NO_VALUE
               ? unslice(graph, concat->in[0], &start, &p->step)
               : RY_NO_VALUE;
    if (p->x == RY_NO_VALUE || concat->attrs.concat.axis != 1) {
        return false;
    }
    const ry_shape *x = &graph->values[p->x].shape, *slice = &graph->values[concat->in[0]].shape;
    p->slices = 1;
    for (int d = 0; d < x->rank; d++) {
        if (x->rank < 3 || slice->dim[d] * p->step.at[d] != x->dim[d] ||
            (d < 2 && p->step.at[d] != 1) || p->step.at[d] > MAX_SLICES) {
            return false;
        }
        p->slices *= (int)p->step.at[d];
        if (p->slices > MAX_SLICES) {
            return false;
        }
    }
    if (p->slices != concat->inputs) {
        return false;
    }
    for (int i = 0; i < p->slices; i++) {
        p->slot[i] = -1;
    }
    for (int i = 0; i < p->slices; i++) {
        ry_ints step;
        if (concat->in[i] == RY_NO_VALUE || unslice(graph, concat->in[i], &start, &step) != p->x) {
            return false;
        }
        int64_t b = 0;
        for (int d = 0; d < x->rank; d++) {
            if (step.at[d] != p->step.at[d] || start.at[d] < 0 || start.at[d] >= step.at[d] ||
                graph->values[concat->in[i]].shape.dim[d] != slice->dim[d]) {
                return false;
            }
            b = b * step.at[d] + start.at[d];
        }
        if (p->slot[b] >= 0) {
            return false;
        }
        p->slot[b] = i;
    }
    return true;
}

/* With constant weights, and nothing but strides and padding to its window. */
static bool is_plain(const ry_graph *graph, const ry_node *conv)
{
    const ry_conv_attrs *a = &conv->attrs.conv;
    if (conv->op != RY_OP_conv || a->dir != RY_direction_fwd ||
        a->auto_pad != RY_auto_pad_explicit || a->groups != 1) {
        return false;
    }
    for (int i = 0; i < a->dilation.count; i++) {
        if (a->dilation.at[i] != 1) {
            return false;
        }
    }
    const ry_value *w = &graph->values[conv->in[1]];
    return w->constant && ry_dtype_is_float(w->dtype);
}

/* The weight of tap `tap` of channel c of the slice that the tap reads, in those of the convolution
 * of slices. */
static int64_t source_of(const parts *p, const ry_shape *w, int64_t k, int64_t channels, int64_t c,
                         int64_t tap)
{
    int64_t b = 0, r = 0, at[RY_MAX_RANK];
    for (int d = w->rank - 1; d >= 2; d--) {
        at[d] = tap % (w->dim[d] * p->step.at[d]);
        tap /= w->dim[d] * p->step.at[d];
    }
    for (int d = 2; d < w->rank; d++) {
        b = b * p->step.at[d] + at[d] % p->step.at[d];
        r = r * w->dim[d] + at[d] / p->step.at[d];
    }
    int64_t taps = 1;
    for (int d = 2; d < w->rank; d++) {
        taps *= w->dim[d];
    }
    return ((k * w->dim[1]) + p->slot[b] * channels + c) * taps + r;
}

typedef struct spreading {
    const parts *p;
    ry_value_id old;
} spreading;

static ry_shape spread_shape(const parts *p, const ry_shape *w)
{
    ry_shape shape = *w;
    shape.dim[1] = w->dim[1] / p->slices;
    for (int d = 2; d < w->rank; d++) {
        shape.dim[d] *= p->step.at[d];
    }
    return shape;
}

static void spread(ry_graph *graph, const void *how, void *to)
{
    const spreading *s = how;
    const ry_value *old = &graph->values[s->old];
    const ry_shape shape = spread_shape(s->p, &old->shape);
    const int64_t size = (int64_t)ry_dtype_size(old->dtype),
                  taps = ry_shape_elements(&shape) / (shape.dim[0] * shape.dim[1]);
    for (int64_t i = 0; i < ry_shape_elements(&shape); i++) {
        const int64_t tap = i % taps, c = i / taps % shape.dim[1], k = i / taps / shape.dim[1];
        memcpy((char *)to + i * size,
               (const char *)old->constant +
                   source_of(s->p, &old->shape, k, shape.dim[1], c, tap) * size,
               (size_t)size);
    }
}

static ry_value_id spread_weights(ry_graph *graph, const parts *p, ry_value_id old)
{
    const spreading s = {p, old};
    const ry_shape shape = spread_shape(p, &graph->values[old].shape);
    int64_t numbers[RY_MAX_RANK + MAX_SLICES];
    int count = 0;
    for (int d = 0; d < shape.rank; d++) {
        numbers[count++] = p->step.at[d];
    }
    for (int i = 0; i < p->slices; i++) {
        numbers[count++] = p->slot[i];
    }
    const ry_recipe recipe = {.what = "space_to_depth",
                              .count = 1,
                              .from = &s.old,
                              .numbers = numbers,
                              .numbers_size = (size_t)count * sizeof *numbers};
    return ry_graph_add_derived(graph, &recipe, graph->values[old].dtype, &shape, spread, &s);
}

static void widen_window(ry_conv_attrs *a, const parts *p, int spatial)
{
    for (int i = 0; i < spatial; i++) {
        const int64_t step = p->step.at[i + 2];
        a->stride.at[i] = ry_ints_get(&a->stride, i, 1) * step;
    }
    a->stride.count = spatial;
    for (int i = 0; i < a->pads.count; i++) {
        a->pads.at[i] *= p->step.at[i % spatial + 2];
    }
}

rynd_status ry_rewrite_space_to_depth(ry_graph *graph, bool *changed, ry_error *error)
{
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        parts p;
        const ry_node *concat = graph->nodes[n].op == RY_OP_conv
                                    ? ry_rewrite_inner(graph, graph->nodes[n].in[0], RY_OP_concat)
                                    : NULL;
        if (!concat || !is_plain(graph, &graph->nodes[n]) || !parts_of(graph, concat, &p)) {
            continue;
        }
        const ry_value *old = &graph->values[graph->nodes[n].in[1]];
        if (!ry_graph_spend(graph, ry_shape_bytes(&old->shape, old->dtype))) {
            continue;
        }
        const ry_value_id weights = spread_weights(graph, &p, graph->nodes[n].in[1]);
        if (weights == RY_NO_VALUE) {
            return ry_fail_memory(error);
        }
        ry_node *conv = &graph->nodes[n];
        ry_graph_set_input(graph, conv, 0, p.x);
        ry_graph_set_input(graph, conv, 1, weights);
        widen_window(&conv->attrs.conv, &p, graph->values[p.x].shape.rank - 2);
        *changed = true;
    }
    return RYND_OK;
}
