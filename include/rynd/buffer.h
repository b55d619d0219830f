/* SPDX-License-Identifier: Apache-2.0 */
/** @file buffer.h
 *  @brief Memory on a context's device, so that tensors may stay there. */
#ifndef RYND_BUFFER_H
#define RYND_BUFFER_H

#include <rynd/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque. Its address is for the device; any thread. What uses it at the same time, one of them
 * writing, must be ordered by events. */
typedef struct rynd_buffer rynd_buffer;

/** Takes `size` bytes of the device's memory, whose content is not defined. Freed memory is kept
 * for the next buffer, within a bound. Fails with ARGUMENT, OUT_OF_MEMORY, DEVICE. */
RYND_API rynd_status rynd_buffer_create(rynd_context *context, size_t size, rynd_buffer **buffer);

/** Memory that the caller has from the device's own interface, `size` bytes of it: a cl_mem of
 * OpenCL (retained as long as the buffer lives; it must be of the context that
 * rynd_context_native gives), the address of CUDA's memory, or a pointer on the CPU (both stay the
 * caller's). Fails with ARGUMENT, OUT_OF_MEMORY, DEVICE. */
RYND_API rynd_status rynd_buffer_import(rynd_context *context, void *native, size_t size,
                                        rynd_buffer **buffer);

/** Frees a buffer; NULL is allowed. It may still be in use by what was put into streams before; no
 * session may have it bound when it runs again. */
RYND_API void rynd_buffer_destroy(rynd_buffer *buffer);

/** Bytes; 0 for NULL. */
RYND_API size_t rynd_buffer_size(const rynd_buffer *buffer);

/** As rynd_buffer_import names it; NULL for NULL. It stays the buffer's. */
RYND_API void *rynd_buffer_native(const rynd_buffer *buffer);

/** What buffers for import must be made with: OpenCL's cl_context, CUDA's CUcontext; NULL on the
 * CPU. It stays the context's. */
RYND_API void *rynd_context_native(const rynd_context *context);

/** Copies to and from host memory, and returns when that is done. Runs that were put into streams
 * before are not waited for: see rynd/event.h. Fails with ARGUMENT (beyond the buffer's end),
 * DEVICE. */
RYND_API rynd_status rynd_buffer_write(rynd_buffer *buffer, size_t offset, const void *host,
                                       size_t size);
RYND_API rynd_status rynd_buffer_read(const rynd_buffer *buffer, size_t offset, void *host,
                                      size_t size);

/** Host memory of `size` bytes, aligned to 64, that the device copies from and to without a detour
 * (page-locked where it wants that). Freed by rynd_host_free (NULL is allowed). Fails with
 * ARGUMENT, OUT_OF_MEMORY. */
RYND_API rynd_status rynd_host_allocate(rynd_context *context, size_t size, void **memory);
RYND_API void rynd_host_free(rynd_context *context, void *memory);

/** What a context's device holds now, in bytes. */
typedef struct rynd_device_memory {
    size_t size;  /**< set by the caller to sizeof(rynd_device_memory) */
    size_t used;  /**< of buffers in use, the library's own included */
    size_t held;  /**< that, and what is kept for the next buffer */
    size_t peak;  /**< the most that was in use at once */
    size_t total; /**< that the device has; 0: it does not say */
} rynd_device_memory;

/** Fails with ARGUMENT. */
RYND_API rynd_status rynd_context_get_memory(const rynd_context *context,
                                             rynd_device_memory *memory);

/** Gives the device back what is kept, but for `keep` bytes. */
RYND_API void rynd_context_trim(rynd_context *context, size_t keep);

#ifdef __cplusplus
}
#endif
#endif
