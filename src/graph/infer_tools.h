/* SPDX-License-Identifier: Apache-2.0 */
/* What the functions of infer_*.c are given, and read and write their node by. */
#ifndef RY_GRAPH_INFER_TOOLS_H
#define RY_GRAPH_INFER_TOOLS_H

#include "graph/graph.h"
#include "problem/problem.h"

typedef enum ry_infer_result { RY_INFER_DONE, RY_INFER_LATER, RY_INFER_FAILED } ry_infer_result;

typedef struct ry_infer {
    ry_graph *graph;
    ry_node *node;
    ry_error *error;
    rynd_status status; /* why, when the result is RY_INFER_FAILED */
} ry_infer;

typedef ry_infer_result (*ry_infer_fn)(ry_infer *infer);

const ry_value *ry_infer_in(const ry_infer *infer, int i); /* NULL when absent */
ry_value *ry_infer_out(const ry_infer *infer, int i);      /* NULL when absent */
bool ry_infer_has(const ry_infer *infer, int i);
ry_infer_result ry_infer_fail(ry_infer *infer, rynd_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A 1-D (or scalar) integer input's numbers. DONE, LATER (unknown content) or FAILED (wrong type or
 * rank, or more than RY_MAX_INTS). */
ry_infer_result ry_infer_ints(ry_infer *infer, int i, ry_ints *numbers);
ry_infer_result ry_infer_floats(ry_infer *infer, int i, ry_floats *numbers);
ry_infer_result ry_infer_axis(ry_infer *infer, int64_t axis, int rank, int *out);
/* Do the groups of a normalisation divide the channels? */
ry_infer_result ry_infer_check_groups(ry_infer *infer, int64_t groups, int64_t channels);
/* The axis of a softmax of input 0; the rank if each element is a row (flatten). */
ry_infer_result ry_infer_softmax_axis(ry_infer *infer, int64_t given, bool flatten, int64_t *axis);
void ry_infer_set(const ry_infer *infer, int i, ry_dtype dtype, const ry_shape *shape);

#define RY_INFER_TRY(call)                      \
    do {                                        \
        ry_infer_result ry_infer_try_ = (call); \
        if (ry_infer_try_ == RY_INFER_FAILED) { \
            return RY_INFER_FAILED;             \
        }                                       \
    } while (0)

/* "node 'c1' (Conv): input 1, value 'w' (f32 64x3x7x7), " and the message; always FAILED. */
ry_infer_result ry_infer_bad(ry_infer *infer, int i, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* DONE or FAILED. */
ry_infer_result ry_infer_check_rank(ry_infer *infer, int i, int least, int most);
ry_infer_result ry_infer_check_same_type(ry_infer *infer, int i, int as); /* absent i: DONE */
ry_infer_result ry_infer_check_integer(ry_infer *infer, int i);
/* Dim `axis` of input i must be `wanted`, as far as both are numbers; `what` names it in the
 * message. */
ry_infer_result ry_infer_check_dim(ry_infer *infer, int i, int axis, int64_t wanted,
                                   const char *what);
/* A scalar or one-element integer input. */
ry_infer_result ry_infer_int(ry_infer *infer, int i, int64_t *number);
ry_infer_result ry_infer_float(ry_infer *infer, int i, double *number);
/* Axes, made non-negative; each in range and none twice. */
ry_infer_result ry_infer_axes(ry_infer *infer, ry_ints *axes, int rank);
/* Both dims broadcast; equal symbols stay, different ones give an unknown dim. False when two
 * numbers disagree. */
bool ry_infer_broadcast_dim(ry_graph *graph, int64_t a, int64_t b, int64_t *out);
bool ry_infer_broadcast(ry_graph *graph, const ry_shape *a, const ry_shape *b, ry_shape *out);
/* Output i like input j. */
void ry_infer_like(ry_infer *infer, int i, int j);
bool ry_infer_known(const ry_shape *shape); /* every dim is a number */
/* `rank` unknown dims. */
ry_shape ry_infer_unknown(ry_infer *infer, int rank);
static inline bool ry_infer_agree(int64_t a, int64_t b)
{
    return a < 0 || b < 0 || a == b;
}

#endif
