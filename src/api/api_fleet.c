/* SPDX-License-Identifier: Apache-2.0 */
/* Fleets: a list of devices, and a context for each. */
#include "api/api_fleet.h"

#include "api/api_check.h"
#include "api/api_context.h"
#include "api/api_status.h"
#include "api/handles.h"

#include <math.h>

/* The line of the file says what is wrong with a device as well as with a word. */
static rynd_status open_device(rynd_fleet *fleet, size_t index, const char *path,
                               const rynd_context_options *options, ry_error *error)
{
    const ry_fleet_device *d = &fleet->list.device[index];
    rynd_context_options own = *options;
    own.size = sizeof own;
    own.device = d->kind;
    own.threads = d->threads ? d->threads : options->threads;
    own.machine = d->machine ? d->machine : options->machine;
    const rynd_status status = rynd_context_create(&own, &fleet->context[index]);
    return status == RYND_OK ? RYND_OK
                             : ry_fail(error, status, "%s: line %d: device '%s': %s", path, d->line,
                                       d->name, rynd_last_error());
}

static rynd_status load(rynd_fleet *fleet, const char *path, const rynd_context_options *options,
                        ry_error *error)
{
    RY_TRY(ry_fleet_read(path, &fleet->arena, &fleet->list, error));
    for (size_t i = 0; i < fleet->list.count; i++) {
        RY_TRY(open_device(fleet, i, path, options, error));
    }
    return RYND_OK;
}

rynd_status rynd_fleet_load(const char *path, const rynd_context_options *given, rynd_fleet **fleet)
{
    RY_API_REQUIRE(path, fleet);
    *fleet = NULL;
    ry_error error = {""};
    rynd_context_options options;
    rynd_status status =
        ry_api_options(&options, sizeof options, given, "rynd_context_options", &error);
    status = status != RYND_OK ? status : ry_api_check_hooks(options.allocator, &error);
    if (status != RYND_OK) {
        return ry_api_end(status, &error);
    }
    const rynd_allocator *hooks = options.allocator;
    const ry_allocator allocator =
        hooks ? (ry_allocator){hooks->allocate, hooks->release, hooks->user} : ry_system_allocator;
    rynd_fleet *f = ry_allocate_array(&allocator, 1, sizeof *f);
    if (!f) {
        return ry_api_end(ry_fail_memory(&error), &error);
    }
    f->allocator = allocator;
    ry_arena_init(&f->arena, &f->allocator);
    status = load(f, path, &options, &error);
    if (status != RYND_OK) {
        rynd_fleet_destroy(f);
        return ry_api_end(status, &error);
    }
    *fleet = f;
    return RYND_OK;
}

void rynd_fleet_destroy(rynd_fleet *fleet)
{
    if (!fleet) {
        return;
    }
    for (size_t i = 0; i < RY_FLEET_DEVICES; i++) {
        rynd_context_destroy(fleet->context[i]);
    }
    ry_arena_free(&fleet->arena);
    const ry_allocator allocator = fleet->allocator;
    ry_release(&allocator, fleet);
}

size_t rynd_fleet_device_count(const rynd_fleet *fleet)
{
    return fleet ? fleet->list.count : 0;
}

static rynd_status check_index(const rynd_fleet *fleet, size_t index, ry_error *error)
{
    return index < fleet->list.count
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_ARGUMENT, "device %zu: the fleet has %zu", index,
                         fleet->list.count);
}

rynd_status rynd_fleet_get_device(const rynd_fleet *fleet, size_t index, rynd_fleet_device *device)
{
    RY_API_REQUIRE(fleet, device);
    ry_error error = {""};
    rynd_status status = check_index(fleet, index, &error);
    if (status == RYND_OK) {
        const ry_fleet_device *d = &fleet->list.device[index];
        const rynd_fleet_device all = {.name = d->name,
                                       .device = d->kind,
                                       .machine = d->machine,
                                       .threads = d->threads,
                                       .memory = d->memory == INFINITY ? 0 : d->memory,
                                       .watts = d->watts,
                                       .context = fleet->context[index]};
        status = ry_api_info(device, &all, sizeof all, "rynd_fleet_device", &error);
    }
    return ry_api_end(status, &error);
}

rynd_status rynd_fleet_get_link(const rynd_fleet *fleet, size_t a, size_t b, double *bandwidth,
                                double *latency)
{
    RY_API_REQUIRE(fleet, bandwidth, latency);
    ry_error error = {""};
    rynd_status status = check_index(fleet, a, &error);
    status = status != RYND_OK ? status : check_index(fleet, b, &error);
    if (status == RYND_OK && a == b) {
        status = ry_fail(&error, RYND_ERROR_ARGUMENT, "a link joins two devices, not %zu with %zu",
                         a, b);
    }
    if (status == RYND_OK) {
        *bandwidth = fleet->list.bandwidth[a * fleet->list.count + b];
        *latency = fleet->list.latency[a * fleet->list.count + b];
    }
    return ry_api_end(status, &error);
}
