/* SPDX-License-Identifier: Apache-2.0 */
/* Gives every value a home: inputs and outputs in the caller's memory, constants where the file has
 * them, everything else packed into one arena.
 *
 *     arena:  | activations and workspaces, by lifetime | scratch of worker 0 | worker 1 | ... |
 */
#include "plan/arena_offsets.h"

#include "base/integer.h"
#include "graph/derive.h"
#include "plan/arena_map.h"
#include "plan/in_place.h"
#include "plan/value_uses.h"
#include "plan/weights.h"

#include <string.h>

typedef struct placing {
    ry_plan_builder *b;
    ry_value_uses uses;
    ry_location *location; /* per root */
    bool *whole;           /* per root: holds the whole batch, else one micro-batch */
    ry_error *error;
} placing;

/* A constant as it is brought to a device. */
typedef struct constant {
    ry_device *device;
    const void *data;
    size_t bytes;
} constant;

static rynd_status wrap(void *context, const ry_lot *own, ry_buffer **buffer, ry_error *error)
{
    const constant *c = context;
    (void)own; /* it has this thing alone */
    return c->device->table->buffer_wrap(c->device, c->data, c->bytes, buffer, error);
}

static rynd_status share_constant(const placing *p, ry_text *key, constant *c, size_t index)
{
    ry_plan_weights *weights = &p->b->plan->weights;
    ry_kept_thing thing = {.key = key->at, .key_size = key->used, .size = c->bytes};
    const ry_lot_maker maker = {c->device, wrap, c};
    RY_TRY(ry_weights_share(weights->shared, &thing, 1, &maker, p->error));
    weights->constants[index] = ry_packed_buffer(thing.lot);
    weights->constant_is_shared[index] = true;
    weights->lots[weights->lot_count++] = thing.lot;
    return RYND_OK;
}

/* Devices with memory of their own get a copy: plans of a model share it. */
static rynd_status place_constant(const placing *p, ry_value_id v, constant *c, size_t index)
{
    ry_plan_builder *b = p->b;
    ry_plan_weights *weights = &b->plan->weights;
    if (!weights->shared || c->device->host_memory) {
        return wrap(c, NULL, &weights->constants[index], p->error);
    }
    ry_arena scratch;
    ry_arena_init(&scratch, b->plan->arena.allocator);
    ry_text key = {.arena = &scratch};
    ry_text_add(&key, "constant ");
    ry_text_bytes(&key, &c->device, sizeof c->device);
    const bool shared = ry_graph_add_identity(b->graph, v, &key);
    const rynd_status status = key.failed ? ry_fail_memory(p->error)
                               : shared   ? share_constant(p, &key, c, index)
                                          : wrap(c, NULL, &weights->constants[index], p->error);
    ry_arena_free(&scratch);
    return status;
}

static rynd_status add_constant(const placing *p, ry_value_id v)
{
    ry_plan_builder *b = p->b;
    ry_plan_weights *weights = &b->plan->weights;
    const size_t bytes = ry_plan_value_bytes(b->graph, v);
    const size_t index = weights->constant_count++;
    p->location[v] = (ry_location){.storage = RY_STORAGE_CONSTANT, .index = (uint32_t)index};
    weights->constant_size += bytes;
    if (b->plan->without_weights) {
        return RYND_OK;
    }
    const void *data = ry_graph_align_constant(b->graph, v);
    if (!data) {
        return ry_fail_memory(p->error);
    }
    constant c = {b->plan->device, data, bytes};
    RY_TRY(place_constant(p, v, &c, index));
    if (weights->host_constants) {
        ry_device *host = b->plan->device->host;
        RY_TRY(
            host->table->buffer_wrap(host, data, bytes, &weights->host_constants[index], p->error));
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
    const ry_plan_builder *b = p->b;
    for (size_t s = 0; s < b->plan->step_count; s++) {
        const ry_node *node = ry_plan_node(b, s);
        for (int i = 0; i < node->inputs; i++) {
            const ry_value_id root =
                node->in[i] == RY_NO_VALUE ? RY_NO_VALUE : p->uses.root[node->in[i]];
            if (root != RY_NO_VALUE && !packed_input(&b->steps[s], i) &&
                b->graph->values[root].constant && p->location[root].storage == RY_STORAGE_NONE) {
                RY_TRY(add_constant(p, root));
            }
        }
        for (int i = 0; i < node->outputs; i++) {
            if (node->out[i] != RY_NO_VALUE) {
                p->location[node->out[i]].storage = RY_STORAGE_ARENA;
            }
        }
    }
    return RYND_OK;
}

/* A value that one split makes and reads holds one micro-batch. Other values hold the whole batch,
 * and live as long as a split that touches them runs in micro-batches. */
static ry_lifetime lifetime_of(const placing *p, ry_value_id v)
{
    const ry_batch_split *first = ry_plan_batch_split_of(p->b->plan, p->uses.first[v]),
                         *last = ry_plan_batch_split_of(p->b->plan, p->uses.last[v]);
    const size_t bytes = ry_plan_value_bytes(p->b->graph, v);
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
    ry_plan_builder *b = p->b;
    const ry_graph *graph = b->graph;
    for (size_t i = 0; i < b->plan->state_count; i++) {
        ry_plan_state *state = &b->states[i];
        const ry_value_id old = graph->inputs[state->input],
                          next = p->uses.root[graph->outputs[state->output]];
        b->outputs[state->output].state = true;
        if (next == old) {
            state->in_place = true; /* it stays as it is */
            continue;
        }
        if (p->location[next].storage == RY_STORAGE_INPUT && !p->uses.made[next]) {
            return ry_fail(p->error, RYND_ERROR_UNSUPPORTED,
                           "state '%s' becomes the input '%s': only what a node computes can be "
                           "kept",
                           graph->values[old].name, graph->values[next].name);
        }
        if (p->location[next].storage == RY_STORAGE_ARENA &&
            ry_plan_writes_in_place(b, &p->uses, old, next)) {
            state->in_place = true;
            p->location[next] = p->location[old];
        }
    }
    return RYND_OK;
}

/* Inputs are with the caller; a computed output goes straight to the buffer of the first output
 * that names it. */
static rynd_status place_ends(const placing *p)
{
    const ry_graph *graph = p->b->graph;
    for (size_t i = 0; i < graph->input_count; i++) {
        ry_value_id v = graph->inputs[i];
        if (!graph->values[v].constant) {
            p->location[v] = (ry_location){.storage = RY_STORAGE_INPUT, .index = (uint32_t)i};
        }
    }
    RY_TRY(place_states(p));
    size_t next = 0;
    for (size_t i = 0; i < p->b->plan->output_count; i++) {
        ry_plan_output *output = &p->b->outputs[i];
        if (output->later) {
            continue;
        }
        ry_value_id id = graph->outputs[next++], root = p->uses.root[id];
        if (p->location[root].storage == RY_STORAGE_ARENA) {
            p->location[root] = (ry_location){.storage = RY_STORAGE_OUTPUT, .index = (uint32_t)i};
        } else if (graph->values[root].constant && p->location[root].storage == RY_STORAGE_NONE) {
            RY_TRY(add_constant(p, root));
        }
        output->location = p->location[root];
    }
    return RYND_OK;
}

static rynd_status fail_size(const placing *p, const char *what)
{
    return ry_fail(p->error, RYND_ERROR_OUT_OF_MEMORY,
                   "out of memory: %s have more bytes than there are addresses", what);
}

/* Values and workspaces of the arena, in the order of the steps that make them. */
typedef struct contents {
    ry_arena scratch;
    ry_arena_content all;
    ry_value_id *value; /* per item of all.values */
    uint32_t *index;    /* per root: index in all.values; UINT32_MAX: not in the arena */
    size_t *step;       /* per item of all.workspaces */
    size_t overwrite_capacity;
} contents;

static bool add_overwrite(contents *c, ry_value_id next, ry_value_id old)
{
    ry_overwrite *list = ry_arena_grow(&c->scratch, c->all.overwrites, c->all.overwrite_count,
                                       &c->overwrite_capacity, sizeof *list);
    if (!list) {
        return false;
    }
    c->all.overwrites = list;
    list[c->all.overwrite_count++] = (ry_overwrite){c->index[next], c->index[old], false};
    return true;
}

/* The places that a step's output may take: of what is read for the last time there. */
static bool list_overwrites(const placing *p, contents *c, size_t step, int output)
{
    const ry_node *node = ry_plan_node(p->b, step);
    for (int i = 0; i < node->inputs; i++) {
        const ry_value_id old =
            node->in[i] == RY_NO_VALUE ? RY_NO_VALUE : p->uses.root[node->in[i]];
        if (old != RY_NO_VALUE && c->index[old] != UINT32_MAX && p->uses.last[old] == step &&
            ry_plan_may_overwrite(p->b, &p->uses, step, output, old) &&
            !add_overwrite(c, node->out[output], old)) {
            return false;
        }
    }
    return true;
}

static rynd_status list_contents(const placing *p, contents *c)
{
    const ry_plan_builder *b = p->b;
    for (size_t s = 0; s < b->plan->step_count; s++) {
        const ry_step *step = &b->steps[s];
        const ry_node *node = ry_plan_node(b, s);
        for (int o = 0; o < node->outputs; o++) {
            const ry_value_id v = node->out[o];
            if (v == RY_NO_VALUE || p->location[v].storage != RY_STORAGE_ARENA) {
                continue;
            }
            c->value[c->all.value_count] = v;
            c->index[v] = (uint32_t)c->all.value_count;
            c->all.values[c->all.value_count++] = lifetime_of(p, v);
            if (!list_overwrites(p, c, s, o)) {
                return ry_fail_memory(p->error);
            }
        }
        if (!ry_plan_falls_back(b->plan, step) && ry_prepared_workspace(&step->prepared) > 0) {
            c->step[c->all.workspace_count] = s;
            c->all.workspaces[c->all.workspace_count++] =
                (ry_lifetime){.size = ry_prepared_workspace(&step->prepared),
                              .first = (uint32_t)s,
                              .last = (uint32_t)s};
        }
    }
    return RYND_OK;
}

/* Bytes of values while each step runs: what overwrites another is there from the next step on. */
static void note_activations(const placing *p, const contents *c)
{
    for (size_t i = 0; i < c->all.value_count; i++) {
        const ry_lifetime *life = &c->all.values[i];
        for (uint32_t s = life->first; s <= life->last; s++) {
            p->b->steps[s].activations += life->size;
        }
    }
    for (size_t i = 0; i < c->all.overwrite_count; i++) {
        const ry_overwrite *o = &c->all.overwrites[i];
        if (o->done) {
            p->b->steps[c->all.values[o->next].first].activations -= c->all.values[o->next].size;
        }
    }
}

static rynd_status lay_out_contents(const placing *p, contents *c, size_t *total)
{
    const size_t count = p->b->graph->value_count;
    ry_plan_builder *b = p->b;
    c->all.values = RY_TAKE(&c->scratch, ry_lifetime, count);
    c->value = RY_TAKE(&c->scratch, ry_value_id, count);
    c->index = RY_TAKE(&c->scratch, uint32_t, count);
    c->all.workspaces = RY_TAKE(&c->scratch, ry_lifetime, b->plan->step_count);
    c->step = RY_TAKE(&c->scratch, size_t, b->plan->step_count);
    if (!c->all.values || !c->value || !c->index || !c->all.workspaces || !c->step) {
        return ry_fail_memory(p->error);
    }
    memset(c->index, 0xff, count * sizeof *c->index);
    RY_TRY(list_contents(p, c));
    if (!ry_arena_map(&c->all, &c->scratch, total)) {
        return ry_fail_memory(p->error);
    }
    if (*total == SIZE_MAX) {
        return fail_size(p, "values and workspaces that are needed at once");
    }
    for (size_t i = 0; i < c->all.value_count; i++) {
        const size_t end = c->all.values[i].offset + ry_aligned(c->all.values[i].size);
        p->location[c->value[i]].offset = c->all.values[i].offset;
        b->plan->values_size = end > b->plan->values_size ? end : b->plan->values_size;
    }
    for (size_t i = 0; i < c->all.workspace_count; i++) {
        b->steps[c->step[i]].workspace_offset = c->all.workspaces[i].offset;
    }
    note_activations(p, c);
    return RYND_OK;
}

static rynd_status lay_out_arena(const placing *p)
{
    ry_plan_builder *b = p->b;
    size_t scratch = 0, scratches;
    contents c = {.value = NULL};
    ry_arena_init(&c.scratch, b->plan->arena.allocator);
    const rynd_status status = lay_out_contents(p, &c, &b->plan->scratch_offset);
    ry_arena_free(&c.scratch);
    RY_TRY(status);
    for (size_t s = 0; s < b->plan->step_count; s++) {
        const size_t own = b->steps[s].prepared.scratch;
        scratch = !ry_plan_falls_back(b->plan, &b->steps[s]) && own > scratch ? own : scratch;
    }
    if (!ry_mul_size(ry_aligned(scratch), b->plan->device->workers, &scratches) ||
        !ry_add_size(b->plan->scratch_offset, scratches, &b->plan->arena_size)) {
        return fail_size(p, "activations, workspace and scratch");
    }
    return RYND_OK;
}

/* Bytes between the shares of a whole value, along the dim in which the step's operand has a part
 * only. 0: every share reads all of the value. Negative strides wrap, as the offsets do that they
 * are added to. */
static size_t share_of(const placing *p, ry_value_id id, const ry_tensor *operand)
{
    const ry_tensor all = ry_value_description(p->b->graph, id, &p->b->layouts);
    for (int d = 0; d < all.rank; d++) {
        if (operand->dim[d] != all.dim[d]) {
            return (size_t)(all.stride[d] * operand->dim[d]) * ry_dtype_size((ry_dtype)all.dtype);
        }
    }
    return 0;
}

static ry_location location_of(const placing *p, ry_value_id id, const ry_tensor *operand,
                               int64_t micro_batches)
{
    if (id == RY_NO_VALUE) {
        return (ry_location){0};
    }
    const ry_value_id root = p->uses.root[id];
    ry_location location = p->location[root];
    if (micro_batches > 1 && location.storage != RY_STORAGE_CONSTANT &&
        (location.storage != RY_STORAGE_ARENA || p->whole[root])) {
        location.share = share_of(p, id, operand);
    }
    return location;
}

static rynd_status place_steps(const placing *p)
{
    ry_plan_builder *b = p->b;
    for (size_t s = 0; s < b->plan->step_count; s++) {
        ry_step *step = &b->steps[s];
        const ry_node *node = ry_plan_node(b, s);
        const int64_t micro_batches = ry_plan_batch_split_of(b->plan, s)->micro_batches;
        step->in = RY_TAKE(&b->plan->arena, ry_location, node->inputs);
        step->out = RY_TAKE(&b->plan->arena, ry_location, node->outputs);
        if (!step->in || !step->out) {
            return ry_fail_memory(p->error);
        }
        for (int i = 0; i < node->inputs; i++) {
            step->in[i] = packed_input(step, i)
                              ? (ry_location){0}
                              : location_of(p, node->in[i], &step->problem.in[i], micro_batches);
        }
        for (int i = 0; i < node->outputs; i++) {
            step->out[i] = location_of(p, node->out[i], &step->problem.out[i], micro_batches);
        }
        if (ry_op_get_class(node->op) == RY_CLASS_BOUNDED) {
            step->actual_row = (int64_t)b->plan->bounded_count;
            b->plan->bounded_count += (size_t)node->outputs;
        }
        size_t *packed = ry_plan_falls_back(b->plan, step) ? &b->plan->weights.host_packed_size
                                                           : &b->plan->weights.packed_size;
        if (!ry_add_size(*packed, ry_aligned(ry_prepared_packed(&step->prepared)), packed)) {
            return fail_size(p, "packed weights");
        }
    }
    return RYND_OK;
}

/* Where the session will find a bounded output's extent. */
static void note_actual_rows(const placing *p)
{
    const ry_plan_builder *b = p->b;
    size_t next = 0;
    for (size_t i = 0; i < b->plan->output_count; i++) {
        ry_plan_output *output = &b->outputs[i];
        if (output->later) {
            continue;
        }
        const ry_value_id id = b->graph->outputs[next++];
        const uint32_t step = p->uses.first[id];
        const ry_node *node = output->bounded && p->uses.made[id] ? ry_plan_node(b, step) : NULL;
        for (int o = 0; node && o < node->outputs; o++) {
            if (node->out[o] == id) {
                output->actual = (uint32_t)(b->steps[step].actual_row + o);
            }
        }
    }
}

rynd_status ry_plan_place(ry_plan_builder *b, ry_error *error)
{
    size_t count = b->graph->value_count;
    placing p = {.b = b, .error = error};
    p.location = RY_TAKE(&b->plan->arena, ry_location, count);
    p.whole = RY_TAKE(&b->plan->arena, bool, count);
    b->plan->weights.constants = RY_TAKE(&b->plan->arena, ry_buffer *, count);
    b->plan->weights.constant_is_shared = RY_TAKE(&b->plan->arena, bool, count);
    b->plan->weights.lots = RY_TAKE(&b->plan->arena, ry_lot *, count + b->plan->step_count);
    if (b->plan->device->host != b->plan->device) {
        b->plan->weights.host_constants = RY_TAKE(&b->plan->arena, ry_buffer *, count);
    }
    if (!p.location || !p.whole || !b->plan->weights.constants ||
        !b->plan->weights.constant_is_shared || !b->plan->weights.lots ||
        (b->plan->device->host != b->plan->device && !b->plan->weights.host_constants)) {
        return ry_fail_memory(error);
    }
    RY_TRY(ry_plan_find_uses(b, &p.uses, error));
    RY_TRY(place_values(&p));
    RY_TRY(place_ends(&p));
    RY_TRY(lay_out_arena(&p));
    RY_TRY(place_steps(&p));
    note_actual_rows(&p);
    return RYND_OK;
}
