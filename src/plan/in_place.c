/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise steps that overwrite what they read. */
#include "plan/in_place.h"

#include "expr/expr.h"

/* Kernels of the CPU compute a program instruction by instruction over some elements, and an
 * instruction that is an output goes straight to memory. So no later instruction may read the old
 * content, and that instruction itself must be one whose loop reads an element before it writes
 * it. */
static bool reads_first(ry_expr_code code)
{
    return code == RY_EXPR_add || code == RY_EXPR_sub || code == RY_EXPR_mul || code == RY_EXPR_div;
}

static bool is_input_of(const ry_expr *program, int instruction, const bool *old)
{
    const ry_expr_instruction *in = &program->code[instruction];
    return in->code == RY_EXPR_input && old[in->index];
}

/* old: of each of the program's inputs, is it what `output` overwrites? A GPU's work-item reads all
 * that it needs of a position before it writes the first output there, and so does the CPU beside
 * it, which computes in memory of its own. */
static bool program_allows(const ry_expr *program, int output, const bool *old,
                           ry_device_kind device)
{
    const int result = program->result[output];
    if (program->reduces || device == RY_DEVICE_gpu) {
        return !program->reduces;
    }
    if (!reads_first(program->code[result].code)) {
        return false;
    }
    for (int i = result + 1; i < program->count; i++) {
        for (int k = 0; k < ry_expr_code_operands(program->code[i].code); k++) {
            if (is_input_of(program, program->code[i].operand[k], old)) {
                return false;
            }
        }
    }
    for (int o = 0; o < program->outputs; o++) {
        if (is_input_of(program, program->result[o], old)) {
            return false; /* it is stored as it is, whenever that happens */
        }
    }
    return true;
}

static bool is_output(const ry_plan *plan, const ry_uses *uses, ry_value_id root)
{
    for (size_t i = 0; i < plan->graph->output_count; i++) {
        if (uses->root[plan->graph->outputs[i]] == root) {
            return true;
        }
    }
    return false;
}

bool ry_plan_writes_in_place(const ry_plan *plan, const ry_uses *uses,
                             const ry_node_id *node_of_step, ry_value_id old, ry_value_id next)
{
    const ry_graph *graph = plan->graph;
    bool reads_old[RY_EXPR_MAX_INPUTS] = {false};
    if (!uses->made[next] || uses->last[old] > uses->first[next] || is_output(plan, uses, old)) {
        return false;
    }
    const size_t step = uses->first[next];
    const ry_node *node = &graph->nodes[node_of_step[step]];
    if (node->op != RY_OP_expr || ry_plan_batch_split_of(plan, step)->micro_batches != 1) {
        return false;
    }
    const ry_tensor there = ry_value_description(graph, next, &plan->layouts);
    for (int i = 0; i < node->attrs.expr.program->inputs; i++) {
        if (node->in[i] == RY_NO_VALUE || uses->root[node->in[i]] != old) {
            continue;
        }
        const ry_tensor here = ry_value_description(graph, node->in[i], &plan->layouts);
        if (!ry_tensor_same_map(&here, &there)) {
            return false;
        }
        reads_old[i] = true;
    }
    for (int o = 0; o < node->outputs; o++) {
        if (node->out[o] == next) {
            return program_allows(node->attrs.expr.program, o, reads_old,
                                  plan->device->table->kind);
        }
    }
    return false;
}
