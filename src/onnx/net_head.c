/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the last product, and makes its weights anew. */
#include "onnx/net_head.h"

#include "base/philox.h"
#include "onnx/net_attributes.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* What a node's operator is to the last layer. */
typedef enum role {
    OTHER,
    PASSES, /* each output element comes from elements of one class only, or of all by position */
    BIAS,   /* an Add of a constant */
    SHAPES, /* a Reshape, whose constant may have the number of classes */
    PRODUCT,
} role;

static const struct {
    const char *op;
    role role;
} roles[] = {
    {"Softmax", PASSES},     {"LogSoftmax", PASSES},
    {"Sigmoid", PASSES},     {"Relu", PASSES},
    {"Flatten", PASSES},     {"Squeeze", PASSES},
    {"Identity", PASSES},    {"Dropout", PASSES},
    {"AveragePool", PASSES}, {"GlobalAveragePool", PASSES},
    {"ReduceMean", PASSES},  {"Add", BIAS},
    {"Reshape", SHAPES},     {"Gemm", PRODUCT},
    {"MatMul", PRODUCT},     {"Conv", PRODUCT},
};

static role role_of(const ry_net_node *node)
{
    for (size_t i = 0; !*node->domain && i < sizeof roles / sizeof *roles; i++) {
        if (strcmp(roles[i].op, node->op) == 0) {
            return roles[i].role;
        }
    }
    return OTHER;
}

static ry_net_node *producer_of(const ry_net *net, const char *name)
{
    for (size_t n = net->node_count; n-- > 0;) {
        for (int i = 0; i < net->nodes[n].outputs; i++) {
            if (strcmp(net->nodes[n].out[i], name) == 0) {
                return &net->nodes[n];
            }
        }
    }
    return NULL;
}

typedef struct head {
    ry_net *net;
    int64_t classes, before; /* outputs of the new layer, and of the old one */
    ry_random random;
    ry_net_node *product, *add, *reshape;
    int bias; /* input of `add` */
    ry_error *error;
} head;

static rynd_status refuse(const head *h, const ry_net_node *node, const char *why)
{
    return ry_fail(h->error, RYND_ERROR_UNSUPPORTED,
                   "a new last layer cannot be made: node '%s' (%s) %s",
                   node->name && *node->name ? node->name : node->out[0], node->op, why);
}

/* Takes one node between the output and the product, and goes on to *name before it. */
static rynd_status pass(head *h, ry_net_node *node, const char **name)
{
    ry_tensor tensor;
    const role is = role_of(node);
    if (is == OTHER) {
        return refuse(h, node, "lies between the last product and the output");
    }
    int data = 0;
    if (is == BIAS) {
        data = ry_net_constant_of(h->net, node->in[0], &tensor) ? 1 : 0;
        if (h->add || !ry_net_constant_of(h->net, node->in[1 - data], &tensor)) {
            return refuse(h, node, "adds something else than one bias");
        }
        h->add = node;
        h->bias = 1 - data;
    }
    h->reshape = is == SHAPES ? node : h->reshape;
    *name = node->in[data];
    return RYND_OK;
}

static rynd_status find_product(head *h)
{
    const ry_graph *graph = h->net->model->graph;
    const char *name = graph->values[graph->outputs[0]].name;
    while (!h->product) {
        ry_net_node *node = producer_of(h->net, name);
        if (!node) {
            return ry_fail(
                h->error, RYND_ERROR_UNSUPPORTED,
                "a new last layer cannot be made: no product with constant weights gives "
                "output '%s'",
                graph->values[graph->outputs[0]].name);
        }
        if (role_of(node) == PRODUCT) {
            h->product = node;
        } else {
            RY_TRY(pass(h, node, &name));
        }
    }
    return RYND_OK;
}

/* Does another input of the net read it? */
static bool is_shared(const ry_net *net, const char *name)
{
    int readers = 0;
    for (size_t n = 0; n < net->node_count; n++) {
        for (int i = 0; i < net->nodes[n].inputs; i++) {
            readers += strcmp(net->nodes[n].in[i], name) == 0;
        }
    }
    return readers > 1 || ry_net_is_output(net, name);
}

/* Gives input i of a node new content: under its name where it is an initializer of its own. */
static rynd_status replace(const head *h, ry_net_node *node, int i, const ry_tensor *tensor)
{
    const char *name = node->in[i];
    if (producer_of(h->net, name) || is_shared(h->net, name)) {
        name = ry_net_name(h->net, node->out[0], "head");
        RY_TRY(name ? RYND_OK : ry_fail_memory(h->error));
        RY_TRY(ry_net_set_input(h->net, node, i, name, h->error));
    }
    return ry_net_add_constant(h->net, name, tensor, h->error);
}

/* A float32 tensor of a shape, whose elements are 0. */
static rynd_status make_tensor(const head *h, const ry_shape *shape, ry_tensor *tensor)
{
    const size_t count = (size_t)ry_shape_elements(shape);
    float *elements = RY_TAKE(h->net->arena, float, count);
    RY_TRY(elements ? RYND_OK : ry_fail_memory(h->error));
    memset(elements, 0, count * sizeof *elements);
    *tensor = ry_tensor_row_major(RY_f32, shape, elements);
    return RYND_OK;
}

/* The dim of the weights that counts the outputs. */
static int axis_of(const ry_net_node *product, int rank)
{
    const bool gemm = strcmp(product->op, "Gemm") == 0, conv = strcmp(product->op, "Conv") == 0;
    return conv || (gemm && ry_net_number(product, "transB", 0) != 0) ? 0 : rank - 1;
}

/* The shape of a float32 constant, or of its transpose. */
static bool shape_of_weights(const ry_net *net, const char *name, ry_shape *shape)
{
    ry_tensor tensor;
    const ry_net_node *node = producer_of(net, name);
    const char *from = node && strcmp(node->op, "Transpose") == 0 ? node->in[0] : name;
    const ry_value *value = ry_net_value(net, name);
    if (!value || value->dtype != RY_f32 || !ry_net_constant_of(net, from, &tensor)) {
        return false;
    }
    *shape = value->shape;
    return shape->rank >= 2;
}

static rynd_status new_weights(head *h)
{
    ry_tensor made;
    ry_shape shape;
    ry_net_node *p = h->product;
    if (p->inputs < 2 || !shape_of_weights(h->net, p->in[1], &shape) ||
        ry_net_number(p, "group", 1) != 1) {
        return refuse(h, p, "has no float32 weights of one group");
    }
    const int axis = axis_of(p, shape.rank);
    h->before = shape.dim[axis];
    shape.dim[axis] = h->classes;
    RY_TRY(make_tensor(h, &shape, &made));
    const size_t count = (size_t)ry_shape_elements(&shape);
    const float bound = sqrtf((float)h->classes / (float)count);
    float *elements = made.data;
    ry_random_uniform(&h->random, 0, count, elements);
    for (size_t i = 0; i < count; i++) {
        elements[i] = (2 * elements[i] - 1) * bound;
    }
    return replace(h, p, 1, &made);
}

/* A bias keeps its rank; one number for all classes stays. */
static rynd_status new_bias(const head *h, ry_net_node *node, int input)
{
    ry_tensor old, made;
    if (!ry_net_constant_of(h->net, node->in[input], &old)) {
        return refuse(h, node, "has a bias that is computed");
    }
    ry_shape shape = ry_tensor_shape(&old);
    int axis = -1;
    for (int d = 0; d < shape.rank; d++) {
        axis = shape.dim[d] == h->before ? d : axis;
    }
    if (axis < 0) {
        return RYND_OK;
    }
    shape.dim[axis] = h->classes;
    RY_TRY(make_tensor(h, &shape, &made));
    return replace(h, node, input, &made);
}

static rynd_status new_biases(const head *h)
{
    const bool own = h->product->inputs > 2 && *h->product->in[2];
    RY_TRY(own ? new_bias(h, h->product, 2) : RYND_OK);
    return h->add ? new_bias(h, h->add, h->bias) : RYND_OK;
}

/* A constant shape that has the number of classes in it. */
static rynd_status new_shape(const head *h)
{
    ry_tensor old;
    ry_net_node *node = h->reshape;
    if (!node || node->inputs < 2 || !ry_net_constant_of(h->net, node->in[1], &old) ||
        old.dtype != (rynd_dtype)RY_i64) {
        return RYND_OK;
    }
    const ry_shape shape = ry_tensor_shape(&old);
    const size_t count = (size_t)ry_shape_elements(&shape);
    int64_t *dims = RY_TAKE(h->net->arena, int64_t, count);
    RY_TRY(dims ? RYND_OK : ry_fail_memory(h->error));
    memcpy(dims, old.data, count * sizeof *dims);
    if (count == 0 || dims[count - 1] != h->before) {
        return RYND_OK;
    }
    dims[count - 1] = h->classes;
    const ry_tensor made = ry_tensor_row_major(RY_i64, &shape, dims);
    return replace(h, node, 1, &made);
}

rynd_status ry_net_new_head(ry_net *net, int64_t classes, uint64_t seed, ry_error *error)
{
    enum { HEAD_STREAM = 0x68656164 }; /* "head" */
    head h = {.net = net,
              .classes = classes,
              .random = {.seed = seed, .stream = HEAD_STREAM},
              .error = error};
    RY_TRY(find_product(&h));
    RY_TRY(new_weights(&h));
    RY_TRY(new_biases(&h));
    RY_TRY(new_shape(&h));
    net->retyped = true; /* the file's shapes between the product and the outputs hold no more */
    net->resized = (ry_net_resized){h.before, classes};
    return RYND_OK;
}
