/* SPDX-License-Identifier: Apache-2.0 */
/* Finds, measures and keeps the machine of a context. */
#include "api/api_machine.h"

#include "api/api_cards.h"
#include "api/api_check.h"
#include "api/api_status.h"
#include "api/handles.h"
#include "base/competition.h"
#include "device/cuda/cuda_info.h"
#include "device/opencl/opencl_info.h"
#include "kernels/cpu/peak/peak.h"
#include "kernels/gpu/gpu_measure.h"
#include "machine/machine_fields.h"
#include "machine/measure.h"

#include <stdio.h>
#include <string.h>

/* A file, or a card by its name. */
static rynd_status read_file_or_card(const char *given, const char *device, ry_machine *machine,
                                     ry_error *error)
{
    char names[512];
    const rynd_status status = ry_machine_read(given, machine, error);
    if (status != RYND_ERROR_NOT_FOUND || ry_api_card(given, machine)) {
        return status == RYND_ERROR_NOT_FOUND ? RYND_OK : status;
    }
    ry_api_card_names(device, names, sizeof names);
    return *names ? ry_fail(error, RYND_ERROR_NOT_FOUND,
                            "%s: there is no such file, and no card of that name for %s: %s", given,
                            device, names)
                  : status;
}

static rynd_status read_given(const rynd_context *context, const char *given, ry_machine *machine,
                              ry_error *error)
{
    const char *device = context->device->table->name;
    const bool beside = context->device != context->host;
    RY_TRY(read_file_or_card(given, device, machine, error));
    if ((machine->group_items > 0) != beside) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "%s: it is of %s (%s, %s), and the device is %s: name another with "
                       "--device, or another file",
                       given, beside ? "a CPU" : "a GPU", machine->name, machine->isa,
                       beside ? "not one" : "a CPU");
    }
    return !beside || strcmp(machine->isa, device) == 0
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_ARGUMENT,
                         "%s: it is of %s (%s), and the device is of %s: give --device %s", given,
                         machine->isa, machine->name, device, machine->isa);
}

/* Loads a machine file. The caller's file may describe any machine; the kept file and
 * RYND_MACHINE's only this one, since several machines may share a home. */
static rynd_status load_given(rynd_context *context, const char *given, const ry_machine *here,
                              ry_error *error)
{
    ry_isa isa;
    RY_TRY(read_given(context, given, &context->machine, error));
    ry_isa_parse(context->machine.isa, &isa);
    context->device->planned_isa = (unsigned)isa;
    context->machine.origin =
        ry_machine_same(&context->machine, here) ? RYND_MACHINE_MEASURED : RYND_MACHINE_IMPORTED;
    return RYND_OK;
}

static void load_kept(rynd_context *context, const ry_machine *here)
{
    ry_error error = {""};
    ry_machine kept;
    const rynd_status status = ry_machine_read(context->machine_path, &kept, &error);
    if (status == RYND_OK && ry_machine_same(&kept, here)) {
        context->machine = kept;
        context->machine.origin = RYND_MACHINE_MEASURED;
        return;
    }
    if (status == RYND_OK) {
        ry_api_log(context, 0,
                   "%s: of another machine (%s, %s, %u cores): built-in rates are used; `rynd "
                   "devices --measure` writes it anew",
                   context->machine_path, kept.name, kept.isa, kept.cores);
    } else if (status != RYND_ERROR_NOT_FOUND) {
        ry_api_log(context, 0,
                   "%s; built-in rates are used; `rynd devices --measure` writes it anew",
                   error.text);
    }
    context->machine_path[0] = 0;
}

rynd_status ry_api_driver_machine(const rynd_context *context, ry_machine *machine, ry_error *error)
{
    RY_TRY(strcmp(context->device->table->name, "cuda") == 0
               ? ry_cuda_machine(context->device_index, machine, error)
               : ry_opencl_machine(context->device_index, machine, error));
    ry_machine_settle(machine);
    return RYND_OK;
}

/* Loads the machine of a device beside the CPU: measured, or as its driver describes it. */
static rynd_status load_device(rynd_context *context, const ry_machine *cpu, const char *given,
                               ry_error *error)
{
    context->host_machine = *cpu;
    context->host->machine = &context->host_machine;
    context->device->machine = &context->machine;
    if (given) {
        snprintf(context->machine_path, sizeof context->machine_path, "%s", given);
        return read_given(context, given, &context->machine, error);
    }
    ry_machine here;
    RY_TRY(ry_api_driver_machine(context, &here, error));
    context->machine = here;
    if (ry_machine_device_path(&here, context->machine_path)) {
        load_kept(context, &here);
    }
    return RYND_OK;
}

rynd_status ry_api_load_machine(rynd_context *context, const char *given, ry_error *error)
{
    ry_cpu_info cpu;
    ry_machine here;
    ry_cpu_detect(&cpu);
    const ry_isa isa = (ry_isa)context->host->isa;
    ry_machine_built_in(&cpu, isa, &here);
    ry_machine_settle(&here); /* caches are what the system says */
    if (context->device != context->host) {
        return load_device(context, &here, given, error);
    }
    context->machine = here;
    context->device->machine = &context->machine;
    if (given) {
        snprintf(context->machine_path, sizeof context->machine_path, "%s", given);
        return load_given(context, given, &here, error);
    }
    if (ry_machine_path(&cpu, isa, context->machine_path)) {
        load_kept(context, &here);
    }
    return RYND_OK;
}

rynd_status rynd_context_get_machine(const rynd_context *context, rynd_machine *machine)
{
    RY_API_REQUIRE(context, machine);
    ry_error error = {""};
    return ry_api_end(
        ry_api_info(machine, &context->machine, sizeof context->machine, "rynd_machine", &error),
        &error);
}

rynd_status rynd_competition_begin(rynd_competition *begin)
{
    RY_API_REQUIRE(begin);
    ry_error error = {""};
    const ry_competition now = ry_competition_now();
    const rynd_competition all = RYND_SIZED(rynd_competition, .all = now.all, .others = now.others);
    return ry_api_end(ry_api_info(begin, &all, sizeof all, "rynd_competition", &error), &error);
}

double rynd_competition_since(const rynd_competition *begin)
{
    return begin ? ry_competition_since(&(ry_competition){begin->all, begin->others}) : 0;
}

double rynd_disturbance_since(const rynd_competition *begin, double best, double mean)
{
    const ry_competition none = {0, 0};
    return ry_disturbance_since(begin ? &(ry_competition){begin->all, begin->others} : &none, best,
                                mean);
}

rynd_status ry_api_measure(const rynd_context *context, const rynd_measure_options *options,
                           ry_machine *machine, ry_error *error)
{
    if (context->device != context->host) {
        RY_TRY(ry_api_driver_machine(context, machine, error));
        return ry_gpu_measure(context->device, options, machine, error);
    }
    ry_cpu_info cpu;
    ry_cpu_detect(&cpu);
    const ry_isa isa = (ry_isa)context->device->isa;
    const ry_machine_loops loops = ry_peak_loops(isa);
    ry_machine_built_in(&cpu, isa, machine);
    ry_machine_settle(machine);
    return ry_machine_measure(&context->allocator, context->threads, &loops, options, machine,
                              error);
}

rynd_status rynd_context_measure(rynd_context *context, const rynd_measure_options *given,
                                 rynd_machine *machine)
{
    RY_API_REQUIRE(context, machine);
    ry_error error = {""};
    ry_machine all;
    rynd_measure_options options;
    rynd_status status =
        ry_api_options(&options, sizeof options, given, "rynd_measure_options", &error);
    /* said before the time is spent, too */
    status = status != RYND_OK ? status
                               : ry_api_info(machine, &context->machine, sizeof context->machine,
                                             "rynd_machine", &error);
    status = status != RYND_OK ? status : ry_api_measure(context, &options, &all, &error);
    status =
        status != RYND_OK ? status : ry_api_info(machine, &all, sizeof all, "rynd_machine", &error);
    return ry_api_end(status, &error);
}

static rynd_status keep(rynd_context *context, const ry_machine *machine, ry_error *error)
{
    ry_cpu_info cpu;
    ry_cpu_detect(&cpu);
    const bool beside = context->device != context->host;
    const unsigned threads = ry_threads_count(context->threads);
    if (!beside && threads != cpu.machine_cores) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "measured with %u thread%s on %u cores: not kept", threads,
                       threads == 1 ? "" : "s", cpu.machine_cores);
    }
    if (machine->disturbance > RYND_DISTURBANCE_LIMIT) {
        return ry_fail(
            error, RYND_ERROR_ARGUMENT,
            "other work took %.0f%% of the time: not kept; measure again when the machine is quiet",
            100 * machine->disturbance);
    }
    char path[RY_MACHINE_PATH];
    if (!(beside ? ry_machine_device_path(machine, path)
                 : ry_machine_path(&cpu, (ry_isa)context->device->isa, path))) {
        return ry_fail(
            error, RYND_ERROR_ARGUMENT,
            "there is no place for the machine's file: RYND_MACHINE is off, or HOME is not set");
    }
    RY_TRY(ry_machine_write(machine, path, error));
    memcpy(context->kept_path, path, sizeof path);
    return RYND_OK;
}

rynd_status rynd_context_keep_machine(rynd_context *context, const rynd_machine *machine,
                                      const char **path)
{
    RY_API_REQUIRE(context, machine);
    ry_error error = {""};
    ry_machine all;
    rynd_status status = ry_api_options(&all, sizeof all, machine, "rynd_machine", &error);
    status = status != RYND_OK ? status : keep(context, &all, &error);
    if (status == RYND_OK && path) {
        *path = context->kept_path;
    }
    return ry_api_end(status, &error);
}

rynd_status rynd_machine_save(const rynd_machine *machine, const char *path)
{
    RY_API_REQUIRE(machine, path);
    ry_error error = {""};
    ry_machine all;
    rynd_status status = ry_api_options(&all, sizeof all, machine, "rynd_machine", &error);
    status = status != RYND_OK ? status : ry_machine_write(&all, path, &error);
    return ry_api_end(status, &error);
}

rynd_status rynd_machine_load(const char *path, rynd_machine *machine)
{
    RY_API_REQUIRE(path, machine);
    ry_error error = {""};
    ry_machine all;
    rynd_status status = ry_machine_read(path, &all, &error);
    status =
        status != RYND_OK ? status : ry_api_info(machine, &all, sizeof all, "rynd_machine", &error);
    return ry_api_end(status, &error);
}
