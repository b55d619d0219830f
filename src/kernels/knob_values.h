/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of a knob's legal values. */
#ifndef RY_KERNELS_KNOB_VALUES_H
#define RY_KERNELS_KNOB_VALUES_H

#include "kernels/form.h"

/* Adds sizes of the parts that `extent` may be cut into, in multiples of `grain`, the largest of
 * them `extent` itself: all, or if there are more than the list holds, small ones, those of few
 * even parts, and powers of two between. Leaves room for one more value: the kernel's own choice.
 */
void ry_knob_values_parts(int64_t extent, int64_t grain, ry_knob_values *values);

/* The form that a query asks for with one knob left free. */
ry_form ry_form_without(const ry_query *query, int knob);

#endif
