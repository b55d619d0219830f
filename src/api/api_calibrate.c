/* SPDX-License-Identifier: Apache-2.0 */
/* Calibrates the machine of a context. */
#include "api/api_check.h"
#include "api/api_check_kernels.h"
#include "api/api_machine.h"
#include "api/api_plan.h"
#include "api/api_status.h"
#include "api/api_tune_runner.h"
#include "api/calibration_networks.h"
#include "api/calibration_record.h"
#include "api/handles.h"
#include "base/clock.h"
#include "base/progress_ends.h"
#include "machine/machine_file.h"
#include "plan/plan_time.h"
#include "tune/calibrate.h"
#include "tune/sample_statistics.h"

#include <math.h>
#include <string.h>

/* Rounds of a network: at least, at most. MOST_STEPS: of a network. */
enum { LEAST_ROUNDS = 12, MOST_ROUNDS = 200, MOST_STEPS = 129, SEED = 1 };

/* NETWORKS_SHARE: of the time. */
static const double DEFAULT_SECONDS = 90, NETWORKS_SHARE = 0.2;

/* Rates that nobody measured are measured first: a factor for a wrong rate would be believed for
 * other threads and sizes, too. */
static rynd_status find_rates(rynd_context *context, const rynd_calibrate_options *options,
                              ry_error *error)
{
    if (context->machine.origin != RYND_MACHINE_BUILT_IN) {
        return RYND_OK;
    }
    const rynd_measure_options how = RYND_SIZED(rynd_measure_options, .progress = options->progress,
                                                .progress_user = options->progress_user);
    ry_machine measured;
    RY_TRY(ry_api_measure(context, &how, &measured, error));
    context->machine = measured;
    return RYND_OK;
}

static void take_families(ry_machine *machine, const ry_calibration *calibration)
{
    const ry_network_fit *network = &calibration->network;
    machine->network_step = network->step;
    machine->network_kept = network->kept;
    machine->network_exposed = network->exposed;
    machine->network_rate = network->rate;
    machine->network_region = network->region;
    machine->family_count = (unsigned)calibration->count;
    for (int i = 0; i < calibration->count; i++) {
        machine->families[i] = calibration->rows[i].fitted;
    }
    machine->disturbance = fmax(machine->disturbance, calibration->disturbance);
    machine->variation = calibration->variation;
    ry_energy_keep(&calibration->energy, calibration->meter, machine);
}

/* Steps in several micro-batches, fallbacks and references tell nothing about a family. */
static bool tells(const ry_plan *plan, size_t index)
{
    const ry_step *step = &plan->steps[index];
    return ry_plan_batch_split_of(plan, index)->micro_batches == 1 &&
           !step->prepared.kernel->reference && !ry_plan_falls_back(plan, step);
}

/* Numbers of a network's steps, in the record and among problems. */
static int first_step(const ry_calibration_times *times, int network)
{
    return times->problems + network * MOST_STEPS;
}

/* Adds the steps' times. */
static void add_steps(const rynd_plan *plan, int network, const double *medians,
                      ry_calibration_times *times)
{
    const ry_plan *p = plan->plan;
    const unsigned threads = plan->context->predicted_threads;
    const double footprint = ry_plan_footprint(p);
    for (size_t s = 0; s < p->step_count && times->count < times->room; s++) {
        const ry_step *step = &p->steps[s];
        const unsigned constants = ry_plan_step_constants(step);
        if (medians[s] > 0) {
            times->times[times->count++] = (ry_calibration_time){
                .kernel = step->prepared.kernel,
                .parts = ry_plan_step_parts(p, s, &step->prepared, threads, footprint),
                .problem = first_step(times, network) + (int)s,
                .network = network,
                .constants = constants,
                .network_bytes = footprint,
                .seconds = medians[s]};
        }
    }
}

static rynd_status run_rounds(ry_runner *runner, double limit, double *const *seconds, int *rounds,
                              ry_error *error)
{
    const size_t steps = runner->plan->plan->step_count;
    const double begin = ry_clock_seconds();
    rynd_status status = rynd_session_profile(runner->session, 1);
    for (int i = 0; i < LEAST_ROUNDS && status == RYND_OK; i++) { /* to warm up */
        status = rynd_session_run(runner->session);
    }
    for (*rounds = 0; status == RYND_OK && *rounds < MOST_ROUNDS &&
                      (*rounds < LEAST_ROUNDS || ry_clock_seconds() - begin < limit);
         (*rounds)++) {
        status = rynd_session_run(runner->session);
        for (size_t s = 0; s < steps; s++) {
            seconds[s][*rounds] = rynd_session_step_time(runner->session, s);
        }
    }
    return status == RYND_OK ? RYND_OK : ry_api_failed(status, error);
}

/* Medians of the steps' times; 0: tells nothing. */
static rynd_status measure_steps(ry_runner *runner, double limit, double *medians, ry_error *error)
{
    const ry_plan *plan = runner->plan->plan;
    const size_t steps = plan->step_count;
    double **seconds = RY_TAKE(&runner->arena, double *, steps);
    for (size_t s = 0; seconds && s < steps; s++) {
        seconds[s] = RY_TAKE(&runner->arena, double, MOST_ROUNDS);
        if (!seconds[s]) {
            seconds = NULL;
        }
    }
    if (!seconds) {
        return ry_fail_memory(error);
    }
    int rounds;
    RY_TRY(run_rounds(runner, limit, seconds, &rounds, error));
    for (size_t s = 0; s < steps; s++) {
        medians[s] = tells(plan, s) ? ry_median(seconds[s], rounds) : 0;
    }
    return RYND_OK;
}

/* Does the record have all times of the steps? */
static bool recall_steps(const ry_plan *plan, int first, ry_calibration_record *record,
                         double *medians)
{
    for (size_t s = 0; s < plan->step_count; s++) {
        const ry_prepared *prepared = &plan->steps[s].prepared;
        medians[s] =
            tells(plan, s) ? ry_calibration_recall(record, prepared, first + (int)s, false) : 0;
        if (tells(plan, s) && medians[s] <= 0) {
            return false;
        }
    }
    return true;
}

static rynd_status time_steps(ry_runner *runner, int network, double limit,
                              ry_calibration_record *record, ry_calibration_times *times,
                              ry_error *error)
{
    const ry_plan *plan = runner->plan->plan;
    const int first = first_step(times, network);
    double *medians = RY_TAKE(&runner->arena, double, plan->step_count + 1);
    if (!medians) {
        return ry_fail_memory(error);
    }
    if (!recall_steps(plan, first, record, medians)) {
        RY_TRY(measure_steps(runner, limit, medians, error));
        for (size_t s = 0; s < plan->step_count; s++) {
            if (medians[s] > 0) {
                ry_calibration_note(record, &plan->steps[s].prepared, first + (int)s, false,
                                    medians[s]);
            }
        }
    }
    add_steps(runner->plan, network, medians, times);
    return RYND_OK;
}

/* The networks, and how far they are. */
typedef struct networks {
    rynd_context *context;
    const rynd_calibrate_options *options;
    ry_calibration_record *record;
    ry_calibration_times *times;
    double seconds, end; /* seconds: for each network; end: no plan takes longer, by the clock */
    size_t done, all;    /* parts of the progress */
    bool ended;          /* by the caller */
} networks;

static int watch_plan(void *user, const rynd_progress *progress)
{
    networks *n = user;
    (void)progress;
    n->ended = ry_progress_ends(n->options->progress, n->options->progress_user, n->done, n->all);
    return n->ended || ry_clock_seconds() > n->end;
}

static rynd_status time_plan(networks *n, int network, const rynd_model *model, ry_error *error)
{
    const rynd_plan_options options =
        RYND_SIZED(rynd_plan_options, .progress = watch_plan, .progress_user = n);
    ry_runner runner;
    rynd_status status = ry_api_runner_open(&runner, model, &options, NULL, SEED, error);
    if (status == RYND_ERROR_CANCELLED && !n->ended) { /* the time is over: without this one */
        return RYND_OK;
    }
    if (status == RYND_OK) {
        status = time_steps(&runner, network, n->seconds, n->record, n->times, error);
        ry_api_runner_close(&runner);
    }
    return status;
}

static rynd_status time_network(networks *n, int network, ry_error *error)
{
    const void *bytes;
    size_t size;
    rynd_model *model;
    RY_TRY(ry_calibration_network(network, &n->times->kept, &bytes, &size, error));
    const rynd_status loaded = rynd_model_load_memory(n->context, bytes, size, &model);
    if (loaded != RYND_OK) {
        return ry_api_failed(loaded, error);
    }
    const rynd_status status = time_plan(n, network, model, error);
    rynd_model_destroy(model);
    return status;
}

static rynd_status time_networks(networks *n, ry_error *error)
{
    for (int i = 0; i < RY_CALIBRATION_NETWORKS && ry_clock_seconds() <= n->end; i++) {
        const rynd_status status = time_network(n, i, error);
        n->done++;
        n->ended = n->ended || ry_progress_ends(n->options->progress, n->options->progress_user,
                                                n->done, n->all);
        if (n->ended) {
            return ry_fail(error, RYND_ERROR_CANCELLED, "the calibration was ended by its caller");
        }
        RY_TRY(status);
    }
    return RYND_OK;
}

/* Networks have a part of the time: what a step finds there no problem alone tells. */
static rynd_status time_all(rynd_context *context, const rynd_calibrate_options *options,
                            ry_calibration_record *record, ry_calibration_times *times,
                            ry_error *error)
{
    const double seconds = options->seconds > 0 ? options->seconds : DEFAULT_SECONDS,
                 begin = ry_clock_seconds();
    const bool compiles = context->device->table->program_create;
    const ry_calibrate_watch watch = {
        seconds * (1 - NETWORKS_SHARE), options->progress,   options->progress_user,
        ry_calibration_recall,          ry_calibration_note, record};
    RY_TRY(ry_calibrate_problems(context->device, &watch, MOST_STEPS * RY_CALIBRATION_NETWORKS,
                                 RY_CALIBRATION_NETWORKS, times, error));
    networks n = {.context = context,
                  .options = options,
                  .record = record,
                  .times = times,
                  .seconds = seconds * NETWORKS_SHARE / RY_CALIBRATION_NETWORKS,
                  .end = compiles ? begin + seconds : INFINITY,
                  .done = (size_t)times->problems,
                  .all = (size_t)times->problems + RY_CALIBRATION_NETWORKS};
    return time_networks(&n, error);
}

/* Where the context's machine is kept; "": nowhere. */
static void find_path(const rynd_context *context, char path[RY_MACHINE_PATH])
{
    ry_cpu_info cpu;
    ry_cpu_detect(&cpu);
    const bool found = context->device != context->host
                           ? ry_machine_device_path(&context->machine, path)
                           : ry_machine_path(&cpu, (ry_isa)context->device->isa, path);
    path[found ? RY_MACHINE_PATH - 1 : 0] = 0;
}

static rynd_status time_and_fit(rynd_context *context, const rynd_calibrate_options *options,
                                ry_error *error)
{
    char path[RY_MACHINE_PATH], device[RY_DIGEST_TEXT];
    ry_arena arena;
    ry_calibration_record record;
    ry_calibration_times times;
    ry_arena_init(&arena, &context->allocator);
    find_path(context, path);
    ry_api_identify(context, device);
    ry_calibration_record_open(&record, path, device, context->predicted_threads, &arena);
    rynd_status status = time_all(context, options, &record, &times, error);
    status = status != RYND_OK
                 ? status
                 : ry_calibrate_end(&times, context->device->machine, context->predicted_threads,
                                    &context->calibration, error);
    ry_calibration_times_free(&times);
    ry_calibration_record_close(&record, status == RYND_OK);
    ry_arena_free(&arena);
    return status;
}

static rynd_status calibrate(rynd_context *context, const rynd_calibrate_options *options,
                             ry_machine *machine, ry_error *error)
{
    const ry_machine before = context->machine;
    rynd_status status = find_rates(context, options, error);
    /* fitted anew, not on top of an earlier fit */
    context->machine.family_count = 0;
    context->machine.network_step = context->machine.network_kept = 0;
    context->machine.network_exposed = context->machine.network_rate = 0;
    context->machine.network_region = 0;
    context->machine.energy_spread = 0;
    status = status != RYND_OK ? status : time_and_fit(context, options, error);
    *machine = context->machine;
    context->machine = before;
    if (status == RYND_OK) {
        take_families(machine, &context->calibration);
    }
    return status;
}

rynd_status rynd_context_calibrate(rynd_context *context, const rynd_calibrate_options *given,
                                   rynd_machine *machine)
{
    RY_API_REQUIRE(context, machine);
    ry_error error = {""};
    ry_machine all;
    rynd_calibrate_options options;
    rynd_status status =
        ry_api_options(&options, sizeof options, given, "rynd_calibrate_options", &error);
    if (status == RYND_OK && !(options.seconds >= 0 && options.seconds <= 86400)) {
        status =
            ry_fail(&error, RYND_ERROR_ARGUMENT,
                    "seconds is %g: give a number from 0 (the default) to 86400", options.seconds);
    }
    status = status != RYND_OK ? status
                               : ry_api_info(machine, &context->machine, sizeof context->machine,
                                             "rynd_machine", &error);
    status = status != RYND_OK ? status : calibrate(context, &options, &all, &error);
    status =
        status != RYND_OK ? status : ry_api_info(machine, &all, sizeof all, "rynd_machine", &error);
    return ry_api_end(status, &error);
}

size_t rynd_context_calibrated_count(const rynd_context *context)
{
    return context ? (size_t)context->calibration.count : 0;
}

rynd_status rynd_context_get_calibrated(const rynd_context *context, size_t index,
                                        rynd_calibrated_family *family)
{
    RY_API_REQUIRE(context, family);
    ry_error error = {""};
    if (index >= rynd_context_calibrated_count(context)) {
        return ry_api_end(ry_fail(&error, RYND_ERROR_ARGUMENT, "family %zu: %d were calibrated",
                                  index, context->calibration.count),
                          &error);
    }
    const ry_calibrated_row *row = &context->calibration.rows[index];
    const rynd_calibrated_family all =
        RYND_SIZED(rynd_calibrated_family, .family = row->fitted.family,
                   .problems = row->fitted.problems, .times = row->times,
                   .factor = (double)row->fitted.factor, .spread = (double)row->fitted.spread,
                   .error_before = row->before, .error_after = row->after);
    return ry_api_end(ry_api_info(family, &all, sizeof all, "rynd_calibrated_family", &error),
                      &error);
}

rynd_status rynd_context_get_calibrated_energy(const rynd_context *context,
                                               rynd_calibrated_energy *energy)
{
    RY_API_REQUIRE(context, energy);
    ry_error error = {""};
    const ry_energy_fit *fit = &context->calibration.energy;
    const char *meter = context->calibration.meter;
    const rynd_calibrated_energy all =
        RYND_SIZED(rynd_calibrated_energy, .meter = meter ? meter : "", .problems = fit->problems,
                   .spread = fit->spread, .error_before = fit->before, .error_after = fit->after);
    return ry_api_end(ry_api_info(energy, &all, sizeof all, "rynd_calibrated_energy", &error),
                      &error);
}
