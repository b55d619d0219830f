/* SPDX-License-Identifier: Apache-2.0 */
/* Choices of kernels that were made, by problem: the layers of a network repeat, and its layouts,
 * fusions and steps ask for the same ones. On a device beside the CPU, what no kernel of it takes
 * is computed by the CPU: the choice then has the copies in its time. */
#ifndef RY_PREDICT_CHOICES_H
#define RY_PREDICT_CHOICES_H

#include "predict/advice.h"

enum { RY_BOUND_FORMS = 4 };

/* The forms that the weights of a problem have already: the choice is among those. */
typedef struct ry_bound_forms {
    int count; /* 0: they have others, that no kernel of the problem reads */
    ry_wanted form[RY_BOUND_FORMS];
} ry_bound_forms;

typedef struct ry_choices {
    ry_arena arena;
    ry_target target;
    ry_target host; /* the CPU's; the target itself where nothing falls back */
    /* asked what steps take; may be set after ry_choices_init, and must outlive this. NULL: nobody
     * is */
    const ry_adviser *adviser;
    struct ry_choice_slot **slots;
    size_t used;
} ry_choices;

/* host: the CPU's target, where `target` is another device's; NULL: nothing falls back. */
void ry_choices_init(ry_choices *choices, const ry_allocator *allocator, const ry_target *target,
                     const ry_target *host);
void ry_choices_free(ry_choices *choices);

/* The target that a kernel is for. */
const ry_target *ry_choices_target(const ry_choices *choices, const ry_kernel *kernel);

/* The choice that layouts and fusions are compared by: by prediction, whatever was measured, so
 * that steps stay those that were measured. bound NULL: any form. Where no bound form takes the
 * problem, any does, and its time includes packing the weights once. What the problem's attributes
 * point to must stay until ry_choices_free. */
rynd_status ry_choices_find(ry_choices *choices, const ry_problem *problem, unsigned constants,
                            const ry_bound_forms *bound, ry_choice *choice, ry_error *error);

/* The choice of a step: what the adviser says, if its form is bound, else the same. */
rynd_status ry_choices_take(ry_choices *choices, const ry_problem *problem, unsigned constants,
                            const ry_bound_forms *bound, ry_choice *choice, ry_error *error);

#endif
