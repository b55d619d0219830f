/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs that the caller bound to the memory of inputs: written when all inputs have been read. */
#include "exec/session.h"
#include "exec/session_bind.h"
#include "exec/session_memory.h"

static bool ranges_meet(const ry_session_range *a, const ry_session_range *b)
{
    return a->space == b->space && a->begin < b->end && b->begin < a->end;
}

static bool is_over_input(const ry_session *session, size_t index)
{
    for (size_t i = 0; i < session->plan->input_count; i++) {
        if (ranges_meet(&session->outputs[index].memory, &session->inputs[i].memory)) {
            return true;
        }
    }
    return false;
}

/* Copies outputs that are inputs before another output is written over them. Outputs of which the
 * caller has a copy are written before, unless they are over an input themselves. */
static rynd_status stage_outputs(ry_session *session, bool over_inputs, ry_error *error)
{
    const ry_plan *plan = session->plan;
    for (size_t i = 0; i < plan->output_count; i++) {
        ry_session_output_slot *slot = &session->outputs[i];
        const bool bound = slot->memory.begin < slot->memory.end;
        slot->staged = over_inputs && ry_tensor_bytes(&plan->outputs[i].tensor) > 0 &&
                       !plan->outputs[i].later && !plan->outputs[i].state &&
                       plan->outputs[i].location.storage == RY_STORAGE_INPUT &&
                       (!bound || slot->over_input);
        if (slot->staged && !slot->own) {
            RY_TRY(ry_session_name_tensor(
                ry_session_take_buffer(session, ry_tensor_bytes(&plan->outputs[i].tensor),
                                       &slot->own, error),
                "output", plan->outputs[i].name, error));
        }
    }
    return RYND_OK;
}

rynd_status ry_session_settle(ry_session *session, ry_error *error)
{
    if (!session->rebound) {
        return RYND_OK;
    }
    bool over_inputs = false;
    for (size_t i = 0; i < session->plan->output_count; i++) {
        const bool over_input = is_over_input(session, i);
        if (over_input != session->outputs[i].over_input) {
            RY_TRY(ry_session_rebind_output(session, i, over_input, error));
        }
        over_inputs = over_inputs || over_input;
    }
    RY_TRY(stage_outputs(session, over_inputs, error));
    session->rebound = false;
    return RYND_OK;
}
