/* SPDX-License-Identifier: Apache-2.0 */
/* Binding symbols to numbers: what the inputs' given shapes and the named dims say, checked against
 * each other and against the model. */
#include "graph/graph_names.h"
#include "graph/infer.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NESTING = 32 };

typedef struct binder {
    ry_graph *graph;
    const ry_dim_binding *dims;
    size_t dim_count;
    int64_t *size; /* extent of each symbol; -1: not bound */
    ry_error *error;
} binder;

/* A symbol's text read as an expression of other symbols. */
typedef struct reader {
    const binder *b;
    const char *at;
    int depth;
    bool failed;
} reader;

static int64_t read_sum(reader *r);

static int64_t give_up(reader *r)
{
    r->failed = true;
    return 0;
}

static char peek(reader *r)
{
    while (*r->at == ' ') {
        r->at++;
    }
    return *r->at;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool in_name(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
}

static int64_t bound_name(const binder *b, const char *name, size_t length)
{
    for (size_t i = 0; i < b->dim_count; i++) {
        if (strlen(b->dims[i].symbol) == length && memcmp(b->dims[i].symbol, name, length) == 0) {
            return b->dims[i].size;
        }
    }
    const uint32_t symbol = ry_names_find_part(&b->graph->symbol_names, name, length);
    return symbol == RY_NO_NAME ? -1 : b->size[symbol];
}

static int64_t read_part(reader *r)
{
    char c = peek(r);
    int64_t number = 0;
    if (is_digit(c)) {
        for (; is_digit(*r->at); r->at++) {
            if (__builtin_mul_overflow(number, 10, &number) ||
                __builtin_add_overflow(number, *r->at - '0', &number)) {
                return give_up(r);
            }
        }
        return number;
    }
    if (c == '(' && r->depth < MAX_NESTING) {
        r->at++;
        r->depth++;
        number = read_sum(r);
        r->depth--;
        if (peek(r) != ')') {
            return give_up(r);
        }
        r->at++;
        return number;
    }
    const char *name = r->at;
    while (in_name(*r->at)) {
        r->at++;
    }
    size_t length = (size_t)(r->at - name);
    if (length == 5 && memcmp(name, "floor", 5) == 0 && peek(r) == '(') {
        return read_part(r);
    }
    number = length ? bound_name(r->b, name, length) : -1;
    return number < 0 ? give_up(r) : number;
}

static int64_t read_product(reader *r)
{
    int64_t product = read_part(r);
    for (char c = peek(r); !r->failed && (c == '*' || c == '/'); c = peek(r)) {
        r->at += r->at[0] == '/' && r->at[1] == '/' ? 2 : 1;
        int64_t other = read_part(r);
        if (r->failed || (c == '/' && (other == 0 || product == INT64_MIN)) ||
            (c == '*' && __builtin_mul_overflow(product, other, &product))) {
            return give_up(r);
        }
        if (c == '/') {
            int64_t quotient = product / other;
            product = quotient - (product % other != 0 && (product < 0) != (other < 0));
        }
    }
    return product;
}

static int64_t read_sum(reader *r)
{
    int64_t sum = read_product(r);
    for (char c = peek(r); !r->failed && (c == '+' || c == '-'); c = peek(r)) {
        r->at++;
        int64_t other = read_product(r);
        if (r->failed || (c == '+' ? __builtin_add_overflow(sum, other, &sum)
                                   : __builtin_sub_overflow(sum, other, &sum))) {
            return give_up(r);
        }
    }
    return sum;
}

/* The number of a symbol, bound itself or as an expression; -1 when open. */
static int64_t evaluate(const binder *b, int64_t dim)
{
    int64_t known = b->size[-dim - 1];
    if (known >= 0) {
        return known;
    }
    reader r = {.b = b, .at = b->graph->symbols[-dim - 1]};
    int64_t number = read_sum(&r);
    return r.failed || peek(&r) != 0 ? -1 : number;
}

static rynd_status bind_symbol(binder *b, int64_t dim, int64_t size, const char *input)
{
    int64_t *bound = &b->size[-dim - 1];
    if (*bound >= 0 && *bound != size) {
        return ry_fail(b->error, RYND_ERROR_SHAPE, "dim '%s' would be both %lld and %lld%s%s%s",
                       ry_graph_symbol_text(b->graph, dim), (long long)*bound, (long long)size,
                       input ? " (the shape of input '" : "", input ? input : "",
                       input ? "')" : "");
    }
    *bound = size;
    return RYND_OK;
}

/* Whether the name occurs in a symbol, so that giving it a number can have an effect. */
static bool occurs(const ry_graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->symbol_count; i++) {
        if (strstr(graph->symbols[i], name)) {
            return true;
        }
    }
    return false;
}

static rynd_status bind_names(binder *b)
{
    for (size_t i = 0; i < b->dim_count; i++) {
        const ry_dim_binding *d = &b->dims[i];
        if (d->size < 0 || d->size > RY_MAX_DIM) {
            return ry_fail(b->error, RYND_ERROR_ARGUMENT, "dim '%s' cannot be %lld", d->symbol,
                           (long long)d->size);
        }
        uint32_t known = ry_names_find(&b->graph->symbol_names, d->symbol);
        if (known != RY_NO_NAME) {
            RY_TRY(bind_symbol(b, -(int64_t)known - 1, d->size, NULL));
        } else if (!d->symbol[0] || !occurs(b->graph, d->symbol)) {
            char text[400];
            const char *open = ry_graph_open_dims(b->graph, text, sizeof text);
            return ry_fail(b->error, RYND_ERROR_NOT_FOUND,
                           "the model has no dim named '%s'; open dims: %s", d->symbol,
                           open[0] ? open : "none");
        }
    }
    return RYND_OK;
}

static rynd_status bind_shape(binder *b, ry_value *input, const ry_shape *given)
{
    if (given->rank < 0) {
        return RYND_OK;
    }
    if (input->shape.rank < 0) {
        input->shape = *given;
        return RYND_OK;
    }
    if (given->rank != input->shape.rank) {
        char is[200], wanted[200];
        return ry_fail(b->error, RYND_ERROR_SHAPE, "input '%s' has rank %d (%s), expected %d (%s)",
                       input->name, given->rank, ry_shape_text(b->graph, given, is, sizeof is),
                       input->shape.rank,
                       ry_shape_text(b->graph, &input->shape, wanted, sizeof wanted));
    }
    for (int d = 0; d < given->rank; d++) {
        int64_t dim = input->shape.dim[d], size = given->dim[d];
        if (size < 0 || size == dim) {
            continue;
        }
        if (size > RY_MAX_DIM) {
            return ry_fail(b->error, RYND_ERROR_ARGUMENT, "input '%s': dim %d cannot be %lld",
                           input->name, d, (long long)size);
        }
        if (dim >= 0) {
            return ry_fail(b->error, RYND_ERROR_SHAPE,
                           "input '%s': dim %d is %lld, but the model fixes it to %lld",
                           input->name, d, (long long)size, (long long)dim);
        }
        RY_TRY(bind_symbol(b, dim, size, input->name));
    }
    return RYND_OK;
}

static rynd_status resolve_input(binder *b, ry_value *input)
{
    if (input->shape.rank < 0) {
        return ry_fail(
            b->error, RYND_ERROR_SHAPE,
            "input '%s' has no shape in the model: give its shape (with a file: -i %s=FILE)",
            input->name, input->name);
    }
    for (int d = 0; d < input->shape.rank; d++) {
        int64_t dim = input->shape.dim[d];
        if (dim >= 0) {
            continue;
        }
        int64_t size = dim < -(int64_t)b->graph->symbol_count ? -1 : evaluate(b, dim);
        if (size < 0 || size > RY_MAX_DIM) {
            const char *name = ry_graph_symbol_text(b->graph, dim);
            char text[400];
            return ry_fail(b->error, RYND_ERROR_SHAPE,
                           "input '%s': dim %d ('%s') is open: give --dim %s=1%s, or the input's "
                           "shape; open dims: %s",
                           input->name, d, name, name, d == 0 ? " or --batch 1" : "",
                           ry_graph_open_dims(b->graph, text, sizeof text));
        }
        input->shape.dim[d] = size;
    }
    if (ry_shape_bytes(&input->shape, input->dtype) < 0) {
        char text[200];
        return ry_fail(b->error, RYND_ERROR_SHAPE,
                       "input '%s' of shape %s has more bytes than 2^63", input->name,
                       ry_shape_text(b->graph, &input->shape, text, sizeof text));
    }
    return RYND_OK;
}

/* Shapes of numbers stay: no symbol went into them. */
static void forget_symbolic(ry_graph *graph)
{
    for (size_t v = 0; v < graph->value_count; v++) {
        ry_value *value = &graph->values[v];
        bool symbolic = false;
        for (int d = 0; d < value->shape.rank; d++) {
            symbolic = symbolic || value->shape.dim[d] < 0;
        }
        if (symbolic) {
            value->shape.rank = -1;
            value->bounded = false;
        }
    }
}

static rynd_status bind_all(binder *b, const ry_shape *input_shapes)
{
    ry_graph *graph = b->graph;
    RY_TRY(bind_names(b));
    for (size_t i = 0; input_shapes && i < graph->input_count; i++) {
        RY_TRY(bind_shape(b, &graph->values[graph->inputs[i]], &input_shapes[i]));
    }
    for (size_t i = 0; i < graph->input_count; i++) {
        RY_TRY(resolve_input(b, &graph->values[graph->inputs[i]]));
    }
    return RYND_OK;
}

rynd_status ry_graph_bind(ry_graph *graph, const ry_shape *input_shapes, const ry_dim_binding *dims,
                          size_t dim_count, ry_error *error)
{
    const ry_allocator *allocator = graph->arena.allocator;
    binder b = {graph, dims, dim_count,
                ry_allocate_array(allocator, graph->symbol_count, sizeof *b.size), error};
    if (!b.size) {
        return ry_fail_memory(error);
    }
    for (size_t i = 0; i < graph->symbol_count; i++) {
        b.size[i] = -1;
    }
    rynd_status status = bind_all(&b, input_shapes);
    ry_release(allocator, b.size);
    if (status != RYND_OK) {
        return status;
    }
    forget_symbolic(graph);
    return ry_graph_infer(graph, error);
}

const char *ry_graph_open_dims(const ry_graph *graph, char *buffer, size_t size)
{
    size_t used = 0;
    buffer[0] = 0;
    for (size_t i = 0; i < graph->input_count; i++) {
        const ry_value *input = &graph->values[graph->inputs[i]];
        for (int d = 0; d < input->shape.rank && used < size; d++) {
            char name[120];
            snprintf(name, sizeof name, "'%.100s'",
                     ry_graph_symbol_text(graph, input->shape.dim[d]));
            if (input->shape.dim[d] < 0 && !strstr(buffer, name)) {
                used +=
                    (size_t)snprintf(buffer + used, size - used, "%s%s (dim %d of input '%.60s')",
                                     used ? ", " : "", name, d, input->name);
            }
        }
    }
    return buffer;
}
