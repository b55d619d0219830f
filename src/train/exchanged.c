/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs and inputs of the exchange. */
#include "train/exchanged.h"

rynd_status ry_exchange_value(ry_graph *graph, ry_exchanged_list *list, ry_value_id value,
                              const char *name, ry_value_id *sum, ry_error *error)
{
    const ry_value own = graph->values[value];
    const char *sum_name = ry_arena_format(&graph->arena, "%s/sum", name);
    if (!sum_name) {
        return ry_fail_memory(error);
    }
    *sum = ry_graph_add_value(graph, sum_name, own.dtype, &own.shape);
    list->items[list->count++] = (ry_exchanged){
        .output = (uint32_t)graph->output_count,
        .input = (uint32_t)graph->input_count,
        .count = (size_t)ry_shape_elements(&own.shape),
    };
    return *sum != RY_NO_VALUE && ry_graph_add_output(graph, value) &&
                   ry_graph_add_input(graph, *sum)
               ? RYND_OK
               : ry_fail_memory(error);
}

rynd_status ry_exchange_loss(const ry_graph *graph, ry_exchanged_list *list, ry_error *error)
{
    const ry_value *loss = &graph->values[graph->outputs[0]];
    if (loss->dtype != RY_f32) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                       "the loss is %s, and ranks exchange f32 only: train it in one process",
                       ry_dtype_name(loss->dtype));
    }
    list->items[list->count++] = (ry_exchanged){.output = 0, .input = UINT32_MAX, .count = 1};
    return RYND_OK;
}

ry_value_id ry_emit_mean(ry_emitter *emitter, const ry_exchanged_list *list, ry_value_id sum)
{
    const ry_expr_parameter part = {"part", 1.0 / list->ranks};
    return ry_emit_expr_with(emitter, "x0 * part", &part, 1, 1, &sum);
}

ry_value_id ry_emit_part(ry_emitter *emitter, const ry_exchanged_list *list)
{
    return ry_emit_scalar(emitter, RY_f32, 1.0 / list->ranks);
}
