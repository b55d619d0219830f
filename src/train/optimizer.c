/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the programs of optimizers.inc: names for their operands, then the text. */
#include "train/optimizer.h"

#include <stdio.h>
#include <string.h>

enum { OPTIONS = 5 };

typedef struct method {
    const char *name;
    int rates;
    const char *rates_text;
    int moments;
    const char *moment[RY_MAX_MOMENTS];
    const char *text;
} method;

static const method methods[RY_OPTIMIZERS] = {
#define RY_OPTIMIZER(name, rates, rates_text, moments, first, second, text) \
    [RY_OPTIMIZER_##name] = {#name, rates, rates_text, moments, {first, second}, text},
#include "train/optimizers.inc"
#undef RY_OPTIMIZER
};

const char *ry_optimizer_name(ry_optimizer optimizer)
{
    return methods[optimizer].name;
}

static void list_options(const ry_optimizer_options *options, ry_expr_parameter list[OPTIONS])
{
    list[0] = (ry_expr_parameter){"momentum", options->momentum};
    list[1] = (ry_expr_parameter){"decay", options->decay};
    list[2] = (ry_expr_parameter){"beta1", options->beta1};
    list[3] = (ry_expr_parameter){"beta2", options->beta2};
    list[4] = (ry_expr_parameter){"epsilon", options->epsilon};
}

static bool failed_memory(ry_emitter *e, bool made)
{
    if (!made && e->status == RYND_OK) {
        e->status = ry_fail_memory(e->error);
    }
    return e->status != RYND_OK;
}

/* Emits a program with several outputs; `first` receives the first if it has one. */
static void emit_program(ry_emitter *e, const char *text, const ry_optimizer_options *options,
                         int inputs, const ry_value_id *in, int outputs, ry_value_id *out)
{
    ry_expr_parameter list[OPTIONS];
    ry_attrs attrs = ry_attrs_default(RY_OP_expr);
    list_options(options, list);
    attrs.expr.program = ry_emit_program_with(e, text, list, OPTIONS);
    ry_emit_outputs(e, RY_OP_expr, &attrs, inputs, in, outputs, NULL, out);
}

void ry_emit_optimizer_step(ry_emitter *emitter, const ry_optimizer_options *options,
                            ry_value_id learning_rate, ry_value_id before, ry_optimizer_step *step)
{
    const method *m = &methods[options->optimizer];
    ry_value_id rates[RY_MAX_RATES];
    const ry_value_id count = ry_emit_expr(emitter, "x0 + 1", 1, &before);
    emit_program(emitter, m->rates_text, options, 2, (ry_value_id[]){learning_rate, count},
                 m->rates, rates);
    for (int i = 0; i < m->rates; i++) {
        step->rate[i] = ry_emit_expr(emitter, "cast(x0, f32)", 1, &rates[i]);
    }
    failed_memory(emitter, emitter->status != RYND_OK ||
                               ry_graph_add_state(emitter->graph, before, count, NULL));
}

/* "w = x0; g = x1 * x2 + decay * x0; r0 = x3; m0 = x4; " and the method's text. */
static void write_text(const ry_optimizer_options *options, const method *m, bool scaled,
                       char *text, size_t size)
{
    int next = scaled ? 3 : 2;
    snprintf(text, size, "w = x0; g = x1%s%s; ", scaled ? " * x2" : "",
             options->decay != 0 && options->optimizer != RY_OPTIMIZER_adamw ? " + decay * x0"
                                                                             : "");
    for (int i = 0; i < m->rates; i++) {
        snprintf(text + strlen(text), size - strlen(text), "r%d = x%d; ", i, next++);
    }
    for (int i = 0; i < m->moments; i++) {
        snprintf(text + strlen(text), size - strlen(text), "m%d = x%d; ", i, next++);
    }
    snprintf(text + strlen(text), size - strlen(text), "%s", m->text);
}

static ry_value_id moment_of(ry_emitter *e, ry_value_id parameter, const char *moment)
{
    ry_graph *graph = e->graph;
    const ry_value like = graph->values[parameter];
    const char *name = ry_arena_format(&graph->arena, "%s/%s", like.name, moment);
    const ry_value_id v =
        name ? ry_graph_add_value(graph, name, like.dtype, &like.shape) : RY_NO_VALUE;
    failed_memory(e, v != RY_NO_VALUE);
    return v;
}

void ry_emit_update(ry_emitter *emitter, const ry_optimizer_options *options,
                    const ry_optimizer_step *step, ry_value_id parameter, ry_value_id gradient,
                    const void *initial)
{
    const method *m = &methods[options->optimizer];
    ry_value_id in[3 + RY_MAX_RATES + RY_MAX_MOMENTS], out[1 + RY_MAX_MOMENTS],
        moment[RY_MAX_MOMENTS];
    int inputs = 0;
    char text[512];
    in[inputs++] = parameter;
    in[inputs++] = gradient;
    if (step->scale != RY_NO_VALUE) {
        in[inputs++] = step->scale;
    }
    for (int i = 0; i < m->rates; i++) {
        in[inputs++] = step->rate[i];
    }
    for (int i = 0; i < m->moments; i++) {
        in[inputs++] = moment[i] = moment_of(emitter, parameter, m->moment[i]);
    }
    write_text(options, m, step->scale != RY_NO_VALUE, text, sizeof text);
    emit_program(emitter, text, options, inputs, in, 1 + m->moments, out);
    bool made = emitter->status != RYND_OK ||
                ry_graph_add_state(emitter->graph, parameter, out[0], initial);
    for (int i = 0; i < m->moments; i++) {
        made = made && (emitter->status != RYND_OK ||
                        ry_graph_add_state(emitter->graph, moment[i], out[1 + i], NULL));
    }
    failed_memory(emitter, made);
}

ry_value_id ry_emit_clip_scale(ry_emitter *emitter, size_t count, const ry_value_id *gradients,
                               double norm, int ranks)
{
    const ry_expr_parameter numbers[] = {{"norm", norm}, {"part", 1.0 / ranks}};
    const char *text = ranks > 1 ? "min(norm / (sqrt(x0) * part + 1e-6), 1) * part"
                                 : "min(norm / (sqrt(x0) + 1e-6), 1)";
    ry_arena *arena = &emitter->graph->arena;
    ry_value_id *squares = RY_TAKE(arena, ry_value_id, count);
    if (failed_memory(emitter, squares != NULL)) {
        return RY_NO_VALUE;
    }
    for (size_t i = 0; i < count; i++) {
        squares[i] = gradients[i] == RY_NO_VALUE
                         ? RY_NO_VALUE
                         : ry_emit_reduce(emitter, "sum(x0 * x0)", &(ry_ints){.count = 0}, false, 1,
                                          &gradients[i]);
    }
    const ry_value_id sum = ry_emit_sum(emitter, count, squares);
    return sum == RY_NO_VALUE ? sum : ry_emit_expr_with(emitter, text, numbers, 2, 1, &sum);
}
