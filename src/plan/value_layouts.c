/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of values as they are stored. */
#include "plan/value_layouts.h"

bool ry_value_has_layouts(const ry_value *value)
{
    if (value->shape.rank < 3 || value->shape.rank > RY_MAX_RANK || value->dtype == RY_NONE) {
        return false;
    }
    const ry_tensor last = ry_tensor_channels_last(value->dtype, &value->shape, NULL);
    return !ry_tensor_is_row_major(&last);
}

ry_tensor ry_value_description(const ry_graph *graph, ry_value_id id,
                               const ry_value_layouts *layouts)
{
    ry_tensor tensor = ry_graph_tensor(graph, id);
    tensor.data = NULL;
    if (id == RY_NO_VALUE || !layouts) {
        return tensor;
    }
    if (layouts->given && layouts->given[id]) {
        return *layouts->given[id];
    }
    return layouts->channels_last && layouts->channels_last[id]
               ? ry_tensor_channels_last((ry_dtype)tensor.dtype, &graph->values[id].shape, NULL)
               : tensor;
}
