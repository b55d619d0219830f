/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a session, then plans and runs the nodes that could not be planned before. */
#include "exec/session_state.h"

#include "exec/session.h"
#include "plan/make_plan.h"

#include <string.h>

/* The plan's outputs behind the model's are the rest's inputs. */
static ry_tensor rest_input(const ry_session *session, size_t index)
{
    return session->outputs[session->plan->model_outputs + index].tensor;
}

static size_t rest_inputs(const ry_session *session)
{
    return session->plan->output_count - session->plan->model_outputs;
}

static bool still_valid(const ry_session *session)
{
    for (size_t i = 0; i < rest_inputs(session); i++) {
        const ry_tensor now = rest_input(session, i), *then = &session->rest.inputs[i];
        if (now.rank != then->rank || memcmp(now.dim, then->dim, sizeof now.dim) != 0 ||
            (then->data && memcmp(now.data, then->data, ry_tensor_bytes(&now)) != 0)) {
            return false;
        }
    }
    return true;
}

static rynd_status remember_inputs(ry_session *session, ry_error *error)
{
    ry_session_rest *rest = &session->rest;
    const ry_graph *rest_graph = session->plan->rest.graph;
    ry_arena_init(&rest->arena, session->plan->device->allocator);
    rest->inputs = RY_TAKE(&rest->arena, ry_tensor, rest_inputs(session));
    if (!rest->inputs) {
        return ry_fail_memory(error);
    }
    for (size_t i = 0; i < rest_inputs(session); i++) {
        ry_tensor *input = &rest->inputs[i];
        *input = rest_input(session, i);
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

static rynd_status make_rest(ry_session *session, ry_error *error)
{
    const ry_plan *whole = session->plan;
    ry_session_rest *rest = &session->rest;
    ry_session_drop_rest(session);
    RY_TRY(remember_inputs(session, error));
    const ry_plan_options options = {
        .accuracy = whole->rest.accuracy,
        .inputs = rest->inputs,
        .adviser = whole->rest.adviser,
        .weights = whole->weights.shared,
        .own_weights = whole->rest.own_weights,
    };
    RY_TRY(ry_plan_create(whole->device, whole->rest.graph, &options, &rest->plan, error));
    RY_TRY(check_progress(whole->rest.graph, rest->plan->rest.graph, error));
    return ry_session_create(rest->plan, NULL, &rest->session, error);
}

static rynd_status run_rest(ry_session *session, ry_error *error)
{
    ry_session_rest *rest = &session->rest;
    if (!rest->session || !still_valid(session)) {
        const rynd_status status = make_rest(session, error);
        if (status != RYND_OK) {
            ry_session_drop_rest(session);
            return status;
        }
    }
    for (size_t i = 0; i < rest_inputs(session); i++) {
        const ry_tensor input = rest_input(session, i);
        RY_TRY(ry_session_bind_input(rest->session, i, &input, error));
    }
    return ry_session_run(rest->session, error);
}

static rynd_status run(ry_session *session, ry_error *error)
{
    RY_TRY(ry_session_launch(session, error));
    RY_TRY(ry_session_finish(session, error));
    return session->plan->rest.graph ? run_rest(session, error) : RYND_OK;
}

rynd_status ry_session_run(ry_session *session, ry_error *error)
{
    RY_TRY(ry_session_settle(session, error));
    return run(session, error);
}

rynd_status ry_session_start(ry_session *session, ry_error *error)
{
    RY_TRY(ry_session_settle(session, error));
    return session->plan->rest.graph ? run(session, error) : ry_session_launch(session, error);
}

rynd_status ry_session_output(const ry_session *session, size_t index, ry_tensor *tensor,
                              ry_error *error)
{
    const ry_plan_output *planned = &session->plan->outputs[index];
    const ry_session_output_slot *slot = &session->outputs[index];
    if (!planned->later) {
        *tensor = slot->transfer ? slot->bound : slot->tensor;
        return RYND_OK;
    }
    if (!session->rest.session) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "output '%s': run the session first",
                       planned->name);
    }
    return ry_session_output(session->rest.session, planned->rest, tensor, error);
}
