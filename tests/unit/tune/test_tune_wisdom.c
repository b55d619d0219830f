/* SPDX-License-Identifier: Apache-2.0 */
/* What tuning keeps: operators and plans that are made later take the form that was taken, whatever
 * the clock said. */
#include "api/api_tuning.h"

#include "tiny_model.h"
#include "wisdom_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char PROBLEM[] = "conv n=1 c=16 h=20 w=20 k=24 r=3 s=3 pad=1";
enum { CONSTANTS = 6 };

static rynd_context *open_context(const char *wisdom, int frozen)
{
    rynd_context *context;
    const rynd_context_options options =
        RYND_SIZED(rynd_context_options, .threads = 2, .wisdom = wisdom, .frozen = frozen);
    assert_int_equal(rynd_context_create(&options, &context), RYND_OK);
    return context;
}

static rynd_tuning *tune(rynd_context *context, int without_wisdom)
{
    rynd_tuning *tuning;
    const rynd_tune_options options =
        RYND_SIZED(rynd_tune_options, .budget = 0.05, .constants = CONSTANTS,
                   .without_wisdom = without_wisdom);
    assert_int_equal(rynd_tune_problem(context, PROBLEM, &options, &tuning), RYND_OK);
    return tuning;
}

/* What an operator takes that is made in a new context. */
static void expect_form(const char *wisdom, const rynd_tuned_form *form, bool measured)
{
    rynd_op *op;
    rynd_step_info step = RYND_SIZED(rynd_step_info);
    rynd_context *context = open_context(wisdom, 0);
    const rynd_op_options options = RYND_SIZED(rynd_op_options, .constants = CONSTANTS);
    assert_int_equal(rynd_op_create(context, PROBLEM, &options, &op), RYND_OK);
    assert_int_equal(rynd_op_get_info(op, &step), RYND_OK);
    assert_string_equal(step.kernel, form->kernel);
    assert_string_equal(step.knobs, form->knobs);
    assert_int_equal(strstr(step.reason, "measured") != NULL, measured);
    rynd_op_destroy(op);
    rynd_context_destroy(context);
}

static void operators_take_what_was_taken(void **state)
{
    (void)state;
    wisdom_file_forget();
    rynd_context *context = open_context(wisdom_path, 0);
    rynd_tuning *tuning = tune(context, 0);
    rynd_tuned_problem problem = RYND_SIZED(rynd_tuned_problem);
    rynd_tuned_form form = RYND_SIZED(rynd_tuned_form);
    assert_int_equal(rynd_tuning_get_problem(tuning, 0, &problem), RYND_OK);
    assert_int_equal(rynd_tuning_get_form(tuning, 0, problem.taken, &form), RYND_OK);
    assert_false(problem.elsewhere);
    expect_form(wisdom_path, &form, true);
    rynd_tuning_destroy(tuning);
    rynd_context_destroy(context);
}

static void without_wisdom_nothing_is_kept(void **state)
{
    (void)state;
    wisdom_file_forget();
    rynd_context *context = open_context(wisdom_path, 0);
    rynd_tuning *tuning = tune(context, 1);
    rynd_tuned_form form = RYND_SIZED(rynd_tuned_form);
    assert_int_equal(rynd_tuning_get_form(tuning, 0, 0, &form), RYND_OK);
    expect_form(wisdom_path, &form, false);
    rynd_tuning_destroy(tuning);
    rynd_context_destroy(context);
}

/* A verdict against another form is kept, too: every form that was equal or faster by chance is
 * recorded as no faster than the one that is taken. */
static void the_verdict_is_kept_not_chance(void **state)
{
    (void)state;
    wisdom_file_forget();
    rynd_context *context = open_context(wisdom_path, 0);
    rynd_tuning *tuning = tune(context, 0);
    const rynd_tune_options options = RYND_SIZED(rynd_tune_options);
    ry_error error;
    ry_tuning_entry *entry = &tuning->entries[0];
    for (int taken = 0; taken < entry->tuned.count; taken++) {
        if (entry->forms[taken].n == 0) {
            continue;
        }
        assert_int_equal(ry_api_tuned_keep(tuning, &options, entry, taken, &error), RYND_OK);
        expect_form(wisdom_path, &entry->forms[taken], true);
    }
    rynd_tuning_destroy(tuning);
    rynd_context_destroy(context);
}

static void another_process_has_the_problem(void **state)
{
    (void)state;
    wisdom_file_forget();
    rynd_context *context = open_context(wisdom_path, 0), *other = open_context(wisdom_path, 0);
    rynd_tuning *first = tune(context, 0);
    const ry_wisdom_key key = {first->entries[0].text, first->entries[0].constants, 2,
                               context->fingerprint};
    assert_true(ry_wisdom_claim(other->wisdom, &key, 100));
    rynd_tuning *second = tune(context, 0);
    rynd_tuned_problem problem = RYND_SIZED(rynd_tuned_problem);
    rynd_tuned_form form = RYND_SIZED(rynd_tuned_form);
    assert_int_equal(rynd_tuning_get_problem(second, 0, &problem), RYND_OK);
    assert_int_equal(rynd_tuning_get_form(second, 0, 0, &form), RYND_OK);
    assert_true(problem.elsewhere && problem.taken == 0 && form.n == 0);
    ry_wisdom_disclaim(other->wisdom, &key);
    rynd_tuning_destroy(second);
    second = tune(context, 0); /* the first gave its own lease back, too */
    assert_int_equal(rynd_tuning_get_problem(second, 0, &problem), RYND_OK);
    assert_false(problem.elsewhere);
    rynd_tuning_destroy(second);
    rynd_tuning_destroy(first);
    rynd_context_destroy(other);
    rynd_context_destroy(context);
}

static void a_frozen_context_measures_nothing(void **state)
{
    (void)state;
    static uint8_t bytes[TINY_MODEL_CAPACITY];
    rynd_context *context = open_context(wisdom_path, 1);
    rynd_tuning *tuning;
    rynd_model *model;
    const rynd_plan_options plan = RYND_SIZED(rynd_plan_options, .batch = 1);
    assert_int_equal(rynd_tune_problem(context, PROBLEM, NULL, &tuning), RYND_ERROR_UNSUPPORTED);
    assert_non_null(strstr(rynd_last_error(), "RYND_FREEZE"));
    assert_int_equal(rynd_model_load_memory(context, bytes, tiny_model(bytes), &model), RYND_OK);
    assert_int_equal(rynd_tune_model(model, &plan, NULL, &tuning), RYND_ERROR_UNSUPPORTED);
    assert_null(tuning);
    rynd_model_destroy(model);
    rynd_context_destroy(context);
}

/* Checks the form of a problem's step in a plan; false: no step has the problem. */
static bool is_taken(const rynd_plan *plan, const char *problem, const rynd_tuned_form *form)
{
    for (size_t i = 0; i < rynd_plan_step_count(plan); i++) {
        rynd_step_info step = RYND_SIZED(rynd_step_info);
        assert_int_equal(rynd_plan_get_step(plan, i, &step), RYND_OK);
        if (strcmp(step.problem, problem) == 0) {
            assert_string_equal(step.kernel, form->kernel);
            assert_string_equal(step.knobs, form->knobs);
            return true;
        }
    }
    return false;
}

/* Tunes a model, and plans it. False: its steps have other problems now, for what was measured changed
 * a layout. */
static bool tune_and_plan(rynd_model *model)
{
    rynd_plan *plan;
    rynd_tuning *tuning;
    const rynd_plan_options options = RYND_SIZED(rynd_plan_options, .batch = 1);
    const rynd_tune_options quick = RYND_SIZED(rynd_tune_options, .budget = 0.2);
    rynd_tuning_info info = RYND_SIZED(rynd_tuning_info);
    assert_int_equal(rynd_tune_model(model, &options, &quick, &tuning), RYND_OK);
    assert_int_equal(rynd_plan_create(model, &options, &plan), RYND_OK);
    assert_int_equal(rynd_tuning_get_info(tuning, &info), RYND_OK);
    assert_true(info.problems >= 1);
    bool taken = true;
    for (size_t i = 0; i < info.problems; i++) {
        rynd_tuned_problem problem = RYND_SIZED(rynd_tuned_problem);
        rynd_tuned_form form = RYND_SIZED(rynd_tuned_form);
        assert_int_equal(rynd_tuning_get_problem(tuning, i, &problem), RYND_OK);
        assert_int_equal(rynd_tuning_get_form(tuning, i, info.taken ? problem.taken : 0, &form),
                         RYND_OK);
        taken = is_taken(plan, problem.problem, &form) && taken;
    }
    rynd_plan_destroy(plan);
    rynd_tuning_destroy(tuning);
    return taken;
}

static void plans_take_what_was_taken(void **state)
{
    (void)state;
    static uint8_t bytes[TINY_MODEL_CAPACITY];
    wisdom_file_forget();
    rynd_context *context = open_context(wisdom_path, 0);
    rynd_model *model;
    assert_int_equal(rynd_model_load_memory(context, bytes, tiny_model(bytes), &model), RYND_OK);
    bool taken = false;
    for (int turn = 0; turn < 8 && !taken; turn++) {
        taken = tune_and_plan(model);
    }
    assert_true(taken);
    rynd_model_destroy(model);
    rynd_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_take_what_was_taken),
        cmocka_unit_test(without_wisdom_nothing_is_kept),
        cmocka_unit_test(the_verdict_is_kept_not_chance),
        cmocka_unit_test(another_process_has_the_problem),
        cmocka_unit_test(a_frozen_context_measures_nothing),
        cmocka_unit_test(plans_take_what_was_taken),
    };
    return cmocka_run_group_tests(tests, wisdom_file_set_up, wisdom_file_tear_down);
}
