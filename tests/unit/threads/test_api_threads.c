/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads at once load, look at, plan, run and destroy on one context, and look at one model
 * and one plan: what the headers allow. The message of a failure is its thread's own. Run under
 * ThreadSanitizer too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tiny_model.h"
#include <rynd/rynd.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
    USERS = 8,
    ROUNDS = 4,
    BATCH = 2,
    INPUTS = BATCH * TINY_CHANNELS * TINY_SIDE * TINY_SIDE,
    OUTPUTS = BATCH * TINY_CLASSES
};

/* What all share, and none changes. */
static rynd_context *context;
static rynd_model *model;
static rynd_plan *plan;
static uint8_t bytes[TINY_MODEL_CAPACITY];
static size_t size;
static float expected[OUTPUTS];

typedef struct user {
    pthread_t thread;
    unsigned number;
    const char *wrong; /* what went wrong first; NULL: nothing */
    float x[INPUTS], y[OUTPUTS];
} user;

#define EXPECT(u, condition)                                                   \
    do {                                                                       \
        if (!(condition)) {                                                    \
            (u)->wrong = (u)->wrong ? (u)->wrong : #condition; /* the first */ \
        }                                                                      \
    } while (0)

static rynd_status run(rynd_plan *with, float *x, float *y)
{
    rynd_session *session = NULL;
    const rynd_tensor in = rynd_tensor_of(x, RYND_DTYPE_F32, 4,
                                          (int64_t[]){BATCH, TINY_CHANNELS, TINY_SIDE, TINY_SIDE});
    const rynd_tensor out = rynd_tensor_of(y, RYND_DTYPE_F32, 2, (int64_t[]){BATCH, TINY_CLASSES});
    rynd_status status = rynd_session_create(with, &session);
    status = status ? status : rynd_session_bind(session, "x", &in);
    status = status ? status : rynd_session_bind(session, "y", &out);
    status = status ? status : rynd_session_run(session);
    rynd_session_destroy(session);
    return status;
}

/* A life of a model of its own. */
static void live(user *u)
{
    rynd_model *own = NULL;
    rynd_plan *own_plan = NULL;
    const rynd_plan_options options = RYND_SIZED(rynd_plan_options, .batch = BATCH);
    EXPECT(u, rynd_model_load_memory(context, bytes, size, &own) == RYND_OK);
    EXPECT(u, rynd_plan_create(own, &options, &own_plan) == RYND_OK);
    memset(u->y, 0, sizeof u->y);
    EXPECT(u, run(own_plan, u->x, u->y) == RYND_OK);
    EXPECT(u, memcmp(u->y, expected, sizeof expected) == 0);
    rynd_plan_destroy(own_plan);
    rynd_model_destroy(own);
}

/* The shared ones, read and used. */
static void look(user *u)
{
    rynd_plan *second = NULL;
    rynd_model_info about = RYND_SIZED(rynd_model_info);
    rynd_value_info value = RYND_SIZED(rynd_value_info);
    rynd_step_info step = RYND_SIZED(rynd_step_info);
    rynd_memory memory = RYND_SIZED(rynd_memory);
    rynd_device_info device = RYND_SIZED(rynd_device_info);
    const rynd_plan_options options = RYND_SIZED(rynd_plan_options, .batch = BATCH);
    EXPECT(u, rynd_model_get_info(model, &about) == RYND_OK && about.macs > 0);
    EXPECT(u, rynd_model_get_input(model, 0, &value) == RYND_OK &&
                  strcmp(value.symbol[0], "batch") == 0);
    EXPECT(u, rynd_model_get_value(model, "y", &value) == RYND_OK);
    EXPECT(u, rynd_plan_get_step(plan, 0, &step) == RYND_OK && step.kernel);
    EXPECT(u, rynd_plan_get_memory(plan, &memory) == RYND_OK && memory.total > 0);
    EXPECT(u, rynd_context_get_info(context, &device) == RYND_OK && device.threads == 3);
    EXPECT(u, rynd_plan_create(model, &options, &second) == RYND_OK);
    rynd_plan_destroy(second);
    memset(u->y, 0, sizeof u->y);
    EXPECT(u, run(plan, u->x, u->y) == RYND_OK);
    EXPECT(u, memcmp(u->y, expected, sizeof expected) == 0);
}

/* Every thread fails in its own way, and finds its own message, after successes too. */
static void fail_alone(user *u)
{
    char name[32];
    const char *message = u->number % 2 ? "no input or output" : "no value";
    rynd_value_info value = RYND_SIZED(rynd_value_info);
    rynd_session *session = NULL;
    const rynd_tensor any = rynd_tensor_of(u->x, RYND_DTYPE_F32, 0, NULL);
    snprintf(name, sizeof name, "'thread %u'", u->number);
    char bare[32];
    snprintf(bare, sizeof bare, "thread %u", u->number);
    EXPECT(u, rynd_session_create(plan, &session) == RYND_OK);
    EXPECT(u, (u->number % 2 ? rynd_session_bind(session, bare, &any)
                             : rynd_model_get_value(model, bare, &value)) == RYND_ERROR_NOT_FOUND);
    rynd_session_destroy(session);
    EXPECT(u, rynd_model_get_value(model, "x", &value) == RYND_OK);
    EXPECT(u, strstr(rynd_last_error(), name) && strstr(rynd_last_error(), message));
}

static void *use(void *argument)
{
    user *u = argument;
    EXPECT(u, rynd_last_error()[0] == 0); /* none failed yet in this thread */
    for (int i = 0; i < ROUNDS && !u->wrong; i++) {
        live(u);
        look(u);
        fail_alone(u);
    }
    return NULL;
}

static int begin(void **state)
{
    (void)state;
    static float x[INPUTS];
    const rynd_context_options options = RYND_SIZED(rynd_context_options, .threads = 3);
    const rynd_plan_options plan_options = RYND_SIZED(rynd_plan_options, .batch = BATCH);
    size = tiny_model(bytes);
    tiny_values(x, INPUTS, 1);
    return rynd_context_create(&options, &context) ||
           rynd_model_load_memory(context, bytes, size, &model) ||
           rynd_plan_create(model, &plan_options, &plan) || run(plan, x, expected);
}

static int end(void **state)
{
    (void)state;
    rynd_plan_destroy(plan);
    rynd_model_destroy(model);
    rynd_context_destroy(context);
    return 0;
}

static void everything_at_once(void **state)
{
    (void)state;
    static user users[USERS];
    assert_int_equal(rynd_session_run(NULL), RYND_ERROR_ARGUMENT);
    char before[256];
    snprintf(before, sizeof before, "%s", rynd_last_error());
    for (unsigned i = 0; i < USERS; i++) {
        users[i].number = i;
        tiny_values(users[i].x, INPUTS, 1);
        assert_int_equal(pthread_create(&users[i].thread, NULL, use, &users[i]), 0);
    }
    for (unsigned i = 0; i < USERS; i++) {
        pthread_join(users[i].thread, NULL);
    }
    for (unsigned i = 0; i < USERS; i++) {
        if (users[i].wrong) {
            fail_msg("thread %u: not so: %s", i, users[i].wrong);
        }
    }
    assert_string_equal(rynd_last_error(), before);
}

/* Contexts of their own, made and gone at once. */
static void *make_context(void *argument)
{
    user *u = argument;
    for (int i = 0; i < ROUNDS; i++) {
        rynd_context *own = NULL;
        const rynd_context_options options = RYND_SIZED(rynd_context_options, .threads = 2);
        EXPECT(u, rynd_context_create(&options, &own) == RYND_OK);
        rynd_op *op = NULL;
        EXPECT(u, rynd_op_create(own, "conv c=4 h=6 w=6 k=4 r=3 s=3 pad=1", NULL, &op) == RYND_OK);
        rynd_op_destroy(op);
        rynd_context_destroy(own);
    }
    return NULL;
}

static void contexts_at_once(void **state)
{
    (void)state;
    static user users[USERS];
    for (unsigned i = 0; i < USERS; i++) {
        assert_int_equal(pthread_create(&users[i].thread, NULL, make_context, &users[i]), 0);
    }
    for (unsigned i = 0; i < USERS; i++) {
        pthread_join(users[i].thread, NULL);
        assert_null(users[i].wrong);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_at_once),
        cmocka_unit_test(contexts_at_once),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
