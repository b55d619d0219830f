/* SPDX-License-Identifier: Apache-2.0 */
/* What `rynd quantize` prints. */
#include "quantize_run.h"

#include "json_out.h"
#include "line.h"
#include "table.h"
#include "wording.h"

#include <math.h>

static bool get_layer(const cli_quantizing *q, size_t index, rynd_quantized_layer *layer,
                      cli_failure *failure)
{
    *layer = RYND_SIZED(rynd_quantized_layer);
    return rynd_quantizer_get_layer(q->quantizer, index, layer) == RYND_OK ||
           cli_fail_library(failure);
}

static void add_decibel(cli_table *table, double snr)
{
    if (isnan(snr)) {
        cli_table_add(table, "-");
    } else {
        cli_table_add(table, isinf(snr) ? "exact" : "%.1f", snr);
    }
}

static void add_seconds(cli_table *table, double seconds)
{
    cli_table_add(table, "%s", seconds > 0 ? cli_word_seconds(seconds).text : "-");
}

static bool print_layers(const cli_quantizing *q, cli_failure *failure)
{
    static const char *const head[] = {"layer", "op",     "weights", "type",
                                       "dB",    "dB out", "f32",     "int8"};
    cli_table table;
    cli_table_begin(&table, "llrlrrrr", head);
    for (size_t i = 0; i < rynd_quantizer_layer_count(q->quantizer); i++) {
        rynd_quantized_layer layer;
        if (!get_layer(q, i, &layer, failure)) {
            cli_table_print(&table, NULL);
            return false;
        }
        cli_table_add(&table, "%s", layer.name);
        cli_table_add(&table, "%s", layer.op);
        cli_table_add(&table, "%lld", (long long)layer.weights);
        cli_table_add(&table, "%s", layer.is_float ? "f32" : "int8");
        add_decibel(&table, layer.snr);
        add_decibel(&table, layer.output_snr);
        add_seconds(&table, layer.float_seconds);
        add_seconds(&table, layer.seconds);
    }
    return cli_table_print(&table, stdout) || cli_fail_memory(failure);
}

static void print_result(const cli_quantizing *q)
{
    const rynd_quantized_info *info = &q->info;
    printf("\n%zu layers, %zu of them in float32; %zu examples\n", info->layers, info->float_layers,
           q->settings->dry_run ? q->data.count : info->observed);
    if (q->settings->dry_run) {
        printf("nothing is written (--dry-run)\n");
        return;
    }
    if (isinf(info->output_snr)) {
        printf("outputs equal float32's\n");
    } else {
        printf("outputs %.1f dB over their difference from float32\n", info->output_snr);
    }
    if (!isnan(q->top1)) {
        printf("top-1 %.2f%%, float32 %.2f%% (%zu examples)\n", 100 * q->top1, 100 * q->float_top1,
               q->validation.count);
    }
    printf("predicted time %s, float32 %s\n", cli_word_seconds(info->seconds).text,
           cli_word_seconds(info->float_seconds).text);
    cli_line(stdout, "wrote %s: %s, float32 %s", q->settings->output, cli_word_bytes(q->bytes).text,
             cli_word_bytes(q->float_bytes).text);
}

static bool print_json(const cli_quantizing *q, cli_failure *failure)
{
    cJSON *results, *document = cli_json_begin("quantize", &results);
    cJSON *result = cli_json_object_in(results), *layers;
    const bool dry = q->settings->dry_run;
    cli_json_text(result, "name", q->settings->common.arguments.items[0]);
    cli_json_text(result, "output", dry ? NULL : q->settings->output);
    layers = cJSON_AddArrayToObject(result, "layers");
    for (size_t i = 0; i < rynd_quantizer_layer_count(q->quantizer); i++) {
        rynd_quantized_layer layer;
        if (!get_layer(q, i, &layer, failure)) {
            cJSON_Delete(document);
            return false;
        }
        cJSON *item = cli_json_object_in(layers);
        cli_json_text(item, "name", layer.name);
        cli_json_text(item, "op", layer.op);
        cli_json_number(item, "weights", (double)layer.weights);
        cJSON_AddBoolToObject(item, "float", layer.is_float != 0);
        cli_json_number(item, "snr", layer.snr);
        cli_json_number(item, "output_snr", layer.output_snr);
        cli_json_number(item, "seconds", layer.seconds);
        cli_json_number(item, "float_seconds", layer.float_seconds);
    }
    cli_json_number(result, "examples", (double)(dry ? q->data.count : q->info.observed));
    cli_json_number(result, "output_snr", dry ? NAN : q->info.output_snr);
    cli_json_number(result, "seconds", dry ? NAN : q->info.seconds);
    cli_json_number(result, "float_seconds", dry ? NAN : q->info.float_seconds);
    cli_json_number(result, "top1", q->top1);
    cli_json_number(result, "float_top1", q->float_top1);
    cli_json_number(result, "bytes", dry ? NAN : q->bytes);
    cli_json_number(result, "float_bytes", q->float_bytes);
    return cli_json_print(document, failure);
}

bool cli_quantize_report(const cli_quantizing *q, cli_failure *failure)
{
    if (q->settings->common.json) {
        return print_json(q, failure);
    }
    if (!print_layers(q, failure)) {
        return false;
    }
    print_result(q);
    return true;
}
