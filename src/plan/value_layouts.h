/* SPDX-License-Identifier: Apache-2.0 */
/* How each value of a graph is stored: row-major, channels last, or as the caller has an input or
 * output. */
#ifndef RY_PLAN_VALUE_LAYOUTS_H
#define RY_PLAN_VALUE_LAYOUTS_H

#include "graph/graph.h"

/* Arrays with an entry for each value, or NULL: it is so for none. All others are row-major. */
typedef struct ry_value_layouts {
    const bool *channels_last;
    const ry_tensor *const *given; /* inputs and outputs with other strides: the caller's */
} ry_value_layouts;

/* Do row-major and channels last place the value's elements differently? */
bool ry_value_has_layouts(const ry_value *value);

/* The description of a value; of dtype none for RY_NO_VALUE. layouts NULL: all are row-major. */
ry_tensor ry_value_description(const ry_graph *graph, ry_value_id id,
                               const ry_value_layouts *layouts);

#endif
