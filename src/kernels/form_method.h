/* SPDX-License-Identifier: Apache-2.0 */
/* Derives a kernel's values, prepare and initialise from its search and four functions. */
#ifndef RY_KERNELS_FORM_METHOD_H
#define RY_KERNELS_FORM_METHOD_H

#include "kernels/form_least.h"

/* A method's plan is plain data, and the kernel's state. Its search has an axis for every knob. */
typedef struct ry_form_method {
    ry_form_search search;
    size_t size; /* bytes of a plan */
    /* reads the problem into a plan of zeros; false: there is nothing to compute. NULL: `search`
     * reads it */
    bool (*begin)(const ry_query *query, void *plan);
    /* completes the plan of a form; NULL: it is complete */
    void (*lay_out)(const ry_query *query, void *plan);
    /* fills `prepared`: phases is 1, state_size and form are set, all else is 0 */
    void (*describe)(const ry_query *query, const void *plan, ry_prepared *prepared);
    /* makes the tables behind the plan in a state; NULL: there are none */
    void (*make_tables)(const ry_query *query, void *state);
} ry_form_method;

/* The functions of kernel.h; `plan`: room for a plan. */
void ry_form_method_values(const ry_form_method *method, const ry_query *query, int knob,
                           void *plan, ry_knob_values *values);
rynd_status ry_form_method_prepare(const ry_form_method *method, const ry_query *query, void *plan,
                                   ry_prepared *prepared, ry_error *error);
void ry_form_method_initialise(const ry_form_method *method, const ry_query *query, void *state);

/* Declares and defines NAME_values, NAME_prepare and NAME_initialise of a method. */
#define RY_FORM_FUNCTIONS(name)                                                                \
    void name##_values(const ry_query *query, int knob, ry_knob_values *values);               \
    rynd_status name##_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error); \
    void name##_initialise(const ry_query *query, void *state)

#define RY_FORM_METHOD(name, plan_type, method)                                               \
    void name##_values(const ry_query *query, int knob, ry_knob_values *values)               \
    {                                                                                         \
        plan_type plan;                                                                       \
        ry_form_method_values(&(method), query, knob, &plan, values);                         \
    }                                                                                         \
    rynd_status name##_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error) \
    {                                                                                         \
        plan_type plan;                                                                       \
        return ry_form_method_prepare(&(method), query, &plan, prepared, error);              \
    }                                                                                         \
    void name##_initialise(const ry_query *query, void *state)                                \
    {                                                                                         \
        ry_form_method_initialise(&(method), query, state);                                   \
    }

#endif
