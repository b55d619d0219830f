/* SPDX-License-Identifier: Apache-2.0 */
/* Builds cases: operands with values, descriptions in a layout, comparison with known values. */
#include "kernel_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void kernel_case_begin(kernel_case *c, ry_op op)
{
    *c = (kernel_case){.text = ry_op_name(op),
                       .op = op,
                       .accuracy = RY_ACCURACY_near32,
                       .attrs = ry_attrs_default(op),
                       .constants = ~0u};
    ry_arena_init(&c->arena, &ry_system_allocator);
}

void kernel_case_end(kernel_case *c)
{
    for (int i = 0; i < CASE_OPERANDS; i++) {
        free(c->in[i].data);
        free(c->out[i].data);
    }
    ry_arena_free(&c->arena);
    *c = (kernel_case){0};
}

static ry_tensor take_operand(ry_dtype dtype, const ry_shape *shape)
{
    ry_tensor t = ry_tensor_row_major(dtype, shape, NULL);
    t.data = calloc((size_t)ry_tensor_count(&t) + 1, ry_dtype_size(dtype));
    assert_non_null(t.data);
    return t;
}

static ry_tensor operand(ry_dtype dtype, const char *shape)
{
    ry_shape s = {0};
    while (*shape) {
        char *end;
        assert_true(s.rank < RY_MAX_RANK);
        s.dim[s.rank++] = strtoll(shape, &end, 10);
        assert_true(end != shape && (*end == 0 || *end == 'x'));
        shape = *end ? end + 1 : end;
    }
    return take_operand(dtype, &s);
}

void kernel_case_values(kernel_case *c, ry_dtype dtype, const char *shape, const double *values)
{
    assert_true(c->inputs < CASE_OPERANDS);
    ry_tensor *t = &c->in[c->inputs++];
    *t = operand(dtype, shape);
    for (int64_t i = 0; i < ry_tensor_count(t); i++) {
        ry_set_f64(dtype, t->data, i, values[i]);
    }
}

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void fill_random(ry_tensor *t, uint64_t seed)
{
    ry_dtype dtype = (ry_dtype)t->dtype;
    ry_dtype_kind kind = ry_dtype_get_kind(dtype);
    for (int64_t i = 0; i < ry_tensor_count(t); i++) {
        uint64_t bits = next_random(&seed) >> 11;
        if (kind == RY_KIND_FLOAT) {
            ry_set_f64(dtype, t->data, i, (double)bits * 0x1p-52 - 1);
        } else {
            ry_set_i64(dtype, t->data, i, (int64_t)(bits % 9) - (kind == RY_KIND_SIGNED ? 4 : 0));
        }
    }
}

void kernel_case_random(kernel_case *c, ry_dtype dtype, const char *shape, uint64_t seed)
{
    assert_true(c->inputs < CASE_OPERANDS);
    c->in[c->inputs] = operand(dtype, shape);
    fill_random(&c->in[c->inputs++], seed);
}

void kernel_case_pattern(kernel_case *c, ry_dtype dtype, const char *shape, int step, int modulus,
                         double scale)
{
    assert_true(c->inputs < CASE_OPERANDS);
    ry_tensor *t = &c->in[c->inputs++];
    *t = operand(dtype, shape);
    for (int64_t i = 0; i < ry_tensor_count(t); i++) {
        ry_set_f64(dtype, t->data, i, (double)(i * step % modulus - modulus / 2) * scale);
    }
}

void kernel_case_absent(kernel_case *c)
{
    assert_true(c->inputs < CASE_OPERANDS);
    c->inputs++;
}

void kernel_case_output(kernel_case *c, ry_dtype dtype, const char *shape)
{
    assert_true(c->outputs < CASE_OPERANDS);
    c->out[c->outputs++] = operand(dtype, shape);
}

void kernel_case_output_absent(kernel_case *c)
{
    assert_true(c->outputs < CASE_OPERANDS);
    c->outputs++;
}

/* Batch normalisation takes the root of it. */
static void make_positive(ry_tensor *t)
{
    for (int64_t i = 0; i < ry_tensor_count(t); i++) {
        ry_set_f64((ry_dtype)t->dtype, t->data, i,
                   fabs(ry_get_f64((ry_dtype)t->dtype, t->data, i)) + 0.25);
    }
}

/* Integers from 0 to below `count`. */
static void make_indices(ry_tensor *t, int64_t count)
{
    for (int64_t i = 0; i < ry_tensor_count(t); i++) {
        ry_set_i64((ry_dtype)t->dtype, t->data, i,
                   llabs(ry_get_i64((ry_dtype)t->dtype, t->data, i)) % count);
    }
}

static void make_legal(kernel_case *c)
{
    switch (c->op) {
    case RY_OP_batch_norm:
    case RY_OP_batch_norm_train:
    case RY_OP_batch_norm_grad: make_positive(&c->in[4]); break;
    case RY_OP_max_unpool: make_indices(&c->in[1], ry_tensor_count(&c->in[0])); break;
    case RY_OP_roi_align: make_indices(&c->in[2], c->in[0].dim[0]); break;
    default: break;
    }
}

void kernel_case_parse(kernel_case *c, const char *problem)
{
    ry_problem p;
    ry_error error = {0};
    ry_arena_init(&c->arena, &ry_system_allocator);
    if (ry_problem_parse(problem, &c->arena, &p, &error) != RYND_OK) {
        fail_msg("%s: %s", problem, error.text);
    }
    ry_arena arena = c->arena;
    kernel_case_begin(c, p.op);
    c->arena = arena;
    c->text = problem;
    c->attrs = p.attrs;
    c->accuracy = p.accuracy;
    c->inputs = p.inputs;
    c->outputs = p.outputs;
    assert_true(p.inputs <= CASE_OPERANDS && p.outputs <= CASE_OPERANDS);
    for (int i = 0; i < p.inputs + p.outputs; i++) {
        bool input = i < p.inputs;
        const ry_tensor *from = input ? &p.in[i] : &p.out[i - p.inputs];
        ry_tensor *to = input ? &c->in[i] : &c->out[i - p.inputs];
        if (ry_tensor_present(from)) {
            ry_shape shape = ry_tensor_shape(from);
            *to = take_operand((ry_dtype)from->dtype, &shape);
            fill_random(to, (uint64_t)i + 1);
        }
    }
    make_legal(c);
}

static ry_tensor describe(const ry_tensor *t, case_layout layout)
{
    ry_shape shape = ry_tensor_shape(t);
    ry_dtype dtype = (ry_dtype)t->dtype;
    if (!ry_tensor_present(t)) {
        return (ry_tensor){0};
    }
    ry_tensor view = layout == CASE_NHWC ? ry_tensor_channels_last(dtype, &shape, NULL)
                                         : ry_tensor_row_major(dtype, &shape, NULL);
    if (layout == CASE_GAPS) {
        int64_t step = 2;
        for (int i = shape.rank - 1; i >= 0; i--) {
            view.stride[i] = step;
            step = step * shape.dim[i] + 3;
        }
    }
    return view;
}

ry_problem kernel_case_problem(const kernel_case *c, case_layout layout, ry_tensor *in,
                               ry_tensor *out)
{
    for (int i = 0; i < c->inputs; i++) {
        in[i] = describe(&c->in[i], layout);
    }
    for (int i = 0; i < c->outputs; i++) {
        out[i] = describe(&c->out[i], layout);
    }
    return (ry_problem){.op = c->op,
                        .accuracy = c->accuracy,
                        .attrs = c->attrs,
                        .inputs = c->inputs,
                        .outputs = c->outputs,
                        .in = in,
                        .out = out};
}

double kernel_case_get(const kernel_case *c, int output, int64_t index)
{
    return ry_get_f64((ry_dtype)c->out[output].dtype, c->out[output].data, index);
}

bool kernel_case_close(double got, double expected, double allowed)
{
    return got == expected || (isnan(got) && isnan(expected)) || fabs(got - expected) <= allowed;
}

void kernel_case_expect(const kernel_case *c, int output, const double *expected, int64_t count,
                        double tolerance)
{
    assert_int_equal(ry_tensor_count(&c->out[output]), count);
    for (int64_t i = 0; i < count; i++) {
        double got = kernel_case_get(c, output, i);
        if (!kernel_case_close(got, expected[i], tolerance * fmax(1, fabs(expected[i])))) {
            fail_msg("output %d, element %lld is %.9g, not %.9g", output, (long long)i, got,
                     expected[i]);
        }
    }
}

double kernel_case_dot(const ry_tensor *a, const ry_tensor *b)
{
    double sum = 0;
    assert_int_equal(ry_tensor_count(a), ry_tensor_count(b));
    for (int64_t i = 0; i < ry_tensor_count(a); i++) {
        sum +=
            ry_get_f64((ry_dtype)a->dtype, a->data, i) * ry_get_f64((ry_dtype)b->dtype, b->data, i);
    }
    return sum;
}
