/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of reading images at shifted windows (the columns of deformable convolutions) and at
 * the samples of regions. */
#include "train/gradient.h"
#include "train/sample_rows.h"

#include <math.h>

/* The two taps around the position x0 + x1 + x2, nothing beyond the image's edges. */
static const char window_text[] =
    "p = min(max(x0 + x1 + x2, -1), last + 1); f = floor(p); t = p - f; g = f + 1; "
    "i = (f >= 0) & (f <= last); j = (g >= 0) & (g <= last); "
    "k = (x0 + x1 + x2 > -1) & (x0 + x1 + x2 < last + 1); "
    "y0 = cast(min(max(f, 0), last), i64); y1 = cast(min(max(g, 0), last), i64); "
    "y2 = select(i & k, 1 - t, 0); y3 = select(j & k, t, 0); "
    "y4 = select(i & k, 0 * t - 1, 0); y5 = select(j & k, 1 + 0 * t, 0)";

/* A deformable convolution's sizes: of each offset group a table of images. */
typedef struct window {
    const ry_deform_columns_attrs *attrs;
    int rank;
    int64_t images, groups, channels; /* channels of an offset group */
    int64_t taps, positions;
    ry_shape x, y;
} window;

static window window_of(const ry_emitter *e, const ry_node *node)
{
    window w = {.attrs = &node->attrs.deform_columns,
                .x = ry_emit_shape(e, node->in[0]),
                .y = ry_emit_shape(e, node->out[0]),
                .taps = 1,
                .positions = 1};
    w.rank = w.x.rank - 2;
    w.images = w.x.dim[0];
    w.groups = w.attrs->offset_groups;
    w.channels = w.groups ? w.x.dim[1] / w.groups : 0;
    for (int d = 0; d < w.rank; d++) {
        w.taps *= w.attrs->kernel.at[d];
        w.positions *= w.y.dim[d + 2];
    }
    return w;
}

/* Numbers along one dim of [1, taps, positions..]. */
static ry_value_id along(ry_emitter *e, ry_dtype dtype, int64_t count, const double *number,
                         int rank, int dim)
{
    const ry_shape line = {.rank = 1, .dim = {count}};
    ry_shape shape = {.rank = rank};
    for (int d = 0; d < rank; d++) {
        shape.dim[d] = d == dim ? count : 1;
    }
    if (e->status != RYND_OK) {
        return RY_NO_VALUE;
    }
    const ry_value_id value = ry_graph_add_constant(e->graph, NULL, dtype, &line, NULL);
    if (value == RY_NO_VALUE) {
        e->status = ry_fail_memory(e->error);
        return RY_NO_VALUE;
    }
    for (int64_t i = 0; i < count; i++) {
        ry_set_f64(dtype, ry_graph_constant_data(e->graph, value), i, number[i]);
    }
    return ry_emit_reshape(e, value, &shape);
}

/* Where taps and positions lie along axis d, without the offset. */
static bool regular_positions(ry_emitter *e, const window *w, ry_dtype dtype, int d,
                              ry_value_id *tap, ry_value_id *position)
{
    const int64_t out = w->y.dim[d + 2];
    double *number = RY_TAKE(&e->graph->arena, double, w->taps > out ? w->taps : out);
    int64_t inner = 1;
    for (int i = d + 1; i < w->rank; i++) {
        inner *= w->attrs->kernel.at[i];
    }
    if (!number) {
        e->status = ry_fail_memory(e->error);
        return false;
    }
    for (int64_t t = 0; t < w->taps; t++) {
        number[t] =
            (double)(t / inner % w->attrs->kernel.at[d] * ry_ints_get(&w->attrs->dilation, d, 1));
    }
    *tap = along(e, dtype, w->taps, number, w->rank + 2, 1);
    for (int64_t o = 0; o < out; o++) {
        number[o] =
            (double)(o * ry_ints_get(&w->attrs->stride, d, 1) - ry_ints_get(&w->attrs->pads, d, 0));
    }
    *position = along(e, dtype, out, number, w->rank + 2, d + 2);
    return e->status == RYND_OK;
}

/* offset[N, groups * taps * rank, positions..], along axis d, as [N * groups, taps, positions..]. */
static ry_value_id offset_along(ry_emitter *e, const window *w, ry_value_id offset, int d)
{
    const int64_t tables = w->images * w->groups;
    const ry_shape split = {.rank = 3, .dim = {tables * w->taps, w->rank, w->positions}};
    ry_shape shape = {.rank = w->rank + 2, .dim = {tables, w->taps}};
    ry_attrs attrs = ry_attrs_default(RY_OP_slice);
    attrs.slice.axes = (ry_ints){.count = 1, .at = {1}};
    attrs.slice.starts = (ry_ints){.count = 1, .at = {d}};
    attrs.slice.ends = (ry_ints){.count = 1, .at = {d + 1}};
    for (int i = 0; i < w->rank; i++) {
        shape.dim[i + 2] = w->y.dim[i + 2];
    }
    const ry_value_id in = ry_emit_reshape(e, offset, &split);
    return ry_emit_reshape(e, ry_emit(e, RY_OP_slice, &attrs, 1, &in), &shape);
}

static ry_value_id flat(ry_emitter *e, const ry_sample *s, ry_value_id x)
{
    const ry_shape shape = {.rank = 2, .dim = {s->images, s->points}};
    return ry_emit_reshape(e, x, &shape);
}

static ry_sample sample_of(ry_emitter *e, const window *w, ry_value_id offset)
{
    ry_sample s = {.rank = w->rank,
                   .images = w->images * w->groups,
                   .points = w->taps * w->positions,
                   .channels = w->channels};
    const ry_dtype dtype = ry_emit_dtype(e, offset);
    for (int d = 0; d < s.rank; d++) {
        ry_sample_axis *axis = &s.axis[d];
        const ry_expr_parameter last = {"last", (double)(w->x.dim[d + 2] - 1)};
        ry_value_id in[3] = {offset_along(e, w, offset, d), RY_NO_VALUE, RY_NO_VALUE};
        axis->size = w->x.dim[d + 2];
        if (!regular_positions(e, w, dtype, d, &in[1], &in[2])) {
            break;
        }
        ry_sample_take_axis(e, axis, window_text, &last, 1, 3, in);
        for (int k = 0; k < axis->taps; k++) {
            axis->index[k] = flat(e, &s, axis->index[k]);
            axis->weight[k] = flat(e, &s, axis->weight[k]);
            axis->slope[k] = flat(e, &s, axis->slope[k]);
        }
    }
    s.first = ry_sample_first_rows(e, &s);
    return s;
}

/* y's gradient, whose channels are [group, tap, channel of the group], as rows of the points: [N,
 * offset group, tap, position], channels of the offset group. */
static ry_value_id column_rows(ry_emitter *e, const window *w, ry_value_id dy)
{
    const int64_t groups = w->attrs->groups, each = w->x.dim[1] / groups;
    const ry_shape whole = {.rank = 5, .dim = {w->images, groups, w->taps, each, w->positions}};
    const ry_ints taps_first = {.count = 5, .at = {0, 2, 1, 3, 4}},
                  channels_last = {.count = 5, .at = {0, 2, 1, 4, 3}};
    const ry_shape regrouped = {.rank = 5,
                                .dim = {w->images, w->taps, w->groups, w->channels, w->positions}};
    const ry_shape rows = {.rank = 2,
                           .dim = {w->images * w->groups * w->taps * w->positions, w->channels}};
    const ry_value_id turned = ry_emit_transpose(e, ry_emit_reshape(e, dy, &whole), &taps_first);
    return ry_emit_reshape(
        e, ry_emit_transpose(e, ry_emit_reshape(e, turned, &regrouped), &channels_last), &rows);
}

/* The slopes of all axes as the offset has them. */
static ry_value_id offset_gradient(ry_emitter *e, const window *w, const ry_value_id *position,
                                   const ry_shape *offset)
{
    const ry_shape part = {.rank = 3, .dim = {w->images * w->groups * w->taps, 1, w->positions}};
    ry_value_id parts[RY_SAMPLE_DIMS];
    ry_attrs join = ry_attrs_default(RY_OP_concat);
    join.concat.axis = 1;
    for (int d = 0; d < w->rank; d++) {
        parts[d] = ry_emit_reshape(e, position[d], &part);
    }
    return ry_emit_reshape(
        e, w->rank == 1 ? parts[0] : ry_emit(e, RY_OP_concat, &join, w->rank, parts), offset);
}

rynd_status ry_gradient_deform_columns(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    const window w = window_of(&e, &node);
    const bool masked = node.inputs > 2 && node.in[2] != RY_NO_VALUE;
    if (w.rank > RY_SAMPLE_DIMS || ry_shape_elements(&w.x) == 0 || ry_shape_elements(&w.y) == 0) {
        return ry_gradient_refuse(call, "an image of %d dims, or without elements, has no gradient",
                                  w.rank);
    }
    const ry_sample s = sample_of(&e, &w, node.in[1]);
    const ry_shape column = {.rank = 2, .dim = {s.images * s.points, 1}};
    const ry_value_id dy = column_rows(&e, &w, call->dy[0]);
    ry_value_id shown = dy; /* y's gradient times the mask */
    if (masked) {
        const ry_value_id in[] = {dy, ry_emit_reshape(&e, node.in[2], &column)};
        shown = ry_emit_expr(&e, "x0 * x1", 2, in);
    }
    if (call->wanted[0]) {
        const ry_shape rows = {.rank = 2,
                               .dim = {ry_shape_elements(&w.x) / s.channels, s.channels}};
        const ry_value_id zeros = ry_emit_filled(&e, ry_emit_dtype(&e, node.in[0]), &rows, 0);
        call->dx[0] = ry_sample_planes(&e, ry_sample_scatter(&e, &s, zeros, shown), s.images,
                                       s.channels, &w.x);
    }
    const ry_value_id x = call->wanted[1] || (masked && call->wanted[2])
                              ? ry_sample_rows(&e, node.in[0], s.images, s.channels)
                              : RY_NO_VALUE;
    ry_value_id position[RY_SAMPLE_DIMS], value;
    if (call->wanted[1]) {
        const ry_shape offset = ry_emit_shape(&e, node.in[1]);
        ry_sample_slopes(&e, &s, x, shown, position, NULL);
        call->dx[1] = offset_gradient(&e, &w, position, &offset);
    }
    if (masked && call->wanted[2]) {
        const ry_shape mask = ry_emit_shape(&e, node.in[2]);
        ry_sample_slopes(&e, &s, x, dy, position, &value);
        call->dx[2] = ry_emit_reshape(&e, value, &mask);
    }
    return e.status;
}

/* The two taps of sample `at` of bin x2 of an axis whose region has the ends x0 and x1. */
static const char region_text[] =
    "a = x0 * scale - offset; b = max(x1 * scale - offset - a, least); c = b / count; "
    "p = a + (x2 + at) * c; k = (p >= -1) & (p <= last + 1); q = min(max(p, 0), last); "
    "f = floor(q); t = q - f; "
    "y0 = cast(f, i64); y1 = cast(min(f + 1, last), i64); "
    "y2 = select(k, (1 - t) * share, 0); y3 = select(k, t * share, 0); y4 = 0 * t; y5 = 0 * t";

/* Column `i` of the regions, as [regions, 1, 1]. */
static ry_value_id region_end(ry_emitter *e, ry_value_id rois, int64_t regions, int64_t i)
{
    const ry_shape shape = {.rank = 3, .dim = {regions, 1, 1}};
    ry_attrs attrs = ry_attrs_default(RY_OP_slice);
    attrs.slice.axes = (ry_ints){.count = 1, .at = {1}};
    attrs.slice.starts = (ry_ints){.count = 1, .at = {i}};
    attrs.slice.ends = (ry_ints){.count = 1, .at = {i + 1}};
    return ry_emit_reshape(e, ry_emit(e, RY_OP_slice, &attrs, 1, &rois), &shape);
}

/* Sample `number` of the bins of axis d: 0 is the height. */
static void take_region_axis(ry_emitter *e, const ry_node *node, int64_t regions, int d,
                             int64_t number, ry_sample_axis *axis)
{
    const ry_roi_align_attrs *a = &node->attrs.roi_align;
    const int64_t bins = d == 0 ? a->output_height : a->output_width;
    const double samples = (double)a->sampling_ratio;
    const ry_expr_parameter parameters[] = {{"scale", a->spatial_scale},
                                            {"offset", a->half_pixel ? 0.5 : 0},
                                            {"least", a->half_pixel ? -HUGE_VAL : 1},
                                            {"count", (double)bins},
                                            {"at", ((double)number + 0.5) / samples},
                                            {"last", (double)(axis->size - 1)},
                                            {"share", 1 / samples}};
    double *index = RY_TAKE(&e->graph->arena, double, bins);
    if (!index) {
        e->status = ry_fail_memory(e->error);
        return;
    }
    for (int64_t i = 0; i < bins; i++) {
        index[i] = (double)i;
    }
    const ry_value_id in[] = {region_end(e, node->in[1], regions, 1 - d),
                              region_end(e, node->in[1], regions, 3 - d),
                              along(e, ry_emit_dtype(e, node->in[1]), bins, index, 3, d + 1)};
    ry_sample_take_axis(e, axis, region_text, parameters, 7, 3, in);
}

/* The samples of all bins, one after the other. The regions themselves have no gradient. */
rynd_status ry_gradient_roi_align(const ry_gradient_call *call)
{
    enum { MOST_SAMPLES = 8 };
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    const ry_roi_align_attrs *a = &node.attrs.roi_align;
    const ry_shape x = ry_emit_shape(&e, node.in[0]), y = ry_emit_shape(&e, node.out[0]);
    const int64_t regions = y.dim[0];
    if (a->max || a->sampling_ratio < 1 || a->sampling_ratio > MOST_SAMPLES) {
        return ry_gradient_refuse(
            call, "only averages with a sampling_ratio of 1 to %d have a gradient", MOST_SAMPLES);
    }
    if (!call->wanted[0] || ry_shape_elements(&x) == 0 || ry_shape_elements(&y) == 0) {
        return RYND_OK;
    }
    ry_sample s = {
        .rank = 2, .images = 1, .points = regions * y.dim[2] * y.dim[3], .channels = x.dim[1]};
    const ry_shape first = {.rank = 3, .dim = {regions, 1, 1}};
    const ry_shape rows = {.rank = 2, .dim = {x.dim[0] * x.dim[2] * x.dim[3], x.dim[1]}};
    const ry_expr_parameter image = {"image", (double)(x.dim[2] * x.dim[3])};
    s.first = ry_emit_reshape(
        &e, ry_emit_expr_with(&e, "cast(x0, i64) * image", &image, 1, 1, &node.in[2]), &first);
    const ry_value_id dy = ry_sample_rows(&e, call->dy[0], regions, x.dim[1]);
    ry_value_id sum = ry_emit_filled(&e, ry_emit_dtype(&e, node.in[0]), &rows, 0);
    for (int64_t i = 0; i < a->sampling_ratio * a->sampling_ratio && e.status == RYND_OK; i++) {
        for (int d = 0; d < 2; d++) {
            s.axis[d] = (ry_sample_axis){.size = x.dim[d + 2]};
            take_region_axis(&e, &node, regions, d,
                             d == 0 ? i / a->sampling_ratio : i % a->sampling_ratio, &s.axis[d]);
        }
        sum = ry_sample_scatter(&e, &s, sum, dy);
    }
    call->dx[0] = ry_sample_planes(&e, sum, x.dim[0], x.dim[1], &x);
    return e.status;
}
