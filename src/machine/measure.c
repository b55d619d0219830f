/* SPDX-License-Identifier: Apache-2.0 */
/* Measures each figure in rounds and keeps the best: what else the machine does can only make a run
 * slower, and may last for a second.
 *
 * A run is one task a thread, all of the same work; its rate is the work of all over the time from
 * the first task's start to the last one's end, so threads that do not run at once do not count as
 * if they did. Figures of a cache are those of a set of half its size, which the cache before it
 * cannot hold. */
#include "machine/measure.h"

#include "base/clock.h"
#include "base/competition.h"
#include "base/progress_ends.h"
#include "machine/measure_transfer.h"
#include "machine/meter.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
    RUNS = 6,
    MIN_ROUNDS = 5,
    MAX_ROUNDS = 64,
    LINE = 64,
    FIGURES = 4 + 4 * RYND_LEVELS + 2 * RYND_KINDS
};
static const double run_seconds = 0.01, default_seconds = 28;

typedef struct task_result {
    double work, begin, end;
    float sink;
    char apart[RY_ALIGNMENT]; /* no two threads write one cache line */
} task_result;

typedef enum activity { ARITHMETIC_F32, ARITHMETIC_BF16, KIND, READING, CHASING } activity;

/* One figure: what its tasks do, on how many threads, and the best so far. */
typedef struct figure {
    activity what;
    rynd_kind kind; /* operation of a KIND */
    size_t tasks;
    size_t share;  /* bytes of each task's data; 0 of a level that is not there: not measured */
    double *to;    /* where the best goes */
    size_t rounds; /* rounds of a run; 0: not known yet */
    double best;   /* work a second */
    double joules, metered; /* energy and seconds of all runs */
} figure;

typedef struct measurement {
    const ry_machine_loops *loops;
    ry_threads *threads;
    task_result *results; /* one a thread */
    char *data;
    const figure *now;
    figure figures[FIGURES];
    int count;
    const figure *canary; /* multiply-adds of all threads: what other work takes shows here */
    double work[MAX_ROUNDS], seconds[MAX_ROUNDS]; /* the canary's, in each round */
    ry_meter meter;
    bool metered;
    ry_competition begin[MAX_ROUNDS]; /* when each round began */
} measurement;

/* A ring has a power of two of lines. */
static size_t ring_lines(size_t bytes)
{
    size_t lines = 1;
    while (2 * lines <= bytes / LINE) {
        lines *= 2;
    }
    return lines;
}

/* Loads whose addresses the loads before gave: one for each round and line. */
static double chase(const char *data, size_t bytes, size_t rounds, float *sink)
{
    const size_t steps = rounds * ring_lines(bytes);
    const void *at = data;
    for (size_t i = 0; i < steps; i++) {
        memcpy(&at, at, sizeof at);
    }
    *sink = (float)((const char *)at - data);
    return (double)steps;
}

/* The lines of a task's share as one ring in an order that nothing fetches ahead: that of a linear
 * congruential generator with a full period (Hull and Dobell, 1962), which is written from one end
 * to the other, as large sets must be. */
static void make_ring(char *data, size_t bytes)
{
    const size_t lines = ring_lines(bytes);
    for (size_t i = 0; i < lines; i++) {
        const uint64_t next = UINT64_C(6364136223846793005) * i + UINT64_C(1442695040888963407);
        const char *address = data + (size_t)(next % lines) * LINE;
        memcpy(data + i * LINE, &address, sizeof address);
    }
}

static void run_task(void *context, size_t task, unsigned worker)
{
    (void)worker;
    const measurement *m = context;
    const figure *f = m->now;
    task_result *result = &m->results[task];
    char *data = m->data + task * f->share;
    result->begin = ry_clock_seconds();
    switch (f->what) {
    case ARITHMETIC_F32: result->work = m->loops->f32(f->rounds, &result->sink); break;
    case ARITHMETIC_BF16: result->work = m->loops->bf16(f->rounds, &result->sink); break;
    case KIND:
        result->work = m->loops->kind[f->kind](f->rounds, (float *)(void *)data, &result->sink);
        break;
    case READING:
        result->work = m->loops->read((const float *)(const void *)data, f->share / sizeof(float),
                                      f->rounds, &result->sink);
        break;
    case CHASING: result->work = chase(data, f->share, f->rounds, &result->sink); break;
    }
    result->end = ry_clock_seconds();
}

static double run_once(measurement *m, const figure *f, double *seconds)
{
    m->now = f;
    ry_threads_run(m->threads, f->tasks, 0, run_task, m);
    double work = 0, begin = m->results[0].begin, end = m->results[0].end;
    for (size_t i = 0; i < f->tasks; i++) {
        work += m->results[i].work;
        begin = m->results[i].begin < begin ? m->results[i].begin : begin;
        end = m->results[i].end > end ? m->results[i].end : end;
    }
    *seconds = end > begin ? end - begin : 1e-9; /* a clock's tick */
    return work;
}

/* Doubles a run's rounds until it is long enough to be timed. */
static void calibrate(measurement *m, figure *f)
{
    double seconds = 0;
    for (f->rounds = 1; run_once(m, f, &seconds), seconds < run_seconds; f->rounds *= 2) {
    }
}

static void measure_figure(measurement *m, figure *f, int round)
{
    for (size_t task = 0; f->what == CHASING && task < f->tasks; task++) {
        make_ring(m->data + task * f->share, f->share);
    }
    if (f->what == READING || f->what == KIND) {
        /* addresses read as numbers are subnormal ones, which are slow to sum */
        memset(m->data, 0, f->tasks * f->share);
    }
    if (f->rounds == 0) {
        calibrate(m, f);
    }
    const double begin = ry_clock_seconds();
    (void)ry_meter_take(&m->meter);
    for (int r = 0; r < RUNS; r++) {
        double seconds;
        const double work = run_once(m, f, &seconds);
        f->best = work / seconds > f->best ? work / seconds : f->best;
        if (f == m->canary) {
            m->work[round] += work;
            m->seconds[round] += seconds;
        }
    }
    f->joules += ry_meter_take(&m->meter);
    f->metered += ry_clock_seconds() - begin;
}

/* The share by which the canary stays behind its best rate in the last rounds, or that others took
 * of them. */
static double disturbance_of(const measurement *m, int rounds)
{
    double work = 0, seconds = 0;
    const int first = rounds > MIN_ROUNDS ? rounds - MIN_ROUNDS : 0;
    for (int i = first; i < rounds; i++) {
        work += m->work[i];
        seconds += m->seconds[i];
    }
    return ry_disturbance_since(&m->begin[first], work / m->canary->best, seconds);
}

/* On one thread and on all. */
static void add_figures(measurement *m, activity what, size_t one_bytes, size_t all_bytes,
                        rynd_rate *rate)
{
    const size_t threads = ry_threads_count(m->threads), block = RY_MACHINE_BLOCK * sizeof(float);
    *rate = (rynd_rate){0, 0};
    m->figures[m->count++] =
        (figure){.what = what, .tasks = 1, .share = one_bytes / block * block, .to = &rate->one};
    m->figures[m->count++] = (figure){.what = what,
                                      .tasks = threads,
                                      .share = all_bytes / threads / block * block,
                                      .to = &rate->all};
}

/* Rates of the kinds of operations, each task with a buffer of its own. */
static void add_kinds(measurement *m, ry_machine *machine)
{
    const size_t bytes = RY_KIND_FLOATS * sizeof(float);
    for (int k = 0; k < RYND_KINDS; k++) {
        const int first = m->count;
        add_figures(m, KIND, bytes, bytes * ry_threads_count(m->threads), &machine->kind[k]);
        m->figures[first].kind = m->figures[first + 1].kind = (rynd_kind)k;
    }
}

/* Bytes to read in order so that caches keep few of them until the next pass: MORE bytes above the
 * caches' size, or twice the size of small caches, but at least MORE. */
static size_t memory_set(const ry_machine *machine, size_t shared_caches)
{
    enum { MORE = 64 << 20 };
    const size_t caches = shared_caches * machine->level[RYND_LEVEL_L3].bytes +
                          machine->cores * machine->level[RYND_LEVEL_L2].bytes;
    const size_t set = caches < MORE ? 2 * caches : caches + MORE;
    return set > MORE ? set : MORE;
}

/* Lists the figures to measure; returns the bytes that the largest figure needs. */
static size_t list_figures(measurement *m, ry_machine *machine)
{
    const size_t threads = ry_threads_count(m->threads),
                 l3_cores = machine->level[RYND_LEVEL_L3].shared_by,
                 l3_caches = l3_cores ? (threads + l3_cores - 1) / l3_cores : 1,
                 memory = memory_set(machine, l3_caches);
    add_figures(m, ARITHMETIC_F32, 0, 0, &machine->f32);
    m->canary = &m->figures[m->count - 1];
    if (m->loops->bf16) {
        add_figures(m, ARITHMETIC_BF16, 0, 0, &machine->bf16);
    }
    add_kinds(m, machine);
    for (int i = 0; i < RYND_LEVELS; i++) {
        rynd_memory_level *level = &machine->level[i];
        const size_t caches =
            level->shared_by ? (threads + level->shared_by - 1) / level->shared_by : 1;
        const size_t all = i == RYND_LEVEL_DRAM ? memory : caches * level->bytes / 2,
                     one = i == RYND_LEVEL_DRAM ? memory_set(machine, 1) : all / threads;
        if (all > 0) {
            add_figures(m, READING, one, all, &level->bandwidth);
            add_figures(m, CHASING, one, all, &level->latency);
        }
    }
    return memory;
}

/* Work a second becomes a rate, and steps a second a step's seconds. On a machine that does other
 * work too, the threads may never all have run at once: one alone reaches no more than all. */
static void keep_best(measurement *m)
{
    for (int i = 0; i < m->count; i++) {
        const figure *f = &m->figures[i];
        *f->to = f->best <= 0 ? 0 : f->what == CHASING ? (double)f->tasks / f->best : f->best;
    }
    for (int i = 0; i < m->count; i += 2) {
        const double one = *m->figures[i].to, all = *m->figures[i + 1].to;
        if (m->figures[i].what != CHASING && all < one) {
            *m->figures[i + 1].to = one;
        }
    }
}

/* Power during the two figures of a rate, on one thread and on all; 0: not metered. */
static rynd_rate power_of(const measurement *m, const rynd_rate *rate)
{
    for (int i = 0; m->metered && i + 1 < m->count; i++) {
        const figure *one = &m->figures[i], *all = &m->figures[i + 1];
        if (one->to == &rate->one && one->joules > 0 && all->joules > 0) {
            return (rynd_rate){one->joules / one->metered, all->joules / all->metered};
        }
    }
    return (rynd_rate){0, 0};
}

static void keep_watts(const measurement *m, ry_machine *machine)
{
    machine->watts = power_of(m, &machine->f32);
    machine->memory_watts = power_of(m, &machine->level[RYND_LEVEL_DRAM].bandwidth);
    snprintf(machine->meter, sizeof machine->meter, "%s", machine->watts.one > 0 ? "rapl" : "");
}

/* A meeting of all threads. */
typedef struct meeting {
    atomic_size_t come;
    size_t all;
} meeting;

/* Waits for the others, not for long: a caller's own pool may run tasks one after another. */
static void meet(void *context, size_t task, unsigned worker)
{
    enum { MAX_SPINS = 100000 };
    (void)task, (void)worker;
    meeting *m = context;
    atomic_fetch_add(&m->come, 1);
    for (int spin = 0;
         spin < MAX_SPINS && atomic_load_explicit(&m->come, memory_order_relaxed) < m->all;
         spin++) {
    }
}

static void do_nothing(void *context, size_t task, unsigned worker)
{
    (void)context, (void)task, (void)worker;
}

/* The least of several trials each. */
static void measure_costs(ry_threads *threads, ry_machine *machine)
{
    enum { REGIONS = 1000, TASKS = 100000 };
    const size_t count = ry_threads_count(threads);
    machine->region_seconds = machine->task_seconds = 1;
    for (int trial = 0; trial < RUNS; trial++) {
        const double begin = ry_clock_seconds();
        for (int i = 0; i < REGIONS; i++) {
            meeting m = {.all = count};
            ry_threads_run(threads, count, 0, meet, &m);
        }
        const double middle = ry_clock_seconds(), region = (middle - begin) / REGIONS;
        ry_threads_run(threads, TASKS, 0, do_nothing, NULL);
        const double task = (ry_clock_seconds() - middle) * (double)count / TASKS;
        machine->region_seconds =
            region < machine->region_seconds ? region : machine->region_seconds;
        machine->task_seconds = task < machine->task_seconds ? task : machine->task_seconds;
    }
}

static rynd_status measure_rounds(measurement *m, const rynd_measure_options *options,
                                  ry_machine *machine, ry_error *error)
{
    enum { PARTS = 1000 };
    const double max_seconds = options->seconds > 0 ? options->seconds : default_seconds;
    const double begin = ry_clock_seconds();
    double spent = 0;
    for (int round = 0; round < MAX_ROUNDS; round++) {
        m->begin[round] = ry_competition_now();
        for (int i = 0; i < m->count; i++) {
            if (m->figures[i].what < READING || m->figures[i].share > 0) {
                measure_figure(m, &m->figures[i], round);
            }
        }
        spent = ry_clock_seconds() - begin;
        machine->disturbance = disturbance_of(m, round + 1);
        const bool good = round + 1 >= MIN_ROUNDS && machine->disturbance <= RYND_DISTURBANCE_LIMIT;
        const double by_rounds = (double)(round + 1) / MIN_ROUNDS, by_time = spent / max_seconds;
        const double done = by_rounds < 1 ? by_rounds : by_time < 1 && !good ? by_time : 1;
        if (ry_progress_ends(options->progress, options->progress_user, (size_t)(done * PARTS),
                             PARTS)) {
            return ry_fail(error, RYND_ERROR_CANCELLED, "the measurement was ended by its caller");
        }
        if (good || spent + spent / (round + 1) > max_seconds) {
            break;
        }
    }
    return RYND_OK;
}

rynd_status ry_machine_measure(const ry_allocator *allocator, ry_threads *threads,
                               const ry_machine_loops *loops, const rynd_measure_options *options,
                               ry_machine *machine, ry_error *error)
{
    measurement m = {.loops = loops, .threads = threads};
    const double int8 = machine->f32.one > 0 ? machine->int8.one / machine->f32.one : 0;
    const size_t bytes = list_figures(&m, machine);
    m.results = ry_allocate_array(allocator, ry_threads_count(threads), sizeof *m.results);
    m.data = m.results ? ry_allocate(allocator, bytes) : NULL;
    if (!m.data) {
        ry_release(allocator, m.results);
        return ry_fail_memory(error);
    }
    memset(m.data, 0, bytes); /* also makes the system give the pages */
    m.metered = ry_meter_open(NULL, &m.meter);
    rynd_status status = measure_rounds(&m, options, machine, error);
    status = status == RYND_OK
                 ? ry_machine_measure_transfer(allocator, threads, loops, machine, error)
                 : status;
    if (status == RYND_OK) {
        keep_best(&m);
        keep_watts(&m, machine);
        measure_costs(threads, machine);
        machine->int8 = (rynd_rate){machine->f32.one * int8, machine->f32.all * int8};
        machine->origin = RYND_MACHINE_MEASURED;
    }
    ry_release(allocator, m.data);
    ry_release(allocator, m.results);
    return status;
}

ry_competition ry_machine_competition(const ry_machine *machine)
{
    return machine->step_items > 1 ? (ry_competition){0, 0} : ry_competition_now();
}
