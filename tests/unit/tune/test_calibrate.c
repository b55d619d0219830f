/* SPDX-License-Identifier: Apache-2.0 */
/* The calibration: its fit finds a planted factor, its problems reach the families of a network,
 * its rows decide predictions, and its machine's file keeps them. */
#include "kernel_case.h"

#include "kernels/form.h"
#include "machine/machine_file.h"
#include "predict/forecast.h"
#include "tune/calibrate_fit.h"

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

/* FIRST_STEP: number of the first network's first step in a record; STEPS: numbers of a network. */
enum {
    TIMES = 12,
    NETWORKS = 6,
    STEPS = 129,
    FIRST_STEP = 0
#define RY_CALIBRATION(text) +1
#include "tune/calibration_problems.inc"
#undef RY_CALIBRATION
};

static double factors[2 * TIMES]; /* the fit's own */

/* Problems of one family, and the choice for each; constants vary. */
typedef struct planted {
    kernel_case c[TIMES];
    ry_tensor in[TIMES][CASE_OPERANDS], out[TIMES][CASE_OPERANDS];
    ry_problem problem[TIMES];
    ry_choice choice[TIMES];
    ry_calibration_time time[TIMES];
} planted;

/* Times as the family takes them whose arithmetic takes `factor` times what it counts. */
static planted *plant(const ry_machine *machine, double factor, int count)
{
    planted *p = calloc(1, sizeof *p);
    assert_non_null(p);
    ry_target target = *every_kernel_target(RY_ISA_generic);
    target.machine = machine;
    for (int i = 0; i < count; i++) {
        char text[128];
        ry_error error;
        snprintf(text, sizeof text, "softmax x0=%dx1000:f32 y0=%dx1000:f32 axis=1", 40 + 9 * i,
                 40 + 9 * i);
        kernel_case_parse(&p->c[i], text);
        p->problem[i] = kernel_case_problem(&p->c[i], CASE_NCHW, p->in[i], p->out[i]);
        assert_int_equal(ry_predict_choose(&p->problem[i], &target, 0, NULL, &p->choice[i], &error),
                         RYND_OK);
        const ry_prepared *prepared = &p->choice[i].prepared;
        p->time[i] = (ry_calibration_time){
            .kernel = prepared->kernel,
            .prepared = prepared,
            .problem = i,
            .seconds = ry_predict_parts(prepared, machine, 1, 0, 0, factor).all};
    }
    return p;
}

static void end(planted *p, int count)
{
    for (int i = 0; i < count; i++) {
        kernel_case_end(&p->c[i]);
    }
    free(p);
}

/* Other work disturbed one of twelve times. */
static void finds_the_factor(void **state)
{
    (void)state;
    const ry_machine *machine = every_kernel_target(RY_ISA_generic)->machine;
    static const double planted_factors[] = {0.4, 1, 3};
    for (size_t k = 0; k < sizeof planted_factors / sizeof *planted_factors; k++) {
        planted *p = plant(machine, planted_factors[k], TIMES);
        p->time[5].seconds *= 20;
        ry_calibration found;
        ry_calibrate_fit(p->time, TIMES, machine, 1, factors, &found);
        assert_int_equal(found.count, 1);
        const rynd_family_error *row = &found.rows[0].fitted;
        assert_true(fabs((double)row->factor / planted_factors[k] - 1) < 0.1);
        assert_true(row->problems == TIMES && found.rows[0].times == TIMES);
        assert_string_equal(row->family, p->time[0].prepared->kernel->family);
        end(p, TIMES);
    }
}

/* One time moves the factor a part of the way; problems that are left out are not seen. */
static void believes_few_times_less(void **state)
{
    (void)state;
    const ry_machine *machine = every_kernel_target(RY_ISA_generic)->machine;
    planted *p = plant(machine, 5, TIMES);
    ry_calibration one, all;
    ry_calibrate_fit(p->time, 1, machine, 1, factors, &one);
    ry_calibrate_fit(p->time, TIMES, machine, 1, factors, &all);
    const double few = (double)one.rows[0].fitted.factor, many = (double)all.rows[0].fitted.factor;
    assert_true(few > 1.5 && few < many && many < 5.1);
    assert_true(fabs(one.rows[0].after - one.rows[0].before) < 1e-6 && all.rows[0].after < 0.1);
    assert_true(all.rows[0].before > 0.5);
    end(p, TIMES);
}

/* Problems of one family that have no factor in common: two thirds take the time known before,
 * the others five times as long. */
static void takes_no_factor_that_predicts_worse(void **state)
{
    (void)state;
    const ry_machine *machine = every_kernel_target(RY_ISA_generic)->machine;
    planted *p = plant(machine, 1, 1);
    const double known = ry_forecast_residual(machine, p->time[0].kernel).factor;
    end(p, 1);
    p = plant(machine, known, TIMES);
    for (int i = 0; i < TIMES; i += 3) {
        p->time[i].seconds *= 5; /* all of one third */
    }
    ry_calibration found;
    ry_calibrate_fit(p->time, TIMES, machine, 1, factors, &found);
    const ry_calibrated_row *row = &found.rows[0];
    assert_true(fabs((double)row->fitted.factor / known - 1) < 1e-6 && row->after == row->before);
    assert_true((double)row->fitted.spread > 0.5);
    end(p, TIMES);
}

/* Costs of GPUs' kernels are estimates, so that one time moves a factor nearly all the way. */
static void believes_a_device_at_once(void **state)
{
    (void)state;
    ry_machine machine = *every_kernel_target(RY_ISA_generic)->machine;
    machine.group_items = 64;
    planted *p = plant(&machine, 40, TIMES);
    ry_calibration one;
    ry_calibrate_fit(p->time, 1, &machine, 1, factors, &one);
    assert_true((double)one.rows[0].fitted.factor > 30);
    end(p, TIMES);
}

/* Steps of two networks, of problems between a microsecond and a millisecond: each starts in
 * `start` seconds. The fit finds the start and the family's factor, both. */
static void finds_the_start_of_steps(void **state)
{
    (void)state;
    const double start = 4e-6, factor = 1.4;
    const ry_machine *machine = every_kernel_target(RY_ISA_generic)->machine;
    planted *p = plant(machine, factor, TIMES);
    ry_machine slow = *machine;
    slow.network_step = start;
    for (int i = 0; i < TIMES; i++) {
        ry_calibration_time *t = &p->time[i];
        t->parts = ry_predict_count(t->prepared, machine, 1, 0);
        t->parts.arithmetic *= i % 3 == 0 ? 1 : i % 3 == 1 ? 0.05 : 0.01;
        t->parts.bytes *= i % 3 == 0 ? 1 : 0.01;
        t->prepared = NULL;
        t->network = i % 2;
        t->network_bytes = 1e12; /* code comes from memory */
        t->seconds = ry_predict_in_network(&t->parts, &slow, 1, factor, t->network_bytes).all;
    }
    ry_calibration found;
    ry_calibrate_fit(p->time, TIMES, machine, 1, factors, &found);
    if (!(fabs(found.network.step / start - 1) < 0.3)) {
        fail_msg("a step starts in %g s: found %g (kept %g, exposed %g, rate %g, factor %g)", start,
                 found.network.step, found.network.kept, found.network.exposed, found.network.rate,
                 (double)found.rows[0].fitted.factor);
    }
    assert_true(fabs((double)found.rows[0].fitted.factor / factor - 1) < 0.15);
    assert_true(found.rows[0].after < 0.1 && found.rows[0].after < 0.75 * found.rows[0].before);
    end(p, TIMES);
}

static void decides_predictions(void **state)
{
    (void)state;
    ry_machine machine = *every_kernel_target(RY_ISA_generic)->machine;
    planted *p = plant(&machine, 1, 1);
    const ry_kernel *kernel = p->choice[0].prepared.kernel;
    assert_true(ry_forecast_calibrated(&machine, kernel) == 1);
    machine.family_count = 1;
    snprintf(machine.families[0].family, sizeof machine.families[0].family, "%s", kernel->family);
    machine.families[0].factor = 2;
    machine.families[0].spread = 0.125;
    assert_true(ry_forecast_calibrated(&machine, kernel) == 2);
    assert_true(ry_forecast_residual(&machine, kernel).spread == 0.125);
    ry_target target = *every_kernel_target(RY_ISA_generic);
    target.machine = &machine;
    ry_choice choice;
    ry_error error;
    assert_int_equal(ry_predict_choose(&p->problem[0], &target, 0, NULL, &choice, &error), RYND_OK);
    assert_true(choice.seconds > p->choice[0].seconds);
    end(p, 1);
}

static void its_file_keeps_it(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        bool legal;
    } lines[] = {
        {"calibrated softmax_f32 1500000 250000 7", true},
        {"calibrated softmax_f32 1500000 250000", false},
        {"calibrated softmax_f32 1500000 250000 7 8", false},
        {"calibrated  1500000 250000 7", false},
        {"calibrated softmax_f32 1 250000 7", false},
        {"calibrated softmax_f32 1500000 6000000 7", false},
        {"calibrated softmax_f32 -1 250000 7", false},
        {"calibrated Softmax 1500000 250000 7", false},
        {"calibrated a_name_that_is_longer_than_any_family_of_kernels 1500000 250000 7", false},
    };
    char path[64] = "/tmp/rynd_calibrated_XXXXXX";
    const int made = mkstemp(path);
    assert_true(made >= 0 && close(made) == 0);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fprintf(file,
                "rynd machine 1\nisa generic\ncores 1\nvector_bytes 16\nf32 1000000000 1000000000\n"
                "dram_bandwidth 1000000000 1000000000\n%s\nend\n",
                lines[i].line);
        fclose(file);
        ry_machine machine, again;
        ry_error error = {""};
        const rynd_status status = ry_machine_read(path, &machine, &error);
        if (lines[i].legal != (status == RYND_OK)) {
            fail_msg("%s: %s", lines[i].line, status == RYND_OK ? "taken" : error.text);
        }
        if (!lines[i].legal) {
            assert_true(strstr(error.text, path) && strstr(error.text, "line 7"));
            continue;
        }
        assert_int_equal(machine.family_count, 1);
        assert_true(fabs((double)machine.families[0].factor - 1.5) < 1e-6);
        assert_int_equal(machine.families[0].problems, 7);
        assert_int_equal(ry_machine_write(&machine, path, &error), RYND_OK);
        assert_int_equal(ry_machine_read(path, &again, &error), RYND_OK);
        assert_true(again.family_count == 1 &&
                    again.families[0].factor == machine.families[0].factor);
    }
    remove(path);
}

/* Lines with a time in the file of an interrupted calibration; -1: there is no file. */
static int lines_of(const char *path)
{
    char line[1024];
    int lines = 0;
    FILE *file = fopen(path, "r");
    if (!file) {
        return -1;
    }
    while (fgets(line, sizeof line, file)) {
        lines += line[0] >= '0' && line[0] <= '9';
    }
    fclose(file);
    return lines;
}

typedef struct resumed {
    const char *path;
    size_t calls, end; /* the calibration ends at call `end` */
    int lines[4];      /* behind each of the first problems */
} resumed;

static int count_lines(void *user, const rynd_progress *progress)
{
    (void)progress;
    resumed *r = user;
    r->lines[r->calls] = lines_of(r->path);
    return ++r->calls == r->end;
}

/* A machine in a folder of its own; `record` keeps the times of an interrupted calibration. */
typedef struct own_machine {
    char folder[64], file[128], record[160];
    char *before; /* RYND_MACHINE; NULL: none */
    rynd_context *context;
    rynd_machine machine;
} own_machine;

static void open_own(own_machine *own)
{
    const char *before = getenv("RYND_MACHINE");
    *own = (own_machine){.folder = "/tmp/rynd_calibrated_XXXXXX",
                         .before = before ? strdup(before) : NULL,
                         .machine = RYND_SIZED(rynd_machine)};
    assert_non_null(mkdtemp(own->folder));
    snprintf(own->file, sizeof own->file, "%s/machine.txt", own->folder);
    snprintf(own->record, sizeof own->record, "%s.calibrating", own->file);
    assert_int_equal(rynd_context_create(NULL, &own->context), RYND_OK);
    assert_int_equal(rynd_context_get_machine(own->context, &own->machine), RYND_OK);
    assert_int_equal(rynd_machine_save(&own->machine, own->file), RYND_OK);
    rynd_context_destroy(own->context);
    assert_int_equal(setenv("RYND_MACHINE", own->file, 1), 0);
    assert_int_equal(rynd_context_create(NULL, &own->context), RYND_OK);
}

static void close_own(own_machine *own)
{
    rynd_context_destroy(own->context);
    assert_int_equal(
        own->before ? setenv("RYND_MACHINE", own->before, 1) : unsetenv("RYND_MACHINE"), 0);
    free(own->before);
    remove(own->record);
    remove(own->file);
    remove(own->folder);
}

static int end_at_second(void *user, const rynd_progress *progress)
{
    size_t *calls = user;
    assert_true(progress->done <= progress->all);
    return ++*calls == 2;
}

/* The machine stays as it was. It is no built-in one, whose rates would be measured first. */
static void can_be_ended(void **state)
{
    (void)state;
    own_machine own;
    open_own(&own);
    rynd_machine before = RYND_SIZED(rynd_machine), after = RYND_SIZED(rynd_machine);
    size_t calls = 0;
    const rynd_calibrate_options how = RYND_SIZED(rynd_calibrate_options, .progress = end_at_second,
                                                  .progress_user = &calls, .seconds = 1);
    assert_int_equal(rynd_context_get_machine(own.context, &before), RYND_OK);
    assert_int_equal(rynd_context_calibrate(own.context, &how, &after), RYND_ERROR_CANCELLED);
    assert_int_equal(calls, 2);
    assert_int_equal(rynd_context_get_machine(own.context, &after), RYND_OK);
    assert_memory_equal(&before, &after, sizeof before);
    close_own(&own);
}

/* A calibration that ends behind so many networks, the last parts of the progress. */
static int end_behind_networks(void *user, const rynd_progress *progress)
{
    const size_t *networks = user;
    return progress->done >= progress->all - NETWORKS + *networks;
}

/* Steps of a network in the file of an interrupted calibration. */
static int steps_of(const char *path, int network)
{
    char line[1024];
    int lines = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        const int number = line[0] >= '0' && line[0] <= '9' ? atoi(line) : 0;
        lines +=
            number >= FIRST_STEP + network * STEPS && number < FIRST_STEP + (network + 1) * STEPS;
    }
    fclose(file);
    return lines;
}

static void check_calibrated(rynd_context *context, const rynd_machine *machine)
{
    const size_t count = rynd_context_calibrated_count(context);
    assert_true(count > 20 && count == machine->family_count);
    rynd_calibrated_family family = RYND_SIZED(rynd_calibrated_family);
    unsigned igemm = 0;
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(rynd_context_get_calibrated(context, i, &family), RYND_OK);
        assert_true(family.factor > 0 && family.spread > 0 && family.problems > 0);
        igemm += strcmp(family.family, "conv_fwd_f32_igemm") == 0 ? family.problems : 0;
    }
    assert_true(igemm > 20);
    assert_true(machine->network_step > 0 && machine->network_step < 1e-3);
    assert_true(machine->network_kept > 0 && machine->network_exposed > 0 &&
                machine->network_exposed <= 1 && machine->network_rate > 0 &&
                machine->network_region > 0 && machine->variation < 1);
    assert_int_equal(rynd_context_get_calibrated(context, count, &family), RYND_ERROR_ARGUMENT);
}

/* Every problem and network once, in five parts: what was timed before an end is not timed again.
 * How long anything takes is not looked at. */
static void goes_on(void **state)
{
    (void)state;
    own_machine own;
    open_own(&own);
    resumed first = {.path = own.record, .end = 2}, second = {.path = own.record, .end = 3};
    rynd_calibrate_options how = RYND_SIZED(rynd_calibrate_options, .seconds = 1e-9,
                                            .progress = count_lines, .progress_user = &first);
    assert_int_equal(rynd_context_calibrate(own.context, &how, &own.machine), RYND_ERROR_CANCELLED);
    assert_true(first.lines[0] > 0 && first.lines[1] > first.lines[0]);
    FILE *file = fopen(own.record, "a");
    assert_non_null(file);
    fputs("2 0 77", file); /* cut short */
    fclose(file);
    how.progress_user = &second;
    assert_int_equal(rynd_context_calibrate(own.context, &how, &own.machine), RYND_ERROR_CANCELLED);
    assert_int_equal(second.lines[0], first.lines[1] + 1);
    assert_int_equal(second.lines[1], first.lines[1] + 1);
    assert_true(second.lines[2] > second.lines[1]);

    int steps[2];
    how.progress = end_behind_networks;
    for (size_t networks = 1; networks <= 2; networks++) {
        how.progress_user = &networks;
        assert_int_equal(rynd_context_calibrate(own.context, &how, &own.machine),
                         RYND_ERROR_CANCELLED);
        steps[networks - 1] = steps_of(own.record, 0);
    }
    assert_true(steps[0] > 10 && steps[1] == steps[0] && steps_of(own.record, 1) > 10);

    how.progress = NULL;
    assert_int_equal(rynd_context_calibrate(own.context, &how, &own.machine), RYND_OK);
    assert_int_equal(lines_of(own.record), -1);
    check_calibrated(own.context, &own.machine);
    how.seconds = NAN;
    assert_int_equal(rynd_context_calibrate(own.context, &how, &own.machine), RYND_ERROR_ARGUMENT);
    close_own(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_factor),
        cmocka_unit_test(believes_few_times_less),
        cmocka_unit_test(takes_no_factor_that_predicts_worse),
        cmocka_unit_test(believes_a_device_at_once),
        cmocka_unit_test(finds_the_start_of_steps),
        cmocka_unit_test(decides_predictions),
        cmocka_unit_test(its_file_keeps_it),
        cmocka_unit_test(can_be_ended),
        cmocka_unit_test(goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
