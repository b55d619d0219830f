/* SPDX-License-Identifier: Apache-2.0 */
/* No plan joins nodes, or chooses a layout, so that a reference kernel computes what a real kernel
 * could: random depthwise and pointwise convolutions, and heads of few channels, for every
 * instruction set, in both layouts of the input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "onnx_bytes.h"
#include <rynd/rynd.h>

#include "base/cpuid.h"
#include "kernels/kernel.h"
#include "tensor/tensor.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { PAIRS = 600, MAX_WEIGHTS = 1 << 14 };

/* A depthwise convolution of x, a pointwise convolution, and a reader. */
typedef struct pair {
    int rank; /* spatial dims: 1 or 2 */
    int64_t batch, channels, outputs, size[2], window, stride, dilation, pad;
    bool middle, residual;
    const char *tail; /* ONNX operator; NULL: none */
} pair;

static uint64_t random_state;

static int64_t below(int64_t count)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((random_state >> 33) % (uint64_t)count);
}

static void put_constant(onnx_bytes *graph, const char *name, int rank, const int64_t *dims)
{
    static const float zeros[MAX_WEIGHTS];
    add_initializer(graph, make_floats(name, rank, dims, zeros));
}

static void put_conv(onnx_bytes *graph, const char *inputs, const char *output, const pair *p,
                     bool depthwise)
{
    const int64_t stride[] = {p->stride, p->stride}, dilation[] = {p->dilation, p->dilation},
                  pads[] = {p->pad, p->pad, p->pad, p->pad};
    onnx_bytes node = make_node("Conv", inputs, output);
    if (depthwise) {
        add_int_attribute(&node, "group", p->channels);
        add_ints_attribute(&node, "strides", p->rank, stride);
        add_ints_attribute(&node, "dilations", p->rank, dilation);
        add_ints_attribute(&node, "pads", 2 * p->rank, pads);
    }
    add_node(graph, node);
}

static void put_tail(onnx_bytes *graph, const pair *p)
{
    if (!p->tail) {
        add_node(graph, make_node("Identity", "p", "y"));
        return;
    }
    const bool joins = strcmp(p->tail, "Concat") == 0;
    onnx_bytes node = make_node(p->tail, joins ? "p,p" : "p", "y");
    if (joins) {
        add_int_attribute(&node, "axis", 1);
    }
    add_node(graph, node);
}

static onnx_bytes make_pair(const pair *p)
{
    const int64_t x[] = {p->batch, p->channels, p->size[0], p->size[1]},
                  depthwise[] = {p->channels, 1, p->window, p->window},
                  pointwise[] = {p->outputs, p->channels, 1, 1};
    onnx_bytes graph = {0};
    put_conv(&graph, "x,w,b", "m", p, true);
    add_node(&graph, make_node(p->middle ? "Relu" : "Identity", "m", "n"));
    put_conv(&graph, "n,v", p->residual ? "q" : "p", p, false);
    if (p->residual) {
        add_node(&graph, make_node("Relu", "x", "r"));
        add_node(&graph, make_node("Add", "q,r", "p"));
    }
    put_tail(&graph, p);
    put_constant(&graph, "w", 2 + p->rank, depthwise);
    put_constant(&graph, "b", 1, &p->channels);
    put_constant(&graph, "v", 2 + p->rank, pointwise);
    add_input(&graph, make_value("x", 2 + p->rank, x));
    add_output(&graph, make_value("y", -1, NULL));
    return make_model(8, 17, graph);
}

static void print_pair(const pair *p)
{
    print_error("%d-D, %dx%dx%dx%d to %d channels, window %d, stride %d, dilation %d, pad %d, %s%s "
                "tail %s\n",
                p->rank, (int)p->batch, (int)p->channels, (int)p->size[0], (int)p->size[1],
                (int)p->outputs, (int)p->window, (int)p->stride, (int)p->dilation, (int)p->pad,
                p->middle ? "relu between, " : "", p->residual ? "residual, " : "",
                p->tail ? p->tail : "none");
}

static rynd_tensor describe(const pair *p, bool channels_last)
{
    const ry_shape shape =
        ry_shape_of(2 + p->rank, (int64_t[]){p->batch, p->channels, p->size[0], p->size[1]});
    return channels_last ? ry_tensor_channels_last(RY_f32, &shape, NULL)
                         : ry_tensor_row_major(RY_f32, &shape, NULL);
}

/* Fails for a plan with a step by a reference. */
static void check_plan(rynd_model *model, const pair *p, rynd_accuracy accuracy, bool channels_last)
{
    const rynd_tensor x = describe(p, channels_last);
    const rynd_plan_options options =
        RYND_SIZED(rynd_plan_options, .accuracy = accuracy, .inputs = &x, .without_weights = 1);
    rynd_plan *plan;
    assert_int_equal(rynd_plan_create(model, &options, &plan), RYND_OK);
    for (size_t s = 0; s < rynd_plan_step_count(plan); s++) {
        rynd_step_info info = RYND_SIZED(rynd_step_info);
        assert_int_equal(rynd_plan_get_step(plan, s, &info), RYND_OK);
        if (ry_kernel_find(info.kernel)->reference) {
            print_pair(p);
            print_error("%s input, %s: step %s (%s) runs %s\n", channels_last ? "nhwc" : "nchw",
                        info.accuracy, info.name, info.problem, info.kernel);
            fail();
        }
    }
    rynd_plan_destroy(plan);
}

static void check_pair(rynd_context *context, const pair *p, rynd_accuracy accuracy)
{
    onnx_bytes bytes = make_pair(p);
    rynd_model *model;
    assert_int_equal(rynd_model_load_memory(context, bytes.data, bytes.size, &model), RYND_OK);
    for (int last = 0; last < 2; last++) {
        check_plan(model, p, accuracy, last);
    }
    rynd_model_destroy(model);
    onnx_bytes_free(&bytes);
}

/* The output is not empty. */
static bool fits(const pair *p)
{
    for (int i = 0; i < p->rank; i++) {
        if (p->size[i] + 2 * p->pad < p->dilation * (p->window - 1) + 1) {
            return false;
        }
    }
    return true;
}

static pair random_pair(void)
{
    static const char *const tails[] = {NULL, "Sigmoid", "Concat", "Relu", "HardSwish"};
    static const int64_t sizes[] = {1, 3, 5, 7, 13, 22, 33};
    pair p = {.rank = (int)below(4) ? 2 : 1,
              .batch = below(4) ? 1 : 3,
              .channels = 2 + below(63),
              .outputs = below(3) ? 1 + below(64) : 1 + below(4),
              .size = {sizes[below(7)], sizes[below(7)]},
              .window = 1 + below(5),
              .stride = 1 + below(3),
              .dilation = 1 + below(2),
              .middle = below(2) > 0,
              .tail = tails[below(5)]};
    p.pad = below(2) ? p.dilation * (p.window - 1) / 2 : below(2);
    if (!below(4)) { /* what a residual needs */
        p.residual = p.window % 2 == 1;
        p.outputs = p.residual ? p.channels : p.outputs;
        p.stride = p.residual ? 1 : p.stride;
        p.pad = p.residual ? p.dilation * (p.window - 1) / 2 : p.pad;
    }
    return p;
}

static void check_pairs(rynd_context *context)
{
    static const rynd_accuracy classes[] = {RYND_ACCURACY_STRICT, RYND_ACCURACY_NEAR32,
                                            RYND_ACCURACY_TF32, RYND_ACCURACY_BF16};
    /* the last layers of FastestDet: one channel, then a sigmoid and a concatenation */
    pair head = {.rank = 2,
                 .batch = 1,
                 .channels = 96,
                 .outputs = 1,
                 .size = {22, 22},
                 .window = 5,
                 .stride = 1,
                 .dilation = 1,
                 .pad = 2,
                 .middle = true,
                 .tail = "Sigmoid"};
    check_pair(context, &head, RYND_ACCURACY_NEAR32);
    head.tail = "Concat";
    check_pair(context, &head, RYND_ACCURACY_NEAR32);
    random_state = 34;
    for (int i = 0; i < PAIRS; i++) {
        pair p = random_pair();
        while (!fits(&p)) {
            p = random_pair();
        }
        check_pair(context, &p, classes[i % 4]);
    }
}

static void pairs_run_no_reference(void **state)
{
    (void)state;
    ry_cpu_info cpu;
    ry_cpu_detect(&cpu);
    for (int isa = 0; isa <= (int)cpu.isa; isa++) {
        rynd_context_options options =
            RYND_SIZED(rynd_context_options, .threads = 1, .wisdom = "off");
        options.isa = ry_isa_name((ry_isa)isa);
        rynd_context *context;
        if (rynd_context_create(&options, &context) == RYND_OK) {
            check_pairs(context);
            rynd_context_destroy(context);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pairs_run_no_reference)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
