/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a plan, then plans and runs what could not be planned before. */
#include "exec/run.h"

#include "plan/make_plan.h"

#include <string.h>

typedef struct rest {
    ry_plan *plan;
    ry_run *run;
    ry_tensor *inputs; /* as planned: data is a copy of what decides shapes, else NULL */
    ry_arena arena;    /* of `inputs` */
} rest_of_plan;

struct ry_run {
    const ry_plan *plan;
    ry_session *session;
    ry_accuracy accuracy;
    rest_of_plan rest;
};

rynd_status ry_run_create(const ry_plan *plan, ry_accuracy accuracy, ry_run **run, ry_error *error)
{
    ry_run *r = ry_allocate_array(plan->device->allocator, 1, sizeof *r);
    if (!r) {
        return ry_fail_memory(error);
    }
    r->plan = plan;
    r->accuracy = accuracy;
    const rynd_status status = ry_session_create(plan, &r->session, error);
    if (status != RYND_OK) {
        ry_run_destroy(r);
        return status;
    }
    *run = r;
    return RYND_OK;
}

static void destroy_rest(rest_of_plan *rest)
{
    ry_run_destroy(rest->run);
    ry_plan_destroy(rest->plan);
    if (rest->arena.allocator) {
        ry_arena_free(&rest->arena);
    }
    *rest = (rest_of_plan){0};
}

void ry_run_destroy(ry_run *run)
{
    if (run) {
        destroy_rest(&run->rest);
        ry_session_destroy(run->session);
        ry_release(run->plan->device->allocator, run);
    }
}

ry_session *ry_run_session(ry_run *run)
{
    return run->session;
}

/* The plan's outputs behind the model's are the rest's inputs. */
static ry_tensor rest_input(const ry_run *run, size_t index)
{
    ry_tensor tensor;
    ry_session_output(run->session, run->plan->model_outputs + index, &tensor);
    return tensor;
}

static size_t rest_inputs(const ry_run *run)
{
    return run->plan->output_count - run->plan->model_outputs;
}

static bool still_valid(const ry_run *run)
{
    for (size_t i = 0; i < rest_inputs(run); i++) {
        const ry_tensor now = rest_input(run, i), *then = &run->rest.inputs[i];
        if (now.rank != then->rank || memcmp(now.dim, then->dim, sizeof now.dim) != 0 ||
            (then->data && memcmp(now.data, then->data, ry_tensor_bytes(&now)) != 0)) {
            return false;
        }
    }
    return true;
}

static rynd_status remember_inputs(ry_run *run, ry_error *error)
{
    rest_of_plan *rest = &run->rest;
    const ry_graph *rest_graph = run->plan->rest;
    ry_arena_init(&rest->arena, run->plan->device->allocator);
    rest->inputs = RY_TAKE(&rest->arena, ry_tensor, rest_inputs(run));
    if (!rest->inputs) {
        return ry_fail_memory(error);
    }
    for (size_t i = 0; i < rest_inputs(run); i++) {
        ry_tensor *input = &rest->inputs[i];
        *input = rest_input(run, i);
        void *copy = NULL;
        if (ry_plan_reads_content(rest_graph, rest_graph->inputs[i], input)) {
            copy = ry_arena_take(&rest->arena, ry_tensor_bytes(input), 1);
            if (!copy) {
                return ry_fail_memory(error);
            }
            memcpy(copy, input->data, ry_tensor_bytes(input));
        }
        input->data = copy;
    }
    return RYND_OK;
}

/* Refuses a plan of the rest that leaves the whole rest again: planning would never end. */
static rynd_status check_progress(const ry_graph *rest, const ry_graph *left, ry_error *error)
{
    if (!left || left->node_count < rest->node_count) {
        return RYND_OK;
    }
    const ry_node *node = &left->nodes[0];
    const ry_value_id out = node->out[0];
    return ry_fail(
        error, RYND_ERROR_SHAPE,
        "node '%s' (%s): the shape of its output '%s' cannot be computed from its inputs",
        node->name, node->source, out == RY_NO_VALUE ? "" : left->values[out].name);
}

static rynd_status make_rest(ry_run *run, ry_error *error)
{
    rest_of_plan *rest = &run->rest;
    destroy_rest(rest);
    RY_TRY(remember_inputs(run, error));
    const ry_plan_options options = {
        .accuracy = run->accuracy,
        .inputs = rest->inputs,
        .adviser = run->plan->adviser,
        .weights = run->plan->weights,
        .own_weights = run->plan->own_weights,
    };
    RY_TRY(ry_plan_create(run->plan->device, run->plan->rest, &options, &rest->plan, error));
    RY_TRY(check_progress(run->plan->rest, rest->plan->rest, error));
    return ry_run_create(rest->plan, run->accuracy, &rest->run, error);
}

static rynd_status run_rest(ry_run *run, ry_error *error)
{
    rest_of_plan *rest = &run->rest;
    if (!rest->run || !still_valid(run)) {
        const rynd_status status = make_rest(run, error);
        if (status != RYND_OK) {
            destroy_rest(rest);
            return status;
        }
    }
    for (size_t i = 0; i < rest_inputs(run); i++) {
        const ry_tensor input = rest_input(run, i);
        RY_TRY(ry_session_bind_input(rest->run->session, i, &input, error));
    }
    return ry_run_go(rest->run, error);
}

rynd_status ry_run_go(ry_run *run, ry_error *error)
{
    RY_TRY(ry_session_settle(run->session, error));
    RY_TRY(ry_session_run(run->session, error));
    return run->plan->rest ? run_rest(run, error) : RYND_OK;
}

rynd_status ry_run_start(ry_run *run, ry_error *error)
{
    if (run->plan->rest) {
        return ry_run_go(run, error);
    }
    RY_TRY(ry_session_settle(run->session, error));
    return ry_session_start(run->session, error);
}

rynd_status ry_run_finish(ry_run *run, ry_error *error)
{
    return ry_session_finish(run->session, error);
}

rynd_status ry_run_output(const ry_run *run, size_t index, ry_tensor *tensor, ry_error *error)
{
    const ry_plan_output *planned = &run->plan->outputs[index];
    if (!planned->later) {
        ry_session_output(run->session, index, tensor);
        return RYND_OK;
    }
    if (!run->rest.run) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "output '%s': run the session first",
                       planned->name);
    }
    return ry_run_output(run->rest.run, planned->rest, tensor, error);
}

size_t ry_run_memory(const ry_run *run)
{
    return ry_session_memory(run->session) + (run->rest.run ? ry_run_memory(run->rest.run) : 0);
}
