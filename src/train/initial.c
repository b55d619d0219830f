/* SPDX-License-Identifier: Apache-2.0 */
/* Finds who reads each parameter, in one pass over the nodes, and fills it accordingly. */
#include "train/initial.h"

#include "base/philox.h"
#include "expr/expr.h"

#include <math.h>

typedef enum role { KEPT, WEIGHT, BIAS, ZERO, ONE } role;

static const struct {
    ry_op op;
    int input;
    role role;
} roles[] = {
    {RY_OP_conv, 1, WEIGHT},    {RY_OP_conv, 2, BIAS},          {RY_OP_convt, 1, WEIGHT},
    {RY_OP_convt, 2, BIAS},     {RY_OP_deform_conv, 1, WEIGHT}, {RY_OP_deform_conv, 3, BIAS},
    {RY_OP_matmul, 0, WEIGHT},  {RY_OP_matmul, 1, WEIGHT},      {RY_OP_matmul, 2, BIAS},
    {RY_OP_batch_norm, 1, ONE}, {RY_OP_batch_norm, 2, ZERO},    {RY_OP_batch_norm, 3, ZERO},
    {RY_OP_batch_norm, 4, ONE}, {RY_OP_group_norm, 1, ONE},     {RY_OP_group_norm, 2, ZERO},
    {RY_OP_layer_norm, 1, ONE}, {RY_OP_layer_norm, 2, ZERO},
};

/* The use of a value that decides its initial content. summed: the dim of a product's factor that
 * is summed over, counted from the last as 0. */
typedef struct use {
    role role;
    ry_node_id node;
    int summed;
} use;

typedef struct filling {
    const ry_graph *graph;
    const ry_training_builder *b;
    use *uses; /* per value */
    const ry_expr *sum;
} filling;

static role role_of(const filling *f, const ry_node *node, int input)
{
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        if (roles[i].op == node->op && roles[i].input == input) {
            return roles[i].role;
        }
    }
    const bool added = node->op == RY_OP_expr && node->attrs.expr.program &&
                       ry_expr_equal(node->attrs.expr.program, f->sum);
    return added && f->graph->values[node->in[input]].shape.rank == 1 ? ZERO : KEPT;
}

/* op(a) [.., M, K] times op(b) [.., K, N]; a vector is all K. */
static int summed_dim(const filling *f, const ry_node *node, int input)
{
    const ry_matmul_attrs *a = &node->attrs.matmul;
    const bool transposed = input == 0 ? a->trans_a : !a->trans_b;
    return transposed && f->graph->values[node->in[input]].shape.rank != 1;
}

/* A factor that is transposed before it is read is a factor, with its dims moved. */
static void look_through(const filling *f, ry_node_id n)
{
    const ry_node *node = &f->graph->nodes[n];
    const ry_ints *perm = &node->attrs.transpose.perm;
    const use out = f->uses[node->out[0]];
    const int last = f->graph->values[node->in[0]].shape.rank - 1;
    const bool factor = out.role == WEIGHT && f->graph->nodes[out.node].op == RY_OP_matmul;
    if (!factor || out.summed > last || (perm->count && perm->count != last + 1)) {
        return;
    }
    const int from = perm->count ? (int)perm->at[last - out.summed] : out.summed;
    f->uses[node->in[0]] = (use){WEIGHT, out.node, last - from};
}

/* From the last node to the first, so that of several readers the first counts. */
static void find_uses(const filling *f)
{
    for (size_t n = f->graph->node_count; n-- > 0;) {
        const ry_node *node = &f->graph->nodes[n];
        if (node->op == RY_OP_transpose) {
            look_through(f, (ry_node_id)n);
        }
        for (int i = node->inputs; i-- > 0;) {
            const role is = node->in[i] == RY_NO_VALUE ? KEPT : role_of(f, node, i);
            if (is != KEPT) {
                const int summed = node->op == RY_OP_matmul ? summed_dim(f, node, i) : 0;
                f->uses[node->in[i]] = (use){is, (ry_node_id)n, summed};
            }
        }
    }
}

/* 1 where it is not known. */
static double fan_in(const filling *f, ry_value_id v)
{
    const ry_shape *shape = &f->graph->values[v].shape;
    const use reader = f->uses[v];
    const ry_node *node = &f->graph->nodes[reader.node];
    double fan = 1;
    if (node->op == RY_OP_matmul) {
        fan = reader.summed < shape->rank ? (double)shape->dim[shape->rank - 1 - reader.summed] : 1;
    } else if (node->op == RY_OP_convt) {
        const ry_convt_attrs *a = &node->attrs.convt;
        for (int i = 0; i < shape->rank; i++) { /* a stride of s: one tap of s meets an element */
            fan *= i == 1 ? 1 : (double)shape->dim[i];
            fan /= i > 1 && i - 2 < a->stride.count ? (double)a->stride.at[i - 2] : 1;
        }
        fan /= a->groups > 0 ? (double)a->groups : 1;
    } else {
        for (int i = 1; i < shape->rank; i++) {
            fan *= (double)shape->dim[i];
        }
    }
    return fan > 1 ? fan : 1;
}

/* Fan-in of the weight that the bias belongs to. */
static double fan_in_without(const filling *f, const ry_node *node)
{
    for (int i = 0; i < node->inputs && i < 2; i++) {
        const ry_value_id v = node->in[i];
        if (v != RY_NO_VALUE && f->uses[v].role == WEIGHT && f->graph->values[v].initializer) {
            return fan_in(f, v);
        }
    }
    return INFINITY;
}

/* FNV-1a. */
static uint64_t hash_name(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *name; name++) {
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    }
    return hash;
}

static void fill_constant(float *to, size_t count, float number)
{
    for (size_t i = 0; i < count; i++) {
        to[i] = number;
    }
}

static void fill_random(const filling *f, const char *name, double fan, float *to, size_t count)
{
    const ry_training_options *options = &f->b->options;
    const uint64_t place = hash_name(name);
    const ry_random random = {options->init_seed, (uint32_t)(place >> 32), (uint32_t)place};
    if (options->init == RY_INIT_he) {
        const float deviation = (float)sqrt(2 / fan);
        ry_random_normal(&random, 0, count, to);
        for (size_t i = 0; i < count; i++) {
            to[i] *= deviation;
        }
        return;
    }
    const float bound = (float)(1 / sqrt(fan));
    ry_random_uniform(&random, 0, count, to);
    for (size_t i = 0; i < count; i++) {
        to[i] = (2 * to[i] - 1) * bound;
    }
}

static void fill(const filling *f, const ry_training_parameter *p, float *to, size_t count)
{
    const use reader = f->uses[p->value];
    if (reader.role == WEIGHT) {
        fill_random(f, p->name, fan_in(f, p->value), to, count);
    } else if (reader.role == BIAS && f->b->options.init == RY_INIT_uniform) {
        fill_random(f, p->name, fan_in_without(f, &f->graph->nodes[reader.node]), to, count);
    } else {
        fill_constant(to, count, reader.role == ONE ? 1 : 0);
    }
}

rynd_status ry_training_initialise(const ry_graph *graph, ry_training_builder *b, ry_arena *arena,
                                   ry_error *error)
{
    filling f = {.graph = graph, .b = b};
    f.uses = RY_TAKE(arena, use, graph->value_count);
    if (!f.uses) {
        return ry_fail_memory(error);
    }
    RY_TRY(ry_expr_parse("x0 + x1", NULL, 0, arena, &f.sum, error));
    find_uses(&f);
    for (size_t i = 0; i < b->training->count; i++) {
        ry_training_parameter *p = &b->parameters[i];
        const size_t count = (size_t)ry_shape_elements(&graph->values[p->value].shape);
        if (f.uses[p->value].role == KEPT) {
            continue;
        }
        float *fresh = RY_TAKE(arena, float, count);
        if (!fresh) {
            return ry_fail_memory(error);
        }
        fill(&f, p, fresh, count);
        p->initial = fresh;
    }
    return RYND_OK;
}
