/* SPDX-License-Identifier: Apache-2.0 */
/* Adds nodes to a bound graph and infers their types and shapes, for rewrites and training.
 *
 * An emitter holds its first failure: after it every call returns RY_NO_VALUE and adds nothing, so
 * that a rule is a row of calls and one `return emitter.status`. Names are made of the emitter's
 * name: "conv1/grad", "conv1/grad/2". Ids stay valid; pointers into the graph do not, except within
 * the arguments of one call. */
#ifndef RY_GRAPH_EMITTER_H
#define RY_GRAPH_EMITTER_H

#include "expr/expr.h"
#include "graph/infer.h"

typedef struct ry_emitter {
    ry_graph *graph;
    const char *name; /* name of the emitted nodes; must outlive the emitter */
    ry_error *error;
    rynd_status status;
} ry_emitter;

/* Adds a node of `op` (attrs NULL: the defaults) and its outputs, and gives the first of them. in:
 * RY_NO_VALUE is an absent input. */
ry_value_id ry_emit(ry_emitter *emitter, ry_op op, const ry_attrs *attrs, int inputs,
                    const ry_value_id *in);
/* The same with several outputs: shape[i] NULL: inference finds it; else it is stated (a conv's
 * backward directions need that). outputs[i] receives each. False on failure. */
bool ry_emit_outputs(ry_emitter *emitter, ry_op op, const ry_attrs *attrs, int inputs,
                     const ry_value_id *in, int outputs, const ry_shape *const *shape,
                     ry_value_id *out);
/* The same with an output as it is: made by the caller, with its name and, where inference does
 * not tell, its type and shape. */
bool ry_emit_into(ry_emitter *emitter, ry_op op, const ry_attrs *attrs, int inputs,
                  const ry_value_id *in, int outputs, const ry_value_id *out);

/* A pointwise expression of the language; the second with numbers for names in its text. */
ry_value_id ry_emit_expr(ry_emitter *emitter, const char *text, int inputs, const ry_value_id *in);
ry_value_id ry_emit_expr_with(ry_emitter *emitter, const char *text,
                              const ry_expr_parameter *parameters, int parameter_count, int inputs,
                              const ry_value_id *in);
/* One that reduces, over `axes`. */
ry_value_id ry_emit_reduce(ry_emitter *emitter, const char *text, const ry_ints *axes,
                           bool keepdims, int inputs, const ry_value_id *in);
/* The program of a text, for nodes with several outputs; NULL on failure. */
const ry_expr *ry_emit_program(ry_emitter *emitter, const char *text);
const ry_expr *ry_emit_program_with(ry_emitter *emitter, const char *text,
                                    const ry_expr_parameter *parameters, int parameter_count);

/* Sums values of one shape, ((v0 + v1) + ..) in this order, in few nodes. Skips RY_NO_VALUE; gives
 * RY_NO_VALUE if all are. */
ry_value_id ry_emit_sum(ry_emitter *emitter, size_t count, const ry_value_id *values);
/* Sums over the dims by which `value` was broadcast from `shape`, and gives it that shape. */
ry_value_id ry_emit_sum_to(ry_emitter *emitter, ry_value_id value, const ry_shape *shape);
/* `value` broadcast to a shape. */
ry_value_id ry_emit_expand(ry_emitter *emitter, ry_value_id value, const ry_shape *shape);
ry_value_id ry_emit_reshape(ry_emitter *emitter, ry_value_id value, const ry_shape *shape);
ry_value_id ry_emit_transpose(ry_emitter *emitter, ry_value_id value, const ry_ints *perm);
/* A constant with one element, of rank 0. */
ry_value_id ry_emit_scalar(ry_emitter *emitter, ry_dtype dtype, double number);
/* A value of one number everywhere: no memory until it is run. */
ry_value_id ry_emit_filled(ry_emitter *emitter, ry_dtype dtype, const ry_shape *shape,
                           double number);
/* A 1-D constant of i64. */
ry_value_id ry_emit_i64s(ry_emitter *emitter, int count, const int64_t *numbers);

/* Copies of what the graph knows of a value: they stay when nodes are added. */
ry_shape ry_emit_shape(const ry_emitter *emitter, ry_value_id value);
ry_dtype ry_emit_dtype(const ry_emitter *emitter, ry_value_id value);

/* Fails the emitter with a message, unless it has failed before. Returns its status. */
rynd_status ry_emit_fail(ry_emitter *emitter, rynd_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
