/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs and their results. */
#include "expr_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "number_format.h"

enum { GUARD = EXPR_GUARD, GUARD_BYTE = EXPR_GUARD_BYTE, MAX_TEXT = EXPR_MAX_TEXT };

static uint64_t seed;

/* xorshift64* (Vigna 2016): the same cases everywhere. */
static uint32_t draw(uint32_t below)
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return (uint32_t)((seed * 0x2545f4914f6cdd1du) >> 33) % below;
}

/* ---- programs ---- */

typedef struct writer {
    char text[MAX_TEXT];
    size_t used;
    ry_dtype dtype; /* type of every input */
    int inputs;
} writer;

static void put(writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(writer *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(w->text + w->used, sizeof w->text - w->used, format, args);
    va_end(args);
    assert_true(n >= 0 && (size_t)n < sizeof w->text - w->used);
    w->used += (size_t)n;
}

static void put_truth(writer *w, int depth);

static void put_value(writer *w, int depth)
{
    static const char *const any_2[] = {"(%s + ", "(%s - ", "(%s * ", "min(%s, ", "max(%s, "};
    bool is_float = ry_dtype_is_float(w->dtype), is_bool = w->dtype == RY_bool;
    uint32_t kind = draw(is_float ? 14 : 12);
    if (depth <= 0 || kind < 2) {
        if (draw(5) == 0) {
            put(w, "%u", draw(is_bool ? 2 : 5));
        } else {
            put(w, "x%u", draw((uint32_t)w->inputs));
        }
    } else if (is_bool) {
        put(w, kind % 2 ? "select(" : "max(");
        if (kind % 2) {
            put_truth(w, depth - 1);
            put(w, ", ");
        }
        put_value(w, depth - 1);
        put(w, ", ");
        put_value(w, depth - 1);
        put(w, ")");
    } else if (kind < 7) {
        const char *form = any_2[draw(5)];
        bool infix = form[0] == '(';
        put(w, "%.*s", infix ? 1 : 4, form);
        put_value(w, depth - 1);
        put(w, "%.*s", infix ? 3 : 2, infix ? form + 3 : ", ");
        put_value(w, depth - 1);
        put(w, ")");
    } else if (kind < 9) {
        static const char *const any_1[] = {"-(", "abs(", "sign("};
        put(w, "%s", any_1[draw(3)]);
        put_value(w, depth - 1);
        put(w, ")");
    } else if (kind == 9) {
        /* Not two constants: those would have no type of their own. */
        put(w, "select(");
        put_truth(w, depth - 1);
        put(w, ", x%u, ", draw((uint32_t)w->inputs));
        put_value(w, depth - 1);
        put(w, ")");
    } else if (is_float) {
        static const char *const float_1[] = {"floor(", "ceil(", "round(", "pow(2 * "};
        uint32_t which = draw(4);
        put(w, "%s", float_1[which]);
        put_value(w, depth - 1);
        put(w, which == 3 ? ", 2)" : " * 0.5)");
    } else {
        static const char *const int_2[] = {"mod(",        "fmod(",        "bit_and(", "bit_xor(",
                                            "shift_left(", "shift_right(", "bit_or("};
        put(w, "%s", int_2[draw(7)]);
        put_value(w, depth - 1);
        put(w, ", ");
        put_value(w, depth - 1);
        put(w, ")");
    }
}

static void put_truth(writer *w, int depth)
{
    static const char *const compare[] = {" == ", " != ", " < ", " <= ", " > ", " >= "};
    if (depth > 0 && draw(3) == 0) {
        put(w, "!(");
        put_truth(w, depth - 1);
        put(w, "%s", draw(2) ? " & " : " ^ ");
        put_truth(w, depth - 1);
        put(w, ")");
        return;
    }
    put(w, "(x%u", draw((uint32_t)w->inputs));
    put(w, "%s", compare[draw(6)]);
    put_value(w, depth - 1);
    put(w, ")");
}

/* ---- operands: any order of dimensions, gaps, negative strides; guards around ---- */

static expr_operand make_operand(ry_dtype dtype, const ry_shape *shape)
{
    expr_operand o = {.description = ry_tensor_row_major(dtype, shape, NULL)};
    int order[RY_MAX_RANK];
    int64_t stride = 1, start = 0;
    bool plain = draw(2) == 0;
    for (int i = 0; i < shape->rank; i++) {
        order[i] = shape->rank - 1 - i;
    }
    for (int i = shape->rank - 1; i > 0 && !plain; i--) {
        int k = (int)draw((uint32_t)i + 1), t = order[i];
        order[i] = order[k];
        order[k] = t;
    }
    for (int i = 0; i < shape->rank; i++) {
        int d = order[i];
        stride += !plain && draw(4) == 0 ? (int64_t)draw(4) : 0;
        bool negative = !plain && draw(6) == 0 && shape->dim[d] > 0;
        o.description.stride[d] = negative ? -stride : stride;
        start += negative ? stride * (shape->dim[d] - 1) : 0;
        stride *= shape->dim[d] > 0 ? shape->dim[d] : 1;
    }
    o.size = (size_t)(ry_shape_elements(shape) > 0 ? stride : 0) * ry_dtype_size(dtype);
    o.start = o.size > 0 ? (size_t)start * ry_dtype_size(dtype) : 0;
    o.block = malloc(o.size + 2 * GUARD);
    assert_non_null(o.block);
    memset(o.block, GUARD_BYTE, o.size + 2 * GUARD);
    return o;
}

static void fill(const expr_operand *o)
{
    ry_dtype dtype = (ry_dtype)o->description.dtype;
    bool is_signed = ry_dtype_is_float(dtype) || ry_dtype_get_kind(dtype) == RY_KIND_SIGNED;
    int64_t index[RY_MAX_RANK] = {0};
    if (o->size == 0) {
        return;
    }
    do {
        double v = dtype == RY_bool ? draw(2) : is_signed ? (double)draw(9) - 4 : draw(9);
        ry_set_f64(dtype, expr_operand_data(o), ry_index_offset(&o->description, index), v);
    } while (ry_index_next(o->description.rank, o->description.dim, index));
}

/* ---- one case ---- */

static ry_shape random_shape(void)
{
    static const int64_t sizes[] = {1,  2,  3,  4,  5,  7,  8,   15,  16,
                                    17, 32, 33, 40, 64, 65, 100, 130, 260};
    ry_shape shape = {.rank = (int)draw(6)};
    int64_t total = 1;
    for (int d = 0; d < shape.rank; d++) {
        shape.dim[d] = sizes[draw(sizeof sizes / sizeof *sizes)];
        shape.dim[d] = total * shape.dim[d] > 6000 ? 1 + draw(2) : shape.dim[d];
        total *= shape.dim[d];
    }
    if (shape.rank > 0 && draw(12) == 0) {
        shape.dim[draw((uint32_t)shape.rank)] = 0;
    } else if (shape.rank > 0 && total < 20 && draw(2) == 0) {
        shape.dim[draw((uint32_t)shape.rank)] = 1 + draw(9000);
    }
    return shape;
}

/* A random shape that broadcasts to `shape`. */
static ry_shape shrunk(const ry_shape *shape, bool whole)
{
    ry_shape s = *shape;
    int lost = !whole && shape->rank > 0 && draw(4) == 0 ? (int)draw((uint32_t)shape->rank + 1) : 0;
    s.rank -= lost;
    for (int d = 0; d < s.rank; d++) {
        s.dim[d] = !whole && draw(4) == 0 ? 1 : shape->dim[d + lost];
    }
    return s;
}

static ry_shape output_shape(const expr_case *c, const ry_shape *shape, bool behind)
{
    const ry_expr_attrs *attrs = &c->problem.attrs.expr;
    ry_shape s = {.rank = 0};
    for (int d = 0; d < shape->rank; d++) {
        bool gone = behind && attrs->axes.count == 0 && !attrs->noop_empty;
        for (int i = 0; i < attrs->axes.count && behind; i++) {
            gone = gone || attrs->axes.at[i] == d;
        }
        if (!gone || attrs->keepdims) {
            s.dim[s.rank++] = gone ? 1 : shape->dim[d];
        }
    }
    return s;
}

/* false: a reduction of constants alone has no shape. */
static bool make_case(expr_case *c, const char *text, ry_dtype dtype, const ry_shape *wanted,
                      ry_arena *arena)
{
    const ry_expr *program = NULL;
    ry_error error;
    ry_dtype inputs[8], types[256];
    ry_shape shape = {.rank = 0};
    if (ry_expr_parse(text, NULL, 0, arena, &program, &error) != RYND_OK) {
        fail_msg("%s", error.text);
    }
    if (program->inputs == 0 && program->reduces) {
        return false;
    }
    memset(c, 0, sizeof *c);
    c->problem = (ry_problem){.op = RY_OP_expr,
                              .inputs = program->inputs,
                              .outputs = program->outputs,
                              .in = c->in,
                              .out = c->out};
    c->problem.attrs.expr =
        (ry_expr_attrs){.program = program, .keepdims = draw(2), .noop_empty = draw(6) == 0};
    for (int i = 0; i < program->inputs; i++) {
        ry_shape one = shrunk(wanted, draw(2) == 0);
        c->given[i] = make_operand(dtype, &one);
        c->in[i] = c->given[i].description;
        fill(&c->given[i]);
        inputs[i] = dtype;
        assert_true(ry_shape_broadcast(&shape, &one, &shape));
    }
    shape = program->inputs ? shape : *wanted;
    for (int d = 0; d < shape.rank; d++) {
        if (draw(2) == 0) {
            c->problem.attrs.expr.axes.at[c->problem.attrs.expr.axes.count++] = d;
        }
    }
    if (ry_expr_types(program, inputs, types, &error) != RYND_OK) {
        fail_msg("%s: %s", text, error.text);
    }
    for (int o = 0; o < program->outputs; o++) {
        ry_shape one = output_shape(c, &shape, program->reduced[program->result[o]]);
        expr_operand y = make_operand(types[program->result[o]], &one);
        c->out[o] = y.description;
        c->given[4 + o] = y;
    }
    size_t used =
        (size_t)snprintf(c->name, sizeof c->name, "'%s' on %s", text, ry_dtype_name(dtype));
    for (int i = 0; i < program->inputs && used < sizeof c->name - 200; i++) {
        used += (size_t)snprintf(c->name + used, sizeof c->name - used, " x%d=", i);
        for (int d = 0; d < c->in[i].rank; d++) {
            used += (size_t)snprintf(c->name + used, sizeof c->name - used, "%lld(%lld),",
                                     (long long)c->in[i].dim[d], (long long)c->in[i].stride[d]);
        }
    }
    for (int i = 0; i < c->problem.attrs.expr.axes.count && used < sizeof c->name - 20; i++) {
        used += (size_t)snprintf(c->name + used, sizeof c->name - used, " axis %d",
                                 (int)c->problem.attrs.expr.axes.at[i]);
    }
    return true;
}

static bool close_enough(ry_dtype dtype, double got, double expected)
{
    /* Narrow types: both results were rounded once, from floats that agree. */
    const double tolerance = dtype == RY_f64 ? 1e-13 : 1e-6;
    const bool narrow = dtype == RY_f16 || dtype == RY_bf16;
    const double allowed = !ry_dtype_is_float(dtype) ? 0
                           : narrow                  ? 2 * rounding_error(dtype, expected)
                                                     : tolerance * fabs(expected);
    return got == expected || (isnan(got) && isnan(expected)) || fabs(got - expected) <= allowed;
}

void expr_case_compare(const ry_kernel *kernel, const expr_case *c, int o, const unsigned char *got,
                       const unsigned char *expected)
{
    const expr_operand *y = &c->given[4 + o];
    size_t size = ry_dtype_size((ry_dtype)y->description.dtype);
    ry_dtype dtype = (ry_dtype)y->description.dtype;
    int64_t index[RY_MAX_RANK] = {0};
    unsigned char *owned = calloc(1, y->size + 2 * GUARD);
    assert_non_null(owned);
    bool more = y->size > 0;
    while (more) {
        int64_t at = ry_index_offset(&y->description, index);
        const unsigned char *a = got + GUARD + y->start, *b = expected + GUARD + y->start;
        bool same = ry_dtype_is_float(dtype)
                        ? close_enough(dtype, ry_get_f64(dtype, a, at), ry_get_f64(dtype, b, at))
                        : ry_get_i64(dtype, a, at) == ry_get_i64(dtype, b, at);
        if (!same) {
            fail_msg("%s: %s, output %d: %g instead of %g", kernel->name, c->name, o,
                     ry_get_f64(dtype, a, at), ry_get_f64(dtype, b, at));
        }
        memset(owned + GUARD + (int64_t)y->start + at * (int64_t)size, 1, size);
        more = ry_index_next(y->description.rank, y->description.dim, index);
    }
    for (size_t i = 0; i < y->size + 2 * GUARD; i++) {
        if (!owned[i] && got[i] != GUARD_BYTE) {
            fail_msg("%s: %s wrote outside output %d", kernel->name, c->name, o);
        }
    }
    free(owned);
}

static void end_case(const expr_case *c)
{
    for (int i = 0; i < 8; i++) {
        free(c->given[i].block);
    }
}

static void check_text(const char *text, ry_dtype dtype, const ry_shape *shape, expr_check check)
{
    static expr_case c;
    ry_arena arena;
    ry_arena_init(&arena, &ry_system_allocator);
    if (make_case(&c, text, dtype, shape, &arena)) {
        check(&c);
        end_case(&c);
    }
    ry_arena_free(&arena);
}

static void check_pointwise(ry_dtype dtype, const ry_shape *shape, expr_check check)
{
    writer w = {.dtype = dtype, .inputs = 1 + (int)draw(4)};
    put(&w, "y0 = ");
    put_value(&w, 4);
    bool two = draw(2);
    if (two) {
        put(&w, "; y1 = ");
        put_truth(&w, 3);
    }
    if (draw(3) == 0) {
        put(&w, "; y%d = x%u", two ? 2 : 1, draw((uint32_t)w.inputs));
    }
    check_text(w.text, w.dtype, shape, check);
}

void expr_random_pointwise(int rounds, expr_check check)
{
    seed = 12345;
    for (int round = 0; round < rounds; round++) {
        const ry_shape shape = random_shape();
        check_pointwise((ry_dtype)(1 + round % (RY_DTYPES - 1)), &shape, check);
    }
}

void expr_random_transposed(int rounds, expr_check check)
{
    static const int64_t channels[] = {3, 16, 17, 40, 70}, positions[] = {129, 300, 515, 2050};
    seed = 4321;
    for (int round = 0; round < rounds; round++) {
        const ry_shape shape = {3, {1 + draw(2), channels[draw(5)], positions[draw(4)]}};
        check_pointwise((ry_dtype)(1 + round % (RY_DTYPES - 1)), &shape, check);
    }
}

void expr_random_reductions(int rounds, expr_check check)
{
    static const char *const names[] = {"sum", "mean", "min", "max", "prod"};
    seed = 54321;
    for (int round = 0; round < rounds; round++) {
        writer w = {.dtype = (ry_dtype)(1 + round % (RY_DTYPES - 1)), .inputs = 1 + (int)draw(3)};
        ry_shape shape = random_shape();
        int outputs = 1 + (int)draw(3);
        bool is_bool = w.dtype == RY_bool;
        for (int o = 0; o < outputs; o++) {
            uint32_t which = is_bool ? 2 + draw(2) : draw(4);
            put(&w, "%sy%d = ", o ? "; " : "", o);
            if (o > 0 && draw(3) == 0) {
                put_value(&w, 2); /* unreduced */
            } else if (!is_bool && draw(3) == 0) {
                put(&w, "(2 - %s(", names[which]);
                put_value(&w, 2);
                put(&w, ")) * max(x0)");
            } else {
                put(&w, "%s(", names[which]);
                put_value(&w, 2);
                put(&w, ")");
            }
        }
        check_text(w.text, w.dtype, &shape, check);
    }
}

/* Large enough to be cut into slices: everything, the inner or the outer dimension, short rows. */
void expr_random_large_reductions(int rounds, expr_check check)
{
    static const ry_shape shapes[] = {{1, {400000}},    {2, {3, 150000}},   {2, {150000, 3}},
                                      {2, {2000, 200}}, {3, {5, 30000, 2}}, {3, {40, 3, 3000}}};
    seed = 777;
    for (int round = 0; round < rounds; round++) {
        const ry_shape *shape = &shapes[round % 6];
        check_text(round % 3 ? "y0 = sum(x0); y1 = max(x0 * 2) - 1" : "mean(x0 * x0)",
                   round % 2 ? RY_f32 : RY_i32, shape, check);
    }
}

/* Every cast and saturation between all types, and 16-bit rounding in the middle of a program. */
void expr_random_casts(int step, expr_check check)
{
    seed = 99;
    for (int from = 1; from < RY_DTYPES; from++) {
        for (int to = 1 + (step - from % step) % step; to < RY_DTYPES; to += step) {
            ry_shape shape = random_shape();
            const char *name = ry_dtype_name((ry_dtype)to),
                       *scaled = from == RY_bool ? "x0" : "x0 * 37";
            char text[128];
            snprintf(text, sizeof text, "cast(%s, %s)", scaled, name);
            check_text(text, (ry_dtype)from, &shape, check);
            snprintf(text, sizeof text, "cast(cast(%s%s, f16), %s)", scaled,
                     ry_dtype_is_float((ry_dtype)from) ? " / 7" : "", name);
            check_text(text, (ry_dtype)from, &shape, check);
            if (!ry_dtype_is_float((ry_dtype)to) && to != RY_bool) {
                snprintf(text, sizeof text, "saturate(%s%s, %s)", scaled,
                         ry_dtype_is_float((ry_dtype)from) ? " * 0.125" : "", name);
                check_text(text, (ry_dtype)from, &shape, check);
            }
        }
    }
}
