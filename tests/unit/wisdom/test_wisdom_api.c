/* SPDX-License-Identifier: Apache-2.0 */
/* What contexts, plans and operators do with wisdom: they take what was measured of this machine,
 * number of threads and source, where it is legal, and leave the rest alone. */
#include "kernels/form.h"
#include "kernels/kernel_source.h"
#include "tiny_model.h"
#include "wisdom/wisdom.h"
#include "wisdom_file.h"

#include <rynd/rynd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char PROBLEM[] = "conv n=1 c=16 h=10 w=10 k=16 r=3 s=3 pad=1";
static const char OTHER[] = "conv_fwd_f32_igemm_generic"; /* not what is predicted to be best */

static char exported[128];

static int set_up(void **state)
{
    const int status = wisdom_file_set_up(state);
    snprintf(exported, sizeof exported, "%s/w.jsonl", wisdom_folder);
    return status;
}

/* At the instruction set that has only OTHER's kind, so that forms are the same on each machine. */
static rynd_context *open_context(const char *wisdom, unsigned threads, int frozen)
{
    rynd_context *context;
    const rynd_context_options options =
        RYND_SIZED(rynd_context_options, .threads = threads, .isa = "generic", .wisdom = wisdom,
                   .frozen = frozen);
    assert_int_equal(rynd_context_create(&options, &context), RYND_OK);
    return context;
}

static rynd_op *make_op(rynd_context *context, const char *kernel, rynd_step_info *info)
{
    rynd_op *op;
    const rynd_op_options options = RYND_SIZED(rynd_op_options, .kernel = kernel, .constants = 2);
    assert_int_equal(rynd_op_create(context, PROBLEM, &options, &op), RYND_OK);
    info->size = sizeof *info;
    assert_int_equal(rynd_op_get_info(op, info), RYND_OK);
    return op;
}

/* What could be put for PROBLEM: OTHER in the form that it is predicted to be best in. */
typedef struct sample {
    char machine[RY_WISDOM_FINGERPRINT], problem[256], form[RY_FORM_TEXT];
    ry_wisdom_key key;
    ry_wisdom_record record;
} sample;

static void make_sample(sample *s)
{
    rynd_context *context = open_context("off", 2, 0);
    rynd_device_info device = RYND_SIZED(rynd_device_info);
    rynd_step_info info;
    rynd_op *op = make_op(context, OTHER, &info);
    assert_int_equal(rynd_context_get_info(context, &device), RYND_OK);
    snprintf(s->machine, sizeof s->machine, "%s", device.fingerprint);
    snprintf(s->problem, sizeof s->problem, "%s", info.problem);
    snprintf(s->form, sizeof s->form, "%s", info.knobs);
    s->key = (ry_wisdom_key){s->problem, 2, 2, s->machine};
    s->record = (ry_wisdom_record){.kernel = OTHER,
                                   .form = s->form,
                                   .source = info.source,
                                   .samples = 9,
                                   .mean = 43.1e-6,
                                   .median = 43.1e-6,
                                   .min = 43.1e-6,
                                   .max = 43.1e-6};
    rynd_op_destroy(op);
    rynd_context_destroy(context);
}

static void put(const sample *s)
{
    ry_wisdom *w;
    ry_error error = {""};
    assert_int_equal(ry_wisdom_open(wisdom_path, false, &ry_system_allocator, &w, &error), RYND_OK);
    assert_int_equal(ry_wisdom_put(w, &s->key, &s->record, 1, &error), RYND_OK);
    ry_wisdom_close(w);
}

/* Does an operator that is made with the context take the record's kernel? */
static bool is_taken(rynd_context *context)
{
    rynd_step_info info;
    rynd_op *op = make_op(context, NULL, &info);
    const bool taken = strncmp(info.reason, "measured 43.1 us (wisdom); cost ", 32) == 0;
    assert_true(!taken || strcmp(info.kernel, OTHER) == 0);
    rynd_op_destroy(op);
    return taken;
}

static bool is_taken_by(const char *wisdom, unsigned threads)
{
    rynd_context *context = open_context(wisdom, threads, 0);
    const bool taken = is_taken(context);
    rynd_context_destroy(context);
    return taken;
}

static void test_taken(void **state)
{
    (void)state;
    sample s;
    make_sample(&s);
    assert_false(is_taken_by(wisdom_path, 2));
    put(&s);
    assert_true(is_taken_by(wisdom_path, 2));
    assert_false(is_taken_by("off", 2));
    assert_false(is_taken_by(wisdom_path, 1));
    assert_false(is_taken_by(NULL, 2)); /* RYND_WISDOM is off in tests */
    assert_int_equal(setenv("RYND_WISDOM", wisdom_path, 1), 0);
    assert_true(is_taken_by(NULL, 2));
    assert_false(is_taken_by("off", 2));
    assert_int_equal(setenv("RYND_WISDOM", "off", 1), 0);
    /* what the caller sets goes before */
    rynd_context *context = open_context(wisdom_path, 2, 0);
    rynd_step_info info;
    rynd_op *op = make_op(context, "conv_ref", &info);
    assert_string_equal(info.kernel, "conv_ref");
    rynd_op_destroy(op);
    rynd_context_destroy(context);
}

static void test_passed_over(void **state)
{
    (void)state;
    sample good;
    make_sample(&good);
    for (int i = 0; i < 8; i++) {
        sample s = good;
        s.key.problem = good.problem;
        switch (i) {
        case 0: s.record.source ^= 1; break; /* another build's */
        case 1: s.record.kernel = "conv_unknown"; break;
        case 2: s.record.kernel = "pool_f32_generic"; break; /* a kernel of another operator */
        case 3: s.record.form = "mode=sideways"; break;
        case 4: s.record.form = ""; break; /* not complete */
        case 5: s.record.rejected = "wrong: by 3"; break;
        case 6: s.key.constants = 0; break;
        default: s.key.machine = "another"; break;
        }
        put(&s);
        assert_false(is_taken_by(wisdom_path, 2));
    }
    put(&good);
    assert_true(is_taken_by(wisdom_path, 2));
}

/* A kernel that is not as accurate as the problem asks is not taken, however fast. */
static void test_accuracy(void **state)
{
    (void)state;
    rynd_context *context = open_context(wisdom_path, 2, 0);
    const rynd_op_options options =
        RYND_SIZED(rynd_op_options, .kernel = "conv_fwd_f32_winograd_generic", .constants = 2);
    rynd_op *op;
    rynd_step_info info = RYND_SIZED(rynd_step_info);
    assert_int_equal(rynd_op_create(context, PROBLEM, &options, &op), RYND_OK);
    assert_int_equal(rynd_op_get_info(op, &info), RYND_OK);
    sample s;
    make_sample(&s);
    char strict[300];
    snprintf(strict, sizeof strict, "%s accuracy=strict", PROBLEM);
    s.key.problem = strict;
    s.record.kernel = info.kernel;
    s.record.form = info.knobs;
    s.record.source = info.source;
    put(&s);
    rynd_op *made;
    const rynd_op_options plain = RYND_SIZED(rynd_op_options, .constants = 2);
    rynd_step_info chosen = RYND_SIZED(rynd_step_info);
    assert_int_equal(rynd_op_create(context, strict, &plain, &made), RYND_OK);
    assert_int_equal(rynd_op_get_info(made, &chosen), RYND_OK);
    assert_string_equal(chosen.accuracy, "strict");
    assert_null(strstr(chosen.reason, "wisdom"));
    rynd_op_destroy(made);
    rynd_op_destroy(op);
    rynd_context_destroy(context);
}

static void test_frozen(void **state)
{
    (void)state;
    sample s;
    make_sample(&s);
    rynd_context *before = open_context(wisdom_path, 2, 1);
    assert_int_equal(setenv("RYND_FREEZE", "1", 1), 0);
    rynd_context *also = open_context(wisdom_path, 2, 0);
    rynd_device_info info = RYND_SIZED(rynd_device_info);
    assert_int_equal(rynd_context_get_info(also, &info), RYND_OK);
    assert_true(info.frozen && strcmp(info.wisdom, wisdom_path) == 0);
    assert_int_equal(setenv("RYND_FREEZE", "yes", 1), 0);
    rynd_context *none;
    assert_int_equal(rynd_context_create(NULL, &none), RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(rynd_last_error(), "RYND_FREEZE is 'yes'"));
    assert_int_equal(unsetenv("RYND_FREEZE"), 0);
    put(&s);
    assert_false(is_taken(before));
    assert_false(is_taken(also));
    rynd_context *after = open_context(wisdom_path, 2, 1);
    rynd_context *other = open_context(wisdom_path, 2, 0);
    assert_int_equal(rynd_wisdom_clear(also, NULL, NULL), RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_wisdom_clear(other, NULL, NULL), RYND_OK);
    assert_true(is_taken(after));
    assert_false(is_taken(other));
    rynd_context_destroy(before);
    rynd_context_destroy(also);
    rynd_context_destroy(after);
    rynd_context_destroy(other);
}

/* Steps of a plan take records, too, and say so. */
static void test_plan(void **state)
{
    (void)state;
    uint8_t bytes[TINY_MODEL_CAPACITY];
    const size_t size = tiny_model(bytes);
    rynd_context *context = open_context(wisdom_path, 2, 0);
    const rynd_plan_options options = RYND_SIZED(rynd_plan_options, .batch = 1);
    rynd_model *model;
    rynd_plan *plan;
    rynd_step_info info = RYND_SIZED(rynd_step_info);
    assert_int_equal(rynd_model_load_memory(context, bytes, size, &model), RYND_OK);
    assert_int_equal(rynd_plan_create(model, &options, &plan), RYND_OK);
    assert_int_equal(rynd_plan_get_step(plan, 0, &info), RYND_OK);
    sample s;
    make_sample(&s);
    s.key.problem = info.problem;
    s.key.constants = 6;
    s.record.kernel = info.kernel;
    s.record.form = info.knobs;
    s.record.source = info.source;
    assert_non_null(strstr(info.problem, "conv"));
    put(&s);
    rynd_plan *again;
    assert_int_equal(rynd_plan_create(model, &options, &again), RYND_OK);
    assert_int_equal(rynd_plan_get_step(again, 0, &info), RYND_OK);
    assert_non_null(strstr(info.reason, "measured 43.1 us (wisdom)"));
    rynd_plan_destroy(again);
    rynd_plan_destroy(plan);
    rynd_model_destroy(model);
    rynd_context_destroy(context);
}

static int copy_record(void *user, const rynd_wisdom_record *record)
{
    assert_true(record->here && record->current && record->size == sizeof *record);
    assert_string_equal(record->kernel, OTHER);
    *(double *)user += record->median;
    return 0;
}

static int refuse(void *user, const rynd_wisdom_record *record)
{
    (void)user;
    (void)record;
    return 1;
}

static void test_records(void **state)
{
    (void)state;
    sample s;
    make_sample(&s);
    put(&s);
    rynd_context *context = open_context(wisdom_path, 2, 0);
    double medians = 0;
    size_t count = 0;
    assert_int_equal(rynd_wisdom_show(context, NULL, copy_record, &medians), RYND_OK);
    assert_true(medians == 43.1e-6);
    assert_int_equal(rynd_wisdom_show(context, NULL, refuse, NULL), RYND_ERROR_CANCELLED);
    const rynd_wisdom_filter none = RYND_SIZED(rynd_wisdom_filter, .kernel = "*winograd*");
    assert_int_equal(rynd_wisdom_show(context, &none, refuse, NULL), RYND_OK);
    assert_int_equal(rynd_wisdom_export(context, NULL, exported, &count), RYND_OK);
    assert_int_equal(count, 1);
    assert_int_equal(rynd_wisdom_clear(context, &none, &count), RYND_OK);
    assert_int_equal(count, 0);
    assert_int_equal(rynd_wisdom_clear(context, NULL, &count), RYND_OK);
    assert_int_equal(count, 1);
    rynd_wisdom_count counted = RYND_SIZED(rynd_wisdom_count);
    assert_int_equal(rynd_wisdom_import(context, exported, &counted), RYND_OK);
    assert_true(counted.read == 1 && counted.taken == 1 && counted.foreign == 0);
    assert_int_equal(rynd_wisdom_import(context, exported, &counted), RYND_OK);
    assert_true(counted.read == 1 && counted.taken == 0);
    char other[160];
    snprintf(other, sizeof other, "%s.other", wisdom_path);
    rynd_context *second = open_context(other, 2, 0);
    assert_int_equal(rynd_wisdom_merge(second, wisdom_path, &counted), RYND_OK);
    assert_true(counted.read == 1 && counted.taken == 1);
    assert_int_equal(rynd_wisdom_merge(second, "/nowhere/w.db", NULL), RYND_ERROR_IO);
    assert_int_equal(rynd_wisdom_merge(second, exported, NULL), RYND_ERROR_FORMAT);
    assert_non_null(strstr(rynd_last_error(), exported));
    assert_true(is_taken(second));
    counted.size = 3;
    assert_int_equal(rynd_wisdom_merge(second, wisdom_path, &counted), RYND_ERROR_ARGUMENT);
    rynd_context_destroy(second);
    rynd_context_destroy(context);
    static const char *const ends[] = {"", "-wal", "-shm"};
    for (int i = 0; i < 3; i++) {
        snprintf(other, sizeof other, "%s.other%s", wisdom_path, ends[i]);
        remove(other);
    }
}

static int keep_line(void *user, const rynd_wisdom_record *record)
{
    size_t length = 0;
    char *line = user;
    assert_int_equal(rynd_wisdom_format(record, line, 2048, &length), RYND_OK);
    assert_int_equal(strlen(line), length);
    char cut[10];
    assert_int_equal(rynd_wisdom_format(record, cut, sizeof cut, &length), RYND_OK);
    assert_int_equal(strlen(cut), 9);
    rynd_wisdom_record bad = *record;
    bad.median = -1;
    assert_int_equal(rynd_wisdom_format(&bad, NULL, 0, &length), RYND_ERROR_ARGUMENT);
    return 0;
}

static void test_line(void **state)
{
    (void)state;
    sample s;
    char line[2048], written[2048];
    make_sample(&s);
    put(&s);
    rynd_context *context = open_context(wisdom_path, 2, 0);
    assert_int_equal(rynd_wisdom_show(context, NULL, keep_line, line), RYND_OK);
    assert_int_equal(rynd_wisdom_export(context, NULL, exported, NULL), RYND_OK);
    FILE *file = fopen(exported, "r");
    written[fread(written, 1, sizeof written - 1, file)] = 0;
    fclose(file);
    assert_int_equal(strlen(written), strlen(line) + 1);
    assert_memory_equal(written, line, strlen(line));
    rynd_context_destroy(context);
}

static int note_drift(void *user, const rynd_wisdom_drift *drift)
{
    assert_true(drift->index == (size_t) * (int *)user && drift->samples >= 5);
    assert_true(drift->min > 0 && drift->min <= drift->median && drift->median <= drift->max);
    assert_true(drift->ratio == drift->median / drift->record->median);
    ++*(int *)user;
    return 0;
}

static int end_check(void *user, const rynd_wisdom_drift *drift)
{
    (void)user;
    (void)drift;
    return 1;
}

static void test_check(void **state)
{
    (void)state;
    sample s;
    make_sample(&s);
    rynd_context *context = open_context(wisdom_path, 2, 0);
    int count = 0;
    assert_int_equal(rynd_wisdom_check(context, NULL, NULL, note_drift, &count), RYND_OK);
    assert_int_equal(count, 0);
    put(&s);
    s.key.threads = 1; /* not this context's */
    put(&s);
    s.key.threads = 2;
    s.record.source ^= 1; /* not this build's */
    put(&s);
    rynd_wisdom_check_options how = RYND_SIZED(rynd_wisdom_check_options, .seconds = 0.001);
    assert_int_equal(rynd_wisdom_check(context, NULL, &how, note_drift, &count), RYND_OK);
    assert_int_equal(count, 1);
    s.record.source ^= 1;
    s.key.constants = 0;
    put(&s);
    how.count = 1;
    count = 0;
    assert_int_equal(rynd_wisdom_check(context, NULL, &how, note_drift, &count), RYND_OK);
    assert_int_equal(count, 1);
    how.count = 5;
    count = 0;
    assert_int_equal(rynd_wisdom_check(context, NULL, &how, note_drift, &count), RYND_OK);
    assert_int_equal(count, 2);
    assert_int_equal(rynd_wisdom_check(context, NULL, &how, end_check, NULL), RYND_ERROR_CANCELLED);
    how.seconds = -1;
    assert_int_equal(rynd_wisdom_check(context, NULL, &how, note_drift, &count),
                     RYND_ERROR_ARGUMENT);
    rynd_context_destroy(context);
}

static void note_warning(void *user, int level, const char *message)
{
    if (level == 0) {
        snprintf(user, 2000, "%s%s\n", *(char *)user ? "more than one: " : "", message);
    }
}

static void test_warning(void **state)
{
    (void)state;
    char text[2000] = "";
    FILE *file = fopen(wisdom_path, "w");
    fputs("not a database", file);
    fclose(file);
    rynd_context *context;
    const rynd_context_options options = RYND_SIZED(rynd_context_options, .wisdom = wisdom_path,
                                                    .log = note_warning, .log_user = text);
    assert_int_equal(rynd_context_create(&options, &context), RYND_OK);
    assert_string_equal(text, "");
    assert_false(is_taken(context));
    assert_false(is_taken(context));
    assert_non_null(strstr(text, wisdom_path));
    assert_null(strstr(text, "more than one"));
    assert_int_equal(rynd_wisdom_clear(context, NULL, NULL), RYND_ERROR_IO);
    assert_non_null(strstr(rynd_last_error(), wisdom_path));
    rynd_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_taken, wisdom_file_clean),
        cmocka_unit_test_setup(test_passed_over, wisdom_file_clean),
        cmocka_unit_test_setup(test_accuracy, wisdom_file_clean),
        cmocka_unit_test_setup(test_frozen, wisdom_file_clean),
        cmocka_unit_test_setup(test_plan, wisdom_file_clean),
        cmocka_unit_test_setup(test_records, wisdom_file_clean),
        cmocka_unit_test_setup(test_line, wisdom_file_clean),
        cmocka_unit_test_setup(test_check, wisdom_file_clean),
        cmocka_unit_test_setup(test_warning, wisdom_file_clean),
    };
    return cmocka_run_group_tests(tests, set_up, wisdom_file_tear_down);
}
