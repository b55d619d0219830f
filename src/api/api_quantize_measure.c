/* SPDX-License-Identifier: Apache-2.0 */
/* Quantizers: errors and predicted times, of layers and of the whole model. */
#include "api/api_status.h"
#include "api/quantizer.h"

#include <rynd/predict.h>

#include <math.h>
#include <string.h>

/* Signal and noise, summed up over examples. */
typedef struct noise {
    double signal, noise;
} noise;

static void add_noise(noise *n, const ry_tensor *exact, const ry_tensor *x)
{
    const int64_t count = ry_tensor_count(exact);
    const ry_dtype dtype = (ry_dtype)exact->dtype;
    if (!ry_dtype_is_float(dtype) || ry_tensor_count(x) != count) {
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        const double want = ry_get_f64(dtype, exact->data, i),
                     error = ry_get_f64(dtype, x->data, i) - want;
        n->signal += want * want;
        n->noise += error * error;
    }
}

static double decibel(const noise *n)
{
    return n->noise > 0 ? 10 * log10(n->signal / n->noise) : INFINITY;
}

const char *ry_quantizer_node_name(const ry_net_node *node)
{
    return *node->name ? node->name : node->out[0];
}

/* A quantised model in memory. */
static rynd_status library_failed(rynd_status status, ry_error *error)
{
    return status == RYND_OK ? RYND_OK : ry_fail(error, status, "%s", rynd_last_error());
}

typedef struct candidate {
    void *bytes;
    rynd_model *model;
} candidate;

static void close_candidate(const rynd_quantizer *quantizer, candidate *c)
{
    rynd_model_destroy(c->model);
    ry_release(&quantizer->context->allocator, c->bytes);
    *c = (candidate){0};
}

static rynd_status open_candidate(const rynd_quantizer *quantizer, const bool *on, candidate *c,
                                  ry_error *error)
{
    size_t size = 0;
    *c = (candidate){0};
    RY_TRY(ry_quantizer_write(
        quantizer, on, &(ry_api_file){.data = &c->bytes, .size = &size, .most = RY_ONNX_MOST},
        error));
    return library_failed(rynd_model_load_memory(quantizer->context, c->bytes, size, &c->model),
                          error);
}

/* Runs a candidate on the examples. `own`: a value beside the outputs, compared with the one of the
 * `exact` runner; NULL: none. */
typedef struct comparison {
    const ry_runner *run, *exact;
    noise own, *outputs; /* per output */
    size_t own_index;    /* among the outputs of `run` */
} comparison;

static rynd_status compare_example(const rynd_quantizer *quantizer, const ry_example *example,
                                   comparison *c)
{
    const size_t inputs = quantizer->base->onnx.graph->input_count;
    ry_tensor x, exact;
    RY_TRY(ry_runner_run(c->run, example->inputs, inputs));
    for (size_t i = 0; i < quantizer->output_count; i++) {
        RY_TRY(rynd_session_get_output(c->run->session, i, &x));
        add_noise(&c->outputs[i], &example->outputs[i], &x);
    }
    if (c->exact) {
        RY_TRY(ry_runner_run(c->exact, example->inputs, inputs));
        RY_TRY(rynd_session_get_output(c->exact->session, 0, &exact));
        RY_TRY(rynd_session_get_output(c->run->session, c->own_index, &x));
        add_noise(&c->own, &exact, &x);
    }
    return RYND_OK;
}

static rynd_status compare(const rynd_quantizer *quantizer, comparison *c, double *worst,
                           ry_error *error)
{
    *worst = INFINITY;
    memset(c->outputs, 0, quantizer->output_count * sizeof *c->outputs);
    for (size_t e = 0; e < quantizer->example_count; e++) {
        RY_TRY(library_failed(compare_example(quantizer, &quantizer->examples[e], c), error));
    }
    for (size_t i = 0; i < quantizer->output_count; i++) {
        const double snr = decibel(&c->outputs[i]);
        *worst = snr < *worst ? snr : *worst;
    }
    return RYND_OK;
}

/* Errors of a layer's candidate; `names`: the outputs, and room for one more. */
static rynd_status measure_candidate(const rynd_quantizer *quantizer, const rynd_model *model,
                                     const char **names, noise *outputs, ry_layer_errors *errors,
                                     ry_error *error)
{
    const char *own = names[quantizer->output_count];
    ry_runner run, exact = {0};
    size_t index = 0;
    while (strcmp(names[index], own) != 0) { /* it may be an output of the model */
        index++;
    }
    const size_t count = quantizer->output_count + (index == quantizer->output_count);
    RY_TRY(library_failed(ry_runner_create(quantizer, model, names, count, &run), error));
    rynd_status status =
        library_failed(ry_runner_create(quantizer, quantizer->base, &own, 1, &exact), error);
    comparison c = {.run = &run, .exact = &exact, .outputs = outputs, .own_index = index};
    status = status == RYND_OK ? compare(quantizer, &c, &errors->output_snr, error) : status;
    errors->snr = decibel(&c.own);
    ry_runner_destroy(&exact);
    ry_runner_destroy(&run);
    return status;
}

static rynd_status measure_layer(rynd_quantizer *quantizer, size_t layer, bool *on,
                                 const char **names, noise *outputs, ry_error *error)
{
    candidate c;
    memset(on, 0, quantizer->q.layer_count * sizeof *on);
    on[layer] = true;
    names[quantizer->output_count] = quantizer->net.nodes[quantizer->q.layers[layer].node].out[0];
    rynd_status status = open_candidate(quantizer, on, &c, error);
    if (status == RYND_OK) {
        status =
            measure_candidate(quantizer, c.model, names, outputs, &quantizer->errors[layer], error);
    }
    close_candidate(quantizer, &c);
    return status;
}

/* Adds the predicted seconds of each layer's step; *total: of all steps. */
static rynd_status predict(const rynd_quantizer *quantizer, const rynd_model *model,
                           double *seconds, double *total)
{
    const rynd_plan_options options =
        RYND_SIZED(rynd_plan_options, .dims = quantizer->options.dims,
                   .dim_count = quantizer->options.dim_count, .batch = quantizer->options.batch,
                   .without_weights = 1);
    rynd_plan *plan;
    RY_TRY(rynd_plan_create(model, &options, &plan));
    rynd_prediction all = RYND_SIZED(rynd_prediction);
    rynd_status status = rynd_plan_predict(plan, &all);
    *total = all.median;
    for (size_t s = 0; seconds && status == RYND_OK && s < rynd_plan_step_count(plan); s++) {
        rynd_step_info step = RYND_SIZED(rynd_step_info);
        rynd_prediction p = RYND_SIZED(rynd_prediction);
        status = rynd_plan_get_step(plan, s, &step);
        status = status == RYND_OK ? rynd_plan_predict_step(plan, s, &p) : status;
        for (size_t i = 0; status == RYND_OK && i < quantizer->q.layer_count; i++) {
            if (strcmp(ry_quantizer_node_name(&quantizer->net.nodes[quantizer->q.layers[i].node]),
                       step.name) == 0) {
                seconds[i] += p.median;
            }
        }
    }
    rynd_plan_destroy(plan);
    return status;
}

/* Predicted times of all layers, in float32 and quantised. */
static rynd_status predict_layers(rynd_quantizer *quantizer, bool *on, ry_arena *scratch,
                                  ry_error *error)
{
    const size_t count = quantizer->q.layer_count;
    double total, *seconds = RY_TAKE(scratch, double, 2 * count);
    candidate c;
    RY_TRY(seconds ? RYND_OK : ry_fail_memory(error));
    memset(on, 1, count * sizeof *on);
    rynd_status status = open_candidate(quantizer, on, &c, error);
    if (status == RYND_OK) {
        status = library_failed(predict(quantizer, c.model, seconds, &total), error);
    }
    close_candidate(quantizer, &c);
    RY_TRY(status);
    RY_TRY(library_failed(predict(quantizer, quantizer->base, seconds + count, &total), error));
    for (size_t i = 0; i < count; i++) {
        quantizer->errors[i].seconds = seconds[i];
        quantizer->errors[i].float_seconds = seconds[count + i];
    }
    return RYND_OK;
}

static bool is_cancelled(const rynd_quantizer *quantizer, size_t done)
{
    const rynd_progress progress =
        RYND_SIZED(rynd_progress, .done = done, .all = quantizer->q.layer_count);
    return quantizer->options.progress &&
           quantizer->options.progress(quantizer->options.progress_user, &progress) != 0;
}

rynd_status ry_quantizer_measure(rynd_quantizer *quantizer, ry_arena *scratch, ry_error *error)
{
    bool *on = RY_TAKE(scratch, bool, quantizer->q.layer_count);
    const char **names = RY_TAKE(scratch, const char *, quantizer->output_count + 1);
    noise *outputs = RY_TAKE(scratch, noise, quantizer->output_count);
    if (!on || !names || !outputs) {
        return ry_fail_memory(error);
    }
    memcpy(names, quantizer->watched, quantizer->output_count * sizeof *names);
    for (size_t i = 0; i < quantizer->q.layer_count; i++) {
        if (is_cancelled(quantizer, i)) {
            return ry_fail(error, RYND_ERROR_CANCELLED, "cancelled by the progress function");
        }
        RY_TRY(measure_layer(quantizer, i, on, names, outputs, error));
    }
    RY_TRY(predict_layers(quantizer, on, scratch, error));
    quantizer->measured = true;
    return RYND_OK;
}

static void sum_up(const rynd_quantizer *quantizer, const noise *outputs, ry_output_errors *errors)
{
    enum { MOST = 200 /* dB: an output without error */ };
    *errors = (ry_output_errors){.worst = INFINITY};
    for (size_t i = 0; i < quantizer->output_count; i++) {
        const double snr = decibel(&outputs[i]);
        errors->worst = fmin(errors->worst, snr);
        errors->mean += fmin(snr, MOST) / (double)quantizer->output_count;
    }
}

rynd_status ry_quantizer_compare(const rynd_quantizer *quantizer, ry_output_errors *errors,
                                 double *seconds, ry_error *error)
{
    candidate c = {0};
    ry_runner run = {0};
    double worst;
    comparison all = {.run = &run,
                      .outputs = ry_allocate_array(&quantizer->context->allocator,
                                                   quantizer->output_count, sizeof(noise))};
    RY_TRY(all.outputs ? RYND_OK : ry_fail_memory(error));
    rynd_status status = open_candidate(quantizer, quantizer->on, &c, error);
    if (status == RYND_OK) {
        status = library_failed(
            ry_runner_create(quantizer, c.model, quantizer->watched, quantizer->output_count, &run),
            error);
    }
    status = status == RYND_OK ? compare(quantizer, &all, &worst, error) : status;
    ry_runner_destroy(&run);
    if (status == RYND_OK) {
        sum_up(quantizer, all.outputs, errors);
    }
    if (status == RYND_OK && seconds) {
        status = library_failed(predict(quantizer, c.model, NULL, seconds), error);
    }
    close_candidate(quantizer, &c);
    ry_release(&quantizer->context->allocator, all.outputs);
    return status;
}

rynd_status ry_quantizer_float_seconds(const rynd_quantizer *quantizer, double *seconds,
                                       ry_error *error)
{
    return library_failed(predict(quantizer, quantizer->base, NULL, seconds), error);
}
