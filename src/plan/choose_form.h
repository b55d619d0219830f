/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses a plan's form, and marks the steps that it changed. */
#ifndef RY_PLAN_CHOOSE_FORM_H
#define RY_PLAN_CHOOSE_FORM_H

#include "plan/plan_builder.h"

/* The step that settings of the plan itself name: "plan.channels_last". */
#define RY_PLAN_ITSELF "plan"

/* Sets the plan's form: the settings', else, if `asked`, the adviser's, else the predicted one.
 * Fails with ARGUMENT (no such knob or value). */
rynd_status ry_plan_choose_form(ry_plan_builder *b, bool asked, ry_error *error);

/* Do the plan's steps differ from the measured ones? Call after steps are made. */
rynd_status ry_plan_is_stale(const ry_plan_builder *b, bool *stale, ry_error *error);

/* Notes that the form changed the predicted decision about a node; the name is borrowed. */
rynd_status ry_plan_concern(ry_plan_builder *b, const char *name, ry_error *error);

/* Adds the form to the reasons of the noted steps. */
rynd_status ry_plan_tell_concerned(ry_plan_builder *b, ry_error *error);

#endif
