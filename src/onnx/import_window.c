/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions, sampling and image operators. */
#include "onnx/operators.h"

#include <inttypes.h>
#include <string.h>

/* kernel_shape says again what the weights' shape says. */
static void check_kernel_shape(ry_import *import, int weights_input)
{
    ry_ints kernel = ry_import_ints(import, "kernel_shape");
    const ry_value *w = ry_import_value(import, ry_import_in(import, weights_input));
    if (!kernel.count || !w || w->shape.rank < 0) {
        return;
    }
    if (w->shape.rank != kernel.count + 2) {
        ry_import_fail(import, RYND_ERROR_SHAPE,
                       "its kernel_shape has %d numbers, but its weights '%s' have %d dimensions",
                       kernel.count, w->name, w->shape.rank);
        return;
    }
    for (int i = 0; i < kernel.count; i++) {
        if (w->shape.dim[i + 2] >= 0 && w->shape.dim[i + 2] != kernel.at[i]) {
            ry_import_fail(import, RYND_ERROR_SHAPE,
                           "its kernel_shape says %" PRId64
                           ", but dimension %d of its weights '%s' is %" PRId64,
                           kernel.at[i], i + 2, w->name, w->shape.dim[i + 2]);
        }
    }
}

void ry_import_conv(ry_import *import)
{
    ry_attrs attrs = ry_import_attrs(import, import->row->op);
    check_kernel_shape(import, 1);
    ry_onnx_emit(import, import->row->op, &attrs, import->node->inputs, import->in,
                 ry_import_out(import, 0));
}

static ry_value_id emit_floats(ry_import *import, int count, const double *numbers)
{
    float data[RY_MAX_INTS];
    ry_shape shape = {.rank = 1, .dim = {count}};
    for (int i = 0; i < count; i++) {
        data[i] = (float)numbers[i];
    }
    return ry_onnx_emit_constant(import, RY_f32, &shape, data);
}

static ry_value_id emit_resize(ry_import *import, ry_value_id x, ry_value_id scales, bool ceil,
                               ry_value_id to)
{
    ry_attrs attrs = ry_import_attrs(import, RY_OP_resize);
    if (ceil) {
        attrs.resize.nearest = RY_resize_nearest_ceil;
    }
    ry_value_id in[] = {x, RY_NO_VALUE, scales};
    return ry_onnx_emit(import, RY_OP_resize, &attrs, 3, in, to);
}

/* Resize of opset 10 and Upsample: coordinates are asymmetric. Their text leaves the nearest pixel
 * open; ONNX's data and ONNX Runtime take the one below where an axis grows and the one above where
 * it shrinks, so one that does both takes two steps. */
static void resize_old(ry_import *import, ry_value_id scales)
{
    ry_floats grow = {0}, shrink = {0};
    const ry_value *v = ry_import_value(import, scales);
    int64_t count = v && v->constant ? ry_shape_elements(&v->shape) : 0;
    bool grows = false, shrinks = false;
    for (int i = 0; i < count && i < RY_MAX_INTS; i++) {
        double scale = ry_get_f64(v->dtype, v->constant, i);
        grow.at[grow.count++] = scale > 1 ? scale : 1;
        shrink.at[shrink.count++] = scale < 1 ? scale : 1;
        grows = grows || scale > 1;
        shrinks = shrinks || scale < 1;
    }
    ry_value_id x = ry_import_in(import, 0);
    if (!shrinks || strcmp(ry_import_text(import, "mode"), "nearest") != 0) {
        emit_resize(import, x, scales, false, ry_import_out(import, 0));
        return;
    }
    if (grows) {
        x = emit_resize(import, x, emit_floats(import, grow.count, grow.at), false, RY_NO_VALUE);
        scales = emit_floats(import, shrink.count, shrink.at);
    }
    emit_resize(import, x, scales, true, ry_import_out(import, 0));
}

void ry_import_resize_10(ry_import *import)
{
    resize_old(import, ry_import_in(import, 1));
}

void ry_import_upsample_1(ry_import *import)
{
    double scales[] = {1, 1, ry_import_float(import, "height_scale"),
                       ry_import_float(import, "width_scale")};
    resize_old(import, emit_floats(import, 4, scales));
}

void ry_import_upsample_7(ry_import *import)
{
    ry_floats scales = ry_import_floats(import, "scales");
    resize_old(import, emit_floats(import, scales.count, scales.at));
}

/* Below opset 16 the coordinates are not moved by half a pixel. */
void ry_import_roi_align(ry_import *import)
{
    ry_attrs attrs = ry_import_attrs(import, RY_OP_roi_align);
    const char *mode = ry_import_text(import, "mode"),
               *coordinates = ry_import_text(import, "coordinate_transformation_mode");
    attrs.roi_align.max = strcmp(mode, "max") == 0;
    attrs.roi_align.half_pixel = strcmp(coordinates, "half_pixel") == 0;
    if (!attrs.roi_align.max && strcmp(mode, "avg") != 0) {
        ry_import_fail(import, RYND_ERROR_UNSUPPORTED, "its mode '%s' is neither avg nor max",
                       mode);
    }
    if (*coordinates && !attrs.roi_align.half_pixel &&
        strcmp(coordinates, "output_half_pixel") != 0) {
        ry_import_fail(import, RYND_ERROR_UNSUPPORTED,
                       "its coordinate_transformation_mode '%s' is not known", coordinates);
    }
    ry_onnx_emit(import, RY_OP_roi_align, &attrs, 3, import->in, ry_import_out(import, 0));
}

static bool is_crd(ry_import *import)
{
    const char *mode = ry_import_text(import, "mode");
    bool crd = strcmp(mode, "CRD") == 0;
    if (!crd && strcmp(mode, "DCR") != 0) {
        ry_import_fail(import, RYND_ERROR_UNSUPPORTED, "its mode '%s' is neither DCR nor CRD",
                       mode);
    }
    return crd;
}

void ry_import_space_to_depth(ry_import *import)
{
    ry_attrs attrs = ry_import_attrs(import, RY_OP_space_to_depth);
    attrs.space_to_depth.crd = is_crd(import);
    ry_onnx_emit(import, RY_OP_space_to_depth, &attrs, 1, import->in, ry_import_out(import, 0));
}

void ry_import_depth_to_space(ry_import *import)
{
    ry_attrs attrs = ry_import_attrs(import, RY_OP_depth_to_space);
    attrs.depth_to_space.crd = is_crd(import);
    ry_onnx_emit(import, RY_OP_depth_to_space, &attrs, 1, import->in, ry_import_out(import, 0));
}

/* scale * x, and a bias for each channel. */
void ry_import_image_scaler(ry_import *import)
{
    ry_floats bias = ry_import_floats(import, "bias");
    ry_expr_parameter scale = {"scale", ry_import_float(import, "scale")};
    ry_value_id in[2] = {ry_import_in(import, 0)};
    if (bias.count) {
        in[1] = emit_floats(import, bias.count, bias.at);
        in[1] = ry_onnx_emit_reshape(import, in[1], 3, (int64_t[]){bias.count, 1, 1});
        in[1] = ry_onnx_emit_cast(import, in[1], ry_import_dtype(import, in[0]), RY_NO_VALUE);
    }
    ry_onnx_emit_expr(import, bias.count ? "x0 * scale + x1" : "x0 * scale", &scale, 1, NULL,
                      bias.count ? 2 : 1, in, ry_import_out(import, 0));
}

/* border: left, top, right, bottom. scale, when it is there: the height and width that stay. */
void ry_import_crop(ry_import *import)
{
    ry_ints border = ry_import_ints(import, "border"), scale = ry_import_ints(import, "scale");
    if (border.count != 4 || (scale.count && scale.count != 2)) {
        ry_import_fail(import, RYND_ERROR_FORMAT, "its border must have 4 numbers and its scale 2");
        return;
    }
    ry_attrs attrs = ry_attrs_default(RY_OP_slice);
    int64_t left = border.at[0], top = border.at[1], right = border.at[2], bottom = border.at[3];
    attrs.slice.axes = (ry_ints){.count = 2, .at = {2, 3}};
    attrs.slice.starts = (ry_ints){.count = 2, .at = {top, left}};
    attrs.slice.ends =
        (ry_ints){.count = 2, .at = {bottom ? -bottom : INT64_MAX, right ? -right : INT64_MAX}};
    for (int i = 0; i < scale.count; i++) {
        if (__builtin_add_overflow(attrs.slice.starts.at[i], scale.at[i],
                                   &attrs.slice.ends.at[i])) {
            ry_import_fail(import, RYND_ERROR_SHAPE, "its border and scale are too large");
        }
    }
    ry_onnx_emit(import, RY_OP_slice, &attrs, 1, import->in, ry_import_out(import, 0));
}
