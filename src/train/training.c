/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the graphs of training: of a step, and of the loss alone. */
#include "train/training.h"

#include "train/accumulate.h"
#include "train/differentiate.h"
#include "train/dropout_nodes.h"
#include "train/fuse_norm.h"
#include "train/norm_nodes.h"
#include "train/storage.h"
#include "train/training_loss.h"

#include <string.h>

/* While a step's graph is made. */
typedef struct stepping {
    ry_graph *graph;
    ry_training_builder *b;
    ry_value_id rate;   /* with accumulation: 1 if a micro-batch came before, else 0 */
    ry_value_id before; /* steps, or micro-batches, until this one */
    ry_optimizer_step step;
    ry_value_id *wanted, *gradient; /* per trained parameter (no statistics) */
    size_t *index;                  /* index among all parameters */
    size_t count;
    size_t *order; /* trained parameters in the order of their gradients, if updates wait for all of
                      them */
    size_t reached;
    ry_storage_parts parts;
    ry_error *error;
} stepping;

static ry_emitter emitter_of(ry_graph *graph, const char *name, ry_error *error)
{
    return (ry_emitter){.graph = graph, .name = name, .error = error};
}

static ry_training_parameter *statistic_of(const ry_training_builder *b, ry_value_id value)
{
    for (size_t i = 0; i < b->training->count; i++) {
        ry_training_parameter *p = &b->parameters[i];
        if (p->statistic && p->value == value) {
            return p;
        }
    }
    return NULL;
}

static ry_value_id next_of(ry_graph *graph, ry_value_id value)
{
    const char *name = ry_arena_format(&graph->arena, "%s/next", graph->values[value].name);
    return name ? ry_graph_add_value(graph, name, RY_NONE, NULL) : RY_NO_VALUE;
}

/* Replaces inference's node: statistics of the batch, which also update the running ones. */
static rynd_status train_batch_norm(ry_graph *graph, const ry_training_builder *b, ry_node_id n,
                                    ry_training_parameter *const running[2], ry_error *error)
{
    const double given = b->options.norm_momentum;
    const double momentum = given > 0 ? given : graph->nodes[n].norm_momentum;
    ry_value_id next[2];
    for (int i = 0; i < 2; i++) {
        next[i] = next_of(graph, running[i]->value);
        if (next[i] == RY_NO_VALUE) {
            return ry_fail_memory(error);
        }
    }
    RY_TRY(ry_training_use_batch(graph, n, momentum, next, error));
    for (int i = 0; i < 2; i++) {
        running[i]->next = next[i];
        if (b->options.ranks) {
            continue; /* its state is the mean over all ranks */
        }
        running[i]->state = (uint32_t)graph->state_count;
        if (!ry_graph_add_state(graph, running[i]->value, next[i], running[i]->initial)) {
            return ry_fail_memory(error);
        }
    }
    return RYND_OK;
}

static rynd_status train_batch_norms(ry_graph *graph, const ry_training_builder *b, ry_error *error)
{
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        const ry_node *node = &graph->nodes[n];
        if (node->op != RY_OP_batch_norm) {
            continue;
        }
        ry_training_parameter *const running[2] = {statistic_of(b, node->in[3]),
                                                   statistic_of(b, node->in[4])};
        if (running[0] && running[1]) {
            RY_TRY(train_batch_norm(graph, b, n, running, error));
        }
    }
    return RYND_OK;
}

static rynd_status update(stepping *s, size_t i)
{
    ry_training_parameter *p = &s->b->parameters[s->index[i]];
    const char *name = ry_arena_format(&s->graph->arena, "%s/update", p->name);
    ry_emitter e = emitter_of(s->graph, name, s->error);
    if (!name) {
        return ry_fail_memory(s->error);
    }
    p->state = (uint32_t)s->graph->state_count;
    ry_emit_update(&e, &s->b->options.optimizer, &s->step, p->value, s->gradient[i], p->initial);
    return e.status;
}

static rynd_status add_to_sum(const stepping *s, size_t i, ry_value_id gradient)
{
    ry_training_parameter *p = &s->b->parameters[s->index[i]];
    const char *name = ry_arena_format(&s->graph->arena, "%s/gradient/sum", p->name);
    ry_emitter e = emitter_of(s->graph, name, s->error);
    if (!name) {
        return ry_fail_memory(s->error);
    }
    p->sum = (uint32_t)s->graph->state_count;
    ry_emit_to_sum(&e, gradient, s->rate);
    return e.status;
}

/* As soon as its gradient is there, so that no gradient is kept for long. */
static rynd_status reached(void *user, size_t index, ry_value_id gradient)
{
    stepping *s = user;
    if (gradient == RY_NO_VALUE) {
        return RYND_OK;
    }
    return ry_training_accumulates(&s->b->options) ? add_to_sum(s, index, gradient)
                                                   : update(s, index);
}

/* Or once all are there. */
static rynd_status note_reached(void *user, size_t index, ry_value_id gradient)
{
    stepping *s = user;
    if (gradient != RY_NO_VALUE) {
        s->order[s->reached++] = index;
    }
    return RYND_OK;
}

static rynd_status list_wanted(stepping *s, ry_arena *scratch)
{
    const ry_training_builder *b = s->b;
    s->wanted = RY_TAKE(scratch, ry_value_id, b->training->count);
    s->gradient = RY_TAKE(scratch, ry_value_id, b->training->count);
    s->index = RY_TAKE(scratch, size_t, b->training->count);
    s->order = RY_TAKE(scratch, size_t, b->training->count);
    if (!s->wanted || !s->gradient || !s->index || !s->order) {
        return ry_fail_memory(s->error);
    }
    for (size_t i = 0; i < b->training->count; i++) {
        if (!b->parameters[i].statistic) {
            s->index[s->count] = i;
            s->wanted[s->count++] = b->parameters[i].value;
        }
    }
    return RYND_OK;
}

/* A running statistic's state is the mean of what it becomes on each rank. */
static rynd_status exchange_statistics(stepping *s)
{
    ry_training_builder *b = s->b;
    ry_emitter e = emitter_of(s->graph, "train/statistics", s->error);
    for (size_t i = 0; i < b->training->count; i++) {
        ry_training_parameter *p = &b->parameters[i];
        ry_value_id sum;
        if (!p->statistic || p->next == RY_NO_VALUE) {
            continue;
        }
        RY_TRY(
            ry_exchange_value(s->graph, &b->training->exchanged, p->next, p->name, &sum, s->error));
        const ry_value_id mean = ry_emit_mean(&e, &b->training->exchanged, sum);
        RY_TRY(e.status);
        p->state = (uint32_t)s->graph->state_count;
        if (!ry_graph_add_state(s->graph, p->value, mean, p->initial)) {
            return ry_fail_memory(s->error);
        }
    }
    return RYND_OK;
}

/* From here on a gradient is its sum over all ranks, and the factor makes a mean of it. */
static rynd_status exchange_gradients(stepping *s)
{
    ry_exchanged_list *list = &s->b->training->exchanged;
    ry_emitter e = emitter_of(s->graph, "train/exchange", s->error);
    for (size_t i = 0; i < s->reached; i++) {
        ry_value_id *gradient = &s->gradient[s->order[i]];
        const char *name = s->b->parameters[s->index[s->order[i]]].name;
        name = ry_arena_format(&s->graph->arena, "%s/gradient", name);
        if (!name) {
            return ry_fail_memory(s->error);
        }
        RY_TRY(ry_exchange_value(s->graph, list, *gradient, name, gradient, s->error));
    }
    s->step.scale = ry_emit_part(&e, list);
    return e.status;
}

/* Exchanges gradients (with accumulation the update does), statistics and the loss. */
static rynd_status exchange(stepping *s)
{
    RY_TRY(ry_training_accumulates(&s->b->options) ? RYND_OK : exchange_gradients(s));
    RY_TRY(exchange_statistics(s));
    return ry_exchange_loss(s->graph, &s->b->training->exchanged, s->error);
}

static rynd_status clip(stepping *s)
{
    const ry_training_options *options = &s->b->options;
    ry_emitter e = emitter_of(s->graph, "train/clip", s->error);
    s->step.scale = ry_emit_clip_scale(&e, s->count, s->gradient, options->clip_norm,
                                       options->ranks ? options->ranks : 1);
    return e.status;
}

/* What waits for all gradients. */
static rynd_status update_later(stepping *s)
{
    const ry_training_options *options = &s->b->options;
    RY_TRY(options->clip_norm > 0 ? clip(s) : RYND_OK);
    for (size_t i = 0; i < s->reached; i++) {
        RY_TRY(update(s, s->order[i]));
    }
    return RYND_OK;
}

static rynd_status add_backward(stepping *s, const ry_loss_nodes *nodes)
{
    const ry_training_options *options = &s->b->options;
    const bool accumulates = ry_training_accumulates(&s->b->options);
    ry_emitter e = emitter_of(s->graph, "train/rate", s->error);
    s->step.scale = RY_NO_VALUE;
    if (!accumulates) {
        ry_emit_optimizer_step(&e, &options->optimizer, s->rate, s->before, &s->step);
    }
    const double share = accumulates ? 1 / (double)options->accumulate : 1;
    const ry_value_id dy = ry_emit_scalar(&e, ry_emit_dtype(&e, nodes->loss), share);
    RY_TRY(e.status);
    const bool later = !accumulates && (options->clip_norm > 0 || options->ranks);
    const ry_differentiation what = {.of_count = 1,
                                     .of = &nodes->loss,
                                     .dy = &dy,
                                     .held_count = nodes->held_count,
                                     .held = nodes->held,
                                     .count = s->count,
                                     .wanted = s->wanted,
                                     .gradient = s->gradient,
                                     .reached = later ? note_reached : reached,
                                     .user = s};
    RY_TRY(ry_differentiate(s->graph, &what, s->error));
    RY_TRY(options->ranks ? exchange(s) : RYND_OK);
    return later ? update_later(s) : RYND_OK;
}

static rynd_status keep_gradients(stepping *s)
{
    for (size_t i = 0; i < s->count; i++) {
        ry_training_parameter *p = &s->b->parameters[s->index[i]];
        p->gradient = UINT32_MAX;
        if (s->b->options.keep_gradients && s->gradient[i] != RY_NO_VALUE &&
            !ry_training_accumulates(&s->b->options)) {
            p->gradient = (uint32_t)s->graph->output_count;
            ry_emitter e = emitter_of(s->graph, "train/mean", s->error);
            const ry_value_id mean =
                s->b->options.ranks ? ry_emit_mean(&e, &s->b->training->exchanged, s->gradient[i])
                                    : s->gradient[i];
            RY_TRY(e.status);
            if (!ry_graph_add_output(s->graph, mean)) {
                return ry_fail_memory(s->error);
            }
        }
    }
    return RYND_OK;
}

/* Parameters without a gradient become constants again. */
static rynd_status drop_unreached(stepping *s)
{
    ry_training_builder *b = s->b;
    size_t kept = 0;
    for (size_t i = 0; i < b->training->count; i++) {
        const ry_training_parameter p = b->parameters[i];
        if (p.state == UINT32_MAX && p.sum == UINT32_MAX) {
            s->graph->values[p.value].constant = p.content;
        } else {
            b->parameters[i] = b->parameters[kept];
            b->parameters[kept++] = p;
        }
    }
    b->training->count = kept;
    for (size_t i = 0; i < kept; i++) {
        if (!b->parameters[i].statistic) {
            return RYND_OK;
        }
    }
    return ry_fail(s->error, RYND_ERROR_UNSUPPORTED,
                   "no gradient reaches any parameter: nothing would be trained");
}

/* They are states of the update's graph. */
static rynd_status read_parameters(const stepping *s)
{
    const ry_training_builder *b = s->b;
    for (size_t i = 0; i < b->training->count && ry_training_accumulates(&b->options); i++) {
        ry_training_parameter *p = &b->parameters[i];
        if (p->statistic) {
            continue;
        }
        p->input = (uint32_t)s->graph->input_count;
        if (!ry_graph_add_input(s->graph, p->value)) {
            return ry_fail_memory(s->error);
        }
    }
    return RYND_OK;
}

/* Counts micro-batches, so that each draws its own random numbers. */
static rynd_status count_micro_batches(const stepping *s)
{
    ry_emitter e = emitter_of(s->graph, "train/micro_batch/next", s->error);
    const ry_value_id next = ry_emit_expr(&e, "x0 + 1", 1, &s->before);
    RY_TRY(e.status);
    return ry_graph_add_state(s->graph, s->before, next, NULL) ? RYND_OK : ry_fail_memory(s->error);
}

static rynd_status store_activations(stepping *s)
{
    s->parts.parameter = s->wanted;
    s->parts.parameter_count = s->count;
    return s->b->options.store_bf16 ? ry_training_store_bf16(s->graph, &s->parts, s->error)
                                    : RYND_OK;
}

static rynd_status make_step(stepping *s, ry_arena *scratch)
{
    const bool accumulates = ry_training_accumulates(&s->b->options);
    const char *rate = accumulates ? "train/more" : s->b->training->rate;
    const ry_shape scalar = {.rank = 0};
    ry_loss_nodes nodes;
    RY_TRY(ry_graph_take_apart(s->graph, s->error));
    s->parts.values = s->graph->value_count;
    s->parts.inputs = s->graph->input_count;
    RY_TRY(list_wanted(s, scratch));
    RY_TRY(ry_training_settle_outputs(s->graph, &s->b->training->loss, s->error));
    RY_TRY(ry_training_add_loss(s->graph, &s->b->training->loss, &nodes, s->error));
    RY_TRY(ry_training_add_input(s->graph, rate, accumulates ? RY_f32 : RY_f64, &scalar, &s->rate,
                                 s->error));
    s->before = ry_graph_add_value(s->graph, accumulates ? "train/micro_batch" : "train/step",
                                   RY_f64, &scalar);
    if (s->before == RY_NO_VALUE) {
        return ry_fail_memory(s->error);
    }
    RY_TRY(accumulates ? count_micro_batches(s) : RYND_OK);
    RY_TRY(ry_training_add_drops(s->graph, s->b->options.dropout_seed, s->before, s->error));
    RY_TRY(train_batch_norms(s->graph, s->b, s->error));
    RY_TRY(ry_training_fuse_norms(s->graph, s->error));
    s->parts.forward = s->graph->node_count;
    RY_TRY(add_backward(s, &nodes));
    RY_TRY(keep_gradients(s));
    RY_TRY(drop_unreached(s));
    RY_TRY(read_parameters(s));
    RY_TRY(store_activations(s));
    RY_TRY(ry_graph_verify(s->graph, s->error));
    RY_TRY(ry_graph_compact(s->graph, s->error));
    return ry_graph_infer(s->graph, s->error);
}

rynd_status ry_training_make_step(ry_graph *graph, ry_training_builder *b, ry_error *error)
{
    stepping s = {.graph = graph, .b = b, .error = error};
    ry_arena scratch;
    for (size_t i = 0; i < b->training->count; i++) {
        ry_training_parameter *p = &b->parameters[i];
        p->state = p->sum = p->gradient = UINT32_MAX;
        p->next = RY_NO_VALUE;
    }
    ry_arena_init(&scratch, graph->arena.allocator);
    const rynd_status status = make_step(&s, &scratch);
    ry_arena_free(&scratch);
    return status;
}

rynd_status ry_training_make_loss(ry_graph *graph, const ry_training *training, ry_error *error)
{
    ry_loss_nodes nodes;
    for (size_t i = training->count; i < training->opened; i++) {
        graph->values[training->parameters[i].value].constant = training->parameters[i].content;
    }
    RY_TRY(ry_training_add_loss(graph, &training->loss, &nodes, error));
    for (size_t i = 0; i < training->count; i++) {
        if (!ry_graph_add_input(graph, training->parameters[i].value)) {
            return ry_fail_memory(error);
        }
    }
    RY_TRY(ry_graph_verify(graph, error));
    return ry_graph_infer(graph, error);
}
