/* SPDX-License-Identifier: Apache-2.0 */
/* Quantizers: making one, observing examples, saving. */
#include "api/api_check.h"
#include "api/api_plan.h"
#include "api/api_status.h"
#include "api/quantizer.h"

#include <math.h>
#include <string.h>

enum { DEFAULT_SAMPLES = 4 };
#define DEFAULT_PERCENTILE 99.999

const char *rynd_calibration_text(rynd_calibration calibration)
{
    static const char *const texts[] = {"auto", "mse", "minmax", "percentile", "entropy"};
    const unsigned number = (unsigned)calibration;
    return number < sizeof texts / sizeof *texts ? texts[number] : NULL;
}

static rynd_status check_options(const rynd_quantize_options *options, ry_error *error)
{
    if (!rynd_calibration_text(options->calibrate)) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "rynd_quantize_options: calibrate is %d",
                       (int)options->calibrate);
    }
    if (!(options->percentile >= 0 && options->percentile <= 100)) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "rynd_quantize_options: percentile is %g: give 0 to 100",
                       options->percentile);
    }
    if (options->activations != RYND_DTYPE_NONE && options->activations != RYND_DTYPE_U8 &&
        options->activations != RYND_DTYPE_I8) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "rynd_quantize_options: activations is %d: give U8 or I8",
                       (int)options->activations);
    }
    return options->batch >= 0
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_ARGUMENT, "rynd_quantize_options: batch is %lld",
                         (long long)options->batch);
}

/* Copies the options; 0 becomes the default. */
static rynd_status take_options(rynd_quantizer *quantizer, const rynd_quantize_options *given,
                                ry_error *error)
{
    rynd_quantize_options *o = &quantizer->options;
    RY_TRY(ry_api_options(o, sizeof *o, given, "rynd_quantize_options", error));
    RY_TRY(check_options(o, error));
    rynd_dim *dims = RY_TAKE(&quantizer->arena, rynd_dim, o->dim_count);
    RY_TRY(dims ? RYND_OK : ry_fail_memory(error));
    for (size_t i = 0; o->dims && i < o->dim_count; i++) {
        dims[i] = o->dims[i];
        dims[i].symbol = dims[i].symbol ? ry_arena_string(&quantizer->arena, dims[i].symbol,
                                                          strlen(dims[i].symbol))
                                        : NULL;
    }
    o->dims = o->dims ? dims : NULL;
    o->samples = o->samples ? o->samples : DEFAULT_SAMPLES;
    o->percentile = o->percentile > 0 ? o->percentile : DEFAULT_PERCENTILE;
    quantizer->q.per_tensor = o->per_tensor != 0;
    quantizer->q.correct = !o->no_bias_correction;
    quantizer->q.activations = o->activations == RYND_DTYPE_I8 ? RY_i8 : RY_u8;
    return RYND_OK;
}

/* Writes the float32 model in the words of the opset, and reads it again. */
static rynd_status make_base(rynd_quantizer *quantizer, const rynd_model *model, ry_error *error)
{
    enum { OPSET = 13, OPSET_PER_TENSOR = 10 };
    ry_net net;
    size_t size = 0;
    const ry_api_file to = {.data = &quantizer->bytes, .size = &size, .most = RY_ONNX_MOST};
    RY_TRY(ry_net_read(&model->onnx, &quantizer->arena, &net, error));
    RY_TRY(ry_net_raise(&net, quantizer->options.per_tensor ? OPSET_PER_TENSOR : OPSET, error));
    RY_TRY(ry_quantize_widen(&net, error));
    RY_TRY(ry_quantize_fold_norms(&net, error));
    if (quantizer->options.equalise) {
        RY_TRY(ry_quantize_equalise(&net, error));
    }
    RY_TRY(ry_api_write_net(&quantizer->context->allocator, &net, &to, error));
    const rynd_status status =
        rynd_model_load_memory(quantizer->context, quantizer->bytes, size, &quantizer->base);
    if (status != RYND_OK) {
        return ry_fail(error, status, "%s", rynd_last_error());
    }
    RY_TRY(ry_net_read(&quantizer->base->onnx, &quantizer->arena, &quantizer->net, error));
    return ry_quantize_analyse(&quantizer->net, &quantizer->arena, &quantizer->q, error);
}

/* Lists what is watched: float32 outputs of the model, and the tensors to be quantised. */
static rynd_status list_watched(rynd_quantizer *quantizer, ry_error *error)
{
    const ry_graph *graph = quantizer->base->onnx.graph;
    quantizer->watched =
        RY_TAKE(&quantizer->arena, const char *, graph->output_count + quantizer->q.tensor_count);
    quantizer->on = RY_TAKE(&quantizer->arena, bool, quantizer->q.layer_count);
    quantizer->errors = RY_TAKE(&quantizer->arena, ry_layer_errors, quantizer->q.layer_count);
    quantizer->examples = RY_TAKE(&quantizer->arena, ry_example, quantizer->options.samples);
    quantizer->inputs = RY_TAKE(&quantizer->arena, const char *, graph->input_count);
    if (!quantizer->inputs || !quantizer->watched || !quantizer->on || !quantizer->errors ||
        !quantizer->examples) {
        return ry_fail_memory(error);
    }
    for (size_t i = 0; i < quantizer->q.layer_count; i++) {
        quantizer->on[i] = true;
        quantizer->errors[i] = (ry_layer_errors){.snr = NAN, .output_snr = NAN};
    }
    for (size_t i = 0; i < graph->input_count; i++) {
        quantizer->inputs[i] = graph->values[graph->inputs[i]].name;
    }
    for (size_t i = 0; i < graph->output_count; i++) {
        quantizer->watched[quantizer->watched_count++] = graph->values[graph->outputs[i]].name;
    }
    quantizer->output_count = quantizer->watched_count;
    for (size_t t = 0; t < quantizer->q.tensor_count; t++) {
        const ry_quant_tensor *tensor = &quantizer->q.tensors[t];
        if (tensor->wanted && tensor->producer != RY_NO_INDEX &&
            !ry_net_is_output(&quantizer->net, tensor->name)) {
            quantizer->watched[quantizer->watched_count++] = tensor->name;
        }
    }
    return RYND_OK;
}

static rynd_status create(rynd_quantizer *quantizer, const rynd_model *model,
                          const rynd_quantize_options *options, ry_error *error)
{
    RY_TRY(take_options(quantizer, options, error));
    RY_TRY(make_base(quantizer, model, error));
    RY_TRY(list_watched(quantizer, error));
    const rynd_status status = ry_runner_create(quantizer, quantizer->base, quantizer->watched,
                                                quantizer->watched_count, &quantizer->observer);
    return status == RYND_OK ? RYND_OK : ry_fail(error, status, "%s", rynd_last_error());
}

rynd_status rynd_quantizer_create(const rynd_model *model, const rynd_quantize_options *options,
                                  rynd_quantizer **quantizer)
{
    RY_API_REQUIRE(model, quantizer);
    *quantizer = NULL;
    ry_error error = {""};
    rynd_quantizer *made = ry_allocate_array(&model->context->allocator, 1, sizeof *made);
    if (!made) {
        return ry_api_end(ry_fail_memory(&error), &error);
    }
    made->context = model->context;
    ry_arena_init(&made->arena, &model->context->allocator);
    const rynd_status status = create(made, model, options, &error);
    if (status != RYND_OK) {
        rynd_quantizer_destroy(made);
        if (model->onnx.path && *model->onnx.path) {
            ry_error_prefix(&error, "%s: ", model->onnx.path);
        }
        return ry_api_end(status, &error);
    }
    *quantizer = made;
    return RYND_OK;
}

void rynd_quantizer_destroy(rynd_quantizer *quantizer)
{
    if (quantizer) {
        rynd_context *context = quantizer->context;
        ry_runner_destroy(&quantizer->observer);
        rynd_model_destroy(quantizer->base);
        ry_release(&context->allocator, quantizer->bytes);
        ry_arena_free(&quantizer->arena);
        ry_release(&context->allocator, quantizer);
    }
}

/* A row-major copy in the arena. */
static rynd_status copy_tensor(ry_arena *arena, const ry_tensor *from, ry_tensor *to,
                               ry_error *error)
{
    const ry_shape shape = ry_tensor_shape(from);
    *to = ry_tensor_row_major((ry_dtype)from->dtype, &shape,
                              ry_arena_take_aligned(arena, ry_tensor_bytes(from) + 1));
    if (!to->data) {
        return ry_fail_memory(error);
    }
    ry_tensor_copy(to, from);
    return RYND_OK;
}

static void add_row(ry_quant_channel *to, const float *row, int64_t count)
{
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < count; i++) {
        const double x = (double)row[i];
        sum += x;
        squares += x * x;
        to->low = row[i] < to->low ? row[i] : to->low;
        to->high = row[i] > to->high ? row[i] : to->high;
    }
    to->sum += sum;
    to->squares += squares;
}

/* Adds what a tensor's channels hold. */
static rynd_status add_channels(ry_arena *arena, ry_quant_tensor *to, const ry_tensor *x,
                                ry_error *error)
{
    const int axis = to->channel_axis < x->rank ? to->channel_axis : x->rank - 1;
    if (axis < 0) {
        return RYND_OK;
    }
    if (!to->channel) {
        to->channels = x->dim[axis];
        to->channel = RY_TAKE(arena, ry_quant_channel, to->channels);
        RY_TRY(to->channel ? RYND_OK : ry_fail_memory(error));
    }
    int64_t inner = 1;
    for (int d = axis + 1; d < x->rank; d++) {
        inner *= x->dim[d];
    }
    const int64_t rows = inner ? ry_tensor_count(x) / inner : 0;
    for (int64_t r = 0; r < rows; r++) {
        add_row(&to->channel[r % to->channels], (const float *)x->data + r * inner, inner);
    }
    to->channel_count += (uint64_t)(to->channels ? ry_tensor_count(x) / to->channels : 0);
    return RYND_OK;
}

static rynd_status watch(rynd_quantizer *quantizer, const char *name, const ry_tensor *x,
                         ry_error *error)
{
    const uint32_t t = ry_quantize_tensor(&quantizer->q, name);
    ry_quant_tensor *tensor = t == RY_NO_INDEX ? NULL : &quantizer->q.tensors[t];
    if (!tensor || !tensor->wanted) {
        return RYND_OK;
    }
    if (!tensor->histogram) {
        tensor->histogram = RY_TAKE(&quantizer->arena, ry_histogram, 1);
        RY_TRY(tensor->histogram ? RYND_OK : ry_fail_memory(error));
    }
    ry_histogram_add(tensor->histogram, x->data, ry_tensor_count(x));
    if (tensor->histogram->bad) {
        return ry_fail(error, RYND_ERROR_SHAPE,
                       "value '%s' is NaN or infinite for example %zu: it has no range", name,
                       quantizer->observed);
    }
    return add_channels(&quantizer->arena, tensor, x, error);
}

/* Keeps the inputs and outputs of one of the first examples. */
static rynd_status keep(rynd_quantizer *quantizer, const ry_tensor *inputs, ry_error *error)
{
    const size_t count = quantizer->base->onnx.graph->input_count;
    if (quantizer->example_count == quantizer->options.samples) {
        return RYND_OK;
    }
    ry_example *example = &quantizer->examples[quantizer->example_count];
    example->inputs = RY_TAKE(&quantizer->arena, ry_tensor, count);
    example->outputs = RY_TAKE(&quantizer->arena, ry_tensor, quantizer->output_count);
    if (!example->inputs || !example->outputs) {
        return ry_fail_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        RY_TRY(copy_tensor(&quantizer->arena, &inputs[i], &example->inputs[i], error));
    }
    for (size_t i = 0; i < quantizer->output_count; i++) {
        ry_tensor output;
        const rynd_status status = rynd_session_get_output(quantizer->observer.session, i, &output);
        RY_TRY(status == RYND_OK ? RYND_OK : ry_fail(error, status, "%s", rynd_last_error()));
        RY_TRY(copy_tensor(&quantizer->arena, &output, &example->outputs[i], error));
    }
    quantizer->example_count++;
    return RYND_OK;
}

static rynd_status observe(rynd_quantizer *quantizer, const ry_tensor *inputs, ry_error *error)
{
    const ry_graph *graph = quantizer->base->onnx.graph;
    rynd_status status = ry_runner_run(&quantizer->observer, inputs, graph->input_count);
    if (status != RYND_OK) {
        return ry_fail(error, status, "%s", rynd_last_error());
    }
    for (size_t i = 0; i < graph->input_count; i++) {
        RY_TRY(watch(quantizer, graph->values[graph->inputs[i]].name, &inputs[i], error));
    }
    for (size_t i = 0; i < quantizer->watched_count; i++) {
        ry_tensor x;
        status = rynd_session_get_output(quantizer->observer.session, i, &x);
        RY_TRY(status == RYND_OK ? RYND_OK : ry_fail(error, status, "%s", rynd_last_error()));
        RY_TRY(watch(quantizer, quantizer->watched[i], &x, error));
    }
    RY_TRY(keep(quantizer, inputs, error));
    quantizer->observed++;
    return RYND_OK;
}

/* The caller's inputs, row-major: the session would copy others, too. */
static rynd_status take_inputs(const rynd_quantizer *quantizer, const rynd_tensor *given,
                               ry_arena *scratch, ry_tensor **inputs, ry_error *error)
{
    const ry_graph *graph = quantizer->base->onnx.graph;
    *inputs = RY_TAKE(scratch, ry_tensor, graph->input_count);
    RY_TRY(*inputs ? RYND_OK : ry_fail_memory(error));
    for (size_t i = 0; i < graph->input_count; i++) {
        ry_tensor *x = &(*inputs)[i];
        rynd_status status = ry_api_take_tensor(&given[i], x, error);
        if (status == RYND_OK && !x->data && ry_tensor_count(x) > 0) {
            status = ry_fail(error, RYND_ERROR_ARGUMENT, "its data is NULL");
        }
        if (status != RYND_OK) {
            ry_error_prefix(error, "input '%s': ", graph->values[graph->inputs[i]].name);
            return status;
        }
        if (ry_tensor_present(x) && !ry_tensor_is_row_major(x)) {
            const ry_tensor strided = *x;
            RY_TRY(copy_tensor(scratch, &strided, x, error));
        }
    }
    return RYND_OK;
}

rynd_status rynd_quantizer_observe(rynd_quantizer *quantizer, const rynd_tensor *inputs)
{
    RY_API_REQUIRE(quantizer, inputs);
    ry_error error = {""};
    ry_arena scratch;
    ry_tensor *taken;
    if (quantizer->chosen) {
        return ry_api_end(
            ry_fail(&error, RYND_ERROR_ARGUMENT,
                    "the ranges are chosen: make another quantizer for more examples"),
            &error);
    }
    ry_arena_init(&scratch, &quantizer->context->allocator);
    rynd_status status = take_inputs(quantizer, inputs, &scratch, &taken, &error);
    status = status == RYND_OK ? observe(quantizer, taken, &error) : status;
    ry_arena_free(&scratch);
    return ry_api_end(status, &error);
}

static rynd_status save(rynd_quantizer *quantizer, const ry_api_file *to)
{
    ry_error error = {""};
    rynd_status status = ry_quantizer_choose(quantizer, &error);
    status = status == RYND_OK ? ry_quantizer_write(quantizer, quantizer->on, to, &error) : status;
    return ry_api_end(status, &error);
}

rynd_status rynd_quantizer_save(rynd_quantizer *quantizer, const char *path)
{
    RY_API_REQUIRE(quantizer, path);
    return save(quantizer, &(ry_api_file){.path = path, .most = RY_ONNX_MOST});
}

rynd_status rynd_quantizer_save_memory(rynd_quantizer *quantizer, void **data, size_t *size)
{
    RY_API_REQUIRE(quantizer, data, size);
    *data = NULL;
    *size = 0;
    return save(quantizer, &(ry_api_file){.data = data, .size = size, .most = RY_ONNX_MOST});
}
