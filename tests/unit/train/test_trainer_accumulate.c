/* SPDX-License-Identifier: Apache-2.0 */
/* Several micro-batches for one update: as one batch of all, in losses, parameters and gradients;
 * nothing changes in between; any number of threads gives the same bits. */
#include "trainer_case.h"

enum { PARTS = 3, PART = BATCH / PARTS, ROOM = 4096 };

static const struct {
    rynd_trainer_options options;
    double rate;
} methods[] = {
    {{.optimizer = RYND_OPTIMIZER_SGD}, 0.1},
    {{.momentum = 0.9, .weight_decay = 1e-4, .nesterov = 1}, 0.1},
    {{.optimizer = RYND_OPTIMIZER_ADAM}, 0.01},
    {{.optimizer = RYND_OPTIMIZER_ADAMW, .weight_decay = 1e-2}, 0.01},
    {{.momentum = 0.9, .clip_norm = 0.05}, 0.5},
};
enum { METHODS = sizeof methods / sizeof *methods };

static rynd_trainer_options method(size_t i, bool parts)
{
    rynd_trainer_options options = methods[i].options;
    options.size = sizeof options;
    options.batch = parts ? PART : BATCH;
    options.accumulate = parts ? PARTS : 0;
    options.keep_gradients = 1;
    return options;
}

/* One of the parts of the batch. */
static double part(taught *t, int k, double rate)
{
    double loss = 0;
    rynd_tensor x = t->input, y = t->target;
    x.dim[0] = y.dim[0] = PART;
    x.data = t->images + (size_t)k * (IMAGE / PARTS);
    y.data = t->labels + (size_t)k * PART;
    if (rynd_trainer_step(t->trainer, &x, &y, rate, &loss) != RYND_OK) {
        fail_msg("%s", rynd_last_error());
    }
    return loss;
}

/* All of them: the mean of their losses. Rates before the last mean nothing. */
static double parts(taught *t, double rate)
{
    double sum = 0;
    for (int k = 0; k < PARTS; k++) {
        sum += part(t, k, k + 1 < PARTS ? 1e3 : rate);
    }
    return sum / PARTS;
}

/* All states of floats, one behind another, in the order of another trainer's. */
static size_t read_like(const taught *t, const taught *like, float *to)
{
    size_t used = 0;
    for (size_t i = 0; i < rynd_trainer_state_count(like->trainer); i++) {
        rynd_state_info info = RYND_SIZED(rynd_state_info);
        assert_int_equal(rynd_trainer_get_state(like->trainer, i, &info), RYND_OK);
        if (info.tensor.dtype == RYND_DTYPE_F32) {
            info.tensor.data = to + used;
            used += (size_t)rynd_tensor_elements(&info.tensor);
            assert_true(used <= ROOM);
            assert_int_equal(rynd_trainer_read(t->trainer, info.name, &info.tensor), RYND_OK);
        }
    }
    return used;
}

static size_t read_all(const taught *t, float *to)
{
    return read_like(t, t, to);
}

static double largest_difference(const float *a, const float *b, size_t count)
{
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs((double)a[i] - (double)b[i]));
    }
    return largest;
}

static void micro_batches_are_one_batch(void **state)
{
    (void)state;
    static float a[ROOM], b[ROOM];
    for (size_t m = 0; m < METHODS; m++) {
        taught one, some;
        const rynd_trainer_options whole = method(m, false), cut = method(m, true);
        begin(&one, 2, &whole);
        begin(&some, 2, &cut);
        assert_int_equal(rynd_trainer_state_count(one.trainer) + 1, /* "train/micro_batch" */
                         rynd_trainer_state_count(some.trainer));
        for (int k = 0; k < 20; k++) {
            const double x = step(&one, methods[m].rate), y = parts(&some, methods[m].rate);
            if (!(fabs(x - y) < 1e-5)) {
                fail_msg("method %zu: the loss is %.9g and %.9g at step %d", m, x, y, k);
            }
        }
        const size_t count = read_all(&one, a);
        assert_int_equal(read_like(&some, &one, b), count);
        /* Adam divides by what may be next to nothing */
        const double bound = methods[m].options.optimizer == RYND_OPTIMIZER_SGD ? 1e-5 : 1e-3;
        const double most = largest_difference(a, b, count);
        if (!(most < bound)) {
            fail_msg("method %zu: states differ by %g", m, most);
        }
        rynd_tensor x, y;
        assert_int_equal(rynd_trainer_get_gradient(one.trainer, "w1", &x), RYND_OK);
        assert_int_equal(rynd_trainer_get_gradient(some.trainer, "w1", &y), RYND_OK);
        assert_true(largest_difference(x.data, y.data, (size_t)rynd_tensor_elements(&x)) < 1e-4);
        end(&one);
        end(&some);
    }
}

static void nothing_changes_before_the_last(void **state)
{
    (void)state;
    static float before[ROOM], after[ROOM];
    taught t;
    rynd_tensor gradient;
    const rynd_trainer_options options = method(1, true);
    begin(&t, 2, &options);
    for (int round = 0; round < 2; round++) {
        const size_t count = read_all(&t, before);
        for (int k = 0; k + 1 < PARTS; k++) {
            part(&t, k, 0.1);
            read_all(&t, after);
            assert_memory_equal(before, after, count * sizeof *before);
            assert_int_equal(rynd_trainer_get_gradient(t.trainer, "w1", &gradient),
                             RYND_ERROR_ARGUMENT);
        }
        part(&t, PARTS - 1, 0.1);
        read_all(&t, after);
        assert_true(largest_difference(before, after, count) > 0);
        assert_int_equal(rynd_trainer_get_gradient(t.trainer, "w1", &gradient), RYND_OK);
    }
    end(&t);
}

/* A sum without numbers is not carried over into the next. */
static void sums_begin_anew(void **state)
{
    (void)state;
    static float good[ROOM], now[ROOM];
    taught t;
    const rynd_trainer_options options = method(0, true);
    begin(&t, 1, &options);
    const size_t count = read_all(&t, good);
    const float kept = t.images[0];
    t.images[0] = (float)INFINITY;
    parts(&t, 0);
    t.images[0] = kept;
    rynd_state_info info = RYND_SIZED(rynd_state_info);
    size_t used = 0;
    for (size_t i = 0; i < rynd_trainer_state_count(t.trainer); i++) {
        assert_int_equal(rynd_trainer_get_state(t.trainer, i, &info), RYND_OK);
        if (info.tensor.dtype == RYND_DTYPE_F32) {
            info.tensor.data = good + used;
            used += (size_t)rynd_tensor_elements(&info.tensor);
            assert_int_equal(rynd_trainer_write(t.trainer, info.name, &info.tensor), RYND_OK);
        }
    }
    assert_true(isfinite(parts(&t, 0.1)));
    read_all(&t, now);
    for (size_t i = 0; i < count; i++) {
        assert_true(isfinite(now[i]));
    }
    end(&t);
}

static void any_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    static const unsigned threads[] = {1, 2, 3, 7};
    static float expected[ROOM], got[ROOM];
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        taught t;
        const rynd_trainer_options options = method(4, true);
        begin(&t, threads[i], &options);
        for (int k = 0; k < 5; k++) {
            parts(&t, 0.1);
        }
        const size_t count = read_all(&t, i ? got : expected);
        assert_memory_equal(expected, i ? got : expected, count * sizeof *got);
        end(&t);
    }
}

static void steps_take_no_memory(void **state)
{
    (void)state;
    taught t;
    const rynd_trainer_options options = method(2, true);
    begin(&t, 2, &options);
    part(&t, 0, 0.1);
    part(&t, 0, 0.1);
    part(&t, 0, 0.1);
    const size_t before = calls;
    for (int k = 0; k < 30; k++) {
        part(&t, 0, 1e-3);
    }
    assert_int_equal(calls, before);
    end(&t);
}

static void the_update_has_a_plan(void **state)
{
    (void)state;
    taught t;
    rynd_trainer_options options = method(3, true);
    rynd_prediction prediction = RYND_SIZED(rynd_prediction);
    begin(&t, 1, &options);
    const rynd_plan *update = rynd_trainer_update_plan(t.trainer);
    assert_non_null(update);
    assert_int_equal(rynd_plan_predict(update, &prediction), RYND_OK);
    assert_true(prediction.median > 0);
    end(&t);
    options = method(3, false);
    begin(&t, 1, &options);
    assert_null(rynd_trainer_update_plan(t.trainer));
    assert_null(rynd_trainer_update_plan(NULL));
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(micro_batches_are_one_batch),
        cmocka_unit_test(nothing_changes_before_the_last),
        cmocka_unit_test(sums_begin_anew),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(steps_take_no_memory),
        cmocka_unit_test(the_update_has_a_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
