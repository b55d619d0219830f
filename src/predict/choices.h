/* SPDX-License-Identifier: Apache-2.0 */
/* Choices of kernels that were made, by problem: the layers of a network repeat, and its layouts,
 * fusions and steps ask for the same ones. On a device beside the CPU, what no kernel of it takes
 * is computed by the CPU: the choice then has the copies in its time. */
#ifndef RY_PREDICT_CHOICES_H
#define RY_PREDICT_CHOICES_H

#include "predict/advice.h"

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

/* What ry_predict_choose gives where nothing is wanted: what layouts and fusions are compared by,
 * whatever was measured, so that steps stay the ones that were measured. What the problem's
 * attributes point to must stay until ry_choices_free. */
rynd_status ry_choices_find(ry_choices *choices, const ry_problem *problem, unsigned constants,
                            ry_choice *choice, ry_error *error);

/* What a step takes: what the adviser says, else the same. */
rynd_status ry_choices_take(ry_choices *choices, const ry_problem *problem, unsigned constants,
                            ry_choice *choice, ry_error *error);

#endif
