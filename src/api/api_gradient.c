/* SPDX-License-Identifier: Apache-2.0 */
/* Models of gradients, and their two passes. */
#include "api/api_check.h"
#include "api/api_part.h"
#include "api/api_plan.h"
#include "api/api_session.h"
#include "api/api_status.h"
#include "api/handles.h"
#include "plan/make_plan.h"
#include "train/gradient_graph.h"

#include <rynd/gradient.h>

#include <string.h>

typedef struct request {
    const rynd_gradient_options *options;
    ry_graph *graph;
    ry_arena scratch;
    ry_value_id *inputs, *outputs;
    size_t output_count;
    ry_error *error;
} request;

static bool is_among(const ry_value_id *list, size_t count, ry_value_id value)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i] == value) {
            return true;
        }
    }
    return false;
}

/* The value of a name in a list of the options. */
static rynd_status find(const request *r, const char *const *names, size_t index, const char *what,
                        ry_value_id *value)
{
    if (!names[index]) {
        return ry_fail(r->error, RYND_ERROR_ARGUMENT, "rynd_gradient_options: %ss[%zu] is NULL",
                       what, index);
    }
    *value = ry_graph_find(r->graph, names[index]);
    return *value == RY_NO_VALUE ? ry_fail(r->error, RYND_ERROR_NOT_FOUND,
                                           "the model has no %s '%s'", what, names[index])
                                 : RYND_OK;
}

/* An initializer becomes an input. */
static rynd_status take_input(const request *r, size_t index)
{
    ry_graph *graph = r->graph;
    const char *name = r->options->inputs[index];
    ry_value_id v;
    RY_TRY(find(r, r->options->inputs, index, "input", &v));
    ry_value *value = &graph->values[v];
    const bool given = is_among(graph->inputs, graph->input_count, v);
    if (!given && !(value->constant && value->initializer)) {
        return ry_fail(r->error, RYND_ERROR_NOT_FOUND,
                       "'%s' is computed: name an input or an initializer", name);
    }
    if (!ry_dtype_is_float(value->dtype)) {
        return ry_fail(r->error, RYND_ERROR_ARGUMENT, "input '%s' is %s: it has no gradient", name,
                       ry_dtype_name(value->dtype));
    }
    if (is_among(r->inputs, index, v)) {
        return ry_fail(r->error, RYND_ERROR_ARGUMENT, "input '%s' is named twice", name);
    }
    r->inputs[index] = v;
    value->constant = NULL;
    value->identity = 0;
    return given || ry_graph_add_input(graph, v) ? RYND_OK : ry_fail_memory(r->error);
}

static rynd_status take_inputs(request *r)
{
    const rynd_gradient_options *options = r->options;
    if (options->input_count == 0 || !options->inputs) {
        return ry_fail(r->error, RYND_ERROR_ARGUMENT,
                       "rynd_gradient_options: name an input whose gradient is wanted");
    }
    r->inputs = RY_TAKE(&r->scratch, ry_value_id, options->input_count);
    if (!r->inputs) {
        return ry_fail_memory(r->error);
    }
    for (size_t i = 0; i < options->input_count; i++) {
        RY_TRY(take_input(r, i));
    }
    return RYND_OK;
}

static rynd_status take_output(request *r, size_t index)
{
    const char *name = r->options->outputs[index];
    ry_value_id v;
    RY_TRY(find(r, r->options->outputs, index, "output", &v));
    if (!ry_graph_is_output(r->graph, v)) {
        return ry_fail(r->error, RYND_ERROR_NOT_FOUND, "the model has no output '%s'", name);
    }
    if (!ry_dtype_is_float(r->graph->values[v].dtype)) {
        return ry_fail(r->error, RYND_ERROR_ARGUMENT, "output '%s' is %s: it has no gradient", name,
                       ry_dtype_name(r->graph->values[v].dtype));
    }
    if (is_among(r->outputs, index, v)) {
        return ry_fail(r->error, RYND_ERROR_ARGUMENT, "output '%s' is named twice", name);
    }
    r->outputs[r->output_count++] = v;
    return RYND_OK;
}

/* Call when types are known: the default is all outputs of a floating-point type. */
static rynd_status take_outputs(request *r)
{
    const ry_graph *graph = r->graph;
    const size_t named = r->options->outputs ? r->options->output_count : 0;
    r->outputs = RY_TAKE(&r->scratch, ry_value_id, graph->output_count + named);
    if (!r->outputs) {
        return ry_fail_memory(r->error);
    }
    for (size_t i = 0; i < named; i++) {
        RY_TRY(take_output(r, i));
    }
    for (size_t i = 0; i < graph->output_count && !r->options->outputs; i++) {
        const ry_value_id v = graph->outputs[i];
        if (ry_dtype_is_float(graph->values[v].dtype) &&
            !is_among(r->outputs, r->output_count, v)) {
            r->outputs[r->output_count++] = v;
        }
    }
    return r->output_count ? RYND_OK
                           : ry_fail(r->error, RYND_ERROR_ARGUMENT,
                                     "no output has a gradient: name one of a floating-point type");
}

static rynd_status bind(request *r, const rynd_model *model)
{
    const rynd_gradient_options *o = r->options;
    ry_plan_options plan = {.batch = o->batch, .dim_count = o->dim_count};
    bool later;
    if (o->batch < 0) {
        return ry_fail(r->error, RYND_ERROR_ARGUMENT, "batch is %lld: give at least 1",
                       (long long)o->batch);
    }
    RY_TRY(ry_api_take_dims(o->dims, o->dim_count, "rynd_gradient_options", &r->scratch, &plan.dims,
                            r->error));
    RY_TRY(ry_plan_bind_inputs(r->graph, &plan, r->error));
    RY_TRY(ry_api_fold_graph(model, r->graph, &later, r->error));
    return later ? ry_fail(r->error, RYND_ERROR_UNSUPPORTED,
                           "a shape depends on data: such models have no gradients")
                 : RYND_OK;
}

static rynd_status make_graph(request *r, const rynd_model *model)
{
    RY_TRY(take_inputs(r));
    RY_TRY(bind(r, model));
    RY_TRY(take_outputs(r));
    const ry_gradient_request what = {.input_count = r->options->input_count,
                                      .output_count = r->output_count,
                                      .inputs = r->inputs,
                                      .outputs = r->outputs};
    return ry_gradient_graph(r->graph, &what, r->error);
}

static rynd_status make(const rynd_model *model, const rynd_gradient_options *options,
                        rynd_model **gradient, ry_error *error)
{
    request r = {.options = options, .error = error};
    RY_TRY(ry_graph_clone(model->onnx.graph, &r.graph, error));
    ry_arena_init(&r.scratch, &model->context->allocator);
    const rynd_status status = make_graph(&r, model);
    ry_arena_free(&r.scratch);
    if (status != RYND_OK) {
        ry_graph_destroy(r.graph);
        return status;
    }
    return ry_api_part_of(model, model->context, r.graph, gradient, error);
}

rynd_status rynd_model_create_gradient(const rynd_model *model, const rynd_gradient_options *given,
                                       rynd_model **gradient)
{
    RY_API_REQUIRE(model, gradient);
    *gradient = NULL;
    ry_error error = {""};
    rynd_gradient_options options;
    rynd_status status =
        ry_api_options(&options, sizeof options, given, "rynd_gradient_options", &error);
    status = status != RYND_OK ? status : make(model, &options, gradient, &error);
    if (status != RYND_OK && model->onnx.path && *model->onnx.path) {
        ry_error_prefix(&error, "%s: ", model->onnx.path);
    }
    return ry_api_end(status, &error);
}

rynd_status rynd_session_run_forward(rynd_session *session)
{
    RY_API_REQUIRE(session);
    ry_error error = {""};
    return ry_api_end_run(session->plan, ry_session_run_first(session->running, &error), &error);
}

rynd_status rynd_session_run_backward(rynd_session *session)
{
    RY_API_REQUIRE(session);
    ry_error error = {""};
    return ry_api_end_run(session->plan, ry_session_run_second(session->running, &error), &error);
}

size_t rynd_plan_forward_inputs(const rynd_plan *plan)
{
    return plan && plan->plan->parts.outputs ? plan->plan->parts.inputs : 0;
}

size_t rynd_plan_forward_outputs(const rynd_plan *plan)
{
    return plan ? plan->plan->parts.outputs : 0;
}

int rynd_plan_rereads_input(const rynd_plan *plan, size_t index)
{
    const ry_plan_parts *parts = plan ? &plan->plan->parts : NULL;
    return parts && parts->outputs && index < plan->plan->input_count &&
           parts->reads_input[0][index] && parts->reads_input[1][index];
}
