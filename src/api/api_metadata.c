/* SPDX-License-Identifier: Apache-2.0 */
/* The metadata of models. */
#include "api/api_check.h"
#include "api/api_status.h"
#include "api/handles.h"
#include "onnx/metadata.h"

#include <inttypes.h>
#include <string.h>

size_t rynd_model_metadata_count(const rynd_model *model)
{
    size_t count = 0;
    for (const ry_onnx_metadata *e = model ? model->onnx.metadata : NULL; e; e = e->next) {
        count++;
    }
    return count;
}

rynd_status rynd_model_get_metadata(const rynd_model *model, size_t index, rynd_metadata *metadata)
{
    RY_API_REQUIRE(model, metadata);
    ry_error error = {""};
    const ry_onnx_metadata *entry = model->onnx.metadata;
    for (size_t i = 0; entry && i < index; i++) {
        entry = entry->next;
    }
    if (!entry) {
        return ry_api_end(ry_fail(&error, RYND_ERROR_ARGUMENT,
                                  "there is no metadata entry %zu: the model has %zu", index,
                                  rynd_model_metadata_count(model)),
                          &error);
    }
    const rynd_metadata all = {.key = entry->key, .value = entry->value};
    return ry_api_end(ry_api_info(metadata, &all, sizeof all, "rynd_metadata", &error), &error);
}

const char *rynd_model_find_metadata(const rynd_model *model, const char *key)
{
    const ry_onnx_metadata *entry = model && key ? model->onnx.metadata : NULL;
    while (entry && strcmp(entry->key, key) != 0) {
        entry = entry->next;
    }
    return entry ? entry->value : NULL;
}

rynd_status rynd_model_set_metadata(rynd_model *model, const char *key, const char *value)
{
    RY_API_REQUIRE(model, key);
    ry_error error = {""};
    return ry_api_end(ry_onnx_metadata_set(&model->onnx, key, value, &error), &error);
}
