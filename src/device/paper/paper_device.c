/* SPDX-License-Identifier: Apache-2.0 */
/* A device on paper: every function that needs memory or a queue fails. */
#include "device/paper/paper_device.h"

#include <stdio.h>
#include <string.h>

typedef struct paper_device {
    ry_device base;
    char why[sizeof((ry_error *)0)->text];
} paper_device;

static void destroy(ry_device *device)
{
    ry_release(device->allocator, device);
}

static void *native(ry_device *device)
{
    (void)device;
    return NULL;
}

static void figures(ry_device *device, ry_device_figures *figures)
{
    (void)device;
    *figures = (ry_device_figures){0};
}

static void trim(ry_device *device, size_t keep)
{
    (void)device;
    (void)keep;
}

static rynd_status fail(const ry_device *device, ry_error *error)
{
    return ry_fail(error, RYND_ERROR_DEVICE,
                   "device '%s' is not here, and can be planned for only: %s", device->table->name,
                   ((const paper_device *)device)->why);
}

static rynd_status buffer_create(ry_device *device, size_t size, ry_buffer **buffer,
                                 ry_error *error)
{
    (void)size;
    (void)buffer;
    return fail(device, error);
}

static rynd_status buffer_wrap(ry_device *device, const void *host, size_t size, ry_buffer **buffer,
                               ry_error *error)
{
    (void)host;
    return buffer_create(device, size, buffer, error);
}

static rynd_status buffer_import(ry_device *device, void *given, size_t size, ry_buffer **buffer,
                                 ry_error *error)
{
    (void)given;
    return buffer_create(device, size, buffer, error);
}

/* There are none. */
static void buffer_destroy(ry_device *device, ry_buffer *buffer)
{
    (void)device;
    (void)buffer;
}

static rynd_status host_take(ry_device *device, size_t size, void **memory, ry_error *error)
{
    (void)size;
    (void)memory;
    return fail(device, error);
}

static void host_give_back(ry_device *device, void *memory)
{
    (void)device;
    (void)memory;
}

static rynd_status program_create(ry_device *device, const ry_gpu_source *source,
                                  ry_program *program, ry_error *error)
{
    (void)source;
    (void)program;
    return fail(device, error);
}

static void program_destroy(ry_device *device, ry_program program)
{
    (void)device;
    (void)program;
}

static rynd_status stream_create(ry_device *device, ry_stream **stream, ry_error *error)
{
    (void)stream;
    return fail(device, error);
}

static rynd_status event_create(ry_device *device, ry_event **event, ry_error *error)
{
    (void)event;
    return fail(device, error);
}

#define PAPER(kind_name)                                                                \
    {                                                                                   \
        .kind = RY_DEVICE_gpu, .name = kind_name, .destroy = destroy, .native = native, \
        .figures = figures, .trim = trim, .buffer_create = buffer_create,               \
        .buffer_wrap = buffer_wrap, .buffer_import = buffer_import,                     \
        .buffer_destroy = buffer_destroy, .host_take = host_take,                       \
        .host_give_back = host_give_back, .program_create = program_create,             \
        .program_destroy = program_destroy, .stream_create = stream_create,             \
        .event_create = event_create,                                                   \
    }
static const ry_device_table tables[] = {PAPER("opencl"), PAPER("cuda")};
enum { TABLES = sizeof tables / sizeof *tables };

rynd_status ry_paper_device_create(const ry_allocator *allocator, const char *kind, const char *why,
                                   ry_device *host, ry_device **device, ry_error *error)
{
    paper_device *d = ry_allocate_array(allocator, 1, sizeof *d);
    if (!d) {
        return ry_fail_memory(error);
    }
    for (int i = 0; i < TABLES; i++) {
        d->base.table = strcmp(tables[i].name, kind) == 0 ? &tables[i] : d->base.table;
    }
    d->base.allocator = allocator;
    d->base.host = host;
    d->base.workers = 1;
    snprintf(d->why, sizeof d->why, "%s", why);
    *device = &d->base;
    return RYND_OK;
}

rynd_status ry_paper_device_refuse(const ry_device *device, ry_error *error)
{
    for (int i = 0; i < TABLES; i++) {
        if (device->table == &tables[i]) {
            return fail(device, error);
        }
    }
    return RYND_OK;
}
