/* SPDX-License-Identifier: Apache-2.0 */
/* What folding keeps as a node: a value that grows from little, unless the model is large beside
 * it. */
#include "small_net.h"

#include "plan/fold_cost.h"

enum { ROWS = 1000, COLUMNS = 16, LOOKED_UP = 40000 };

/* Rows of a small table, looked up by constant indices, beside `other` bytes of constants: are they
 * a constant in the plan? */
static bool is_folded(int64_t other)
{
    small_net n;
    small_net_begin(&n, 1e11);
    ry_graph *graph = n.builder.graph;
    const ry_shape table = ry_shape_of(2, (int64_t[]){ROWS, COLUMNS}),
                   rows = ry_shape_of(1, (int64_t[]){LOOKED_UP});
    const ry_shape rest = ry_shape_of(1, &other);
    const ry_value_id in[] = {ry_graph_add_constant(graph, NULL, RY_f32, &table, NULL),
                              ry_graph_add_constant(graph, NULL, RY_i64, &rows, NULL)};
    const ry_value_id weights = ry_graph_add_constant(graph, NULL, RY_u8, &rest, NULL);
    assert_int_not_equal(weights, RY_NO_VALUE);
    ry_attrs attrs = ry_attrs_default(RY_OP_gather);
    const ry_value_id found = small_net_node(&n, RY_OP_gather, &attrs, 2, in);
    assert_true(ry_graph_add_output(graph, found));
    ry_plan_give_allowance(graph);
    bool *later;
    const ry_target target = {RY_DEVICE_cpu, RY_ISA_generic, &n.machine, 0, NULL};
    assert_int_equal(ry_plan_fold(graph, &target, &later, &n.error), RYND_OK);
    const bool folded = graph->values[found].constant != NULL;
    small_net_end(&n);
    return folded;
}

static void what_grows_is_measured_by_the_model(void **state)
{
    (void)state;
    assert_false(is_folded(1000));
    assert_true(is_folded(100 << 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_grows_is_measured_by_the_model)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
