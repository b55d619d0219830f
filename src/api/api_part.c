/* SPDX-License-Identifier: Apache-2.0 */
/* Models of parts of models. */
#include "api/api_part.h"

#include "api/api_check.h"
#include "api/api_model.h"
#include "api/api_plan.h"
#include "api/api_status.h"
#include "api/handles.h"
#include "graph/graph_part.h"
#include "plan/fold.h"
#include "plan/fold_cost.h"
#include "plan/make_plan.h"

rynd_status ry_api_fold_graph(const rynd_model *model, ry_graph *graph, bool *later,
                              ry_error *error)
{
    const ry_target target = ry_target_here(model->context->host);
    bool *late, held;
    if (later) {
        *later = false;
    }
    ry_plan_give_allowance(graph);
    /* a plan of the graph, or of a part, makes quantised layers of integer weights */
    RY_TRY(ry_plan_fold_quantised(graph, &target, &late, &held, error));
    for (ry_node_id n = 0; later && n < graph->node_count; n++) {
        *later = *later || (graph->nodes[n].op != RY_OP_dead && late[n]);
    }
    return ry_graph_compact(graph, error);
}

rynd_status ry_api_bound_graph(const rynd_model *model, const ry_dim_binding *dims,
                               size_t dim_count, int64_t batch, bool folded, ry_graph **graph,
                               bool *later, ry_error *error)
{
    const ry_plan_options options = {.batch = batch, .dims = dims, .dim_count = dim_count};
    RY_TRY(ry_graph_clone(model->onnx.graph, graph, error));
    rynd_status status = ry_plan_bind_inputs(*graph, &options, error);
    if (status == RYND_OK && folded) {
        status = ry_api_fold_graph(model, *graph, later, error);
    }
    if (status != RYND_OK) {
        ry_graph_destroy(*graph);
        *graph = NULL;
    }
    return status;
}

/* Elements of the constants that the part reads. */
static int64_t count_parameters(const ry_graph *graph)
{
    int64_t total = 0;
    for (size_t v = 0; v < graph->value_count; v++) {
        const ry_value *value = &graph->values[v];
        total += value->constant && value->uses ? ry_shape_elements(&value->shape) : 0;
    }
    return total;
}

rynd_status ry_api_part_of(const rynd_model *model, rynd_context *context, ry_graph *graph,
                           rynd_model **part, ry_error *error)
{
    rynd_model *m = ry_allocate_array(&context->allocator, 1, sizeof *m);
    if (!m) {
        ry_graph_destroy(graph);
        return ry_fail_memory(error);
    }
    /* without the file's mappings, which stay the whole model's */
    *m = (rynd_model){.context = context,
                      .onnx = {.graph = graph,
                               .ir_version = model->onnx.ir_version,
                               .opset = model->onnx.opset,
                               .producer = model->onnx.producer,
                               .path = model->onnx.path},
                      .parameters = count_parameters(graph)};
    const rynd_status status = ry_api_share_weights(m, error);
    if (status != RYND_OK) {
        ry_graph_destroy(graph);
        ry_release(&context->allocator, m);
        return status;
    }
    *part = m;
    return RYND_OK;
}

/* The values that a caller names. */
static rynd_status find_values(const ry_graph *graph, const char *const *names, size_t count,
                               const char *what, ry_arena *arena, ry_value_id **values,
                               ry_error *error)
{
    if (count && !names) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "rynd_part_options: %s_count is %zu and %ss is NULL", what, count, what);
    }
    *values = RY_TAKE(arena, ry_value_id, count);
    if (!*values) {
        return ry_fail_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        if (!names[i]) {
            return ry_fail(error, RYND_ERROR_ARGUMENT, "rynd_part_options: %ss[%zu] is NULL", what,
                           i);
        }
        (*values)[i] = ry_graph_find(graph, names[i]);
        if ((*values)[i] == RY_NO_VALUE) {
            return ry_fail(error, RYND_ERROR_NOT_FOUND, "the model has no value named '%s'",
                           names[i]);
        }
    }
    return RYND_OK;
}

static rynd_status check_shapes(const ry_graph *graph, const ry_value_id *inputs, size_t count,
                                ry_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const ry_value *value = &graph->values[inputs[i]];
        bool known = value->shape.rank >= 0 && value->dtype != RY_NONE;
        for (int d = 0; d < value->shape.rank; d++) {
            known = known && value->shape.dim[d] >= 0;
        }
        if (!known) {
            return ry_fail(error, RYND_ERROR_SHAPE,
                           "value '%s' has a shape that depends on data: it cannot be an input",
                           value->name);
        }
    }
    return RYND_OK;
}

static rynd_status reduce(ry_graph *graph, const rynd_part_options *options, ry_error *error)
{
    ry_value_id *inputs, *outputs;
    ry_arena *arena = &graph->arena;
    if (options->output_count == 0) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "rynd_part_options: output_count is 0: name what the part gives");
    }
    RY_TRY(
        find_values(graph, options->inputs, options->input_count, "input", arena, &inputs, error));
    RY_TRY(find_values(graph, options->outputs, options->output_count, "output", arena, &outputs,
                       error));
    RY_TRY(check_shapes(graph, inputs, options->input_count, error));
    return ry_graph_keep_part(graph, inputs, options->input_count, outputs, options->output_count,
                              error);
}

static rynd_status make(const rynd_model *model, rynd_context *context,
                        const rynd_part_options *options, rynd_model **part, ry_error *error)
{
    const ry_dim_binding *dims;
    ry_arena arena;
    ry_graph *graph = NULL;
    if (options->batch < 0) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "batch is %lld: give at least 1",
                       (long long)options->batch);
    }
    ry_arena_init(&arena, &context->allocator);
    rynd_status status = ry_api_take_dims(options->dims, options->dim_count, "rynd_part_options",
                                          &arena, &dims, error);
    if (status == RYND_OK) {
        status = ry_api_bound_graph(model, dims, options->dim_count, options->batch,
                                    options->outputs != NULL, &graph, NULL, error);
    }
    ry_arena_free(&arena);
    if (status == RYND_OK && options->outputs) {
        status = reduce(graph, options, error);
    }
    if (status != RYND_OK) {
        ry_graph_destroy(graph);
        return status;
    }
    return ry_api_part_of(model, context, graph, part, error);
}

rynd_status rynd_model_create_part(const rynd_model *model, rynd_context *context,
                                   const rynd_part_options *given, rynd_model **part)
{
    RY_API_REQUIRE(model, context, part);
    *part = NULL;
    ry_error error = {""};
    rynd_part_options options;
    rynd_status status =
        ry_api_options(&options, sizeof options, given, "rynd_part_options", &error);
    status = status != RYND_OK ? status : make(model, context, &options, part, &error);
    if (status != RYND_OK && model->onnx.path && *model->onnx.path) {
        ry_error_prefix(&error, "%s: ", model->onnx.path);
    }
    return ry_api_end(status, &error);
}
