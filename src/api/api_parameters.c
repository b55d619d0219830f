/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of models, as training finds them. */
#include "api/api_check.h"
#include "api/api_model.h"
#include "api/api_status.h"
#include "api/handles.h"
#include "train/frozen.h"

#include <rynd/train.h>

/* Finds the first reader of a value; NULL: it has no reader. */
static const ry_node *find_reader(const ry_graph *graph, ry_value_id value)
{
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        const ry_node *node = &graph->nodes[n];
        for (int i = 0; i < node->inputs; i++) {
            if (node->in[i] == value) {
                return node;
            }
        }
    }
    return NULL;
}

static bool is_parameter(const ry_graph *graph, ry_value_id v)
{
    return ry_training_is_weight(graph, v) && graph->values[v].uses > 0;
}

size_t rynd_model_parameter_count(const rynd_model *model)
{
    const ry_graph *graph = model ? model->onnx.graph : NULL;
    size_t count = 0;
    for (ry_value_id v = 0; graph && v < graph->value_count; v++) {
        count += is_parameter(graph, v);
    }
    return count;
}

rynd_status rynd_model_get_parameter(const rynd_model *model, size_t index,
                                     rynd_parameter_info *info)
{
    RY_API_REQUIRE(model, info);
    ry_error error = {""};
    const ry_graph *graph = model->onnx.graph;
    size_t left = index;
    ry_value_id v = 0;
    while (v < graph->value_count && (!is_parameter(graph, v) || left-- > 0)) {
        v++;
    }
    if (v == graph->value_count) {
        return ry_api_end(ry_fail(&error, RYND_ERROR_ARGUMENT, "parameter %zu: the model has %zu",
                                  index, rynd_model_parameter_count(model)),
                          &error);
    }
    const ry_node *reader = find_reader(graph, v);
    rynd_parameter_info all = {.name = graph->values[v].name,
                               .node = reader ? reader->name : "",
                               .tensor = ry_graph_tensor(graph, v)};
    all.tensor.data = NULL;
    return ry_api_end(ry_api_info(info, &all, sizeof all, "rynd_parameter_info", &error), &error);
}
