/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning a problem by times that the tests make up: which form is taken, that a wrong one never is,
 * and that nothing is measured beyond the budget. */
#include "every_problem.h"

#include "base/threads.h"
#include "device/cpu/cpu_device.h"
#include "graph/infer.h"
#include "kernels/form.h"
#include "machine/machine.h"
#include "predict/predict.h"
#include "tune/candidates.h"
#include "tune/reference_samples.h"
#include "tune/tune_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char CONVOLUTION[] = "conv n=2 c=24 h=12 w=13 k=20 r=3 s=3 pad=1 bias=1 act=relu";

typedef struct fixture {
    ry_threads *threads;
    ry_device *device;
    ry_machine machine;
    ry_target target;
    ry_arena arena;
    ry_problem problem;
    unsigned constants;
    ry_tuned_problem tuned;
    /* the meter's */
    double now, step; /* seconds: the clock, and what each look at it adds */
    char fastest[RY_FORM_TEXT + 128], wrong[RY_FORM_TEXT + 128]; /* kernel and knobs */
    int measured, runs, spoiled;
    int stop_after; /* news; 0: never */
    int heard;
    ry_tune_news last;
} fixture;

static int set_up(void **state)
{
    static fixture f;
    ry_error error;
    ry_cpu_info cpu;
    f = (fixture){0};
    ry_cpu_detect(&cpu);
    assert_int_equal(ry_threads_create(&ry_system_allocator, 2, NULL, NULL, &f.threads, &error),
                     RYND_OK);
    assert_int_equal(
        ry_cpu_device_create(&ry_system_allocator, f.threads, cpu.isa, &f.device, &error), RYND_OK);
    ry_machine_built_in(&cpu, cpu.isa, &f.machine);
    f.device->machine = &f.machine;
    f.device->planned_isa = f.device->isa;
    f.target = ry_target_of(f.device);
    ry_arena_init(&f.arena, &ry_system_allocator);
    f.constants = 6;
    f.step = 1e-6;
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    ry_arena_free(&f->arena);
    f->device->table->destroy(f->device);
    ry_threads_destroy(f->threads);
    return 0;
}

static void name_of(const ry_prepared *prepared, char *text, size_t size)
{
    char knobs[RY_FORM_TEXT];
    ry_form_print(prepared->kernel, &prepared->form, knobs);
    snprintf(text, size, "%s %s", prepared->kernel->name, knobs);
}

static bool is_named(const ry_trial *trial, const char *name)
{
    char own[RY_FORM_TEXT + 128];
    name_of(&trial->prepared, own, sizeof own);
    return strcmp(own, name) == 0;
}

/* A form that is called wrong writes one element of ten as something else. */
static rynd_status run_once(void *user, ry_trial *trial, ry_error *error)
{
    fixture *f = user;
    f->runs++;
    const rynd_status status = ry_trial_run(trial, error);
    if (status == RYND_OK && is_named(trial, f->wrong)) {
        const ry_pointer pointer = trial->operands->pointer[trial->operands->problem->inputs];
        float *y = f->device->table->buffer_address(pointer.buffer);
        for (int64_t i = 0; i < ry_tensor_count(&f->problem.out[0]); i += 10) {
            y[i] += 0.01f;
        }
        f->spoiled++;
    }
    return status;
}

static rynd_status measure(void *user, ry_trial *trial, double *seconds, ry_error *error)
{
    fixture *f = user;
    (void)error;
    f->measured++;
    *seconds = is_named(trial, f->fastest) ? 0.8e-3 : 1e-3;
    f->now += *seconds;
    return RYND_OK;
}

static double now(void *user)
{
    fixture *f = user;
    return f->now += f->step;
}

static bool listen(void *user, const ry_tune_news *news)
{
    fixture *f = user;
    f->heard++;
    f->last = *news;
    return f->stop_after && f->heard >= f->stop_after;
}

static void parse(fixture *f, const char *text)
{
    ry_error error = {""};
    if (ry_problem_parse(text, &f->arena, &f->problem, &error) != RYND_OK ||
        ry_problem_check(&f->problem, &ry_system_allocator, &error) != RYND_OK) {
        fail_msg("%s: %s", text, error.text);
    }
}

static rynd_status tune(fixture *f, double budget, ry_error *error)
{
    const ry_tune_meter meter = {run_once, measure, now, f};
    const ry_tune_options options = {.budget = budget,
                                     .seed = 5,
                                     .cold = true,
                                     .memory = (size_t)1 << 30,
                                     .meter = &meter,
                                     .listen = listen,
                                     .listen_user = f};
    return ry_tune_problem(&f->problem, f->constants, f->device, &f->target, &f->target, &options,
                           &f->arena, &f->tuned, error);
}

static void must_tune(fixture *f, double budget)
{
    ry_error error = {""};
    if (tune(f, budget, &error) != RYND_OK) {
        fail_msg("%s", error.text);
    }
}

/* Name of a candidate, by its place in the list. */
static void candidate(fixture *f, int index, char *name, size_t size)
{
    ry_candidates all;
    ry_error error;
    assert_int_equal(ry_candidates_list(&f->problem, f->constants, &f->target, f->device->workers,
                                        &f->arena, &all, &error),
                     RYND_OK);
    assert_true(all.count > 3);
    name_of(&all.items[index].prepared, name, size);
}

static void candidates_begin_with_the_untuned_choice(void **state)
{
    fixture *f = *state;
    ry_candidates all;
    ry_error error;
    ry_choice choice;
    parse(f, CONVOLUTION);
    assert_int_equal(ry_candidates_list(&f->problem, f->constants, &f->target, f->device->workers,
                                        &f->arena, &all, &error),
                     RYND_OK);
    assert_int_equal(
        ry_predict_choose(&f->problem, &f->target, f->constants, NULL, &choice, &error), RYND_OK);
    assert_ptr_equal(all.items[0].prepared.kernel, choice.prepared.kernel);
    assert_memory_equal(&all.items[0].prepared.form, &choice.prepared.form,
                        (size_t)choice.prepared.kernel->knob_count * sizeof(int64_t));
    for (int i = 0; i < all.count; i++) {
        char name[RY_FORM_TEXT + 128], other[RY_FORM_TEXT + 128];
        name_of(&all.items[i].prepared, name, sizeof name);
        for (int k = 0; k < i; k++) {
            name_of(&all.items[k].prepared, other, sizeof other);
            assert_string_not_equal(name, other);
        }
        assert_true(i < 2 || all.items[i - 1].predicted <= all.items[i].predicted);
    }
}

static void the_fastest_form_is_taken(void **state)
{
    fixture *f = *state;
    parse(f, CONVOLUTION);
    candidate(f, 2, f->fastest, sizeof f->fastest);
    must_tune(f, 10);
    const ry_measured_form *taken = &f->tuned.forms[f->tuned.taken];
    assert_int_equal(f->tuned.taken, 2);
    assert_int_equal(taken->verdict, RY_VERDICT_TAKEN);
    assert_true(fabs(f->tuned.ratio - 0.8) < 1e-9);
    assert_true(taken->time.n >= 5 && fabs(taken->time.median - 0.8e-3) < 1e-9);
    assert_true(f->tuned.forms[0].time.n > taken->time.n); /* the canary runs twice a round */
    assert_int_not_equal(f->tuned.forms[0].verdict, RY_VERDICT_TAKEN);
    assert_int_equal(f->runs, f->tuned.count); /* each was compared before it was timed */
    assert_true(f->last.left >= 1 && f->last.rounds >= 5 && f->last.spent > 0);
    assert_ptr_equal(f->last.best, taken);
}

static void without_a_gain_the_untuned_choice_stays(void **state)
{
    fixture *f = *state;
    parse(f, CONVOLUTION);
    must_tune(f, 10);
    assert_int_equal(f->tuned.taken, 0);
    assert_int_equal(f->tuned.forms[0].verdict, RY_VERDICT_TAKEN);
    assert_true(f->tuned.ratio == 1);
}

static void a_wrong_form_is_rejected(void **state)
{
    fixture *f = *state;
    parse(f, CONVOLUTION);
    candidate(f, 2, f->fastest, sizeof f->fastest);
    memcpy(f->wrong, f->fastest, sizeof f->wrong);
    must_tune(f, 10);
    assert_int_equal(f->spoiled, 1);
    assert_int_equal(f->tuned.taken, 0);
    assert_int_equal(f->tuned.forms[2].verdict, RY_VERDICT_REJECTED);
    assert_int_equal(f->tuned.forms[2].time.n, 0); /* it was never timed */
    assert_non_null(strstr(f->tuned.forms[2].reason, "the reference's is"));
}

static void a_wrong_untuned_choice_is_rejected_too(void **state)
{
    fixture *f = *state;
    parse(f, CONVOLUTION);
    candidate(f, 0, f->wrong, sizeof f->wrong);
    must_tune(f, 10);
    assert_int_equal(f->tuned.forms[0].verdict, RY_VERDICT_REJECTED);
    assert_int_not_equal(f->tuned.taken, 0);
    assert_int_equal(f->tuned.forms[f->tuned.taken].verdict, RY_VERDICT_TAKEN);
}

static void no_budget_measures_nothing(void **state)
{
    fixture *f = *state;
    parse(f, CONVOLUTION);
    must_tune(f, 0);
    assert_int_equal(f->measured + f->runs, 0);
    assert_int_equal(f->tuned.taken, 0);
    assert_true(f->tuned.count > 3);
    assert_int_equal(f->tuned.forms[0].verdict, RY_VERDICT_UNTRIED);
}

static void a_small_budget_is_kept(void **state)
{
    fixture *f = *state;
    parse(f, CONVOLUTION);
    candidate(f, 1, f->fastest, sizeof f->fastest);
    must_tune(f, 4e-3);
    assert_true(f->now < 8e-3);
    assert_int_equal(f->tuned.taken, 0); /* too few rounds to know */
    assert_int_equal(f->tuned.forms[f->tuned.count - 1].verdict, RY_VERDICT_UNTRIED);
}

static void the_listener_may_end_it(void **state)
{
    fixture *f = *state;
    parse(f, CONVOLUTION);
    f->stop_after = 2;
    must_tune(f, 10);
    assert_int_equal(f->heard, 2);
    assert_int_equal(f->runs, 2);
    assert_ptr_equal(f->last.best, &f->tuned.forms[0]); /* no race yet */
    assert_true(f->tuned.stopped);
    assert_int_equal(f->tuned.taken, 0);
}

/* In the middle of the race: what is known by then counts. */
static void what_was_learned_stays(void **state)
{
    fixture *f = *state;
    parse(f, CONVOLUTION);
    candidate(f, 2, f->fastest, sizeof f->fastest);
    must_tune(f, 10);
    const int all = f->tuned.count;
    f->heard = 0;
    f->stop_after = all + 5;
    must_tune(f, 10);
    assert_true(f->tuned.stopped);
    assert_int_equal(f->tuned.rounds, 5);
    assert_int_equal(f->tuned.taken, 2);
}

static void memory_is_bounded(void **state)
{
    fixture *f = *state;
    const ry_tune_meter meter = {run_once, measure, now, f};
    const ry_tune_options options = {.budget = 10, .seed = 5, .memory = 1, .meter = &meter};
    ry_error error;
    parse(f, CONVOLUTION);
    candidate(f, 2, f->fastest, sizeof f->fastest);
    assert_int_equal(ry_tune_problem(&f->problem, f->constants, f->device, &f->target, &f->target,
                                     &options, &f->arena, &f->tuned, &error),
                     RYND_OK);
    assert_int_equal(f->runs, f->tuned.count); /* one candidate at a time against the untuned form
                                                */
    assert_int_equal(f->tuned.forms[0].verdict, RY_VERDICT_TAKEN);
}

/* Sums the bytes of the forms in a round. */
typedef struct weighing {
    fixture *f;
    const ry_trial *base; /* measured first */
    size_t bytes, most;   /* current round without the base; largest whole round */
} weighing;

static rynd_status weigh(void *user, ry_trial *trial, double *seconds, ry_error *error)
{
    weighing *w = user;
    w->base = w->base ? w->base : trial;
    w->bytes += trial == w->base ? 0 : ry_trial_bytes(trial);
    return measure(w->f, trial, seconds, error);
}

static rynd_status run_weighed(void *user, ry_trial *trial, ry_error *error)
{
    return run_once(((weighing *)user)->f, trial, error);
}

static double now_weighed(void *user)
{
    return now(((weighing *)user)->f);
}

static bool end_round(void *user, const ry_tune_news *news)
{
    weighing *w = user;
    const size_t bytes = news->left ? w->bytes + ry_trial_bytes(w->base) : 0;
    w->most = bytes > w->most ? bytes : w->most;
    w->bytes = 0;
    return false;
}

/* The forms that race are held together: as many as the memory has room for. */
static void racers_fit_the_memory(void **state)
{
    fixture *f = *state;
    parse(f, "conv n=1 c=256 h=4 w=4 k=256 r=3 s=3 pad=1");
    for (size_t memory = (size_t)1 << 24; memory <= (size_t)1 << 25; memory *= 2) {
        weighing w = {.f = f};
        const ry_tune_meter meter = {run_weighed, weigh, now_weighed, &w};
        const ry_tune_options options = {.budget = 10,
                                         .seed = 5,
                                         .memory = memory,
                                         .meter = &meter,
                                         .listen = end_round,
                                         .listen_user = &w};
        ry_error error;
        assert_int_equal(ry_tune_problem(&f->problem, f->constants, f->device, &f->target,
                                         &f->target, &options, &f->arena, &f->tuned, &error),
                         RYND_OK);
        /* the limit counts weights and workspace only of the form that comes */
        assert_true(w.most > memory / 2 && w.most <= memory + ((size_t)1 << 20));
    }
}

static void a_negative_stride_is_refused(void **state)
{
    fixture *f = *state;
    ry_error error = {""};
    parse(f, CONVOLUTION);
    ry_tensor in[4];
    memcpy(in, f->problem.in, (size_t)f->problem.inputs * sizeof *in);
    in[0].stride[3] = -1;
    f->problem.in = in;
    assert_int_equal(tune(f, 10, &error), RYND_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "negative stride"));
}

/* The mechanism itself, by the clock: whatever it takes, no kernel that is right is rejected. */
static void every_operator(void **state)
{
    fixture *f = *state;
    int tuned = 0;
    for (size_t i = 0; i < every_problem_count; i++) {
        const ry_tune_options options = {.budget = 0.01, .seed = i, .memory = (size_t)1 << 28};
        ry_error error = {""};
        assert_int_equal(
            ry_problem_parse(every_problems[i].problem, &f->arena, &f->problem, &error), RYND_OK);
        const rynd_status status =
            ry_tune_problem(&f->problem, 2, f->device, &f->target, &f->target, &options, &f->arena,
                            &f->tuned, &error);
        if (status != RYND_OK) {
            print_message("%s: %s\n", every_problems[i].problem, error.text);
            assert_int_equal(status, RYND_ERROR_SHAPE); /* zeros are no legal content */
            continue;
        }
        for (int k = 0; k < f->tuned.count; k++) {
            const ry_measured_form *form = &f->tuned.forms[k];
            if (form->verdict == RY_VERDICT_REJECTED) {
                fail_msg("%s: %s: %s", every_problems[i].problem, form->prepared.kernel->name,
                         form->reason);
            }
            assert_true(form->time.n == 0 || form->time.min > 0);
        }
        assert_true(f->tuned.count == 0 ||
                    f->tuned.forms[f->tuned.taken].verdict == RY_VERDICT_TAKEN);
        tuned += f->tuned.count > 0;
        ry_arena_free(&f->arena);
        ry_arena_init(&f->arena, &ry_system_allocator);
    }
    assert_true(tuned > (int)every_problem_count * 9 / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(candidates_begin_with_the_untuned_choice, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_fastest_form_is_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_gain_the_untuned_choice_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_wrong_form_is_rejected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_wrong_untuned_choice_is_rejected_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_budget_measures_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_small_budget_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_listener_may_end_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_learned_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_is_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(racers_fit_the_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_negative_stride_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_operator, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
