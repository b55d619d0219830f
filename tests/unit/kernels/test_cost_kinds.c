/* SPDX-License-Identifier: Apache-2.0 */
/* Costs by kind of operation: a machine like the one of the fit has the fitted costs; another one's
 * change by its rates, each kind by its own. */
#include "kernels/costs.h"
#include "kernels/cpu/peak/peak.h"
#include "machine/machine_file.h"
#include "predict/network.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const size_t offsets[] = {
#define RY_COST_KIND(family, row, kind) offsetof(ry_costs, family.row),
#include "kernels/cost_kinds.inc"
#undef RY_COST_KIND
};

static void each_coefficient_has_one_kind(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_true(offsets[i] != offsets[j]);
        }
    }
}

/* The same plans and predictions, byte for byte. */
static void like_the_fit(void **state)
{
    (void)state;
    ry_machine machine;
    ry_machine_reference("Zen 4", RY_ISA_avx512, &machine);
    for (int kind = 0; kind < RY_COST_KINDS; kind++) {
        assert_true(ry_cost_scale(&machine, RY_COSTS_LINES, kind) == 1);
    }
    const ry_costs *fitted = ry_costs_of(RY_COSTS_LINES);
    assert_memory_equal(&ry_costs_on(&machine, 16)->igemm, &fitted->igemm, sizeof fitted->igemm);
    assert_true(ry_costs_on(&machine, 16)->qconv.pixel != fitted->qconv.pixel);
    ry_machine_reference("Zen 5", RY_ISA_avx512, &machine); /* quantised layers were fitted there */
    assert_memory_equal(&ry_costs_on(&machine, 16)->qconv, &fitted->qconv, sizeof fitted->qconv);
    assert_true(ry_costs_on(&machine, 16)->igemm.program != fitted->igemm.program);
    ry_machine_reference("Zen 4", RY_ISA_avx512, &machine);
    memset(machine.kind, 0, sizeof machine.kind); /* unknown: with the peak */
    machine.f32.one *= 2;
    assert_int_equal(ry_cost_column_of(&machine, 16), RY_COSTS_LINES);
    assert_int_equal(ry_cost_column_of(&machine, 8), RY_COSTS_PARTS);
}

static void by_its_rates(void **state)
{
    (void)state;
    ry_machine slow, other;
    ry_machine_reference("Zen 4", RY_ISA_avx512, &slow);
    other = slow;
    slow.kind[RYND_KIND_SCALAR].one /= 2;
    other.kind[RYND_KIND_STORE].one *= 2;
    const ry_costs *fitted = ry_costs_of(RY_COSTS_LINES);
    for (int turn = 0; turn < 2; turn++) {
        const ry_costs *costs = ry_costs_on(&slow, 16);
        assert_true(costs->igemm.program == 2 * fitted->igemm.program);
        assert_true(costs->igemm.store == fitted->igemm.store);
        costs = ry_costs_on(&other, 16);
        assert_true(costs->igemm.program == fitted->igemm.program);
        assert_true(costs->igemm.store == fitted->igemm.store / 2);
        assert_true(costs->blocks.gemm_rows == fitted->blocks.gemm_rows);
    }
    slow.kind[RYND_KIND_SCALAR].one = 1e6; /* bounded */
    assert_true(ry_cost_scale(&slow, RY_COSTS_LINES, RYND_KIND_SCALAR) == 4);
}

/* The file of another machine gives its costs and its coefficients of networks here. */
static void its_file_carries_them(void **state)
{
    (void)state;
    char path[64] = "/tmp/rynd_kinds_XXXXXX";
    const int made = mkstemp(path);
    assert_true(made >= 0 && close(made) == 0);
    ry_machine there, here;
    ry_error error = {""};
    ry_machine_reference("Sapphire Rapids", RY_ISA_avx512, &there);
    there.kind[RYND_KIND_PERMUTE].one /= 3;
    there.network_step = 3e-6;
    there.network_kept = 0.25;
    there.network_exposed = 0.5;
    there.network_rate = 0.75;
    there.network_region = 1.5;
    assert_int_equal(ry_machine_write(&there, path, &error), RYND_OK);
    assert_int_equal(ry_machine_read(path, &here, &error), RYND_OK);
    for (int kind = 0; kind < RY_COST_KINDS; kind++) {
        assert_true(ry_cost_scale(&there, RY_COSTS_INTEL, kind) ==
                    ry_cost_scale(&here, RY_COSTS_INTEL, kind));
    }
    assert_true(ry_cost_scale(&here, RY_COSTS_INTEL, RYND_KIND_PERMUTE) > 2);
    const ry_network_fit fit = ry_network_fit_of(&here);
    assert_true(fabs(fit.step / 3e-6 - 1) < 1e-6 && fabs(fit.kept - 0.25) < 1e-6);
    assert_true(fabs(fit.exposed - 0.5) < 1e-6 && fabs(fit.rate - 0.75) < 1e-6);
    assert_true(fabs(fit.region - 1.5) < 1e-6);
    const ry_parts parts = {
        .arithmetic = 1e-5, .overhead = 1e-6, .bytes = 1e6, .raw = 1e5, .read = 1e5};
    const double predicted = ry_predict_in_network(&parts, &there, 1, 1.2, 1e7).all;
    assert_true(fabs(ry_predict_in_network(&parts, &here, 1, 1.2, 1e7).all / predicted - 1) < 1e-6);
    there.network_step = 0;
    assert_true(ry_predict_in_network(&parts, &there, 1, 1.2, 1e7).all != predicted);
    remove(path);
}

/* A step starts sooner in a network whose bytes stay in a cache: by that cache's latency. */
static void starts_by_level(void **state)
{
    (void)state;
    ry_machine machine;
    ry_machine_reference("Zen 4", RY_ISA_avx512, &machine);
    const ry_parts parts = {.arithmetic = 1e-7};
    const double bytes[] = {1e3, 4e6, 1e9};
    const rynd_level levels[] = {RYND_LEVEL_L2, RYND_LEVEL_L3, RYND_LEVEL_DRAM};
    const double far = ry_network_fit_of(&machine).step;
    for (int i = 0; i < 3; i++) {
        const double share = machine.level[levels[i]].latency.one /
                             machine.level[RYND_LEVEL_DRAM].latency.one,
                     start = ry_predict_in_network(&parts, &machine, 1, 1, bytes[i]).overhead;
        assert_true(fabs(start - far * share) < 1e-12);
    }
    machine.level[RYND_LEVEL_DRAM].latency.one = 0; /* unknown */
    machine.network_step = 2e-6;
    assert_true(ry_predict_in_network(&parts, &machine, 1, 1, 1e3).overhead == 2e-6);
}

/* Each loop returns its number of operations, and leaves zeros. */
static void loops_count(void **state)
{
    (void)state;
    static _Alignas(64) float data[RY_KIND_FLOATS];
    const ry_machine_loops loops = ry_peak_loops(RY_ISA_generic);
    for (int kind = 0; kind < RYND_KINDS; kind++) {
        float sink;
        const double once = loops.kind[kind](1, data, &sink),
                     more = loops.kind[kind](5, data, &sink);
        assert_true(once > 0 && more == 5 * once);
        for (int i = 0; i < RY_KIND_FLOATS; i++) {
            assert_true(data[i] == 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_coefficient_has_one_kind),
        cmocka_unit_test(like_the_fit),
        cmocka_unit_test(starts_by_level),
        cmocka_unit_test(by_its_rates),
        cmocka_unit_test(its_file_carries_them),
        cmocka_unit_test(loops_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
