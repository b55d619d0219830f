/* SPDX-License-Identifier: Apache-2.0 */
/* The rules, by operator; for expressions, by instruction. */
#include "reference_rules.h"

#include "expr/expr.h"

#include <string.h>

static const rule rules[RY_OPS] = {
    [RY_OP_expr] = {RULE_EXPR, 0, 0, 0},
    [RY_OP_conv] = {RULE_SUM, 0, 0, 2},
    [RY_OP_convt] = {RULE_SUM, 0, 0, 2},
    [RY_OP_qconv] = {RULE_DECIDE, 0, 0, 0},
    [RY_OP_separable_conv] = {RULE_SUM, 0, 0, 0},
    [RY_OP_deform_conv] = {RULE_SUM, 0, 0, 2},
    [RY_OP_deform_columns] = {RULE_SUM, 0, 0, 0},
    [RY_OP_col2im] = {RULE_SUM, 6, 0, 0},
    [RY_OP_pool] = {RULE_SUM, 0, 2, 0},
    [RY_OP_pool_grad] = {RULE_SUM, 0, 0, 0},
    [RY_OP_max_unpool] = {RULE_MOVE, 6, 0, 0},
    [RY_OP_matmul] = {RULE_SUM, 0, 0, 0},
    [RY_OP_recurrent] = {RULE_SUM, 16, 0, 0},
    [RY_OP_einsum] = {RULE_SUM, 0, 0, 0},
    [RY_OP_batch_norm] = {RULE_SUM, 0, 0, 0},
    [RY_OP_batch_norm_train] = {RULE_SUM, 0, 0, 0},
    [RY_OP_batch_norm_grad] = {RULE_SUM, 0, 0, 0},
    [RY_OP_group_norm] = {RULE_SUM, 0, 0, 0},
    [RY_OP_layer_norm] = {RULE_SUM, 0, 0, 0},
    [RY_OP_group_norm_grad] = {RULE_SUM, 0, 0, 0},
    [RY_OP_layer_norm_grad] = {RULE_SUM, 0, 0, 0},
    [RY_OP_lrn] = {RULE_SUM, 0, 0, 0},
    [RY_OP_softmax] = {RULE_SUM, 0, 0, 0},
    [RY_OP_softmax_grad] = {RULE_SUM, 0, 0, 0},
    [RY_OP_dropout] = {RULE_SUM, 14, 2, 0},
    [RY_OP_random] = {RULE_MOVE, 3, 0, 0},
    [RY_OP_cumsum] = {RULE_SUM, 2, 0, 0},
    [RY_OP_arg_reduce] = {RULE_DECIDE, 0, 0, 0},
    [RY_OP_topk] = {RULE_MOVE, 2, 2, 0},
    [RY_OP_resize] = {RULE_SUM, 14, 0, 0},
    [RY_OP_resize_grad] = {RULE_SUM, 0, 0, 0},
    [RY_OP_grid_sample] = {RULE_SUM, 0, 0, 0},
    [RY_OP_affine_grid] = {RULE_SUM, 2, 0, 0},
    [RY_OP_roi_align] = {RULE_SUM, 6, 0, 1},
    [RY_OP_gather] = {RULE_MOVE, 2, 0, 0},
    [RY_OP_gather_elements] = {RULE_MOVE, 2, 0, 0},
    [RY_OP_gather_nd] = {RULE_MOVE, 2, 0, 0},
    [RY_OP_scatter_elements] = {RULE_SUM, 2, 0, 0},
    [RY_OP_scatter_nd] = {RULE_SUM, 2, 0, 0},
    [RY_OP_concat] = {RULE_MOVE, 0, 0, 0},
    [RY_OP_split] = {RULE_MOVE, 2, 0, 0},
    [RY_OP_slice] = {RULE_MOVE, 30, 0, 0},
    [RY_OP_pad] = {RULE_MOVE, 10, 0, 0},
    [RY_OP_tile] = {RULE_MOVE, 2, 0, 0},
    [RY_OP_expand] = {RULE_MOVE, 2, 0, 0},
    [RY_OP_transpose] = {RULE_MOVE, 0, 0, 0},
    [RY_OP_depth_to_space] = {RULE_MOVE, 0, 0, 0},
    [RY_OP_space_to_depth] = {RULE_MOVE, 0, 0, 0},
    [RY_OP_trilu] = {RULE_MOVE, 2, 0, 0},
    [RY_OP_eye_like] = {RULE_MOVE, 0, 0, 0},
    [RY_OP_one_hot] = {RULE_MOVE, 3, 0, 0},
    [RY_OP_range] = {RULE_SUM, 7, 0, 0},
    [RY_OP_constant_of_shape] = {RULE_MOVE, 1, 0, 0},
    [RY_OP_shape] = {RULE_MOVE, 0, 0, 0},
    [RY_OP_reverse_sequence] = {RULE_MOVE, 2, 0, 0},
    [RY_OP_center_crop_pad] = {RULE_MOVE, 2, 0, 0},
    [RY_OP_nonzero] = {RULE_MOVE, 1, 0, 0},
    [RY_OP_compress] = {RULE_MOVE, 2, 0, 0},
    [RY_OP_nms] = {RULE_MOVE, 31, 0, 0},
    [RY_OP_reshape] = {RULE_MOVE, 2, 0, 0},
    [RY_OP_flatten] = {RULE_MOVE, 0, 0, 0},
    [RY_OP_squeeze] = {RULE_MOVE, 2, 0, 0},
    [RY_OP_unsqueeze] = {RULE_MOVE, 2, 0, 0},
    [RY_OP_identity] = {RULE_MOVE, 0, 0, 0},
    [RY_OP_copy] = {RULE_MOVE, 0, 0, 0},
};

/* They select, yet have no step. */
static const char *const continuous[] = {"LeakyRelu", "PRelu", "Elu", "Selu", "Celu"};

static bool is_continuous(const char *source)
{
    for (size_t i = 0; i < sizeof continuous / sizeof *continuous; i++) {
        if (strcmp(continuous[i], source) == 0) {
            return true;
        }
    }
    return false;
}

static rule_kind of_instruction(const ry_expr_instruction *code)
{
    switch (code->code) {
    case RY_EXPR_input:
    case RY_EXPR_constant:
    case RY_EXPR_min:
    case RY_EXPR_max:
    case RY_EXPR_neg:
    case RY_EXPR_abs:
    case RY_EXPR_reduce_min:
    case RY_EXPR_reduce_max: return RULE_MOVE;
    case RY_EXPR_cast: return ry_dtype_is_float(code->dtype) ? RULE_MOVE : RULE_DECIDE;
    case RY_EXPR_saturate:
    case RY_EXPR_mod:
    case RY_EXPR_fmod:
    case RY_EXPR_sign:
    case RY_EXPR_floor:
    case RY_EXPR_ceil:
    case RY_EXPR_round:
    case RY_EXPR_select: return RULE_DECIDE;
    default: break;
    }
    const ry_expr_class class = ry_expr_code_class(code->code);
    const bool logic =
        class == RY_EXPR_CLASS_BOOL || class == RY_EXPR_CLASS_LOGIC || class == RY_EXPR_CLASS_BITS;
    return logic ? RULE_DECIDE : RULE_SUM;
}

/* A program that compares its own rounded values counts as a program that decides. */
static rule_kind of_program(const ry_graph *graph, const ry_node *node)
{
    const ry_expr *program = node->attrs.expr.program;
    bool sums = false, decides = false, floats = false;
    for (int i = 0; i < node->inputs; i++) {
        floats = floats || (node->in[i] != RY_NO_VALUE &&
                            ry_dtype_is_float(graph->values[node->in[i]].dtype));
    }
    for (int i = 0; i < program->count; i++) {
        const rule_kind kind = of_instruction(&program->code[i]);
        sums = sums || kind == RULE_SUM;
        decides = decides || kind == RULE_DECIDE;
        floats = floats || (program->code[i].code == RY_EXPR_cast &&
                            ry_dtype_is_float(program->code[i].dtype));
    }
    if (!floats) {
        return decides ? RULE_DECIDE : RULE_MOVE;
    }
    if (decides && !is_continuous(node->source)) {
        return RULE_DECIDE;
    }
    return sums ? RULE_SUM : RULE_MOVE;
}

bool reference_knows(ry_op op)
{
    return op >= 0 && op < RY_OPS && rules[op].kind != RULE_NONE;
}

rule reference_rule(const ry_graph *graph, const ry_node *node)
{
    rule r = rules[node->op];
    const ry_attrs *a = &node->attrs;
    switch (node->op) {
    case RY_OP_expr:
        r.kind = of_program(graph, node);
        r.steering = a->expr.axes_input ? 1u << (node->inputs - 1) : 0;
        /* a negative base and an exponent that rounding moves off an integer: a number or NaN */
        r.deciding = strcmp(node->source, "Pow") == 0;
        break;
    case RY_OP_pool: r.kind = a->pool.kind == RY_pool_kind_max ? RULE_MOVE : RULE_SUM; break;
    case RY_OP_softmax:
        r.kind = a->softmax.kind == RY_softmax_kind_hardmax ? RULE_DECIDE : RULE_SUM;
        break;
    case RY_OP_resize:
        r.kind = a->resize.mode == RY_resize_mode_nearest ? RULE_MOVE : RULE_SUM;
        r.finite = a->resize.mode == RY_resize_mode_nearest ? 0 : 1;
        break;
    case RY_OP_grid_sample: r.steering = a->grid_sample.mode == RY_grid_mode_nearest ? 2 : 0; break;
    case RY_OP_scatter_elements:
        r.kind = a->scatter_elements.reduction == RY_scatter_reduction_none ? RULE_MOVE : RULE_SUM;
        break;
    case RY_OP_scatter_nd:
        r.kind = a->scatter_nd.reduction == RY_scatter_reduction_none ? RULE_MOVE : RULE_SUM;
        break;
    default: break;
    }
    return r;
}
