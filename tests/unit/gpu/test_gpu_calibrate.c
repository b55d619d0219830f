/* SPDX-License-Identifier: Apache-2.0 */
/* The calibration of a device that compiles programs: times are of all its units, families take
 * turns, the time limit holds, and what was timed before is not run. */
#include "gpu_run.h"

#include "predict/predict.h"
#include "tune/calibrate.h"

#include <rynd/rynd.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { FIRST = 16 };

/* Planted times have FACTOR times the counted arithmetic. */
static const double FACTOR = 1.7;

typedef struct planted {
    const rynd_machine *machine;
    const char *family[FIRST]; /* family of the first kernel of each of the first problems */
    int problem[FIRST], count; /* their numbers */
    bool noted;
} planted;

static double plant(void *record, const ry_prepared *prepared, int problem, bool cold)
{
    planted *p = record;
    assert_false(cold); /* nothing flushes a device's caches */
    if (problem < 0) {
        return 0;
    }
    if (p->count < FIRST && (p->count == 0 || p->problem[p->count - 1] != problem)) {
        p->family[p->count] = prepared->kernel->family;
        p->problem[p->count++] = problem;
    }
    const bool has = prepared->problem->op == RY_OP_conv || prepared->problem->op == RY_OP_convt ||
                     prepared->problem->op == RY_OP_matmul;
    const unsigned constants = has ? ((1u << prepared->problem->inputs) - 1) & ~1u : 0;
    return ry_predict_parts(prepared, p->machine, p->machine->cores, constants, 0, FACTOR).all;
}

static void note(void *record, const ry_prepared *prepared, int problem, bool cold, double seconds)
{
    (void)prepared, (void)problem, (void)cold, (void)seconds;
    ((planted *)record)->noted = true;
}

static void calibrate(planted *p, double seconds, ry_calibration_times *times)
{
    ry_device *device = gpu_run_device();
    ry_error error = {""};
    *p = (planted){.machine = device->machine};
    const ry_calibrate_watch watch = {
        .seconds = seconds, .recall = plant, .note = note, .record = p};
    if (ry_calibrate_problems(device, &watch, 0, 0, times, &error) != RYND_OK) {
        fail_msg("%s", error.text);
    }
    assert_false(p->noted); /* nothing ran */
}

static void finds_the_factor_of_all_units(void **state)
{
    (void)state;
    gpu_run_need();
    planted p;
    ry_calibration_times times;
    static ry_calibration found;
    ry_error error;
    calibrate(&p, 3600, &times);
    assert_true(times.count > 150);
    assert_int_equal(ry_calibrate_end(&times, p.machine, p.machine->cores, &found, &error),
                     RYND_OK);
    assert_true(found.count > 20);
    int many = 0;
    for (int i = 0; i < found.count; i++) {
        const ry_calibrated_row *row = &found.rows[i];
        if (row->times >= 30) {
            many++;
            if (!(fabs((double)row->fitted.factor / FACTOR - 1) < 0.15)) {
                fail_msg("%s: %g", row->fitted.family, (double)row->fitted.factor);
            }
        }
    }
    assert_true(many > 0);
    ry_calibration_times_free(&times);
}

static void takes_families_in_turns(void **state)
{
    (void)state;
    gpu_run_need();
    planted p;
    ry_calibration_times times;
    calibrate(&p, 3600, &times);
    int kinds = 0;
    for (int i = 0; i < FIRST; i++) {
        int same = 0;
        while (strcmp(p.family[same], p.family[i]) != 0) {
            same++;
        }
        kinds += same == i;
    }
    if (kinds < FIRST * 3 / 4) {
        fail_msg("%d families in the first %d problems", kinds, FIRST);
    }
    ry_calibration_times_free(&times);
}

static void keeps_to_its_time(void **state)
{
    (void)state;
    gpu_run_need();
    planted p;
    ry_calibration_times times;
    calibrate(&p, 1e-9, &times);
    assert_int_equal(p.count, 1); /* one problem is compiled at least */
    assert_true(times.count >= 1);
    ry_calibration_times_free(&times);
}

/* The device's machine comes from a file, so that no rates are measured. */
static void runs_here(void **state)
{
    (void)state;
    gpu_run_need();
    const char *device = getenv("RYND_TEST_GPU");
    char path[64] = "/tmp/rynd_calibrating_XXXXXX";
    const int made = mkstemp(path);
    assert_true(made >= 0 && close(made) == 0);
    assert_int_equal(rynd_machine_save(gpu_run_device()->machine, path), RYND_OK);
    const rynd_context_options options =
        RYND_SIZED(rynd_context_options, .device = device ? device : "opencl", .machine = path);
    const rynd_calibrate_options how = RYND_SIZED(rynd_calibrate_options, .seconds = 1e-9);
    rynd_context *context;
    rynd_machine machine = RYND_SIZED(rynd_machine);
    rynd_calibrated_family family = RYND_SIZED(rynd_calibrated_family);
    assert_int_equal(rynd_context_create(&options, &context), RYND_OK);
    if (rynd_context_calibrate(context, &how, &machine) != RYND_OK) {
        fail_msg("%s", rynd_last_error());
    }
    assert_true(machine.family_count > 0 &&
                machine.family_count == rynd_context_calibrated_count(context));
    assert_int_equal(rynd_context_get_calibrated(context, 0, &family), RYND_OK);
    assert_true(family.factor > 0 && family.spread > 0 && family.problems == 1);
    rynd_context_destroy(context);
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_factor_of_all_units),
        cmocka_unit_test(takes_families_in_turns),
        cmocka_unit_test(keeps_to_its_time),
        cmocka_unit_test(runs_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
