/* SPDX-License-Identifier: Apache-2.0 */
/* Gives every value a home: inputs and outputs in the caller's memory, constants where the file has
 * them, everything else packed into one arena.
 *
 *     arena:  | activations, by lifetime | workspace (the largest of any step) | scratch of worker
 * 0 | worker 1 | ...
 */
#include "base/integer.h"
#include "plan/in_place.h"
#include "plan/memory_map.h"
#include "plan/steps.h"
#include "plan/uses.h"

#include <string.h>

typedef struct placing {
    ry_plan *plan;
    const ry_node_id *node_of_step;
    ry_uses uses;
    ry_spot *spot; /* of roots */
    bool *whole;   /* of roots: all images are there, else those of one micro-batch */
    ry_error *error;
} placing;

static rynd_status add_constant(const placing *p, ry_value_id v)
{
    ry_plan *plan = p->plan;
    const ry_value *value = &plan->graph->values[v];
    size_t bytes = ry_plan_value_bytes(plan, v), size = ry_dtype_size(value->dtype);
    const void *data = value->constant;
    const size_t index = plan->constant_count++;
    p->spot[v] = (ry_spot){.home = RY_HOME_CONSTANT, .index = (uint32_t)index};
    plan->constant_size += bytes;
    if (plan->without_weights) {
        return RYND_OK;
    }
    if ((uintptr_t)data % size != 0) { /* a mapped file may hold it anywhere */
        void *copy = ry_arena_take(&plan->arena, bytes, 1);
        if (!copy) {
            return ry_fail_memory(p->error);
        }
        data = memcpy(copy, data, bytes);
    }
    RY_TRY(plan->device->table->buffer_wrap(plan->device, data, bytes, &plan->constants[index],
                                            p->error));
    if (plan->host_constants) {
        ry_device *host = plan->device->host;
        RY_TRY(host->table->buffer_wrap(host, data, bytes, &plan->host_constants[index], p->error));
    }
    return RYND_OK;
}

/* A constant that a kernel packs is not needed when it runs. */
static bool packed_input(const ry_step *step, int i)
{
    return i < 32 && ry_prepared_packed(&step->prepared) &&
           ((step->prepared.kernel->packed_inputs & ~step->prepared.kernel->kept_inputs) >> i & 1u);
}

/* Constants that a step reads when it runs get a buffer, what a step makes a place in the arena. */
static rynd_status place_values(const placing *p)
{
    const ry_plan *plan = p->plan;
    for (size_t s = 0; s < plan->step_count; s++) {
        const ry_node *node = &plan->graph->nodes[p->node_of_step[s]];
        for (int i = 0; i < node->inputs; i++) {
            const ry_value_id root =
                node->in[i] == RY_NO_VALUE ? RY_NO_VALUE : p->uses.root[node->in[i]];
            if (root != RY_NO_VALUE && !packed_input(&plan->steps[s], i) &&
                plan->graph->values[root].constant && p->spot[root].home == RY_HOME_NONE) {
                RY_TRY(add_constant(p, root));
            }
        }
        for (int i = 0; i < node->outputs; i++) {
            if (node->out[i] != RY_NO_VALUE) {
                p->spot[node->out[i]].home = RY_HOME_ARENA;
            }
        }
    }
    return RYND_OK;
}

/* What is made and read in one split is there for one micro-batch. Else it is whole, and keeps its
 * place as long as a split that touches it runs in micro-batches. */
static ry_lifetime lifetime_of(const placing *p, ry_value_id v)
{
    const ry_batch_split *first = ry_plan_batch_split_of(p->plan, p->uses.first[v]),
                         *last = ry_plan_batch_split_of(p->plan, p->uses.last[v]);
    const size_t bytes = ry_plan_value_bytes(p->plan, v);
    ry_lifetime life = {.size = bytes, .first = p->uses.first[v], .last = p->uses.last[v]};
    p->whole[v] = first != last;
    if (first == last) {
        life.size = bytes / (size_t)first->micro_batches;
        return life;
    }
    life.first = first->micro_batches > 1 ? (uint32_t)first->first : life.first;
    life.last = last->micro_batches > 1 ? (uint32_t)(last->end - 1) : life.last;
    return life;
}

/* The content of the next run goes where the old is, if that can be. A step that makes it for two
 * states writes it for the first. */
static rynd_status place_states(const placing *p)
{
    ry_plan *plan = p->plan;
    const ry_graph *graph = plan->graph;
    for (size_t i = 0; i < plan->state_count; i++) {
        ry_plan_state *state = &plan->states[i];
        const ry_value_id old = graph->inputs[state->input],
                          next = p->uses.root[graph->outputs[state->output]];
        plan->outputs[state->output].state = true;
        if (next == old) {
            state->in_place = true; /* it stays as it is */
            continue;
        }
        if (p->spot[next].home == RY_HOME_INPUT && !p->uses.made[next]) {
            return ry_fail(p->error, RYND_ERROR_UNSUPPORTED,
                           "state '%s' becomes the input '%s': only what a node computes can be "
                           "kept",
                           graph->values[old].name, graph->values[next].name);
        }
        if (p->spot[next].home == RY_HOME_ARENA &&
            ry_plan_writes_in_place(plan, &p->uses, p->node_of_step, old, next)) {
            state->in_place = true;
            p->spot[next] = p->spot[old];
        }
    }
    return RYND_OK;
}

/* Inputs are with the caller; a computed output goes straight to the buffer of the first output
 * that names it. */
static rynd_status place_ends(const placing *p)
{
    const ry_graph *graph = p->plan->graph;
    for (size_t i = 0; i < graph->input_count; i++) {
        ry_value_id v = graph->inputs[i];
        if (!graph->values[v].constant) {
            p->spot[v] = (ry_spot){.home = RY_HOME_INPUT, .index = (uint32_t)i};
        }
    }
    RY_TRY(place_states(p));
    size_t next = 0;
    for (size_t i = 0; i < p->plan->output_count; i++) {
        ry_plan_output *output = &p->plan->outputs[i];
        if (output->later) {
            continue;
        }
        ry_value_id id = graph->outputs[next++], root = p->uses.root[id];
        if (p->spot[root].home == RY_HOME_ARENA) {
            p->spot[root] = (ry_spot){.home = RY_HOME_OUTPUT, .index = (uint32_t)i};
        } else if (graph->values[root].constant && p->spot[root].home == RY_HOME_NONE) {
            RY_TRY(add_constant(p, root));
        }
        output->spot = p->spot[root];
    }
    return RYND_OK;
}

static rynd_status fail_size(const placing *p, const char *what)
{
    return ry_fail(p->error, RYND_ERROR_OUT_OF_MEMORY,
                   "out of memory: %s have more bytes than there are addresses", what);
}

static void note_activations(const placing *p, const ry_lifetime *life)
{
    for (uint32_t s = life->first; s <= life->last; s++) {
        p->plan->steps[s].activations += life->size;
    }
}

/* Offsets of activations; the scratch arena is the caller's. */
static rynd_status lay_out_activations(const placing *p, ry_arena *scratch, size_t *total)
{
    const size_t count = p->plan->graph->value_count;
    size_t used = 0;
    ry_lifetime *items = RY_TAKE(scratch, ry_lifetime, count);
    ry_value_id *value = RY_TAKE(scratch, ry_value_id, count);
    if (!items || !value) {
        return ry_fail_memory(p->error);
    }
    for (ry_value_id v = 0; v < count; v++) {
        if (p->uses.root[v] == v && p->spot[v].home == RY_HOME_ARENA) {
            value[used] = v;
            items[used++] = lifetime_of(p, v);
        }
    }
    if (!ry_memory_map(items, used, scratch, total)) {
        return ry_fail_memory(p->error);
    }
    for (size_t i = 0; i < used; i++) {
        p->spot[value[i]].offset = items[i].offset;
        note_activations(p, &items[i]);
    }
    return *total == SIZE_MAX ? fail_size(p, "values that are needed at once") : RYND_OK;
}

static rynd_status lay_out_arena(const placing *p)
{
    ry_plan *plan = p->plan;
    size_t workspace = 0, scratch = 0, scratches;
    ry_arena arena;
    ry_arena_init(&arena, plan->arena.allocator);
    const rynd_status status = lay_out_activations(p, &arena, &plan->workspace_offset);
    ry_arena_free(&arena);
    RY_TRY(status);
    for (size_t s = 0; s < plan->step_count; s++) {
        const ry_prepared *prepared = &plan->steps[s].prepared;
        if (ry_plan_falls_back(plan, &plan->steps[s])) {
            continue;
        }
        const size_t own = ry_prepared_workspace(prepared);
        workspace = own > workspace ? own : workspace;
        scratch = prepared->scratch > scratch ? prepared->scratch : scratch;
    }
    if (!ry_mul_size(ry_aligned(scratch), plan->device->workers, &scratches) ||
        !ry_add_size(plan->workspace_offset, ry_aligned(workspace), &plan->scratch_offset) ||
        !ry_add_size(plan->scratch_offset, scratches, &plan->arena_size)) {
        return fail_size(p, "activations, workspace and scratch");
    }
    return RYND_OK;
}

/* Of a value that is whole, from the images of one micro-batch to those of the next. Negative ones
 * wrap, as offsets do that they are added to. */
static size_t share_of(const placing *p, ry_value_id id, int64_t micro_batches)
{
    const ry_tensor *given = p->plan->layouts.given[id];
    return given ? (size_t)(given->stride[0] * (given->dim[0] / micro_batches)) *
                       ry_dtype_size((ry_dtype)given->dtype)
                 : ry_plan_value_bytes(p->plan, id) / (size_t)micro_batches;
}

static ry_spot spot_of(const placing *p, ry_value_id id, int64_t micro_batches)
{
    if (id == RY_NO_VALUE) {
        return (ry_spot){0};
    }
    const ry_value_id root = p->uses.root[id];
    ry_spot spot = p->spot[root];
    if (micro_batches > 1 && spot.home != RY_HOME_CONSTANT &&
        (spot.home != RY_HOME_ARENA || p->whole[root])) {
        spot.share = share_of(p, id, micro_batches);
    }
    return spot;
}

static rynd_status place_steps(const placing *p)
{
    ry_plan *plan = p->plan;
    for (size_t s = 0; s < plan->step_count; s++) {
        ry_step *step = &plan->steps[s];
        const ry_node *node = &plan->graph->nodes[p->node_of_step[s]];
        const int64_t micro_batches = ry_plan_batch_split_of(plan, s)->micro_batches;
        step->in = RY_TAKE(&plan->arena, ry_spot, node->inputs);
        step->out = RY_TAKE(&plan->arena, ry_spot, node->outputs);
        if (!step->in || !step->out) {
            return ry_fail_memory(p->error);
        }
        for (int i = 0; i < node->inputs; i++) {
            step->in[i] =
                packed_input(step, i) ? (ry_spot){0} : spot_of(p, node->in[i], micro_batches);
        }
        for (int i = 0; i < node->outputs; i++) {
            step->out[i] = spot_of(p, node->out[i], micro_batches);
        }
        if (ry_op_get_class(node->op) == RY_CLASS_BOUNDED) {
            step->actual_row = (int64_t)plan->bounded_count;
            plan->bounded_count += (size_t)node->outputs;
        }
        size_t *packed =
            ry_plan_falls_back(plan, step) ? &plan->host_packed_size : &plan->packed_size;
        step->packed_offset = *packed;
        if (!ry_add_size(*packed, ry_aligned(ry_prepared_packed(&step->prepared)), packed)) {
            return fail_size(p, "packed weights");
        }
    }
    return RYND_OK;
}

/* Where the session will find a bounded output's extent. */
static void note_actual_rows(const placing *p)
{
    const ry_plan *plan = p->plan;
    size_t next = 0;
    for (size_t i = 0; i < plan->output_count; i++) {
        ry_plan_output *output = &plan->outputs[i];
        if (output->later) {
            continue;
        }
        const ry_value_id id = plan->graph->outputs[next++];
        const uint32_t step = p->uses.first[id];
        const ry_node *node =
            output->bounded && p->uses.made[id] ? &plan->graph->nodes[p->node_of_step[step]] : NULL;
        for (int o = 0; node && o < node->outputs; o++) {
            if (node->out[o] == id) {
                output->actual = (uint32_t)(plan->steps[step].actual_row + o);
            }
        }
    }
}

rynd_status ry_plan_place(ry_plan *plan, const ry_node_id *node_of_step, ry_error *error)
{
    size_t count = plan->graph->value_count;
    placing p = {.plan = plan, .node_of_step = node_of_step, .error = error};
    p.spot = RY_TAKE(&plan->arena, ry_spot, count);
    p.whole = RY_TAKE(&plan->arena, bool, count);
    plan->constants = RY_TAKE(&plan->arena, ry_buffer *, count);
    if (plan->device->host != plan->device) {
        plan->host_constants = RY_TAKE(&plan->arena, ry_buffer *, count);
    }
    if (!p.spot || !p.whole || !plan->constants ||
        (plan->device->host != plan->device && !plan->host_constants)) {
        return ry_fail_memory(error);
    }
    RY_TRY(ry_plan_find_uses(plan, node_of_step, &p.uses, error));
    RY_TRY(place_values(&p));
    RY_TRY(place_ends(&p));
    RY_TRY(lay_out_arena(&p));
    RY_TRY(place_steps(&p));
    note_actual_rows(&p);
    return RYND_OK;
}
