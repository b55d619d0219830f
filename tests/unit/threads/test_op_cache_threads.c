/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads take operators from one context's cache, run them in streams of their own and give
 * them back, while the limits change. Run under ThreadSanitizer too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "each_device.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

enum { USERS = 6, ROUNDS = 40, PROBLEMS = 3, COUNT = 8 };

typedef struct user {
    pthread_t thread;
    rynd_context *context;
    rynd_buffer *x, *y;
    bool right;
} user;

static bool run_once(user *u, rynd_stream *stream, int round)
{
    char problem[96];
    rynd_op *op = NULL;
    float x[COUNT], y[COUNT], add = (float)round;
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)(i + round);
    }
    snprintf(problem, sizeof problem, "expr x0=8:f32 x1=scalar:f32 y0=8:f32 program='x0 * %d + x1'",
             1 + round % PROBLEMS);
    const rynd_operand in[] = {{.buffer = u->x}, {.value = &add}}, out = {.buffer = u->y};
    bool right = rynd_op_create_cached(u->context, problem, NULL, &op) == RYND_OK &&
                 rynd_buffer_write(u->x, 0, x, sizeof x) == RYND_OK &&
                 rynd_op_run_async(op, in, &out, NULL, stream) == RYND_OK;
    rynd_op_destroy(op);
    right = right && rynd_stream_synchronize(stream) == RYND_OK &&
            rynd_buffer_read(u->y, 0, y, sizeof y) == RYND_OK;
    for (int i = 0; i < COUNT && right; i++) {
        right = y[i] == x[i] * (float)(1 + round % PROBLEMS) + add;
    }
    return right;
}

static void *use(void *argument)
{
    user *u = argument;
    rynd_stream *stream = NULL;
    u->right = rynd_stream_create(u->context, &stream) == RYND_OK;
    for (int round = 0; round < ROUNDS && u->right; round++) {
        u->right = run_once(u, stream, round);
        if (round % 16 == 15) {
            u->right = u->right && rynd_context_limit_op_cache(u->context, (size_t)round % 3,
                                                               SIZE_MAX) == RYND_OK;
        }
    }
    rynd_stream_destroy(stream);
    return NULL;
}

static void share(rynd_context *context)
{
    user users[USERS];
    rynd_op_cache_info info = RYND_SIZED(rynd_op_cache_info);
    const float zero[COUNT] = {0};
    for (int i = 0; i < USERS; i++) {
        users[i] = (user){.context = context,
                          .x = buffer_with(context, zero, sizeof zero),
                          .y = buffer_with(context, zero, sizeof zero)};
        assert_int_equal(pthread_create(&users[i].thread, NULL, use, &users[i]), 0);
    }
    for (int i = 0; i < USERS; i++) {
        pthread_join(users[i].thread, NULL);
        assert_true(users[i].right);
        rynd_buffer_destroy(users[i].x);
        rynd_buffer_destroy(users[i].y);
    }
    assert_int_equal(rynd_context_get_op_cache(context, &info), RYND_OK);
    assert_int_equal(info.hits + info.misses, USERS * ROUNDS);
    assert_int_equal(rynd_context_limit_op_cache(context, 0, 0), RYND_OK);
}

static void each_share(void **state)
{
    (void)state;
    on_each_device(share);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_share)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
