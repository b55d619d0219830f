/* SPDX-License-Identifier: Apache-2.0 */
/* rynd quantize: a model in 8 bits, by examples. */
#include "commands.h"
#include "model_facts.h"
#include "quantize_run.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#define OFFSET(field) offsetof(cli_quantize_settings, field)

static const cli_quantize_settings defaults = {.max_drop = 0.5, .min_snr = 30};

/* clang-format off */
static const cli_option options[] = {
    CLI_TITLE("data"),
    {"data", 0, CLI_TEXT, "DIR|FILE.npz", NULL, 0, 0, OFFSET(data),
     "examples of inputs. DIR: files as for run --input, one per example, perhaps in folders. "
     "FILE: an array per input (by its name, or x), with the examples along the first dimension"},
    {"validate", 0, CLI_TEXT, "DIR|FILE.npz", NULL, 0, 0, OFFSET(validate),
     "examples with classes, to compare top-1 with float32: a folder per class, or an array y"},
    CLI_TITLE("quantisation"),
    {"output", 'o', CLI_TEXT, "OUT.onnx", NULL, 0, 0, OFFSET(output),
     "file of the quantised model"},
    {"calibrate", 0, CLI_CHOICE, "METHOD", "auto|mse|minmax|percentile|entropy", 0, 0, OFFSET(calibrate),
     "how ranges are chosen (default auto: mse, minmax or percentile by the error at the outputs)"},
    {"percentile", 0, CLI_NUMBER, "P", NULL, 50, 100, OFFSET(percentile),
     "for percentile: percent of the values inside the range (default 99.999)"},
    {"activations", 0, CLI_CHOICE, "TYPE", "u8|i8", 0, 0, OFFSET(activations),
     "type of values between layers (default u8); weights are i8"},
    {"per-tensor", 0, CLI_FLAG, NULL, NULL, 0, 0, OFFSET(per_tensor),
     "use one scale for all weights of a layer, as opset 10 needs; default: one per output "
     "channel"},
    {"no-bias-correction", 0, CLI_FLAG, NULL, NULL, 0, 0, OFFSET(no_bias_correction),
     "do not change biases to make up for the mean error of rounded weights"},
    {"equalise", 0, CLI_FLAG, NULL, NULL, 0, 0, OFFSET(equalise),
     "first balance channels between neighbouring convolutions, for depthwise networks"},
    {"keep-float", 0, CLI_TEXT, "N|auto", NULL, 0, 0, OFFSET(keep_float),
     "keep the N worst layers in float32 (default 0); auto: as few as --max-drop or --min-snr "
     "needs"},
    {"max-drop", 0, CLI_NUMBER, "P", NULL, 0, 100, OFFSET(max_drop),
     "for auto with --validate: largest drop of top-1 in percent points (default 0.5)"},
    {"min-snr", 0, CLI_NUMBER, "DB", NULL, 0, 200, OFFSET(min_snr),
     "for auto without --validate: least signal to noise ratio of the outputs in dB (default 30)"},
    {"examples", 0, CLI_INTEGER, "N", NULL, 1, 1e9, OFFSET(examples),
     "use the first N examples of --data (default all)"},
    {"samples", 0, CLI_INTEGER, "N", NULL, 1, 1e6, OFFSET(samples),
     "measure the errors of layers on N examples (default 4)"},
    {"dry-run", 0, CLI_FLAG, NULL, NULL, 0, 0, OFFSET(dry_run),
     "list the layers and check the first example; write nothing"},
    CLI_PREPROCESS_OPTIONS(OFFSET(preprocess)),
    {0},
};
/* clang-format on */

static double file_size(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 ? (double)about.st_size : 0;
}

static bool check(const cli_quantize_settings *s, size_t *keep, cli_failure *failure)
{
    int64_t number = 0;
    if (!s->data) {
        return cli_fail_usage(failure, "quantize: --data DIR|FILE.npz is missing: examples of "
                                       "inputs");
    }
    if (!s->output && !s->dry_run) {
        return cli_fail_usage(failure, "quantize: -o OUT.onnx is missing");
    }
    if (s->keep_float && strcmp(s->keep_float, "auto") != 0 &&
        (!cli_parse_integer(s->keep_float, strlen(s->keep_float), &number) || number < 0)) {
        return cli_fail_usage(failure, "--keep-float %s: give a number of layers, or auto",
                              s->keep_float);
    }
    *keep = (size_t)number;
    return true;
}

static int hear(void *user, const rynd_progress *progress)
{
    cli_quantizing *q = user;
    cli_progress_show(&q->progress, "measuring layers",
                      (double)progress->done / (double)progress->all);
    return 0;
}

static bool make_quantizer(cli_quantizing *q, cli_failure *failure)
{
    const cli_quantize_settings *s = q->settings;
    rynd_quantize_options o =
        RYND_SIZED(rynd_quantize_options, .percentile = s->percentile, .per_tensor = s->per_tensor,
                   .no_bias_correction = s->no_bias_correction, .equalise = s->equalise,
                   .samples = (size_t)s->samples, .dims = s->common.dims.items,
                   .dim_count = s->common.dims.count, .progress = hear, .progress_user = q);
    o.calibrate = (rynd_calibration)(s->calibrate ? s->calibrate - 1 : 0);
    o.activations = s->activations == 2 ? RYND_DTYPE_I8 : RYND_DTYPE_U8;
    if (!cli_setup_batch(q->setup.model, &s->common, &o.batch, failure)) {
        return false;
    }
    if (rynd_quantizer_create(q->setup.model, &o, &q->quantizer) != RYND_OK) {
        q->quantizer = NULL;
        return cli_fail_library(failure);
    }
    return true;
}

/* Reads and observes an example. */
static bool observe(cli_quantizing *q, size_t index, cli_failure *failure)
{
    cli_example example;
    bool good = cli_examples_read(&q->data, index, &q->setup, &q->settings->common,
                                  &q->settings->preprocess, &example, failure);
    if (good && rynd_quantizer_observe(q->quantizer, example.views) != RYND_OK) {
        cli_fail_library(failure);
        good = cli_fail_prefix(failure,
                               "'%s'%s: ", q->data.files ? q->data.files[index].path : q->data.path,
                               q->data.files ? "" : ", an example of it");
    }
    cli_example_free(&example);
    return good;
}

static bool observe_all(cli_quantizing *q, cli_failure *failure)
{
    size_t count = q->data.count;
    if (q->settings->examples && (size_t)q->settings->examples < count) {
        count = (size_t)q->settings->examples;
    }
    count = q->settings->dry_run ? 1 : count;
    for (size_t i = 0; i < count; i++) {
        cli_progress_show(&q->progress, "observing examples", (double)i / (double)count);
        if (!observe(q, i, failure)) {
            return false;
        }
    }
    return true;
}

static bool prepare(cli_quantizing *q, cli_preprocess *preprocess, cli_failure *failure)
{
    const cli_quantize_settings *s = q->settings;
    cli_progress_show(&q->progress, "loading the model", 0);
    if (!cli_setup_context(&q->setup, &s->common, failure) ||
        !cli_setup_model(&q->setup, s->common.arguments.items[0], failure) ||
        !cli_facts_preprocess(q->setup.model, &s->common, preprocess, failure)) {
        return false;
    }
    cli_preprocess_settle(preprocess);
    if (!cli_examples_open(&q->data, s->data, &q->setup, &s->common, false, failure) ||
        (s->validate &&
         !cli_examples_open(&q->validation, s->validate, &q->setup, &s->common, true, failure))) {
        return false;
    }
    q->float_bytes = file_size(s->common.arguments.items[0]);
    return make_quantizer(q, failure) && observe_all(q, failure);
}

static bool measure(cli_quantizing *q, size_t keep, cli_failure *failure)
{
    const cli_quantize_settings *s = q->settings;
    if (rynd_quantizer_measure(q->quantizer) != RYND_OK) {
        return cli_fail_library(failure);
    }
    if (s->validate && !cli_quantize_top1(q, q->setup.model, &q->float_top1, failure)) {
        return false;
    }
    if (s->keep_float && strcmp(s->keep_float, "auto") == 0) {
        return cli_quantize_keep_auto(q, failure);
    }
    return rynd_quantizer_keep_float(q->quantizer, keep) == RYND_OK || cli_fail_library(failure);
}

static bool validate_output(cli_quantizing *q, cli_failure *failure)
{
    rynd_model *model = NULL;
    if (!q->settings->validate) {
        return true;
    }
    if (rynd_model_load(q->setup.context, q->settings->output, &model) != RYND_OK) {
        return cli_fail_library(failure);
    }
    const bool good = cli_quantize_top1(q, model, &q->top1, failure);
    rynd_model_destroy(model);
    return good;
}

static bool finish(cli_quantizing *q, size_t keep, cli_failure *failure)
{
    if (q->settings->dry_run) {
        q->info.layers = rynd_quantizer_layer_count(q->quantizer);
        return true;
    }
    if (!measure(q, keep, failure)) {
        return false;
    }
    if (rynd_quantizer_get_info(q->quantizer, &q->info) != RYND_OK ||
        rynd_quantizer_save(q->quantizer, q->settings->output) != RYND_OK) {
        return cli_fail_library(failure);
    }
    q->bytes = file_size(q->settings->output);
    return validate_output(q, failure);
}

static bool run(void *data, cli_failure *failure)
{
    cli_quantize_settings *settings = data;
    cli_quantizing q = {.settings = settings,
                        .info = RYND_SIZED(rynd_quantized_info),
                        .top1 = NAN,
                        .float_top1 = NAN};
    size_t keep = 0;
    if (!check(settings, &keep, failure)) {
        return false;
    }
    cli_progress_begin(&q.progress, &settings->common);
    bool done = prepare(&q, &settings->preprocess, failure) && finish(&q, keep, failure);
    cli_progress_end(&q.progress);
    done = done && cli_quantize_report(&q, failure);
    rynd_quantizer_destroy(q.quantizer);
    cli_examples_close(&q.validation);
    cli_examples_close(&q.data);
    cli_setup_close(&q.setup);
    return done;
}

const cli_command cli_command_quantize = {
    .name = "quantize",
    .arguments = "MODEL",
    .least = 1,
    .most = 1,
    .help = "turn a float32 model into one of 8-bit integers, by examples of its inputs",
    .text = "Pictures become tensors as in `rynd run`. The table has a row for each layer, with "
            "predicted times and two signal to noise ratios in dB: of the layer's output, and of "
            "the model's outputs. Both are measured with this layer alone quantised.",
    .examples = "rynd quantize model.onnx --data photos --preset imagenet -o int8.onnx\n"
                "rynd quantize model.onnx --data x.npz -o int8.onnx --keep-float auto",
    .options = options,
    .uses = CLI_USE_ALL & ~(unsigned)(CLI_USE_ACCURACY | CLI_USE_KNOBS),
    .settings_size = sizeof(cli_quantize_settings),
    .defaults = &defaults,
    .run = run,
};
