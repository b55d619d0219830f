/* SPDX-License-Identifier: Apache-2.0 */
/** @file buffer.h
 *  @brief Experimental (see <rynd/rynd.h>): device memory, so that tensors stay on a GPU. */
#ifndef RYND_BUFFER_H
#define RYND_BUFFER_H

#include <rynd/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque: a block of device memory. Any thread. The caller orders its uses by events, if one of
 * them writes. */
typedef struct rynd_buffer rynd_buffer;

/** Allocates `size` bytes of device memory with undefined content; the caller destroys the buffer.
 * The context keeps freed memory for the next buffer, within a bound. Fails with OUT_OF_MEMORY,
 * DEVICE. */
RYND_API rynd_status rynd_buffer_create(rynd_context *context, size_t size, rynd_buffer **buffer);

/** Makes a buffer of `size` bytes of memory from the device's own interface:
 *  - OpenCL: a cl_mem of rynd_context_native's context, retained while the buffer lives;
 *  - CUDA: a device address, which stays the caller's;
 *  - CPU: a pointer, which stays the caller's.
 * Fails with OUT_OF_MEMORY, DEVICE. */
RYND_API rynd_status rynd_buffer_import(rynd_context *context, void *native, size_t size,
                                        rynd_buffer **buffer);

/** Frees a buffer. Runs that were started may still use it; a session that has it bound must not
 * run again. */
RYND_API void rynd_buffer_destroy(rynd_buffer *buffer);

/** Bytes. */
RYND_API size_t rynd_buffer_size(const rynd_buffer *buffer);

/** The native handle, as rynd_buffer_import takes it. It stays the buffer's. */
RYND_API void *rynd_buffer_native(const rynd_buffer *buffer);

/** OpenCL's cl_context or CUDA's CUcontext for memory to import; NULL on the CPU. It stays the
 * context's. */
RYND_API void *rynd_context_native(const rynd_context *context);

/** Copy `size` bytes from or to host memory, and return when done. They do not wait for runs: see
 * <rynd/event.h>. Fail with DEVICE, and with ARGUMENT beyond the buffer's end. */
RYND_API rynd_status rynd_buffer_write(rynd_buffer *buffer, size_t offset, const void *host,
                                       size_t size);
RYND_API rynd_status rynd_buffer_read(const rynd_buffer *buffer, size_t offset, void *host,
                                      size_t size);

/** Binds device memory to an input or output, as rynd_session_bind binds host memory. The tensor
 * has the plan's strides, and its first element at `offset` bytes, a multiple of the element size.
 * rynd_session_get_output gives such an output with data NULL. Fails with NOT_FOUND, UNSUPPORTED
 * (an output whose shape depends on data), and with ARGUMENT if the buffer is too small or belongs
 * to another context. */
RYND_API rynd_status rynd_session_bind_buffer(rynd_session *session, const char *name,
                                              rynd_buffer *buffer, size_t offset);

/** The same by index in the model. */
RYND_API rynd_status rynd_session_bind_input_buffer(rynd_session *session, size_t index,
                                                    rynd_buffer *buffer, size_t offset);
RYND_API rynd_status rynd_session_bind_output_buffer(rynd_session *session, size_t index,
                                                     rynd_buffer *buffer, size_t offset);

/** Allocates `size` bytes of host memory, aligned to 64 bytes, that the device copies directly
 * (page-locked if the device needs it). The caller frees it by rynd_host_free. Fails with
 * OUT_OF_MEMORY. */
RYND_API rynd_status rynd_host_allocate(rynd_context *context, size_t size, void **memory);

/** Frees memory from rynd_host_allocate. memory NULL: nothing happens. */
RYND_API void rynd_host_free(rynd_context *context, void *memory);

/** Device memory of a context, in bytes. */
typedef struct rynd_device_memory {
    size_t size;
    size_t used;  /**< in buffers, the library's included */
    size_t held;  /**< `used`, and freed memory kept for the next buffer */
    size_t peak;  /**< maximum of `used` */
    size_t total; /**< capacity of the device; 0: unknown */
} rynd_device_memory;

/** Counts the device memory. Any thread. */
RYND_API rynd_status rynd_context_get_memory(const rynd_context *context,
                                             rynd_device_memory *memory);

/** Returns freed memory to the device, except `keep` bytes. */
RYND_API void rynd_context_trim(rynd_context *context, size_t keep);

#ifdef __cplusplus
}
#endif
#endif
