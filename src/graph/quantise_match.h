/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises what quantises and dequantises, and the numbers of it. */
#ifndef RY_GRAPH_QUANTISE_MATCH_H
#define RY_GRAPH_QUANTISE_MATCH_H

#include "expr/expr.h"
#include "graph/graph.h"

/* The programs of import_quantize.c and what stands beside them, read once. */
typedef struct ry_quantise_programs {
    const ry_expr *dequantise, *dequantise_zero;   /* x0 integers, x1 scale, x2 zero point */
    const ry_expr *quantise[2], *quantise_zero[2]; /* to u8, to i8 */
    const ry_expr *add, *mean;
    const ry_expr *centre, *centre_zero; /* x0 bytes, x1 zero point: integers of 32 bits */
    /* x0 sum, x1 and x2 scales of the operands, x3 scale and x4 zero point of y; to u8, to i8 */
    const ry_expr *requantise[2];
} ry_quantise_programs;

rynd_status ry_quantise_programs_read(ry_graph *graph, ry_quantise_programs *programs,
                                      ry_error *error);

/* integers = number / scale + zero */
typedef struct ry_quantiser {
    float scale;  /* finite, above 0 */
    int64_t zero; /* counted in unsigned bytes: int8's zero point plus 128 */
} ry_quantiser;

/* Does the node dequantise? Its inputs are integers, scale and, if there are three, zero point. */
bool ry_is_dequantise(const ry_quantise_programs *programs, const ry_node *node);

/* The node that makes `value` by dequantising bytes by one constant scale and zero point; NULL: no
 * node does. */
const ry_node *ry_find_dequantise(const ry_graph *graph, const ry_quantise_programs *programs,
                                  ry_value_id value, ry_quantiser *q);

/* Does the node quantise to bytes, by one constant scale and zero point? */
bool ry_find_quantise(const ry_graph *graph, const ry_quantise_programs *programs,
                      const ry_node *node, ry_quantiser *q);

/* Does the node subtract a zero point of bytes from them, if they have one? */
bool ry_is_centring(const ry_quantise_programs *programs, const ry_node *node);

/* Does the node scale sums of integers and quantise them to bytes? */
bool ry_is_requantise(const ry_quantise_programs *programs, const ry_graph *graph,
                      const ry_node *node);

static inline bool ry_is_byte(ry_dtype dtype)
{
    return dtype == RY_u8 || dtype == RY_i8;
}

/* Scale and zero point (RY_NO_VALUE: 0), constants of one number, for integers of a type of bytes;
 * the zero point alone. */
bool ry_read_quantiser(const ry_graph *graph, ry_value_id scale, ry_value_id zero, ry_dtype dtype,
                       ry_quantiser *q);
bool ry_read_zero(const ry_graph *graph, ry_value_id zero, ry_dtype dtype, int64_t *number);

/* A number of a constant, which may be anywhere in memory. */
double ry_quantise_number(const ry_graph *graph, ry_value_id value, int64_t index);

#endif
