/* SPDX-License-Identifier: Apache-2.0 */
/* Eight threads share one plan, each with a session of its own: every one gets the bits that it
 * gets alone. Run under ThreadSanitizer too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tiny_model.h"
#include <rynd/rynd.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* The batch makes most steps long enough to be shared by threads. */
enum {
    USERS = 8,
    ROUNDS = 5,
    BATCH = 128,
    INPUTS = BATCH * TINY_CHANNELS * TINY_SIDE * TINY_SIDE,
    OUTPUTS = BATCH * TINY_CLASSES
};

typedef struct user {
    rynd_plan *plan;
    float x[INPUTS], y[OUTPUTS], expected[OUTPUTS];
    rynd_status status;
    int wrong; /* rounds whose output has other bits */
} user;

static rynd_status run_once(rynd_plan *plan, float *x, float *y, int rounds, const float *expected,
                            int *wrong)
{
    rynd_session *session = NULL;
    rynd_tensor in = rynd_tensor_of(x, RYND_DTYPE_F32, 4,
                                    (int64_t[]){BATCH, TINY_CHANNELS, TINY_SIDE, TINY_SIDE});
    rynd_tensor out = rynd_tensor_of(y, RYND_DTYPE_F32, 2, (int64_t[]){BATCH, TINY_CLASSES});
    rynd_status status = rynd_session_create(plan, &session);
    status = status ? status : rynd_session_bind(session, "x", &in);
    status = status ? status : rynd_session_bind(session, "y", &out);
    for (int i = 0; i < rounds && !status; i++) {
        memset(y, 0xFF, OUTPUTS * sizeof *y);
        status = rynd_session_run(session);
        *wrong += expected && memcmp(y, expected, OUTPUTS * sizeof *y) != 0;
    }
    rynd_session_destroy(session);
    return status;
}

static void *use(void *argument)
{
    user *u = argument;
    u->status = run_once(u->plan, u->x, u->y, ROUNDS, u->expected, &u->wrong);
    return NULL;
}

/* A pool of the caller's: a thread a lane, whose joining ThreadSanitizer sees. */
typedef struct lane {
    pthread_t thread;
    void (*body)(void *body_context, unsigned lane);
    void *body_context;
    unsigned index;
} lane;

static void *run_lane(void *argument)
{
    lane *l = argument;
    l->body(l->body_context, l->index);
    return NULL;
}

static void parallel_for(void *parallel_user, unsigned lanes,
                         void (*body)(void *body_context, unsigned lane), void *body_context)
{
    lane all[4];
    atomic_fetch_add((atomic_int *)parallel_user, 1);
    assert_true(lanes <= sizeof all / sizeof all[0]);
    for (unsigned i = 0; i < lanes; i++) {
        all[i] = (lane){.body = body, .body_context = body_context, .index = i};
        assert_int_equal(pthread_create(&all[i].thread, NULL, run_lane, &all[i]), 0);
    }
    for (unsigned i = 0; i < lanes; i++) {
        pthread_join(all[i].thread, NULL);
    }
}

static void share(const rynd_context_options *options)
{
    static uint8_t bytes[TINY_MODEL_CAPACITY];
    static user users[USERS];
    rynd_context *context = NULL;
    rynd_model *model = NULL;
    rynd_plan *plan = NULL;
    rynd_plan_options plan_options = RYND_SIZED(rynd_plan_options, .batch = BATCH);
    assert_int_equal(rynd_context_create(options, &context), RYND_OK);
    assert_int_equal(rynd_model_load_memory(context, bytes, tiny_model(bytes), &model), RYND_OK);
    assert_int_equal(rynd_plan_create(model, &plan_options, &plan), RYND_OK);
    for (unsigned i = 0; i < USERS; i++) {
        users[i] = (user){.plan = plan};
        tiny_values(users[i].x, INPUTS, i + 1);
        assert_int_equal(run_once(plan, users[i].x, users[i].expected, 1, NULL, &users[i].wrong),
                         RYND_OK);
    }
    assert_memory_not_equal(users[0].expected, users[1].expected, sizeof users[0].expected);
    pthread_t threads[USERS];
    for (int i = 0; i < USERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, use, &users[i]), 0);
    }
    for (int i = 0; i < USERS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < USERS; i++) {
        assert_int_equal(users[i].status, RYND_OK);
        assert_int_equal(users[i].wrong, 0);
    }
    rynd_plan_destroy(plan);
    rynd_model_destroy(model);
    rynd_context_destroy(context);
}

static void on_the_callers_pool(void **state)
{
    (void)state;
    atomic_int calls = 0;
    rynd_context_options options =
        RYND_SIZED(rynd_context_options, .threads = 3, .parallel_for = parallel_for,
                   .parallel_for_user = &calls);
    share(&options);
    assert_true(calls > 0);
}

static void on_a_pool_of_the_contexts_own(void **state)
{
    (void)state;
    rynd_context_options options = RYND_SIZED(rynd_context_options, .threads = 3);
    share(&options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_the_callers_pool),
        cmocka_unit_test(on_a_pool_of_the_contexts_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
