/* SPDX-License-Identifier: Apache-2.0 */
/* Tells which steps may overwrite an input: expressions by their programs, other kernels by their
 * `over` masks (kernel.h). */
#include "plan/in_place.h"

#include "expr/expr.h"

/* Kernels of the CPU compute a program instruction by instruction over some elements, and an
 * instruction that is an output goes straight to memory. So no later instruction may read the old
 * content, and that instruction itself must be one whose loop reads an element before it writes
 * it. */
static bool reads_first(ry_expr_code code)
{
    switch (code) {
    case RY_EXPR_add:
    case RY_EXPR_sub:
    case RY_EXPR_mul:
    case RY_EXPR_div:
    case RY_EXPR_min:
    case RY_EXPR_max:
    case RY_EXPR_select: return true;
    default: return false;
    }
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
            return false; /* an output that copies the input may be stored at any time */
        }
    }
    return true;
}

static bool is_output(const ry_plan_builder *b, const ry_value_uses *uses, ry_value_id root)
{
    for (size_t i = 0; i < b->graph->output_count; i++) {
        if (uses->root[b->graph->outputs[i]] == root) {
            return true;
        }
    }
    return false;
}

static bool same_elements(const ry_tensor *a, const ry_tensor *b)
{
    const ry_shape a_shape = ry_tensor_shape(a), b_shape = ry_tensor_shape(b);
    return a->dtype == b->dtype && ry_shape_equal(&a_shape, &b_shape) && ry_tensor_same_map(a, b);
}

/* reads_old[i]: is input i `old`? False if such an input and the output have different layouts. */
static bool find_readers(const ry_plan_builder *b, const ry_value_uses *uses, const ry_node *node,
                         int output, ry_value_id old, bool *reads_old)
{
    const ry_tensor there = ry_value_description(b->graph, node->out[output], &b->layouts);
    for (int i = 0; i < node->inputs; i++) {
        reads_old[i] = node->in[i] != RY_NO_VALUE && uses->root[node->in[i]] == old;
        if (!reads_old[i]) {
            continue;
        }
        const ry_tensor here = ry_value_description(b->graph, node->in[i], &b->layouts);
        if (!same_elements(&here, &there)) {
            return false;
        }
    }
    return true;
}

static bool kernel_allows(const ry_kernel *kernel, int output, int inputs, const bool *reads_old)
{
    const unsigned over = output < RY_MAX_OVER ? kernel->over[output] : 0;
    for (int i = 0; i < inputs; i++) {
        if (reads_old[i] && (i >= 32 || !(over >> i & 1u))) {
            return false;
        }
    }
    return true;
}

bool ry_kernel_may_overwrite(const ry_kernel *kernel, const ry_problem *problem, int output,
                             const bool *old)
{
    for (int i = 0; i < problem->inputs; i++) {
        if (old[i] && !same_elements(&problem->in[i], &problem->out[output])) {
            return false;
        }
    }
    return problem->op == RY_OP_expr ? program_allows(problem->attrs.expr.program, output, old,
                                                      kernel->gpu ? RY_DEVICE_gpu : RY_DEVICE_cpu)
                                     : kernel_allows(kernel, output, problem->inputs, old);
}

bool ry_plan_may_overwrite(const ry_plan_builder *b, const ry_value_uses *uses, size_t step,
                           int output, ry_value_id old)
{
    const ry_node *node = ry_plan_node(b, step);
    bool reads_old[RY_EXPR_MAX_INPUTS];
    const ry_batch_split *split = ry_plan_batch_split_of(b->plan, step);
    if (node->inputs > RY_EXPR_MAX_INPUTS || (split->micro_batches != 1 && !split->rows) ||
        !find_readers(b, uses, node, output, old, reads_old)) {
        return false;
    }
    return node->op == RY_OP_expr
               ? program_allows(node->attrs.expr.program, output, reads_old,
                                b->plan->device->table->kind)
               : kernel_allows(b->steps[step].prepared.kernel, output, node->inputs, reads_old);
}

bool ry_plan_writes_in_place(const ry_plan_builder *b, const ry_value_uses *uses, ry_value_id old,
                             ry_value_id next)
{
    if (!uses->made[next] || uses->last[old] > uses->first[next] || is_output(b, uses, old)) {
        return false;
    }
    const ry_node *node = ry_plan_node(b, uses->first[next]);
    for (int o = 0; o < node->outputs; o++) {
        if (node->out[o] == next) {
            return ry_plan_may_overwrite(b, uses, uses->first[next], o, old);
        }
    }
    return false;
}
