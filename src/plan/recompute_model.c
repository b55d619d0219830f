/* SPDX-License-Identifier: Apache-2.0 */
/* From a plan's steps to numbers. */
#include "plan/recompute_model.h"

#include "base/integer.h"
#include "plan/in_place.h"
#include "plan/plan_time.h"

#include <string.h>

typedef struct modelling {
    const ry_plan_builder *b;
    const ry_value_uses *uses;
    ry_arena *arena;
    ry_recompute_model *model;
    ry_recompute_value *value;
    ry_error *error;
} modelling;

/* In the order of their makers. Outputs have memory of their own. */
static rynd_status list_values(modelling *m)
{
    const ry_graph *graph = m->b->graph;
    ry_recompute_graph *to = &m->model->graph;
    bool *output = RY_TAKE(m->arena, bool, graph->value_count);
    m->model->index = RY_TAKE(m->arena, uint32_t, graph->value_count);
    m->value = RY_TAKE(m->arena, ry_recompute_value, graph->value_count);
    if (!output || !m->model->index || !m->value) {
        return ry_fail_memory(m->error);
    }
    for (size_t i = 0; i < graph->output_count; i++) {
        output[m->uses->root[graph->outputs[i]]] = true;
    }
    memset(m->model->index, 0xff, graph->value_count * sizeof *m->model->index);
    for (size_t s = 0; s < m->b->plan->step_count; s++) {
        const ry_batch_split *split = ry_plan_batch_split_of(m->b->plan, s);
        const ry_node *node = ry_plan_node(m->b, s);
        for (int i = 0; i < node->outputs; i++) {
            const ry_value_id v = node->out[i];
            if (v == RY_NO_VALUE) {
                continue;
            }
            const bool share = split == ry_plan_batch_split_of(m->b->plan, m->uses->last[v]);
            const size_t bytes = output[v] ? 0 : ry_plan_value_bytes(m->b->graph, v);
            m->model->index[v] = to->values;
            m->value[to->values++] =
                (ry_recompute_value){.bytes = share ? bytes / (size_t)split->micro_batches : bytes,
                                     .maker = (uint32_t)s,
                                     .stays = bytes == 0 || split->micro_batches > 1};
        }
    }
    for (ry_value_id v = 0; v < graph->value_count; v++) {
        m->model->index[v] = m->model->index[m->uses->root[v]];
    }
    to->value = m->value;
    return RYND_OK;
}

/* What is small is kept: its step would run again for next to nothing. All of it together is less
 * than a hundredth of all. */
static void keep_small(const modelling *m)
{
    const uint32_t count = m->model->graph.values;
    size_t all = 0, bound = 0;
    for (uint32_t v = 0; v < count; v++) {
        all += m->value[v].bytes;
    }
    for (size_t next = RY_ALIGNMENT, small = 0; next < all; next *= 2, small = 0) {
        for (uint32_t v = 0; v < count; v++) {
            small += m->value[v].bytes <= next ? m->value[v].bytes : 0;
        }
        if (small > all / 100) {
            break;
        }
        bound = next;
    }
    for (uint32_t v = 0; v < count; v++) {
        m->value[v].stays |= m->value[v].bytes <= bound;
    }
}

/* Lists of so many things with room for `room` items. */
static bool take_lists(const modelling *m, uint32_t things, size_t room, ry_lists *lists)
{
    lists->at = RY_TAKE(m->arena, uint32_t, (size_t)things + 1);
    lists->item = RY_TAKE(m->arena, uint32_t, room);
    return lists->at && lists->item;
}

static void add_once(ry_lists *lists, uint32_t thing, uint32_t item)
{
    for (uint32_t i = lists->at[thing]; i < lists->at[thing + 1]; i++) {
        if (lists->item[i] == item) {
            return;
        }
    }
    lists->item[lists->at[thing + 1]++] = item;
}

/* What each step reads and makes. */
static rynd_status list_operands(const modelling *m)
{
    ry_recompute_graph *to = &m->model->graph;
    size_t reads = 0, makes = 0;
    for (size_t s = 0; s < m->b->plan->step_count; s++) {
        reads += (size_t)ry_plan_node(m->b, s)->inputs;
        makes += (size_t)ry_plan_node(m->b, s)->outputs;
    }
    if (!take_lists(m, to->steps, reads, &to->reads) ||
        !take_lists(m, to->steps, makes, &to->makes)) {
        return ry_fail_memory(m->error);
    }
    for (uint32_t s = 0; s < to->steps; s++) {
        const ry_node *node = ry_plan_node(m->b, s);
        to->reads.at[s + 1] = to->reads.at[s];
        to->makes.at[s + 1] = to->makes.at[s];
        for (int i = 0; i < node->inputs; i++) {
            const uint32_t v =
                node->in[i] == RY_NO_VALUE ? RY_NO_INDEX : m->model->index[node->in[i]];
            if (v != RY_NO_INDEX) {
                add_once(&to->reads, s, v);
            }
        }
        for (int i = 0; i < node->outputs; i++) {
            if (node->out[i] != RY_NO_VALUE) {
                add_once(&to->makes, s, m->model->index[node->out[i]]);
            }
        }
    }
    return RYND_OK;
}

/* The same from the other side. */
static rynd_status list_readers(const modelling *m)
{
    ry_recompute_graph *to = &m->model->graph;
    const uint32_t all = to->reads.at[to->steps];
    uint32_t *next = RY_TAKE(m->arena, uint32_t, to->values);
    if (!next || !take_lists(m, to->values, all, &to->readers)) {
        return ry_fail_memory(m->error);
    }
    for (uint32_t i = 0; i < all; i++) {
        to->readers.at[to->reads.item[i] + 1]++;
    }
    for (uint32_t v = 0; v < to->values; v++) {
        next[v] = to->readers.at[v];
        to->readers.at[v + 1] += to->readers.at[v];
    }
    for (uint32_t s = 0; s < to->steps; s++) {
        for (uint32_t i = to->reads.at[s]; i < to->reads.at[s + 1]; i++) {
            to->readers.item[next[to->reads.item[i]]++] = s;
        }
    }
    return RYND_OK;
}

static rynd_status list_workspaces(const modelling *m)
{
    ry_recompute_graph *to = &m->model->graph;
    size_t *workspace = RY_TAKE(m->arena, size_t, to->steps);
    if (!workspace) {
        return ry_fail_memory(m->error);
    }
    for (uint32_t s = 0; s < to->steps; s++) {
        const ry_step *step = &m->b->steps[s];
        workspace[s] =
            ry_plan_falls_back(m->b->plan, step) ? 0 : ry_prepared_workspace(&step->prepared);
    }
    to->workspace = workspace;
    return RYND_OK;
}

/* Lists pairs (output, input) of a step whose output may overwrite the input. */
static rynd_status list_overwrites(const modelling *m)
{
    ry_recompute_graph *to = &m->model->graph;
    ry_overwrite *list = NULL;
    size_t count = 0, capacity = 0;
    uint32_t *at = RY_TAKE(m->arena, uint32_t, (size_t)to->steps + 1);
    if (!at) {
        return ry_fail_memory(m->error);
    }
    for (uint32_t s = 0; s < to->steps; s++) {
        const ry_node *node = ry_plan_node(m->b, s);
        for (int k = 0; k < node->outputs * node->inputs; k++) {
            const ry_value_id next = node->out[k / node->inputs], in = node->in[k % node->inputs],
                              old = in == RY_NO_VALUE ? in : m->uses->root[in];
            if (next == RY_NO_VALUE || old == RY_NO_VALUE || m->model->index[old] == RY_NO_INDEX ||
                !ry_plan_may_overwrite(m->b, m->uses, s, k / node->inputs, old)) {
                continue;
            }
            list = ry_arena_grow(m->arena, list, count, &capacity, sizeof *list);
            if (!list) {
                return ry_fail_memory(m->error);
            }
            list[count++] = (ry_overwrite){m->model->index[next], m->model->index[old], false};
        }
        at[s + 1] = (uint32_t)count;
    }
    to->overwrites = list;
    to->overwrites_at = at;
    return RYND_OK;
}

/* Times on all cores of the machine, as kernels are chosen. */
static rynd_status list_steps(const modelling *m)
{
    const ry_plan_builder *b = m->b;
    ry_recompute_graph *to = &m->model->graph;
    double *seconds = RY_TAKE(m->arena, double, to->steps);
    uint32_t *first = RY_TAKE(m->arena, uint32_t, to->steps),
             *last = RY_TAKE(m->arena, uint32_t, to->steps);
    if (!seconds || !first || !last) {
        return ry_fail_memory(m->error);
    }
    for (uint32_t s = 0; s < to->steps; s++) {
        const ry_machine *machine = ry_plan_step_device(b->plan, &b->steps[s])->machine;
        const unsigned cores = machine->cores > 0 ? (unsigned)machine->cores : 1;
        const ry_batch_split *split = ry_plan_batch_split_of(b->plan, s);
        const bool turns = split->micro_batches > 1;
        seconds[s] = ry_plan_step_time(b->plan, s, cores, b->plan->network_bytes).all;
        first[s] = turns ? (uint32_t)split->first : s;
        last[s] = turns ? (uint32_t)split->end - 1 : s;
    }
    to->seconds = seconds;
    to->first = first;
    to->last = last;
    return RYND_OK;
}

/* Does a state's next content have memory of its own? (plan/arena_offsets.c) */
static bool has_own_memory(const modelling *m, const ry_plan_state *state)
{
    const ry_graph *graph = m->b->graph;
    const ry_value_id old = graph->inputs[state->input],
                      next = m->uses->root[graph->outputs[state->output]];
    return next != old && !ry_plan_writes_in_place(m->b, m->uses, old, next);
}

/* States, packed weights, outputs, and scratch of all workers. */
static rynd_status count_rest(const modelling *m)
{
    const ry_plan_builder *b = m->b;
    const ry_graph *graph = b->graph;
    size_t scratch = 0, *rest = &m->model->rest;
    bool *counted = RY_TAKE(m->arena, bool, graph->value_count);
    if (!counted) {
        return ry_fail_memory(m->error);
    }
    for (size_t i = 0; i < b->plan->state_count; i++) {
        *rest += ry_tensor_bytes(&b->plan->inputs[b->states[i].input]);
        if (!has_own_memory(m, &b->states[i])) {
            counted[m->uses->root[graph->outputs[b->states[i].output]]] = true;
        }
    }
    for (size_t i = 0; i < graph->output_count; i++) {
        const ry_value_id root = m->uses->root[graph->outputs[i]];
        *rest += m->uses->made[root] && !counted[root] ? ry_plan_value_bytes(b->graph, root) : 0;
        counted[root] = true;
    }
    for (size_t s = 0; s < b->plan->step_count; s++) {
        const size_t own = b->steps[s].prepared.scratch;
        scratch = !ry_plan_falls_back(b->plan, &b->steps[s]) && own > scratch ? own : scratch;
        *rest += ry_aligned(ry_prepared_packed(&b->steps[s].prepared));
    }
    *rest += ry_aligned(scratch) * b->plan->device->workers;
    return RYND_OK;
}

rynd_status ry_recompute_model_create(const ry_plan_builder *b, const ry_value_uses *uses,
                                      ry_arena *arena, ry_recompute_model *model, ry_error *error)
{
    modelling m = {b, uses, arena, model, NULL, error};
    *model = (ry_recompute_model){.graph = {.steps = (uint32_t)b->plan->step_count}};
    const ry_value_id loss = uses->root[b->graph->outputs[0]];
    model->graph.forward = uses->made[loss] ? uses->first[loss] + 1 : 0;
    RY_TRY(list_values(&m));
    keep_small(&m);
    RY_TRY(list_operands(&m));
    RY_TRY(list_readers(&m));
    RY_TRY(list_workspaces(&m));
    RY_TRY(list_overwrites(&m));
    RY_TRY(list_steps(&m));
    return count_rest(&m);
}
