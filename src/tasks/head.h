/* SPDX-License-Identifier: Apache-2.0 */
/* Detection heads: how networks code boxes in their outputs. Each head is a row of heads.c. */
#ifndef RY_TASKS_HEAD_H
#define RY_TASKS_HEAD_H

#include "base/status.h"
#include "tensor/tensor.h"

#include <rynd/tasks.h>

/* A group of equal outputs, one for each level if the head is `split`, else one.
 *
 * names: alternatives apart by '|'; '*' is any text, '%' the stride of the level. NULL: any name.
 *
 * layout: a letter for each dimension:
 *   n batch   a candidates   c fields   h w cells   k anchors of a cell   x 1
 *   C fields of all anchors of a cell, anchor by anchor
 * Without c or C the only field has no dimension.
 *
 * fields: letters with a width, in the order in which they lie along c:
 *   b box (4 numbers)   d box as distances, each a distribution over bins   p prior box
 *   o objectness   c classes   s best score   l its class   i picture in the batch
 *   k keypoints (x, y)   K keypoints (x, y, confidence)   m coefficients of a mask, not used
 * A width '*' is the rest. */
typedef struct ry_head_part {
    const char *names, *layout, *fields;
} ry_head_part;

/* A map of cells, each with `each` anchors. */
typedef struct ry_head_level {
    int stride, each;
    const float (*anchors)[2]; /* width, height in the input's pixels; NULL: none */
    float spread;              /* how far a centre may leave its cell: YOLO v4's scale_x_y; 0: 1 */
} ry_head_level;

/* One candidate's place. */
typedef struct ry_head_cell {
    double x, y, stride, spread;
    double width, height;             /* its anchor */
    double input_height, input_width; /* size of the network's input */
} ry_head_cell;

/* From 4 raw numbers to left, top, right, bottom. */
typedef void ry_head_coding(const ry_head_cell *cell, const double raw[4], double box[4]);

enum { RY_HEAD_PARTS = 4, RY_HEAD_LEVELS = 6, RY_HEAD_LAST = -2, RY_HEAD_NONE = -1 };

typedef struct ry_head {
    const char *name, *about;
    ry_head_part parts[RY_HEAD_PARTS];
    ry_head_level levels[RY_HEAD_LEVELS]; /* stride 0 ends; none: candidates have no place */
    int64_t candidates;                   /* exact number; 0: any */
    bool split;                           /* an output for each level */
    bool rest;                            /* further outputs are ignored */
    bool by_name;                         /* never recognised, only chosen */
    bool queries;                         /* candidates are queries of a transformer (DETR) */
    ry_head_coding *coding;
    bool fraction;             /* boxes and keypoints are fractions of the input */
    bool sigmoid;              /* objectness and classes are logits */
    bool softmax;              /* classes are logits with a softmax over them */
    int background;            /* class without objects: a place, RY_HEAD_LAST or RY_HEAD_NONE */
    int first_label;           /* number of the first class, for field l */
    double centre;             /* place of the centre in a cell */
    double power, class_power; /* score = objectness^power * class^class_power; 0: 1 */
    rynd_preparation preparation;
    double score, overlap;
    const char *labels; /* set of labels; NULL: by the number of classes */
} ry_head;

extern const ry_head ry_heads[];
extern const size_t ry_head_count;

/* Outputs, and the size of the input; open dims and an unknown size are -1. */
typedef struct ry_head_outputs {
    const char *const *names;
    const ry_tensor *tensors; /* rank -1: unknown */
    size_t count;
    int64_t height, width;
} ry_head_outputs;

/* Which output is what. */
typedef struct ry_head_match {
    const ry_head *head;
    size_t output[RY_HEAD_PARTS][RY_HEAD_LEVELS];
    int64_t classes; /* 0: the outputs have no field c; -1: open */
} ry_head_match;

/* The numbers of a fields text, for `classes` classes (the width '*'). */
int64_t ry_head_field_count(const char *fields, int64_t classes);
/* Classes of objects; 0: the outputs do not tell. */
int64_t ry_head_classes(const ry_head_match *match);
/* Cells of a level along a side of the input. */
int64_t ry_head_cells(const ry_head_level *level, int64_t side);
int ry_head_level_count(const ry_head *head);

/* Do the outputs fit the head? */
bool ry_head_fits(const ry_head *head, const ry_head_outputs *outputs, ry_head_match *match);
/* name NULL: the first head that fits. */
rynd_status ry_head_find(const char *name, const ry_head_outputs *outputs, ry_head_match *match,
                         ry_error *error);

#endif
