/* SPDX-License-Identifier: Apache-2.0 */
/* Gives every value a home: inputs and outputs in the caller's memory, constants where the file has them, everything else packed into one arena.
 *
 *     arena:  | activations, by lifetime | workspace (the largest of any step) | scratch of worker 0 | worker 1 | ...
 */
#include "base/whole.h"
#include "plan/memory_map.h"
#include "plan/steps.h"

#include <string.h>

typedef struct placing {
    ry_plan *plan;
    const ry_node_id *node_of_step;
    ry_value_id *root; /* the value whose memory a view shares; itself otherwise */
    ry_spot *spot;     /* of roots */
    uint32_t *first, *last;
    ry_error *error;
} placing;

static size_t value_bytes(const ry_graph *graph, ry_value_id id)
{
    return (size_t)ry_shape_bytes(&graph->values[id].shape, graph->values[id].dtype);
}

static void find_roots(const placing *p)
{
    const ry_graph *graph = p->plan->graph;
    for (ry_value_id v = 0; v < graph->value_count; v++) {
        p->root[v] = v;
    }
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        const ry_node *node = &graph->nodes[n];
        if (node->op != RY_OP_dead && ry_op_get_class(node->op) == RY_CLASS_VIEW) {
            p->root[node->out[0]] = p->root[node->in[0]];
        }
    }
}

static rynd_status add_constant(const placing *p, ry_value_id v)
{
    ry_plan *plan = p->plan;
    const ry_value *value = &plan->graph->values[v];
    size_t bytes = value_bytes(plan->graph, v), size = ry_dtype_size(value->dtype);
    const void *data = value->constant;
    if ((uintptr_t)data % size != 0) { /* a mapped file may hold it anywhere */
        void *copy = ry_arena_take(&plan->arena, bytes, 1);
        if (!copy) {
            return ry_fail_memory(p->error);
        }
        data = memcpy(copy, data, bytes);
    }
    RY_TRY(plan->device->table->buffer_wrap(plan->device, data, bytes, &plan->constants[plan->constant_count], p->error));
    p->spot[v] = (ry_spot){RY_HOME_CONSTANT, (uint32_t)plan->constant_count, 0};
    plan->constant_count++;
    plan->constant_size += bytes;
    return RYND_OK;
}

/* A constant that a kernel packs is not needed when it runs. */
static bool packed_input(const ry_step *step, int i)
{
    return i < 32 && step->prepared.packed && ((step->kernel->constant_inputs & ~step->kernel->kept_inputs) >> i & 1u);
}

static rynd_status note_use(const placing *p, ry_value_id id, uint32_t step)
{
    if (id == RY_NO_VALUE) {
        return RYND_OK;
    }
    ry_value_id root = p->root[id];
    p->last[root] = step > p->last[root] ? step : p->last[root];
    if (p->plan->graph->values[root].constant && p->spot[root].home == RY_HOME_NONE) {
        return add_constant(p, root);
    }
    return RYND_OK;
}

static rynd_status note_uses(const placing *p)
{
    const ry_plan *plan = p->plan;
    for (size_t s = 0; s < plan->step_count; s++) {
        const ry_node *node = &plan->graph->nodes[p->node_of_step[s]];
        for (int i = 0; i < node->inputs; i++) {
            if (!packed_input(&plan->steps[s], i)) {
                RY_TRY(note_use(p, node->in[i], (uint32_t)s));
            }
        }
        for (int i = 0; i < node->outputs; i++) {
            if (node->out[i] != RY_NO_VALUE) {
                p->first[node->out[i]] = p->last[node->out[i]] = (uint32_t)s;
                p->spot[node->out[i]].home = RY_HOME_ARENA;
            }
        }
    }
    return RYND_OK;
}

/* Inputs lie with the caller; a computed output goes straight to the buffer of the first output that names it. */
static rynd_status place_ends(const placing *p)
{
    const ry_graph *graph = p->plan->graph;
    for (size_t i = 0; i < graph->input_count; i++) {
        ry_value_id v = graph->inputs[i];
        if (!graph->values[v].constant) {
            p->spot[v] = (ry_spot){RY_HOME_INPUT, (uint32_t)i, 0};
        }
    }
    size_t next = 0;
    for (size_t i = 0; i < p->plan->output_count; i++) {
        ry_plan_output *output = &p->plan->outputs[i];
        if (output->later) {
            continue;
        }
        ry_value_id id = graph->outputs[next++], root = p->root[id];
        if (p->spot[root].home == RY_HOME_ARENA) {
            p->spot[root] = (ry_spot){RY_HOME_OUTPUT, (uint32_t)i, 0};
        } else if (graph->values[root].constant && p->spot[root].home == RY_HOME_NONE) {
            RY_TRY(add_constant(p, root));
        }
        output->spot = p->spot[root];
    }
    return RYND_OK;
}

static rynd_status lay_out_arena(const placing *p)
{
    ry_plan *plan = p->plan;
    size_t count = plan->graph->value_count, used = 0;
    ry_lifetime *items = RY_TAKE(&plan->arena, ry_lifetime, count);
    ry_value_id *value = RY_TAKE(&plan->arena, ry_value_id, count);
    uint32_t *order = RY_TAKE(&plan->arena, uint32_t, count);
    bool *done = RY_TAKE(&plan->arena, bool, count);
    if (!items || !value || !order || !done) {
        return ry_fail_memory(p->error);
    }
    for (ry_value_id v = 0; v < count; v++) {
        if (p->root[v] == v && p->spot[v].home == RY_HOME_ARENA) {
            value[used] = v;
            items[used++] = (ry_lifetime){value_bytes(plan->graph, v), p->first[v], p->last[v], 0};
        }
    }
    size_t activations = ry_memory_map(items, used, order, done), workspace = 0, scratch = 0;
    for (size_t i = 0; i < used; i++) {
        p->spot[value[i]].offset = items[i].offset;
    }
    for (size_t s = 0; s < plan->step_count; s++) {
        const ry_prepared *prepared = &plan->steps[s].prepared;
        workspace = prepared->workspace > workspace ? prepared->workspace : workspace;
        scratch = prepared->scratch > scratch ? prepared->scratch : scratch;
    }
    plan->workspace_offset = activations;
    plan->scratch_offset = activations + ry_aligned(workspace);
    plan->arena_size = plan->scratch_offset + ry_aligned(scratch) * plan->device->workers;
    return RYND_OK;
}

static ry_spot spot_of(const placing *p, ry_value_id id)
{
    return id == RY_NO_VALUE ? (ry_spot){0} : p->spot[p->root[id]];
}

static rynd_status place_steps(const placing *p)
{
    ry_plan *plan = p->plan;
    for (size_t s = 0; s < plan->step_count; s++) {
        ry_step *step = &plan->steps[s];
        const ry_node *node = &plan->graph->nodes[p->node_of_step[s]];
        step->in = RY_TAKE(&plan->arena, ry_spot, node->inputs);
        step->out = RY_TAKE(&plan->arena, ry_spot, node->outputs);
        if (!step->in || !step->out) {
            return ry_fail_memory(p->error);
        }
        for (int i = 0; i < node->inputs; i++) {
            step->in[i] = packed_input(step, i) ? (ry_spot){0} : spot_of(p, node->in[i]);
        }
        for (int i = 0; i < node->outputs; i++) {
            step->out[i] = spot_of(p, node->out[i]);
        }
        if (ry_op_get_class(node->op) == RY_CLASS_BOUNDED) {
            step->actual_row = (int64_t)plan->bounded_count;
            plan->bounded_count += (size_t)node->outputs;
        }
        step->packed_offset = plan->packed_size;
        plan->packed_size += ry_aligned(step->prepared.packed);
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
        ry_value_id id = plan->graph->outputs[next++];
        for (size_t s = 0; output->bounded && s < plan->step_count; s++) {
            const ry_node *node = &plan->graph->nodes[p->node_of_step[s]];
            for (int o = 0; o < node->outputs; o++) {
                if (node->out[o] == id) {
                    output->actual = (uint32_t)(plan->steps[s].actual_row + o);
                }
            }
        }
    }
}

rynd_status ry_plan_place(ry_plan *plan, const ry_node_id *node_of_step, ry_error *error)
{
    size_t count = plan->graph->value_count;
    placing p = {.plan = plan, .node_of_step = node_of_step, .error = error};
    p.root = RY_TAKE(&plan->arena, ry_value_id, count);
    p.spot = RY_TAKE(&plan->arena, ry_spot, count);
    p.first = RY_TAKE(&plan->arena, uint32_t, count);
    p.last = RY_TAKE(&plan->arena, uint32_t, count);
    plan->constants = RY_TAKE(&plan->arena, ry_buffer *, count);
    if (!p.root || !p.spot || !p.first || !p.last || !plan->constants) {
        return ry_fail_memory(error);
    }
    find_roots(&p);
    RY_TRY(note_uses(&p));
    RY_TRY(place_ends(&p));
    RY_TRY(lay_out_arena(&p));
    RY_TRY(place_steps(&p));
    note_actual_rows(&p);
    return RYND_OK;
}
