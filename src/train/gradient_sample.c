/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of reading images at the positions of a grid, of the grid, and of col2im. */
#include "train/gradient.h"
#include "train/sample_rows.h"

#include <stdio.h>
#include <string.h>

/* The taps of an axis, from the normalised position x0: those of kernels/common/grid_map.h. q is
 * the position that the padding rule gives, s its slope. */
#define TO_PIXELS "r = min(max((x0 + 1) * factor + shift, -2147483648), 2147483648); "
#define STAYS     "q = p; s = 1 + 0 * p; "
#define BORDER                                                                                  \
    "q = select((p < low) | (p > high), min(max(p, 0), last), p); s = select((p < low) | (p > " \
    "high), 0 * p, 1 + 0 * p); "
#define REFLECTION                                                                           \
    "m = fmod(abs(p - low), 2 * range); q = low + select(m > range, 2 * range - m, m); s = " \
    "select(m > range, 0 * p - 1, 1 + 0 * p) * select(p < low, 0 * p - 1, 1 + 0 * p); "
#define LINEAR \
    "f = floor(q); t = q - f; a0 = f; a1 = f + 1; w0 = 1 - t; w1 = t; d0 = 0 - s; d1 = s; "
#define CUBIC                                                                           \
    "f = floor(q); t = q - f; u = 1 - t; a0 = f - 1; a1 = f; a2 = f + 1; a3 = f + 2; "  \
    "w0 = ((-0.75 * (t + 1) + 3.75) * (t + 1) - 6) * (t + 1) + 3; "                     \
    "w1 = (1.25 * t - 2.25) * t * t + 1; w2 = (1.25 * u - 2.25) * u * u + 1; "          \
    "w3 = ((-0.75 * (u + 1) + 3.75) * (u + 1) - 6) * (u + 1) + 3; "                     \
    "d0 = s * ((-2.25 * (t + 1) + 7.5) * (t + 1) - 6); d1 = s * (3.75 * t - 4.5) * t; " \
    "d2 = 0 - s * (3.75 * u - 4.5) * u; d3 = 0 - s * ((-2.25 * (u + 1) + 7.5) * (u + 1) - 6); "
#define NEAREST "a0 = q; w0 = 1 + 0 * q; d0 = 0 * q; "

/* Where tap k is read, in b<k>; its weight is 0 if it is outside and nothing is there. */
static const char *const inside[] = {
    [RY_grid_padding_zeros] = "i%d = (a%d >= 0) & (a%d <= last); b%d = a%d; v%d = select(i%d, w%d, "
                              "0); e%d = select(i%d, d%d, 0); ",
    [RY_grid_padding_border] = "b%d = a%d; v%d = w%d; e%d = d%d; ",
    [RY_grid_padding_reflection] =
        "m%d = fmod(abs(a%d - low), 2 * range); n%d = low + select(m%d > range, 2 * range - m%d, "
        "m%d); b%d = select((a%d < low) | (a%d > high), n%d, a%d); v%d = w%d; e%d = d%d; ",
};

typedef struct text {
    char at[4096];
    size_t used;
} text;

static void add(text *t, const char *part)
{
    const size_t left = sizeof t->at - 1 - t->used, length = strlen(part);
    memcpy(t->at + t->used, part, length < left ? length : left);
    t->used += length < left ? length : left;
    t->at[t->used] = 0;
}

/* Adds a text with the tap's number for each "%d". */
static void add_of_tap(text *t, const char *format, int tap)
{
    for (const char *c = format; *c; c++) {
        const bool number = c[0] == '%' && c[1] == 'd';
        add(t, (const char[]){number ? (char)('0' + tap) : *c, 0});
        c += number;
    }
}

static void write_axis(text *t, const ry_grid_sample_attrs *a)
{
    const bool cubic = a->mode == RY_grid_mode_cubic, nearest = a->mode == RY_grid_mode_nearest;
    const int taps = cubic ? 4 : nearest ? 1 : 2;
    add(t, TO_PIXELS);
    add(t, nearest ? "p = round(r); " : "p = r; ");
    add(t, cubic || a->padding == RY_grid_padding_zeros ? STAYS
           : a->padding == RY_grid_padding_border       ? BORDER
                                                        : REFLECTION);
    add(t, cubic ? CUBIC : nearest ? NEAREST : LINEAR);
    for (int k = 0; k < taps; k++) {
        add_of_tap(t, inside[a->padding], k);
    }
    for (int part = 0; part < 3; part++) {
        for (int k = 0; k < taps; k++) {
            char line[80];
            snprintf(line, sizeof line,
                     part == 0   ? "%sy%d = cast(min(max(b%d, 0), last), i64)"
                     : part == 1 ? "%sy%d = v%d"
                                 : "%sy%d = e%d",
                     part + k ? "; " : "", part * taps + k, k);
            add(t, line);
        }
    }
}

/* Along one axis. */
static void take_axis(ry_emitter *e, const ry_grid_sample_attrs *a, ry_value_id normal,
                      ry_sample_axis *axis)
{
    const double size = (double)axis->size;
    const double low = a->align_corners ? 0 : -0.5, high = size - (a->align_corners ? 1 : 0.5);
    const ry_expr_parameter parameters[] = {
        {"factor", a->align_corners ? (size - 1) / 2 : size / 2},
        {"shift", a->align_corners ? 0 : -0.5},
        {"low", low},
        {"high", high},
        {"last", size - 1},
        {"range", high > low ? high - low : 1}};
    text t = {.used = 0};
    write_axis(&t, a);
    ry_sample_take_axis(e, axis, t.at, parameters, 6, 1, &normal);
}

/* Elements [from, to) of the last dim. */
static ry_value_id cut(ry_emitter *e, ry_value_id x, int64_t from, int64_t to)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_slice);
    attrs.slice.axes = (ry_ints){.count = 1, .at = {-1}};
    attrs.slice.starts = (ry_ints){.count = 1, .at = {from}};
    attrs.slice.ends = (ry_ints){.count = 1, .at = {to}};
    return ry_emit(e, RY_OP_slice, &attrs, 1, &x);
}

/* The positions' slopes as the grid has them: the last dim first. */
static ry_value_id grid_gradient(ry_emitter *e, const ry_sample *s, const ry_grid_sample_attrs *a,
                                 const ry_value_id *position, const ry_shape *grid)
{
    const ry_shape column = {.rank = 2, .dim = {s->images * s->points, 1}};
    ry_value_id part[RY_SAMPLE_DIMS];
    ry_attrs join = ry_attrs_default(RY_OP_concat);
    join.concat.axis = 1;
    for (int d = 0; d < s->rank; d++) {
        const double size = (double)s->axis[d].size;
        const ry_expr_parameter factor = {"f", a->align_corners ? (size - 1) / 2 : size / 2};
        part[s->rank - 1 - d] = ry_emit_reshape(
            e, ry_emit_expr_with(e, "x0 * f", &factor, 1, 1, &position[d]), &column);
    }
    return ry_emit_reshape(
        e, s->rank == 1 ? part[0] : ry_emit(e, RY_OP_concat, &join, s->rank, part), grid);
}

/* An image, [images, channels, dims..], as planes or rows. */
static ry_value_id as_lines(ry_emitter *e, const ry_sample *s, ry_value_id x)
{
    const ry_shape shape = ry_emit_shape(e, x);
    const ry_shape planes = {
        .rank = 3,
        .dim = {s->images, s->channels, ry_shape_elements(&shape) / (s->images * s->channels)}};
    return s->planes ? ry_emit_reshape(e, x, &planes)
                     : ry_sample_rows(e, x, s->images, s->channels);
}

rynd_status ry_gradient_grid_sample(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    const ry_grid_sample_attrs *a = &node.attrs.grid_sample;
    const ry_shape x = ry_emit_shape(&e, node.in[0]), grid = ry_emit_shape(&e, node.in[1]),
                   y = ry_emit_shape(&e, node.out[0]);
    ry_sample s = {.rank = x.rank - 2, .images = x.dim[0], .channels = x.dim[1], .points = 1};
    if (s.rank > RY_SAMPLE_DIMS || ry_shape_elements(&x) == 0 || ry_shape_elements(&y) == 0) {
        return ry_gradient_refuse(call, "an image of %d dims, or without elements, has no gradient",
                                  s.rank);
    }
    for (int d = 0; d < s.rank; d++) {
        s.points *= y.dim[d + 2];
    }
    const ry_shape flat = {.rank = 2, .dim = {s.images, s.points}};
    for (int d = 0; d < s.rank; d++) {
        s.axis[d].size = x.dim[d + 2];
        const int64_t at = s.rank - 1 - d;
        const ry_value_id normal = ry_emit_reshape(&e, cut(&e, node.in[1], at, at + 1), &flat);
        take_axis(&e, a, normal, &s.axis[d]);
    }
    s.planes = s.channels < RY_SAMPLE_ROW;
    s.first = s.planes ? ry_emit_scalar(&e, RY_i64, 0) : ry_sample_first_rows(&e, &s);
    const ry_value_id dy = as_lines(&e, &s, call->dy[0]);
    if (call->wanted[0]) {
        const ry_value_id zeros = ry_emit_filled(&e, ry_emit_dtype(&e, node.in[0]), &x, 0);
        const ry_value_id sum = ry_sample_scatter(&e, &s, as_lines(&e, &s, zeros), dy);
        call->dx[0] = s.planes ? ry_emit_reshape(&e, sum, &x)
                               : ry_sample_planes(&e, sum, s.images, s.channels, &x);
    }
    if (call->wanted[1] && a->mode != RY_grid_mode_nearest) {
        ry_value_id position[RY_SAMPLE_DIMS];
        ry_sample_slopes(&e, &s, as_lines(&e, &s, node.in[0]), dy, position, NULL);
        call->dx[1] = grid_gradient(&e, &s, a, position, &grid);
    }
    return e.status;
}

/* The grid is a product of theta with the positions, which the grid of a unit theta has. */
rynd_status ry_gradient_affine_grid(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    const ry_shape grid = ry_emit_shape(&e, node.out[0]);
    const int rank = grid.rank - 2;
    const ry_dtype dtype = ry_emit_dtype(&e, node.in[0]);
    const ry_shape unit = {.rank = 3, .dim = {1, rank, rank + 1}};
    int64_t size[RY_MAX_RANK] = {1, 1}, points = 1;
    for (int d = 0; d < rank; d++) {
        size[d + 2] = grid.dim[d + 1];
        points *= grid.dim[d + 1];
    }
    const ry_value_id theta = ry_graph_add_constant(e.graph, NULL, dtype, &unit, NULL);
    if (theta == RY_NO_VALUE) {
        return ry_fail_memory(e.error);
    }
    for (int d = 0; d < rank; d++) {
        ry_set_f64(dtype, ry_graph_constant_data(e.graph, theta), d * (rank + 1) + d, 1);
    }
    const ry_value_id in[] = {theta, ry_emit_i64s(&e, rank + 2, size)};
    const ry_shape flat = {.rank = 2, .dim = {points, rank}},
                   ones = {.rank = 2, .dim = {points, 1}},
                   many = {.rank = 3, .dim = {grid.dim[0], points, rank}};
    const ry_ints turn = {.count = 3, .at = {0, 2, 1}};
    const ry_value_id positions[] = {
        ry_emit_reshape(&e, ry_emit(&e, RY_OP_affine_grid, &node.attrs, 2, in), &flat),
        ry_emit_filled(&e, dtype, &ones, 1)};
    ry_attrs join = ry_attrs_default(RY_OP_concat);
    join.concat.axis = 1;
    const ry_value_id product[] = {
        ry_emit_transpose(&e, ry_emit_reshape(&e, call->dy[0], &many), &turn),
        ry_emit(&e, RY_OP_concat, &join, 2, positions)};
    call->dx[0] = ry_emit(&e, RY_OP_matmul, NULL, 2, product);
    return e.status;
}

/* What tap `at` of each block reads of the padded image. */
static ry_value_id read_tap(ry_emitter *e, const ry_col2im_attrs *a, ry_value_id padded,
                            const int64_t *at, const int64_t *blocks)
{
    const int rank = a->image.count;
    ry_attrs attrs = ry_attrs_default(RY_OP_slice);
    ry_slice_attrs *slice = &attrs.slice;
    for (int d = 0; d < rank; d++) {
        const int64_t step = ry_ints_get(&a->stride, d, 1);
        const int64_t from = at[d] * ry_ints_get(&a->dilation, d, 1);
        slice->axes.at[slice->axes.count++] = d + 2;
        slice->starts.at[slice->starts.count++] = from;
        slice->ends.at[slice->ends.count++] = from + (blocks[d] - 1) * step + 1;
        slice->steps.at[slice->steps.count++] = step;
    }
    return ry_emit(e, RY_OP_slice, &attrs, 1, &padded);
}

static ry_value_id pad_image(ry_emitter *e, const ry_col2im_attrs *a, ry_value_id image)
{
    const int rank = a->image.count;
    ry_attrs attrs = ry_attrs_default(RY_OP_pad);
    bool any = false;
    attrs.pad.pads.count = 2 * (rank + 2);
    for (int d = 0; d < rank; d++) {
        attrs.pad.pads.at[d + 2] = ry_ints_get(&a->pads, d, 0);
        attrs.pad.pads.at[rank + 2 + d + 2] = ry_ints_get(&a->pads, rank + d, 0);
        any = any || ry_ints_get(&a->pads, d, 0) || ry_ints_get(&a->pads, rank + d, 0);
    }
    return any ? ry_emit(e, RY_OP_pad, &attrs, 1, &image) : image;
}

/* Every block takes back what it gave: a slice for each of its taps. */
rynd_status ry_gradient_col2im(const ry_gradient_call *call)
{
    enum { MOST_TAPS = 4096 };
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    const ry_col2im_attrs *a = &node.attrs.col2im;
    const ry_shape x = ry_emit_shape(&e, node.in[0]), y = ry_emit_shape(&e, node.out[0]);
    const int rank = a->image.count;
    int64_t blocks[RY_MAX_RANK], at[RY_MAX_RANK] = {0}, taps = 1, all = 1;
    for (int d = 0; d < rank; d++) {
        const int64_t reach = (a->block.at[d] - 1) * ry_ints_get(&a->dilation, d, 1) + 1;
        blocks[d] = (a->image.at[d] + ry_ints_get(&a->pads, d, 0) +
                     ry_ints_get(&a->pads, rank + d, 0) - reach) /
                        ry_ints_get(&a->stride, d, 1) +
                    1;
        taps *= a->block.at[d];
        all *= blocks[d];
    }
    ry_value_id *part = RY_TAKE(&e.graph->arena, ry_value_id, taps > MOST_TAPS ? 0 : taps);
    if (!part) {
        return ry_fail_memory(e.error);
    }
    if (taps > MOST_TAPS || ry_shape_elements(&x) == 0) {
        return ry_gradient_refuse(call, "blocks of %lld elements have no gradient",
                                  (long long)taps);
    }
    const ry_value_id padded = pad_image(&e, a, call->dy[0]);
    const ry_shape one = {.rank = 4, .dim = {y.dim[0], y.dim[1], 1, all}};
    int64_t count = 0;
    do {
        part[count++] = ry_emit_reshape(&e, read_tap(&e, a, padded, at, blocks), &one);
    } while (e.status == RYND_OK && ry_index_next(rank, a->block.at, at));
    ry_attrs join = ry_attrs_default(RY_OP_concat);
    join.concat.axis = 2;
    if (e.status == RYND_OK) {
        call->dx[0] = ry_emit_reshape(&e, ry_emit(&e, RY_OP_concat, &join, (int)count, part), &x);
    }
    return e.status;
}
