/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the graph of an update by sums of gradients. */
#include "train/training.h"

typedef struct updating {
    const ry_graph *model;
    ry_training_builder *b;
    ry_graph *graph;
    ry_value_id *sum; /* per parameter: its sum of gradients; RY_NO_VALUE: none */
    ry_optimizer_step step;
    ry_error *error;
} updating;

static bool has_sum(const ry_training_parameter *p)
{
    return p->sum != UINT32_MAX;
}

static rynd_status add_input(const updating *u, const char *name, ry_dtype dtype,
                             const ry_shape *shape, ry_value_id *value)
{
    *value = ry_graph_add_value(u->graph, name, dtype, shape);
    return *value != RY_NO_VALUE && ry_graph_add_input(u->graph, *value) ? RYND_OK
                                                                         : ry_fail_memory(u->error);
}

static rynd_status add_sums(const updating *u)
{
    for (size_t i = 0; i < u->b->training->count; i++) {
        ry_training_parameter *p = &u->b->parameters[i];
        const ry_value *like = &u->model->values[p->value];
        if (!has_sum(p)) {
            u->sum[i] = RY_NO_VALUE;
            continue;
        }
        const char *name = ry_arena_format(&u->graph->arena, "%s/gradient", p->name);
        if (!name) {
            return ry_fail_memory(u->error);
        }
        RY_TRY(add_input(u, name, like->dtype, &like->shape, &u->sum[i]));
    }
    return RYND_OK;
}

/* From here on a sum is of all ranks, and the factor makes a mean of it. */
static rynd_status exchange(updating *u)
{
    ry_exchanged_list *list = &u->b->training->exchanged_sums;
    ry_emitter e = {.graph = u->graph, .name = "train/exchange", .error = u->error};
    for (size_t i = 0; i < u->b->training->count; i++) {
        if (u->sum[i] != RY_NO_VALUE) {
            const char *name = u->graph->values[u->sum[i]].name;
            RY_TRY(ry_exchange_value(u->graph, list, u->sum[i], name, &u->sum[i], u->error));
        }
    }
    u->step.scale = ry_emit_part(&e, list);
    return e.status;
}

static rynd_status keep_gradients(const updating *u)
{
    const bool ranks = u->b->options.ranks > 0;
    ry_emitter e = {.graph = u->graph, .name = "train/mean", .error = u->error};
    for (size_t i = 0; i < u->b->training->count; i++) {
        if (u->sum[i] == RY_NO_VALUE) {
            continue;
        }
        const ry_value_id mean =
            ranks ? ry_emit_mean(&e, &u->b->training->exchanged_sums, u->sum[i]) : u->sum[i];
        RY_TRY(e.status);
        u->b->parameters[i].gradient = (uint32_t)u->graph->output_count;
        if (!ry_graph_add_output(u->graph, mean)) {
            return ry_fail_memory(u->error);
        }
    }
    return RYND_OK;
}

static rynd_status update(const updating *u, size_t i)
{
    ry_training_parameter *p = &u->b->parameters[i];
    const ry_value *like = &u->model->values[p->value];
    const ry_value_id value = ry_graph_add_value(u->graph, p->name, like->dtype, &like->shape);
    const char *name = ry_arena_format(&u->graph->arena, "%s/update", p->name);
    if (value == RY_NO_VALUE || !name) {
        return ry_fail_memory(u->error);
    }
    ry_emitter e = {.graph = u->graph, .name = name, .error = u->error};
    p->state = (uint32_t)u->graph->state_count;
    ry_emit_update(&e, &u->b->options.optimizer, &u->step, value, u->sum[i], p->initial);
    return e.status;
}

static rynd_status make(updating *u)
{
    const ry_training_options *options = &u->b->options;
    const ry_shape scalar = {.rank = 0};
    ry_value_id rate;
    ry_emitter e = {.graph = u->graph, .name = "train/rate", .error = u->error};
    u->step.scale = RY_NO_VALUE;
    RY_TRY(add_input(u, u->b->training->rate, RY_f64, &scalar, &rate));
    RY_TRY(add_sums(u));
    RY_TRY(options->ranks ? exchange(u) : RYND_OK);
    RY_TRY(options->keep_gradients ? keep_gradients(u) : RYND_OK);
    const ry_value_id before = ry_graph_add_value(u->graph, "train/step", RY_f64, &scalar);
    if (before == RY_NO_VALUE) {
        return ry_fail_memory(u->error);
    }
    ry_emit_optimizer_step(&e, &options->optimizer, rate, before, &u->step);
    if (options->clip_norm > 0) {
        e.name = "train/clip";
        u->step.scale = ry_emit_clip_scale(&e, u->b->training->count, u->sum, options->clip_norm,
                                           options->ranks ? options->ranks : 1);
    }
    RY_TRY(e.status);
    for (size_t i = 0; i < u->b->training->count; i++) {
        if (has_sum(&u->b->parameters[i])) {
            RY_TRY(update(u, i));
        }
    }
    RY_TRY(ry_graph_verify(u->graph, u->error));
    RY_TRY(ry_graph_compact(u->graph, u->error));
    return ry_graph_infer(u->graph, u->error);
}

rynd_status ry_training_make_update(const ry_graph *model, ry_training_builder *b, ry_graph **graph,
                                    ry_error *error)
{
    updating u = {.model = model, .b = b, .error = error};
    *graph = NULL;
    RY_TRY(ry_graph_create(model->arena.allocator, &u.graph, error));
    u.sum = RY_TAKE(&u.graph->arena, ry_value_id, b->training->count);
    const rynd_status status = u.sum ? make(&u) : ry_fail_memory(error);
    if (status != RYND_OK) {
        ry_graph_destroy(u.graph);
        return status;
    }
    *graph = u.graph;
    return RYND_OK;
}
