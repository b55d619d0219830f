/* SPDX-License-Identifier: Apache-2.0 */
/* What somebody knows of a problem beside what is predicted: a kernel and a form that were
 * measured. */
#ifndef RY_PREDICT_ADVICE_H
#define RY_PREDICT_ADVICE_H

#include "predict/predict.h"

typedef struct ry_advice {
    const ry_kernel *kernel;
    ry_form form;   /* complete */
    double seconds; /* that it took */
} ry_advice;

/* What somebody knows of a network as a whole. */
typedef struct ry_plan_advice {
    char form[192]; /* the plan's form, as ry_plan_form_print prints it (plan/plan_form.h) */
    uint64_t steps; /* what the plan was that was measured (plan/plan_identity.h); 0: any */
    double seconds; /* that a run took */
} ry_plan_advice;

/* Any thread may ask. */
typedef struct ry_adviser {
    /* false: nothing is known. `constants`: bit i, input i keeps its value. */
    bool (*advise)(void *user, const ry_problem *problem, unsigned constants,
                   const ry_target *target, ry_advice *advice);
    void *user;
    /* the same of a network (ry_plan_print_network). NULL: nobody knows */
    bool (*advise_plan)(void *user, const char *network, const ry_target *target,
                        ry_plan_advice *advice);
} ry_adviser;

/* What the adviser (NULL: nobody) says, where its kernel takes the problem at its accuracy and has
 * that form: the choice has `measured` then. Otherwise its kernel is NULL. Fails when memory is
 * out.
 */
rynd_status ry_advice_take(const ry_adviser *adviser, const ry_problem *problem,
                           const ry_target *target, unsigned constants, ry_choice *choice,
                           ry_error *error);

#endif
