/* SPDX-License-Identifier: Apache-2.0 */
/* Non-maximum suppression of any type: the scores of one class of one image are a heap, whose best
 * is compared with the boxes that are kept. Ties go to the lowest box, as in the reference.
 *
 * Phase 0 leaves in the workspace a row of 1 + boxes numbers for each class of each image: how many
 * it kept, and which. Phase 1 writes the rows to the output, in order. */
#include "base/float_bits.h"
#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/costs.h"

#include <math.h>

enum { TOGETHER = 16 }; /* kept boxes that are compared before the first that overlaps counts */

/* Corners and area of kept boxes, one array each: scratch. */
typedef struct kept_boxes {
    double *low[2], *high[2], *area;
} kept_boxes;

typedef struct box {
    double low[2], high[2], area;
} box;

static bool applicable(const ry_problem *problem)
{
    const ry_tensor *boxes = &problem->in[0], *scores = &problem->in[1], *y = &problem->out[0];
    return ry_problem_has_input(problem, 0) && ry_problem_has_input(problem, 1) &&
           ry_problem_has_output(problem, 0) && boxes->dtype != RYND_DTYPE_BOOL &&
           scores->dtype != RYND_DTYPE_BOOL && y->dtype == RYND_DTYPE_I64 && boxes->rank == 3 &&
           scores->rank == 3 && y->rank == 2 && boxes->dim[0] == scores->dim[0] &&
           boxes->dim[1] == scores->dim[2] && boxes->dim[2] == 4 && y->dim[1] == 3 &&
           scores->dim[2] <= INT32_MAX;
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    const ry_tensor *scores = &problem->in[1];
    const int64_t classes = scores->dim[0] * scores->dim[1], boxes = scores->dim[2];
    const size_t row = ((size_t)boxes + 1) * sizeof(int64_t);
    if (!ry_mul_size((size_t)classes, row, &prepared->workspace) || row > SIZE_MAX / 8) {
        return ry_fail_memory(error);
    }
    prepared->phases = 2;
    prepared->tasks[0] = (size_t)classes;
    prepared->tasks[1] = 1;
    prepared->scratch = (7 * row + RY_ALIGNMENT - 1) / RY_ALIGNMENT * RY_ALIGNMENT;
    const double kept = (double)ry_min(problem->attrs.nms.max_output, boxes);
    const struct ry_search_costs *cost = &ry_costs_asked(query)->search;
    ry_count_work((double)classes * ((double)boxes * cost->refused + kept * kept * cost->compared),
                  ry_problem_bytes(problem), prepared);
    return RYND_OK;
}

static inline double element(const ry_tensor *t, const void *data, int64_t index)
{
    return t->dtype == RYND_DTYPE_F32 ? (double)((const float *)data)[index]
                                      : ry_get_f64((ry_dtype)t->dtype, data, index);
}

/* Corners may be given in either order. */
static box box_at(const ry_cpu_launch *launch, int64_t image, int64_t number)
{
    const ry_tensor *boxes = &launch->problem->in[0];
    const int64_t at = image * boxes->stride[0] + number * boxes->stride[1];
    box b;
    for (int i = 0; i < 2; i++) {
        const double first = element(boxes, launch->in[0], at + i * boxes->stride[2]),
                     second = element(boxes, launch->in[0], at + (i + 2) * boxes->stride[2]);
        const bool centre = launch->problem->attrs.nms.center_point_box != 0;
        b.low[i] = centre ? first - second / 2 : fmin(first, second);
        b.high[i] = centre ? first + second / 2 : fmax(first, second);
    }
    b.area = (b.high[0] - b.low[0]) * (b.high[1] - b.low[1]);
    return b;
}

/* Floats of 32 and 16 bits: greater keys come first, the score in an order of unsigned numbers,
 * then the lower box. */
static uint64_t key_of(float score, int64_t number)
{
    uint32_t bits = ry_f32_bits(score + 0.0f);
    bits = bits >> 31 ? ~bits : bits | 0x80000000u;
    bits = score != score ? UINT32_MAX : bits;
    return (uint64_t)bits << 32 | (UINT32_MAX - (uint32_t)number);
}

/* Does a come before b? Keys, or (score given) numbers of boxes. */
static inline bool before(uint64_t a, uint64_t b, const double *score)
{
    if (!score) {
        return a > b;
    }
    const double x = score[a], y = score[b];
    const bool nan_x = x != x, nan_y = y != y;
    return nan_x != nan_y ? nan_x : x != y && !nan_x ? x > y : a < b;
}

/* Puts `key` into the place of the heap's root `i`, the first of its children's trees. */
static inline void sift(uint64_t *heap, int64_t n, int64_t i, uint64_t key, const double *score)
{
    for (int64_t child; (child = 2 * i + 1) < n; i = child) {
        child += child + 1 < n && before(heap[child + 1], heap[child], score);
        if (!before(heap[child], key, score)) {
            break;
        }
        heap[i] = heap[child];
    }
    heap[i] = key;
}

/* Does the box overlap any of `count` kept ones by more than the threshold? */
static bool suppressed(const kept_boxes *k, int64_t count, const box *b, double threshold)
{
    if (!(b->area > 0)) {
        return false;
    }
    for (int64_t first = 0; first < count; first += TOGETHER) {
        const int64_t end = ry_min(first + TOGETHER, count);
        int any = 0;
        for (int64_t i = first; i < end; i++) {
            double common = 1, inside = 1;
            for (int d = 0; d < 2; d++) {
                const double high = k->high[d][i] < b->high[d] ? k->high[d][i] : b->high[d];
                const double low = k->low[d][i] > b->low[d] ? k->low[d][i] : b->low[d];
                common *= high - low;
                inside = high > low ? inside : 0;
            }
            const double shared = common / (b->area + k->area[i] - common);
            any |= (inside > 0) & (k->area[i] > 0) & (shared > threshold) & (shared > 0);
        }
        if (any) {
            return true;
        }
    }
    return false;
}

static void keep(kept_boxes *k, int64_t at, const box *b)
{
    for (int d = 0; d < 2; d++) {
        k->low[d][at] = b->low[d];
        k->high[d][at] = b->high[d];
    }
    k->area[at] = b->area;
}

/* score: room for a number a box, if scores do not fit keys; else NULL. */
static inline __attribute__((always_inline)) void select_boxes(const ry_cpu_launch *launch,
                                                               int64_t class, double *score)
{
    const ry_nms_attrs *a = &launch->problem->attrs.nms;
    const ry_tensor *scores = &launch->problem->in[1];
    const int64_t boxes = scores->dim[2], image = class / scores->dim[1],
                  at = image * scores->stride[0] + class % scores->dim[1] * scores->stride[1];
    int64_t *row = (int64_t *)launch->workspace + class * (boxes + 1), count = 0;
    uint64_t *heap = launch->scratch;
    double *memory = (double *)(heap + boxes);
    kept_boxes kept = {
        {memory, memory + boxes}, {memory + 2 * boxes, memory + 3 * boxes}, memory + 4 * boxes};
    for (int64_t i = 0; i < boxes; i++) {
        const double value = element(scores, launch->in[1], at + i * scores->stride[2]);
        if (score) {
            score[i] = value;
        }
        heap[count] = score ? (uint64_t)i : key_of((float)value, i);
        count += value > a->score_threshold;
    }
    for (int64_t i = count / 2 - 1; i >= 0; i--) {
        sift(heap, count, i, heap[i], score);
    }
    row[0] = 0;
    while (count > 0 && row[0] < a->max_output) {
        const int64_t best = score ? (int64_t)heap[0] : (int64_t)(UINT32_MAX - (uint32_t)heap[0]);
        const box b = box_at(launch, image, best);
        if (!suppressed(&kept, row[0], &b, a->iou_threshold)) {
            keep(&kept, row[0], &b);
            row[1 + row[0]++] = best;
        }
        count--;
        sift(heap, count, 0, heap[count], score);
    }
}

static void select_class(const ry_cpu_launch *launch, int64_t class)
{
    const ry_tensor *scores = &launch->problem->in[1];
    const ry_dtype dtype = (ry_dtype)scores->dtype;
    if (ry_dtype_is_float(dtype) && ry_dtype_size(dtype) <= sizeof(float)) {
        select_boxes(launch, class, NULL);
    } else {
        select_boxes(launch, class, (double *)launch->scratch + 6 * scores->dim[2]);
    }
}

static void write_selected(const ry_cpu_launch *launch)
{
    const ry_tensor *scores = &launch->problem->in[1];
    const int64_t classes = scores->dim[1], most = launch->problem->out[0].dim[0];
    const ry_tensor *y = &launch->problem->out[0];
    int64_t *to = launch->out[0], written = 0;
    for (int64_t class = 0; class < scores->dim[0] * classes; class ++) {
        const int64_t *row = (const int64_t *)launch->workspace + class * (scores->dim[2] + 1);
        for (int64_t i = 0; i < row[0] && written < most; i++, written++, to += y->stride[0]) {
            to[0] = class / classes;
            to[y->stride[1]] = class % classes;
            to[2 * y->stride[1]] = row[1 + i];
        }
    }
    if (launch->actual) {
        launch->actual[0][0] = written;
        launch->actual[0][1] = 3;
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    if (launch->phase == 0) {
        select_class(launch, (int64_t)task);
    } else {
        write_selected(launch);
    }
}

RY_PLAIN_KERNEL(nms_heap, nms, .applicable = applicable, .prepare = prepare, .run = run);
