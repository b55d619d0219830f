/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table of problems with open addressing. It holds a bounded number: what comes later is
 * chosen each time. */
#include "predict/choices.h"

#include <string.h>

enum { CAPACITY = 4096, MAX_USED = CAPACITY / 2, MAX_TENSORS = 16 };

typedef struct ry_choice_slot {
    ry_problem problem;
    uint64_t hash;
    unsigned constants;
    bool chosen, asked;
    ry_choice choice;  /* once it is chosen: by prediction */
    ry_choice advised; /* once somebody was asked; kernel NULL: nothing is known */
} ry_choice_slot;

void ry_choices_init(ry_choices *choices, const ry_allocator *allocator, const ry_target *target,
                     const ry_target *host)
{
    *choices = (ry_choices){.target = *target, .host = host ? *host : *target};
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

static bool is_same(const ry_choice_slot *slot, uint64_t hash, const ry_problem *problem,
                    unsigned constants)
{
    const ry_problem *other = &slot->problem;
    return slot->hash == hash && slot->constants == constants && other->inputs == problem->inputs &&
           other->outputs == problem->outputs && ry_problem_equal(other, problem) &&
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

static rynd_status add_slot(ry_choices *choices, ry_choice_slot **place, uint64_t hash,
                            const ry_problem *problem, unsigned constants, ry_error *error)
{
    ry_choice_slot *slot = RY_TAKE(&choices->arena, ry_choice_slot, 1);
    if (!slot) {
        return ry_fail_memory(error);
    }
    *slot = (ry_choice_slot){.problem = *problem, .hash = hash, .constants = constants};
    slot->problem.in = copy_tensors(&choices->arena, problem->in, problem->inputs);
    slot->problem.out = copy_tensors(&choices->arena, problem->out, problem->outputs);
    if (!slot->problem.in || !slot->problem.out) {
        return ry_fail_memory(error);
    }
    *place = slot;
    choices->used++;
    return RYND_OK;
}

/* The problem's slot, a new one where there is none yet; NULL: there is no room for it. */
static rynd_status find_slot(ry_choices *choices, const ry_problem *problem, unsigned constants,
                             ry_choice_slot **slot, ry_error *error)
{
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
    const uint64_t hash = ry_problem_hash(problem);
    size_t at = (size_t)(hash ^ hash >> 32) % CAPACITY;
    while (choices->slots[at] && !is_same(choices->slots[at], hash, problem, constants)) {
        at = (at + 1) % CAPACITY;
    }
    if (!choices->slots[at] && choices->used < MAX_USED) {
        RY_TRY(add_slot(choices, &choices->slots[at], hash, problem, constants, error));
    }
    *slot = choices->slots[at];
    return RYND_OK;
}

static rynd_status choose(const ry_choices *choices, const ry_problem *problem, unsigned constants,
                          ry_choice *choice, ry_error *error)
{
    RY_TRY(ry_predict_choose(problem, &choices->target, constants, NULL, choice, error));
    if (choice->prepared.kernel || choices->target.device == choices->host.device) {
        return RYND_OK;
    }
    const ry_kernel *refused = choice->refused;
    RY_TRY(ry_predict_choose(problem, &choices->host, constants, NULL, choice, error));
    choice->refused = refused ? refused : choice->refused;
    choice->falls_back = choice->prepared.kernel != NULL;
    choice->seconds += choice->falls_back ? ry_predict_copies(problem, constants) : 0;
    return RYND_OK;
}

rynd_status ry_choices_find(ry_choices *choices, const ry_problem *problem, unsigned constants,
                            ry_choice *choice, ry_error *error)
{
    ry_choice_slot *slot;
    RY_TRY(find_slot(choices, problem, constants, &slot, error));
    if (!slot) {
        return choose(choices, problem, constants, choice, error);
    }
    if (!slot->chosen) {
        RY_TRY(choose(choices, problem, constants, &slot->choice, error));
        slot->chosen = true;
    }
    *choice = slot->choice;
    choice->prepared.problem = problem;
    return RYND_OK;
}

/* Of the device first; the CPU's where the choice would be its, with the copies. */
static rynd_status ask(ry_choices *choices, const ry_problem *problem, unsigned constants,
                       ry_choice *advised, ry_error *error)
{
    ry_choice predicted;
    RY_TRY(ry_advice_take(choices->adviser, problem, &choices->target, constants, advised, error));
    if (advised->prepared.kernel || choices->target.device == choices->host.device) {
        return RYND_OK;
    }
    RY_TRY(ry_choices_find(choices, problem, constants, &predicted, error));
    if (predicted.falls_back) {
        RY_TRY(
            ry_advice_take(choices->adviser, problem, &choices->host, constants, advised, error));
        advised->falls_back = advised->prepared.kernel != NULL;
        advised->seconds += advised->falls_back ? ry_predict_copies(problem, constants) : 0;
    }
    return RYND_OK;
}

rynd_status ry_choices_take(ry_choices *choices, const ry_problem *problem, unsigned constants,
                            ry_choice *choice, ry_error *error)
{
    ry_choice_slot *slot;
    if (!choices->adviser) {
        return ry_choices_find(choices, problem, constants, choice, error);
    }
    RY_TRY(find_slot(choices, problem, constants, &slot, error));
    if (!slot || !slot->asked) {
        RY_TRY(ask(choices, problem, constants, choice, error));
    } else {
        *choice = slot->advised;
    }
    if (slot && !slot->asked) {
        slot->advised = *choice;
        slot->asked = true;
    }
    if (!choice->prepared.kernel) {
        return ry_choices_find(choices, problem, constants, choice, error);
    }
    choice->prepared.problem = problem;
    return RYND_OK;
}
