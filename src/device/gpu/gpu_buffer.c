/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers: functions of a ry_device_table. */
#include "device/gpu/gpu_device.h"

rynd_status ry_gpu_buffer_create(ry_device *device, size_t size, ry_buffer **buffer,
                                 ry_error *error)
{
    return ry_gpu_take(ry_gpu_device_of(device), size, buffer, error);
}

/* The caller has synchronised whatever used the buffer before. */
rynd_status ry_gpu_buffer_rewrap(ry_device *device, const void *host, ry_buffer *buffer,
                                 ry_error *error)
{
    ry_gpu_device *d = ry_gpu_device_of(device);
    return host && buffer->size ? d->driver->fill(d, buffer, host, error) : RYND_OK;
}

rynd_status ry_gpu_buffer_wrap(ry_device *device, const void *host, size_t size, ry_buffer **buffer,
                               ry_error *error)
{
    ry_gpu_device *d = ry_gpu_device_of(device);
    ry_buffer *made;
    RY_TRY(ry_gpu_take(d, size, &made, error));
    const rynd_status status = ry_gpu_buffer_rewrap(device, host, made, error);
    if (status != RYND_OK) {
        ry_gpu_give_back(d, made);
        return status;
    }
    *buffer = made;
    return RYND_OK;
}

void ry_gpu_buffer_destroy(ry_device *device, ry_buffer *buffer)
{
    if (buffer) {
        ry_gpu_give_back(ry_gpu_device_of(device), buffer);
    }
}
