/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/bound.h"

#include "kernels/packing.h"
#include "plan/fold.h"

/* Packed in less than 20 ms, whatever the form. */
static const double OWN_WEIGHTS = 2 << 20;

void ry_plan_find_bound(ry_plan_builder *b)
{
    const double own = b->options->own_weights > 0 ? (double)b->options->own_weights : OWN_WEIGHTS;
    b->bound = b->plan->weights.shared && !b->plan->without_weights &&
               b->options->setting_count == 0 && b->plan->network_bytes > own;
    b->decisions = b->bound ? ry_weights_decisions(b->plan->weights.shared) : 0;
}

/* Does any kernel of the operator pack constants? */
static bool is_packed(ry_op op)
{
    for (size_t k = 0; k < ry_kernel_count; k++) {
        if (ry_kernels[k]->op == op && ry_kernels[k]->packed_inputs) {
            return true;
        }
    }
    return false;
}

/* Finds the next weight of an operator that packs, from input *at on. */
static bool next_weight(const ry_plan_builder *b, const ry_node *node, int *at, ry_weight_use *use)
{
    for (; *at < node->inputs; ++*at) {
        const ry_value_id id = node->in[*at];
        const ry_value *value = id == RY_NO_VALUE ? NULL : &b->graph->values[id];
        if (value && value->constant && value->identity &&
            ry_shape_bytes(&value->shape, value->dtype) >= RY_SMALL_WEIGHT && is_packed(node->op)) {
            use->identity = value->identity;
            use->op = node->op;
            ++*at;
            return true;
        }
    }
    return false;
}

const ry_bound_forms *ry_plan_bound(const ry_plan_builder *b, const ry_node *node,
                                    ry_bound_forms *room)
{
    ry_weight_use use = {.accuracy = b->options->accuracy};
    int at = 0;
    while (b->bound && next_weight(b, node, &at, &use)) {
        if (ry_weights_find(b->plan->weights.shared, b->decisions, &use, room)) {
            return room;
        }
    }
    return NULL;
}

rynd_status ry_plan_find_choice(ry_plan_builder *b, const ry_node *node, const ry_problem *problem,
                                ry_choice *choice, ry_error *error)
{
    ry_bound_forms room;
    return ry_choices_find(&b->choices, problem, ry_plan_constants(b->graph, node),
                           ry_plan_bound(b, node, &room), choice, error);
}

static size_t list_uses(const ry_plan_builder *b, ry_weight_use *uses)
{
    size_t count = 0;
    for (size_t s = 0; s < b->plan->step_count; s++) {
        const ry_prepared *prepared = &b->steps[s].prepared;
        ry_weight_use use = {.accuracy = prepared->problem->accuracy,
                             .form = {prepared->kernel, ry_packing_form(prepared)}};
        int at = 0;
        while (next_weight(b, ry_plan_node(b, s), &at, &use)) {
            if (uses) {
                uses[count] = use;
            }
            count++;
        }
    }
    return count;
}

rynd_status ry_plan_decide_forms(ry_plan_builder *b, bool *late, ry_error *error)
{
    *late = false;
    if (!b->bound) {
        return RYND_OK;
    }
    ry_arena scratch;
    ry_arena_init(&scratch, b->plan->arena.allocator);
    const size_t count = list_uses(b, NULL);
    ry_weight_use *uses = RY_TAKE(&scratch, ry_weight_use, count);
    rynd_status status = uses ? RYND_OK : ry_fail_memory(error);
    if (status == RYND_OK) {
        list_uses(b, uses);
        status = ry_weights_decide(b->plan->weights.shared, b->decisions, uses, count, late, error);
    }
    ry_arena_free(&scratch);
    return status;
}
