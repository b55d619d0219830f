/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of einsum: of an operand the einsum of y's gradient with the other operands, to that
 * operand's labels. What an operand alone sums over is the same everywhere along it; what was
 * broadcast from 1 is summed. */
#include "problem/einsum.h"
#include "train/gradient.h"

#include <string.h>

enum { MOST = 16 }; /* operands */

typedef struct equation {
    int operands;
    ry_einsum_term term[MOST + 1];  /* after the operands the output */
    char letter[RY_EINSUM_LABELS];  /* the ellipsis' dims have letters, too; 0: none is left */
    int64_t size[RY_EINSUM_LABELS]; /* the largest extent of each label */
} equation;

/* Dims of the ellipsis get letters that the equation does not use. */
static void name_labels(equation *q, const int *uses)
{
    static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    memcpy(q->letter, all, RY_EINSUM_LETTERS);
    for (int label = RY_EINSUM_LETTERS, spare = 0; label < RY_EINSUM_LABELS; label++) {
        while (spare < RY_EINSUM_LETTERS && uses[spare]) {
            spare++;
        }
        q->letter[label] = all[spare];
        spare += spare < RY_EINSUM_LETTERS;
    }
}

/* Parses an equation that inference has accepted. False if it has more than MOST operands. */
static bool read_equation(ry_emitter *e, const ry_node *node, equation *q)
{
    ry_einsum_reader reader = ry_einsum_begin(node->attrs.einsum.equation);
    *q = (equation){.operands = node->inputs};
    for (int i = 0; i < node->inputs && i < MOST; i++) {
        const ry_shape shape = ry_emit_shape(e, node->in[i]);
        const ry_einsum_term *term = &q->term[i];
        if (!ry_einsum_operand(&reader, shape.rank, &q->term[i])) {
            return false;
        }
        for (int d = 0; d < shape.rank; d++) {
            int64_t *size = &q->size[term->label[d]];
            *size = shape.dim[d] > *size ? shape.dim[d] : *size;
        }
    }
    name_labels(q, reader.uses);
    return node->inputs <= MOST && ry_einsum_output(&reader, &q->term[node->inputs]);
}

static bool has_label(const ry_einsum_term *term, int label)
{
    return memchr(term->label, label, (size_t)term->count) != NULL;
}

static bool elsewhere(const equation *q, int operand, int label)
{
    for (int i = 0; i <= q->operands; i++) {
        if (i != operand && has_label(&q->term[i], label)) {
            return true;
        }
    }
    return false;
}

static void spell(const equation *q, const ry_einsum_term *term, char *text)
{
    for (int d = 0; d < term->count; d++) {
        *text++ = q->letter[term->label[d]];
    }
    *text = 0;
}

/* "y, others -> the operand's labels that those have"; NULL: out of memory. */
static const char *equation_of(ry_emitter *e, const equation *q, int operand)
{
    char term[RY_MAX_RANK + 1];
    spell(q, &q->term[q->operands], term);
    const char *text = ry_arena_format(&e->graph->arena, "%s", term);
    for (int i = 0; i < q->operands && text; i++) {
        if (i != operand) {
            spell(q, &q->term[i], term);
            text = ry_arena_format(&e->graph->arena, "%s,%s", text, term);
        }
    }
    ry_einsum_term to = {.count = 0};
    for (int d = 0; d < q->term[operand].count; d++) {
        const uint8_t label = q->term[operand].label[d];
        if (elsewhere(q, operand, label)) {
            to.label[to.count++] = label;
        }
    }
    spell(q, &to, term);
    return text ? ry_arena_format(&e->graph->arena, "%s->%s", text, term) : NULL;
}

static ry_value_id operand_gradient(const ry_gradient_call *call, ry_emitter *e, const equation *q,
                                    int operand)
{
    const ry_node node = ry_gradient_node(call);
    const ry_shape x = ry_emit_shape(e, node.in[operand]);
    ry_attrs attrs = ry_attrs_default(RY_OP_einsum);
    ry_value_id in[MOST];
    int inputs = 0;
    attrs.einsum.equation = equation_of(e, q, operand);
    if (!attrs.einsum.equation) {
        ry_emit_fail(e, RYND_ERROR_OUT_OF_MEMORY, "out of memory");
        return RY_NO_VALUE;
    }
    in[inputs++] = call->dy[0];
    for (int i = 0; i < node.inputs; i++) {
        if (i != operand) {
            in[inputs++] = node.in[i];
        }
    }
    ry_value_id dx = ry_emit(e, RY_OP_einsum, &attrs, inputs, in);
    ry_shape beside = x, whole = x; /* with 1 for what it alone sums over; with all sizes */
    for (int d = 0; d < x.rank; d++) {
        const int label = q->term[operand].label[d];
        whole.dim[d] = q->size[label];
        beside.dim[d] = elsewhere(q, operand, label) ? whole.dim[d] : 1;
    }
    dx = ry_emit_reshape(e, dx, &beside);
    return ry_emit_sum_to(e, ry_emit_expand(e, dx, &whole), &x);
}

/* A label that the term has twice, or -1. */
static int repeated_label(const ry_einsum_term *term)
{
    for (int d = 1; d < term->count; d++) {
        if (memchr(term->label, term->label[d], (size_t)d)) {
            return term->label[d];
        }
    }
    return -1;
}

rynd_status ry_gradient_einsum(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    equation q;
    if (!read_equation(&e, &node, &q)) {
        return ry_gradient_refuse(call, "an equation of so many operands has no "
                                        "gradient");
    }
    for (int i = 0; i < node.inputs; i++) {
        const int label = call->wanted[i] ? repeated_label(&q.term[i]) : -1;
        if (label >= 0) {
            return ry_gradient_refuse(call, "'%c' twice in a term, a diagonal, has no gradient",
                                      q.letter[label]);
        }
        if (call->wanted[i]) {
            call->dx[i] = operand_gradient(call, &e, &q, i);
        }
    }
    return e.status;
}
