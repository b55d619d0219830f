/* SPDX-License-Identifier: Apache-2.0 */
/** @file copy.h
 *  @brief Experimental (see <rynd/rynd.h>): copies and fills of device memory in a stream.
 *
 * All functions return when the work is in the stream (on the CPU: done). They fail with
 * OUT_OF_MEMORY, DEVICE, and with ARGUMENT for memory beyond a buffer's end, or a buffer that is not
 * of the stream's context. */
#ifndef RYND_COPY_H
#define RYND_COPY_H

#include <rynd/op_run.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Copies `size` bytes from or to host memory, which is the stream's until the copy is done. Memory
 * of rynd_host_allocate is fastest; with other memory CUDA may wait. */
RYND_API rynd_status rynd_buffer_write_async(rynd_stream *stream, rynd_buffer *buffer,
                                             size_t offset, const void *host, size_t size);
RYND_API rynd_status rynd_buffer_read_async(rynd_stream *stream, const rynd_buffer *buffer,
                                            size_t offset, void *host, size_t size);

/** Copies `size` bytes between buffers, which may not overlap (ARGUMENT). One of them may be of
 * another context, such as another device's: the caller orders its uses there. Such a copy waits,
 * unless the other context's device is the CPU. */
RYND_API rynd_status rynd_buffer_copy_async(rynd_stream *stream, rynd_buffer *to, size_t to_offset,
                                            const rynd_buffer *from, size_t from_offset,
                                            size_t size);

/** Fills `size` bytes with copies of a pattern of 1, 2, 4 or 8 bytes, which is read during the call.
 * Offset and size are multiples of `pattern_size` (ARGUMENT). */
RYND_API rynd_status rynd_buffer_fill_async(rynd_stream *stream, rynd_buffer *buffer, size_t offset,
                                            size_t size, const void *pattern, size_t pattern_size);

/** Copies a tensor to one of the same dims, with any strides and types: numbers are converted as
 * "cast" of an expression does (docs/expressions.md). `to` and `from` describe the tensors (`data`
 * is ignored), the operands their memory. Strides of 0 in `from`, and one element by value, fill the
 * tensor. Uses a kept operator (rynd_op_create_cached). Fails also with SHAPE (other dims),
 * UNSUPPORTED (a type that the device lacks). */
RYND_API rynd_status rynd_tensor_copy_async(rynd_stream *stream, const rynd_tensor *to,
                                            const rynd_operand *to_memory, const rynd_tensor *from,
                                            const rynd_operand *from_memory);

#ifdef __cplusplus
}
#endif
#endif
