/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of expression nodes, in f64 by the kernels of plain C, beside central differences:
 * broadcasting, reductions, several outputs, code behind reductions. */
#include "graph_run.h"

#include "expr/expr.h"
#include "train/gradient.h"
#include "train/gradient_expr.h"

#include <math.h>
#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { MAX_INPUTS = 4, MAX_OUTPUTS = 4, MAX_ELEMENTS = 512 };

typedef struct expr_net {
    ry_graph *graph;
    int inputs, outputs;
    ry_value_id x[MAX_INPUTS], dy[MAX_OUTPUTS], y[MAX_OUTPUTS], dx[MAX_INPUTS];
    int64_t size[MAX_INPUTS], y_size[MAX_OUTPUTS];
    double *data[MAX_INPUTS + MAX_OUTPUTS]; /* of the graph's inputs */
} expr_net;

typedef struct expr_form {
    const char *text;
    ry_shape x[MAX_INPUTS];
    ry_ints axes;
    int keepdims;
} expr_form;

static ry_error error;
static uint64_t seed;

/* xorshift64* (Vigna 2016), in (-2, 2) and never near a whole number of eighths. */
static double draw_number(void)
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    const uint64_t bits = seed * 0x2545f4914f6cdd1du;
    return ((double)(bits >> 33 & 31) - 16) / 8 + 0.01 + (double)(bits >> 40 & 1023) / 1024 * 0.1;
}

/* x as inputs, the node, dy as inputs. */
static void make_net(expr_net *net, const expr_form *form)
{
    memset(net, 0, sizeof *net);
    assert_int_equal(ry_graph_create(&ry_system_allocator, &net->graph, &error), RYND_OK);
    ry_graph *graph = net->graph;
    ry_attrs attrs = ry_attrs_default(RY_OP_expr);
    if (ry_expr_parse(form->text, NULL, 0, &graph->arena, &attrs.expr.program, &error) != RYND_OK) {
        fail_msg("%s: %s", form->text, error.text);
    }
    attrs.expr.axes = form->axes;
    attrs.expr.keepdims = form->keepdims;
    net->inputs = attrs.expr.program->inputs;
    net->outputs = attrs.expr.program->outputs;
    for (int i = 0; i < net->inputs; i++) {
        net->x[i] = ry_graph_add_value(graph, NULL, RY_f64, &form->x[i]);
        net->size[i] = ry_shape_elements(&form->x[i]);
        assert_true(ry_graph_add_input(graph, net->x[i]));
    }
    for (int o = 0; o < net->outputs; o++) {
        net->y[o] = ry_graph_add_value(graph, NULL, RY_NONE, NULL);
    }
    const ry_node_id node = ry_graph_add_node(graph, RY_OP_expr, "n", "Expr", &attrs, net->inputs,
                                              net->x, net->outputs, net->y);
    rynd_status status;
    if (ry_infer_node(graph, &graph->nodes[node], &error, &status) != RY_INFER_DONE) {
        fail_msg("%s: %s", form->text, error.text);
    }
    for (int o = 0; o < net->outputs; o++) {
        const ry_shape shape = graph->values[net->y[o]].shape;
        net->y_size[o] = ry_shape_elements(&shape);
        net->dy[o] = ry_graph_add_value(graph, NULL, RY_f64, &shape);
        assert_true(ry_graph_add_input(graph, net->dy[o]));
    }
    for (int i = 0; i < net->inputs + net->outputs; i++) {
        net->data[i] = calloc(MAX_ELEMENTS, sizeof(double));
    }
}

static void free_net(expr_net *net)
{
    for (int i = 0; i < net->inputs + net->outputs; i++) {
        free(net->data[i]);
    }
    ry_graph_destroy(net->graph);
}

static void derive_net(expr_net *net, const char *text, bool of_inputs)
{
    const bool wanted[MAX_INPUTS] = {true, true, true, true};
    const ry_gradient_call call = {net->graph, 0, net->dy, wanted, net->dx, &error};
    if ((of_inputs ? ry_gradient_expr_of_inputs : ry_gradient_expr)(&call) != RYND_OK) {
        fail_msg("%s: %s", text, error.text);
    }
    for (int i = 0; i < net->inputs; i++) {
        if (net->dx[i] == RY_NO_VALUE) {
            continue;
        }
        const ry_value *x = &net->graph->values[net->x[i]], *dx = &net->graph->values[net->dx[i]];
        assert_true(ry_shape_equal(&x->shape, &dx->shape));
        assert_int_equal(x->dtype, dx->dtype);
    }
}

static graph_run_result run_net(const expr_net *net)
{
    void *inputs[MAX_INPUTS + MAX_OUTPUTS];
    for (int i = 0; i < net->inputs + net->outputs; i++) {
        inputs[i] = net->data[i];
    }
    return graph_run(net->graph, inputs);
}

/* The sum of the outputs, times their gradients. */
static double total(const expr_net *net)
{
    graph_run_result r = run_net(net);
    double sum = 0;
    for (int o = 0; o < net->outputs; o++) {
        const double *y = r.data[net->y[o]];
        for (int64_t k = 0; k < net->y_size[o]; k++) {
            sum += y[k] * net->data[net->inputs + o][k];
        }
    }
    graph_run_free(&r);
    return sum;
}

static void check_form(const expr_form *form, bool of_inputs)
{
    const double step = 0x1p-17;
    expr_net net, plain;
    make_net(&net, form);
    make_net(&plain, form);
    derive_net(&net, form->text, of_inputs);
    for (int i = 0; i < net.inputs + net.outputs; i++) {
        for (int k = 0; k < MAX_ELEMENTS; k++) {
            net.data[i][k] = plain.data[i][k] = draw_number();
        }
    }
    graph_run_result r = run_net(&net);
    for (int i = 0; i < net.inputs; i++) {
        assert_true(net.size[i] <= MAX_ELEMENTS);
        for (int64_t k = 0; k < net.size[i]; k++) {
            const double x = plain.data[i][k];
            const double got =
                net.dx[i] == RY_NO_VALUE ? 0 : ((const double *)r.data[net.dx[i]])[k];
            plain.data[i][k] = x + step;
            const double above = total(&plain);
            plain.data[i][k] = x - step;
            const double expected = (above - total(&plain)) / (2 * step);
            plain.data[i][k] = x;
            if (!(fabs(got - expected) <= 1e-6 * (1 + fabs(expected)))) {
                fail_msg("%s: the gradient of x%d[%d] is %.10g, differences say %.10g", form->text,
                         i, (int)k, got, expected);
            }
        }
    }
    graph_run_free(&r);
    free_net(&net);
    free_net(&plain);
}

static const expr_form forms[] = {
    {"x0 * x1 + x2", {{2, {3, 4}}, {1, {4}}, {2, {3, 1}}}, {0}, 1},
    {"x0 * x1", {{3, {2, 3, 4}}, {2, {3, 1}}}, {0}, 1},
    {"y0 = x0 * x1; y1 = exp(y0); y2 = x1", {{2, {3, 4}}, {1, {1}}}, {0}, 1},
    {"x0 + x1", {{2, {3, 1}}, {2, {1, 4}}}, {0}, 1},
    {"x0 - x1", {{0, {0}}, {2, {3, 2}}}, {0}, 1},
    {"x0 * 3", {{0, {0}}}, {0}, 1},
    {"tanh(x0) * sigmoid(x1)", {{1, {5}}, {1, {5}}}, {0}, 1},
    {"sum(x0)", {{2, {3, 4}}}, {0}, 1},
    {"sum(x0)", {{2, {3, 4}}}, {1, {1}}, 0},
    {"mean(x0 * x1)", {{2, {3, 4}}, {1, {4}}}, {1, {0}}, 0},
    {"mean(x0)", {{4, {2, 3, 2, 2}}}, {2, {2, 3}}, 1},
    {"sqrt(sum(x0 * x0) + 1)", {{2, {3, 4}}}, {1, {1}}, 0},
    {"t = x0 - x1; y0 = sqrt(sum(t * t)); y1 = t * 2", {{2, {3, 4}}, {2, {3, 1}}}, {1, {0}}, 1},
    {"log(sum(exp(x0)))", {{2, {3, 5}}}, {1, {1}}, 1},
    {"max(x0)", {{2, {3, 4}}}, {1, {1}}, 0},
    {"min(x0 * x1)", {{2, {3, 4}}, {1, {4}}}, {1, {0}}, 1},
    {"y0 = max(x0) - min(x0); y1 = max(x0)", {{2, {3, 4}}}, {1, {0}}, 0},
    {"prod(x0)", {{2, {3, 4}}}, {1, {1}}, 1},
    {"prod(x0 * 0.5 + x1)", {{2, {3, 4}}, {2, {3, 1}}}, {0}, 0},
    {"y0 = sum(x0) * mean(x1 * x0); y1 = x1", {{2, {3, 4}}, {2, {3, 4}}}, {2, {0, 1}}, 0},
    {"sum(x0 * x1 + x2)", {{2, {1, 1}}, {2, {1, 5}}, {2, {4, 1}}}, {0}, 1},
    {"y0 = mean(x0); y1 = mean(x0 * x0) - y0 * y0", {{3, {2, 3, 4}}}, {2, {0, 2}}, 0},
    {"prod(x0) / sum(x1)", {{2, {3, 4}}, {1, {4}}}, {1, {1}}, 0},
    {"y0 = floor(x0); y1 = x1 * 2", {{1, {4}}, {1, {4}}}, {0}, 1},
};

static void every_form(void **state)
{
    (void)state;
    seed = 2024;
    for (size_t i = 0; i < COUNT(forms); i++) {
        check_form(&forms[i], false);
        check_form(&forms[i], true);
    }
}

/* Values, by hand: what differences cannot say. */
static void check_values(const char *text, int count, const double *x, const double *dx)
{
    const expr_form form = {text, {{1, {count}}}, {0}, 1};
    expr_net net;
    make_net(&net, &form);
    derive_net(&net, text, false);
    memcpy(net.data[0], x, (size_t)count * sizeof *x);
    net.data[1][0] = 1;
    graph_run_result r = run_net(&net);
    for (int k = 0; k < count; k++) {
        const double got = ((const double *)r.data[net.dx[0]])[k];
        if (got != dx[k]) {
            fail_msg("%s: the gradient of element %d is %g, not %g", text, k, got, dx[k]);
        }
    }
    graph_run_free(&r);
    free_net(&net);
}

/* Ties of max and min share evenly; zeros of prod: as PyTorch's amax, amin and prod. */
static void ties_and_zeros(void **state)
{
    (void)state;
    check_values("max(x0)", 4, (double[]){1, 3, 2, 3}, (double[]){0, 0.5, 0, 0.5});
    check_values("min(x0)", 4, (double[]){1, 1, 1, 3}, (double[]){1.0 / 3, 1.0 / 3, 1.0 / 3, 0});
    check_values("max(x0 * 2)", 2, (double[]){1, 1}, (double[]){1, 1});
    check_values("prod(x0)", 3, (double[]){2, 3, 4}, (double[]){12, 8, 6});
    check_values("prod(x0)", 3, (double[]){2, 0, 4}, (double[]){0, 8, 0});
    check_values("prod(x0)", 3, (double[]){2, 0, 0}, (double[]){0, 0, 0});
    check_values("prod(x0 - 2)", 3, (double[]){2, 3, 5}, (double[]){3, 0, 0});
}

static int live_nodes(const ry_graph *graph)
{
    int count = 0;
    for (size_t n = 0; n < graph->node_count; n++) {
        count += graph->nodes[n].op != RY_OP_dead;
    }
    return count;
}

/* As few nodes as there can be: of what is there already none, of gradients that are read together
 * one. */
static void as_few_nodes_as_can_be(void **state)
{
    (void)state;
    static const struct {
        expr_form form;
        int nodes;
    } cases[] = {
        {{"x0 + x1", {{2, {3, 4}}, {2, {3, 4}}}, {0}, 1}, 0},
        {{"max(x0, 0)", {{2, {3, 4}}}, {0}, 1}, 1},
        {{"x0 * x1", {{2, {3, 4}}, {2, {3, 4}}}, {0}, 1}, 1},
        {{"x0 * x1", {{2, {3, 4}}, {2, {3, 1}}}, {0}, 1}, 1},
        {{"y0 = x0 * x1; y1 = x0 - x1", {{2, {3, 4}}, {2, {3, 4}}}, {0}, 1}, 1},
        {{"mean(x0 * x0)", {{2, {3, 4}}}, {1, {1}}, 1}, 1},
        {{"sqrt(sum(x0 * x0))", {{2, {3, 4}}}, {1, {1}}, 1}, 2},
        {{"max(x0)", {{2, {3, 4}}}, {1, {1}}, 1}, 2},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        expr_net net;
        make_net(&net, &cases[i].form);
        const int before = live_nodes(net.graph);
        derive_net(&net, cases[i].form.text, false);
        if (live_nodes(net.graph) - before != cases[i].nodes) {
            fail_msg("the gradient of %s is %d nodes, not %d", cases[i].form.text,
                     live_nodes(net.graph) - before, cases[i].nodes);
        }
        free_net(&net);
    }
}

/* relu's gradient reads what relu gave, so that nobody keeps what went into it. */
static void relu_reads_its_result(void **state)
{
    (void)state;
    const expr_form form = {"min(max(x0, 0), 6)", {{1, {4}}}, {0}, 1};
    expr_net net;
    make_net(&net, &form);
    derive_net(&net, form.text, false);
    assert_int_equal(ry_graph_use_count(net.graph, net.x[0]), 1);
    assert_int_equal(ry_graph_use_count(net.graph, net.y[0]), 1);
    free_net(&net);
    make_net(&net, &form);
    derive_net(&net, form.text, true);
    assert_int_equal(ry_graph_use_count(net.graph, net.y[0]), 0);
    free_net(&net);
}

/* What has no gradient is no value; what is not asked for is not made. */
static void only_what_is_wanted(void **state)
{
    (void)state;
    const expr_form form = {"floor(x0) * x1", {{1, {4}}, {1, {4}}}, {0}, 1};
    const bool wanted[MAX_INPUTS] = {true, false};
    expr_net net;
    make_net(&net, &form);
    const ry_gradient_call call = {net.graph, 0, net.dy, wanted, net.dx, &error};
    assert_int_equal(ry_gradient_expr(&call), RYND_OK);
    assert_int_equal(net.dx[0], RY_NO_VALUE);
    assert_int_equal(live_nodes(net.graph), 1);
    free_net(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form),
        cmocka_unit_test(ties_and_zeros),
        cmocka_unit_test(as_few_nodes_as_can_be),
        cmocka_unit_test(relu_reads_its_result),
        cmocka_unit_test(only_what_is_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
