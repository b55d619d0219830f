/* SPDX-License-Identifier: Apache-2.0 */
/* A gradient as nodes beside central differences of the forward graph, both in f64.
 *
 * A case builds a small graph of what it is given by gradient_input, whose gradients are wanted,
 * and returns the value that is differentiated. */
#ifndef TESTS_SUPPORT_GRADIENT_CASE_H
#define TESTS_SUPPORT_GRADIENT_CASE_H

#include "graph_run.h"

#include "expr/expr.h"
#include "train/differentiate.h"

#include <math.h>

enum { GRADIENT_MAX_INPUTS = 16 };

/* A rank and its dims, as arguments. */
#define DIMS(...)                                                          \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) \
    {                                                                      \
        __VA_ARGS__                                                        \
    }

typedef struct gradient_case {
    ry_graph *graph;
    ry_error error;
    size_t count;
    ry_value_id input[GRADIENT_MAX_INPUTS];
    double *data[GRADIENT_MAX_INPUTS];
    uint32_t seed;
} gradient_case;

typedef ry_value_id gradient_build(gradient_case *c);

static inline double gradient_noise(gradient_case *c)
{
    c->seed = c->seed * 1664525u + 1013904223u;
    return (double)(c->seed >> 8) / 16777216.0 * 2 - 1;
}

/* Adds an input with random numbers between low and high. */
static inline ry_value_id gradient_input_between(gradient_case *c, double low, double high,
                                                 int rank, const int64_t *dim)
{
    const ry_shape shape = ry_shape_of(rank, dim);
    const ry_value_id v = ry_graph_add_value(c->graph, NULL, RY_f64, &shape);
    assert_true(c->count < GRADIENT_MAX_INPUTS);
    assert_true(ry_graph_add_input(c->graph, v));
    double *data = calloc((size_t)ry_shape_elements(&shape) + 1, sizeof *data);
    for (int64_t i = 0; i < ry_shape_elements(&shape); i++) {
        data[i] = low + (gradient_noise(c) + 1) / 2 * (high - low);
    }
    c->data[c->count] = data;
    c->input[c->count++] = v;
    return v;
}

static inline ry_value_id gradient_input(gradient_case *c, int rank, const int64_t *dim)
{
    return gradient_input_between(c, -1, 1, rank, dim);
}

/* A constant that no gradient is asked of. */
static inline ry_value_id gradient_constant(gradient_case *c, double low, double high, int rank,
                                            const int64_t *dim)
{
    const ry_shape shape = ry_shape_of(rank, dim);
    const ry_value_id v = ry_graph_add_constant(c->graph, NULL, RY_f64, &shape, NULL);
    double *data = ry_graph_constant_data(c->graph, v);
    for (int64_t i = 0; i < ry_shape_elements(&shape); i++) {
        data[i] = low + (gradient_noise(c) + 1) / 2 * (high - low);
    }
    return v;
}

static inline ry_value_id gradient_i64s(gradient_case *c, int count, const int64_t *numbers)
{
    return ry_graph_add_i64s(c->graph, NULL, count, numbers);
}

static inline void gradient_nodes(gradient_case *c, ry_op op, const ry_attrs *attrs, int inputs,
                                  const ry_value_id *in, int outputs, ry_value_id *out)
{
    for (int i = 0; i < outputs; i++) {
        out[i] = ry_graph_add_value(c->graph, NULL, RY_NONE, NULL);
    }
    const ry_node_id node =
        ry_graph_add_node(c->graph, op, NULL, "Test", attrs, inputs, in, outputs, out);
    rynd_status status;
    if (ry_infer_node(c->graph, &c->graph->nodes[node], &c->error, &status) != RY_INFER_DONE) {
        fail_msg("%s", c->error.text);
    }
}

static inline ry_value_id gradient_node(gradient_case *c, ry_op op, const ry_attrs *attrs,
                                        int inputs, const ry_value_id *in)
{
    ry_value_id out;
    gradient_nodes(c, op, attrs, inputs, in, 1, &out);
    return out;
}

static inline double gradient_dot(const double *a, const double *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* sum(y * dy) of the graph as it is now. */
static inline double gradient_loss(const gradient_case *c, ry_value_id y, const double *dy)
{
    graph_run_result r = graph_run(c->graph, (void *const *)c->data);
    const double sum = gradient_dot(r.data[y], dy, ry_shape_elements(&c->graph->values[y].shape));
    graph_run_free(&r);
    return sum;
}

static inline void gradient_compare(const char *name, size_t input, int64_t count,
                                    const double *got, const double *wanted)
{
    double largest = 1e-3;
    for (int64_t i = 0; i < count; i++) {
        largest = fabs(wanted[i]) > largest ? fabs(wanted[i]) : largest;
    }
    for (int64_t i = 0; i < count; i++) {
        const double is = got ? got[i] : 0;
        if (!(fabs(is - wanted[i]) <= 1e-6 * largest)) {
            fail_msg("%s: the gradient of input %zu is %.10g at %lld, by differences %.10g", name,
                     input, is, (long long)i, wanted[i]);
        }
    }
}

/* The gradient by differences of each input, before the graph has more nodes. */
static inline double *gradient_differences(gradient_case *c, size_t input, ry_value_id y,
                                           const double *dy)
{
    static const double step = 1e-5;
    const int64_t count = ry_shape_elements(&c->graph->values[c->input[input]].shape);
    double *result = calloc((size_t)count + 1, sizeof *result), *data = c->data[input];
    for (int64_t i = 0; i < count; i++) {
        const double at = data[i];
        data[i] = at + step;
        const double above = gradient_loss(c, y, dy);
        data[i] = at - step;
        const double below = gradient_loss(c, y, dy);
        data[i] = at;
        result[i] = (above - below) / (2 * step);
    }
    return result;
}

/* What is made must be a graph as any other: verified, sorted, inferred again. */
static inline void gradient_check_graph(gradient_case *c, const ry_value_id *gradient)
{
    for (size_t i = 0; i < c->count; i++) {
        if (gradient[i] != RY_NO_VALUE) {
            assert_true(ry_graph_add_output(c->graph, gradient[i]));
            assert_true(ry_shape_equal(&c->graph->values[gradient[i]].shape,
                                       &c->graph->values[c->input[i]].shape));
        }
    }
    assert_int_equal(ry_graph_verify(c->graph, &c->error), RYND_OK);
    assert_int_equal(ry_graph_compact(c->graph, &c->error), RYND_OK);
    assert_int_equal(ry_graph_infer(c->graph, &c->error), RYND_OK);
}

static inline void gradient_case_run(const char *name, gradient_build *build)
{
    gradient_case c = {.seed = 7};
    double *wanted[GRADIENT_MAX_INPUTS];
    ry_value_id gradient[GRADIENT_MAX_INPUTS];
    assert_int_equal(ry_graph_create(&ry_system_allocator, &c.graph, &c.error), RYND_OK);
    const ry_value_id y = build(&c);
    const ry_shape shape = c.graph->values[y].shape;
    const ry_value_id dy = gradient_constant(&c, -1, 1, shape.rank, shape.dim);
    const double *numbers = c.graph->values[dy].constant;
    for (size_t i = 0; i < c.count; i++) {
        wanted[i] = gradient_differences(&c, i, y, numbers);
    }
    const ry_differentiation what = {.of_count = 1,
                                     .of = &y,
                                     .dy = &dy,
                                     .count = c.count,
                                     .wanted = c.input,
                                     .gradient = gradient};
    if (ry_differentiate(c.graph, &what, &c.error) != RYND_OK) {
        fail_msg("%s: %s", name, c.error.text);
    }
    gradient_check_graph(&c, gradient);
    graph_run_result r = graph_run(c.graph, (void *const *)c.data);
    for (size_t i = 0; i < c.count; i++) {
        gradient_compare(name, i, ry_shape_elements(&c.graph->values[c.input[i]].shape),
                         gradient[i] == RY_NO_VALUE ? NULL : r.data[gradient[i]], wanted[i]);
        free(wanted[i]);
    }
    graph_run_free(&r);
    for (size_t i = 0; i < c.count; i++) {
        free(c.data[i]);
    }
    ry_graph_destroy(c.graph);
}

#endif
