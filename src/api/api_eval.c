/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of a model on data with known answers. */
#include "api/api_check.h"
#include "api/api_status.h"
#include "api/handles.h"
#include "tasks/evaluation.h"

#include <inttypes.h>
#include <math.h>

static rynd_status check_options(const rynd_evaluation_options *o, ry_error *error)
{
    if ((unsigned)o->task > RYND_TASK_IMAGE) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "rynd_evaluation_options: task is %d",
                       (int)o->task);
    }
    const int64_t least = o->task != RYND_TASK_IMAGE,
                  most = o->task != RYND_TASK_IMAGE ? RY_EVAL_CLASSES : 0;
    if (o->classes < least || o->classes > most) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "rynd_evaluation_options: classes is %" PRId64 "; give %" PRId64
                       " to %" PRId64,
                       o->classes, least, most);
    }
    return o->range >= 0 && isfinite(o->range)
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_ARGUMENT,
                         "rynd_evaluation_options: range is %g; give a finite number above 0",
                         o->range);
}

/* Takes the memory that depends on the number of classes. */
static rynd_status make_counts(rynd_evaluation *e, ry_error *error)
{
    const size_t classes = (size_t)e->classes;
    if (e->task == RYND_TASK_IMAGE) {
        return RYND_OK;
    }
    if (e->task == RYND_TASK_DETECT) {
        e->objects = ry_arena_take(&e->arena, classes, sizeof *e->objects);
        e->ap = RY_TAKE(&e->arena, double, classes);
        e->ap50 = RY_TAKE(&e->arena, double, classes);
        return e->objects && e->ap && e->ap50 ? RYND_OK : ry_fail_memory(error);
    }
    e->confusion = RY_TAKE(&e->arena, int64_t, classes * classes);
    return e->confusion ? RYND_OK : ry_fail_memory(error);
}

rynd_status rynd_evaluation_create(rynd_context *context, const rynd_evaluation_options *options,
                                   rynd_evaluation **evaluation)
{
    RY_API_REQUIRE(options, evaluation);
    ry_error error;
    rynd_evaluation_options o;
    const ry_allocator *allocator = context ? &context->allocator : &ry_system_allocator;
    *evaluation = NULL;
    rynd_status status = ry_api_options(&o, sizeof o, options, "rynd_evaluation_options", &error);
    status = status == RYND_OK ? check_options(&o, &error) : status;
    if (status != RYND_OK) {
        return ry_api_end(status, &error);
    }
    rynd_evaluation *made = ry_allocate_array(allocator, 1, sizeof *made);
    if (!made) {
        return ry_api_end(ry_fail_memory(&error), &error);
    }
    made->allocator = *allocator;
    made->task = o.task;
    made->classes = o.classes;
    made->range = o.range > 0 ? o.range : 255;
    ry_arena_init(&made->arena, &made->allocator);
    status = make_counts(made, &error);
    if (status != RYND_OK) {
        rynd_evaluation_destroy(made);
        return ry_api_end(status, &error);
    }
    *evaluation = made;
    return RYND_OK;
}

void rynd_evaluation_destroy(rynd_evaluation *evaluation)
{
    if (evaluation) {
        const ry_allocator allocator = evaluation->allocator;
        ry_arena_free(&evaluation->arena);
        ry_release(&allocator, evaluation);
    }
}

static const char *task_name(rynd_task task)
{
    static const char *const names[] = {"classify", "detect", "segment", "image"};
    return names[task];
}

/* Begins an addition: figures are computed anew after it. */
static rynd_status begin(rynd_evaluation *e, rynd_task task, ry_error *error)
{
    e->settled = false;
    return e->task == task
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_ARGUMENT, "the evaluation is of task %s, not %s",
                         task_name(e->task), task_name(task));
}

rynd_status rynd_evaluation_add_label(rynd_evaluation *evaluation, const rynd_class *found,
                                      size_t count, int64_t label)
{
    RY_API_REQUIRE(evaluation, found);
    ry_error error;
    rynd_status status = begin(evaluation, RYND_TASK_CLASSIFY, &error);
    status =
        status == RYND_OK ? ry_eval_add_label(evaluation, found, count, label, &error) : status;
    return ry_api_end(status, &error);
}

/* Tensors in use, of one shape. */
static rynd_status take_pair(const rynd_tensor *const given[2], int rank, ry_tensor taken[2],
                             ry_error *error)
{
    static const char *const names[] = {"found", "truth"};
    for (int i = 0; i < 2; i++) {
        rynd_status status = ry_api_take_tensor(given[i], &taken[i], error);
        status = status == RYND_OK ? ry_api_check_data(&taken[i], taken[i].data, error) : status;
        if (status != RYND_OK) {
            ry_error_prefix(error, "%s: ", names[i]);
            return status;
        }
        if (taken[i].rank != rank || ry_tensor_count(&taken[i]) < 1) {
            return ry_fail(error, RYND_ERROR_SHAPE, "%s: give %d dimensions, [height, width%s]",
                           names[i], rank, rank == 3 ? ", channels" : "");
        }
    }
    for (int d = 0; d < rank; d++) {
        if (taken[0].dim[d] != taken[1].dim[d]) {
            return ry_fail(error, RYND_ERROR_SHAPE,
                           "found and truth differ in dimension %d: %" PRId64 " and %" PRId64, d,
                           taken[0].dim[d], taken[1].dim[d]);
        }
    }
    return RYND_OK;
}

static rynd_status add_map(rynd_evaluation *e, const rynd_tensor *found, const rynd_tensor *truth,
                           int64_t ignore, ry_error *error)
{
    ry_tensor taken[2];
    RY_TRY(begin(e, RYND_TASK_SEGMENT, error));
    RY_TRY(take_pair((const rynd_tensor *const[]){found, truth}, 2, taken, error));
    for (int i = 0; i < 2; i++) {
        if (ry_dtype_is_float((ry_dtype)taken[i].dtype)) {
            return ry_fail(error, RYND_ERROR_ARGUMENT, "classes of pixels are integers");
        }
    }
    return ry_eval_add_map(e, &taken[0], &taken[1], ignore, error);
}

rynd_status rynd_evaluation_add_map(rynd_evaluation *evaluation, const rynd_tensor *found,
                                    const rynd_tensor *truth, int64_t ignore)
{
    RY_API_REQUIRE(evaluation, found, truth);
    ry_error error;
    return ry_api_end(add_map(evaluation, found, truth, ignore, &error), &error);
}

rynd_status rynd_evaluation_add_boxes(rynd_evaluation *evaluation, const rynd_box *found,
                                      size_t count, const rynd_object *objects, size_t object_count)
{
    RY_API_REQUIRE(evaluation);
    ry_error error;
    if (count > 0) {
        RY_API_REQUIRE(found);
    }
    if (object_count > 0) {
        RY_API_REQUIRE(objects);
    }
    rynd_status status = begin(evaluation, RYND_TASK_DETECT, &error);
    status = status == RYND_OK
                 ? ry_eval_add_boxes(evaluation, found, count, objects, object_count, &error)
                 : status;
    return ry_api_end(status, &error);
}

static rynd_status add_picture(rynd_evaluation *e, const rynd_tensor *found,
                               const rynd_tensor *truth, ry_error *error)
{
    ry_tensor taken[2];
    RY_TRY(begin(e, RYND_TASK_IMAGE, error));
    RY_TRY(take_pair((const rynd_tensor *const[]){found, truth}, 3, taken, error));
    return ry_eval_add_picture(e, &taken[0], &taken[1], error);
}

rynd_status rynd_evaluation_add_picture(rynd_evaluation *evaluation, const rynd_tensor *found,
                                        const rynd_tensor *truth)
{
    RY_API_REQUIRE(evaluation, found, truth);
    ry_error error;
    return ry_api_end(add_picture(evaluation, found, truth, &error), &error);
}

size_t rynd_evaluation_figure_count(const rynd_evaluation *evaluation)
{
    return evaluation ? ry_eval_figure_count(evaluation->task) : 0;
}

static rynd_status get_figure(rynd_evaluation *e, size_t index, rynd_figure *figure,
                              ry_error *error)
{
    const size_t count = ry_eval_figure_count(e->task);
    if (index >= count) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "figure %zu is beyond %zu figures", index,
                       count);
    }
    RY_TRY(ry_eval_settle(e, error));
    rynd_figure info = ry_eval_figure(e->task, index);
    info.value = e->figures[index];
    return ry_api_info(figure, &info, sizeof info, "rynd_figure", error);
}

rynd_status rynd_evaluation_get_figure(rynd_evaluation *evaluation, size_t index,
                                       rynd_figure *figure)
{
    RY_API_REQUIRE(evaluation, figure);
    ry_error error;
    return ry_api_end(get_figure(evaluation, index, figure, &error), &error);
}

static rynd_status get_class(rynd_evaluation *e, int64_t label, rynd_class_figures *figures,
                             ry_error *error)
{
    rynd_class_figures info = {
        .size = sizeof info, .recall = NAN, .precision = NAN, .iou = NAN, .ap = NAN, .ap50 = NAN};
    if (label < 0 || label >= e->classes) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "class %" PRId64 " is outside the %" PRId64 " classes", label, e->classes);
    }
    RY_TRY(ry_eval_settle(e, error));
    if (e->task == RYND_TASK_DETECT) {
        info.count = e->objects[label][0];
        info.ap = e->ap[label];
        info.ap50 = e->ap50[label];
    } else {
        ry_eval_class(e, label, &info);
    }
    return ry_api_info(figures, &info, sizeof info, "rynd_class_figures", error);
}

rynd_status rynd_evaluation_get_class(rynd_evaluation *evaluation, int64_t label,
                                      rynd_class_figures *figures)
{
    RY_API_REQUIRE(evaluation, figures);
    ry_error error;
    return ry_api_end(get_class(evaluation, label, figures, &error), &error);
}

rynd_status rynd_evaluation_get_confusion(const rynd_evaluation *evaluation, const int64_t **counts,
                                          int64_t *classes)
{
    RY_API_REQUIRE(evaluation, counts, classes);
    ry_error error;
    if (!evaluation->confusion) {
        return ry_api_end(ry_fail(&error, RYND_ERROR_ARGUMENT,
                                  "only classify and segment have a confusion matrix"),
                          &error);
    }
    *counts = evaluation->confusion;
    *classes = evaluation->classes;
    return RYND_OK;
}
