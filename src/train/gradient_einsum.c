/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of einsum: of an operand the einsum of y's gradient with the other operands, to that
 * operand's labels. What an operand alone sums over is the same everywhere along it; what was
 * broadcast from 1 is summed. */
#include "train/gradient.h"

#include <string.h>

enum { LETTERS = 52, ROOM = RY_MAX_RANK + 1, MOST = 16 };

/* The equation with a letter for each dim of an ellipsis, too. */
typedef struct equation {
    int operands;
    char term[MOST + 1][ROOM]; /* behind the operands that of y */
    int64_t size[128];         /* largest size per letter */
} equation;

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Letters that the text does not have, for the dims of an ellipsis from its right end. */
static bool spare_letters(const char *text, char spare[RY_MAX_RANK])
{
    static const char all[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    int found = 0;
    for (int i = 0; i < LETTERS && found < RY_MAX_RANK; i++) {
        if (!strchr(text, all[i])) {
            spare[found++] = all[i];
        }
    }
    return found == RY_MAX_RANK;
}

/* Copies a term of `length` characters; its ellipsis stands for `covered` dims. */
static void read_term(const char *from, size_t length, int covered, const char *spare, char *to)
{
    int n = 0;
    for (size_t i = 0; i < length; i++) {
        if (is_letter(from[i])) {
            to[n++] = from[i];
        } else if (from[i] == '.') {
            i += 2;
            for (int d = covered - 1; d >= 0; d--) {
                to[n++] = spare[d];
            }
        }
    }
    to[n] = 0;
}

static int count_letters(const char *text, size_t length)
{
    int count = 0;
    for (size_t i = 0; i < length; i++) {
        count += is_letter(text[i]);
    }
    return count;
}

/* Without an arrow y has what stands once, in the order of the alphabet, behind the ellipsis. */
static void imply_output(equation *q, const char *text, int covered, const char *spare)
{
    char *to = q->term[q->operands];
    for (int d = covered - 1; d >= 0; d--) {
        *to++ = spare[d];
    }
    for (char c = 'A'; c <= 'z'; c++) {
        const char *first = is_letter(c) ? strchr(text, c) : NULL;
        if (first && !strchr(first + 1, c)) {
            *to++ = c;
        }
    }
    *to = 0;
}

/* Parses an equation that inference has accepted. False if the rule does not support it. */
static bool read_equation(ry_emitter *e, const ry_node *node, equation *q)
{
    const char *text = node->attrs.einsum.equation, *arrow = strstr(text, "->"), *at = text;
    char spare[RY_MAX_RANK];
    int most = 0;
    *q = (equation){.operands = node->inputs};
    if (node->inputs > MOST || !spare_letters(text, spare)) {
        return false;
    }
    for (int i = 0; i < node->inputs; i++) {
        const size_t length = strcspn(at, ",-");
        const ry_shape shape = ry_emit_shape(e, node->in[i]);
        const int covered = shape.rank - count_letters(at, length);
        most = covered > most ? covered : most;
        read_term(at, length, covered, spare, q->term[i]);
        for (int d = 0; d < shape.rank; d++) {
            int64_t *size = &q->size[(unsigned char)q->term[i][d]];
            *size = shape.dim[d] > *size ? shape.dim[d] : *size;
        }
        at += length + (at[length] == ',');
    }
    if (arrow) {
        read_term(arrow + 2, strlen(arrow + 2), most, spare, q->term[q->operands]);
    } else {
        imply_output(q, text, most, spare);
    }
    return true;
}

static bool elsewhere(const equation *q, int operand, char letter)
{
    for (int i = 0; i <= q->operands; i++) {
        if (i != operand && strchr(q->term[i], letter)) {
            return true;
        }
    }
    return false;
}

/* "y, others -> those of the operand's labels that they have"; NULL: out of memory. */
static const char *equation_of(ry_emitter *e, const equation *q, int operand)
{
    const char *text = ry_arena_format(&e->graph->arena, "%s", q->term[q->operands]);
    for (int i = 0; i < q->operands && text; i++) {
        if (i != operand) {
            text = ry_arena_format(&e->graph->arena, "%s,%s", text, q->term[i]);
        }
    }
    char to[ROOM] = "";
    int n = 0;
    for (const char *c = q->term[operand]; *c; c++) {
        if (elsewhere(q, operand, *c)) {
            to[n++] = *c;
        }
    }
    return text ? ry_arena_format(&e->graph->arena, "%s->%s", text, to) : NULL;
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
        const char letter = q->term[operand][d];
        whole.dim[d] = q->size[(unsigned char)letter];
        beside.dim[d] = elsewhere(q, operand, letter) ? whole.dim[d] : 1;
    }
    dx = ry_emit_reshape(e, dx, &beside);
    return ry_emit_sum_to(e, ry_emit_expand(e, dx, &whole), &x);
}

rynd_status ry_gradient_einsum(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    equation q;
    if (!read_equation(&e, &node, &q)) {
        return ry_gradient_refuse(call, "an equation of so many operands or letters has no "
                                        "gradient");
    }
    for (int i = 0; i < node.inputs; i++) {
        for (const char *c = q.term[i]; call->wanted[i] && *c; c++) {
            if (strchr(c + 1, *c)) {
                return ry_gradient_refuse(call, "'%c' twice in a term, a diagonal, has no gradient",
                                          *c);
            }
        }
        if (call->wanted[i]) {
            call->dx[i] = operand_gradient(call, &e, &q, i);
        }
    }
    return e.status;
}
