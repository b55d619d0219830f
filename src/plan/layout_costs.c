/* SPDX-License-Identifier: Apache-2.0 */
/* Predicted times of nodes and copies in each layout. */
#include "kernels/costs.h"
#include "plan/aliases.h"
#include "plan/choose_form.h"
#include "plan/fold.h"
#include "plan/layouts_inside.h"
#include "plan/make_steps.h"

#include <math.h>

static void set_layout(const ry_layouts *l, ry_tensor *tensors, int count, const ry_value_id *ids,
                       bool last, ry_value_id except)
{
    for (int i = 0; i < count; i++) {
        if (ids[i] != RY_NO_VALUE && ids[i] == except && l->given[except]) {
            tensors[i] = *l->given[except];
        } else if (ids[i] != RY_NO_VALUE && l->matters[ids[i]] && last != (ids[i] == except)) {
            const ry_shape shape = ry_tensor_shape(&tensors[i]);
            tensors[i] = ry_tensor_channels_last((ry_dtype)tensors[i].dtype, &shape, NULL);
        }
    }
}

rynd_status ry_layouts_try_node(ry_layouts *l, const ry_node *node, bool last, ry_value_id except,
                                ry_trial *found)
{
    *found = (ry_trial){0};
    ry_problem problem;
    RY_TRY(ry_plan_problem(l->b->graph, node, l->b->options->accuracy, NULL, 0, &l->arena, &problem,
                           l->error));
    set_layout(l, (ry_tensor *)problem.in, node->inputs, node->in, last, except);
    set_layout(l, (ry_tensor *)problem.out, node->outputs, node->out, last, except);
    if (node->op == RY_OP_transpose &&
        ry_plan_keeps_memory(&problem.in[0], &problem.out[0], &node->attrs.transpose)) {
        return RYND_OK;
    }
    ry_choice choice;
    RY_TRY(ry_plan_predict_kernel(l->b, node, &problem, &choice, l->error));
    found->reference = choice.prepared.kernel->reference;
    found->seconds =
        last ? ry_plan_counted(&l->form, RY_PLAN_channels_last, choice.seconds) : choice.seconds;
    return RYND_OK;
}

double ry_layouts_seconds_compared(const ry_trial *tried, const ry_trial *other)
{
    return tried->reference && !other->reference ? INFINITY : tried->seconds;
}

static rynd_status copy_seconds(ry_layouts *l, const ry_tensor *from, const ry_tensor *to,
                                double *seconds)
{
    const ry_problem copy = {.op = RY_OP_copy,
                             .accuracy = l->b->options->accuracy,
                             .attrs = ry_attrs_default(RY_OP_copy),
                             .inputs = 1,
                             .outputs = 1,
                             .in = from,
                             .out = to};
    ry_choice choice;
    RY_TRY(ry_choices_find(&l->b->choices, &copy, 0, NULL, &choice, l->error));
    const ry_machine *machine = l->b->choices.target.machine;
    const ry_cost_column column =
        ry_cost_column_of(machine, machine->vector_bytes / (int64_t)sizeof(float));
    const double taken = choice.seconds * ry_costs_of(column)->prediction.conversion;
    *seconds = ry_plan_counted(&l->form, RY_PLAN_conversions, RY_STEP_SECONDS + taken);
    return RYND_OK;
}

rynd_status ry_layouts_conversion_seconds(ry_layouts *l, ry_value_id id, bool last, double *seconds)
{
    const ry_value *value = &l->b->graph->values[id];
    const ry_tensor lies[] = {ry_tensor_row_major(value->dtype, &value->shape, NULL),
                              ry_tensor_channels_last(value->dtype, &value->shape, NULL)};
    if (l->given[id]) {
        return copy_seconds(l, l->given[id], &lies[last], seconds);
    }
    double ways[2];
    for (int way = 0; way < 2; way++) {
        RY_TRY(copy_seconds(l, &lies[way], &lies[1 - way], &ways[way]));
    }
    *seconds = fmax(ways[0], ways[1]);
    return RYND_OK;
}
