/* SPDX-License-Identifier: Apache-2.0 */
/* Forms: the settings of a kernel's knobs, listed, checked, written and read. */
#include "kernels/form.h"

#include "base/number.h"

#include <stdio.h>
#include <string.h>

enum { VALUES_TEXT = 400 };

ry_form ry_form_free(void)
{
    ry_form form;
    for (int i = 0; i < RY_MAX_KNOBS; i++) {
        form.value[i] = RY_KNOB_FREE;
    }
    return form;
}

void ry_knob_values_add(ry_knob_values *values, int64_t value)
{
    int at = values->count;
    while (at > 0 && values->value[at - 1] >= value) {
        at--;
    }
    if (values->count == RY_MAX_KNOB_VALUES || (at < values->count && values->value[at] == value)) {
        return;
    }
    memmove(values->value + at + 1, values->value + at,
            (size_t)(values->count++ - at) * sizeof value);
    values->value[at] = value;
}

static int index_of(const ry_knob_values *values, int64_t value)
{
    for (int i = 0; i < values->count; i++) {
        if (values->value[i] == value) {
            return i;
        }
    }
    return -1;
}

static size_t print_value(const ry_knob *knob, int64_t value, char *text, size_t size)
{
    const int length = knob->words ? snprintf(text, size, "%s", knob->words[value])
                                   : snprintf(text, size, "%lld", (long long)value);
    return length < 0 ? 0 : (size_t)length < size ? (size_t)length : size - 1;
}

void ry_form_print_value(const ry_kernel *kernel, int knob, int64_t value, char *text, size_t size)
{
    print_value(&kernel->knobs[knob], value, text, size);
}

ry_knob_values ry_form_values(const ry_query *query, int knob)
{
    ry_knob_values values = {0};
    if (query->kernel->values) {
        query->kernel->values(query, knob, &values);
    }
    return values;
}

/* The legal values of a knob, as far as they fit: "1, 2, 4, ...". */
static void print_values(const ry_query *query, int knob, char *text, size_t size)
{
    const ry_knob_values values = ry_form_values(query, knob);
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < values.count; i++) {
        if (used + RY_NUMBER_SIZE + sizeof ", ..." > size) {
            snprintf(text + used, size - used, ", ...");
            return;
        }
        used += (size_t)snprintf(text + used, size - used, "%s", i == 0 ? "" : ", ");
        used += print_value(&query->kernel->knobs[knob], values.value[i], text + used, size - used);
    }
}

static rynd_status fail_value(const ry_query *query, int knob, const char *value, ry_error *error)
{
    char legal[VALUES_TEXT];
    const char *name = query->kernel->knobs[knob].name;
    print_values(query, knob, legal, sizeof legal);
    return ry_fail(error, RYND_ERROR_ARGUMENT,
                   "knob '%s' of kernel '%s' cannot be %s here: it can be %s", name,
                   query->kernel->name, value, legal);
}

rynd_status ry_form_check(const ry_query *query, ry_error *error)
{
    for (int i = 0; query->form && i < query->kernel->knob_count; i++) {
        const int64_t wanted = query->form->value[i];
        if (wanted == RY_KNOB_FREE) {
            continue;
        }
        const ry_knob_values values = ry_form_values(query, i);
        if (index_of(&values, wanted) < 0) {
            char text[RY_NUMBER_SIZE];
            snprintf(text, sizeof text, "%lld", (long long)wanted);
            return fail_value(query, i, text, error);
        }
    }
    return RYND_OK;
}

rynd_status ry_form_fail(const ry_query *query, ry_error *error)
{
    char text[RY_FORM_TEXT];
    const ry_form none = ry_form_free();
    ry_form_print(query->kernel, query->form ? query->form : &none, text);
    return ry_fail(error, RYND_ERROR_ARGUMENT,
                   "kernel '%s' has no form with %s for this problem: leave one of them out",
                   query->kernel->name, text);
}

bool ry_form_at(const ry_query *query, size_t index, ry_form *form)
{
    const ry_kernel *kernel = query->kernel;
    *form = ry_form_free();
    for (int i = kernel->knob_count - 1; i >= 0; i--) {
        if (kernel->knobs[i].main) {
            const ry_knob_values values = ry_form_values(query, i);
            if (values.count == 0) { /* the machine is too small for any */
                return false;
            }
            form->value[i] = values.value[index % (size_t)values.count];
            index /= (size_t)values.count;
        }
    }
    return index == 0;
}

void ry_form_print(const ry_kernel *kernel, const ry_form *form, char text[RY_FORM_TEXT])
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < kernel->knob_count && used + 1 < RY_FORM_TEXT; i++) {
        if (form->value[i] == RY_KNOB_FREE) {
            continue;
        }
        const int name = snprintf(text + used, RY_FORM_TEXT - used, "%s%s=", used ? " " : "",
                                  kernel->knobs[i].name);
        used += name < 0 ? 0 : (size_t)name;
        if (used + 1 < RY_FORM_TEXT) {
            used +=
                print_value(&kernel->knobs[i], form->value[i], text + used, RY_FORM_TEXT - used);
        }
    }
}

static rynd_status fail_name(const ry_query *query, const char *name, ry_error *error)
{
    char names[VALUES_TEXT] = "";
    size_t used = 0;
    for (int i = 0; i < query->kernel->knob_count && used < sizeof names; i++) {
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                 query->kernel->knobs[i].name);
    }
    return used ? ry_fail(error, RYND_ERROR_ARGUMENT, "kernel '%s' has no knob '%s': it has %s",
                          query->kernel->name, name, names)
                : ry_fail(error, RYND_ERROR_ARGUMENT, "kernel '%s' has no knobs",
                          query->kernel->name);
}

rynd_status ry_form_set(const ry_query *query, const char *name, const char *text, ry_form *form,
                        ry_error *error)
{
    const ry_kernel *kernel = query->kernel;
    int i = 0;
    while (i < kernel->knob_count && strcmp(kernel->knobs[i].name, name) != 0) {
        i++;
    }
    if (i == kernel->knob_count) {
        return fail_name(query, name, error);
    }
    const char *const *words = kernel->knobs[i].words;
    const ry_knob_values values = ry_form_values(query, i);
    for (int v = 0; words && v < values.count; v++) {
        if (strcmp(words[values.value[v]], text) == 0) {
            form->value[i] = values.value[v];
            return RYND_OK;
        }
    }
    int64_t number;
    if (words || !ry_integer_parse(text, strlen(text), &number) || index_of(&values, number) < 0) {
        return fail_value(query, i, text, error);
    }
    form->value[i] = number;
    return RYND_OK;
}

rynd_status ry_form_parse(const ry_query *query, const char *text, ry_form *form, ry_error *error)
{
    *form = ry_form_free();
    for (size_t length; *text; text += length + (text[length] == ' ')) {
        char word[RY_FORM_TEXT];
        length = strcspn(text, " ");
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : 0), text);
        char *equals = strchr(word, '=');
        if (!equals) {
            return ry_fail(error, RYND_ERROR_ARGUMENT,
                           "'%.100s' is no setting of a knob of kernel '%s': give KNOB=VALUE", word,
                           query->kernel->name);
        }
        *equals = 0;
        RY_TRY(ry_form_set(query, word, equals + 1, form, error));
    }
    return RYND_OK;
}

bool ry_form_is_complete(const ry_kernel *kernel, const ry_form *form)
{
    for (int i = 0; i < kernel->knob_count; i++) {
        if (form->value[i] == RY_KNOB_FREE) {
            return false;
        }
    }
    return true;
}
