/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table of problems with open addressing. It holds a bounded number: what comes later is
 * chosen each time. */
#include "predict/choices.h"

#include "kernels/costs.h"
#include "kernels/prepared.h"

#include <string.h>

enum { CAPACITY = 4096, MAX_USED = CAPACITY / 2, MAX_TENSORS = 16 };

typedef struct ry_choice_slot {
    ry_problem problem;
    uint64_t hash;
    unsigned constants;
    bool chosen, asked, is_bound;
    ry_bound_forms bound;
    ry_choice choice;  /* once it is chosen: by prediction */
    ry_choice advised; /* once somebody was asked; kernel NULL: nothing is known */
} ry_choice_slot;

void ry_choices_init(ry_choices *choices, const ry_allocator *allocator, const ry_target *target,
                     const ry_target *host)
{
    *choices = (ry_choices){.target = *target, .host = host ? *host : *target};
    /* a step that falls back, but is set to a refused kernel, names the refusal */
    choices->host.refusals = host && !host->refusals ? target->refusals : choices->host.refusals;
    ry_arena_init(&choices->arena, allocator);
}

const ry_target *ry_choices_target(const ry_choices *choices, const ry_kernel *kernel)
{
    return kernel->device == choices->target.device ? &choices->target : &choices->host;
}

void ry_choices_free(ry_choices *choices)
{
    ry_arena_free(&choices->arena);
}

/* Kernels may look at strides that do not matter to the problem. */
static bool same_strides(const ry_tensor *a, const ry_tensor *b, int count)
{
    for (int i = 0; i < count; i++) {
        if (a[i].rank != b[i].rank ||
            memcmp(a[i].stride, b[i].stride, (size_t)a[i].rank * sizeof *a[i].stride) != 0) {
            return false;
        }
    }
    return true;
}

/* What is asked. */
typedef struct question {
    const ry_problem *problem;
    unsigned constants;
    const ry_bound_forms *bound;
    uint64_t hash;
} question;

static bool same_bound(const ry_choice_slot *slot, const ry_bound_forms *bound)
{
    if (!bound || !slot->is_bound || slot->bound.count != bound->count) {
        return !bound && !slot->is_bound;
    }
    for (int i = 0; i < bound->count; i++) {
        if (slot->bound.form[i].kernel != bound->form[i].kernel ||
            memcmp(&slot->bound.form[i].form, &bound->form[i].form, sizeof(ry_form)) != 0) {
            return false;
        }
    }
    return true;
}

static bool is_same(const ry_choice_slot *slot, const question *q)
{
    const ry_problem *problem = q->problem, *other = &slot->problem;
    return slot->hash == q->hash && slot->constants == q->constants && same_bound(slot, q->bound) &&
           other->inputs == problem->inputs && other->outputs == problem->outputs &&
           ry_problem_equal(other, problem) &&
           same_strides(other->in, problem->in, problem->inputs) &&
           same_strides(other->out, problem->out, problem->outputs);
}

static const ry_tensor *copy_tensors(ry_arena *arena, const ry_tensor *tensors, int count)
{
    ry_tensor *copy = RY_TAKE(arena, ry_tensor, count);
    if (copy && count) {
        memcpy(copy, tensors, (size_t)count * sizeof *copy);
    }
    return copy;
}

static rynd_status add_slot(ry_choices *choices, ry_choice_slot **place, const question *q,
                            ry_error *error)
{
    const ry_problem *problem = q->problem;
    ry_choice_slot *slot = RY_TAKE(&choices->arena, ry_choice_slot, 1);
    if (!slot) {
        return ry_fail_memory(error);
    }
    *slot = (ry_choice_slot){.problem = *problem,
                             .hash = q->hash,
                             .constants = q->constants,
                             .is_bound = q->bound != NULL};
    if (q->bound) {
        slot->bound = *q->bound;
    }
    slot->problem.in = copy_tensors(&choices->arena, problem->in, problem->inputs);
    slot->problem.out = copy_tensors(&choices->arena, problem->out, problem->outputs);
    if (!slot->problem.in || !slot->problem.out) {
        return ry_fail_memory(error);
    }
    *place = slot;
    choices->used++;
    return RYND_OK;
}

/* Finds or creates the problem's slot; NULL: no memory. */
static rynd_status find_slot(ry_choices *choices, question *q, ry_choice_slot **slot,
                             ry_error *error)
{
    const ry_problem *problem = q->problem;
    *slot = NULL;
    if (problem->inputs + problem->outputs > MAX_TENSORS) {
        return RYND_OK;
    }
    if (!choices->slots) {
        choices->slots = RY_TAKE(&choices->arena, ry_choice_slot *, CAPACITY);
    }
    if (!choices->slots) {
        return ry_fail_memory(error);
    }
    q->hash = ry_problem_hash(problem);
    size_t at = (size_t)(q->hash ^ q->hash >> 32) % CAPACITY;
    while (choices->slots[at] && !is_same(choices->slots[at], q)) {
        at = (at + 1) % CAPACITY;
    }
    if (!choices->slots[at] && choices->used < MAX_USED) {
        RY_TRY(add_slot(choices, &choices->slots[at], q, error));
    }
    *slot = choices->slots[at];
    return RYND_OK;
}

static void fall_back(const ry_choices *choices, const question *q, ry_choice *choice)
{
    choice->falls_back = choice->prepared.kernel != NULL;
    choice->seconds += choice->falls_back
                           ? ry_predict_copies(q->problem, q->constants, choices->target.machine)
                           : 0;
}

static rynd_status choose_any(const ry_choices *choices, const question *q, ry_choice *choice,
                              ry_error *error)
{
    const ry_problem *problem = q->problem;
    const unsigned constants = q->constants;
    RY_TRY(ry_predict_choose(problem, &choices->target, constants, NULL, choice, error));
    if (choice->prepared.kernel || choices->target.device == choices->host.device) {
        return RYND_OK;
    }
    const ry_kernel *refused = choice->refused;
    RY_TRY(ry_predict_choose(problem, &choices->host, constants, NULL, choice, error));
    choice->refused = refused ? refused : choice->refused;
    fall_back(choices, q, choice);
    return RYND_OK;
}

/* The best of the bound forms; kernel NULL: none takes the problem. */
static rynd_status choose_bound(const ry_choices *choices, const question *q, ry_choice *choice)
{
    *choice = (ry_choice){0};
    for (int i = 0; i < q->bound->count; i++) {
        const ry_wanted *wanted = &q->bound->form[i];
        const ry_target *target = ry_choices_target(choices, wanted->kernel);
        ry_choice one;
        const rynd_status status =
            ry_predict_choose(q->problem, target, q->constants, wanted, &one, NULL);
        if (status == RYND_ERROR_OUT_OF_MEMORY) {
            return status;
        }
        if (status != RYND_OK || !one.prepared.kernel) {
            continue;
        }
        if (target->device != choices->target.device) {
            fall_back(choices, q, &one);
        }
        if (!choice->prepared.kernel || one.seconds < choice->seconds) {
            *choice = one;
        }
    }
    choice->bound = choice->prepared.kernel != NULL;
    return RYND_OK;
}

static rynd_status choose(const ry_choices *choices, const question *q, ry_choice *choice,
                          ry_error *error)
{
    if (!q->bound) {
        return choose_any(choices, q, choice, error);
    }
    const rynd_status status = choose_bound(choices, q, choice);
    if (status != RYND_OK) {
        return ry_fail_memory(error);
    }
    if (!choice->prepared.kernel) {
        RY_TRY(choose_any(choices, q, choice, error));
        choice->seconds += (double)ry_prepared_packed(&choice->prepared) /
                           ry_costs_on(choices->target.machine, 0)->prediction.packed;
    }
    return RYND_OK;
}

rynd_status ry_choices_find(ry_choices *choices, const ry_problem *problem, unsigned constants,
                            const ry_bound_forms *bound, ry_choice *choice, ry_error *error)
{
    ry_choice_slot *slot;
    question q = {problem, constants, bound, 0};
    RY_TRY(find_slot(choices, &q, &slot, error));
    if (!slot) {
        return choose(choices, &q, choice, error);
    }
    if (!slot->chosen) {
        RY_TRY(choose(choices, &q, &slot->choice, error));
        slot->chosen = true;
    }
    *choice = slot->choice;
    choice->prepared.problem = problem;
    return RYND_OK;
}

/* The device's kernel first; the CPU's, with the copies, if prediction falls back to it. */
static rynd_status ask_any(ry_choices *choices, const question *q, ry_choice *advised,
                           ry_error *error)
{
    const ry_problem *problem = q->problem;
    const unsigned constants = q->constants;
    ry_choice predicted;
    RY_TRY(ry_advice_take(choices->adviser, problem, &choices->target, constants, advised, error));
    if (advised->prepared.kernel || choices->target.device == choices->host.device) {
        return RYND_OK;
    }
    RY_TRY(ry_choices_find(choices, problem, constants, q->bound, &predicted, error));
    if (predicted.falls_back) {
        RY_TRY(
            ry_advice_take(choices->adviser, problem, &choices->host, constants, advised, error));
        fall_back(choices, q, advised);
    }
    return RYND_OK;
}

static bool has_form(const ry_prepared *prepared, const ry_wanted *wanted)
{
    bool same = prepared->kernel == wanted->kernel;
    for (int i = 0; same && i < prepared->kernel->knob_count; i++) {
        const int64_t value = wanted->form.value[i];
        same = value == RY_KNOB_FREE || value == prepared->form.value[i];
    }
    return same;
}

/* Forgets advice that the weights are not packed for. */
static rynd_status ask(ry_choices *choices, const question *q, ry_choice *advised, ry_error *error)
{
    RY_TRY(ask_any(choices, q, advised, error));
    bool fits = !q->bound;
    for (int i = 0; advised->prepared.kernel && !fits && i < q->bound->count; i++) {
        fits = has_form(&advised->prepared, &q->bound->form[i]);
    }
    advised->prepared.kernel = fits ? advised->prepared.kernel : NULL;
    return RYND_OK;
}

rynd_status ry_choices_take(ry_choices *choices, const ry_problem *problem, unsigned constants,
                            const ry_bound_forms *bound, ry_choice *choice, ry_error *error)
{
    ry_choice_slot *slot;
    question q = {problem, constants, bound, 0};
    if (!choices->adviser) {
        return ry_choices_find(choices, problem, constants, bound, choice, error);
    }
    RY_TRY(find_slot(choices, &q, &slot, error));
    if (!slot || !slot->asked) {
        RY_TRY(ask(choices, &q, choice, error));
    } else {
        *choice = slot->advised;
    }
    if (slot && !slot->asked) {
        slot->advised = *choice;
        slot->asked = true;
    }
    if (!choice->prepared.kernel) {
        return ry_choices_find(choices, problem, constants, bound, choice, error);
    }
    choice->prepared.problem = problem;
    return RYND_OK;
}
