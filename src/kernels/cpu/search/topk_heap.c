/* SPDX-License-Identifier: Apache-2.0 */
/* Top-k of every type by a heap of the k best: after its first fill nearly every element is refused
 * by one comparison, and no input makes it slower than n log k. An element's order and its position
 * are one key, so that ties go to the lowest position, as in the reference. */
#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/cpu/parts/dense_lanes.h"
#include "kernels/cpu/simd/half.h"

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
        problem->in[0].dtype == RYND_DTYPE_BOOL || problem->out[0].dtype != problem->in[0].dtype ||
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
    prepared->scratch = (k * 2 * sizeof(uint64_t) + RY_ALIGNMENT - 1) / RY_ALIGNMENT * RY_ALIGNMENT;
    const double refused = (double)s.lanes.length * ry_costs_asked(query)->search.refused;
    const double sorted = (double)k * log2((double)k + 1) * ry_costs_asked(query)->search.sorted;
    ry_count_work((double)s.units * (refused + sorted), ry_problem_bytes(problem), prepared);
    return RYND_OK;
}

enum { BATCH = 256 }; /* elements whose order is found together */

/* Greater orders are greater values: both zeros are equal, NaN is on top. */
static inline uint64_t order_float(float value)
{
    uint32_t bits;
    value += 0.0f;
    memcpy(&bits, &value, sizeof bits);
    bits = bits >> 31 ? ~bits : bits | 0x80000000u;
    return value != value ? UINT32_MAX : bits;
}

static inline uint64_t order_double(double value)
{
    uint64_t bits;
    value += 0.0;
    memcpy(&bits, &value, sizeof bits);
    bits = bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
    return value != value ? UINT64_MAX : bits;
}

#define RY_SAME(x)               (x)
#define ORDER_FLOAT(value, v)    order_##value(v)
#define ORDER_UNSIGNED(value, v) ((uint64_t)(v))
#define ORDER_SIGNED(value, v)                                       \
    (sizeof(value) == 8 ? (uint64_t)(int64_t)(v) ^ UINT64_C(1) << 63 \
                        : (uint64_t)((uint32_t)(int32_t)(v) ^ 0x80000000u))

#define RY_LANE(name, element, value, sum, load, store, kind)                                      \
    static void order_##name(uint64_t *restrict order, const void *from, int64_t at, int64_t step, \
                             int64_t n)                                                            \
    {                                                                                              \
        const element *x = (const element *)from + at;                                             \
        for (int64_t i = 0; i < n; i++) {                                                          \
            order[i] = ORDER_##kind(value, load(x[i * step]));                                     \
        }                                                                                          \
    }
#include "kernels/cpu/parts/lane_types.inc"
#undef RY_LANE

typedef void (*order_batch)(uint64_t *order, const void *x, int64_t at, int64_t step, int64_t n);

static const order_batch orders[RY_DTYPES] = {
#define RY_LANE(name, element, value, sum, load, store, kind) [RY_##name] = order_##name,
#include "kernels/cpu/parts/lane_types.inc"
#undef RY_LANE
};

/* The lane of x whose element 0 is at `at`. reverse: bits of an order to invert, none or all. */
typedef struct lane {
    order_batch order;
    const void *x;
    int64_t at, step, length, k;
    uint64_t reverse;
} lane;

/* A heap of keys, the smallest first: an order, then the position, counted down. The k best end in
 * it, the best first. Keys of orders of 32 and of 64 bits. */
__extension__ typedef unsigned __int128 wide_key;
#define HEAP(name, key_type)                                                                       \
    static void replace_##name(key_type *heap, int64_t n, key_type key)                            \
    {                                                                                              \
        int64_t i = 0;                                                                             \
        for (int64_t child; (child = 2 * i + 1) < n; i = child) {                                  \
            child += child + 1 < n && heap[child + 1] < heap[child];                               \
            if (heap[child] >= key) {                                                              \
                break;                                                                             \
            }                                                                                      \
            heap[i] = heap[child];                                                                 \
        }                                                                                          \
        heap[i] = key;                                                                             \
    }                                                                                              \
    static void select_##name(void *memory, const lane *l)                                         \
    {                                                                                              \
        key_type *heap = memory;                                                                   \
        uint64_t order[BATCH];                                                                     \
        for (int64_t i = 0; i < l->length && l->k > 0; i++) {                                      \
            if (i % BATCH == 0) {                                                                  \
                l->order(order, l->x, l->at + i * l->step, l->step, ry_min(l->length - i, BATCH)); \
            }                                                                                      \
            const key_type key =                                                                   \
                (key_type)(order[i % BATCH] ^ l->reverse) << 32 | (UINT32_MAX - (uint32_t)i);      \
            if (i >= l->k) {                                                                       \
                if (key > heap[0]) {                                                               \
                    replace_##name(heap, l->k, key);                                               \
                }                                                                                  \
                continue;                                                                          \
            }                                                                                      \
            int64_t at = i; /* bottom up: a new key rises above its larger parents */              \
            for (; at > 0 && heap[(at - 1) / 2] > key; at = (at - 1) / 2) {                        \
                heap[at] = heap[(at - 1) / 2];                                                     \
            }                                                                                      \
            heap[at] = key;                                                                        \
        }                                                                                          \
        for (int64_t n = l->k - 1; n > 0; n--) { /* the smallest goes to the end */                \
            const key_type smallest = heap[0], last = heap[n];                                     \
            replace_##name(heap, n, last);                                                         \
            heap[n] = smallest;                                                                    \
        }                                                                                          \
    }
HEAP(narrow, uint64_t)
HEAP(wide, wide_key)

static void run(const ry_cpu_launch *launch, size_t task)
{
    const state *s = launch->state;
    const ry_problem *problem = launch->problem;
    const ry_dtype dtype = (ry_dtype)problem->in[0].dtype;
    const int64_t inner = s->lanes.inner, k = problem->out[0].dim[axis_of(problem)];
    const size_t size = ry_dtype_size(dtype);
    const bool wide = size == 8;
    const uint64_t all = wide ? UINT64_MAX : UINT32_MAX;
    int64_t *indices = ry_problem_has_output(problem, 1) ? launch->out[1] : NULL;
    lane l = {orders[dtype],
              launch->in[0],
              0,
              inner,
              s->lanes.length,
              k,
              problem->attrs.topk.largest ? 0 : all};
    const int64_t first = (int64_t)task * s->units_per_task,
                  end = ry_min(first + s->units_per_task, s->units);
    for (int64_t unit = first; unit < end; unit++) {
        const int64_t to = unit / inner * k * inner + unit % inner;
        l.at = unit / inner * l.length * inner + unit % inner;
        (wide ? select_wide : select_narrow)(launch->scratch, &l);
        for (int64_t i = 0; i < k; i++) {
            const uint32_t low = wide ? (uint32_t)((const wide_key *)launch->scratch)[i]
                                      : (uint32_t)((const uint64_t *)launch->scratch)[i];
            const int64_t position = (int64_t)(UINT32_MAX - low);
            memcpy((char *)launch->out[0] + (size_t)(to + i * inner) * size,
                   (const char *)launch->in[0] + (size_t)(l.at + position * inner) * size, size);
            if (indices) {
                indices[to + i * inner] = position;
            }
        }
    }
}

RY_PLAIN_KERNEL(topk_heap, topk, .applicable = applicable, .prepare = prepare,
                .initialise = initialise, .run = run);
