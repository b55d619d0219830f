/* SPDX-License-Identifier: Apache-2.0 */
/* Fits pictures to the inputs of networks. */
#include "tasks/fit.h"

#include <inttypes.h>
#include <math.h>

static bool is_channels(int64_t dim)
{
    return dim == 1 || dim == 3;
}

rynd_status ry_picture_check(const ry_tensor *picture, ry_error *error)
{
    if (picture->rank == 3 && is_channels(picture->dim[2]) && ry_tensor_count(picture) > 0) {
        return RYND_OK;
    }
    return ry_fail(error, RYND_ERROR_SHAPE,
                   "the tensor of rank %d is no picture [height, width, 1 or 3]", picture->rank);
}

rynd_status ry_picture_take(const ry_tensor *picture, int64_t channels, ry_pixels *pixels,
                            ry_arena *arena, ry_error *error)
{
    *pixels = (ry_pixels){picture->dim[0], picture->dim[1], channels, NULL};
    RY_TRY(ry_pixels_make(pixels, arena, error));
    float *to = pixels->data;
    for (int64_t y = 0; y < pixels->height; y++) {
        for (int64_t x = 0; x < pixels->width; x++, to += channels) {
            float colour[3] = {0};
            const int64_t at = y * picture->stride[0] + x * picture->stride[1];
            for (int64_t c = 0; c < picture->dim[2]; c++) {
                const int64_t place = at + c * picture->stride[2];
                colour[c] = (float)ry_get_f64((ry_dtype)picture->dtype, picture->data, place);
            }
            if (picture->dim[2] == 1) {
                colour[1] = colour[2] = colour[0];
            } else if (channels == 1) {
                colour[0] = 0.299f * colour[0] + 0.587f * colour[1] + 0.114f * colour[2];
            }
            for (int64_t c = 0; c < channels; c++) {
                to[c] = colour[c];
            }
        }
    }
    return RYND_OK;
}

/* Integers are rounded and clamped. */
static void put(const ry_tensor *to, int64_t at, double value)
{
    const ry_dtype dtype = (ry_dtype)to->dtype;
    if (!ry_dtype_is_float(dtype)) {
        const double low = dtype == RY_i8   ? -128
                           : dtype == RY_u8 ? 0
                                            : -32768,
                     high = dtype == RY_i8   ? 127
                            : dtype == RY_u8 ? 255
                                             : 32767;
        value = value > low ? (value < high ? rint(value) : high) : low;
    }
    ry_set_f64(dtype, to->data, at, value);
}

rynd_status ry_picture_resize(const ry_tensor *from, const ry_tensor *to, bool antialias,
                              ry_arena *arena, ry_error *error)
{
    ry_pixels source, result = {to->dim[0], to->dim[1], to->dim[2], NULL};
    RY_TRY(ry_picture_take(from, to->dim[2], &source, arena, error));
    RY_TRY(ry_pixels_make(&result, arena, error));
    RY_TRY(ry_resample(&source, &result, antialias, arena, error));
    const float *pixel = result.data;
    for (int64_t y = 0; y < result.height; y++) {
        for (int64_t x = 0; x < result.width; x++) {
            for (int64_t c = 0; c < result.channels; c++) {
                put(to, y * to->stride[0] + x * to->stride[1] + c * to->stride[2],
                    (double)*pixel++);
            }
        }
    }
    return RYND_OK;
}

/* One picture of an input: strides, without the batch. */
typedef struct target {
    ry_tensor tensor;
    int64_t height, width, channels, row, column, channel;
} target;

static rynd_status take_target(const ry_tensor *input, int64_t index, target *to, ry_error *error)
{
    const int first = input->rank == 4;
    const bool shaped = input->rank == 3 || input->rank == 4;
    const bool last = shaped && !is_channels(input->dim[first]);
    const int channel = first + (last ? 2 : 0), row = first + !last;
    if (!shaped || !is_channels(input->dim[channel]) || ry_tensor_count(input) < 1) {
        return ry_fail(error, RYND_ERROR_SHAPE,
                       "the input of rank %d takes no picture: it has no dimension of 1 or 3 "
                       "channels",
                       input->rank);
    }
    if (index < 0 || index >= (first ? input->dim[0] : 1)) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "picture %" PRId64 " is outside the batch",
                       index);
    }
    *to = (target){*input,
                   input->dim[row],
                   input->dim[row + 1],
                   input->dim[channel],
                   input->stride[row],
                   input->stride[row + 1],
                   input->stride[channel]};
    to->tensor.data = (char *)input->data + (first ? index * input->stride[0] : 0) *
                                                (int64_t)ry_dtype_size((ry_dtype)input->dtype);
    return RYND_OK;
}

/* Even rounding, as torchvision's CenterCrop and Python's round() do it. */
static double half_of(int64_t pixels)
{
    return rint((double)pixels / 2);
}

/* Chooses the size of the resized picture, and where it lies. The roundings are those of the
 * programs that the networks are published with: Ultralytics (LETTERBOX), YOLOX (CORNER),
 * torchvision (CROP). */
static void place(const rynd_preparation *how, const target *to, ry_pixels *resized,
                  rynd_frame *frame)
{
    const double tall = (double)to->height / (double)frame->height,
                 wide = (double)to->width / (double)frame->width, least = tall < wide ? tall : wide,
                 most = tall < wide ? wide : tall;
    double ratio = least;
    if (how->fit == RYND_FIT_STRETCH) {
        *resized = (ry_pixels){to->height, to->width, to->channels, NULL};
        frame->scale_y = tall;
        frame->scale_x = wide;
        return;
    }
    if (how->fit == RYND_FIT_CROP) {
        const double share = how->share > 0 ? how->share : 1;
        ratio = most * rint((double)(tall < wide ? to->width : to->height) / share) /
                (double)(tall < wide ? to->width : to->height);
    }
    const double height = (double)frame->height * ratio, width = (double)frame->width * ratio;
    const bool whole = how->fit == RYND_FIT_LETTERBOX;
    *resized = (ry_pixels){.height = (int64_t)(whole ? rint(height) : floor(height + 1e-6)),
                           .width = (int64_t)(whole ? rint(width) : floor(width + 1e-6)),
                           .channels = to->channels};
    resized->height = resized->height > 0 ? resized->height : 1;
    resized->width = resized->width > 0 ? resized->width : 1;
    frame->scale_y = frame->scale_x = ratio;
    if (how->fit == RYND_FIT_LETTERBOX) { /* half a pixel more goes below and to the right */
        frame->offset_y = (double)((to->height - resized->height) / 2);
        frame->offset_x = (double)((to->width - resized->width) / 2);
    } else if (how->fit == RYND_FIT_CROP) {
        frame->offset_y = -half_of(resized->height - to->height);
        frame->offset_x = -half_of(resized->width - to->width);
    }
}

static void fill(const rynd_preparation *how, const target *to, const ry_pixels *resized,
                 const rynd_frame *frame)
{
    const int64_t top = (int64_t)frame->offset_y, left = (int64_t)frame->offset_x;
    const double scale = how->scale != 0 ? how->scale : 1;
    for (int64_t y = 0; y < to->height; y++) {
        for (int64_t x = 0; x < to->width; x++) {
            const int64_t v = y - top, u = x - left;
            const bool inside = v >= 0 && v < resized->height && u >= 0 && u < resized->width;
            const float *pixel =
                inside ? resized->data + (v * resized->width + u) * resized->channels : NULL;
            for (int64_t c = 0; c < to->channels; c++) {
                const int64_t from = how->bgr && to->channels == 3 ? 2 - c : c;
                const double value = pixel ? (double)pixel[from] : how->fill;
                const double deviation = how->deviation[c] != 0 ? how->deviation[c] : 1;
                put(&to->tensor, y * to->row + x * to->column + c * to->channel,
                    (value * scale - how->mean[c]) / deviation);
            }
        }
    }
}

rynd_status ry_picture_prepare(const ry_tensor *picture, const rynd_preparation *how,
                               const ry_tensor *input, int64_t index, rynd_frame *frame,
                               ry_arena *arena, ry_error *error)
{
    target to;
    ry_pixels source, resized;
    *frame = (rynd_frame){.height = picture->dim[0], .width = picture->dim[1]};
    RY_TRY(take_target(input, index, &to, error));
    RY_TRY(ry_picture_take(picture, to.channels, &source, arena, error));
    place(how, &to, &resized, frame);
    RY_TRY(ry_pixels_make(&resized, arena, error));
    RY_TRY(ry_resample(&source, &resized, !how->no_antialias, arena, error));
    fill(how, &to, &resized, frame);
    return RYND_OK;
}
