/* SPDX-License-Identifier: Apache-2.0 */
/* reverse_sequence: slices along the time axis, the first lengths[b] of batch b in reverse. A
 * length is 0 to the extent of the time axis. */
#include "kernels/kernel.h"
#include "kernels/move/strided_copy.h"
#include "machine/machine.h"

typedef struct reverse_state {
    int64_t slices, slices_per_task;
    ry_box slice;
} reverse_state;

static bool applicable(const ry_problem *problem)
{
    return ry_problem_has_input(problem, 0) && ry_problem_has_input(problem, 1) &&
           ry_problem_has_output(problem, 0) && problem->in[0].dtype == problem->out[0].dtype &&
           problem->in[0].rank >= 2 && problem->in[1].rank == 1;
}

static void initialise(const ry_query *query, void *memory)
{
    reverse_state *state = memory;
    const ry_problem *problem = query->problem;
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    int batch = (int)problem->attrs.reverse_sequence.batch_axis,
        time = (int)problem->attrs.reverse_sequence.time_axis;
    *state = (reverse_state){.slices = x->dim[batch] * x->dim[time],
                             .slice = {.size = ry_dtype_size((ry_dtype)x->dtype)}};
    for (int i = 0; i < x->rank; i++) {
        if (i != batch && i != time) {
            ry_box_add(&state->slice, x->dim[i], y->stride[i], x->stride[i]);
        }
    }
    int64_t bytes = (int64_t)state->slice.size;
    for (int i = 0; i < state->slice.rank; i++) {
        bytes *= state->slice.dim[i];
    }
    const int64_t piece = ry_machine_task_bytes(query->target->machine, (double)ry_tensor_bytes(x));
    state->slice.piece = piece;
    ry_box_prepare(&state->slice);
    state->slices = state->slice.pieces > 0 ? state->slices : 0;
    state->slices_per_task = bytes > 0 && bytes < piece ? piece / bytes : 1;
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    (void)error;
    reverse_state state;
    initialise(query, &state);
    prepared->phases = 1;
    prepared->tasks[0] =
        (size_t)((state.slices + state.slices_per_task - 1) / state.slices_per_task);
    prepared->state_size = sizeof state;
    return RYND_OK;
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const reverse_state *state = launch->state;
    const ry_tensor *x = &launch->problem->in[0], *lengths = &launch->problem->in[1],
                    *y = &launch->problem->out[0];
    const ry_reverse_sequence_attrs *a = &launch->problem->attrs.reverse_sequence;
    int64_t size = (int64_t)ry_dtype_size((ry_dtype)x->dtype), times = x->dim[a->time_axis];
    int64_t first = (int64_t)task * state->slices_per_task, end = first + state->slices_per_task;
    for (int64_t i = first; i < end && i < state->slices; i++) {
        int64_t b = i / times, t = i % times;
        int64_t length =
            ry_get_i64((ry_dtype)lengths->dtype, launch->in[1], b * lengths->stride[0]);
        if ((uint64_t)length > (uint64_t)times) {
            ry_fault bad = {.found = (uint64_t)b + 1,
                            .value = length,
                            .most = times,
                            .input = 1,
                            .axis = (int32_t)a->time_axis};
            ry_fault_note(launch->fault, &bad);
            length = 0;
        }
        int64_t from = t < length ? length - 1 - t : t;
        int64_t d = b * y->stride[a->batch_axis] + t * y->stride[a->time_axis];
        int64_t s = b * x->stride[a->batch_axis] + from * x->stride[a->time_axis];
        ry_box_copy(&state->slice, (char *)launch->out[0] + d * size,
                    (const char *)launch->in[0] + s * size);
    }
}

RY_PLAIN_KERNEL(reverse_sequence_move, reverse_sequence, .applicable = applicable,
                .prepare = prepare, .initialise = initialise, .run = run);
