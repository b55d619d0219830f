/* SPDX-License-Identifier: Apache-2.0 */
/* The models: convolutions, pools, norms, moves, reductions, products. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "strided_networks.h"
#include "tiny_model.h"

#include <stdlib.h>

static void add_weights(onnx_bytes *graph, const char *name, int rank, const int64_t *dim)
{
    int64_t count = 1;
    for (int i = 0; i < rank; i++) {
        count *= dim[i];
    }
    float *numbers = malloc((size_t)count * sizeof *numbers);
    assert_non_null(numbers);
    tiny_values(numbers, (size_t)count, (uint32_t)(count + name[0]));
    add_initializer(graph, make_floats(name, rank, dim, numbers));
    free(numbers);
}

static void add_conv(onnx_bytes *graph, const char *operands, const char *y, const char *w,
                     const int64_t *w_dim, int64_t stride, int64_t groups)
{
    onnx_bytes node = make_node("Conv", operands, y);
    const int64_t pad = w_dim[2] / 2, pads[] = {pad, pad, pad, pad}, strides[] = {stride, stride};
    add_ints_attribute(&node, "pads", 4, pads);
    add_ints_attribute(&node, "strides", 2, strides);
    add_int_attribute(&node, "group", groups);
    add_node(graph, node);
    add_weights(graph, w, 4, w_dim);
}

static void photos(onnx_bytes *g)
{
    add_conv(g, "x,w", "a", "w", (int64_t[]){24, STRIDED_CHANNELS, 7, 7}, 2, 1);
    add_node(g, make_node("Relu", "a", "b"));
    add_conv(g, "b,v", "c", "v", (int64_t[]){16, 24, 3, 3}, 1, 1);
    add_node(g, make_node("Relu", "c", "d"));
    add_conv(g, "d,u", "e", "u", (int64_t[]){16, 16, 1, 1}, 1, 1);
    add_node(g, make_node("Add", "e,d", "f"));
    add_node(g, make_node("GlobalAveragePool", "f", "h"));
    add_node(g, make_node("Flatten", "h", "y0"));
}

static void one_conv(onnx_bytes *g)
{
    add_conv(g, "x,w", "y0", "w", (int64_t[]){9, STRIDED_CHANNELS, 3, 3}, 1, 1);
    add_conv(g, "x,v", "y1", "v", (int64_t[]){STRIDED_CHANNELS, 1, 3, 3}, 2, STRIDED_CHANNELS);
    add_conv(g, "x,u", "y2", "u", (int64_t[]){40, STRIDED_CHANNELS, 1, 1}, 1, 1);
}

static void separable(onnx_bytes *g)
{
    add_conv(g, "x,v", "a", "v", (int64_t[]){STRIDED_CHANNELS, 1, 3, 3}, 1, STRIDED_CHANNELS);
    add_node(g, make_node("Relu", "a", "b"));
    add_conv(g, "b,w", "c", "w", (int64_t[]){64, STRIDED_CHANNELS, 1, 1}, 1, 1);
    add_node(g, make_node("Relu", "c", "y0"));
}

static void residual(onnx_bytes *g)
{
    add_conv(g, "x,w", "a", "w", (int64_t[]){STRIDED_CHANNELS, STRIDED_CHANNELS, 3, 3}, 1, 1);
    add_node(g, make_node("Add", "a,x", "b"));
    add_node(g, make_node("Mul", "b,x", "y0"));
}

/* An output, a row, and a transposed one: what could be the input's memory. */
static void memory_of_x(onnx_bytes *g)
{
    static const int64_t perm[] = {0, 2, 3, 1};
    onnx_bytes transpose = make_node("Transpose", "x", "y2");
    add_ints_attribute(&transpose, "perm", 4, perm);
    add_node(g, make_node("Identity", "x", "y0"));
    add_node(g, make_node("Flatten", "x", "y1"));
    add_node(g, transpose);
}

static void transposed_first(onnx_bytes *g)
{
    static const int64_t perm[] = {0, 3, 1, 2};
    onnx_bytes transpose = make_node("Transpose", "x", "t");
    add_ints_attribute(&transpose, "perm", 4, perm);
    add_node(g, transpose);
    add_conv(g, "t,w", "y0", "w", (int64_t[]){12, STRIDED_WIDTH, 3, 3}, 1, 1);
}

static void pooled(onnx_bytes *g)
{
    static const int64_t window[] = {3, 3};
    onnx_bytes max = make_node("MaxPool", "x", "y0"), average = make_node("AveragePool", "x", "y1");
    add_ints_attribute(&max, "kernel_shape", 2, window);
    add_ints_attribute(&average, "kernel_shape", 2, window);
    add_node(g, max);
    add_node(g, average);
    add_node(g, make_node("GlobalMaxPool", "x", "y2"));
}

static void normalised(onnx_bytes *g)
{
    static const int64_t channels[] = {STRIDED_CHANNELS}, width[] = {STRIDED_WIDTH};
    onnx_bytes softmax = make_node("Softmax", "x", "y2"),
               layer = make_node("LayerNormalization", "x,l", "y1");
    add_int_attribute(&softmax, "axis", 1);
    add_node(g, make_node("InstanceNormalization", "x,s,b", "y0"));
    add_node(g, layer);
    add_node(g, softmax);
    add_weights(g, "s", 1, channels);
    add_weights(g, "b", 1, channels);
    add_weights(g, "l", 1, width);
}

static void moved(onnx_bytes *g)
{
    static const int64_t pads[] = {0, 0, 1, 2, 0, 0, 1, 0}, eight[] = {8}, four[] = {4};
    static const float scales[] = {1, 1, 2, 2};
    onnx_bytes numbers = make_tensor("p", 7, 1, eight), concat = make_node("Concat", "x,x", "y1");
    put_bytes(&numbers, 9, pads, sizeof pads);
    add_int_attribute(&concat, "axis", 1);
    add_node(g, make_node("Pad", "x,p", "y0"));
    add_node(g, concat);
    add_node(g, make_node("Resize", "x,,r", "y2"));
    add_initializer(g, numbers);
    add_initializer(g, make_floats("r", 1, four, scales));
}

static void reduced(onnx_bytes *g)
{
    static const int64_t two[] = {2}, axes[] = {2, 3};
    onnx_bytes numbers = make_tensor("a", 7, 1, two), top = make_node("ArgMax", "x", "i");
    put_bytes(&numbers, 9, axes, sizeof axes);
    add_int_attribute(&top, "axis", 1);
    onnx_bytes cast = make_node("Cast", "i", "y1");
    add_int_attribute(&cast, "to", 1);
    add_node(g, make_node("ReduceMean", "x,a", "y0"));
    add_node(g, top);
    add_node(g, cast);
    add_node(g, make_node("ReduceSum", "x", "y2"));
    add_initializer(g, numbers);
}

/* How many numbers of x are above 0 decides a shape: the rest has x as an input. */
static void counted(onnx_bytes *g)
{
    static const int64_t scalar[] = {1};
    static const int64_t one[] = {1}, zero[] = {0};
    static const char *const names[] = {"one", "zero"};
    static const int64_t *const numbers[] = {one, zero};
    for (int i = 0; i < 2; i++) {
        onnx_bytes number = make_tensor(names[i], 7, 1, scalar);
        put_bytes(&number, 9, numbers[i], sizeof one);
        add_initializer(g, number);
    }
    add_node(g, make_node("Relu", "x", "r"));
    add_node(g, make_node("NonZero", "r", "n"));
    add_node(g, make_node("Shape", "n", "s"));
    add_node(g, make_node("Gather", "s,one", "k"));
    add_node(g, make_node("Slice", "x,zero,k,one", "z"));
    add_node(g, make_node("Relu", "z", "y0"));
}

static void product(onnx_bytes *g)
{
    static const int64_t dim[] = {STRIDED_CHANNELS, 33};
    add_weights(g, "w", 2, dim);
    add_node(g, make_node("MatMul", "x,w", "y0"));
}

static void products(onnx_bytes *g)
{
    static const int64_t perm[] = {0, 1, 3, 2};
    onnx_bytes transpose = make_node("Transpose", "x", "t");
    add_ints_attribute(&transpose, "perm", 4, perm);
    add_node(g, transpose);
    add_node(g, make_node("MatMul", "x,t", "y0"));
}

const strided_network strided_networks[STRIDED_NETWORKS] = {
    {"photos", photos, 4, 1},       {"one conv", one_conv, 4, 3},
    {"separable", separable, 4, 1}, {"residual", residual, 4, 1},
    {"memory", memory_of_x, 4, 3},  {"transposed first", transposed_first, 4, 1},
    {"pooled", pooled, 4, 3},       {"normalised", normalised, 4, 3},
    {"moved", moved, 4, 3},         {"reduced", reduced, 4, 3},
    {"counted", counted, 4, 1},     {"product", product, 2, 1},
    {"products", products, 4, 1},
};
