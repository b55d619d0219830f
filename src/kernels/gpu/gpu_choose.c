/* SPDX-License-Identifier: Apache-2.0 */
/* Weighs the forms of a GPU kernel by the time of all phases, or by their work on processors. */
#include "kernels/gpu/gpu_choose.h"

#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/gpu/gpu_waves.h"
#include "machine/occupancy.h"

typedef struct choice {
    const ry_gpu_search *search;
    const void *user;
    const ry_prepared *begin;
    ry_form form;
} choice;

static void list_values(const ry_query *query, const void *plan, int knob, ry_knob_values *values)
{
    const choice *c = plan;
    c->search->values(query, c->user, knob, values);
}

static bool set_knob(const ry_query *query, void *plan, int knob, const ry_form *form)
{
    choice *c = plan;
    (void)query;
    c->form.value[knob] = form->value[knob];
    return true;
}

static bool fill(const ry_query *query, const choice *c, ry_prepared *prepared)
{
    *prepared = *c->begin;
    prepared->form = c->form;
    return c->search->fill(query, c->user, prepared);
}

static double cost_of(const ry_query *query, void *plan, double least)
{
    const ry_machine *machine = query->target->machine;
    const unsigned slots = ry_machine_slots(machine, (unsigned)ry_max(machine->cores, 1));
    ry_prepared one;
    (void)least;
    if (!fill(query, plan, &one)) {
        return -1;
    }
    if (ry_machine_has_waves(machine)) {
        return ry_gpu_form_seconds(&one, machine, query->target->network_bytes > 0);
    }
    double work = 0;
    for (int i = 0; i < one.phases; i++) {
        work += ry_spread_work(&one.work[i], one.tasks[i], slots, RY_COSTS_PARTS);
    }
    return work;
}

rynd_status ry_gpu_choose(const ry_gpu_search *search, const ry_query *query, const void *user,
                          ry_prepared *prepared, ry_error *error)
{
    const ry_form_search least = {search->axis, search->axes, list_values, set_knob, NULL, cost_of};
    const ry_prepared begin = *prepared;
    choice c = {search, user, &begin, begin.form};
    if (!ry_form_least(&least, query, &c)) {
        return ry_form_fail(query, error);
    }
    (void)fill(query, &c, prepared);
    return RYND_OK;
}
