/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions and their gradients on the caller's memory: small models, planned and run as others.
 */
#include "api/api_check.h"
#include "api/api_plan.h"
#include "api/api_status.h"
#include "api/api_wisdom.h"
#include "api/handles.h"
#include "expr/expr.h"
#include "graph/infer.h"
#include "train/gradient_expr.h"

#include <stdio.h>
#include <string.h>

struct rynd_expr {
    rynd_context *context;
    ry_arena arena;
    rynd_model *model;
    rynd_plan *plan;
    rynd_session *session;
    ry_tensor *inputs;  /* as described: what is planned for */
    ry_tensor *outputs; /* likewise; NULL: row-major */
    rynd_accuracy accuracy;
    bool is_gradient;
};

/* "x3". */
typedef struct value_name {
    char text[16];
} value_name;

static value_name name_of(const char *prefix, size_t index)
{
    value_name name;
    snprintf(name.text, sizeof name.text, "%s%zu", prefix, index);
    return name;
}

static rynd_status take_inputs(rynd_expr *e, const rynd_tensor *given, size_t count,
                               ry_error *error)
{
    e->inputs = RY_TAKE(&e->arena, ry_tensor, count);
    if (!e->inputs) {
        return ry_fail_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        rynd_status status = ry_api_take_tensor(&given[i], &e->inputs[i], error);
        if (status == RYND_OK && given[i].dtype == RYND_DTYPE_NONE) {
            status = ry_fail(error, RYND_ERROR_ARGUMENT, "its dtype is NONE");
        }
        if (status != RYND_OK) {
            ry_error_prefix(error, "rynd_expr_options: input %zu: ", i);
            return status;
        }
        e->inputs[i].data = NULL;
    }
    return RYND_OK;
}

static rynd_status take_axes(const rynd_expr_options *options, ry_expr_attrs *attrs,
                             ry_error *error)
{
    if (options->axis_count > RY_MAX_RANK) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "rynd_expr_options: %zu axes, at most %d dims are there",
                       options->axis_count, RY_MAX_RANK);
    }
    attrs->axes.count = options->axes ? (int)options->axis_count : 0;
    attrs->noop_empty = options->axes != NULL; /* an empty list reduces nothing */
    attrs->keepdims = options->keepdims != 0;
    for (int i = 0; i < attrs->axes.count; i++) {
        attrs->axes.at[i] = options->axes[i];
    }
    return RYND_OK;
}

/* A program and its options, as attributes and inputs. */
static rynd_status take_program(rynd_expr *e, const char *text, const rynd_expr_options *options,
                                ry_attrs *attrs, ry_error *error)
{
    RY_TRY(ry_expr_parse(text, NULL, 0, &e->arena, &attrs->expr.program, error));
    const size_t inputs = (size_t)attrs->expr.program->inputs;
    if (options->input_count != inputs || (inputs > 0 && !options->inputs)) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "rynd_expr_options: %zu inputs are described, the expression has %zu",
                       options->inputs ? options->input_count : 0, inputs);
    }
    RY_TRY(take_axes(options, &attrs->expr, error));
    return take_inputs(e, options->inputs, inputs, error);
}

/* A problem's text has them all. */
static rynd_status take_problem(rynd_expr *e, const char *text, const rynd_expr_options *options,
                                ry_attrs *attrs, ry_error *error)
{
    ry_problem problem;
    RY_TRY(ry_problem_parse(text, &e->arena, &problem, error));
    if (problem.op != RY_OP_expr) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "'%.200s' is a problem of %s: give an expression, or a problem of expr",
                       text, ry_op_name(problem.op));
    }
    if (options->inputs || options->axes || options->input_count || options->axis_count ||
        options->keepdims) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "rynd_expr_options: a problem's text has inputs, axes and keepdims itself");
    }
    RY_TRY(ry_problem_check(&problem, &e->context->allocator, error));
    *attrs = problem.attrs;
    return take_inputs(e, problem.in, (size_t)attrs->expr.program->inputs, error);
}

static bool add_outputs(ry_graph *graph, int count, const ry_value_id *values)
{
    bool added = true;
    for (int o = 0; o < count; o++) {
        added = added && ry_graph_add_output(graph, values[o]);
    }
    return added;
}

/* The graph of one node. */
static rynd_status fill_graph(const rynd_expr *e, const ry_attrs *attrs, ry_graph *graph,
                              ry_error *error)
{
    ry_value_id x[RY_EXPR_MAX_INPUTS], y[RY_EXPR_MAX_OUTPUTS];
    const ry_expr *program = attrs->expr.program;
    ry_attrs own = *attrs;
    int map[RY_EXPR_MAX_INPUTS];
    bool added = true;
    for (int i = 0; i < program->inputs; i++) {
        const ry_shape shape = ry_tensor_shape(&e->inputs[i]);
        map[i] = i;
        x[i] = ry_graph_add_value(graph, name_of("x", (size_t)i).text, (ry_dtype)e->inputs[i].dtype,
                                  &shape);
        added = added && x[i] != RY_NO_VALUE && ry_graph_add_input(graph, x[i]);
    }
    for (int o = 0; o < program->outputs; o++) {
        y[o] = ry_graph_add_value(graph, name_of("y", (size_t)o).text, RY_NONE, NULL);
        added = added && y[o] != RY_NO_VALUE;
    }
    /* the program shall live as long as the graph */
    RY_TRY(ry_expr_rename(program, map, program->inputs, &graph->arena, &own.expr.program, error));
    const ry_node_id node = added ? ry_graph_add_node(graph, RY_OP_expr, "expr", "expr", &own,
                                                      program->inputs, x, program->outputs, y)
                                  : RY_NO_NODE;
    if (node == RY_NO_NODE || !add_outputs(graph, program->outputs, y)) {
        return ry_fail_memory(error);
    }
    rynd_status status = RYND_OK;
    ry_infer_node(graph, &graph->nodes[node], error, &status);
    return status;
}

static rynd_status take_output(const rynd_expr *e, size_t index, const rynd_tensor *given,
                               ry_error *error)
{
    const ry_graph *graph = e->model->onnx.graph;
    ry_tensor *own = &e->outputs[index];
    RY_TRY(ry_api_take_tensor(given, own, error));
    if (!ry_tensor_present(own)) {
        return RYND_OK;
    }
    const ry_value *y = &graph->values[graph->outputs[index]];
    const ry_shape shape = ry_tensor_shape(own);
    if (own->dtype != (rynd_dtype)y->dtype || !ry_shape_equal(&shape, &y->shape)) {
        return ry_fail(error, RYND_ERROR_SHAPE,
                       "its dtype and dims are not those that the expression gives");
    }
    return ry_api_check_writable(own, error);
}

/* The strides of outputs. */
static rynd_status take_outputs(rynd_expr *e, const rynd_expr_options *options, ry_error *error)
{
    const size_t count = e->model->onnx.graph->output_count;
    if (!options->outputs && !options->output_count) {
        return RYND_OK;
    }
    if (!options->outputs || options->output_count != count) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "rynd_expr_options: %zu outputs are described, the expression has %zu",
                       options->outputs ? options->output_count : 0, count);
    }
    e->outputs = RY_TAKE(&e->arena, ry_tensor, count);
    if (!e->outputs) {
        return ry_fail_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        const rynd_status status = take_output(e, i, &options->outputs[i], error);
        if (status != RYND_OK) {
            ry_error_prefix(error, "rynd_expr_options: output %zu: ", i);
            return status;
        }
        e->outputs[i].data = NULL;
    }
    return RYND_OK;
}

/* The graph is the expression's then, also when this fails. */
static rynd_status take_graph(rynd_expr *e, ry_graph *graph, ry_error *error)
{
    e->model = ry_allocate_array(&e->context->allocator, 1, sizeof *e->model);
    if (!e->model) {
        ry_graph_destroy(graph);
        return ry_fail_memory(error);
    }
    e->model->context = e->context;
    e->model->onnx.graph = graph;
    return RYND_OK;
}

static rynd_status make_graph(rynd_expr *e, const char *text, const rynd_expr_options *options,
                              ry_error *error)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_expr);
    ry_graph *graph;
    RY_TRY(ry_api_check_accuracy(options->accuracy, error));
    e->accuracy = options->accuracy;
    RY_TRY(rynd_op_is_problem(text) ? take_problem(e, text, options, &attrs, error)
                                    : take_program(e, text, options, &attrs, error));
    RY_TRY(ry_graph_create(&e->context->allocator, &graph, error));
    RY_TRY(take_graph(e, graph, error));
    RY_TRY(fill_graph(e, &attrs, graph, error));
    return take_outputs(e, options, error);
}

/* Makes plan and session. */
static rynd_status get_ready(rynd_expr *e)
{
    const ry_plan_options options = {.accuracy = ry_api_accuracy(e->accuracy),
                                     .inputs = e->inputs,
                                     .outputs = e->outputs,
                                     .adviser = ry_api_adviser(e->context)};
    ry_error error = {""};
    rynd_status status = ry_api_check_runs(e->context->device, &error);
    if (status == RYND_OK) {
        status = ry_api_plan_graph(e->context, e->model->onnx.graph, &options, &e->plan, &error);
    }
    return status == RYND_OK ? rynd_session_create(e->plan, &e->session)
                             : ry_api_end(status, &error);
}

static rynd_status begin(rynd_context *context, rynd_expr **expr, ry_error *error)
{
    *expr = ry_allocate_array(&context->allocator, 1, sizeof **expr);
    if (!*expr) {
        return ry_fail_memory(error);
    }
    (*expr)->context = context;
    ry_arena_init(&(*expr)->arena, &context->allocator);
    return RYND_OK;
}

/* `status` is of what made the graph. */
static rynd_status finish(rynd_expr *e, rynd_status status, ry_error *error, rynd_expr **expr)
{
    status = status == RYND_OK ? get_ready(e) : ry_api_end(status, error);
    if (status != RYND_OK) {
        rynd_expr_destroy(e);
        return status;
    }
    *expr = e;
    return RYND_OK;
}

rynd_status rynd_expr_create(rynd_context *context, const char *text,
                             const rynd_expr_options *given, rynd_expr **expr)
{
    RY_API_REQUIRE(context, text, expr);
    *expr = NULL;
    ry_error error = {""};
    rynd_expr_options options;
    rynd_expr *e = NULL;
    rynd_status status =
        ry_api_options(&options, sizeof options, given, "rynd_expr_options", &error);
    if (status == RYND_OK) {
        status = begin(context, &e, &error);
    }
    if (status == RYND_OK) {
        status = make_graph(e, text, &options, &error);
    }
    return finish(e, status, &error, expr);
}

void rynd_expr_destroy(rynd_expr *expr)
{
    if (expr) {
        rynd_session_destroy(expr->session);
        rynd_plan_destroy(expr->plan);
        rynd_model_destroy(expr->model);
        ry_arena_free(&expr->arena);
        ry_release(&expr->context->allocator, expr);
    }
}

/* What a gradient is made of while it is made. */
typedef struct derivation {
    rynd_expr *e;
    ry_graph *graph;
    int inputs; /* inputs of the expression */
    bool wanted[RY_EXPR_MAX_INPUTS];
    ry_value_id x[RY_EXPR_MAX_INPUTS], dx[RY_EXPR_MAX_INPUTS], dy[RY_EXPR_MAX_OUTPUTS];
    ry_error *error;
} derivation;

static rynd_status take_wanted(derivation *d, const int *wanted)
{
    bool any = false;
    for (int i = 0; i < d->inputs; i++) {
        d->x[i] = d->graph->inputs[i];
        const ry_dtype dtype = d->graph->values[d->x[i]].dtype;
        const bool is_float = ry_dtype_is_float(dtype);
        d->wanted[i] = wanted ? wanted[i] != 0 : is_float;
        any = any || d->wanted[i];
        if (d->wanted[i] && !is_float) {
            return ry_fail(d->error, RYND_ERROR_ARGUMENT,
                           "rynd_expr_create_gradient: x%d is %s, which has no gradient", i,
                           ry_dtype_name(dtype));
        }
    }
    return any ? RYND_OK
               : ry_fail(d->error, RYND_ERROR_ARGUMENT,
                         "rynd_expr_create_gradient: no input's gradient is wanted");
}

/* dy0, dy1, ... become inputs behind the expression's. */
static rynd_status add_gradients(derivation *d)
{
    ry_graph *graph = d->graph;
    const size_t outputs = graph->output_count;
    bool any = false;
    d->e->inputs = RY_TAKE(&d->e->arena, ry_tensor, (size_t)d->inputs + outputs);
    if (!d->e->inputs) {
        return ry_fail_memory(d->error);
    }
    for (size_t o = 0; o < outputs; o++) {
        const ry_value y = graph->values[graph->outputs[o]];
        d->dy[o] = RY_NO_VALUE;
        if (!ry_dtype_is_float(y.dtype)) {
            continue;
        }
        d->dy[o] = ry_graph_add_value(graph, name_of("dy", o).text, y.dtype, &y.shape);
        if (d->dy[o] == RY_NO_VALUE || !ry_graph_add_input(graph, d->dy[o])) {
            return ry_fail_memory(d->error);
        }
        d->e->inputs[graph->input_count - 1] = ry_tensor_row_major(y.dtype, &y.shape, NULL);
        any = true;
    }
    return any ? RYND_OK
               : ry_fail(d->error, RYND_ERROR_ARGUMENT,
                         "rynd_expr_create_gradient: no output is a float, which has a gradient");
}

static bool is_input(const ry_graph *graph, ry_value_id value)
{
    for (size_t i = 0; i < graph->input_count; i++) {
        if (graph->inputs[i] == value) {
            return true;
        }
    }
    return false;
}

/* An output is a value of its own: zeros where nothing depends on the input, a copy of what is an
 * input or another output. */
static rynd_status add_output(derivation *d, int i)
{
    ry_emitter emitter = {.graph = d->graph, .name = "gradient", .error = d->error};
    const ry_value x = d->graph->values[d->x[i]];
    ry_value_id dx = d->dx[i];
    if (dx == RY_NO_VALUE) {
        dx = ry_emit_filled(&emitter, x.dtype, &x.shape, 0);
    }
    if (emitter.status == RYND_OK && (is_input(d->graph, dx) || ry_graph_is_output(d->graph, dx) ||
                                      d->graph->values[dx].constant)) {
        dx = ry_emit_expr(&emitter, "x0", 1, &dx);
    }
    RY_TRY(emitter.status);
    return ry_graph_rename_value(d->graph, dx, name_of("dx", (size_t)i).text) &&
                   ry_graph_add_output(d->graph, dx)
               ? RYND_OK
               : ry_fail_memory(d->error);
}

static rynd_status derive(derivation *d, const rynd_expr *expr, const int *wanted)
{
    RY_TRY(ry_graph_clone(expr->model->onnx.graph, &d->graph, d->error));
    RY_TRY(take_graph(d->e, d->graph, d->error));
    d->inputs = (int)d->graph->input_count;
    RY_TRY(take_wanted(d, wanted));
    RY_TRY(add_gradients(d));
    memcpy(d->e->inputs, expr->inputs, (size_t)d->inputs * sizeof *d->e->inputs);
    ry_graph_clear_outputs(d->graph);
    const ry_gradient_call call = {.graph = d->graph,
                                   .node = 0,
                                   .dy = d->dy,
                                   .wanted = d->wanted,
                                   .dx = d->dx,
                                   .error = d->error};
    RY_TRY(ry_gradient_expr_of_inputs(&call));
    for (int i = 0; i < d->inputs; i++) {
        RY_TRY(d->wanted[i] ? add_output(d, i) : RYND_OK);
    }
    return ry_graph_compact(d->graph, d->error);
}

static rynd_status make_gradient(rynd_expr *e, const rynd_expr *expr, const int *wanted,
                                 ry_error *error)
{
    if (expr->is_gradient) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                       "rynd_expr_create_gradient: this is a gradient, which has none");
    }
    derivation *d = ry_allocate_array(&expr->context->allocator, 1, sizeof *d);
    if (!d) {
        return ry_fail_memory(error);
    }
    e->is_gradient = true;
    e->accuracy = expr->accuracy;
    d->e = e;
    d->error = error;
    const rynd_status status = derive(d, expr, wanted);
    ry_release(&expr->context->allocator, d);
    return status;
}

rynd_status rynd_expr_create_gradient(const rynd_expr *expr, const int *wanted,
                                      rynd_expr **gradient)
{
    RY_API_REQUIRE(expr, gradient);
    *gradient = NULL;
    ry_error error = {""};
    rynd_expr *e = NULL;
    rynd_status status = begin(expr->context, &e, &error);
    if (status == RYND_OK) {
        status = make_gradient(e, expr, wanted, &error);
    }
    return finish(e, status, &error, gradient);
}

size_t rynd_expr_input_count(const rynd_expr *expr)
{
    return expr ? rynd_model_input_count(expr->model) : 0;
}

size_t rynd_expr_output_count(const rynd_expr *expr)
{
    return expr ? rynd_model_output_count(expr->model) : 0;
}

rynd_status rynd_expr_get_input(const rynd_expr *expr, size_t index, rynd_tensor *tensor)
{
    RY_API_REQUIRE(expr, tensor);
    return rynd_plan_get_input(expr->plan, index, tensor);
}

rynd_status rynd_expr_get_output(const rynd_expr *expr, size_t index, rynd_tensor *tensor)
{
    RY_API_REQUIRE(expr, tensor);
    return rynd_plan_get_output(expr->plan, index, tensor);
}

static rynd_status bind_all(rynd_session *session, size_t count,
                            rynd_status (*bind)(rynd_session *, size_t, const rynd_tensor *),
                            const rynd_tensor *tensors)
{
    for (size_t i = 0; i < count; i++) {
        RY_TRY(bind(session, i, &tensors[i]));
    }
    return RYND_OK;
}

rynd_status rynd_expr_execute(rynd_expr *expr, const rynd_tensor *inputs,
                              const rynd_tensor *outputs)
{
    RY_API_REQUIRE(expr, inputs, outputs);
    const ry_graph *graph = expr->model->onnx.graph;
    RY_TRY(bind_all(expr->session, graph->input_count, rynd_session_bind_input, inputs));
    RY_TRY(bind_all(expr->session, graph->output_count, rynd_session_bind_output, outputs));
    return rynd_session_run(expr->session);
}

rynd_model *rynd_expr_model(const rynd_expr *expr)
{
    return expr ? expr->model : NULL;
}

const rynd_plan *rynd_expr_plan(const rynd_expr *expr)
{
    return expr ? expr->plan : NULL;
}
