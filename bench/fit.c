/* SPDX-License-Identifier: Apache-2.0 */
/* Fits the coefficients of the cost models (kernels/costs.inc; of RYND_DEVICE's row in
 * kernels/gpu/gpu_costs.inc, family gpu) to measured times:
 *
 *   fit THREADS ROUNDS [FAMILY|FAMILY.NAME ...] < TIMES
 *   FIT_PREDICT=1 fit THREADS 0 < TIMES          prints the predicted seconds of each form
 *   FIT_SET="tile_warps=3 tile_step=0.5"         begins with other costs of a GPU
 *
 * TIMES: a form a line, as bench/fit writes it: problem, kernel, knobs and seconds, with tabs
 * between. Coefficients of the families named, or of all, go up and down one after another as long
 * as that makes predictions better: the logarithm of predicted over measured time, forms that are
 * far from the best of their problem counting less, and the regret of choosing by the predictions.
 * One problem in four only checks. Prints "family name column value" for each coefficient that has
 * changed, "form family checks seconds best error" for each form (best: of the seconds of its
 * problem's; error: the logarithm of predicted over measured time), and to stderr how it goes. */
#include "api/handles.h"
#include "base/number.h"
#include "fit_gpu.h"
#include "graph/infer.h"
#include "kernels/costs.h"
#include "kernels/form.h"
#include "kernels/prepared.h"
#include "predict/predict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINE = 2048, CHECKED = 4 };

/* Parameters of the loss. HALF_WEIGHT: a form this far from the best (log) counts half. HUBER:
 * larger errors count linearly, not squared. SHARPNESS: inverse temperature of the soft choice.
 * REGRET: weight of regret. STAY: price of changing a coefficient by a factor of e. */
static const double HALF_WEIGHT = 1, HUBER = 0.4, SHARPNESS = 25, REGRET = 2, STAY = 6e-4;

static const double FIRST_STEP = 0.4, MIN_STEP = 0.02, GAIN = 1e-6, HELPS = 0.01;

static ry_costs costs[RY_COST_COLUMNS] =
#include "kernels/cost_columns.inc"
    ;

/* In place of the library's. */
const ry_costs *ry_costs_fitted(ry_cost_column column)
{
    return &costs[column];
}

typedef struct coefficient {
    const char *family, *name;
    int column;
    double *value, start, step;
    size_t *rows; /* whose predictions it changes */
    size_t count;
} coefficient;

typedef struct row {
    const ry_kernel *kernel;
    const ry_problem *problem;
    ry_form form;
    double seconds, error; /* measured; log of predicted over measured */
    double weight, trial;
} row;

typedef struct group {
    size_t first, end; /* rows */
    double best;
    bool checks;
} group;

typedef struct fitting {
    const ry_target *target;
    unsigned threads;
    ry_arena arena;
    row *rows;
    size_t row_count;
    group *groups;
    size_t group_count;
    coefficient *all;
    size_t count;
} fitting;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "fit: %s: %s\n", what, why);
    exit(1);
}

static void *grown(void *data, size_t count, size_t size)
{
    void *more = (count & (count - 1)) == 0 ? realloc(data, (count ? 2 * count : 1) * size) : data;
    if (!more) {
        fail("memory", "there is none");
    }
    return more;
}

static const ry_problem *read_problem(fitting *f, const char *text)
{
    if (f->group_count > 0) {
        const ry_problem *last = f->rows[f->row_count - 1].problem;
        if (strcmp(text, (const char *)(last + 1)) == 0) {
            return last;
        }
    }
    ry_error error = {""};
    ry_problem *problem = ry_arena_take(&f->arena, 1, sizeof *problem + strlen(text) + 1);
    if (!problem || ry_problem_parse(text, &f->arena, problem, &error) != RYND_OK ||
        ry_problem_check(problem, &ry_system_allocator, &error) != RYND_OK) {
        fail(text, error.text);
    }
    strcpy((char *)(problem + 1), text);
    f->groups = grown(f->groups, f->group_count, sizeof *f->groups);
    f->groups[f->group_count] =
        (group){f->row_count, f->row_count, INFINITY, f->group_count % CHECKED == 0};
    f->group_count++;
    return problem;
}

/* Reads a number or one of the knob's words. */
static int64_t read_value(const ry_knob *knob, const char *text)
{
    int64_t value = 0;
    while (knob->words && strcmp(knob->words[value], text) != 0) {
        value++;
    }
    return knob->words ? value : atoll(text);
}

/* Complete: it was legal as a whole when it was measured. */
static ry_form read_form(const ry_kernel *kernel, char *knobs)
{
    ry_form form = ry_form_free();
    for (char *word = strtok(knobs, " "); word; word = strtok(NULL, " ")) {
        char *equals = strchr(word, '=');
        *equals = 0;
        int knob = 0;
        while (knob < kernel->knob_count && strcmp(kernel->knobs[knob].name, word) != 0) {
            knob++;
        }
        if (knob == kernel->knob_count) {
            fail(kernel->name, "it does not have all knobs that were measured");
        }
        form.value[knob] = read_value(&kernel->knobs[knob], equals + 1);
    }
    return form;
}

static void read_rows(fitting *f, FILE *file)
{
    static char line[MAX_LINE];
    while (fgets(line, sizeof line, file)) {
        char *part[4] = {line};
        for (int i = 1; i < 4; i++) {
            part[i] = strchr(part[i - 1], '\t');
            if (!part[i]) {
                fail(line, "a line has a problem, a kernel, knobs and seconds, with tabs between");
            }
            *part[i]++ = 0;
        }
        const ry_kernel *kernel = ry_kernel_find(part[1]);
        if (!kernel) {
            fail(part[1], "there is no such kernel");
        }
        const ry_problem *problem = read_problem(f, part[0]);
        f->rows = grown(f->rows, f->row_count, sizeof *f->rows);
        group *g = &f->groups[f->group_count - 1];
        f->rows[f->row_count] =
            (row){kernel, problem, read_form(kernel, part[2]), atof(part[3]), 0, 0, 0};
        g->best = fmin(g->best, f->rows[f->row_count].seconds);
        g->end = ++f->row_count;
    }
    for (size_t i = 0; i < f->group_count; i++) {
        const group *g = &f->groups[i];
        for (row *r = &f->rows[g->first]; r < &f->rows[g->end]; r++) {
            r->weight = 1 / (1 + (r->seconds / g->best - 1) / HALF_WEIGHT) /
                        sqrt((double)(g->end - g->first));
        }
    }
}

/* Logarithm of predicted over measured time; infinity if the present coefficients forbid the form.
 */
static double error_of(const fitting *f, const row *r)
{
    const ry_query query = {r->kernel, r->problem, f->target, &r->form};
    ry_prepared prepared;
    ry_error error;
    ry_costs_changed();
    return ry_prepare(&query, ~0u, &prepared, &error) == RYND_OK
               ? log(ry_predict_time(&prepared, f->target->machine, f->threads) / r->seconds)
               : INFINITY;
}

static double huber(double e)
{
    return fabs(e) < HUBER ? e * e : HUBER * (2 * fabs(e) - HUBER);
}

/* Loss of one problem: prediction errors, plus the expected regret of a soft choice by predicted
 * time. */
static double group_loss(const fitting *f, const group *g)
{
    double least = INFINITY, all = 0, lost = 0, errors = 0, weights = 0;
    for (size_t i = g->first; i < g->end; i++) {
        least = fmin(least, f->rows[i].trial + log(f->rows[i].seconds));
    }
    for (size_t i = g->first; i < g->end; i++) {
        const row *r = &f->rows[i];
        if (isfinite(r->trial)) {
            const double chance = exp(-SHARPNESS * (r->trial + log(r->seconds) - least));
            all += chance;
            lost += chance * log(r->seconds / g->best);
            errors += r->weight * huber(r->trial);
            weights += r->weight;
        }
    }
    return weights > 0 ? errors / weights + REGRET * lost / all : 0;
}

static double loss(const fitting *f, bool checks)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < f->group_count; i++) {
        if (f->groups[i].checks == checks) {
            sum += group_loss(f, &f->groups[i]);
            count++;
        }
    }
    for (size_t i = 0; i < f->count && !checks; i++) {
        const double moved = f->all[i].start > 0 ? log(*f->all[i].value / f->all[i].start) : 0;
        sum += STAY * moved * moved * (double)count;
    }
    return count ? sum / (double)count : 0;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Prints the regret of choosing by prediction, and the error and bias of predictions. */
static void report(const fitting *f, const char *when, bool checks)
{
    double *regret = calloc(f->group_count, sizeof *regret), sum = 0, off = 0, bias = 0;
    size_t count = 0;
    for (size_t i = 0; regret && i < f->group_count; i++) {
        const group *g = &f->groups[i];
        const row *best = NULL;
        for (const row *r = &f->rows[g->first]; r < &f->rows[g->end] && g->checks == checks; r++) {
            best =
                !best || r->error + log(r->seconds) < best->error + log(best->seconds) ? r : best;
        }
        if (best) {
            regret[count++] = best->seconds / g->best - 1;
            sum += log(best->seconds / g->best);
            off += fabs(exp(best->error) - 1);
            bias += best->error;
        }
    }
    if (count) {
        qsort(regret, count, sizeof *regret, by_size);
        const double n = (double)count;
        fprintf(stderr,
                "%s, %zu problems that %s: regret %.1f%%, 95th percentile %.1f%%; predictions "
                "%.1f%% off, %.2fx\n",
                when, count, checks ? "check" : "are fitted", 100 * (exp(sum / n) - 1),
                100 * regret[(size_t)(0.95 * n)], 100 * off / n, exp(bias / n));
    }
    free(regret);
}

static void predict_all(fitting *f)
{
    for (row *r = f->rows; r < f->rows + f->row_count; r++) {
        r->error = r->trial = error_of(f, r);
    }
}

static void add(fitting *f, const char *family, const char *name, int column, double *value)
{
    f->all = grown(f->all, f->count, sizeof *f->all);
    f->all[f->count++] = (coefficient){family, name, column, value, *value, FIRST_STEP, NULL, 0};
}

static bool is_wanted(const char *family, const char *name, char **wanted, int count)
{
    for (int i = 0; i < count; i++) {
        const size_t length = strcspn(wanted[i], ".");
        const bool named = wanted[i][length] == '.';
        if (strlen(family) == length && strncmp(wanted[i], family, length) == 0 &&
            (!named || strcmp(wanted[i] + length + 1, name) == 0)) {
            return true;
        }
    }
    return count == 0;
}

/* The wanted coefficients of all columns. Those set by hand must be named. */
static void list_coefficients(fitting *f, char **wanted, int count)
{
    const char *family = "";
    for (int column = 0; column < RY_COST_COLUMNS; column++) {
        double *value = (double *)(void *)&costs[column];
#define RY_COSTS(group) family = #group;
#define RY_COST(name, parts, lines, intel)         \
    if (is_wanted(family, #name, wanted, count)) { \
        add(f, family, #name, column, value);      \
    }                                              \
    value++;
#define RY_COST_HAND(name, parts, lines, intel)                 \
    if (count > 0 && is_wanted(family, #name, wanted, count)) { \
        add(f, family, #name, column, value);                   \
    }                                                           \
    value++;
#define RY_COSTS_END(group)
#include "kernels/costs.inc"
#undef RY_COSTS
#undef RY_COST
#undef RY_COSTS_END
    }
}

/* Lists the coefficients in the row of a GPU's machine. */
static void list_gpu_coefficients(fitting *f, const ry_machine *machine, char **wanted, int count)
{
    const int column = ry_gpu_costs_row(machine);
    for (int i = 0; fit_gpu_name(i); i++) {
        if (is_wanted("gpu", fit_gpu_name(i), wanted, count)) {
            add(f, "gpu", fit_gpu_name(i), column, fit_gpu_value(column, i));
        }
    }
}

/* Those whose predictions are others where the coefficient is larger, or smaller. */
static void find_rows(fitting *f, coefficient *c)
{
    for (size_t i = 0; i < f->row_count; i++) {
        *c->value = c->start * 1.5;
        double changed = error_of(f, &f->rows[i]);
        *c->value = c->start / 1.5;
        const bool other =
            changed != f->rows[i].error || error_of(f, &f->rows[i]) != f->rows[i].error;
        *c->value = c->start;
        if (other) {
            c->rows = grown(c->rows, c->count, sizeof *c->rows);
            c->rows[c->count++] = i;
        }
    }
}

/* Tries another value; keeps it where the loss is less. */
static bool try_value(fitting *f, coefficient *c, double value, double *least)
{
    const double old = *c->value;
    *c->value = value;
    for (size_t i = 0; i < c->count; i++) {
        f->rows[c->rows[i]].trial = error_of(f, &f->rows[c->rows[i]]);
    }
    const double now = loss(f, false);
    const bool better = now < *least - GAIN;
    *c->value = better ? value : old;
    *least = better ? now : *least;
    for (size_t i = 0; i < c->count; i++) {
        row *r = &f->rows[c->rows[i]];
        r->error = better ? r->trial : r->error;
        r->trial = r->error;
    }
    return better;
}

/* Is there a coefficient whose steps are not small yet? */
static bool moves(const fitting *f)
{
    bool any = false;
    for (const coefficient *c = f->all; c < f->all + f->count; c++) {
        any = any || (c->count > 0 && c->step >= MIN_STEP);
    }
    return any;
}

/* What is best for one depends on the others: as long as it helps, all begin again with long steps. */
static void begin_steps(fitting *f)
{
    for (coefficient *c = f->all; c < f->all + f->count; c++) {
        c->step = FIRST_STEP;
    }
}

static void fit(fitting *f, int rounds)
{
    double least = loss(f, false), begun = least;
    for (int round = 0; round < rounds; round++) {
        for (coefficient *c = f->all; c < f->all + f->count; c++) {
            if (c->count == 0 || c->step < MIN_STEP) {
                continue;
            }
            const double value = *c->value, up = value * exp(c->step), down = value * exp(-c->step);
            const bool better = try_value(f, c, up, &least) || try_value(f, c, down, &least);
            c->step *= better ? 1.2 : 0.5;
        }
        fprintf(stderr, "round %d: loss %.5f, of those that check %.5f\n", round + 1, least,
                loss(f, true));
        if (!moves(f)) {
            if (begun - least < HELPS * begun) {
                break;
            }
            begun = least;
            begin_steps(f);
        }
    }
}

/* How well each is predicted now. */
static void print_forms(const fitting *f)
{
    for (const group *g = f->groups; g < f->groups + f->group_count; g++) {
        for (const row *r = &f->rows[g->first]; r < &f->rows[g->end]; r++) {
            if (isfinite(r->error)) {
                printf("form %s %d %.4g %.4g %.4g\n", r->kernel->family, g->checks, r->seconds,
                       g->best, r->error);
            }
        }
    }
}

int main(int argc, char **argv)
{
    static fitting f;
    if (argc < 3 || atoi(argv[1]) < 1) {
        fprintf(stderr, "usage: fit THREADS ROUNDS [FAMILY ...] < TIMES\n");
        return 2;
    }
    rynd_context *context;
    const rynd_context_options options =
        RYND_SIZED(rynd_context_options, .threads = 1, .machine = getenv("RYND_FIT_MACHINE"));
    if (rynd_context_create(&options, &context) != RYND_OK) {
        fail("context", rynd_last_error());
    }
    const ry_target target = ry_target_of(context->device);
    f.target = &target;
    f.threads = (unsigned)atoi(argv[1]);
    if (getenv("FIT_SET") && !fit_gpu_set(ry_gpu_costs_row(target.machine), getenv("FIT_SET"))) {
        fail(getenv("FIT_SET"), "these are no costs of kernels/gpu/gpu_costs.inc");
    }
    ry_arena_init(&f.arena, &ry_system_allocator);
    read_rows(&f, stdin);
    if (getenv("FIT_PREDICT")) {
        predict_all(&f);
        for (const row *r = f.rows; r < f.rows + f.row_count; r++) {
            printf("%.6g\n", r->seconds * exp(r->error));
        }
        return 0;
    }
    if (target.device == RY_DEVICE_gpu) {
        list_gpu_coefficients(&f, target.machine, argv + 3, argc - 3);
    } else {
        list_coefficients(&f, argv + 3, argc - 3);
    }
    predict_all(&f);
    report(&f, "before", false);
    report(&f, "before", true);
    size_t used = 0;
    for (size_t i = 0; i < f.count; i++) {
        find_rows(&f, &f.all[i]);
        used += f.all[i].count > 0;
    }
    fprintf(stderr, "%zu forms of %zu problems, %zu coefficients\n", f.row_count, f.group_count,
            used);
    fit(&f, atoi(argv[2]));
    report(&f, "after", false);
    report(&f, "after", true);
    for (const coefficient *c = f.all; c < f.all + f.count; c++) {
        if (*c->value != c->start) {
            printf("%s %s %d %.4g\n", c->family, c->name, c->column, *c->value);
        }
    }
    print_forms(&f);
    ry_arena_free(&f.arena);
    rynd_context_destroy(context);
    return 0;
}
