/* SPDX-License-Identifier: Apache-2.0 */
/* Lists forms by asking the kernels: a kernel is tuned by being in the list. */
#include "tune/candidates.h"

#include "kernels/form.h"
#include "predict/forecast.h"
#include "predict/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COMBINATIONS = 4096 };

static const double HOPELESS = 3, HOPELESS_OF_KERNEL = 8;

typedef struct listing {
    const ry_target *target;
    unsigned constants, workers;
    ry_candidates *all;
    int order;
} listing;

static bool same_form(const ry_prepared *a, const ry_prepared *b)
{
    return a->kernel == b->kernel && memcmp(a->form.value, b->form.value,
                                            (size_t)a->kernel->knob_count * sizeof(int64_t)) == 0;
}

static bool is_listed(const ry_candidates *all, const ry_prepared *prepared)
{
    for (int i = 0; i < all->count; i++) {
        if (same_form(&all->items[i].prepared, prepared)) {
            return true;
        }
    }
    return false;
}

/* A form whose knobs do not go together is none. */
static void consider(listing *l, const ry_query *query)
{
    ry_prepared prepared;
    if (l->all->count < RY_MAX_CANDIDATES &&
        ry_prepare(query, l->constants, &prepared, NULL) == RYND_OK &&
        !is_listed(l->all, &prepared)) {
        const ry_time time = ry_predict_parts(
            &prepared, l->target->machine, l->workers, l->constants, l->target->network_bytes,
            ry_forecast_calibrated(l->target->machine, query->kernel));
        l->all->items[l->all->count++] = (ry_candidate){prepared, time.all, l->order++};
    }
}

/* The form that the kernel chooses, then every combination of its main knobs. */
static void consider_kernel(listing *l, const ry_kernel *kernel, const ry_problem *problem)
{
    const ry_query any = {kernel, problem, l->target, NULL};
    const int first = l->all->count;
    ry_form form;
    consider(l, &any);
    for (size_t i = 0; i < MAX_COMBINATIONS && ry_form_at(&any, i, &form); i++) {
        const ry_query query = {kernel, problem, l->target, &form};
        consider(l, &query);
    }
    double least = INFINITY;
    for (int i = first; i < l->all->count; i++) {
        least = l->all->items[i].predicted < least ? l->all->items[i].predicted : least;
    }
    for (int i = l->all->count; i-- > first && l->target->device != RY_DEVICE_cpu;) {
        if (l->all->items[i].predicted > HOPELESS_OF_KERNEL * least) {
            l->all->items[i] = l->all->items[--l->all->count];
            l->all->left_out++;
        }
    }
}

static int by_prediction(const void *a, const void *b)
{
    const ry_candidate *x = a, *y = b;
    const int time = (x->predicted > y->predicted) - (x->predicted < y->predicted);
    return time ? time : x->order - y->order;
}

/* Sorts all but the untuned one, and leaves out what a CPU's prediction calls hopeless. */
static void sort(ry_candidates *all, const ry_target *target)
{
    qsort(all->items + 1, (size_t)all->count - 1, sizeof *all->items, by_prediction);
    double least = all->items[0].predicted;
    if (all->count > 1 && all->items[1].predicted < least) {
        least = all->items[1].predicted;
    }
    while (all->count > 1 && target->device == RY_DEVICE_cpu &&
           all->items[all->count - 1].predicted > HOPELESS * least) {
        all->count--;
        all->left_out++;
    }
}

rynd_status ry_candidates_list(const ry_problem *problem, unsigned constants,
                               const ry_target *target, unsigned workers, ry_arena *arena,
                               ry_candidates *candidates, ry_error *error)
{
    ry_choice untuned;
    *candidates = (ry_candidates){.items = RY_TAKE(arena, ry_candidate, RY_MAX_CANDIDATES)};
    if (!candidates->items) {
        return ry_fail_memory(error);
    }
    RY_TRY(ry_predict_choose(problem, target, constants, NULL, &untuned, error));
    if (!untuned.prepared.kernel) {
        return RYND_OK;
    }
    listing l = {target, constants, workers, candidates, 0};
    const ry_query first = {untuned.prepared.kernel, problem, target, &untuned.prepared.form};
    consider(&l, &first);
    size_t at = 0;
    for (const ry_kernel *kernel; (kernel = ry_kernel_next(problem, target, &at)) != NULL;) {
        consider_kernel(&l, kernel, problem);
    }
    sort(candidates, target);
    return RYND_OK;
}
