/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the kernels of a device, problem by problem. */
#include "tune/check_kernels.h"

#include "base/progress_ends.h"
#include "device/digest.h"
#include "kernels/prepared.h"
#include "machine/machine.h"
#include "tune/reference_samples.h"
#include "tune/trial.h"

#include <stdio.h>
#include <string.h>

/* A kernel that takes many of the problems is tried on so many of them: programs take seconds to
 * compile on some drivers. */
enum { MOST_PROBLEMS = 3, SEED = 1 };

static const struct check_problem {
    int64_t reach;
    const char *text;
} problems[] = {
#define RY_CHECK(reach, text) {reach, text},
#include "tune/check_problems.inc"
#undef RY_CHECK
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

typedef struct check {
    ry_device *device;
    ry_target target, host; /* nothing is refused there */
    ry_arena arena;         /* memory of one problem */
    const char *text;
    ry_problem problem;
    ry_operands operands;
    ry_reference_samples truth;
    ry_checked *checked;
} check;

static void note(const check *c, ry_checked_kernel *kernel, ry_finding finding, const char *why)
{
    kernel->finding = finding;
    kernel->problem = finding == RY_FINDING_RIGHT ? NULL : c->text;
    snprintf(kernel->why, sizeof kernel->why, "%.*s", (int)sizeof kernel->why - 1, why);
}

/* The bits of all outputs. */
static rynd_status digest_outputs(check *c, ry_digest *digest, ry_error *error)
{
    *digest = ry_digest_begin();
    for (int i = 0; i < c->problem.outputs; i++) {
        const void *data;
        RY_TRY(ry_operands_output(&c->operands, i, &data, error));
        if (data && ry_tensor_present(&c->problem.out[i])) {
            ry_digest_add(digest, data, ry_tensor_span(&c->problem.out[i]));
        }
    }
    return RYND_OK;
}

static rynd_status run(check *c, ry_trial *trial, ry_digest *digest, ry_error *error)
{
    RY_TRY(ry_operands_clear(&c->operands, error));
    RY_TRY(ry_trial_run(trial, error));
    return digest_outputs(c, digest, error);
}

/* Two runs; the first is compared. */
static rynd_status try_twice(check *c, ry_trial *trial, ry_checked_kernel *kernel, ry_error *error)
{
    char doubt[RY_DOUBT_LENGTH] = "";
    ry_digest first, second;
    RY_TRY(run(c, trial, &first, error));
    RY_TRY(ry_reference_samples_compare(&c->truth, &c->operands, kernel->kernel->accuracy, doubt,
                                        error));
    RY_TRY(run(c, trial, &second, error));
    if (doubt[0]) {
        note(c, kernel, RY_FINDING_WRONG, doubt);
    } else if (!ry_digest_equal(first, second)) {
        note(c, kernel, RY_FINDING_UNSTEADY, "two runs give different bits");
    } else {
        note(c, kernel, RY_FINDING_RIGHT, "");
    }
    return RYND_OK;
}

/* The kernel gets fresh memory: in reused memory it could read what another kernel left there. */
static rynd_status try_kernel(check *c, ry_checked_kernel *kernel, ry_error *error)
{
    c->device->table->trim(c->device, 0);
    const ry_query query = {kernel->kernel, &c->problem, &c->target, NULL};
    ry_prepared prepared; /* the form that a plan would take */
    RY_TRY(ry_prepare(&query, 0, &prepared, error));
    RY_TRY(ry_prepared_fit(&prepared, c->device, &c->target, &c->arena, error));
    ry_trial trial = {.operands = NULL};
    rynd_status status =
        ry_trial_make(&trial, &prepared, 0, false, &c->operands, &c->target, error);
    if (status == RYND_OK) {
        status = try_twice(c, &trial, kernel, error);
    }
    ry_trial_free(&trial);
    ry_prepared_release(&prepared, c->device);
    return status;
}

/* Memory that is out is nobody's mistake; whatever else fails is the kernel's. */
static rynd_status judge(check *c, ry_checked_kernel *kernel, ry_error *error)
{
    ry_error own = {""};
    const rynd_status status = try_kernel(c, kernel, &own);
    kernel->problems++;
    if (status == RYND_ERROR_OUT_OF_MEMORY) {
        ry_error_write(error, "%s", own.text);
        return status;
    }
    if (status != RYND_OK) {
        note(c, kernel, RY_FINDING_FAILED, own.text);
    }
    return RYND_OK;
}

static bool is_due(const check *c, const ry_checked_kernel *kernel)
{
    return kernel->finding <= RY_FINDING_RIGHT && kernel->problems < MOST_PROBLEMS &&
           ry_kernel_takes(kernel->kernel, &c->problem, &c->target);
}

static rynd_status judge_all(check *c, ry_error *error)
{
    for (int k = 0; k < c->checked->count; k++) {
        if (is_due(c, &c->checked->kernels[k])) {
            RY_TRY(judge(c, &c->checked->kernels[k], error));
        }
    }
    return RYND_OK;
}

static bool any_due(const check *c)
{
    for (int k = 0; k < c->checked->count; k++) {
        if (is_due(c, &c->checked->kernels[k])) {
            return true;
        }
    }
    return false;
}

static rynd_status check_problem(check *c, const struct check_problem *problem, ry_error *error)
{
    c->text = problem->text;
    RY_TRY(ry_problem_parse(problem->text, &c->arena, &c->problem, error));
    if (!any_due(c)) {
        return RYND_OK;
    }
    rynd_status status = ry_operands_make(&c->operands, c->device, &c->problem, SEED,
                                          problem->reach, &c->arena, error);
    if (status == RYND_OK) {
        status = ry_reference_samples_whole(&c->truth, &c->operands, &c->host, &c->arena, error);
    }
    if (status == RYND_OK) {
        status = judge_all(c, error);
    }
    ry_operands_free(&c->operands);
    return status;
}

/* The device's kernels that plans may take; the reference is what the others are held to. */
static rynd_status list_kernels(const check *c, ry_arena *arena, ry_checked *checked,
                                ry_error *error)
{
    checked->count = 0;
    checked->kernels = RY_TAKE(arena, ry_checked_kernel, ry_kernel_count);
    for (size_t i = 0; checked->kernels && i < ry_kernel_count; i++) {
        const ry_kernel *kernel = ry_kernels[i];
        if (kernel->device == c->target.device && ry_isa_includes(c->target.isa, kernel->isa) &&
            !kernel->reference && !ry_kernel_better(i, &c->target) &&
            (!kernel->matrix_units || c->target.machine->matrix_units)) {
            checked->kernels[checked->count++] = (ry_checked_kernel){.kernel = kernel};
        }
    }
    return checked->kernels ? RYND_OK : ry_fail_memory(error);
}

rynd_status ry_check_kernels(ry_device *device, const ry_check_watch *watch, ry_arena *arena,
                             ry_checked *checked, ry_error *error)
{
    check c = {.device = device,
               .target = ry_target_here(device),
               .host = ry_target_here(device->host),
               .checked = checked};
    c.target.refusals = c.host.refusals = NULL;
    RY_TRY(list_kernels(&c, arena, checked, error));
    rynd_status status = RYND_OK;
    for (int i = 0; i < PROBLEMS && status == RYND_OK; i++) {
        ry_arena_init(&c.arena, device->allocator);
        status = check_problem(&c, &problems[i], error);
        if (status != RYND_OK) {
            ry_error_prefix(error, "problem '%s': ", problems[i].text);
        }
        ry_arena_free(&c.arena);
        if (status == RYND_OK &&
            ry_progress_ends(watch->progress, watch->user, (size_t)i + 1, PROBLEMS)) {
            return ry_fail(error, RYND_ERROR_CANCELLED, "the check was ended by its caller");
        }
    }
    return status;
}
