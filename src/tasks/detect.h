/* SPDX-License-Identifier: Apache-2.0 */
/* From outputs to boxes. */
#ifndef RY_TASKS_DETECT_H
#define RY_TASKS_DETECT_H

#include "base/memory.h"
#include "tasks/head.h"

/* What is asked: checked and complete. */
typedef struct ry_detection {
    ry_head_match match;
    ry_head_outputs outputs;
    int64_t index;
    double score, overlap;
} ry_detection;

/* A growing list in an arena. */
typedef struct ry_boxes {
    rynd_box *items;
    size_t count, room;
} ry_boxes;

/* Adds the boxes of at least the least score, in the input's pixels. */
rynd_status ry_decode(const ry_detection *detection, ry_boxes *boxes, ry_arena *arena,
                      ry_error *error);

/* Sorts by score, and keeps at most `most` boxes, and of those of one class that overlap by more
 * than `overlap` the best; overlap 0: all. Greedy, as in torchvision's batched_nms. */
void ry_suppress(ry_boxes *boxes, double overlap, size_t most);

/* Moves boxes from the input to the photo, and clips them to it. */
void ry_boxes_to_photo(ry_boxes *boxes, const rynd_frame *frame);

#endif
