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

static rynd_status check_knob(const ry_kernel *kernel, size_t index, ry_error *error)
{
    return index < (size_t)kernel->knob_count
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_ARGUMENT, "knob %zu: kernel '%s' has %d", index,
                         kernel->name, kernel->knob_count);
}

/* The legal values of a prepared kernel's knob. */
static ry_knob_values legal_values(const ry_prepared *prepared, const ry_device *device, int knob)
{
    const ry_target target = ry_target_of(device);
    const ry_query query = {prepared->kernel, prepared->problem, &target, NULL};
    return ry_form_values(&query, knob);
}

rynd_status ry_api_knob(const ry_prepared *prepared, const ry_device *device, size_t index,
                        rynd_knob *knob, ry_error *error)
{
    const ry_kernel *kernel = prepared->kernel;
    RY_TRY(check_knob(kernel, index, error));
    rynd_knob all =
        RYND_SIZED(rynd_knob, .name = kernel->knobs[index].name, .unit = "",
                   .value_count = (size_t)legal_values(prepared, device, (int)index).count,
                   .main = kernel->knobs[index].main);
    ry_form_print_value(kernel, (int)index, prepared->form.value[index], all.value,
                        sizeof all.value);
    return ry_api_info(knob, &all, sizeof all, "rynd_knob", error);
}

static rynd_status write_value(const char *value, ry_text_room room, ry_error *error)
{
    return (size_t)snprintf(room.text, room.size, "%s", value) < room.size
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_ARGUMENT, "'%s' does not fit into %zu bytes", value,
                         room.size);
}

static rynd_status fail_value(size_t index, size_t count, ry_error *error)
{
    return ry_fail(error, RYND_ERROR_ARGUMENT, "value %zu: the knob has %zu", index, count);
}

rynd_status ry_api_knob_value(const ry_prepared *prepared, const ry_device *device, size_t knob,
                              size_t index, ry_text_room room, ry_error *error)
{
    RY_TRY(check_knob(prepared->kernel, knob, error));
    const ry_knob_values values = legal_values(prepared, device, (int)knob);
    if (index >= (size_t)values.count) {
        return fail_value(index, (size_t)values.count, error);
    }
    char value[RYND_KNOB_TEXT];
    ry_form_print_value(prepared->kernel, (int)knob, values.value[index], value, sizeof value);
    return write_value(value, room, error);
}

static rynd_status check_plan_knob(size_t index, ry_error *error)
{
    return index < RY_PLAN_KNOBS ? RYND_OK
                                 : ry_fail(error, RYND_ERROR_ARGUMENT, "knob %zu: the plan has %d",
                                           index, RY_PLAN_KNOBS);
}

/* A knob of the plan itself: percent of a predicted quantity. */
static rynd_status plan_knob(const rynd_plan *plan, size_t index, rynd_knob *knob, ry_error *error)
{
    RY_TRY(check_plan_knob(index, error));
    rynd_knob all =
        RYND_SIZED(rynd_knob, .name = ry_plan_knob_name((ry_plan_knob)index),
                   .unit = plan->units[index], .value_count = RY_PLAN_MOST + 1, .main = 1);
    snprintf(all.value, sizeof all.value, "%d", plan->plan->whole.form.percent[index]);
    return ry_api_info(knob, &all, sizeof all, "rynd_knob", error);
}

static rynd_status plan_knob_value(size_t knob, size_t index, ry_text_room room, ry_error *error)
{
    RY_TRY(check_plan_knob(knob, error));
    if (index > RY_PLAN_MOST) {
        return fail_value(index, RY_PLAN_MOST + 1, error);
    }
    char value[RYND_KNOB_TEXT];
    snprintf(value, sizeof value, "%zu", index);
    return write_value(value, room, error);
}

size_t rynd_plan_knob_count(const rynd_plan *plan, size_t step)
{
    return !plan                     ? 0
           : step == RYND_PLAN_WHOLE ? RY_PLAN_KNOBS
           : step < plan->plan->step_count
               ? (size_t)plan->plan->steps[step].prepared.kernel->knob_count
               : 0;
}

static rynd_status check_step(const ry_plan *plan, size_t step, ry_error *error)
{
    return step < plan->step_count ? RYND_OK
                                   : ry_fail(error, RYND_ERROR_ARGUMENT,
                                             "step %zu: the plan has %zu", step, plan->step_count);
}

static rynd_status step_knob(const ry_plan *plan, size_t step, size_t index, rynd_knob *knob,
                             ry_error *error)
{
    RY_TRY(check_step(plan, step, error));
    const ry_step *s = &plan->steps[step];
    return ry_api_knob(&s->prepared, ry_plan_step_device(plan, s), index, knob, error);
}

rynd_status rynd_plan_get_knob(const rynd_plan *plan, size_t step, size_t index, rynd_knob *knob)
{
    RY_API_REQUIRE(plan, knob);
    ry_error error = {""};
    return ry_api_end(step == RYND_PLAN_WHOLE ? plan_knob(plan, index, knob, &error)
                                              : step_knob(plan->plan, step, index, knob, &error),
                      &error);
}

static rynd_status step_knob_value(const ry_plan *plan, size_t step, size_t knob, size_t index,
                                   ry_text_room room, ry_error *error)
{
    RY_TRY(check_step(plan, step, error));
    const ry_step *s = &plan->steps[step];
    return ry_api_knob_value(&s->prepared, ry_plan_step_device(plan, s), knob, index, room, error);
}

rynd_status rynd_plan_get_knob_value(const rynd_plan *plan, size_t step, size_t knob, size_t index,
                                     char *value, size_t size)
{
    RY_API_REQUIRE(plan, value);
    ry_error error = {""};
    const ry_text_room room = {value, size};
    return ry_api_end(step == RYND_PLAN_WHOLE
                          ? plan_knob_value(knob, index, room, &error)
                          : step_knob_value(plan->plan, step, knob, index, room, &error),
                      &error);
}

/* "predicted", "set", "measured 12.1 ms (wisdom)". */
rynd_status ry_api_describe_form(rynd_plan *plan, ry_error *error)
{
    const ry_plan *p = plan->plan;
    char knobs[RY_PLAN_FORM_TEXT], milliseconds[RY_NUMBER_SIZE];
    ry_plan_form_print(&p->whole.form, knobs);
    ry_number_print_fixed(p->whole.measured * 1e3, 2, milliseconds);
    plan->form = RYND_SIZED(
        rynd_plan_form, .knobs = ry_arena_format(&plan->texts, "%s", knobs),
        .reason = p->whole.origin == RY_PLAN_SET ? "set"
                  : p->whole.origin == RY_PLAN_MEASURED
                      ? ry_arena_format(&plan->texts, "measured %s ms (wisdom)", milliseconds)
                      : "predicted",
        .measured = p->whole.measured);
    bool good = plan->form.knobs && plan->form.reason;
    for (int i = 0; i < RY_PLAN_KNOBS; i++) {
        plan->units[i] =
            ry_arena_format(&plan->texts, "percent of %s", ry_plan_knob_what((ry_plan_knob)i));
        good = good && plan->units[i];
    }
    return good ? RYND_OK : ry_fail_memory(error);
}

rynd_status rynd_plan_get_form(const rynd_plan *plan, rynd_plan_form *form)
{
    RY_API_REQUIRE(plan, form);
    ry_error error = {""};
    return ry_api_end(ry_api_info(form, &plan->form, sizeof *form, "rynd_plan_form", &error),
                      &error);
}
