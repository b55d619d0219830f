/* SPDX-License-Identifier: Apache-2.0 */
/* Moves a tensor between the caller's host memory, of any strides, and a place on the device, of
 * the plan's. What can be decided is decided when it is made. */
#ifndef RY_EXEC_TRANSFER_H
#define RY_EXEC_TRANSFER_H

#include "kernels/prepared.h"

typedef struct ry_transfer {
    ry_device *device;
    ry_arena arena;
    bool to_device;
    ry_tensor host;     /* the caller's */
    ry_tensor planned;  /* as it lies on the device, the same dims */
    ry_buffer *wrapped; /* the caller's memory as a buffer, where the device shares memory */
    /* otherwise: host memory of the device's choice, where the caller's has other strides than the
     * plan's, which are dense */
    void *staging;
    ry_problem problem; /* copies between strides on the device, where it shares memory */
    ry_prepared prepared;
    ry_bound bound;
    ry_buffer *own; /* workspace and scratch */
} ry_transfer;

rynd_status ry_transfer_create(ry_device *device, const ry_tensor *host, const ry_tensor *planned,
                               bool to_device, ry_transfer **transfer, ry_error *error);
void ry_transfer_destroy(ry_transfer *transfer); /* NULL is allowed */
/* Bytes that it copies from host memory to host memory. */
size_t ry_transfer_copied(const ry_transfer *transfer);
/* Puts the copy into the stream; `place` is the first element's. One from the device has come when
 * ry_transfer_finish is called behind the stream's synchronisation. */
rynd_status ry_transfer_start(ry_transfer *transfer, ry_stream *stream, ry_pointer pointer,
                              ry_error *error);
void ry_transfer_finish(ry_transfer *transfer);

#endif
