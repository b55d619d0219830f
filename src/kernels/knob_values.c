/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of a knob's legal values. */
#include "kernels/knob_values.h"

#include "base/integer.h"

enum { SMALL = 16, EVEN = 16 }; /* there is room for a power of two above them of any int32_t */

void ry_knob_values_parts(int64_t extent, int64_t multiple, ry_knob_values *values)
{
    const int64_t units = ry_max(1, ry_ceil_div(extent, multiple));
    const bool all = units < RY_MAX_KNOB_VALUES;
    for (int64_t i = 1; i <= (all ? units : SMALL); i++) {
        ry_knob_values_add(values, ry_min(extent, i * multiple));
    }
    for (int64_t i = 1; !all && i <= EVEN; i++) {
        ry_knob_values_add(values, ry_min(extent, ry_ceil_div(units, i) * multiple));
    }
    for (int64_t i = 2 * SMALL; !all && i < ry_ceil_div(units, EVEN); i *= 2) {
        ry_knob_values_add(values, i * multiple);
    }
}

void ry_knob_values_counts(ry_knob_values *values, int64_t max)
{
    for (int64_t i = 1; i <= max && values->count < RY_MAX_KNOB_VALUES; i = ry_next_parts(i)) {
        ry_knob_values_add(values, i);
    }
}

void ry_knob_values_cuts(ry_knob_values *values, int64_t units, int64_t unit, int64_t max)
{
    for (int64_t cuts = 1; cuts <= units; cuts = ry_next_parts(cuts)) {
        ry_knob_values_add(values, ry_min(max, ry_ceil_div(units, cuts) * unit));
    }
    ry_knob_values_add(values, ry_min(max, unit));
}

void ry_knob_values_around(ry_knob_values *values, int64_t usual, int64_t least)
{
    for (int64_t i = ry_max(least, usual / 4); i <= 4 * usual; i *= 2) {
        ry_knob_values_add(values, i);
    }
    ry_knob_values_add(values, usual);
}

ry_form ry_form_without(const ry_query *query, int knob)
{
    ry_form form = query->form ? *query->form : ry_form_free();
    form.value[knob] = RY_KNOB_FREE;
    return form;
}
