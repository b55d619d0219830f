/* SPDX-License-Identifier: Apache-2.0 */
/* Finds frozen weights by patterns of names, and by their place in the graph. */
#include "train/frozen.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

enum { MATRIX_RANK = 2 }; /* least rank of a layer's weights; biases and scales have less */

bool ry_training_is_weight(const ry_graph *graph, ry_value_id v)
{
    const ry_value *value = &graph->values[v];
    return value->constant && value->initializer && ry_dtype_is_float(value->dtype) &&
           value->shape.rank > 0;
}

static bool is_weight(const ry_graph *graph, ry_value_id v)
{
    return v != RY_NO_VALUE && ry_training_is_weight(graph, v);
}

static bool matches_name(const char *pattern, const char *name)
{
    return fnmatch(pattern, name, 0) == 0 || (*name == '/' && fnmatch(pattern, name + 1, 0) == 0);
}

/* Lists names of weights, the first and the last ones. */
static void list_weights(const ry_graph *graph, char *text, size_t room)
{
    enum { FIRST = 6, LAST = 4 };
    size_t count = 0, seen = 0, used = 0;
    for (ry_value_id v = 0; v < graph->value_count; v++) {
        count += is_weight(graph, v) && graph->values[v].uses;
    }
    *text = 0;
    for (ry_value_id v = 0; v < graph->value_count && used < room; v++) {
        if (!is_weight(graph, v) || !graph->values[v].uses) {
            continue;
        }
        if (seen < FIRST || seen + LAST >= count) {
            used += (size_t)snprintf(text + used, room - used, "%s'%s'", seen ? ", " : "",
                                     graph->values[v].name);
        } else if (seen == FIRST) {
            used += (size_t)snprintf(text + used, room - used, ", ...");
        }
        seen++;
    }
}

static rynd_status fail_pattern(const ry_graph *graph, const char *pattern, ry_error *error)
{
    char names[2048];
    list_weights(graph, names, sizeof names);
    return ry_fail(
        error, RYND_ERROR_NOT_FOUND,
        "the pattern '%s' matches no parameter of the model, and no node that reads one; "
        "its parameters are %s",
        pattern, names);
}

/* Marks what a pattern names. */
static rynd_status mark(const ry_graph *graph, const char *pattern, bool *marked, ry_error *error)
{
    bool found = false;
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        const ry_node *node = &graph->nodes[n];
        /* without a path it may be made up, or happen to be as a weight's */
        const bool whole = strchr(node->name, '/') && matches_name(pattern, node->name);
        for (int i = 0; i < node->inputs; i++) {
            const ry_value_id v = node->in[i];
            if (is_weight(graph, v) && (whole || matches_name(pattern, graph->values[v].name))) {
                marked[v] = found = true;
            }
        }
    }
    return found ? RYND_OK : fail_pattern(graph, pattern, error);
}

static bool is_layer(const ry_graph *graph, const ry_node *node)
{
    for (int i = 0; i < node->inputs; i++) {
        if (is_weight(graph, node->in[i]) && graph->values[node->in[i]].shape.rank >= MATRIX_RANK) {
            return true;
        }
    }
    return false;
}

/* Marks the weights of the last `layers` nodes with a matrix of weights, and of all nodes behind
 * the first of them. */
static rynd_status mark_last(const ry_graph *graph, int64_t layers, bool *marked, ry_error *error)
{
    size_t n = graph->node_count;
    int64_t found = 0;
    while (n > 0 && found < layers) {
        const ry_node *node = &graph->nodes[--n];
        found += is_layer(graph, node);
        for (int i = 0; i < node->inputs; i++) {
            if (is_weight(graph, node->in[i])) {
                marked[node->in[i]] = true;
            }
        }
    }
    return found == layers ? RYND_OK
                           : ry_fail(error, RYND_ERROR_ARGUMENT,
                                     "the last %lld layers are to be trained, and the model has "
                                     "%lld with weights",
                                     (long long)layers, (long long)found);
}

rynd_status ry_training_find_frozen(const ry_graph *graph, const ry_training_options *options,
                                    ry_arena *scratch, bool **frozen, ry_error *error)
{
    const bool chosen = options->train_only_count > 0 || options->train_last > 0;
    bool *trained = RY_TAKE(scratch, bool, graph->value_count);
    *frozen = RY_TAKE(scratch, bool, graph->value_count);
    if (!trained || !*frozen) {
        return ry_fail_memory(error);
    }
    for (size_t i = 0; i < options->freeze_count; i++) {
        RY_TRY(mark(graph, options->freeze[i], *frozen, error));
    }
    for (size_t i = 0; i < options->train_only_count; i++) {
        RY_TRY(mark(graph, options->train_only[i], trained, error));
    }
    if (options->train_last > 0) {
        RY_TRY(mark_last(graph, options->train_last, trained, error));
    }
    for (size_t v = 0; chosen && v < graph->value_count; v++) {
        (*frozen)[v] |= !trained[v];
    }
    return RYND_OK;
}
