/* SPDX-License-Identifier: Apache-2.0 */
/* The one search over forms: a kernel lists the values of a knob and says what a form costs. */
#ifndef RY_KERNELS_FORM_LEAST_H
#define RY_KERNELS_FORM_LEAST_H

#include "kernels/form.h"

/* A knob that is searched. */
typedef struct ry_form_axis {
    int knob;
    int after;          /* its values follow from the plan once so many outer axes are set */
    bool largest_first; /* among equals the larger value wins */
    bool memory;        /* smaller values take less memory */
    /* the value if the query sets none: the price does not depend on it. NULL: tries all values */
    int64_t (*usual)(const ry_query *query, const void *plan);
} ry_form_axis;

/* What a method says about its forms. Axes are set from the first, the outermost, to the last. The
 * earlier of two forms of equal cost wins. */
typedef struct ry_form_search {
    const ry_form_axis *axis;
    int axes;
    /* adds the values of a knob worth trying */
    void (*values)(const ry_query *query, const void *plan, int knob, ry_knob_values *values);
    /* takes a knob's value over into the plan; false: no form with it is legal */
    bool (*set)(const ry_query *query, void *plan, int knob, const ry_form *form);
    /* does what the plan keeps at hand fit the caches? The form of least memory need not. NULL: all
     * do */
    bool (*fits)(const ry_query *query, const void *plan);
    /* cycles of the plan; negative: not legal. `least` (negative: none yet): of the best form so
     * far, above which the exact cost does not matter */
    double (*cost)(const ry_query *query, void *plan, double least);
} ry_form_search;

/* Leaves the plan in the form of least cost. A knob that the query sets has that value only. False:
 * no form is legal. */
bool ry_form_least(const ry_form_search *search, const ry_query *query, void *plan);

/* The same; `form`: the query's, with the searched knobs set. */
bool ry_form_find(const ry_form_search *search, const ry_query *query, void *plan, ry_form *form);

/* The values of a searched knob for all values of the axes that they depend on. */
void ry_form_list(const ry_form_search *search, const ry_query *query, void *plan, int knob,
                  ry_knob_values *values);

#endif
