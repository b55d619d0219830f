/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of the quantised convolution. */
#include "graph/infer_window.h"

static ry_infer_result check_type(ry_infer *infer, int i, ry_dtype dtype)
{
    if (ry_infer_has(infer, i) && ry_infer_in(infer, i)->dtype != dtype) {
        return ry_infer_bad(infer, i, "expected type %s", ry_dtype_name(dtype));
    }
    return RY_INFER_DONE;
}

static ry_infer_result check_types(ry_infer *infer)
{
    static const ry_dtype dtypes[] = {RY_u8, RY_i8, RY_i32, RY_u8, RY_f32};
    for (int i = 0; i < 5; i++) {
        RY_INFER_TRY(check_type(infer, i, dtypes[i]));
    }
    return RY_INFER_DONE;
}

/* Bias and scales: one number an output channel. */
static ry_infer_result check_vector(ry_infer *infer, int i, int64_t channels)
{
    if (!ry_infer_has(infer, i)) {
        return RY_INFER_DONE;
    }
    RY_INFER_TRY(ry_infer_check_rank(infer, i, 1, 1));
    return ry_infer_check_dim(infer, i, 0, channels, "one number an output channel");
}

static ry_infer_result check_channels(ry_infer *infer, int64_t groups, int64_t in, int64_t out)
{
    if (groups < 1 || (in >= 0 && in % groups != 0) || (out >= 0 && out % groups != 0)) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE,
                             "groups is %lld, expected a divisor of the %lld and %lld channels",
                             (long long)groups, (long long)in, (long long)out);
    }
    return in < 0 ? RY_INFER_DONE
                  : ry_infer_check_dim(infer, 1, 1, in / groups, "channels of the input / groups");
}

static bool is_byte(int64_t number)
{
    return number >= 0 && number <= UINT8_MAX;
}

static ry_infer_result check_numbers(ry_infer *infer)
{
    const ry_qconv_attrs *a = &infer->node->attrs.qconv;
    const int64_t bytes[] = {a->x_zero,   a->zero,    a->low,      a->high,
                             a->sum_zero, a->sum_low, a->sum_high, a->residual_zero};
    bool right = a->low <= a->high && a->sum_low <= a->sum_high;
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        right = right && is_byte(bytes[i]);
    }
    if (!right) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE,
                             "zero points and bounds are not in order or not within 0 to 255");
    }
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_qconv(ry_infer *infer)
{
    const ry_qconv_attrs *a = &infer->node->attrs.qconv;
    RY_INFER_TRY(check_types(infer));
    RY_INFER_TRY(check_numbers(infer));
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 3, RY_MAX_RANK));
    const ry_shape *x = &ry_infer_in(infer, 0)->shape;
    RY_INFER_TRY(ry_infer_check_rank(infer, 1, x->rank, x->rank));
    const ry_shape *w = &ry_infer_in(infer, 1)->shape;
    RY_INFER_TRY(check_channels(infer, a->groups, x->dim[1], w->dim[0]));
    RY_INFER_TRY(check_vector(infer, 2, w->dim[0]));
    RY_INFER_TRY(check_vector(infer, 4, w->dim[0]));
    ry_shape out = {.rank = x->rank, .dim = {x->dim[0], w->dim[0]}};
    RY_INFER_TRY(ry_infer_window_outs(infer, w->dim + 2, &out));
    const bool scaled = ry_infer_has(infer, 4), residual = ry_infer_has(infer, 3);
    if (!scaled && (residual || a->dequantise)) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "input 4, the scales, is missing");
    }
    if (residual) {
        RY_INFER_TRY(ry_infer_check_rank(infer, 3, out.rank, out.rank));
        for (int d = 0; d < out.rank; d++) {
            RY_INFER_TRY(
                ry_infer_check_dim(infer, 3, d, out.dim[d], "the residual has the output's shape"));
        }
    }
    ry_infer_set(infer, 0, !scaled ? RY_i32 : a->dequantise ? RY_f32 : RY_u8, &out);
    return RY_INFER_DONE;
}
