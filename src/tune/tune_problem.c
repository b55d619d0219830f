/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at every candidate, then has the good ones race. */
#include "tune/tune_problem.h"

#include "base/clock.h"
#include "machine/measure.h"
#include "tune/candidates.h"
#include "tune/race.h"
#include "tune/reference_samples.h"

#include <math.h>
#include <string.h>

enum { SLOTS = RY_RACE_CANDIDATES + 1, LOOKS = 3, MAX_TIMES = 2 * RY_RACE_ROUNDS + LOOKS };

/* Times the best at the first look: beyond it a form is dropped. */
static const double DROPPED = 1.5;

/* Share of the budget for the first look; the race gets the rest. */
static const double LOOK_SHARE = 0.6;

/* For the meter of energy. */
static const double METERED_SECONDS = 0.05;

/* A form that is held: made ready to run. */
typedef struct slot {
    ry_trial trial;
    int form; /* -1: free */
    double look;
    double round[2]; /* its measurements of the round that runs: the canary has two */
} slot;

typedef struct tuning {
    const ry_problem *problem;
    unsigned constants;
    const ry_target *target;
    const ry_tune_options *options;
    ry_arena *arena;
    ry_tuned_problem *tuned;
    ry_operands operands;
    ry_reference_samples truth;
    slot *slots;
    int base; /* the slot of the untuned choice, or of the first form that is right */
    double **times;
    double best, begin;
    int racers[RY_RACE_CANDIDATES]; /* slots */
    ry_race race;
    double canary_best, canary_sum; /* seconds, over all rounds */
} tuning;

double ry_tune_default_budget(double run_seconds)
{
    return fmin(10, 0.1 + 400 * run_seconds);
}

static double now(const tuning *t)
{
    const ry_tune_meter *meter = t->options->meter;
    return meter ? meter->now(meter->user) : ry_clock_seconds();
}

static double spent(const tuning *t)
{
    return now(t) - t->begin;
}

static rynd_status run_once(tuning *t, slot *s, ry_error *error)
{
    const ry_tune_meter *meter = t->options->meter;
    return meter ? meter->run(meter->user, &s->trial, error) : ry_trial_run(&s->trial, error);
}

static rynd_status measure(tuning *t, slot *s, double *seconds, ry_error *error)
{
    const ry_tune_meter *meter = t->options->meter;
    return meter ? meter->measure(meter->user, &s->trial, seconds, error)
                 : ry_trial_measure(&s->trial, seconds, error);
}

static void note_time(tuning *t, int form, double seconds)
{
    ry_statistics *time = &t->tuned->forms[form].time;
    t->times[form][time->n++] = seconds;
}

static void let_go(slot *s)
{
    ry_trial_free(&s->trial);
    s->form = -1;
}

static size_t bytes_held(const tuning *t)
{
    size_t bytes = 0;
    for (int i = 0; i < SLOTS; i++) {
        bytes += t->slots[i].form >= 0 ? ry_trial_bytes(&t->slots[i].trial) : 0;
    }
    return bytes;
}

/* The one with the longest look, but the base; -1: there is no other. */
static int worst_slot(const tuning *t)
{
    int worst = -1;
    for (int i = 0; i < SLOTS; i++) {
        if (t->slots[i].form >= 0 && i != t->base &&
            (worst < 0 || t->slots[i].look > t->slots[worst].look)) {
            worst = i;
        }
    }
    return worst;
}

/* Room for one more: the slowest go. */
static int free_slot(tuning *t, const ry_prepared *prepared)
{
    const size_t bytes = ry_prepared_packed(prepared) + ry_prepared_workspace(prepared);
    for (int worst; bytes_held(t) + bytes > t->options->memory && (worst = worst_slot(t)) >= 0;) {
        t->tuned->forms[t->slots[worst].form].verdict = RY_VERDICT_SLOWER;
        let_go(&t->slots[worst]);
    }
    for (int i = 0; i < SLOTS; i++) {
        if (t->slots[i].form < 0) {
            return i;
        }
    }
    const int worst = worst_slot(t);
    t->tuned->forms[t->slots[worst].form].verdict = RY_VERDICT_SLOWER;
    let_go(&t->slots[worst]);
    return worst;
}

/* Prepares a form and runs it once. `doubt` becomes "" if its outputs are right. */
static rynd_status check(tuning *t, slot *s, char doubt[RY_DOUBT_LENGTH], ry_error *error)
{
    const ry_measured_form *form = &t->tuned->forms[s->form];
    const ry_accuracy accuracy = form->prepared.kernel->accuracy;
    RY_TRY(ry_trial_make(&s->trial, &form->prepared, t->constants, t->options->cold, &t->operands,
                         t->target, error));
    RY_TRY(ry_operands_clear(&t->operands, error));
    RY_TRY(run_once(t, s, error));
    if (t->truth.samples || t->truth.reference) {
        return ry_reference_samples_compare(&t->truth, &t->operands, accuracy, doubt, error);
    }
    return ry_reference_samples_take(&t->truth, &t->operands, t->arena, error);
}

static rynd_status reject(tuning *t, slot *s, const char *why, ry_error *error)
{
    ry_measured_form *form = &t->tuned->forms[s->form];
    form->verdict = RY_VERDICT_REJECTED;
    form->reason = ry_arena_string(t->arena, why, strlen(why));
    let_go(s);
    return form->reason ? RYND_OK : ry_fail_memory(error);
}

/* Two looks at what may race; and one more at what should by its prediction, for a look may be
 * disturbed. */
static bool is_worth_a_look(const tuning *t, const slot *s, int looks)
{
    const ry_measured_form *forms = t->tuned->forms;
    return s->look <= DROPPED * t->best ? looks < LOOKS - 1
                                        : forms[s->form].predicted <= DROPPED * forms[0].predicted;
}

static rynd_status time_look(tuning *t, int at, ry_error *error)
{
    slot *s = &t->slots[at];
    ry_measured_form *form = &t->tuned->forms[s->form];
    s->look = INFINITY;
    for (int i = 0; i < LOOKS && (i == 0 || is_worth_a_look(t, s, i)); i++) {
        double seconds;
        RY_TRY(measure(t, s, &seconds, error));
        note_time(t, s->form, seconds);
        s->look = fmin(s->look, seconds);
    }
    t->best = fmin(t->best, s->look);
    form->verdict = RY_VERDICT_SLOWER;
    if (t->base < 0) {
        t->base = at;
    } else if (s->look > DROPPED * t->best) {
        let_go(s);
    }
    return RYND_OK;
}

/* Rejects a form that fails and goes on; fails if it is the only form. */
static rynd_status look_at(tuning *t, int form, ry_error *error)
{
    char doubt[RY_DOUBT_LENGTH] = "";
    ry_error own = {""};
    const int at = free_slot(t, &t->tuned->forms[form].prepared);
    slot *s = &t->slots[at];
    s->form = form;
    s->look = INFINITY;
    rynd_status status = check(t, s, doubt, &own);
    if (status == RYND_OK && !doubt[0]) {
        status = time_look(t, at, &own);
    }
    if (status != RYND_OK && form == 0 && t->tuned->count == 1) {
        ry_error_write(error, "%s", own.text);
        return status;
    }
    return status != RYND_OK ? reject(t, s, own.text, error)
           : doubt[0]        ? reject(t, s, doubt, error)
                             : RYND_OK;
}

static bool is_stopped(tuning *t, int looked, int left, int best)
{
    const ry_tune_news news = {
        .looked = looked,
        .count = t->tuned->count,
        .left = left,
        .rounds = t->race.rounds,
        .best = &t->tuned->forms[best],
        .ratio = left ? ry_race_ratio(&t->race, ry_race_verdict(&t->race)) : 1,
        .spent = spent(t),
    };
    t->tuned->stopped |= t->options->listen && t->options->listen(t->options->listen_user, &news);
    return t->tuned->stopped;
}

static rynd_status look(tuning *t, ry_error *error)
{
    for (int i = 0; i < t->tuned->count; i++) {
        if (i > 0 && (t->tuned->stopped || spent(t) > LOOK_SHARE * t->options->budget)) {
            break;
        }
        RY_TRY(look_at(t, i, error));
        is_stopped(t, i + 1, 0, t->base < 0 ? i : t->slots[t->base].form);
    }
    return RYND_OK;
}

static void list_racers(tuning *t)
{
    ry_race *race = &t->race;
    *race = (ry_race){.gap = RY_RACE_GAP, .random = t->options->seed};
    for (int worst; (worst = worst_slot(t)) >= 0;) {
        int held = 0;
        for (int i = 0; i < SLOTS; i++) {
            held += t->slots[i].form >= 0;
        }
        if (held <= RY_RACE_CANDIDATES && t->slots[worst].look <= DROPPED * t->best) {
            break;
        }
        let_go(&t->slots[worst]);
    }
    for (int i = 0; i < SLOTS; i++) {
        if (t->slots[i].form >= 0) {
            const ry_prepared *prepared = &t->slots[i].trial.prepared;
            race->untuned = i == t->base ? race->count : race->untuned;
            t->racers[race->count] = i;
            race->racer[race->count++] =
                (ry_racer){.workspace = ry_prepared_workspace(prepared), .order = t->slots[i].form};
        }
    }
}

static rynd_status run_round(tuning *t, ry_error *error)
{
    ry_race *race = &t->race;
    int order[RY_RACE_CANDIDATES];
    const int left = ry_race_begin_round(race, order);
    slot *canary = &t->slots[t->base];
    RY_TRY(measure(t, canary, &canary->round[0], error));
    for (int i = 0; i < left; i++) {
        slot *s = &t->slots[t->racers[order[i]]];
        RY_TRY(measure(t, s, &s->round[0], error));
        ry_race_note(race, order[i], s->round[0]);
    }
    RY_TRY(measure(t, canary, &canary->round[1], error));
    for (int i = 0; i < 2; i++) {
        ry_race_note_canary(race, i, canary->round[i]);
        t->canary_best = fmin(t->canary_best, canary->round[i]);
        t->canary_sum += canary->round[i];
    }
    if (ry_race_end_round(race)) {
        for (int i = 0; i < left; i++) {
            const slot *s = &t->slots[t->racers[order[i]]];
            note_time(t, s->form, s->round[0]);
        }
        note_time(t, canary->form, canary->round[0]);
        note_time(t, canary->form, canary->round[1]);
    }
    return RYND_OK;
}

static rynd_status run_race(tuning *t, ry_error *error)
{
    const int looked = t->tuned->count;
    const ry_competition begin = ry_machine_competition(t->target->machine);
    while (!t->tuned->stopped && !ry_race_is_over(&t->race) && spent(t) < t->options->budget) {
        RY_TRY(run_round(t, error));
        int left = 0;
        for (int i = 0; i < t->race.count; i++) {
            left += !t->race.racer[i].out;
        }
        is_stopped(t, looked, left, t->slots[t->racers[ry_race_verdict(&t->race)]].form);
    }
    const int rounds = t->race.rounds + t->race.disturbed;
    t->tuned->disturbance =
        rounds > 0 ? ry_disturbance_since(&begin, t->canary_best, t->canary_sum / (2 * rounds)) : 0;
    return RYND_OK;
}

static void judge(tuning *t)
{
    const ry_race *race = &t->race;
    const int verdict = ry_race_verdict(race);
    t->tuned->rounds = race->rounds;
    t->tuned->disturbed = race->disturbed;
    for (int i = 0; i < race->count; i++) {
        ry_measured_form *form = &t->tuned->forms[t->slots[t->racers[i]].form];
        form->ratio = race->rounds ? ry_race_ratio(race, i) : 0;
        form->verdict = i == verdict         ? RY_VERDICT_TAKEN
                        : race->racer[i].out ? RY_VERDICT_SLOWER
                                             : RY_VERDICT_EQUAL;
    }
    if (race->count) {
        t->tuned->taken = t->slots[t->racers[verdict]].form;
        t->tuned->ratio = ry_race_ratio(race, verdict);
    }
    for (int i = 0; i < t->tuned->count; i++) {
        t->tuned->forms[i].time = ry_statistics_of(t->times[i], t->tuned->forms[i].time.n);
    }
}

/* Runs that follow one another for as long as the meter's steps, of a millisecond, are a few
 * percent of. */
static rynd_status meter_form(tuning *t, slot *s, ry_error *error)
{
    const double begin = now(t);
    int64_t runs = 0;
    ry_meter_take(t->options->energy);
    do {
        RY_TRY(run_once(t, s, error));
        runs++;
    } while (now(t) - begin < METERED_SECONDS);
    t->tuned->forms[s->form].joule = ry_meter_take(t->options->energy) / (double)runs;
    return RYND_OK;
}

/* Meters the energy of the forms that raced, after the race: reading a meter takes time. */
static rynd_status meter_forms(tuning *t, ry_error *error)
{
    for (int i = 0; t->options->energy && i < t->race.count && !t->tuned->stopped; i++) {
        RY_TRY(meter_form(t, &t->slots[t->racers[i]], error));
    }
    return RYND_OK;
}

static rynd_status make_lists(tuning *t, unsigned workers, ry_error *error)
{
    ry_candidates all;
    RY_TRY(ry_candidates_list(t->problem, t->constants, t->target, workers, t->arena, &all, error));
    *t->tuned = (ry_tuned_problem){.count = all.count,
                                   .left_out = all.left_out,
                                   .ratio = 1,
                                   .forms = RY_TAKE(t->arena, ry_measured_form, all.count)};
    t->times = RY_TAKE(t->arena, double *, all.count);
    t->slots = RY_TAKE(t->arena, slot, SLOTS);
    if (!t->tuned->forms || !t->times || !t->slots) {
        return ry_fail_memory(error);
    }
    for (int i = 0; i < all.count; i++) {
        t->tuned->forms[i] = (ry_measured_form){
            .prepared = all.items[i].prepared, .predicted = all.items[i].predicted, .reason = ""};
        t->times[i] = RY_TAKE(t->arena, double, MAX_TIMES);
        if (!t->times[i]) {
            return ry_fail_memory(error);
        }
    }
    for (int i = 0; i < SLOTS; i++) {
        t->slots[i].form = -1;
    }
    return RYND_OK;
}

static rynd_status tune(tuning *t, ry_device *device, const ry_target *host, ry_error *error)
{
    RY_TRY(make_lists(t, device->workers, error));
    if (t->tuned->count == 0 || t->options->budget <= 0) {
        return RYND_OK;
    }
    RY_TRY(
        ry_operands_make(&t->operands, device, t->problem, t->options->seed, 0, t->arena, error));
    RY_TRY(ry_reference_samples_make(&t->truth, &t->operands, host, t->options->seed, t->arena,
                                     error));
    RY_TRY(look(t, error));
    if (t->base < 0) {
        return RYND_OK;
    }
    list_racers(t);
    RY_TRY(run_race(t, error));
    judge(t);
    return meter_forms(t, error);
}

rynd_status ry_tune_problem(const ry_problem *problem, unsigned constants, ry_device *device,
                            const ry_target *target, const ry_target *host,
                            const ry_tune_options *options, ry_arena *arena,
                            ry_tuned_problem *tuned, ry_error *error)
{
    tuning t = {.problem = problem,
                .constants = constants,
                .target = target,
                .options = options,
                .arena = arena,
                .tuned = tuned,
                .base = -1,
                .best = INFINITY,
                .canary_best = INFINITY};
    t.begin = now(&t);
    const rynd_status status = tune(&t, device, host, error);
    for (int i = 0; t.slots && i < SLOTS; i++) {
        if (t.slots[i].form >= 0) {
            let_go(&t.slots[i]);
        }
    }
    ry_operands_free(&t.operands);
    tuned->seconds = spent(&t);
    return status;
}
