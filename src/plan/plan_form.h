/* SPDX-License-Identifier: Apache-2.0 */
/* The form of a plan: how far its decisions about the network as a whole (layouts, fusions,
 * micro-batches) follow the predicted times.
 *
 * A region whose layout is in doubt is one where a few percent of the predicted times change the
 * cut (layouts.h). As a knob moves away from 100, regions change in the order in which they are in
 * doubt, so that a few values of it are a short list of the plans that may be the best. */
#ifndef RY_PLAN_PLAN_FORM_H
#define RY_PLAN_PLAN_FORM_H

#include <stdbool.h>
#include <stdint.h>

typedef enum ry_plan_knob {
#define RY_PLAN_KNOB(name, what) RY_PLAN_##name,
#include "plan/plan_knobs.inc"
#undef RY_PLAN_KNOB
    RY_PLAN_KNOBS
} ry_plan_knob;

enum { RY_PLAN_PREDICTED = 100, RY_PLAN_MOST = 1000, RY_PLAN_FORM_TEXT = 192 };

typedef struct ry_plan_form {
    int percent[RY_PLAN_KNOBS]; /* 0 to RY_PLAN_MOST */
} ry_plan_form;

/* 100 percent of everything. */
ry_plan_form ry_plan_form_predicted(void);
bool ry_plan_form_equal(const ry_plan_form *a, const ry_plan_form *b);

const char *ry_plan_knob_name(ry_plan_knob knob);
const char *ry_plan_knob_what(ry_plan_knob knob); /* "the caches that ..." */
/* RY_PLAN_KNOBS: no knob has the name. */
ry_plan_knob ry_plan_knob_find(const char *name);

/* Prints the knobs that are not 100: "channels_last=80 conversions=200", or "". */
void ry_plan_form_print(const ry_plan_form *form, char text[RY_PLAN_FORM_TEXT]);
/* False: it is no form's text. */
bool ry_plan_form_parse(const char *text, ry_plan_form *form);
/* Digits, 0 to RY_PLAN_MOST. */
bool ry_plan_percent_parse(const char *text, int *percent);

/* What knobs are tried at: from the nearest to 100 outwards. */
extern const int ry_plan_percents[];
extern const int ry_plan_percent_count;

/* Seconds, or bytes, as a knob counts them. */
static inline double ry_plan_counted(const ry_plan_form *form, ry_plan_knob knob, double amount)
{
    return amount * form->percent[knob] / RY_PLAN_PREDICTED;
}

#endif
