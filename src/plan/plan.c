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

static void destroy_weights(const ry_plan *plan)
{
    const ry_plan_weights *weights = &plan->weights;
    ry_device *device = plan->device, *host = device->host;
    for (size_t i = 0; i < weights->constant_count; i++) {
        if (!weights->constant_is_shared[i]) {
            device->table->buffer_destroy(device, weights->constants[i]);
        }
        if (weights->host_constants) {
            host->table->buffer_destroy(host, weights->host_constants[i]);
        }
    }
    for (size_t i = 0; i < weights->lot_count; i++) {
        ry_kept_drop(ry_weights_packed(weights->shared), weights->lots[i]);
    }
    device->table->buffer_destroy(device, weights->packed);
    host->table->buffer_destroy(host, weights->host_packed);
}

void ry_plan_destroy(const ry_plan *plan)
{
    if (!plan) {
        return;
    }
    for (size_t s = 0; s < plan->step_count; s++) {
        ry_prepared_release((ry_prepared *)&plan->steps[s].prepared, plan->device);
    }
    destroy_weights(plan);
    ry_graph_destroy(plan->rest.graph);
    ry_graph_destroy((ry_graph *)plan->graph);
    ry_arena arena = plan->arena;
    ry_arena_free(&arena);
    ry_release(plan->device->allocator, (ry_plan *)plan);
}
