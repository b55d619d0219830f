/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: making one, and reading its decisions. */
#include "api/api_plan.h"

#include "api/api_check.h"
#include "api/api_knobs.h"
#include "api/api_status.h"
#include "api/api_wisdom.h"
#include "api/handles.h"
#include "kernels/form.h"
#include "kernels/kernel_source.h"
#include "plan/make_plan.h"
#include "problem/problem_words.h"

#include <stdio.h>
#include <string.h>

static const char *epilogue_text(bool bias, bool add, ry_activation activation, ry_arena *arena)
{
    static const char *const names[] = {
#define RY_ACTIVATION(name, text) #name,
#include "problem/activations.inc"
#undef RY_ACTIVATION
    };
    const bool act = activation != RY_activation_none;
    return ry_arena_format(arena, "%s%s%s%s%s", bias ? "bias" : "", bias && (add || act) ? " " : "",
                           add ? "add" : "", add && act ? " " : "", act ? names[activation] : "");
}

static const char *separable_text(const ry_problem *problem, ry_arena *arena)
{
    const ry_separable_conv_attrs *a = &problem->attrs.separable_conv;
    const char *first =
        epilogue_text(ry_problem_has_input(problem, 2), false, a->mid_activation, arena);
    const char *second = epilogue_text(ry_problem_has_input(problem, 4),
                                       ry_problem_has_input(problem, 5), a->activation, arena);
    return first && second ? ry_arena_format(arena, "depthwise%s%s, pointwise%s%s",
                                             *first ? " " : "", first, *second ? " " : "", second)
                           : NULL;
}

static const char *fused_text(const ry_problem *problem, ry_arena *arena)
{
    const bool bias = ry_problem_has_input(problem, 2), add = ry_problem_has_input(problem, 3);
    switch (problem->op) {
    case RY_OP_conv: return epilogue_text(bias, add, problem->attrs.conv.activation, arena);
    case RY_OP_convt: return epilogue_text(bias, add, problem->attrs.convt.activation, arena);
    case RY_OP_matmul: return epilogue_text(bias, add, problem->attrs.matmul.activation, arena);
    case RY_OP_separable_conv: return separable_text(problem, arena);
    default: return "";
    }
}

rynd_status ry_api_describe(const ry_prepared *prepared, ry_arena *arena, rynd_step_info *info,
                            ry_error *error)
{
    const ry_kernel *kernel = prepared->kernel;
    const ry_problem *problem = prepared->problem;
    char knobs[RY_FORM_TEXT];
    ry_form_print(kernel, &prepared->form, knobs);
    *info = RYND_SIZED(
        rynd_step_info, .problem = ry_problem_print(problem, arena), .kernel = kernel->name,
        .knobs = ry_arena_string(arena, knobs, strlen(knobs)),
        .layout_in = problem->inputs ? ry_layout_name(&problem->in[0]) : "",
        .layout_out = problem->outputs ? ry_layout_name(&problem->out[0]) : "",
        .fused = fused_text(problem, arena), .flop = ry_problem_flop(problem),
        .bytes = ry_problem_bytes(problem), .accuracy = ry_accuracy_word(kernel->accuracy),
        .kernel_flop = prepared->counts.flop, .micro_batches = 1,
        .source = ry_kernel_source(kernel), .reference = kernel->reference);
    return info->problem && info->knobs && info->fused ? RYND_OK : ry_fail_memory(error);
}

/* Counts all micro-batches: constants are the same in each. */
static void count_micro_batches(const ry_step *step, int64_t micro_batches, rynd_step_info *info)
{
    double constants = 0;
    for (int i = 0; i < step->problem.inputs; i++) {
        constants += step->constants[i].data ? (double)ry_tensor_bytes(&step->constants[i]) : 0;
    }
    info->micro_batches = micro_batches;
    info->flop *= (double)micro_batches;
    info->kernel_flop *= (double)micro_batches;
    info->bytes += (double)(micro_batches - 1) * (info->bytes - constants);
}

static rynd_status describe_steps(rynd_plan *plan, ry_error *error)
{
    plan->steps = RY_TAKE(&plan->texts, rynd_step_info, plan->plan->step_count);
    if (!plan->steps) {
        return ry_fail_memory(error);
    }
    for (size_t s = 0; s < plan->plan->step_count; s++) {
        const ry_step *step = &plan->plan->steps[s];
        RY_TRY(ry_api_describe(&step->prepared, &plan->texts, &plan->steps[s], error));
        count_micro_batches(step, ry_plan_batch_split_of(plan->plan, s)->micro_batches,
                            &plan->steps[s]);
        plan->steps[s].name = step->name;
        plan->steps[s].op = step->source;
        plan->steps[s].reason = step->reason;
        plan->steps[s].activations = step->activations;
        plan->steps[s].workspace = ry_prepared_workspace(&step->prepared) +
                                   step->prepared.scratch * plan->plan->device->workers;
    }
    return RYND_OK;
}

static rynd_status check_options(const rynd_plan_options *options, ry_error *error)
{
    RY_TRY(ry_api_check_accuracy(options->accuracy, error));
    if (options->batch < 0) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "batch is %lld: give at least 1",
                       (long long)options->batch);
    }
    return RYND_OK;
}

rynd_status ry_api_take_dims(const rynd_dim *given, size_t count, const char *what, ry_arena *arena,
                             const ry_dim_binding **dims, ry_error *error)
{
    if (count && !given) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "%s: dim_count is %zu and dims is NULL", what,
                       count);
    }
    ry_dim_binding *taken = RY_TAKE(arena, ry_dim_binding, count);
    if (!taken) {
        return ry_fail_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        if (!given[i].symbol) {
            return ry_fail(error, RYND_ERROR_ARGUMENT, "%s: dims[%zu].symbol is NULL", what, i);
        }
        taken[i] = (ry_dim_binding){given[i].symbol, given[i].value};
    }
    *dims = taken;
    return RYND_OK;
}

static rynd_status take_input(const ry_value *value, const rynd_tensor *given, ry_tensor *taken,
                              ry_error *error)
{
    RY_TRY(ry_api_take_tensor(given, taken, error));
    if (value->dtype != RY_NONE && taken->dtype != (rynd_dtype)value->dtype) {
        return ry_fail(error, RYND_ERROR_SHAPE, "the model has %s, given %s",
                       ry_dtype_name(value->dtype), ry_dtype_name((ry_dtype)taken->dtype));
    }
    return RYND_OK;
}

/* given NULL: *inputs is NULL, too. */
static rynd_status take_inputs(const ry_graph *graph, const rynd_tensor *given, ry_arena *arena,
                               const ry_tensor **inputs, ry_error *error)
{
    ry_tensor *taken = given ? RY_TAKE(arena, ry_tensor, graph->input_count) : NULL;
    if (given && !taken) {
        return ry_fail_memory(error);
    }
    for (size_t i = 0; given && i < graph->input_count; i++) {
        const ry_value *value = &graph->values[graph->inputs[i]];
        const rynd_status status = given[i].dtype == RYND_DTYPE_NONE
                                       ? RYND_OK
                                       : take_input(value, &given[i], &taken[i], error);
        if (status != RYND_OK) {
            ry_error_prefix(error, "rynd_plan_options: input '%s': ", value->name);
            return status;
        }
    }
    *inputs = taken;
    return RYND_OK;
}

static rynd_status plan_graph(rynd_plan *p, const ry_graph *graph, const ry_plan_options *options,
                              ry_error *error)
{
    RY_TRY(ry_plan_create(p->context->device, graph, options, &p->plan, error));
    RY_TRY(ry_api_describe_form(p, error));
    return describe_steps(p, error);
}

/* A handle without a plan; NULL when memory is out. */
static rynd_plan *start(rynd_context *context)
{
    rynd_plan *plan = ry_allocate_array(&context->allocator, 1, sizeof *plan);
    if (plan) {
        plan->context = context;
        ry_arena_init(&plan->texts, &context->allocator);
    }
    return plan;
}

rynd_status ry_api_plan_graph(rynd_context *context, const ry_graph *graph,
                              const ry_plan_options *options, rynd_plan **plan, ry_error *error)
{
    rynd_plan *p = start(context);
    const rynd_status status = p ? plan_graph(p, graph, options, error) : ry_fail_memory(error);
    if (status != RYND_OK) {
        rynd_plan_destroy(p);
        return status;
    }
    *plan = p;
    return RYND_OK;
}

static rynd_status create(rynd_plan *p, const rynd_model *model, const rynd_plan_options *options,
                          const ry_adviser *adviser, ry_api_memory memory, ry_error *error)
{
    const ry_tensor *inputs;
    const ry_dim_binding *dims;
    RY_TRY(check_options(options, error));
    RY_TRY(options->without_weights ? RYND_OK : ry_api_check_runs(model->context->device, error));
    RY_TRY(ry_api_check_settings(options->settings, options->setting_count, true,
                                 "rynd_plan_options", error));
    RY_TRY(take_inputs(model->onnx.graph, options->inputs, &p->texts, &inputs, error));
    RY_TRY(ry_api_take_dims(options->dims, options->dim_count, "rynd_plan_options", &p->texts,
                            &dims, error));
    ry_plan_options internal = {
        .accuracy = ry_api_accuracy(options->accuracy),
        .inputs = inputs,
        .batch = options->batch,
        .dims = dims,
        .dim_count = options->dim_count,
        .unneeded = {ry_onnx_unneeded, &model->onnx},
        .settings = options->settings,
        .setting_count = options->setting_count,
        .adviser = adviser,
        .memory_limit = memory.limit,
        .memory_reserved = memory.beside,
        .memory_least = memory.least,
        .skip_packing = options->without_weights != 0,
        .weights = model->weights,
        .own_weights = options->own_weights,
        .progress = options->progress,
        .progress_user = options->progress_user,
    };
    return plan_graph(p, model->onnx.graph, &internal, error);
}

rynd_status ry_api_plan_create(const rynd_model *model, const rynd_plan_options *options,
                               const ry_adviser *adviser, rynd_plan **plan, ry_error *error)
{
    return ry_api_plan_create_within(model, options, adviser, (ry_api_memory){0}, plan, error);
}

rynd_status ry_api_plan_create_within(const rynd_model *model, const rynd_plan_options *options,
                                      const ry_adviser *adviser, ry_api_memory memory,
                                      rynd_plan **plan, ry_error *error)
{
    rynd_plan *p = start(model->context);
    rynd_status status = p ? RYND_OK : ry_fail_memory(error);
    if (status == RYND_OK) {
        p->path = model->onnx.path;
        status = create(p, model, options, adviser, memory, error);
    }
    if (status != RYND_OK) {
        if (model->onnx.path && *model->onnx.path && status != RYND_ERROR_ARGUMENT) {
            ry_error_prefix(error, "%s: ", model->onnx.path);
        }
        rynd_plan_destroy(p);
        return status;
    }
    ry_api_tell_warnings(model, p->plan->graph);
    *plan = p;
    return RYND_OK;
}

rynd_status rynd_plan_create(const rynd_model *model, const rynd_plan_options *given,
                             rynd_plan **plan)
{
    RY_API_REQUIRE(model, plan);
    *plan = NULL;
    ry_error error = {""};
    rynd_plan_options options;
    rynd_status status =
        ry_api_options(&options, sizeof options, given, "rynd_plan_options", &error);
    if (status == RYND_OK) {
        status = ry_api_plan_create(model, &options, ry_api_adviser(model->context), plan, &error);
    }
    return ry_api_end(status, &error);
}

void rynd_plan_destroy(rynd_plan *plan)
{
    if (plan) {
        ry_plan_destroy(plan->plan);
        ry_arena_free(&plan->texts);
        ry_release(&plan->context->allocator, plan);
    }
}

rynd_status rynd_plan_get_memory(const rynd_plan *plan, rynd_memory *memory)
{
    RY_API_REQUIRE(plan, memory);
    ry_error error = {""};
    const ry_plan *p = plan->plan;
    rynd_memory all = {
        .weights = p->weights.packed_size + p->weights.host_packed_size + p->weights.constant_size,
        .activations = p->values_size,
        .workspace = p->arena_size - p->values_size,
    };
    for (size_t i = 0; i < p->output_count; i++) {
        const ry_plan_output *output = &p->outputs[i];
        if (output->location.storage == RY_STORAGE_OUTPUT && output->location.index == i) {
            all.activations += ry_tensor_bytes(&output->tensor);
        }
    }
    for (size_t i = 0; i < p->state_count; i++) {
        all.weights += ry_tensor_bytes(&p->inputs[p->states[i].input]);
    }
    all.total = all.weights + all.activations + all.workspace;
    return ry_api_end(ry_api_info(memory, &all, sizeof all, "rynd_memory", &error), &error);
}

double rynd_plan_planning_seconds(const rynd_plan *plan)
{
    return plan ? plan->plan->seconds : 0;
}

size_t rynd_plan_step_count(const rynd_plan *plan)
{
    return plan ? plan->plan->step_count : 0;
}

rynd_status rynd_plan_get_step(const rynd_plan *plan, size_t index, rynd_step_info *info)
{
    RY_API_REQUIRE(plan, info);
    ry_error error = {""};
    if (index >= plan->plan->step_count) {
        return ry_api_end(ry_fail(&error, RYND_ERROR_ARGUMENT, "step %zu: the plan has %zu", index,
                                  plan->plan->step_count),
                          &error);
    }
    return ry_api_end(
        ry_api_info(info, &plan->steps[index], sizeof *info, "rynd_step_info", &error), &error);
}

int rynd_plan_complete(const rynd_plan *plan)
{
    return plan && plan->plan->rest.graph == NULL;
}

rynd_status rynd_plan_get_input(const rynd_plan *plan, size_t index, rynd_tensor *tensor)
{
    RY_API_REQUIRE(plan, tensor);
    ry_error error = {""};
    if (index >= plan->plan->input_count) {
        return ry_api_end(ry_fail(&error, RYND_ERROR_ARGUMENT, "input %zu: the plan has %zu", index,
                                  plan->plan->input_count),
                          &error);
    }
    *tensor = plan->plan->inputs[index];
    return RYND_OK;
}

rynd_status ry_api_find_name(const ry_names *names, const char *kind, const char *name,
                             size_t *index, ry_error *error)
{
    const uint32_t found = ry_names_find(names, name);
    *index = found;
    return found != RY_NO_NAME
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_NOT_FOUND, "the model has no %s '%s'", kind, name);
}

rynd_status rynd_plan_get_input_named(const rynd_plan *plan, const char *name, rynd_tensor *tensor)
{
    RY_API_REQUIRE(plan, name, tensor);
    ry_error error = {""};
    size_t index;
    const rynd_status status =
        ry_api_find_name(&plan->plan->input_index, "input", name, &index, &error);
    return status == RYND_OK ? rynd_plan_get_input(plan, index, tensor)
                             : ry_api_end(status, &error);
}

rynd_status rynd_plan_get_output_named(const rynd_plan *plan, const char *name, rynd_tensor *tensor)
{
    RY_API_REQUIRE(plan, name, tensor);
    ry_error error = {""};
    size_t index;
    const rynd_status status =
        ry_api_find_name(&plan->plan->output_index, "output", name, &index, &error);
    return status == RYND_OK ? rynd_plan_get_output(plan, index, tensor)
                             : ry_api_end(status, &error);
}

rynd_status rynd_plan_get_output(const rynd_plan *plan, size_t index, rynd_tensor *tensor)
{
    RY_API_REQUIRE(plan, tensor);
    ry_error error = {""};
    if (index >= plan->plan->model_outputs) {
        return ry_api_end(ry_fail(&error, RYND_ERROR_ARGUMENT, "output %zu: the plan has %zu",
                                  index, plan->plan->model_outputs),
                          &error);
    }
    *tensor = plan->plan->outputs[index].tensor;
    return RYND_OK;
}
