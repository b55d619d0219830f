/* SPDX-License-Identifier: Apache-2.0 */
/* Activations as exporters spell them in small operators (joined to one program by rewrite_expr_chain) become the programs that epilogues and kernels know. */
#include "expr/expr.h"
#include "graph/rewrite.h"

typedef struct spelling {
    const char *spelled;   /* a and b stand for any numbers */
    const char *canonical; /* over the same a and b */
    double a, b;           /* what they must be; NAN: anything */
} spelling;

#define ANY NAN

static const spelling spellings[] = {
    /* HardSwish: x * relu6(x + 3) / 6 */
    {"x0 * min(max(x0 + b, 0), a) / a", "x0 * min(max(x0 * (1 / a) + b / a, 0), 1)", ANY, ANY},
    {"x0 * (min(max(x0 + b, 0), a) / a)", "x0 * min(max(x0 * (1 / a) + b / a, 0), 1)", ANY, ANY},
    {"x0 * (min(max(x0 + 3, 0), 6) * a)", "x0 * min(max(x0 * a + 0.5, 0), 1)", 1.0 / 6, ANY},
    {"x0 * min(max(x0 + 3, 0), 6) * a", "x0 * min(max(x0 * a + 0.5, 0), 1)", 1.0 / 6, ANY},
    /* HardSigmoid: relu6(x + 3) / 6 */
    {"min(max(x0 + b, 0), a) / a", "min(max(x0 * (1 / a) + b / a, 0), 1)", ANY, ANY},
    {"min(max(x0 + 3, 0), 6) * a", "min(max(x0 * a + 0.5, 0), 1)", 1.0 / 6, ANY},
    /* SiLU */
    {"x0 / (1 + exp(-x0))", "x0 * sigmoid(x0)", ANY, ANY},
    {"x0 * (1 / (1 + exp(-x0)))", "x0 * sigmoid(x0)", ANY, ANY},
    {"1 / (1 + exp(-x0))", "sigmoid(x0)", ANY, ANY},
    /* GELU: x * (1 + erf(x / sqrt 2)) / 2 */
    {"x0 * (1 + erf(x0 / a)) * 0.5", "0.5 * x0 * (1 + erf(x0 * 0.7071067811865476))", 1.4142135623730951, ANY},
    {"x0 * 0.5 * (1 + erf(x0 / a))", "0.5 * x0 * (1 + erf(x0 * 0.7071067811865476))", 1.4142135623730951, ANY},
    {"x0 * (0.5 * (1 + erf(x0 / a)))", "0.5 * x0 * (1 + erf(x0 * 0.7071067811865476))", 1.4142135623730951, ANY},
    {"x0 * ((1 + erf(x0 / a)) / 2)", "0.5 * x0 * (1 + erf(x0 * 0.7071067811865476))", 1.4142135623730951, ANY},
    {"x0 * (1 + erf(x0 / a)) / 2", "0.5 * x0 * (1 + erf(x0 * 0.7071067811865476))", 1.4142135623730951, ANY},
    {"x0 * (1 + erf(x0 * a)) * 0.5", "0.5 * x0 * (1 + erf(x0 * 0.7071067811865476))", 0.7071067811865476, ANY},
    {"x0 * (0.5 * (1 + erf(x0 * a)))", "0.5 * x0 * (1 + erf(x0 * 0.7071067811865476))", 0.7071067811865476, ANY},
    /* leaky ReLU */
    {"max(x0, x0 * a)", "select(x0 < 0, x0 * a, x0)", ANY, ANY},
};

static bool is_number(double value, double wanted)
{
    return isnan(wanted) || fabs(value - wanted) <= 1e-6 * fabs(wanted);
}

/* max(x, a x) is leaky only while a is below 1. */
static bool sane(const spelling *s, const ry_expr_parameter *parameters)
{
    double a = parameters[0].value;
    return is_number(a, s->a) && is_number(parameters[1].value, s->b) &&
           (s != &spellings[sizeof spellings / sizeof *spellings - 1] || (a >= 0 && a <= 1));
}

static rynd_status respell(ry_graph *graph, ry_node *node, bool *changed, ry_error *error)
{
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        ry_expr_parameter parameters[2] = {{"a", 0}, {"b", 0}};
        const ry_expr *program = NULL;
        bool found;
        RY_TRY(ry_expr_match(node->attrs.expr.program, spellings[i].spelled, parameters, 2, graph->arena.allocator, &found, error));
        if (!found || !sane(&spellings[i], parameters)) {
            continue;
        }
        RY_TRY(ry_expr_parse(spellings[i].canonical, parameters, 2, &graph->arena, &program, error));
        node->attrs.expr.program = program;
        *changed = true;
        return RYND_OK;
    }
    return RYND_OK;
}

rynd_status ry_rewrite_activation(ry_graph *graph, bool *changed, ry_error *error)
{
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        ry_node *node = &graph->nodes[n];
        if (node->op == RY_OP_expr && node->inputs == 1 && node->outputs == 1 && !node->attrs.expr.program->reduces &&
            node->attrs.expr.program->count > 3 && ry_dtype_is_float(graph->values[node->in[0]].dtype)) {
            RY_TRY(respell(graph, node, changed, error));
        }
    }
    return RYND_OK;
}
