/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the nodes from the last to the first. What several readers send to a value is added in the
 * order in which they come, in one node. */
#include "train/differentiate.h"

#include "graph/rewrite.h"
#include "train/gradient.h"

#include <assert.h>

/* One reader's share of a value's gradient. */
typedef struct share {
    ry_value_id gradient;
    struct share *before;
} share;

typedef struct differentiating {
    ry_graph *graph;
    const ry_differentiation *what;
    ry_arena scratch;
    size_t value_count; /* values of the forward graph */
    bool *depends;      /* per value: depends on a wanted value, through floating-point values */
    share **shares;     /* per value: its most recent share */
    ry_value_id *sum;   /* per value: its gradient, once a rule asked for it */
    uint32_t *wanted;   /* per value: index in `wanted` plus one; 0: not wanted */
    ry_node_id *reader; /* per value: its first reader */
    ry_error *error;
} differentiating;

static bool is_float(const differentiating *d, ry_value_id v)
{
    return ry_dtype_is_float(d->graph->values[v].dtype);
}

static rynd_status fail_memory(const differentiating *d)
{
    return ry_fail_memory(d->error);
}

static rynd_status prepare(differentiating *d)
{
    const ry_differentiation *what = d->what;
    const size_t count = d->value_count = d->graph->value_count;
    d->depends = RY_TAKE(&d->scratch, bool, count);
    d->shares = RY_TAKE(&d->scratch, share *, count);
    d->sum = RY_TAKE(&d->scratch, ry_value_id, count);
    d->wanted = RY_TAKE(&d->scratch, uint32_t, count);
    d->reader = RY_TAKE(&d->scratch, ry_node_id, count);
    if (!d->depends || !d->shares || !d->sum || !d->wanted || !d->reader) {
        return fail_memory(d);
    }
    for (size_t v = 0; v < count; v++) {
        d->sum[v] = RY_NO_VALUE;
        d->reader[v] = RY_NO_NODE;
    }
    for (size_t i = 0; i < what->count; i++) {
        d->wanted[what->wanted[i]] = (uint32_t)i + 1;
        d->depends[what->wanted[i]] = true;
        what->gradient[i] = RY_NO_VALUE;
    }
    return RYND_OK;
}

static bool is_held(const differentiating *d, ry_value_id v)
{
    for (size_t i = 0; i < d->what->held_count; i++) {
        if (d->what->held[i] == v) {
            return true;
        }
    }
    return false;
}

/* Which values depend on the wanted ones, and who reads each first. */
static void look_forward(differentiating *d)
{
    const ry_graph *graph = d->graph;
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        const ry_node *node = &graph->nodes[n];
        bool any = false;
        for (int i = 0; i < node->inputs; i++) {
            const ry_value_id v = node->in[i];
            if (v != RY_NO_VALUE) {
                any |= d->depends[v];
                d->reader[v] = d->reader[v] == RY_NO_NODE ? n : d->reader[v];
            }
        }
        for (int i = 0; i < node->outputs; i++) {
            const ry_value_id v = node->out[i];
            if (v != RY_NO_VALUE && any && is_float(d, v) && !is_held(d, v)) {
                d->depends[v] = true;
            }
        }
    }
}

static rynd_status send(differentiating *d, ry_value_id to, ry_value_id gradient)
{
    share *s = RY_TAKE(&d->scratch, share, 1);
    if (!s) {
        return fail_memory(d);
    }
    *s = (share){gradient, d->shares[to]};
    d->shares[to] = s;
    return RYND_OK;
}

/* The sum of the shares that came to a value; RY_NO_VALUE: none did. */
static rynd_status collect(differentiating *d, ry_value_id v)
{
    size_t count = 0;
    if (d->sum[v] != RY_NO_VALUE || !d->shares[v]) {
        return RYND_OK;
    }
    for (const share *s = d->shares[v]; s; s = s->before) {
        count++;
    }
    const char *name = ry_arena_format(&d->graph->arena, "%s/gradient", d->graph->values[v].name);
    ry_value_id *terms = RY_TAKE(&d->scratch, ry_value_id, count);
    ry_emitter e = {.graph = d->graph, .name = name, .error = d->error};
    if (!name || !terms) {
        return fail_memory(d);
    }
    size_t at = count;
    for (const share *s = d->shares[v]; s; s = s->before) {
        terms[--at] = s->gradient;
    }
    d->sum[v] = ry_emit_sum(&e, count, terms);
    return e.status;
}

/* A wanted gradient that no further reader adds to. */
static rynd_status reach(differentiating *d, ry_value_id v)
{
    const ry_differentiation *what = d->what;
    const size_t index = d->wanted[v] - 1;
    RY_TRY(collect(d, v));
    what->gradient[index] = d->sum[v];
    return what->reached ? what->reached(what->user, index, d->sum[v]) : RYND_OK;
}

static rynd_status fail_rule(const differentiating *d, const ry_node *node)
{
    return ry_fail(d->error, RYND_ERROR_UNSUPPORTED,
                   "node '%s' (%s): operator '%s' has no gradient, and parameters before it need "
                   "one: freeze them, or train a model without it",
                   node->name, node->source, ry_op_name(node->op));
}

/* Applies the node's rule, and sends what it gives to the node's inputs. */
static rynd_status apply(differentiating *d, ry_node_id n, const bool *wanted,
                         const ry_value_id *dy)
{
    const ry_node node = d->graph->nodes[n]; /* its lists stay when nodes are added */
    ry_gradient_rule *rule = ry_gradient_rule_of(node.op);
    ry_value_id *dx = RY_TAKE(&d->scratch, ry_value_id, node.inputs);
    if (!rule) {
        return fail_rule(d, &node);
    }
    if (!dx) {
        return fail_memory(d);
    }
    for (int i = 0; i < node.inputs; i++) {
        dx[i] = RY_NO_VALUE;
    }
    const ry_gradient_call call = {d->graph, n, dy, wanted, dx, d->error};
    RY_TRY(rule(&call));
    for (int i = 0; i < node.inputs; i++) {
        if (wanted[i] && dx[i] != RY_NO_VALUE) {
            assert(ry_shape_equal(&d->graph->values[dx[i]].shape,
                                  &d->graph->values[node.in[i]].shape));
            assert(d->graph->values[dx[i]].dtype == d->graph->values[node.in[i]].dtype);
            RY_TRY(send(d, node.in[i], dx[i]));
        }
    }
    return RYND_OK;
}

static rynd_status visit(differentiating *d, ry_node_id n)
{
    const ry_node node = d->graph->nodes[n];
    bool any_dy = false, any_wanted = false;
    bool *wanted = RY_TAKE(&d->scratch, bool, node.inputs);
    ry_value_id *dy = RY_TAKE(&d->scratch, ry_value_id, node.outputs);
    if (!wanted || !dy) {
        return fail_memory(d);
    }
    for (int i = 0; i < node.inputs; i++) {
        wanted[i] = node.in[i] != RY_NO_VALUE && d->depends[node.in[i]];
        any_wanted |= wanted[i];
    }
    for (int i = 0; i < node.outputs && any_wanted; i++) {
        dy[i] = RY_NO_VALUE;
        if (node.out[i] != RY_NO_VALUE && d->shares[node.out[i]]) {
            RY_TRY(collect(d, node.out[i]));
            dy[i] = d->sum[node.out[i]];
            any_dy = true;
        }
    }
    return any_dy ? apply(d, n, wanted, dy) : RYND_OK;
}

static rynd_status walk_back(differentiating *d, size_t node_count)
{
    for (size_t i = 0; i < d->what->of_count; i++) {
        RY_TRY(send(d, d->what->of[i], d->what->dy[i]));
    }
    for (size_t n = node_count; n-- > 0;) {
        if (d->graph->nodes[n].op == RY_OP_dead) {
            continue;
        }
        RY_TRY(visit(d, (ry_node_id)n));
        const ry_node node = d->graph->nodes[n];
        for (int i = 0; i < node.inputs; i++) {
            const ry_value_id v = node.in[i];
            if (v != RY_NO_VALUE && d->wanted[v] && d->reader[v] == n) {
                d->reader[v] = RY_NO_NODE; /* the node may read the value twice */
                RY_TRY(reach(d, v));
            }
        }
    }
    return RYND_OK;
}

/* Those that no node reads. */
static rynd_status mark_unread(differentiating *d, const bool *read)
{
    for (size_t i = 0; i < d->what->count; i++) {
        if (!read[i]) {
            RY_TRY(reach(d, d->what->wanted[i]));
        }
    }
    return RYND_OK;
}

rynd_status ry_differentiate(ry_graph *graph, const ry_differentiation *what, ry_error *error)
{
    differentiating d = {.graph = graph, .what = what, .error = error};
    ry_arena_init(&d.scratch, graph->arena.allocator);
    rynd_status status = prepare(&d);
    bool *read = status == RYND_OK ? RY_TAKE(&d.scratch, bool, what->count) : NULL;
    if (status == RYND_OK && !read) {
        status = fail_memory(&d);
    }
    if (status == RYND_OK) {
        look_forward(&d);
        for (size_t i = 0; i < what->count; i++) {
            read[i] = d.reader[what->wanted[i]] != RY_NO_NODE;
        }
        status = walk_back(&d, graph->node_count);
    }
    if (status == RYND_OK) {
        status = mark_unread(&d, read);
    }
    ry_arena_free(&d.scratch);
    return status;
}

rynd_status ry_graph_take_apart(ry_graph *graph, ry_error *error)
{
    bool changed = false;
    RY_TRY(ry_rewrite_recurrent(graph, &changed, error));
    RY_TRY(ry_rewrite_deform_conv(graph, &changed, error));
    RY_TRY(changed ? ry_graph_compact(graph, error) : RYND_OK);
    return changed ? ry_graph_infer(graph, error) : RYND_OK;
}
