/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that move from core to core: measured, and kept in a machine's file. */
#include "kernels/cpu/peak/peak.h"
#include "machine/machine_fields.h"
#include "machine/machine_file.h"
#include "machine/measure_transfer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static ry_machine four_cores(void)
{
    ry_machine machine;
    ry_machine_reference("Zen 4", RY_ISA_avx512, &machine);
    machine.cores = 4;
    machine.line_bytes = 64;
    return machine;
}

static void its_file_keeps_it(void **state)
{
    (void)state;
    char path[64] = "/tmp/rynd_transfer_XXXXXX";
    const int made = mkstemp(path);
    assert_true(made >= 0 && close(made) == 0);
    ry_machine there = four_cores(), here;
    ry_error error = {""};
    there.transfer_seconds = 27e-9;
    assert_int_equal(ry_machine_write(&there, path, &error), RYND_OK);
    assert_int_equal(ry_machine_read(path, &here, &error), RYND_OK);
    assert_true(fabs(here.transfer_seconds / 27e-9 - 1) < 1e-6);
    remove(path);
}

/* Whatever the machine does meanwhile, the figure is legal; one thread moves nothing. */
static void is_measured(void **state)
{
    (void)state;
    const ry_machine_loops loops = ry_peak_loops(RY_ISA_generic);
    for (unsigned count = 1; count <= 3; count++) {
        ry_threads *threads;
        ry_error error = {""};
        ry_machine machine = four_cores();
        machine.transfer_seconds = 1;
        assert_int_equal(
            ry_threads_create(&ry_system_allocator, count, NULL, NULL, &threads, &error), RYND_OK);
        assert_int_equal(
            ry_machine_measure_transfer(&ry_system_allocator, threads, &loops, &machine, &error),
            RYND_OK);
        assert_true(count > 1 ? machine.transfer_seconds >= 0 && machine.transfer_seconds < 1
                              : machine.transfer_seconds == 0);
        ry_threads_destroy(threads);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_file_keeps_it),
        cmocka_unit_test(is_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
