/* SPDX-License-Identifier: Apache-2.0 */
/* Changes the size of a picture of floats: bilinear. */
#ifndef RY_TASKS_BILINEAR_H
#define RY_TASKS_BILINEAR_H

#include "base/memory.h"
#include "base/status.h"

/* Row-major pixels, channels last. */
typedef struct ry_pixels {
    int64_t height, width, channels;
    float *data;
} ry_pixels;

/* Memory for the pixels, from the arena. */
rynd_status ry_pixels_make(ry_pixels *pixels, ry_arena *arena, ry_error *error);

/* Fills `to` from `from` of as many channels. antialias: the filter is widened by the reduction,
 * as in Pillow and PyTorch; otherwise it has four taps, as in OpenCV. */
rynd_status ry_resample(const ry_pixels *from, const ry_pixels *to, bool antialias, ry_arena *arena,
                        ry_error *error);

#endif
