/* SPDX-License-Identifier: Apache-2.0 */
/* A plan that is made: which split a step belongs to, and its end. */
#include "plan/plan.h"

#include "plan/weights.h"

const ry_batch_split *ry_plan_batch_split_of(const ry_plan *plan, size_t step)
{
    size_t first = 0, end = plan->batch_split_count;
    while (end - first > 1) {
        const size_t middle = first + (end - first) / 2;
        if (step < plan->batch_splits[middle].first) {
            end = middle;
        } else {
            first = middle;
        }
    }
    return &plan->batch_splits[first];
}

void ry_plan_destroy(ry_plan *plan)
{
    if (!plan) {
        return;
    }
    const ry_device_table *table = plan->device->table;
    ry_device *host = plan->device->host;
    for (size_t s = 0; s < plan->step_count; s++) {
        ry_prepared_release(&plan->steps[s].prepared, plan->device);
    }
    for (size_t i = 0; i < plan->constant_count; i++) {
        if (!plan->constant_is_shared[i]) {
            table->buffer_destroy(plan->device, plan->constants[i]);
        }
        if (plan->host_constants) {
            host->table->buffer_destroy(host, plan->host_constants[i]);
        }
    }
    for (size_t i = 0; i < plan->lot_count; i++) {
        ry_kept_drop(ry_weights_packed(plan->weights), plan->lots[i]);
    }
    table->buffer_destroy(plan->device, plan->packed);
    host->table->buffer_destroy(host, plan->host_packed);
    ry_graph_destroy(plan->rest);
    ry_graph_destroy(plan->graph);
    ry_arena_free(&plan->arena);
    ry_release(plan->device->allocator, plan);
}
