/* SPDX-License-Identifier: Apache-2.0 */
/* Energy by kind: the fit finds planted coefficients, in spite of noise and of disturbed samples;
 * what it finds is kept in a machine's file, and predictions add it up with an interval. Meters that
 * stand still or disappear give nothing. */
#include "api/handles.h"
#include "machine/machine_file.h"
#include "predict/energy.h"
#include "tune/energy_meter.h"

#include <rynd/rynd.h>

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { SAMPLES = 60, FEW = RY_ENERGY_PROBLEMS - 1 };

/* Watts and joules of the planted machine: far from every prior. */
static const double STATIC = 21, JOULES[RYND_ENERGY_KINDS] = {[RYND_ENERGY_F32] = 150e-12,
                                                              [RYND_ENERGY_OTHER] = 60e-12,
                                                              [RYND_ENERGY_CACHE] = 100e-12,
                                                              [RYND_ENERGY_MEMORY] = 900e-12};

/* Two cores of 100 Gflop/s, metered at 40 and 60 W. */
static ry_machine two_cores(void)
{
    ry_machine machine;
    ry_machine_reference("Zen 4", RY_ISA_avx512, &machine);
    machine.cores = 2;
    machine.f32 = (rynd_rate){100e9, 200e9};
    machine.level[RYND_LEVEL_DRAM].bandwidth = (rynd_rate){15e9, 20e9};
    machine.watts = (rynd_rate){40, 60};
    machine.memory_watts = (rynd_rate){30, 40};
    snprintf(machine.meter, sizeof machine.meter, "rapl");
    return machine;
}

/* 0 to 1, always the same. */
static double random_of(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) / (double)(UINT64_C(1) << 53);
}

static double joules_of(const ry_energy_sample *s)
{
    double joules = STATIC * s->seconds;
    for (int k = 0; k < RYND_ENERGY_KINDS; k++) {
        joules += JOULES[k] * s->time.does[k];
    }
    return joules;
}

/* Runs of 1 ms, from all arithmetic to all memory; `noise`: relative errors up to so much. */
static void plant(ry_energy_sample *samples, int count, double noise)
{
    uint64_t random = 7;
    for (int i = 0; i < count; i++) {
        ry_energy_sample *s = &samples[i];
        *s = (ry_energy_sample){.problem = i, .seconds = 1e-3 * (0.5 + random_of(&random))};
        const double busy = random_of(&random), near = random_of(&random), far = random_of(&random),
                     other = random_of(&random);
        s->time.does[RYND_ENERGY_F32] = busy * 200e9 * s->seconds;
        s->time.does[RYND_ENERGY_OTHER] = other * (1 - busy) * 200e9 * s->seconds;
        s->time.does[RYND_ENERGY_CACHE] = near * 100e9 * s->seconds;
        s->time.does[RYND_ENERGY_MEMORY] = far * 20e9 * s->seconds;
        s->time.arithmetic = busy * s->seconds;
        s->time.memory = far * s->seconds;
        s->joules = joules_of(s) * (1 + noise * (2 * random_of(&random) - 1));
    }
}

static void check_found(const ry_energy_fit *fit, double bound)
{
    assert_true(fabs(fit->watts / STATIC - 1) < bound);
    for (int k = 0; k < RYND_ENERGY_KINDS; k++) {
        if (JOULES[k] > 0 && !(fabs(fit->joules[k] / JOULES[k] - 1) < bound)) {
            fail_msg("kind %d: %g J, planted %g", k, fit->joules[k], JOULES[k]);
        }
    }
}

static void finds_the_coefficients(void **state)
{
    (void)state;
    static const struct {
        double noise, bound;
        int disturbed;
    } cases[] = {{0, 0.02, 0}, {0.03, 0.15, 0}, {0.03, 0.25, 4}};
    const ry_machine machine = two_cores();
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        ry_energy_sample samples[SAMPLES];
        ry_energy_fit fit;
        plant(samples, SAMPLES, cases[c].noise);
        for (int i = 0; i < cases[c].disturbed; i++) {
            samples[11 * i + 5].joules *= 3;
        }
        ry_energy_fit_samples(samples, SAMPLES, &machine, 2, &fit);
        check_found(&fit, cases[c].bound);
        assert_int_equal(fit.problems, SAMPLES);
        assert_true(fit.after < fit.before && fit.spread > 0);
        assert_true(cases[c].disturbed > 0 || fit.after < 0.03);
    }
}

/* Kinds that no sample does keep their priors, which no time moves; a machine that was measured
 * without a meter has the samples' mean power for one. */
static void keeps_what_it_cannot_tell(void **state)
{
    (void)state;
    ry_machine machine = two_cores();
    machine.bf16 = (rynd_rate){200e9, 400e9};
    ry_energy_sample samples[SAMPLES];
    ry_energy_fit fit;
    plant(samples, SAMPLES, 0);
    ry_energy_fit_samples(samples, SAMPLES, &machine, 2, &fit);
    const double prior = (60 - 0.4 * 40) / 400e9;
    assert_true(fabs(fit.joules[RYND_ENERGY_BF16] / prior - 1) < 1e-6);
    machine.watts = machine.memory_watts = (rynd_rate){0, 0};
    ry_energy_fit_samples(samples, SAMPLES, &machine, 2, &fit);
    check_found(&fit, 0.1);
}

/* Few problems are not fitted, and a fit that predicts problems left out no better than watts times
 * time is not taken. */
static void takes_no_fit_that_predicts_worse(void **state)
{
    (void)state;
    ry_machine machine = two_cores();
    machine.memory_watts = machine.watts;
    ry_energy_sample samples[SAMPLES];
    ry_energy_fit fit;
    plant(samples, SAMPLES, 0);
    ry_energy_fit_samples(samples, FEW, &machine, 2, &fit);
    assert_true(fit.spread == 0 && fit.problems == FEW && fit.before == 0);
    ry_energy_fit_samples(samples, 0, &machine, 2, &fit);
    assert_true(fit.spread == 0 && fit.problems == 0);
    for (int i = 0; i < SAMPLES; i++) {
        samples[i].joules = 60 * samples[i].seconds; /* whatever it does */
    }
    ry_energy_fit_samples(samples, SAMPLES, &machine, 2, &fit);
    assert_true(fit.spread == 0 && fit.after >= fit.before);
    ry_energy_keep(&fit, "rapl", &machine);
    assert_true(machine.energy_spread == 0);
}

/* Predictions add up what the machine's file has; an interval is wider than the time's alone. */
static void its_file_decides_predictions(void **state)
{
    (void)state;
    ry_machine machine = two_cores(), read;
    ry_energy_sample samples[SAMPLES];
    ry_energy_fit fit;
    ry_error error = {""};
    char path[64] = "/tmp/rynd_energy_XXXXXX";
    const int made = mkstemp(path);
    assert_true(made >= 0 && close(made) == 0);
    plant(samples, SAMPLES, 0);
    const ry_forecast exact = {1e-3, 1e-3, 1e-3}, wide = {1e-3, 0.8e-3, 1.25e-3};
    const ry_time time = samples[3].time;
    ry_joules j = ry_energy_predict(&machine, 2, &time, &exact);
    assert_true(fabs(j.median / (1e-3 * ry_energy_watts(&machine, 2, &time)) - 1) < 1e-12);
    ry_energy_fit_samples(samples, SAMPLES, &machine, 2, &fit);
    ry_energy_keep(&fit, "rapl", &machine);
    assert_true(machine.static_watts.one <= machine.static_watts.all);
    assert_int_equal(ry_machine_write(&machine, path, &error), RYND_OK);
    assert_int_equal(ry_machine_read(path, &read, &error), RYND_OK);
    remove(path);
    ry_energy_sample own = samples[3];
    own.seconds = 1e-3;
    j = ry_energy_predict(&read, 2, &time, &exact);
    const ry_joules more = ry_energy_predict(&read, 2, &time, &wide);
    assert_true(fabs(j.median / joules_of(&own) - 1) < 0.03);
    assert_true(j.low < j.median && j.median < j.high);
    assert_true(more.median == j.median && more.low < j.low && more.high > j.high);
    read.energy_spread = 0;
    read.watts = read.memory_watts = (rynd_rate){0, 0};
    assert_true(ry_energy_predict(&read, 2, &time, &exact).high == 0);
}

/* A folder as powercap's, with one package. */
typedef struct stand_in {
    char root[64], package[96], counter[128];
    atomic_bool over;
    pthread_t thread;
} stand_in;

static void write_number(const char *path, unsigned long long number)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%llu\n", number);
    fclose(file);
}

static void open_stand_in(stand_in *s)
{
    char range[160];
    *s = (stand_in){.root = "/tmp/rynd_meter_XXXXXX"};
    assert_non_null(mkdtemp(s->root));
    snprintf(s->package, sizeof s->package, "%s/intel-rapl:0", s->root);
    snprintf(s->counter, sizeof s->counter, "%s/energy_uj", s->package);
    snprintf(range, sizeof range, "%s/max_energy_range_uj", s->package);
    assert_int_equal(mkdir(s->package, 0700), 0);
    write_number(range, 1000000);
    write_number(s->counter, 999000);
    assert_int_equal(setenv("RYND_METER", s->root, 1), 0);
}

static void close_stand_in(stand_in *s)
{
    char range[160];
    snprintf(range, sizeof range, "%s/max_energy_range_uj", s->package);
    remove(range);
    remove(s->counter);
    remove(s->package);
    remove(s->root);
    assert_int_equal(unsetenv("RYND_METER"), 0);
}

/* Moves the counter, across its range, until the test ends. It is written aside: a reader never
 * finds an empty file. */
static void *move_counter(void *user)
{
    stand_in *s = user;
    char aside[160];
    snprintf(aside, sizeof aside, "%s/aside", s->root);
    const struct timespec pause = {.tv_nsec = 500000};
    for (unsigned long long at = 999000; !atomic_load(&s->over); at = (at + 500) % 1000001) {
        write_number(aside, at);
        rename(aside, s->counter);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* A trial of a small problem on the CPU, metered. */
typedef struct metered {
    rynd_context *context;
    ry_arena arena;
    ry_problem problem;
    ry_operands operands;
    ry_choice choice;
    ry_trial trial;
    ry_energy_sample samples[2];
    ry_energy_meter meter;
} metered;

static void open_metered(metered *m)
{
    ry_error error = {""};
    double seconds;
    memset(m, 0, sizeof *m);
    assert_int_equal(rynd_context_create(NULL, &m->context), RYND_OK);
    ry_device *device = m->context->device;
    const ry_target target = ry_target_here(device);
    ry_arena_init(&m->arena, device->allocator);
    assert_int_equal(ry_problem_parse("softmax x0=40x100:f32 y0=40x100:f32 axis=1", &m->arena,
                                      &m->problem, &error),
                     RYND_OK);
    assert_int_equal(ry_predict_choose(&m->problem, &target, 0, NULL, &m->choice, &error), RYND_OK);
    assert_int_equal(ry_operands_make(&m->operands, device, &m->problem, 1, 0, &m->arena, &error),
                     RYND_OK);
    assert_int_equal(
        ry_trial_make(&m->trial, &m->choice.prepared, 0, false, &m->operands, &target, &error),
        RYND_OK);
    assert_int_equal(ry_trial_run(&m->trial, &error), RYND_OK);
    assert_int_equal(ry_trial_measure(&m->trial, &seconds, &error), RYND_OK);
    ry_energy_meter_open(device, m->samples, 2, &m->meter);
}

static void close_metered(metered *m)
{
    ry_trial_free(&m->trial);
    ry_operands_free(&m->operands);
    ry_arena_free(&m->arena);
    rynd_context_destroy(m->context);
}

static int samples_of(metered *m, int problem)
{
    ry_error error = {""};
    assert_int_equal(
        ry_energy_meter_run(&m->meter, &m->trial, problem, &m->choice.prepared, 1, &error),
        RYND_OK);
    return m->meter.count;
}

/* No sample: the counter stands still, its file disappears, or there is no meter. */
static void meters_that_give_nothing(void **state)
{
    (void)state;
    stand_in s;
    metered m;
    open_stand_in(&s);
    open_metered(&m);
    assert_string_equal(m.meter.name, "rapl");
    assert_int_equal(samples_of(&m, 0), 0);
    remove(s.counter);
    assert_int_equal(samples_of(&m, 0), 0);
    close_metered(&m);
    setenv("RYND_METER", "off", 1);
    open_metered(&m);
    assert_string_equal(m.meter.name, "");
    assert_int_equal(samples_of(&m, 0), 0);
    assert_true(m.meter.spent == 0);
    rynd_calibrated_energy energy = RYND_SIZED(rynd_calibrated_energy);
    assert_int_equal(rynd_context_get_calibrated_energy(m.context, &energy), RYND_OK);
    assert_true(strcmp(energy.meter, "") == 0 && energy.problems == 0);
    close_metered(&m);
    close_stand_in(&s);
}

/* A counter that wraps while runs are metered: one sample a problem, of less than its range. */
static void a_meter_that_moves(void **state)
{
    (void)state;
    stand_in s;
    metered m;
    open_stand_in(&s);
    open_metered(&m);
    assert_int_equal(pthread_create(&s.thread, NULL, move_counter, &s), 0);
    while (samples_of(&m, 5) == 0) { /* a busy machine may let the counter stand */
    }
    assert_int_equal(samples_of(&m, 5), 1);
    assert_true(m.samples[0].problem == 5 && m.samples[0].prepared == &m.choice.prepared);
    assert_true(m.samples[0].joules > 0 && m.samples[0].joules < 1 && m.samples[0].seconds > 0);
    ry_energy_fit fit;
    ry_energy_meter_fit(&m.meter, m.context->device->machine, 1, &fit);
    assert_true(fit.problems == 1 && fit.spread == 0 && m.samples[0].time.all > 0);
    atomic_store(&s.over, true);
    pthread_join(s.thread, NULL);
    close_metered(&m);
    close_stand_in(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_coefficients),
        cmocka_unit_test(keeps_what_it_cannot_tell),
        cmocka_unit_test(takes_no_fit_that_predicts_worse),
        cmocka_unit_test(its_file_decides_predictions),
        cmocka_unit_test(meters_that_give_nothing),
        cmocka_unit_test(a_meter_that_moves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
