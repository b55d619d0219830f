/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of gradients over micro-batches. */
#include "train/accumulate.h"

void ry_emit_to_sum(ry_emitter *emitter, ry_value_id gradient, ry_value_id more)
{
    ry_graph *graph = emitter->graph;
    const ry_value like = graph->values[gradient];
    if (emitter->status != RYND_OK) {
        return;
    }
    const ry_value_id sum = ry_graph_add_value(graph, emitter->name, like.dtype, &like.shape);
    if (sum == RY_NO_VALUE) {
        emitter->status = ry_fail_memory(emitter->error);
        return;
    }
    /* no product: what a sum without numbers left behind must not come back. The addition is last,
     * so that it is written where it was read (plan/in_place.h) */
    const ry_value_id next = ry_emit_expr(emitter, "select(x2 > 0, x0, 0) + x1", 3,
                                          (ry_value_id[]){sum, gradient, more});
    if (emitter->status == RYND_OK && !ry_graph_add_state(graph, sum, next, NULL)) {
        emitter->status = ry_fail_memory(emitter->error);
    }
}
