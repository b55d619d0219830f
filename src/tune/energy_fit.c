/* SPDX-License-Identifier: Apache-2.0 */
/* Coefficients are multiples of their priors, found by coordinate descent: the loss is convex. */
#include "tune/energy_fit.h"

#include "predict/energy.h"

#include <math.h>
#include <stdio.h>

/* TERMS: static power, then kinds. FOLDS: each of so many parts of the problems is left out once.
 * ROUNDS: of weights of samples; SWEEPS: over the coefficients in each. */
enum { TERMS = 1 + RYND_ENERGY_KINDS, FOLDS = 3, ROUNDS = 6, SWEEPS = 300 };

/* By hand. STATIC: prior share of static power in the least of the powers. CACHE: prior joules of
 * a byte from the shared cache over one from memory. ERROR: relative error of a sample, up to which
 * the loss is quadratic. PRIOR: standard deviation of a coefficient over its prior. PRIOR_SPREAD,
 * PRIOR_SAMPLES: spread of an energy without samples, and how many samples it counts for. */
static const double STATIC = 0.4, CACHE = 0.25, ERROR = 0.1, PRIOR = 2, PRIOR_SPREAD = 0.2,
                    PRIOR_SAMPLES = 3;

typedef struct search {
    const ry_energy_sample *samples;
    int count;
    double prior[TERMS];
    double theta[TERMS]; /* coefficients over their priors */
} search;

/* Mean power of all samples. */
static double mean_watts(const ry_energy_sample *samples, int count)
{
    double joules = 0, seconds = 0;
    for (int i = 0; i < count; i++) {
        joules += samples[i].joules;
        seconds += samples[i].seconds;
    }
    return seconds > 0 ? joules / seconds : 0;
}

/* Joules of an operation or byte at so many a second; 0: the rate is unknown. */
static double each(double watts, double rate)
{
    return rate > 0 && watts > 0 ? watts / rate : 0;
}

/* A machine that was measured without a meter has the samples' mean power. */
static void find_prior(const ry_machine *machine, unsigned threads, double mean,
                       double prior[TERMS])
{
    const double known = ry_machine_rate(&machine->watts, machine, threads),
                 busy = known > 0 ? known : mean,
                 reading = machine->memory_watts.one > 0
                               ? ry_machine_rate(&machine->memory_watts, machine, threads)
                               : busy,
                 idle = STATIC * fmin(busy, reading),
                 f32 = ry_machine_rate(&machine->f32, machine, threads),
                 memory =
                     ry_machine_rate(&machine->level[RYND_LEVEL_DRAM].bandwidth, machine, threads);
    double *kinds = prior + 1;
    prior[0] = idle;
    kinds[RYND_ENERGY_F32] = kinds[RYND_ENERGY_OTHER] = each(busy - idle, f32);
    kinds[RYND_ENERGY_BF16] =
        each(busy - idle, fmax(f32, ry_machine_rate(&machine->bf16, machine, threads)));
    kinds[RYND_ENERGY_INT8] =
        each(busy - idle, fmax(f32, ry_machine_rate(&machine->int8, machine, threads)));
    kinds[RYND_ENERGY_MEMORY] = each(reading - idle, memory);
    kinds[RYND_ENERGY_CACHE] = CACHE * kinds[RYND_ENERGY_MEMORY];
}

/* A term's joules at its prior over the measured joules. */
static double term(const search *s, int i, int k)
{
    const ry_energy_sample *e = &s->samples[i];
    return s->prior[k] * (k == 0 ? e->seconds : e->time.does[k - 1]) / e->joules;
}

/* Predicted over measured joules. */
static double ratio(const search *s, int i)
{
    double sum = 0;
    for (int k = 0; k < TERMS; k++) {
        sum += s->theta[k] * term(s, i, k);
    }
    return sum;
}

static bool is_left_out(const search *s, int i, int fold)
{
    return s->samples[i].problem % FOLDS == fold;
}

/* The weight by which a square becomes Huber's loss. */
static double weight(const search *s, int i)
{
    const double off = fabs(ratio(s, i) - 1) / ERROR;
    return (off > 1 ? 1 / off : 1) / (ERROR * ERROR);
}

/* Normal equations of the weighted squares and the penalty. */
static void sum_up(const search *s, int fold, double left[TERMS][TERMS], double right[TERMS])
{
    for (int k = 0; k < TERMS; k++) {
        for (int j = 0; j < TERMS; j++) {
            left[k][j] = k == j ? 1 / (PRIOR * PRIOR) : 0;
        }
        right[k] = 1 / (PRIOR * PRIOR);
    }
    for (int i = 0; i < s->count; i++) {
        const double w = is_left_out(s, i, fold) ? 0 : weight(s, i);
        for (int k = 0; k < TERMS; k++) {
            const double own = w * term(s, i, k);
            for (int j = 0; j < TERMS; j++) {
                left[k][j] += own * term(s, i, j);
            }
            right[k] += own;
        }
    }
}

/* fold -1: nothing is left out. */
static void find(search *s, int fold)
{
    double left[TERMS][TERMS], right[TERMS];
    for (int k = 0; k < TERMS; k++) {
        s->theta[k] = 1;
    }
    for (int round = 0; round < ROUNDS; round++) {
        sum_up(s, fold, left, right);
        for (int step = 0; step < SWEEPS * TERMS; step++) {
            const int k = step % TERMS;
            double rest = right[k];
            for (int j = 0; j < TERMS; j++) {
                rest -= j == k ? 0 : left[k][j] * s->theta[j];
            }
            s->theta[k] = fmax(0, rest / left[k][k]);
        }
    }
}

static unsigned count_problems(const ry_energy_sample *samples, int count)
{
    unsigned problems = 0;
    for (int i = 0; i < count; i++) {
        int j = 0;
        while (samples[j].problem != samples[i].problem) {
            j++;
        }
        problems += i == j;
    }
    return problems;
}

/* Errors of problems left out: of watts times time, and of the fit; the fit's squares of
 * logarithms. */
static double judge(search *s, const ry_machine *machine, unsigned threads, double mean,
                    ry_energy_fit *fit)
{
    double squares = 0;
    for (int fold = 0; fold < FOLDS; fold++) {
        find(s, fold);
        for (int i = 0; i < s->count; i++) {
            const ry_energy_sample *e = &s->samples[i];
            const double known = ry_energy_watts(machine, threads, &e->time),
                         watts = known > 0 ? known : mean, found = ratio(s, i);
            if (is_left_out(s, i, fold)) {
                fit->before += fabs(watts * e->seconds / e->joules - 1) / s->count;
                fit->after += fabs(found - 1) / s->count;
                squares += pow(log(fmax(found, 1e-6)), 2);
            }
        }
    }
    return squares;
}

void ry_energy_fit_samples(const ry_energy_sample *samples, int count, const ry_machine *machine,
                           unsigned threads, ry_energy_fit *fit)
{
    search s = {.samples = samples, .count = count};
    const double mean = mean_watts(samples, count);
    *fit = (ry_energy_fit){.problems = count_problems(samples, count)};
    if (fit->problems < RY_ENERGY_PROBLEMS) {
        return;
    }
    find_prior(machine, threads, mean, s.prior);
    const double squares = judge(&s, machine, threads, mean, fit);
    if (fit->after >= fit->before) {
        return;
    }
    find(&s, -1);
    fit->watts = s.theta[0] * s.prior[0];
    for (int k = 0; k < RYND_ENERGY_KINDS; k++) {
        fit->joules[k] = s.theta[1 + k] * s.prior[1 + k];
    }
    fit->spread =
        sqrt((squares + PRIOR_SAMPLES * PRIOR_SPREAD * PRIOR_SPREAD) / (count + PRIOR_SAMPLES));
}

/* Static power of one thread: its measured power less the power of its multiply-adds. */
void ry_energy_keep(const ry_energy_fit *fit, const char *meter, ry_machine *machine)
{
    const double one = machine->watts.one - fit->joules[RYND_ENERGY_F32] * machine->f32.one;
    machine->static_watts = (rynd_rate){
        machine->watts.one > 0 ? fmin(fit->watts, fmax(0, one)) : fit->watts, fit->watts};
    for (int k = 0; k < RYND_ENERGY_KINDS; k++) {
        machine->energy[k] = fit->joules[k];
    }
    machine->energy_spread = fmin(5, fit->spread);
    if (fit->spread > 0) {
        snprintf(machine->meter, sizeof machine->meter, "%s", meter);
    }
}
