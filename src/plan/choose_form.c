/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's settings go before what was measured, and that before what is predicted. */
#include "plan/choose_form.h"

#include "plan/plan_identity.h"
#include "predict/choices.h"
#include "predict/settings.h"

#include <stdio.h>
#include <string.h>

static rynd_status fail_knob(const rynd_setting *setting, ry_error *error)
{
    char names[256] = "";
    size_t used = 0;
    for (int k = 0; k < RY_PLAN_KNOBS; k++) {
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                                 ry_plan_knob_name((ry_plan_knob)k));
    }
    return ry_fail(error, RYND_ERROR_ARGUMENT, "the plan has no knob '%.100s': it has %s",
                   setting->knob, names);
}

static bool has_node(const ry_graph *graph, const char *name)
{
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        if (strcmp(graph->nodes[n].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* A node may be called like the plan: its knobs have other names. */
static rynd_status take_setting(ry_plan_builder *b, size_t index, ry_error *error)
{
    const rynd_setting *setting = &b->settings.items[index];
    const ry_plan_knob knob = ry_plan_knob_find(setting->knob);
    if (knob == RY_PLAN_KNOBS) {
        return has_node(b->graph, RY_PLAN_ITSELF) ? RYND_OK : fail_knob(setting, error);
    }
    if (!ry_plan_percent_parse(setting->value, &b->plan->whole.form.percent[knob])) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "plan.%s is '%.100s': give percent, 0 to %d; %d is what is predicted",
                       setting->knob, setting->value, RY_PLAN_MOST, RY_PLAN_PREDICTED);
    }
    b->settings.used[index] = true;
    b->plan->whole.origin = RY_PLAN_SET;
    return RYND_OK;
}

static rynd_status ask(ry_plan_builder *b, ry_error *error)
{
    char network[RY_NETWORK_TEXT];
    ry_plan_advice advice;
    ry_plan_form form;
    RY_TRY(ry_plan_print_network(b, network, error));
    if (b->options->adviser->advise_plan(b->options->adviser->user, network, &b->choices.target,
                                         &advice) &&
        ry_plan_form_parse(advice.form, &form)) {
        b->plan->whole.form = form;
        b->plan->whole.origin = RY_PLAN_MEASURED;
        b->plan->whole.measured = advice.seconds;
        b->measured_steps = advice.steps;
    }
    return RYND_OK;
}

rynd_status ry_plan_choose_form(ry_plan_builder *b, bool asked, ry_error *error)
{
    b->plan->whole.form = ry_plan_form_predicted();
    for (size_t i = 0; i < b->settings.count; i++) {
        const char *step = b->settings.items[i].step;
        if (step && strcmp(step, RY_PLAN_ITSELF) == 0) {
            RY_TRY(take_setting(b, i, error));
        }
    }
    return b->plan->whole.origin == RY_PLAN_PREDICTED_ONLY && asked && b->options->adviser &&
                   b->options->adviser->advise_plan
               ? ask(b, error)
               : RYND_OK;
}

rynd_status ry_plan_is_stale(const ry_plan_builder *b, bool *stale, ry_error *error)
{
    uint64_t steps = 0;
    if (b->measured_steps) {
        RY_TRY(ry_plan_hash_steps(b->plan, &steps, error));
    }
    *stale = steps != b->measured_steps;
    return RYND_OK;
}

rynd_status ry_plan_concern(ry_plan_builder *b, const char *name, ry_error *error)
{
    return ry_names_add(&b->concerned, &b->plan->arena, name, 0) ? RYND_OK : ry_fail_memory(error);
}

rynd_status ry_plan_tell_concerned(ry_plan_builder *b, ry_error *error)
{
    char form[RY_PLAN_FORM_TEXT];
    ry_plan_form_print(&b->plan->whole.form, form);
    for (size_t s = 0; s < b->plan->step_count && b->concerned.used; s++) {
        ry_step *step = &b->steps[s];
        if (ry_names_find(&b->concerned, step->name) != RY_NO_NAME) {
            step->reason =
                ry_arena_format(&b->plan->arena, "%s; the plan is %s: %s", step->reason,
                                b->plan->whole.origin == RY_PLAN_SET ? "set" : "tuned", form);
            if (!step->reason) {
                return ry_fail_memory(error);
            }
        }
    }
    return RYND_OK;
}
