/* SPDX-License-Identifier: Apache-2.0 */
/* Options that a trainer refuses, and the messages. */
#include "trainer_case.h"

/* What the options of a trainer must say, in its message. */
static void refuses(taught *t, const rynd_trainer_options *options, rynd_status status,
                    const char *text)
{
    rynd_trainer *trainer;
    assert_int_equal(rynd_trainer_create(t->model, options, &trainer), status);
    if (!strstr(rynd_last_error(), text)) {
        fail_msg("'%s' does not say '%s'", rynd_last_error(), text);
    }
    assert_null(trainer);
}

static void bad_options_are_refused(void **state)
{
    (void)state;
    taught t;
    static const char *const nothing[] = {"w9*"}, *const all[] = {"*"};
    rynd_trainer_options options = defaults();
    begin(&t, 1, &options);
    options.batch = 0;
    refuses(&t, &options, RYND_ERROR_SHAPE, "batch");
    options = defaults();
    options.output = "z";
    refuses(&t, &options, RYND_ERROR_NOT_FOUND, "no output 'z'");
    options = defaults();
    options.freeze = nothing;
    options.freeze_count = 1;
    refuses(&t, &options, RYND_ERROR_NOT_FOUND, "'w9*' matches no parameter");
    options.freeze = all;
    refuses(&t, &options, RYND_ERROR_UNSUPPORTED, "nothing to train");
    options = defaults();
    options.momentum = 1;
    refuses(&t, &options, RYND_ERROR_ARGUMENT, "momentum is 1");
    options = defaults();
    options.label_smoothing = -0.1;
    refuses(&t, &options, RYND_ERROR_ARGUMENT, "label_smoothing is -0.1");
    options = defaults();
    options.nesterov = 1;
    refuses(&t, &options, RYND_ERROR_ARGUMENT, "nesterov");
    options = defaults();
    options.loss = RYND_LOSS_MSE;
    options.target = RYND_DTYPE_I64;
    refuses(&t, &options, RYND_ERROR_UNSUPPORTED, "mse has targets of type f32, not i64");
    options = defaults();
    options.loss = (rynd_loss)99;
    refuses(&t, &options, RYND_ERROR_ARGUMENT, "loss 99");
    options = defaults();
    options.init = (rynd_init)3;
    refuses(&t, &options, RYND_ERROR_ARGUMENT, "init is 3");
    options = defaults();
    options.storage = RYND_DTYPE_F16;
    refuses(&t, &options, RYND_ERROR_ARGUMENT, "storage is 2: give RYND_DTYPE_F32");
    options = defaults();
    options.accumulate = -2;
    refuses(&t, &options, RYND_ERROR_ARGUMENT, "accumulate is -2");
    options = defaults();
    options.memory_limit = 1000;
    refuses(&t, &options, RYND_ERROR_OUT_OF_MEMORY,
            "a memory limit of 1000 bytes is not possible: it takes at least");
    end(&t);
}

static void bad_batches_change_nothing(void **state)
{
    (void)state;
    taught t, other;
    rynd_trainer_options options = defaults();
    options.momentum = 0.9;
    begin(&t, 2, &options);
    begin(&other, 2, &options);
    step(&t, 0.1);
    step(&other, 0.1);
    t.labels[2] = TINY_CLASSES;
    assert_int_equal(rynd_trainer_step(t.trainer, &t.input, &t.target, 0.1, NULL),
                     RYND_ERROR_SHAPE);
    assert_non_null(strstr(rynd_last_error(), "class number 5 at 2, expected 0 to 4"));
    t.labels[2] = -1;
    assert_int_equal(rynd_trainer_step(t.trainer, &t.input, &t.target, 0.1, NULL),
                     RYND_ERROR_SHAPE);
    t.labels[2] = other.labels[2];
    rynd_tensor small = t.input;
    small.dim[0]--;
    assert_int_equal(rynd_trainer_step(t.trainer, &small, &t.target, 0.1, NULL), RYND_ERROR_SHAPE);
    assert_int_equal(rynd_trainer_step(t.trainer, &t.input, &t.target, (double)NAN, NULL),
                     RYND_ERROR_ARGUMENT);
    assert_true(step(&t, 0.1) == step(&other, 0.1));
    rynd_tensor tensor = small;
    assert_int_equal(rynd_trainer_read(t.trainer, "w1", &tensor), RYND_ERROR_SHAPE);
    assert_non_null(strstr(rynd_last_error(), "state 'w1'"));
    assert_int_equal(rynd_trainer_write(t.trainer, "w9", &tensor), RYND_ERROR_NOT_FOUND);
    assert_int_equal(rynd_trainer_get_gradient(t.trainer, "w1", &tensor), RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_trainer_get_gradient(t.trainer, "train/step", &tensor),
                     RYND_ERROR_NOT_FOUND);
    end(&t);
    end(&other);
}

enum { ENOUGH = 1 << 30 };

/* Each allocation fails in turn: it is told, and everything is given back. */
static void run_out_of_memory(int64_t accumulate, size_t memory_limit)
{
    taught t;
    rynd_trainer_options options = defaults();
    options.accumulate = accumulate;
    options.memory_limit = memory_limit;
    options.momentum = 0.9;
    options.clip_norm = 1;
    options.init = RYND_INIT_HE;
    begin(&t, 1, &options);
    rynd_trainer *trainer = NULL;
    size_t failed = 0;
    for (rynd_status status = RYND_ERROR_OUT_OF_MEMORY; status != RYND_OK; failed++) {
        const size_t before = alive;
        fails_at = failed + 1;
        status = rynd_trainer_create(t.model, &options, &trainer);
        fails_at = 0;
        if (status != RYND_OK) {
            assert_int_equal(status, RYND_ERROR_OUT_OF_MEMORY);
            assert_null(trainer);
            assert_int_equal(alive, before);
        }
    }
    assert_true(failed > 50);
    rynd_trainer_destroy(trainer);
    end(&t);
}

static void memory_runs_out(void **state)
{
    (void)state;
    run_out_of_memory(1, 0);
    run_out_of_memory(2, 0);
    run_out_of_memory(1, ENOUGH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(bad_batches_change_nothing),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
