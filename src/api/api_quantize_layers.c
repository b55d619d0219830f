/* SPDX-License-Identifier: Apache-2.0 */
/* Quantizers: layers, their measured errors, and the choice of layers that stay in float. */
#include "api/api_check.h"
#include "api/api_status.h"
#include "api/quantizer.h"

#include <math.h>
#include <stdlib.h>

rynd_status rynd_quantizer_measure(rynd_quantizer *quantizer)
{
    RY_API_REQUIRE(quantizer);
    ry_error error = {""};
    ry_arena scratch;
    ry_arena_init(&scratch, &quantizer->context->allocator);
    rynd_status status = ry_quantizer_choose(quantizer, &error);
    status = status == RYND_OK ? ry_quantizer_measure(quantizer, &scratch, &error) : status;
    ry_arena_free(&scratch);
    return ry_api_end(status, &error);
}

size_t rynd_quantizer_layer_count(const rynd_quantizer *quantizer)
{
    return quantizer ? quantizer->q.layer_count : 0;
}

static rynd_status check_layer(const rynd_quantizer *quantizer, size_t index, ry_error *error)
{
    return index < quantizer->q.layer_count
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_ARGUMENT, "layer %zu: there are %zu", index,
                         quantizer->q.layer_count);
}

rynd_status rynd_quantizer_get_layer(const rynd_quantizer *quantizer, size_t index,
                                     rynd_quantized_layer *layer)
{
    RY_API_REQUIRE(quantizer, layer);
    ry_error error = {""};
    rynd_status status = check_layer(quantizer, index, &error);
    if (status == RYND_OK) {
        const ry_quant_layer *l = &quantizer->q.layers[index];
        const ry_net_node *node = &quantizer->net.nodes[l->node];
        const ry_layer_errors *e = &quantizer->errors[index];
        ry_tensor w = {0};
        const bool weights = l->axis >= 0 && ry_net_constant_of(&quantizer->net, node->in[1], &w);
        const rynd_quantized_layer all = {.name = ry_quantizer_node_name(node),
                                          .op = node->op,
                                          .weights = weights ? ry_tensor_count(&w) : 0,
                                          .is_float = !quantizer->on[index],
                                          .snr = e->snr,
                                          .output_snr = e->output_snr,
                                          .seconds = e->seconds,
                                          .float_seconds = e->float_seconds};
        status = ry_api_info(layer, &all, sizeof all, "rynd_quantized_layer", &error);
    }
    return ry_api_end(status, &error);
}

rynd_status rynd_quantizer_set_float(rynd_quantizer *quantizer, size_t index, int is_float)
{
    RY_API_REQUIRE(quantizer);
    ry_error error = {""};
    const rynd_status status = check_layer(quantizer, index, &error);
    if (status == RYND_OK) {
        quantizer->on[index] = !is_float;
    }
    return ry_api_end(status, &error);
}

typedef struct badness {
    double value; /* noise at the outputs for each second that is saved */
    size_t layer;
} badness;

static int by_badness(const void *a, const void *b)
{
    const badness *x = a, *y = b;
    return x->value != y->value ? (x->value < y->value ? 1 : -1)
                                : (x->layer > y->layer   ? 1
                                   : x->layer < y->layer ? -1
                                                         : 0);
}

static badness badness_of(const rynd_quantizer *quantizer, size_t layer)
{
    const ry_layer_errors *e = &quantizer->errors[layer];
    /* a step that is not faster, or was not found, saves next to nothing */
    const double least = fmax(e->float_seconds / 100, 1e-8),
                 saved = fmax(e->float_seconds - e->seconds, least);
    return (badness){pow(10, -e->output_snr / 10) / saved, layer};
}

rynd_status rynd_quantizer_keep_float(rynd_quantizer *quantizer, size_t count)
{
    RY_API_REQUIRE(quantizer);
    ry_error error = {""};
    const size_t layers = quantizer->q.layer_count;
    if (!quantizer->measured) {
        return ry_api_end(ry_fail(&error, RYND_ERROR_ARGUMENT,
                                  "nothing was measured: call rynd_quantizer_measure first"),
                          &error);
    }
    badness *order = ry_allocate_array(&quantizer->context->allocator, layers, sizeof *order);
    if (!order) {
        return ry_api_end(ry_fail_memory(&error), &error);
    }
    for (size_t i = 0; i < layers; i++) {
        order[i] = badness_of(quantizer, i);
    }
    qsort(order, layers, sizeof *order, by_badness);
    for (size_t i = 0; i < layers; i++) {
        quantizer->on[order[i].layer] = i >= count;
    }
    ry_release(&quantizer->context->allocator, order);
    return RYND_OK;
}

static rynd_status describe(rynd_quantizer *quantizer, rynd_quantized_info *info, ry_error *error)
{
    ry_output_errors errors;
    RY_TRY(ry_quantizer_choose(quantizer, error));
    RY_TRY(ry_quantizer_compare(quantizer, &errors, &info->seconds, error));
    info->output_snr = errors.worst;
    return ry_quantizer_float_seconds(quantizer, &info->float_seconds, error);
}

rynd_status rynd_quantizer_get_info(rynd_quantizer *quantizer, rynd_quantized_info *info)
{
    RY_API_REQUIRE(quantizer, info);
    ry_error error = {""};
    rynd_quantized_info all = {.layers = quantizer->q.layer_count, .observed = quantizer->observed};
    for (size_t i = 0; i < quantizer->q.layer_count; i++) {
        all.float_layers += !quantizer->on[i];
    }
    rynd_status status = describe(quantizer, &all, &error);
    if (status == RYND_OK) {
        status = ry_api_info(info, &all, sizeof all, "rynd_quantized_info", &error);
    }
    return ry_api_end(status, &error);
}
