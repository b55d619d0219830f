/* SPDX-License-Identifier: Apache-2.0 */
/* Attention, in operators that the graph has: softmax(scale * Q K^T, capped, + bias) V, with heads
 * as the second dim. */
#include "onnx/operators.h"

#include <inttypes.h>
#include <math.h>

/* What output 3 shows of the scores. */
enum { AFTER_MATMUL, AFTER_SOFTCAP, AFTER_BIAS, AFTER_SOFTMAX };

/* Which keys a query sees is told by positions: of its query i, of a key j, and how many keys are
 * before the first query. */
typedef struct attention {
    ry_import *import;
    ry_dtype dtype;
    ry_value_id q, k, v; /* [batch, heads, length, size] */
    ry_value_id bias; /* added to the scores: 0 or -inf, or the mask's numbers; RY_NO_VALUE: none */
    bool may_hide_all; /* a query may see no key at all */
} attention;

static bool has_past(const attention *a)
{
    return ry_import_has(a->import, 4);
}

static bool has_lengths(const attention *a)
{
    return ry_import_has(a->import, 6);
}

/* -1: no bound. Attributes that a row does not have are never stated. */
static int64_t window(const attention *a, const char *name)
{
    int64_t size = ry_import_attribute(a->import, name) ? ry_import_int(a->import, name) : -1;
    if (size < -1) {
        ry_import_fail(a->import, RYND_ERROR_FORMAT, "its %s is %" PRId64 "; it must be -1 or more",
                       name, size);
    }
    return size;
}

static ry_value_id transpose(ry_import *import, ry_value_id x)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_transpose);
    attrs.transpose.perm = (ry_ints){.count = 4, .at = {0, 2, 1, 3}};
    return ry_onnx_emit(import, RY_OP_transpose, &attrs, 1, &x, RY_NO_VALUE);
}

/* [batch, length, heads * size] becomes [batch, heads, length, size]. */
static ry_value_id split_heads(ry_import *import, int input, const char *attribute)
{
    ry_value_id x = ry_import_in(import, input);
    int rank = ry_import_rank(import, x);
    bool alike = rank == ry_import_rank(import, ry_import_in(import, 0));
    if (ry_import_failed(import) || (rank == 4 && alike)) {
        return x;
    }
    int64_t heads = ry_import_int(import, attribute);
    if (rank != 3 || heads < 1 || !alike) {
        ry_import_fail(import, RYND_ERROR_SHAPE,
                       "Q, K and V must have 4 dimensions each, or 3 each and a positive %s",
                       attribute);
        return x;
    }
    return transpose(import, ry_onnx_emit_reshape(import, x, 4, (int64_t[]){0, 0, heads, -1}));
}

static ry_value_id join_heads(ry_import *import, ry_value_id y, ry_value_id to)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_reshape);
    attrs.reshape.shape = (ry_ints){.count = 3, .at = {0, 0, -1}};
    y = transpose(import, y);
    return ry_onnx_emit(import, RY_OP_reshape, &attrs, 1, &y, to);
}

/* Keys or values, behind those of earlier calls; outputs 1 and 2 are these. */
static ry_value_id with_past(const attention *a, ry_value_id x, int past, int present)
{
    if (!has_past(a)) {
        ry_onnx_emit_identity(a->import, x, present);
        return x;
    }
    ry_attrs attrs = ry_attrs_default(RY_OP_concat);
    attrs.concat.axis = 2;
    ry_value_id in[] = {ry_import_in(a->import, past), x};
    return ry_onnx_emit(a->import, RY_OP_concat, &attrs, 2, in, ry_import_out(a->import, present));
}

/* The length of a dim; negative if the dim stays open until a plan is made. */
static int64_t known_length(const ry_import *import, ry_value_id x, int axis)
{
    const ry_value *v = ry_import_value(import, x);
    return v && axis >= 0 && v->shape.rank > axis ? v->shape.dim[axis] : -1;
}

/* The length of a dim of x, as a tensor of one number. */
static ry_value_id length_of(ry_import *import, ry_value_id x, int axis)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_shape);
    attrs.shape.start = axis;
    attrs.shape.end = axis + 1;
    return ry_onnx_emit(import, RY_OP_shape, &attrs, 1, &x, RY_NO_VALUE);
}

static ry_value_id join(ry_import *import, int count, const ry_value_id *parts)
{
    return ry_onnx_emit(import, RY_OP_concat, NULL, count, parts, RY_NO_VALUE);
}

/* Each head of keys or values serves a group of the queries' heads: [batch, heads, ...] is seen as
 * [batch, heads, group, ...]. */
static ry_value_id repeat_heads(const attention *a, ry_value_id x)
{
    ry_import *import = a->import;
    int64_t heads = known_length(import, a->q, 1), own = known_length(import, x, 1);
    if (ry_import_failed(import) || heads == own) {
        return x;
    }
    if (own == 0 || (own > 0 && heads > 0 && heads % own)) {
        ry_import_fail(import, RYND_ERROR_SHAPE,
                       "%" PRId64 " heads of queries cannot be divided into %" PRId64 " groups",
                       heads, own);
        return x;
    }
    ry_attrs attrs = ry_attrs_default(RY_OP_unsqueeze);
    attrs.unsqueeze.axes = (ry_ints){.count = 1, .at = {2}};
    const ry_ints one_one = {.count = 2, .at = {1, 1}};
    ry_value_id all = length_of(import, a->q, 1),
                group = ry_onnx_emit_expr2(import, "x0 / x1", all, length_of(import, x, 1));
    ry_value_id ones = ry_onnx_emit_i64s(import, &one_one), wide[] = {ones, group, ones};
    ry_value_id repeated[] = {ry_onnx_emit(import, RY_OP_unsqueeze, &attrs, 1, &x, RY_NO_VALUE),
                              join(import, 3, wide)};
    ry_value_id shape[] = {length_of(import, x, 0), all, length_of(import, x, 2),
                           length_of(import, x, 3)};
    ry_value_id in[] = {ry_onnx_emit(import, RY_OP_expand, NULL, 2, repeated, RY_NO_VALUE),
                        join(import, 4, shape)};
    attrs = ry_attrs_default(RY_OP_reshape);
    attrs.reshape.allow_zero = 1;
    return ry_onnx_emit(import, RY_OP_reshape, &attrs, 2, in, RY_NO_VALUE);
}

/* 0, 1, 2, ... below the length of x's dim 2. */
static ry_value_id positions(ry_import *import, ry_value_id x)
{
    ry_value_id length = ry_onnx_emit_reshape(import, length_of(import, x, 2), 0, (int64_t[]){0});
    ry_value_id in[] = {ry_onnx_emit_scalar(import, RY_i64, 0), length,
                        ry_onnx_emit_scalar(import, RY_i64, 1)};
    return ry_onnx_emit(import, RY_OP_range, NULL, 3, in, RY_NO_VALUE);
}

/* How many keys are before the first query, which broadcasts with the scores. */
static ry_value_id offset(const attention *a)
{
    if (has_past(a)) {
        return length_of(a->import, ry_import_in(a->import, 4), 2);
    }
    if (!has_lengths(a)) {
        return ry_onnx_emit_scalar(a->import, RY_i64, 0);
    }
    ry_value_id lengths =
        ry_onnx_emit_reshape(a->import, ry_import_in(a->import, 6), 4, (int64_t[]){-1, 1, 1, 1});
    return ry_onnx_emit_expr2(a->import, "x0 - x1", lengths, length_of(a->import, a->q, 2));
}

/* Whether query i sees key j by position, as a bool that broadcasts with the scores; RY_NO_VALUE:
 * all are seen. */
static ry_value_id seen(attention *a)
{
    ry_import *import = a->import;
    ry_expr_parameter bounds[] = {{"left", (double)window(a, "left_window_size")},
                                  {"right", (double)window(a, "right_window_size")}};
    bool left = bounds[0].value >= 0;
    if (ry_import_int(import, "is_causal")) {
        bounds[1].value = 0;
    }
    bool right = bounds[1].value >= 0;
    a->may_hide_all = left || has_lengths(a);
    if (!left && !right && !has_lengths(a)) {
        return RY_NO_VALUE;
    }
    ry_value_id column =
                    ry_onnx_emit_reshape(import, positions(import, a->q), 2, (int64_t[]){-1, 1}),
                keys = positions(import, a->k);
    ry_value_id in[] = {ry_onnx_emit_expr2(import, "x0 + x1", column, offset(a)), keys};
    static const char *const texts[2][2] = {
        {NULL, "x1 <= x0 + right"}, {"x1 >= x0 - left", "(x1 >= x0 - left) & (x1 <= x0 + right)"}};
    ry_value_id inside = left || right ? ry_onnx_emit_expr(import, texts[left][right], bounds, 2,
                                                           NULL, 2, in, RY_NO_VALUE)
                                       : RY_NO_VALUE;
    if (!has_lengths(a)) {
        return inside;
    }
    ry_value_id lengths =
        ry_onnx_emit_reshape(import, ry_import_in(import, 6), 4, (int64_t[]){-1, 1, 1, 1});
    ry_value_id valid = ry_onnx_emit_expr2(import, "x0 < x1", keys, lengths);
    return inside == RY_NO_VALUE ? valid : ry_onnx_emit_expr2(import, "x0 & x1", inside, valid);
}

/* A mask that is shorter than the keys hides those behind it, from opset 24 on. */
static ry_value_id lengthen(const attention *a, ry_value_id mask, ry_value_id *visible)
{
    ry_import *import = a->import;
    int rank = ry_import_rank(import, mask);
    int64_t have = known_length(import, mask, rank - 1), need = known_length(import, a->k, 2);
    if (ry_import_failed(import) || import->node->opset < 24 || rank < 1 ||
        rank > RY_MAX_INTS / 2 || have == need) {
        return mask;
    }
    const ry_ints before = {.count = 2 * rank - 1};
    ry_value_id length = length_of(import, mask, rank - 1),
                covered = ry_onnx_emit_expr2(import, "x0 < x1", positions(import, a->k), length);
    *visible = *visible == RY_NO_VALUE ? covered
                                       : ry_onnx_emit_expr2(import, "x0 & x1", *visible, covered);
    ry_value_id pads[] = {
        ry_onnx_emit_i64s(import, &before),
        ry_onnx_emit_expr2(import, "max(x0 - x1, 0)", length_of(import, a->k, 2), length)};
    ry_value_id in[] = {mask, join(import, 2, pads)};
    return ry_onnx_emit(import, RY_OP_pad, NULL, 2, in, RY_NO_VALUE);
}

/* -inf for the keys that are not to be seen. */
static ry_value_id hide(const attention *a, ry_value_id visible)
{
    return ry_onnx_emit_cast(
        a->import, ry_onnx_emit_expr1(a->import, "cast(select(x0, 0, -inf), f32)", visible),
        a->dtype, RY_NO_VALUE);
}

static void make_bias(attention *a)
{
    ry_value_id visible = seen(a), mask = ry_import_in(a->import, 3);
    if (mask == RY_NO_VALUE) {
        a->bias = visible == RY_NO_VALUE ? RY_NO_VALUE : hide(a, visible);
        return;
    }
    a->may_hide_all = true;
    mask = lengthen(a, mask, &visible);
    if (ry_import_dtype(a->import, mask) == RY_bool) {
        visible =
            visible == RY_NO_VALUE ? mask : ry_onnx_emit_expr2(a->import, "x0 & x1", visible, mask);
        a->bias = hide(a, visible);
        return;
    }
    mask = ry_onnx_emit_cast(a->import, mask, a->dtype, RY_NO_VALUE);
    a->bias = visible == RY_NO_VALUE
                  ? mask
                  : ry_onnx_emit_expr2(a->import, "select(x0, x1, -inf)", visible, mask);
}

/* Output 3 shows one stage of the scores. */
static void show(const attention *a, int stage, ry_value_id scores)
{
    if (ry_import_int(a->import, "qk_matmul_output_mode") == stage &&
        ry_import_wants(a->import, 3)) {
        ry_onnx_emit_cast(a->import, scores, a->dtype, ry_import_out(a->import, 3));
    }
}

/* scale * Q K^T; without a scale, 1 / sqrt of the size of a head. */
static ry_value_id product(const attention *a)
{
    ry_import *import = a->import;
    ry_attrs attrs = ry_attrs_default(RY_OP_matmul);
    ry_value_id in[] = {a->q, repeat_heads(a, a->k)};
    int64_t size = known_length(import, a->q, 3);
    attrs.matmul.trans_b = 1;
    if (ry_import_attribute(import, "scale")) {
        attrs.matmul.alpha = ry_import_float(import, "scale");
    } else if (size >= 0) {
        attrs.matmul.alpha = 1 / sqrt((double)size);
    } else {
        ry_value_id scale = ry_onnx_emit_expr1(import, "reciprocal(sqrt(cast(x0, f32)))",
                                               length_of(import, a->q, 3));
        in[0] = ry_onnx_emit_expr2(import, "x0 * x1", a->q,
                                   ry_onnx_emit_cast(import, scale, a->dtype, RY_NO_VALUE));
    }
    return ry_onnx_emit(import, RY_OP_matmul, &attrs, 2, in, RY_NO_VALUE);
}

static ry_value_id raw_scores(const attention *a)
{
    ry_import *import = a->import;
    ry_value_id scores = product(a);
    show(a, AFTER_MATMUL, scores);
    ry_expr_parameter cap = {"cap", ry_import_float(import, "softcap")};
    if (cap.value > 0) {
        scores = ry_onnx_emit_expr(import, "cap * tanh(x0 / cap)", &cap, 1, NULL, 1, &scores,
                                   RY_NO_VALUE);
    }
    show(a, AFTER_SOFTCAP, scores);
    return scores;
}

/* The share that each query has of each key. A query that sees no key has nothing of any, where the
 * softmax alone is NaN. */
static ry_value_id weights(const attention *a)
{
    ry_import *import = a->import;
    ry_value_id scores = raw_scores(a);
    scores =
        a->bias == RY_NO_VALUE ? scores : ry_onnx_emit_expr2(import, "x0 + x1", scores, a->bias);
    show(a, AFTER_BIAS, scores);
    ry_dtype precision = ry_import_type(import, "softmax_precision");
    scores =
        ry_onnx_emit_cast(import, scores, precision == RY_NONE ? a->dtype : precision, RY_NO_VALUE);
    ry_attrs attrs = ry_attrs_default(RY_OP_softmax);
    ry_value_id share = ry_onnx_emit(import, RY_OP_softmax, &attrs, 1, &scores, RY_NO_VALUE);
    if (a->may_hide_all) {
        ry_ints last = {.count = 1, .at = {-1}};
        ry_reduction how = {.axes = &last};
        ry_value_id best =
            ry_onnx_emit_expr(import, "max(x0)", NULL, 0, &how, 1, &a->bias, RY_NO_VALUE);
        share = ry_onnx_emit_expr2(import, "select(x0 == -inf, 0, x1)", best, share);
    }
    show(a, AFTER_SOFTMAX, share);
    return ry_onnx_emit_cast(import, share, a->dtype, RY_NO_VALUE);
}

static void check(const attention *a)
{
    int64_t mode = ry_import_int(a->import, "qk_matmul_output_mode");
    if (mode < AFTER_MATMUL || mode > AFTER_SOFTMAX) {
        ry_import_fail(a->import, RYND_ERROR_FORMAT,
                       "its qk_matmul_output_mode is %" PRId64 "; it must be 0 to 3", mode);
    }
    if (has_past(a) != ry_import_has(a->import, 5) || (has_past(a) && has_lengths(a))) {
        ry_import_fail(
            a->import, RYND_ERROR_FORMAT,
            "past_key and past_value belong together, and nonpad_kv_seqlen goes without them");
    }
}

void ry_import_attention(ry_import *import)
{
    attention a = {.import = import,
                   .dtype = ry_import_dtype(import, ry_import_in(import, 0)),
                   .bias = RY_NO_VALUE};
    bool flat = ry_import_rank(import, ry_import_in(import, 0)) == 3;
    check(&a);
    a.q = split_heads(import, 0, "q_num_heads");
    a.k = with_past(&a, split_heads(import, 1, "kv_num_heads"), 4, 1);
    a.v = with_past(&a, split_heads(import, 2, "kv_num_heads"), 5, 2);
    make_bias(&a);
    ry_attrs attrs = ry_attrs_default(RY_OP_matmul);
    ry_value_id in[] = {weights(&a),
                        ry_onnx_emit_cast(import, repeat_heads(&a, a.v), a.dtype, RY_NO_VALUE)};
    ry_value_id y = ry_onnx_emit(import, RY_OP_matmul, &attrs, 2, in,
                                 flat ? RY_NO_VALUE : ry_import_out(import, 0));
    if (flat) {
        join_heads(import, y, ry_import_out(import, 0));
    }
}
