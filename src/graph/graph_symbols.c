/* SPDX-License-Identifier: Apache-2.0 */
/* Symbolic dims: sums of multiples of symbols are kept as such, so that what a convolution adds and
 * takes away cancels; every other expression is a symbol with its own text. */
#include "graph/graph_symbols.h"

#include "graph/graph_names.h"

#include <stdio.h>
#include <string.h>

/* Longer expressions become unknown dims: texts that contain each other could otherwise double at
 * every node. */
enum { TEXT_SIZE = 240 };

typedef struct expression {
    char at[TEXT_SIZE];
    size_t used; /* TEXT_SIZE: too long */
} expression;

static void append(expression *t, const char *piece)
{
    size_t length = strlen(piece);
    if (t->used + length >= TEXT_SIZE) {
        t->used = TEXT_SIZE;
        return;
    }
    memcpy(t->at + t->used, piece, length + 1);
    t->used += length;
}

static void append_number(expression *t, int64_t number)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%lld", (long long)number);
    append(t, digits);
}

static void append_part(expression *t, const char *piece)
{
    bool wrap = strpbrk(piece, "+-*/ ") != NULL;
    append(t, wrap ? "(" : "");
    append(t, piece);
    append(t, wrap ? ")" : "");
}

static int64_t symbol_of(uint32_t index)
{
    return -(int64_t)index - 1;
}

static bool is_symbol(const ry_graph *graph, int64_t dim)
{
    return dim < 0 && dim >= -(int64_t)graph->symbol_count;
}

static int64_t out_of_memory(ry_graph *graph)
{
    graph->exhausted = true;
    return 0;
}

int64_t ry_graph_symbol(ry_graph *graph, const char *text, size_t length)
{
    ry_arena *arena = &graph->arena;
    char *copy = ry_arena_string(arena, text, length);
    if (!copy) {
        return out_of_memory(graph);
    }
    uint32_t known = ry_names_find(&graph->symbol_names, copy);
    if (known != RY_NO_NAME) {
        return symbol_of(known);
    }
    uint32_t index = (uint32_t)graph->symbol_count;
    const char **symbols =
        ry_arena_grow(arena, graph->symbols, index, &graph->symbol_capacity, sizeof *symbols);
    ry_dim_form *forms =
        ry_arena_grow(arena, graph->forms, index, &graph->form_capacity, sizeof *forms);
    if (symbols) {
        graph->symbols = symbols;
    }
    if (forms) {
        graph->forms = forms;
    }
    if (!symbols || !forms || !ry_names_add(&graph->symbol_names, arena, copy, index)) {
        return out_of_memory(graph);
    }
    symbols[index] = copy;
    forms[index] = (ry_dim_form){.count = 1, .term = {{1, index}}};
    graph->symbol_count++;
    return symbol_of(index);
}

const char *ry_graph_symbol_text(const ry_graph *graph, int64_t dim)
{
    return is_symbol(graph, dim) ? graph->symbols[-dim - 1] : "?";
}

static int64_t from_text(ry_graph *graph, const expression *t)
{
    if (t->used >= TEXT_SIZE) {
        return ry_dim_unknown(graph);
    }
    int64_t dim = ry_graph_symbol(graph, t->at, t->used);
    return dim ? dim : RY_DIM_ERROR;
}

static bool form_of(const ry_graph *graph, int64_t dim, ry_dim_form *form)
{
    if (dim >= 0) {
        *form = (ry_dim_form){.constant = dim};
        return true;
    }
    if (!is_symbol(graph, dim)) {
        return false;
    }
    *form = graph->forms[-dim - 1];
    return true;
}

static int64_t from_form(ry_graph *graph, const ry_dim_form *form)
{
    if (form->count == 0) {
        return form->constant < 0 ? RY_DIM_ERROR : form->constant;
    }
    if (form->count == 1 && form->term[0].factor == 1 && form->constant == 0) {
        return symbol_of(form->term[0].symbol);
    }
    expression t = {.used = 0};
    for (int i = 0; i < form->count; i++) {
        int64_t factor = form->term[i].factor;
        const char *name = graph->symbols[form->term[i].symbol];
        append(&t, i > 0 && factor > 0 ? "+" : "");
        if (factor == 1) {
            append(&t, name);
            continue;
        }
        if (factor == -1) {
            append(&t, "-");
        } else {
            append_number(&t, factor);
            append(&t, "*");
        }
        append_part(&t, name);
    }
    if (form->constant) {
        append(&t, form->constant > 0 ? "+" : "");
        append_number(&t, form->constant);
    }
    size_t before = graph->symbol_count;
    int64_t dim = from_text(graph, &t);
    if (t.used < TEXT_SIZE && graph->symbol_count > before) {
        graph->forms[before] = *form;
    }
    return dim;
}

/* a + scale * b; false when a number overflows; count exceeds RY_FORM_TERMS (by one) when there are
 * too many terms. */
static bool combine(const ry_dim_form *a, const ry_dim_form *b, int64_t scale, ry_dim_form *sum)
{
    ry_dim_form r = {0};
    int64_t scaled;
    if (__builtin_mul_overflow(b->constant, scale, &scaled) ||
        __builtin_add_overflow(a->constant, scaled, &r.constant)) {
        return false;
    }
    for (int i = 0, j = 0; i < a->count || j < b->count;) {
        bool take_a = j == b->count || (i < a->count && a->term[i].symbol <= b->term[j].symbol);
        bool take_b = i == a->count || (j < b->count && b->term[j].symbol <= a->term[i].symbol);
        ry_dim_term term = take_a ? a->term[i] : (ry_dim_term){0, b->term[j].symbol};
        if (take_b && (__builtin_mul_overflow(b->term[j].factor, scale, &scaled) ||
                       __builtin_add_overflow(term.factor, scaled, &term.factor))) {
            return false;
        }
        i += take_a;
        j += take_b;
        if (term.factor && r.count == RY_FORM_TERMS) {
            r.count++;
            break;
        }
        if (term.factor) {
            r.term[r.count++] = term;
        }
    }
    *sum = r;
    return true;
}

static int64_t add_scaled(ry_graph *graph, int64_t a, int64_t b, int64_t scale)
{
    ry_dim_form x, y, sum;
    if (!form_of(graph, a, &x) || !form_of(graph, b, &y) || !combine(&x, &y, scale, &sum)) {
        return RY_DIM_ERROR;
    }
    return sum.count > RY_FORM_TERMS ? ry_dim_unknown(graph) : from_form(graph, &sum);
}

int64_t ry_dim_add(ry_graph *graph, int64_t a, int64_t b)
{
    return add_scaled(graph, a, b, 1);
}

int64_t ry_dim_sub(ry_graph *graph, int64_t a, int64_t b)
{
    return add_scaled(graph, a, b, -1);
}

int64_t ry_dim_mul(ry_graph *graph, int64_t a, int64_t b)
{
    if (a >= 0 || b >= 0) {
        int64_t scale = a >= 0 ? a : b;
        return add_scaled(graph, 0, a >= 0 ? b : a, scale);
    }
    if (!is_symbol(graph, a) || !is_symbol(graph, b)) {
        return RY_DIM_ERROR;
    }
    expression t = {.used = 0};
    append_part(&t, graph->symbols[-(a > b ? a : b) - 1]); /* in one order, so that a*b is b*a */
    append(&t, "*");
    append_part(&t, graph->symbols[-(a > b ? b : a) - 1]);
    return from_text(graph, &t);
}

static int64_t floor_div(int64_t a, int64_t b)
{
    int64_t quotient = a / b;
    return quotient - (quotient * b > a);
}

static int64_t divide_form(ry_graph *graph, const ry_dim_form *form, int64_t divisor)
{
    ry_dim_form q = *form;
    bool exact = true;
    for (int i = 0; i < q.count; i++) {
        exact &= q.term[i].factor % divisor == 0;
        q.term[i].factor /= divisor;
    }
    if (exact) {
        q.constant = floor_div(form->constant, divisor);
        return from_form(graph, &q);
    }
    int64_t dividend = from_form(graph, form);
    if (!is_symbol(graph, dividend)) {
        return dividend;
    }
    expression t = {.used = 0};
    append_part(&t, graph->symbols[-dividend - 1]);
    append(&t, "/");
    append_number(&t, divisor);
    return from_text(graph, &t);
}

int64_t ry_dim_floor_div(ry_graph *graph, int64_t a, int64_t b)
{
    if (b > 0) {
        return ry_dim_affine(graph, a, 0, b);
    }
    if (b == 0 || a == RY_DIM_ERROR || b == RY_DIM_ERROR) {
        return RY_DIM_ERROR;
    }
    if (a == b) {
        return 1;
    }
    expression t = {.used = 0};
    if (a >= 0) {
        append_number(&t, a);
    } else {
        append_part(&t, ry_graph_symbol_text(graph, a));
    }
    append(&t, "/");
    append_part(&t, ry_graph_symbol_text(graph, b));
    return from_text(graph, &t);
}

int64_t ry_dim_ceil_div(ry_graph *graph, int64_t a, int64_t b)
{
    return b > 0 ? ry_dim_affine(graph, a, b - 1, b) : RY_DIM_ERROR;
}

int64_t ry_dim_affine(ry_graph *graph, int64_t dim, int64_t offset, int64_t divisor)
{
    ry_dim_form form;
    if (divisor < 1 || !form_of(graph, dim, &form) ||
        __builtin_add_overflow(form.constant, offset, &form.constant)) {
        return RY_DIM_ERROR;
    }
    return divide_form(graph, &form, divisor);
}

int64_t ry_dim_unknown(ry_graph *graph)
{
    /* A model may name a dim "?7" itself. */
    for (size_t k = graph->symbol_count > graph->next_unknown ? graph->symbol_count
                                                              : graph->next_unknown;
         ; k++) {
        char name[32];
        int length = snprintf(name, sizeof name, "?%zu", k);
        if (ry_names_find(&graph->symbol_names, name) == RY_NO_NAME) {
            graph->next_unknown = k + 1;
            int64_t dim = ry_graph_symbol(graph, name, (size_t)length);
            return dim ? dim : RY_DIM_ERROR;
        }
    }
}

bool ry_dim_is_unknown(const ry_graph *graph, int64_t dim)
{
    return dim < 0 && strchr(ry_graph_symbol_text(graph, dim), '?') != NULL;
}

const char *ry_shape_text(const ry_graph *graph, const ry_shape *shape, char *buffer, size_t size)
{
    if (shape->rank <= 0) {
        snprintf(buffer, size, "%s", shape->rank < 0 ? "of unknown rank" : "scalar");
        return buffer;
    }
    size_t used = 0;
    for (int i = 0; i < shape->rank && used < size; i++) {
        const char *cross = i ? "x" : "";
        if (shape->dim[i] < 0) {
            used += (size_t)snprintf(buffer + used, size - used, "%s%s", cross,
                                     ry_graph_symbol_text(graph, shape->dim[i]));
        } else {
            used += (size_t)snprintf(buffer + used, size - used, "%s%lld", cross,
                                     (long long)shape->dim[i]);
        }
    }
    return buffer;
}
