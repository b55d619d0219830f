/* SPDX-License-Identifier: Apache-2.0 */
/* Gathering and scattering: the loop over positions. */
#include "kernels/move/indexed_moves.h"

#include "base/integer.h"
#include "kernels/move/element_reduce.h"
#include "machine/machine.h"

#include <string.h>

/* Adds a position along `dim`; d: the dim of the indices, or -1. */
static void add_position(ry_indexed *x, int64_t dim, int64_t data, const ry_tensor *index, int d,
                         int64_t dense)
{
    int64_t size = (int64_t)ry_dtype_size(x->dtype);
    int i = x->rank++;
    x->dim[i] = dim;
    x->data[i] = data * size;
    x->index[i] = d < 0 ? 0 : index->stride[d];
    x->order[i] = d < 0 ? 0 : 1;
    for (int later = d + 1; d >= 0 && later < index->rank; later++) {
        x->order[i] *= index->dim[later];
    }
    x->dense[i] = dense * size;
}

static void add_component(ry_indexed *x, const ry_tensor *data, int axis)
{
    int i = x->depth++;
    x->axis = axis - i;
    x->extent[i] = data->dim[axis];
    x->stride[i] = data->stride[axis] * (int64_t)ry_dtype_size(x->dtype);
}

static void add_slice(ry_indexed *x, int64_t dim, int64_t data, int64_t dense)
{
    ry_box_add(&x->slice, dim, x->scatter ? data : dense, x->scatter ? dense : data);
}

static void describe_gather(const ry_problem *problem, ry_indexed *x)
{
    const ry_tensor *data = &problem->in[0], *index = &problem->in[1], *y = &problem->out[0];
    int axis = ry_axis(problem->attrs.gather.axis, data->rank);
    for (int i = 0; i < axis; i++) {
        add_position(x, data->dim[i], data->stride[i], index, -1, y->stride[i]);
    }
    for (int i = 0; i < index->rank; i++) {
        add_position(x, index->dim[i], 0, index, i, y->stride[axis + i]);
    }
    add_component(x, data, axis);
    for (int i = axis + 1; i < data->rank; i++) {
        add_slice(x, data->dim[i], data->stride[i], y->stride[index->rank + i - 1]);
    }
}

/* The axis is the innermost position: what a task of whole inner rows scatters, no other task
 * touches. */
static void describe_elements(ry_indexed *x, const ry_tensor *data, const ry_tensor *index,
                              const ry_tensor *dense, int64_t attr_axis)
{
    int axis = ry_axis(attr_axis, data->rank);
    for (int i = 0; i < data->rank; i++) {
        if (i != axis || !x->scatter) {
            add_position(x, index->dim[i], i == axis ? 0 : data->stride[i], index, i,
                         dense->stride[i]);
        }
    }
    if (x->scatter) {
        add_position(x, index->dim[axis], 0, index, axis, dense->stride[axis]);
    }
    add_component(x, data, axis);
}

static void describe_nd(ry_indexed *x, const ry_tensor *data, const ry_tensor *index,
                        const ry_tensor *dense, int batch)
{
    int last = index->rank - 1, depth = (int)index->dim[last];
    for (int i = 0; i < last; i++) {
        add_position(x, index->dim[i], i < batch ? data->stride[i] : 0, index, i, dense->stride[i]);
    }
    x->component_stride = index->stride[last];
    for (int i = 0; i < depth; i++) {
        add_component(x, data, batch + i);
    }
    for (int i = batch + depth; i < data->rank; i++) {
        add_slice(x, data->dim[i], data->stride[i], dense->stride[last + i - batch - depth]);
    }
}

int64_t ry_indexed_positions(const ry_indexed *x)
{
    int64_t count = 1;
    for (int i = 0; i < x->rank; i++) {
        count *= x->dim[i];
    }
    return count;
}

/* Whole innermost rows where `row` says so; all positions together where scattered slices may meet.
 */
static void cut_chunks(ry_indexed *x, bool row, bool together)
{
    int64_t count = ry_indexed_positions(x), unit = row && count > 0 ? x->dim[x->rank - 1] : 1,
            bytes = (int64_t)x->slice.size;
    for (int i = 0; i < x->slice.rank; i++) {
        bytes *= x->slice.dim[i];
    }
    int64_t fit = x->slice.piece / bytes;
    x->chunk = together ? count : fit > unit ? fit / unit * unit : unit;
    x->chunks = count > 0 && x->slice.pieces > 0 ? (count + x->chunk - 1) / x->chunk : 0;
}

/* Bytes of a slice that a task moves. Tasks of a scatter that reduces take all positions, in order:
 * its slices are cut further, in parts of whole cache lines. */
static int64_t piece_of(const ry_query *query, const ry_indexed *x)
{
    enum { LINE = 64, PARTS = 8 };
    const int64_t most =
        ry_machine_task_bytes(query->target->machine, ry_problem_bytes(query->problem) / 2);
    int64_t bytes = (int64_t)x->slice.size;
    for (int i = 0; i < x->slice.rank; i++) {
        bytes = ry_product(bytes, x->slice.dim[i]);
    }
    const int64_t part = ry_round_up(bytes / PARTS + 1, LINE);
    return query->problem->op == RY_OP_scatter_nd && x->reduction != RY_scatter_reduction_none &&
                   part < most
               ? part
               : most;
}

rynd_status ry_indexed_describe(const ry_query *query, ry_indexed *x, ry_error *error)
{
    const ry_problem *problem = query->problem;
    const ry_tensor *data = &problem->in[0], *index = &problem->in[1], *y = &problem->out[0];
    bool scatter = problem->op == RY_OP_scatter_elements || problem->op == RY_OP_scatter_nd;
    *x = (ry_indexed){
        .scatter = scatter, .dtype = (ry_dtype)y->dtype, .index_dtype = (ry_dtype)index->dtype};
    x->slice = (ry_box){.size = ry_dtype_size(x->dtype)};
    switch (problem->op) {
    case RY_OP_gather: describe_gather(problem, x); break;
    case RY_OP_gather_elements:
        describe_elements(x, data, index, y, problem->attrs.gather_elements.axis);
        break;
    case RY_OP_gather_nd:
        describe_nd(x, data, index, y, (int)problem->attrs.gather_nd.batch_dims);
        break;
    case RY_OP_scatter_elements:
        x->reduction = problem->attrs.scatter_elements.reduction;
        describe_elements(x, y, index, &problem->in[2], problem->attrs.scatter_elements.axis);
        break;
    default:
        x->reduction = problem->attrs.scatter_nd.reduction;
        describe_nd(x, y, index, &problem->in[2], 0);
        break;
    }
    x->slice.keep_size = x->reduction != RY_scatter_reduction_none;
    x->slice.piece = piece_of(query, x);
    ry_box_prepare(&x->slice);
    x->bytes = x->reduction == RY_scatter_reduction_none && x->slice.pieces == 1
                   ? ry_box_contiguous(&x->slice)
                   : 0;
    cut_chunks(x, problem->op == RY_OP_scatter_elements, problem->op == RY_OP_scatter_nd);
    for (int i = 0; i < x->depth && x->chunks > 0; i++) {
        if (x->extent[i] == 0) {
            return ry_fail(
                error, RYND_ERROR_SHAPE,
                "%s: axis %d of input 0 has size 0, so that no index of input 1 is legal",
                ry_op_name(problem->op), x->axis + i);
        }
    }
    return RYND_OK;
}

size_t ry_indexed_tasks(const ry_indexed *x)
{
    return (size_t)x->chunks * x->slice.pieces;
}

/* Component k of the index at position `at` is illegal. */
static void note_fault(const ry_indexed *x, const int64_t *at, int k, int64_t value,
                       ry_fault *fault)
{
    int64_t position = k;
    for (int i = 0; i < x->rank; i++) {
        position += at[i] * x->order[i];
    }
    ry_fault_note(fault, &(ry_fault){.found = (uint64_t)position + 1,
                                     .value = value,
                                     .least = -x->extent[k],
                                     .most = x->extent[k] - 1,
                                     .input = 1,
                                     .axis = x->axis + k});
}

/* Where the indices at `index` point to, in bytes from the place in the data of position `at`. */
static inline int64_t chosen(const ry_indexed *x, const char *indices, int64_t index,
                             const int64_t *at, ry_fault *fault)
{
    int64_t offset = 0;
    for (int k = 0; k < x->depth; k++, index += x->component_stride) {
        const int64_t value = x->index_dtype == RY_i64 ? ((const int64_t *)indices)[index]
                              : x->index_dtype == RY_i32
                                  ? ((const int32_t *)indices)[index]
                                  : ry_get_i64(x->index_dtype, indices, index);
        int64_t i = value;
        if (i < 0 && x->index_dtype != RY_u64) {
            i += x->extent[k];
        }
        if ((uint64_t)i >= (uint64_t)x->extent[k]) {
            note_fault(x, at, k, value, fault);
            i = 0;
        }
        offset += i * x->stride[k];
    }
    return offset;
}

/* One piece of a slice, by a reduction. */
static void reduce_slice(const ry_indexed *x, ry_reduce_row reduce, char *dst, const char *src,
                         size_t piece)
{
    const ry_box *box = &x->slice;
    int64_t to, from, dim[RY_BOX_RANK], index[RY_BOX_RANK] = {0};
    ry_box_locate(box, piece, &to, &from, dim);
    dst += to;
    src += from;
    int last = box->rank - 1;
    if (last < 0) {
        reduce(dst, 0, NULL, src, 0, 1);
        return;
    }
    do {
        int64_t d = 0, s = 0;
        for (int i = 0; i < last; i++) {
            d += index[i] * box->dst[i];
            s += index[i] * box->src[i];
        }
        reduce(dst + d, box->dst[last], NULL, src + s, box->src[last], dim[last]);
    } while (ry_index_next(last, dim, index));
}

static inline void move_slice(const ry_indexed *x, ry_reduce_row reduce, char *dst, const char *src,
                              size_t piece)
{
    if (reduce) {
        reduce_slice(x, reduce, dst, src, piece);
    } else if (x->bytes) {
        memcpy(dst, src, (size_t)x->bytes);
    } else {
        ry_box_copy_piece(&x->slice, dst, src, piece);
    }
}

/* A run of positions along the last dim: bytes from the tensors' beginnings, elements of the
 * indices. */
typedef struct run_of {
    const char *indices;
    char *data, *dense;
    int64_t index, n;
} run_of;

/* Gathers elements of a contiguous row, by contiguous indices, into a contiguous row: as move_run.
 */
static inline __attribute__((always_inline)) bool gather_row(const ry_indexed *x, const run_of *r,
                                                             const size_t size, const bool wide)
{
    const int64_t extent = x->extent[0], n = r->n;
    const char *indices = r->indices + r->index * (wide ? 8 : 4), *data = r->data;
    char *dense = r->dense;
    for (int64_t j = 0; j < n; j++) {
        int64_t i = wide ? ((const int64_t *)(const void *)indices)[j]
                         : ((const int32_t *)(const void *)indices)[j];
        i += i >> 63 & extent;
        if ((uint64_t)i >= (uint64_t)extent) {
            return false;
        }
        memcpy(dense + j * (int64_t)size, data + i * (int64_t)size, size);
    }
    return true;
}

/* Moves one element, or `bytes`, by each of n indices of one component; false: one is illegal.
 * Inlined with size (0: x->bytes) and types as constants. */
static inline __attribute__((always_inline)) bool move_run(const ry_indexed *x, const run_of *r,
                                                           const size_t size, const bool wide,
                                                           const bool scatter)
{
    const int last = x->rank - 1;
    const int64_t extent = x->extent[0], stride = x->stride[0], step = x->index[last], n = r->n,
                  spacing = x->data[last], dense_stride = x->dense[last];
    const size_t bytes = size ? size : (size_t)x->bytes;
    if (size && !scatter && spacing == 0 && step == 1 && stride == (int64_t)size &&
        dense_stride == (int64_t)size) {
        return gather_row(x, r, size, wide);
    }
    const char *indices = r->indices + r->index * (wide ? 8 : 4);
    char *data = r->data, *dense = r->dense;
    bool legal = true;
    for (int64_t j = 0; j < n; j++, data += spacing, dense += dense_stride) {
        int64_t i = wide ? ((const int64_t *)(const void *)indices)[j * step]
                         : ((const int32_t *)(const void *)indices)[j * step];
        i += i < 0 ? extent : 0;
        const bool inside = (uint64_t)i < (uint64_t)extent;
        legal = legal && inside;
        char *position = data + (inside ? i : 0) * stride;
        memcpy(scatter ? position : dense, scatter ? dense : position, bytes);
    }
    return legal;
}

#define RUN_OF_SIZE(size)                                                                      \
    (x->index_dtype == RY_i64                                                                  \
         ? (x->scatter ? move_run(x, r, size, true, true) : move_run(x, r, size, true, false)) \
         : (x->scatter ? move_run(x, r, size, false, true) : move_run(x, r, size, false, false)))

/* False: nothing was done, or an index is illegal. */
static bool moved_at_once(const ry_indexed *x, const run_of *r)
{
    if (x->depth != 1 || x->bytes == 0 || (x->index_dtype != RY_i64 && x->index_dtype != RY_i32)) {
        return false;
    }
    switch (x->bytes) {
    case 1: return RUN_OF_SIZE(1);
    case 2: return RUN_OF_SIZE(2);
    case 4: return RUN_OF_SIZE(4);
    case 8: return RUN_OF_SIZE(8);
    default: return RUN_OF_SIZE(0);
    }
}

/* Reduces single elements, whose places are found before; `at` is the first's. */
static void reduce_run(const ry_indexed *x, const run_of *r, int64_t *at, ry_fault *fault)
{
    enum { TOGETHER = 64 };
    const ry_reduce_row reduce = ry_reduce_row_of(x->dtype, x->reduction);
    const int last = x->rank - 1;
    int64_t positions[TOGETHER];
    for (int64_t j = 0; j < r->n; j += TOGETHER) {
        const int64_t n = ry_min(r->n - j, TOGETHER);
        for (int64_t k = 0; k < n; k++, at[last]++) {
            positions[k] = (j + k) * x->data[last] +
                           chosen(x, r->indices, r->index + (j + k) * x->index[last], at, fault);
        }
        reduce(r->data, 0, positions, r->dense + j * x->dense[last], x->dense[last], n);
    }
}

/* Position by position; `at` is the first's. */
static void move_one_by_one(const ry_indexed *x, const run_of *r, int64_t *at, size_t piece,
                            ry_fault *fault)
{
    const ry_reduce_row reduce = ry_reduce_row_of(x->dtype, x->reduction);
    const int last = x->rank - 1;
    const bool row = reduce && x->slice.rank == 1; /* a piece is one row */
    int64_t d = 0, i = r->index, e = 0, to = 0, from = 0, dim[RY_BOX_RANK];
    if (row) {
        ry_box_locate(&x->slice, piece, &to, &from, dim);
    }
    for (int64_t left = r->n;;) {
        char *position = r->data + d + chosen(x, r->indices, i, at, fault), *dense = r->dense + e;
        if (row) {
            reduce(position + to, x->slice.dst[0], NULL, dense + from, x->slice.src[0], dim[0]);
        } else {
            move_slice(x, reduce, x->scatter ? position : dense, x->scatter ? dense : position,
                       piece);
        }
        if (--left == 0) {
            break;
        }
        d += x->data[last], i += x->index[last], e += x->dense[last];
        at[last]++;
    }
}

void ry_indexed_run(const ry_indexed *x, const char *indices, char *data, char *dense, size_t task,
                    ry_fault *fault)
{
    const size_t piece = task % x->slice.pieces;
    const int last = x->rank - 1;
    int64_t position = (int64_t)(task / x->slice.pieces) * x->chunk;
    const int64_t end = ry_min(position + x->chunk, ry_indexed_positions(x));
    while (position < end) {
        int64_t at[RY_MAX_RANK] = {0}, rest = position;
        run_of r = {indices, data, dense, 0, 1};
        for (int k = last; k >= 0; k--) {
            at[k] = rest % x->dim[k];
            rest /= x->dim[k];
            r.data += at[k] * x->data[k];
            r.index += at[k] * x->index[k];
            r.dense += at[k] * x->dense[k];
        }
        if (last >= 0) {
            r.n = ry_min(end - position, x->dim[last] - at[last]);
        }
        position += r.n;
        if (last >= 0 && x->slice.rank == 0 && x->reduction != RY_scatter_reduction_none) {
            reduce_run(x, &r, at, fault);
        } else if (last < 0 || !moved_at_once(x, &r)) {
            move_one_by_one(x, &r, at, piece, fault);
        }
    }
}
