/* SPDX-License-Identifier: Apache-2.0 */
/* Memory on a device that the caller holds. */
#ifndef RY_API_API_BUFFER_H
#define RY_API_API_BUFFER_H

#include "device/device.h"
#include "tensor/tensor.h"

#include <rynd/rynd.h>

struct rynd_buffer {
    rynd_context *context;
    ry_buffer *buffer;
    size_t size;
};

/* Checks that a buffer has `size` bytes from `offset` on. */
rynd_status ry_api_buffer_range(const rynd_buffer *buffer, size_t offset, size_t size,
                                ry_error *error);

/* Copies between a buffer and host memory in a stream of its own, and waits: one of `from` and `to`
 * is NULL. */
rynd_status ry_api_transfer(const rynd_buffer *buffer, size_t offset, const void *from, void *to,
                            size_t size, ry_error *error);

/* Checks that a tensor with its first element at `offset` is memory of the buffer, aligned to its
 * elements, and that the buffer is of the context. */
rynd_status ry_api_check_place(const rynd_context *context, const ry_tensor *tensor,
                               const rynd_buffer *buffer, size_t offset, ry_error *error);

#endif
