/* SPDX-License-Identifier: Apache-2.0 */
/* Plans models of the grammar in which a dim, an attribute or a number that decides a shape is made
 * so large that no machine holds what it stands for:
 *
 *   large_models FIRST COUNT      the models of COUNT random seeds from FIRST on
 *
 * Nothing runs. Each is refused with a message or planned and predicted, with no more memory than
 * the hooks of budget.h give. A model whose planning does not end is named by its seed, which is
 * printed before it is planned if --print is given. */
#include "budget.h"
#include "grammar.h"

#include <rynd/rynd.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CASE_BYTES = 1024, TRIES = 16 };

static const int64_t numbers[] = {
    1099511627689, ((int64_t)1 << 40) + 15, (int64_t)1 << 31, INT32_MAX, 1000003, 46341};

static unsigned pick(generator *n, int count)
{
    return count > 0 ? (unsigned)(generator_next(n) >> 32) % (unsigned)count : 0;
}

static int64_t pick_number(generator *n)
{
    return numbers[pick(n, sizeof numbers / sizeof *numbers)];
}

/* All dims of inputs that are as large, or one. Nothing of such a size has content. */
static bool enlarge_dim(grammar *g, generator *n)
{
    const int chosen = (int)pick(n, g->value_count);
    const grammar_value *x = &g->values[chosen];
    if (x->source == SOURCE_NODE || x->rank < 1 || x->rank > RYND_MAX_RANK) {
        return false;
    }
    const int dim = (int)pick(n, x->rank);
    const int64_t old = x->dim[dim], number = pick_number(n);
    const bool alike = pick(n, 2) == 0;
    for (int i = 0; i < g->value_count; i++) {
        grammar_value *v = &g->values[i];
        bool changed = false;
        for (int d = 0; v->source != SOURCE_NODE && !g->attribute_value[i] && d < v->rank; d++) {
            if (alike ? v->dim[d] == old : i == chosen && d == dim) {
                v->dim[d] = number;
                v->symbolic &= ~((uint32_t)1 << d);
                changed = true;
            }
        }
        if (changed) {
            free(v->data);
            v->data = NULL;
            v->source = SOURCE_INPUT;
            v->used = true;
        }
    }
    return true;
}

/* A number of a list: a shape, sizes, pads, repeats. */
static bool enlarge_content(grammar *g, generator *n)
{
    grammar_value *v = &g->values[pick(n, g->value_count)];
    if (v->source == SOURCE_NODE || v->dtype != RY_i64 || v->rank > 1 || !v->data) {
        return false;
    }
    const int64_t count = grammar_elements(v);
    if (count > 0) {
        ((int64_t *)v->data)[pick(n, (int)count)] = pick_number(n);
    }
    return count > 0;
}

static bool enlarge_attribute(grammar *g, generator *n)
{
    grammar_node *node = &g->nodes[pick(n, g->node_count)];
    grammar_attribute *a = &node->attribute[pick(n, node->attributes)];
    if (node->attributes == 0) {
        return false;
    }
    if (a->type == RY_ATTRIBUTE_int) {
        a->i = pick_number(n);
    } else if (a->type == RY_ATTRIBUTE_ints && a->count > 0) {
        a->ints[pick(n, a->count)] = pick_number(n);
    } else {
        return false;
    }
    return true;
}

static bool enlarge(grammar *g, generator *n)
{
    static bool (*const ways[])(grammar * g, generator * n) = {enlarge_dim, enlarge_content,
                                                               enlarge_attribute};
    for (int i = 0; i < TRIES && g->node_count > 0 && g->value_count > 0; i++) {
        if (ways[pick(n, sizeof ways / sizeof *ways)](g, n)) {
            return true;
        }
    }
    return false;
}

/* The model's inputs, with their content where they have some. */
static void take_inputs(const grammar *g, const rynd_model *model, rynd_tensor *inputs)
{
    for (size_t i = 0; i < rynd_model_input_count(model); i++) {
        rynd_value_info info = RYND_SIZED(rynd_value_info);
        inputs[i] = (rynd_tensor){0};
        if (rynd_model_get_input(model, i, &info) != RYND_OK) {
            continue;
        }
        for (int k = 0; k < g->value_count; k++) {
            const grammar_value *v = &g->values[k];
            if (strcmp(v->name, info.name) == 0 && v->rank <= RYND_MAX_RANK) {
                inputs[i] = rynd_tensor_of(v->data, (rynd_dtype)v->dtype, v->rank, v->dim);
            }
        }
    }
}

typedef struct totals {
    int64_t models, planned, refused;
    bool failed;
} totals;

/* Out of memory: planning took more than the budget. */
static void count(totals *t, rynd_status status, uint64_t seed)
{
    t->planned += status == RYND_OK;
    t->refused += status != RYND_OK;
    if (status == RYND_ERROR_OUT_OF_MEMORY || (status != RYND_OK && !rynd_last_error()[0])) {
        printf("%" PRIu64 ": %s\n", seed, rynd_last_error()[0] ? rynd_last_error() : "no message");
        t->failed = true;
    }
}

static void plan(rynd_context *context, const grammar *g, uint64_t seed, totals *t)
{
    static rynd_tensor inputs[GRAMMAR_VALUES];
    rynd_model *model = NULL;
    rynd_plan *made = NULL;
    onnx_bytes bytes = grammar_write(g);
    rynd_status status = rynd_model_load_memory(context, bytes.data, bytes.size, &model);
    if (status == RYND_OK) {
        take_inputs(g, model, inputs);
        const rynd_plan_options options =
            RYND_SIZED(rynd_plan_options, .inputs = inputs, .without_weights = 1);
        status = rynd_plan_create(model, &options, &made);
    }
    if (status == RYND_OK) {
        rynd_prediction prediction = RYND_SIZED(rynd_prediction);
        status = rynd_plan_predict(made, &prediction);
    }
    t->models++;
    count(t, status, seed);
    rynd_plan_destroy(made);
    rynd_model_destroy(model);
    onnx_bytes_free(&bytes);
}

int main(int argc, char **argv)
{
    static grammar g;
    totals t = {0};
    rynd_context *context = NULL;
    const rynd_context_options options =
        RYND_SIZED(rynd_context_options, .threads = 1, .allocator = &budget_allocator);
    const bool print = argc > 1 && strcmp(argv[1], "--print") == 0;
    if (argc - print != 3 || rynd_context_create(&options, &context) != RYND_OK) {
        fprintf(stderr, "usage: large_models [--print] FIRST COUNT\n");
        return 2;
    }
    const uint64_t first = strtoull(argv[1 + print], NULL, 10);
    const uint64_t end = first + strtoull(argv[2 + print], NULL, 10);
    for (uint64_t seed = first; seed < end; seed++) {
        uint8_t bytes[CASE_BYTES];
        generator n = {seed};
        for (size_t i = 0; i < sizeof bytes; i++) {
            bytes[i] = (uint8_t)(generator_next(&n) >> 32);
        }
        bytes[0] = 0; /* no mistakes beside the large number */
        grammar_make(&g, bytes, sizeof bytes);
        if (enlarge(&g, &n)) {
            if (print) {
                printf("%" PRIu64 ": ", seed);
                grammar_print(&g, stdout);
                fflush(stdout);
            }
            plan(context, &g, seed, &t);
        }
        grammar_free(&g);
    }
    printf("%" PRId64 " models: %" PRId64 " planned, %" PRId64 " refused\n", t.models, t.planned,
           t.refused);
    rynd_context_destroy(context);
    return t.failed || t.planned == 0;
}
