/* SPDX-License-Identifier: Apache-2.0 */
/* Ends a run: waits for its stream, reports faults, reads the times of steps. */
#include "exec/session_finish.h"
#include "exec/session.h"
#include "exec/session_state.h"
#include "exec/session_trace.h"
#include "exec/transfer.h"

#include <string.h>

/* What the kernel found wrong in the content of its inputs. */
rynd_status ry_session_check_fault(const ry_session *session, size_t index, const ry_fault *fault,
                                   ry_error *error)
{
    const ry_step *step = &session->plan->steps[index];
    rynd_status status = ry_fault_check(fault, &step->problem, error);
    if (status != RYND_OK) {
        ry_error_prefix(error, "node '%s' (%s): ", step->name, step->source);
    }
    return status;
}

static rynd_status read_times(ry_session *session, ry_error *error)
{
    const ry_plan *plan = session->plan;
    size_t mark = 0;
    if (session->part != RY_SECOND_PART) {
        memset(session->times, 0, plan->step_count * sizeof *session->times);
    }
    for (size_t i = 0; i < plan->batch_split_count; i++) {
        const ry_batch_split *split = &plan->batch_splits[i];
        if (!ry_session_runs_step(session, split->first)) {
            continue;
        }
        for (int64_t micro_batch = 0; micro_batch < split->micro_batches; micro_batch++) {
            for (size_t s = split->first; s < split->end; s++, mark++) {
                double seconds = 0;
                RY_TRY(plan->device->table->event_elapsed(
                    session->mark[mark], session->mark[mark + 1], &seconds, error));
                session->times[s] += seconds;
                ry_session_add_span(session, s, seconds);
            }
        }
    }
    return RYND_OK;
}

rynd_status ry_session_finish(ry_session *session, ry_error *error)
{
    const ry_plan *plan = session->plan;
    if (!session->running) {
        return RYND_OK;
    }
    ry_stream *stream = session->stream;
    session->running = false;
    session->stream = session->own_stream;
    RY_TRY(plan->device->table->synchronize(stream, error));
    for (size_t s = 0; session->faults && s < plan->step_count; s++) {
        RY_TRY(ry_session_check_fault(session, s, &session->host_faults[s], error));
    }
    for (size_t i = 0; i < plan->output_count; i++) {
        if (session->outputs[i].transfer) {
            ry_transfer_finish(session->outputs[i].transfer);
        }
    }
    return session->timed ? read_times(session, error) : RYND_OK;
}
