/* SPDX-License-Identifier: Apache-2.0 */
/* The self-test of a device, and the file that keeps what it found:
 *
 *   rynd checked 1
 *   device 0123456789abcdef0123456789abcdef     the device, its driver, this version of rynd
 *   wrong softmax_gpu
 *   end */
#include "api/api_check_kernels.h"

#include "api/api_check.h"
#include "api/api_machine.h"
#include "api/api_status.h"
#include "api/handles.h"
#include "base/whole_file.h"
#include "device/gpu/gpu_device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_TEXT = 32 * 1024 };
static const char head[] = "rynd checked 1\n";

static const char *const words[RY_FINDINGS] = {[RY_FINDING_UNTRIED] = "untried",
                                               [RY_FINDING_RIGHT] = "right",
                                               [RY_FINDING_WRONG] = "wrong",
                                               [RY_FINDING_UNSTEADY] = "unsteady",
                                               [RY_FINDING_FAILED] = "failed"};

const char *rynd_finding_text(rynd_finding finding)
{
    return (unsigned)finding < RY_FINDINGS ? words[finding] : "";
}

static bool is_refused(ry_finding finding)
{
    return finding > RY_FINDING_RIGHT;
}

void ry_api_identify(const rynd_context *context, char text[RY_DIGEST_TEXT])
{
    ry_digest digest = ry_digest_begin();
    if (context->device != context->host) {
        digest = ry_gpu_device_of(context->device)->programs.device;
    } else {
        ry_digest_add_text(&digest, RYND_VERSION);
        ry_digest_add_text(&digest, ry_isa_name((ry_isa)context->device->isa));
    }
    ry_digest_text(digest, text);
}

/* Beside the machine's file; false: nowhere. */
static bool find_path(const rynd_context *context, char path[RY_MACHINE_PATH])
{
    static const char ending[] = ".checked";
    ry_machine here;
    ry_cpu_info cpu;
    ry_cpu_detect(&cpu);
    const bool beside = context->device != context->host;
    const bool found = beside ? ry_api_driver_machine(context, &here, NULL) == RYND_OK &&
                                    ry_machine_device_path(&here, path)
                              : ry_machine_path(&cpu, (ry_isa)context->device->isa, path);
    const size_t length = found ? strlen(path) : 0;
    if (!found || length + sizeof ending > RY_MACHINE_PATH) {
        return false;
    }
    memcpy(path + length, ending, sizeof ending);
    return true;
}

/* Reads a small regular file; false if it cannot be read. */
static bool read_text(const char *path, char text[MOST_TEXT + 1])
{
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size > MOST_TEXT) {
        return false;
    }
    FILE *file = fopen(path, "re");
    if (!file) {
        return false;
    }
    text[fread(text, 1, MOST_TEXT, file)] = 0;
    fclose(file);
    return true;
}

/* Lines "wrong NAME"; names that this build has no kernel of are passed over. */
static void take_lines(char *text, ry_refusals *refusals)
{
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *name = strchr(line, ' ');
        const ry_kernel *kernel = name ? ry_kernel_find(name + 1) : NULL;
        if (kernel) {
            ry_refusals_add(refusals, kernel);
        }
    }
}

static void use(rynd_context *context)
{
    const ry_refusals *refusals = context->refusals.count > 0 ? &context->refusals : NULL;
    context->device->refusals = refusals;
}

void ry_api_load_checks(rynd_context *context)
{
    char path[RY_MACHINE_PATH], device[RY_DIGEST_TEXT], expected[128], text[MOST_TEXT + 1];
    if (ry_api_check_runs(context->device, NULL) != RYND_OK || !find_path(context, path) ||
        !read_text(path, text)) {
        return;
    }
    ry_api_identify(context, device);
    const int length = snprintf(expected, sizeof expected, "%sdevice %s\n", head, device);
    if (strncmp(text, expected, (size_t)length) != 0) {
        ry_api_log(context, 1,
                   "%s: of another driver or version, and not used: `rynd devices --check` writes "
                   "it anew",
                   path);
        return;
    }
    take_lines(text + length, &context->refusals);
    use(context);
    if (context->refusals.count > 0) {
        ry_api_log(
            context, 1,
            "%d kernel%s not used on this device: `rynd devices --check` found %s wrong (%s)",
            context->refusals.count, context->refusals.count == 1 ? " is" : "s are",
            context->refusals.count == 1 ? "it" : "them", path);
    }
}

static bool put(ry_whole_file *file, const char *text)
{
    return ry_whole_file_put(file, text, strlen(text));
}

static rynd_status write_checks(const rynd_context *context, const char *path, ry_error *error)
{
    ry_whole_file file;
    char device[RY_DIGEST_TEXT], line[160];
    ry_api_identify(context, device);
    ry_machine_make_folders(path);
    RY_TRY(ry_whole_file_begin(&file, path, &context->allocator, error));
    snprintf(line, sizeof line, "%sdevice %s\n", head, device);
    bool good = put(&file, line);
    for (int i = 0; i < context->checked.count; i++) {
        const ry_checked_kernel *kernel = &context->checked.kernels[i];
        if (is_refused(kernel->finding)) {
            snprintf(line, sizeof line, "%s %s\n", words[kernel->finding], kernel->kernel->name);
            good = good && put(&file, line);
        }
    }
    good = good && put(&file, "end\n");
    return ry_whole_file_end(&file, good, error);
}

static void refuse_found(rynd_context *context)
{
    context->refusals.count = 0;
    for (int i = 0; i < context->checked.count; i++) {
        if (is_refused(context->checked.kernels[i].finding)) {
            ry_refusals_add(&context->refusals, context->checked.kernels[i].kernel);
        }
    }
    use(context);
}

static rynd_status check(rynd_context *context, const rynd_check_options *options,
                         const char **path, ry_error *error)
{
    const ry_check_watch watch = {options->progress, options->progress_user};
    RY_TRY(ry_api_check_runs(context->device, error));
    ry_arena_free(&context->checks);
    ry_arena_init(&context->checks, &context->allocator);
    context->checked = (ry_checked){0};
    RY_TRY(ry_check_kernels(context->device, &watch, &context->checks, &context->checked, error));
    refuse_found(context);
    if (!find_path(context, context->checks_path)) {
        return RYND_OK;
    }
    RY_TRY(write_checks(context, context->checks_path, error));
    if (path) {
        *path = context->checks_path;
    }
    return RYND_OK;
}

rynd_status rynd_context_check(rynd_context *context, const rynd_check_options *given,
                               const char **path)
{
    RY_API_REQUIRE(context);
    ry_error error = {""};
    rynd_check_options options;
    if (path) {
        *path = NULL;
    }
    rynd_status status =
        ry_api_options(&options, sizeof options, given, "rynd_check_options", &error);
    status = status != RYND_OK ? status : check(context, &options, path, &error);
    return ry_api_end(status, &error);
}

size_t rynd_context_checked_count(const rynd_context *context)
{
    return context ? (size_t)context->checked.count : 0;
}

rynd_status rynd_context_get_checked(const rynd_context *context, size_t index,
                                     rynd_checked_kernel *kernel)
{
    RY_API_REQUIRE(context, kernel);
    ry_error error = {""};
    if (index >= rynd_context_checked_count(context)) {
        return ry_api_end(ry_fail(&error, RYND_ERROR_ARGUMENT, "kernel %zu: %d were checked", index,
                                  context->checked.count),
                          &error);
    }
    const ry_checked_kernel *k = &context->checked.kernels[index];
    const rynd_checked_kernel all =
        RYND_SIZED(rynd_checked_kernel, .kernel = k->kernel->name, .op = ry_op_name(k->kernel->op),
                   .finding = (rynd_finding)k->finding, .problems = k->problems,
                   .problem = k->problem ? k->problem : "", .why = k->why);
    return ry_api_end(ry_api_info(kernel, &all, sizeof all, "rynd_checked_kernel", &error), &error);
}
