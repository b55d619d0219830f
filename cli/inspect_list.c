/* SPDX-License-Identifier: Apache-2.0 */
/* Prints nodes with the shapes of their outputs, and parameters as training names them. */
#include "inspect_list.h"

#include "json_out.h"
#include "table.h"
#include "wording.h"

#include <inttypes.h>
#include <rynd/train.h>
#include <stdio.h>
#include <stdlib.h>

/* "1x64x56x56 f32", one for each output of a node. */
static void print_outputs(const rynd_model *model, size_t node, int count, FILE *to)
{
    for (int i = 0; i < count; i++) {
        rynd_value_info value = RYND_SIZED(rynd_value_info);
        const char *name = rynd_model_node_output(model, node, i);
        if (name && *name && rynd_model_get_value(model, name, &value) == RYND_OK) {
            fprintf(to, "%s%s", i ? ", " : "", cli_shape_of_value(&value).text);
        }
    }
}

static int64_t elements_of(const rynd_tensor *tensor)
{
    int64_t count = 1;
    for (int i = 0; i < tensor->rank; i++) {
        count *= tensor->dim[i];
    }
    return count;
}

static bool get_node(const rynd_model *model, size_t index, rynd_node_info *node,
                     cli_failure *failure)
{
    *node = RYND_SIZED(rynd_node_info);
    return rynd_model_get_node(model, index, node) == RYND_OK || cli_fail_library(failure);
}

static bool get_parameter(const rynd_model *model, size_t index, rynd_parameter_info *parameter,
                          cli_failure *failure)
{
    *parameter = RYND_SIZED(rynd_parameter_info);
    return rynd_model_get_parameter(model, index, parameter) == RYND_OK ||
           cli_fail_library(failure);
}

static bool add_layer(cli_table *table, const rynd_model *model, size_t index, cli_failure *failure)
{
    rynd_node_info node;
    char *outputs = NULL;
    size_t size = 0;
    if (!get_node(model, index, &node, failure)) {
        return false;
    }
    FILE *to = open_memstream(&outputs, &size);
    if (!to) {
        return cli_fail_memory(failure);
    }
    print_outputs(model, index, node.outputs, to);
    const bool done = fclose(to) == 0;
    cli_table_add(table, "%s", node.name);
    cli_table_add(table, "%s", node.source);
    cli_table_add(table, "%s", done ? outputs : "");
    free(outputs);
    return done || cli_fail_memory(failure);
}

static bool print_layers(const rynd_model *model, cli_failure *failure)
{
    static const char *const head[] = {"layer", "operator", "output"};
    cli_table table;
    bool done = true;
    cli_table_begin(&table, "lll", head);
    for (size_t i = 0; done && i < rynd_model_node_count(model); i++) {
        done = add_layer(&table, model, i, failure);
    }
    return (cli_table_print(&table, done ? stdout : NULL) || cli_fail_memory(failure)) && done;
}

static bool print_parameters(const rynd_model *model, cli_failure *failure)
{
    static const char *const head[] = {"parameter", "shape", "elements", "read by"};
    cli_table table;
    bool done = true;
    cli_table_begin(&table, "llrl", head);
    for (size_t i = 0; done && i < rynd_model_parameter_count(model); i++) {
        rynd_parameter_info parameter;
        done = get_parameter(model, i, &parameter, failure);
        if (done) {
            cli_table_add(&table, "%s", parameter.name);
            cli_table_add(&table, "%s", cli_shape_of_tensor(&parameter.tensor).text);
            cli_table_add(&table, "%" PRId64, elements_of(&parameter.tensor));
            cli_table_add(&table, "%s", parameter.node);
        }
    }
    return (cli_table_print(&table, done ? stdout : NULL) || cli_fail_memory(failure)) && done;
}

static bool add_layers(const rynd_model *model, cJSON *layers, cli_failure *failure)
{
    for (size_t n = 0; n < rynd_model_node_count(model); n++) {
        rynd_node_info node;
        if (!get_node(model, n, &node, failure)) {
            return false;
        }
        cJSON *layer = cli_json_object_in(layers);
        cli_json_text(layer, "name", node.name);
        cli_json_text(layer, "op", node.source);
        cJSON *outputs = cJSON_AddArrayToObject(layer, "outputs");
        for (int i = 0; i < node.outputs; i++) {
            rynd_value_info value = RYND_SIZED(rynd_value_info);
            const char *name = rynd_model_node_output(model, n, i);
            if (name && *name && rynd_model_get_value(model, name, &value) == RYND_OK) {
                cli_json_value(outputs, &value);
            }
        }
    }
    return true;
}

static bool add_parameters(const rynd_model *model, cJSON *parameters, cli_failure *failure)
{
    for (size_t i = 0; i < rynd_model_parameter_count(model); i++) {
        rynd_parameter_info parameter;
        if (!get_parameter(model, i, &parameter, failure)) {
            return false;
        }
        cJSON *object = cli_json_object_in(parameters);
        cli_json_text(object, "name", parameter.name);
        cli_json_text(object, "node", parameter.node);
        cli_json_text(object, "dtype", rynd_dtype_name(parameter.tensor.dtype));
        cli_json_shape(object, &parameter.tensor);
    }
    return true;
}

static bool print_json(const rynd_model *model, bool layers, bool parameters, cli_failure *failure)
{
    cJSON *results, *document = cli_json_begin("inspect", &results);
    cJSON *result = cli_json_object_in(results);
    if ((layers && !add_layers(model, cJSON_AddArrayToObject(result, "layers"), failure)) ||
        (parameters &&
         !add_parameters(model, cJSON_AddArrayToObject(result, "parameter_list"), failure))) {
        cJSON_Delete(document);
        return false;
    }
    return cli_json_print(document, failure);
}

bool cli_inspect_list(const cli_setup *setup, bool layers, bool parameters, bool json,
                      cli_failure *failure)
{
    if (json) {
        return print_json(setup->model, layers, parameters, failure);
    }
    if (layers && !print_layers(setup->model, failure)) {
        return false;
    }
    if (layers && parameters) {
        putchar('\n');
    }
    return !parameters || print_parameters(setup->model, failure);
}
