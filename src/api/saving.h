/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a model's file once more with other weights: for models and for trainers. */
#ifndef RY_API_SAVING_H
#define RY_API_SAVING_H

#include "api/handles.h"

typedef struct ry_api_weights {
    ry_onnx_replacement *replacements;
    size_t count;
    bool inference; /* ry_onnx_output.inference */
} ry_api_weights;

/* A path, or memory of the context's allocator. A model above `most` gets a second
 * file, PATH.data. */
typedef struct ry_api_file {
    const char *path; /* NULL: memory */
    void **data;
    size_t *size;
    uint64_t most; /* bytes of one message: RY_ONNX_MOST, or fewer to test larger models */
} ry_api_file;

rynd_status ry_api_save(const rynd_model *model, const ry_api_weights *weights,
                        const ry_api_file *to, ry_error *error);

#endif
