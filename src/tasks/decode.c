/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the candidates of a head: scores first, boxes only of what scores enough. */
#include "tasks/codings.h"
#include "tasks/detect.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where one kind of field lies: of a candidate at (y, x, anchor) or `index`, number i is at
 * start + offsets. */
typedef struct field {
    const ry_tensor *tensor; /* NULL: the head lacks it */
    int64_t start, step, count;
    int64_t by_index, by_row, by_column, by_anchor;
} field;

typedef struct fields {
    field box, bins, prior, object, classes, score, label, image, points, sure_points;
} fields;

/* A candidate's place in the outputs. */
typedef struct spot {
    int64_t index, row, column, anchor;
} spot;

static double value_of(const field *f, const spot *at, int64_t i)
{
    const int64_t place = f->start + i * f->step + at->index * f->by_index + at->row * f->by_row +
                          at->column * f->by_column + at->anchor * f->by_anchor;
    return f->tensor->dtype == RYND_DTYPE_F32
               ? (double)((const float *)f->tensor->data)[place]
               : ry_get_f64((ry_dtype)f->tensor->dtype, f->tensor->data, place);
}

static field *field_named(fields *all, char letter)
{
    switch (letter) {
    case 'b': return &all->box;
    case 'd': return &all->bins;
    case 'p': return &all->prior;
    case 'o': return &all->object;
    case 'c': return &all->classes;
    case 's': return &all->score;
    case 'l': return &all->label;
    case 'i': return &all->image;
    case 'k': return &all->points;
    case 'K': return &all->sure_points;
    default: return NULL; /* m: mask coefficients */
    }
}

/* Adds the fields of one output. */
static void take_fields(const ry_head_part *part, const ry_tensor *tensor, int64_t image,
                        int64_t classes, fields *all)
{
    field base = {.tensor = tensor};
    const int64_t total = ry_head_field_count(part->fields, classes);
    for (int d = 0; part->layout[d]; d++) {
        const int64_t stride = tensor->stride[d];
        switch (part->layout[d]) {
        case 'n': base.start = image * stride; break;
        case 'a': base.by_index = stride; break;
        case 'h': base.by_row = stride; break;
        case 'w': base.by_column = stride; break;
        case 'k': base.by_anchor = stride; break;
        case 'C':
            base.by_anchor = total * stride;
            base.step = stride;
            break;
        case 'c': base.step = stride; break;
        }
    }
    int64_t begin = 0;
    for (const char *text = part->fields; *text; text += *text == ' ') {
        char *end = NULL;
        const bool rest = text[1] == '*';
        field *to = field_named(all, *text), spare;
        to = to ? to : &spare;
        *to = base;
        to->start += begin * base.step;
        to->count = rest ? classes : strtol(text + 1, &end, 10);
        begin += to->count;
        text = rest ? text + 2 : end;
    }
}

static double power_of(double value, double power)
{
    value = value > 0 ? (value < 1 ? value : 1) : 0; /* as pow() wants it; NaN: 0 */
    return power == 0 || power == 1 ? value : power == 0.5 ? sqrt(value) : pow(value, power);
}

/* The class of the highest number, and its probability. */
static double best_class(const ry_head *head, const field *classes, const spot *at, int64_t *label)
{
    const int64_t none = head->background == RY_HEAD_LAST ? classes->count - 1 : head->background;
    double best = -INFINITY, highest = -INFINITY, sum = 0;
    *label = -1;
    for (int64_t c = 0; c < classes->count; c++) {
        const double value = value_of(classes, at, c);
        highest = value > highest ? value : highest;
        if (c != none && value > best) {
            best = value;
            *label = c;
        }
    }
    if (*label < 0) {
        return 0; /* NaN everywhere, or only a background */
    }
    if (head->softmax) {
        for (int64_t c = 0; c < classes->count; c++) {
            sum += exp(value_of(classes, at, c) - highest);
        }
        best = exp(best - highest) / sum;
    } else if (head->sigmoid) {
        best = ry_sigmoid(best);
    }
    *label -= none >= 0 && *label > none; /* the background has no number */
    return best;
}

static double score_of(const ry_head *head, const fields *all, const spot *at, double least,
                       int64_t *label)
{
    double object = 1;
    if (all->score.tensor) {
        const double number = value_of(&all->label, at, 0);
        *label = fabs(number) < 1e15 ? (int64_t)number - head->first_label : -1;
        return value_of(&all->score, at, 0);
    }
    if (all->object.tensor) {
        object = value_of(&all->object, at, 0);
        object = power_of(head->sigmoid ? ry_sigmoid(object) : object, head->power);
    }
    return object >= least
               ? object * power_of(best_class(head, &all->classes, at, label), head->class_power)
               : 0;
}

/* Expectation over the bins 0, 1, ...: Li et al., "Generalized focal loss", NeurIPS 2020. */
static double mean_bin(const field *bins, const spot *at, int side)
{
    const int64_t each = bins->count / 4;
    double highest = -INFINITY, sum = 0, mean = 0;
    for (int64_t i = 0; i < each; i++) {
        highest = fmax(highest, value_of(bins, at, side * each + i));
    }
    for (int64_t i = 0; i < each; i++) {
        const double part = exp(value_of(bins, at, side * each + i) - highest);
        sum += part;
        mean += part * (double)i;
    }
    return mean / sum;
}

static void set_prior(const ry_detection *d, const fields *all, const spot *at, ry_head_cell *cell)
{
    cell->stride = 1;
    cell->x = value_of(&all->prior, at, 0) * (double)d->outputs.width;
    cell->y = value_of(&all->prior, at, 1) * (double)d->outputs.height;
    cell->width = value_of(&all->prior, at, 2) * (double)d->outputs.width;
    cell->height = value_of(&all->prior, at, 3) * (double)d->outputs.height;
}

static void take_points(const ry_head *head, const fields *all, const spot *at,
                        const ry_head_cell *cell, rynd_box *box)
{
    const field *points = all->points.tensor ? &all->points : &all->sure_points;
    const int64_t each = all->points.tensor ? 2 : 3;
    box->keypoint_count = points->tensor ? points->count / each : 0;
    for (int64_t i = 0; i < box->keypoint_count; i++) {
        double x = value_of(points, at, each * i), y = value_of(points, at, each * i + 1);
        if (head->coding == ry_coding_grid) {
            x = (x + cell->x) * cell->stride;
            y = (y + cell->y) * cell->stride;
        } else if (head->coding == ry_coding_prior) {
            x = cell->x * cell->stride + 0.1 * x * cell->width;
            y = cell->y * cell->stride + 0.1 * y * cell->height;
        }
        box->keypoints[i][0] = (float)x;
        box->keypoints[i][1] = (float)y;
    }
}

/* Adds a candidate if it scores enough. */
static rynd_status consider(const ry_detection *d, const fields *all, const spot *at,
                            ry_head_cell *cell, ry_boxes *boxes, ry_arena *arena)
{
    const ry_head *head = d->match.head;
    int64_t label = 0;
    double raw[4], corners[4];
    if (all->image.tensor && value_of(&all->image, at, 0) != (double)d->index) {
        return RYND_OK;
    }
    const double score = score_of(head, all, at, d->score, &label);
    if (!(score >= d->score)) {
        return RYND_OK;
    }
    if (all->prior.tensor) {
        set_prior(d, all, at, cell);
    }
    for (int i = 0; i < 4; i++) {
        raw[i] = all->bins.tensor ? mean_bin(&all->bins, at, i) : value_of(&all->box, at, i);
    }
    head->coding(cell, raw, corners);
    const double wide = head->fraction ? (double)d->outputs.width : 1,
                 tall = head->fraction ? (double)d->outputs.height : 1;
    rynd_box box = {.left = (float)(corners[0] * wide),
                    .top = (float)(corners[1] * tall),
                    .right = (float)(corners[2] * wide),
                    .bottom = (float)(corners[3] * tall),
                    .score = (float)score,
                    .label = label};
    if (!isfinite(box.left) || !isfinite(box.top) || !isfinite(box.right) ||
        !isfinite(box.bottom)) {
        return RYND_OK;
    }
    take_points(head, all, at, cell, &box);
    boxes->items = ry_arena_grow(arena, boxes->items, boxes->count, &boxes->room, sizeof box);
    if (!boxes->items) {
        return RYND_ERROR_OUT_OF_MEMORY;
    }
    boxes->items[boxes->count++] = box;
    return RYND_OK;
}

/* Walks the cells of a level. `at->index` counts candidates over all levels of one output. */
static rynd_status walk_level(const ry_detection *d, const fields *all, const ry_head_level *level,
                              spot *at, ry_boxes *boxes, ry_arena *arena)
{
    const int64_t rows = ry_head_cells(level, d->outputs.height),
                  columns = ry_head_cells(level, d->outputs.width);
    for (at->row = 0; at->row < rows; at->row++) {
        for (at->column = 0; at->column < columns; at->column++) {
            for (at->anchor = 0; at->anchor < level->each; at->anchor++, at->index++) {
                const float *anchor = level->anchors ? level->anchors[at->anchor] : NULL;
                ry_head_cell cell = {.x = (double)at->column + d->match.head->centre,
                                     .y = (double)at->row + d->match.head->centre,
                                     .stride = level->stride,
                                     .spread = level->spread > 0 ? (double)level->spread : 1,
                                     .width = anchor ? (double)anchor[0] : 0,
                                     .height = anchor ? (double)anchor[1] : 0,
                                     .input_height = (double)d->outputs.height,
                                     .input_width = (double)d->outputs.width};
                RY_TRY(consider(d, all, at, &cell, boxes, arena));
            }
        }
    }
    return RYND_OK;
}

/* Candidates without a place. */
static rynd_status walk_list(const ry_detection *d, const fields *all, ry_boxes *boxes,
                             ry_arena *arena)
{
    const ry_head *head = d->match.head;
    const ry_tensor *tensor = &d->outputs.tensors[d->match.output[0][0]];
    const int64_t count = tensor->dim[strchr(head->parts[0].layout, 'a') - head->parts[0].layout];
    for (spot at = {0}; at.index < count; at.index++) {
        ry_head_cell cell = {0};
        RY_TRY(consider(d, all, &at, &cell, boxes, arena));
    }
    return RYND_OK;
}

rynd_status ry_decode(const ry_detection *d, ry_boxes *boxes, ry_arena *arena, ry_error *error)
{
    const ry_head *head = d->match.head;
    const int levels = ry_head_level_count(head);
    rynd_status status = RYND_OK;
    fields all;
    spot at = {0};
    for (int l = 0; status == RYND_OK && l < (levels ? levels : 1); l++) {
        if (l == 0 || head->split) {
            all = (fields){0};
            at = (spot){0};
            for (int p = 0; p < RY_HEAD_PARTS && head->parts[p].layout; p++) {
                take_fields(&head->parts[p], &d->outputs.tensors[d->match.output[p][l]], d->index,
                            d->match.classes, &all);
            }
        }
        status = levels ? walk_level(d, &all, &head->levels[l], &at, boxes, arena)
                        : walk_list(d, &all, boxes, arena);
    }
    return status == RYND_OK ? status : ry_fail_memory(error);
}
