/* SPDX-License-Identifier: Apache-2.0 */
/* The trainer on a GPU beside the CPU's, on a small network: every step runs there, losses and
 * states agree, each run gives the same bits, states come back as they went. */
#include "trainer_case.h"

#include "gpu_run.h"

static const struct {
    const char *name;
    rynd_trainer_options options;
    double rate;
} methods[] = {
    {"sgd", {.optimizer = RYND_OPTIMIZER_SGD}, 0.1},
    {"sgd, nesterov", {.momentum = 0.9, .nesterov = 1, .weight_decay = 1e-4}, 0.1},
    {"adam", {.optimizer = RYND_OPTIMIZER_ADAM, .label_smoothing = 0.1}, 0.01},
    {"adamw", {.optimizer = RYND_OPTIMIZER_ADAMW, .weight_decay = 1e-2}, 0.01},
    {"clipped", {.clip_norm = 0.05}, 0.5},
};
enum { METHODS = sizeof methods / sizeof *methods, ADAM = 2, STEPS = 4, ROOM = 4096 };

static const char *device_name(void)
{
    const char *asked = getenv("RYND_TEST_GPU");
    return asked ? asked : "opencl";
}

static rynd_trainer_options method(size_t i)
{
    rynd_trainer_options options = methods[i].options;
    options.size = sizeof options;
    options.batch = BATCH;
    return options;
}

/* All states as floats, one behind another. */
static size_t read_all(taught *t, float *to)
{
    size_t used = 0;
    for (size_t i = 0; i < rynd_trainer_state_count(t->trainer); i++) {
        rynd_state_info info = RYND_SIZED(rynd_state_info);
        assert_int_equal(rynd_trainer_get_state(t->trainer, i, &info), RYND_OK);
        size_t count = 1;
        for (int d = 0; d < info.tensor.rank; d++) {
            count *= (size_t)info.tensor.dim[d];
        }
        double number;
        const bool wide = info.tensor.dtype == RYND_DTYPE_F64;
        assert_true(used + count <= ROOM && (!wide || count == 1));
        info.tensor.data = wide ? (void *)&number : to + used;
        assert_int_equal(rynd_trainer_read(t->trainer, info.name, &info.tensor), RYND_OK);
        if (wide) {
            to[used] = (float)number;
        }
        used += count;
    }
    return used;
}

static size_t train_on(const char *device, size_t m, double losses[STEPS + 1], float *states)
{
    taught t;
    const rynd_trainer_options options = method(m);
    begin_on(&t, device, 2, &options);
    for (int k = 0; k < STEPS; k++) {
        losses[k] = step(&t, methods[m].rate);
    }
    losses[STEPS] = evaluate(&t);
    const size_t count = read_all(&t, states);
    end(&t);
    return count;
}

static void agrees_with_the_cpu(void **state)
{
    (void)state;
    gpu_run_need();
    for (size_t m = 0; m < METHODS; m++) {
        static float expected[ROOM], got[ROOM], again[ROOM];
        double by_cpu[STEPS + 1], there[STEPS + 1], once_more[STEPS + 1];
        const size_t count = train_on(NULL, m, by_cpu, expected);
        assert_int_equal(train_on(device_name(), m, there, got), count);
        assert_int_equal(train_on(device_name(), m, once_more, again), count);
        assert_memory_equal(there, once_more, sizeof there);
        assert_memory_equal(got, again, count * sizeof *got);
        for (int k = 0; k <= STEPS; k++) {
            if (!(fabs(there[k] - by_cpu[k]) <= 1e-5 * fabs(by_cpu[k]))) {
                fail_msg("%s, step %d: the loss is %.9g, on the CPU %.9g", methods[m].name, k,
                         there[k], by_cpu[k]);
            }
        }
        for (size_t i = 0; i < count; i++) {
            if (!(fabsf(got[i] - expected[i]) <= 1e-4f * fmaxf(1, fabsf(expected[i])))) {
                fail_msg("%s: number %zu of the states is %.9g, on the CPU %.9g", methods[m].name,
                         i, (double)got[i], (double)expected[i]);
            }
        }
    }
}

static void runs_every_step_there(void **state)
{
    (void)state;
    gpu_run_need();
    taught t;
    const rynd_trainer_options options = method(ADAM);
    begin_on(&t, device_name(), 2, &options);
    const rynd_plan *plan = rynd_trainer_plan(t.trainer);
    assert_true(rynd_plan_step_count(plan) > 10);
    for (size_t i = 0; i < rynd_plan_step_count(plan); i++) {
        rynd_step_info info = RYND_SIZED(rynd_step_info);
        assert_int_equal(rynd_plan_get_step(plan, i, &info), RYND_OK);
        if (!strstr(info.kernel, "_gpu")) {
            fail_msg("step '%s' is run by %s", info.name, info.kernel);
        }
    }
    end(&t);
}

/* Going on from states that were read is going on. */
static void states_come_back(void **state)
{
    (void)state;
    gpu_run_need();
    taught one, other;
    static float numbers[ROOM];
    const rynd_trainer_options options = method(ADAM);
    begin_on(&one, device_name(), 2, &options);
    begin_on(&other, device_name(), 2, &options);
    step(&one, 0.01);
    step(&one, 0.01);
    for (size_t i = 0; i < rynd_trainer_state_count(one.trainer); i++) {
        rynd_state_info info = RYND_SIZED(rynd_state_info);
        assert_int_equal(rynd_trainer_get_state(one.trainer, i, &info), RYND_OK);
        info.tensor.data = numbers;
        assert_int_equal(rynd_trainer_read(one.trainer, info.name, &info.tensor), RYND_OK);
        assert_int_equal(rynd_trainer_write(other.trainer, info.name, &info.tensor), RYND_OK);
    }
    for (int k = 0; k < 2; k++) {
        assert_true(step(&one, 0.01) == step(&other, 0.01));
    }
    assert_true(evaluate(&one) == evaluate(&other));
    end(&one);
    end(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_cpu),
        cmocka_unit_test(runs_every_step_there),
        cmocka_unit_test(states_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
