/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks: pictures in, boxes, masks and classes out, and drawings of them. */
#include "api/api_check.h"
#include "api/api_status.h"
#include "api/handles.h"
#include "tasks/classes.h"
#include "tasks/detect.h"
#include "tasks/draw.h"
#include "tasks/fit.h"
#include "tasks/labels.h"
#include "train/head_candidates.h"

#include <inttypes.h>

/* A caller's tensor in use: not a description. */
static rynd_status take(const rynd_tensor *given, const char *name, ry_tensor *taken,
                        ry_error *error)
{
    rynd_status status = ry_api_take_tensor(given, taken, error);
    status = status == RYND_OK ? ry_api_check_data(taken, taken->data, error) : status;
    if (status != RYND_OK) {
        ry_error_prefix(error, "%s: ", name);
    }
    return status;
}

static rynd_status take_picture(const rynd_tensor *given, const char *name, ry_tensor *taken,
                                ry_error *error)
{
    RY_TRY(take(given, name, taken, error));
    const rynd_status status = ry_picture_check(taken, error);
    if (status != RYND_OK) {
        ry_error_prefix(error, "%s: ", name);
    }
    return status;
}

static rynd_status resize(ry_arena *arena, const rynd_tensor *from, const rynd_tensor *to,
                          int antialias, ry_error *error)
{
    ry_tensor source, target;
    RY_TRY(take_picture(from, "from", &source, error));
    RY_TRY(take_picture(to, "to", &target, error));
    RY_TRY(ry_api_check_writable(&target, error));
    return ry_picture_resize(&source, &target, antialias != 0, arena, error);
}

rynd_status rynd_picture_resize(rynd_context *context, const rynd_tensor *from,
                                const rynd_tensor *to, int antialias)
{
    RY_API_REQUIRE(from, to);
    ry_error error;
    ry_arena arena;
    ry_arena_init(&arena, context ? &context->allocator : &ry_system_allocator);
    const rynd_status status = resize(&arena, from, to, antialias, &error);
    ry_arena_free(&arena);
    return ry_api_end(status, &error);
}

static rynd_status prepare(ry_arena *arena, const rynd_tensor *given,
                           const rynd_preparation *preparation, const rynd_tensor *input,
                           int64_t index, rynd_frame *frame, ry_error *error)
{
    ry_tensor picture, target;
    rynd_preparation how;
    rynd_frame made;
    RY_TRY(ry_api_options(&how, sizeof how, preparation, "rynd_preparation", error));
    if ((unsigned)how.fit > RYND_FIT_CROP) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "rynd_preparation: fit is %d", (int)how.fit);
    }
    if (!(how.share >= 0 && how.share <= 1)) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "rynd_preparation: share is %g: give 0 to 1",
                       how.share);
    }
    RY_TRY(take_picture(given, "picture", &picture, error));
    RY_TRY(take(input, "input", &target, error));
    RY_TRY(ry_api_check_writable(&target, error));
    RY_TRY(ry_picture_prepare(&picture, &how, &target, index, &made, arena, error));
    if (frame) {
        *frame = made;
    }
    return RYND_OK;
}

rynd_status rynd_picture_prepare(rynd_context *context, const rynd_tensor *picture,
                                 const rynd_preparation *preparation, const rynd_tensor *input,
                                 int64_t index, rynd_frame *frame)
{
    RY_API_REQUIRE(picture, input);
    ry_error error;
    ry_arena arena;
    ry_arena_init(&arena, context ? &context->allocator : &ry_system_allocator);
    const rynd_status status = prepare(&arena, picture, preparation, input, index, frame, &error);
    ry_arena_free(&arena);
    return ry_api_end(status, &error);
}

size_t rynd_head_count(void)
{
    return ry_head_count;
}

static const char *labels_of(const ry_head_match *match)
{
    enum { COCO = 80 };
    return match->head->labels              ? match->head->labels
           : ry_head_classes(match) == COCO ? "coco"
                                            : NULL;
}

static rynd_status give_head(const ry_head_match *match, rynd_head *to, ry_error *error)
{
    const ry_head *head = match->head;
    rynd_head info = {.size = sizeof info,
                      .name = head->name,
                      .about = head->about,
                      .classes = ry_head_classes(match),
                      .labels = labels_of(match),
                      .preparation = head->preparation,
                      .score = head->score,
                      .overlap = head->overlap};
    info.preparation.size = sizeof info.preparation;
    return ry_api_info(to, &info, sizeof info, "rynd_head", error);
}

rynd_status rynd_head_get(size_t index, rynd_head *head)
{
    RY_API_REQUIRE(head);
    ry_error error;
    const rynd_status status =
        index < ry_head_count ? give_head(&(ry_head_match){.head = &ry_heads[index]}, head, &error)
                              : ry_fail(&error, RYND_ERROR_ARGUMENT, "head %zu is beyond %zu heads",
                                        index, ry_head_count);
    return ry_api_end(status, &error);
}

static rynd_status find_head(const rynd_model *model, const char *name, ry_arena *arena,
                             rynd_head *head, ry_error *error)
{
    ry_head_view view;
    RY_TRY(ry_head_view_of(model->onnx.graph, name, arena, &view, error));
    return give_head(&view.match, head, error);
}

rynd_status rynd_model_get_head(const rynd_model *model, const char *name, rynd_head *head)
{
    RY_API_REQUIRE(model, head);
    ry_error error;
    ry_arena arena;
    ry_arena_init(&arena, &model->context->allocator);
    const rynd_status status = find_head(model, name, &arena, head, &error);
    ry_arena_free(&arena);
    return ry_api_end(status, &error);
}

static rynd_status check_detection(const rynd_detection *d, ry_error *error)
{
    if (!d->names || !d->outputs || d->output_count < 1) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "rynd_detection: names and outputs are needed");
    }
    if (d->height < 1 || d->width < 1) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "rynd_detection: the input is %" PRId64 "x%" PRId64
                       "; give its height and width in pixels",
                       d->height, d->width);
    }
    if (!(d->score >= 0 && d->score <= 1) || !(d->overlap >= 0 && d->overlap <= 1)) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "rynd_detection: score is %g and overlap %g; give 0 to 1", d->score,
                       d->overlap);
    }
    return RYND_OK;
}

static rynd_status take_outputs(const rynd_detection *given, ry_arena *arena, ry_detection *d,
                                ry_error *error)
{
    ry_tensor *tensors = RY_TAKE(arena, ry_tensor, given->output_count);
    if (!tensors) {
        return ry_fail_memory(error);
    }
    d->outputs =
        (ry_head_outputs){given->names, tensors, given->output_count, given->height, given->width};
    for (size_t i = 0; i < given->output_count; i++) {
        RY_TRY(take(&given->outputs[i], given->names[i] ? given->names[i] : "output", &tensors[i],
                    error));
        if (!given->names[i]) {
            return ry_fail(error, RYND_ERROR_ARGUMENT, "rynd_detection: names[%zu] is NULL", i);
        }
    }
    RY_TRY(ry_head_find(given->head, &d->outputs, &d->match, error));
    const char *layout = d->match.head->parts[0].layout;
    const int64_t batch = *layout == 'n' ? tensors[d->match.output[0][0]].dim[0] : INT64_MAX;
    return given->index >= 0 && given->index < batch
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_ARGUMENT,
                         "rynd_detection: picture %" PRId64 " is outside the batch", given->index);
}

static rynd_status detect(ry_arena *arena, const rynd_detection *detection, rynd_box *boxes,
                          size_t *count, ry_error *error)
{
    rynd_detection given;
    ry_detection d = {0};
    ry_boxes found = {0};
    RY_TRY(ry_api_options(&given, sizeof given, detection, "rynd_detection", error));
    RY_TRY(check_detection(&given, error));
    RY_TRY(take_outputs(&given, arena, &d, error));
    d.index = given.index;
    d.score = given.score > 0 ? given.score : d.match.head->score;
    d.overlap = given.overlap > 0 ? given.overlap : d.match.head->overlap;
    RY_TRY(ry_decode(&d, &found, arena, error));
    ry_suppress(&found, d.overlap, *count);
    if (given.frame) {
        ry_boxes_to_photo(&found, given.frame);
    }
    for (size_t i = 0; i < found.count; i++) {
        boxes[i] = found.items[i];
    }
    *count = found.count;
    return RYND_OK;
}

rynd_status rynd_detect(rynd_context *context, const rynd_detection *detection, rynd_box *boxes,
                        size_t *count)
{
    RY_API_REQUIRE(detection, boxes, count);
    ry_error error;
    ry_arena arena;
    ry_arena_init(&arena, context ? &context->allocator : &ry_system_allocator);
    const rynd_status status = detect(&arena, detection, boxes, count, &error);
    ry_arena_free(&arena);
    return ry_api_end(status, &error);
}

/* A map of integers [height, width]. */
static rynd_status take_classes(const rynd_tensor *given, int64_t height, int64_t width,
                                ry_tensor *taken, ry_error *error)
{
    RY_TRY(take(given, "classes", taken, error));
    const ry_dtype dtype = (ry_dtype)taken->dtype;
    if (taken->rank != 2 || taken->dim[0] != height || taken->dim[1] != width ||
        ry_dtype_is_float(dtype)) {
        return ry_fail(error, RYND_ERROR_SHAPE,
                       "classes: give integers [%" PRId64 ", %" PRId64 "], the photo's size",
                       height, width);
    }
    return RYND_OK;
}

static rynd_status segment(ry_arena *arena, const rynd_tensor *output, int64_t index,
                           const rynd_frame *frame, const int64_t input[2],
                           const rynd_tensor *classes, ry_error *error)
{
    ry_tensor scores, map;
    if (input[0] < 1 || input[1] < 1 || frame->height < 1 || frame->width < 1) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "the input is %" PRId64 "x%" PRId64 " and the photo %" PRId64 "x%" PRId64
                       "; sizes are at least 1",
                       input[0], input[1], frame->height, frame->width);
    }
    RY_TRY(take(output, "output", &scores, error));
    RY_TRY(take_classes(classes, frame->height, frame->width, &map, error));
    RY_TRY(ry_api_check_writable(&map, error));
    return ry_segment(&scores, index, frame, input, &map, arena, error);
}

rynd_status rynd_segment(rynd_context *context, const rynd_tensor *output, int64_t index,
                         const rynd_frame *frame, int64_t input_height, int64_t input_width,
                         const rynd_tensor *classes)
{
    RY_API_REQUIRE(output, frame, classes);
    ry_error error;
    ry_arena arena;
    ry_arena_init(&arena, context ? &context->allocator : &ry_system_allocator);
    const rynd_status status =
        segment(&arena, output, index, frame, (const int64_t[]){input_height, input_width}, classes,
                &error);
    ry_arena_free(&arena);
    return ry_api_end(status, &error);
}

rynd_status rynd_classify(rynd_context *context, const rynd_tensor *output, int64_t index,
                          rynd_class *classes, size_t *count)
{
    RY_API_REQUIRE(output, classes, count);
    ry_error error;
    ry_arena arena;
    ry_tensor scores;
    ry_arena_init(&arena, context ? &context->allocator : &ry_system_allocator);
    rynd_status status = take(output, "output", &scores, &error);
    status =
        status == RYND_OK ? ry_classify(&scores, index, classes, count, &arena, &error) : status;
    ry_arena_free(&arena);
    return ry_api_end(status, &error);
}

rynd_status rynd_labels_get(const char *name, const char *const **labels, size_t *count)
{
    RY_API_REQUIRE(name, labels, count);
    ry_error error;
    const rynd_status status =
        ry_labels_find(name, labels, count)
            ? RYND_OK
            : ry_fail(&error, RYND_ERROR_ARGUMENT,
                      "no set of labels is called '%s'; there are coco, voc and face", name);
    return ry_api_end(status, &error);
}

static rynd_status take_coloured(const rynd_tensor *given, ry_tensor *taken, ry_error *error)
{
    RY_TRY(take_picture(given, "picture", taken, error));
    RY_TRY(ry_api_check_writable(taken, error));
    return taken->dim[2] == 3
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_SHAPE, "picture: drawing needs 3 channels of colour");
}

rynd_status rynd_draw_boxes(const rynd_tensor *picture, const rynd_box *boxes, size_t count,
                            const char *const *labels, size_t label_count)
{
    RY_API_REQUIRE(picture);
    ry_error error;
    ry_tensor on;
    if (count > 0) {
        RY_API_REQUIRE(boxes);
    }
    const rynd_status status = take_coloured(picture, &on, &error);
    if (status == RYND_OK) {
        ry_draw_boxes(&on, boxes, count, labels, label_count);
    }
    return ry_api_end(status, &error);
}

static rynd_status draw_classes(const rynd_tensor *picture, const rynd_tensor *classes,
                                double opacity, ry_error *error)
{
    ry_tensor on, map;
    RY_TRY(take_coloured(picture, &on, error));
    RY_TRY(take_classes(classes, on.dim[0], on.dim[1], &map, error));
    if (!(opacity >= 0 && opacity <= 1)) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "opacity is %g: give 0 to 1", opacity);
    }
    ry_draw_classes(&on, &map, opacity);
    return RYND_OK;
}

rynd_status rynd_draw_classes(const rynd_tensor *picture, const rynd_tensor *classes,
                              double opacity)
{
    RY_API_REQUIRE(picture, classes);
    ry_error error;
    return ry_api_end(draw_classes(picture, classes, opacity, &error), &error);
}

uint32_t rynd_class_colour(int64_t label)
{
    return ry_class_colour(label);
}
