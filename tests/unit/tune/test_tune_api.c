/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning by the public functions. */
#include <rynd/rynd.h>

#include "tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char PROBLEM[] = "conv n=1 c=16 h=20 w=20 k=24 r=3 s=3 pad=1";

/* What was heard of a tuning. */
typedef struct heard {
    int calls, until; /* until: ends it at this call; 0: never */
    char first[256];  /* the first problem */
    double spent;
} heard;

static int listen(void *user, const rynd_progress *progress)
{
    heard *h = user;
    const rynd_tune_progress *p = progress->tuning;
    assert_true(progress->size == sizeof *progress && progress->done <= progress->all);
    if (h->calls++ == 0) {
        snprintf(h->first, sizeof h->first, "%s", p->problem);
    }
    assert_true(p->size == sizeof *p && p->index < p->count && p->ratio > 0);
    assert_true(p->kernel && p->knobs && p->spent >= h->spent);
    h->spent = p->spent;
    return h->calls == h->until;
}

static int set_up(void **state)
{
    rynd_context *context;
    const rynd_context_options options = RYND_SIZED(rynd_context_options, .threads = 2);
    if (rynd_context_create(&options, &context) != RYND_OK) {
        return 1;
    }
    *state = context;
    return 0;
}

static int tear_down(void **state)
{
    rynd_context_destroy(*state);
    return 0;
}

static void check_form(const rynd_tuned_form *form)
{
    assert_true(form->kernel[0] && form->predicted > 0 && form->bytes > 0 && form->tasks > 0);
    assert_true(form->n == 0 || (form->min > 0 && form->min <= form->median &&
                                 form->median <= form->max && form->mean > 0));
    assert_true(form->verdict != RYND_TUNED_REJECTED && form->reason[0] == 0);
    assert_string_not_equal(rynd_tuned_verdict_text(form->verdict), "unknown");
}

static void a_problem(void **state)
{
    rynd_tuning *tuning;
    heard h = {0};
    const rynd_tune_options options =
        RYND_SIZED(rynd_tune_options, .budget = 0.5, .constants = 6,
                   .accuracy = RYND_ACCURACY_STRICT, .progress = listen, .progress_user = &h);
    assert_int_equal(rynd_tune_problem(*state, PROBLEM, &options, &tuning), RYND_OK);
    rynd_tuning_info info = RYND_SIZED(rynd_tuning_info);
    rynd_tuned_problem problem = RYND_SIZED(rynd_tuned_problem);
    assert_int_equal(rynd_tuning_get_info(tuning, &info), RYND_OK);
    assert_int_equal(rynd_tuning_get_problem(tuning, 0, &problem), RYND_OK);
    assert_true(info.problems == 1 && info.budget == 0.5 && info.used > 0 && !info.ended);
    assert_int_equal(info.taken, problem.taken != 0);
    assert_non_null(strstr(problem.problem, "accuracy=strict"));
    assert_string_equal(h.first, problem.problem);
    assert_true(h.calls > 1);
    assert_true(problem.constants == 2 && /* there is no bias */ problem.steps == 1 &&
                problem.forms > 1);
    assert_true(problem.taken < problem.forms && problem.cold == 1);
    assert_true(problem.disturbance >= 0 && problem.disturbance <= 1);
    size_t taken = 0;
    for (size_t i = 0; i < problem.forms; i++) {
        rynd_tuned_form form = RYND_SIZED(rynd_tuned_form);
        assert_int_equal(rynd_tuning_get_form(tuning, 0, i, &form), RYND_OK);
        check_form(&form);
        taken += form.verdict == RYND_TUNED_TAKEN;
        assert_int_equal(form.verdict == RYND_TUNED_TAKEN, i == problem.taken);
    }
    assert_int_equal(taken, 1);
    rynd_tuned_form form = RYND_SIZED(rynd_tuned_form);
    assert_int_equal(rynd_tuning_get_problem(tuning, 1, &problem), RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_tuning_get_form(tuning, 0, problem.forms, &form), RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_tuning_get_form(tuning, 1, 0, &form), RYND_ERROR_ARGUMENT);
    rynd_tuning_destroy(tuning);
}

/* The untuned choice stands first, and is what an operator has that is made without a word. */
static void the_first_form_is_the_untuned_choice(void **state)
{
    rynd_tuning *tuning;
    rynd_op *op;
    const rynd_tune_options options = RYND_SIZED(rynd_tune_options, .budget = 1e-6, .constants = 6);
    const rynd_op_options same = RYND_SIZED(rynd_op_options, .constants = 6);
    rynd_tuned_form form = RYND_SIZED(rynd_tuned_form);
    rynd_step_info step = RYND_SIZED(rynd_step_info);
    assert_int_equal(rynd_tune_problem(*state, PROBLEM, &options, &tuning), RYND_OK);
    assert_int_equal(rynd_op_create(*state, PROBLEM, &same, &op), RYND_OK);
    assert_int_equal(rynd_tuning_get_form(tuning, 0, 0, &form), RYND_OK);
    assert_int_equal(rynd_op_get_info(op, &step), RYND_OK);
    assert_string_equal(form.kernel, step.kernel);
    assert_string_equal(form.knobs, step.knobs);
    assert_int_equal(form.verdict, RYND_TUNED_TAKEN); /* nothing else was tried */
    rynd_op_destroy(op);
    rynd_tuning_destroy(tuning);
}

static void the_listener_ends_it(void **state)
{
    rynd_tuning *tuning;
    heard h = {.until = 1};
    const rynd_tune_options options =
        RYND_SIZED(rynd_tune_options, .progress = listen, .progress_user = &h);
    rynd_tuning_info info = RYND_SIZED(rynd_tuning_info);
    assert_int_equal(rynd_tune_problem(*state, PROBLEM, &options, &tuning), RYND_OK);
    assert_int_equal(rynd_tuning_get_info(tuning, &info), RYND_OK);
    assert_int_equal(h.calls, 1);
    assert_true(info.ended && !info.taken && info.problems == 1);
    rynd_tuning_destroy(tuning);
}

static void wrong_arguments(void **state)
{
    rynd_tuning *tuning;
    rynd_tune_options options = RYND_SIZED(rynd_tune_options, .budget = -1);
    assert_int_equal(rynd_tune_problem(*state, PROBLEM, &options, &tuning), RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(rynd_last_error(), "budget is -1"));
    options.budget = NAN;
    assert_int_equal(rynd_tune_problem(*state, PROBLEM, &options, &tuning), RYND_ERROR_ARGUMENT);
    options = RYND_SIZED(rynd_tune_options, .weights = (rynd_tune_weights)9);
    assert_int_equal(rynd_tune_problem(*state, PROBLEM, &options, &tuning), RYND_ERROR_ARGUMENT);
    options = RYND_SIZED(rynd_tune_options, .accuracy = (rynd_accuracy)99);
    assert_int_equal(rynd_tune_problem(*state, PROBLEM, &options, &tuning), RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_tune_problem(*state, "conv c=0", NULL, &tuning), RYND_ERROR_FORMAT);
    assert_null(tuning);
    assert_string_equal(rynd_tuned_verdict_text((rynd_tuned_verdict)77), "unknown");
}

static void a_model(void **state)
{
    static uint8_t bytes[TINY_MODEL_CAPACITY];
    rynd_model *model;
    rynd_tuning *tuning;
    heard h = {0};
    const rynd_plan_options plan = RYND_SIZED(rynd_plan_options, .batch = 2);
    const rynd_tune_options options =
        RYND_SIZED(rynd_tune_options, .budget = 0.2, .progress = listen, .progress_user = &h);
    rynd_tuning_info info = RYND_SIZED(rynd_tuning_info);
    assert_int_equal(rynd_model_load_memory(*state, bytes, tiny_model(bytes), &model), RYND_OK);
    assert_int_equal(rynd_tune_model(model, &plan, &options, &tuning), RYND_OK);
    rynd_model_destroy(model); /* what was measured is the tuning's own */
    assert_int_equal(rynd_tuning_get_info(tuning, &info), RYND_OK);
    assert_true(info.problems >= 1 && info.used > 0 && h.calls >= 1);
    assert_true(info.taken ? info.ratio < 1 && info.runs >= 5 && info.after > 0 : 1);
    double before = INFINITY;
    for (size_t i = 0; i < info.problems; i++) {
        rynd_tuned_problem problem = RYND_SIZED(rynd_tuned_problem);
        rynd_tuned_form form = RYND_SIZED(rynd_tuned_form);
        assert_int_equal(rynd_tuning_get_problem(tuning, i, &problem), RYND_OK);
        assert_true(problem.problem[0] && problem.steps >= 1 && problem.forms > 1);
        assert_int_equal(rynd_tuning_get_form(tuning, i, 0, &form), RYND_OK);
        check_form(&form);
        /* those that take longest first */
        assert_true(form.predicted * (double)problem.steps <= before * (1 + 1e-9));
        before = form.predicted * (double)problem.steps;
    }
    rynd_tuning_destroy(tuning);
}

/* Memory that fails at the n-th request, and counts what is out. */
typedef struct bounded {
    int left, alive;
} bounded;

static void *take(void *user, size_t size, size_t alignment)
{
    bounded *b = user;
    void *memory = b->left-- > 0
                       ? aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
                       : NULL;
    b->alive += memory != NULL;
    return memory;
}

static void give_back(void *user, void *memory)
{
    ((bounded *)user)->alive -= memory != NULL;
    free(memory);
}

static int end_it(void *user, const rynd_progress *progress)
{
    (void)user;
    return progress->tuning->looked > 1;
}

/* Each request fails once: an error or fewer forms, and nothing stays behind. */
static void memory_that_is_out(void **state)
{
    (void)state;
    bounded b = {.left = INT32_MAX};
    const rynd_allocator hooks = {take, give_back, &b};
    const rynd_context_options options =
        RYND_SIZED(rynd_context_options, .threads = 1, .allocator = &hooks);
    const rynd_tune_options quick =
        RYND_SIZED(rynd_tune_options, .budget = 1, .constants = 2, .progress = end_it);
    rynd_context *context;
    assert_int_equal(rynd_context_create(&options, &context), RYND_OK);
    const int before = b.alive;
    int failures = 0;
    for (int n = 0;; n++) {
        rynd_tuning *tuning;
        b.left = n;
        const rynd_status status = rynd_tune_problem(context, PROBLEM, &quick, &tuning);
        const bool whole = b.left > 0;
        rynd_tuning_destroy(tuning);
        assert_int_equal(b.alive, before);
        if (whole) {
            assert_int_equal(status, RYND_OK);
            break;
        }
        assert_true(status == RYND_OK || status == RYND_ERROR_OUT_OF_MEMORY);
        failures += status != RYND_OK;
    }
    assert_true(failures > 5);
    b.left = INT32_MAX;
    rynd_context_destroy(context);
    assert_int_equal(b.alive, 0);
}

/* A device with its own events measures its compiled programs. */
static void another_device(void **state)
{
    (void)state;
    rynd_context *context;
    rynd_tuning *tuning;
    const rynd_context_options options = RYND_SIZED(rynd_context_options, .device = "opencl");
    const rynd_tune_options quick = RYND_SIZED(rynd_tune_options, .budget = 1e-3, .constants = 2);
    if (rynd_context_create(&options, &context) != RYND_OK) {
        print_message("skipped: %s\n", rynd_last_error());
        skip();
    }
    rynd_tuned_problem problem = RYND_SIZED(rynd_tuned_problem);
    rynd_tuned_form form = RYND_SIZED(rynd_tuned_form);
    assert_int_equal(rynd_tune_problem(context, PROBLEM, &quick, &tuning), RYND_OK);
    assert_int_equal(rynd_tuning_get_problem(tuning, 0, &problem), RYND_OK);
    assert_int_equal(rynd_tuning_get_form(tuning, 0, problem.taken, &form), RYND_OK);
    assert_true(problem.cold == 0 && form.n >= 1);
    assert_non_null(strstr(form.kernel, "_gpu"));
    check_form(&form);
    rynd_tuning_destroy(tuning);
    rynd_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_problem, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_first_form_is_the_untuned_choice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_listener_ends_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_arguments, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_model, set_up, tear_down),
        cmocka_unit_test(memory_that_is_out),
        cmocka_unit_test(another_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
