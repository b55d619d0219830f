/* SPDX-License-Identifier: Apache-2.0 */
/* An operator with a kernel of the caller's choice: taken whatever its accuracy and without a bias;
 * refused where it does not apply; with weights that are constant or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <rynd/rynd.h>

typedef struct row {
    const char *kernel, *problem;
    unsigned constants; /* bit i: input i is constant */
    rynd_status status;
} row;

#define DEPTHWISE "conv c=20 h=9 w=9 k=20 r=3 s=3 pad=1 groups=20"
#define DENSE     "conv c=8 h=14 w=14 k=8 r=3 s=3 pad=1 accuracy=strict"

static const row rows[] = {
    {"conv_fwd_f32_depthwise_nchw_generic", DEPTHWISE, 2, RYND_OK},
    {"conv_fwd_f32_depthwise_nchw_generic", DEPTHWISE " bias=1", 6, RYND_OK},
    {"conv_fwd_f32_depthwise_nchw_generic", DEPTHWISE " bias=1", 2, RYND_OK},
    {"conv_fwd_f32_depthwise_nchw_generic", DEPTHWISE, 0, RYND_OK},
    {"conv_fwd_f32_winograd_generic", DENSE, 6, RYND_OK},
    {"conv_fwd_f32_depthwise_nchw_generic", DENSE, 6, RYND_ERROR_UNSUPPORTED},
    {"convt_fwd_f32_winograd_generic", DENSE, 6, RYND_ERROR_UNSUPPORTED},
    {"conv_of_no_such_name", DENSE, 6, RYND_ERROR_NOT_FOUND},
};

static void taken_or_refused(void **state)
{
    (void)state;
    rynd_context *context = NULL;
    assert_int_equal(rynd_context_create(NULL, &context), RYND_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const rynd_op_options options =
            RYND_SIZED(rynd_op_options, .kernel = rows[i].kernel, .constants = rows[i].constants);
        rynd_op *op = NULL;
        const rynd_status status = rynd_op_create(context, rows[i].problem, &options, &op);
        if (status != rows[i].status) {
            fail_msg("%s, %s, constants %u: status %d, not %d", rows[i].kernel, rows[i].problem,
                     rows[i].constants, (int)status, (int)rows[i].status);
        }
        if (status == RYND_OK) {
            rynd_step_info info = RYND_SIZED(rynd_step_info);
            assert_int_equal(rynd_op_get_info(op, &info), RYND_OK);
            assert_string_equal(info.kernel, rows[i].kernel);
        }
        rynd_op_destroy(op);
    }
    rynd_context_destroy(context);
}

enum { MAX_COUNT = 8192 };

static void fill(float *data, int64_t count, uint32_t seed)
{
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        data[i] = (float)(seed >> 8) / 0x1p24f - 0.5f;
    }
}

static int64_t count_of(const rynd_tensor *tensor)
{
    int64_t count = 1;
    for (int i = 0; i < tensor->rank; i++) {
        count *= tensor->dim[i];
    }
    assert_true(count <= MAX_COUNT);
    return count;
}

static float x[MAX_COUNT], w[MAX_COUNT], b[MAX_COUNT];

/* One run of an operator whose weights and bias are constant, or come with the run; returns the
 * elements of y. */
static int64_t run(rynd_context *context, const row *r, bool constant, uint32_t seed, float *y)
{
    const rynd_op_options described = RYND_SIZED(rynd_op_options, .kernel = r->kernel);
    rynd_op *op = NULL;
    rynd_tensor given[3] = {0}, out;
    const void *in[3] = {x, w, b};
    void *to[1] = {y};
    assert_int_equal(rynd_op_create(context, r->problem, &described, &op), RYND_OK);
    for (size_t i = 0; i < rynd_op_input_count(op) && i < 3; i++) {
        assert_int_equal(rynd_op_get_input(op, i, &given[i]), RYND_OK);
        if (given[i].dtype != RYND_DTYPE_NONE) {
            fill((float *)(uintptr_t)in[i], count_of(&given[i]), seed + (uint32_t)i);
            given[i].data = i && constant ? (void *)(uintptr_t)in[i] : NULL;
        }
    }
    assert_int_equal(rynd_op_get_output(op, 0, &out), RYND_OK);
    if (constant) {
        rynd_op_destroy(op);
        const rynd_op_options options =
            RYND_SIZED(rynd_op_options, .kernel = r->kernel, .inputs = given);
        assert_int_equal(rynd_op_create(context, r->problem, &options, &op), RYND_OK);
    }
    assert_int_equal(rynd_op_execute(op, in, to), RYND_OK);
    if (!constant) { /* other weights at the next run */
        for (int i = 0; i < 3; i++) {
            fill((float *)(uintptr_t)in[i], MAX_COUNT, seed + 7 + (uint32_t)i);
        }
        assert_int_equal(rynd_op_execute(op, in, to), RYND_OK);
    }
    rynd_op_destroy(op);
    return count_of(&out);
}

/* Weights that change from run to run are packed before each: the bits are those of constant ones.
 */
static void variable_weights_give_the_same_bits(void **state)
{
    (void)state;
    static const row packing[] = {
        {"conv_fwd_f32_depthwise_nchw_generic", DEPTHWISE " bias=1", 0, RYND_OK},
        {"conv_fwd_f32_depthwise_nhwc_generic", DEPTHWISE " bias=1 layout=nhwc", 0, RYND_OK},
        {"conv_fwd_f32_igemm_generic", DENSE " bias=1", 0, RYND_OK},
        {"conv_fwd_f32_winograd_strict_generic", DENSE " bias=1", 0, RYND_OK},
        {"conv_fwd_f32_winograd_generic", DENSE " bias=1", 0, RYND_OK},
        {"conv_fwd_f32_kn2row_generic", "conv c=8 h=14 w=14 k=2 r=3 s=3 pad=1 bias=1", 0, RYND_OK},
        {"conv_fwd_f32_staged_generic", "conv c=3 h=14 w=14 k=8 r=3 s=3 pad=1 stride=2 bias=1", 0,
         RYND_OK},
    };
    static float expected[MAX_COUNT], got[MAX_COUNT];
    rynd_context *context = NULL;
    assert_int_equal(rynd_context_create(NULL, &context), RYND_OK);
    for (size_t i = 0; i < sizeof packing / sizeof *packing; i++) {
        run(context, &packing[i], false, 1, got);
        const int64_t count = run(context, &packing[i], true, 8, expected);
        if (memcmp(got, expected, (size_t)count * sizeof *got) != 0) {
            fail_msg("%s, %s: other bits with variable weights", packing[i].kernel,
                     packing[i].problem);
        }
    }
    rynd_context_destroy(context);
}

/* A knob's values can be enumerated, and contain its present value. */
static void assert_legal(const rynd_op *op, size_t index, const rynd_knob *knob)
{
    char value[RYND_KNOB_TEXT];
    size_t found = 0;
    assert_true(knob->value_count > 0 && *knob->unit == 0);
    for (size_t v = 0; v < knob->value_count; v++) {
        assert_int_equal(rynd_op_get_knob_value(op, index, v, value, sizeof value), RYND_OK);
        found += strcmp(value, knob->value) == 0;
    }
    assert_int_equal(found, 1);
    assert_int_equal(rynd_op_get_knob_value(op, index, knob->value_count, value, sizeof value),
                     RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_op_get_knob_value(op, index, 0, value, 1), RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(rynd_last_error(), "does not fit into 1 bytes"));
}

/* Every knob says what it is set to, and may be set to that. */
static void knobs_can_be_set_to_what_they_are(void **state)
{
    (void)state;
    rynd_context *context = NULL;
    rynd_op *op = NULL, *again = NULL;
    assert_int_equal(rynd_context_create(NULL, &context), RYND_OK);
    const rynd_op_options options =
        RYND_SIZED(rynd_op_options, .kernel = "conv_fwd_f32_igemm_generic", .constants = 2);
    assert_int_equal(rynd_op_create(context, DENSE, &options, &op), RYND_OK);
    rynd_knob knobs[8];
    rynd_setting settings[9] = {{NULL, "kernel", options.kernel}};
    const size_t count = rynd_op_knob_count(op);
    assert_true(count > 2 && count <= 8);
    for (size_t i = 0; i < count; i++) {
        knobs[i] = RYND_SIZED(rynd_knob);
        assert_int_equal(rynd_op_get_knob(op, i, &knobs[i]), RYND_OK);
        assert_legal(op, i, &knobs[i]);
        settings[i + 1] = (rynd_setting){"conv", knobs[i].name, knobs[i].value};
    }
    rynd_knob none = RYND_SIZED(rynd_knob);
    assert_int_equal(rynd_op_get_knob(op, count, &none), RYND_ERROR_ARGUMENT);
    const rynd_op_options set = RYND_SIZED(rynd_op_options, .constants = 2, .settings = settings,
                                           .setting_count = count + 1);
    assert_int_equal(rynd_op_create(context, DENSE, &set, &again), RYND_OK);
    rynd_step_info first = RYND_SIZED(rynd_step_info), second = RYND_SIZED(rynd_step_info);
    assert_int_equal(rynd_op_get_info(op, &first), RYND_OK);
    assert_int_equal(rynd_op_get_info(again, &second), RYND_OK);
    assert_string_equal(first.knobs, second.knobs);
    settings[count].value = "no such value";
    rynd_op_destroy(again);
    assert_int_equal(rynd_op_create(context, DENSE, &set, &again), RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(rynd_last_error(), "it can be"));
    rynd_op_destroy(op);
    rynd_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(taken_or_refused),
                                       cmocka_unit_test(variable_weights_give_the_same_bits),
                                       cmocka_unit_test(knobs_can_be_set_to_what_they_are)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
