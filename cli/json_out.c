/* SPDX-License-Identifier: Apache-2.0 */
/* Builds and prints JSON documents with cJSON. */
#include "json_out.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* cJSON leaves out what it has no memory for. One document is made at a time. */
static bool exhausted;

static void *take(size_t size)
{
    void *memory = malloc(size);
    exhausted = exhausted || !memory;
    return memory;
}

cJSON *cli_json_document(void)
{
    cJSON_Hooks hooks = {take, free};
    cJSON_InitHooks(&hooks);
    exhausted = false;
    return cJSON_CreateObject();
}

cJSON *cli_json_begin(const char *command, cJSON **results)
{
    cJSON *document = cli_json_document();
    cJSON_AddStringToObject(document, "rynd", rynd_version());
    cJSON_AddStringToObject(document, "command", command);
    *results = cJSON_AddArrayToObject(document, "results");
    return document;
}

cJSON *cli_json_object_in(cJSON *array)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddItemToArray(array, object);
    return object;
}

/* cJSON would pass bytes on that are no UTF-8, and characters that a terminal obeys. NULL: out of
 * memory. */
static cJSON *make_text(const char *text)
{
    const size_t room = rynd_text_escape(text, RYND_ESCAPE_JSON, NULL, 0) + 1;
    char *quoted = take(room);
    if (!quoted) {
        return NULL;
    }
    rynd_text_escape(text, RYND_ESCAPE_JSON, quoted, room);
    cJSON *item = cJSON_CreateRaw(quoted);
    free(quoted);
    return item;
}

void cli_json_text(cJSON *object, const char *key, const char *text)
{
    cJSON_AddItemToObject(object, key, text ? make_text(text) : cJSON_CreateNull());
}

void cli_json_number(cJSON *object, const char *key, double value)
{
    cJSON_AddItemToObject(object, key,
                          isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull());
}

void cli_json_shape(cJSON *object, const rynd_tensor *tensor)
{
    cJSON *shape = cJSON_AddArrayToObject(object, "shape");
    for (int i = 0; i < tensor->rank; i++) {
        cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)tensor->dim[i]));
    }
}

void cli_json_value(cJSON *array, const rynd_value_info *info)
{
    cJSON *object = cli_json_object_in(array);
    cli_json_text(object, "name", info->name);
    if (info->rank < 0) {
        cJSON_AddNullToObject(object, "shape");
    } else {
        cJSON *shape = cJSON_AddArrayToObject(object, "shape");
        for (int i = 0; i < info->rank; i++) {
            cJSON *dim = info->dim[i] >= 0 ? cJSON_CreateNumber((double)info->dim[i])
                                           : make_text(info->symbol[i]);
            cJSON_AddItemToArray(shape, dim);
        }
    }
    cli_json_text(object, "dtype", rynd_dtype_name(info->dtype));
}

void cli_json_time(cJSON *object, const rynd_prediction *prediction)
{
    cJSON *time = cJSON_AddObjectToObject(object, "time");
    cli_json_number(time, "median", prediction->median);
    cli_json_number(time, "low", prediction->low);
    cli_json_number(time, "high", prediction->high);
    cli_json_number(time, "coverage", prediction->coverage);
}

void cli_json_memory(cJSON *object, const char *key, const rynd_memory *memory)
{
    cJSON *inner = cJSON_AddObjectToObject(object, key);
    cli_json_number(inner, "weights", (double)memory->weights);
    cli_json_number(inner, "activations", (double)memory->activations);
    cli_json_number(inner, "workspace", (double)memory->workspace);
    cli_json_number(inner, "total", (double)memory->total);
}

char *cli_json_write(cJSON *document, bool lines, cli_failure *failure)
{
    char *text = lines ? cJSON_Print(document) : cJSON_PrintUnformatted(document);
    cJSON_Delete(document);
    if (text && !exhausted) {
        return text;
    }
    free(text);
    cli_fail_memory(failure);
    return NULL;
}

bool cli_json_print(cJSON *document, cli_failure *failure)
{
    char *text = cli_json_write(document, true, failure);
    if (!text) {
        return false;
    }
    puts(text);
    free(text);
    return true;
}
