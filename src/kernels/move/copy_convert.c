/* SPDX-License-Identifier: Apache-2.0 */
/* copy between element types: pieces of a box whose rows are converted; f32 to and from the 16-bit
 * floats by loops that vectorise. */
#include "base/float_bits.h"
#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/move/strided_copy.h"

#include <string.h>

/* Two boxes over the same dims: gathering a piece of the source into scratch, row-major, and the
 * rows' places in the destination. */
typedef struct convert_state {
    /* elements keep their size; src strides are the source's, dst strides the destination's,
     * each in its own bytes */
    ry_box box;
} convert_state;

static bool applicable(const ry_problem *problem)
{
    return ry_problem_has_input(problem, 0) && ry_problem_has_output(problem, 0) &&
           problem->in[0].dtype != problem->out[0].dtype;
}

/* The box counts in elements, and so does a piece; only strides say how large an element is. */
static void initialise(const ry_query *query, void *memory)
{
    convert_state *state = memory;
    const ry_problem *problem = query->problem;
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    const int64_t both =
        (int64_t)(ry_dtype_size((ry_dtype)x->dtype) + ry_dtype_size((ry_dtype)y->dtype));
    const double bytes = (double)(ry_tensor_bytes(x) + ry_tensor_bytes(y));
    const int64_t piece = ry_machine_task_bytes(query->target->machine, bytes) / both;
    state->box = (ry_box){.size = 1, .keep_size = 1, .piece = piece};
    for (int i = 0; i < y->rank; i++) {
        ry_box_add(&state->box, y->dim[i], y->stride[i], x->stride[i]);
    }
    ry_box_prepare(&state->box);
}

/* The loops of convert_row: those to and from bfloat16 and from float16 keep up with moving. */
static double work_of(const ry_query *query)
{
    const struct ry_move_costs *cost = &ry_costs_asked(query)->move;
    const ry_dtype from = (ry_dtype)query->problem->in[0].dtype,
                   to = (ry_dtype)query->problem->out[0].dtype;
    const double count = (double)ry_tensor_count(&query->problem->out[0]);
    const double moved = ry_stream_work(query->target->machine, ry_problem_bytes(query->problem));
    const bool halves = from == RY_f32 ? to == RY_f16 || to == RY_bf16
                                       : to == RY_f32 && (from == RY_f16 || from == RY_bf16);
    return moved + count * (!halves ? cost->converted : to == RY_f16 ? cost->rounded : 0);
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    (void)error;
    convert_state state;
    initialise(query, &state);
    prepared->phases = 1;
    prepared->tasks[0] = state.box.pieces;
    prepared->state_size = sizeof state;
    prepared->scratch =
        ry_aligned((size_t)state.box.piece * ry_dtype_size((ry_dtype)problem->in[0].dtype));
    ry_count_work(work_of(query), ry_problem_bytes(problem), prepared);
    return RYND_OK;
}

static void f32_to_bf16(uint16_t *restrict y, const float *restrict x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = ry_f32_bits(x[i]), rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16,
                 nan = bits >> 16 | 0x40u;
        y[i] = (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
    }
}

static void bf16_to_f32(float *restrict y, const uint16_t *restrict x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = ry_f32_of_bits((uint32_t)x[i] << 16);
    }
}

/* The three ranges of ry_f32_to_f16, all computed and one chosen, so that the loop has no branch.
 */
static void f32_to_f16(uint16_t *restrict y, const float *restrict x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = ry_f32_bits(x[i]), magnitude = bits & 0x7fffffffu,
                 sign = bits >> 16 & 0x8000u;
        uint32_t normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
        uint32_t small =
            ry_f32_bits(ry_f32_of_bits(magnitude < 0x38800000u ? magnitude : 0) + 0.5f) -
            0x3f000000u;
        uint32_t large = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
        uint32_t value = magnitude < 0x38800000u ? small : normal;
        y[i] = (uint16_t)(sign | (magnitude >= 0x477ff000u ? large : value));
    }
}

/* Scaling by 2^112 moves the exponent's bias; it makes subnormals normal exactly. */
static void f16_to_f32(float *restrict y, const uint16_t *restrict x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t sign = (uint32_t)(x[i] & 0x8000u) << 16, magnitude = (uint32_t)(x[i] & 0x7fffu)
                                                                      << 13;
        uint32_t finite = ry_f32_bits(ry_f32_of_bits(magnitude) * 0x1p112f);
        y[i] = ry_f32_of_bits(sign | (magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : finite));
    }
}

/* One row; strides in elements. */
static void convert_row(ry_dtype to, char *y, int64_t dy, ry_dtype from, const char *x, int64_t dx,
                        int64_t n)
{
    void *out = y;
    const void *in = x;
    if (dx == 1 && dy == 1 && from == RY_f32 && to == RY_f16) {
        f32_to_f16(out, in, n);
    } else if (dx == 1 && dy == 1 && from == RY_f32 && to == RY_bf16) {
        f32_to_bf16(out, in, n);
    } else if (dx == 1 && dy == 1 && from == RY_f16 && to == RY_f32) {
        f16_to_f32(out, in, n);
    } else if (dx == 1 && dy == 1 && from == RY_bf16 && to == RY_f32) {
        bf16_to_f32(out, in, n);
    } else if (!ry_dtype_is_float(from) && !ry_dtype_is_float(to)) {
        for (int64_t i = 0; i < n; i++) {
            ry_set_i64(to, out, i * dy, ry_get_i64(from, in, i * dx));
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            ry_set_f64(to, out, i * dy, ry_get_f64(from, in, i * dx));
        }
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const ry_box *box = &((const convert_state *)launch->state)->box;
    const ry_dtype from = (ry_dtype)launch->problem->in[0].dtype,
                   to = (ry_dtype)launch->problem->out[0].dtype;
    const int64_t from_size = (int64_t)ry_dtype_size(from), to_size = (int64_t)ry_dtype_size(to);
    int64_t d, s, dim[RY_BOX_RANK], source[RY_BOX_RANK], index[RY_BOX_RANK] = {0};
    ry_box_locate(box, task, &d, &s, dim);
    char *dst = (char *)launch->out[0] + d * to_size;
    const char *src = (const char *)launch->in[0] + s * from_size;
    int last = box->rank - 1;
    memcpy(source, box->src, sizeof source);
    /* transposed: bring the piece into the order of the destination first */
    if (last > 0 && box->src[last] != 1) {
        ry_box gather = {.size = (size_t)from_size};
        int64_t step = 1;
        for (int i = last; i >= 0; i--) {
            ry_box_add(&gather, dim[i], step, box->src[i]);
            source[i] = step;
            step *= dim[i];
        }
        ry_box_prepare(&gather);
        char *scratch = launch->scratch;
        ry_box_copy(&gather, scratch, src);
        src = scratch;
    }
    do {
        int64_t to_row = 0, from_row = 0;
        for (int i = 0; i < last; i++) {
            to_row += index[i] * box->dst[i];
            from_row += index[i] * source[i];
        }
        convert_row(to, dst + to_row * to_size, last < 0 ? 1 : box->dst[last], from,
                    src + from_row * from_size, last < 0 ? 1 : source[last],
                    last < 0 ? 1 : dim[last]);
    } while (last > 0 && ry_index_next(last, dim, index));
}

RY_PLAIN_KERNEL(copy_convert, copy, .applicable = applicable, .prepare = prepare,
                .initialise = initialise, .run = run);
