/* SPDX-License-Identifier: Apache-2.0 */
/* Writes networks layer by layer. The writer runs twice: lengths of messages stand before them, so
 * the first run only counts. */
#include "api/calibration_networks.h"

#include "onnx/wire.h"

#include <stdio.h>
#include <string.h>

/* Field numbers of onnx.proto. */
enum {
    MODEL_IR_VERSION = 1,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    OPSET_VERSION = 2,
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_OP = 4,
    NODE_ATTRIBUTE = 5,
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_INT = 3,
    ATTRIBUTE_TEXT = 4,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_TYPE = 20,
    TYPE_INT = 2,
    TYPE_TEXT = 3,
    TYPE_INTS = 7,
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    VALUE_NAME = 1,
    VALUE_TYPE = 2,
    DATA_FLOAT = 1,
    DATA_INT64 = 7,
    IR_VERSION = 8,
    OPSET = 17,
    MOST_INTS = 8,
    NAME = 16
};

typedef struct writer {
    ry_wire_out *out;
    int values; /* numbered so far; value 0 is the input "x" */
} writer;

/* The value of a layer: number and channels. */
typedef struct layer {
    int value, channels;
} layer;

typedef struct attribute {
    const char *name, *text; /* text: NULL for integers */
    int count;               /* -1: one integer that is no list */
    int64_t ints[MOST_INTS];
} attribute;

static void name_of(int value, char name[NAME])
{
    snprintf(name, NAME, value == 0 ? "x" : "v%d", value);
}

typedef void (*body)(const void *what, ry_wire_out *out);

static void put_message(ry_wire_out *out, unsigned field, body write, const void *what)
{
    ry_wire_out counted = {.put = NULL};
    write(what, &counted);
    ry_wire_put_head(out, field, counted.size);
    write(what, out);
}

static void write_attribute(const void *what, ry_wire_out *out)
{
    const attribute *a = what;
    ry_wire_put_text(out, ATTRIBUTE_NAME, a->name);
    if (a->text) {
        ry_wire_put_text(out, ATTRIBUTE_TEXT, a->text);
    } else if (a->count < 0) {
        ry_wire_put_number(out, ATTRIBUTE_INT, (uint64_t)a->ints[0]);
    }
    for (int i = 0; !a->text && i < a->count; i++) {
        ry_wire_put_number(out, ATTRIBUTE_INTS, (uint64_t)a->ints[i]);
    }
    ry_wire_put_number(out, ATTRIBUTE_TYPE,
                       a->text        ? TYPE_TEXT
                       : a->count < 0 ? TYPE_INT
                                      : TYPE_INTS);
}

typedef struct node {
    const char *op;
    int inputs, attributes;
    int in[4]; /* numbers of values; -1: absent */
    int out;
    attribute attribute[4];
} node;

static void write_node(const void *what, ry_wire_out *out)
{
    const node *n = what;
    char name[NAME];
    for (int i = 0; i < n->inputs; i++) {
        name_of(n->in[i], name);
        ry_wire_put_text(out, NODE_INPUT, n->in[i] < 0 ? "" : name);
    }
    name_of(n->out, name);
    ry_wire_put_text(out, NODE_OUTPUT, name);
    ry_wire_put_text(out, NODE_OP, n->op);
    for (int i = 0; i < n->attributes; i++) {
        put_message(out, NODE_ATTRIBUTE, write_attribute, &n->attribute[i]);
    }
}

static int put_node(writer *w, node n)
{
    n.out = ++w->values;
    put_message(w->out, GRAPH_NODE, write_node, &n);
    return n.out;
}

typedef struct tensor {
    int value, rank;
    int64_t dim[4];
    const int64_t *numbers; /* NULL: floats */
} tensor;

/* Small floats that are not all the same, so that no rewrite takes them for a constant factor. */
static void write_tensor(const void *what, ry_wire_out *out)
{
    const tensor *t = what;
    char name[NAME];
    uint64_t count = 1;
    for (int i = 0; i < t->rank; i++) {
        ry_wire_put_number(out, TENSOR_DIMS, (uint64_t)t->dim[i]);
        count *= (uint64_t)t->dim[i];
    }
    ry_wire_put_number(out, TENSOR_TYPE, t->numbers ? DATA_INT64 : DATA_FLOAT);
    name_of(t->value, name);
    ry_wire_put_text(out, TENSOR_NAME, name);
    ry_wire_put_head(out, TENSOR_RAW, count * (t->numbers ? sizeof(int64_t) : sizeof(float)));
    if (t->numbers) {
        ry_wire_put(out, t->numbers, (size_t)count * sizeof(int64_t));
        return;
    }
    float block[251];
    for (int i = 0; i < 251; i++) {
        block[i] = (float)(i % 17 - 8) * 1e-3f;
    }
    for (uint64_t at = 0; at < count; at += 251) {
        const uint64_t left = count - at;
        ry_wire_put(out, block, (size_t)(left < 251 ? left : 251) * sizeof *block);
    }
}

static int put_tensor(writer *w, tensor t)
{
    t.value = ++w->values;
    put_message(w->out, GRAPH_INITIALIZER, write_tensor, &t);
    return t.value;
}

static layer one(writer *w, const char *op, layer x)
{
    return (layer){put_node(w, (node){.op = op, .inputs = 1, .in = {x.value}}), x.channels};
}

static layer two(writer *w, const char *op, layer x, layer y)
{
    return (layer){put_node(w, (node){.op = op, .inputs = 2, .in = {x.value, y.value}}),
                   x.channels};
}

static layer join(writer *w, layer x, layer y)
{
    const node n = {.op = "Concat",
                    .inputs = 2,
                    .in = {x.value, y.value},
                    .attributes = 1,
                    .attribute = {{"axis", NULL, -1, {1}}}};
    return (layer){put_node(w, n), x.channels + y.channels};
}

static layer conv(writer *w, layer x, int channels, int window, int stride, int groups)
{
    const int64_t k = window, s = stride, p = window / 2;
    const int weights =
                  put_tensor(w, (tensor){.rank = 4, .dim = {channels, x.channels / groups, k, k}}),
              bias = put_tensor(w, (tensor){.rank = 1, .dim = {channels}});
    const node n = {.op = "Conv",
                    .inputs = 3,
                    .in = {x.value, weights, bias},
                    .attributes = 4,
                    .attribute = {{"kernel_shape", NULL, 2, {k, k}},
                                  {"strides", NULL, 2, {s, s}},
                                  {"pads", NULL, 4, {p, p, p, p}},
                                  {"group", NULL, -1, {groups}}}};
    return (layer){put_node(w, n), channels};
}

static layer pool(writer *w, const char *op, layer x, int window, int stride)
{
    const int64_t k = window, s = stride, p = window / 2;
    const node n = {.op = op,
                    .inputs = 1,
                    .in = {x.value},
                    .attributes = 3,
                    .attribute = {{"kernel_shape", NULL, 2, {k, k}},
                                  {"strides", NULL, 2, {s, s}},
                                  {"pads", NULL, 4, {p, p, p, p}}}};
    return (layer){put_node(w, n), x.channels};
}

static layer reshape(writer *w, layer x, int rank, const int64_t *shape)
{
    const int to = put_tensor(w, (tensor){.rank = 1, .dim = {rank}, .numbers = shape});
    return (layer){put_node(w, (node){.op = "Reshape", .inputs = 2, .in = {x.value, to}}),
                   x.channels};
}

static layer product(writer *w, layer x, int channels)
{
    const int weights = put_tensor(w, (tensor){.rank = 2, .dim = {x.channels, channels}}),
              bias = put_tensor(w, (tensor){.rank = 1, .dim = {channels}});
    return (layer){put_node(w, (node){.op = "Gemm", .inputs = 3, .in = {x.value, weights, bias}}),
                   channels};
}

/* The mean of each plane, and a product. */
static layer classify(writer *w, layer x, int classes)
{
    return product(w, one(w, "Flatten", one(w, "GlobalAveragePool", x)), classes);
}

/* An inverted residual (MobileNet v2), `excite` with the factors of squeeze and excitation. */
static layer inverted(writer *w, layer x, int wide, int channels, int window, int stride,
                      bool excite, const char *activation)
{
    layer y = one(w, activation, conv(w, x, wide, 1, 1, 1));
    y = one(w, activation, conv(w, y, wide, window, stride, wide));
    if (excite) {
        layer f = one(w, "Relu", conv(w, one(w, "GlobalAveragePool", y), wide / 4, 1, 1, 1));
        f = one(w, "Sigmoid", conv(w, f, wide, 1, 1, 1));
        y = two(w, "Mul", y, f);
    }
    y = conv(w, y, channels, 1, 1, 1);
    return channels == x.channels && stride == 1 ? two(w, "Add", y, x) : y;
}

static layer mobile(writer *w, layer x)
{
    static const struct {
        int wide, channels, window, stride;
        bool excite, hard;
    } rows[] = {
        {20, 20, 3, 1, false, false}, {60, 28, 3, 2, false, false}, {84, 28, 3, 1, false, false},
        {84, 44, 5, 2, true, false},  {132, 44, 5, 1, true, false}, {220, 84, 3, 2, false, true},
        {216, 84, 3, 1, false, true}, {420, 108, 3, 1, true, true}, {540, 108, 3, 1, true, true},
        {540, 152, 5, 2, true, true}, {760, 152, 5, 1, true, true},
    };
    x = one(w, "HardSwish", conv(w, x, 20, 3, 2, 1));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        x = inverted(w, x, rows[i].wide, rows[i].channels, rows[i].window, rows[i].stride,
                     rows[i].excite, rows[i].hard ? "HardSwish" : "Relu");
    }
    return classify(w, one(w, "HardSwish", conv(w, x, 900, 1, 1, 1)), 700);
}

static layer residual(writer *w, layer x)
{
    static const int channels[] = {56, 56, 112, 112, 208, 208, 416, 416};
    x = one(w, "Relu", conv(w, x, 56, 7, 2, 1));
    x = pool(w, "MaxPool", x, 3, 2);
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        const int stride = x.channels == channels[i] ? 1 : 2, c = channels[i];
        const layer near = stride == 1 ? x : conv(w, x, c, 1, stride, 1);
        layer y = one(w, "Relu", conv(w, x, c, i % 4 == 3 ? 1 : 3, stride, 1));
        y = conv(w, y, c, 3, 1, i % 4 == 1 ? 4 : 1);
        x = one(w, "Relu", two(w, "Add", y, near));
    }
    return classify(w, x, 900);
}

/* Dense blocks, branches that are joined, and shuffled channels. */
static layer joined(writer *w, layer x)
{
    x = one(w, "Relu", conv(w, x, 40, 3, 2, 1));
    x = one(w, "Relu", conv(w, x, 56, 3, 2, 1));
    for (int block = 0; block < 3; block++) {
        for (int i = 0; i < 4; i++) {
            layer y = one(w, "Relu", conv(w, x, 72, 1, 1, 1));
            x = join(w, x, one(w, "Relu", conv(w, y, 20, 3, 1, 1)));
        }
        const layer a = one(w, "Relu", conv(w, x, 48, 1, 1, 1)),
                    b = one(w, "Relu", conv(w, pool(w, "MaxPool", x, 3, 1), 24, 1, 1, 1));
        x = join(w, a, join(w, b, one(w, "Relu", conv(w, a, 40, 5, 1, 1))));
        x = pool(w, block == 1 ? "MaxPool" : "AveragePool", x, 3, 2);
    }
    const int64_t apart[] = {1, 2, x.channels / 2, -1}, together[] = {1, x.channels, 6, 6};
    layer y = reshape(w, x, 4, apart);
    y.value = put_node(w, (node){.op = "Transpose",
                                 .inputs = 1,
                                 .in = {y.value},
                                 .attributes = 1,
                                 .attribute = {{"perm", NULL, 4, {0, 2, 1, 3}}}});
    return classify(w, conv(w, reshape(w, y, 4, together), 160, 3, 1, 4), 300);
}

/* Down and up again, with joins between (U-Net). */
static layer enlarged(writer *w, layer x)
{
    layer kept[3];
    for (int i = 0; i < 3; i++) {
        kept[i] = one(w, "Relu", conv(w, x, 20 << i, 3, 1, 1));
        x = pool(w, "MaxPool", one(w, "LeakyRelu", conv(w, kept[i], 20 << i, 3, 1, 1)), 3, 2);
    }
    x = one(w, "Relu", conv(w, x, 160, 3, 1, 1));
    for (int i = 2; i >= 0; i--) {
        const int64_t c = 20 << i;
        if (i == 1) {
            const node n = {.op = "DepthToSpace",
                            .inputs = 1,
                            .in = {conv(w, x, 4 * (int)c, 1, 1, 1).value},
                            .attributes = 1,
                            .attribute = {{"blocksize", NULL, -1, {2}}}};
            x = (layer){put_node(w, n), (int)c};
        } else {
            const node n = {
                .op = "ConvTranspose",
                .inputs = 2,
                .in = {x.value, put_tensor(w, (tensor){.rank = 4, .dim = {x.channels, c, 2, 2}})},
                .attributes = 1,
                .attribute = {{"strides", NULL, 2, {2, 2}}}};
            x = (layer){put_node(w, n), (int)c};
        }
        x = one(w, "Relu", conv(w, join(w, x, kept[i]), (int)c, 3, 1, 1));
    }
    x = conv(w, x, 8, 1, 1, 1);
    const node soft = {.op = "Softmax",
                       .inputs = 1,
                       .in = {x.value},
                       .attributes = 1,
                       .attribute = {{"axis", NULL, -1, {1}}}};
    return two(w, "Mul", (layer){put_node(w, soft), 8}, one(w, "Tanh", x));
}

/* Products whose weights no cache keeps until the next run (AlexNet, VGG). */
static layer heavy(writer *w, layer x)
{
    enum { CHANNELS = 40, SIDE = 12 };
    x = pool(w, "MaxPool", one(w, "Relu", conv(w, x, CHANNELS, 7, 4, 1)), 3, 2);
    const layer flat = {one(w, "Flatten", x).value, CHANNELS * SIDE * SIDE};
    const layer y = one(w, "Relu", product(w, flat, 1500));
    return product(w, one(w, "Relu", product(w, y, 1200)), 500);
}

/* The last networks are for memory: tensors and weights that exceed the caches. */
static const struct {
    layer (*write)(writer *w, layer x);
    int64_t side; /* height and width of the input */
} networks[RY_CALIBRATION_NETWORKS] = {{mobile, 144},   {residual, 160}, {joined, 192},
                                       {enlarged, 104}, {enlarged, 328}, {heavy, 96}};

/* A value's name, and dims of a float32 tensor where they are known. */
typedef struct end {
    const char *name;
    int rank;
    int64_t dim[4];
} end;

static void write_dim(const void *what, ry_wire_out *out)
{
    ry_wire_put_number(out, 1, *(const uint64_t *)what);
}

static void write_shape(const void *what, ry_wire_out *out)
{
    const end *e = what;
    for (int i = 0; i < e->rank; i++) {
        put_message(out, 1, write_dim, &e->dim[i]);
    }
}

static void write_tensor_type(const void *what, ry_wire_out *out)
{
    const end *e = what;
    ry_wire_put_number(out, 1, DATA_FLOAT);
    if (e->rank > 0) {
        put_message(out, 2, write_shape, e);
    }
}

static void write_type(const void *what, ry_wire_out *out)
{
    put_message(out, 1, write_tensor_type, what);
}

static void write_end(const void *what, ry_wire_out *out)
{
    const end *e = what;
    ry_wire_put_text(out, VALUE_NAME, e->name);
    put_message(out, VALUE_TYPE, write_type, e);
}

static void write_graph(const void *what, ry_wire_out *out)
{
    const int index = *(const int *)what;
    const int64_t side = networks[index].side;
    writer w = {.out = out};
    char name[NAME];
    ry_wire_put_text(out, GRAPH_NAME, "calibration");
    const layer y = networks[index].write(&w, (layer){0, 3});
    name_of(y.value, name);
    put_message(out, GRAPH_INPUT, write_end, &(end){"x", 4, {1, 3, side, side}});
    put_message(out, GRAPH_OUTPUT, write_end, &(end){.name = name});
}

static void write_opset(const void *what, ry_wire_out *out)
{
    ry_wire_put_number(out, OPSET_VERSION, *(const uint64_t *)what);
}

static void write_model(int index, ry_wire_out *out)
{
    const uint64_t opset = OPSET;
    ry_wire_put_number(out, MODEL_IR_VERSION, IR_VERSION);
    put_message(out, MODEL_OPSET, write_opset, &opset);
    put_message(out, MODEL_GRAPH, write_graph, &index);
}

typedef struct memory {
    char *to;
    size_t used;
} memory;

static bool put(void *user, const void *bytes, size_t count)
{
    memory *m = user;
    memcpy(m->to + m->used, bytes, count);
    m->used += count;
    return true;
}

rynd_status ry_calibration_network(int index, ry_arena *arena, const void **bytes, size_t *size,
                                   ry_error *error)
{
    ry_wire_out counted = {.put = NULL};
    write_model(index, &counted);
    memory m = {RY_TAKE(arena, char, counted.size), 0};
    if (!m.to) {
        return ry_fail_memory(error);
    }
    ry_wire_out out = {.put = put, .user = &m};
    write_model(index, &out);
    *bytes = m.to;
    *size = m.used;
    return RYND_OK;
}
