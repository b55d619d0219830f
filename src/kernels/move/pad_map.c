/* SPDX-License-Identifier: Apache-2.0 */
/* Padding by reflection, edges or wrapping: rows are copied by their inner run and completed
 * element by element. Negative pads crop first. */
#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/move/strided_planes.h"

#include <string.h>

typedef struct pad_state {
    int order[RY_MAX_RANK]; /* the output's dims, outermost first */
    /* each dim: positions left by crops, first of them in the source, and its place in the output
     */
    int64_t left[RY_MAX_RANK], first[RY_MAX_RANK], before[RY_MAX_RANK];
    int64_t rows, rows_per_task;
} pad_state;

/* The source position of output position `o`, where `n` positions are there and the first of them
 * becomes position `before`. */
static int64_t source_position(ry_pad_mode mode, int64_t o, int64_t before, int64_t n)
{
    int64_t i = o - before, period = mode == RY_pad_mode_wrap ? n : 2 * (n - 1);
    if (mode == RY_pad_mode_edge || n == 1) {
        return i < 0 ? 0 : i >= n ? n - 1 : i;
    }
    i %= period;
    i += i < 0 ? period : 0;
    return i < n ? i : period - i;
}

/* Where output position `o` of dim `i` reads, in bytes from the source's first. */
static int64_t source_offset(const ry_problem *problem, const pad_state *state, int i, int64_t o)
{
    const ry_tensor *x = &problem->in[0];
    const int64_t at =
        source_position(problem->attrs.pad.mode, o, state->before[i], state->left[i]);
    return (state->first[i] + at) * x->stride[i] * (int64_t)ry_dtype_size((ry_dtype)x->dtype);
}

static bool applicable(const ry_problem *problem)
{
    return ry_problem_has_input(problem, 0) && ry_problem_has_output(problem, 0) &&
           problem->in[0].dtype == problem->out[0].dtype &&
           problem->attrs.pad.mode != RY_pad_mode_constant;
}

static void plan_pads(const ry_problem *problem, pad_state *state)
{
    const ry_ints *pads = &problem->attrs.pad.pads;
    const int rank = problem->in[0].rank;
    for (int i = 0; i < rank; i++) {
        const int64_t begin = pads->at[i], end = pads->at[rank + i];
        state->first[i] = ry_max(-begin, 0);
        state->before[i] = ry_max(begin, 0);
        state->left[i] = problem->in[0].dim[i] - state->first[i] + ry_min(end, 0);
    }
}

static void plan_rows(const ry_query *query, pad_state *state)
{
    const ry_tensor *y = &query->problem->out[0];
    for (int i = 0; i < y->rank; i++) {
        int j = i;
        for (; j > 0 && y->stride[state->order[j - 1]] < y->stride[i]; j--) {
            state->order[j] = state->order[j - 1];
        }
        state->order[j] = i;
    }
    plan_pads(query->problem, state);
    int64_t width = y->rank > 0 ? y->dim[state->order[y->rank - 1]] : 1,
            bytes = width * (int64_t)ry_dtype_size((ry_dtype)y->dtype);
    state->rows = width > 0 ? ry_tensor_count(y) / width : 0;
    const int64_t task = ry_machine_task_bytes(query->target->machine, (double)ry_tensor_bytes(y));
    state->rows_per_task = bytes < task && bytes > 0 ? task / bytes : 1;
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_tensor *y = &query->problem->out[0];
    pad_state state = {0};
    plan_rows(query, &state);
    for (int i = 0; i < y->rank; i++) {
        if (state.left[i] <= 0 && state.rows > 0) {
            return ry_fail(error, RYND_ERROR_SHAPE,
                           "pad: nothing is left of dimension %d to pad with", i);
        }
    }
    prepared->phases = 1;
    prepared->tasks[0] = (size_t)((state.rows + state.rows_per_task - 1) / state.rows_per_task);
    prepared->state_size = sizeof state;
    const double moved = 2 * (double)ry_tensor_bytes(y);
    const double work = ry_stream_work(query->target->machine, moved) +
                        (double)state.rows * ry_costs_asked(query)->move.edge_row;
    ry_count_work(work, moved, prepared);
    return RYND_OK;
}

static void initialise(const ry_query *query, void *memory)
{
    pad_state *state = memory;
    *state = (pad_state){0};
    plan_rows(query, state);
}

/* Output positions [from, to) of a row. */
static void copy_edge(const ry_problem *problem, const pad_state *state, const ry_plane *row,
                      int64_t from, int64_t to)
{
    const int inner = state->order[problem->out[0].rank - 1];
    const size_t size = ry_dtype_size((ry_dtype)problem->out[0].dtype);
    for (int64_t o = from; o < to; o++) {
        memcpy(row->dst + o * row->d0, row->src + source_offset(problem, state, inner, o), size);
    }
}

/* The elements of a row; inner elements are one source stride apart. */
static void copy_row(const ry_problem *problem, const pad_state *state, ry_plane *row)
{
    const int inner = state->order[problem->out[0].rank - 1];
    const int64_t width = problem->out[0].dim[inner], low = ry_min(state->before[inner], width),
                  high = ry_min(state->before[inner] + state->left[inner], width);
    copy_edge(problem, state, row, 0, low);
    copy_edge(problem, state, row, high, width);
    if (low < high) {
        row->n0 = high - low;
        row->dst += low * row->d0;
        row->src += source_offset(problem, state, inner, low);
        ry_plane_copy(row, ry_dtype_size((ry_dtype)problem->out[0].dtype));
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const pad_state *state = launch->state;
    const ry_tensor *x = &launch->problem->in[0], *y = &launch->problem->out[0];
    size_t size = ry_dtype_size((ry_dtype)y->dtype);
    if (y->rank == 0) {
        memcpy(launch->out[0], launch->in[0], size);
        return;
    }
    int inner = state->order[y->rank - 1];
    int64_t first = (int64_t)task * state->rows_per_task;
    int64_t end = ry_min(first + state->rows_per_task, state->rows);
    for (int64_t row = first; row < end; row++) {
        int64_t rest = row, d = 0, s = 0;
        for (int k = y->rank - 2; k >= 0; k--) {
            int dim = state->order[k];
            int64_t o = rest % y->dim[dim];
            rest /= y->dim[dim];
            d += o * y->stride[dim];
            s += source_offset(launch->problem, state, dim, o);
        }
        ry_plane line = {.dst = (char *)launch->out[0] + d * (int64_t)size,
                         .src = (const char *)launch->in[0] + s,
                         .n1 = 1,
                         .d0 = y->stride[inner] * (int64_t)size,
                         .s0 = x->stride[inner] * (int64_t)size};
        copy_row(launch->problem, state, &line);
    }
}

RY_PLAIN_KERNEL(pad_map, pad, .applicable = applicable, .prepare = prepare,
                .initialise = initialise, .run = run);
