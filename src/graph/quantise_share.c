/* SPDX-License-Identifier: Apache-2.0 */
/* Exporters dequantise a tensor once for all its readers. An expression joins DequantizeLinear only
 * if it is the one reader, and would read floats from memory otherwise. */
#include "graph/quantise_inside.h"
#include "graph/rewrite.h"

/* A DequantizeLinear of computed bytes that others read, too; NULL: none. */
static const ry_node *shared_source(const ry_quantising *z, ry_value_id value)
{
    const ry_graph *graph = z->graph;
    ry_quantiser q;
    const ry_node *source = ry_find_dequantise(graph, &z->programs, value, &q);
    return source && graph->values[value].uses > 1 && !graph->values[source->in[0]].constant
               ? source
               : NULL;
}

rynd_status ry_quantise_share(ry_quantising *z, ry_node_id id)
{
    ry_graph *graph = z->graph;
    for (int i = 0; graph->nodes[id].op == RY_OP_expr && i < graph->nodes[id].inputs; i++) {
        const ry_value_id value = graph->nodes[id].in[i];
        const ry_node *source = shared_source(z, value);
        if (!source) {
            continue;
        }
        const ry_node copy = *source;
        ry_emitter emitter = {graph, graph->values[value].name, z->error, RYND_OK};
        const ry_value_id own = ry_emit(&emitter, RY_OP_expr, &copy.attrs, copy.inputs, copy.in);
        RY_TRY(emitter.status);
        for (int k = i; k < graph->nodes[id].inputs; k++) {
            if (graph->nodes[id].in[k] == value) {
                ry_graph_set_input(graph, &graph->nodes[id], k, own);
            }
        }
    }
    return RYND_OK;
}
