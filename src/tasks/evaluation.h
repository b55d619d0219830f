/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of a model beside the truth: counts while pictures are added, figures of them all. */
#ifndef RY_TASKS_EVALUATION_H
#define RY_TASKS_EVALUATION_H

#include "base/memory.h"
#include "base/status.h"
#include "tensor/tensor.h"

#include <rynd/eval.h>

enum {
    RY_EVAL_CLASSES = 65536, /* most classes */
    RY_EVAL_FIGURES = 12,    /* most figures of a task */
    RY_EVAL_AREAS = 4,       /* all, small, medium, large */
    RY_EVAL_OVERLAPS = 10,   /* 0.5, 0.55 ... 0.95 */
    RY_EVAL_BOXES = 100,     /* boxes of a class in a picture that count */
};

/* A box that was compared with the objects of its picture. Bit t stands for overlap t. */
typedef struct ry_eval_box {
    float score;
    int32_t label;
    uint32_t order; /* number of additions before */
    uint16_t rank;  /* place by score within picture and class, from 0 */
    uint16_t right[RY_EVAL_AREAS], ignored[RY_EVAL_AREAS];
} ry_eval_box;

struct rynd_evaluation {
    ry_allocator allocator;
    ry_arena arena;
    rynd_task task;
    int64_t classes;
    double range;
    /* CLASSIFY and SEGMENT: counts[true * classes + found] */
    int64_t *confusion;
    int64_t pictures, in_five;
    /* DETECT */
    ry_eval_box *boxes;
    size_t box_count, box_room;
    int64_t (*objects)[RY_EVAL_AREAS]; /* per class: objects that count */
    double *ap, *ap50;                 /* per class */
    /* IMAGE: sums over pictures */
    double psnr, ssim;
    bool settled; /* figures include every addition */
    double figures[RY_EVAL_FIGURES];
};

size_t ry_eval_figure_count(rynd_task task);
/* Name, about and unit of a figure. */
rynd_figure ry_eval_figure(rynd_task task, size_t index);
/* Computes all figures, if something was added since. */
rynd_status ry_eval_settle(rynd_evaluation *evaluation, ry_error *error);

/* Additions; the task is right, and tensors are checked. */
rynd_status ry_eval_add_label(rynd_evaluation *e, const rynd_class *found, size_t count,
                              int64_t label, ry_error *error);
rynd_status ry_eval_add_map(rynd_evaluation *e, const ry_tensor *found, const ry_tensor *truth,
                            int64_t ignore, ry_error *error);
rynd_status ry_eval_add_boxes(rynd_evaluation *e, const rynd_box *found, size_t count,
                              const rynd_object *objects, size_t object_count, ry_error *error);
rynd_status ry_eval_add_picture(rynd_evaluation *e, const ry_tensor *found, const ry_tensor *truth,
                                ry_error *error);

/* Figures of a task, in the order of ry_eval_figure. */
void ry_eval_settle_labels(rynd_evaluation *e);
void ry_eval_settle_maps(rynd_evaluation *e);
rynd_status ry_eval_settle_boxes(rynd_evaluation *e, ry_error *error);
void ry_eval_settle_pictures(rynd_evaluation *e);

/* The numbers of a class from the confusion matrix. */
void ry_eval_class(const rynd_evaluation *e, int64_t label, rynd_class_figures *figures);

#endif
