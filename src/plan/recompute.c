/* SPDX-License-Identifier: Apache-2.0 */
/* Lets steps run again: copies of nodes in the plan's graph, and its steps in a new order. */
#include "plan/recompute.h"

#include "plan/aliases.h"
#include "plan/make_steps.h"
#include "plan/recompute_choose.h"
#include "plan/recompute_model.h"

#include <string.h>

typedef struct recomputing {
    ry_plan_builder *b;
    ry_value_uses uses;
    ry_arena scratch;
    ry_recompute_model model;
    ry_recompute_schedule schedule;
    const bool *keep;
    ry_value_id *again; /* per value: its copy; RY_NO_VALUE: not copied yet */
    ry_value_id *from;  /* per copy, from `values` on: the original */
    size_t values;      /* values before copies were added */
    ry_error *error;
} recomputing;

static bool is_dropped(const recomputing *r, ry_value_id v)
{
    const uint32_t i = r->model.index[v];
    return i != RY_NO_INDEX && !r->keep[i] && !r->model.graph.value[i].stays &&
           r->model.graph.value[i].maker < r->model.graph.forward &&
           r->schedule.again[r->model.graph.value[i].maker];
}

static rynd_status copy_value(recomputing *r, ry_value_id v)
{
    ry_graph *graph = r->b->graph;
    const ry_value like = graph->values[v];
    const char *name = ry_arena_format(&graph->arena, "%s/again", like.name);
    const ry_value_id copy = !name || ry_graph_find(graph, name) != RY_NO_VALUE
                                 ? ry_graph_add_value(graph, NULL, like.dtype, &like.shape)
                                 : ry_graph_add_value(graph, name, like.dtype, &like.shape);
    if (copy == RY_NO_VALUE) {
        return ry_fail_memory(r->error);
    }
    r->again[v] = copy;
    r->from[copy - r->values] = v;
    return RYND_OK;
}

static rynd_status find_again(recomputing *r, ry_value_id v, ry_value_id *again);

/* A copy of a node that reads what was recomputed. */
static rynd_status copy_node(recomputing *r, ry_node_id id, ry_node_id *copy)
{
    ry_graph *graph = r->b->graph;
    const ry_node node = graph->nodes[id]; /* its lists stay when nodes are added */
    ry_value_id *in = RY_TAKE(&r->scratch, ry_value_id, node.inputs),
                *out = RY_TAKE(&r->scratch, ry_value_id, node.outputs);
    const char *name = ry_arena_format(&graph->arena, "%s/again", node.name);
    if (!in || !out || !name) {
        return ry_fail_memory(r->error);
    }
    for (int i = 0; i < node.inputs; i++) {
        RY_TRY(find_again(r, node.in[i], &in[i]));
    }
    for (int i = 0; i < node.outputs; i++) {
        out[i] = RY_NO_VALUE;
        if (node.out[i] != RY_NO_VALUE) {
            RY_TRY(copy_value(r, node.out[i]));
            out[i] = r->again[node.out[i]];
        }
    }
    *copy = ry_graph_add_node(graph, node.op, name, node.source, &node.attrs, node.inputs, in,
                              node.outputs, out);
    if (*copy == RY_NO_NODE) {
        return ry_fail_memory(r->error);
    }
    for (int i = 0; i < node.outputs; i++) {
        if (out[i] != RY_NO_VALUE) {
            graph->values[out[i]].producer = *copy;
        }
    }
    return RYND_OK;
}

/* What is read in the place of a value behind the forward pass: of an alias of what is dropped a
 * copy of the alias. */
static rynd_status find_again(recomputing *r, ry_value_id v, ry_value_id *again)
{
    *again = v;
    if (v == RY_NO_VALUE || !is_dropped(r, v)) {
        return RYND_OK;
    }
    if (r->again[v] == RY_NO_VALUE) { /* its step was copied already, if it is a step's */
        ry_node_id copy;
        RY_TRY(copy_node(r, r->b->graph->values[v].producer, &copy));
    }
    *again = r->again[v];
    return RYND_OK;
}

static rynd_status redirect(recomputing *r, ry_node_id id)
{
    ry_graph *graph = r->b->graph;
    for (int i = 0; i < graph->nodes[id].inputs; i++) {
        ry_value_id to;
        const ry_value_id from = graph->nodes[id].in[i];
        RY_TRY(find_again(r, from, &to));
        if (to != from) {
            ry_graph_set_input(graph, &graph->nodes[id], i, to);
        }
    }
    return RYND_OK;
}

/* The nodes of all steps in their new order. */
static rynd_status make_nodes(recomputing *r, ry_node_id *node_of_step)
{
    for (uint32_t i = 0; i < r->schedule.count; i++) {
        const ry_scheduled_step step = r->schedule.order[i];
        node_of_step[i] = r->b->node_of_step[step.step];
        if (step.again) {
            RY_TRY(copy_node(r, node_of_step[i], &node_of_step[i]));
        } else if (step.step >= r->model.graph.forward) {
            RY_TRY(redirect(r, node_of_step[i]));
        }
    }
    return RYND_OK;
}

/* Copies get their originals' layouts. */
static rynd_status lay_out(const recomputing *r)
{
    ry_value_layouts *layouts = &r->b->layouts;
    const size_t count = r->b->graph->value_count;
    bool *last = RY_TAKE(&r->b->plan->arena, bool, count);
    if (!last) {
        return ry_fail_memory(r->error);
    }
    for (size_t v = 0; v < count && layouts->channels_last; v++) {
        last[v] = layouts->channels_last[v < r->values ? v : r->from[v - r->values]];
    }
    layouts->channels_last = layouts->channels_last ? last : NULL;
    const ry_tensor **given = RY_TAKE(&r->b->plan->arena, const ry_tensor *, count);
    if (!given) {
        return ry_fail_memory(r->error);
    }
    for (size_t v = 0; v < r->values && layouts->given; v++) {
        given[v] = layouts->given[v]; /* inputs only */
    }
    layouts->given = layouts->given ? given : NULL;
    return RYND_OK;
}

/* from: the step's split so far; NULL: the step is a copy. */
static void add_split(ry_plan_builder *b, size_t step, const ry_batch_split *from,
                      const ry_batch_split *before)
{
    const int64_t micro_batches = from ? from->micro_batches : 1;
    ry_batch_split *last =
        b->plan->batch_split_count ? &b->batch_splits[b->plan->batch_split_count - 1] : NULL;
    if (last && last->micro_batches == micro_batches && (micro_batches == 1 || from == before)) {
        last->end = step + 1;
    } else {
        b->batch_splits[b->plan->batch_split_count++] =
            (ry_batch_split){step, step + 1, micro_batches, from && from->rows};
    }
}

/* A copy's problem is that of its step, and so are its kernel and form; of the name that settings
 * are given by, too. */
static rynd_status make_copy(const recomputing *r, ry_node_id id, ry_node_id of, ry_step *step)
{
    ry_node node = r->b->graph->nodes[id];
    const char *name = node.name;
    node.name = r->b->graph->nodes[of].name;
    RY_TRY(ry_plan_make_step(r->b, &node, 0, step, r->error));
    step->name = name;
    return RYND_OK;
}

static rynd_status make_steps(recomputing *r, const ry_node_id *node_of_step)
{
    ry_plan_builder *b = r->b;
    const ry_recompute_schedule *schedule = &r->schedule;
    const ry_step *before = b->steps;
    ry_step *steps = RY_TAKE(&b->plan->arena, ry_step, schedule->count);
    ry_batch_split *splits = RY_TAKE(&b->plan->arena, ry_batch_split, schedule->count);
    const ry_batch_split **split_of =
        RY_TAKE(&r->scratch, const ry_batch_split *, b->plan->step_count);
    if (!steps || !splits || !split_of) {
        return ry_fail_memory(r->error);
    }
    for (size_t s = 0; s < b->plan->step_count; s++) {
        split_of[s] = ry_plan_batch_split_of(b->plan, s);
    }
    for (uint32_t i = 0; i < schedule->count; i++) {
        const ry_scheduled_step from = schedule->order[i];
        steps[i] = before[from.step];
        if (from.again) {
            steps[i] = (ry_step){0};
            RY_TRY(make_copy(r, node_of_step[i], r->b->node_of_step[from.step], &steps[i]));
        }
    }
    b->plan->steps = b->steps = steps;
    b->plan->step_count = schedule->count;
    ry_plan_set_batch_splits(b, splits, 0);
    const ry_batch_split *last = NULL;
    for (uint32_t i = 0; i < schedule->count; i++) {
        const ry_scheduled_step from = schedule->order[i];
        const ry_batch_split *split = from.again ? NULL : split_of[from.step];
        add_split(b, i, split, last);
        last = split;
    }
    return RYND_OK;
}

static rynd_status apply(recomputing *r)
{
    ry_plan_builder *b = r->b;
    r->values = b->graph->value_count;
    r->again = RY_TAKE(&r->scratch, ry_value_id, r->values);
    r->from = RY_TAKE(&r->scratch, ry_value_id, r->values);
    ry_node_id *node_of_step = RY_TAKE(&b->plan->arena, ry_node_id, r->schedule.count);
    if (!r->again || !r->from || !node_of_step) {
        return ry_fail_memory(r->error);
    }
    memset(r->again, 0xff, r->values * sizeof *r->again);
    RY_TRY(make_nodes(r, node_of_step));
    RY_TRY(lay_out(r));
    RY_TRY(make_steps(r, node_of_step));
    b->node_of_step = node_of_step;
    return RYND_OK;
}

static rynd_status fail_limit(const recomputing *r, size_t rest, size_t least)
{
    if (r->b->options->memory_least) {
        *r->b->options->memory_least = rest + least;
    }
    return ry_fail(
        r->error, RYND_ERROR_OUT_OF_MEMORY,
        "a step of training within a memory limit of %zu bytes is not possible: it takes "
        "at least %zu bytes, %zu of them for weights and what is kept beside them; give a larger "
        "limit or a smaller batch",
        r->b->options->memory_limit, rest + least, rest);
}

static rynd_status recompute(recomputing *r)
{
    ry_recompute_choice choice;
    const size_t limit = r->b->options->memory_limit;
    RY_TRY(ry_plan_find_uses(r->b, &r->uses, r->error));
    RY_TRY(ry_recompute_model_create(r->b, &r->uses, &r->scratch, &r->model, r->error));
    const size_t rest = r->model.rest + r->b->options->memory_reserved;
    if (!ry_recompute_choose(&r->model.graph, limit > rest ? limit - rest : 0, &r->scratch,
                             &choice)) {
        return ry_fail_memory(r->error);
    }
    if (!choice.keep) {
        return fail_limit(r, rest, choice.least);
    }
    if (choice.seconds == 0) {
        return RYND_OK;
    }
    r->keep = choice.keep;
    return ry_recompute_evaluate(&r->model.graph, r->keep, &r->scratch, &r->schedule)
               ? apply(r)
               : ry_fail_memory(r->error);
}

rynd_status ry_plan_recompute(ry_plan_builder *b, ry_error *error)
{
    recomputing r = {.b = b, .error = error};
    if (b->options->memory_limit == 0 || b->graph->output_count == 0 || b->plan->step_count == 0) {
        return RYND_OK;
    }
    ry_arena_init(&r.scratch, b->plan->device->allocator);
    const rynd_status status = recompute(&r);
    ry_arena_free(&r.scratch);
    return status;
}
