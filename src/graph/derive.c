/* SPDX-License-Identifier: Apache-2.0 */
/* Shared constants that planning makes. */
#include "graph/derive.h"

#include <string.h>

/* Content up to this many bytes tells itself, and is not shared: it is made as fast as found. */
enum { SMALL = 16384 };

/* Numbers of derived constants, beside those of a model's own. */
static const uint64_t DERIVED = (uint64_t)1 << 63;

static void free_content(void *allocator, void *content)
{
    ry_release(allocator, content);
}

rynd_status ry_derived_store_create(const ry_allocator *allocator, size_t limit, ry_kept **store,
                                    ry_error *error)
{
    return ry_kept_create(allocator, limit, free_content, (void *)(uintptr_t)allocator, store,
                          error);
}

void ry_graph_number_constants(ry_graph *graph)
{
    for (ry_value_id v = 0; v < graph->value_count; v++) {
        graph->values[v].identity = graph->values[v].constant ? (uint64_t)v + 1 : 0;
    }
}

bool ry_graph_add_identity(const ry_graph *graph, ry_value_id id, ry_text *key)
{
    if (id == RY_NO_VALUE) {
        ry_text_add(key, "-;");
        return true;
    }
    const ry_value *value = &graph->values[id];
    const int64_t bytes = ry_shape_bytes(&value->shape, value->dtype);
    ry_text_add(key, "%d,%d:", (int)value->dtype, value->shape.rank);
    ry_text_bytes(key, value->shape.dim, (size_t)value->shape.rank * sizeof *value->shape.dim);
    ry_text_bytes(key, &value->identity, sizeof value->identity);
    if (value->identity == 0 && value->constant && bytes >= 0 && bytes <= SMALL) {
        ry_text_bytes(key, value->constant, (size_t)bytes);
        return true;
    }
    return value->identity != 0;
}

static bool make_key(const ry_graph *graph, const ry_recipe *recipe, ry_dtype dtype,
                     const ry_shape *shape, ry_text *key)
{
    ry_text_add(key, "%s %d,%d:", recipe->what, (int)dtype, shape->rank);
    ry_text_bytes(key, shape->dim, (size_t)shape->rank * sizeof *shape->dim);
    ry_text_bytes(key, recipe->numbers, recipe->numbers_size);
    bool shared = false;
    for (int i = 0; i < recipe->count; i++) {
        if (!ry_graph_add_identity(graph, recipe->from[i], key)) {
            return false;
        }
        shared = shared ||
                 (recipe->from[i] != RY_NO_VALUE && graph->values[recipe->from[i]].identity != 0);
    }
    return shared && !key->failed;
}

static ry_derivation *find(const ry_graph *graph, const void *content)
{
    ry_derivation *d = graph->derivations;
    while (d && d->content != content) {
        d = d->next;
    }
    return d;
}

/* Finds the content, or memory for it, in the store. */
static void *take(ry_graph *graph, const ry_text *key, size_t bytes, bool *fill)
{
    ry_derivation *d = RY_TAKE(&graph->arena, ry_derivation, 1);
    ry_kept_thing thing = {.key = key->at, .key_size = key->used, .size = bytes};
    ry_lot *own = NULL;
    while (d && ry_kept_take(graph->derived, &thing, 1, &own, NULL) == RYND_OK) {
        if (!own && !ry_kept_await(graph->derived, &thing, 1)) {
            ry_kept_drop(graph->derived, thing.lot);
            continue;
        }
        *fill = own != NULL;
        *d = (ry_derivation){.next = graph->derivations,
                             .lot = thing.lot,
                             .open = *fill,
                             .content = *fill ? ry_allocate_array(graph->arena.allocator, 1, bytes)
                                              : ry_lot_content(thing.lot)};
        graph->derivations = d;
        return d->content;
    }
    return NULL;
}

void *ry_graph_derive(ry_graph *graph, const ry_recipe *recipe, ry_dtype dtype,
                      const ry_shape *shape, bool *fill)
{
    const int64_t bytes = ry_shape_bytes(shape, dtype);
    *fill = true;
    if (bytes < 0) {
        ry_memory_refuse(SIZE_MAX);
        return NULL;
    }
    if (!graph->derived || bytes <= SMALL) {
        return ry_arena_take(&graph->arena, (size_t)bytes + RY_ALIGNMENT, 1);
    }
    ry_arena scratch;
    ry_arena_init(&scratch, graph->arena.allocator);
    ry_text key = {.arena = &scratch};
    const bool shared = make_key(graph, recipe, dtype, shape, &key);
    void *content = key.failed ? NULL
                    : shared   ? take(graph, &key, (size_t)bytes + RY_ALIGNMENT, fill)
                               : ry_arena_take(&graph->arena, (size_t)bytes + RY_ALIGNMENT, 1);
    ry_arena_free(&scratch);
    return content;
}

void ry_graph_set_derived(ry_graph *graph, ry_value_id id, const void *content)
{
    ry_derivation *d = find(graph, content);
    if (d && d->open) {
        ry_kept_finish(graph->derived, d->lot, d->content);
        d->open = false;
    }
    graph->values[id].constant = content;
    graph->values[id].identity = d ? DERIVED | ry_lot_serial(d->lot) : 0;
}

ry_value_id ry_graph_add_derived(ry_graph *graph, const ry_recipe *recipe, ry_dtype dtype,
                                 const ry_shape *shape,
                                 void (*compute)(ry_graph *graph, const void *how, void *to),
                                 const void *how)
{
    bool fill;
    void *content = ry_graph_derive(graph, recipe, dtype, shape, &fill);
    const ry_value_id made = content ? ry_graph_add_value(graph, NULL, dtype, shape) : RY_NO_VALUE;
    if (made != RY_NO_VALUE) {
        if (fill) {
            compute(graph, how, content);
        }
        ry_graph_set_derived(graph, made, content);
    }
    return made;
}

const void *ry_graph_align_constant(ry_graph *graph, ry_value_id id)
{
    const ry_value value = graph->values[id];
    if ((uintptr_t)value.constant % ry_dtype_size(value.dtype) == 0) {
        return value.constant;
    }
    bool fill;
    const ry_recipe recipe = {.what = "aligned", .count = 1, .from = &id};
    void *copy = ry_graph_derive(graph, &recipe, value.dtype, &value.shape, &fill);
    if (!copy) {
        return NULL;
    }
    if (fill) {
        memcpy(copy, value.constant, (size_t)ry_shape_bytes(&value.shape, value.dtype));
    }
    ry_graph_set_derived(graph, id, copy);
    graph->values[id].identity = value.identity;
    graph->values[id].unaligned = false;
    return copy;
}
