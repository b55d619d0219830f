/* SPDX-License-Identifier: Apache-2.0 */
/* Opens devices by their names. */
#include "api/api_device.h"

#include "api/api_check.h"
#include "api/api_status.h"
#include "api/handles.h"
#include "base/number.h"
#include "device/cpu/cpu_device.h"
#include "device/cuda/cuda_device.h"
#include "device/opencl/opencl_device.h"
#include "device/paper/paper_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rynd_status open_cpu(rynd_context *context, unsigned index, ry_error *error)
{
    if (index > 0) {
        return ry_fail(error, RYND_ERROR_DEVICE, "there is no device 'cpu:%u': the CPU is 'cpu'",
                       index);
    }
    context->device = context->host;
    return RYND_OK;
}

static rynd_status open_opencl(rynd_context *context, unsigned index, ry_error *error)
{
    return ry_opencl_device_create(&context->allocator, index, context->host, &context->device,
                                   error);
}

static rynd_status open_cuda(rynd_context *context, unsigned index, ry_error *error)
{
    return ry_cuda_device_create(&context->allocator, index, context->host, &context->device,
                                 error);
}

static rynd_status count_cpus(unsigned *count, ry_error *error)
{
    (void)error;
    *count = 1;
    return RYND_OK;
}

static const struct {
    const char *name;
    rynd_status (*open)(rynd_context *context, unsigned index, ry_error *error);
    rynd_status (*count)(unsigned *count, ry_error *error);
} kinds[] = {{"cpu", open_cpu, count_cpus},
             {"opencl", open_opencl, ry_opencl_device_count},
             {"cuda", open_cuda, ry_cuda_device_count}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* "opencl:1" is kind 1, index 1. */
static bool parse(const char *text, size_t *kind, unsigned *index)
{
    const char *colon = strchr(text, ':');
    const size_t length = colon ? (size_t)(colon - text) : strlen(text);
    int64_t number = 0;
    if (colon && (!ry_integer_parse(colon + 1, strlen(colon + 1), &number) || number < 0 ||
                  number > UINT16_MAX)) {
        return false;
    }
    *index = (unsigned)number;
    for (*kind = 0; *kind < KINDS; ++*kind) {
        if (strlen(kinds[*kind].name) == length && !strncmp(kinds[*kind].name, text, length)) {
            return true;
        }
    }
    return false;
}

/* A device whose driver is not here can be planned for, if a file tells its machine. */
static rynd_status open_kind(rynd_context *context, size_t kind, unsigned index, bool machine,
                             ry_error *error)
{
    const rynd_status status = kinds[kind].open(context, index, error);
    if (!machine || kind == 0 || (status != RYND_ERROR_DEVICE && status != RYND_ERROR_NOT_FOUND)) {
        return status;
    }
    ry_error why = *error;
    return ry_paper_device_create(&context->allocator, kinds[kind].name, why.text, context->host,
                                  &context->device, error);
}

rynd_status ry_api_open_device(rynd_context *context, const char *name, bool machine, ry_isa isa,
                               ry_error *error)
{
    const char *given = name ? name : getenv("RYND_DEVICE");
    const char *text = given && *given ? given : "cpu";
    size_t kind;
    unsigned index;
    if (!parse(text, &kind, &index)) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "unknown device '%s': use cpu, opencl, opencl:N, cuda or cuda:N (`rynd "
                       "devices` lists what there is)",
                       text);
    }
    RY_TRY(ry_cpu_device_create(&context->allocator, context->threads, isa, &context->host, error));
    context->device_index = index;
    return open_kind(context, kind, index, machine, error);
}

/* Counts devices of a kind; 0 if its driver is not installed. */
static size_t count_of(size_t kind)
{
    unsigned count = 0;
    ry_error error;
    return kinds[kind].count(&count, &error) == RYND_OK ? count : 0;
}

size_t rynd_device_count(void)
{
    size_t count = 0;
    for (size_t kind = 0; kind < KINDS; kind++) {
        count += count_of(kind);
    }
    return count;
}

/* "cpu", "opencl:0": the name of device `index` of all; false: there are fewer, *count. */
static bool find_name(size_t index, char name[32], size_t *count)
{
    *count = 0;
    for (size_t kind = 0; kind < KINDS; kind++) {
        const size_t more = count_of(kind);
        if (index - *count < more) {
            snprintf(name, 32, kind ? "%s:%zu" : "%s", kinds[kind].name, index - *count);
            return true;
        }
        *count += more;
    }
    return false;
}

rynd_status rynd_device_get_name(size_t index, char *name, size_t size)
{
    RY_API_REQUIRE(name);
    ry_error error = {""};
    char text[32];
    size_t count;
    if (!find_name(index, text, &count)) {
        return ry_api_end(
            ry_fail(&error, RYND_ERROR_ARGUMENT, "device %zu: there are %zu", index, count),
            &error);
    }
    if (strlen(text) >= size) {
        return ry_api_end(ry_fail(&error, RYND_ERROR_ARGUMENT,
                                  "the name of device %zu needs %zu bytes, %zu are given", index,
                                  strlen(text) + 1, size),
                          &error);
    }
    memcpy(name, text, strlen(text) + 1);
    return RYND_OK;
}
