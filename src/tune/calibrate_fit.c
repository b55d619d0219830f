/* SPDX-License-Identifier: Apache-2.0 */
/* One factor a family, found by golden-section search over its logarithm. */
#include "tune/calibrate_fit.h"

#include "machine/occupancy.h"
#include "predict/forecast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* FOLDS: each of so many parts of the problems is left out once. SWEEPS: over the coefficients of
 * networks. Places among them: EXPOSED is at most 1, and GPUs have no REGION. */
enum {
    FOLDS = 3,
    STEPS = 40,
    TURNS = 3,
    SWEEPS = 3,
    MOST_NETWORKS = 8,
    COEFFICIENTS = 5,
    EXPOSED = 2,
    REGION = 4
};

/* By hand. TIME_SPREAD: errors up to which the loss is quadratic, of the logarithm. FACTOR_SPREAD:
 * how far factors of machines differ; DEVICE_SPREAD: of GPUs, whose kernels' costs are estimates.
 * PRIOR_SPREAD, PRIOR_TIMES: the spread of a family without times, and how many times it counts
 * for. RANGE: of the logarithm of a factor. COEFFICIENT_*: the same of the coefficients of
 * networks. SUM_WEIGHT: steps that a network's sum counts for. */
static const double TIME_SPREAD = 0.2, FACTOR_SPREAD = 0.5, DEVICE_SPREAD = 1.5, PRIOR_SPREAD = 0.3,
                    PRIOR_TIMES = 3, RANGE = 4.5, COEFFICIENT_SPREAD = 0.7, COEFFICIENT_RANGE = 2,
                    SUM_WEIGHT = 10;

typedef struct fit {
    const ry_calibration_time *times; /* the times of one family */
    int count;
    const ry_machine *machine;
    unsigned threads;
    double known; /* logarithm of the factor known before */
} fit;

static double predicted(const ry_calibration_time *t, const ry_machine *machine, unsigned threads,
                        double factor)
{
    return t->prepared
               ? ry_predict_parts(t->prepared, machine, threads, t->constants, t->network_bytes,
                                  factor)
                     .all
               : ry_predict_in_network(&t->parts, machine, threads, factor, t->network_bytes).all;
}

static double log_error(const fit *f, int i, double factor)
{
    const ry_calibration_time *t = &f->times[i];
    return log(t->seconds / predicted(t, f->machine, f->threads, factor));
}

/* Quadratic up to TIME_SPREAD, then linear (Huber, 1964). */
static double huber(double error)
{
    const double e = fabs(error) / TIME_SPREAD;
    return e < 1 ? e * e / 2 : e - 0.5;
}

static bool is_left_out(const fit *f, int i, int fold)
{
    return f->times[i].fold == fold;
}

/* fold -1: nothing is left out. */
static double loss(const fit *f, double log_factor, int fold)
{
    const double off =
        (log_factor - f->known) / (f->machine->group_items > 0 ? DEVICE_SPREAD : FACTOR_SPREAD);
    double sum = off * off / 2;
    for (int i = 0; i < f->count; i++) {
        if (!is_left_out(f, i, fold)) {
            sum += huber(log_error(f, i, exp(log_factor)));
        }
    }
    return sum;
}

/* Where a function of one number has its least value between two, by golden sections. */
static double find_least(double (*of)(void *what, double at), void *what, double low, double high)
{
    const double golden = (sqrt(5) - 1) / 2;
    double a = high - golden * (high - low), b = low + golden * (high - low);
    double at_a = of(what, a), at_b = of(what, b);
    for (int i = 0; i < STEPS; i++) {
        if (at_a < at_b) {
            high = b, b = a, at_b = at_a;
            a = high - golden * (high - low);
            at_a = of(what, a);
        } else {
            low = a, a = b, at_a = at_b;
            b = low + golden * (high - low);
            at_b = of(what, b);
        }
    }
    return (low + high) / 2;
}

typedef struct factor_loss {
    const fit *fit;
    int fold;
} factor_loss;

static double loss_of_factor(void *what, double log_factor)
{
    const factor_loss *l = what;
    return loss(l->fit, log_factor, l->fold);
}

/* The logarithm of the factor with the least loss. */
static double find_factor(const fit *f, int fold)
{
    factor_loss l = {f, fold};
    return find_least(loss_of_factor, &l, -RANGE, RANGE);
}

/* Errors of problems that a fit did not see. */
typedef struct judgement {
    double mean, squares; /* mean of |predicted / measured - 1|, sum of squares of the logarithm */
} judgement;

static void add_error(judgement *to, const fit *f, int i, double factor)
{
    const double e = log_error(f, i, factor);
    to->squares += e * e;
    to->mean += fabs(exp(-e) - 1) / f->count;
}

static void judge_fold(const fit *f, int fold, judgement *before, judgement *after)
{
    const double fitted = exp(find_factor(f, fold)), known = exp(f->known);
    for (int i = 0; i < f->count; i++) {
        if (is_left_out(f, i, fold)) {
            add_error(before, f, i, known);
            add_error(after, f, i, fitted);
        }
    }
}

/* The family's factor: the fitted one, unless the factor known before is closer to problems left
 * out. Moves in and out of the caches, say, have no factor in common. `after` is then `before`. */
static double judge(const fit *f, judgement *before, judgement *after)
{
    *before = *after = (judgement){0};
    for (int fold = 0; fold < FOLDS; fold++) {
        judge_fold(f, fold, before, after);
    }
    if (after->squares > before->squares) {
        *after = *before;
        return exp(f->known);
    }
    return exp(find_factor(f, -1));
}

/* Each third problem of a family, which is sorted by problems, becomes a fold. */
static void make_folds(ry_calibration_time *times, int count)
{
    int rank = 0;
    for (int i = 0; i < count; i++) {
        const bool same =
            i > 0 && strcmp(times[i].kernel->family, times[i - 1].kernel->family) == 0;
        rank = !same ? 0 : rank + (times[i].problem != times[i - 1].problem);
        times[i].fold = rank % FOLDS;
    }
}

static unsigned count_problems(const fit *f)
{
    unsigned problems = 0;
    for (int i = 0; i < f->count; i++) {
        int j = 0;
        while (f->times[j].problem != f->times[i].problem) {
            j++;
        }
        problems += i == j;
    }
    return problems;
}

static void fit_family(const fit *f, ry_calibrated_row *row)
{
    judgement before, after;
    const double factor = judge(f, &before, &after);
    *row = (ry_calibrated_row){
        .times = (unsigned)f->count, .before = before.mean, .after = after.mean};
    rynd_family_error *fitted = &row->fitted;
    snprintf(fitted->family, sizeof fitted->family, "%s", f->times[0].kernel->family);
    fitted->factor = (float)factor;
    const double sum = after.squares + PRIOR_TIMES * PRIOR_SPREAD * PRIOR_SPREAD;
    fitted->spread = (float)sqrt(sum / (f->count + PRIOR_TIMES));
    fitted->problems = count_problems(f);
}

/* The times of the family that begins at `first`. */
static fit family_at(const ry_calibration_time *times, int first, int count,
                     const ry_machine *machine, unsigned threads)
{
    const ry_kernel *kernel = times[first].kernel;
    int next = first + 1;
    while (next < count && strcmp(times[next].kernel->family, kernel->family) == 0) {
        next++;
    }
    return (fit){&times[first], next - first, machine, threads,
                 log(ry_forecast_residual(machine, kernel).factor)};
}

/* A search for one coefficient of networks. */
typedef struct network_search {
    const ry_calibration_time *times;
    int count;
    unsigned threads;
    const double *factors; /* one for each time */
    ry_machine *machine;   /* has the coefficients */
    double *coefficient, before;
} network_search;

static double network_loss(void *what, double log_value)
{
    const network_search *s = what;
    double sums[MOST_NETWORKS] = {0}, measured[MOST_NETWORKS] = {0}, loss = 0;
    const double off = (log_value - s->before) / COEFFICIENT_SPREAD;
    *s->coefficient = exp(log_value);
    for (int i = 0; i < s->count; i++) {
        const ry_calibration_time *t = &s->times[i];
        if (!t->prepared && t->network < MOST_NETWORKS) {
            const double seconds = predicted(t, s->machine, s->threads, s->factors[i]);
            loss += huber(log(t->seconds / seconds));
            sums[t->network] += seconds;
            measured[t->network] += t->seconds;
        }
    }
    for (int n = 0; n < MOST_NETWORKS; n++) {
        loss += measured[n] > 0 ? SUM_WEIGHT * huber(log(measured[n] / sums[n])) : 0;
    }
    return loss + off * off / 2;
}

static void fit_network(network_search *s)
{
    double *const coefficients[COEFFICIENTS] = {
        &s->machine->network_step, &s->machine->network_kept, &s->machine->network_exposed,
        &s->machine->network_rate, &s->machine->network_region};
    const ry_network_fit known = ry_network_fit_of(s->machine);
    const double before[COEFFICIENTS] = {known.step, known.kept, known.exposed, known.rate,
                                         ry_machine_has_waves(s->machine) ? 0 : known.region};
    for (int k = 0; k < SWEEPS * COEFFICIENTS; k++) {
        const int i = k % COEFFICIENTS;
        if (before[i] <= 0) { /* a GPU's step and region */
            continue;
        }
        s->coefficient = coefficients[i];
        s->before = log(before[i]);
        *s->coefficient =
            exp(find_least(network_loss, s, s->before - COEFFICIENT_RANGE,
                           i == EXPOSED ? fmax(0, s->before) : s->before + COEFFICIENT_RANGE));
    }
}

/* Coefficients of networks and factors of families in turns: each is fitted with the others as they
 * are. */
static void fit_in_turns(network_search *s, double *factors)
{
    const ry_machine known = *s->machine;
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < s->count;) {
            const fit f = family_at(s->times, i, s->count, s->machine, s->threads);
            judgement before, after;
            const double factor = judge(&f, &before, &after);
            for (int j = 0; j < f.count; j++) {
                factors[i + j] = factor;
            }
            i += f.count;
        }
        s->machine->network_step = known.network_step;
        s->machine->network_kept = known.network_kept;
        s->machine->network_exposed = known.network_exposed;
        s->machine->network_rate = known.network_rate;
        s->machine->network_region = known.network_region;
        fit_network(s);
    }
}

static int by_family(const void *a, const void *b)
{
    const ry_calibration_time *x = a, *y = b;
    const int order = strcmp(x->kernel->family, y->kernel->family);
    return order ? order : (x->problem > y->problem) - (x->problem < y->problem);
}

void ry_calibrate_sort(ry_calibration_time *times, int count)
{
    qsort(times, (size_t)count, sizeof *times, by_family);
}

static bool has_steps(const ry_calibration_time *times, int count)
{
    for (int i = 0; i < count; i++) {
        if (!times[i].prepared) {
            return true;
        }
    }
    return false;
}

void ry_calibrate_fit(ry_calibration_time *times, int count, const ry_machine *machine,
                      unsigned threads, double *factors, ry_calibration *calibration)
{
    ry_machine fitted = *machine;
    make_folds(times, count);
    calibration->count = 0;
    calibration->network = (ry_network_fit){0};
    if (has_steps(times, count)) {
        network_search s = {.times = times,
                            .count = count,
                            .threads = threads,
                            .factors = factors,
                            .machine = &fitted};
        fit_in_turns(&s, factors);
        calibration->network = ry_network_fit_of(&fitted);
    }
    for (int i = 0; i < count && calibration->count < RYND_MACHINE_FAMILIES;) {
        const fit f = family_at(times, i, count, &fitted, threads);
        fit_family(&f, &calibration->rows[calibration->count++]);
        i += f.count;
    }
}
