/* SPDX-License-Identifier: Apache-2.0 */
/* Measures each problem, and the canary after it. */
#include "tune/calibrate.h"

#include "base/clock.h"
#include "base/competition.h"
#include "base/progress_ends.h"
#include "kernels/form.h"
#include "predict/predict.h"
#include "tune/sample_statistics.h"
#include "tune/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const problems[] = {
#define RY_CALIBRATION(text) text,
#include "tune/calibration_problems.inc"
#undef RY_CALIBRATION
};

/* KERNELS: that one problem is timed with at most; each in two states of memory. */
enum {
    PROBLEMS = sizeof problems / sizeof *problems,
    KERNELS = 6,
    SEED = 1,
    MOST_RUNS = 64,
    MOST_TIMES = PROBLEMS * KERNELS * 2
};

/* Kernels that are predicted to take more times the least are not timed: plans do not take them.
 * FROM_MEMORY: more bytes than any cache has. COLD_BYTES: constants of fewer bytes are not worth a
 * time of their own. CANARY_SECONDS: of each of its measurements. */
static const double HOPELESS = 4, FROM_MEMORY = 1e15, COLD_BYTES = 65536, CANARY_SECONDS = 5e-3;

/* The first problem's choice, timed after each problem. */
typedef struct canary {
    ry_problem problem;
    ry_operands operands;
    ry_trial trial;
    double best, sum;
    int count;
} canary;

typedef struct calibrating {
    ry_device *device;
    ry_target target;
    const ry_calibrate_watch *watch;
    ry_calibration_times *all;
    double begin, limit; /* seconds by the clock, and of all problems */
    canary canary;
} calibrating;

/* The quiet quantile of measurements during `seconds`; one at least. */
static rynd_status measure(ry_trial *trial, double seconds, double *quiet, ry_error *error)
{
    double times[MOST_RUNS];
    const double end = ry_clock_seconds() + seconds;
    int count = 0;
    RY_TRY(ry_trial_run(trial, error));
    do {
        RY_TRY(ry_trial_measure(trial, &times[count++], error));
    } while (count < MOST_RUNS && ry_clock_seconds() < end);
    *quiet = ry_quiet(times, count);
    return RYND_OK;
}

static unsigned constants_of(const ry_problem *problem)
{
    const bool has = problem->op == RY_OP_conv || problem->op == RY_OP_convt ||
                     problem->op == RY_OP_qconv || problem->op == RY_OP_matmul;
    return has ? ((1u << problem->inputs) - 1) & ~1u : 0;
}

static double constant_bytes(const ry_problem *problem)
{
    double bytes = 0;
    const unsigned constants = constants_of(problem);
    for (int i = 0; i < problem->inputs; i++) {
        bytes += constants >> i & 1u && ry_problem_has_input(problem, i)
                     ? (double)ry_tensor_bytes(&problem->in[i])
                     : 0;
    }
    return bytes;
}

static rynd_status time_kernel(calibrating *c, const ry_prepared *prepared, int problem, bool cold,
                               ry_operands *operands, double seconds, ry_error *error)
{
    const ry_calibrate_watch *watch = c->watch;
    ry_trial trial = {.operands = NULL};
    const unsigned constants = constants_of(prepared->problem);
    double quiet = watch->recall ? watch->recall(watch->record, prepared, problem, cold) : 0;
    rynd_status status = RYND_OK;
    if (quiet <= 0) {
        status = ry_trial_make(&trial, prepared, constants, cold, operands, &c->target, error);
        status = status != RYND_OK ? status : measure(&trial, seconds, &quiet, error);
        ry_trial_free(&trial);
        if (status == RYND_OK && watch->note) {
            watch->note(watch->record, prepared, problem, cold, quiet);
        }
    }
    if (status == RYND_OK && quiet > 0) {
        c->all->times[c->all->count++] =
            (ry_calibration_time){.kernel = prepared->kernel,
                                  .prepared = prepared,
                                  .problem = problem,
                                  .constants = constants,
                                  .network_bytes = cold ? FROM_MEMORY : 0,
                                  .seconds = quiet};
    }
    return status;
}

/* The best form of each kernel that takes the problem, without hopeless ones; *count of them. */
static rynd_status list_kernels(calibrating *c, const ry_problem *problem, ry_prepared **prepared,
                                int *count, ry_error *error)
{
    double seconds[KERNELS], least = INFINITY;
    size_t at = 0;
    int all = 0;
    *count = 0;
    *prepared = RY_TAKE(&c->all->kept, ry_prepared, KERNELS);
    if (!*prepared) {
        return ry_fail_memory(error);
    }
    for (const ry_kernel *k; all < KERNELS && (k = ry_kernel_next(problem, &c->target, &at));) {
        const ry_wanted wanted = {k, ry_form_free()};
        ry_choice choice;
        const rynd_status status =
            ry_predict_choose(problem, &c->target, constants_of(problem), &wanted, &choice, error);
        if (status == RYND_ERROR_OUT_OF_MEMORY) {
            return status;
        }
        if (status == RYND_OK && choice.prepared.kernel && !k->reference) {
            (*prepared)[all] = choice.prepared;
            seconds[all++] = choice.seconds;
            least = fmin(least, choice.seconds);
        }
    }
    for (int i = 0; i < all; i++) {
        if (seconds[i] <= HOPELESS * least) {
            (*prepared)[(*count)++] = (*prepared)[i];
        }
    }
    return RYND_OK;
}

static rynd_status note_canary(calibrating *c, ry_error *error)
{
    canary *k = &c->canary;
    double seconds;
    RY_TRY(measure(&k->trial, CANARY_SECONDS, &seconds, error));
    k->best = k->count == 0 || seconds < k->best ? seconds : k->best;
    k->sum += seconds;
    k->count++;
    return RYND_OK;
}

static rynd_status time_kernels(calibrating *c, const ry_prepared *prepared, int count, int number,
                                ry_operands *operands, ry_error *error)
{
    const bool has_cold = constant_bytes(prepared->problem) >= COLD_BYTES;
    const double left = c->limit - (ry_clock_seconds() - c->begin),
                 each = fmax(0, left / (PROBLEMS - number)) / count / (has_cold ? 2 : 1);
    for (int i = 0; i < count; i++) {
        RY_TRY(time_kernel(c, &prepared[i], number, false, operands, each, error));
        if (has_cold) {
            RY_TRY(time_kernel(c, &prepared[i], number, true, operands, each, error));
        }
    }
    return RYND_OK;
}

static rynd_status calibrate_problem(calibrating *c, int number, ry_error *error)
{
    ry_problem *problem = RY_TAKE(&c->all->kept, ry_problem, 1);
    ry_prepared *prepared;
    ry_operands operands = {.device = NULL};
    ry_arena arena;
    int count;
    if (!problem) {
        return ry_fail_memory(error);
    }
    RY_TRY(ry_problem_parse(problems[number], &c->all->kept, problem, error));
    RY_TRY(list_kernels(c, problem, &prepared, &count, error));
    if (count == 0) { /* the device has none: its plans fall back to the CPU */
        return RYND_OK;
    }
    ry_arena_init(&arena, c->device->allocator);
    rynd_status status = ry_operands_make(&operands, c->device, problem, SEED, 0, &arena, error);
    status =
        status != RYND_OK ? status : time_kernels(c, prepared, count, number, &operands, error);
    ry_operands_free(&operands);
    ry_arena_free(&arena);
    return status != RYND_OK ? status : note_canary(c, error);
}

static rynd_status calibrate_all(calibrating *c, size_t more, ry_error *error)
{
    const ry_calibrate_watch *watch = c->watch;
    for (int i = 0; i < PROBLEMS; i++) {
        const rynd_status status = calibrate_problem(c, i, error);
        if (status != RYND_OK) {
            ry_error_prefix(error, "problem '%s': ", problems[i]);
            return status;
        }
        if (ry_progress_ends(watch->progress, watch->user, (size_t)i + 1, PROBLEMS + more)) {
            return ry_fail(error, RYND_ERROR_CANCELLED, "the calibration was ended by its caller");
        }
    }
    return RYND_OK;
}

static rynd_status make_canary(calibrating *c, ry_error *error)
{
    canary *k = &c->canary;
    ry_choice choice;
    RY_TRY(ry_problem_parse(problems[0], &c->all->kept, &k->problem, error));
    const unsigned constants = constants_of(&k->problem);
    RY_TRY(ry_predict_choose(&k->problem, &c->target, constants, NULL, &choice, error));
    if (!choice.prepared.kernel) {
        return ry_choice_fail(&choice, c->device->table->name, error);
    }
    RY_TRY(ry_operands_make(&k->operands, c->device, &k->problem, SEED, 0, &c->all->kept, error));
    return ry_trial_make(&k->trial, &choice.prepared, constants, false, &k->operands, &c->target,
                         error);
}

rynd_status ry_calibrate_problems(ry_device *device, const ry_calibrate_watch *watch, int steps,
                                  size_t more, ry_calibration_times *times, ry_error *error)
{
    calibrating c = {.device = device,
                     .target = ry_target_here(device),
                     .watch = watch,
                     .all = times,
                     .begin = ry_clock_seconds(),
                     .limit = watch->seconds};
    const ry_competition begin = ry_competition_now();
    *times = (ry_calibration_times){.room = MOST_TIMES + steps, .problems = PROBLEMS};
    ry_arena_init(&times->kept, device->allocator);
    times->times = RY_TAKE(&times->kept, ry_calibration_time, times->room);
    rynd_status status = times->times ? make_canary(&c, error) : ry_fail_memory(error);
    status = status != RYND_OK ? status : calibrate_all(&c, more, error);
    ry_trial_free(&c.canary.trial);
    ry_operands_free(&c.canary.operands);
    if (status == RYND_OK) {
        times->disturbance =
            ry_disturbance_since(&begin, c.canary.best, c.canary.sum / c.canary.count);
    }
    return status;
}

void ry_calibration_times_free(ry_calibration_times *times)
{
    ry_arena_free(&times->kept);
}

rynd_status ry_calibrate_end(ry_calibration_times *times, const ry_device *device,
                             ry_calibration *calibration, ry_error *error)
{
    double *factors = RY_TAKE(&times->kept, double, times->count + 1);
    if (!factors) {
        return ry_fail_memory(error);
    }
    *calibration = (ry_calibration){.disturbance = times->disturbance};
    ry_calibrate_sort(times->times, times->count);
    ry_calibrate_fit(times->times, times->count, device->machine, device->workers, factors,
                     calibration);
    return RYND_OK;
}
