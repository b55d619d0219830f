/* SPDX-License-Identifier: Apache-2.0 */
/* Top-k, f32, by a heap of the k best: after its first fill nearly every element is refused by one
 * comparison, and no input makes it slower than n log k. An element and its position are one 64-bit
 * key, so that ties go to the lowest position, as in the reference. */
#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/cpu/parts/dense_lanes.h"

#include <math.h>
#include <string.h>

typedef struct state {
    ry_lanes lanes;
    int64_t units, units_per_task;
} state;

static int axis_of(const ry_problem *problem)
{
    return ry_axis(problem->attrs.topk.axis, problem->in[0].rank);
}

static void initialise(const ry_query *query, void *memory)
{
    state *s = memory;
    const ry_problem *problem = query->problem;
    int axis = axis_of(problem);
    ry_lanes_make(&problem->in[0], axis, axis + 1, &s->lanes);
    s->units = s->lanes.outer * s->lanes.inner;
    s->units_per_task = ry_lanes_per_task(query->target->machine, s->units, 4 * s->lanes.length);
}

static bool applicable(const ry_problem *problem)
{
    int axis = axis_of(problem);
    ry_lanes lanes;
    if (!ry_problem_has_input(problem, 0) || !ry_problem_has_output(problem, 0) || axis < 0 ||
        problem->in[0].dtype != RYND_DTYPE_F32 || problem->out[0].dtype != RYND_DTYPE_F32 ||
        problem->in[0].dim[axis] > INT32_MAX ||
        problem->out[0].dim[axis] > problem->in[0].dim[axis]) {
        return false;
    }
    if (ry_problem_has_output(problem, 1) &&
        (problem->out[1].dtype != RYND_DTYPE_I64 || !ry_tensor_is_row_major(&problem->out[1]))) {
        return false;
    }
    return ry_tensor_is_row_major(&problem->in[0]) && ry_tensor_is_row_major(&problem->out[0]) &&
           ry_lanes_make(&problem->in[0], axis, axis + 1, &lanes);
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    state s;
    initialise(query, &s);
    prepared->phases = 1;
    prepared->tasks[0] = ry_lanes_tasks(s.units, s.units_per_task);
    prepared->state_size = sizeof s;
    size_t k = (size_t)problem->out[0].dim[axis_of(problem)];
    if (k > SIZE_MAX / 64) {
        return ry_fail_memory(error);
    }
    prepared->scratch = (k * sizeof(uint64_t) + RY_ALIGNMENT - 1) / RY_ALIGNMENT * RY_ALIGNMENT;
    const double refused = (double)s.lanes.length * ry_costs_asked(query)->search.refused;
    const double sorted = (double)k * log2((double)k + 1) * ry_costs_asked(query)->search.sorted;
    ry_count_work((double)s.units * (refused + sorted), ry_problem_bytes(problem), prepared);
    return RYND_OK;
}

/* Larger keys are better: the value in an order of unsigned numbers (both zeros equal, NaN on top;
 * reversed for the smallest), then the position, counted down. */
static uint64_t key_of(float value, int64_t position, uint32_t reverse)
{
    uint32_t bits;
    value += 0.0f;
    memcpy(&bits, &value, sizeof bits);
    bits = bits >> 31 ? ~bits : bits | 0x80000000u;
    bits = value != value ? UINT32_MAX : bits;
    return (uint64_t)(bits ^ reverse) << 32 | (UINT32_MAX - (uint32_t)position);
}

/* Puts `key` into the place of the heap's smallest. */
static void replace_smallest(uint64_t *heap, int64_t n, uint64_t key)
{
    int64_t i = 0;
    for (;;) {
        int64_t child = 2 * i + 1;
        if (child >= n) {
            break;
        }
        child += child + 1 < n && heap[child + 1] < heap[child];
        if (heap[child] >= key) {
            break;
        }
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = key;
}

static void select_lane(uint64_t *heap, int64_t k, const float *x, int64_t length, int64_t step,
                        uint32_t reverse)
{
    for (int64_t i = 0; i < k; i++) { /* bottom up: a new key rises above its larger parents */
        uint64_t key = key_of(x[i * step], i, reverse);
        int64_t at = i;
        for (; at > 0 && heap[(at - 1) / 2] > key; at = (at - 1) / 2) {
            heap[at] = heap[(at - 1) / 2];
        }
        heap[at] = key;
    }
    for (int64_t i = k; i < length && k > 0; i++) {
        uint64_t key = key_of(x[i * step], i, reverse);
        if (key > heap[0]) {
            replace_smallest(heap, k, key);
        }
    }
    for (int64_t n = k - 1; n > 0; n--) { /* the smallest goes to the end */
        uint64_t smallest = heap[0], last = heap[n];
        replace_smallest(heap, n, last);
        heap[n] = smallest;
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const state *s = launch->state;
    const ry_problem *problem = launch->problem;
    const int64_t length = s->lanes.length, inner = s->lanes.inner,
                  k = problem->out[0].dim[axis_of(problem)];
    const uint32_t reverse = problem->attrs.topk.largest ? 0 : UINT32_MAX;
    int64_t *indices = ry_problem_has_output(problem, 1) ? launch->out[1] : NULL;
    uint64_t *heap = launch->scratch;
    int64_t first = (int64_t)task * s->units_per_task,
            end = first + s->units_per_task < s->units ? first + s->units_per_task : s->units;
    for (int64_t unit = first; unit < end; unit++) {
        const float *x =
            (const float *)launch->in[0] + unit / inner * length * inner + unit % inner;
        int64_t to = unit / inner * k * inner + unit % inner;
        select_lane(heap, k, x, length, inner, reverse);
        for (int64_t i = 0; i < k; i++) {
            int64_t position = (int64_t)(UINT32_MAX - (uint32_t)heap[i]);
            ((float *)launch->out[0])[to + i * inner] = x[position * inner];
            if (indices) {
                indices[to + i * inner] = position;
            }
        }
    }
}

RY_PLAIN_KERNEL(topk_f32_heap, topk, .applicable = applicable, .prepare = prepare,
                .initialise = initialise, .run = run);
