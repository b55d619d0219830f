/* SPDX-License-Identifier: Apache-2.0 */
/* The metadata of a model: pairs of texts. */
#ifndef RY_ONNX_METADATA_H
#define RY_ONNX_METADATA_H

#include "onnx/onnx.h"

/* ModelProto.metadata_props */
#define RY_ONNX_METADATA_FIELD 14

struct ry_onnx_metadata {
    const char *key, *value;
    ry_onnx_metadata *next; /* in the file's order */
};

/* Reads the entries of the model's file. Texts live in the graph's arena. */
rynd_status ry_onnx_metadata_read(ry_onnx_model *model, ry_error *error);
/* Replaces the entries of a key by one; value NULL: removes them. */
rynd_status ry_onnx_metadata_set(ry_onnx_model *model, const char *key, const char *value,
                                 ry_error *error);
/* Writes all entries as fields of a ModelProto. */
void ry_onnx_metadata_write(const ry_onnx_model *model, struct ry_wire_out *out);

#endif
