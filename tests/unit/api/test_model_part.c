/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a model: run in order, they give the results of the whole model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tiny_loaded.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    BATCH = 2,
    PLANE = 6 * TINY_SIDE * TINY_SIDE,
    INPUT = TINY_CHANNELS * TINY_SIDE * TINY_SIDE
};

typedef struct names {
    const char *items[4];
    size_t count;
} names;

static rynd_status make_part(names inputs, names outputs, int64_t batch, rynd_model **part)
{
    const rynd_part_options options =
        RYND_SIZED(rynd_part_options, .inputs = inputs.items, .input_count = inputs.count,
                   .outputs = outputs.items, .output_count = outputs.count, .batch = batch);
    return rynd_model_create_part(model, context, &options, part);
}

/* Runs a model of one output on memory by the names of its inputs. */
static void run(rynd_model *m, const char *const *in_names, float *const *in, float *out,
                size_t out_count)
{
    rynd_plan *plan;
    rynd_session *session;
    rynd_tensor output;
    assert_int_equal(rynd_plan_create(m, NULL, &plan), RYND_OK);
    assert_int_equal(rynd_session_create(plan, &session), RYND_OK);
    for (size_t i = 0; i < rynd_model_input_count(m); i++) {
        rynd_tensor tensor;
        assert_int_equal(rynd_plan_get_input(plan, i, &tensor), RYND_OK);
        tensor.data = in[i];
        assert_int_equal(rynd_session_bind(session, in_names[i], &tensor), RYND_OK);
    }
    assert_int_equal(rynd_session_run(session), RYND_OK);
    assert_int_equal(rynd_session_get_output(session, 0, &output), RYND_OK);
    assert_int_equal(rynd_tensor_elements(&output), (int64_t)out_count);
    memcpy(out, output.data, out_count * sizeof *out);
    rynd_session_destroy(session);
    rynd_plan_destroy(plan);
}

static void parts_make_the_whole(void **state)
{
    (void)state;
    static float x[BATCH * INPUT], pooled[BATCH * PLANE / 4], y[BATCH * TINY_CLASSES],
        wanted[BATCH * TINY_CLASSES];
    rynd_model *whole, *first, *second;
    const rynd_part_options all = RYND_SIZED(rynd_part_options, .batch = BATCH);
    tiny_values(x, BATCH * INPUT, 3);
    assert_int_equal(rynd_model_create_part(model, context, &all, &whole), RYND_OK);
    assert_int_equal(make_part((names){{"x"}, 1}, (names){{"pool1"}, 1}, BATCH, &first), RYND_OK);
    assert_int_equal(make_part((names){{"pool1"}, 1}, (names){{"y"}, 1}, BATCH, &second), RYND_OK);
    assert_int_equal(rynd_model_node_count(second), 6);
    assert_true(rynd_model_node_count(first) + rynd_model_node_count(second) ==
                rynd_model_node_count(whole));
    run(whole, (const char *[]){"x"}, (float *[]){x}, wanted, BATCH * TINY_CLASSES);
    run(first, (const char *[]){"x"}, (float *[]){x}, pooled, BATCH * PLANE / 4);
    run(second, (const char *[]){"pool1"}, (float *[]){pooled}, y, BATCH * TINY_CLASSES);
    for (size_t i = 0; i < BATCH * TINY_CLASSES; i++) {
        assert_true(fabsf(y[i] - wanted[i]) < 1e-6f);
    }
    rynd_model_destroy(second);
    rynd_model_destroy(first);
    rynd_model_destroy(whole);
}

/* A part with two inputs has them in the order of the names given. */
static void inputs_in_order(void **state)
{
    (void)state;
    rynd_model *part;
    rynd_value_info info = RYND_SIZED(rynd_value_info);
    rynd_model_info about = RYND_SIZED(rynd_model_info);
    assert_int_equal(make_part((names){{"conv2", "pool1"}, 2}, (names){{"add1"}, 1}, 1, &part),
                     RYND_OK);
    assert_int_equal(rynd_model_input_count(part), 2);
    assert_int_equal(rynd_model_get_input(part, 0, &info), RYND_OK);
    assert_string_equal(info.name, "conv2");
    assert_int_equal(info.dim[0], 1);
    assert_int_equal(rynd_model_get_input(part, 1, &info), RYND_OK);
    assert_string_equal(info.name, "pool1");
    assert_int_equal(rynd_model_get_info(part, &about), RYND_OK);
    assert_int_equal(about.parameters, 0);
    rynd_model_destroy(part);
    /* a value inside, as an output of the beginning */
    assert_int_equal(make_part((names){{"x"}, 1}, (names){{"conv1", "relu1"}, 2}, 1, &part),
                     RYND_OK);
    assert_int_equal(rynd_model_output_count(part), 2);
    rynd_model_destroy(part);
}

static void what_is_no_part(void **state)
{
    (void)state;
    static const struct {
        names inputs, outputs;
        int64_t batch;
        rynd_status status;
        const char *message;
    } wrong[] = {
        {{{"x"}, 1}, {{"z"}, 1}, 1, RYND_ERROR_NOT_FOUND, "no value named 'z'"},
        {{{"q"}, 1}, {{"y"}, 1}, 1, RYND_ERROR_NOT_FOUND, "no value named 'q'"},
        {{{"w1"}, 1}, {{"y"}, 1}, 1, RYND_ERROR_ARGUMENT, "'w1' is a constant"},
        {{{"x", "x"}, 2}, {{"y"}, 1}, 1, RYND_ERROR_ARGUMENT, "'x' is given twice"},
        {{{"x"}, 1}, {{"y", "y"}, 2}, 1, RYND_ERROR_ARGUMENT, "'y' is given twice"},
        {{{"x"}, 1}, {{"x"}, 1}, 1, RYND_ERROR_ARGUMENT, "'x' is not computed"},
        {{{"x"}, 1}, {{"w2"}, 1}, 1, RYND_ERROR_ARGUMENT, "'w2' is not computed"},
        {{{"y"}, 1}, {{"pool1"}, 1}, 1, RYND_ERROR_ARGUMENT, "model's input 'x'"},
        {{{"conv2"}, 1}, {{"y"}, 1}, 1, RYND_ERROR_ARGUMENT, "model's input 'x'"},
        {{{"x"}, 1}, {{"y"}, 1}, 0, RYND_ERROR_SHAPE, "'batch'"},
        {{{"x"}, 1}, {{"y"}, 1}, -1, RYND_ERROR_ARGUMENT, "batch is -1"},
        {{{"x"}, 1}, {{NULL}, 0}, 1, RYND_ERROR_ARGUMENT, "output_count is 0"},
        {{{NULL}, 1}, {{"y"}, 1}, 1, RYND_ERROR_ARGUMENT, "inputs[0] is NULL"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rynd_model *part = model;
        const rynd_status status =
            make_part(wrong[i].inputs, wrong[i].outputs, wrong[i].batch, &part);
        assert_null(part);
        if (status != wrong[i].status || !strstr(rynd_last_error(), wrong[i].message)) {
            fail_msg("%zu: %s: '%s' is not in '%s'", i, rynd_status_text(status), wrong[i].message,
                     rynd_last_error());
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts_make_the_whole),
                                       cmocka_unit_test(inputs_in_order),
                                       cmocka_unit_test(what_is_no_part)};
    return cmocka_run_group_tests(tests, begin, end);
}
