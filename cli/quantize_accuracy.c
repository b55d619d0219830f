/* SPDX-License-Identifier: Apache-2.0 */
/* Accuracy of quantised models, and the layers that must stay in float to keep it. */
#include "quantize_run.h"

#include "element.h"

#include <math.h>
#include <stdlib.h>

/* Index of the largest element of the first output. */
static int64_t largest_of(const rynd_tensor *output)
{
    int64_t best = 0;
    double most = -INFINITY;
    for (int64_t i = 0; i < rynd_tensor_elements(output); i++) {
        const double x = (double)cli_element_get(output->dtype, output->data, i);
        if (x > most) {
            most = x;
            best = i;
        }
    }
    return best;
}

/* A plan for the shapes of an example: with data it might hold for this content only. */
static bool make_session(const rynd_model *model, rynd_session **session, rynd_plan **plan,
                         const cli_common *common, const cli_example *example)
{
    const size_t count = rynd_model_input_count(model);
    rynd_tensor *shapes = calloc(count + 1, sizeof *shapes);
    for (size_t i = 0; shapes && i < count; i++) {
        shapes[i] = example->views[i];
        shapes[i].data = NULL;
    }
    const rynd_plan_options options =
        RYND_SIZED(rynd_plan_options, .inputs = shapes, .dims = common->dims.items,
                   .dim_count = common->dims.count, .batch = common->batch);
    const bool made = shapes && rynd_plan_create(model, &options, plan) == RYND_OK &&
                      rynd_session_create(*plan, session) == RYND_OK;
    free(shapes);
    return made;
}

static bool classify(const rynd_model *model, rynd_session **session, rynd_plan **plan,
                     const cli_quantizing *q, const cli_example *example, int64_t *class)
{
    rynd_tensor output;
    if (!*session && !make_session(model, session, plan, &q->settings->common, example)) {
        return false;
    }
    for (size_t i = 0; i < rynd_model_input_count(model); i++) {
        if (rynd_session_bind_input(*session, i, &example->views[i]) != RYND_OK) {
            return false;
        }
    }
    if (rynd_session_run(*session) != RYND_OK ||
        rynd_session_get_output(*session, 0, &output) != RYND_OK) {
        return false;
    }
    *class = largest_of(&output);
    return true;
}

bool cli_quantize_top1(cli_quantizing *q, const rynd_model *model, double *top1,
                       cli_failure *failure)
{
    rynd_session *session = NULL;
    rynd_plan *plan = NULL;
    size_t right = 0;
    bool good = true;
    for (size_t i = 0; good && i < q->validation.count; i++) {
        cli_example example;
        int64_t class = -1;
        cli_progress_show(&q->progress, "validating", (double)i / (double)q->validation.count);
        good = cli_examples_read(&q->validation, i, &q->setup, &q->settings->common,
                                 &q->settings->preprocess, &example, failure) &&
               (classify(model, &session, &plan, q, &example, &class) || cli_fail_library(failure));
        right += good && class == example.label;
        cli_example_free(&example);
    }
    rynd_session_destroy(session);
    rynd_plan_destroy(plan);
    *top1 = (double)right / (double)q->validation.count;
    return good;
}

/* The accuracy with the present choice; *enough: it is. */
static bool assess(cli_quantizing *q, bool *enough, cli_failure *failure)
{
    if (q->validation.count == 0) {
        rynd_quantized_info info = RYND_SIZED(rynd_quantized_info);
        if (rynd_quantizer_get_info(q->quantizer, &info) != RYND_OK) {
            return cli_fail_library(failure);
        }
        *enough = info.output_snr >= q->settings->min_snr;
        return true;
    }
    void *bytes;
    size_t size;
    rynd_model *model = NULL;
    double top1 = 0;
    if (rynd_quantizer_save_memory(q->quantizer, &bytes, &size) != RYND_OK) {
        return cli_fail_library(failure);
    }
    bool good = rynd_model_load_memory(q->setup.context, bytes, size, &model) == RYND_OK ||
                cli_fail_library(failure);
    good = good && cli_quantize_top1(q, model, &top1, failure);
    rynd_model_destroy(model);
    rynd_memory_free(q->setup.context, bytes);
    *enough = top1 >= q->float_top1 - q->settings->max_drop / 100;
    return good;
}

static bool try_count(cli_quantizing *q, size_t count, bool *enough, cli_failure *failure)
{
    return rynd_quantizer_keep_float(q->quantizer, count) == RYND_OK ? assess(q, enough, failure)
                                                                     : cli_fail_library(failure);
}

/* Doubles the number until it is enough, then halves the gap: the order of layers is fixed. */
bool cli_quantize_keep_auto(cli_quantizing *q, cli_failure *failure)
{
    const size_t layers = rynd_quantizer_layer_count(q->quantizer);
    size_t few = 0, many = 0; /* too few; enough */
    bool enough = false;
    if (!try_count(q, 0, &enough, failure)) {
        return false;
    }
    while (!enough && many < layers) {
        few = many;
        many = many ? 2 * many : 1;
        many = many < layers ? many : layers;
        if (!try_count(q, many, &enough, failure)) {
            return false;
        }
    }
    while (many > few + 1) {
        const size_t middle = few + (many - few) / 2;
        if (!try_count(q, middle, &enough, failure)) {
            return false;
        }
        *(enough ? &many : &few) = middle;
    }
    return rynd_quantizer_keep_float(q->quantizer, many) == RYND_OK || cli_fail_library(failure);
}
