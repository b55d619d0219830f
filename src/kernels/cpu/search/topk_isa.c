/* SPDX-License-Identifier: Apache-2.0 */
/* Top-k of every type by a heap of the k best: after its first fill nearly every group of elements
 * is refused by one comparison, and no input makes it slower than n log k. An element's order and
 * its position are one key, so that ties go to the lowest position, as in the reference. */
#include "base/integer.h"
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/search/topk_plan.h"
#include "kernels/cpu/simd/half.h"
#include "kernels/cpu/simd/simd.h"

enum {
    BATCH = 256, /* elements whose order is found together */
    GROUP = 32,  /* elements that are refused together */
    PART = 8     /* and of a group with a better one */
};

/* Greater orders are greater values: both zeros are equal, NaN is on top. */
static inline uint32_t order_float(float value)
{
    uint32_t bits = ry_f32_bits(value + 0.0f);
    bits = bits >> 31 ? ~bits : bits | 0x80000000u;
    return value != value ? UINT32_MAX : bits;
}

static inline uint64_t order_double(double value)
{
    uint64_t bits = ry_f64_bits(value + 0.0);
    bits = bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
    return value != value ? UINT64_MAX : bits;
}

#define RY_SAME(x)               (x)
#define ORDER_FLOAT(value, v)    order_##value(v)
#define ORDER_UNSIGNED(value, v) (v)
#define ORDER_SIGNED(value, v)                                       \
    (sizeof(value) == 8 ? (uint64_t)(int64_t)(v) ^ UINT64_C(1) << 63 \
                        : (uint64_t)((uint32_t)(int32_t)(v) ^ 0x80000000u))
/* type of an order: 64 bits for 8-byte elements, else 32 */
#define ORDER_TYPE(value) \
    __typeof__(__builtin_choose_expr(sizeof(value) == 8, (uint64_t)0, (uint32_t)0))

#define RY_LANE(name, element, value, sum, load, store, kind)                                 \
    static void order_##name(void *to, const void *from, int64_t at, int64_t step, int64_t n, \
                             uint64_t reverse)                                                \
    {                                                                                         \
        ORDER_TYPE(value) *restrict order = to;                                               \
        const element *restrict x = (const element *)from + at;                               \
        const ORDER_TYPE(value) flip = (ORDER_TYPE(value))reverse;                            \
        if (step == 1) {                                                                      \
            for (int64_t i = 0; i < n; i++) {                                                 \
                order[i] = (ORDER_TYPE(value))ORDER_##kind(value, load(x[i])) ^ flip;         \
            }                                                                                 \
            return;                                                                           \
        }                                                                                     \
        for (int64_t i = 0; i < n; i++) {                                                     \
            order[i] = (ORDER_TYPE(value))ORDER_##kind(value, load(x[i * step])) ^ flip;      \
        }                                                                                     \
    }
#include "kernels/cpu/parts/lane_types.inc"
#undef RY_LANE

typedef void (*order_batch)(void *order, const void *x, int64_t at, int64_t step, int64_t n,
                            uint64_t reverse);

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
#define HEAP(name, key_type, order_type)                                                           \
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
    static void meet_##name(key_type *heap, int64_t k, key_type key, int64_t filled)               \
    {                                                                                              \
        if (filled >= k) {                                                                         \
            if (key > heap[0]) {                                                                   \
                replace_##name(heap, k, key);                                                      \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        int64_t at = filled; /* bottom up: a new key rises above its larger parents */             \
        for (; at > 0 && heap[(at - 1) / 2] > key; at = (at - 1) / 2) {                            \
            heap[at] = heap[(at - 1) / 2];                                                         \
        }                                                                                          \
        heap[at] = key;                                                                            \
    }                                                                                              \
    /* an equal order at a later position is never better */                                       \
    static bool refused_##name(const order_type *order, int64_t n, order_type worst)               \
    {                                                                                              \
        int better = 0;                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                          \
            better |= order[i] > worst;                                                            \
        }                                                                                          \
        return !better;                                                                            \
    }                                                                                              \
    static void select_##name(void *memory, const lane *l)                                         \
    {                                                                                              \
        key_type *heap = memory;                                                                   \
        order_type order[BATCH];                                                                   \
        for (int64_t i = 0; i < l->length && l->k > 0; i += GROUP) {                               \
            const int64_t n = ry_min(l->length - i, GROUP);                                        \
            const order_type *own = order + i % BATCH;                                             \
            if (own == order) {                                                                    \
                l->order(order, l->x, l->at + i * l->step, l->step, ry_min(l->length - i, BATCH),  \
                         l->reverse);                                                              \
            }                                                                                      \
            if (i >= l->k && (n == GROUP ? refused_##name(own, GROUP, (order_type)(heap[0] >> 32)) \
                                         : refused_##name(own, n, (order_type)(heap[0] >> 32)))) { \
                continue;                                                                          \
            }                                                                                      \
            for (int64_t j = 0; j < n; j++) {                                                      \
                if (j % PART == 0 && n == GROUP && i >= l->k &&                                    \
                    refused_##name(own + j, PART, (order_type)(heap[0] >> 32))) {                  \
                    j += PART - 1;                                                                 \
                    continue;                                                                      \
                }                                                                                  \
                const key_type low = UINT32_MAX - (uint32_t)(i + j);                               \
                meet_##name(heap, l->k, (key_type)own[j] << 32 | low, i + j);                      \
            }                                                                                      \
        }                                                                                          \
        for (int64_t n = l->k - 1; n > 0; n--) { /* the smallest goes to the end */                \
            const key_type smallest = heap[0], last = heap[n];                                     \
            replace_##name(heap, n, last);                                                         \
            heap[n] = smallest;                                                                    \
        }                                                                                          \
    }
HEAP(narrow, uint64_t, uint32_t)
HEAP(wide, wide_key, uint64_t)

static void run(const ry_cpu_launch *launch, size_t task)
{
    const ry_topk_plan *s = launch->state;
    const ry_problem *problem = launch->problem;
    const ry_dtype dtype = (ry_dtype)problem->in[0].dtype;
    const int64_t inner = s->lanes.inner, k = s->k;
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
    const ry_cut_range units = ry_cut_part(&s->units, task);
    for (int64_t unit = units.first; unit < units.end; unit++) {
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

RY_CPU_KERNEL(topk, topk, strict, .simd = RY_SIMD, .applicable = ry_topk_applicable,
              .prepare = ry_topk_prepare, .initialise = ry_topk_initialise, .run = run);
