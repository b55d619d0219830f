/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of sums of products: matmul by numpy's rules, einsum by its equation. */
#include "graph/infer_table.h"

#include <string.h>

/* The two matrix dims of an operand; a vector is a row on the left and a column on the right. */
static void matrix_dims(const ry_shape *shape, bool left, bool transposed, int64_t dims[2])
{
    if (shape->rank == 1) {
        dims[0] = left ? 1 : shape->dim[0];
        dims[1] = left ? shape->dim[0] : 1;
        return;
    }
    dims[transposed] = shape->dim[shape->rank - 2];
    dims[!transposed] = shape->dim[shape->rank - 1];
}

static ry_shape batch_dims(const ry_shape *shape)
{
    return ry_shape_of(shape->rank > 2 ? shape->rank - 2 : 0, shape->dim);
}

/* Inputs that are added to y must broadcast to it. */
static ry_infer_result check_added(ry_infer *infer, int i, const ry_shape *y)
{
    if (!ry_infer_has(infer, i)) {
        return RY_INFER_DONE;
    }
    RY_INFER_TRY(ry_infer_check_same_type(infer, i, 0));
    const ry_shape *c = &ry_infer_in(infer, i)->shape;
    bool fits = c->rank <= y->rank;
    for (int d = 1; fits && d <= c->rank; d++) {
        fits = c->dim[c->rank - d] == 1 || ry_infer_agree(c->dim[c->rank - d], y->dim[y->rank - d]);
    }
    char text[200];
    return fits ? RY_INFER_DONE
                : ry_infer_bad(infer, i, "does not broadcast to the output's %s",
                               ry_shape_text(infer->graph, y, text, sizeof text));
}

ry_infer_result ry_infer_op_matmul(ry_infer *infer)
{
    const ry_matmul_attrs *a = &infer->node->attrs.matmul;
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 1, RY_MAX_RANK));
    RY_INFER_TRY(ry_infer_check_rank(infer, 1, 1, RY_MAX_RANK));
    RY_INFER_TRY(ry_infer_check_same_type(infer, 1, 0));
    const ry_shape *left = &ry_infer_in(infer, 0)->shape, *right = &ry_infer_in(infer, 1)->shape;
    int64_t m[2], n[2];
    matrix_dims(left, true, a->trans_a != 0, m);
    matrix_dims(right, false, a->trans_b != 0, n);
    if (!ry_infer_agree(m[1], n[0])) {
        return ry_infer_bad(infer, 1,
                            "has %lld rows to sum over, input 0, value '%s', has %lld columns",
                            (long long)n[0], ry_infer_in(infer, 0)->name, (long long)m[1]);
    }
    ry_shape left_batch = batch_dims(left), right_batch = batch_dims(right), y;
    if (!ry_infer_broadcast(infer->graph, &left_batch, &right_batch, &y)) {
        return ry_infer_bad(
            infer, 1, "has batch dims that do not broadcast with those of input 0, value '%s'",
            ry_infer_in(infer, 0)->name);
    }
    if (left->rank > 1) {
        y.dim[y.rank++] = m[0];
    }
    if (right->rank > 1) {
        y.dim[y.rank++] = n[1];
    }
    RY_INFER_TRY(check_added(infer, 2, &y));
    RY_INFER_TRY(check_added(infer, 3, &y));
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &y);
    return RY_INFER_DONE;
}

/* An equation's labels: 52 letters, then the dims of the ellipsis, counted from its right end. */
enum { LETTERS = 52, LABELS = LETTERS + RY_MAX_RANK };

typedef struct equation {
    int64_t dim[LABELS];
    int uses[LABELS];
    bool seen[LABELS];
    int ellipsis; /* the largest number of dims that an ellipsis stands for */
} equation;

static int letter(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

static ry_infer_result bad_equation(ry_infer *infer, const char *why)
{
    return ry_infer_fail(infer, RYND_ERROR_SHAPE, "equation '%s': %s",
                         infer->node->attrs.einsum.equation, why);
}

/* Letters of a term, and whether it has an ellipsis. */
static ry_infer_result scan_term(ry_infer *infer, const char *term, size_t length, int *letters,
                                 bool *ellipsis)
{
    *letters = 0;
    *ellipsis = false;
    for (size_t i = 0; i < length; i++) {
        if (term[i] == ' ') {
            continue;
        }
        if (i + 2 < length && memcmp(term + i, "...", 3) == 0 && !*ellipsis) {
            *ellipsis = true;
            i += 2;
        } else if (letter(term[i]) >= 0) {
            ++*letters;
        } else {
            return bad_equation(infer, "expected letters, at most one '...' a term, ',' and '->'");
        }
    }
    return *letters > RY_MAX_RANK ? bad_equation(infer, "a term has too many letters")
                                  : RY_INFER_DONE;
}

static bool join(ry_infer *infer, equation *e, int label, int64_t dim)
{
    e->uses[label]++;
    if (!e->seen[label]) {
        e->seen[label] = true;
        e->dim[label] = dim;
        return true;
    }
    return ry_infer_broadcast_dim(infer->graph, e->dim[label], dim, &e->dim[label]);
}

/* One operand's term: its dims join the labels. */
static ry_infer_result add_operand(ry_infer *infer, equation *e, int operand, const char *term,
                                   size_t length)
{
    const ry_shape *shape = &ry_infer_in(infer, operand)->shape;
    int letters = 0, axis = 0;
    bool ellipsis = false;
    RY_INFER_TRY(scan_term(infer, term, length, &letters, &ellipsis));
    int covered = shape->rank - letters;
    if (covered < 0 || (covered > 0 && !ellipsis)) {
        return ry_infer_bad(infer, operand,
                            "has rank %d, but its term of equation '%s' has %d letters",
                            shape->rank, infer->node->attrs.einsum.equation, letters);
    }
    e->ellipsis = ellipsis && covered > e->ellipsis ? covered : e->ellipsis;
    for (size_t i = 0; i < length; i++) {
        bool agrees = true;
        int label = letter(term[i]);
        if (label >= 0) {
            agrees = join(infer, e, label, shape->dim[axis++]);
        } else if (term[i] == '.') {
            for (int d = covered - 1; agrees && d >= 0; d--) {
                agrees = join(infer, e, LETTERS + d, shape->dim[axis++]);
            }
            i += 2;
        }
        if (!agrees) {
            return ry_infer_bad(infer, operand,
                                "disagrees in dim %d with an earlier operand of equation '%s'",
                                axis - 1, infer->node->attrs.einsum.equation);
        }
    }
    return RY_INFER_DONE;
}

static void add_ellipsis(const equation *e, ry_shape *y)
{
    for (int d = e->ellipsis - 1; d >= 0; d--) {
        y->dim[y->rank++] = e->dim[LETTERS + d];
    }
}

static ry_infer_result explicit_output(ry_infer *infer, const equation *e, const char *term,
                                       ry_shape *y)
{
    int letters = 0;
    bool ellipsis = false, used[LETTERS] = {false};
    RY_INFER_TRY(scan_term(infer, term, strlen(term), &letters, &ellipsis));
    if (letters + (ellipsis ? e->ellipsis : 0) > RY_MAX_RANK) {
        return bad_equation(infer, "the output has too many dims");
    }
    for (; *term; term++) {
        int label = letter(*term);
        if (*term == '.') {
            add_ellipsis(e, y);
            term += 2;
        } else if (label >= 0) {
            if (!e->seen[label] || used[label]) {
                return bad_equation(
                    infer,
                    "each letter of the output must occur in an input, and once in the output");
            }
            used[label] = true;
            y->dim[y->rank++] = e->dim[label];
        }
    }
    return RY_INFER_DONE;
}

/* The ellipsis, then the letters that occur once, in alphabetical order. */
static ry_infer_result implicit_output(ry_infer *infer, const equation *e, ry_shape *y)
{
    add_ellipsis(e, y);
    for (int label = 0; label < LETTERS; label++) {
        if (e->uses[label] == 1) {
            if (y->rank == RY_MAX_RANK) {
                return bad_equation(infer, "the output has too many dims");
            }
            y->dim[y->rank++] = e->dim[label];
        }
    }
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_einsum(ry_infer *infer)
{
    const char *text = infer->node->attrs.einsum.equation;
    equation e = {.ellipsis = 0};
    if (!text) {
        return ry_infer_fail(infer, RYND_ERROR_FORMAT, "the equation is missing");
    }
    const char *arrow = strstr(text, "->"), *end = arrow ? arrow : text + strlen(text),
               *term = text;
    for (int i = 0; i < infer->node->inputs; i++) {
        const char *comma = memchr(term, ',', (size_t)(end - term)), *stop = comma ? comma : end;
        if (!ry_infer_has(infer, i) || (comma != NULL) != (i + 1 < infer->node->inputs)) {
            return bad_equation(infer, "needs as many terms as there are inputs");
        }
        RY_INFER_TRY(ry_infer_check_same_type(infer, i, 0));
        RY_INFER_TRY(add_operand(infer, &e, i, term, (size_t)(stop - term)));
        term = comma ? comma + 1 : end;
    }
    ry_shape y = {.rank = 0};
    RY_INFER_TRY(arrow ? explicit_output(infer, &e, arrow + 2, &y)
                       : implicit_output(infer, &e, &y));
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &y);
    return RY_INFER_DONE;
}
