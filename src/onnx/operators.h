/* SPDX-License-Identifier: Apache-2.0 */
/* The table of ONNX operators (operators.inc), and what a row's function has at hand to turn an
 * ONNX node into graph nodes.
 *
 * A row is one operator over a range of opsets in which its inputs, attributes and meaning stay the
 * same. Most rows are data: an expression, or a graph operator whose attributes are copied by name.
 * The others name a function, which emits nodes:
 *
 *   static void global_max_pool(ry_import *import)
 *   {
 *       ry_value_id x = ry_import_in(import, 0);
 *       ...
 *       ry_onnx_emit(import, RY_OP_expr, &attrs, 1, &x, ry_import_out(import, 0));
 *   }
 *
 * The first failure is kept in the import; whatever is called after it does nothing and returns
 * RY_NO_VALUE, so functions need not check. */
#ifndef RY_ONNX_OPERATORS_H
#define RY_ONNX_OPERATORS_H

#include "expr/expr.h"
#include "onnx/nodes.h"

/* The domain of ONNX Runtime's own operators. */
#define RY_DOMAIN_MICROSOFT "com.microsoft"

#define RY_IR_VERSION_NEWEST 14

#define RY_ANY_COUNT INT16_MAX

/* A set of dtypes has bit 1 << dtype. */
typedef uint32_t ry_dtype_set;

typedef struct ry_attribute_spec {
    /* ONNX's; NULL: ends the list; "": not an attribute of ONNX, `field` always takes the
     * default */
    const char *name;
    ry_attribute_type type;
    bool required;
    /* the graph operator's attribute; "": read by the row's function, or an expression's
     * parameter; NULL: ignored */
    const char *field;
    double number;    /* the default of a number */
    const char *text; /* the default of a string */
} ry_attribute_spec;

typedef struct ry_import ry_import;

typedef struct ry_operator {
    const char *name, *domain;
    int16_t first, last; /* opsets */
    int16_t min_inputs, max_inputs, min_outputs, max_outputs;
    ry_dtype_set types; /* that the first input may have */
    ry_op op;           /* the graph node of the row; RY_OPS: not just one node */
    void (*run)(ry_import *import);
    const char *text; /* expression */
    const ry_attribute_spec *attributes;
} ry_operator;

extern const ry_operator ry_operators[];
extern const size_t ry_operator_count;

/* The row for an operator. NULL: none; then *nearest is the first row of that name and domain, or
 * NULL. */
const ry_operator *ry_operator_find(const char *name, const char *domain, int64_t opset,
                                    const ry_operator **nearest);

/* Fails with a message that lists every node whose operator, domain or opset has no row. */
rynd_status ry_operators_check(ry_reader *reader, const ry_node_list *list);

struct ry_import {
    ry_reader *reader;
    ry_graph *graph;
    const ry_node_record *node;
    const ry_operator *row;
    const ry_value_id *in; /* node->inputs of them */
    int made;              /* values made up for this node so far */
    /* ry_import_nodes, for the nodes of a body */
    rynd_status (*run_nodes)(ry_reader *reader, ry_graph *graph, ry_node_list *nodes,
                             const ry_names *known);
    rynd_status status;
};

/* Sorts the nodes and runs the row of each. `known`: names that no node has to make. */
rynd_status ry_import_nodes(ry_reader *reader, ry_graph *graph, ry_node_list *nodes,
                            const ry_names *known);

/* Adds the nodes of the graph in an attribute, once more for each call. in: what its inputs are;
 * out: its outputs, which may be values from outside. */
void ry_import_body(ry_import *import, const char *attribute, int inputs, const ry_value_id *in,
                    int outputs, ry_value_id *out);

/* Element i of a value that is computed from constants and known dims by the operators that
 * exporters compute shapes and conditions with; false: not known now. */
bool ry_import_evaluate(ry_import *import, ry_value_id value, int64_t i, double *number);

/* Makes a list of numbers a constant, if all follow so. */
void ry_import_settle(ry_import *import, ry_value_id value);

/* Fails with a message that names the node. */
void ry_import_fail(ry_import *import, rynd_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool ry_import_failed(const ry_import *import);

/* Values. */
ry_value_id ry_import_in(const ry_import *import, int i); /* RY_NO_VALUE: absent */
bool ry_import_has(const ry_import *import, int i);
bool ry_import_wants(const ry_import *import, int i); /* the node names output i */
/* The ONNX output i, made on the first call; RY_NO_VALUE when the node does not name it. */
ry_value_id ry_import_out(ry_import *import, int i);
const ry_value *ry_import_value(const ry_import *import, ry_value_id value);
ry_dtype ry_import_dtype(const ry_import *import, ry_value_id value); /* RY_NONE: not known */
int ry_import_rank(ry_import *import, ry_value_id value); /* fails when it is not known */
/* fails when it is no number */
int64_t ry_import_dim(ry_import *import, ry_value_id value, int axis);
/* A constant's or folded value's content; false when it is not known now. */
bool ry_import_ints_of(ry_import *import, ry_value_id value, ry_ints *numbers);
bool ry_import_scalar_of(ry_import *import, ry_value_id value, double *number);

/* Attributes, by ONNX name, with the row's default. */
/* NULL when the node does not have it */
const ry_attribute_record *ry_import_attribute(const ry_import *import, const char *name);
int64_t ry_import_int(ry_import *import, const char *name);
double ry_import_float(ry_import *import, const char *name);
const char *ry_import_text(ry_import *import, const char *name);
ry_ints ry_import_ints(ry_import *import, const char *name);
ry_floats ry_import_floats(ry_import *import, const char *name);
/* an int attribute that is a TensorProto.DataType; 0: RY_NONE */
ry_dtype ry_import_type(ry_import *import, const char *name);
rynd_status ry_import_check_attributes(ry_import *import);
/* Defaults of `op` with the row's fields filled in. */
ry_attrs ry_import_attrs(ry_import *import, ry_op op);

/* Emitting. `to` RY_NO_VALUE: a value is made up. Each returns the first output. */
ry_value_id ry_onnx_emit(ry_import *import, ry_op op, const ry_attrs *attrs, int inputs,
                         const ry_value_id *in, ry_value_id to);
void ry_onnx_emit_many(ry_import *import, ry_op op, const ry_attrs *attrs, int inputs,
                       const ry_value_id *in, int outputs, const ry_value_id *out);
ry_value_id ry_onnx_emit_temporary(ry_import *import);

typedef struct ry_reduction {
    const ry_ints *axes; /* NULL: none are stated (all, when the text reduces) */
    bool drop;           /* reduced dims go */
    bool axes_input;     /* the last input is the axes */
    bool noop_empty;
} ry_reduction;

ry_value_id ry_onnx_emit_expr(ry_import *import, const char *text,
                              const ry_expr_parameter *parameters, int parameter_count,
                              const ry_reduction *reduction, int inputs, const ry_value_id *in,
                              ry_value_id to);
ry_value_id ry_onnx_emit_expr1(ry_import *import, const char *text, ry_value_id x0);
ry_value_id ry_onnx_emit_expr2(ry_import *import, const char *text, ry_value_id x0, ry_value_id x1);
/* x itself when it has the type and `to` is RY_NO_VALUE */
ry_value_id ry_onnx_emit_cast(ry_import *import, ry_value_id x, ry_dtype dtype, ry_value_id to);
/* round(x / scale) + zero, saturated to dtype; in: x, scale, zero point (RY_NO_VALUE: 0), which
 * broadcast. The rewrites of quantised graphs know the two programs. */
void ry_onnx_emit_quantise(ry_import *import, const ry_value_id in[3], ry_dtype dtype,
                           ry_value_id to);
/* (x - zero) * scale in dtype, a type of floats */
ry_value_id ry_onnx_emit_dequantise(ry_import *import, const ry_value_id in[3], ry_dtype dtype,
                                    ry_value_id to);
ry_value_id ry_onnx_emit_reshape(ry_import *import, ry_value_id x, int rank, const int64_t *dim);
void ry_onnx_emit_identity(ry_import *import, ry_value_id x, int output);
ry_value_id ry_onnx_emit_constant(ry_import *import, ry_dtype dtype, const ry_shape *shape,
                                  const void *data); /* the data is copied */
ry_value_id ry_onnx_emit_i64s(ry_import *import, const ry_ints *numbers);
ry_value_id ry_onnx_emit_scalar(ry_import *import, ry_dtype dtype, double number);

/* The functions that rows name, by file: import_<file>.c. */
#define RY_IMPORTS(X)              \
    /* rows that are data */       \
    X(expr)                        \
    X(expr_float)                  \
    X(node_row)                    \
    /* elementwise */              \
    X(old_binary)                  \
    X(variadic)                    \
    X(mean)                        \
    X(clip_old)                    \
    X(clip)                        \
    X(pow)                         \
    X(mod)                         \
    X(bit_shift)                   \
    X(gelu)                        \
    X(swish)                       \
    X(is_inf)                      \
    X(prelu_old)                   \
    X(cast)                        \
    X(cast_old)                    \
    X(cast_like)                   \
    X(dropout_old)                 \
    X(dropout)                     \
    /* reduce */                   \
    X(reduce)                      \
    X(reduce_float)                \
    X(reduce_log_sum_exp)          \
    X(global_pool)                 \
    X(global_lp_pool)              \
    /* attention */                \
    X(attention)                   \
    /* norm */                     \
    X(batch_norm)                  \
    X(instance_norm)               \
    X(group_norm_18)               \
    X(mean_variance_norm)          \
    X(lp_norm)                     \
    X(rms_norm)                    \
    /* window */                   \
    X(conv)                        \
    X(resize_10)                   \
    X(upsample_1)                  \
    X(upsample_7)                  \
    X(roi_align)                   \
    X(space_to_depth)              \
    X(depth_to_space)              \
    X(image_scaler)                \
    X(crop)                        \
    /* quantize */                 \
    X(quantize_linear)             \
    X(dequantize_linear)           \
    X(dynamic_quantize_linear)     \
    X(conv_integer)                \
    X(qlinear_conv)                \
    X(matmul_integer)              \
    X(qlinear_matmul)              \
    X(qgemm)                       \
    X(recurrent)                   \
    /* control */                  \
    X(if)                          \
    X(loop)                        \
    X(scan)                        \
    /* microsoft */                \
    X(fused_conv)                  \
    X(fused_matmul)                \
    X(of_sum)                      \
    X(skip_layer_norm)             \
    X(qlinear_binary)              \
    X(qlinear_unary)               \
    X(qlinear_concat)              \
    X(qlinear_softmax)             \
    X(qlinear_average_pool)        \
    X(qlinear_where)               \
    X(qlinear_global_average_pool) \
    /* data */                     \
    X(constant)                    \
    X(constant_of_shape)           \
    X(eye_like)                    \
    X(split_old)                   \
    X(tile_1)                      \
    X(compress)

#define RY_IMPORT(name) void ry_import_##name(ry_import *import);
RY_IMPORTS(RY_IMPORT)
#undef RY_IMPORT

#endif
