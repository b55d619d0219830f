/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the functions of rynd/eval.h with each of their pointers NULL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "null_arguments.h"

#include <rynd/eval.h>

static rynd_evaluation *make(rynd_task task, int64_t classes)
{
    const rynd_evaluation_options options =
        RYND_SIZED(rynd_evaluation_options, .task = task, .classes = classes);
    rynd_evaluation *evaluation = NULL;
    assert_int_equal(rynd_evaluation_create(context, &options, &evaluation), RYND_OK);
    return evaluation;
}

static void null_additions(void)
{
    const rynd_class class = {.label = 1};
    const rynd_box box = {.right = 2, .bottom = 2};
    const rynd_object object = {.width = 2, .height = 2};
    uint8_t pixels[11 * 11] = {0};
    const rynd_tensor map = rynd_tensor_of(pixels, RYND_DTYPE_U8, 2, (const int64_t[]){2, 2}),
                      picture =
                          rynd_tensor_of(pixels, RYND_DTYPE_U8, 3, (const int64_t[]){11, 11, 1});
    rynd_evaluation *labels = make(RYND_TASK_CLASSIFY, 2), *boxes = make(RYND_TASK_DETECT, 2),
                    *maps = make(RYND_TASK_SEGMENT, 2), *pictures = make(RYND_TASK_IMAGE, 0);
    REFUSES(rynd_evaluation_add_label, evaluation, NULL, &class, 1, 0);
    REFUSES(rynd_evaluation_add_label, found, labels, NULL, 1, 0);
    REFUSES(rynd_evaluation_add_map, evaluation, NULL, &map, &map, -1);
    REFUSES(rynd_evaluation_add_map, found, maps, NULL, &map, -1);
    REFUSES(rynd_evaluation_add_map, truth, maps, &map, NULL, -1);
    REFUSES(rynd_evaluation_add_boxes, evaluation, NULL, &box, 1, &object, 1);
    REFUSES(rynd_evaluation_add_boxes, found, boxes, NULL, 1, &object, 1);
    REFUSES(rynd_evaluation_add_boxes, objects, boxes, &box, 1, NULL, 1);
    REFUSES(rynd_evaluation_add_picture, evaluation, NULL, &picture, &picture);
    REFUSES(rynd_evaluation_add_picture, found, pictures, NULL, &picture);
    REFUSES(rynd_evaluation_add_picture, truth, pictures, &picture, NULL);
    rynd_evaluation_destroy(labels);
    rynd_evaluation_destroy(boxes);
    rynd_evaluation_destroy(maps);
    rynd_evaluation_destroy(pictures);
}

void null_evals(void **state)
{
    (void)state;
    const rynd_evaluation_options options = RYND_SIZED(rynd_evaluation_options, .classes = 2);
    rynd_evaluation *made = NULL, *evaluation = make(RYND_TASK_CLASSIFY, 2);
    rynd_figure figure = RYND_SIZED(rynd_figure);
    rynd_class_figures figures = RYND_SIZED(rynd_class_figures);
    const int64_t *counts;
    int64_t classes;
    TAKES(rynd_evaluation_create, context,
          rynd_evaluation_create(NULL, &options, &made) == RYND_OK);
    rynd_evaluation_destroy(made);
    REFUSES(rynd_evaluation_create, options, context, NULL, &made);
    REFUSES(rynd_evaluation_create, evaluation, context, &options, NULL);
    IGNORES(rynd_evaluation_destroy, evaluation, NULL);
    TAKES(rynd_evaluation_figure_count, evaluation, rynd_evaluation_figure_count(NULL) == 0);
    REFUSES(rynd_evaluation_get_figure, evaluation, NULL, 0, &figure);
    REFUSES(rynd_evaluation_get_figure, figure, evaluation, 0, NULL);
    REFUSES(rynd_evaluation_get_class, evaluation, NULL, 0, &figures);
    REFUSES(rynd_evaluation_get_class, figures, evaluation, 0, NULL);
    REFUSES(rynd_evaluation_get_confusion, evaluation, NULL, &counts, &classes);
    REFUSES(rynd_evaluation_get_confusion, counts, evaluation, NULL, &classes);
    REFUSES(rynd_evaluation_get_confusion, classes, evaluation, &counts, NULL);
    null_additions();
    rynd_evaluation_destroy(evaluation);
}
