/* SPDX-License-Identifier: Apache-2.0 */
/* What goes along with a training run: schedules of the rate, the log and what is cut off it, the
 * plot, and checkpoints. */
#define _XOPEN_SOURCE 700

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "files.h"
#include "train_checkpoint.h"
#include "train_log.h"
#include "train_schedule.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/test_train_run.XXXXXX";
static char path[64];

static int begin(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) {
        return 1;
    }
    snprintf(path, sizeof path, "%s/file", folder);
    return 0;
}

static int end(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

enum { CONSTANT = 1, STEP, COSINE };

static void check_rate(cli_schedule schedule, uint64_t step, double expected)
{
    const double rate = cli_schedule_rate(&schedule, step, 90, 10); /* nine epochs */
    if (fabs(rate - expected) > 1e-15) {
        fail_msg("step %d: %.17g, not %.17g", (int)step, rate, expected);
    }
}

static void test_schedules(void **state)
{
    (void)state;
    const cli_schedule constant = {.rate = 2, .decay = 0.1},
                       thirds = {.rate = 2, .kind = STEP, .decay = 0.5},
                       every = {.rate = 2, .kind = STEP, .decay = 0.5, .decay_every = 2},
                       wave = {.rate = 2, .kind = COSINE, .last = 0.5, .decay = 0.1},
                       warm = {.rate = 2, .kind = COSINE, .warmup = 10, .decay = 0.1};
    check_rate(constant, 0, 2);
    check_rate(constant, 89, 2);
    check_rate(thirds, 29, 2);
    check_rate(thirds, 30, 1);
    check_rate(thirds, 89, 0.5);
    check_rate(every, 19, 2);
    check_rate(every, 20, 1);
    check_rate(every, 89, 2 * 0.0625);
    check_rate(wave, 0, 2);
    check_rate(wave, 45, 1.5);
    check_rate(wave, 89, 1 + 0.5 * (1 + cos(3.14159265358979323846 * 89 / 90)));
    check_rate(warm, 0, 0.2);
    check_rate(warm, 9, 2);
    check_rate(warm, 10, 2);
    check_rate(warm, 50, 1);
    /* one epoch only */
    assert_true(cli_schedule_rate(&thirds, 5, 6, 10) == 2);
    cli_failure failure = {0};
    assert_true(cli_schedule_check(&thirds, &failure) && cli_schedule_check(&wave, &failure));
    cli_schedule odd = constant;
    odd.decay_every = 3;
    assert_false(cli_schedule_check(&odd, &failure));
    odd = constant;
    odd.last = 0.1;
    assert_false(cli_schedule_check(&odd, &failure));
    assert_non_null(strstr(failure.text, "--schedule cosine"));
}

static char *content(void)
{
    static char text[1 << 17];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

static void write_steps(cli_train_log *log, uint64_t from, uint64_t to)
{
    cli_failure failure = {0};
    for (uint64_t step = from; step < to; step++) {
        const cli_log_step row = {.step = step + 1,
                                  .epoch = step / 4,
                                  .loss = (float)(1.0 / (double)(step + 3)),
                                  .rate = 0.1,
                                  .accuracy = step % 2 ? 0.25 : -1,
                                  .images_per_second = 1000,
                                  .seconds = 0.5 * (double)step,
                                  .memory = 1 << 20};
        assert_true(cli_train_log_step(log, &row, &failure));
    }
}

static void test_log(void **state)
{
    (void)state;
    cli_train_log log;
    cli_failure failure = {0};
    unlink(path);
    assert_true(cli_train_log_open(&log, &(cli_log_places){.path = path}, false, 0, &failure));
    assert_true(cli_train_log_row(&log, "\"row\":\"start\",\"step\":0", &failure));
    write_steps(&log, 0, 4);
    const cli_log_validation validation = {
        .step = 4, .epoch = 0, .samples = 7, .loss = NAN, .accuracy = 0.5, .seconds = 2};
    assert_true(cli_train_log_validation(&log, &validation, &failure));
    write_steps(&log, 4, 6);
    cli_train_log_close(&log);
    char whole[4096];
    strcpy(whole, content());
    assert_non_null(strstr(whole, "{\"row\":\"step\",\"step\":1,\"epoch\":0,\"loss\":0.333333343,"
                                  "\"lr\":0.10000000000000001,\"images_per_second\":1000,"
                                  "\"seconds\":0.000000,\"memory\":1048576}\n"));
    assert_non_null(strstr(whole, "{\"row\":\"validation\",\"step\":4,\"epoch\":0,\"loss\":null,"
                                  "\"accuracy\":0.5,\"samples\":7,\"seconds\":2.000000}\n"));
    /* a killed run wrote half a line; one that goes on from step 3 writes the rest again */
    FILE *file = fopen(path, "ab");
    assert_true(file && fputs("{\"row\":\"step\",\"st", file) >= 0 && fclose(file) == 0);
    assert_true(cli_train_log_open(&log, &(cli_log_places){.path = path}, true, 3, &failure));
    assert_int_equal(log.training.count, 3);
    write_steps(&log, 3, 4);
    assert_true(cli_train_log_validation(&log, &validation, &failure));
    write_steps(&log, 4, 6);
    assert_int_equal(log.training.count, 6);
    cli_train_log_close(&log);
    assert_string_equal(content(), whole);
    assert_true(cli_train_log_open(&log, &(cli_log_places){0}, true, 3, &failure));
    write_steps(&log, 0, 4);
    assert_int_equal(log.training.count, 4);
    cli_train_log_close(&log);
    assert_false(
        cli_train_log_open(&log, &(cli_log_places){.path = "/nowhere/log"}, false, 0, &failure));
    assert_non_null(strstr(failure.text, "cannot write '/nowhere/log'"));
    cli_train_log_close(&log);
}

static void test_plot(void **state)
{
    (void)state;
    cli_train_log log;
    cli_failure failure = {0};
    assert_true(cli_train_log_open(&log, &(cli_log_places){0}, false, 0, &failure));
    write_steps(&log, 0, 1000);
    assert_true(cli_train_plot(&log, "a & b", "mse", path, &failure));
    assert_non_null(strstr(content(), "a &amp; b"));
    assert_null(strstr(content(), "validation"));
    const cli_log_validation validation = {.step = 4, .loss = 0.5};
    assert_true(cli_train_log_validation(&log, &validation, &failure));
    assert_true(cli_train_plot(&log, "a", "mse", path, &failure));
    cli_train_log_close(&log);
    cli_train_log none = {0};
    assert_true(cli_train_plot(&none, "nothing", "mse", path, &failure));
    assert_non_null(strstr(content(), "</svg>"));
}

static void test_checkpoint(void **state)
{
    (void)state;
    float w[] = {1, 2, 3, 4, 5, 6}, scalar = 7;
    int64_t step = 9;
    cli_tensor states[] = {
        {.view = rynd_tensor_of(w, RYND_DTYPE_F32, 2, (const int64_t[]){2, 3}),
         .name = (char[]){"conv/w\n\\n"}},
        {.view = rynd_tensor_of(&scalar, RYND_DTYPE_F32, 0, NULL), .name = (char[]){""}},
        {.view = rynd_tensor_of(&step, RYND_DTYPE_I64, 1, (const int64_t[]){1}),
         .name = (char[]){"adam step"}},
    };
    const cli_checkpoint written = {.step = 123456789012,
                                    .settings = (char[]){"loss=mse batch=2"},
                                    .states = states,
                                    .count = 3};
    cli_checkpoint read;
    cli_failure failure = {0};
    assert_true(cli_checkpoint_write(path, &written, &failure));
    if (!cli_checkpoint_read(path, NULL, &read, &failure)) {
        fail_msg("%s", failure.text);
    }
    assert_true(read.step == written.step && read.count == 3);
    assert_string_equal(read.settings, written.settings);
    for (size_t i = 0; i < 3; i++) {
        const rynd_tensor *a = &states[i].view, *b = &read.states[i].view;
        assert_string_equal(read.states[i].name, states[i].name);
        assert_true(a->dtype == b->dtype && a->rank == b->rank);
        assert_memory_equal(a->data, b->data,
                            (size_t)rynd_tensor_elements(a) * rynd_dtype_size(a->dtype));
    }
    cli_checkpoint_free(&read);
}

static void refuse(const char *about, size_t arrays, const char *part)
{
    float x[] = {1, 2};
    const int64_t length = (int64_t)strlen(about), two = 2;
    const rynd_tensor text = rynd_tensor_of((void *)(uintptr_t)about, RYND_DTYPE_U8, 1, &length),
                      array = rynd_tensor_of(x, RYND_DTYPE_F32, 1, &two);
    const rynd_tensor tensors[] = {text, array, array};
    static const char *const names[] = {"about", "t0", "t1"};
    cli_failure failure = {0};
    cli_checkpoint read;
    assert_true(cli_tensors_write(NULL, path, tensors, names, arrays + 1, &failure));
    assert_false(cli_checkpoint_read(path, NULL, &read, &failure));
    if (!strstr(failure.text, part)) {
        fail_msg("'%s' does not say '%s'", failure.text, part);
    }
}

static void test_bad_checkpoints(void **state)
{
    (void)state;
    cli_failure failure = {0};
    cli_checkpoint read;
    unlink(path);
    snprintf(path, sizeof path, "%s/file.npz", folder); /* frees the name for a file */
    refuse("rynd training\nstep=1\nsettings=s\nw\n", 2, "it has more arrays than names");
    refuse("rynd training\nstep=1\nsettings=s\nv\nw\nu\n", 2, "it has fewer arrays than names");
    refuse("rynd training\nstep=-1\nsettings=s\nw\n", 1, "'about' has no step and settings");
    refuse("rynd training\nsettings=s\nw\n", 1, "'about' has no step and settings");
    refuse("something else that is long enough\n", 1, "'about' has no step and settings");
    float x[] = {1, 2};
    const int64_t two = 2;
    const rynd_tensor arrays[] = {rynd_tensor_of(x, RYND_DTYPE_F32, 1, &two),
                                  rynd_tensor_of(x, RYND_DTYPE_F32, 1, &two)};
    static const char *const xy[] = {"x", "y"}, *const twice[] = {"about", "y"};
    assert_true(cli_tensors_write(NULL, path, arrays, xy, 2, &failure));
    assert_false(cli_checkpoint_read(path, NULL, &read, &failure));
    assert_non_null(strstr(failure.text, "'about' is not its first array"));
    assert_true(cli_tensors_write(NULL, path, arrays, twice, 2, &failure));
    assert_false(cli_checkpoint_read(path, NULL, &read, &failure));
    assert_non_null(strstr(failure.text, "'about' is no text"));
    FILE *file = fopen(path, "wb");
    assert_true(file && fputs("PK", file) >= 0 && fclose(file) == 0);
    assert_false(cli_checkpoint_read(path, NULL, &read, &failure));
    unlink(path);
    assert_false(cli_checkpoint_read(path, NULL, &read, &failure));
    assert_non_null(strstr(failure.text, "No such file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedules),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_plot),
        cmocka_unit_test(test_checkpoint),
        cmocka_unit_test(test_bad_checkpoints),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
