/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of pixels and of pictures, from a network's scores. */
#ifndef RY_TASKS_CLASSES_H
#define RY_TASKS_CLASSES_H

#include "base/memory.h"
#include "base/status.h"
#include "tensor/tensor.h"

#include <rynd/tasks.h>

/* rynd_segment with checked tensors. */
rynd_status ry_segment(const ry_tensor *output, int64_t index, const rynd_frame *frame,
                       const int64_t input[2], const ry_tensor *classes, ry_arena *arena,
                       ry_error *error);

/* rynd_classify with a checked tensor. */
rynd_status ry_classify(const ry_tensor *output, int64_t index, rynd_class *classes, size_t *count,
                        ry_arena *arena, ry_error *error);

#endif
