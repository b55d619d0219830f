/* SPDX-License-Identifier: Apache-2.0 */
/** @file eval.h
 *  @brief Experimental (see <rynd/rynd.h>): figures of a model on data with known answers.
 *
 *      rynd_evaluation_create(context, &options, &evaluation);
 *      rynd_evaluation_add_boxes(evaluation, boxes, count, objects, object_count);  one a picture
 *      rynd_evaluation_get_figure(evaluation, 0, &figure);    "map" 0.37
 *
 * docs/tasks.md has the definitions. Boxes give the figures of pycocotools, SSIM is that of
 * torchmetrics, with a Gaussian window of 11x11 around each pixel.
 *
 * One thread at a time uses an evaluation. Memory comes from the allocator of `context`; context
 * NULL: from the system. */
#ifndef RYND_EVAL_H
#define RYND_EVAL_H

#include <rynd/tasks.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a model does with a picture. */
typedef enum rynd_task {
    RYND_TASK_CLASSIFY = 0, /**< names it */
    RYND_TASK_DETECT,       /**< finds boxes */
    RYND_TASK_SEGMENT,      /**< finds the class of each pixel */
    RYND_TASK_IMAGE,        /**< makes another picture */
} rynd_task;

/** Answers and truths, added picture by picture. */
typedef struct rynd_evaluation rynd_evaluation;

typedef struct rynd_evaluation_options {
    size_t size;
    rynd_task task;
    int64_t classes; /**< number of classes, 1 to 65536; IMAGE: 0 */
    double range;    /**< IMAGE: largest minus smallest possible value; 0: 255 */
} rynd_evaluation_options;

/** Makes an empty evaluation. CLASSIFY and SEGMENT take 8 bytes for each pair of classes. Fails
 * with ARGUMENT and OUT_OF_MEMORY. */
RYND_API rynd_status rynd_evaluation_create(rynd_context *context,
                                            const rynd_evaluation_options *options,
                                            rynd_evaluation **evaluation);

/** Frees an evaluation; NULL is ignored. */
RYND_API void rynd_evaluation_destroy(rynd_evaluation *evaluation);

/** CLASSIFY: adds a picture. found: its classes, best first, as rynd_classify gives them, at least
 * one. label: the true class. Fails with ARGUMENT (a class is outside the evaluation's; another
 * task). */
RYND_API rynd_status rynd_evaluation_add_label(rynd_evaluation *evaluation, const rynd_class *found,
                                               size_t count, int64_t label);

/** SEGMENT: adds a picture. found and truth: classes of pixels, integers [height, width]. Pixels
 * whose truth is `ignore` are left out; -1: none. Fails with SHAPE (the sizes differ) and ARGUMENT
 * (a class is outside the evaluation's; another task); nothing is added then. */
RYND_API rynd_status rynd_evaluation_add_map(rynd_evaluation *evaluation, const rynd_tensor *found,
                                             const rynd_tensor *truth, int64_t ignore);

/** A true object of a picture. */
typedef struct rynd_object {
    double left, top, width, height; /**< its box, in pixels */
    double area;   /**< decides between small, medium and large; below 0: that of the box */
    int64_t label; /**< class index from 0 */
    int crowd;     /**< 1: a group of objects; boxes inside it count neither way */
} rynd_object;

/** DETECT: adds a picture, also one without boxes or objects. The order of pictures decides between
 * boxes of equal score. Fails with ARGUMENT (a class is outside the evaluation's; another task) and
 * OUT_OF_MEMORY. */
RYND_API rynd_status rynd_evaluation_add_boxes(rynd_evaluation *evaluation, const rynd_box *found,
                                               size_t count, const rynd_object *objects,
                                               size_t object_count);

/** IMAGE: adds a picture. found and truth: numbers [height, width, 1 or 3], at least 11x11. Fails
 * with SHAPE, ARGUMENT (another task) and OUT_OF_MEMORY. */
RYND_API rynd_status rynd_evaluation_add_picture(rynd_evaluation *evaluation,
                                                 const rynd_tensor *found,
                                                 const rynd_tensor *truth);

/** A number about all pictures. */
typedef struct rynd_figure {
    size_t size;
    const char *name;  /**< "top1" */
    const char *about; /**< "share of pictures whose best class is right" */
    const char *unit;  /**< "" for a share from 0 to 1; "dB" */
    double value;      /**< larger is better; NaN: there was nothing to count */
} rynd_figure;

/** Number of figures; evaluation NULL: 0. */
RYND_API size_t rynd_evaluation_figure_count(const rynd_evaluation *evaluation);

/** Computes a figure of what was added so far. The texts are static. Fails with ARGUMENT (no such
 * index) and OUT_OF_MEMORY. */
RYND_API rynd_status rynd_evaluation_get_figure(rynd_evaluation *evaluation, size_t index,
                                                rynd_figure *figure);

/** Numbers about one class; NaN: the task has no such number, or there was nothing to count. */
typedef struct rynd_class_figures {
    size_t size;
    int64_t count;    /**< true pictures, pixels or objects (without crowds) of the class */
    int64_t found;    /**< pictures or pixels that were given the class; DETECT: 0 */
    double recall;    /**< CLASSIFY, SEGMENT: right / count */
    double precision; /**< CLASSIFY, SEGMENT: right / found */
    double iou;       /**< SEGMENT: intersection over union */
    double ap, ap50;  /**< DETECT: average precision at overlaps of 0.5 to 0.95, and of 0.5 */
} rynd_class_figures;

/** Computes the numbers of a class. Fails with ARGUMENT (no such class) and OUT_OF_MEMORY. */
RYND_API rynd_status rynd_evaluation_get_class(rynd_evaluation *evaluation, int64_t label,
                                               rynd_class_figures *figures);

/** Gives the confusion matrix of CLASSIFY and SEGMENT: counts[true * classes + found]. It is the
 * evaluation's, and later additions change it. Fails with ARGUMENT: another task. */
RYND_API rynd_status rynd_evaluation_get_confusion(const rynd_evaluation *evaluation,
                                                   const int64_t **counts, int64_t *classes);

#ifdef __cplusplus
}
#endif
#endif
