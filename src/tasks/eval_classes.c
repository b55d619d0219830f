/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of pictures and of pixels: a confusion matrix, and the figures that follow from it. */
#include "tasks/evaluation.h"

#include <inttypes.h>
#include <math.h>

rynd_status ry_eval_add_label(rynd_evaluation *e, const rynd_class *found, size_t count,
                              int64_t label, ry_error *error)
{
    if (count < 1) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "found: give at least the best class");
    }
    for (size_t i = 0; i < count; i++) {
        if (found[i].label < 0 || found[i].label >= e->classes) {
            return ry_fail(error, RYND_ERROR_ARGUMENT,
                           "found: class %" PRId64 " is outside the %" PRId64 " classes",
                           found[i].label, e->classes);
        }
    }
    if (label < 0 || label >= e->classes) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "label %" PRId64 " is outside the %" PRId64 " classes", label, e->classes);
    }
    e->confusion[label * e->classes + found[0].label]++;
    for (size_t i = 0; i < count && i < 5; i++) {
        e->in_five += found[i].label == label;
    }
    e->pictures++;
    return RYND_OK;
}

static int64_t class_at(const ry_tensor *map, int64_t y, int64_t x)
{
    return ry_get_i64((ry_dtype)map->dtype, map->data, y * map->stride[0] + x * map->stride[1]);
}

static rynd_status check_pixel(const rynd_evaluation *e, const char *name, int64_t class, int64_t y,
                               int64_t x, ry_error *error)
{
    return class >= 0 && class < e->classes
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_ARGUMENT,
                         "%s: class %" PRId64 " of the pixel in row %" PRId64 ", column %" PRId64
                         " is outside the %" PRId64 " classes",
                         name, class, y, x, e->classes);
}

rynd_status ry_eval_add_map(rynd_evaluation *e, const ry_tensor *found, const ry_tensor *truth,
                            int64_t ignore, ry_error *error)
{
    for (int add = 0; add < 2; add++) { /* nothing is added before all is checked */
        for (int64_t y = 0; y < truth->dim[0]; y++) {
            for (int64_t x = 0; x < truth->dim[1]; x++) {
                const int64_t right = class_at(truth, y, x), given = class_at(found, y, x);
                if (right == ignore) {
                    continue;
                }
                if (add) {
                    e->confusion[right * e->classes + given]++;
                    continue;
                }
                RY_TRY(check_pixel(e, "truth", right, y, x, error));
                RY_TRY(check_pixel(e, "found", given, y, x, error));
            }
        }
    }
    e->pictures++;
    return RYND_OK;
}

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : NAN;
}

void ry_eval_class(const rynd_evaluation *e, int64_t label, rynd_class_figures *figures)
{
    int64_t count = 0, found = 0;
    for (int64_t i = 0; i < e->classes; i++) {
        count += e->confusion[label * e->classes + i];
        found += e->confusion[i * e->classes + label];
    }
    const int64_t right = e->confusion[label * e->classes + label];
    figures->count = count;
    figures->found = found;
    figures->recall = share(right, count);
    figures->precision = share(right, found);
    if (e->task == RYND_TASK_SEGMENT) {
        figures->iou = share(right, count + found - right);
    }
}

/* Means over the classes that have a number, and the right part of everything. */
typedef struct means {
    double recall, precision, iou, right;
} means;

static void add(double value, double *sum, int64_t *count)
{
    if (!isnan(value)) {
        *sum += value;
        ++*count;
    }
}

static means find_means(const rynd_evaluation *e)
{
    means sums = {0};
    int64_t recalls = 0, precisions = 0, ious = 0, all = 0, right = 0;
    for (int64_t label = 0; label < e->classes; label++) {
        rynd_class_figures f = {.iou = NAN};
        ry_eval_class(e, label, &f);
        add(f.recall, &sums.recall, &recalls);
        /* a class that is never found, but true, has no right ones */
        add(f.found == 0 && f.count > 0 ? 0 : f.precision, &sums.precision, &precisions);
        add(f.iou, &sums.iou, &ious);
        all += f.count;
        right += e->confusion[label * e->classes + label];
    }
    return (means){sums.recall / (double)recalls, sums.precision / (double)precisions,
                   sums.iou / (double)ious, share(right, all)};
}

void ry_eval_settle_labels(rynd_evaluation *e)
{
    if (e->pictures > 0) {
        const means m = find_means(e);
        e->figures[0] = m.right;
        e->figures[1] = share(e->in_five, e->pictures);
        e->figures[2] = m.recall;
        e->figures[3] = m.precision;
    }
}

void ry_eval_settle_maps(rynd_evaluation *e)
{
    const means m = find_means(e);
    if (!isnan(m.right)) {
        e->figures[0] = m.iou;
        e->figures[1] = m.right;
        e->figures[2] = m.recall;
    }
}
