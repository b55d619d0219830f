/* SPDX-License-Identifier: Apache-2.0 */
/* What makes two problems the same: equality and hash over the canonical content. */
#include "problem/problem.h"

#include "expr/expr.h"

#include "base/float_bits.h"
#include <string.h>

/* The window lists of attrs.inc. `pads` is the operator's own business in `pad`. */
static bool is_window_op(ry_op op)
{
    switch (op) {
    case RY_OP_conv:
    case RY_OP_convt:
    case RY_OP_separable_conv:
    case RY_OP_qconv:
    case RY_OP_deform_conv:
    case RY_OP_deform_columns:
    case RY_OP_col2im:
    case RY_OP_pool:
    case RY_OP_pool_grad:
    case RY_OP_max_unpool: return true;
    default: return false;
    }
}

bool ry_field_fill(ry_op op, const ry_field *field, int spatial, int *count, int64_t *number)
{
    static const struct {
        const char *name;
        int each; /* numbers a spatial dim */
        int64_t number;
    } fills[] = {{"stride", 1, 1}, {"dilation", 1, 1}, {"pads", 2, 0}, {"output_padding", 1, 0}};
    if (!is_window_op(op) || field->kind != RY_FIELD_INTS || spatial < 1) {
        return false;
    }
    for (size_t i = 0; i < sizeof fills / sizeof *fills; i++) {
        if (strcmp(fills[i].name, field->name) == 0) {
            *count = fills[i].each * spatial;
            *number = fills[i].number;
            return true;
        }
    }
    return false;
}

int ry_problem_spatial(const ry_problem *problem)
{
    if (problem->op == RY_OP_col2im) {
        return problem->attrs.col2im.block.count;
    }
    return problem->inputs > 0 ? problem->in[0].rank - 2 : 0;
}

ry_attrs ry_attrs_filled(ry_op op, const ry_attrs *attrs, int spatial)
{
    ry_attrs filled = *attrs;
    int fields = 0;
    const ry_field *field = ry_op_fields(op, &fields);
    for (int i = 0; i < fields; i++) {
        int count;
        int64_t number;
        ry_ints *list = (ry_ints *)(void *)((char *)&filled + field[i].offset);
        if (ry_field_fill(op, &field[i], spatial, &count, &number) && list->count == 0) {
            list->count = count;
            for (int k = 0; k < count; k++) {
                list->at[k] = number;
            }
        }
    }
    return filled;
}

/* FNV-1a over what is given, eight bytes at a time. */
static uint64_t mix(uint64_t hash, uint64_t word)
{
    for (int i = 0; i < 8; i++) {
        hash = (hash ^ (word >> 8 * i & 255u)) * 0x100000001b3u;
    }
    return hash;
}

static uint64_t mix_double(uint64_t hash, double number)
{
    return mix(hash, ry_f64_bits(number));
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; text && *text; text++) {
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    }
    return mix(hash, text != NULL);
}

static uint64_t mix_field(uint64_t hash, const ry_field *field, const ry_attrs *attrs)
{
    const void *at = (const char *)attrs + field->offset;
    switch (field->kind) {
    case RY_FIELD_INT: return mix(hash, (uint64_t)(*(const int64_t *)at));
    case RY_FIELD_FLOAT: return mix_double(hash, *(const double *)at);
    case RY_FIELD_ENUM: return mix(hash, (uint64_t)(*(const int *)at));
    case RY_FIELD_TEXT: return mix_text(hash, *(const char *const *)at);
    case RY_FIELD_EXPR: {
        const ry_expr *program = *(const ry_expr *const *)at;
        return mix(hash, program ? program->hash : 0);
    }
    case RY_FIELD_INTS: {
        const ry_ints *list = at;
        hash = mix(hash, (uint64_t)list->count);
        for (int i = 0; i < list->count; i++) {
            hash = mix(hash, (uint64_t)list->at[i]);
        }
        return hash;
    }
    case RY_FIELD_FLOATS: {
        const ry_floats *list = at;
        hash = mix(hash, (uint64_t)list->count);
        for (int i = 0; i < list->count; i++) {
            hash = mix_double(hash, list->at[i]);
        }
        return hash;
    }
    }
    return hash;
}

/* Strides of dims of size 1, and of empty tensors, do not matter. */
static uint64_t mix_tensor(uint64_t hash, const ry_tensor *tensor)
{
    hash = mix(hash, tensor->dtype);
    if (!ry_tensor_present(tensor)) {
        return hash;
    }
    hash = mix(hash, (uint64_t)tensor->rank);
    for (int i = 0; i < tensor->rank; i++) {
        hash = mix(hash, (uint64_t)tensor->dim[i]);
    }
    for (int i = 0; i < tensor->rank && !ry_tensor_is_row_major(tensor); i++) {
        hash = mix(hash, tensor->dim[i] > 1 ? (uint64_t)tensor->stride[i] : 0);
    }
    return hash;
}

static int present_count(const ry_tensor *tensors, int count)
{
    while (count > 0 && !ry_tensor_present(&tensors[count - 1])) {
        count--;
    }
    return count;
}

uint64_t ry_problem_hash(const ry_problem *problem)
{
    uint64_t hash = mix_text(0xcbf29ce484222325u, ry_op_name(problem->op));
    hash = mix(hash, problem->accuracy);
    ry_attrs attrs = ry_attrs_filled(problem->op, &problem->attrs, ry_problem_spatial(problem));
    int fields = 0;
    const ry_field *field = ry_op_fields(problem->op, &fields);
    for (int i = 0; i < fields; i++) {
        hash = mix_field(hash, &field[i], &attrs);
    }
    int inputs = present_count(problem->in, problem->inputs),
        outputs = present_count(problem->out, problem->outputs);
    hash = mix(hash, (uint64_t)inputs);
    for (int i = 0; i < inputs; i++) {
        hash = mix_tensor(hash, &problem->in[i]);
    }
    for (int i = 0; i < outputs; i++) {
        hash = mix_tensor(hash, &problem->out[i]);
    }
    return hash;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_field(const ry_field *field, const ry_attrs *a, const ry_attrs *b)
{
    const void *x = (const char *)a + field->offset, *y = (const char *)b + field->offset;
    switch (field->kind) {
    case RY_FIELD_INT: return *(const int64_t *)x == *(const int64_t *)y;
    case RY_FIELD_FLOAT: return memcmp(x, y, sizeof(double)) == 0;
    case RY_FIELD_ENUM: return *(const int *)x == *(const int *)y;
    case RY_FIELD_TEXT: return same_text(*(const char *const *)x, *(const char *const *)y);
    case RY_FIELD_EXPR: {
        const ry_expr *p = *(const ry_expr *const *)x, *q = *(const ry_expr *const *)y;
        return p && q ? ry_expr_equal(p, q) : p == q;
    }
    case RY_FIELD_INTS: {
        const ry_ints *p = x, *q = y;
        return p->count == q->count && memcmp(p->at, q->at, (size_t)p->count * sizeof *p->at) == 0;
    }
    case RY_FIELD_FLOATS: {
        const ry_floats *p = x, *q = y;
        return p->count == q->count && memcmp(p->at, q->at, (size_t)p->count * sizeof *p->at) == 0;
    }
    }
    return false;
}

static bool same_tensor(const ry_tensor *a, const ry_tensor *b)
{
    if (a->dtype != b->dtype || !ry_tensor_present(a)) {
        return a->dtype == b->dtype;
    }
    ry_shape x = ry_tensor_shape(a), y = ry_tensor_shape(b);
    if (!ry_shape_equal(&x, &y)) {
        return false;
    }
    bool empty = ry_tensor_count(a) == 0;
    for (int i = 0; i < a->rank && !empty; i++) {
        if (a->dim[i] > 1 && a->stride[i] != b->stride[i]) {
            return false;
        }
    }
    return true;
}

static bool same_tensors(const ry_tensor *a, int a_count, const ry_tensor *b, int b_count)
{
    int count = present_count(a, a_count);
    if (count != present_count(b, b_count)) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (!same_tensor(&a[i], &b[i])) {
            return false;
        }
    }
    return true;
}

bool ry_problem_equal(const ry_problem *a, const ry_problem *b)
{
    if (a->op != b->op || a->accuracy != b->accuracy) {
        return false;
    }
    ry_attrs x = ry_attrs_filled(a->op, &a->attrs, ry_problem_spatial(a)),
             y = ry_attrs_filled(b->op, &b->attrs, ry_problem_spatial(b));
    int fields = 0;
    const ry_field *field = ry_op_fields(a->op, &fields);
    for (int i = 0; i < fields; i++) {
        if (!same_field(&field[i], &x, &y)) {
            return false;
        }
    }
    return same_tensors(a->in, a->inputs, b->in, b->inputs) &&
           same_tensors(a->out, a->outputs, b->out, b->outputs);
}
