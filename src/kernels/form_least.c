/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the axes of a search from the outermost to the innermost. */
#include "kernels/form_least.h"

/* A walk sets axes [0, until), then weighs the form, or collects the values of a knob. */
typedef struct walk {
    const ry_form_search *search;
    const ry_query *query;
    void *plan;
    int until;
    int knob;
    ry_knob_values *values; /* NULL: weighs */
    ry_form form, best;
    double least; /* negative: none yet */
    ry_knob_values list[RY_MAX_KNOBS];
} walk;

/* Lists the axes whose values are known now that `level` axes are set. */
static void list_axes(walk *w, int level)
{
    for (int i = level; i < w->until; i++) {
        const ry_form_axis *axis = &w->search->axis[i];
        int64_t value = ry_form_wanted(w->query, axis->knob);
        if (axis->after != level) {
            continue;
        }
        if (value == RY_KNOB_FREE && axis->usual) {
            value = axis->usual(w->query, w->plan);
        }
        w->list[i].count = value != RY_KNOB_FREE;
        w->list[i].value[0] = value;
        if (value == RY_KNOB_FREE) {
            w->search->values(w->query, w->plan, axis->knob, &w->list[i]);
        }
    }
}

/* All axes are set. */
static void end(walk *w, bool least_memory)
{
    const ry_form_search *s = w->search;
    if (w->values) {
        s->values(w->query, w->plan, w->knob, w->values);
        return;
    }
    if (!least_memory && s->fits && !s->fits(w->query, w->plan)) {
        return;
    }
    const double cost = s->cost(w->query, w->plan, w->least);
    if (cost >= 0 && (w->least < 0 || cost < w->least)) {
        w->least = cost;
        w->best = w->form;
    }
}

static void visit(walk *w, int level, bool least_memory)
{
    const ry_form_axis *axis = &w->search->axis[level];
    const ry_knob_values *list = &w->list[level];
    list_axes(w, level);
    for (int i = 0; i < list->count; i++) {
        const int at = axis->largest_first ? list->count - 1 - i : i;
        const bool least = least_memory && (at == 0 || !axis->memory);
        w->form.value[axis->knob] = list->value[at];
        if (!w->search->set(w->query, w->plan, axis->knob, &w->form)) {
            continue;
        }
        if (level + 1 < w->until) {
            visit(w, level + 1, least);
        } else {
            end(w, least);
        }
    }
}

bool ry_form_find(const ry_form_search *search, const ry_query *query, void *plan, ry_form *form)
{
    walk w = {.search = search,
              .query = query,
              .plan = plan,
              .until = search->axes,
              .form = query->form ? *query->form : ry_form_free(),
              .least = -1};
    visit(&w, 0, true);
    for (int i = 0; w.least >= 0 && i < search->axes; i++) {
        (void)search->set(query, plan, search->axis[i].knob, &w.best);
    }
    *form = w.best;
    return w.least >= 0;
}

bool ry_form_least(const ry_form_search *search, const ry_query *query, void *plan)
{
    ry_form form;
    return ry_form_find(search, query, plan, &form);
}

void ry_form_list(const ry_form_search *search, const ry_query *query, void *plan, int knob,
                  ry_knob_values *values)
{
    int axis = 0;
    while (search->axis[axis].knob != knob) {
        axis++;
    }
    walk w = {.search = search,
              .query = query,
              .plan = plan,
              .until = search->axis[axis].after,
              .knob = knob,
              .values = values,
              .form = ry_form_free()};
    if (w.until == 0) {
        end(&w, true);
    } else {
        visit(&w, 0, true);
    }
}
