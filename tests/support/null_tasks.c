/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the functions of rynd/tasks.h with each of their pointers NULL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "null_arguments.h"

#include <rynd/tasks.h>

/* A detector's output, a picture of 2 x 2 and an input for it. */
static float rows[1][6] = {{0, 0, 2, 2, 0.9f, 1}}, pixels[12], values[12];
static uint8_t labels[4];
static const char *const name = "output";

static rynd_tensor view(void *data, rynd_dtype dtype, int rank, const int64_t *dim)
{
    return rynd_tensor_of(data, dtype, rank, dim);
}

static void null_pictures(const rynd_tensor *picture, const rynd_tensor *input)
{
    const rynd_preparation how = RYND_SIZED(rynd_preparation, .scale = 1);
    rynd_frame frame;
    TAKES(rynd_picture_resize, context, rynd_picture_resize(NULL, picture, picture, 0) == RYND_OK);
    REFUSES(rynd_picture_resize, from, context, NULL, picture, 0);
    REFUSES(rynd_picture_resize, to, context, picture, NULL, 0);
    TAKES(rynd_picture_prepare, context,
          rynd_picture_prepare(NULL, picture, &how, input, 0, &frame) == RYND_OK);
    REFUSES(rynd_picture_prepare, picture, context, NULL, &how, input, 0, &frame);
    TAKES(rynd_picture_prepare, preparation,
          rynd_picture_prepare(context, picture, NULL, input, 0, &frame) == RYND_OK);
    REFUSES(rynd_picture_prepare, input, context, picture, &how, NULL, 0, &frame);
    TAKES(rynd_picture_prepare, frame,
          rynd_picture_prepare(context, picture, &how, input, 0, NULL) == RYND_OK);
}

static void null_heads(void)
{
    rynd_head head = RYND_SIZED(rynd_head);
    const char *const *words;
    size_t count;
    REFUSES(rynd_head_get, head, 0, NULL);
    REFUSES(rynd_model_get_head, model, NULL, "yolox", &head);
    TAKES(rynd_model_get_head, name,
          rynd_model_get_head(model, NULL, &head) == RYND_ERROR_UNSUPPORTED);
    REFUSES(rynd_model_get_head, head, model, "yolox", NULL);
    REFUSES(rynd_labels_get, name, NULL, &words, &count);
    REFUSES(rynd_labels_get, labels, "coco", NULL, &count);
    REFUSES(rynd_labels_get, count, "coco", &words, NULL);
}

static void null_results(const rynd_tensor *output, const rynd_tensor *map)
{
    const rynd_detection detection = RYND_SIZED(rynd_detection, .names = &name, .outputs = output,
                                                .output_count = 1, .height = 8, .width = 8);
    const rynd_frame frame = {.scale_y = 1, .scale_x = 1, .height = 2, .width = 2};
    rynd_box box;
    rynd_class class;
    size_t count = 1;
    TAKES(rynd_detect, context, rynd_detect(NULL, &detection, &box, &count) == RYND_OK);
    REFUSES(rynd_detect, detection, context, NULL, &box, &count);
    REFUSES(rynd_detect, boxes, context, &detection, NULL, &count);
    REFUSES(rynd_detect, count, context, &detection, &box, NULL);
    TAKES(rynd_segment, context, rynd_segment(NULL, map, 0, &frame, 2, 2, map) == RYND_OK);
    REFUSES(rynd_segment, output, context, NULL, 0, &frame, 2, 2, map);
    REFUSES(rynd_segment, frame, context, map, 0, NULL, 2, 2, map);
    REFUSES(rynd_segment, classes, context, map, 0, &frame, 2, 2, NULL);
    count = 1;
    TAKES(rynd_classify, context,
          rynd_classify(NULL, output, 0, &class, &count) == RYND_ERROR_SHAPE);
    REFUSES(rynd_classify, output, context, NULL, 0, &class, &count);
    REFUSES(rynd_classify, classes, context, output, 0, NULL, &count);
    REFUSES(rynd_classify, count, context, output, 0, &class, NULL);
}

static void null_drawings(const rynd_tensor *picture, const rynd_tensor *map)
{
    const rynd_box box = {.right = 2, .bottom = 2};
    REFUSES(rynd_draw_boxes, picture, NULL, &box, 1, &name, 1);
    REFUSES(rynd_draw_boxes, boxes, picture, NULL, 1, &name, 1);
    TAKES(rynd_draw_boxes, labels, rynd_draw_boxes(picture, &box, 1, NULL, 1) == RYND_OK);
    REFUSES(rynd_draw_classes, picture, NULL, map, 1);
    REFUSES(rynd_draw_classes, classes, picture, NULL, 1);
}

void null_tasks(void **state)
{
    (void)state;
    const rynd_tensor picture = view(pixels, RYND_DTYPE_F32, 3, (const int64_t[]){2, 2, 3}),
                      input = view(values, RYND_DTYPE_F32, 4, (const int64_t[]){1, 3, 2, 2}),
                      output = view(rows, RYND_DTYPE_F32, 3, (const int64_t[]){1, 1, 6}),
                      map = view(labels, RYND_DTYPE_U8, 2, (const int64_t[]){2, 2});
    null_pictures(&picture, &input);
    null_heads();
    null_results(&output, &map);
    null_drawings(&picture, &map);
}
