/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a plan: bind, fold, split, rewrite, fuse, lay out, choose, recompute, place,
 * pack. */
#include "plan/make_plan.h"

#include "base/clock.h"
#include "graph/graph_names.h"
#include "graph/quantise.h"
#include "graph/rewrite.h"
#include "graph/split_recurrent.h"
#include "plan/arena_offsets.h"
#include "plan/bound.h"
#include "plan/choose_form.h"
#include "plan/fold.h"
#include "plan/fold_cost.h"
#include "plan/fuse_separable.h"
#include "plan/fuse_shuffle.h"
#include "plan/layouts.h"
#include "plan/make_steps.h"
#include "plan/micro_batches.h"
#include "plan/pack.h"
#include "plan/parts.h"
#include "plan/product_rows.h"
#include "plan/recompute.h"
#include "plan/reuse.h"
#include "plan/split.h"
#include "predict/settings.h"

#include <string.h>

bool ry_plan_reads_content(const ry_graph *graph, ry_value_id input, const ry_tensor *tensor)
{
    bool reads = ry_tensor_count(tensor) <= RY_MAX_INTS;
    for (size_t n = 0; !reads && tensor->rank == 1 && n < graph->node_count; n++) {
        const ry_node *node = &graph->nodes[n];
        reads = node->op == RY_OP_split && node->inputs > 1 && node->in[1] == input &&
                ry_tensor_count(tensor) == node->outputs;
    }
    return reads;
}

rynd_status ry_plan_bind_inputs(ry_graph *graph, const ry_plan_options *options, ry_error *error)
{
    ry_arena scratch;
    ry_arena_init(&scratch, graph->arena.allocator);
    ry_shape *shapes = RY_TAKE(&scratch, ry_shape, graph->input_count);
    rynd_status status = shapes ? RYND_OK : ry_fail_memory(error);
    for (size_t i = 0; i < graph->input_count && status == RYND_OK; i++) {
        ry_value *value = &graph->values[graph->inputs[i]];
        const ry_tensor *given = options->inputs ? &options->inputs[i] : NULL;
        shapes[i].rank = -1;
        if (given && ry_tensor_present(given)) {
            shapes[i] = ry_tensor_shape(given);
        } else if (options->batch > 0 && value->shape.rank > 0 && value->shape.dim[0] < 0) {
            shapes[i] = value->shape;
            shapes[i].dim[0] = options->batch;
        }
    }
    if (status == RYND_OK) {
        status = ry_graph_bind(graph, shapes, options->dims, options->dim_count, error);
    }
    ry_arena_free(&scratch);
    for (size_t i = 0; i < graph->input_count && status == RYND_OK; i++) {
        const ry_tensor *given = options->inputs ? &options->inputs[i] : NULL;
        if (!given || !given->data || !ry_plan_reads_content(graph, graph->inputs[i], given)) {
            continue;
        }
        ry_tensor copy = ry_graph_tensor(graph, graph->inputs[i]);
        copy.data = ry_arena_take(&graph->arena, ry_tensor_bytes(&copy), 1);
        if (!copy.data) {
            return ry_fail_memory(error);
        }
        ry_tensor_copy(&copy, given);
        graph->values[graph->inputs[i]].constant = copy.data;
    }
    return status;
}

/* The strides of the caller's tensor if steps use the caller's memory; else the nearest dense
 * layout. */
static ry_tensor describe_end(const ry_plan_builder *b, ry_tensor row_major, const ry_tensor *given)
{
    row_major.data = NULL;
    if (!given || !ry_tensor_present(given) || ry_tensor_is_row_major(given)) {
        return row_major;
    }
    if (ry_tensor_is_channels_last(given)) {
        const ry_shape shape = ry_tensor_shape(given);
        return ry_tensor_channels_last((ry_dtype)row_major.dtype, &shape, NULL);
    }
    if (b->plan->device->host_memory || b->options->own_strides) {
        memcpy(row_major.stride, given->stride, sizeof row_major.stride);
    }
    return row_major;
}

static rynd_status list_inputs(ry_plan_builder *b, ry_error *error)
{
    const ry_tensor *given = b->options->inputs;
    const ry_graph *graph = b->graph;
    ry_tensor *inputs = RY_TAKE(&b->plan->arena, ry_tensor, graph->input_count);
    b->plan->input_names = RY_TAKE(&b->plan->arena, const char *, graph->input_count);
    if (!inputs || !b->plan->input_names) {
        return ry_fail_memory(error);
    }
    b->plan->input_count = graph->input_count;
    b->plan->inputs = inputs;
    for (size_t i = 0; i < graph->input_count; i++) {
        inputs[i] =
            describe_end(b, ry_graph_tensor(graph, graph->inputs[i]), given ? &given[i] : NULL);
        b->plan->input_names[i] = graph->values[graph->inputs[i]].name;
        if (!ry_names_add(&b->plan->input_index, &b->plan->arena, b->plan->input_names[i],
                          (uint32_t)i)) {
            return ry_fail_memory(error);
        }
    }
    return RYND_OK;
}

/* The model's outputs in its order, whether computed now or later, then what the rest needs.
 * `names` and `late` describe the former. */
static rynd_status list_outputs(ry_plan_builder *b, size_t model_outputs, const char **names,
                                const bool *late, ry_error *error)
{
    const ry_graph *graph = b->graph;
    const ry_tensor *given = b->options->outputs;
    b->plan->model_outputs = model_outputs;
    b->outputs = RY_TAKE(&b->plan->arena, ry_plan_output, model_outputs + graph->output_count);
    b->plan->outputs = b->outputs;
    if (!b->outputs) {
        return ry_fail_memory(error);
    }
    size_t next = 0;
    for (size_t i = 0; i < model_outputs || next < graph->output_count; i++) {
        ry_plan_output *output = &b->outputs[i];
        output->later = i < model_outputs && late[i];
        /* earlier outputs that the graph lacks are in the rest */
        output->rest = (uint32_t)(i - next);
        if (output->later) {
            output->name = names[i];
        } else {
            const ry_value *value = &graph->values[graph->outputs[next]];
            output->name = i < model_outputs ? names[i] : value->name;
            output->bounded = value->bounded;
            output->tensor =
                describe_end(b, ry_graph_tensor(graph, graph->outputs[next++]),
                             given && i < model_outputs && !value->bounded ? &given[i] : NULL);
        }
        b->plan->output_count = i + 1;
        if (i < model_outputs &&
            !ry_names_add(&b->plan->output_index, &b->plan->arena, output->name, (uint32_t)i)) {
            return ry_fail_memory(error);
        }
    }
    return RYND_OK;
}

static rynd_status list_states(ry_plan_builder *b, ry_error *error)
{
    const ry_graph *graph = b->graph;
    b->states = RY_TAKE(&b->plan->arena, ry_plan_state, graph->state_count);
    b->plan->states = b->states;
    if (!b->states) {
        return ry_fail_memory(error);
    }
    if (b->plan->rest.graph && graph->state_count) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                       "shapes depend on data: a network with state that is kept from run to run "
                       "must be planned as a whole");
    }
    b->plan->state_count = graph->state_count;
    for (size_t i = 0; i < graph->state_count; i++) {
        const ry_state *state = &graph->states[i];
        b->states[i] = (ry_plan_state){
            .input = state->input, .output = state->output, .initial = state->initial};
    }
    return RYND_OK;
}

/* Makes quantised nodes, and then folds the weights that others read as floats. */
static rynd_status quantise(ry_plan_builder *b, const ry_target *target, bool held, ry_error *error)
{
    bool *later;
    if (!held) {
        return RYND_OK;
    }
    RY_TRY(ry_graph_quantise(b->graph, error));
    return ry_plan_fold(b->graph, target, &later, error);
}

/* Moves the nodes that must wait for a run from b->graph to the rest. */
static rynd_status fold_and_split(ry_plan_builder *b, ry_error *error)
{
    ry_graph *graph = b->graph;
    const ry_target target = ry_target_here(b->plan->device->host);
    size_t outputs = graph->output_count;
    const char **names = RY_TAKE(&b->plan->arena, const char *, outputs);
    bool *late = RY_TAKE(&b->plan->arena, bool, outputs), *later;
    if (!names || !late) {
        return ry_fail_memory(error);
    }
    bool held = false;
    RY_TRY(ry_plan_fold_quantised(graph, &target, &later, &held, error));
    for (size_t i = 0; i < outputs; i++) {
        const ry_value *value = &graph->values[graph->outputs[i]];
        names[i] = value->name;
        late[i] = value->producer != RY_NO_NODE && later[value->producer];
    }
    RY_TRY(ry_plan_split(graph, later, &b->plan->rest.graph, error));
    RY_TRY(quantise(b, &target, held, error));
    RY_TRY(ry_graph_compact(graph, error));
    if (b->plan->device->table->kind == RY_DEVICE_cpu) {
        RY_TRY(ry_graph_split_small_recurrent(graph, error));
    }
    RY_TRY(ry_graph_rewrite(graph, NULL, error));
    RY_TRY(ry_plan_fold(graph, &target, &later, error));
    RY_TRY(ry_graph_compact(graph, error));
    RY_TRY(list_inputs(b, error));
    RY_TRY(list_states(b, error));
    return list_outputs(b, outputs, names, late, error);
}

/* What the network touches in a run, as far as it is known before kernels are chosen: its
 * constants. */
static double constant_bytes(const ry_graph *graph)
{
    double bytes = 0;
    for (ry_value_id v = 0; v < graph->value_count; v++) {
        const ry_value *value = &graph->values[v];
        bytes += value->constant ? (double)ry_shape_bytes(&value->shape, value->dtype) : 0;
    }
    return bytes;
}

/* Why a plan is left in the middle, to be made again. */
typedef struct again {
    bool stale; /* the advised form makes steps other than the measured ones */
    bool late;  /* another plan has decided the form of a weight in the meantime */
} again;

/* asked: the adviser is asked for the form. */
static rynd_status build(ry_plan_builder *b, const ry_graph *graph, bool asked, again *why,
                         ry_error *error)
{
    RY_TRY(ry_graph_clone(graph, &b->graph, error));
    b->plan->graph = b->graph;
    b->graph->derived = b->options->weights ? ry_weights_derived(b->options->weights) : NULL;
    ry_plan_give_allowance(b->graph);
    RY_TRY(ry_plan_bind_inputs(b->graph, b->options, error));
    RY_TRY(fold_and_split(b, error));
    b->plan->network_bytes = constant_bytes(b->graph);
    b->choices.target.network_bytes = b->plan->network_bytes;
    b->choices.host.network_bytes = b->plan->network_bytes;
    ry_plan_find_bound(b);
    RY_TRY(ry_plan_choose_form(b, asked, error));
    RY_TRY(ry_plan_fuse_separable(b, error));
    RY_TRY(ry_plan_fuse_shuffles(b, error));
    RY_TRY(ry_plan_choose_layouts(b, error));
    RY_TRY(ry_plan_make_steps(b, error));
    ry_plan_find_parts(b);
    RY_TRY(ry_settings_check(
        &b->settings,
        b->plan->rest.graph ? ": those that are planned while running cannot be set" : "", error));
    RY_TRY(ry_plan_choose_micro_batches(b, error));
    RY_TRY(ry_plan_cut_products(b, error));
    RY_TRY(ry_plan_is_stale(b, &why->stale, error));
    if (!why->stale) {
        RY_TRY(ry_plan_decide_forms(b, &why->late, error));
    }
    if (why->stale || why->late) {
        return RYND_OK;
    }
    RY_TRY(ry_plan_recompute(b, error));
    RY_TRY(ry_plan_tell_concerned(b, error));
    RY_TRY(ry_plan_place(b, error));
    RY_TRY(ry_plan_find_reuse(b, error));
    RY_TRY(ry_plan_find_part_reads(b, error));
    return b->options->skip_packing ? RYND_OK : ry_plan_pack(b, error);
}

/* A plan without decisions, and what later plans must know to plan its rest. */
static ry_plan *start(ry_device *device, const ry_plan_options *options)
{
    ry_plan *plan = ry_allocate_array(device->allocator, 1, sizeof *plan);
    if (plan) {
        ry_arena_init(&plan->arena, device->allocator);
        plan->device = device;
        plan->weights.shared = options->weights;
        plan->without_weights = options->skip_packing;
        plan->rest = (ry_plan_rest){.accuracy = options->accuracy,
                                    .adviser = options->adviser,
                                    .own_weights = options->own_weights};
    }
    return plan;
}

/* *made is NULL if the plan must be made again. */
static rynd_status create(ry_device *device, const ry_graph *graph, const ry_plan_options *options,
                          bool asked, again *why, ry_plan **made, ry_error *error)
{
    *why = (again){false, false};
    ry_plan_builder b = {.plan = start(device, options), .options = options};
    if (!b.plan) {
        return ry_fail_memory(error);
    }
    const ry_target target = ry_target_of(device), host = ry_target_here(device->host);
    ry_choices_init(&b.choices, device->allocator, &target, device->host == device ? NULL : &host);
    b.choices.adviser = options->adviser;
    b.settings = (ry_settings){options->settings, options->setting_count,
                               RY_TAKE(&b.plan->arena, bool, options->setting_count)};
    const rynd_status status =
        b.settings.used ? build(&b, graph, asked, why, error) : ry_fail_memory(error);
    ry_choices_free(&b.choices);
    *made = b.plan;
    if (status != RYND_OK || why->stale || why->late) {
        ry_plan_destroy(b.plan);
        *made = NULL;
    }
    return status;
}

rynd_status ry_plan_create(ry_device *device, const ry_graph *graph, const ry_plan_options *options,
                           const ry_plan **plan, ry_error *error)
{
    const double start_time = ry_clock_seconds();
    ry_plan *made = NULL;
    again why = {false, false};
    for (bool asked = true; !made; asked = asked && !why.stale) {
        RY_TRY(create(device, graph, options, asked, &why, &made, error));
    }
    made->seconds = ry_clock_seconds() - start_time;
    *plan = made;
    return RYND_OK;
}
