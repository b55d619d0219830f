/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that follow from constants and from dims that the model states: conditions and trip
 * counts, as exporters compute them. Known are shapes, picking from them, and arithmetic on them. */
#include "onnx/operators.h"

/* Visits for one number: chains that reach further back stay unknown. */
enum { MOST_VISITS = 1024 };

typedef struct evaluation {
    ry_graph *graph;
    int visits; /* left */
} evaluation;

static bool find(evaluation *e, ry_value_id id, int64_t i, double *number);

static int64_t elements_of(const evaluation *e, ry_value_id id)
{
    const ry_shape *shape = &e->graph->values[id].shape;
    return shape->rank < 0 || shape->rank > 1 ? -1 : ry_shape_elements(shape);
}

static bool find_dim(const evaluation *e, const ry_node *node, int64_t i, double *number)
{
    const ry_shape *x = &e->graph->values[node->in[0]].shape;
    const int64_t start = node->attrs.shape.start, from = start < 0 ? start + x->rank : start;
    const int64_t dim = (from < 0 ? 0 : from) + i;
    if (node->attrs.shape.size || dim >= x->rank || x->dim[dim] < 0) {
        return false; /* a size of known dims is a constant */
    }
    *number = (double)x->dim[dim];
    return true;
}

static bool find_gathered(evaluation *e, const ry_node *node, int64_t i, double *number)
{
    double index;
    const int64_t count = elements_of(e, node->in[0]);
    if (count < 0 || !find(e, node->in[1], i, &index)) {
        return false;
    }
    index += index < 0 ? (double)count : 0;
    return index >= 0 && index < (double)count && find(e, node->in[0], (int64_t)index, number);
}

/* Inference has made the attributes of a slice of constant bounds canonical. */
static bool find_sliced(evaluation *e, const ry_node *node, int64_t i, double *number)
{
    const ry_slice_attrs *a = &node->attrs.slice;
    return elements_of(e, node->in[0]) >= 0 && a->starts.count == 1 && a->steps.count == 1 &&
           a->ends.count == 0 && find(e, node->in[0], a->starts.at[0] + i * a->steps.at[0], number);
}

static bool find_joined(evaluation *e, const ry_node *node, int64_t i, double *number)
{
    for (int part = 0; part < node->inputs; part++) {
        const int64_t count = elements_of(e, node->in[part]);
        if (count < 0 || i < count) {
            return count >= 0 && find(e, node->in[part], i, number);
        }
        i -= count;
    }
    return false;
}

/* Computes an instruction of a program from the results of earlier ones. */
static double compute(const ry_expr_instruction *at, ry_dtype dtype, const double *number)
{
    const double a = number[at->operand[0]], b = number[at->operand[1]], c = number[at->operand[2]];
    const bool integer = dtype != RY_bool && !ry_dtype_is_float(dtype);
    switch (at->code) {
    case RY_EXPR_constant: return at->value;
    case RY_EXPR_select: return a != 0 ? b : c;
    case RY_EXPR_cast:
    case RY_EXPR_saturate:
        return ry_dtype_is_float(at->dtype) ? a
               : at->dtype == RY_bool
                   ? a != 0
                   : (double)ry_expr_to_int(at->dtype, a, at->code == RY_EXPR_saturate);
    default:
        return integer ? (double)ry_expr_scalar_int(at->code, dtype, (int64_t)a, (int64_t)b)
                       : ry_expr_scalar_f64(at->code, a, b, c);
    }
}

enum { MOST_INSTRUCTIONS = 16 };

static bool find_computed(evaluation *e, const ry_node *node, int64_t i, double *result)
{
    const ry_expr *program = node->attrs.expr.program;
    ry_dtype inputs[MOST_INSTRUCTIONS], types[MOST_INSTRUCTIONS];
    double number[MOST_INSTRUCTIONS] = {0};
    if (program->reduces || program->count > MOST_INSTRUCTIONS ||
        program->inputs > MOST_INSTRUCTIONS || program->outputs != 1) {
        return false;
    }
    for (int k = 0; k < program->inputs; k++) {
        inputs[k] = k < node->inputs ? e->graph->values[node->in[k]].dtype : RY_NONE;
    }
    if (ry_expr_types(program, inputs, types, NULL) != RYND_OK) {
        return false;
    }
    for (int k = 0; k < program->count; k++) {
        const ry_expr_instruction *at = &program->code[k];
        const ry_value_id in = at->code == RY_EXPR_input ? node->in[at->index] : RY_NO_VALUE;
        if (at->code == RY_EXPR_input &&
            (elements_of(e, in) < 0 || !find(e, in, elements_of(e, in) == 1 ? 0 : i, &number[k]))) {
            return false;
        }
        if (at->code != RY_EXPR_input) {
            /* a comparison has its operands' type */
            const bool compares = ry_expr_code_class(at->code) == RY_EXPR_CLASS_BOOL;
            number[k] = compute(at, types[compares ? at->operand[0] : k], number);
        }
    }
    *result = number[program->result[0]];
    return true;
}

static bool find_made(evaluation *e, const ry_node *node, int64_t i, double *number)
{
    switch (node->op) {
    case RY_OP_shape: return find_dim(e, node, i, number);
    case RY_OP_gather: return find_gathered(e, node, i, number);
    case RY_OP_slice: return find_sliced(e, node, i, number);
    case RY_OP_concat: return find_joined(e, node, i, number);
    case RY_OP_expr: return find_computed(e, node, i, number);
    default: return ry_op_get_class(node->op) == RY_CLASS_VIEW && find(e, node->in[0], i, number);
    }
}

static void keep(evaluation *e, ry_value_id id, int count, const double *number)
{
    ry_value *value = &e->graph->values[id];
    uint64_t *data =
        value->dtype == RY_NONE ? NULL : RY_TAKE(&e->graph->arena, uint64_t, (size_t)count);
    for (int i = 0; data && i < count; i++) {
        ry_set_f64(value->dtype, data, i, number[i]);
    }
    value->constant = data;
}

static bool find(evaluation *e, ry_value_id id, int64_t i, double *number)
{
    const ry_value *value = &e->graph->values[id];
    if (e->visits-- <= 0 || value->shape.rank < 0) {
        return false;
    }
    if (value->constant) {
        if (i < 0 || i >= ry_shape_elements(&value->shape)) {
            return false;
        }
        *number = ry_get_f64(value->dtype, value->constant, i);
        return true;
    }
    if (value->producer == RY_NO_NODE ||
        !find_made(e, &e->graph->nodes[value->producer], i, number)) {
        return false;
    }
    /* a loop's counter is not to be counted anew each turn */
    if (ry_shape_elements(&value->shape) == 1) {
        keep(e, id, 1, number);
    }
    return true;
}

bool ry_import_evaluate(ry_import *import, ry_value_id value, int64_t i, double *number)
{
    evaluation e = {import->graph, MOST_VISITS};
    return !ry_import_failed(import) && value != RY_NO_VALUE && find(&e, value, i, number);
}

void ry_import_settle(ry_import *import, ry_value_id value)
{
    evaluation e = {import->graph, MOST_VISITS};
    const ry_value *v = ry_import_value(import, value);
    const int64_t count = v && !v->constant ? elements_of(&e, value) : 0;
    double number[RY_MAX_INTS];
    if (count < 1 || count > RY_MAX_INTS || ry_dtype_is_float(v->dtype)) {
        return;
    }
    for (int i = 0; i < count; i++) {
        if (!find(&e, value, i, &number[i])) {
            return;
        }
    }
    keep(&e, value, (int)count, number);
}
