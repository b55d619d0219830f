/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of recurrent layers. */
#include "graph/infer_table.h"
#include "problem/recurrent.h"

/* Checks the dims of an input that may be absent. */
static ry_infer_result check_dims(ry_infer *infer, int i, int rank, const int64_t *dim,
                                  const char *what)
{
    if (!ry_infer_has(infer, i)) {
        return RY_INFER_DONE;
    }
    RY_INFER_TRY(ry_infer_check_rank(infer, i, rank, rank));
    for (int d = 0; d < rank; d++) {
        RY_INFER_TRY(ry_infer_check_dim(infer, i, d, dim[d], what));
    }
    return RY_INFER_DONE;
}

static ry_infer_result check_functions(ry_infer *infer)
{
    const ry_recurrent_attrs *a = &infer->node->attrs.recurrent;
    ry_recurrent_function function[RY_RECURRENT_MOST];
    for (int d = 0; d < ry_recurrent_directions(a); d++) {
        if (!ry_recurrent_functions(a, d, function)) {
            return ry_infer_fail(infer, RYND_ERROR_UNSUPPORTED,
                                 "its activations '%s' are too few, or one of them is unknown",
                                 a->activations ? a->activations : "");
        }
    }
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_recurrent(ry_infer *infer)
{
    const ry_recurrent_attrs *a = &infer->node->attrs.recurrent;
    const int directions = ry_recurrent_directions(a), gates = ry_recurrent_gates(a);
    const bool first = a->batch_first != 0;
    RY_INFER_TRY(check_functions(infer));
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 3, 3));
    if (!ry_infer_has(infer, 2)) {
        return ry_infer_fail(infer, RYND_ERROR_SHAPE, "input 2 (the state's weights) is missing");
    }
    RY_INFER_TRY(ry_infer_check_rank(infer, 2, 3, 3));
    const ry_shape *x = &ry_infer_in(infer, 0)->shape, *r = &ry_infer_in(infer, 2)->shape;
    const int64_t time = x->dim[first], batch = x->dim[!first], hidden = r->dim[2];
    const int64_t rows = hidden < 0 ? hidden : hidden * gates;
    const int64_t state[] = {first ? batch : directions, first ? directions : batch, hidden};
    for (int i = 1; i < 8; i++) {
        if (i != 4) {
            RY_INFER_TRY(ry_infer_has(infer, i) ? ry_infer_check_same_type(infer, i, 0)
                                                : RY_INFER_DONE);
        }
    }
    RY_INFER_TRY(check_dims(infer, 1, 3, (int64_t[]){directions, rows, x->dim[2]},
                            "directions, gates * hidden size, size of x"));
    if (!ry_infer_has(infer, 1)) {
        RY_INFER_TRY(ry_infer_check_dim(infer, 0, 2, rows < 0 ? rows : directions * rows,
                                        "directions * gates * hidden size, without weights"));
    }
    RY_INFER_TRY(check_dims(infer, 2, 3, (int64_t[]){directions, rows, hidden},
                            "directions, gates * hidden size, hidden size"));
    RY_INFER_TRY(check_dims(infer, 3, 2, (int64_t[]){directions, rows < 0 ? rows : 2 * rows},
                            "directions, 2 * gates * hidden size"));
    RY_INFER_TRY(ry_infer_has(infer, 4) ? ry_infer_check_integer(infer, 4) : RY_INFER_DONE);
    RY_INFER_TRY(check_dims(infer, 4, 1, &batch, "batch of x"));
    RY_INFER_TRY(check_dims(infer, 5, 3, state, "directions, batch, hidden size"));
    RY_INFER_TRY(check_dims(infer, 6, 3, state, "directions, batch, hidden size"));
    RY_INFER_TRY(check_dims(infer, 7, 2, (int64_t[]){directions, hidden < 0 ? hidden : 3 * hidden},
                            "directions, 3 * hidden size"));
    const ry_shape y = {.rank = 4,
                        .dim = {first ? batch : time, first ? time : directions,
                                first ? directions : batch, hidden}};
    const ry_shape last = ry_shape_of(3, state);
    const ry_dtype dtype = ry_infer_in(infer, 0)->dtype;
    ry_infer_set(infer, 0, dtype, &y);
    ry_infer_set(infer, 1, dtype, &last);
    ry_infer_set(infer, 2, dtype, &last);
    return RY_INFER_DONE;
}
