/* SPDX-License-Identifier: Apache-2.0 */
/* Records what each worker does of each step. */
#include "exec/session_trace.h"

#include "base/clock.h"
#include "exec/session.h"

/* Spans of a run: each worker has one for each phase. */
static size_t most_spans(const ry_plan *plan)
{
    size_t spans = 0;
    for (size_t s = 0; s < plan->step_count; s++) {
        const int64_t runs = ry_plan_batch_split_of(plan, s)->micro_batches;
        spans += (size_t)runs * (size_t)(plan->steps[s].prepared.phases + 1);
    }
    return spans * plan->device->workers;
}

rynd_status ry_session_set_trace(ry_session *session, bool on, ry_error *error)
{
    ry_trace *trace = &session->trace;
    if (on && !trace->spans) {
        const size_t capacity = most_spans(session->plan);
        trace->spans = RY_TAKE(&session->arena, ry_span, capacity);
        if (!trace->spans) {
            return ry_fail_memory(error);
        }
        trace->capacity = capacity;
    }
    session->tracing = on;
    return RYND_OK;
}

const ry_trace *ry_session_trace(const ry_session *session)
{
    return &session->trace;
}

rynd_status ry_session_run_traced(ry_session *session,
                                  rynd_status (*run_steps)(ry_session *, ry_error *),
                                  ry_error *error)
{
    const ry_device_table *table = session->plan->device->table;
    ry_trace *trace = &session->trace;
    if (!session->tracing) {
        return run_steps(session, error);
    }
    trace->count = 0;
    if (!table->stream_trace) {
        return run_steps(session, error);
    }
    const double begin = ry_clock_seconds();
    table->stream_trace(session->stream, trace);
    const rynd_status status = run_steps(session, error);
    table->stream_trace(session->stream, NULL);
    for (size_t i = 0; i < trace->count; i++) {
        trace->spans[i].begin -= begin;
        trace->spans[i].end -= begin;
    }
    return status;
}

void ry_session_add_span(ry_session *session, size_t step, double seconds)
{
    ry_trace *trace = &session->trace;
    if (session->plan->device->table->stream_trace || trace->count == trace->capacity) {
        return;
    }
    const double begin = trace->count ? trace->spans[trace->count - 1].end : 0;
    trace->spans[trace->count++] =
        (ry_span){.step = step, .tasks = 1, .begin = begin, .end = begin + seconds};
}
