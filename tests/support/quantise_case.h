/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of QDQ before and after quantising: outputs change by at most one step. */
#ifndef TESTS_SUPPORT_QUANTISE_CASE_H
#define TESTS_SUPPORT_QUANTISE_CASE_H

#include "rewrite_case.h"

#include "graph/quantise.h"

enum { STEP = 1 }; /* most steps of y that a result may differ by */

static const int64_t image[4] = {2, 3, 6, 7};

typedef struct numbers {
    double scale, zero;
    ry_dtype dtype;
} numbers;

static inline ry_value_id scalar(fixture *f, ry_dtype dtype, double number)
{
    return ry_graph_add_scalar(f->graph, dtype, number);
}

static inline ry_value_id dequantise(fixture *f, ry_value_id x, const numbers *q)
{
    const ry_value_id in[3] = {x, scalar(f, RY_f32, q->scale), scalar(f, q->dtype, q->zero)};
    return expr_axes(f, "cast(cast(cast(x0, i32) - cast(x2, i32), f32) * cast(x1, f32), f32)", 3,
                     in, 0, NULL);
}

static inline ry_value_id quantise(fixture *f, ry_value_id x, const numbers *q)
{
    const ry_value_id in[3] = {x, scalar(f, RY_f32, q->scale), scalar(f, q->dtype, q->zero)};
    const char *text = q->dtype == RY_i8
                           ? "saturate(round(cast(x0, f32) / cast(x1, f32)) + cast(x2, f32), i8)"
                           : "saturate(round(cast(x0, f32) / cast(x1, f32)) + cast(x2, f32), u8)";
    return expr_axes(f, text, 3, in, 0, NULL);
}

/* Random bytes, or integers, in [low, high]. */
static inline ry_value_id integers(fixture *f, ry_dtype dtype, int rank, const int64_t *dim,
                                   int low, int high)
{
    const ry_shape shape = ry_shape_of(rank, dim);
    const ry_value_id v = ry_graph_add_constant(f->graph, NULL, dtype, &shape, NULL);
    uint32_t seed = v + 7;
    for (int64_t i = 0; i < ry_shape_elements(&shape); i++) {
        const double part = ((double)noise(&seed) + 1) / 2;
        ry_set_f64(dtype, ry_graph_constant_data(f->graph, v), i,
                   floor(low + part * (high - low + 0.999)));
    }
    return v;
}

/* Weights dequantised a place of dim `axis`. */
static inline ry_value_id weights_along(fixture *f, int axis, int rank, const int64_t *dim,
                                        ry_dtype dtype, int zero)
{
    ry_shape scales = {.rank = rank, .dim = {1, 1, 1, 1}};
    scales.dim[axis] = dim[axis];
    const ry_value_id scale = ry_graph_add_constant(f->graph, NULL, RY_f32, &scales, NULL);
    for (int64_t k = 0; k < dim[axis]; k++) {
        ((float *)ry_graph_constant_data(f->graph, scale))[k] = 0.004f + 0.001f * (float)k;
    }
    const ry_value_id in[3] = {integers(f, dtype, rank, dim, zero - 100, zero + 100), scale,
                               scalar(f, dtype, zero)};
    return expr_axes(f, "cast(cast(cast(x0, i32) - cast(x2, i32), f32) * cast(x1, f32), f32)", 3,
                     in, 0, NULL);
}

static inline ry_value_id weights(fixture *f, int rank, const int64_t *dim, ry_dtype dtype,
                                  int zero)
{
    return weights_along(f, 0, rank, dim, dtype, zero);
}

static inline ry_value_id convolve(fixture *f, ry_value_id x, ry_value_id w, ry_value_id bias,
                                   bool padded)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_conv);
    const int64_t pad = padded ? 1 : 0;
    attrs.conv.pads = (ry_ints){4, {pad, pad, pad, pad}};
    const ry_value_id in[3] = {x, w, bias};
    return node(f, RY_OP_conv, &attrs, 3, in);
}

static inline void fold_all(fixture *f, bool hold)
{
    ry_cpu_info cpu;
    ry_machine machine;
    ry_cpu_detect(&cpu);
    ry_machine_built_in(&cpu, RY_ISA_generic, &machine);
    const ry_target target = {RY_DEVICE_cpu, RY_ISA_generic, &machine, 0, NULL};
    bool *later, held;
    assert_int_equal(hold ? ry_plan_fold_quantised(f->graph, &target, &later, &held, &f->error)
                          : ry_plan_fold(f->graph, &target, &later, &f->error),
                     RYND_OK);
}

/* Quantises the graph, and compares its output, of a type of bytes or floats of that step. */
static inline void compare(fixture *f, ry_value_id output, double step)
{
    assert_true(ry_graph_add_output(f->graph, output));
    float *data[2] = {0};
    for (size_t i = 0; i < f->graph->input_count; i++) {
        const ry_tensor t = ry_graph_tensor(f->graph, f->graph->inputs[i]);
        data[i] = malloc(ry_tensor_bytes(&t));
        uint32_t seed = (uint32_t)i + 99;
        for (int64_t e = 0; e < ry_tensor_count(&t); e++) {
            data[i][e] = noise(&seed) * 2;
        }
    }
    graph_run_result before = graph_run(f->graph, (void *const *)data);
    fold_all(f, true);
    assert_int_equal(ry_graph_quantise(f->graph, &f->error), RYND_OK);
    fold_all(f, false);
    assert_int_equal(ry_graph_compact(f->graph, &f->error), RYND_OK);
    assert_int_equal(ry_graph_verify(f->graph, &f->error), RYND_OK);
    graph_run_result after = graph_run(f->graph, (void *const *)data);
    const ry_tensor t = ry_graph_tensor(f->graph, f->graph->outputs[0]);
    const ry_value_id y = f->graph->outputs[0];
    double least = INFINITY, largest = -INFINITY;
    for (int64_t i = 0; i < ry_tensor_count(&t); i++) {
        const double wanted = ry_get_f64((ry_dtype)t.dtype, before.data[y], i),
                     got = ry_get_f64((ry_dtype)t.dtype, after.data[y], i);
        least = fmin(least, wanted);
        largest = fmax(largest, wanted);
        if (!(fabs(wanted - got) <= STEP * step * 1.0001)) {
            fail_msg("element %lld: %g before, %g after", (long long)i, wanted, got);
        }
    }
    assert_true(largest - least > 20 * step);
    graph_run_free(&before);
    graph_run_free(&after);
    free(data[0]);
    free(data[1]);
}

static const numbers x_numbers[2] = {{0.02, 117, RY_u8}, {0.02, -9, RY_i8}};
static const numbers y_numbers[2] = {{0.031, 80, RY_u8}, {0.031, -40, RY_i8}};

static inline ry_value_id start_with(fixture *f, int type, const int64_t dim[4])
{
    return dequantise(f, quantise(f, input(f, 4, dim), &x_numbers[type]), &x_numbers[type]);
}

static inline ry_value_id start(fixture *f, int type)
{
    return start_with(f, type, image);
}

#endif
