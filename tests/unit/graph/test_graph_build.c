/* SPDX-License-Identifier: Apache-2.0 */
/* Building, changing, sorting and copying graphs, and arithmetic with symbolic dims. */
#include "expr/expr.h"
#include "graph/graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static ry_graph *make_graph(void)
{
    ry_graph *graph;
    assert_int_equal(ry_graph_create(&ry_system_allocator, &graph, NULL), RYND_OK);
    return graph;
}

static ry_value_id add(ry_graph *graph, const char *name)
{
    ry_shape shape = {.rank = 1, .dim = {4}};
    ry_value_id id = ry_graph_add_value(graph, name, RY_f32, &shape);
    assert_int_not_equal(id, RY_NO_VALUE);
    return id;
}

static ry_node_id identity(ry_graph *graph, ry_value_id from, ry_value_id to)
{
    ry_node_id id =
        ry_graph_add_node(graph, RY_OP_identity, NULL, "Identity", NULL, 1, &from, 1, &to);
    assert_int_not_equal(id, RY_NO_NODE);
    return id;
}

static void test_names(void **state)
{
    (void)state;
    ry_graph *graph = make_graph();
    assert_int_equal(ry_graph_find(graph, "a"), RY_NO_VALUE);
    enum { COUNT = 5000 };
    char name[32];
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "v%d", i);
        assert_int_equal(add(graph, name), i);
    }
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "v%d", i);
        assert_int_equal(ry_graph_find(graph, name), i);
    }
    assert_int_equal(ry_graph_find(graph, "v5000"), RY_NO_VALUE);
    assert_true(ry_graph_rename_value(graph, 7, "new"));
    assert_int_equal(ry_graph_find(graph, "v7"), RY_NO_VALUE);
    assert_int_equal(ry_graph_find(graph, "new"), 7);
    assert_string_equal(graph->values[7].name, "new");
    assert_int_equal(add(graph, "v7"), COUNT); /* the name is free again */
    assert_int_equal(ry_graph_find(graph, "v7"), COUNT);
    ry_graph_destroy(graph);
}

static void test_made_up_names(void **state)
{
    (void)state;
    ry_graph *graph = make_graph();
    ry_value_id taken = add(graph, "value/1"), first = add(graph, NULL), second = add(graph, NULL);
    assert_string_not_equal(graph->values[first].name, graph->values[taken].name);
    assert_string_not_equal(graph->values[first].name, graph->values[second].name);
    assert_int_equal(ry_graph_find(graph, graph->values[first].name), first);
    ry_node_id node = identity(graph, taken, first);
    assert_string_equal(graph->nodes[node].name, graph->values[first].name);
    assert_int_equal(graph->values[first].producer, node);
    ry_graph_destroy(graph);
}

static void test_constants(void **state)
{
    (void)state;
    ry_graph *graph = make_graph();
    ry_value_id list = ry_graph_add_i64s(graph, "list", 3, (int64_t[]){1, -2, 3}),
                one = ry_graph_add_i64s(graph, NULL, -1, (int64_t[]){9});
    ry_value_id half = ry_graph_add_scalar(graph, RY_f16, 0.5),
                none = ry_graph_add_i64s(graph, "none", 0, NULL);
    assert_int_equal(ry_get_i64(RY_i64, graph->values[list].constant, 1), -2);
    assert_int_equal(graph->values[one].shape.rank, 0);
    assert_int_equal(ry_get_i64(RY_i64, graph->values[one].constant, 0), 9);
    assert_true(ry_get_f64(RY_f16, graph->values[half].constant, 0) == 0.5);
    assert_non_null(graph->values[none].constant); /* empty, but a constant */
    ry_tensor t = ry_graph_tensor(graph, list);
    assert_int_equal(t.dim[0], 3);
    assert_ptr_equal(t.data, graph->values[list].constant);
    assert_false(
        ry_tensor_present(&(ry_tensor){.dtype = ry_graph_tensor(graph, RY_NO_VALUE).dtype}));
    ry_shape large = {.rank = 2, .dim = {INT64_MAX, 4}},
             open = {.rank = 1, .dim = {ry_graph_symbol(graph, "N", 1)}};
    assert_int_equal(ry_graph_add_constant(graph, NULL, RY_f32, &large, NULL), RY_NO_VALUE);
    assert_int_equal(ry_graph_add_constant(graph, NULL, RY_f32, &open, NULL), RY_NO_VALUE);
    ry_graph_destroy(graph);
}

static void test_uses(void **state)
{
    (void)state;
    ry_graph *graph = make_graph();
    ry_value_id a = add(graph, "a"), b = add(graph, "b"), c = add(graph, "c");
    assert_true(ry_graph_add_input(graph, a) && ry_graph_add_output(graph, c) &&
                ry_graph_add_output(graph, b));
    ry_node_id first = identity(graph, a, b);
    identity(graph, b, c);
    assert_int_equal(ry_graph_use_count(graph, a), 1);
    assert_int_equal(ry_graph_use_count(graph, b), 2);
    assert_true(ry_graph_is_output(graph, b));
    assert_false(ry_graph_is_output(graph, a));
    const ry_value_id with[] = {a, a, c};
    ry_graph_replace_values(graph, with);
    assert_int_equal(ry_graph_use_count(graph, b), 0);
    assert_int_equal(ry_graph_use_count(graph, a), 3);
    assert_int_equal(graph->outputs[1], a);
    ry_graph_remove_node(graph, first);
    assert_int_equal(graph->nodes[first].op, RY_OP_dead);
    assert_int_equal(graph->values[b].producer, RY_NO_NODE);
    assert_int_equal(ry_graph_use_count(graph, a), 2); /* the dead one no longer counts */
    ry_graph_set_input(graph, &graph->nodes[1], 0, b);
    assert_int_equal(ry_graph_use_count(graph, a), 1);
    assert_int_equal(ry_graph_use_count(graph, b), 1);
    ry_graph_set_inputs(graph, &graph->nodes[1], 0, graph->nodes[1].in);
    assert_int_equal(ry_graph_use_count(graph, b), 0);
    ry_graph_clear_outputs(graph);
    assert_false(ry_graph_is_output(graph, a));
    assert_int_equal(ry_graph_use_count(graph, a), 0);
    assert_int_equal(ry_graph_use_count(graph, c), 0);
    ry_graph_destroy(graph);
}

/* d and e are not needed; the rest is given last to first. */
static void test_compact(void **state)
{
    (void)state;
    ry_graph *graph = make_graph();
    ry_value_id a = add(graph, "a"), b = add(graph, "b"), c = add(graph, "c"), d = add(graph, "d"),
                e = add(graph, "e");
    ry_graph_add_input(graph, a);
    ry_graph_add_output(graph, c);
    identity(graph, b, c);
    identity(graph, d, e);
    identity(graph, a, b);
    identity(graph, a, d);
    assert_int_equal(ry_graph_compact(graph, NULL), RYND_OK);
    assert_int_equal(graph->node_count, 2);
    assert_string_equal(graph->nodes[0].name, "b");
    assert_string_equal(graph->nodes[1].name, "c");
    assert_int_equal(graph->values[b].producer, 0);
    assert_int_equal(graph->values[c].producer, 1);
    assert_int_equal(graph->values[e].producer, RY_NO_NODE);
    ry_graph_destroy(graph);
}

/* A value whose content is known needs no node. */
static void test_compact_constant(void **state)
{
    (void)state;
    static const float content[4] = {1, 2, 3, 4};
    ry_graph *graph = make_graph();
    ry_value_id a = add(graph, "a"), b = add(graph, "b"), c = add(graph, "c");
    ry_graph_add_input(graph, a);
    ry_graph_add_output(graph, c);
    identity(graph, a, b);
    identity(graph, b, c);
    graph->values[b].constant = content;
    assert_int_equal(ry_graph_compact(graph, NULL), RYND_OK);
    assert_int_equal(graph->node_count, 1);
    assert_string_equal(graph->nodes[0].name, "c");
    assert_int_equal(graph->values[b].producer, RY_NO_NODE);
    ry_graph_destroy(graph);
}

static void test_compact_keeps_order(void **state)
{
    (void)state;
    ry_graph *graph = make_graph();
    enum { COUNT = 40 };
    ry_value_id in = add(graph, "in"), out[COUNT];
    ry_graph_add_input(graph, in);
    for (int i = 0; i < COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "o%d", i);
        out[i] = add(graph, name);
        identity(graph, in, out[i]);
    }
    for (int i = COUNT - 1; i >= 0; i--) {
        ry_graph_add_output(graph, out[i]);
    }
    assert_int_equal(ry_graph_compact(graph, NULL), RYND_OK);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(graph->nodes[i].out[0], out[i]);
    }
    ry_graph_destroy(graph);
}

static void test_cycle(void **state)
{
    (void)state;
    ry_graph *graph = make_graph();
    ry_error error = {""};
    ry_value_id a = add(graph, "a"), b = add(graph, "b"), c = add(graph, "c");
    ry_graph_add_output(graph, c);
    identity(graph, b, c);
    identity(graph, a, b);
    identity(graph, b, a);
    assert_int_equal(ry_graph_compact(graph, &error), RYND_ERROR_FORMAT);
    assert_non_null(strstr(error.text, "cycle"));
    assert_non_null(strstr(error.text, "'a'"));
    assert_non_null(strstr(error.text, "'b'"));
    assert_null(strstr(error.text, "'c'")); /* it hangs on the cycle, but is not of it */
    ry_graph_destroy(graph);
}

static void test_produced_twice(void **state)
{
    (void)state;
    ry_graph *graph = make_graph();
    ry_error error = {""};
    ry_value_id a = add(graph, "a"), b = add(graph, "b");
    ry_graph_add_output(graph, b);
    identity(graph, a, b);
    identity(graph, a, b);
    assert_int_equal(ry_graph_compact(graph, &error), RYND_ERROR_FORMAT);
    assert_non_null(strstr(error.text, "'b'"));
    ry_graph_destroy(graph);
}

/* A chain as long as a file may make it: depth must not cost stack. */
static void test_long_chain(void **state)
{
    (void)state;
    ry_graph *graph = make_graph();
    enum { COUNT = 200000 };
    ry_value_id last = add(graph, NULL);
    for (int i = 0; i < COUNT; i++) {
        ry_value_id next = add(graph, NULL);
        identity(graph, last, next);
        last = next;
    }
    ry_graph_add_output(graph, last);
    assert_int_equal(ry_graph_compact(graph, NULL), RYND_OK);
    assert_int_equal(graph->node_count, COUNT);
    ry_graph_destroy(graph);
}

static void test_clone(void **state)
{
    (void)state;
    ry_graph *graph = make_graph(), *copy;
    ry_error error = {""};
    ry_attrs attrs = ry_attrs_default(RY_OP_expr), equation = ry_attrs_default(RY_OP_einsum);
    assert_int_equal(
        ry_expr_parse("max(x0, 0)", NULL, 0, &graph->arena, &attrs.expr.program, &error), RYND_OK);
    equation.einsum.equation = ry_arena_string(&graph->arena, "i->i", 4);
    int64_t symbol = ry_graph_symbol(graph, "N", 1), sum = ry_dim_affine(graph, symbol, 3, 1);
    ry_shape shape = {.rank = 1, .dim = {sum}};
    ry_value_id a = ry_graph_add_value(graph, "a", RY_f32, &shape), b = add(graph, "b"),
                c = add(graph, "c");
    ry_graph_add_input(graph, a);
    ry_graph_add_output(graph, c);
    ry_graph_add_node(graph, RY_OP_expr, "relu", "Relu", &attrs, 1, &a, 1, &b);
    ry_graph_add_node(graph, RY_OP_einsum, "sum", "Einsum", &equation, 1, &b, 1, &c);
    assert_int_equal(ry_graph_clone(graph, &copy, &error), RYND_OK);
    ry_graph_destroy(graph); /* the copy must not need it */
    assert_int_equal(ry_graph_find(copy, "b"), b);
    assert_int_equal(copy->node_count, 2);
    assert_string_equal(copy->nodes[0].name, "relu");
    assert_string_equal(copy->nodes[1].source, "Einsum");
    assert_string_equal(copy->nodes[1].attrs.einsum.equation, "i->i");
    assert_int_equal(copy->nodes[1].in[0], b);
    assert_int_equal(copy->values[c].producer, 1);
    assert_string_equal(ry_expr_print(copy->nodes[0].attrs.expr.program, &copy->arena),
                        "max(x0, 0)");
    /* Symbols keep their numbers and what they are made of. */
    assert_string_equal(ry_graph_symbol_text(copy, copy->values[a].shape.dim[0]), "N+3");
    assert_int_equal(ry_dim_affine(copy, copy->values[a].shape.dim[0], -3, 1), symbol);
    assert_int_not_equal(add(copy, "d"), RY_NO_VALUE);
    ry_graph_destroy(copy);
}

static void assert_dim(const ry_graph *graph, int64_t dim, const char *text)
{
    assert_true(dim < 0);
    assert_string_equal(ry_graph_symbol_text(graph, dim), text);
}

static void test_dims(void **state)
{
    (void)state;
    ry_graph *g = make_graph();
    int64_t n = ry_graph_symbol(g, "N", 1), h = ry_graph_symbol(g, "H", 1),
            odd = ry_graph_symbol(g, "past + seq", 10);
    assert_int_equal(ry_graph_symbol(g, "N", 1), n);
    assert_int_not_equal(n, h);
    assert_int_equal(ry_dim_add(g, 2, 3), 5);
    assert_int_equal(ry_dim_mul(g, 2, 3), 6);
    assert_int_equal(ry_dim_floor_div(g, 7, 2), 3);
    assert_int_equal(ry_dim_ceil_div(g, 7, 2), 4);
    assert_int_equal(ry_dim_affine(g, 7, -8, 2), RY_DIM_ERROR);
    assert_int_equal(ry_dim_sub(g, 3, 3), 0);
    assert_int_equal(ry_dim_sub(g, ry_dim_add(g, n, h), n), h);
    assert_int_equal(ry_dim_sub(g, h, h), 0);
    assert_int_equal(ry_dim_mul(g, h, 0), 0);
    assert_int_equal(ry_dim_mul(g, h, 1), h);
    assert_int_equal(ry_dim_mul(g, h, n), ry_dim_mul(g, n, h));
    assert_dim(g, ry_dim_add(g, ry_dim_mul(g, 2, h), n), "N+2*H");
    assert_dim(g, ry_dim_affine(g, h, -1, 2), "(H-1)/2");
    assert_dim(g, ry_dim_mul(g, odd, 2), "2*(past + seq)");
    assert_int_equal(ry_dim_floor_div(g, ry_dim_mul(g, h, 6), 3), ry_dim_mul(g, h, 2));
    assert_dim(g, ry_dim_affine(g, ry_dim_mul(g, h, 6), 4, 3), "2*H+1"); /* floor(4/3) */
    assert_dim(g, ry_dim_affine(g, ry_dim_mul(g, h, 6), -1, 3), "2*H-1");
    assert_int_equal(ry_dim_floor_div(g, n, n), 1);
    assert_int_equal(ry_dim_floor_div(g, n, 0), RY_DIM_ERROR);
    assert_int_equal(ry_dim_mul(g, INT64_MAX, 2), RY_DIM_ERROR);
    assert_int_equal(ry_dim_add(g, INT64_MAX, 1), RY_DIM_ERROR);
    assert_int_equal(ry_dim_mul(g, ry_dim_mul(g, h, INT64_MAX), 2), RY_DIM_ERROR);
    assert_int_equal(ry_dim_add(g, RY_DIM_ERROR, 1), RY_DIM_ERROR);
    assert_int_equal(ry_dim_mul(g, n, RY_DIM_ERROR), RY_DIM_ERROR);
    int64_t unknown = ry_dim_unknown(g);
    assert_true(ry_dim_is_unknown(g, unknown) &&
                ry_dim_is_unknown(g, ry_dim_affine(g, unknown, 1, 1)) && !ry_dim_is_unknown(g, h));
    assert_int_not_equal(ry_dim_unknown(g), unknown);
    ry_graph_destroy(g);
}

/* Texts that double at every step must not fill the memory. */
static void test_dims_stay_short(void **state)
{
    (void)state;
    ry_graph *g = make_graph();
    int64_t dim = ry_graph_symbol(g, "N", 1);
    for (int i = 0; i < 200; i++) {
        dim = ry_dim_mul(g, dim, dim);
        assert_true(dim < 0 && dim != RY_DIM_ERROR);
    }
    assert_true(g->arena.total < 1 << 20);
    int64_t sum = 0;
    for (int i = 0; i < 20; i++) {
        char name[8];
        int length = snprintf(name, sizeof name, "s%d", i);
        sum = ry_dim_add(g, sum, ry_graph_symbol(g, name, (size_t)length));
        assert_true(sum < 0 && sum != RY_DIM_ERROR);
    }
    ry_graph_destroy(g);
}

static void test_shape_text(void **state)
{
    (void)state;
    ry_graph *g = make_graph();
    char text[64], small[6];
    ry_shape shape = {.rank = 4, .dim = {1, 3, ry_graph_symbol(g, "H", 1), 0}},
             scalar = {.rank = 0}, unknown = {.rank = -1};
    assert_string_equal(ry_shape_text(g, &shape, text, sizeof text), "1x3xHx0");
    assert_string_equal(ry_shape_text(g, &scalar, text, sizeof text), "scalar");
    assert_string_equal(ry_shape_text(g, &unknown, text, sizeof text), "of unknown rank");
    assert_string_equal(ry_shape_text(g, &shape, small, sizeof small), "1x3xH");
    ry_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_made_up_names),
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_uses),
        cmocka_unit_test(test_compact),
        cmocka_unit_test(test_compact_constant),
        cmocka_unit_test(test_compact_keeps_order),
        cmocka_unit_test(test_cycle),
        cmocka_unit_test(test_produced_twice),
        cmocka_unit_test(test_long_chain),
        cmocka_unit_test(test_clone),
        cmocka_unit_test(test_dims),
        cmocka_unit_test(test_dims_stay_short),
        cmocka_unit_test(test_shape_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
