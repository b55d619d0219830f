/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise operators whose expression depends on attributes, types or contents. */
#include "onnx/operators.h"

#include <string.h>

static void emit_last(ry_import *import, const char *text, int inputs, const ry_value_id *in)
{
    ry_onnx_emit_expr(import, text, NULL, 0, NULL, inputs, in, ry_import_out(import, 0));
}

/* Dims of size 1 behind x's own. */
static ry_value_id append_dims(ry_import *import, ry_value_id x, int count)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_unsqueeze);
    int rank = ry_import_rank(import, x);
    if (count <= 0 || ry_import_failed(import)) {
        return x;
    }
    for (int i = 0; i < count && i < RY_MAX_INTS; i++) {
        attrs.unsqueeze.axes.at[attrs.unsqueeze.axes.count++] = rank + i;
    }
    return ry_onnx_emit(import, RY_OP_unsqueeze, &attrs, 1, &x, RY_NO_VALUE);
}

/* Opset 1 to 6: with `axis` the second input's dims begin there among the first's; without it they
 * are the last ones, as in numpy. */
void ry_import_old_binary(ry_import *import)
{
    ry_value_id in[2] = {ry_import_in(import, 0), ry_import_in(import, 1)};
    if (ry_import_int(import, "broadcast") && ry_import_attribute(import, "axis")) {
        int rank = ry_import_rank(import, in[0]);
        int axis = ry_axis(ry_import_int(import, "axis"), rank);
        if (axis < 0) {
            ry_import_fail(import, RYND_ERROR_SHAPE,
                           "its axis is outside its first input's %d dimensions", rank);
        }
        in[1] = append_dims(import, in[1], rank - axis - ry_import_rank(import, in[1]));
    }
    emit_last(import, import->row->text, 2, in);
}

void ry_import_variadic(ry_import *import)
{
    int count = import->node->inputs;
    ry_value_id sum = ry_import_in(import, 0);
    if (count == 1) {
        ry_onnx_emit_identity(import, sum, 0);
        return;
    }
    for (int i = 1; i < count; i++) {
        ry_value_id in[2] = {sum, ry_import_in(import, i)};
        sum = ry_onnx_emit_expr(import, import->row->text, NULL, 0, NULL, 2, in,
                                i + 1 < count ? RY_NO_VALUE : ry_import_out(import, 0));
    }
}

void ry_import_mean(ry_import *import)
{
    int count = import->node->inputs;
    ry_value_id sum = ry_import_in(import, 0);
    for (int i = 1; i + 1 < count; i++) {
        sum = ry_onnx_emit_expr2(import, "x0 + x1", sum, ry_import_in(import, i));
    }
    if (count == 1) {
        ry_onnx_emit_identity(import, sum, 0);
        return;
    }
    ry_value_id in[2] = {sum, ry_import_in(import, count - 1)};
    ry_expr_parameter n = {"n", count};
    ry_onnx_emit_expr(import, "(x0 + x1) / n", &n, 1, NULL, 2, in, ry_import_out(import, 0));
}

/* texts[has low][has high] */
static const char *const clip_texts[2][2] = {{"x0", "min(x0, b)"},
                                             {"max(x0, a)", "min(max(x0, a), b)"}};

static void clip_to(ry_import *import, bool has_low, double low, bool has_high, double high)
{
    ry_expr_parameter parameters[] = {{"a", low}, {"b", high}};
    ry_value_id x = ry_import_in(import, 0);
    if (!has_low && !has_high) {
        ry_onnx_emit_identity(import, x, 0);
        return;
    }
    ry_onnx_emit_expr(import, clip_texts[has_low][has_high], parameters, 2, NULL, 1, &x,
                      ry_import_out(import, 0));
}

void ry_import_clip_old(ry_import *import)
{
    clip_to(import, ry_import_attribute(import, "min") != NULL, ry_import_float(import, "min"),
            ry_import_attribute(import, "max") != NULL, ry_import_float(import, "max"));
}

/* A bound that an expression's constant (a double) holds exactly. */
static bool known_bound(ry_import *import, int input, double *bound)
{
    const double exact = 9007199254740992.0; /* 2^53 */
    if (!ry_import_has(import, input)) {
        return true;
    }
    bool known = ry_import_scalar_of(import, ry_import_in(import, input), bound);
    return known && (ry_dtype_is_float(ry_import_dtype(import, ry_import_in(import, input))) ||
                     (*bound<exact && * bound> - exact));
}

void ry_import_clip(ry_import *import)
{
    double low = 0, high = 0;
    bool has_low = ry_import_has(import, 1), has_high = ry_import_has(import, 2);
    if (known_bound(import, 1, &low) && known_bound(import, 2, &high)) {
        clip_to(import, has_low, low, has_high, high);
    } else if (has_low && has_high) {
        emit_last(import, "min(max(x0, x1), x2)", 3, import->in);
    } else {
        ry_value_id in[2] = {ry_import_in(import, 0), ry_import_in(import, has_low ? 1 : 2)};
        emit_last(import, has_low ? "max(x0, x1)" : "min(x0, x1)", 2, in);
    }
}

/* The result has the base's type. An integer base with a float exponent is raised in f64. */
void ry_import_pow(ry_import *import)
{
    ry_value_id in[2] = {ry_import_in(import, 0), ry_import_in(import, 1)};
    ry_dtype base = ry_import_dtype(import, in[0]), exponent = ry_import_dtype(import, in[1]);
    double power = 0;
    const ry_value *x = ry_import_value(import, in[0]), *y = ry_import_value(import, in[1]);
    if (ry_import_scalar_of(import, in[1], &power) && power == 2 && x &&
        y->shape.rank <= x->shape.rank) {
        emit_last(import, "x0 * x0", 1, in);
    } else if (base == exponent || base == RY_NONE || exponent == RY_NONE) {
        emit_last(import, "pow(x0, x1)", 2, in);
    } else if (!ry_dtype_is_float(base) && ry_dtype_is_float(exponent)) {
        ry_value_id raised =
            ry_onnx_emit_expr2(import, "pow(cast(x0, f64), cast(x1, f64))", in[0], in[1]);
        ry_onnx_emit_cast(import, raised, base, ry_import_out(import, 0));
    } else {
        in[1] = ry_onnx_emit_cast(import, in[1], base, RY_NO_VALUE);
        emit_last(import, "pow(x0, x1)", 2, in);
    }
}

void ry_import_mod(ry_import *import)
{
    emit_last(import, ry_import_int(import, "fmod") ? "fmod(x0, x1)" : "mod(x0, x1)", 2,
              import->in);
}

void ry_import_bit_shift(ry_import *import)
{
    const char *direction = ry_import_text(import, "direction");
    if (strcmp(direction, "LEFT") != 0 && strcmp(direction, "RIGHT") != 0) {
        ry_import_fail(import, RYND_ERROR_FORMAT, "its direction is '%s'; it must be LEFT or RIGHT",
                       direction);
    }
    emit_last(import, *direction == 'L' ? "shift_left(x0, x1)" : "shift_right(x0, x1)", 2,
              import->in);
}

void ry_import_gelu(ry_import *import)
{
    const char *approximate = ry_import_text(import, "approximate");
    bool with_tanh = strcmp(approximate, "tanh") == 0;
    if (!with_tanh && strcmp(approximate, "none") != 0) {
        ry_import_fail(import, RYND_ERROR_UNSUPPORTED,
                       "its approximation '%s' is neither none nor tanh", approximate);
    }
    emit_last(import, with_tanh ? "gelu_tanh(x0)" : "gelu(x0)", 1, import->in);
}

void ry_import_swish(ry_import *import)
{
    ry_expr_parameter alpha = {"alpha", ry_import_float(import, "alpha")};
    ry_onnx_emit_expr(import, alpha.value == 1 ? "silu(x0)" : "x0 * sigmoid(alpha * x0)", &alpha, 1,
                      NULL, 1, import->in, ry_import_out(import, 0));
}

void ry_import_is_inf(ry_import *import)
{
    static const char *const texts[2][2] = {
        {"and(isinf(x0), not(isinf(x0)))", "and(isinf(x0), x0 > 0)"},
        {"and(isinf(x0), x0 < 0)", "isinf(x0)"}};
    emit_last(import,
              texts[ry_import_int(import, "detect_negative") != 0]
                   [ry_import_int(import, "detect_positive") != 0],
              1, import->in);
}

/* Opset 1 to 6: a slope for each channel, dim 1. */
void ry_import_prelu_old(ry_import *import)
{
    ry_value_id in[2] = {ry_import_in(import, 0), ry_import_in(import, 1)};
    int rank = ry_import_rank(import, in[0]);
    const ry_value *slope = ry_import_value(import, in[1]);
    if (slope && slope->shape.rank == 1 && slope->shape.dim[0] != 1) {
        in[1] = append_dims(import, in[1], rank - 2);
    }
    emit_last(import, import->row->text, 2, in);
}

void ry_import_cast(ry_import *import)
{
    ry_dtype dtype = ry_import_type(import, "to");
    if (dtype == RY_NONE) {
        ry_import_fail(import, RYND_ERROR_FORMAT, "its attribute 'to' is no data type");
    }
    ry_onnx_emit_cast(import, ry_import_in(import, 0), dtype, ry_import_out(import, 0));
}

/* Opset 1 to 5 name the type in words. */
void ry_import_cast_old(ry_import *import)
{
    static const struct {
        const char *name;
        ry_dtype dtype;
    } types[] = {{"FLOAT", RY_f32},  {"FLOAT16", RY_f16}, {"DOUBLE", RY_f64}, {"INT8", RY_i8},
                 {"INT16", RY_i16},  {"INT32", RY_i32},   {"INT64", RY_i64},  {"UINT8", RY_u8},
                 {"UINT16", RY_u16}, {"UINT32", RY_u32},  {"UINT64", RY_u64}, {"BOOL", RY_bool}};
    const char *to = ry_import_text(import, "to");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].name, to) == 0) {
            ry_onnx_emit_cast(import, ry_import_in(import, 0), types[i].dtype,
                              ry_import_out(import, 0));
            return;
        }
    }
    ry_import_fail(
        import, RYND_ERROR_UNSUPPORTED,
        "its attribute 'to' asks for the data type '%s', which rynd does not compute with", to);
}

void ry_import_cast_like(ry_import *import)
{
    ry_dtype dtype = ry_import_dtype(import, ry_import_in(import, 1));
    if (dtype == RY_NONE) {
        ry_import_fail(import, RYND_ERROR_UNSUPPORTED, "the type of its second input is not known");
    }
    ry_onnx_emit_cast(import, ry_import_in(import, 0), dtype, ry_import_out(import, 0));
}
