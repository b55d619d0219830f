/* SPDX-License-Identifier: Apache-2.0 */
/* Types and shapes of expressions: all inputs broadcast together; outputs behind a reduction lose
 * the reduced dims. */
#include "graph/infer_table.h"

#include "expr/expr.h"

/* Output types by the program. */
static ry_infer_result infer_types(ry_infer *infer, const ry_expr *program)
{
    const ry_allocator *allocator = infer->graph->arena.allocator;
    ry_dtype *types = ry_allocate_array(allocator, (size_t)program->inputs + (size_t)program->count,
                                        sizeof *types);
    if (!types) {
        infer->status = ry_fail_memory(infer->error);
        return RY_INFER_FAILED;
    }
    ry_dtype *inputs = types + program->count;
    for (int i = 0; i < program->inputs; i++) {
        inputs[i] = ry_infer_has(infer, i) ? ry_infer_in(infer, i)->dtype : RY_NONE;
    }
    ry_infer_result result = RY_INFER_DONE;
    rynd_status status = ry_expr_types(program, inputs, types, infer->error);
    if (status != RYND_OK) {
        infer->status = status;
        ry_error_prefix(infer->error, "node '%s' (%s): ", infer->node->name, infer->node->source);
        result = RY_INFER_FAILED;
    }
    for (int i = 0; result == RY_INFER_DONE && i < program->outputs; i++) {
        ry_value *out = ry_infer_out(infer, i);
        if (out) {
            out->dtype = types[program->result[i]];
        }
    }
    ry_release(allocator, types);
    return result;
}

static ry_infer_result broadcast_inputs(ry_infer *infer, int count, ry_shape *all)
{
    *all = (ry_shape){.rank = 0};
    for (int i = 0; i < count; i++) {
        if (!ry_infer_has(infer, i)) {
            continue;
        }
        if (ry_infer_in(infer, i)->shape.rank < 0) {
            all->rank = -1;
            return RY_INFER_LATER;
        }
        ry_shape next;
        if (!ry_infer_broadcast(infer->graph, all, &ry_infer_in(infer, i)->shape, &next)) {
            char text[200];
            return ry_infer_bad(infer, i, "does not broadcast with the inputs before it (%s)",
                                ry_shape_text(infer->graph, all, text, sizeof text));
        }
        *all = next;
    }
    return RY_INFER_DONE;
}

/* The reduced dims, sorted. None given: all, unless the node says that this reduces nothing. */
static ry_infer_result reduced_axes(ry_infer *infer, int inputs, int rank, ry_ints *axes)
{
    const ry_expr_attrs *a = &infer->node->attrs.expr;
    *axes = a->axes;
    if (a->axes_input && ry_infer_has(infer, inputs)) {
        ry_infer_result result = ry_infer_ints(infer, inputs, axes);
        if (result != RY_INFER_DONE) {
            return result;
        }
    }
    RY_INFER_TRY(ry_infer_axes(infer, axes, rank));
    bool all = axes->count == 0 && !a->noop_empty, in[RY_MAX_RANK] = {false};
    for (int i = 0; i < axes->count; i++) {
        in[axes->at[i]] = true;
    }
    axes->count = 0;
    for (int d = 0; d < rank; d++) {
        if (all || in[d]) {
            axes->at[axes->count++] = d;
        }
    }
    return RY_INFER_DONE;
}

static ry_shape reduce(const ry_shape *all, const ry_ints *axes, bool keepdims)
{
    ry_shape y = {.rank = 0};
    for (int d = 0, next = 0; d < all->rank; d++) {
        bool reduced = next < axes->count && axes->at[next] == d;
        next += reduced;
        if (!reduced || keepdims) {
            y.dim[y.rank++] = reduced ? 1 : all->dim[d];
        }
    }
    return y;
}

static ry_infer_result set_outputs(ry_infer *infer, const ry_expr *program, const ry_shape *all,
                                   const ry_shape *reduced)
{
    for (int i = 0; i < program->outputs; i++) {
        ry_value *out = ry_infer_out(infer, i);
        if (out) {
            ry_infer_set(infer, i, out->dtype,
                         program->reduced[program->result[i]] ? reduced : all);
        }
    }
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_expr(ry_infer *infer)
{
    ry_expr_attrs *a = &infer->node->attrs.expr;
    const ry_expr *program = a->program;
    if (!program) {
        return ry_infer_fail(infer, RYND_ERROR_FORMAT, "the expression is missing");
    }
    int inputs = infer->node->inputs - (a->axes_input ? 1 : 0);
    if (inputs < program->inputs || infer->node->outputs > program->outputs) {
        return ry_infer_fail(infer, RYND_ERROR_FORMAT,
                             "%d inputs and %d outputs, the expression has %d and %d", inputs,
                             infer->node->outputs, program->inputs, program->outputs);
    }
    ry_shape all, reduced = {.rank = -1};
    ry_ints axes = {.count = 0};
    RY_INFER_TRY(infer_types(infer, program));
    ry_infer_result result = broadcast_inputs(infer, inputs, &all);
    RY_INFER_TRY(result);
    if (program->reduces && result == RY_INFER_DONE) {
        result = reduced_axes(infer, inputs, all.rank, &axes);
        RY_INFER_TRY(result);
        if (result == RY_INFER_DONE) {
            reduced = reduce(&all, &axes, a->keepdims != 0);
            a->axes = axes;
        } else if (a->keepdims) {
            reduced = ry_infer_unknown(infer, all.rank);
        }
    }
    set_outputs(infer, program, &all, &reduced);
    return result;
}
