/* SPDX-License-Identifier: Apache-2.0 */
/* What the caller sets himself: a step's kernel, and its knobs. */
#include "predict/settings.h"

#include "kernels/form.h"

#include <stdio.h>
#include <string.h>

static const char KERNEL[] = "kernel";

/* Does a setting apply to a step? A single operator has one step, which settings need not name. */
static bool is_for(const rynd_setting *setting, const char *step)
{
    return !setting->step || strcmp(setting->step, step) == 0;
}

bool ry_settings_have(const ry_settings *settings, const char *step)
{
    for (size_t i = 0; settings && i < settings->count; i++) {
        if (is_for(&settings->items[i], step)) {
            return true;
        }
    }
    return false;
}

static rynd_status fail_name(const char *name, const ry_problem *problem, const ry_target *target,
                             ry_error *error)
{
    char others[1024] = "";
    size_t at = 0, used = 0;
    for (const ry_kernel *k;
         used < sizeof others && (k = ry_kernel_next(problem, target, &at)) != NULL;) {
        used += (size_t)snprintf(others + used, sizeof others - used, "%s%s", used ? ", " : "",
                                 k->name);
    }
    return ry_fail(error, RYND_ERROR_NOT_FOUND,
                   "no kernel is called '%s': those that take this step are %s", name, others);
}

static rynd_status find_kernel(const ry_settings *settings, const char *step,
                               const ry_problem *problem, const ry_target *target,
                               const ry_kernel **kernel, ry_error *error)
{
    for (size_t i = 0; i < settings->count; i++) {
        const rynd_setting *setting = &settings->items[i];
        if (is_for(setting, step) && strcmp(setting->knob, KERNEL) == 0) {
            *kernel = ry_kernel_find(setting->value);
            if (!*kernel) {
                return fail_name(setting->value, problem, target, error);
            }
        }
    }
    return RYND_OK;
}

static rynd_status set_knobs(const ry_settings *settings, const char *step, const ry_query *query,
                             ry_form *form, bool *any, ry_error *error)
{
    for (size_t i = 0; i < settings->count; i++) {
        const rynd_setting *setting = &settings->items[i];
        if (!is_for(setting, step)) {
            continue;
        }
        settings->used[i] = true;
        if (strcmp(setting->knob, KERNEL) != 0) {
            RY_TRY(ry_form_set(query, setting->knob, setting->value, form, error));
            *any = true;
        }
    }
    return RYND_OK;
}

rynd_status ry_settings_choose(const ry_settings *settings, const char *step,
                               const ry_problem *problem, const ry_target *target,
                               unsigned constants, ry_choice *choice, ry_error *error)
{
    ry_wanted wanted = {NULL, ry_form_free()};
    RY_TRY(find_kernel(settings, step, problem, target, &wanted.kernel, error));
    RY_TRY(ry_predict_choose(problem, target, constants, &wanted, choice, error));
    if (!choice->prepared.kernel) {
        return RYND_OK;
    }
    bool any = false;
    const ry_query query = {choice->prepared.kernel, problem, target, NULL};
    RY_TRY(set_knobs(settings, step, &query, &wanted.form, &any, error));
    wanted.kernel = query.kernel;
    return any ? ry_predict_choose(problem, target, constants, &wanted, choice, error) : RYND_OK;
}

rynd_status ry_settings_check(const ry_settings *settings, const char *hint, ry_error *error)
{
    for (size_t i = 0; i < settings->count; i++) {
        if (!settings->used[i]) {
            return ry_fail(error, RYND_ERROR_NOT_FOUND,
                           "no step is called '%s', whose knob '%s' is set%s",
                           settings->items[i].step, settings->items[i].knob, hint);
        }
    }
    return RYND_OK;
}
