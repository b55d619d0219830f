/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of a unit and waves of groups, by examples computed by hand. */
#include "machine/occupancy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static rynd_machine h100(void)
{
    rynd_machine m = {.isa = "cuda", .cores = 132, .step_items = 32, .unit_registers = 65536};
    m.unit_items = 2048;
    m.level[RYND_LEVEL_L1].bytes = 228 << 10;
    m.region_seconds = 3e-6;
    return m;
}

static void check_groups(const rynd_machine *m, ry_group_needs needs, unsigned expected)
{
    assert_int_equal(ry_machine_unit_groups(m, &needs), expected);
}

static void registers_items_and_local_memory_bound_groups(void **state)
{
    const rynd_machine m = h100();
    (void)state;
    check_groups(&m, (ry_group_needs){256, 32, 0}, 8);         /* 2048 items */
    check_groups(&m, (ry_group_needs){256, 64, 0}, 4);         /* 65536 / (256 * 64) */
    check_groups(&m, (ry_group_needs){256, 65, 0}, 3);         /* 72 registers: 3.56 */
    check_groups(&m, (ry_group_needs){256, 128, 0}, 2);        /* */
    check_groups(&m, (ry_group_needs){256, 129, 0}, 1);        /* 136 registers: 1.88 */
    check_groups(&m, (ry_group_needs){256, 400, 0}, 1);        /* spilled: 255 */
    check_groups(&m, (ry_group_needs){512, 255, 0}, 1);        /* one at least */
    check_groups(&m, (ry_group_needs){256, 32, 48 << 10}, 4);  /* 228 / (48 + 1) */
    check_groups(&m, (ry_group_needs){256, 32, 100 << 10}, 2); /* 228 / 101 */
    check_groups(&m, (ry_group_needs){100, 32, 0}, 16);        /* 128 items in warps */
}

static void vector_engines_share_groups(void **state)
{
    rynd_machine m = {.isa = "opencl", .cores = 512, .step_items = 16, .unit_registers = 8192};
    (void)state;
    m.unit_items = 128;
    m.group_units = 16;
    m.level[RYND_LEVEL_L1].bytes = 64 << 10;
    assert_true(ry_machine_group_places(&m) == 32);
    check_groups(&m, (ry_group_needs){256, 32, 0}, 8);        /* 16 * 128 items */
    check_groups(&m, (ry_group_needs){256, 128, 0}, 4);       /* 131072 / 32768 */
    check_groups(&m, (ry_group_needs){256, 32, 32 << 10}, 2); /* nothing is reserved */
}

static void check_few(double count, double seconds, double latency, double full, unsigned resident,
                      double expected)
{
    const rynd_machine m = h100();
    const ry_groups groups = {count, seconds, latency, full};
    const double waves = ry_machine_waves(&m, &groups, resident);
    assert_true(waves > expected * (1 - 1e-12) && waves < expected * (1 + 1e-12));
}

static void check_waves(double count, double seconds, double latency, unsigned resident,
                        double expected)
{
    check_few(count, seconds, latency, 0, resident, expected);
}

/* Where a unit's rate takes four groups, fewer take as long as four. */
static void few_groups_do_not_reach_the_rate(void **state)
{
    (void)state;
    check_few(132, 1, 0.5, 4, 8, 4);
    check_few(132 * 3, 1, 0.5, 4, 8, 4);
    check_few(132 * 6, 1, 0.5, 4, 8, 6);
    check_few(132 * 5, 1, 0.5, 4, 4, 8); /* a wave of four, and one alone */
    check_few(132, 1, 9, 4, 8, 9);       /* it waits longer */
}

static void warps_are_shared_by_schedulers(void **state)
{
    rynd_machine m = h100();
    (void)state;
    assert_true(ry_machine_warps(&m, 256) == 2 && ry_machine_warps(&m, 32) == 0.25);
    assert_true(ry_machine_warps(&m, 33) == 0.5);
    m.group_units = 8; /* Intel's vector engines are one each */
    m.step_items = 16;
    assert_true(ry_machine_warps(&m, 256) == 2);
}

static void last_waves_are_not_full(void **state)
{
    (void)state;
    check_waves(132, 1, 0.5, 1, 1);
    check_waves(133, 1, 0.5, 1, 2);   /* one unit has two */
    check_waves(392, 1, 0.5, 1, 3);   /* 2.97 waves */
    check_waves(392, 1, 0.5, 2, 3);   /* two at once, then one */
    check_waves(392, 1, 1.5, 2, 3.5); /* two fill their waits, the last one does not */
    check_waves(392, 1, 4, 4, 4);     /* three at once, which wait */
    check_waves(1, 1, 3, 4, 3);
}

static void other_devices_have_no_waves(void **state)
{
    rynd_machine m = h100();
    (void)state;
    assert_true(ry_machine_has_waves(&m));
    m.step_items = 1; /* a processor with OpenCL */
    assert_false(ry_machine_has_waves(&m));
    m = h100();
    m.unit_registers = 0; /* an older machine file */
    assert_false(ry_machine_has_waves(&m));
}

static void recordings_launch_faster(void **state)
{
    rynd_machine m = h100();
    (void)state;
    assert_true(ry_machine_launch(&m, true) == 3e-6);
    m.replay_seconds = 1e-6;
    assert_true(ry_machine_launch(&m, true) == 1e-6 && ry_machine_launch(&m, false) == 3e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_items_and_local_memory_bound_groups),
        cmocka_unit_test(vector_engines_share_groups),
        cmocka_unit_test(last_waves_are_not_full),
        cmocka_unit_test(few_groups_do_not_reach_the_rate),
        cmocka_unit_test(warps_are_shared_by_schedulers),
        cmocka_unit_test(other_devices_have_no_waves),
        cmocka_unit_test(recordings_launch_faster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
