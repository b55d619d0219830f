/* SPDX-License-Identifier: Apache-2.0 */
/* Padding by reflection, edges or wrapping: each output position of a dim has its source position
 * in a table; rows are copied by their inner run and completed element by element. Negative pads
 * crop first. */
#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/move/strided_planes.h"

#include <string.h>

/* State: this, then the tables of all dims, one behind the other: offsets in the source, in bytes.
 */
typedef struct pad_state {
    int order[RY_MAX_RANK];     /* the output's dims, outermost first */
    int64_t table[RY_MAX_RANK]; /* where a dim's table begins */
    /* innermost dim: positions that are one source stride apart */
    int64_t inner_low, inner_high;
    int64_t rows, rows_per_task;
} pad_state;

static const int64_t *tables(const pad_state *state)
{
    return (const int64_t *)(state + 1);
}

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

/* Positions of dim `i` that are left after cropping, and the first. */
static int64_t cropped(const ry_problem *problem, int i, int64_t *first)
{
    const ry_ints *pads = &problem->attrs.pad.pads;
    int64_t begin = pads->at[i], end = pads->at[problem->in[0].rank + i];
    *first = begin < 0 ? -begin : 0;
    return problem->in[0].dim[i] - *first + (end < 0 ? end : 0);
}

static bool applicable(const ry_problem *problem)
{
    return ry_problem_has_input(problem, 0) && ry_problem_has_output(problem, 0) &&
           problem->in[0].dtype == problem->out[0].dtype &&
           problem->attrs.pad.mode != RY_pad_mode_constant;
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
    int64_t width = y->rank > 0 ? y->dim[state->order[y->rank - 1]] : 1,
            bytes = width * (int64_t)ry_dtype_size((ry_dtype)y->dtype);
    state->rows = width > 0 ? ry_tensor_count(y) / width : 0;
    const int64_t task = ry_machine_task_bytes(query->target->machine, (double)ry_tensor_bytes(y));
    state->rows_per_task = bytes < task && bytes > 0 ? task / bytes : 1;
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    const ry_tensor *y = &problem->out[0];
    pad_state state = {0};
    plan_rows(query, &state);
    int64_t entries = 0;
    for (int i = 0; i < y->rank; i++) {
        int64_t first;
        if (cropped(problem, i, &first) <= 0 && state.rows > 0) {
            return ry_fail(error, RYND_ERROR_SHAPE,
                           "pad: nothing is left of dimension %d to pad with", i);
        }
        entries += y->dim[i];
    }
    prepared->phases = 1;
    prepared->tasks[0] = (size_t)((state.rows + state.rows_per_task - 1) / state.rows_per_task);
    prepared->state_size = sizeof state + (size_t)entries * sizeof(int64_t);
    const double moved = 2 * (double)ry_tensor_bytes(y);
    const double work = ry_stream_work(query->target->machine, moved) +
                        (double)state.rows * ry_costs_asked(query)->move.edge_row;
    ry_count_work(work, moved, prepared);
    return RYND_OK;
}

static void initialise(const ry_query *query, void *memory)
{
    const ry_problem *problem = query->problem;
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    pad_state *state = memory;
    *state = (pad_state){0};
    plan_rows(query, state);
    int64_t *table = (int64_t *)(state + 1), entries = 0;
    for (int i = 0; i < y->rank; i++) {
        int64_t first, n = cropped(problem, i, &first), begin = problem->attrs.pad.pads.at[i],
                       before = begin > 0 ? begin : 0;
        state->table[i] = entries;
        for (int64_t o = 0; o < y->dim[i] && n > 0; o++) {
            table[entries + o] = (first + source_position(problem->attrs.pad.mode, o, before, n)) *
                                 x->stride[i] * (int64_t)ry_dtype_size((ry_dtype)x->dtype);
        }
        entries += y->dim[i];
        if (i == state->order[y->rank - 1]) {
            state->inner_low = before < y->dim[i] ? before : y->dim[i];
            state->inner_high = before + n < y->dim[i] ? before + n : y->dim[i];
        }
    }
}

static void copy_edge(const ry_plane *row, const int64_t *table, int64_t from, int64_t to,
                      size_t size)
{
    for (int64_t o = from; o < to; o++) {
        memcpy(row->dst + o * row->d0, row->src + table[o], size);
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
    const int64_t *table = tables(state) + state->table[inner];
    int64_t first = (int64_t)task * state->rows_per_task;
    int64_t end =
        first + state->rows_per_task < state->rows ? first + state->rows_per_task : state->rows;
    for (int64_t row = first; row < end; row++) {
        int64_t rest = row, d = 0, s = 0;
        for (int k = y->rank - 2; k >= 0; k--) {
            int dim = state->order[k];
            int64_t o = rest % y->dim[dim];
            rest /= y->dim[dim];
            d += o * y->stride[dim];
            s += tables(state)[state->table[dim] + o];
        }
        ry_plane line = {.dst = (char *)launch->out[0] + d * (int64_t)size,
                         .src = (const char *)launch->in[0] + s,
                         .n1 = 1,
                         .d0 = y->stride[inner] * (int64_t)size,
                         .s0 = x->stride[inner] * (int64_t)size};
        copy_edge(&line, table, 0, state->inner_low, size);
        copy_edge(&line, table, state->inner_high, y->dim[inner], size);
        if (state->inner_low < state->inner_high) {
            line.n0 = state->inner_high - state->inner_low;
            line.dst += state->inner_low * line.d0;
            line.src += table[state->inner_low];
            ry_plane_copy(&line, size);
        }
    }
}

RY_PLAIN_KERNEL(pad_map, pad, .applicable = applicable, .prepare = prepare,
                .initialise = initialise, .run = run);
