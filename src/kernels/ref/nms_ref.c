/* SPDX-License-Identifier: Apache-2.0 */
/* Reference non-maximum suppression: greedy, one class of one image at a time; ties by the lowest
 * box.
 *
 * Phase 0 has a task for each image and class, which leaves in the workspace a row of 1 + boxes
 * numbers: how many it selected, and which. Phase 1 writes the rows to the output, in order, and
 * tells how many there are. */
#include "kernels/ref/ref_sort.h"

typedef struct box {
    double low[2], high[2];
} box;

static box box_at(const ry_cpu_launch *launch, int64_t image, int64_t number)
{
    const ry_tensor *boxes = &launch->problem->in[0];
    double v[4];
    for (int i = 0; i < 4; i++) {
        v[i] =
            ry_ref_get(ry_ref_dtype(boxes), launch->in[0],
                       image * boxes->stride[0] + number * boxes->stride[1] + i * boxes->stride[2]);
    }
    if (launch->problem->attrs.nms.center_point_box) {
        return (box){{v[0] - v[2] / 2, v[1] - v[3] / 2}, {v[0] + v[2] / 2, v[1] + v[3] / 2}};
    }
    return (box){{fmin(v[0], v[2]), fmin(v[1], v[3])}, {fmax(v[0], v[2]), fmax(v[1], v[3])}};
}

/* Intersection over union. */
static double overlap(const box *a, const box *b)
{
    double common = 1, area_a = 1, area_b = 1;
    for (int i = 0; i < 2; i++) {
        common *= fmax(fmin(a->high[i], b->high[i]) - fmax(a->low[i], b->low[i]), 0);
        area_a *= a->high[i] - a->low[i];
        area_b *= b->high[i] - b->low[i];
    }
    double either = area_a + area_b - common;
    return common > 0 && area_a > 0 && area_b > 0 && either > 0 ? common / either : 0;
}

static int64_t *row_of(const ry_cpu_launch *launch, int64_t image, int64_t class)
{
    const ry_tensor *scores = &launch->problem->in[1];
    return (int64_t *)launch->workspace + (image * scores->dim[1] + class) * (scores->dim[2] + 1);
}

static bool suppressed(const ry_cpu_launch *launch, int64_t image, int64_t candidate,
                       const int64_t *row)
{
    box b = box_at(launch, image, candidate);
    for (int64_t i = 0; i < row[0]; i++) {
        box kept = box_at(launch, image, row[1 + i]);
        double shared = overlap(&b, &kept);
        if (shared > 0 && shared > launch->problem->attrs.nms.iou_threshold) {
            return true;
        }
    }
    return false;
}

/* index is [image, class]. */
static void select_boxes(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_tensor *scores = &p->in[1];
    int64_t *candidates = launch->scratch;
    int64_t *row = row_of(launch, index[0], index[1]), count = 0;
    ry_ref_row score = {ry_ref_dtype(scores), launch->in[1], ry_index_offset(scores, index),
                        scores->stride[2], true};
    for (int64_t i = 0; i < scores->dim[2]; i++) {
        if (ry_ref_get(score.dtype, score.data, score.offset + i * score.step) >
            p->attrs.nms.score_threshold) {
            candidates[count++] = i;
        }
    }
    ry_ref_sort(&score, candidates, candidates + scores->dim[2], count);
    row[0] = 0;
    for (int64_t i = 0; i < count && row[0] < p->attrs.nms.max_output; i++) {
        if (!suppressed(launch, index[0], candidates[i], row)) {
            row[1 + row[0]++] = candidates[i];
        }
    }
}

static void write_selected(const ry_cpu_launch *launch)
{
    const ry_tensor *scores = &launch->problem->in[1], *y = &launch->problem->out[0];
    int64_t written = 0;
    for (int64_t image = 0; image < scores->dim[0]; image++) {
        for (int64_t class = 0; class < scores->dim[1]; class ++) {
            const int64_t *row = row_of(launch, image, class);
            for (int64_t i = 0; i < row[0] && written < y->dim[0]; i++, written++) {
                int64_t record[] = {image, class, row[1 + i]};
                for (int j = 0; j < 3; j++) {
                    ry_set_i64(ry_ref_dtype(y), launch->out[0],
                               written * y->stride[0] + j * y->stride[1], record[j]);
                }
            }
        }
    }
    if (launch->actual) {
        launch->actual[0][0] = written;
        launch->actual[0][1] = 3;
    }
}

static bool applicable(const ry_problem *problem)
{
    return ry_ref_numeric(problem) && ry_problem_has_input(problem, 1) &&
           problem->in[0].rank == 3 && problem->in[1].rank == 3 &&
           problem->in[0].dim[0] == problem->in[1].dim[0] &&
           problem->in[0].dim[1] == problem->in[1].dim[2] && problem->in[0].dim[2] == 4 &&
           problem->out[0].rank == 2;
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    const ry_tensor *scores = &problem->in[1];
    int64_t classes = scores->dim[0] * scores->dim[1];
    size_t row = ((size_t)scores->dim[2] + 1) * sizeof(int64_t);
    *prepared = (ry_prepared){.phases = 2, .tasks = {ry_ref_tasks(classes), 1}};
    if (!ry_mul_size((size_t)classes, row, &prepared->workspace)) {
        return ry_fail_memory(error);
    }
    prepared->scratch = (2 * row + RY_ALIGNMENT - 1) / RY_ALIGNMENT * RY_ALIGNMENT;
    return RYND_OK;
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    if (launch->phase == 0) {
        ry_ref_each(launch, 2, launch->problem->in[1].dim, launch->prepared->tasks[0], task,
                    select_boxes);
    } else {
        write_selected(launch);
    }
}

RY_REF_KERNEL(nms, applicable, prepare, .run = run);
