/* SPDX-License-Identifier: Apache-2.0 */
/* Casts between the forward and the backward pass.
 *
 * Where the backward pass looks for a sign or for a flat part, it finds the same in what was
 * rounded to nearest: rounding keeps the order of numbers, 0 and every bound that is a bfloat16
 * stay what they are, and nothing above 2^-134 becomes 0. So a relu's gradient passes exactly where
 * it would. What is within half a step of bfloat16 below clip's upper bound (for relu6 from
 * 5.984 on) becomes the bound, and counts as flat. Among the elements of a window that are the same
 * when rounded, max pooling's gradient goes to the first. */
#include "train/storage.h"

#include "graph/emitter.h"
#include "graph/own_vector.h"

#include <assert.h>
#include <string.h>

/* Below, a cast costs more than the memory is worth; vectors of channels stay exact. */
enum { LEAST_BYTES = 64 << 10 };

/* What a value of the forward pass is made of. */
typedef enum origin {
    OF_PARAMETERS, /* and constants, alone */
    OF_INPUT,      /* an input, or a view of one */
    COMPUTED
} origin;

typedef struct storing {
    ry_graph *graph;
    const ry_storage_parts *parts;
    ry_arena scratch;
    size_t values, nodes; /* counts before the pass */
    bool *kept;           /* per value: stored as bfloat16 */
    ry_value_id *narrow;  /* per stored value: its bfloat16 copy, once made */
    ry_node *order;       /* the nodes as they are to be */
    size_t count;
    ry_error *error;
} storing;

static bool is_bf16(double number)
{
    return (double)ry_bf16_to_f32(ry_f32_to_bf16((float)number)) == number;
}

static void find_origins(const storing *s, origin *of)
{
    const ry_graph *graph = s->graph;
    for (size_t i = 0; i < s->parts->inputs; i++) {
        of[graph->inputs[i]] = OF_INPUT;
    }
    for (size_t i = 0; i < s->parts->parameter_count; i++) {
        of[s->parts->parameter[i]] = OF_PARAMETERS;
    }
    for (ry_node_id n = 0; n < s->parts->forward; n++) {
        const ry_node *node = &graph->nodes[n];
        origin most = OF_PARAMETERS;
        if (node->op == RY_OP_dead) {
            continue;
        }
        for (int i = 0; i < node->inputs; i++) {
            const origin in = node->in[i] == RY_NO_VALUE ? OF_PARAMETERS : of[node->in[i]];
            most = in > most ? in : most;
        }
        if (most == OF_INPUT && ry_op_get_class(node->op) != RY_CLASS_VIEW) {
            most = COMPUTED;
        }
        for (int i = 0; i < node->outputs; i++) {
            if (node->out[i] != RY_NO_VALUE) {
                of[node->out[i]] = most;
            }
        }
    }
}

static void stay(const storing *s, int count, const ry_value_id *values)
{
    for (int i = 0; i < count; i++) {
        if (values[i] != RY_NO_VALUE) {
            s->kept[values[i]] = false;
        }
    }
}

/* Comparisons with the stored value would find other elements: max and min reductions ask which
 * elements equal the result, clamps whether the result is the number. */
static void leave_compared(const storing *s, const ry_node *node)
{
    const ry_expr *program = node->attrs.expr.program;
    for (int i = 0; i < program->count; i++) {
        const ry_expr_instruction *at = &program->code[i];
        if (at->code == RY_EXPR_reduce_max || at->code == RY_EXPR_reduce_min) {
            stay(s, node->inputs, node->in);
            stay(s, node->outputs, node->out);
        }
        for (int k = 0; k < 2 && (at->code == RY_EXPR_min || at->code == RY_EXPR_max); k++) {
            const ry_expr_instruction *bound = &program->code[at->operand[k]];
            if (bound->code == RY_EXPR_constant && !is_bf16(bound->value)) {
                stay(s, node->outputs, node->out);
            }
        }
    }
}

static void leave_exact(const storing *s)
{
    for (ry_node_id n = 0; n < s->parts->forward; n++) {
        const ry_node *node = &s->graph->nodes[n];
        const ry_batch_norm_train_attrs *norm = &node->attrs.batch_norm_train;
        if (node->op == RY_OP_expr) {
            leave_compared(s, node);
        } else if (node->op == RY_OP_batch_norm_train) {
            const bool exact = norm->activation != RY_activation_clip ||
                               (is_bf16(norm->act_alpha) && is_bf16(norm->act_beta));
            stay(s, exact ? 0 : 1, node->out);
        } else if (ry_is_norm(node->op)) {
            stay(s, node->outputs - 1, node->out + 1);
        }
    }
}

static bool is_kept(const storing *s, ry_value_id v)
{
    return v < s->values && s->kept[v]; /* no value has a larger id */
}

static void find_read_back(const storing *s)
{
    for (size_t n = s->parts->forward; n < s->nodes; n++) {
        const ry_node *node = &s->graph->nodes[n];
        for (int i = 0; node->op != RY_OP_dead && i < node->inputs; i++) {
            if (node->in[i] != RY_NO_VALUE) {
                s->kept[node->in[i]] = true;
            }
        }
    }
}

static rynd_status find_kept(storing *s)
{
    const ry_graph *graph = s->graph;
    origin *of = RY_TAKE(&s->scratch, origin, s->values);
    s->kept = RY_TAKE(&s->scratch, bool, s->values);
    s->narrow = RY_TAKE(&s->scratch, ry_value_id, s->values);
    if (!of || !s->kept || !s->narrow) {
        return ry_fail_memory(s->error);
    }
    find_origins(s, of);
    find_read_back(s);
    for (ry_value_id v = 0; v < s->values; v++) {
        const ry_value *value = &graph->values[v];
        s->kept[v] = s->kept[v] && v < s->parts->values && of[v] == COMPUTED &&
                     value->dtype == RY_f32 && value->outputs == 0 &&
                     ry_shape_bytes(&value->shape, RY_f32) >= LEAST_BYTES;
    }
    leave_exact(s);
    return RYND_OK;
}

/* Names what is made of a value after it and its new type; NULL: out of memory. */
static const char *name_of(const storing *s, ry_value_id v, ry_dtype dtype)
{
    return ry_arena_format(&s->graph->arena, "%s/%s", s->graph->values[v].name,
                           ry_dtype_name(dtype));
}

/* The node that the emitter added is put at the end of the order. */
static rynd_status put_added(storing *s, const ry_emitter *emitter)
{
    RY_TRY(emitter->status);
    s->order[s->count++] = s->graph->nodes[s->graph->node_count - 1];
    return RYND_OK;
}

static rynd_status cast(storing *s, ry_value_id v, ry_dtype dtype, ry_value_id *made)
{
    ry_emitter e = {.graph = s->graph, .name = name_of(s, v, dtype), .error = s->error};
    const char *text = ry_arena_format(&s->scratch, "cast(x0, %s)", ry_dtype_name(dtype));
    if (!e.name || !text) {
        return ry_fail_memory(s->error);
    }
    *made = ry_emit_expr(&e, text, 1, &v);
    return put_added(s, &e);
}

/* A view of what is kept, too, is a view of that. */
static rynd_status view(storing *s, const ry_node *node, ry_value_id *made)
{
    ry_emitter e = {
        .graph = s->graph, .name = name_of(s, node->out[0], RY_bf16), .error = s->error};
    ry_value_id *in = RY_TAKE(&s->scratch, ry_value_id, node->inputs);
    if (!e.name || !in) {
        return ry_fail_memory(s->error);
    }
    memcpy(in, node->in, (size_t)node->inputs * sizeof *in);
    in[0] = s->narrow[node->in[0]];
    *made = ry_emit(&e, node->op, &node->attrs, node->inputs, in);
    return put_added(s, &e);
}

static rynd_status put_forward(storing *s, ry_node_id n)
{
    const ry_node node = s->graph->nodes[n]; /* its lists stay when nodes are added */
    s->order[s->count++] = node;
    for (int i = 0; node.op != RY_OP_dead && i < node.outputs; i++) {
        const ry_value_id v = node.out[i];
        if (!is_kept(s, v)) {
            continue;
        }
        const bool viewed = ry_op_get_class(node.op) == RY_CLASS_VIEW && is_kept(s, node.in[0]);
        RY_TRY(viewed ? view(s, &node, &s->narrow[v]) : cast(s, v, RY_bf16, &s->narrow[v]));
        s->graph->values[s->narrow[v]].stored = true;
    }
    return RYND_OK;
}

/* Does a node read x and y as bfloat16 itself? */
static bool converts_itself(const storing *s, const ry_node *node)
{
    return node->op == RY_OP_batch_norm_grad && !is_kept(s, node->in[0]) &&
           is_kept(s, node->in[1]) && (node->inputs <= 5 || is_kept(s, node->in[5]));
}

/* A cast for each reader: a shared one would live from the first to the last, and an expression
 * takes its own in (graph/rewrite_expr_chain.c), so that it converts while it reads. */
static rynd_status put_backward(storing *s, ry_node_id n)
{
    const ry_node node = s->graph->nodes[n];
    const bool converts = converts_itself(s, &node);
    for (int i = 0; node.op != RY_OP_dead && i < node.inputs; i++) {
        const ry_value_id v = node.in[i];
        if (!is_kept(s, v)) {
            continue;
        }
        ry_value_id read = s->narrow[v];
        RY_TRY(converts ? RYND_OK : cast(s, s->narrow[v], RY_f32, &read));
        for (int k = i; k < node.inputs; k++) {
            if (node.in[k] == v) {
                ry_graph_set_input(s->graph, &s->graph->nodes[n], k, read);
            }
        }
    }
    s->order[s->count++] = s->graph->nodes[n];
    return RYND_OK;
}

/* A cast behind each value, and one before each operand. */
static rynd_status take_order(storing *s)
{
    size_t most = s->nodes + s->values;
    for (size_t n = s->parts->forward; n < s->nodes; n++) {
        most += (size_t)s->graph->nodes[n].inputs;
    }
    s->order = RY_TAKE(&s->scratch, ry_node, most);
    return s->order ? RYND_OK : ry_fail_memory(s->error);
}

static rynd_status store(storing *s)
{
    RY_TRY(find_kept(s));
    RY_TRY(take_order(s));
    for (ry_node_id n = 0; n < s->nodes; n++) {
        RY_TRY(n < s->parts->forward ? put_forward(s, n) : put_backward(s, n));
    }
    assert(s->count == s->graph->node_count);
    memcpy(s->graph->nodes, s->order, s->count * sizeof *s->order);
    return ry_graph_compact(s->graph, s->error);
}

rynd_status ry_training_store_bf16(ry_graph *graph, const ry_storage_parts *parts, ry_error *error)
{
    storing s = {.graph = graph,
                 .parts = parts,
                 .values = graph->value_count,
                 .nodes = graph->node_count,
                 .error = error};
    ry_arena_init(&s.scratch, graph->arena.allocator);
    const rynd_status status = store(&s);
    ry_arena_free(&s.scratch);
    return status;
}
