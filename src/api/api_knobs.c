/* SPDX-License-Identifier: Apache-2.0 */
/* Knobs and settings as the caller sees them. */
#include "api/api_knobs.h"

#include "api/api_check.h"
#include "api/api_status.h"
#include "api/handles.h"
#include "base/number.h"
#include "kernels/form.h"

#include <stdio.h>

rynd_status ry_api_check_settings(const rynd_setting *settings, size_t count, bool steps,
                                  const char *what, ry_error *error)
{
    if (count && !settings) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "%s: setting_count is %zu and settings is NULL",
                       what, count);
    }
    for (size_t i = 0; i < count; i++) {
        const char *missing = steps && !settings[i].step ? "step"
                              : !settings[i].knob        ? "knob"
                              : !settings[i].value       ? "value"
                                                         : NULL;
        if (missing) {
            return ry_fail(error, RYND_ERROR_ARGUMENT, "%s: settings[%zu].%s is NULL", what, i,
                           missing);
        }
    }
    return RYND_OK;
}

rynd_status ry_api_knob(const ry_prepared *prepared, const ry_device *device, size_t index,
                        rynd_knob *knob, ry_error *error)
{
    const ry_kernel *kernel = prepared->kernel;
    if (index >= (size_t)kernel->knob_count) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "knob %zu: kernel '%s' has %d", index,
                       kernel->name, kernel->knob_count);
    }
    const ry_target target = ry_target_of(device);
    const ry_query query = {kernel, prepared->problem, &target, NULL};
    rynd_knob all = {
        .size = sizeof all, .name = kernel->knobs[index].name, .main = kernel->knobs[index].main};
    ry_form_print_value(kernel, (int)index, prepared->form.value[index], all.value,
                        sizeof all.value);
    ry_form_print_values(&query, (int)index, all.values, sizeof all.values);
    return ry_api_info(knob, &all, sizeof all, "rynd_knob", error);
}

/* Describes a knob of the plan itself, in percent of the predicted time. */
static rynd_status plan_knob(const ry_plan *plan, size_t index, rynd_knob *knob, ry_error *error)
{
    if (index >= RY_PLAN_KNOBS) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "knob %zu: the plan has %d", index,
                       RY_PLAN_KNOBS);
    }
    rynd_knob all = {.size = sizeof all, .name = ry_plan_knob_name((ry_plan_knob)index), .main = 1};
    snprintf(all.value, sizeof all.value, "%d", plan->whole.form.percent[index]);
    snprintf(all.values, sizeof all.values, "0 to %d percent of %s", RY_PLAN_MOST,
             ry_plan_knob_what((ry_plan_knob)index));
    return ry_api_info(knob, &all, sizeof all, "rynd_knob", error);
}

size_t rynd_plan_knob_count(const rynd_plan *plan, size_t step)
{
    return !plan                     ? 0
           : step == RYND_PLAN_WHOLE ? RY_PLAN_KNOBS
           : step < plan->plan->step_count
               ? (size_t)plan->plan->steps[step].prepared.kernel->knob_count
               : 0;
}

rynd_status rynd_plan_knob(const rynd_plan *plan, size_t step, size_t index, rynd_knob *knob)
{
    RY_API_REQUIRE(plan, knob);
    ry_error error = {""};
    const ry_plan *p = plan->plan;
    if (step == RYND_PLAN_WHOLE) {
        return ry_api_end(plan_knob(p, index, knob, &error), &error);
    }
    if (step >= p->step_count) {
        return ry_api_end(
            ry_fail(&error, RYND_ERROR_ARGUMENT, "step %zu: the plan has %zu", step, p->step_count),
            &error);
    }
    return ry_api_end(ry_api_knob(&p->steps[step].prepared, ry_plan_step_device(p, &p->steps[step]),
                                  index, knob, &error),
                      &error);
}

/* "predicted", "set", "measured 12.1 ms (wisdom)". */
rynd_status ry_api_describe_form(rynd_plan *plan, ry_error *error)
{
    const ry_plan *p = plan->plan;
    char knobs[RY_PLAN_FORM_TEXT], milliseconds[RY_NUMBER_SIZE];
    ry_plan_form_print(&p->whole.form, knobs);
    ry_number_print_fixed(p->whole.measured * 1e3, 2, milliseconds);
    plan->form = (rynd_plan_form){
        .size = sizeof plan->form,
        .knobs = ry_arena_format(&plan->texts, "%s", knobs),
        .reason = p->whole.origin == RY_PLAN_SET ? "set"
                  : p->whole.origin == RY_PLAN_MEASURED
                      ? ry_arena_format(&plan->texts, "measured %s ms (wisdom)", milliseconds)
                      : "predicted",
        .measured = p->whole.measured,
    };
    return plan->form.knobs && plan->form.reason ? RYND_OK : ry_fail_memory(error);
}

rynd_status rynd_plan_get_form(const rynd_plan *plan, rynd_plan_form *form)
{
    RY_API_REQUIRE(plan, form);
    ry_error error = {""};
    return ry_api_end(ry_api_info(form, &plan->form, sizeof *form, "rynd_plan_form", &error),
                      &error);
}
