/* SPDX-License-Identifier: Apache-2.0 */
/* Memory on a device that the caller holds. */
#ifndef RY_API_API_BUFFER_H
#define RY_API_API_BUFFER_H

#include "device/device.h"

#include <rynd/rynd.h>

struct rynd_buffer {
    rynd_context *context;
    ry_buffer *buffer;
    size_t size;
};

/* Checks that a buffer has `size` bytes from `offset` on. */
rynd_status ry_api_buffer_range(const rynd_buffer *buffer, size_t offset, size_t size,
                                ry_error *error);

#endif
