/* SPDX-License-Identifier: Apache-2.0 */
/* References in plans: none but those of reference_steps.inc. */
#ifndef TESTS_SUPPORT_REFERENCE_STEPS_H
#define TESTS_SUPPORT_REFERENCE_STEPS_H

#include <rynd/rynd.h>

#include <stdbool.h>
#include <stddef.h>

/* May a reference compute the step? True for steps of other kernels. */
bool reference_step_is_listed(const rynd_step_info *step);

/* False for a plan with another reference, which `text` then names. */
bool reference_steps_are_listed(const rynd_plan *plan, char *text, size_t size);

#endif
