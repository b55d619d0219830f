/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses and prepares a kernel for each node. */
#include "plan/make_steps.h"

#include "plan/plan_progress.h"

#include "plan/aliases.h"
#include "plan/bound.h"
#include "plan/fold.h"
#include "predict/choices.h"
#include "predict/settings.h"

#include <string.h>

static rynd_status note_constants(ry_plan *plan, const ry_node *node, ry_step *step,
                                  ry_error *error)
{
    ry_tensor *constants = RY_TAKE(&plan->arena, ry_tensor, node->inputs);
    ry_value_id *values = RY_TAKE(&plan->arena, ry_value_id, node->inputs);
    if (!constants || !values) {
        return ry_fail_memory(error);
    }
    for (int i = 0; i < node->inputs; i++) {
        constants[i] = ry_graph_tensor(plan->graph, node->in[i]);
        values[i] = node->in[i];
    }
    step->constants = constants;
    step->values = values;
    return RYND_OK;
}

rynd_status ry_plan_predict_kernel(ry_plan *plan, const ry_node *node, const ry_problem *problem,
                                   ry_choice *choice, ry_error *error)
{
    const rynd_status status = ry_plan_find_choice(plan, node, problem, choice, error);
    if (status != RYND_OK) {
        return ry_plan_fail_node(status, node, error);
    }
    return choice->prepared.kernel ? RYND_OK : ry_plan_fail_kernel(node, problem, error);
}

static rynd_status choose_kernel(ry_plan *plan, const ry_node *node, ry_step *step, ry_error *error)
{
    ry_choice choice;
    const unsigned constants = ry_plan_constants(plan->graph, node);
    const bool set = ry_settings_have(plan->settings, node->name);
    ry_bound_forms room;
    RY_TRY(ry_choices_take(plan->choices, &step->problem, constants,
                           ry_plan_bound(plan, node, step->problem.accuracy, &room), &choice,
                           error));
    if (set) {
        const ry_target *target = choice.falls_back ? &plan->choices->host : &plan->choices->target;
        RY_TRY(ry_settings_choose(plan->settings, node->name, &step->problem, target, constants,
                                  &choice, error));
    }
    if (!choice.prepared.kernel) {
        return ry_plan_fail_kernel(node, &step->problem, error);
    }
    char reason[RY_REASON_LENGTH];
    ry_choice_reason(&choice, set, reason, sizeof reason);
    step->prepared = choice.prepared;
    step->reason = ry_arena_string(&plan->arena, reason, strlen(reason));
    return step->reason ? RYND_OK : ry_fail_memory(error);
}

static rynd_status make_step(ry_plan *plan, const ry_node *node, ry_step *step, ry_error *error)
{
    RY_TRY(note_constants(plan, node, step, error));
    step->name = node->name;
    step->source = node->source;
    step->actual_row = -1;
    RY_TRY(choose_kernel(plan, node, step, error));
    const ry_target *target = ry_choices_target(plan->choices, step->prepared.kernel);
    ry_predict_phases(&step->prepared, target->machine, step->seconds);
    if (plan->without_weights && step->prepared.kernel->gpu) {
        return RYND_OK;
    }
    const bool set = ry_settings_have(plan->settings, node->name);
    return (set ? ry_prepared_initialise : ry_prepared_fit)(
        &step->prepared, ry_plan_step_device(plan, step), target, &plan->arena, error);
}

rynd_status ry_plan_make_step(ry_plan *plan, const ry_node *node, ry_accuracy accuracy,
                              int64_t images, ry_step *step, ry_error *error)
{
    RY_TRY(ry_plan_problem(plan->graph, node, accuracy, &plan->layouts, images, &plan->arena,
                           &step->problem, error));
    return ry_plan_make_step_of_problem(plan, node, step, error);
}

rynd_status ry_plan_make_step_of_problem(ry_plan *plan, const ry_node *node, ry_step *step,
                                         ry_error *error)
{
    return ry_plan_fail_node(make_step(plan, node, step, error), node, error);
}

rynd_status ry_plan_make_steps(ry_plan *plan, ry_accuracy accuracy, ry_node_id **node_of_step,
                               ry_error *error)
{
    const ry_graph *graph = plan->graph;
    plan->steps = RY_TAKE(&plan->arena, ry_step, graph->node_count);
    *node_of_step = RY_TAKE(&plan->arena, ry_node_id, graph->node_count);
    if (!plan->steps || !*node_of_step) {
        return ry_fail_memory(error);
    }
    for (ry_node_id id = 0; id < graph->node_count; id++) {
        const ry_node *node = &graph->nodes[id];
        RY_TRY(ry_plan_advance(plan, RY_STAGE_STEPS, id, graph->node_count, error));
        if (node->op == RY_OP_dead || ry_plan_is_alias(graph, node, &plan->layouts)) {
            continue;
        }
        (*node_of_step)[plan->step_count] = id;
        RY_TRY(ry_plan_make_step(plan, node, accuracy, 0, &plan->steps[plan->step_count], error));
        plan->step_count++;
    }
    return RYND_OK;
}
