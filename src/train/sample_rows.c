/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers and scatters of rows, corner by corner, in a fixed order: the same bits at any number of
 * threads. */
#include "train/sample_rows.h"

void ry_sample_take_axis(ry_emitter *e, ry_sample_axis *axis, const char *text,
                         const ry_expr_parameter *parameters, int parameter_count, int inputs,
                         const ry_value_id *in)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_expr);
    ry_value_id out[3 * RY_SAMPLE_TAPS];
    attrs.expr.program = ry_emit_program_with(e, text, parameters, parameter_count);
    const int count = attrs.expr.program ? attrs.expr.program->outputs / 3 : 0;
    if (!ry_emit_outputs(e, RY_OP_expr, &attrs, inputs, in, 3 * count, NULL, out)) {
        return;
    }
    axis->taps = count;
    for (int j = 0; j < count; j++) {
        axis->index[j] = out[j];
        axis->weight[j] = out[count + j];
        axis->slope[j] = out[2 * count + j];
    }
}

ry_value_id ry_sample_rows(ry_emitter *e, ry_value_id x, int64_t images, int64_t channels)
{
    const ry_ints turn = {.count = 3, .at = {0, 2, 1}};
    const ry_shape whole = ry_emit_shape(e, x);
    const int64_t each =
        images * channels > 0 ? ry_shape_elements(&whole) / (images * channels) : 0;
    const ry_shape planes = {.rank = 3, .dim = {images, channels, each}};
    const ry_shape rows = {.rank = 2, .dim = {images * each, channels}};
    return ry_emit_reshape(e, ry_emit_transpose(e, ry_emit_reshape(e, x, &planes), &turn), &rows);
}

ry_value_id ry_sample_planes(ry_emitter *e, ry_value_id rows, int64_t images, int64_t channels,
                             const ry_shape *shape)
{
    const ry_ints turn = {.count = 3, .at = {0, 2, 1}};
    const int64_t each = images * channels > 0 ? ry_shape_elements(shape) / (images * channels) : 0;
    const ry_shape split = {.rank = 3, .dim = {images, each, channels}};
    return ry_emit_reshape(e, ry_emit_transpose(e, ry_emit_reshape(e, rows, &split), &turn), shape);
}

ry_value_id ry_sample_first_rows(ry_emitter *e, const ry_sample *s)
{
    const ry_shape shape = {.rank = 1, .dim = {s->images}},
                   column = {.rank = 2, .dim = {s->images, 1}};
    int64_t rows = 1;
    for (int d = 0; d < s->rank; d++) {
        rows *= s->axis[d].size;
    }
    if (e->status != RYND_OK) {
        return RY_NO_VALUE;
    }
    const ry_value_id first = ry_graph_add_constant(e->graph, NULL, RY_i64, &shape, NULL);
    if (first == RY_NO_VALUE) {
        e->status = ry_fail_memory(e->error);
        return RY_NO_VALUE;
    }
    int64_t *number = ry_graph_constant_data(e->graph, first);
    for (int64_t i = 0; i < s->images; i++) {
        number[i] = i * rows;
    }
    return ry_emit_reshape(e, first, &column);
}

/* One tap of each axis. */
typedef struct corner {
    int tap[RY_SAMPLE_DIMS];
} corner;

static bool next_corner(const ry_sample *s, corner *c)
{
    for (int d = s->rank - 1; d >= 0; d--) {
        if (++c->tap[d] < s->axis[d].taps) {
            return true;
        }
        c->tap[d] = 0;
    }
    return false;
}

/* The shape of a number a point, which broadcasts with rows or planes of points. */
static ry_shape point_shape(const ry_sample *s)
{
    return s->planes ? (ry_shape){.rank = 3, .dim = {s->images, 1, s->points}}
                     : (ry_shape){.rank = 2, .dim = {s->images * s->points, 1}};
}

/* The rows that a corner reads, [images * points]; planes: the positions, [images, channels,
 * points]. */
static ry_value_id rows_of(ry_emitter *e, const ry_sample *s, const corner *c)
{
    const ry_shape all = {.rank = 3, .dim = {s->images, s->channels, s->points}};
    const ry_shape points = s->planes ? point_shape(s)
                                      : (ry_shape){.rank = 1, .dim = {s->images * s->points}},
                   grid = {.rank = 2, .dim = {s->images, s->points}};
    ry_value_id in[RY_SAMPLE_DIMS + 1];
    double stride = 1;
    ry_expr_parameter strides[] = {{"s0", 0}, {"s1", 0}, {"s2", 0}};
    for (int d = s->rank - 1; d >= 0; d--) {
        in[d] = s->axis[d].index[c->tap[d]];
        strides[d].value = stride;
        stride *= (double)s->axis[d].size;
    }
    in[s->rank] = s->first;
    static const char *const texts[] = {"x1 + x0 * s0", "x2 + x0 * s0 + x1 * s1",
                                        "x3 + x0 * s0 + x1 * s1 + x2 * s2"};
    const ry_value_id rows =
        ry_emit_expr_with(e, texts[s->rank - 1], strides, s->rank, s->rank + 1, in);
    const ry_shape found = ry_emit_shape(e, rows);
    const ry_value_id whole =
        ry_shape_equal(&found, &grid) || found.rank > 2 ? rows : ry_emit_expand(e, rows, &grid);
    const ry_value_id list = ry_emit_reshape(e, whole, &points);
    return s->planes ? ry_emit_expand(e, list, &all) : list;
}

/* The product of a corner's weights, with axis `slope`'s slope in place of its weight; -1: none. */
static ry_value_id weight_of(ry_emitter *e, const ry_sample *s, const corner *c, int slope)
{
    static const char *const texts[] = {"x0", "x0 * x1", "x0 * x1 * x2"};
    ry_value_id in[RY_SAMPLE_DIMS];
    for (int d = 0; d < s->rank; d++) {
        in[d] = d == slope ? s->axis[d].slope[c->tap[d]] : s->axis[d].weight[c->tap[d]];
    }
    const ry_shape column = point_shape(s);
    return ry_emit_reshape(
        e, s->rank == 1 ? in[0] : ry_emit_expr(e, texts[s->rank - 1], s->rank, in), &column);
}

ry_value_id ry_sample_scatter(ry_emitter *e, const ry_sample *s, ry_value_id into, ry_value_id dy)
{
    const ry_shape tuples = {.rank = 2, .dim = {s->images * s->points, 1}};
    const ry_op op = s->planes ? RY_OP_scatter_elements : RY_OP_scatter_nd;
    ry_attrs attrs = ry_attrs_default(op);
    if (s->planes) {
        attrs.scatter_elements.axis = 2;
        attrs.scatter_elements.reduction = RY_scatter_reduction_add;
    } else {
        attrs.scatter_nd.reduction = RY_scatter_reduction_add;
    }
    corner c = {{0}};
    do {
        const ry_value_id part[] = {dy, weight_of(e, s, &c, -1)};
        const ry_value_id rows = rows_of(e, s, &c);
        const ry_value_id in[] = {into, s->planes ? rows : ry_emit_reshape(e, rows, &tuples),
                                  ry_emit_expr(e, "x0 * x1", 2, part)};
        into = ry_emit(e, op, &attrs, 3, in);
    } while (e->status == RYND_OK && next_corner(s, &c));
    return into;
}

/* sum + weight * share; the first: weight * share */
static ry_value_id add_share(ry_emitter *e, ry_value_id sum, ry_value_id weight, ry_value_id share)
{
    const ry_value_id in[] = {weight, share, sum};
    return sum == RY_NO_VALUE ? ry_emit_expr(e, "x0 * x1", 2, in)
                              : ry_emit_expr(e, "x2 + x0 * x1", 3, in);
}

void ry_sample_slopes(ry_emitter *e, const ry_sample *s, ry_value_id x, ry_value_id dy,
                      ry_value_id *position, ry_value_id *value)
{
    const ry_ints channels = {.count = 1, .at = {1}};
    const ry_op op = s->planes ? RY_OP_gather_elements : RY_OP_gather;
    ry_attrs attrs = ry_attrs_default(op);
    if (s->planes) {
        attrs.gather_elements.axis = 2;
    }
    for (int d = 0; d < s->rank; d++) {
        position[d] = RY_NO_VALUE;
    }
    if (value) {
        *value = RY_NO_VALUE;
    }
    corner c = {{0}};
    do {
        const ry_value_id gathered[] = {x, rows_of(e, s, &c)};
        const ry_value_id in[] = {ry_emit(e, op, &attrs, 2, gathered), dy};
        const ry_value_id share = ry_emit_reduce(e, "sum(x0 * x1)", &channels, true, 2, in);
        for (int d = 0; d < s->rank; d++) {
            position[d] = add_share(e, position[d], weight_of(e, s, &c, d), share);
        }
        if (value) {
            *value = add_share(e, *value, weight_of(e, s, &c, -1), share);
        }
    } while (e->status == RYND_OK && next_corner(s, &c));
}
