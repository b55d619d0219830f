/* SPDX-License-Identifier: Apache-2.0 */
/* Writes models: a file once more with other weights, for models and trainers; and others. */
#ifndef RY_API_SAVING_H
#define RY_API_SAVING_H

#include "api/handles.h"

struct ry_net;

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

/* Writes a model's message. Called several times: with outputs that only count first. */
typedef rynd_status ry_api_put_function(const void *what, const ry_onnx_output *to,
                                        ry_error *error);
rynd_status ry_api_write(const ry_allocator *allocator, ry_api_put_function *put, const void *what,
                         const ry_api_file *to, ry_error *error);

rynd_status ry_api_write_net(const ry_allocator *allocator, const struct ry_net *net,
                             const ry_api_file *to, ry_error *error);

rynd_status ry_api_save(const rynd_model *model, const ry_api_weights *weights,
                        const ry_api_file *to, ry_error *error);

#endif
