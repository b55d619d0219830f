/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of steps, spans of runs, and parameters of models. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tiny_model.h"
#include <rynd/trace.h>
#include <rynd/train.h>

#include <string.h>

enum { BATCH = 2, INPUTS = BATCH * TINY_CHANNELS * TINY_SIDE * TINY_SIDE, THREADS = 2 };

static rynd_context *context;
static rynd_model *model;
static rynd_plan *plan;
static rynd_session *session;
static float x[INPUTS];

static int begin(void **state)
{
    (void)state;
    static uint8_t bytes[TINY_MODEL_CAPACITY];
    const rynd_context_options threads = RYND_SIZED(rynd_context_options, .threads = THREADS);
    const rynd_plan_options options = RYND_SIZED(rynd_plan_options, .batch = BATCH);
    const rynd_tensor in = rynd_tensor_of(x, RYND_DTYPE_F32, 4,
                                          (int64_t[]){BATCH, TINY_CHANNELS, TINY_SIDE, TINY_SIDE});
    return rynd_context_create(&threads, &context) ||
           rynd_model_load_memory(context, bytes, tiny_model(bytes), &model) ||
           rynd_plan_create(model, &options, &plan) || rynd_session_create(plan, &session) ||
           rynd_session_bind(session, "x", &in);
}

static int end(void **state)
{
    (void)state;
    rynd_session_destroy(session);
    rynd_plan_destroy(plan);
    rynd_model_destroy(model);
    rynd_context_destroy(context);
    return 0;
}

/* The first step reads the input, each later one a value that an earlier one made. */
static void operands_are_connected(void **state)
{
    (void)state;
    size_t to_output = 0;
    for (size_t s = 0; s < rynd_plan_step_count(plan); s++) {
        size_t written = 0, connected = 0;
        for (size_t i = 0; i < rynd_plan_operand_count(plan, s); i++) {
            rynd_operand_info info = RYND_SIZED(rynd_operand_info);
            assert_int_equal(rynd_plan_get_operand(plan, s, i, &info), RYND_OK);
            assert_null(info.tensor.data);
            written += info.output != 0;
            to_output += info.storage == RYND_STORAGE_OUTPUT;
            if (info.producer != RYND_NO_STEP) {
                assert_true(info.producer < s && !info.output);
                connected++;
            }
            connected += info.storage == RYND_STORAGE_INPUT && strcmp(info.name, "x") == 0;
        }
        assert_true(written > 0 && connected > 0);
    }
    assert_true(to_output > 0);
    rynd_operand_info info = RYND_SIZED(rynd_operand_info);
    assert_int_equal(rynd_plan_operand_count(plan, rynd_plan_step_count(plan)), 0);
    assert_int_equal(rynd_plan_get_operand(plan, 0, rynd_plan_operand_count(plan, 0), &info),
                     RYND_ERROR_ARGUMENT);
}

/* Every step has spans, in the order of steps; each lies within its step's time. */
static void spans_of_a_run(void **state)
{
    (void)state;
    assert_int_equal(rynd_session_run(session), RYND_OK);
    assert_int_equal(rynd_session_span_count(session), 0);
    assert_int_equal(rynd_session_trace(session, 1), RYND_OK);
    for (int run = 0; run < 2; run++) {
        size_t last = 0, steps = 1;
        assert_int_equal(rynd_session_run(session), RYND_OK);
        for (size_t i = 0; i < rynd_session_span_count(session); i++) {
            rynd_span span = RYND_SIZED(rynd_span);
            assert_int_equal(rynd_session_get_span(session, i, &span), RYND_OK);
            assert_true(span.thread < THREADS && span.tasks > 0);
            assert_true(span.begin >= 0 && span.end >= span.begin);
            assert_true(span.end - span.begin <= rynd_session_step_time(session, span.step));
            assert_true(span.step == last || span.step == last + 1);
            steps += span.step != last;
            last = span.step;
        }
        assert_int_equal(steps, rynd_plan_step_count(plan));
    }
    rynd_span span = RYND_SIZED(rynd_span);
    const size_t count = rynd_session_span_count(session);
    assert_int_equal(rynd_session_get_span(session, count, &span), RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_session_trace(session, 0), RYND_OK);
    assert_int_equal(rynd_session_run(session), RYND_OK);
    assert_int_equal(rynd_session_span_count(session), count);
}

/* A pattern of a parameter's name trains it alone. */
static void parameters_are_what_training_freezes(void **state)
{
    (void)state;
    const size_t count = rynd_model_parameter_count(model);
    assert_true(count > 1);
    for (size_t i = 0; i < count; i++) {
        rynd_parameter_info info = RYND_SIZED(rynd_parameter_info);
        rynd_trainer *trainer;
        size_t trained = 0;
        assert_int_equal(rynd_model_get_parameter(model, i, &info), RYND_OK);
        assert_true(info.tensor.dtype == RYND_DTYPE_F32 && !info.tensor.data && *info.node);
        const rynd_trainer_options options = RYND_SIZED(
            rynd_trainer_options, .batch = BATCH, .train_only = &info.name, .train_only_count = 1);
        assert_int_equal(rynd_trainer_create(model, &options, &trainer), RYND_OK);
        for (size_t s = 0; s < rynd_trainer_state_count(trainer); s++) {
            rynd_state_info kept = RYND_SIZED(rynd_state_info);
            assert_int_equal(rynd_trainer_get_state(trainer, s, &kept), RYND_OK);
            trained += kept.kind == RYND_STATE_PARAMETER;
            assert_true(kept.kind != RYND_STATE_PARAMETER || strcmp(kept.name, info.name) == 0);
        }
        assert_int_equal(trained, 1);
        rynd_trainer_destroy(trainer);
    }
    rynd_parameter_info info = RYND_SIZED(rynd_parameter_info);
    assert_int_equal(rynd_model_get_parameter(model, count, &info), RYND_ERROR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_are_connected),
        cmocka_unit_test(spans_of_a_run),
        cmocka_unit_test(parameters_are_what_training_freezes),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
