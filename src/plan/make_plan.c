/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a plan: bind, fold, split, rewrite, fuse, lay out, choose, recompute, place,
 * pack. */
#include "plan/make_plan.h"

#include "base/clock.h"
#include "graph/graph_names.h"
#include "graph/rewrite.h"
#include "plan/bound.h"
#include "plan/choose_form.h"
#include "plan/fold.h"
#include "plan/fold_cost.h"
#include "plan/fuse_separable.h"
#include "plan/fuse_shuffle.h"
#include "plan/layouts.h"
#include "plan/make_steps.h"
#include "plan/micro_batches.h"
#include "plan/product_rows.h"
#include "plan/recompute.h"
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

/* The strides that the caller has, where the device reads his memory; else, where it is copied to
 * the device, those of the two dense layouts. */
static ry_tensor describe_input(const ry_plan *plan, ry_tensor row_major, const ry_tensor *given)
{
    row_major.data = NULL;
    if (!given || !ry_tensor_present(given) || ry_tensor_is_row_major(given)) {
        return row_major;
    }
    if (ry_tensor_is_channels_last(given)) {
        const ry_shape shape = ry_tensor_shape(given);
        return ry_tensor_channels_last((ry_dtype)row_major.dtype, &shape, NULL);
    }
    if (plan->device->host_memory) {
        memcpy(row_major.stride, given->stride, sizeof row_major.stride);
    }
    return row_major;
}

static rynd_status list_inputs(ry_plan *plan, const ry_tensor *given, ry_error *error)
{
    const ry_graph *graph = plan->graph;
    ry_tensor *inputs = RY_TAKE(&plan->arena, ry_tensor, graph->input_count);
    plan->input_names = RY_TAKE(&plan->arena, const char *, graph->input_count);
    if (!inputs || !plan->input_names) {
        return ry_fail_memory(error);
    }
    plan->input_count = graph->input_count;
    plan->inputs = inputs;
    for (size_t i = 0; i < graph->input_count; i++) {
        inputs[i] = describe_input(plan, ry_graph_tensor(graph, graph->inputs[i]),
                                   given ? &given[i] : NULL);
        plan->input_names[i] = graph->values[graph->inputs[i]].name;
        if (!ry_names_add(&plan->input_index, &plan->arena, plan->input_names[i], (uint32_t)i)) {
            return ry_fail_memory(error);
        }
    }
    return RYND_OK;
}

/* The model's outputs in its order, whether computed now or later, then what the rest needs.
 * `names` and `late` describe the former. */
static rynd_status list_outputs(ry_plan *plan, size_t model_outputs, const char **names,
                                const bool *late, ry_error *error)
{
    const ry_graph *graph = plan->graph;
    plan->model_outputs = model_outputs;
    plan->outputs = RY_TAKE(&plan->arena, ry_plan_output, model_outputs + graph->output_count);
    if (!plan->outputs) {
        return ry_fail_memory(error);
    }
    size_t next = 0;
    for (size_t i = 0; i < model_outputs || next < graph->output_count; i++) {
        ry_plan_output *output = &plan->outputs[i];
        output->later = i < model_outputs && late[i];
        /* those before it that are not in the graph are in the rest */
        output->rest = (uint32_t)(i - next);
        if (output->later) {
            output->name = names[i];
        } else {
            const ry_value *value = &graph->values[graph->outputs[next]];
            output->name = i < model_outputs ? names[i] : value->name;
            output->tensor = ry_graph_tensor(graph, graph->outputs[next++]);
            output->tensor.data = NULL;
            output->bounded = value->bounded;
        }
        plan->output_count = i + 1;
        if (i < model_outputs &&
            !ry_names_add(&plan->output_index, &plan->arena, output->name, (uint32_t)i)) {
            return ry_fail_memory(error);
        }
    }
    return RYND_OK;
}

static rynd_status list_states(ry_plan *plan, ry_error *error)
{
    const ry_graph *graph = plan->graph;
    plan->states = RY_TAKE(&plan->arena, ry_plan_state, graph->state_count);
    if (!plan->states) {
        return ry_fail_memory(error);
    }
    if (plan->rest && graph->state_count) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                       "shapes depend on data: a network with state that is kept from run to run "
                       "must be planned as a whole");
    }
    plan->state_count = graph->state_count;
    for (size_t i = 0; i < graph->state_count; i++) {
        const ry_state *state = &graph->states[i];
        plan->states[i] = (ry_plan_state){
            .input = state->input, .output = state->output, .initial = state->initial};
    }
    return RYND_OK;
}

/* Leaves in plan->graph what can be planned now, in plan->rest what cannot. */
static rynd_status fold_and_split(ry_plan *plan, const ry_tensor *inputs, ry_error *error)
{
    ry_graph *graph = plan->graph;
    const ry_target target = ry_target_here(plan->device->host);
    size_t outputs = graph->output_count;
    const char **names = RY_TAKE(&plan->arena, const char *, outputs);
    bool *late = RY_TAKE(&plan->arena, bool, outputs), *later;
    if (!names || !late) {
        return ry_fail_memory(error);
    }
    RY_TRY(ry_plan_fold(graph, &target, &later, error));
    for (size_t i = 0; i < outputs; i++) {
        const ry_value *value = &graph->values[graph->outputs[i]];
        names[i] = value->name;
        late[i] = value->producer != RY_NO_NODE && later[value->producer];
    }
    RY_TRY(ry_plan_split(graph, later, &plan->rest, error));
    RY_TRY(ry_graph_compact(graph, error));
    RY_TRY(ry_graph_rewrite(graph, error));
    RY_TRY(ry_plan_fold(graph, &target, &later, error));
    RY_TRY(ry_graph_compact(graph, error));
    RY_TRY(list_inputs(plan, inputs, error));
    RY_TRY(list_states(plan, error));
    return list_outputs(plan, outputs, names, late, error);
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

static rynd_status build(ry_plan *plan, const ry_graph *graph, const ry_plan_options *options,
                         bool asked, again *why, ry_error *error)
{
    RY_TRY(ry_graph_clone(graph, &plan->graph, error));
    plan->graph->derived = plan->weights ? ry_weights_derived(plan->weights) : NULL;
    ry_plan_give_allowance(plan->graph);
    RY_TRY(ry_plan_bind_inputs(plan->graph, options, error));
    RY_TRY(fold_and_split(plan, options->inputs, error));
    plan->network_bytes = constant_bytes(plan->graph);
    plan->choices->target.network_bytes = plan->network_bytes;
    plan->choices->host.network_bytes = plan->network_bytes;
    ry_plan_find_bound(plan, options);
    RY_TRY(ry_plan_choose_form(plan, options->accuracy, asked, error));
    RY_TRY(ry_plan_fuse_separable(plan, options->accuracy, error));
    RY_TRY(ry_plan_fuse_shuffles(plan, options->accuracy, error));
    RY_TRY(ry_plan_choose_layouts(plan, options->accuracy, error));
    ry_node_id *node_of_step;
    RY_TRY(ry_plan_make_steps(plan, options->accuracy, &node_of_step, error));
    RY_TRY(ry_settings_check(
        plan->settings, plan->rest ? ": those that are planned while running cannot be set" : "",
        error));
    RY_TRY(ry_plan_choose_micro_batches(plan, options->accuracy, node_of_step, error));
    RY_TRY(ry_plan_cut_products(plan, options->accuracy, node_of_step, error));
    RY_TRY(ry_plan_is_stale(plan, &why->stale, error));
    if (!why->stale) {
        RY_TRY(ry_plan_decide_forms(plan, node_of_step, &why->late, error));
    }
    if (why->stale || why->late) {
        return RYND_OK;
    }
    RY_TRY(ry_plan_recompute(plan, options, &node_of_step, error));
    RY_TRY(ry_plan_tell_concerned(plan, error));
    RY_TRY(ry_plan_place(plan, node_of_step, error));
    return options->skip_packing ? RYND_OK : ry_plan_pack(plan, options, error);
}

/* asked: the adviser is asked for the form. *plan is NULL if it must be made again. */
static rynd_status create(ry_device *device, const ry_graph *graph, const ry_plan_options *options,
                          bool asked, again *why, ry_plan **plan, ry_error *error)
{
    ry_choices choices;
    *why = (again){false, false};
    ry_plan *p = ry_allocate_array(device->allocator, 1, sizeof *p);
    if (!p) {
        return ry_fail_memory(error);
    }
    p->device = device;
    p->weights = options->weights;
    p->own_weights = options->own_weights;
    ry_arena_init(&p->arena, device->allocator);
    const ry_target target = ry_target_of(device);
    const ry_target host = ry_target_here(device->host);
    ry_choices_init(&choices, device->allocator, &target, device->host == device ? NULL : &host);
    choices.adviser = p->adviser = options->adviser;
    p->choices = &choices;
    ry_settings settings = {options->settings, options->setting_count,
                            RY_TAKE(&p->arena, bool, options->setting_count)};
    p->settings = &settings;
    p->without_weights = options->skip_packing;
    p->progress = options->progress;
    p->progress_user = options->progress_user;
    rynd_status status =
        settings.used ? build(p, graph, options, asked, why, error) : ry_fail_memory(error);
    p->choices = NULL;
    p->settings = NULL;
    p->progress = NULL;
    ry_choices_free(&choices);
    if (status != RYND_OK || why->stale || why->late) {
        ry_plan_destroy(p);
        p = NULL;
    }
    *plan = p;
    return status;
}

rynd_status ry_plan_create(ry_device *device, const ry_graph *graph, const ry_plan_options *options,
                           ry_plan **plan, ry_error *error)
{
    const double start = ry_clock_seconds();
    ry_plan *made = NULL;
    again why = {false, false};
    for (bool asked = true; !made; asked = asked && !why.stale) {
        RY_TRY(create(device, graph, options, asked, &why, &made, error));
    }
    made->seconds = ry_clock_seconds() - start;
    *plan = made;
    return RYND_OK;
}
