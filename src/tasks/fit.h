/* SPDX-License-Identifier: Apache-2.0 */
/* From a picture to a network's input. */
#ifndef RY_TASKS_FIT_H
#define RY_TASKS_FIT_H

#include "tasks/bilinear.h"
#include "tensor/tensor.h"

#include <rynd/tasks.h>

/* Refuses a tensor that is no picture [height, width, 1 or 3] with pixels. */
rynd_status ry_picture_check(const ry_tensor *picture, ry_error *error);

/* Copies a picture into floats, with `channels` 1 or 3: grey becomes colour, or colour grey. */
rynd_status ry_picture_take(const ry_tensor *picture, int64_t channels, ry_pixels *pixels,
                            ry_arena *arena, ry_error *error);

/* rynd_picture_resize and rynd_picture_prepare; the tensors are checked, the deviations are not
 * 0. */
rynd_status ry_picture_resize(const ry_tensor *from, const ry_tensor *to, bool antialias,
                              ry_arena *arena, ry_error *error);
rynd_status ry_picture_prepare(const ry_tensor *picture, const rynd_preparation *how,
                               const ry_tensor *input, int64_t index, rynd_frame *frame,
                               ry_arena *arena, ry_error *error);

#endif
