/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: allocator, threads, device. */
#include "api/api_context.h"

#include "api/api_check.h"
#include "api/api_check_kernels.h"
#include "api/api_device.h"
#include "api/api_machine.h"
#include "api/api_status.h"
#include "api/api_wisdom.h"
#include "api/handles.h"
#include "base/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rynd_status choose_isa(const rynd_context_options *options, ry_isa *isa, ry_error *error)
{
    ry_cpu_info info;
    ry_cpu_detect(&info);
    *isa = info.isa;
    const char *wanted = options->isa ? options->isa : getenv("RYND_ISA");
    if (!wanted || !*wanted) {
        return RYND_OK;
    }
    if (!ry_isa_parse(wanted, isa)) {
        char names[128] = "";
        for (ry_isa each = RY_ISA_generic; each < RY_ISAS; each++) {
            const size_t used = strlen(names);
            snprintf(names + used, sizeof names - used, "%s%s", each ? ", " : "",
                     ry_isa_name(each));
        }
        return ry_fail(error, RYND_ERROR_ARGUMENT, "unknown instruction set '%s': use one of %s",
                       wanted, names);
    }
    if (!ry_cpu_has(&info, *isa)) {
        return ry_fail(error, RYND_ERROR_DEVICE, "this machine has no %s: its best is %s", wanted,
                       ry_isa_name(info.isa));
    }
    return RYND_OK;
}

static rynd_status choose_threads(const rynd_context_options *options, unsigned *threads,
                                  ry_error *error)
{
    enum { MAX_THREADS = 1024 };
    *threads = options->threads;
    const char *text = getenv("RYND_THREADS");
    if (!*threads && text && *text) {
        int64_t value;
        if (!ry_integer_parse(text, strlen(text), &value) || value < 1 || value > MAX_THREADS) {
            return ry_fail(error, RYND_ERROR_ARGUMENT,
                           "RYND_THREADS is '%s': give a number from 1 to %d", text, MAX_THREADS);
        }
        *threads = (unsigned)value;
    }
    if (*threads > MAX_THREADS) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "%u threads: give at most %d", *threads,
                       MAX_THREADS);
    }
    return RYND_OK;
}

static rynd_status create(const rynd_context_options *options, rynd_context *context,
                          ry_error *error)
{
    ry_isa isa;
    unsigned threads;
    RY_TRY(choose_isa(options, &isa, error));
    RY_TRY(choose_threads(options, &threads, error));
    RY_TRY(ry_threads_create(&context->allocator, threads, options->parallel_for,
                             options->parallel_for_user, &context->threads, error));
    RY_TRY(ry_api_open_device(context, options->device, options->machine != NULL, isa, error));
    RY_TRY(ry_api_load_machine(context, options->machine, error));
    const bool own = threads && context->device == context->host;
    context->predicted_threads = own                      ? threads
                                 : context->machine.cores ? context->machine.cores
                                                          : 1;
    ry_api_load_checks(context);
    RY_TRY(ry_op_cache_create(&context->allocator, &context->ops, error));
    return ry_api_open_wisdom(context, options, error);
}

rynd_status ry_api_check_hooks(const rynd_allocator *hooks, ry_error *error)
{
    if (hooks && (!hooks->allocate || !hooks->release)) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "rynd_context_options: allocator has no %s",
                       hooks->allocate ? "release" : "allocate");
    }
    return RYND_OK;
}

rynd_status rynd_context_create(const rynd_context_options *given, rynd_context **context)
{
    RY_API_REQUIRE(context);
    *context = NULL;
    ry_error error = {""};
    rynd_context_options options;
    rynd_status status =
        ry_api_options(&options, sizeof options, given, "rynd_context_options", &error);
    status = status != RYND_OK ? status : ry_api_check_hooks(options.allocator, &error);
    if (status != RYND_OK) {
        return ry_api_end(status, &error);
    }
    const rynd_allocator *hooks = options.allocator;
    ry_allocator allocator =
        hooks ? (ry_allocator){hooks->allocate, hooks->release, hooks->user} : ry_system_allocator;
    rynd_context *c = ry_allocate_array(&allocator, 1, sizeof *c);
    if (!c) {
        return ry_api_end(ry_fail_memory(&error), &error);
    }
    c->allocator = allocator;
    ry_arena_init(&c->checks, &c->allocator);
    c->log = options.log;
    c->log_user = options.log_user;
    status = create(&options, c, &error);
    if (status != RYND_OK) {
        rynd_context_destroy(c);
        return ry_api_end(status, &error);
    }
    ry_api_log(c, 2, "rynd %s on %s, %s, %u threads", rynd_version(), c->device->name,
               ry_isa_name((ry_isa)c->device->isa), ry_threads_count(c->threads));
    *context = c;
    return RYND_OK;
}

void rynd_context_destroy(rynd_context *context)
{
    if (!context) {
        return;
    }
    ry_op_cache_destroy(context->ops);
    ry_wisdom_close(context->wisdom);
    ry_arena_free(&context->checks);
    if (context->device && context->device != context->host) {
        context->device->table->destroy(context->device);
    }
    if (context->host) {
        context->host->table->destroy(context->host);
    }
    ry_threads_destroy(context->threads);
    ry_allocator allocator = context->allocator;
    ry_release(&allocator, context);
}

rynd_status rynd_context_get_info(const rynd_context *context, rynd_device_info *info)
{
    RY_API_REQUIRE(context, info);
    ry_error error = {""};
    ry_cpu_info cpu;
    ry_cpu_detect(&cpu);
    rynd_device_info all = {
        .device = context->device->table->name,
        .name = context->device->name,
        .isa = context->machine.isa,
        .threads = ry_threads_count(context->threads),
        .cores = cpu.cores,
        .machine = context->machine_path[0] ? context->machine_path : NULL,
        .fingerprint = context->fingerprint,
        .wisdom = context->wisdom ? context->wisdom_path : NULL,
        .frozen = context->frozen,
    };
    return ry_api_end(ry_api_info(info, &all, sizeof all, "rynd_device_info", &error), &error);
}
