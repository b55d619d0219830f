/* SPDX-License-Identifier: Apache-2.0 */
/* Trainers that are ranks, in threads of one process: together they make the steps of one trainer
 * with all of the batch, the same bits every time and on every rank, in many buckets or in one. */
#include "ranks_case.h"
#include "trainer_case.h"

#include <stdio.h>

enum { STEPS = 20, ROOM = 4096 };

/* A run's options and its ranks' results. */
static struct run {
    rynd_trainer_options options;
    double rate;
    double loss[MOST_RANKS][STEPS];
    float weights[MOST_RANKS][ROOM], gradient[MOST_RANKS][ROOM];
    size_t weight_count;
    rynd_status created[MOST_RANKS], stepped[MOST_RANKS];
    char message[MOST_RANKS][256];
    bool odd; /* the last rank trains something else */
} run;

static size_t elements(const rynd_tensor *t)
{
    size_t count = 1;
    for (int d = 0; d < t->rank; d++) {
        count *= (size_t)t->dim[d];
    }
    return count;
}

/* The parameter behind one, by names: trainers list them in orders of their own. */
static bool next_parameter(const taught *t, const char *behind, rynd_state_info *next)
{
    bool any = false;
    for (size_t i = 0; i < rynd_trainer_state_count(t->trainer); i++) {
        rynd_state_info info = RYND_SIZED(rynd_state_info);
        rynd_trainer_get_state(t->trainer, i, &info);
        if (info.kind == RYND_STATE_PARAMETER && strcmp(info.name, behind) > 0 &&
            (!any || strcmp(info.name, next->name) < 0)) {
            *next = info;
            any = true;
        }
    }
    return any;
}

static void keep(taught *t, int rank)
{
    size_t used = 0;
    rynd_state_info info = {.name = ""};
    while (next_parameter(t, info.name, &info)) {
        rynd_tensor gradient;
        info.tensor.data = run.weights[rank] + used;
        rynd_trainer_read(t->trainer, info.name, &info.tensor);
        if (run.options.keep_gradients &&
            rynd_trainer_get_gradient(t->trainer, info.name, &gradient) == RYND_OK) {
            memcpy(run.gradient[rank] + used, gradient.data, elements(&gradient) * sizeof(float));
        }
        used += elements(&info.tensor);
    }
    if (rank == 0) {
        run.weight_count = used; /* weights of each rank */
    }
}

/* By a rank's part of the batch, in micro-batches where an update is of several; the loss is the
 * mean of theirs. */
static rynd_status learn(taught *t, const rank_thread *r, double *loss)
{
    const int64_t micro_batches = run.options.accumulate ? run.options.accumulate : 1,
                  part = BATCH / r->ring.ranks / micro_batches;
    rynd_status status = RYND_OK;
    t->input.dim[0] = t->target.dim[0] = part;
    *loss = 0;
    for (int64_t i = 0; i < micro_batches && status == RYND_OK; i++) {
        const int64_t first = (r->ring.rank * micro_batches + i) * part;
        double own;
        t->input.data = t->images + (size_t)first * IMAGE / BATCH;
        t->target.data = t->labels + first;
        status = rynd_trainer_step(t->trainer, &t->input, &t->target, run.rate, &own);
        *loss += own / (double)micro_batches;
    }
    return status;
}

/* One rank's life. Assertions are the first thread's matter. */
static void *live(rank_thread *r)
{
    const int rank = r->ring.rank, ranks = r->ring.ranks;
    const int64_t micro_batches = run.options.accumulate ? run.options.accumulate : 1;
    rynd_trainer_options options = run.options;
    taught t;
    options.batch = BATCH / ranks / micro_batches;
    begin_model(&t, 1);
    options.exchange = &r->exchange;
    static const char *const frozen[] = {"w2"};
    if (run.odd && rank == ranks - 1) {
        options.freeze = frozen;
        options.freeze_count = 1;
    }
    run.created[rank] = rynd_trainer_create(t.model, &options, &t.trainer);
    run.stepped[rank] = run.created[rank];
    for (int i = 0; i < STEPS && run.stepped[rank] == RYND_OK; i++) {
        run.stepped[rank] = learn(&t, r, &run.loss[rank][i]);
    }
    if (run.stepped[rank] != RYND_OK) {
        snprintf(run.message[rank], sizeof run.message[rank], "%s", rynd_last_error());
    } else {
        keep(&t, rank);
    }
    end(&t);
    return NULL;
}

static void go(int ranks)
{
    static rank_case all;
    memset(&run.loss, 0, sizeof run.loss);
    run_ranks(&all, ranks, live);
    for (int i = 0; i < ranks; i++) {
        if (run.stepped[i] != RYND_OK) {
            fail_msg("rank %d of %d: %s", i, ranks, run.message[i]);
        }
    }
}

static const struct {
    const char *name;
    rynd_trainer_options options;
    double rate;
} methods[] = {
    {"sgd", {.momentum = 0.9, .weight_decay = 1e-4}, 0.1},
    {"adam", {.optimizer = RYND_OPTIMIZER_ADAM}, 0.01},
    {"clipped", {.clip_norm = 0.05, .momentum = 0.5}, 0.5},
};
enum { METHODS = sizeof methods / sizeof *methods };

static void take_method(size_t m)
{
    run = (struct run){.options = methods[m].options, .rate = methods[m].rate};
    run.options.size = sizeof run.options;
    run.options.bucket_bytes = 1;
}

/* The method's steps by one trainer, with all of the batch at once. */
static void go_alone(double *losses)
{
    taught t;
    rynd_trainer_options options = run.options;
    options.batch = BATCH;
    begin(&t, 1, &options);
    for (int i = 0; i < STEPS; i++) {
        losses[i] = step(&t, run.rate);
    }
    end(&t);
}

static void expect_losses(size_t m, int ranks, const double *alone)
{
    for (int i = 0; i < STEPS; i++) {
        if (fabs(run.loss[0][i] - alone[i]) > 1e-5 * fabs(alone[i])) {
            fail_msg("%s, %d ranks of %lld micro-batches, step %d: loss %.9g, alone %.9g",
                     methods[m].name, ranks, (long long)run.options.accumulate, i, run.loss[0][i],
                     alone[i]);
        }
    }
}

static void ranks_make_the_steps_of_one(void **state)
{
    (void)state;
    static double alone[STEPS];
    for (size_t m = 0; m < METHODS; m++) {
        take_method(m);
        go_alone(alone);
        for (int ranks = 1; ranks <= BATCH; ranks++) {
            if (BATCH % ranks == 0) {
                go(ranks);
                expect_losses(m, ranks, alone);
            }
        }
    }
}

/* Sums of gradients go through the exchange, once an update. */
static void micro_batches_of_ranks_make_the_steps_of_one(void **state)
{
    (void)state;
    static double alone[STEPS];
    for (size_t m = 0; m < METHODS; m++) {
        take_method(m);
        go_alone(alone);
        for (int ranks = 1; ranks <= BATCH / 2; ranks++) {
            if (BATCH % (2 * ranks) == 0) {
                run.options.accumulate = BATCH / ranks;
                go(ranks);
                expect_losses(m, ranks, alone);
                assert_memory_equal(run.weights[0], run.weights[ranks - 1],
                                    run.weight_count * sizeof(float));
            }
        }
    }
}

static void bits_are_the_same(void **state)
{
    (void)state;
    static struct run first;
    for (size_t m = 0; m < METHODS; m++) {
        for (int ranks = 2; ranks <= 3; ranks++) {
            take_method(m);
            go(ranks);
            first = run;
            go(ranks);
            for (int r = 0; r < ranks; r++) {
                assert_memory_equal(run.loss[r], first.loss[0], sizeof run.loss[r]);
                assert_memory_equal(run.weights[r], first.weights[0],
                                    run.weight_count * sizeof(float));
            }
        }
    }
}

/* With two ranks a sum has no order, so buckets of any size give the same bits. */
static void buckets_of_any_size(void **state)
{
    (void)state;
    static struct run first;
    static const size_t sizes[] = {1, 256, 4096, 0};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        take_method(0);
        run.options.bucket_bytes = sizes[i];
        go(2);
        first = i ? first : run;
        assert_memory_equal(run.loss[1], first.loss[0], sizeof run.loss[1]);
        assert_memory_equal(run.weights[1], first.weights[0], run.weight_count * sizeof(float));
    }
}

/* Gradients that are kept are means, on every rank. */
static void expect_means(int64_t accumulate)
{
    static struct run one;
    take_method(0);
    run.options.keep_gradients = 1;
    go(1);
    one = run;
    run.options.accumulate = accumulate;
    go(2);
    bool any = false;
    assert_memory_equal(run.gradient[0], run.gradient[1], run.weight_count * sizeof(float));
    for (size_t i = 0; i < run.weight_count; i++) {
        const double a = (double)one.gradient[0][i], b = (double)run.gradient[0][i];
        any = any || a != 0;
        if (fabs(a - b) > 1e-5 + 1e-3 * fabs(a)) {
            fail_msg("gradient %zu: %g of two ranks, %g of one", i, b, a);
        }
    }
    assert_true(any);
}

static void gradients_are_means(void **state)
{
    (void)state;
    expect_means(0);
    expect_means(BATCH / 2);
}

static void different_trainings_are_refused(void **state)
{
    (void)state;
    static rank_case all;
    take_method(0);
    run.odd = true;
    run_ranks(&all, 2, live);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(run.created[r], RYND_ERROR_ARGUMENT);
        assert_non_null(strstr(run.message[r], "do not train the same"));
    }
}

static int no_exchange(void *user, float *data, size_t count)
{
    (void)user, (void)data, (void)count;
    return 0;
}

/* The steps of the backward pass go on behind a bucket, and updates wait for it. */
static void buckets_are_told(void **state)
{
    (void)state;
    taught t;
    const rynd_exchange alone = RYND_SIZED(rynd_exchange, .ranks = 1, .all_reduce = no_exchange);
    rynd_bucket_info info = RYND_SIZED(rynd_bucket_info), before = RYND_SIZED(rynd_bucket_info);
    rynd_trainer_options options = defaults();
    options.exchange = &alone;
    options.bucket_bytes = 1;
    begin(&t, 1, &options);
    const size_t count = rynd_trainer_bucket_count(t.trainer);
    const size_t steps = rynd_plan_step_count(rynd_trainer_plan(t.trainer));
    assert_int_equal(count, 6); /* five parameters, and the loss */
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(rynd_trainer_get_bucket(t.trainer, i, &info), RYND_OK);
        assert_true(info.bytes > 0 && info.made <= info.awaited && info.awaited <= steps);
        assert_true((info.awaited == steps) == (i + 1 == count));
    }
    rynd_trainer_get_bucket(t.trainer, 0, &before);
    rynd_trainer_get_bucket(t.trainer, count - 2, &info);
    assert_true(before.made < info.made && before.awaited >= info.made);
    assert_int_equal(rynd_trainer_get_bucket(t.trainer, count, &info), RYND_ERROR_ARGUMENT);
    end(&t);
    options.accumulate = 2; /* gradients are complete before the update begins */
    begin(&t, 1, &options);
    assert_int_equal(rynd_trainer_bucket_count(t.trainer), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(rynd_trainer_get_bucket(t.trainer, i, &info), RYND_OK);
        assert_true(info.bytes > 0 && info.made == 0 &&
                    info.awaited < rynd_plan_step_count(rynd_trainer_update_plan(t.trainer)));
    }
    end(&t);
    options = defaults();
    begin(&t, 1, &options);
    assert_int_equal(rynd_trainer_bucket_count(t.trainer), 0);
    end(&t);
}

static void steps_take_no_memory(void **state)
{
    (void)state;
    taught t;
    const rynd_exchange alone = RYND_SIZED(rynd_exchange, .ranks = 1, .all_reduce = no_exchange);
    rynd_trainer_options options = defaults();
    options.exchange = &alone;
    options.bucket_bytes = 256;
    begin(&t, 2, &options);
    step(&t, 0.1);
    const size_t before = calls;
    for (int i = 0; i < 5; i++) {
        step(&t, 0.1);
    }
    assert_int_equal(calls, before);
    end(&t);
    assert_int_equal(alive, 0);
}

/* Each allocation in turn fails: a message, and nothing is left behind. */
static void memory_may_fail(void **state)
{
    (void)state;
    taught t;
    rynd_trainer *trainer = NULL;
    const rynd_exchange alone = RYND_SIZED(rynd_exchange, .ranks = 1, .all_reduce = no_exchange);
    rynd_trainer_options options = defaults();
    options.exchange = &alone;
    begin_model(&t, 1);
    rynd_status status = RYND_ERROR_OUT_OF_MEMORY;
    const size_t before = alive;
    for (size_t at = 1; status != RYND_OK; at++) {
        fails_at = at;
        status = rynd_trainer_create(t.model, &options, &trainer);
        fails_at = 0;
        if (status != RYND_OK) {
            assert_int_equal(status, RYND_ERROR_OUT_OF_MEMORY);
            assert_int_equal(alive, before);
        }
    }
    rynd_trainer_destroy(trainer);
    end(&t);
}

static int broken_exchange(void *user, float *data, size_t count)
{
    int *summed = user;
    (void)data, (void)count;
    return ++*summed > 3 ? -1 : 0;
}

static void a_broken_exchange_ends_the_steps(void **state)
{
    (void)state;
    taught t;
    int summed = 0;
    double loss;
    rynd_exchange exchange =
        RYND_SIZED(rynd_exchange, .ranks = 1, .all_reduce = broken_exchange, .user = &summed);
    rynd_trainer_options options = defaults();
    options.exchange = &exchange;
    options.bucket_bytes = 1 << 20;
    begin(&t, 1, &options);
    step(&t, 0.1);
    step(&t, 0.1);
    assert_int_equal(rynd_trainer_step(t.trainer, &t.input, &t.target, 0.1, &loss),
                     RYND_ERROR_DEVICE);
    assert_non_null(strstr(rynd_last_error(), "rank 0 of 1: the exchange"));
    assert_int_equal(rynd_trainer_step(t.trainer, &t.input, &t.target, 0.1, &loss),
                     RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(rynd_last_error(), "an earlier step failed"));
    end(&t);
}

static void refuses(taught *t, const rynd_exchange *exchange, const char *text)
{
    rynd_trainer *trainer;
    rynd_trainer_options options = defaults();
    options.exchange = exchange;
    assert_int_equal(rynd_trainer_create(t->model, &options, &trainer), RYND_ERROR_ARGUMENT);
    if (!strstr(rynd_last_error(), text)) {
        fail_msg("'%s' does not say '%s'", rynd_last_error(), text);
    }
}

static void bad_exchanges_are_refused(void **state)
{
    (void)state;
    taught t;
    int summed = 0;
    const rynd_exchange good =
        RYND_SIZED(rynd_exchange, .ranks = 2, .all_reduce = broken_exchange, .user = &summed);
    rynd_exchange bad = good;
    begin_model(&t, 1);
    bad.rank = 2;
    refuses(&t, &bad, "rank 2 of 2");
    bad = good;
    bad.all_reduce = NULL;
    refuses(&t, &bad, "no all_reduce");
    bad = good;
    bad.size = 3;
    refuses(&t, &bad, "another size");
    end(&t);
}

/* Started by nobody, MPI is not needed to know that; opened, it is a rank of one. */
static void mpi_alone(void **state)
{
    (void)state;
    rynd_exchange exchange = RYND_SIZED(rynd_exchange), other = RYND_SIZED(rynd_exchange);
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("PMI_SIZE");
    assert_int_equal(rynd_mpi_ranks(), 1);
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    assert_int_equal(rynd_mpi_ranks(), 4);
    unsetenv("OMPI_COMM_WORLD_SIZE");
    setenv("RYND_MPI_LIBRARY", "/nowhere/librynd_mpi.so", 1);
    assert_int_equal(rynd_mpi_open(&exchange), RYND_ERROR_UNSUPPORTED);
    assert_non_null(strstr(rynd_last_error(), "/nowhere/librynd_mpi.so"));
    unsetenv("RYND_MPI_LIBRARY");
    rynd_mpi_close(&other); /* not MPI's */
    rynd_mpi_abort(&other, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_make_the_steps_of_one),
        cmocka_unit_test(micro_batches_of_ranks_make_the_steps_of_one),
        cmocka_unit_test(bits_are_the_same),
        cmocka_unit_test(buckets_of_any_size),
        cmocka_unit_test(gradients_are_means),
        cmocka_unit_test(different_trainings_are_refused),
        cmocka_unit_test(buckets_are_told),
        cmocka_unit_test(steps_take_no_memory),
        cmocka_unit_test(memory_may_fail),
        cmocka_unit_test(a_broken_exchange_ends_the_steps),
        cmocka_unit_test(bad_exchanges_are_refused),
        cmocka_unit_test(mpi_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
