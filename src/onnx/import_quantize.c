/* SPDX-License-Identifier: Apache-2.0 */
/* Quantised operators: integers minus their zero point, computed in i32, scaled and rounded to even
 * by an expression. */
#include "onnx/operators.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Numbers for each position of one dim of a tensor of `rank` dims, made to broadcast with it: [n]
 * becomes [n, 1, 1]. */
static ry_value_id along(ry_import *import, ry_value_id numbers, int axis, int rank)
{
    int own = ry_import_rank(import, numbers);
    int64_t dim[RY_MAX_RANK];
    if (ry_import_failed(import) || numbers == RY_NO_VALUE || own != 1 || rank - axis <= 1) {
        return numbers;
    }
    dim[0] = -1;
    for (int i = 1; i < rank - axis; i++) {
        dim[i] = 1;
    }
    return ry_onnx_emit_reshape(import, numbers, rank - axis, dim);
}

/* A tensor with one number for each block of `block` positions along an axis: each number is
 * repeated. */
static ry_value_id repeat_blocks(ry_import *import, ry_value_id numbers, int axis, int64_t block,
                                 int64_t positions)
{
    const int64_t limit = INT64_C(1) << 24;
    if (ry_import_failed(import) || numbers == RY_NO_VALUE) {
        return numbers;
    }
    if (positions > limit) {
        ry_import_fail(import, RYND_ERROR_UNSUPPORTED,
                       "more than 2^24 positions along its axis are in blocks");
        return RY_NO_VALUE;
    }
    ry_shape shape = {.rank = 1, .dim = {positions}};
    ry_value_id in[] = {numbers, ry_graph_add_constant(import->graph, NULL, RY_i64, &shape, NULL)};
    if (in[1] == RY_NO_VALUE) {
        import->status = ry_fail_memory(import->reader->error);
        return RY_NO_VALUE;
    }
    int64_t *indices = ry_graph_constant_data(import->graph, in[1]);
    for (int64_t i = 0; i < positions; i++) {
        indices[i] = i / block;
    }
    ry_attrs attrs = ry_attrs_default(RY_OP_gather);
    attrs.gather.axis = axis;
    return ry_onnx_emit(import, RY_OP_gather, &attrs, 2, in, RY_NO_VALUE);
}

static bool is_one_number(const ry_import *import, ry_value_id value)
{
    const ry_value *v = ry_import_value(import, value);
    return v && v->shape.rank == 1 && v->shape.dim[0] == 1;
}

/* Scale or zero point of QuantizeLinear and DequantizeLinear, made to broadcast with x: one for
 * all, one for each position of `axis`, or one for each block along it. */
static ry_value_id spread(ry_import *import, ry_value_id x, ry_value_id numbers)
{
    int rank = ry_import_rank(import, x), own = ry_import_rank(import, numbers);
    if (ry_import_failed(import) || numbers == RY_NO_VALUE || own == 0) {
        return numbers;
    }
    if (is_one_number(import, numbers)) {
        return ry_onnx_emit_reshape(import, numbers, 0, (int64_t[]){0});
    }
    int axis = ry_axis(ry_import_int(import, "axis"), rank);
    int64_t block = ry_import_int(import, "block_size");
    if (axis < 0 || block < 0) {
        ry_import_fail(
            import, RYND_ERROR_SHAPE,
            "its axis is outside its input's %d dimensions, or its block_size is negative", rank);
        return numbers;
    }
    if (block == 0 || own == 1) {
        return along(import, numbers, axis, rank);
    }
    return repeat_blocks(import, numbers, axis, block, ry_import_dim(import, x, axis));
}

static const char *format_text(ry_import *import, const char *format, ry_dtype dtype)
{
    const char *text =
        ry_arena_format(import->reader->source.arena, "%s, %s)", format, ry_dtype_name(dtype));
    if (!text && !ry_import_failed(import)) {
        import->status = ry_fail_memory(import->reader->error);
    }
    return text ? text : "x0";
}

static void check_quantised_type(ry_import *import, ry_dtype dtype)
{
    if (dtype != RY_i8 && dtype != RY_u8 && dtype != RY_i16 && dtype != RY_u16) {
        ry_import_fail(import, RYND_ERROR_UNSUPPORTED,
                       "it quantises to %s; i8, u8, i16 and u16 are possible",
                       ry_dtype_name(dtype));
    }
}

void ry_onnx_emit_quantise(ry_import *import, const ry_value_id in[3], ry_dtype dtype,
                           ry_value_id to)
{
    const bool plain = in[2] == RY_NO_VALUE;
    check_quantised_type(import, dtype);
    const char *text =
        format_text(import,
                    plain ? "saturate(round(cast(x0, f32) / cast(x1, f32))"
                          : "saturate(round(cast(x0, f32) / cast(x1, f32)) + cast(x2, f32)",
                    dtype);
    ry_onnx_emit_expr(import, text, NULL, 0, NULL, plain ? 2 : 3, in, to);
}

ry_value_id ry_onnx_emit_dequantise(ry_import *import, const ry_value_id in[3], ry_dtype dtype,
                                    ry_value_id to)
{
    const bool plain = in[2] == RY_NO_VALUE;
    const char *text =
        format_text(import,
                    plain ? "cast(cast(x0, f32) * cast(x1, f32)"
                          : "cast(cast(cast(x0, i32) - cast(x2, i32), f32) * cast(x1, f32)",
                    dtype);
    return ry_onnx_emit_expr(import, text, NULL, 0, NULL, plain ? 2 : 3, in, to);
}

void ry_import_quantize_linear(ry_import *import)
{
    ry_value_id x = ry_import_in(import, 0), zero = ry_import_in(import, 2);
    ry_dtype dtype = zero != RY_NO_VALUE ? ry_import_dtype(import, zero)
                                         : ry_import_type(import, "output_dtype");
    const ry_value_id in[] = {x, spread(import, x, ry_import_in(import, 1)),
                              spread(import, x, zero)};
    ry_onnx_emit_quantise(import, in, dtype == RY_NONE ? RY_u8 : dtype, ry_import_out(import, 0));
}

void ry_import_dequantize_linear(ry_import *import)
{
    ry_value_id x = ry_import_in(import, 0), scale = ry_import_in(import, 1);
    ry_dtype dtype = ry_import_type(import, "output_dtype");
    dtype = dtype == RY_NONE ? ry_import_dtype(import, scale) : dtype;
    const ry_value_id in[] = {x, spread(import, x, scale),
                              spread(import, x, ry_import_in(import, 2))};
    ry_onnx_emit_dequantise(import, in, dtype, ry_import_out(import, 0));
}

/* Scale and zero point from the data's range, which is made to hold 0; data that is all 0 has
 * scale 1. */
void ry_import_dynamic_quantize_linear(ry_import *import)
{
    ry_value_id x = ry_import_in(import, 0);
    ry_reduction how = {.drop = true};
    ry_value_id low =
        ry_onnx_emit_expr(import, "l = min(x0); y0 = min(l, 0)", NULL, 0, &how, 1, &x, RY_NO_VALUE);
    ry_value_id high =
        ry_onnx_emit_expr(import, "h = max(x0); y0 = max(h, 0)", NULL, 0, &how, 1, &x, RY_NO_VALUE);
    ry_value_id range[] = {low, high};
    ry_value_id scale = ry_onnx_emit_expr(import, "select(x1 == x0, 1, (x1 - x0) / 255)", NULL, 0,
                                          NULL, 2, range, ry_import_out(import, 1));
    ry_value_id zero_in[] = {low, scale};
    ry_value_id zero = ry_onnx_emit_expr(import, "saturate(neg(x0) / x1, u8)", NULL, 0, NULL, 2,
                                         zero_in, ry_import_out(import, 2));
    ry_value_id in[] = {x, scale, zero};
    ry_onnx_emit_expr(import, "saturate(round(x0 / x1) + cast(x2, f32), u8)", NULL, 0, NULL, 3, in,
                      ry_import_out(import, 0));
}

/* x - zero in i32; `axis` is the dim along which the zero point may vary. */
static ry_value_id without_zero(ry_import *import, ry_value_id x, ry_value_id zero, int axis)
{
    if (zero == RY_NO_VALUE) {
        return ry_onnx_emit_cast(import, x, RY_i32, RY_NO_VALUE);
    }
    if (!is_one_number(import, zero)) {
        zero = along(import, zero, axis, ry_import_rank(import, x));
    }
    return ry_onnx_emit_expr2(import, "cast(x0, i32) - cast(x1, i32)", x, zero);
}

/* Zero padding after the zero point is gone is padding with the zero point. */
void ry_import_conv_integer(ry_import *import)
{
    ry_attrs attrs = ry_import_attrs(import, RY_OP_conv);
    ry_value_id in[] = {without_zero(import, ry_import_in(import, 0), ry_import_in(import, 2), 1),
                        without_zero(import, ry_import_in(import, 1), ry_import_in(import, 3), 0)};
    ry_onnx_emit(import, RY_OP_conv, &attrs, 2, in, ry_import_out(import, 0));
}

/* round(sum * (a_scale * b_scale / y_scale)) + y_zero, saturated to y_zero's type. in: sum,
 * a_scale, b_scale, y_scale, y_zero */
static void requantise(ry_import *import, const ry_value_id *in)
{
    ry_dtype dtype = ry_import_dtype(import, in[4]);
    check_quantised_type(import, dtype);
    const char *text = format_text(import,
                                   "saturate(round(cast(x0, f32) * (cast(x1, f32) * cast(x2, f32) "
                                   "/ cast(x3, f32))) + cast(x4, f32)",
                                   dtype);
    ry_onnx_emit_expr(import, text, NULL, 0, NULL, 5, in, ry_import_out(import, 0));
}

void ry_import_qlinear_conv(ry_import *import)
{
    ry_attrs attrs = ry_import_attrs(import, RY_OP_conv);
    ry_value_id x = ry_import_in(import, 0), w = ry_import_in(import, 3);
    int rank = ry_import_rank(import, x);
    ry_value_id in[] = {without_zero(import, x, ry_import_in(import, 2), 1),
                        without_zero(import, w, ry_import_in(import, 5), 0),
                        ry_import_in(import, 8)};
    ry_value_id sum =
        ry_onnx_emit(import, RY_OP_conv, &attrs, in[2] == RY_NO_VALUE ? 2 : 3, in, RY_NO_VALUE);
    ry_value_id w_scale = ry_import_in(import, 4);
    if (!is_one_number(import, w_scale)) {
        w_scale = along(import, w_scale, 1, rank);
    }
    requantise(import, (ry_value_id[]){sum, ry_import_in(import, 1), w_scale,
                                       ry_import_in(import, 6), ry_import_in(import, 7)});
}

/* Zero points and scales may vary by row of a and by column of b. */
static ry_value_id integer_product(ry_import *import, ry_value_id a, ry_value_id a_zero,
                                   ry_value_id b, ry_value_id b_zero, ry_value_id to)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_matmul);
    int a_rank = ry_import_rank(import, a);
    ry_value_id in[] = {without_zero(import, a, a_zero, a_rank > 1 ? a_rank - 2 : 0),
                        without_zero(import, b, b_zero, ry_import_rank(import, b) - 1)};
    return ry_onnx_emit(import, RY_OP_matmul, &attrs, 2, in, to);
}

void ry_import_matmul_integer(ry_import *import)
{
    integer_product(import, ry_import_in(import, 0), ry_import_in(import, 2),
                    ry_import_in(import, 1), ry_import_in(import, 3), ry_import_out(import, 0));
}

void ry_import_qlinear_matmul(ry_import *import)
{
    ry_value_id a = ry_import_in(import, 0), a_scale = ry_import_in(import, 1);
    int rank = ry_import_rank(import, a);
    ry_value_id sum = integer_product(import, a, ry_import_in(import, 2), ry_import_in(import, 3),
                                      ry_import_in(import, 5), RY_NO_VALUE);
    if (rank > 1 && !is_one_number(import, a_scale)) {
        a_scale = along(import, a_scale, rank - 2, rank);
    }
    requantise(import, (ry_value_id[]){sum, a_scale, ry_import_in(import, 4),
                                       ry_import_in(import, 6), ry_import_in(import, 7)});
}

/* The sums alpha * (a - a_zero) (b - b_zero) + c, in bytes if y has a scale, else in f32. c is
 * counted in steps of alpha * a_scale * b_scale. */
void ry_import_qgemm(ry_import *import)
{
    const ry_attrs attrs = ry_import_attrs(import, RY_OP_matmul);
    const double alpha = ry_import_float(import, "alpha");
    const ry_value_id in[] = {
        without_zero(import, ry_import_in(import, 0), ry_import_in(import, 2), 0),
        without_zero(import, ry_import_in(import, 3), ry_import_in(import, 5),
                     attrs.matmul.trans_b ? 0 : 1),
        ry_import_in(import, 6)};
    const ry_value_id y_scale = ry_import_in(import, 7), y_zero = ry_import_in(import, 8);
    ry_value_id a_scale = ry_import_in(import, 1);
    const ry_value_id b_scale = ry_import_in(import, 4);
    if (alpha != 1) {
        a_scale = ry_onnx_emit_expr(import, "x0 * alpha", &(ry_expr_parameter){"alpha", alpha}, 1,
                                    NULL, 1, &a_scale, RY_NO_VALUE);
    }
    if ((y_scale == RY_NO_VALUE) != (y_zero == RY_NO_VALUE)) {
        ry_import_fail(import, RYND_ERROR_FORMAT,
                       "it has only one of y_scale and y_zero_point; give both or none");
    }
    const ry_value_id sum =
        ry_onnx_emit(import, RY_OP_matmul, &attrs, in[2] == RY_NO_VALUE ? 2 : 3, in, RY_NO_VALUE);
    if (y_scale != RY_NO_VALUE) {
        requantise(import, (ry_value_id[]){sum, a_scale, b_scale, y_scale, y_zero});
    } else {
        ry_onnx_emit_expr(import, "cast(x0, f32) * (x1 * x2)", NULL, 0, NULL, 3,
                          (ry_value_id[]){sum, a_scale, b_scale}, ry_import_out(import, 0));
    }
}
