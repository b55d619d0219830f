/* SPDX-License-Identifier: Apache-2.0 */
/* Puts programs together with the values that they read, and makes nodes of them. */
#include "train/bound_expr.h"

#include <string.h>

/* Notes a failure; whether there is none. */
static bool done(ry_emitter *emitter, rynd_status status)
{
    if (emitter->status == RYND_OK) {
        emitter->status = status;
    }
    return emitter->status == RYND_OK;
}

bool ry_bound_parse(ry_emitter *emitter, const char *text, int inputs, const ry_value_id *in,
                    ry_bound_expr *bound)
{
    bound->program = ry_emit_program(emitter, text);
    for (int i = 0; i < inputs; i++) {
        bound->in[i] = in[i];
    }
    return bound->program != NULL;
}

bool ry_bound_put(ry_emitter *emitter, ry_bound_expr *outer, int input, const ry_bound_expr *inner)
{
    if (emitter->status != RYND_OK) {
        return false;
    }
    const int others = outer->program->inputs - 1;
    const ry_expr *joint = NULL;
    if (!done(emitter, ry_expr_compose(outer->program, input, inner->program, 0,
                                       &emitter->graph->arena, &joint, emitter->error))) {
        return false;
    }
    memmove(outer->in + input, outer->in + input + 1, (size_t)(others - input) * sizeof *outer->in);
    memcpy(outer->in + others, inner->in, (size_t)inner->program->inputs * sizeof *inner->in);
    outer->program = joint;
    return true;
}

bool ry_bound_uses(const ry_bound_expr *bound, int input)
{
    for (int i = 0; i < bound->program->count; i++) {
        const ry_expr_instruction *in = &bound->program->code[i];
        if (in->code == RY_EXPR_input && in->index == input) {
            return true;
        }
    }
    return false;
}

/* Each used value once. */
static bool tidy(ry_emitter *emitter, ry_bound_expr *bound)
{
    int map[RY_EXPR_MAX_INPUTS], count = 0;
    for (int i = 0; i < bound->program->inputs; i++) {
        map[i] = 0;
        if (!ry_bound_uses(bound, i)) {
            continue;
        }
        while (map[i] < count && bound->in[map[i]] != bound->in[i]) {
            map[i]++;
        }
        bound->in[map[i]] = bound->in[i];
        count += map[i] == count;
    }
    return done(emitter, ry_expr_rename(bound->program, map, count > 0 ? count : 1,
                                        &emitter->graph->arena, &bound->program, emitter->error));
}

bool ry_bound_outputs(ry_emitter *emitter, const ry_bound_expr *from, const int *outputs,
                      const bool *summed, int count, ry_bound_expr *picked)
{
    if (emitter->status != RYND_OK) {
        return false;
    }
    memcpy(picked->in, from->in, sizeof picked->in);
    return done(emitter,
                ry_expr_outputs(from->program, outputs, summed, count, &emitter->graph->arena,
                                &picked->program, emitter->error)) &&
           tidy(emitter, picked);
}

static ry_shape shape_of(const ry_emitter *emitter, int count, const ry_value_id *in)
{
    ry_shape all = {.rank = 0};
    for (int i = 0; i < count; i++) {
        const ry_shape one = ry_emit_shape(emitter, in[i]);
        ry_shape_broadcast(&all, &one, &all);
    }
    return all;
}

bool ry_bound_covers(const ry_emitter *emitter, const ry_bound_expr *bound, const ry_shape *shape)
{
    const ry_shape all = shape_of(emitter, bound->program->inputs, bound->in);
    return ry_shape_equal(&all, shape);
}

/* Adds values of the frame until the inputs broadcast to its shape. */
static bool cover(ry_emitter *emitter, const ry_expr_frame *frame, ry_bound_expr *bound)
{
    int count = bound->program->inputs, map[RY_EXPR_MAX_INPUTS];
    ry_shape all = shape_of(emitter, count, bound->in);
    for (int i = 0; i < count; i++) {
        map[i] = i;
    }
    for (int i = 0; i < frame->cover_count && !ry_shape_equal(&all, &frame->shape); i++) {
        const ry_shape one = ry_emit_shape(emitter, frame->cover[i]);
        ry_shape more = all;
        ry_shape_broadcast(&all, &one, &more);
        if (!ry_shape_equal(&more, &all) && count < RY_EXPR_MAX_INPUTS) {
            bound->in[count++] = frame->cover[i];
            all = more;
        }
    }
    return count == bound->program->inputs ||
           done(emitter, ry_expr_rename(bound->program, map, count, &emitter->graph->arena,
                                        &bound->program, emitter->error));
}

bool ry_bound_emit(ry_emitter *emitter, const ry_bound_expr *bound, const ry_expr_frame *frame,
                   ry_value_id *out)
{
    ry_bound_expr covered = *bound;
    if (emitter->status != RYND_OK || !cover(emitter, frame, &covered)) {
        return false;
    }
    ry_attrs attrs = ry_attrs_default(RY_OP_expr);
    attrs.expr.program = covered.program;
    attrs.expr.axes = covered.program->reduces ? frame->axes : (ry_ints){.count = 0};
    attrs.expr.keepdims = 1;
    attrs.expr.noop_empty = covered.program->reduces && frame->axes.count == 0;
    return ry_emit_outputs(emitter, RY_OP_expr, &attrs, covered.program->inputs, covered.in,
                           covered.program->outputs, NULL, out);
}
