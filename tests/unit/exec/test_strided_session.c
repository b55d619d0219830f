/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and outputs of a session that are stored anyhow in the caller's memory: transposed, with
 * gaps, backwards, at odd addresses, repeated. The outputs have the bits that row-major memory
 * gives, and no byte between or around the elements changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "placed_tensor.h"
#include "tiny_model.h"
#include <rynd/rynd.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 3,
    INPUTS = BATCH * TINY_CHANNELS * TINY_SIDE * TINY_SIDE,
    OUTPUTS = BATCH * TINY_CLASSES
};

static const int64_t x_dims[] = {BATCH, TINY_CHANNELS, TINY_SIDE, TINY_SIDE},
                     y_dims[] = {BATCH, TINY_CLASSES};

static const lie lies[] = {
    {"row-major", false, 1, 0, 0, 0},          {"transposed", true, 1, 0, 0, 0},
    {"with gaps", false, 3, 0, 0, 0},          {"backwards", false, 1, 0xF, 0, 0},
    {"partly backwards", false, 1, 0x5, 0, 0}, {"at an odd address", false, 1, 0, 1, 0},
    {"all together", true, 2, 0xA, 3, 0},      {"two bytes off", true, 1, 0, 2, 0},
    {"repeated", false, 1, 0, 0, 1},           {"repeated, odd", false, 2, 0x4, 1, 0x3},
};
enum { LIES = sizeof lies / sizeof *lies };

typedef struct setup {
    rynd_context *context;
    rynd_model *model;
    rynd_plan *plan;
} setup;

static int begin(void **state)
{
    static setup s;
    static uint8_t bytes[TINY_MODEL_CAPACITY];
    const rynd_context_options options = RYND_SIZED(rynd_context_options, .threads = 2);
    const rynd_plan_options plan_options = RYND_SIZED(rynd_plan_options, .batch = BATCH);
    *state = &s;
    return rynd_context_create(&options, &s.context) ||
           rynd_model_load_memory(s.context, bytes, tiny_model(bytes), &s.model) ||
           rynd_plan_create(s.model, &plan_options, &s.plan);
}

static int end(void **state)
{
    setup *s = *state;
    rynd_plan_destroy(s->plan);
    rynd_model_destroy(s->model);
    rynd_context_destroy(s->context);
    return 0;
}

/* Runs on row-major copies. */
static void run_plainly(const setup *s, float *x, float *y)
{
    rynd_session *session = NULL;
    const rynd_tensor in = rynd_tensor_of(x, RYND_DTYPE_F32, 4, x_dims),
                      out = rynd_tensor_of(y, RYND_DTYPE_F32, 2, y_dims);
    assert_int_equal(rynd_session_create(s->plan, &session), RYND_OK);
    assert_int_equal(rynd_session_bind(session, "x", &in), RYND_OK);
    assert_int_equal(rynd_session_bind(session, "y", &out), RYND_OK);
    assert_int_equal(rynd_session_run(session), RYND_OK);
    rynd_session_destroy(session);
}

/* One session, bound anew for each pair of is stored. */
static void any_strides(void **state)
{
    const setup *s = *state;
    rynd_session *session = NULL;
    static float values[INPUTS], x[INPUTS], y[OUTPUTS];
    tiny_values(values, INPUTS, 7);
    assert_int_equal(rynd_session_create(s->plan, &session), RYND_OK);
    for (int i = 0; i < LIES * LIES; i++) {
        const lie *from = &lies[i / LIES], *to = &lies[i % LIES];
        if (to->repeated) {
            continue;
        }
        placed in = place(from, 4, x_dims), out = place(to, 2, y_dims);
        for (int64_t k = 0; k < INPUTS; k++) {
            memcpy(element(&in.tensor, k), &values[k], sizeof(float));
        }
        /* where elements are repeated, the last one written is all of theirs */
        for (int64_t k = 0; k < INPUTS; k++) {
            memcpy(&x[k], element(&in.tensor, k), sizeof(float));
        }
        run_plainly(s, x, y);
        assert_int_equal(rynd_session_bind(session, "x", &in.tensor), RYND_OK);
        assert_int_equal(rynd_session_bind(session, "y", &out.tensor), RYND_OK);
        assert_int_equal(rynd_session_run(session), RYND_OK);
        check_placed(&in, x, from->name);
        check_placed(&out, y, to->name);
        free(in.memory);
        free(out.memory);
    }
    rynd_session_destroy(session);
}

/* A refused binding keeps the previous one. */
static void a_refused_binding_changes_nothing(void **state)
{
    const setup *s = *state;
    rynd_session *session = NULL;
    static float x[INPUTS], y[OUTPUTS], expected[OUTPUTS], elsewhere[OUTPUTS];
    rynd_tensor in = rynd_tensor_of(x, RYND_DTYPE_F32, 4, x_dims),
                out = rynd_tensor_of(y, RYND_DTYPE_F32, 2, y_dims), got;
    rynd_tensor bad = rynd_tensor_of(elsewhere, RYND_DTYPE_F32, 2, y_dims);
    tiny_values(x, INPUTS, 3);
    run_plainly(s, x, expected);
    assert_int_equal(rynd_session_create(s->plan, &session), RYND_OK);
    assert_int_equal(rynd_session_bind(session, "x", &in), RYND_OK);
    assert_int_equal(rynd_session_bind(session, "y", &out), RYND_OK);
    bad.stride[0] = 0;
    assert_int_equal(rynd_session_bind(session, "y", &bad), RYND_ERROR_ARGUMENT);
    bad = rynd_tensor_of(NULL, RYND_DTYPE_F32, 4, x_dims);
    assert_int_equal(rynd_session_bind(session, "x", &bad), RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_session_run(session), RYND_OK);
    assert_memory_equal(y, expected, sizeof y);
    assert_int_equal(rynd_session_get_output(session, 0, &got), RYND_OK);
    assert_ptr_equal(got.data, y);
    rynd_session_destroy(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_strides),
        cmocka_unit_test(a_refused_binding_changes_nothing),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
