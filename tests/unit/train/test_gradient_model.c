/* SPDX-License-Identifier: Apache-2.0 */
/* Models of gradients: beside numeric differences, in two passes, and refused options. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tiny_model.h"
#include <rynd/rynd.h>

#include <math.h>
#include <string.h>

enum {
    BATCH = 2,
    X_COUNT = BATCH * TINY_CHANNELS * TINY_SIDE * TINY_SIDE,
    W1_COUNT = 6 * TINY_CHANNELS * 9,
    W3_COUNT = TINY_CLASSES * 6,
    Y_COUNT = BATCH * TINY_CLASSES
};

static rynd_context *context;
static rynd_model *model, *gradient;
static rynd_plan *plan;
static uint8_t bytes[TINY_MODEL_CAPACITY];
static float x[X_COUNT], w1[W1_COUNT], w3[W3_COUNT], y[Y_COUNT], dy[Y_COUNT];
static float dx[X_COUNT], dw1[W1_COUNT], dw3[W3_COUNT];

static const char *const inputs[] = {"x", "w1", "w3"};

static int begin(void **state)
{
    (void)state;
    const rynd_context_options one = RYND_SIZED(rynd_context_options, .threads = 1);
    const rynd_gradient_options options =
        RYND_SIZED(rynd_gradient_options, .inputs = inputs, .input_count = 3, .batch = BATCH);
    const size_t size = tiny_model(bytes);
    tiny_values(x, X_COUNT, 1);
    tiny_values(w1, W1_COUNT, 2);
    tiny_values(w3, W3_COUNT, 3);
    tiny_values(dy, Y_COUNT, 4);
    return rynd_context_create(&one, &context) ||
           rynd_model_load_memory(context, bytes, size, &model) ||
           rynd_model_create_gradient(model, &options, &gradient) ||
           rynd_plan_create(gradient, NULL, &plan);
}

static int end(void **state)
{
    (void)state;
    rynd_plan_destroy(plan);
    rynd_model_destroy(gradient);
    rynd_model_destroy(model);
    rynd_context_destroy(context);
    return 0;
}

static void bind(rynd_session *session, const char *name, float *data)
{
    rynd_tensor tensor;
    if (rynd_plan_get_input_named(plan, name, &tensor) != RYND_OK) {
        assert_int_equal(rynd_plan_get_output_named(plan, name, &tensor), RYND_OK);
    }
    tensor.data = data;
    assert_int_equal(rynd_session_bind(session, name, &tensor), RYND_OK);
}

/* A session with all its forward inputs. */
static rynd_session *start(void)
{
    rynd_session *session;
    assert_int_equal(rynd_session_create(plan, &session), RYND_OK);
    bind(session, "x", x);
    bind(session, "w1", w1);
    bind(session, "w3", w3);
    return session;
}

static void bind_gradients(rynd_session *session)
{
    bind(session, "gradient/y", dy);
    bind(session, "gradient/x", dx);
    bind(session, "gradient/w1", dw1);
    bind(session, "gradient/w3", dw3);
}

static double loss(rynd_session *session)
{
    double sum = 0;
    assert_int_equal(rynd_session_run_forward(session), RYND_OK);
    for (int i = 0; i < Y_COUNT; i++) {
        sum += (double)y[i] * (double)dy[i];
    }
    return sum;
}

/* Central differences of the forward pass; every third element. */
static void compare(rynd_session *session, const char *name, float *data, const float *made,
                    int count)
{
    static const float step = 1e-2f;
    double largest = 0;
    for (int i = 0; i < count; i++) {
        largest = fabs((double)made[i]) > largest ? fabs((double)made[i]) : largest;
    }
    assert_true(largest > 0);
    for (int i = 0; i < count; i += 3) {
        const float at = data[i];
        data[i] = at + step;
        const double above = loss(session);
        data[i] = at - step;
        const double below = loss(session), wanted = (above - below) / (2 * (double)step);
        data[i] = at;
        if (fabs(wanted - (double)made[i]) > 0.05 * largest) {
            fail_msg("gradient of %s[%d] is %g, by differences %g", name, i, (double)made[i],
                     wanted);
        }
    }
}

static void gradients_are_differences(void **state)
{
    (void)state;
    rynd_session *session = start();
    bind(session, "y", y);
    (void)loss(session);
    bind_gradients(session);
    assert_int_equal(rynd_session_run_backward(session), RYND_OK);
    static float made[3][X_COUNT];
    memcpy(made[0], dx, sizeof dx);
    memcpy(made[1], dw1, sizeof dw1);
    memcpy(made[2], dw3, sizeof dw3);
    compare(session, "x", x, made[0], X_COUNT);
    compare(session, "w1", w1, made[1], W1_COUNT);
    compare(session, "w3", w3, made[2], W3_COUNT);
    rynd_session_destroy(session);
}

/* The outputs of the original model, and the same bits as both passes at once. */
static void two_passes_are_one_run(void **state)
{
    (void)state;
    rynd_session *session = start();
    float first[Y_COUNT], grad[W1_COUNT];
    bind(session, "y", y);
    assert_int_equal(rynd_session_run_forward(session), RYND_OK);
    memcpy(first, y, sizeof y);
    memset(y, 0x7f, sizeof y); /* the caller's from here on, though softmax's gradient needs it */
    bind_gradients(session);
    assert_int_equal(rynd_session_run_backward(session), RYND_OK);
    memcpy(grad, dw1, sizeof dw1);
    memset(dw1, 0, sizeof dw1);
    assert_int_equal(rynd_session_run(session), RYND_OK);
    assert_memory_equal(first, y, sizeof y);
    assert_memory_equal(grad, dw1, sizeof dw1);
    rynd_session_destroy(session);
}

/* Two sessions of one plan: a second forward pass before the first backward pass. */
static void forward_passes_may_wait(void **state)
{
    (void)state;
    rynd_session *one = start(), *two = start();
    static float other[X_COUNT], wanted[W3_COUNT];
    bind(one, "y", y);
    tiny_values(other, X_COUNT, 9);
    bind(two, "x", other);
    assert_int_equal(rynd_session_run_forward(one), RYND_OK);
    bind_gradients(one);
    assert_int_equal(rynd_session_run_backward(one), RYND_OK);
    memcpy(wanted, dw3, sizeof dw3);
    assert_int_equal(rynd_session_run_forward(one), RYND_OK);
    assert_int_equal(rynd_session_run_forward(two), RYND_OK);
    assert_int_equal(rynd_session_run_backward(one), RYND_OK);
    assert_memory_equal(wanted, dw3, sizeof dw3);
    bind_gradients(two);
    assert_int_equal(rynd_session_run_backward(two), RYND_OK);
    assert_memory_not_equal(wanted, dw3, sizeof dw3);
    rynd_session_destroy(one);
    rynd_session_destroy(two);
}

static void passes_are_in_order(void **state)
{
    (void)state;
    rynd_session *session = start();
    bind_gradients(session);
    assert_int_equal(rynd_session_run_backward(session), RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(rynd_last_error(), "run forward first"));
    assert_int_equal(rynd_session_run_forward(session), RYND_OK);
    assert_int_equal(rynd_session_run_backward(session), RYND_OK);
    assert_int_equal(rynd_session_run_backward(session), RYND_ERROR_ARGUMENT);
    rynd_session_destroy(session);
}

/* A pass asks for its own inputs only. */
static void unbound_inputs_are_named(void **state)
{
    (void)state;
    rynd_session *session;
    assert_int_equal(rynd_session_create(plan, &session), RYND_OK);
    bind(session, "x", x);
    bind(session, "w1", w1);
    assert_int_equal(rynd_session_run_forward(session), RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(rynd_last_error(), "'w3'"));
    bind(session, "w3", w3);
    assert_int_equal(rynd_session_run_forward(session), RYND_OK);
    assert_int_equal(rynd_session_run_backward(session), RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(rynd_last_error(), "'gradient/y'"));
    rynd_session_destroy(session);
}

static void times_add_up(void **state)
{
    (void)state;
    rynd_session *session = start();
    bind_gradients(session);
    assert_int_equal(rynd_session_profile(session, 1), RYND_OK);
    assert_int_equal(rynd_session_run_forward(session), RYND_OK);
    const size_t last = rynd_plan_step_count(plan) - 1;
    assert_true(rynd_session_step_time(session, 0) > 0);
    assert_true(rynd_session_step_time(session, last) == 0);
    assert_int_equal(rynd_session_run_backward(session), RYND_OK);
    assert_true(rynd_session_step_time(session, 0) > 0);
    assert_true(rynd_session_step_time(session, last) > 0);
    rynd_session_destroy(session);
}

static void plans_tell_their_passes(void **state)
{
    (void)state;
    rynd_plan *other;
    const rynd_plan_options options = RYND_SIZED(rynd_plan_options, .batch = BATCH);
    assert_int_equal(rynd_plan_forward_inputs(plan), 3);
    assert_int_equal(rynd_plan_forward_outputs(plan), 1);
    assert_true(rynd_plan_rereads_input(plan, 0)); /* x, for the gradient of w1 */
    assert_false(rynd_plan_rereads_input(plan, 3));
    assert_false(rynd_plan_rereads_input(plan, 99));
    assert_int_equal(rynd_plan_create(model, &options, &other), RYND_OK);
    assert_int_equal(rynd_plan_forward_outputs(other), 0);
    rynd_session *session;
    assert_int_equal(rynd_session_create(other, &session), RYND_OK);
    assert_int_equal(rynd_session_run_forward(session), RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(rynd_last_error(), "rynd_model_create_gradient"));
    rynd_session_destroy(session);
    rynd_plan_destroy(other);
}

static void refuses(const char *input, const char *output, int64_t batch, rynd_status status,
                    const char *text)
{
    const char *const both[] = {"w1", input};
    rynd_model *made;
    const rynd_gradient_options options =
        RYND_SIZED(rynd_gradient_options, .inputs = both, .input_count = input ? 2 : 1,
                   .outputs = output ? &output : NULL, .output_count = 1, .batch = batch);
    assert_int_equal(rynd_model_create_gradient(model, &options, &made), status);
    assert_null(made);
    if (!strstr(rynd_last_error(), text)) {
        fail_msg("'%s' does not say '%s'", rynd_last_error(), text);
    }
}

static void bad_options_are_refused(void **state)
{
    (void)state;
    rynd_model *made;
    refuses("z", NULL, BATCH, RYND_ERROR_NOT_FOUND, "no input 'z'");
    refuses("conv1", NULL, BATCH, RYND_ERROR_NOT_FOUND, "'conv1' is computed");
    refuses("w1", NULL, BATCH, RYND_ERROR_ARGUMENT, "'w1' is named twice");
    refuses(NULL, "conv1", BATCH, RYND_ERROR_NOT_FOUND, "no output 'conv1'");
    refuses(NULL, NULL, 0, RYND_ERROR_SHAPE, "batch");
    refuses(NULL, NULL, -1, RYND_ERROR_ARGUMENT, "batch is -1");
    assert_int_equal(rynd_model_create_gradient(model, NULL, &made), RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(rynd_last_error(), "name an input"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_differences), cmocka_unit_test(two_passes_are_one_run),
        cmocka_unit_test(forward_passes_may_wait),   cmocka_unit_test(passes_are_in_order),
        cmocka_unit_test(unbound_inputs_are_named),  cmocka_unit_test(times_add_up),
        cmocka_unit_test(plans_tell_their_passes),   cmocka_unit_test(bad_options_are_refused),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
