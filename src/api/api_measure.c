/* SPDX-License-Identifier: Apache-2.0 */
/* Measures what the device reaches. Each figure is the best of several short runs on all threads: what disturbs a run can only make it slower.
 *
 * A run is one task a thread, all of the same work; the rate is the work of all over the time from the first task's start to the last one's end, so
 * threads that do not run at once do not count as if they did. Read bandwidth of a cache level is that of a set of half its
 * size, which the level before it cannot hold. */
#include "api/handles.h"
#include "base/clock.h"
#include "kernels/cpu/peak.h"

#include <string.h>

enum { RUNS = 6 };
static const double run_seconds = 0.01;

typedef struct task_result {
    double work, begin, end;
    float sink;
    char apart[RY_ALIGNMENT]; /* no two threads write one cache line */
} task_result;

typedef struct job {
    const ry_peak *peak;
    float *data; /* NULL: arithmetic */
    double (*arithmetic)(size_t rounds, float *sink);
    size_t share; /* floats of each task */
    size_t rounds;
    task_result *results;
} job;

static void run_task(void *context, size_t task, unsigned worker)
{
    (void)worker;
    const job *j = context;
    task_result *result = &j->results[task];
    result->begin = ry_clock_seconds();
    result->work =
        j->data ? j->peak->read(j->data + task * j->share, j->share, j->rounds, &result->sink) : j->arithmetic(j->rounds, &result->sink);
    result->end = ry_clock_seconds();
}

static double rate_of(ry_threads *threads, job *j, size_t tasks, double *seconds)
{
    ry_threads_run(threads, tasks, 0, run_task, j);
    double work = 0, begin = j->results[0].begin, end = j->results[0].end;
    for (size_t i = 0; i < tasks; i++) {
        work += j->results[i].work;
        begin = j->results[i].begin < begin ? j->results[i].begin : begin;
        end = j->results[i].end > end ? j->results[i].end : end;
    }
    *seconds = end > begin ? end - begin : 1e-9; /* a clock's tick */
    return work / *seconds;
}

/* Doubles the rounds until a run is long enough to be timed, then takes the best of some. */
static double best_rate(ry_threads *threads, job *j, size_t tasks)
{
    double seconds, best = 0;
    for (j->rounds = 1;; j->rounds *= 2) {
        rate_of(threads, j, tasks, &seconds);
        if (seconds >= run_seconds) {
            break;
        }
    }
    for (int r = 0; r < RUNS; r++) {
        double rate = rate_of(threads, j, tasks, &seconds);
        best = rate > best ? rate : best;
    }
    return best;
}

/* bytes: of the whole set; 0 for a level that is not known. */
static rynd_status read_rate(const rynd_context *context, job *j, size_t tasks, size_t bytes, double *rate, ry_error *error)
{
    j->share = bytes / tasks / sizeof(float) / RY_PEAK_BLOCK * RY_PEAK_BLOCK;
    *rate = 0;
    if (j->share == 0) {
        return RYND_OK;
    }
    j->data = ry_allocate(&context->allocator, j->share * tasks * sizeof(float));
    if (!j->data) {
        return ry_fail_memory(error);
    }
    /* Also makes the operating system give the pages. */
    memset(j->data, 0, j->share * tasks * sizeof(float));
    *rate = best_rate(context->threads, j, tasks);
    ry_release(&context->allocator, j->data);
    j->data = NULL;
    return RYND_OK;
}

/* On a machine that does other work too, the threads may never all have run at once: one alone reaches no more than all. */
static void settle(double one, double *all)
{
    *all = *all > one ? *all : one;
}

static rynd_status read_rates(const rynd_context *context, job *j, const ry_cpu_info *cpu, rynd_device_peaks *p, ry_error *error)
{
    const size_t threads = ry_threads_count(context->threads);
    /* Of a set of twice all caches, read in order, little is left in them when its turn comes again; 64 MiB where they are small or not known. All threads
     * together read twice that. */
    const size_t caches = cpu->l3 + threads * cpu->l2, large = 2 * caches > (64u << 20) ? 2 * caches : 64u << 20;
    const struct {
        size_t one, all; /* bytes */
        double *rate_one, *rate_all;
    } levels[] = {
        {cpu->l1d / 2, threads * cpu->l1d / 2, &p->bandwidth_l1_one_thread, &p->bandwidth_l1},
        {cpu->l2 / 2, threads * cpu->l2 / 2, &p->bandwidth_l2_one_thread, &p->bandwidth_l2},
        {cpu->l3 / 2 / threads, cpu->l3 / 2, &p->bandwidth_l3_one_thread, &p->bandwidth_l3},
        {large, 2 * large, &p->bandwidth_dram_one_thread, &p->bandwidth_dram},
    };
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        RY_TRY(read_rate(context, j, 1, levels[i].one, levels[i].rate_one, error));
        RY_TRY(read_rate(context, j, threads, levels[i].all, levels[i].rate_all, error));
        settle(*levels[i].rate_one, levels[i].rate_all);
    }
    return RYND_OK;
}

static rynd_status measure(const rynd_context *context, rynd_device_peaks *peaks, ry_error *error)
{
    if (strcmp(context->device->table->kind, "cpu") != 0) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED, "device '%s' cannot be measured", context->device->table->kind);
    }
    ry_cpu_info cpu;
    ry_cpu_detect(&cpu);
    const ry_isa isa = (ry_isa)context->device->isa;
    const size_t threads = ry_threads_count(context->threads);
    job j = {.peak = ry_peak_of(isa),
             .arithmetic = ry_peak_of(isa)->f32,
             .results = ry_allocate_array(&context->allocator, threads, sizeof *j.results)};
    if (!j.results) {
        return ry_fail_memory(error);
    }
    *peaks = (rynd_device_peaks){.l1 = cpu.l1d, .l2 = cpu.l2, .l3 = cpu.l3};
    peaks->f32_one_thread = best_rate(context->threads, &j, 1);
    peaks->f32 = best_rate(context->threads, &j, threads);
    settle(peaks->f32_one_thread, &peaks->f32);
    j.arithmetic = ry_peak_bf16_of(isa);
    peaks->bf16_one_thread = best_rate(context->threads, &j, 1);
    peaks->bf16 = best_rate(context->threads, &j, threads);
    settle(peaks->bf16_one_thread, &peaks->bf16);
    const rynd_status status = read_rates(context, &j, &cpu, peaks, error);
    ry_release(&context->allocator, j.results);
    return status;
}

rynd_status rynd_context_measure(rynd_context *context, rynd_device_peaks *peaks)
{
    RY_API_REQUIRE(context, peaks);
    ry_error error = {""};
    rynd_device_peaks all;
    rynd_status status = measure(context, &all, &error);
    if (status == RYND_OK) {
        status = ry_api_info(peaks, &all, sizeof all, "rynd_device_peaks", &error);
    }
    return ry_api_end(status, &error);
}

/* What predictions divide by must be there; a level that the machine does not have has rates of 0. */
static rynd_status check_peaks(const rynd_device_peaks *p, ry_error *error)
{
    const struct {
        const char *name;
        double rate;
        bool needed;
    } rates[] = {
        {"f32_one_thread", p->f32_one_thread, true},
        {"f32", p->f32, true},
        {"bandwidth_dram_one_thread", p->bandwidth_dram_one_thread, true},
        {"bandwidth_dram", p->bandwidth_dram, true},
        {"bf16_one_thread", p->bf16_one_thread, false},
        {"bf16", p->bf16, false},
        {"bandwidth_l1_one_thread", p->bandwidth_l1_one_thread, false},
        {"bandwidth_l1", p->bandwidth_l1, false},
        {"bandwidth_l2_one_thread", p->bandwidth_l2_one_thread, false},
        {"bandwidth_l2", p->bandwidth_l2, false},
        {"bandwidth_l3_one_thread", p->bandwidth_l3_one_thread, false},
        {"bandwidth_l3", p->bandwidth_l3, false},
    };
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        const double rate = rates[i].rate;
        if (!(rate >= 0 && rate < 1e18) || (rates[i].needed && rate < 1)) {
            return ry_fail(error, RYND_ERROR_ARGUMENT, "rynd_device_peaks: %s is %g: give what rynd_context_measure measured",
                           rates[i].name, rate);
        }
    }
    return RYND_OK;
}

static rynd_status keep(rynd_context *context, const rynd_device_peaks *p, ry_error *error)
{
    RY_TRY(check_peaks(p, error));
    ry_cpu_info cpu;
    ry_cpu_detect(&cpu);
    const ry_isa isa = (ry_isa)context->device->isa;
    char path[RY_PROFILE_PATH];
    if (ry_threads_count(context->threads) != cpu.cores) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "measured with %u threads on %u cores: not kept", ry_threads_count(context->threads),
                       cpu.cores);
    }
    if (!ry_profile_path(&cpu, isa, path)) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "there is no place for the profile: RYND_PROFILE is off, or HOME is not set");
    }
    ry_profile profile;
    ry_profile_built_in(&cpu, isa, &profile);
    profile.f32 = (ry_rate){p->f32_one_thread, p->f32};
    profile.bf16 = (ry_rate){p->bf16_one_thread, p->bf16};
    profile.read[RY_LEVEL_L1] = (ry_rate){p->bandwidth_l1_one_thread, p->bandwidth_l1};
    profile.read[RY_LEVEL_L2] = (ry_rate){p->bandwidth_l2_one_thread, p->bandwidth_l2};
    profile.read[RY_LEVEL_L3] = (ry_rate){p->bandwidth_l3_one_thread, p->bandwidth_l3};
    profile.read[RY_LEVEL_DRAM] = (ry_rate){p->bandwidth_dram_one_thread, p->bandwidth_dram};
    RY_TRY(ry_profile_save(&profile, path, error));
    memcpy(context->kept_path, path, sizeof path);
    return RYND_OK;
}

rynd_status rynd_context_keep_peaks(rynd_context *context, const rynd_device_peaks *peaks, const char **path)
{
    RY_API_REQUIRE(context, peaks);
    ry_error error = {""};
    rynd_device_peaks all;
    rynd_status status = ry_api_options(&all, sizeof all, peaks, "rynd_device_peaks", &error);
    status = status != RYND_OK ? status : keep(context, &all, &error);
    if (status == RYND_OK && path) {
        *path = context->kept_path;
    }
    return ry_api_end(status, &error);
}
