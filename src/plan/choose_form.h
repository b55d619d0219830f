/* SPDX-License-Identifier: Apache-2.0 */
/* Which form a plan gets, and which steps are other ones for it. */
#ifndef RY_PLAN_CHOOSE_FORM_H
#define RY_PLAN_CHOOSE_FORM_H

#include "plan/plan_builder.h"

/* The step that settings of the plan itself name: "plan.channels_last". */
#define RY_PLAN_ITSELF "plan"

/* Sets b->plan->whole.form: what the settings say, else, where it is `asked`, what the adviser
 * knows of the network, else what is predicted. Fails with ARGUMENT (no such knob or value). */
rynd_status ry_plan_choose_form(ry_plan_builder *b, bool asked, ry_error *error);

/* Has the b, which has its steps, other ones than those that were measured? */
rynd_status ry_plan_is_stale(const ry_plan_builder *b, bool *stale, ry_error *error);

/* Notes that a node of that name, borrowed, would be decided otherwise by what is predicted. */
rynd_status ry_plan_concern(ry_plan_builder *b, const char *name, ry_error *error);

/* Says so in the reasons of the steps of those names. */
rynd_status ry_plan_tell_concerned(ry_plan_builder *b, ry_error *error);

#endif
