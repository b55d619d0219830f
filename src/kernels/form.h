/* SPDX-License-Identifier: Apache-2.0 */
/* Forms: the settings of a kernel's knobs, listed, checked, written and read. */
#ifndef RY_KERNELS_FORM_H
#define RY_KERNELS_FORM_H

#include "kernels/kernel.h"

enum { RY_FORM_TEXT = 512 };

ry_form ry_form_free(void);

/* The value that a query sets for a knob, or RY_KNOB_FREE; and whether the query allows a value. */
static inline int64_t ry_form_wanted(const ry_query *query, int knob)
{
    return query->form ? query->form->value[knob] : RY_KNOB_FREE;
}

static inline bool ry_form_allows(const ry_query *query, int knob, int64_t value)
{
    const int64_t wanted = ry_form_wanted(query, knob);
    return wanted == RY_KNOB_FREE || wanted == value;
}

/* Inserts a value in ascending order. Ignores duplicates, and values beyond the capacity. */
void ry_knob_values_add(ry_knob_values *values, int64_t value);

/* Are all values that the query's form sets legal? ARGUMENT names those that are. */
rynd_status ry_form_check(const ry_query *query, ry_error *error);

/* For kernels whose knobs have no setting that is legal together: ARGUMENT with the query's form.
 */
rynd_status ry_form_fail(const ry_query *query, ry_error *error);

/* A kernel's forms in a fixed order: every combination of its main knobs' legal values, other knobs
 * free; false: there are not so many. Combinations may not go together: then prepare fails with
 * ARGUMENT. */
bool ry_form_at(const ry_query *query, size_t index, ry_form *form);

/* "mode=rows block=96": of the knobs that are set. */
void ry_form_print(const ry_kernel *kernel, const ry_form *form, char text[RY_FORM_TEXT]);

/* Reads what ry_form_print wrote; knobs that are not named are free. ARGUMENT as ry_form_set. */
rynd_status ry_form_parse(const ry_query *query, const char *text, ry_form *form, ry_error *error);

/* Are all knobs set? */
bool ry_form_is_complete(const ry_kernel *kernel, const ry_form *form);

/* Writes one value of a knob: "gathered", "96". */
void ry_form_print_value(const ry_kernel *kernel, int knob, int64_t value, char *text, size_t size);

/* The legal values of a knob, in ascending order. */
ry_knob_values ry_form_values(const ry_query *query, int knob);

/* Sets a knob by name to a number or a word. ARGUMENT: unknown knob, or illegal value here. */
rynd_status ry_form_set(const ry_query *query, const char *knob, const char *value, ry_form *form,
                        ry_error *error);

#endif
