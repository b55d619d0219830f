/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of steps, and spans of runs. */
#include "api/api_check.h"
#include "api/api_plan.h"
#include "api/api_session.h"
#include "api/api_status.h"
#include "api/handles.h"
#include "device/trace.h"

#include <rynd/trace.h>

/* In the order of rynd_storage. */
static rynd_storage storage_of(ry_storage storage)
{
    static const rynd_storage named[] = {
        [RY_STORAGE_NONE] = RYND_STORAGE_NONE,         [RY_STORAGE_INPUT] = RYND_STORAGE_INPUT,
        [RY_STORAGE_CONSTANT] = RYND_STORAGE_CONSTANT, [RY_STORAGE_ARENA] = RYND_STORAGE_ARENA,
        [RY_STORAGE_OUTPUT] = RYND_STORAGE_OUTPUT,
    };
    return named[storage];
}

typedef struct operand {
    const ry_tensor *tensor;
    const ry_location *location;
    ry_value_id value;
    size_t bytes;
} operand;

static size_t count_operands(const ry_step *step)
{
    return (size_t)step->problem.inputs + (size_t)step->problem.outputs;
}

static operand get_operand(const ry_plan *plan, size_t s, size_t index)
{
    const ry_step *step = &plan->steps[s];
    const size_t inputs = (size_t)step->problem.inputs;
    operand o = {.value = step->values[index]};
    o.tensor = index < inputs ? &step->problem.in[index] : &step->problem.out[index - inputs];
    o.location = index < inputs ? &step->in[index] : &step->out[index - inputs];
    const size_t runs = (size_t)ry_plan_batch_split_of(plan, s)->micro_batches;
    o.bytes = ry_tensor_span(o.tensor) + (runs - 1) * o.location->share;
    return o;
}

static bool is_written(const operand *read, const operand *written)
{
    const ry_location *a = read->location, *b = written->location;
    if (a->storage != b->storage ||
        (a->storage != RY_STORAGE_ARENA && a->storage != RY_STORAGE_OUTPUT)) {
        return false;
    }
    return a->storage == RY_STORAGE_OUTPUT
               ? a->index == b->index
               : a->offset < b->offset + written->bytes && b->offset < a->offset + read->bytes;
}

static size_t find_producer(const ry_plan *plan, size_t step, const operand *read)
{
    for (size_t s = step; s-- > 0;) {
        const size_t inputs = (size_t)plan->steps[s].problem.inputs;
        for (size_t i = inputs; i < count_operands(&plan->steps[s]); i++) {
            const operand written = get_operand(plan, s, i);
            if (is_written(read, &written)) {
                return s;
            }
        }
    }
    return RYND_NO_STEP;
}

size_t rynd_plan_operand_count(const rynd_plan *plan, size_t step)
{
    return plan && step < plan->plan->step_count ? count_operands(&plan->plan->steps[step]) : 0;
}

rynd_status rynd_plan_get_operand(const rynd_plan *plan, size_t step, size_t index,
                                  rynd_operand_info *info)
{
    RY_API_REQUIRE(plan, info);
    ry_error error = {""};
    const ry_plan *p = plan->plan;
    if (index >= rynd_plan_operand_count(plan, step)) {
        return ry_api_end(ry_fail(&error, RYND_ERROR_ARGUMENT,
                                  "step %zu, operand %zu: the plan has %zu steps, this one %zu "
                                  "operands",
                                  step, index, p->step_count, rynd_plan_operand_count(plan, step)),
                          &error);
    }
    const operand o = get_operand(p, step, index);
    const bool output = index >= (size_t)p->steps[step].problem.inputs;
    rynd_operand_info all = {
        .name = o.value == RY_NO_VALUE ? "" : p->graph->values[o.value].name,
        .output = output,
        .tensor = *o.tensor,
        .storage = storage_of(o.location->storage),
        .index = o.location->index,
        .offset = o.location->offset,
        .bytes = o.bytes,
        .producer = output ? RYND_NO_STEP : find_producer(p, step, &o),
    };
    all.tensor.data = NULL;
    return ry_api_end(ry_api_info(info, &all, sizeof all, "rynd_operand_info", &error), &error);
}

rynd_status rynd_session_trace(rynd_session *session, int on)
{
    RY_API_REQUIRE(session);
    ry_error error = {""};
    rynd_status status = ry_session_set_timing(session->running, on != 0, &error);
    status = status != RYND_OK ? status : ry_session_set_trace(session->running, on != 0, &error);
    return ry_api_end(status, &error);
}

size_t rynd_session_span_count(const rynd_session *session)
{
    return session ? ry_session_trace(session->running)->count : 0;
}

rynd_status rynd_session_get_span(const rynd_session *session, size_t index, rynd_span *span)
{
    RY_API_REQUIRE(session, span);
    ry_error error = {""};
    const ry_trace *trace = ry_session_trace(session->running);
    if (index >= trace->count) {
        return ry_api_end(
            ry_fail(&error, RYND_ERROR_ARGUMENT, "span %zu: the run has %zu", index, trace->count),
            &error);
    }
    const ry_span *s = &trace->spans[index];
    const rynd_span all = {
        .step = s->step, .thread = s->worker, .tasks = s->tasks, .begin = s->begin, .end = s->end};
    return ry_api_end(ry_api_info(span, &all, sizeof all, "rynd_span", &error), &error);
}
