/* SPDX-License-Identifier: Apache-2.0 */
/* The table of inference: one row an operator, and what the functions of infer_*.c share. */
#ifndef RY_GRAPH_INFER_TABLE_H
#define RY_GRAPH_INFER_TABLE_H

#include "graph/infer.h"

typedef enum ry_infer_types { RY_TYPES_ANY, RY_TYPES_NUMBER, RY_TYPES_FLOAT, RY_TYPES_INTEGER } ry_infer_types;
typedef enum ry_infer_rule { RY_RULE_FIRST, RY_RULE_THIRD, RY_RULE_I64, RY_RULE_F32, RY_RULE_OWN } ry_infer_rule;

typedef struct ry_infer_row {
    int least_inputs, most_inputs, most_outputs;
    ry_infer_types types;
    ry_infer_rule first, others;
    ry_infer_fn infer;
} ry_infer_row;

extern const ry_infer_row ry_infer_rows[RY_OPS];

#define RY_INFER(op, least, most, outputs, types, first, others) ry_infer_result ry_infer_op_##op(ry_infer *infer);
#include "graph/infer_ops.inc"
#undef RY_INFER

/* Against the row: number and presence of inputs and outputs; that input types are known, and the type of input 0 allowed. */
rynd_status ry_infer_check_arity(const ry_node *node, ry_error *error);
rynd_status ry_infer_check_types(const ry_graph *graph, const ry_node *node, ry_error *error);

#define RY_INFER_TRY(call)                      \
    do {                                        \
        ry_infer_result ry_infer_try_ = (call); \
        if (ry_infer_try_ == RY_INFER_FAILED) { \
            return RY_INFER_FAILED;             \
        }                                       \
    } while (0)

/* "node 'c1' (Conv): input 1, value 'w' (f32 64x3x7x7), " and the message; always FAILED. */
ry_infer_result ry_infer_bad(ry_infer *infer, int i, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* DONE or FAILED. */
ry_infer_result ry_infer_check_rank(ry_infer *infer, int i, int least, int most);
ry_infer_result ry_infer_check_same_type(ry_infer *infer, int i, int as); /* absent i: DONE */
ry_infer_result ry_infer_check_integer(ry_infer *infer, int i);
/* Dim `axis` of input i must be `wanted`, as far as both are numbers; `what` names it in the message. */
ry_infer_result ry_infer_check_dim(ry_infer *infer, int i, int axis, int64_t wanted, const char *what);
/* A scalar or one-element integer input. */
ry_infer_result ry_infer_int(ry_infer *infer, int i, int64_t *number);
ry_infer_result ry_infer_float(ry_infer *infer, int i, double *number);
/* Axes, made non-negative; each in range and none twice. */
ry_infer_result ry_infer_axes(ry_infer *infer, ry_ints *axes, int rank);
/* Both dims broadcast; equal symbols stay, different ones give an unknown dim. False when two numbers disagree. */
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
