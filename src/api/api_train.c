/* SPDX-License-Identifier: Apache-2.0 */
/* Trainers: from options to a plan of a step. */
#include "api/api_check.h"
#include "api/api_part.h"
#include "api/api_plan.h"
#include "api/api_session.h"
#include "api/api_status.h"
#include "api/api_wisdom.h"
#include "api/trainer.h"
#include "plan/fold.h"
#include "plan/fold_cost.h"
#include "plan/make_plan.h"

#include <string.h>

rynd_status ry_trainer_end(const rynd_trainer *trainer, rynd_status status, ry_error *error)
{
    const char *path = trainer->model->onnx.path;
    if (path && *path && status == RYND_ERROR_OUT_OF_MEMORY) {
        ry_error_prefix(error, "%s: ", path);
    }
    return ry_api_end(status, error);
}

/* Size of a bucket: large enough for bandwidth to outweigh latency, small enough for the last
 * bucket, which overlaps with no step, to finish soon. */
enum { BUCKET_BYTES = 8 << 20 };

rynd_status ry_trainer_run_create(const rynd_trainer *trainer, ry_graph *graph,
                                  const rynd_trainer_options *options, ry_api_memory memory,
                                  ry_trainer_run *run, ry_error *error)
{
    rynd_context *context = trainer->model->context;
    rynd_plan_options plan = RYND_SIZED(rynd_plan_options, .accuracy = trainer->accuracy);
    if (options) {
        plan.settings = options->settings;
        plan.setting_count = options->setting_count;
    }
    RY_TRY(ry_api_part_of(trainer->model, context, graph, &run->model, error));
    run->model->onnx.path = NULL; /* whoever asked puts it in front */
    RY_TRY(ry_api_plan_create_within(run->model, &plan, ry_api_adviser(context), memory, &run->plan,
                                     error));
    run->bound =
        ry_allocate_array(&context->allocator, run->plan->plan->input_count, sizeof *run->bound);
    if (!run->bound) {
        return ry_fail_memory(error);
    }
    run->session = ry_allocate_array(&context->allocator, 1, sizeof *run->session);
    if (!run->session) {
        return ry_fail_memory(error);
    }
    run->session->plan = run->plan;
    const ry_unneeded unneeded = {ry_onnx_unneeded, &trainer->model->onnx};
    return ry_session_create(run->plan->plan, &unneeded, &run->session->running, error);
}

void ry_trainer_run_destroy(ry_trainer_run *run)
{
    if (run->model) {
        ry_sharing_destroy(run->sharing);
        const ry_allocator *allocator = &run->model->context->allocator;
        rynd_session_destroy(run->session);
        rynd_plan_destroy(run->plan);
        ry_release(allocator, run->bound);
        rynd_model_destroy(run->model);
    }
    *run = (ry_trainer_run){0};
}

/* Shapes of the model's inputs, without content. */
static rynd_status take_inputs(const rynd_trainer *t, const rynd_tensor *given,
                               const ry_tensor **inputs, ry_arena *arena, ry_error *error)
{
    ry_tensor *taken = given ? RY_TAKE(arena, ry_tensor, t->inputs) : NULL;
    if (given && !taken) {
        return ry_fail_memory(error);
    }
    for (size_t i = 0; given && i < t->inputs; i++) {
        if (given[i].dtype == RYND_DTYPE_NONE) {
            continue;
        }
        const rynd_status status = ry_api_take_tensor(&given[i], &taken[i], error);
        if (status != RYND_OK) {
            ry_error_prefix(error, "rynd_trainer_options: input %zu: ", i);
            return status;
        }
        taken[i].data = NULL;
    }
    *inputs = taken;
    return RYND_OK;
}

/* Sizes are bound, and what does not depend on parameters is folded. */
static rynd_status bind(rynd_trainer *t, const rynd_trainer_options *o, ry_error *error)
{
    ry_plan_options plan = {.batch = o->batch, .dim_count = o->dim_count};
    const ry_target target = ry_target_here(t->model->context->host);
    bool *later;
    RY_TRY(ry_api_take_dims(o->dims, o->dim_count, "rynd_trainer_options", &t->arena, &plan.dims,
                            error));
    RY_TRY(take_inputs(t, o->inputs, &plan.inputs, &t->arena, error));
    RY_TRY(ry_plan_bind_inputs(t->graph, &plan, error));
    ry_plan_give_allowance(t->graph);
    RY_TRY(ry_plan_fold(t->graph, &target, &later, error));
    for (ry_node_id n = 0; n < t->graph->node_count; n++) {
        const ry_node *node = &t->graph->nodes[n];
        if (node->op != RY_OP_dead && later[n]) {
            return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                           "node '%s' (%s): a shape depends on data, and such models are not "
                           "trained",
                           node->name, node->source);
        }
    }
    return ry_graph_compact(t->graph, error);
}

static void add_state(rynd_trainer *t, const ry_trainer_run *run, uint32_t index)
{
    const ry_plan *plan = run->plan->plan;
    ry_trainer_state *state = &t->states[t->state_count];
    *state = (ry_trainer_state){
        .name = plan->input_names[plan->states[index].input], .run = run, .index = index};
    for (size_t i = 0; i < t->training->count; i++) {
        const ry_training_parameter *p = &t->training->parameters[i];
        if (run == &t->step && p->sum == index) {
            return; /* it does not outlive an update */
        }
        if (ry_trainer_run_of(t, p) == run && p->state == index) {
            state->parameter = p;
        }
    }
    t->state_count++;
}

static rynd_status list_states(rynd_trainer *t, ry_error *error)
{
    const ry_trainer_run *runs[] = {&t->update, &t->step};
    size_t count = 0;
    for (size_t r = 0; r < 2; r++) {
        count += runs[r]->plan ? runs[r]->plan->plan->state_count : 0;
    }
    t->states = RY_TAKE(&t->arena, ry_trainer_state, count);
    if (!t->states) {
        return ry_fail_memory(error);
    }
    for (size_t r = 0; r < 2; r++) {
        const size_t own = runs[r]->plan ? runs[r]->plan->plan->state_count : 0;
        for (uint32_t i = 0; i < own; i++) {
            add_state(t, runs[r], i);
        }
    }
    return RYND_OK;
}

static rynd_status bind_scalar(const ry_trainer_run *run, size_t input, ry_dtype dtype,
                               void *number, ry_error *error)
{
    const ry_shape scalar = {.rank = 0};
    const ry_tensor tensor = ry_tensor_row_major(dtype, &scalar, number);
    return ry_session_bind_input(ry_trainer_session(run), input, &tensor, error);
}

/* Each run reads where the other keeps. */
static rynd_status bind_update(rynd_trainer *t, ry_error *error)
{
    size_t sums = 0;
    for (size_t i = 0; i < t->training->count; i++) {
        const ry_training_parameter *p = &t->training->parameters[i];
        if (p->statistic) {
            continue;
        }
        ry_session *step = ry_trainer_session(&t->step), *update = ry_trainer_session(&t->update);
        RY_TRY(ry_session_bind_input_pointer(step, p->input,
                                             ry_session_state_pointer(update, p->state), error));
        RY_TRY(ry_session_bind_input_pointer(update, 1 + sums++,
                                             ry_session_state_pointer(step, p->sum), error));
    }
    return bind_scalar(&t->update, 0, RY_f64, &t->learning_rate, error);
}

/* Its memory counts in the limit of the step's. */
static rynd_status make_update(rynd_trainer *t, ry_training_builder *b, ry_error *error)
{
    ry_graph *graph;
    if (t->accumulate <= 1) {
        return RYND_OK;
    }
    RY_TRY(ry_training_make_update(t->graph, b, &graph, error));
    return ry_trainer_run_create(t, graph, NULL, (ry_api_memory){0}, &t->update, error);
}

/* The session's, and the weights that its plan has packed. */
static size_t memory_of(const ry_trainer_run *run)
{
    const ry_plan *plan = run->plan ? run->plan->plan : NULL;
    return rynd_session_memory(run->session) + (plan ? plan->weights.packed_size : 0) +
           (plan ? plan->weights.host_packed_size : 0) +
           (run->sharing ? ry_sharing_memory(run->sharing) : 0);
}

/* Makes the step's run; *over receives the bytes beyond the limit, if the run could be made. */
static rynd_status try_step_run(rynd_trainer *t, const ry_graph *graph,
                                const rynd_trainer_options *o, ry_api_memory memory, size_t *over,
                                ry_error *error)
{
    ry_graph *copy;
    *over = 0;
    RY_TRY(ry_graph_clone(graph, &copy, error));
    RY_TRY(ry_trainer_run_create(t, copy, o, memory, &t->step, error));
    const size_t taken = rynd_trainer_memory(t);
    if (memory.limit == 0 || taken <= memory.limit) {
        return RYND_OK;
    }
    *over = taken - memory.limit;
    ry_trainer_run_destroy(&t->step);
    return ry_fail(error, RYND_ERROR_OUT_OF_MEMORY,
                   "a step of training takes %zu bytes, the memory limit is %zu", taken,
                   memory.limit);
}

/* What a session keeps for itself, some bytes for each step, is known when it is there: where that
 * is too much, further plans leave room for it, the last one for more than it will be. */
static rynd_status make_step_run(rynd_trainer *t, const ry_graph *graph,
                                 const rynd_trainer_options *o, ry_error *error)
{
    enum { TRIES = 3, STEP_BYTES = 2048 };
    size_t over = 0, least = 0;
    ry_api_memory memory = {o->memory_limit, memory_of(&t->update), &least};
    for (int i = 0; i < TRIES; i++) {
        memory.beside += over;
        const rynd_status status = try_step_run(t, graph, o, memory, &over, error);
        if (over == 0 && least == 0) { /* made, or failed for another reason */
            return status;
        }
        ry_trainer_run_destroy(&t->step);
        if (least) {
            break;
        }
    }
    memory.beside = memory_of(&t->update) + STEP_BYTES * graph->node_count;
    return try_step_run(t, graph, o, memory, &over, error);
}

static rynd_status make_runs(rynd_trainer *t, ry_training_builder *b, ry_graph *graph,
                             const rynd_trainer_options *o, ry_error *error)
{
    RY_TRY(ry_training_make_step(graph, b, error));
    RY_TRY(make_update(t, b, error));
    RY_TRY(make_step_run(t, graph, o, error));
    t->target = t->step.plan->plan->inputs[t->inputs];
    if (t->accumulate <= 1) {
        return bind_scalar(&t->step, t->inputs + 1, RY_f64, &t->learning_rate, error);
    }
    RY_TRY(bind_update(t, error));
    return bind_scalar(&t->step, t->inputs + 1, RY_f32, &t->more, error);
}

static rynd_status share(ry_trainer_run *run, const rynd_trainer_options *o,
                         const ry_exchanged_list *what, ry_error *error)
{
    const size_t bucket = o->bucket_bytes ? o->bucket_bytes : BUCKET_BYTES;
    return ry_sharing_create(&run->model->context->allocator, o->exchange, bucket, what,
                             ry_trainer_session(run), run->plan->plan, &run->sharing, error);
}

static rynd_status make_step(rynd_trainer *t, ry_training_builder *b, const rynd_trainer_options *o,
                             ry_error *error)
{
    RY_TRY(ry_graph_clone(t->graph, &t->step_graph, error));
    RY_TRY(make_runs(t, b, t->step_graph, o, error));
    RY_TRY(list_states(t, error));
    RY_TRY(o->exchange ? share(&t->step, o, &t->training->exchanged, error) : RYND_OK);
    return o->exchange && t->update.session
               ? share(&t->update, o, &t->training->exchanged_sums, error)
               : RYND_OK;
}

static rynd_status create(rynd_trainer *t, const rynd_trainer_options *o, ry_error *error)
{
    RY_TRY(ry_trainer_check_options(o, error));
    RY_TRY(ry_api_check_runs(t->model->context->device, error));
    t->accuracy = o->accuracy;
    t->accumulate = o->accumulate ? o->accumulate : 1;
    t->inputs = t->model->onnx.graph->input_count;
    const ry_training_options options = ry_trainer_training_options(o);
    RY_TRY(ry_graph_clone(t->model->onnx.graph, &t->graph, error));
    ry_training_builder b;
    RY_TRY(ry_training_open(t->graph, &options, &t->arena, &b, error));
    t->training = b.training;
    RY_TRY(bind(t, o, error));
    RY_TRY(make_step(t, &b, o, error));
    return ry_trainer_describe(t, o, error);
}

rynd_status rynd_trainer_create(const rynd_model *model, const rynd_trainer_options *given,
                                rynd_trainer **trainer)
{
    RY_API_REQUIRE(model, trainer);
    *trainer = NULL;
    ry_error error = {""};
    rynd_trainer_options options;
    rynd_status status =
        ry_api_options(&options, sizeof options, given, "rynd_trainer_options", &error);
    rynd_trainer *t = NULL;
    if (status == RYND_OK) {
        t = ry_allocate_array(&model->context->allocator, 1, sizeof *t);
        status = t ? RYND_OK : ry_fail_memory(&error);
    }
    if (status == RYND_OK) {
        t->model = model;
        ry_arena_init(&t->arena, &model->context->allocator);
        status = create(t, &options, &error);
    }
    if (status != RYND_OK) {
        if (model->onnx.path && *model->onnx.path && status != RYND_ERROR_ARGUMENT) {
            ry_error_prefix(&error, "%s: ", model->onnx.path);
        }
        rynd_trainer_destroy(t);
        return ry_api_end(status, &error);
    }
    *trainer = t;
    return RYND_OK;
}

void rynd_trainer_destroy(rynd_trainer *trainer)
{
    if (trainer) {
        ry_trainer_run_destroy(&trainer->evaluation);
        ry_trainer_run_destroy(&trainer->update);
        ry_trainer_run_destroy(&trainer->step);
        ry_graph_destroy(trainer->step_graph);
        ry_graph_destroy(trainer->graph);
        ry_arena_free(&trainer->arena);
        ry_release(&trainer->model->context->allocator, trainer);
    }
}

/* The run that exchanges them. */
static const ry_trainer_run *gradients_of(const rynd_trainer *trainer)
{
    return trainer->accumulate > 1 ? &trainer->update : &trainer->step;
}

size_t rynd_trainer_bucket_count(const rynd_trainer *trainer)
{
    return trainer && gradients_of(trainer)->sharing
               ? ry_sharing_bucket_count(gradients_of(trainer)->sharing)
               : 0;
}

rynd_status rynd_trainer_get_bucket(const rynd_trainer *trainer, size_t index,
                                    rynd_bucket_info *info)
{
    RY_API_REQUIRE(trainer, info);
    ry_error error = {""};
    const size_t count = rynd_trainer_bucket_count(trainer);
    if (index >= count) {
        return ry_api_end(ry_fail(&error, RYND_ERROR_ARGUMENT,
                                  "rynd_trainer_get_bucket: %zu is out of range: there are %zu",
                                  index, count),
                          &error);
    }
    const rynd_bucket_info all = ry_sharing_bucket(gradients_of(trainer)->sharing, index);
    return ry_api_end(ry_api_info(info, &all, sizeof all, "rynd_bucket_info", &error), &error);
}

const rynd_plan *rynd_trainer_plan(const rynd_trainer *trainer)
{
    return trainer ? trainer->step.plan : NULL;
}

const rynd_plan *rynd_trainer_update_plan(const rynd_trainer *trainer)
{
    return trainer ? trainer->update.plan : NULL;
}

rynd_status rynd_trainer_profile(rynd_trainer *trainer, int on)
{
    RY_API_REQUIRE(trainer);
    return rynd_session_profile(trainer->step.session, on);
}

double rynd_trainer_step_time(const rynd_trainer *trainer, size_t step)
{
    return trainer ? rynd_session_step_time(trainer->step.session, step) : 0;
}

size_t rynd_trainer_memory(const rynd_trainer *trainer)
{
    return trainer ? memory_of(&trainer->step) + memory_of(&trainer->update) +
                         memory_of(&trainer->evaluation)
                   : 0;
}
