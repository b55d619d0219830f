/* SPDX-License-Identifier: Apache-2.0 */
/* Where a plan's first part ends, and what each part reads of the caller's memory. */
#include "plan/parts.h"

void ry_plan_find_parts(ry_plan_builder *b)
{
    const ry_graph *graph = b->graph;
    ry_plan_parts *parts = &b->plan->parts;
    parts->outputs = b->plan->rest.graph ? 0 : graph->first_outputs;
    parts->inputs = graph->first_inputs;
    for (size_t i = 0; i < parts->outputs; i++) {
        const ry_node_id last = graph->values[graph->outputs[i]].producer;
        while (last != RY_NO_NODE && parts->steps < b->plan->step_count &&
               b->node_of_step[parts->steps] <= last) {
            parts->steps++;
        }
    }
}

static void note(const ry_location *location, bool *const input[2], bool *const output[2], int part)
{
    if (location->storage == RY_STORAGE_INPUT) {
        input[part][location->index] = true;
    } else if (location->storage == RY_STORAGE_OUTPUT) {
        output[part][location->index] = true;
    }
}

rynd_status ry_plan_find_part_reads(ry_plan_builder *b, ry_error *error)
{
    ry_plan *plan = b->plan;
    ry_plan_parts *parts = &plan->parts;
    bool *input[2], *output[2];
    if (parts->outputs == 0) {
        return RYND_OK;
    }
    for (int part = 0; part < 2; part++) {
        parts->reads_input[part] = input[part] = RY_TAKE(&plan->arena, bool, plan->input_count);
        parts->reads_output[part] = output[part] = RY_TAKE(&plan->arena, bool, plan->output_count);
        if (!input[part] || !output[part]) {
            return ry_fail_memory(error);
        }
    }
    for (size_t s = 0; s < plan->step_count; s++) {
        for (int i = 0; i < plan->steps[s].problem.inputs; i++) {
            note(&plan->steps[s].in[i], input, output, s >= parts->steps);
        }
    }
    for (size_t i = 0; i < plan->output_count; i++) {
        const int part = i >= parts->outputs;
        const ry_location *location = &plan->outputs[i].location;
        if (location->storage != RY_STORAGE_OUTPUT ||
            location->index != i) { /* it is copied from there */
            note(location, input, output, part);
        }
    }
    return RYND_OK;
}
