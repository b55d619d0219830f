/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of a knob's legal values. */
#ifndef RY_KERNELS_KNOB_VALUES_H
#define RY_KERNELS_KNOB_VALUES_H

#include "kernels/form.h"

/* Adds sizes of the parts that `extent` may be cut into, in multiples of `grain`, the largest of
 * them `extent` itself: all, or if there are more than the list holds, small ones, those of few
 * even parts, and powers of two between. Leaves room for one more value: the kernel's own choice.
 */
void ry_knob_values_parts(int64_t extent, int64_t multiple, ry_knob_values *values);

/* Adds numbers of parts: 1, 2, 3, 4, 6, 8, 12, ..., `max` at most. */
void ry_knob_values_counts(ry_knob_values *values, int64_t max);

/* Adds the lengths of so many units cut into 1, 2, 3, 4, 6, ... parts, down to one unit; a unit is
 * so long, and no part longer than `max`. */
void ry_knob_values_cuts(ry_knob_values *values, int64_t units, int64_t unit, int64_t max);

/* Adds `usual`, and a quarter of it (`least` or more), doubled up to four times of it. */
void ry_knob_values_around(ry_knob_values *values, int64_t usual, int64_t least);

/* The form that a query asks for with one knob left free. */
ry_form ry_form_without(const ry_query *query, int knob);

#endif
