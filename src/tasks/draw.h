/* SPDX-License-Identifier: Apache-2.0 */
/* Draws boxes, labels and classes into pictures. */
#ifndef RY_TASKS_DRAW_H
#define RY_TASKS_DRAW_H

#include "tensor/tensor.h"

#include <rynd/tasks.h>

/* Red, green, blue in 0xrrggbb. */
uint32_t ry_class_colour(int64_t label);

/* The tensors are checked pictures of 3 channels. */
void ry_draw_boxes(const ry_tensor *picture, const rynd_box *boxes, size_t count,
                   const char *const *labels, size_t label_count);
void ry_draw_classes(const ry_tensor *picture, const ry_tensor *classes, double opacity);

#endif
