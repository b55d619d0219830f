/* SPDX-License-Identifier: Apache-2.0 */
/* The table of figures. */
#include "tasks/evaluation.h"

#include <math.h>

/* In the order in which ry_eval_settle_* fill them. */
static const struct row {
    rynd_task task;
    const char *name, *about, *unit;
} rows[] = {
    {RYND_TASK_CLASSIFY, "top1", "share of pictures whose best class is right", ""},
    {RYND_TASK_CLASSIFY, "top5", "share of pictures with the right class among the best five", ""},
    {RYND_TASK_CLASSIFY, "recall", "mean over classes of the right among the true", ""},
    {RYND_TASK_CLASSIFY, "precision", "mean over classes of the right among the found", ""},
    {RYND_TASK_DETECT, "map", "mean average precision at overlaps of 0.5 to 0.95", ""},
    {RYND_TASK_DETECT, "map50", "mean average precision at an overlap of 0.5", ""},
    {RYND_TASK_DETECT, "map75", "mean average precision at an overlap of 0.75", ""},
    {RYND_TASK_DETECT, "map_small", "map of objects below 32x32 pixels", ""},
    {RYND_TASK_DETECT, "map_medium", "map of objects between 32x32 and 96x96 pixels", ""},
    {RYND_TASK_DETECT, "map_large", "map of objects above 96x96 pixels", ""},
    {RYND_TASK_DETECT, "ar1", "mean recall with one box a class and picture", ""},
    {RYND_TASK_DETECT, "ar10", "mean recall with 10 boxes a class and picture", ""},
    {RYND_TASK_DETECT, "ar100", "mean recall with 100 boxes a class and picture", ""},
    {RYND_TASK_DETECT, "ar_small", "ar100 of objects below 32x32 pixels", ""},
    {RYND_TASK_DETECT, "ar_medium", "ar100 of objects between 32x32 and 96x96 pixels", ""},
    {RYND_TASK_DETECT, "ar_large", "ar100 of objects above 96x96 pixels", ""},
    {RYND_TASK_SEGMENT, "mean_iou", "mean over classes of intersection over union", ""},
    {RYND_TASK_SEGMENT, "pixel_accuracy", "share of right pixels", ""},
    {RYND_TASK_SEGMENT, "recall", "mean over classes of the right among the true pixels", ""},
    {RYND_TASK_IMAGE, "psnr", "mean over pictures of the peak signal-to-noise ratio", "dB"},
    {RYND_TASK_IMAGE, "ssim", "mean over pictures of the structural similarity", ""},
};
#define ROWS (sizeof rows / sizeof *rows)

size_t ry_eval_figure_count(rynd_task task)
{
    size_t count = 0;
    for (size_t i = 0; i < ROWS; i++) {
        count += rows[i].task == task;
    }
    return count;
}

rynd_figure ry_eval_figure(rynd_task task, size_t index)
{
    const struct row *row = rows;
    while (row->task != task) {
        row++;
    }
    row += index;
    return (rynd_figure){
        .size = sizeof(rynd_figure), .name = row->name, .about = row->about, .unit = row->unit};
}

rynd_status ry_eval_settle(rynd_evaluation *e, ry_error *error)
{
    if (e->settled) {
        return RYND_OK;
    }
    for (size_t i = 0; i < RY_EVAL_FIGURES; i++) {
        e->figures[i] = NAN;
    }
    switch (e->task) {
    case RYND_TASK_CLASSIFY: ry_eval_settle_labels(e); break;
    case RYND_TASK_SEGMENT: ry_eval_settle_maps(e); break;
    case RYND_TASK_IMAGE: ry_eval_settle_pictures(e); break;
    case RYND_TASK_DETECT: RY_TRY(ry_eval_settle_boxes(e, error)); break;
    }
    e->settled = true;
    return RYND_OK;
}
