/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses and prepares a kernel for each node. */
#include "plan/make_steps.h"

#include "plan/plan_progress.h"

#include "plan/aliases.h"
#include "plan/bound.h"
#include "plan/compile_steps.h"
#include "plan/fold.h"
#include "predict/choices.h"
#include "predict/settings.h"

#include <string.h>

static rynd_status note_constants(ry_plan_builder *b, const ry_node *node, ry_step *step,
                                  ry_error *error)
{
    ry_tensor *constants = RY_TAKE(&b->plan->arena, ry_tensor, node->inputs);
    ry_value_id *values = RY_TAKE(&b->plan->arena, ry_value_id, node->inputs + node->outputs);
    if (!constants || !values) {
        return ry_fail_memory(error);
    }
    for (int i = 0; i < node->inputs; i++) {
        constants[i] = ry_graph_tensor(b->graph, node->in[i]);
        values[i] = node->in[i];
    }
    for (int i = 0; i < node->outputs; i++) {
        values[node->inputs + i] = node->out[i];
    }
    step->constants = constants;
    step->values = values;
    return RYND_OK;
}

rynd_status ry_plan_predict_kernel(ry_plan_builder *b, const ry_node *node,
                                   const ry_problem *problem, ry_choice *choice, ry_error *error)
{
    const rynd_status status = ry_plan_find_choice(b, node, problem, choice, error);
    if (status != RYND_OK) {
        return ry_plan_fail_node(status, node, error);
    }
    return choice->prepared.kernel ? RYND_OK : ry_plan_fail_kernel(node, problem, error);
}

static rynd_status choose_kernel(ry_plan_builder *b, const ry_node *node, ry_step *step,
                                 ry_error *error)
{
    ry_choice choice;
    const unsigned constants = ry_plan_constants(b->graph, node);
    const bool set = ry_settings_have(&b->settings, node->name);
    ry_bound_forms room;
    RY_TRY(ry_choices_take(&b->choices, &step->problem, constants, ry_plan_bound(b, node, &room),
                           &choice, error));
    if (set) {
        const ry_target *target = choice.falls_back ? &b->choices.host : &b->choices.target;
        RY_TRY(ry_settings_choose(&b->settings, node->name, &step->problem, target, constants,
                                  &choice, error));
    }
    if (!choice.prepared.kernel) {
        return ry_plan_fail_kernel(node, &step->problem, error);
    }
    char reason[RY_REASON_LENGTH];
    ry_choice_reason(&choice, set, reason, sizeof reason);
    step->prepared = choice.prepared;
    step->reason = ry_arena_string(&b->plan->arena, reason, strlen(reason));
    return step->reason ? RYND_OK : ry_fail_memory(error);
}

static rynd_status choose_step(ry_plan_builder *b, const ry_node *node, ry_step *step,
                               ry_error *error)
{
    RY_TRY(note_constants(b, node, step, error));
    step->name = node->name;
    step->source = node->source;
    step->actual_row = -1;
    RY_TRY(choose_kernel(b, node, step, error));
    const ry_target *target = ry_choices_target(&b->choices, step->prepared.kernel);
    ry_predict_phases(&step->prepared, target->machine, step->seconds);
    return RYND_OK;
}

static rynd_status initialise_step(ry_plan_builder *b, const ry_node *node, ry_step *step,
                                   ry_error *error)
{
    if (b->plan->without_weights && step->prepared.kernel->gpu) {
        return RYND_OK;
    }
    const ry_target *target = ry_choices_target(&b->choices, step->prepared.kernel);
    const bool set = ry_settings_have(&b->settings, node->name);
    return (set ? ry_prepared_initialise : ry_prepared_fit)(
        &step->prepared, ry_plan_step_device(b->plan, step), target, &b->plan->arena, error);
}

static rynd_status make_step(ry_plan_builder *b, const ry_node *node, ry_step *step,
                             ry_error *error)
{
    RY_TRY(choose_step(b, node, step, error));
    return initialise_step(b, node, step, error);
}

rynd_status ry_plan_make_step(ry_plan_builder *b, const ry_node *node, int64_t images,
                              ry_step *step, ry_error *error)
{
    RY_TRY(ry_plan_problem(b->graph, node, b->options->accuracy, &b->layouts, images,
                           &b->plan->arena, &step->problem, error));
    return ry_plan_make_step_of_problem(b, node, step, error);
}

rynd_status ry_plan_make_step_of_problem(ry_plan_builder *b, const ry_node *node, ry_step *step,
                                         ry_error *error)
{
    return ry_plan_fail_node(make_step(b, node, step, error), node, error);
}

static rynd_status choose_steps(ry_plan_builder *b, ry_error *error)
{
    const ry_graph *graph = b->graph;
    RY_TRY(ry_plan_take_steps(b, graph->node_count, error));
    for (ry_node_id id = 0; id < graph->node_count; id++) {
        const ry_node *node = &graph->nodes[id];
        RY_TRY(ry_plan_advance(b, RY_STAGE_STEPS, id, 2 * graph->node_count, error));
        if (node->op == RY_OP_dead || ry_plan_is_alias(graph, node, &b->layouts)) {
            continue;
        }
        ry_step *step = &b->steps[b->plan->step_count];
        b->node_of_step[b->plan->step_count] = id;
        RY_TRY(ry_plan_problem(graph, node, b->options->accuracy, &b->layouts, 0, &b->plan->arena,
                               &step->problem, error));
        RY_TRY(ry_plan_fail_node(choose_step(b, node, step, error), node, error));
        b->plan->step_count++;
    }
    return RYND_OK;
}

static rynd_status initialise_steps(ry_plan_builder *b, ry_error *error)
{
    const size_t count = b->plan->step_count;
    for (size_t i = 0; i < count; i++) {
        const ry_node *node = ry_plan_node(b, i);
        RY_TRY(ry_plan_advance(b, RY_STAGE_STEPS, count + i, 2 * count, error));
        RY_TRY(ry_plan_fail_node(initialise_step(b, node, &b->steps[i], error), node, error));
    }
    return RYND_OK;
}

rynd_status ry_plan_make_steps(ry_plan_builder *b, ry_error *error)
{
    ry_compiled compiled = {0};
    RY_TRY(choose_steps(b, error));
    if (!b->plan->without_weights) {
        ry_plan_compile_steps(b, &compiled);
    }
    const rynd_status status = initialise_steps(b, error);
    if (compiled.device) {
        ry_plan_release_compiled(&compiled);
    }
    return status;
}
