/* SPDX-License-Identifier: Apache-2.0 */
/* The knobs of a plan and their texts. */
#include "plan/plan_form.h"

#include "base/number.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *what;
} knobs[] = {
#define RY_PLAN_KNOB(name, what) {#name, what},
#include "plan/plan_knobs.inc"
#undef RY_PLAN_KNOB
};

/* Predictions of steps within a network are mostly within a quarter; a decision that holds from 0
 * to 1000 percent is none. */
const int ry_plan_percents[] = {90, 110, 80, 125, 50, 200, 0, RY_PLAN_MOST};
const int ry_plan_percent_count = sizeof ry_plan_percents / sizeof *ry_plan_percents;

ry_plan_form ry_plan_form_predicted(void)
{
    ry_plan_form form;
    for (int k = 0; k < RY_PLAN_KNOBS; k++) {
        form.percent[k] = RY_PLAN_PREDICTED;
    }
    return form;
}

bool ry_plan_form_equal(const ry_plan_form *a, const ry_plan_form *b)
{
    return memcmp(a->percent, b->percent, sizeof a->percent) == 0;
}

const char *ry_plan_knob_name(ry_plan_knob knob)
{
    return knobs[knob].name;
}

const char *ry_plan_knob_what(ry_plan_knob knob)
{
    return knobs[knob].what;
}

static ry_plan_knob find(const char *name, size_t length)
{
    int k = 0;
    while (k < RY_PLAN_KNOBS &&
           (strlen(knobs[k].name) != length || memcmp(knobs[k].name, name, length) != 0)) {
        k++;
    }
    return (ry_plan_knob)k;
}

ry_plan_knob ry_plan_knob_find(const char *name)
{
    return find(name, strlen(name));
}

void ry_plan_form_print(const ry_plan_form *form, char text[RY_PLAN_FORM_TEXT])
{
    size_t used = 0;
    text[0] = 0;
    for (int k = 0; k < RY_PLAN_KNOBS; k++) {
        if (form->percent[k] != RY_PLAN_PREDICTED) {
            used += (size_t)snprintf(text + used, RY_PLAN_FORM_TEXT - used, "%s%s=%d",
                                     used ? " " : "", knobs[k].name, form->percent[k]);
        }
    }
}

static bool parse_percent(const char *text, size_t length, int *percent)
{
    int64_t number;
    if (!ry_integer_parse(text, length, &number) || number < 0 || number > RY_PLAN_MOST) {
        return false;
    }
    *percent = (int)number;
    return true;
}

bool ry_plan_percent_parse(const char *text, int *percent)
{
    return parse_percent(text, strlen(text), percent);
}

bool ry_plan_form_parse(const char *text, ry_plan_form *form)
{
    *form = ry_plan_form_predicted();
    while (*text) {
        const size_t name = strcspn(text, "= "), whole = strcspn(text, " ");
        const ry_plan_knob knob = find(text, name);
        if (knob == RY_PLAN_KNOBS || text[name] != '=' ||
            !parse_percent(text + name + 1, whole - name - 1, &form->percent[knob])) {
            return false;
        }
        text += whole + (text[whole] == ' ');
    }
    return true;
}
