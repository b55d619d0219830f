/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of expressions that reduce.
 *
 * What stands behind the reductions is a pointwise program of them, on the reduced shape: it is
 * derived by itself, and gives each reduction r = reduce(e) its gradient dr. What e gets of that:
 *
 *   sum, mean   dr, dr / n
 *   max, min    dr / count where e is r, and 0 elsewhere: equal elements share it evenly, as of
 *               PyTorch's amax and amin (torch.max over a dim gives all to one of them)
 *   prod        dr times the product of the others, which is r / e unless some are 0
 *
 * Where e is compared with what was made of it, it is computed once and kept: computed again, by
 * another kernel, it might differ in its last bit. */
#include "train/gradient_expr.h"

#include <stdio.h>
#include <string.h>

typedef struct reduction {
    int at; /* instruction */
    ry_expr_code code;
    ry_dtype type;
    int source; /* what it reads */
    bool needed, source_needed;
    ry_value_id value;    /* its result, reduced dims kept as 1 */
    ry_value_id elements; /* `source` as a value */
    ry_bound_expr gradient;
    bool has_gradient;
} reduction;

typedef struct reductions {
    const ry_gradient_call *call;
    ry_emitter *emitter;
    const ry_expr_forward *forward;
    int count;
    reduction all[RY_EXPR_MAX_SEEDS];
    /* outputs behind reductions that have a gradient: the gradient and the output, dims kept */
    int outputs, result[RY_EXPR_MAX_OUTPUTS];
    ry_value_id dy[RY_EXPR_MAX_OUTPUTS], y[RY_EXPR_MAX_OUTPUTS];
} reductions;

static bool is_reduction(const ry_expr *program, int at)
{
    return ry_expr_code_class(program->code[at].code) == RY_EXPR_CLASS_REDUCE;
}

static rynd_status find_reductions(reductions *r)
{
    const ry_expr *program = r->forward->program;
    for (int i = 0; i < program->count; i++) {
        if (!is_reduction(program, i)) {
            continue;
        }
        if (r->count == RY_EXPR_MAX_SEEDS) {
            return ry_fail(r->call->error, RYND_ERROR_UNSUPPORTED, "more than %d reductions",
                           RY_EXPR_MAX_SEEDS);
        }
        r->all[r->count++] = (reduction){.at = i,
                                         .code = program->code[i].code,
                                         .type = r->forward->types[i],
                                         .source = program->code[i].operand[0],
                                         .value = RY_NO_VALUE,
                                         .elements = RY_NO_VALUE};
    }
    return RYND_OK;
}

static ry_shape reduced_shape(const ry_expr_forward *forward)
{
    ry_shape shape = forward->frame.shape;
    for (int k = 0; k < forward->frame.axes.count; k++) {
        shape.dim[forward->frame.axes.at[k]] = 1;
    }
    return shape;
}

static void find_outputs(reductions *r)
{
    const ry_expr_forward *f = r->forward;
    const ry_shape shape = reduced_shape(f);
    for (int o = 0; o < f->node.outputs; o++) {
        const int instruction = f->program->result[o];
        if (r->call->dy[o] == RY_NO_VALUE || !f->program->reduced[instruction] ||
            !ry_dtype_is_float(f->types[instruction])) {
            continue;
        }
        r->result[r->outputs] = instruction;
        r->dy[r->outputs] = ry_emit_reshape(r->emitter, r->call->dy[o], &shape);
        r->y[r->outputs++] =
            f->reads_outputs ? ry_emit_reshape(r->emitter, f->node.out[o], &shape) : RY_NO_VALUE;
    }
}

/* The program behind the reductions: its inputs are the node's and then the reductions. */
static rynd_status derive_outer(reductions *r, ry_bound_expr *outer, int *at)
{
    const ry_expr_forward *f = r->forward;
    const int inputs = f->program->inputs;
    int cuts[RY_EXPR_MAX_SEEDS];
    bool wanted[RY_EXPR_MAX_INPUTS] = {false}, known[RY_EXPR_MAX_OUTPUTS];
    ry_dtype types[RY_EXPR_MAX_INPUTS];
    const ry_expr *part;
    for (int k = 0; k < r->count; k++) {
        cuts[k] = r->all[k].at;
    }
    RY_TRY(ry_expr_cut(f->program, cuts, r->count, r->result, r->outputs, &r->call->graph->arena,
                       &part, r->call->error));
    memcpy(types, f->inputs, (size_t)inputs * sizeof *types);
    for (int k = 0; k < r->count; k++) {
        types[inputs + k] = r->all[k].type;
        wanted[inputs + k] = true;
    }
    for (int o = 0; o < r->outputs; o++) {
        known[o] = r->y[o] != RY_NO_VALUE;
    }
    RY_TRY(ry_expr_gradient(
        part, &(ry_expr_gradient_options){.inputs = types, .wanted = wanted, .known = known},
        &r->call->graph->arena, &outer->program, at, r->call->error));
    for (int i = 0; i < inputs + r->count; i++) {
        outer->in[i] = RY_NO_VALUE;
    }
    memcpy(outer->in + inputs + r->count, r->dy, (size_t)r->outputs * sizeof *r->dy);
    memcpy(outer->in + inputs + r->count + r->outputs, r->y, (size_t)r->outputs * sizeof *r->y);
    return RYND_OK;
}

/* Whether something compares the elements with what was made of them. */
static bool compares(const reduction *one)
{
    return one->code == RY_EXPR_reduce_max || one->code == RY_EXPR_reduce_min ||
           one->code == RY_EXPR_prod;
}

/* What the gradient reads, as far as it is there already: inputs, and the node's outputs. */
static void find_values(reductions *r)
{
    const ry_expr *program = r->forward->program;
    for (int k = 0; k < r->count; k++) {
        reduction *one = &r->all[k];
        const ry_expr_instruction *source = &program->code[one->source];
        if (source->code == RY_EXPR_input) {
            one->elements = r->forward->node.in[source->index];
        }
        one->source_needed = one->has_gradient && compares(one) && one->elements == RY_NO_VALUE;
        one->needed = one->needed || (one->has_gradient && (one->code == RY_EXPR_reduce_max ||
                                                            one->code == RY_EXPR_reduce_min));
        for (int o = 0; o < r->outputs && !one->source_needed; o++) {
            one->value = r->result[o] == one->at ? r->y[o] : one->value;
        }
    }
}

/* One node for the rest. */
static rynd_status make_values(reductions *r)
{
    int result[RY_EXPR_MAX_OUTPUTS], count = 0;
    ry_value_id *place[RY_EXPR_MAX_OUTPUTS], out[RY_EXPR_MAX_OUTPUTS];
    const ry_expr_forward *f = r->forward;
    for (int k = 0; k < r->count; k++) {
        reduction *one = &r->all[k];
        const bool value = one->needed && one->value == RY_NO_VALUE;
        if (count + 2 > RY_EXPR_MAX_OUTPUTS) {
            return ry_fail(r->call->error, RYND_ERROR_UNSUPPORTED, "too many reductions");
        }
        if (value) {
            place[count] = &one->value;
            result[count++] = one->at;
        }
        if (one->source_needed) {
            place[count] = &one->elements;
            result[count++] = one->source;
        }
    }
    if (count == 0) {
        return RYND_OK;
    }
    ry_bound_expr all, picked;
    int outputs[RY_EXPR_MAX_OUTPUTS];
    const bool summed[RY_EXPR_MAX_OUTPUTS] = {false};
    RY_TRY(ry_expr_cut(f->program, NULL, 0, result, count, &r->call->graph->arena, &all.program,
                       r->call->error));
    memcpy(all.in, f->node.in, (size_t)f->program->inputs * sizeof *all.in);
    for (int k = 0; k < count; k++) {
        outputs[k] = k;
    }
    if (ry_bound_outputs(r->emitter, &all, outputs, summed, count, &picked) &&
        ry_bound_emit(r->emitter, &picked, &f->frame, out)) {
        for (int k = 0; k < count; k++) {
            *place[k] = out[k];
        }
    }
    return r->emitter->status;
}

/* The gradients of the reductions: a number times an output's is read where it is used, everything
 * else is made first, once. */
static void make_gradients(reductions *r, const ry_bound_expr *outer, const int *at)
{
    enum { IN_PLACE = 3 }; /* instructions */
    for (int k = 0; k < r->count; k++) {
        reduction *one = &r->all[k];
        const int output = at[r->forward->program->inputs + k];
        const bool summed = false;
        if (!one->has_gradient ||
            !ry_bound_outputs(r->emitter, outer, &output, &summed, 1, &one->gradient) ||
            one->gradient.program->count <= IN_PLACE) {
            continue;
        }
        ry_value_id value;
        ry_bound_emit(r->emitter, &one->gradient, &(ry_expr_frame){.shape = {.rank = 0}}, &value);
        ry_bound_parse(r->emitter, "x0", 1, &value, &one->gradient);
    }
}

/* A sum of ones has no place in 16 bits. */
static ry_dtype count_type(ry_dtype type)
{
    return type == RY_f64 ? RY_f64 : RY_f32;
}

/* A text with the values in the places of its inputs, on the node's shape. */
static void emit_text(const reductions *r, const char *text, int inputs, const ry_value_id *in,
                      ry_value_id *out)
{
    ry_bound_expr bound;
    if (ry_bound_parse(r->emitter, text, inputs, in, &bound)) {
        ry_bound_emit(r->emitter, &bound, &r->forward->frame, out);
    }
}

/* The seed's program: `text` of the elements, two numbers, and dr, which is its last input. */
static void seed_text(const reductions *r, const reduction *one, const char *text, int inputs,
                      const ry_value_id *in, ry_expr_seed *seed)
{
    ry_value_id all[4];
    for (int i = 0; i < inputs; i++) {
        all[i] = in[i];
    }
    all[inputs] = RY_NO_VALUE;
    if (ry_bound_parse(r->emitter, text, inputs + 1, all, &seed->gradient)) {
        ry_bound_put(r->emitter, &seed->gradient, inputs, &one->gradient);
    }
}

static void seed_extremum(const reductions *r, const reduction *one, ry_expr_seed *seed)
{
    char text[128];
    ry_value_id in[3] = {one->elements, one->value, RY_NO_VALUE};
    const ry_dtype type = count_type(one->type);
    snprintf(text, sizeof text, "sum(cast(x0 == x1, %s))", ry_dtype_name(type));
    emit_text(r, text, 2, in, &in[2]);
    if (type == one->type) {
        seed_text(r, one, "select(x0 == x1, x3 / x2, 0)", 3, in, seed);
    } else {
        snprintf(text, sizeof text, "select(x0 == x1, cast(cast(x3, %s) / x2, %s), 0)",
                 ry_dtype_name(type), ry_dtype_name(one->type));
        seed_text(r, one, text, 3, in, seed);
    }
}

/* The product of those that are not 0, and how many are. */
static void seed_product(const reductions *r, const reduction *one, ry_expr_seed *seed)
{
    char text[128];
    ry_value_id in[3] = {one->elements, RY_NO_VALUE, RY_NO_VALUE};
    snprintf(text, sizeof text, "y0 = prod(select(x0 == 0, 1, x0)); y1 = sum(cast(x0 == 0, %s))",
             ry_dtype_name(count_type(one->type)));
    emit_text(r, text, 1, in, &in[1]);
    seed_text(
        r, one,
        "t = x3 * x1; y0 = select(x0 == 0, select(x2 == 1, t, 0), select(x2 == 0, t / x0, 0))", 3,
        in, seed);
}

static void seed_sum(const reductions *r, const reduction *one, ry_expr_seed *seed)
{
    char text[64];
    double elements = 1;
    for (int k = 0; k < r->forward->frame.axes.count; k++) {
        elements *= (double)r->forward->frame.shape.dim[r->forward->frame.axes.at[k]];
    }
    if (one->code == RY_EXPR_sum || elements <= 1) {
        seed->gradient = one->gradient;
        return;
    }
    /* an exact division of two constants when the text is read */
    snprintf(text, sizeof text, "x0 * (1 / %.0f)", elements);
    seed_text(r, one, text, 0, NULL, seed);
}

static void seed_one(const reductions *r, const reduction *one, ry_expr_seed *seed)
{
    *seed = (ry_expr_seed){.instruction = one->source, .known = RY_NO_VALUE};
    if (one->code == RY_EXPR_sum || one->code == RY_EXPR_mean) {
        seed_sum(r, one, seed);
    } else if (one->code == RY_EXPR_prod) {
        seed_product(r, one, seed);
    } else {
        seed_extremum(r, one, seed);
    }
}

static rynd_status seed_all(reductions *r, ry_expr_seed *seeds, int *count)
{
    ry_bound_expr outer;
    int at[RY_EXPR_MAX_INPUTS];
    const int inputs = r->forward->program->inputs;
    RY_TRY(find_reductions(r));
    find_outputs(r);
    RY_TRY(r->emitter->status);
    if (r->outputs == 0) {
        return RYND_OK;
    }
    RY_TRY(derive_outer(r, &outer, at));
    for (int k = 0; outer.program && k < r->count; k++) {
        r->all[k].has_gradient = at[inputs + k] >= 0;
        r->all[k].needed = ry_bound_uses(&outer, inputs + k);
    }
    find_values(r);
    RY_TRY(make_values(r));
    for (int k = 0; outer.program && k < r->count; k++) {
        outer.in[inputs + k] = r->all[k].value;
    }
    if (outer.program) {
        make_gradients(r, &outer, at);
    }
    for (int k = 0; k < r->count && r->emitter->status == RYND_OK; k++) {
        if (!r->all[k].has_gradient) {
            continue;
        }
        if (*count == RY_EXPR_MAX_SEEDS) {
            return ry_fail(r->call->error, RYND_ERROR_UNSUPPORTED,
                           "more than %d outputs and reductions", RY_EXPR_MAX_SEEDS);
        }
        seed_one(r, &r->all[k], &seeds[(*count)++]);
    }
    return r->emitter->status;
}

rynd_status ry_expr_seed_reductions(const ry_gradient_call *call, ry_emitter *emitter,
                                    const ry_expr_forward *forward, ry_expr_seed *seeds, int *count)
{
    const ry_allocator *allocator = call->graph->arena.allocator;
    reductions *r = ry_allocate_array(allocator, 1, sizeof *r);
    if (!r) {
        return ry_fail_memory(call->error);
    }
    r->call = call;
    r->emitter = emitter;
    r->forward = forward;
    const rynd_status status = seed_all(r, seeds, count);
    ry_release(allocator, r);
    return status;
}
