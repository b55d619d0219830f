/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a model in the making: creates values with content, and chooses existing ones. */
#include "grammar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_ELEMENTS = 6000,  /* elements of a recipe's first value */
    MAX_DIM = 65536,      /* largest dim, so that recipes do not overflow */
    MAX_CONTENT = 1 << 20 /* elements of a value that has content */
};

const grammar_value *grammar_value_of(const grammar *g, int x)
{
    return &g->values[x];
}

int64_t grammar_elements(const grammar_value *value)
{
    int64_t count = 1;
    for (int i = 0; i < value->rank; i++) {
        if (value->dim[i] < 0 || (value->dim[i] && count > INT64_MAX / value->dim[i])) {
            return INT64_MAX;
        }
        count *= value->dim[i];
    }
    return count;
}

ry_dtype grammar_type(grammar *g, ry_dtype_set types)
{
    int count = 0;
    ry_dtype list[RY_DTYPES];
    if (slip(&g->c)) {
        return (ry_dtype)(1 + choose(&g->c, RY_DTYPES - 1));
    }
    for (int i = 1; i < RY_DTYPES; i++) {
        if (types >> i & 1u) {
            list[count++] = (ry_dtype)i;
        }
    }
    /* f32 has most kernels. */
    if (count == 0 || ((types >> RY_f32 & 1u) && !chance(&g->c, 72))) {
        return RY_f32;
    }
    return list[choose(&g->c, (unsigned)count)];
}

int64_t grammar_dim(grammar *g)
{
    static const uint8_t sizes[] = {2, 3, 1, 4, 5, 7, 8, 1, 9, 11, 16, 17, 2, 3, 6, 0};
    const int64_t size = sizes[choose(&g->c, sizeof sizes)];
    return size || chance(&g->c, 64) ? size : 2;
}

int64_t grammar_channels(grammar *g)
{
    static const uint8_t sizes[] = {2, 3, 1, 4, 8, 16, 17, 33, 12, 24, 40, 64, 6, 1, 32, 5};
    return sizes[choose(&g->c, sizeof sizes)];
}

int64_t grammar_axis(grammar *g, int rank)
{
    if (slip(&g->c)) {
        return chance(&g->c, 128) ? choose_edge(&g->c) : rank;
    }
    return rank ? choose_between(&g->c, -rank, rank - 1) : 0;
}

static double special(generator *n)
{
    static const double list[] = {INFINITY, -INFINITY, NAN,   -0.0, 1e-40, -1e-44,
                                  1e30,     -3e38,     65504, 6e-8, 0.5,   2.5};
    return list[generator_next(n) % (sizeof list / sizeof *list)];
}

/* How a tensor's numbers are spread: `mood` 0 to 15. */
static double float_number(generator *n, unsigned mood)
{
    if (mood < 6) {
        return (double)(int)(generator_next(n) % 9) - 4;
    }
    if (mood < 13) {
        return 2 * generator_unit(n) - 1;
    }
    if (mood < 14) {
        return ldexp(2 * generator_unit(n) - 1, (int)(generator_next(n) % 24) - 12);
    }
    return mood < 15 && generator_next(n) % 8 ? 2 * generator_unit(n) - 1 : special(n);
}

static int64_t int_number(generator *n, unsigned mood, ry_dtype dtype)
{
    if (mood < 12) {
        return (int64_t)(generator_next(n) % 9) -
               (ry_dtype_get_kind(dtype) == RY_KIND_UNSIGNED ? 0 : 4);
    }
    static const int64_t edges[] = {0,   -1,  INT64_MAX, INT64_MIN, 127,
                                    128, 255, INT32_MIN, INT32_MAX, 65535};
    return mood < 14 ? (int64_t)generator_next(n)
                     : edges[generator_next(n) % (sizeof edges / sizeof *edges)];
}

static void fill_number(void *data, int64_t i, ry_dtype dtype, grammar_content content,
                        int64_t bound, unsigned mood, generator *n)
{
    const bool is_float = ry_dtype_is_float(dtype);
    switch (content) {
    case CONTENT_POSITIVE:
        if (is_float) {
            ry_set_f64(dtype, data, i, 0.1 + 1.9 * generator_unit(n));
        } else {
            ry_set_i64(dtype, data, i, 1 + (int64_t)(generator_next(n) % 3));
        }
        return;
    case CONTENT_UNIT: ry_set_f64(dtype, data, i, 2.4 * generator_unit(n) - 1.2); return;
    case CONTENT_COUNTS:
        ry_set_i64(dtype, data, i, (int64_t)(generator_next(n) % (uint64_t)bound));
        return;
    case CONTENT_INDICES:
        ry_set_i64(dtype, data, i, (int64_t)(generator_next(n) % (uint64_t)(2 * bound)) - bound);
        return;
    case CONTENT_NUMBERS: break;
    }
    if (is_float) {
        ry_set_f64(dtype, data, i, float_number(n, mood));
    } else if (dtype == RY_bool) {
        ry_set_i64(dtype, data, i, (int64_t)(generator_next(n) & 1));
    } else {
        ry_set_i64(dtype, data, i, int_number(n, mood, dtype));
    }
}

static void fill(grammar *g, grammar_value *value, grammar_content content, int64_t bound)
{
    const int64_t count = grammar_elements(value);
    generator n = {choose(&g->c, 256)};
    const unsigned mood = content == CONTENT_NUMBERS ? choose(&g->c, 16) : 0;
    bound = bound < 1 ? 1 : bound > INT32_MAX ? INT32_MAX : bound;
    if (count > MAX_CONTENT) {
        return;
    }
    value->data = malloc((size_t)count * ry_dtype_size(value->dtype) + 1);
    if (!value->data) {
        abort();
    }
    for (int64_t i = 0; i < count; i++) {
        fill_number(value->data, i, value->dtype, content, bound, mood, &n);
    }
    if (count && content != CONTENT_NUMBERS && slip(&g->c)) {
        const int64_t at = (int64_t)(generator_next(&n) % (uint64_t)count);
        ry_set_i64(value->dtype, value->data, at,
                   chance(&g->c, 128)   ? choose_edge(&g->c)
                   : chance(&g->c, 128) ? bound
                                        : -bound - 1);
    }
}

static int add_value(grammar *g, ry_dtype dtype, int rank, const int64_t *dim)
{
    if (g->value_count == GRAMMAR_VALUES) {
        return g->value_count - 1;
    }
    const int id = g->value_count++;
    grammar_value *value = &g->values[id];
    *value = (grammar_value){
        .dtype = dtype, .rank = rank > GRAMMAR_RANK ? GRAMMAR_RANK : rank, .known = true};
    snprintf(value->name, sizeof value->name, "v%d", id);
    for (int i = 0; i < value->rank; i++) {
        value->dim[i] = dim[i] < 0 ? 1 : dim[i];
    }
    return id;
}

int grammar_new(grammar *g, ry_dtype dtype, int rank, const int64_t *dim, grammar_content content,
                int64_t bound)
{
    const int id = add_value(g, dtype, rank, dim);
    grammar_value *value = &g->values[id];
    if (value->data) {
        return id; /* there is no room for more */
    }
    const bool weights = content == CONTENT_POSITIVE || g->nodes[g->node_count].inputs > 0;
    value->source = chance(&g->c, weights ? 150 : 40) ? SOURCE_INITIALIZER : SOURCE_INPUT;
    value->constant = value->source == SOURCE_INITIALIZER;
    if (value->source == SOURCE_INPUT && chance(&g->c, 60)) {
        value->symbolic = choose(&g->c, 256);
    }
    fill(g, value, content, bound);
    return id;
}

/* The content goes on with zeros where there are more elements now. */
static void resize_content(grammar_value *value, int64_t before)
{
    const int64_t now = grammar_elements(value);
    const size_t size = ry_dtype_size(value->dtype);
    char *data = now <= MAX_CONTENT ? calloc((size_t)now + 1, size) : NULL;
    if (data && value->data) {
        memcpy(data, value->data, (size_t)(before < now ? before : now) * size);
    }
    free(value->data);
    value->data = data;
}

void grammar_spoil_value(grammar *g, int x)
{
    grammar_value *value = &g->values[x];
    const int64_t before = grammar_elements(value);
    if (value->rank > 0 && slip(&g->c)) {
        int64_t *dim = &value->dim[choose(&g->c, (unsigned)value->rank)];
        *dim = chance(&g->c, 40) ? choose_edge(&g->c) : chance(&g->c, 128) ? *dim + 1 : 0;
        *dim = *dim < 0 ? 1 : *dim;
        resize_content(value, before);
    } else if (slip(&g->c)) {
        const int rank = chance(&g->c, 64) ? GRAMMAR_RANK - (int)choose(&g->c, 3)
                         : value->rank     ? value->rank - 1
                                           : 1;
        for (int i = value->rank; i < rank; i++) {
            value->dim[i] = 1;
        }
        value->rank = rank;
        resize_content(value, before);
    }
}

static void shrink(int64_t *dim, int rank)
{
    for (int64_t count = INT64_MAX; count > MAX_ELEMENTS;) {
        count = 1;
        int largest = 0;
        for (int i = 0; i < rank; i++) {
            count *= dim[i] ? dim[i] : 1;
            largest = dim[i] > dim[largest] ? i : largest;
        }
        if (count > MAX_ELEMENTS) {
            dim[largest] = (dim[largest] + 1) / 2;
        }
    }
}

static bool usable(const grammar *g, int x, ry_dtype_set types, int min_rank, int max_rank)
{
    const grammar_value *v = &g->values[x];
    if (!v->known || g->attribute_value[x] || !(types >> v->dtype & 1u) || v->rank < min_rank ||
        v->rank > max_rank) {
        return false;
    }
    for (int i = 0; i < v->rank; i++) {
        if (v->dim[i] > MAX_DIM) {
            return false;
        }
    }
    return grammar_elements(v) <= MAX_ELEMENTS;
}

int grammar_operand(grammar *g, ry_dtype_set types, int min_rank, int max_rank)
{
    int found = -1;
    unsigned count = 0;
    for (int i = g->value_count - 1; i >= 0; i--) {
        if (usable(g, i, types, min_rank, max_rank) && (count++ == 0 || chance(&g->c, 64))) {
            found = i;
        }
    }
    if (found >= 0 && !chance(&g->c, 48)) {
        return found;
    }
    int64_t dim[GRAMMAR_RANK];
    const int rank = (int)choose_between(&g->c, min_rank, max_rank);
    for (int i = 0; i < rank; i++) {
        dim[i] = i == 1 && rank > 2 ? grammar_channels(g) : grammar_dim(g);
    }
    shrink(dim, rank);
    return grammar_new(g, grammar_type(g, types), rank, dim, CONTENT_NUMBERS, 0);
}

int grammar_like(grammar *g, int x, int rank, const int64_t *dim, grammar_content content)
{
    const ry_dtype dtype = g->values[x].dtype;
    for (int i = g->value_count - 1; content == CONTENT_NUMBERS && i >= 0; i--) {
        const grammar_value *v = &g->values[i];
        const bool same = v->known && v->dtype == dtype && v->rank == rank &&
                          !g->attribute_value[i] &&
                          memcmp(v->dim, dim, (size_t)rank * sizeof *dim) == 0;
        if (same && i != x && chance(&g->c, 100)) {
            return i;
        }
    }
    return grammar_new(g, dtype, rank, dim, content, 0);
}

int grammar_list(grammar *g, int count, const int64_t *numbers)
{
    const int64_t dim[1] = {count < 0 ? 1 : count};
    const int id = add_value(g, RY_i64, count < 0 ? 0 : 1, dim);
    grammar_value *value = &g->values[id];
    if (value->data) {
        return id;
    }
    value->source = chance(&g->c, 40) ? SOURCE_INPUT : SOURCE_INITIALIZER;
    value->constant = value->source == SOURCE_INITIALIZER;
    value->data = malloc((size_t)dim[0] * sizeof(int64_t) + 1);
    if (!value->data) {
        abort();
    }
    for (int64_t i = 0; i < dim[0]; i++) {
        ((int64_t *)value->data)[i] = slip(&g->c) ? choose_edge(&g->c) : numbers[i];
    }
    return id;
}

int grammar_floats(grammar *g, int count, const float *numbers)
{
    const int64_t dim[1] = {count < 0 ? 1 : count};
    const int id = grammar_new(g, RY_f32, count < 0 ? 0 : 1, dim, CONTENT_POSITIVE, 0);
    grammar_value *value = &g->values[id];
    for (int64_t i = 0;
         i < dim[0] && value->data && value->dtype == RY_f32 && i < grammar_elements(value); i++) {
        ((float *)value->data)[i] = slip(&g->c) ? (float)choose_edge(&g->c) : numbers[i];
    }
    return id;
}

int grammar_scalar(grammar *g, ry_dtype dtype, double number)
{
    const int id = grammar_new(g, dtype, 0, NULL, CONTENT_POSITIVE, 0);
    grammar_value *value = &g->values[id];
    if (value->data && grammar_elements(value)) {
        ry_set_f64(value->dtype, value->data, 0, slip(&g->c) ? (double)choose_edge(&g->c) : number);
    }
    return id;
}
