/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions on CUDA record their steps and replay them, with the bits of plain runs: on a driver
 * without a GPU (tests/cuda). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../cuda/fake_cuda.h"
#include "tiny_model.h"
#include <rynd/rynd.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 2,
    INPUTS = BATCH * TINY_CHANNELS * TINY_SIDE * TINY_SIDE,
    OUTPUTS = BATCH * TINY_CLASSES,
    SEEDS = 4
};

static fake_cuda_state *fake;

#define OK(call)                                          \
    do {                                                  \
        if ((call) != RYND_OK) {                          \
            fail_msg("%s: %s", #call, rynd_last_error()); \
        }                                                 \
    } while (0)

typedef struct setup {
    rynd_context *context;
    rynd_model *model;
    rynd_plan *plan;
    rynd_session *session;
    float x[INPUTS], y[OUTPUTS], expected[SEEDS][OUTPUTS];
} setup;

static void bind(setup *s, float *x, float *y)
{
    static const int64_t x_dims[] = {BATCH, TINY_CHANNELS, TINY_SIDE, TINY_SIDE},
                         y_dims[] = {BATCH, TINY_CLASSES};
    const rynd_tensor in = rynd_tensor_of(x, RYND_DTYPE_F32, 4, x_dims),
                      out = rynd_tensor_of(y, RYND_DTYPE_F32, 2, y_dims);
    OK(rynd_session_bind(s->session, "x", &in));
    OK(rynd_session_bind(s->session, "y", &out));
}

/* One run; the result is that of plain runs. Returns how many replays it took. */
static int run(setup *s, int seed)
{
    const int before = fake->replays;
    tiny_values(s->x, INPUTS, (uint32_t)seed);
    memset(s->y, 0, sizeof s->y);
    OK(rynd_session_run(s->session));
    assert_memory_equal(s->y, s->expected[seed], sizeof s->y);
    return fake->replays - before;
}

static void restart_session(setup *s)
{
    rynd_session_destroy(s->session);
    OK(rynd_session_create(s->plan, &s->session));
    bind(s, s->x, s->y);
}

static void open_cuda(setup *s, const char *wish)
{
    static uint8_t bytes[TINY_MODEL_CAPACITY];
    const rynd_context_options options =
        RYND_SIZED(rynd_context_options, .threads = 1, .device = "cuda");
    const rynd_plan_options plan_options = RYND_SIZED(rynd_plan_options, .batch = BATCH);
    memset(s, 0, sizeof *s);
    assert_int_equal(setenv("RYND_CUDA_GRAPHS", wish, 1), 0);
    OK(rynd_context_create(&options, &s->context));
    assert_int_equal(unsetenv("RYND_CUDA_GRAPHS"), 0);
    OK(rynd_model_load_memory(s->context, bytes, tiny_model(bytes), &s->model));
    OK(rynd_plan_create(s->model, &plan_options, &s->plan));
    OK(rynd_session_create(s->plan, &s->session));
    for (int seed = 0; seed < SEEDS; seed++) { /* first runs are plain */
        bind(s, s->x, s->expected[seed]);
        tiny_values(s->x, INPUTS, (uint32_t)seed);
        restart_session(s);
        bind(s, s->x, s->expected[seed]);
        OK(rynd_session_run(s->session));
    }
    assert_memory_not_equal(s->expected[0], s->expected[1], sizeof s->y);
    restart_session(s);
}

/* Nothing is alive behind it. */
static void close_cuda(setup *s)
{
    rynd_session_destroy(s->session);
    rynd_plan_destroy(s->plan);
    rynd_model_destroy(s->model);
    rynd_context_destroy(s->context);
    assert_int_equal(fake->graphs, 0);
    assert_int_equal(fake->bytes, 0);
    assert_int_equal(fake->streams, 0);
    assert_int_equal(fake->misused, 0);
}

static void test_replays(void **state)
{
    (void)state;
    setup s;
    open_cuda(&s, "1");
    const int launches = fake->launches;
    assert_int_equal(run(&s, 0), 0);
    const int steps = fake->launches - launches;
    for (int i = 1; i < 6; i++) {
        assert_int_equal(run(&s, i % SEEDS), 1);
        assert_int_equal(fake->launches - launches, (i + 1) * steps); /* each kernel, once a run */
    }
    assert_int_equal(fake->graphs, 1); /* what it was made of is gone */
    close_cuda(&s);
}

/* Other memory of the caller's on the host changes nothing; on the device it does. */
static void test_bound_anew(void **state)
{
    (void)state;
    setup s;
    rynd_buffer *buffer = NULL;
    float y[OUTPUTS];
    open_cuda(&s, "1");
    run(&s, 0);
    assert_int_equal(run(&s, 1), 1);
    bind(&s, s.x, s.y);
    assert_int_equal(run(&s, 2), 1);
    OK(rynd_buffer_create(s.context, 2 * sizeof y, &buffer));
    for (size_t offset = 0; offset <= sizeof y; offset += sizeof y) {
        OK(rynd_session_bind_buffer(s.session, "y", buffer, offset));
        for (int i = 0; i < 3; i++) {
            const int before = fake->replays;
            tiny_values(s.x, INPUTS, (uint32_t)i);
            OK(rynd_session_run(s.session));
            OK(rynd_buffer_read(buffer, offset, y, sizeof y));
            assert_memory_equal(y, s.expected[i], sizeof y);
            assert_int_equal(fake->replays - before, i > 0);
        }
    }
    bind(&s, s.x, s.y);
    assert_int_equal(run(&s, 3), 0);
    assert_int_equal(run(&s, 0), 1);
    rynd_session_destroy(s.session);
    s.session = NULL;
    rynd_buffer_destroy(buffer);
    close_cuda(&s);
}

/* Times of steps are of launches. */
static void test_timed(void **state)
{
    (void)state;
    setup s;
    open_cuda(&s, "1");
    run(&s, 0);
    assert_int_equal(run(&s, 1), 1);
    OK(rynd_session_profile(s.session, 1));
    assert_int_equal(run(&s, 2), 0);
    assert_true(rynd_session_step_time(s.session, 0) > 0);
    OK(rynd_session_profile(s.session, 0));
    assert_int_equal(run(&s, 3), 1);
    close_cuda(&s);
}

static void test_two_sessions(void **state)
{
    (void)state;
    setup s;
    open_cuda(&s, "1");
    rynd_session *first = s.session;
    OK(rynd_session_create(s.plan, &s.session));
    bind(&s, s.x, s.y);
    for (int i = 0; i < 6; i++) {
        rynd_session *other = s.session;
        s.session = first;
        first = other;
        assert_int_equal(run(&s, i % SEEDS), i > 1);
    }
    assert_int_equal(fake->graphs, 2);
    rynd_session_destroy(first);
    close_cuda(&s);
}

static void test_not_wanted(void **state)
{
    (void)state;
    setup s;
    open_cuda(&s, "0");
    for (int i = 0; i < 4; i++) {
        assert_int_equal(run(&s, i), 0);
    }
    assert_int_equal(fake->graphs, 0);
    close_cuda(&s);
}

/* A driver that cannot: runs are plain from then on, and right. */
static void test_refused(void **state)
{
    (void)state;
    static const char *const calls[] = {"cuStreamBeginCapture", "cuLaunchKernel",
                                        "cuStreamEndCapture", "cuGraphInstantiate",
                                        "cuGraphLaunch"};
    setup s;
    open_cuda(&s, "1");
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        restart_session(&s);
        run(&s, 0);
        fake->fail_name = calls[c];
        fake->fail_after = 0;
        fake->fail_code = 900;
        for (int i = 0; i < 3; i++) {
            assert_int_equal(run(&s, i), 0);
        }
        assert_true(fake->fail_after < 0); /* it did fail */
        fake->fail_name = NULL;
        assert_int_equal(fake->graphs, 0);
    }
    close_cuda(&s);
}

/* A lost device is an error of the current run; later calls do not crash. */
static void test_lost(void **state)
{
    (void)state;
    setup s;
    open_cuda(&s, "1");
    run(&s, 0);
    run(&s, 1);
    fake->fail_name = "cuGraphLaunch";
    fake->fail_after = 0;
    fake->fail_code = 719;
    fake->fail_sticky = 1;
    assert_int_equal(rynd_session_run(s.session), RYND_ERROR_DEVICE);
    assert_non_null(strstr(rynd_last_error(), "cuGraphLaunch failed with"));
    assert_int_equal(rynd_session_run(s.session), RYND_ERROR_DEVICE);
    fake->fail_name = NULL;
    fake->fail_sticky = fake->lost = 0;
    assert_int_equal(run(&s, 2), 1);
    close_cuda(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replays),    cmocka_unit_test(test_bound_anew),
        cmocka_unit_test(test_timed),      cmocka_unit_test(test_two_sessions),
        cmocka_unit_test(test_not_wanted), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_lost),
    };
    const char *file = getenv("RYND_CUDA_LIBRARY");
    void *driver = file ? dlopen(file, RTLD_NOW | RTLD_LOCAL) : NULL;
    fake = driver ? dlsym(driver, "fake_cuda") : NULL;
    if (!fake) {
        fprintf(stderr, "RYND_CUDA_LIBRARY is not tests/cuda's: %s\n", dlerror());
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
