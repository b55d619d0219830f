/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the plan of a query's form, for any method. */
#include "kernels/form_method.h"

#include "base/integer.h"

#include <string.h>

static bool begin(const ry_form_method *method, const ry_query *query, void *plan)
{
    memset(plan, 0, method->size);
    return !method->begin || method->begin(query, plan);
}

static bool make_plan(const ry_form_method *method, const ry_query *query, void *plan,
                      ry_form *form)
{
    if (!begin(method, query, plan) || !ry_form_find(&method->search, query, plan, form)) {
        return false;
    }
    if (method->lay_out) {
        method->lay_out(query, plan);
    }
    return true;
}

void ry_form_method_values(const ry_form_method *method, const ry_query *query, int knob,
                           void *plan, ry_knob_values *values)
{
    const ry_query freely = {query->kernel, query->problem, query->target, NULL};
    if (begin(method, &freely, plan)) {
        ry_form_list(&method->search, &freely, plan, knob, values);
    }
}

rynd_status ry_form_method_prepare(const ry_form_method *method, const ry_query *query, void *plan,
                                   ry_prepared *prepared, ry_error *error)
{
    ry_form form;
    if (!make_plan(method, query, plan, &form)) {
        return ry_form_fail(query, error);
    }
    *prepared = (ry_prepared){.phases = 1, .state_size = ry_aligned(method->size), .form = form};
    method->describe(query, plan, prepared);
    return RYND_OK;
}

void ry_form_method_initialise(const ry_form_method *method, const ry_query *query, void *state)
{
    ry_form form;
    (void)make_plan(method, query, state, &form);
    if (method->make_tables) {
        method->make_tables(query, state);
    }
}
