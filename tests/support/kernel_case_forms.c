/* SPDX-License-Identifier: Apache-2.0 */
/* The forms in which kernels are checked. */
#include "kernel_case.h"
#include "kernels/form.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PICKS = 3 }; /* values tried per knob: least, middle and greatest */

/* Sets one of a knob's values that are legal with the knobs set so far. */
static void pick_value(const ry_query *query, int knob, size_t pick, ry_form *form)
{
    const ry_query with = {query->kernel, query->problem, query->target, form};
    ry_knob_values values = {0};
    if (form->value[knob] == RY_KNOB_FREE) {
        query->kernel->values(&with, knob, &values);
        form->value[knob] = values.value[(size_t)(values.count - 1) * pick / (PICKS - 1)];
    }
}

/* Candidate number `index`: main knobs alone, with one more, with all. False: there are no more. */
static bool candidate(const ry_query *query, size_t index, ry_form *form)
{
    const int knobs = query->kernel->knob_count;
    const size_t each = 1 + PICKS * ((size_t)knobs + 1), at = index % each;
    if (!query->kernel->values) {
        *form = ry_form_free();
        return index == 0;
    }
    if (!ry_form_at(query, index / each, form)) {
        return false;
    }
    const int knob = at == 0 ? -1 : (int)((at - 1) / PICKS);
    for (int i = knob == knobs ? 0 : knob; i >= 0 && i <= knob && i < knobs; i++) {
        pick_value(query, i, (at - 1) % PICKS, form);
    }
    return true;
}

/* A main knob alone has its values in other candidates. */
static bool repeats(const ry_query *query, size_t index)
{
    const size_t at = index % (1 + PICKS * ((size_t)query->kernel->knob_count + 1));
    const size_t knob = at == 0 ? 0 : (at - 1) / PICKS;
    return query->kernel->values && at > 0 && knob < (size_t)query->kernel->knob_count &&
           query->kernel->knobs[knob].main;
}

/* What prepare chose, asked for again. States are not compared byte by byte: structs have gaps.
 * That they compute the same, running them shows. */
static void check_again(const ry_query *query, ry_prepared *prepared)
{
    ry_prepared again = {0};
    ry_error error = {0};
    const ry_query complete = {query->kernel, query->problem, query->target, &prepared->form};
    if (ry_prepare(&complete, ~0u, &again, &error) != RYND_OK) {
        fail_msg("%s", error.text);
    }
    assert_memory_equal(&again.form, &prepared->form,
                        sizeof(int64_t) * (size_t)query->kernel->knob_count);
    assert_memory_equal(again.tasks, prepared->tasks, sizeof again.tasks);
    assert_int_equal(again.state_size, prepared->state_size);
    assert_int_equal(again.packed, prepared->packed);
    assert_int_equal(again.workspace, prepared->workspace);
    assert_int_equal(again.scratch, prepared->scratch);
}

static void check_form(const ry_query *query, const ry_form *got)
{
    char asked[RY_FORM_TEXT], text[RY_FORM_TEXT];
    ry_form_print(query->kernel, query->form, asked);
    ry_form_print(query->kernel, got, text);
    for (int i = 0; i < query->kernel->knob_count; i++) {
        if (got->value[i] == RY_KNOB_FREE || !ry_form_allows(query, i, got->value[i])) {
            fail_msg("%s with '%s' was prepared as '%s'", query->kernel->name, asked, text);
        }
    }
}

static bool is_taken(const ry_query *query)
{
    ry_prepared prepared = {0};
    ry_error error = {0};
    const rynd_status status = ry_prepare(query, ~0u, &prepared, &error);
    if (status == RYND_OK && query->kernel->values) {
        check_form(query, &prepared.form);
        check_again(query, &prepared);
    } else if (status != RYND_OK && status != RYND_ERROR_ARGUMENT) {
        fail_msg("%s: %s", query->kernel->name, error.text);
    }
    return status == RYND_OK;
}

/* A value above the greatest. */
static void check_refusal(const ry_query *query)
{
    for (int i = 0; query->kernel->values && i < query->kernel->knob_count; i++) {
        ry_knob_values values = {0};
        ry_form form = ry_form_free();
        ry_error error = {0};
        const ry_query wrong = {query->kernel, query->problem, query->target, &form};
        query->kernel->values(query, i, &values);
        assert_true(values.count > 0 && values.count <= RY_MAX_KNOB_VALUES);
        for (int j = 1; j < values.count; j++) {
            assert_true(values.value[j - 1] < values.value[j]);
        }
        form.value[i] = values.value[values.count - 1] + 1;
        assert_int_equal(ry_form_check(&wrong, &error), RYND_ERROR_ARGUMENT);
        assert_non_null(strstr(error.text, "it can be"));
    }
}

bool kernel_case_form(const kernel_case *c, const ry_kernel *kernel, case_layout layout, size_t *at,
                      ry_form *form)
{
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    const ry_problem problem = kernel_case_problem(c, layout, in, out);
    const ry_query query = {kernel, &problem, kernel_case_target(kernel), NULL};
    if (!c->forms) {
        *form = ry_form_free();
        return (*at)++ == 0;
    }
    if (*at == 0) {
        check_refusal(&query);
    }
    while (candidate(&query, (*at)++, form)) {
        if (repeats(&query, *at - 1)) {
            continue;
        }
        const ry_query asked = {kernel, &problem, query.target, form};
        if (is_taken(&asked)) {
            return true;
        }
    }
    return false;
}
