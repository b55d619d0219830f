/* SPDX-License-Identifier: Apache-2.0 */
/** @file tensor_file.h
 *  @brief Experimental (see <rynd/rynd.h>): tensors as ONNX stores them, in .pb files. */
#ifndef RYND_TENSOR_FILE_H
#define RYND_TENSOR_FILE_H

#include <rynd/context.h>
#include <rynd/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Reads an ONNX TensorProto, the content of a .pb file, of `size` bytes. The caller frees the
 * tensor by rynd_tensor_free. `name` (optional) receives the tensor's name, which lives as long as
 * its data. Any thread. Fails with FORMAT, UNSUPPORTED, SHAPE, OUT_OF_MEMORY. */
RYND_API rynd_status rynd_tensor_read_pb(rynd_context *context, const void *data, size_t size,
                                         rynd_tensor *tensor, const char **name);

/** Frees the data and name of a tensor from rynd_tensor_read_pb, and makes it absent. */
RYND_API void rynd_tensor_free(rynd_context *context, rynd_tensor *tensor);

/** Writes a TensorProto into new memory, which the caller frees by rynd_memory_free. name NULL: no
 * name. The tensor may have any strides and alignment. On failure *data is NULL and *size 0. Any
 * thread. Fails with OUT_OF_MEMORY, and with ARGUMENT for a tensor without dtype or data. */
RYND_API rynd_status rynd_tensor_write_pb(rynd_context *context, const char *name,
                                          const rynd_tensor *tensor, void **data, size_t *size);

#ifdef __cplusplus
}
#endif
#endif
