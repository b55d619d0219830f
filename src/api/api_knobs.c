/* SPDX-License-Identifier: Apache-2.0 */
/* Knobs and settings as the caller sees them. */
#include "api/handles.h"
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
