/* SPDX-License-Identifier: Apache-2.0 */
/* Measures each problem, and the canary after it. */
#include "tune/calibrate.h"

#include "base/cache_flush.h"
#include "base/clock.h"
#include "base/competition.h"
#include "base/progress_ends.h"
#include "kernels/form.h"
#include "machine/measure.h"
#include "predict/predict.h"
#include "tune/calibrate_canary.h"
#include "tune/sample_statistics.h"
#include "tune/trial.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const problems[] = {
#define RY_CALIBRATION(text) text,
#include "tune/calibration_problems.inc"
#undef RY_CALIBRATION
};

/* KERNELS: of one problem at most; each is timed in two states of memory. PASSES: over all problems
 * at most, for other work disturbs a machine for seconds: of each time the median counts, as it does
 * where networks are timed. MOST_CANARY: times of the canary, those of an interrupted calibration
 * among them. */
enum {
    PROBLEMS = sizeof problems / sizeof *problems,
    KERNELS = 6,
    SEED = 1,
    PASSES = 3,
    MOST_TIMES = PROBLEMS * KERNELS * 2,
    MOST_CANARY = 2 * PROBLEMS * PASSES
};

/* Kernels that are predicted to take more times the least are not timed: plans do not take them.
 * FROM_MEMORY: more bytes than any cache has. COLD_BYTES: constants of fewer bytes are not worth a
 * time of their own. RUN_SHARE: seconds of runs at
 * least, for each second that it took to compile the kernel. METER_SHARE: of the time, for a device's
 * energy. */
static const double HOPELESS = 4, FROM_MEMORY = 1e15, COLD_BYTES = 65536, RUN_SHARE = 0.25,
                    METER_SHARE = 0.25;

/* A problem of the set, and the kernels that it is timed with. */
typedef struct subject {
    ry_problem problem;
    ry_prepared prepared[KERNELS];
    int family[KERNELS]; /* places among calibrating.families */
    int count;           /* kernels; 0: the device has none, and its plans fall back to the CPU */
    bool done;
} subject;

/* What each pass measured of one time. */
typedef struct passes {
    int count;
    double seconds[PASSES];
} passes;

typedef struct family {
    const char *name;
    int times;
} family;

typedef struct calibrating {
    ry_device *device;
    ry_target target;
    const ry_calibrate_watch *watch;
    ry_calibration_times *all;
    double begin, limit; /* seconds by the clock, and of all problems */
    size_t more;         /* parts of the progress behind the problems */
    subject *subjects;
    family families[PROBLEMS * KERNELS];
    int family_count, left; /* left: open subjects of this pass */
    int pass;
    double pass_begin;
    passes seen[MOST_TIMES]; /* each of all->times */
    ry_error refused;        /* why the device refused the last kernel that it refused */
    ry_canary canary;
} calibrating;

static double constant_bytes(const ry_problem *problem)
{
    double bytes = 0;
    const unsigned constants = ry_trial_constants(problem);
    for (int i = 0; i < problem->inputs; i++) {
        bytes += constants >> i & 1u && ry_problem_has_input(problem, i)
                     ? (double)ry_tensor_bytes(&problem->in[i])
                     : 0;
    }
    return bytes;
}

static void add_time(calibrating *c, const ry_prepared *prepared, int problem, bool cold,
                     double seconds)
{
    c->all->times[c->all->count++] =
        (ry_calibration_time){.kernel = prepared->kernel,
                              .prepared = prepared,
                              .problem = problem,
                              .constants = ry_trial_constants(prepared->problem),
                              .network_bytes = cold ? FROM_MEMORY : 0,
                              .seconds = seconds};
}

/* Weights can be flushed from a CPU's caches only. */
static bool has_cold(const calibrating *c, const ry_problem *problem)
{
    return c->device->table->kind == RY_DEVICE_cpu && ry_cache_can_flush() &&
           constant_bytes(problem) >= COLD_BYTES;
}

/* The place of the time of an earlier pass; none: behind all. */
static int find_time(const calibrating *c, const ry_prepared *prepared, bool cold)
{
    int i = 0;
    while (i < c->all->count && (c->all->times[i].prepared != prepared ||
                                 (c->all->times[i].network_bytes > 0) != cold)) {
        i++;
    }
    return i;
}

static double recall(const calibrating *c, const ry_prepared *prepared, int problem, bool cold)
{
    const ry_calibrate_watch *watch = c->watch;
    return watch->recall ? watch->recall(watch->record, prepared, problem, cold) : 0;
}

static void note(const calibrating *c, const ry_prepared *prepared, int problem, bool cold,
                 double seconds)
{
    if (c->watch->note) {
        c->watch->note(c->watch->record, prepared, problem, cold, seconds);
    }
}

/* Adds a pass's time: the median of all passes' counts. */
static void take_time(calibrating *c, const ry_prepared *prepared, int problem, bool cold,
                      double seconds)
{
    const int i = find_time(c, prepared, cold);
    if (i == c->all->count) {
        add_time(c, prepared, problem, cold, seconds);
    }
    passes *seen = &c->seen[i];
    seen->seconds[seen->count++] = seconds;
    c->all->times[i].seconds = ry_median(seen->seconds, seen->count);
    note(c, prepared, problem, cold, c->all->times[i].seconds);
}

/* A device may refuse a kernel's program, which says nothing about the others. */
static rynd_status time_kernel(calibrating *c, const ry_prepared *prepared, int problem, bool cold,
                               ry_operands *operands, double seconds, ry_error *error)
{
    const double begin = ry_clock_seconds();
    ry_trial trial;
    double median = 0;
    rynd_status status = ry_trial_make(&trial, prepared, ry_trial_constants(prepared->problem),
                                       cold, operands, &c->target, error);
    if (status == RYND_ERROR_DEVICE || status == RYND_ERROR_UNSUPPORTED) {
        c->refused = *error;
        ry_trial_free(&trial);
        return RYND_OK;
    }
    const double made = ry_clock_seconds() - begin;
    status = status != RYND_OK
                 ? status
                 : ry_trial_median(&trial, fmax(seconds, RUN_SHARE * made), &median, error);
    if (status == RYND_OK && !cold) {
        status = ry_energy_meter_run(&c->all->energy, &trial, problem, prepared,
                                     METER_SHARE * c->limit, error);
    }
    ry_trial_free(&trial);
    if (status == RYND_OK && median > 0) {
        take_time(c, prepared, problem, cold, median);
    }
    return status;
}

static int family_of(calibrating *c, const ry_kernel *kernel)
{
    int i = 0;
    while (i < c->family_count && strcmp(c->families[i].name, kernel->family) != 0) {
        i++;
    }
    if (i == c->family_count) {
        c->families[c->family_count++] = (family){kernel->family, 0};
    }
    return i;
}

/* The best form of each kernel that takes the problem, without hopeless ones. */
static rynd_status list_kernels(calibrating *c, subject *s, ry_error *error)
{
    double seconds[KERNELS], least = INFINITY;
    size_t at = 0;
    int all = 0;
    for (const ry_kernel *k; all < KERNELS && (k = ry_kernel_next(&s->problem, &c->target, &at));) {
        const ry_wanted wanted = {k, ry_form_free()};
        ry_choice choice;
        const rynd_status status = ry_predict_choose(
            &s->problem, &c->target, ry_trial_constants(&s->problem), &wanted, &choice, error);
        if (status == RYND_ERROR_OUT_OF_MEMORY) {
            return status;
        }
        if (status == RYND_OK && choice.prepared.kernel && !k->reference) {
            s->prepared[all] = choice.prepared;
            seconds[all++] = choice.seconds;
            least = fmin(least, choice.seconds);
        }
    }
    for (int i = 0; i < all; i++) {
        if (seconds[i] <= HOPELESS * least) {
            s->prepared[s->count] = s->prepared[i];
            s->family[s->count++] = family_of(c, s->prepared[i].kernel);
        }
    }
    return RYND_OK;
}

static rynd_status list_subjects(calibrating *c, ry_error *error)
{
    c->subjects = RY_TAKE(&c->all->kept, subject, PROBLEMS);
    if (!c->subjects) {
        return ry_fail_memory(error);
    }
    for (int i = 0; i < PROBLEMS; i++) {
        subject *s = &c->subjects[i];
        RY_TRY(ry_problem_parse(problems[i], &c->all->kept, &s->problem, error));
        RY_TRY(list_kernels(c, s, error));
    }
    return RYND_OK;
}

/* Numbers of the canary's times in the record: -1, -2, ... */
static rynd_status note_canary(calibrating *c, ry_error *error)
{
    double seconds;
    RY_TRY(ry_canary_time(&c->canary, &seconds, error));
    note(c, &c->canary.trial.prepared, -c->canary.count, false, seconds);
    return RYND_OK;
}

/* Adds what an interrupted calibration knows; returns how many times are missing. `known`: bit 2i,
 * the i-th kernel; bit 2i + 1, with constants from memory. */
static int recall_times(calibrating *c, int number, unsigned *known)
{
    const subject *s = &c->subjects[number];
    const int states = has_cold(c, &s->problem) ? 2 : 1;
    int missing = 0;
    *known = 0;
    for (int i = 0; i < s->count; i++) {
        for (int cold = 0; cold < states; cold++) {
            const double seconds = recall(c, &s->prepared[i], number, cold);
            if (seconds > 0) {
                if (c->pass == 0) {
                    add_time(c, &s->prepared[i], number, cold, seconds);
                }
                *known |= 1u << (2 * i + cold);
            }
            missing += seconds <= 0;
        }
    }
    return missing;
}

static rynd_status time_kernels(calibrating *c, int number, unsigned known, double each,
                                ry_operands *operands, ry_error *error)
{
    const subject *s = &c->subjects[number];
    const int states = has_cold(c, &s->problem) ? 2 : 1;
    for (int i = 0; i < s->count; i++) {
        for (int cold = 0; cold < states; cold++) {
            if (!(known >> (2 * i + cold) & 1u)) {
                RY_TRY(time_kernel(c, &s->prepared[i], number, cold, operands, each, error));
            }
        }
    }
    return RYND_OK;
}

static rynd_status calibrate_problem(calibrating *c, int number, ry_error *error)
{
    const subject *s = &c->subjects[number];
    unsigned known;
    const int missing = recall_times(c, number, &known);
    if (missing == 0) {
        return RYND_OK;
    }
    const double left = c->limit / PASSES - (ry_clock_seconds() - c->pass_begin),
                 each = fmax(0, left / c->left) / missing;
    ry_operands operands = {.device = NULL};
    ry_arena arena;
    ry_arena_init(&arena, c->device->allocator);
    rynd_status status =
        ry_operands_make(&operands, c->device, &s->problem, SEED, 0, &arena, error);
    status = status != RYND_OK ? status : time_kernels(c, number, known, each, &operands, error);
    ry_operands_free(&operands);
    ry_arena_free(&arena);
    return status != RYND_OK ? status : note_canary(c, error);
}

/* The problem whose rarest family has the fewest times so far; of equal ones any, but always the
 * same (multiplicative hashing: Knuth, 1973), so that the first few are of all kinds. -1: none. */
static int next_problem(const calibrating *c)
{
    int next = -1, least = 0;
    uint32_t least_mixed = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        const subject *s = &c->subjects[i];
        const uint32_t mixed = (uint32_t)i * UINT32_C(2654435769);
        int rarest = INT_MAX;
        for (int k = 0; k < s->count && !s->done; k++) {
            const int times = c->families[s->family[k]].times;
            rarest = times < rarest ? times : rarest;
        }
        if (s->count > 0 && !s->done &&
            (next < 0 || rarest < least || (rarest == least && mixed < least_mixed))) {
            next = i;
            least = rarest;
            least_mixed = mixed;
        }
    }
    return next;
}

static void end_problem(calibrating *c, int number)
{
    subject *s = &c->subjects[number];
    s->done = true;
    c->left--;
    for (int k = 0; k < s->count; k++) {
        c->families[s->family[k]].times++;
    }
}

/* By problems or by time, whichever is further. */
static bool caller_ends(const calibrating *c)
{
    const double spent = ry_clock_seconds() - c->begin;
    const size_t done = (size_t)(PROBLEMS * (c->pass + 1) - c->left) / PASSES,
                 by_time = (size_t)(PROBLEMS * fmin(1, spent / c->limit));
    return ry_progress_ends(c->watch->progress, c->watch->user, by_time > done ? by_time : done,
                            PROBLEMS + c->more);
}

/* A CPU runs each problem once at least, which takes seconds; compiling them all may take many
 * minutes. */
static bool is_over(const calibrating *c)
{
    return c->device->table->program_create && ry_clock_seconds() - c->begin >= c->limit;
}

static rynd_status calibrate_pass(calibrating *c, ry_error *error)
{
    for (int i; (i = next_problem(c)) >= 0;) {
        const rynd_status status = calibrate_problem(c, i, error);
        if (status != RYND_OK) {
            ry_error_prefix(error, "problem '%s': ", problems[i]);
            return status;
        }
        end_problem(c, i);
        if (caller_ends(c)) {
            return ry_fail(error, RYND_ERROR_CANCELLED, "the calibration was ended by its caller");
        }
        if (is_over(c)) {
            break;
        }
    }
    return RYND_OK;
}

/* Is there time for a pass as long as the last one? */
static bool has_time(const calibrating *c)
{
    const double now = ry_clock_seconds();
    return now + (now - c->pass_begin) <= c->begin + c->limit;
}

static void begin_pass(calibrating *c)
{
    c->pass_begin = ry_clock_seconds();
    c->left = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        c->subjects[i].done = false;
        c->left += c->subjects[i].count > 0;
    }
}

static rynd_status calibrate_all(calibrating *c, ry_error *error)
{
    for (c->pass = 0; c->pass < PASSES && (c->pass == 0 || (c->left == 0 && has_time(c)));
         c->pass++) {
        begin_pass(c);
        RY_TRY(calibrate_pass(c, error));
    }
    if (c->all->count == 0) {
        *error = c->refused;
        return RYND_ERROR_DEVICE;
    }
    return RYND_OK;
}

static rynd_status make_canary(calibrating *c, ry_error *error)
{
    ry_canary *k = &c->canary;
    RY_TRY(
        ry_canary_make(k, problems[0], MOST_CANARY, c->device, &c->target, &c->all->kept, error));
    for (double seconds; k->count < k->room &&
                         (seconds = recall(c, &k->trial.prepared, -(k->count + 1), false)) > 0;) {
        ry_canary_take(k, seconds);
    }
    return RYND_OK;
}

/* Other work counts. Where the system does not tell of it, and on devices that it does not see, it
 * cannot be told from a speed that varies. */
static double find_disturbance(const ry_device *device, const ry_competition *begin,
                               double variation)
{
    const bool told = device->table->kind == RY_DEVICE_cpu && begin->all > 0;
    return told ? ry_competition_since(begin) : variation;
}

rynd_status ry_calibrate_problems(ry_device *device, const ry_calibrate_watch *watch, int steps,
                                  size_t more, ry_calibration_times *times, ry_error *error)
{
    calibrating *c = ry_allocate_array(device->allocator, 1, sizeof *c);
    const ry_competition begin = ry_machine_competition(device->machine);
    *times = (ry_calibration_times){.room = MOST_TIMES + steps, .problems = PROBLEMS};
    ry_arena_init(&times->kept, device->allocator);
    times->times = RY_TAKE(&times->kept, ry_calibration_time, times->room);
    ry_energy_sample *samples = RY_TAKE(&times->kept, ry_energy_sample, PROBLEMS);
    if (!c || !times->times || !samples) {
        ry_release(device->allocator, c);
        return ry_fail_memory(error);
    }
    ry_energy_meter_open(device, samples, PROBLEMS, &times->energy);
    *c = (calibrating){.device = device,
                       .target = ry_target_here(device),
                       .watch = watch,
                       .all = times,
                       .begin = ry_clock_seconds(),
                       .limit = watch->seconds,
                       .more = more};
    rynd_status status = make_canary(c, error);
    status = status != RYND_OK ? status : list_subjects(c, error);
    status = status != RYND_OK ? status : calibrate_all(c, error);
    ry_canary_free(&c->canary);
    times->variation = ry_canary_variation(&c->canary);
    times->disturbance = find_disturbance(device, &begin, times->variation);
    ry_release(device->allocator, c);
    return status;
}

void ry_calibration_times_free(ry_calibration_times *times)
{
    ry_arena_free(&times->kept);
}

rynd_status ry_calibrate_end(ry_calibration_times *times, const ry_machine *machine,
                             unsigned threads, ry_calibration *calibration, ry_error *error)
{
    double *factors = RY_TAKE(&times->kept, double, times->count + 1);
    if (!factors) {
        return ry_fail_memory(error);
    }
    *calibration = (ry_calibration){.disturbance = times->disturbance,
                                    .variation = times->variation,
                                    .meter = times->energy.name};
    ry_calibrate_sort(times->times, times->count);
    ry_calibrate_fit(times->times, times->count, machine, threads, factors, calibration);
    ry_energy_meter_fit(&times->energy, machine, threads, &calibration->energy);
    return RYND_OK;
}
