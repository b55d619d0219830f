/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses a kernel by predicted time. It depends on the problem and the machine only: no clock,
 * nothing random. */
#include "predict/predict.h"

#include "base/number.h"
#include "kernels/prepared.h"
#include "kernels/refusals.h"
#include "predict/forecast.h"

#include <stdio.h>
#include <string.h>

/* Times this near to the least predicted one are equal, as they are for tuning (tune/race.h): no
 * forecast tells them apart. */
static const double NEAR = 0.02;

/* The fastest kernel so far, and those that are as fast. */
typedef struct contest {
    ry_choice *choice;
    struct {
        ry_prepared prepared;
        double seconds;
    } near[4];
    int count;
} contest;

/* Bytes beside operands and packed weights, of all cores. */
static size_t workspace_of(const ry_prepared *prepared, const ry_machine *machine)
{
    return ry_prepared_workspace(prepared) + prepared->scratch * (machine->cores + !machine->cores);
}

static void keep_near(contest *c, const ry_prepared *prepared, double seconds)
{
    const double most = c->choice->seconds * (1 + NEAR);
    int kept = 0;
    for (int i = 0; i < c->count; i++) {
        if (c->near[i].seconds <= most) {
            c->near[kept++] = c->near[i];
        }
    }
    c->count = kept;
    if (seconds <= most && kept < (int)(sizeof c->near / sizeof *c->near)) {
        c->near[kept].prepared = *prepared;
        c->near[kept].seconds = seconds;
        c->count++;
    }
}

static void consider(contest *c, const ry_prepared *prepared, double seconds)
{
    const ry_kernel *kernel = prepared->kernel;
    ry_choice *choice = c->choice;
    if (!choice->prepared.kernel || seconds < choice->seconds) {
        if (choice->prepared.kernel && choice->prepared.kernel != kernel) {
            choice->next = choice->prepared.kernel;
            choice->next_seconds = choice->seconds;
        }
        choice->prepared = *prepared;
        choice->seconds = seconds;
    } else if (kernel != choice->prepared.kernel &&
               (!choice->next || seconds < choice->next_seconds)) {
        choice->next = kernel;
        choice->next_seconds = seconds;
    }
    keep_near(c, prepared, seconds);
}

/* Prefers the least workspace among equally fast kernels. */
static void settle_tie(const contest *c, const ry_machine *machine)
{
    ry_choice *choice = c->choice;
    const size_t most = c->count ? workspace_of(&choice->prepared, machine) : 0;
    size_t least = most > RY_TIE_BYTES ? most - RY_TIE_BYTES : 0;
    const ry_kernel *fastest = choice->prepared.kernel;
    const double seconds = choice->seconds;
    for (int i = 0; i < c->count; i++) {
        const size_t own = workspace_of(&c->near[i].prepared, machine);
        if (own < least) {
            least = own;
            choice->prepared = c->near[i].prepared;
            choice->seconds = c->near[i].seconds;
            choice->next = fastest;
            choice->next_seconds = seconds;
            choice->saved = most - own;
        }
    }
}

static rynd_status consider_kernel(const ry_query *query, unsigned constants, contest *c,
                                   ry_error *error)
{
    const ry_machine *machine = query->target->machine;
    ry_prepared prepared;
    RY_TRY(ry_prepare(query, constants, &prepared, error));
    const ry_time time = ry_predict_parts(
        &prepared, machine, machine->cores > 0 ? machine->cores : 1, constants,
        query->target->network_bytes, ry_forecast_calibrated(machine, query->kernel));
    consider(c, &prepared, time.all);
    return RYND_OK;
}

/* Whatever its accuracy. */
static bool takes(const ry_kernel *kernel, const ry_problem *problem, const ry_target *target)
{
    ry_problem looser = *problem;
    looser.accuracy = kernel->accuracy > problem->accuracy ? kernel->accuracy : problem->accuracy;
    return ry_kernel_takes(kernel, &looser, target);
}

rynd_status ry_predict_choose(const ry_problem *problem, const ry_target *target,
                              unsigned constants, const ry_wanted *wanted, ry_choice *choice,
                              ry_error *error)
{
    contest c = {.choice = choice};
    *choice = (ry_choice){.refused = ry_kernel_refused(problem, target)};
    if (wanted && wanted->kernel) {
        if (ry_refusals_have(target->refusals, wanted->kernel)) {
            return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                           "kernel '%s' is not used on this device: `rynd devices --check` found "
                           "it wrong",
                           wanted->kernel->name);
        }
        if (!takes(wanted->kernel, problem, target)) {
            return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                           "kernel '%s' does not take this problem on this machine",
                           wanted->kernel->name);
        }
        const ry_query query = {wanted->kernel, problem, target, &wanted->form};
        return consider_kernel(&query, constants, &c, error);
    }
    size_t at = 0;
    for (const ry_kernel *kernel; (kernel = ry_kernel_next(problem, target, &at)) != NULL;) {
        const ry_query query = {kernel, problem, target, NULL};
        const rynd_status status = consider_kernel(&query, constants, &c, error);
        if (status != RYND_OK && status != RYND_ERROR_ARGUMENT) { /* ARGUMENT: no form fits here */
            return status;
        }
    }
    settle_tie(&c, target->machine);
    return RYND_OK;
}

rynd_status ry_choice_fail(const ry_choice *choice, const char *device, ry_error *error)
{
    return choice->refused
               ? ry_fail(
                     error, RYND_ERROR_UNSUPPORTED,
                     "no kernel of device '%s' computes this problem: '%s' is not used, because "
                     "`rynd devices --check` found it wrong; take device 'cpu'",
                     device, choice->refused->name)
               : ry_fail(error, RYND_ERROR_UNSUPPORTED,
                         "no kernel of device '%s' computes this problem's types or layouts",
                         device);
}

static void print_reason(const ry_choice *choice, bool set, char *text, size_t size)
{
    const double own = choice->seconds * 1e6, next = choice->next_seconds * 1e6;
    char own_text[RY_NUMBER_SIZE], next_text[RY_NUMBER_SIZE];
    ry_number_print_fixed(own, own < 100, own_text);
    ry_number_print_fixed(next, next < 100, next_text);
    if (set) {
        snprintf(text, size, "set; cost %s us", own_text);
    } else if (choice->measured > 0) {
        const double measured = choice->measured * 1e6;
        char measured_text[RY_NUMBER_SIZE];
        ry_number_print_fixed(measured, measured < 100, measured_text);
        snprintf(text, size, "measured %s us (wisdom)%s; cost %s us%s", measured_text,
                 choice->falls_back ? " on the CPU, which alone has a kernel" : "", own_text,
                 choice->falls_back ? ", copies included" : "");
    } else if (choice->bound) {
        snprintf(text, size, "reads weights as the model has packed them; cost %s us", own_text);
    } else if (choice->falls_back) {
        snprintf(text, size, "fallback: only the CPU has a kernel; cost %s us, copies included",
                 own_text);
    } else if (choice->prepared.kernel->reference) {
        snprintf(text, size, "no faster kernel takes this problem");
    } else if (!choice->next) {
        snprintf(text, size, "cost %s us; no other kernel", own_text);
    } else if (choice->saved > 0) {
        snprintf(text, size, "cost %s us, a tie with %s %s us, which needs %zu bytes more",
                 own_text, choice->next->name, next_text, choice->saved);
    } else {
        snprintf(text, size, "cost %s us; %s %s us", own_text, choice->next->name, next_text);
    }
}

void ry_choice_reason(const ry_choice *choice, bool set, char *text, size_t size)
{
    print_reason(choice, set, text, size);
    const size_t used = strlen(text);
    if (choice->refused) {
        snprintf(text + used, size - used,
                 "; %s is not used: `rynd devices --check` found it wrong", choice->refused->name);
    }
}
