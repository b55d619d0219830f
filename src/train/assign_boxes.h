/* SPDX-License-Identifier: Apache-2.0 */
/* Which candidate of a detection head learns which box: task-aligned assignment (Feng et al.,
 * "TOOD: Task-aligned one-stage object detection", ICCV 2021), with the constants of YOLO v8.
 *
 * A candidate and a box fit by score^0.5 * IoU^6, if the candidate's cell lies within the box, or
 * within one cell of its centre. Each box takes the 10 candidates that fit best. A candidate that
 * several boxes take belongs to the one that it overlaps most. */
#ifndef RY_TRAIN_ASSIGN_BOXES_H
#define RY_TRAIN_ASSIGN_BOXES_H

#include "train/head_candidates.h"

/* Constants for the loss: no gradient passes through them. */
typedef struct ry_assignment {
    /* [N, 1, A]: 0, or how well the candidate fits, from 0 to the best IoU with its box */
    ry_value_id weight;
    ry_value_id side[4]; /* [N, 1, A]: the assigned box, left, top, right, bottom; 0 without */
    /* [N, classes, A]: wanted scores. With objectness 1 at the box's class, else the weight; the
     * background gets the rest */
    ry_value_id scores;
} ry_assignment;

/* target [N, boxes, 5]: class, left, top, right, bottom in pixels of the input. */
void ry_emit_assignment(ry_emitter *emitter, const ry_candidates *candidates, ry_value_id target,
                        ry_assignment *assignment);

/* Place of the class without objects among the scores; -1: there is none. */
int64_t ry_candidates_background(const ry_candidates *candidates);

#endif
