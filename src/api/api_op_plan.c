/* SPDX-License-Identifier: Apache-2.0 */
/* Plans a problem as the only node of a graph, so that it takes the steps that it takes in a model. */
#include "api/api_op_plan.h"

#include "api/api_check.h"
#include "api/api_plan.h"
#include "graph/infer.h"
#include "graph/rewrite.h"
#include "problem/problem_words.h"

#include <stdio.h>
#include <string.h>

/* A constant without values is planned as zeros up to so many bytes, and else as an input. */
static const int64_t MOST_ZEROS = 64 << 20;

static int live_steps(const ry_graph *graph)
{
    int steps = 0;
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        steps += ry_op_get_class(graph->nodes[n].op) != RY_CLASS_VIEW;
    }
    return steps;
}

rynd_status ry_op_rewritten(const rynd_op *op, ry_op_steps *steps, ry_error *error)
{
    ry_graph *graph;
    bool whole, changed = false;
    *steps = RY_OP_ONE;
    RY_TRY(ry_problem_graph(&op->problem, &op->context->allocator, &graph, &whole, error));
    const rynd_status status = whole ? ry_graph_rewrite(graph, &changed, error) : RYND_OK;
    if (changed) {
        *steps = live_steps(graph) > 1 ? RY_OP_SEVERAL : RY_OP_OTHER;
    }
    ry_graph_destroy(graph);
    return status;
}

/* The values of a constant input in row-major order; *data NULL: it is planned as an input. */
static rynd_status constant_data(rynd_op *op, int index, const void **data, ry_error *error)
{
    const ry_tensor *in = &op->in[index];
    const int64_t bytes = (int64_t)ry_tensor_bytes(in);
    const bool named = index < 32 && (op->constants >> index & 1u);
    const void *given = op->constant_data[index];
    *data = NULL;
    if (!given && (!named || bytes > MOST_ZEROS)) {
        return RYND_OK;
    }
    if (given && ry_tensor_is_row_major(in)) {
        *data = given;
        return RYND_OK;
    }
    const ry_shape shape = ry_tensor_shape(in);
    ry_tensor copy = ry_tensor_row_major((ry_dtype)in->dtype, &shape,
                                         ry_arena_take(&op->arena, (size_t)bytes + 1, 1));
    if (!copy.data) {
        return ry_fail_memory(error);
    }
    if (given) {
        ry_tensor from = *in;
        from.data = (void *)(uintptr_t)given;
        ry_tensor_copy(&copy, &from);
    }
    *data = copy.data;
    return RYND_OK;
}

/* Constants stop being inputs of the graph. */
static rynd_status set_constants(rynd_op *op, ry_graph *graph, ry_error *error)
{
    const ry_node *node = &graph->nodes[0];
    size_t inputs = 0;
    for (int i = 0; i < op->problem.inputs; i++) {
        if (!ry_tensor_present(&op->in[i])) {
            continue;
        }
        const void *data;
        RY_TRY(constant_data(op, i, &data, error));
        graph->values[node->in[i]].constant = data;
        if (!data) {
            graph->inputs[inputs++] = node->in[i];
        }
    }
    graph->input_count = inputs;
    return RYND_OK;
}

/* Is the operand one of the plan's inputs? */
static bool is_planned_input(const rynd_op *op, const ry_graph *graph, int index)
{
    return ry_tensor_present(&op->in[index]) && !graph->values[graph->nodes[0].in[index]].constant;
}

/* The strides of the plan's inputs and outputs. */
static rynd_status describe_ends(const rynd_op *op, const ry_graph *graph, ry_arena *arena,
                                 ry_plan_options *options, ry_error *error)
{
    ry_tensor *inputs = RY_TAKE(arena, ry_tensor, graph->input_count),
              *outputs = RY_TAKE(arena, ry_tensor, graph->output_count);
    if (!inputs || !outputs) {
        return ry_fail_memory(error);
    }
    options->inputs = inputs;
    options->outputs = outputs;
    for (int i = 0; i < op->problem.inputs; i++) {
        if (is_planned_input(op, graph, i)) {
            *inputs++ = op->in[i];
        }
    }
    for (int i = 0; i < op->problem.outputs; i++) {
        if (ry_tensor_present(&op->out[i])) {
            *outputs++ = op->out[i];
        }
    }
    return RYND_OK;
}

/* Does the plan use the operator's strides, and plan all of it? */
static bool fits(const ry_plan *plan, const ry_plan_options *options)
{
    bool same = !plan->rest.graph;
    for (size_t i = 0; same && i < plan->input_count; i++) {
        same = ry_tensor_same_map(&plan->inputs[i], &options->inputs[i]);
    }
    for (size_t i = 0; same && i < plan->model_outputs; i++) {
        same = ry_tensor_same_map(&plan->outputs[i].tensor, &options->outputs[i]) &&
               !plan->outputs[i].bounded;
    }
    return same;
}

/* "transpose + matmul_avx512": the steps' kernels; "copy" for a plan that only moves memory. */
static const char *kernel_names(rynd_op *op)
{
    const rynd_plan *plan = op->plan;
    const char *names = plan->plan->step_count ? plan->steps[0].kernel : "copy";
    for (size_t s = 1; names && s < plan->plan->step_count; s++) {
        names = ry_arena_format(&op->arena, "%s + %s", names, plan->steps[s].kernel);
    }
    return names;
}

static rynd_status describe(rynd_op *op, ry_error *error)
{
    const rynd_plan *plan = op->plan;
    const ry_problem *problem = &op->problem;
    ry_accuracy accuracy = RY_ACCURACY_strict;
    snprintf(op->reason, sizeof op->reason, "planned as a graph of one node: %zu steps",
             plan->plan->step_count);
    op->info = RYND_SIZED(rynd_step_info, .problem = ry_problem_print(problem, &op->arena),
                          .kernel = kernel_names(op), .knobs = "",
                          .layout_in = problem->inputs ? ry_layout_name(&problem->in[0]) : "",
                          .layout_out = problem->outputs ? ry_layout_name(&problem->out[0]) : "",
                          .fused = "", .flop = ry_problem_flop(problem),
                          .bytes = ry_problem_bytes(problem), .micro_batches = 1);
    for (size_t s = 0; s < plan->plan->step_count; s++) {
        const ry_accuracy own = plan->plan->steps[s].prepared.kernel->accuracy;
        accuracy = own > accuracy ? own : accuracy;
        op->info.kernel_flop += plan->steps[s].kernel_flop;
        op->info.source = op->info.source * 31 + plan->steps[s].source;
        op->info.reference |= plan->steps[s].reference;
    }
    op->info.accuracy = ry_accuracy_word(accuracy);
    return op->info.problem && op->info.kernel ? RYND_OK : ry_fail_memory(error);
}

static rynd_status plan_in(rynd_op *op, const rynd_op_options *options, ry_graph *graph,
                           ry_arena *arena, bool *planned, ry_error *error)
{
    ry_plan_options internal = {.accuracy = op->problem.accuracy,
                                .settings = options->settings,
                                .setting_count = options->setting_count,
                                .adviser = op->adviser,
                                .own_strides = true,
                                .skip_packing = op->no_values};
    RY_TRY(set_constants(op, graph, error));
    RY_TRY(describe_ends(op, graph, arena, &internal, error));
    RY_TRY(ry_api_plan_graph(op->context, graph, &internal, &op->plan, error));
    if (!fits(op->plan->plan, &internal)) {
        rynd_plan_destroy(op->plan);
        op->plan = NULL;
        return RYND_OK;
    }
    const int operands = op->problem.inputs + op->problem.outputs;
    op->operands = RY_TAKE(&op->arena, ry_pointer, operands);
    *planned = true;
    return op->operands ? describe(op, error) : ry_fail_memory(error);
}

rynd_status ry_op_plan(rynd_op *op, const rynd_op_options *options, bool *planned, ry_error *error)
{
    ry_graph *graph;
    ry_arena arena;
    bool whole;
    *planned = false;
    RY_TRY(ry_problem_graph(&op->problem, &op->context->allocator, &graph, &whole, error));
    ry_arena_init(&arena, &op->context->allocator);
    const rynd_status status = plan_in(op, options, graph, &arena, planned, error);
    ry_arena_free(&arena);
    ry_graph_destroy(graph);
    return status;
}

rynd_status ry_op_bind_session(rynd_op *op, ry_error *error)
{
    size_t input = 0, output = 0;
    for (int i = 0; i < op->problem.inputs; i++) {
        if (op->operands[i].buffer) {
            RY_TRY(ry_session_bind_input_pointer(op->session, input++, op->operands[i], error));
        }
    }
    for (int i = op->problem.inputs; i < op->problem.inputs + op->problem.outputs; i++) {
        if (op->operands[i].buffer) {
            RY_TRY(ry_session_bind_output_pointer(op->session, output++, op->operands[i], error));
        }
    }
    return RYND_OK;
}
