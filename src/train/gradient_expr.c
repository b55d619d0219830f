/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of expressions.
 *
 * The pointwise part, up to the reductions, is derived as one program (expr/expr_derive.c), from
 * the gradients of the outputs that do not reduce and of what the reductions read
 * (gradient_expr_reduce.c gives those). What an input was broadcast over is summed. Gradients that
 * are summed over the same dims, and those that are not summed, are one node. */
#include "train/gradient_expr.h"

#include <string.h>

static bool differentiable(ry_dtype dtype)
{
    return ry_dtype_is_float(dtype);
}

static rynd_status look(const ry_gradient_call *call, bool reads_outputs, ry_expr_forward *f)
{
    f->node = ry_gradient_node(call);
    f->program = f->node.attrs.expr.program;
    f->reads_outputs = reads_outputs;
    f->frame = (ry_expr_frame){.cover_count = f->program->inputs, .cover = f->node.in};
    for (int i = 0; i < f->program->inputs; i++) {
        const ry_value_id in = f->node.in[i];
        const ry_value *value = in == RY_NO_VALUE ? NULL : &call->graph->values[in];
        f->inputs[i] = value ? value->dtype : RY_NONE;
        if (value) {
            ry_shape_broadcast(&f->frame.shape, &value->shape, &f->frame.shape);
        }
    }
    /* inference has filled in the reduced dims, all dims by default */
    f->frame.axes = f->node.attrs.expr.axes;
    return ry_expr_types(f->program, f->inputs, f->types, call->error);
}

/* Outputs that no reduction is in. */
static void seed_outputs(const ry_gradient_call *call, ry_emitter *emitter,
                         const ry_expr_forward *f, ry_expr_seed *seeds, int *count)
{
    for (int o = 0; o < f->node.outputs; o++) {
        const int instruction = f->program->result[o];
        if (call->dy[o] == RY_NO_VALUE || f->program->reduced[instruction] ||
            !differentiable(f->types[instruction])) {
            continue;
        }
        ry_expr_seed *seed = &seeds[(*count)++];
        seed->instruction = instruction;
        seed->known = f->reads_outputs ? f->node.out[o] : RY_NO_VALUE;
        ry_bound_parse(emitter, "x0", 1, &call->dy[o], &seed->gradient);
    }
}

/* The gradients of all inputs as one program; at[i]: its output of input i. */
static rynd_status join(const ry_gradient_call *call, ry_emitter *emitter, const ry_expr_forward *f,
                        const ry_expr_seed *seeds, int count, ry_bound_expr *all, int *at)
{
    int results[RY_EXPR_MAX_SEEDS];
    bool known[RY_EXPR_MAX_SEEDS];
    const int inputs = f->program->inputs;
    const ry_expr *part;
    for (int k = 0; k < count; k++) {
        results[k] = seeds[k].instruction;
        known[k] = seeds[k].known != RY_NO_VALUE;
    }
    RY_TRY(emitter->status);
    RY_TRY(
        ry_expr_cut(f->program, NULL, 0, results, count, &call->graph->arena, &part, call->error));
    RY_TRY(ry_expr_gradient(
        part,
        &(ry_expr_gradient_options){.inputs = f->inputs, .wanted = call->wanted, .known = known},
        &call->graph->arena, &all->program, at, call->error));
    if (!all->program) {
        return RYND_OK;
    }
    memcpy(all->in, f->node.in, (size_t)inputs * sizeof *all->in);
    for (int k = 0; k < count; k++) {
        all->in[inputs + k] = RY_NO_VALUE;
        all->in[inputs + count + k] = seeds[k].known;
    }
    for (int k = count - 1; k >= 0; k--) {
        ry_bound_put(emitter, all, inputs + k, &seeds[k].gradient);
    }
    return emitter->status;
}

/* A bit for each dim over which input i was broadcast. */
static unsigned broadcast_dims(const ry_emitter *emitter, const ry_expr_forward *f, int i)
{
    const ry_shape shape = ry_emit_shape(emitter, f->node.in[i]);
    const int missing = f->frame.shape.rank - shape.rank;
    unsigned dims = 0;
    for (int d = 0; d < f->frame.shape.rank; d++) {
        const bool broadcast =
            d < missing || (shape.dim[d - missing] == 1 && f->frame.shape.dim[d] != 1);
        dims |= broadcast ? 1u << d : 0;
    }
    return dims;
}

/* A gradient that is as large as the node and yet made of less: computed as small as it is, and
 * broadcast; or a value that is there already. */
static bool make_small(ry_emitter *emitter, const ry_expr_forward *f, const ry_bound_expr *all,
                       int output, ry_value_id *dx)
{
    ry_bound_expr one;
    const bool summed = false;
    if (!ry_bound_outputs(emitter, all, &output, &summed, 1, &one)) {
        return true;
    }
    const bool covers = ry_bound_covers(emitter, &one, &f->frame.shape);
    const bool is_value = one.program->code[one.program->result[0]].code == RY_EXPR_input;
    if (covers && !is_value) {
        return false;
    }
    if (is_value) {
        *dx = one.in[0];
    } else {
        ry_bound_emit(emitter, &one, &(ry_expr_frame){.shape = {.rank = 0}}, dx);
    }
    *dx = ry_emit_expand(emitter, *dx, &f->frame.shape);
    return true;
}

/* Emits one node for the inputs broadcast over `dims`, and, with `whole`, for inputs that were not
 * broadcast. */
static void make_group(ry_emitter *emitter, const ry_expr_forward *f, const ry_bound_expr *all,
                       const int *at, const unsigned *broadcast, unsigned dims, bool whole,
                       ry_value_id *dx)
{
    int output[RY_EXPR_MAX_INPUTS], input[RY_EXPR_MAX_INPUTS], count = 0;
    bool summed[RY_EXPR_MAX_INPUTS];
    ry_value_id out[RY_EXPR_MAX_OUTPUTS];
    ry_bound_expr picked;
    ry_expr_frame frame = f->frame;
    for (int i = 0; i < f->program->inputs; i++) {
        if (at[i] >= 0 && (broadcast[i] == dims || (whole && broadcast[i] == 0))) {
            input[count] = i;
            summed[count] = broadcast[i] != 0;
            output[count++] = at[i];
        }
    }
    frame.axes.count = 0;
    for (int d = 0; d < frame.shape.rank; d++) {
        if (dims >> d & 1u) {
            frame.axes.at[frame.axes.count++] = d;
        }
    }
    if (count == 0 || !ry_bound_outputs(emitter, all, output, summed, count, &picked) ||
        !ry_bound_emit(emitter, &picked, &frame, out)) {
        return;
    }
    for (int k = 0; k < count; k++) {
        const ry_shape shape = ry_emit_shape(emitter, f->node.in[input[k]]);
        dx[input[k]] = ry_emit_reshape(emitter, out[k], &shape);
    }
}

static void make_all(ry_emitter *emitter, const ry_expr_forward *f, const ry_bound_expr *all,
                     int *at, ry_value_id *dx)
{
    unsigned broadcast[RY_EXPR_MAX_INPUTS];
    for (int i = 0; i < f->program->inputs && emitter->status == RYND_OK; i++) {
        broadcast[i] = at[i] >= 0 ? broadcast_dims(emitter, f, i) : 0;
        if (at[i] >= 0 && broadcast[i] == 0 && make_small(emitter, f, all, at[i], &dx[i])) {
            at[i] = -1;
        }
    }
    bool whole = true;
    for (int i = 0; i < f->program->inputs && emitter->status == RYND_OK; i++) {
        bool first = at[i] >= 0 && broadcast[i] != 0;
        for (int j = 0; j < i && first; j++) {
            first = at[j] < 0 || broadcast[j] != broadcast[i];
        }
        if (first) {
            make_group(emitter, f, all, at, broadcast, broadcast[i], whole, dx);
            whole = false;
        }
    }
    if (whole) {
        make_group(emitter, f, all, at, broadcast, 0, false, dx);
    }
}

static rynd_status derive(const ry_gradient_call *call, ry_expr_forward *f, ry_expr_seed *seeds,
                          ry_bound_expr *all, bool reads_outputs)
{
    int at[RY_EXPR_MAX_INPUTS], count = 0;
    for (int i = 0; i < call->graph->nodes[call->node].inputs; i++) {
        call->dx[i] = RY_NO_VALUE;
    }
    ry_emitter emitter = ry_gradient_emitter(call);
    RY_TRY(emitter.status);
    RY_TRY(look(call, reads_outputs, f));
    seed_outputs(call, &emitter, f, seeds, &count);
    if (f->program->reduces) {
        RY_TRY(ry_expr_seed_reductions(call, &emitter, f, seeds, &count));
    }
    if (count == 0) {
        return emitter.status;
    }
    RY_TRY(join(call, &emitter, f, seeds, count, all, at));
    if (all->program) {
        make_all(&emitter, f, all, at, call->dx);
    }
    return emitter.status;
}

/* The working memory of a rule. */
typedef struct work {
    ry_expr_forward forward;
    ry_bound_expr all;
    ry_expr_seed seeds[RY_EXPR_MAX_SEEDS];
    bool wanted[RY_EXPR_MAX_INPUTS + 1]; /* inputs of the current part; the last entry may be the
                                            axes */
    ry_value_id dx[RY_EXPR_MAX_INPUTS + 1];
} work;

/* A program has as many results as it may have outputs: of more inputs they are derived by turns.
 */
static rynd_status derive_all(const ry_gradient_call *call, work *w, bool reads_outputs)
{
    const int inputs = call->graph->nodes[call->node].inputs;
    ry_gradient_call part = *call;
    part.wanted = w->wanted;
    part.dx = w->dx;
    for (int first = 0, end; first < inputs; first = end) {
        int count = 0;
        memset(w->wanted, 0, sizeof w->wanted);
        for (end = first; end < inputs && count < RY_EXPR_MAX_OUTPUTS; end++) {
            w->wanted[end] = call->wanted[end];
            count += call->wanted[end];
        }
        if (count > 0) {
            RY_TRY(derive(&part, &w->forward, w->seeds, &w->all, reads_outputs));
        }
        for (int i = first; i < end; i++) {
            call->dx[i] = count > 0 ? w->dx[i] : RY_NO_VALUE;
        }
    }
    return RYND_OK;
}

static rynd_status gradient(const ry_gradient_call *call, bool reads_outputs)
{
    const ry_allocator *allocator = call->graph->arena.allocator;
    work *w = ry_allocate_array(allocator, 1, sizeof *w);
    if (!w) {
        return ry_fail_memory(call->error);
    }
    const rynd_status status = derive_all(call, w, reads_outputs);
    if (status != RYND_OK) {
        const ry_node node = ry_gradient_node(call);
        ry_error_prefix(call->error, "the gradient of node '%s' (%s): ", node.name, node.source);
    }
    ry_release(allocator, w);
    return status;
}

rynd_status ry_gradient_expr(const ry_gradient_call *call)
{
    return gradient(call, true);
}

rynd_status ry_gradient_expr_of_inputs(const ry_gradient_call *call)
{
    return gradient(call, false);
}
