/* SPDX-License-Identifier: Apache-2.0 */
/* Calibrates the machine of a context. */
#include "api/api_check.h"
#include "api/api_machine.h"
#include "api/api_status.h"
#include "api/handles.h"
#include "tune/calibrate.h"

#include <math.h>
#include <string.h>

static const double DEFAULT_SECONDS = 90;

/* Rates that nobody measured are measured first: a factor for a wrong rate would be believed for
 * other threads and sizes, too. */
static rynd_status find_rates(rynd_context *context, const rynd_calibrate_options *options,
                              ry_error *error)
{
    if (context->machine.origin != RYND_MACHINE_BUILT_IN) {
        return RYND_OK;
    }
    const rynd_measure_options how = RYND_SIZED(rynd_measure_options, .progress = options->progress,
                                                .progress_user = options->progress_user);
    ry_machine measured;
    RY_TRY(ry_api_measure(context, &how, &measured, error));
    context->machine = measured;
    return RYND_OK;
}

static void take_families(ry_machine *machine, const ry_calibration *calibration)
{
    machine->family_count = (unsigned)calibration->count;
    for (int i = 0; i < calibration->count; i++) {
        machine->families[i] = calibration->rows[i].fitted;
    }
    machine->disturbance = fmax(machine->disturbance, calibration->disturbance);
}

static rynd_status calibrate(rynd_context *context, const rynd_calibrate_options *options,
                             ry_machine *machine, ry_error *error)
{
    const ry_calibrate_watch watch = {options->seconds > 0 ? options->seconds : DEFAULT_SECONDS,
                                      options->progress, options->progress_user};
    const ry_machine before = context->machine;
    rynd_status status = find_rates(context, options, error);
    context->machine.family_count = 0; /* fitted anew, not on top of an earlier fit */
    status = status != RYND_OK
                 ? status
                 : ry_calibrate(context->device, &watch, &context->calibration, error);
    *machine = context->machine;
    context->machine = before;
    if (status == RYND_OK) {
        take_families(machine, &context->calibration);
    }
    return status;
}

rynd_status rynd_context_calibrate(rynd_context *context, const rynd_calibrate_options *given,
                                   rynd_machine *machine)
{
    RY_API_REQUIRE(context, machine);
    ry_error error = {""};
    ry_machine all;
    rynd_calibrate_options options;
    rynd_status status =
        ry_api_options(&options, sizeof options, given, "rynd_calibrate_options", &error);
    if (status == RYND_OK && !(options.seconds >= 0 && options.seconds <= 86400)) {
        status =
            ry_fail(&error, RYND_ERROR_ARGUMENT,
                    "seconds is %g: give a number from 0 (the default) to 86400", options.seconds);
    }
    status = status != RYND_OK ? status
                               : ry_api_info(machine, &context->machine, sizeof context->machine,
                                             "rynd_machine", &error);
    status = status != RYND_OK ? status : calibrate(context, &options, &all, &error);
    status =
        status != RYND_OK ? status : ry_api_info(machine, &all, sizeof all, "rynd_machine", &error);
    return ry_api_end(status, &error);
}

size_t rynd_context_calibrated_count(const rynd_context *context)
{
    return context ? (size_t)context->calibration.count : 0;
}

rynd_status rynd_context_get_calibrated(const rynd_context *context, size_t index,
                                        rynd_calibrated_family *family)
{
    RY_API_REQUIRE(context, family);
    ry_error error = {""};
    if (index >= rynd_context_calibrated_count(context)) {
        return ry_api_end(ry_fail(&error, RYND_ERROR_ARGUMENT, "family %zu: %d were calibrated",
                                  index, context->calibration.count),
                          &error);
    }
    const ry_calibrated_row *row = &context->calibration.rows[index];
    const rynd_calibrated_family all =
        RYND_SIZED(rynd_calibrated_family, .family = row->fitted.family,
                   .problems = row->fitted.problems, .times = row->times,
                   .factor = (double)row->fitted.factor, .spread = (double)row->fitted.spread,
                   .error_before = row->before, .error_after = row->after);
    return ry_api_end(ry_api_info(family, &all, sizeof all, "rynd_calibrated_family", &error),
                      &error);
}
