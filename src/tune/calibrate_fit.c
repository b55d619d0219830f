/* SPDX-License-Identifier: Apache-2.0 */
/* One factor a family, found by golden-section search over its logarithm. */
#include "tune/calibrate_fit.h"

#include "predict/forecast.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* FOLDS: each of so many parts of the problems is left out once. */
enum { FOLDS = 3, STEPS = 40 };

/* By hand. TIME_SPREAD: errors up to which the loss is quadratic, of the logarithm. FACTOR_SPREAD:
 * how far factors of machines differ. PRIOR_SPREAD, PRIOR_TIMES: the spread of a family without
 * times, and how many times it counts for. RANGE: of the logarithm of a factor. */
static const double TIME_SPREAD = 0.2, FACTOR_SPREAD = 0.5, PRIOR_SPREAD = 0.3, PRIOR_TIMES = 3,
                    RANGE = 3;

typedef struct fit {
    const ry_calibration_time *times; /* the times of one family */
    int count;
    const ry_machine *machine;
    unsigned threads;
    double known; /* logarithm of the factor known before */
} fit;

static double log_error(const fit *f, int i, double factor)
{
    const ry_calibration_time *t = &f->times[i];
    return log(t->seconds / ry_predict_parts(t->prepared, f->machine, f->threads, t->constants,
                                             t->network_bytes, factor)
                                .all);
}

static bool is_left_out(const fit *f, int i, int fold)
{
    return f->times[i].problem % FOLDS == fold;
}

/* fold -1: nothing is left out. */
static double loss(const fit *f, double log_factor, int fold)
{
    const double off = (log_factor - f->known) / FACTOR_SPREAD;
    double sum = off * off / 2;
    for (int i = 0; i < f->count; i++) {
        if (!is_left_out(f, i, fold)) {
            const double e = fabs(log_error(f, i, exp(log_factor))) / TIME_SPREAD;
            sum += e < 1 ? e * e / 2 : e - 0.5;
        }
    }
    return sum;
}

/* The logarithm of the factor with the least loss. */
static double find_factor(const fit *f, int fold)
{
    const double golden = (sqrt(5) - 1) / 2;
    double low = -RANGE, high = RANGE;
    double a = high - golden * (high - low), b = low + golden * (high - low);
    double at_a = loss(f, a, fold), at_b = loss(f, b, fold);
    for (int i = 0; i < STEPS; i++) {
        if (at_a < at_b) {
            high = b, b = a, at_b = at_a;
            a = high - golden * (high - low);
            at_a = loss(f, a, fold);
        } else {
            low = a, a = b, at_a = at_b;
            b = low + golden * (high - low);
            at_b = loss(f, b, fold);
        }
    }
    return (low + high) / 2;
}

static void judge_fold(const fit *f, int fold, ry_calibrated_row *row, double *squares)
{
    const double fitted = exp(find_factor(f, fold)), known = exp(f->known);
    for (int i = 0; i < f->count; i++) {
        if (is_left_out(f, i, fold)) {
            const double e = log_error(f, i, fitted);
            *squares += e * e;
            row->after += fabs(exp(-e) - 1) / f->count;
            row->before += fabs(exp(-log_error(f, i, known)) - 1) / f->count;
        }
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
    double squares = 0;
    *row = (ry_calibrated_row){.times = (unsigned)f->count};
    for (int fold = 0; fold < FOLDS; fold++) {
        judge_fold(f, fold, row, &squares);
    }
    rynd_family_error *fitted = &row->fitted;
    snprintf(fitted->family, sizeof fitted->family, "%s", f->times[0].prepared->kernel->family);
    fitted->factor = (float)exp(find_factor(f, -1));
    const double sum = squares + PRIOR_TIMES * PRIOR_SPREAD * PRIOR_SPREAD;
    fitted->spread = (float)sqrt(sum / (f->count + PRIOR_TIMES));
    fitted->problems = count_problems(f);
}

void ry_calibrate_fit(const ry_calibration_time *times, int count, const ry_machine *machine,
                      unsigned threads, ry_calibration *calibration)
{
    calibration->count = 0;
    for (int i = 0, next; i < count && calibration->count < RYND_MACHINE_FAMILIES; i = next) {
        const ry_kernel *kernel = times[i].prepared->kernel;
        for (next = i + 1;
             next < count && strcmp(times[next].prepared->kernel->family, kernel->family) == 0;) {
            next++;
        }
        const fit f = {&times[i], next - i, machine, threads,
                       log(ry_forecast_residual(machine, kernel).factor)};
        fit_family(&f, &calibration->rows[calibration->count++]);
    }
}
