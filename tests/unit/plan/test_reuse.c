/* SPDX-License-Identifier: Apache-2.0 */
/* Reuse distances: bytes that a run touches between a tensor's last use and the next. */
#include "small_net.h"

#include "device/cpu/cpu_device.h"
#include "plan/make_plan.h"
#include "plan/plan_time.h"
#include "predict/network.h"

enum { BATCH = 128, LONG = 24 };

typedef struct planned {
    small_net n;
    ry_threads *threads;
    ry_device *device;
    const ry_plan *plan;
} planned;

static void make(planned *p, ry_value_id output)
{
    const ry_plan_options options = {.accuracy = RY_ACCURACY_strict};
    ry_isa isa;
    assert_true(ry_graph_add_output(p->n.builder.graph, output));
    assert_true(ry_isa_parse(p->n.machine.isa, &isa));
    assert_int_equal(
        ry_threads_create(&ry_system_allocator, 1, NULL, NULL, &p->threads, &p->n.error), RYND_OK);
    assert_int_equal(
        ry_cpu_device_create(&ry_system_allocator, p->threads, isa, &p->device, &p->n.error),
        RYND_OK);
    p->device->machine = &p->n.machine;
    assert_int_equal(ry_plan_create(p->device, p->n.builder.graph, &options, &p->plan, &p->n.error),
                     RYND_OK);
}

static void end(planned *p)
{
    ry_plan_destroy(p->plan);
    p->device->table->destroy(p->device);
    ry_threads_destroy(p->threads);
    small_net_end(&p->n);
}

/* Pools one after another, and the sum of the first and the last. Returns the network's output. */
static ry_value_id chain(small_net *n, int pools)
{
    ry_value_id first = RY_NO_VALUE, last = small_net_input(n);
    for (int i = 0; i < pools; i++) {
        last = small_net_pool(n, last);
        first = i == 0 ? last : first;
    }
    const ry_value_id both[] = {first, last};
    return small_net_expression(n, "x0 * 0.5 + x1", 2, both);
}

/* All that a step touches. */
static double touched(const ry_step *step)
{
    double bytes = (double)ry_prepared_workspace(&step->prepared);
    for (int i = 0; i < step->problem.inputs; i++) {
        bytes += (double)ry_tensor_bytes(&step->problem.in[i]);
    }
    for (int i = 0; i < step->problem.outputs; i++) {
        bytes += (double)ry_tensor_bytes(&step->problem.out[i]);
    }
    return bytes;
}

/* Granules at a tensor's ends may be shared with others, which were used at another time. */
static void assert_near(double found, double expected, double tensor)
{
    if (fabs(found - expected) > 0.05 * tensor + 0.01 * expected) {
        fail_msg("distance %.0f, expected %.0f", found, expected);
    }
}

/* The first pool's output was last used by the second pool; all that comes between the sum and that
 * is on the way. The input was last used in the last run. */
static void distances_of_a_chain(void **state)
{
    (void)state;
    planned p;
    small_net_begin(&p.n, 1e12);
    p.n.batch = BATCH;
    make(&p, chain(&p.n, LONG));
    const ry_plan *plan = p.plan;
    assert_int_equal(plan->batch_split_count, 1);
    assert_int_equal(plan->batch_splits[0].micro_batches, 1);
    /* the plan may convert the input before the first pool, and the output after the sum */
    const size_t first = plan->steps[0].problem.op != RY_OP_pool, sum = first + LONG;
    assert_int_equal(plan->steps[first].problem.op, RY_OP_pool);
    assert_int_equal(plan->steps[sum].problem.op, RY_OP_expr);
    const double tensor = (double)ry_tensor_bytes(&plan->steps[first].problem.out[0]);
    double later = 0, between = 0;
    for (size_t s = 1; s < plan->step_count; s++) {
        later += touched(&plan->steps[s]);
        between += s >= first + 2 && s < sum ? touched(&plan->steps[s]) : 0;
    }
    assert_near(plan->steps[0].since[0], later, tensor);
    for (size_t s = 1; s < sum; s++) {
        assert_near(plan->steps[s].since[0], 0, tensor);
    }
    const ry_step *step = &plan->steps[sum];
    const bool swapped = step->values[0] != plan->steps[first].values[1];
    assert_near(step->since[swapped], between, tensor);
    assert_near(step->since[!swapped], 0, tensor);
    end(&p);
}

/* A sum whose operand is far takes longer, but not longer than from memory. */
static void far_operands_take_longer(void **state)
{
    (void)state;
    double seconds[2];
    for (int i = 0; i < 2; i++) {
        planned p;
        small_net_begin(&p.n, 1e12);
        p.n.batch = BATCH / 16;
        make(&p, chain(&p.n, i == 0 ? 2 : 400));
        const ry_plan *plan = p.plan;
        size_t sum = plan->step_count - 1;
        while (plan->steps[sum].problem.op != RY_OP_expr) { /* the output's conversion */
            assert_true(sum > 0);
            sum--;
        }
        const ry_parts parts = ry_plan_step_parts(plan, sum, &plan->steps[sum].prepared, 1, 1e12);
        assert_int_equal(parts.reused_count, 3);
        seconds[i] = ry_predict_in_network(&parts, &p.n.machine, 1, 1, 1e12).memory;
        const double slowest = parts.bytes / p.n.machine.level[RYND_LEVEL_DRAM].bandwidth.one;
        assert_true(seconds[i] <= slowest);
        end(&p);
    }
    assert_true(seconds[1] > 1.2 * seconds[0]);
}

/* More tensors than have room: the last place has their bytes and their mean distance. */
static void merged_operands(void **state)
{
    (void)state;
    ry_parts parts = {0};
    ry_parts_reuse(&parts, 0, 5);
    assert_int_equal(parts.reused_count, 0);
    for (int i = 0; i < RY_PARTS_REUSED + 2; i++) {
        ry_parts_reuse(&parts, 10, i);
    }
    assert_int_equal(parts.reused_count, RY_PARTS_REUSED);
    assert_true(parts.reused[0].bytes == 10 && parts.reused[0].since == 0);
    const ry_reused *last = &parts.reused[RY_PARTS_REUSED - 1];
    assert_true(last->bytes == 30 && fabs(last->since - RY_PARTS_REUSED) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(distances_of_a_chain),
                                       cmocka_unit_test(far_operands_take_longer),
                                       cmocka_unit_test(merged_operands)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
