/* SPDX-License-Identifier: Apache-2.0 */
/* FNV-1a over texts, which are the same in every build and process. */
#include "plan/plan_identity.h"

#include "plan/fold.h"
#include "problem/problem_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const uint64_t BASIS = UINT64_C(0xcbf29ce484222325), PRIME = UINT64_C(0x100000001b3);

static uint64_t add_bytes(uint64_t hash, const void *bytes, size_t count)
{
    for (const uint8_t *at = bytes, *end = at + count; at < end; at++) {
        hash = (hash ^ *at) * PRIME;
    }
    return hash;
}

static uint64_t add_text(uint64_t hash, const char *text)
{
    return add_bytes(hash, text, strlen(text) + 1);
}

static uint64_t add_number(uint64_t hash, int64_t number)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)((uint64_t)number >> 8 * i);
    }
    return add_bytes(hash, bytes, sizeof bytes);
}

static rynd_status add_node(const ry_plan_builder *b, const ry_node *node, ry_arena *arena,
                            uint64_t *hash, ry_error *error)
{
    ry_problem problem;
    RY_TRY(ry_plan_problem(b->graph, node, b->options->accuracy, NULL, 0, arena, &problem, error));
    const char *text = ry_problem_print(&problem, arena);
    if (!text) {
        return ry_fail_memory(error);
    }
    *hash = add_text(*hash, text);
    *hash = add_number(*hash, ry_plan_constants(b->graph, node));
    for (int i = 0; i < node->inputs; i++) {
        *hash = add_number(*hash, node->in[i]);
    }
    for (int i = 0; i < node->outputs; i++) {
        *hash = add_number(*hash, node->out[i]);
    }
    return RYND_OK;
}

static uint64_t add_ends(const ry_plan_builder *b, uint64_t hash)
{
    for (size_t i = 0; i < b->plan->input_count; i++) {
        hash = add_number(hash, b->graph->inputs[i]);
        for (int d = 0; d < b->plan->inputs[i].rank; d++) {
            hash = add_number(hash, b->plan->inputs[i].stride[d]);
        }
    }
    for (size_t i = 0; i < b->graph->output_count; i++) {
        hash = add_number(hash, b->graph->outputs[i]);
    }
    return hash;
}

rynd_status ry_plan_print_network(const ry_plan_builder *b, char text[RY_NETWORK_TEXT],
                                  ry_error *error)
{
    ry_arena arena;
    uint64_t hash = add_ends(b, BASIS);
    size_t nodes = 0;
    rynd_status status = RYND_OK;
    ry_arena_init(&arena, b->plan->arena.allocator);
    for (ry_node_id n = 0; n < b->graph->node_count && status == RYND_OK; n++) {
        const ry_node *node = &b->graph->nodes[n];
        if (node->op != RY_OP_dead) {
            status = ry_plan_fail_node(add_node(b, node, &arena, &hash, error), node, error);
            nodes++;
        }
    }
    ry_arena_free(&arena);
    snprintf(text, RY_NETWORK_TEXT, "network nodes=%zu hash=%016" PRIx64 " accuracy=%s", nodes,
             hash, ry_accuracy_word(b->options->accuracy));
    return status;
}

rynd_status ry_plan_hash_steps(const ry_plan *plan, uint64_t *hash, ry_error *error)
{
    ry_arena arena;
    uint64_t h = BASIS;
    bool whole = true;
    ry_arena_init(&arena, plan->arena.allocator);
    for (size_t s = 0; s < plan->step_count && whole; s++) {
        const char *text = ry_problem_print(&plan->steps[s].problem, &arena);
        whole = text != NULL;
        h = whole ? add_text(h, text) : h;
        h = add_number(h, ry_plan_batch_split_of(plan, s)->micro_batches);
    }
    ry_arena_free(&arena);
    *hash = h ? h : 1;
    return whole ? RYND_OK : ry_fail_memory(error);
}
