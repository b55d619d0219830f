/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent layers become products and expressions: one product of the input for all turns at once,
 * then a product and an expression a turn. Sequences longer than RY_LIMIT_RECURRENT_TURNS keep one
 * node for the turns. */
#include "graph/emitter.h"
#include "graph/rewrite.h"
#include "graph/split_recurrent.h"
#include "problem/limits.h"
#include "problem/recurrent.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { X, W, R, BIAS, LENGTHS, FIRST_H, FIRST_C, PEEPHOLES, INPUTS };

/* A layer being rewritten, and the direction at hand. */
typedef struct layer {
    ry_emitter emitter;
    ry_recurrent_attrs attrs;
    ry_value_id in[INPUTS];
    ry_dtype dtype;
    int64_t time, batch, size, hidden, gates;
    ry_value_id x, lengths; /* [T,N,I]; [N,1] in i64 */
    int direction;
    bool backwards;       /* turns go from the last element to the first */
    bool turned;          /* or x is turned, by lengths */
    const ry_expr *cell;  /* computes a turn */
    const ry_expr *reset; /* gru: the state times its reset gate */
    ry_value_id w, r, bias[2], peephole[3];
} layer;

/* A program's text. */
typedef struct text {
    char at[2048];
    size_t used;
} text;

__attribute__((format(printf, 2, 3))) static void add(text *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(t->at + t->used, sizeof t->at - t->used, format, arguments);
    va_end(arguments);
    const size_t left = sizeof t->at - 1 - t->used;
    t->used += length > 0 && (size_t)length < left ? (size_t)length : left;
}

/* "name = function(argument); " */
static void add_function(text *t, const ry_recurrent_function *f, const char *name,
                         const char *argument)
{
    add(t, "%s = ", name);
    for (const char *c = ry_recurrent_text(f->which); *c; c++) {
        if (*c == '$') {
            add(t, "%s", argument);
        } else if (*c == 'A' || *c == 'B') {
            add(t, "%.17g", *c == 'A' ? f->alpha : f->beta);
        } else {
            add(t, "%c", *c);
        }
    }
    add(t, "; ");
}

/* A gate: the function of a sum, which is clipped first. */
static void add_gate(const layer *l, text *t, const ry_recurrent_function *f, const char *name,
                     const char *sum)
{
    char argument[16];
    snprintf(argument, sizeof argument, "%s0", name);
    if (l->attrs.clip > 0) {
        add(t, "%s = min(max(%s, %.17g), %.17g); ", argument, sum, -l->attrs.clip, l->attrs.clip);
    } else {
        add(t, "%s = %s; ", argument, sum);
    }
    add_function(t, f, name, argument);
}

/* y0 is the new state, y1 the new cell or, with lengths, what y shows. Inputs: the gates' sums, the
 * state, then `more`; lengths and the turn come last. */
static void finish(const layer *l, text *t, const char *state, int lengths, const char *cell,
                   const char *old_cell)
{
    if (l->lengths == RY_NO_VALUE) {
        add(t, cell ? "y0 = h; y1 = %s" : "y0 = h", cell ? cell : "");
        return;
    }
    add(t, "live = x%d > x%d; y0 = select(live, h, %s); y1 = select(live, h, 0)", lengths,
        lengths + 1, state);
    if (cell) {
        add(t, "; y2 = select(live, %s, %s)", cell, old_cell);
    }
}

/* x0 to x3: input, output, forget, cell; x4 the state, x5 the cell; then peepholes. */
static void write_lstm(const layer *l, text *t, const ry_recurrent_function *f)
{
    const bool peeps = l->peephole[0] != RY_NO_VALUE;
    add_gate(l, t, &f[0], "i", peeps ? "x0 + x6 * x5" : "x0");
    if (l->attrs.input_forget) {
        add(t, "f = 1 - i; ");
    } else {
        add_gate(l, t, &f[0], "f", peeps ? "x2 + x8 * x5" : "x2");
    }
    add_gate(l, t, &f[1], "g", "x3");
    add(t, "c = f * x5 + i * g; ");
    add_gate(l, t, &f[0], "o", peeps ? "x1 + x7 * c" : "x1");
    add_function(t, &f[2], "s", "c");
    add(t, "h = o * s; ");
    finish(l, t, "x4", peeps ? 9 : 6, "c", "x5");
}

/* x0 update, x1 what becomes the new state, x2 the state; before the reset also x3 the reset gate
 * and x4 what x gives to the new state. */
static void write_gru(const layer *l, text *t, const ry_recurrent_function *f)
{
    const bool before = l->attrs.linear_before_reset != 0;
    add_gate(l, t, &f[0], "z", "x0");
    if (before) {
        add_gate(l, t, &f[0], "r", "x3");
    }
    add_gate(l, t, &f[1], "n", before ? "x4 + r * x1" : "x1");
    add(t, "h = (1 - z) * n + z * x2; ");
    finish(l, t, "x2", before ? 5 : 3, NULL, NULL);
}

static void make_programs(layer *l)
{
    ry_recurrent_function f[RY_RECURRENT_MOST] = {{0, 0, 0}};
    text cell = {.used = 0}, reset = {.used = 0};
    (void)ry_recurrent_functions(&l->attrs, l->direction, f);
    switch (l->attrs.kind) {
    case RY_recurrent_kind_lstm: write_lstm(l, &cell, f); break;
    case RY_recurrent_kind_gru: write_gru(l, &cell, f); break;
    default: add_gate(l, &cell, &f[0], "h", "x0"); finish(l, &cell, "x1", 2, NULL, NULL);
    }
    add_gate(l, &reset, &f[0], "r", "x0");
    add(&reset, "y0 = r * x1");
    l->cell = ry_emit_program(&l->emitter, cell.at);
    l->reset = ry_emit_program(&l->emitter, reset.at);
}

/* Elements [from, to) along an axis. */
static ry_value_id cut(layer *l, ry_value_id x, int64_t axis, int64_t from, int64_t to)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_slice);
    attrs.slice.axes = (ry_ints){.count = 1, .at = {axis}};
    attrs.slice.starts = (ry_ints){.count = 1, .at = {from}};
    attrs.slice.ends = (ry_ints){.count = 1, .at = {to}};
    return ry_emit(&l->emitter, RY_OP_slice, &attrs, 1, &x);
}

static ry_value_id view(layer *l, ry_value_id x, int rank, const int64_t *dim)
{
    const ry_shape shape = ry_shape_of(rank, dim);
    return ry_emit_reshape(&l->emitter, x, &shape);
}

/* The direction's part of an input with a first dim of directions, without that dim. */
static ry_value_id own_part(layer *l, int input, int rank, const int64_t *dim)
{
    return l->in[input] == RY_NO_VALUE
               ? RY_NO_VALUE
               : view(l, cut(l, l->in[input], 0, l->direction, l->direction + 1), rank, dim);
}

static ry_value_id product(layer *l, ry_value_id a, ry_value_id b, ry_value_id c)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_matmul);
    const ry_value_id in[] = {a, b, c};
    attrs.matmul.trans_b = 1;
    return ry_emit(&l->emitter, RY_OP_matmul, &attrs, c == RY_NO_VALUE ? 2 : 3, in);
}

/* Rows [from, to) of a vector or matrix with a part a gate. */
static ry_value_id gates_of(layer *l, ry_value_id x, int64_t from, int64_t to)
{
    return x == RY_NO_VALUE || (from == 0 && to == l->gates)
               ? x
               : cut(l, x, 0, from * l->hidden, to * l->hidden);
}

static ry_value_id sum(layer *l, ry_value_id a, ry_value_id b)
{
    const ry_value_id in[] = {a, b};
    return a == RY_NO_VALUE   ? b
           : b == RY_NO_VALUE ? a
                              : ry_emit_expr(&l->emitter, "x0 + x1", 2, in);
}

/* `count` parts of equal size along an axis. */
static void split(layer *l, ry_value_id x, int64_t axis, int count, ry_value_id *part)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_split);
    attrs.split.axis = axis;
    attrs.split.num_outputs = count;
    if (count == 1) {
        part[0] = x;
    } else {
        ry_emit_outputs(&l->emitter, RY_OP_split, &attrs, 1, &x, count, NULL, part);
    }
}

/* What x gives to gates [from, to) in every turn, as [N, gates * H] each: one product. NULL: out of
 * memory. */
static ry_value_id *from_input(layer *l, int64_t from, int64_t to, bool both)
{
    ry_value_id *turn = RY_TAKE(&l->emitter.graph->arena, ry_value_id, l->time);
    ry_value_id bias = gates_of(l, l->bias[0], from, to);
    if (both) {
        bias = sum(l, bias, gates_of(l, l->bias[1], from, to));
    }
    const ry_value_id rows = view(l, l->x, 2, (int64_t[]){l->time * l->batch, l->size});
    if (turn) {
        split(l, product(l, rows, gates_of(l, l->w, from, to), bias), 0, (int)l->time, turn);
    }
    return turn;
}

static ry_value_id number(layer *l, int64_t n)
{
    return ry_emit_scalar(&l->emitter, RY_i64, (double)n);
}

/* States that turns pass on, and the state that y shows. */
typedef struct states {
    ry_value_id h, c, shown;
} states;

static void apply_cell(layer *l, int count, ry_value_id *in, int64_t t, states *s)
{
    const bool lstm = l->attrs.kind == RY_recurrent_kind_lstm, live = l->lengths != RY_NO_VALUE;
    ry_attrs attrs = ry_attrs_default(RY_OP_expr);
    ry_value_id out[3];
    attrs.expr.program = l->cell;
    if (live) {
        in[count++] = l->lengths;
        in[count++] = number(l, t);
    }
    if (ry_emit_outputs(&l->emitter, RY_OP_expr, &attrs, count, in, 1 + live + lstm, NULL, out)) {
        *s = (states){out[0], lstm ? out[1 + live] : RY_NO_VALUE, live ? out[1] : out[0]};
    }
}

static void turn_of_lstm(layer *l, int64_t t, ry_value_id from_x, states *s)
{
    ry_value_id in[16];
    split(l, product(l, s->h, l->r, from_x), 1, 4, in);
    in[4] = s->h;
    in[5] = s->c;
    int count = 6;
    for (int i = 0; i < 3 && l->peephole[0] != RY_NO_VALUE; i++) {
        in[count++] = l->peephole[i];
    }
    apply_cell(l, count, in, t, s);
}

static void turn_of_gru(layer *l, int64_t t, ry_value_id gates, ry_value_id own, states *s)
{
    ry_value_id part[2], in[8];
    split(l, product(l, s->h, gates_of(l, l->r, 0, 2), gates), 1, 2, part);
    const ry_value_id r = gates_of(l, l->r, 2, 3);
    in[0] = part[0];
    in[2] = s->h;
    int count = 3;
    if (l->attrs.linear_before_reset) {
        in[1] = product(l, s->h, r, gates_of(l, l->bias[1], 2, 3));
        in[3] = part[1];
        in[4] = own;
        count = 5;
    } else {
        ry_attrs attrs = ry_attrs_default(RY_OP_expr);
        const ry_value_id reset[] = {part[1], s->h};
        attrs.expr.program = l->reset;
        in[1] = product(l, ry_emit(&l->emitter, RY_OP_expr, &attrs, 2, reset), r, own);
    }
    apply_cell(l, count, in, t, s);
}

static ry_value_id join(layer *l, int64_t axis, int count, const ry_value_id *part)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_concat);
    attrs.concat.axis = axis;
    return count == 1 ? part[0] : ry_emit(&l->emitter, RY_OP_concat, &attrs, count, part);
}

/* [T,N,..] turned along time, each sequence by its own length. */
static ry_value_id turn_sequences(layer *l, ry_value_id x)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_reverse_sequence);
    const ry_value_id in[] = {x, view(l, l->lengths, 1, &l->batch)};
    return ry_emit(&l->emitter, RY_OP_reverse_sequence, &attrs, 2, in);
}

static ry_value_id first_state(layer *l, int input)
{
    const int64_t dim[] = {l->batch, l->hidden};
    const ry_shape shape = ry_shape_of(2, dim);
    return l->in[input] == RY_NO_VALUE ? ry_emit_filled(&l->emitter, l->dtype, &shape, 0)
                                       : own_part(l, input, 2, dim);
}

static void begin_direction(layer *l)
{
    const int64_t rows = l->gates * l->hidden;
    l->w = own_part(l, W, 2, (int64_t[]){rows, l->size});
    l->r = own_part(l, R, 2, (int64_t[]){rows, l->hidden});
    const ry_value_id bias = own_part(l, BIAS, 1, (int64_t[]){2 * rows});
    const ry_value_id peepholes = own_part(l, PEEPHOLES, 1, (int64_t[]){3 * l->hidden});
    for (int i = 0; i < 2; i++) {
        l->bias[i] = bias == RY_NO_VALUE ? bias : cut(l, bias, 0, i * rows, (i + 1) * rows);
    }
    for (int i = 0; i < 3; i++) {
        l->peephole[i] = peepholes == RY_NO_VALUE
                             ? peepholes
                             : cut(l, peepholes, 0, i * l->hidden, (i + 1) * l->hidden);
    }
    make_programs(l);
}

/* All turns of the direction; list[t]: what y shows of element t. */
static states run_turns(layer *l, const char *name, ry_value_id *list)
{
    const bool gru = l->attrs.kind == RY_recurrent_kind_gru;
    const bool both = !gru || !l->attrs.linear_before_reset;
    ry_value_id *gates = from_input(l, 0, gru ? 2 : l->gates, true);
    ry_value_id *own = gru ? from_input(l, 2, 3, both) : gates;
    states s = {first_state(l, FIRST_H),
                l->attrs.kind == RY_recurrent_kind_lstm ? first_state(l, FIRST_C) : RY_NO_VALUE,
                RY_NO_VALUE};
    for (int64_t i = 0; gates && own && i < l->time && l->emitter.status == RYND_OK; i++) {
        const int64_t t = l->backwards ? l->time - 1 - i : i;
        l->emitter.name = ry_arena_format(&l->emitter.graph->arena, "%s/%d/%lld", name,
                                          l->direction, (long long)t);
        if (!l->emitter.name) {
            break;
        }
        if (l->attrs.kind == RY_recurrent_kind_lstm) {
            turn_of_lstm(l, t, gates[t], &s);
        } else if (gru) {
            turn_of_gru(l, t, gates[t], own[t], &s);
        } else {
            ry_value_id in[4] = {product(l, s.h, l->r, gates[t]), s.h};
            apply_cell(l, l->lengths == RY_NO_VALUE ? 1 : 2, in, t, &s);
        }
        list[t] = s.shown;
    }
    if (l->emitter.status == RYND_OK && (!gates || !own || !l->emitter.name)) {
        ry_emit_fail(&l->emitter, RYND_ERROR_OUT_OF_MEMORY, "out of memory");
    }
    l->emitter.name = name;
    return s;
}

/* y of the direction as [T,1,N,H], and its last states as [1,N,H] each. */
static void make_direction(layer *l, ry_value_id *y, ry_value_id *h, ry_value_id *c)
{
    const char *name = l->emitter.name;
    const ry_value_id x = l->x;
    ry_value_id *list = RY_TAKE(&l->emitter.graph->arena, ry_value_id, l->time);
    const bool back = ry_recurrent_backwards(&l->attrs, l->direction);
    l->turned = back && l->lengths != RY_NO_VALUE;
    l->backwards = back && !l->turned;
    l->x = l->turned ? turn_sequences(l, x) : x;
    begin_direction(l);
    if (!list) {
        ry_emit_fail(&l->emitter, RYND_ERROR_OUT_OF_MEMORY, "out of memory");
        return;
    }
    const states s = run_turns(l, name, list);
    for (int64_t t = 0; t < l->time && l->emitter.status == RYND_OK; t++) {
        l->emitter.name = ry_arena_format(&l->emitter.graph->arena, "%s/%d/%lld", name,
                                          l->direction, (long long)t);
        list[t] = view(l, list[t], 3, (int64_t[]){1, l->batch, l->hidden});
    }
    l->emitter.name = name;
    const ry_value_id all = join(l, 0, (int)l->time, list);
    *y = view(l, l->turned ? turn_sequences(l, all) : all, 4,
              (int64_t[]){l->time, 1, l->batch, l->hidden});
    *h = view(l, s.h, 3, (int64_t[]){1, l->batch, l->hidden});
    *c = s.c == RY_NO_VALUE ? s.c : view(l, s.c, 3, (int64_t[]){1, l->batch, l->hidden});
    l->x = x;
}

/* Exchanges two leading dims of x if the batch comes first. */
static ry_value_id exchange(layer *l, ry_value_id x, int rank)
{
    static const ry_ints perms[] = {{.count = 3, .at = {1, 0, 2}},
                                    {.count = 4, .at = {2, 0, 1, 3}}};
    return l->attrs.batch_first && x != RY_NO_VALUE
               ? ry_emit_transpose(&l->emitter, x, &perms[rank - 3])
               : x;
}

static void give(layer *l, const ry_node *node, int output, int64_t axis, int directions,
                 const ry_value_id *part)
{
    if (output < node->outputs && node->out[output] != RY_NO_VALUE &&
        l->emitter.status == RYND_OK) {
        const ry_value_id whole = exchange(l, join(l, axis, directions, part), output ? 3 : 4);
        ry_emit_into(&l->emitter, RY_OP_identity, NULL, 1, &whole, 1, &node->out[output]);
    }
}

static void begin(layer *l, const ry_node *node)
{
    const bool first = node->attrs.recurrent.batch_first;
    const ry_shape x = ry_emit_shape(&l->emitter, node->in[X]);
    l->attrs = node->attrs.recurrent;
    for (int i = 0; i < INPUTS; i++) {
        l->in[i] = i < node->inputs ? node->in[i] : RY_NO_VALUE;
    }
    l->dtype = ry_emit_dtype(&l->emitter, node->in[X]);
    l->gates = ry_recurrent_gates(&l->attrs);
    l->time = x.dim[first];
    l->batch = x.dim[!first];
    l->size = x.dim[2];
    l->hidden = ry_emit_shape(&l->emitter, node->in[R]).dim[2];
    l->x = exchange(l, l->in[X], 3);
    l->in[FIRST_H] = exchange(l, l->in[FIRST_H], 3);
    l->in[FIRST_C] = exchange(l, l->in[FIRST_C], 3);
    l->lengths = l->in[LENGTHS];
    if (l->lengths != RY_NO_VALUE) {
        l->lengths = ry_emit_expr(&l->emitter, "cast(x0, i64)", 1, &l->lengths);
        l->lengths = view(l, l->lengths, 2, (int64_t[]){l->batch, 1});
    }
}

static rynd_status rewrite(ry_graph *graph, ry_node_id n, ry_error *error)
{
    const ry_node node = graph->nodes[n];
    layer *l = RY_TAKE(&graph->arena, layer, 1);
    if (!l) {
        return ry_fail_memory(error);
    }
    const ry_node_id first = (ry_node_id)graph->node_count;
    *l = (layer){.emitter = {.graph = graph, .name = node.name, .error = error}};
    ry_graph_remove_node(graph, n);
    begin(l, &node);
    ry_value_id y[2], h[2], c[2];
    const int directions = ry_recurrent_directions(&node.attrs.recurrent);
    for (int d = 0; d < directions && l->emitter.status == RYND_OK; d++) {
        l->direction = d;
        make_direction(l, &y[d], &h[d], &c[d]);
    }
    if (l->emitter.status == RYND_OK) {
        give(l, &node, 0, 1, directions, y);
        give(l, &node, 1, 0, directions, h);
        give(l, &node, 2, 0, directions, c);
    }
    for (ry_node_id i = first; i < graph->node_count; i++) {
        graph->nodes[i].source = node.source;
    }
    return l->emitter.status;
}

static bool is_short(const ry_graph *graph, const ry_node *node)
{
    const int64_t time =
        graph->values[node->in[X]].shape.dim[node->attrs.recurrent.batch_first != 0];
    return time <= RY_LIMIT_RECURRENT_TURNS / ry_recurrent_directions(&node->attrs.recurrent);
}

rynd_status ry_rewrite_recurrent(ry_graph *graph, bool *changed, ry_error *error)
{
    for (ry_node_id n = 0, nodes = (ry_node_id)graph->node_count; n < nodes; n++) {
        const ry_node *node = &graph->nodes[n];
        if (node->op == RY_OP_recurrent && node->in[W] != RY_NO_VALUE &&
            ry_shape_elements(&graph->values[node->in[X]].shape) > 0 &&
            graph->values[node->in[R]].shape.dim[2] > 0) {
            RY_TRY(is_short(graph, node) ? rewrite(graph, n, error)
                                         : ry_graph_split_recurrent(graph, n, error));
            *changed = true;
        }
    }
    return RYND_OK;
}
