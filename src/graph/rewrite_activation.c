/* SPDX-License-Identifier: Apache-2.0 */
/* Activations as exporters spell them in small operators (joined to one program by
 * rewrite_expr_chain) become the programs that epilogues and kernels know. Their numbers may be
 * constant inputs: only where a program is recognised do these become part of it. */
#include "expr/expr.h"
#include "graph/rewrite.h"

typedef struct spelling {
    const char *spelled;   /* a and b stand for any numbers */
    const char *canonical; /* over the same a and b */
    ry_expr_code code;     /* programs without this code are not compared */
    double a, b;           /* required values; NAN: any; SLOPE: above 0, at most 1 */
} spelling;

#define ANY   NAN
#define SLOPE INFINITY

/* x times half of 1 + inner, in the orders in which exporters multiply. */
#define GELU(name, code, inner, a, b)                       \
    {"x0 * (1 + " inner ") * 0.5", name, code, a, b},       \
        {"x0 * (1 + " inner ") / 2", name, code, a, b},     \
        {"x0 * 0.5 * (1 + " inner ")", name, code, a, b},   \
        {"x0 * (0.5 * (1 + " inner "))", name, code, a, b}, \
    {                                                       \
        "x0 * ((1 + " inner ") / 2)", name, code, a, b      \
    }

static const spelling spellings[] = {
    /* HardSwish: x * relu6(x + 3) / 6 */
    {"x0 * min(max(x0 + b, 0), a) / a", "x0 * min(max(x0 * (1 / a) + b / a, 0), 1)", RY_EXPR_min,
     ANY, ANY},
    {"x0 * (min(max(x0 + b, 0), a) / a)", "x0 * min(max(x0 * (1 / a) + b / a, 0), 1)", RY_EXPR_min,
     ANY, ANY},
    {"x0 * (min(max(x0 + 3, 0), 6) * a)", "x0 * min(max(x0 * a + 0.5, 0), 1)", RY_EXPR_min, 1.0 / 6,
     ANY},
    {"x0 * min(max(x0 + 3, 0), 6) * a", "x0 * min(max(x0 * a + 0.5, 0), 1)", RY_EXPR_min, 1.0 / 6,
     ANY},
    /* HardSigmoid: relu6(x + 3) / 6 */
    {"min(max(x0 + b, 0), a) / a", "min(max(x0 * (1 / a) + b / a, 0), 1)", RY_EXPR_min, ANY, ANY},
    {"min(max(x0 + 3, 0), 6) * a", "min(max(x0 * a + 0.5, 0), 1)", RY_EXPR_min, 1.0 / 6, ANY},
    /* SiLU */
    {"x0 * sigmoid(x0)", "silu(x0)", RY_EXPR_sigmoid, ANY, ANY},
    {"x0 / (1 + exp(-x0))", "silu(x0)", RY_EXPR_exp, ANY, ANY},
    {"x0 * (1 / (1 + exp(-x0)))", "silu(x0)", RY_EXPR_exp, ANY, ANY},
    {"1 / (1 + exp(-x0))", "sigmoid(x0)", RY_EXPR_exp, ANY, ANY},
    /* GELU by erf */
    GELU("gelu(x0)", RY_EXPR_erf, "erf(x0 / a)", 1.4142135623730951, ANY),
    GELU("gelu(x0)", RY_EXPR_erf, "erf(x0 * a)", 0.7071067811865476, ANY),
    /* GELU by tanh */
    GELU("gelu_tanh(x0)", RY_EXPR_tanh, "tanh((x0 + x0 * x0 * x0 * b) * a)", 0.7978845608028654,
         0.044715),
    GELU("gelu_tanh(x0)", RY_EXPR_tanh, "tanh((x0 + x0 * b * x0 * x0) * a)", 0.7978845608028654,
         0.044715),
    GELU("gelu_tanh(x0)", RY_EXPR_tanh, "tanh((x0 + pow(x0, 3) * b) * a)", 0.7978845608028654,
         0.044715),
    GELU("gelu_tanh(x0)", RY_EXPR_tanh, "tanh(x0 * a * (1 + x0 * b * x0))", 0.7978845608028654,
         0.044715),
    /* Mish, with softplus by name and by ONNX's definition */
    {"x0 * tanh(softplus(x0))", "mish(x0)", RY_EXPR_tanh, ANY, ANY},
    {"x0 * tanh(max(x0, 0) + log1p(exp(-abs(x0))))", "mish(x0)", RY_EXPR_tanh, ANY, ANY},
    /* leaky ReLU: a steeper slope would make max(x, a x) the line a x above 0, and 0 makes it NaN
       at infinity */
    {"max(x0, x0 * a)", "select(x0 < 0, x0 * a, x0)", RY_EXPR_max, SLOPE, ANY},
};

static const char *const activations[] = {
#define RY_ACTIVATION(name, text) text,
#include "problem/activations.inc"
#undef RY_ACTIVATION
};

static bool is_number(double value, double wanted)
{
    if (wanted == SLOPE) {
        return value > 0 && value <= 1;
    }
    return isnan(wanted) || fabs(value - wanted) <= 1e-6 * fabs(wanted);
}

static bool has(const ry_expr *program, ry_expr_code code)
{
    int i = 0;
    while (i < program->count && program->code[i].code != code) {
        i++;
    }
    return i < program->count;
}

static rynd_status find_spelling(const ry_expr *program, ry_graph *graph, const ry_expr **canonical,
                                 ry_error *error)
{
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        ry_expr_parameter parameters[2] = {{"a", 0}, {"b", 0}};
        bool found;
        if (!has(program, spellings[i].code)) {
            continue;
        }
        RY_TRY(ry_expr_match(program, spellings[i].spelled, parameters, 2, graph->arena.allocator,
                             &found, error));
        if (found && is_number(parameters[0].value, spellings[i].a) &&
            is_number(parameters[1].value, spellings[i].b)) {
            return ry_expr_parse(spellings[i].canonical, parameters, 2, &graph->arena, canonical,
                                 error);
        }
    }
    return RYND_OK;
}

static rynd_status is_activation(const ry_expr *program, ry_graph *graph, bool *found,
                                 ry_error *error)
{
    *found = false;
    for (size_t i = 0; !*found && i < sizeof activations / sizeof *activations; i++) {
        ry_expr_parameter parameters[2] = {{"a", 0}, {"b", 0}};
        RY_TRY(ry_expr_match(program, activations[i], parameters, 2, graph->arena.allocator, found,
                             error));
    }
    return RYND_OK;
}

/* A constant of one number, as x is typed and of no higher rank. */
static bool is_scalar(const ry_graph *graph, ry_value_id id, const ry_value *x)
{
    const ry_value *value = &graph->values[id];
    return value->constant && value->dtype == x->dtype && ry_shape_elements(&value->shape) == 1 &&
           value->shape.rank <= x->shape.rank &&
           (uintptr_t)value->constant % ry_dtype_size(value->dtype) == 0;
}

/* Index of the only input that is no scalar constant; -1: several, or an input is absent. */
static int find_variable(const ry_graph *graph, const ry_node *node)
{
    const ry_value *out = &graph->values[node->out[0]];
    int variable = -1;
    for (int i = 0; i < node->inputs; i++) {
        if (node->in[i] == RY_NO_VALUE) {
            return -1;
        }
        if (!is_scalar(graph, node->in[i], out)) {
            if (variable >= 0) {
                return -1;
            }
            variable = i;
        }
    }
    return variable;
}

/* The node's program with its scalars in place; NULL where it is too long. */
static rynd_status with_numbers(ry_graph *graph, const ry_node *node, int variable,
                                const ry_expr **program, ry_error *error)
{
    *program = node->attrs.expr.program;
    for (int i = node->inputs - 1; *program && i >= 0; i--) {
        if (i != variable) {
            const ry_value *value = &graph->values[node->in[i]];
            ry_expr_parameter number = {"a", ry_get_f64(value->dtype, value->constant, 0)};
            const ry_expr *constant;
            RY_TRY(ry_expr_parse("a", &number, 1, &graph->arena, &constant, error));
            const rynd_status status =
                ry_expr_compose(*program, i, constant, 0, &graph->arena, program, error);
            if (status != RYND_OK && status != RYND_ERROR_UNSUPPORTED) {
                return status;
            }
        }
    }
    return RYND_OK;
}

static rynd_status respell(ry_graph *graph, ry_node *node, int variable, bool *changed,
                           ry_error *error)
{
    const ry_expr *program, *canonical = NULL;
    bool already = false;
    RY_TRY(with_numbers(graph, node, variable, &program, error));
    if (!program) {
        return RYND_OK;
    }
    RY_TRY(find_spelling(program, graph, &canonical, error));
    if (!canonical && node->inputs > 1) {
        RY_TRY(is_activation(program, graph, &already, error));
    }
    if (canonical || already) {
        node->attrs.expr.program = canonical ? canonical : program;
        ry_graph_set_input(graph, node, 0, node->in[variable]);
        ry_graph_set_inputs(graph, node, 1, node->in);
        *changed = true;
    }
    return RYND_OK;
}

rynd_status ry_rewrite_activation(ry_graph *graph, bool *changed, ry_error *error)
{
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        ry_node *node = &graph->nodes[n];
        if (node->op != RY_OP_expr || node->outputs != 1 || node->attrs.expr.axes_input ||
            node->attrs.expr.program->reduces ||
            !ry_dtype_is_float(graph->values[node->out[0]].dtype)) {
            continue;
        }
        const int variable = find_variable(graph, node);
        if (variable >= 0) {
            const ry_value *x = &graph->values[node->in[variable]],
                           *y = &graph->values[node->out[0]];
            if (x->dtype == y->dtype && ry_shape_equal(&x->shape, &y->shape)) {
                RY_TRY(respell(graph, node, variable, changed, error));
            }
        }
    }
    return RYND_OK;
}
