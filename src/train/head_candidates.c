/* SPDX-License-Identifier: Apache-2.0 */
/* From the outputs of a detection head to candidates: tasks/decode.c as nodes, with gradients. */
#include "train/head_candidates.h"

#include "tasks/codings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Most candidates of a picture: their places are constants. */
enum { MOST = 1 << 22 };

static const char around[] = "; y0 = x - w / 2; y1 = y - h / 2; y2 = x + w / 2; y3 = y + h / 2";

/* The codings of tasks/codings.c as programs. x0 to x3 are the raw numbers. `reads` names the
 * further inputs: x, y the cell's column and row with the head's centre, s its stride, w, h its
 * anchor, p the spread. `wide` and `tall` are the input's sides. */
static const struct {
    ry_head_coding *coding;
    const char *reads, *text;
    bool centred; /* `around` follows */
} codings[] = {
    {ry_coding_corners, "", "y0 = x0; y1 = x1; y2 = x2; y3 = x3", false},
    {ry_coding_rows, "", "y0 = x1; y1 = x0; y2 = x3; y3 = x2", false},
    {ry_coding_centre, "", "x = x0; y = x1; w = x2; h = x3", true},
    {ry_coding_grid, "xys",
     "x = (x4 + x0) * x6; y = (x5 + x1) * x6; w = exp(x2) * x6; h = exp(x3) * x6", true},
    {ry_coding_anchor, "xyswhp",
     "b = (x9 - 1) / 2; x = (sigmoid(x0) * x9 - b + x4) * x6; y = (sigmoid(x1) * x9 - b + x5) * "
     "x6; w = exp(x2) * x7; h = exp(x3) * x8",
     true},
    {ry_coding_square, "xyswh",
     "x = (2 * sigmoid(x0) - 0.5 + x4) * x6; y = (2 * sigmoid(x1) - 0.5 + x5) * x6; "
     "a = 2 * sigmoid(x2); b = 2 * sigmoid(x3); w = a * a * x7; h = b * b * x8",
     true},
    {ry_coding_distance, "xys",
     "y0 = (x4 - x0) * x6; y1 = (x5 - x1) * x6; y2 = (x4 + x2) * x6; y3 = (x5 + x3) * x6", false},
    {ry_coding_prior, "xyswh",
     "x = x4 * x6 + 0.1 * x0 * x7; y = x5 * x6 + 0.1 * x1 * x8; w = x7 * exp(0.2 * x2); "
     "h = x8 * exp(0.2 * x3)",
     true},
    {ry_coding_tanh, "xys",
     "x = (tanh(x0) + x4) * x6; y = (tanh(x1) + x5) * x6; w = sigmoid(x2) * wide; "
     "h = sigmoid(x3) * tall",
     true},
};

typedef struct making {
    ry_emitter *e;
    const ry_head_view *view;
    ry_candidates *to;
    ry_dtype dtype;
    ry_value_id box, bins, prior;
} making;

static void find_sides(const ry_graph *graph, ry_head_outputs *outputs)
{
    outputs->height = outputs->width = -1;
    for (size_t i = 0; i < graph->input_count && outputs->height < 0; i++) {
        const ry_shape *shape = &graph->values[graph->inputs[i]].shape;
        if (shape->rank == 4) {
            const bool last = shape->dim[3] == 3 || shape->dim[3] == 1;
            outputs->height = shape->dim[last ? 1 : 2] > 0 ? shape->dim[last ? 1 : 2] : -1;
            outputs->width = shape->dim[last ? 2 : 3] > 0 ? shape->dim[last ? 2 : 3] : -1;
        }
    }
}

rynd_status ry_head_view_of(const ry_graph *graph, const char *name, ry_arena *arena,
                            ry_head_view *view, ry_error *error)
{
    const size_t count = graph->output_count;
    const char **names = RY_TAKE(arena, const char *, count);
    ry_tensor *tensors = RY_TAKE(arena, ry_tensor, count);
    if (!names || !tensors) {
        return ry_fail_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        const ry_value *value = &graph->values[graph->outputs[i]];
        names[i] = value->name;
        tensors[i].rank = value->shape.rank;
        for (int d = 0; d < value->shape.rank; d++) {
            tensors[i].dim[d] = value->shape.dim[d] < 0 ? -1 : value->shape.dim[d];
        }
    }
    view->outputs = (ry_head_outputs){.names = names, .tensors = tensors, .count = count};
    find_sides(graph, &view->outputs);
    return ry_head_find(name, &view->outputs, &view->match, error);
}

rynd_status ry_head_check_trainable(const ry_head *head, ry_error *error)
{
    static const char fits[] =
        "train the network by its own program, or export it before suppression: heads as yolov8, "
        "yolov5, yolox, yolov3 or ssd have a loss (docs/training.md)";
    for (int p = 0; p < RY_HEAD_PARTS && head->parts[p].fields; p++) {
        if (strchr(head->parts[p].fields, 's')) {
            return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                           "head '%s' (%s) has no loss: its boxes are selected inside the model, "
                           "where no gradient passes; %s",
                           head->name, head->about, fits);
        }
    }
    return head->queries ? ry_fail(error, RYND_ERROR_UNSUPPORTED,
                                   "head '%s' (%s) has no loss: its queries are matched one to one "
                                   "with objects, which is not implemented; %s",
                                   head->name, head->about, fits)
                         : RYND_OK;
}

static ry_value_id part_of(ry_emitter *e, ry_value_id v, int64_t first, int64_t count)
{
    const ry_shape shape = ry_emit_shape(e, v);
    ry_attrs attrs = ry_attrs_default(RY_OP_slice);
    attrs.slice.axes = (ry_ints){1, {1}};
    attrs.slice.starts = (ry_ints){1, {first}};
    attrs.slice.ends = (ry_ints){1, {first + count}};
    attrs.slice.steps = (ry_ints){1, {1}};
    return e->status == RYND_OK && shape.dim[1] == count ? v
                                                         : ry_emit(e, RY_OP_slice, &attrs, 1, &v);
}

/* An output as [N, c, A]. */
static ry_value_id rows_of(ry_emitter *e, const char *layout, int64_t each, ry_value_id v)
{
    static const char order[] = "nchwkax";
    const ry_shape shape = ry_emit_shape(e, v);
    char letters[RY_MAX_RANK + 2] = "";
    ry_shape split = {.rank = 0}, rows = {.rank = 3, .dim = {1, 1, 1}};
    ry_ints perm = {.count = 0};
    for (int d = 0; layout[d]; d++) {
        if (layout[d] == 'C') {
            letters[split.rank] = 'k';
            split.dim[split.rank++] = each;
        }
        letters[split.rank] = layout[d] == 'C' ? 'c' : layout[d];
        split.dim[split.rank++] = layout[d] == 'C' ? shape.dim[d] / each : shape.dim[d];
    }
    for (const char *letter = order; *letter; letter++) {
        const char *at = strchr(letters, *letter);
        if (at) {
            rows.dim[*letter == 'n' ? 0 : *letter == 'c' ? 1 : 2] *= split.dim[at - letters];
            perm.at[perm.count++] = at - letters;
        }
    }
    const ry_value_id apart = ry_emit_reshape(e, v, &split);
    return ry_emit_reshape(e, ry_emit_transpose(e, apart, &perm), &rows);
}

/* Takes the fields of a part. */
static void take_fields(making *m, const ry_head_part *part, ry_value_id rows)
{
    int64_t first = 0;
    for (const char *text = part->fields; *text; text += *text == ' ') {
        char *end = NULL;
        const bool rest = text[1] == '*';
        const int64_t count = rest ? m->view->match.classes : strtol(text + 1, &end, 10);
        ry_value_id *const to = *text == 'b'   ? &m->box
                                : *text == 'd' ? &m->bins
                                : *text == 'p' ? &m->prior
                                : *text == 'o' ? &m->to->object
                                : *text == 'c' ? &m->to->scores
                                               : NULL;
        if (to) {
            *to = part_of(m->e, rows, first, count);
        }
        if (*text == 'c') {
            m->to->classes = count;
        }
        first += count;
        text = rest ? text + 2 : end;
    }
}

static void take_part(making *m, const ry_graph *graph, int p)
{
    const ry_head *head = m->view->match.head;
    const ry_head_part *part = &head->parts[p];
    const int levels = head->split ? ry_head_level_count(head) : 1;
    ry_value_id rows[RY_HEAD_LEVELS];
    for (int l = 0; l < levels; l++) {
        rows[l] = rows_of(m->e, part->layout, head->levels[l].each,
                          graph->outputs[m->view->match.output[p][l]]);
    }
    ry_attrs join = ry_attrs_default(RY_OP_concat);
    join.concat.axis = 2;
    take_fields(m, part, levels == 1 ? rows[0] : ry_emit(m->e, RY_OP_concat, &join, levels, rows));
}

/* Expectation over the bins 0, 1, ...: [N, 4 * bins, A] gives [N, 4, A]. */
static ry_value_id mean_bins(const making *m)
{
    const ry_shape shape = ry_emit_shape(m->e, m->bins);
    const int64_t each = shape.dim[1] / 4;
    const ry_shape sides = {.rank = 4, .dim = {shape.dim[0], 4, each, shape.dim[2]}},
                   numbers = {.rank = 4, .dim = {1, 1, each, 1}};
    ry_attrs softmax = ry_attrs_default(RY_OP_softmax);
    softmax.softmax.axis = 2;
    const ry_value_id split = ry_emit_reshape(m->e, m->bins, &sides);
    ry_value_id in[2] = {ry_emit(m->e, RY_OP_softmax, &softmax, 1, &split),
                         m->e->status == RYND_OK
                             ? ry_graph_add_constant(m->e->graph, NULL, m->dtype, &numbers, NULL)
                             : RY_NO_VALUE};
    if (in[1] == RY_NO_VALUE) {
        ry_emit_fail(m->e, RYND_ERROR_OUT_OF_MEMORY, "out of memory");
        return in[1];
    }
    for (int64_t i = 0; i < each; i++) {
        ry_set_f64(m->dtype, ry_graph_constant_data(m->e->graph, in[1]), i, (double)i);
    }
    return ry_emit_reduce(m->e, "sum(x0 * x1)", &(ry_ints){1, {2}}, false, 2, in);
}

/* Where a candidate is in its level. */
typedef struct cell {
    const ry_head *head;
    const ry_head_level *level;
    int64_t row, column;
    int anchor;
} cell;

/* A number of a cell by its letter: as in `codings`, and X, Y the centre in pixels. */
static double number_of(const cell *c, char letter)
{
    const double stride = c->level->stride;
    const float *anchor = c->level->anchors ? c->level->anchors[c->anchor] : NULL;
    switch (letter) {
    case 'x': return (double)c->column + c->head->centre;
    case 'y': return (double)c->row + c->head->centre;
    case 'X': return ((double)c->column + 0.5) * stride;
    case 'Y': return ((double)c->row + 0.5) * stride;
    case 'w': return anchor ? (double)anchor[0] : 0;
    case 'h': return anchor ? (double)anchor[1] : 0;
    case 'p': return c->level->spread > 0 ? (double)c->level->spread : 1;
    default: return stride;
    }
}

/* A number of all cells, [1, 1, A]. */
static ry_value_id cells(const making *m, char letter)
{
    const ry_head_outputs *outputs = &m->view->outputs;
    const ry_shape shape = {.rank = 3, .dim = {1, 1, m->to->count}};
    cell c = {.head = m->view->match.head};
    int64_t i = 0;
    if (m->e->status != RYND_OK) {
        return RY_NO_VALUE;
    }
    const ry_value_id v = ry_graph_add_constant(m->e->graph, NULL, m->dtype, &shape, NULL);
    if (v == RY_NO_VALUE) {
        ry_emit_fail(m->e, RYND_ERROR_OUT_OF_MEMORY, "out of memory");
        return v;
    }
    void *data = ry_graph_constant_data(m->e->graph, v);
    for (int l = 0; l < ry_head_level_count(c.head); l++) {
        c.level = &c.head->levels[l];
        const int64_t rows = ry_head_cells(c.level, outputs->height),
                      columns = ry_head_cells(c.level, outputs->width);
        for (c.row = 0; c.row < rows; c.row++) {
            for (c.column = 0; c.column < columns; c.column++) {
                for (c.anchor = 0; c.anchor < c.level->each; c.anchor++, i++) {
                    ry_set_f64(m->dtype, data, i, number_of(&c, letter));
                }
            }
        }
    }
    return v;
}

/* The same of a prior, in fractions of the input, as ry_decode has it. */
static ry_value_id prior_number(const making *m, char letter)
{
    static const char letters[] = "xywh";
    const char *at = strchr(letters, letter);
    const ry_head_outputs *outputs = &m->view->outputs;
    const bool across = letter == 'x' || letter == 'w';
    return at ? ry_emit_expr_with(m->e, "x0 * side",
                                  &(ry_expr_parameter){
                                      "side", (double)(across ? outputs->width : outputs->height)},
                                  1, 1, (ry_value_id[]){part_of(m->e, m->prior, at - letters, 1)})
              : ry_emit_scalar(m->e, m->dtype, 1);
}

static void scale_sides(const making *m)
{
    for (int i = 0; i < 4 && m->view->match.head->fraction; i++) {
        const ry_expr_parameter side = {
            "side", (double)(i % 2 ? m->view->outputs.height : m->view->outputs.width)};
        m->to->side[i] = ry_emit_expr_with(m->e, "x0 * side", &side, 1, 1, &m->to->side[i]);
    }
}

static void decode(const making *m)
{
    const ry_head *head = m->view->match.head;
    const ry_value_id raw = m->bins != RY_NO_VALUE ? mean_bins(m) : m->box;
    const ry_expr_parameter sides[] = {{"wide", (double)m->view->outputs.width},
                                       {"tall", (double)m->view->outputs.height}};
    ry_value_id in[10];
    ry_attrs attrs = ry_attrs_default(RY_OP_expr);
    char text[512];
    int inputs = 0;
    size_t row = 0;
    while (codings[row].coding != head->coding) {
        row++; /* each coding has one */
    }
    while (inputs < 4) {
        in[inputs] = part_of(m->e, raw, inputs, 1);
        inputs++;
    }
    for (const char *letter = codings[row].reads; *letter; letter++) {
        in[inputs++] = m->prior != RY_NO_VALUE ? prior_number(m, *letter) : cells(m, *letter);
    }
    snprintf(text, sizeof text, "%s%s", codings[row].text, codings[row].centred ? around : "");
    attrs.expr.program = ry_emit_program_with(m->e, text, sides, 2);
    ry_emit_outputs(m->e, RY_OP_expr, &attrs, inputs, in, 4, NULL, m->to->side);
    scale_sides(m);
}

static rynd_status check_count(ry_emitter *e, const ry_candidates *c)
{
    return c->count <= MOST && c->classes <= MOST
               ? RYND_OK
               : ry_emit_fail(e, RYND_ERROR_UNSUPPORTED,
                              "head '%s' has %lld candidates of %lld classes: training takes %d at "
                              "most; make the input smaller",
                              c->head->name, (long long)c->count, (long long)c->classes, MOST);
}

rynd_status ry_emit_candidates(ry_emitter *e, const ry_head_view *view, ry_candidates *to)
{
    making m = {.e = e, .view = view, .to = to, .box = RY_NO_VALUE};
    const ry_head *head = view->match.head;
    *to = (ry_candidates){.head = head, .object = RY_NO_VALUE, .scores = RY_NO_VALUE};
    to->x = to->y = to->size = m.bins = m.prior = RY_NO_VALUE;
    m.dtype = ry_emit_dtype(e, e->graph->outputs[view->match.output[0][0]]);
    RY_TRY(ry_head_check_trainable(head, e->error));
    for (int p = 0; p < RY_HEAD_PARTS && head->parts[p].layout; p++) {
        take_part(&m, e->graph, p);
    }
    RY_TRY(e->status);
    const ry_shape shape = ry_emit_shape(e, to->scores);
    to->batch = shape.dim[0];
    to->count = shape.dim[2];
    RY_TRY(check_count(e, to));
    if (ry_head_level_count(head) > 0) {
        to->x = cells(&m, 'X');
        to->y = cells(&m, 'Y');
        to->size = cells(&m, 's');
    }
    decode(&m);
    return e->status;
}
