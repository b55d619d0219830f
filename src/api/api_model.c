/* SPDX-License-Identifier: Apache-2.0 */
/* Models: loading, and looking at their content. */
#include "api/api_model.h"

#include "api/api_check.h"
#include "api/api_status.h"
#include "api/handles.h"
#include "graph/derive.h"
#include "graph/infer.h"

static int64_t count_parameters(const ry_graph *graph)
{
    int64_t total = 0;
    for (size_t v = 0; v < graph->value_count; v++) {
        const ry_value *value = &graph->values[v];
        if (value->constant) {
            total += ry_shape_elements(&value->shape);
        }
    }
    return total;
}

static int64_t constant_bytes(const ry_graph *graph)
{
    int64_t total = 0;
    for (size_t v = 0; v < graph->value_count; v++) {
        const ry_value *value = &graph->values[v];
        total += value->constant ? ry_shape_bytes(&value->shape, value->dtype) : 0;
    }
    return total;
}

rynd_status ry_api_share_weights(rynd_model *model, ry_error *error)
{
    ry_graph_number_constants(model->onnx.graph);
    return ry_weights_create(&model->context->allocator, (size_t)constant_bytes(model->onnx.graph),
                             &model->weights, error);
}

static rynd_status finish(rynd_context *context, rynd_status status, rynd_model *m,
                          rynd_model **model, ry_error *error)
{
    if (status == RYND_OK) {
        m->context = context;
        status = ry_api_share_weights(m, error);
        if (status != RYND_OK) {
            ry_onnx_free(&m->onnx);
        }
    }
    if (status != RYND_OK) {
        ry_release(&context->allocator, m);
        return ry_api_end(status, error);
    }
    m->parameters = count_parameters(m->onnx.graph);
    ry_api_tell_warnings(m, m->onnx.graph);
    *model = m;
    return RYND_OK;
}

rynd_status rynd_model_load(rynd_context *context, const char *path, rynd_model **model)
{
    RY_API_REQUIRE(context, path, model);
    *model = NULL;
    ry_error error = {""};
    rynd_model *m = ry_allocate_array(&context->allocator, 1, sizeof *m);
    rynd_status status =
        m ? ry_onnx_load(path, &context->allocator, &m->onnx, &error) : ry_fail_memory(&error);
    return finish(context, status, m, model, &error);
}

rynd_status rynd_model_load_memory(rynd_context *context, const void *data, size_t size,
                                   rynd_model **model)
{
    RY_API_REQUIRE(context, data, model);
    *model = NULL;
    ry_error error = {""};
    rynd_model *m = ry_allocate_array(&context->allocator, 1, sizeof *m);
    rynd_status status =
        m ? ry_onnx_load_memory(data, size, NULL, &context->allocator, &m->onnx, &error)
          : ry_fail_memory(&error);
    return finish(context, status, m, model, &error);
}

void rynd_model_destroy(rynd_model *model)
{
    if (model) {
        ry_weights_destroy(model->weights);
        ry_onnx_free(&model->onnx);
        ry_release(&model->context->allocator, model);
    }
}

size_t rynd_model_input_count(const rynd_model *model)
{
    return model ? model->onnx.graph->input_count : 0;
}

size_t rynd_model_output_count(const rynd_model *model)
{
    return model ? model->onnx.graph->output_count : 0;
}

static rynd_status describe_value(const ry_graph *graph, ry_value_id id, rynd_value_info *info)
{
    ry_error error = {""};
    const ry_value *value = &graph->values[id];
    rynd_value_info all = {
        .name = value->name, .dtype = (rynd_dtype)value->dtype, .rank = value->shape.rank};
    for (int d = 0; d < value->shape.rank; d++) {
        int64_t dim = value->shape.dim[d];
        all.dim[d] = dim < 0 ? -1 : dim;
        all.symbol[d] = dim < 0 ? ry_graph_symbol_text(graph, dim) : "";
    }
    return ry_api_end(ry_api_info(info, &all, sizeof all, "rynd_value_info", &error), &error);
}

static rynd_status out_of_range(const char *what, size_t index, size_t count)
{
    ry_error error;
    return ry_api_end(
        ry_fail(&error, RYND_ERROR_ARGUMENT, "%s %zu: there are %zu", what, index, count), &error);
}

rynd_status rynd_model_get_input(const rynd_model *model, size_t index, rynd_value_info *info)
{
    RY_API_REQUIRE(model, info);
    const ry_graph *graph = model->onnx.graph;
    return index < graph->input_count ? describe_value(graph, graph->inputs[index], info)
                                      : out_of_range("input", index, graph->input_count);
}

rynd_status rynd_model_get_output(const rynd_model *model, size_t index, rynd_value_info *info)
{
    RY_API_REQUIRE(model, info);
    const ry_graph *graph = model->onnx.graph;
    return index < graph->output_count ? describe_value(graph, graph->outputs[index], info)
                                       : out_of_range("output", index, graph->output_count);
}

/* Every open dim of the inputs as 1. */
static rynd_status bind_to_ones(ry_graph *graph, ry_error *error)
{
    ry_shape *shapes = RY_TAKE(&graph->arena, ry_shape, graph->input_count);
    if (!shapes) {
        return ry_fail_memory(error);
    }
    for (size_t i = 0; i < graph->input_count; i++) {
        shapes[i] = graph->values[graph->inputs[i]].shape;
        for (int d = 0; d < shapes[i].rank; d++) {
            shapes[i].dim[d] = shapes[i].dim[d] < 0 ? 1 : shapes[i].dim[d];
        }
    }
    RY_TRY(ry_graph_bind(graph, shapes, NULL, 0, error));
    return ry_graph_infer(graph, error);
}

static bool add_macs(const ry_graph *graph, const ry_node *node, double *flop)
{
    enum { MOST = 8 };
    if (node->op != RY_OP_conv && node->op != RY_OP_convt && node->op != RY_OP_matmul &&
        node->op != RY_OP_deform_conv && node->op != RY_OP_einsum) {
        return true;
    }
    ry_tensor in[MOST], out = ry_graph_tensor(graph, node->out[0]);
    int inputs = node->inputs < MOST ? node->inputs : MOST;
    for (int i = 0; i < inputs; i++) {
        in[i] = ry_graph_tensor(graph, node->in[i]);
        if (node->in[i] != RY_NO_VALUE &&
            ry_shape_elements(&graph->values[node->in[i]].shape) < 0) {
            return false;
        }
    }
    if (ry_shape_elements(&graph->values[node->out[0]].shape) < 0) {
        return false;
    }
    ry_problem problem = {.op = node->op,
                          .attrs = node->attrs,
                          .inputs = inputs,
                          .outputs = 1,
                          .in = in,
                          .out = &out};
    *flop += ry_problem_flop(&problem);
    return true;
}

static int64_t count_macs(const ry_graph *model_graph)
{
    ry_graph *graph = NULL;
    if (ry_graph_clone(model_graph, &graph, NULL) != RYND_OK) {
        return -1;
    }
    double flop = 0;
    bool known = bind_to_ones(graph, NULL) == RYND_OK;
    for (size_t n = 0; known && n < graph->node_count; n++) {
        known = add_macs(graph, &graph->nodes[n], &flop);
    }
    ry_graph_destroy(graph);
    return known ? (int64_t)(flop / 2) : -1;
}

rynd_status rynd_model_get_info(const rynd_model *model, rynd_model_info *info)
{
    RY_API_REQUIRE(model, info);
    ry_error error = {""};
    const ry_onnx_model *onnx = &model->onnx;
    rynd_model_info all = {
        .name = onnx->graph->name ? onnx->graph->name : "",
        .producer = onnx->producer ? onnx->producer : "",
        .ir_version = onnx->ir_version,
        .opset = onnx->opset,
        .parameters = model->parameters,
        .macs = count_macs(onnx->graph),
        .operator_count = onnx->usage_count,
    };
    for (size_t i = 0; i < onnx->usage_count; i++) {
        all.node_count += onnx->usage[i].count;
    }
    return ry_api_end(ry_api_info(info, &all, sizeof all, "rynd_model_info", &error), &error);
}

rynd_status rynd_model_get_weights(const rynd_model *model, rynd_weights *weights)
{
    RY_API_REQUIRE(model, weights);
    ry_error error = {""};
    const ry_kept_figures packed = ry_kept_count(ry_weights_packed(model->weights)),
                          derived = ry_kept_count(ry_weights_derived(model->weights));
    const rynd_weights all = {.packed = packed.bytes,
                              .derived = derived.bytes,
                              .unused_packed = packed.idle,
                              .unused_derived = derived.idle,
                              .keep = packed.limit};
    return ry_api_end(ry_api_info(weights, &all, sizeof all, "rynd_weights", &error), &error);
}

rynd_status rynd_model_keep(rynd_model *model, size_t bytes)
{
    RY_API_REQUIRE(model);
    ry_kept_set_limit(ry_weights_packed(model->weights), bytes);
    ry_kept_set_limit(ry_weights_derived(model->weights), bytes);
    return RYND_OK;
}

rynd_status rynd_model_get_operator(const rynd_model *model, size_t index, const char **name,
                                    size_t *count)
{
    RY_API_REQUIRE(model, name, count);
    if (index >= model->onnx.usage_count) {
        return out_of_range("operator", index, model->onnx.usage_count);
    }
    *name = model->onnx.usage[index].operator_name;
    *count = model->onnx.usage[index].count;
    return RYND_OK;
}

size_t rynd_model_node_count(const rynd_model *model)
{
    return model ? model->onnx.graph->node_count : 0;
}

rynd_status rynd_model_get_node(const rynd_model *model, size_t index, rynd_node_info *info)
{
    RY_API_REQUIRE(model, info);
    ry_error error = {""};
    const ry_graph *graph = model->onnx.graph;
    if (index >= graph->node_count) {
        return out_of_range("node", index, graph->node_count);
    }
    const ry_node *node = &graph->nodes[index];
    rynd_node_info all = {.name = node->name,
                          .op = ry_op_name(node->op),
                          .source = node->source,
                          .inputs = node->inputs,
                          .outputs = node->outputs};
    return ry_api_end(ry_api_info(info, &all, sizeof all, "rynd_node_info", &error), &error);
}

static const char *value_name(const ry_graph *graph, size_t node, int index, bool output)
{
    if (node >= graph->node_count || index < 0) {
        return NULL;
    }
    const ry_node *n = &graph->nodes[node];
    if (index >= (output ? n->outputs : n->inputs)) {
        return NULL;
    }
    ry_value_id id = output ? n->out[index] : n->in[index];
    return id == RY_NO_VALUE ? "" : graph->values[id].name;
}

const char *rynd_model_node_input(const rynd_model *model, size_t node, int index)
{
    return model ? value_name(model->onnx.graph, node, index, false) : NULL;
}

const char *rynd_model_node_output(const rynd_model *model, size_t node, int index)
{
    return model ? value_name(model->onnx.graph, node, index, true) : NULL;
}

rynd_status rynd_model_get_value(const rynd_model *model, const char *name, rynd_value_info *info)
{
    RY_API_REQUIRE(model, name, info);
    ry_error error;
    ry_value_id id = ry_graph_find(model->onnx.graph, name);
    if (id == RY_NO_VALUE) {
        return ry_api_end(
            ry_fail(&error, RYND_ERROR_NOT_FOUND, "the model has no value '%s'", name), &error);
    }
    return describe_value(model->onnx.graph, id, info);
}
