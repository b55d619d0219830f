/* SPDX-License-Identifier: Apache-2.0 */
/* The trainer through the public interface, on a small network: losses fall, gradients are those of
 * differences, states come back as they went, any number of threads gives the same bits, memory
 * does not grow. */
#include "trainer_case.h"

static const struct {
    const char *name;
    rynd_trainer_options options;
    double rate;
} methods[] = {
    {"sgd", {.optimizer = RYND_OPTIMIZER_SGD}, 0.1},
    {"sgd, momentum", {.momentum = 0.9, .weight_decay = 1e-4}, 0.1},
    {"sgd, nesterov", {.momentum = 0.9, .nesterov = 1}, 0.1},
    {"adam", {.optimizer = RYND_OPTIMIZER_ADAM, .weight_decay = 1e-4}, 0.01},
    {"adamw", {.optimizer = RYND_OPTIMIZER_ADAMW, .weight_decay = 1e-2}, 0.01},
    {"clipped", {.clip_norm = 0.05}, 0.5},
    {"smoothed", {.label_smoothing = 0.1}, 0.5},
};
enum { METHODS = sizeof methods / sizeof *methods };

static rynd_trainer_options method(size_t i)
{
    rynd_trainer_options options = methods[i].options;
    options.size = sizeof options;
    options.batch = BATCH;
    return options;
}

static void losses_fall(void **state)
{
    (void)state;
    for (size_t i = 0; i < METHODS; i++) {
        taught t;
        const rynd_trainer_options options = method(i);
        begin(&t, 2, &options);
        const double first = step(&t, methods[i].rate);
        double last = first;
        for (int k = 0; k < 30; k++) {
            last = step(&t, methods[i].rate);
        }
        if (!(last < first - 0.01)) {
            fail_msg("%s: the loss went from %g to %g", methods[i].name, first, last);
        }
        end(&t);
    }
}

/* All states, one behind another. */
static size_t read_all(taught *t, float *to, size_t room)
{
    size_t used = 0;
    for (size_t i = 0; i < rynd_trainer_state_count(t->trainer); i++) {
        rynd_state_info info = RYND_SIZED(rynd_state_info);
        assert_int_equal(rynd_trainer_get_state(t->trainer, i, &info), RYND_OK);
        size_t floats = info.tensor.dtype == RYND_DTYPE_F64 ? 2 : 1;
        for (int d = 0; d < info.tensor.rank; d++) {
            floats *= (size_t)info.tensor.dim[d];
        }
        assert_true(used + floats <= room);
        used += used % 2; /* where it is a double */
        info.tensor.data = to + used;
        assert_int_equal(rynd_trainer_read(t->trainer, info.name, &info.tensor), RYND_OK);
        used += floats;
    }
    return used;
}

enum { ROOM = 4096 };

static void any_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    static const unsigned threads[] = {1, 2, 3, 7};
    for (size_t m = 0; m < METHODS; m++) {
        static float expected[ROOM], got[ROOM];
        double loss = 0;
        for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
            taught t;
            const rynd_trainer_options options = method(m);
            begin(&t, threads[i], &options);
            double last = 0;
            for (int k = 0; k < 5; k++) {
                last = step(&t, methods[m].rate);
            }
            const size_t count = read_all(&t, i ? got : expected, ROOM);
            loss = i ? loss : last;
            assert_memory_equal(&loss, &last, sizeof loss);
            assert_memory_equal(expected, i ? got : expected, count * sizeof *got);
            end(&t);
        }
    }
}

/* Going on from states that were read is going on. */
static void states_come_back(void **state)
{
    (void)state;
    taught one, other;
    static float numbers[ROOM];
    const rynd_trainer_options options = method(3);
    begin(&one, 2, &options);
    begin(&other, 2, &options);
    for (int k = 0; k < 3; k++) {
        step(&one, 0.01);
    }
    bool has_step = false;
    for (size_t i = 0; i < rynd_trainer_state_count(one.trainer); i++) {
        rynd_state_info info = RYND_SIZED(rynd_state_info);
        assert_int_equal(rynd_trainer_get_state(one.trainer, i, &info), RYND_OK);
        info.tensor.data = numbers;
        assert_int_equal(rynd_trainer_read(one.trainer, info.name, &info.tensor), RYND_OK);
        assert_int_equal(rynd_trainer_write(other.trainer, info.name, &info.tensor), RYND_OK);
        if (strcmp(info.name, "train/step") == 0) {
            has_step = true;
            double steps;
            memcpy(&steps, numbers, sizeof steps);
            assert_true(steps == 3);
        }
    }
    assert_true(has_step);
    for (int k = 0; k < 3; k++) {
        assert_true(step(&one, 0.01) == step(&other, 0.01));
    }
    end(&one);
    end(&other);
}

static void check_gradient(taught *t, const char *name, int count)
{
    float *weights = calloc((size_t)count, sizeof *weights), *gradient = calloc((size_t)count, 4);
    rynd_tensor tensor;
    step(t, 0);
    assert_int_equal(rynd_trainer_get_gradient(t->trainer, name, &tensor), RYND_OK);
    memcpy(gradient, tensor.data, (size_t)count * sizeof *gradient);
    tensor.data = weights;
    assert_int_equal(rynd_trainer_read(t->trainer, name, &tensor), RYND_OK);
    for (int i = 0; i < count; i += 3) {
        const float at = weights[i], by = 1.0f / 512;
        weights[i] = at + by;
        assert_int_equal(rynd_trainer_write(t->trainer, name, &tensor), RYND_OK);
        const double above = evaluate(t);
        weights[i] = at - by;
        assert_int_equal(rynd_trainer_write(t->trainer, name, &tensor), RYND_OK);
        const double below = evaluate(t), wanted = (above - below) / (2 * (double)by);
        weights[i] = at;
        assert_int_equal(rynd_trainer_write(t->trainer, name, &tensor), RYND_OK);
        if (!(fabs((double)gradient[i] - wanted) < 2e-4)) {
            fail_msg("%s: the gradient is %g at %d, by differences %g", name, (double)gradient[i],
                     i, wanted);
        }
    }
    free(weights);
    free(gradient);
}

static void gradients_are_those_of_differences(void **state)
{
    (void)state;
    taught t;
    rynd_trainer_options options = defaults();
    options.keep_gradients = 1;
    begin(&t, 2, &options);
    check_gradient(&t, "w1", 6 * TINY_CHANNELS * 9);
    check_gradient(&t, "b1", 6);
    check_gradient(&t, "w2", 36);
    check_gradient(&t, "w3", TINY_CLASSES * 6);
    check_gradient(&t, "b3", TINY_CLASSES);
    end(&t);
}

static bool has_state(taught *t, const char *name)
{
    for (size_t i = 0; i < rynd_trainer_state_count(t->trainer); i++) {
        rynd_state_info info = RYND_SIZED(rynd_state_info);
        assert_int_equal(rynd_trainer_get_state(t->trainer, i, &info), RYND_OK);
        if (strcmp(info.name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Behind what is frozen nothing is computed: no step of the plan is a convolution's gradient. */
static void frozen_layers_stay(void **state)
{
    (void)state;
    static const char *const freeze[] = {"[wb]1", "w2"};
    taught t;
    rynd_trainer_options options = defaults();
    options.freeze = freeze;
    options.freeze_count = 2;
    begin(&t, 2, &options);
    const double first = step(&t, 0.5);
    for (int k = 0; k < 20; k++) {
        step(&t, 0.5);
    }
    assert_true(step(&t, 0.5) < first);
    assert_false(has_state(&t, "w1"));
    assert_false(has_state(&t, "w2"));
    assert_true(has_state(&t, "w3"));
    const rynd_plan *plan = rynd_trainer_plan(t.trainer);
    for (size_t i = 0; i < rynd_plan_step_count(plan); i++) {
        rynd_step_info info = RYND_SIZED(rynd_step_info);
        assert_int_equal(rynd_plan_get_step(plan, i, &info), RYND_OK);
        assert_null(strstr(info.problem, "dir=bwd"));
        assert_null(strstr(info.problem, "convt "));
    }
    end(&t);
}

static void outputs_and_evaluations(void **state)
{
    (void)state;
    taught t;
    const rynd_trainer_options options = defaults();
    rynd_tensor output;
    begin(&t, 2, &options);
    assert_int_equal(rynd_trainer_get_output(t.trainer, &output), RYND_ERROR_ARGUMENT);
    const double before = evaluate(&t), loss = step(&t, 0.5), after = evaluate(&t);
    assert_true(fabs(before - loss) < 1e-5);
    assert_true(after < before);
    assert_int_equal(rynd_trainer_get_output(t.trainer, &output), RYND_OK);
    rynd_tensor same;
    const char *name = NULL;
    assert_int_equal(rynd_trainer_output_count(t.trainer), 1);
    assert_int_equal(rynd_trainer_get_output_at(t.trainer, 0, &name, &same), RYND_OK);
    assert_true(name && same.data == output.data && same.rank == output.rank);
    assert_int_equal(rynd_trainer_get_output_at(t.trainer, 1, NULL, &same), RYND_ERROR_ARGUMENT);
    assert_int_equal(output.rank, 2);
    assert_int_equal(output.dim[1], TINY_CLASSES);
    assert_true(evaluate(&t) == after);
    rynd_prediction prediction = RYND_SIZED(rynd_prediction);
    rynd_memory memory = RYND_SIZED(rynd_memory);
    assert_int_equal(rynd_plan_predict(rynd_trainer_plan(t.trainer), &prediction), RYND_OK);
    assert_true(prediction.median > 0);
    assert_int_equal(rynd_plan_get_memory(rynd_trainer_plan(t.trainer), &memory), RYND_OK);
    assert_true(memory.weights > (6 * 27 + 6 + 36 + 35) * sizeof(float));
    assert_int_equal(rynd_trainer_profile(t.trainer, 1), RYND_OK);
    step(&t, 0.5);
    double seconds = 0;
    for (size_t i = 0; i < rynd_plan_step_count(rynd_trainer_plan(t.trainer)); i++) {
        seconds += rynd_trainer_step_time(t.trainer, i);
    }
    assert_true(seconds > 0);
    end(&t);
}

static void steps_take_no_memory(void **state)
{
    (void)state;
    taught t;
    const rynd_trainer_options options = method(3);
    begin(&t, 2, &options);
    for (int k = 0; k < 10; k++) {
        step(&t, 1e-3);
    }
    const size_t before = calls, memory = rynd_trainer_memory(t.trainer);
    for (int k = 0; k < 1000; k++) {
        step(&t, 1e-3);
    }
    assert_int_equal(calls, before);
    assert_int_equal(rynd_trainer_memory(t.trainer), memory);
    assert_true(memory > 0);
    end(&t);
}

static void targets_are_described(void **state)
{
    (void)state;
    taught t;
    rynd_tensor target;
    rynd_trainer_options options = defaults();
    begin(&t, 1, &options);
    assert_int_equal(rynd_trainer_get_target(t.trainer, &target), RYND_OK);
    assert_int_equal(target.dtype, RYND_DTYPE_I64);
    assert_int_equal(target.rank, 1);
    assert_int_equal(target.dim[0], BATCH);
    end(&t);
    options.target = RYND_DTYPE_F32;
    begin(&t, 1, &options);
    assert_int_equal(rynd_trainer_get_target(t.trainer, &target), RYND_OK);
    assert_int_equal(target.dtype, RYND_DTYPE_F32);
    assert_int_equal(target.rank, 2);
    end(&t);
}

/* A one-hot row of probabilities equals its class. */
static void rows_of_probabilities_are_classes(void **state)
{
    (void)state;
    taught labels, rows;
    float probabilities[BATCH * TINY_CLASSES] = {0};
    rynd_trainer_options options = defaults();
    options.label_smoothing = 0.2;
    begin(&labels, 1, &options);
    options.target = RYND_DTYPE_F32;
    begin(&rows, 1, &options);
    for (int i = 0; i < BATCH; i++) {
        probabilities[i * TINY_CLASSES + labels.labels[i]] = 1;
    }
    rows.target = row_major(RYND_DTYPE_F32, 2, (int64_t[]){BATCH, TINY_CLASSES}, probabilities);
    assert_true(fabs(step(&labels, 0) - step(&rows, 0)) < 1e-6);
    end(&labels);
    end(&rows);
}

/* Numbers of rynd_random_normal by seed and name, whose places are FNV-1a's of 64 bits. */
static void fresh_parameters_are_by_seed_and_name(void **state)
{
    (void)state;
    static float numbers[ROOM], expected[ROOM];
    taught t;
    rynd_trainer_options options = defaults();
    options.init = RYND_INIT_HE;
    options.init_seed = 7;
    begin(&t, 1, &options);
    size_t weights = 0;
    for (size_t i = 0; i < rynd_trainer_state_count(t.trainer); i++) {
        rynd_state_info info = RYND_SIZED(rynd_state_info);
        assert_int_equal(rynd_trainer_get_state(t.trainer, i, &info), RYND_OK);
        if (info.kind != RYND_STATE_PARAMETER || info.tensor.rank != 4) {
            continue;
        }
        uint64_t place = 0xcbf29ce484222325u;
        for (const char *c = info.name; *c; c++) {
            place = (place ^ (unsigned char)*c) * 0x100000001b3u;
        }
        const rynd_random random = {7, (uint32_t)(place >> 32), (uint32_t)place};
        const int64_t *dim = info.tensor.dim, fan = dim[1] * dim[2] * dim[3];
        const size_t count = (size_t)(dim[0] * fan);
        info.tensor.data = numbers;
        assert_true(count <= ROOM);
        assert_int_equal(rynd_trainer_read(t.trainer, info.name, &info.tensor), RYND_OK);
        assert_int_equal(rynd_random_normal(&random, 0, count, expected), RYND_OK);
        for (size_t k = 0; k < count; k++) {
            assert_true(numbers[k] == expected[k] * (float)sqrt(2 / (double)fan));
        }
        weights++;
    }
    assert_int_equal(weights, 2);
    end(&t);
}

/* Two trainers of equal options have equal words; which options differ is said. */
static void identities_tell_options_apart(void **state)
{
    (void)state;
    taught one, other;
    const char *a, *b;
    rynd_trainer_options options = defaults();
    begin(&one, 1, &options);
    begin(&other, 3, &options);
    assert_int_equal(rynd_trainer_get_identity(one.trainer, &a), RYND_OK);
    assert_int_equal(rynd_trainer_get_identity(other.trainer, &b), RYND_OK);
    assert_string_equal(a, b);
    assert_non_null(strstr(a, " accuracy=near32 "));
    end(&other);
    options.accuracy = RYND_ACCURACY_STRICT;
    begin(&other, 1, &options);
    assert_int_equal(rynd_trainer_get_identity(other.trainer, &b), RYND_OK);
    assert_non_null(strstr(b, " accuracy=strict "));
    end(&other);
    end(&one);
}

/* The file has what the states are, and states are read in place. */
static void a_model_is_saved_with_its_states(void **state)
{
    (void)state;
    static float from[ROOM], saved[ROOM];
    taught t;
    rynd_model *model = NULL;
    rynd_trainer *again = NULL;
    void *data = NULL;
    size_t size = 0;
    const rynd_trainer_options options = defaults();
    begin(&t, 1, &options);
    step(&t, 0.1);
    const size_t used = read_all(&t, from, ROOM);
    rynd_state_info info = RYND_SIZED(rynd_state_info);
    assert_int_equal(rynd_trainer_get_state(t.trainer, 1, &info), RYND_OK);
    assert_non_null(info.tensor.data);
    rynd_state_info named = RYND_SIZED(rynd_state_info);
    assert_int_equal(rynd_trainer_get_state_named(t.trainer, info.name, &named), RYND_OK);
    assert_ptr_equal(named.tensor.data, info.tensor.data);
    assert_int_equal(rynd_trainer_get_state_named(t.trainer, "nobody", &named),
                     RYND_ERROR_NOT_FOUND);
    assert_int_equal(rynd_trainer_save_memory(t.trainer, &data, &size), RYND_OK);
    assert_int_equal(rynd_trainer_save(t.trainer, "/nowhere/x.onnx"), RYND_ERROR_IO);
    assert_int_equal(rynd_model_load_memory(t.context, data, size, &model), RYND_OK);
    assert_int_equal(rynd_trainer_create(model, &options, &again), RYND_OK);
    rynd_trainer_destroy(t.trainer);
    t.trainer = again;
    assert_int_equal(read_all(&t, saved, ROOM), used);
    for (size_t i = 0; i < rynd_trainer_state_count(again); i++) {
        assert_int_equal(rynd_trainer_get_state(again, i, &info), RYND_OK);
        if (info.kind == RYND_STATE_OPTIMIZER && strcmp(info.name, "train/step") != 0) {
            fail_msg("%s: plain SGD keeps nothing", info.name);
        }
    }
    /* the number of steps, a double, is 1 and 0 */
    size_t differ = 0;
    for (size_t i = 0; i < used; i++) {
        differ += from[i] != saved[i];
    }
    assert_true(differ <= 2);
    rynd_trainer_destroy(again);
    t.trainer = NULL;
    rynd_model_destroy(model);
    rynd_memory_free(t.context, data);
    end(&t);
}

static void evaluations_are_prepared(void **state)
{
    (void)state;
    taught t;
    const rynd_trainer_options options = defaults();
    begin(&t, 1, &options);
    const size_t before = rynd_trainer_memory(t.trainer);
    assert_int_equal(rynd_trainer_prepare_evaluation(t.trainer), RYND_OK);
    const size_t prepared = rynd_trainer_memory(t.trainer);
    assert_true(prepared > before);
    evaluate(&t);
    assert_int_equal(rynd_trainer_memory(t.trainer), prepared);
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_fall),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(states_come_back),
        cmocka_unit_test(gradients_are_those_of_differences),
        cmocka_unit_test(frozen_layers_stay),
        cmocka_unit_test(outputs_and_evaluations),
        cmocka_unit_test(steps_take_no_memory),
        cmocka_unit_test(targets_are_described),
        cmocka_unit_test(rows_of_probabilities_are_classes),
        cmocka_unit_test(fresh_parameters_are_by_seed_and_name),
        cmocka_unit_test(identities_tell_options_apart),
        cmocka_unit_test(a_model_is_saved_with_its_states),
        cmocka_unit_test(evaluations_are_prepared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
