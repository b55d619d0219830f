/* SPDX-License-Identifier: Apache-2.0 */
/* A quantizer from a small network to its quantised model, and its refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tiny_loaded.h"

#include <math.h>
#include <string.h>

enum { INPUT = TINY_CHANNELS * TINY_SIDE * TINY_SIDE, EXAMPLES = 8 };

static rynd_tensor example(float *values, uint32_t seed)
{
    tiny_values(values, INPUT, seed);
    return rynd_tensor_of(values, RYND_DTYPE_F32, 4,
                          (const int64_t[]){1, TINY_CHANNELS, TINY_SIDE, TINY_SIDE});
}

static rynd_quantizer *observed(rynd_quantize_options options)
{
    rynd_quantizer *quantizer;
    float values[INPUT];
    options.size = sizeof options;
    options.batch = 1;
    assert_int_equal(rynd_quantizer_create(model, &options, &quantizer), RYND_OK);
    for (uint32_t seed = 0; seed < EXAMPLES; seed++) {
        const rynd_tensor x = example(values, seed);
        assert_int_equal(rynd_quantizer_observe(quantizer, &x), RYND_OK);
    }
    return quantizer;
}

/* Runs a model of one example. */
static void run(const rynd_model *m, float *y)
{
    const rynd_plan_options options = RYND_SIZED(rynd_plan_options, .batch = 1);
    rynd_plan *plan;
    rynd_session *session;
    rynd_tensor output;
    float values[INPUT];
    const rynd_tensor x = example(values, 100);
    assert_int_equal(rynd_plan_create(m, &options, &plan), RYND_OK);
    assert_int_equal(rynd_session_create(plan, &session), RYND_OK);
    assert_int_equal(rynd_session_bind_input(session, 0, &x), RYND_OK);
    assert_int_equal(rynd_session_run(session), RYND_OK);
    assert_int_equal(rynd_session_get_output(session, 0, &output), RYND_OK);
    memcpy(y, output.data, TINY_CLASSES * sizeof *y);
    rynd_session_destroy(session);
    rynd_plan_destroy(plan);
}

static double difference(rynd_quantizer *quantizer, size_t *quantise_nodes)
{
    void *data;
    size_t size;
    rynd_model *quantised;
    float y[TINY_CLASSES], want[TINY_CLASSES];
    double most = 0;
    assert_int_equal(rynd_quantizer_save_memory(quantizer, &data, &size), RYND_OK);
    assert_int_equal(rynd_model_load_memory(context, data, size, &quantised), RYND_OK);
    run(quantised, y);
    run(model, want);
    for (int i = 0; i < TINY_CLASSES; i++) {
        most = fmax(most, fabs((double)y[i] - (double)want[i]));
    }
    *quantise_nodes = 0;
    rynd_model_info info = RYND_SIZED(rynd_model_info);
    assert_int_equal(rynd_model_get_info(quantised, &info), RYND_OK);
    for (size_t i = 0; i < info.operator_count; i++) {
        const char *name;
        size_t count;
        assert_int_equal(rynd_model_get_operator(quantised, i, &name, &count), RYND_OK);
        *quantise_nodes += strcmp(name, "QuantizeLinear") == 0 ? count : 0;
    }
    rynd_model_destroy(quantised);
    rynd_memory_free(context, data);
    return most;
}

static void every_method(void **state)
{
    (void)state;
    for (int method = 0; rynd_calibration_text((rynd_calibration)method); method++) {
        for (int how = 0; how < 8; how++) {
            size_t nodes;
            rynd_quantizer *quantizer =
                observed((rynd_quantize_options){.calibrate = (rynd_calibration)method,
                                                 .activations = how & 1 ? RYND_DTYPE_I8 : 0,
                                                 .per_tensor = how >> 1 & 1,
                                                 .equalise = how >> 2 & 1,
                                                 .no_bias_correction = how == 3});
            const double most = difference(quantizer, &nodes);
            assert_true(most < 0.03);
            assert_true(nodes > 3);
            rynd_quantizer_destroy(quantizer);
        }
    }
    assert_null(rynd_calibration_text((rynd_calibration)-1));
}

static void layers_are_measured(void **state)
{
    (void)state;
    /* not auto: of all choices it takes the one whose errors cancel best at these few outputs */
    rynd_quantizer *quantizer =
        observed((rynd_quantize_options){.calibrate = RYND_CALIBRATION_MSE, .samples = 2});
    rynd_quantized_layer layer = RYND_SIZED(rynd_quantized_layer);
    rynd_quantized_info info = RYND_SIZED(rynd_quantized_info);
    const size_t count = rynd_quantizer_layer_count(quantizer);
    size_t nodes;
    double least = INFINITY;
    assert_true(count >= 4);
    assert_int_equal(rynd_quantizer_get_layer(quantizer, 0, &layer), RYND_OK);
    assert_true(isnan(layer.snr) && !layer.is_float);
    assert_int_equal(rynd_quantizer_keep_float(quantizer, 1), RYND_ERROR_ARGUMENT);
    assert_int_equal(rynd_quantizer_measure(quantizer), RYND_OK);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(rynd_quantizer_get_layer(quantizer, i, &layer), RYND_OK);
        assert_true(layer.snr > 20 && layer.output_snr > 20);
        least = fmin(least, layer.output_snr);
    }
    assert_int_equal(rynd_quantizer_get_info(quantizer, &info), RYND_OK);
    assert_true(info.layers == count && info.float_layers == 0 && info.observed == EXAMPLES);
    const double all = info.output_snr;
    assert_true(all > 20 && all <= least + 3);
    /* without its worst layers the model is better; in float32 it is the model */
    assert_int_equal(rynd_quantizer_keep_float(quantizer, count - 1), RYND_OK);
    assert_int_equal(rynd_quantizer_get_info(quantizer, &info), RYND_OK);
    assert_true(info.output_snr > all && info.float_layers == count - 1);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(rynd_quantizer_set_float(quantizer, i, 1), RYND_OK);
    }
    assert_true(difference(quantizer, &nodes) < 1e-6);
    assert_int_equal(nodes, 0);
    assert_int_equal(rynd_quantizer_set_float(quantizer, count, 1), RYND_ERROR_ARGUMENT);
    rynd_quantizer_destroy(quantizer);
}

static int stop(void *user, const rynd_progress *progress)
{
    size_t *calls = user;
    assert_true(progress->done < progress->all);
    return ++*calls == 2;
}

static void refusals(void **state)
{
    (void)state;
    size_t calls = 0;
    float values[INPUT];
    rynd_quantizer *quantizer, *other;
    rynd_quantize_options options =
        RYND_SIZED(rynd_quantize_options, .batch = 1, .progress = stop, .progress_user = &calls);
    assert_int_equal(rynd_quantizer_create(model, &options, &quantizer), RYND_OK);
    void *data;
    size_t size;
    assert_int_equal(rynd_quantizer_save_memory(quantizer, &data, &size), RYND_ERROR_ARGUMENT);
    assert_non_null(strstr(rynd_last_error(), "no example"));
    assert_int_equal(rynd_quantizer_save(quantizer, "/dev/null"), RYND_ERROR_ARGUMENT);
    rynd_tensor x = example(values, 1);
    x.dim[2] = TINY_SIDE / 2;
    assert_int_equal(rynd_quantizer_observe(quantizer, &x), RYND_ERROR_SHAPE);
    assert_non_null(strstr(rynd_last_error(), "'x'"));
    x = example(values, 1);
    values[5] = NAN;
    assert_int_equal(rynd_quantizer_observe(quantizer, &x), RYND_ERROR_SHAPE);
    rynd_quantizer_destroy(quantizer);
    assert_int_equal(rynd_quantizer_create(model, &options, &quantizer), RYND_OK);
    x = example(values, 1);
    assert_int_equal(rynd_quantizer_observe(quantizer, &x), RYND_OK);
    assert_int_equal(rynd_quantizer_measure(quantizer), RYND_ERROR_CANCELLED);
    assert_int_equal(rynd_quantizer_observe(quantizer, &x), RYND_ERROR_ARGUMENT);
    /* what is quantised is not quantised again */
    rynd_model *quantised;
    assert_int_equal(rynd_quantizer_save_memory(quantizer, &data, &size), RYND_OK);
    assert_int_equal(rynd_model_load_memory(context, data, size, &quantised), RYND_OK);
    assert_int_equal(rynd_quantizer_create(quantised, &options, &other), RYND_ERROR_UNSUPPORTED);
    assert_null(other);
    assert_non_null(strstr(rynd_last_error(), "quantised already"));
    rynd_model_destroy(quantised);
    rynd_memory_free(context, data);
    rynd_quantizer_destroy(quantizer);
    options.batch = 0;
    assert_int_equal(rynd_quantizer_create(model, &options, &other), RYND_ERROR_SHAPE);
    options.percentile = 101;
    assert_int_equal(rynd_quantizer_create(model, &options, &other), RYND_ERROR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method),
        cmocka_unit_test(layers_are_measured),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
