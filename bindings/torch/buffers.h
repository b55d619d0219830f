// SPDX-License-Identifier: Apache-2.0
// Memory of devices behind rynd:0. A tensor's address there is one that nothing can read: it only names a place in a buffer.
#ifndef RYND_TORCH_BUFFERS_H
#define RYND_TORCH_BUFFERS_H

#include <ATen/ATen.h>
#include <rynd/op_run.h>

#include "memory.h"

namespace rynd_torch
{

at::DataPtr allocate_buffer(int index, size_t size);

// The buffer and offset that an address names; all 0 for an address of the host.
rynd_operand operand_at(const void *address);

// Copy bytes from or to the host, after the work before them; return when done.
void write_buffer(int index, void *address, const void *host, size_t size);
void read_buffer(int index, const void *address, void *host, size_t size);

// Fills bytes with copies of a pattern of 1, 2, 4 or 8 bytes.
void fill_buffer(int index, void *address, size_t size, const void *pattern, size_t pattern_size);

// The device of an address; 0 for the host's.
int device_at(const void *address);

// Copies bytes within a device.
void copy_buffer(int index, void *to, const void *from, size_t size);

// A tensor of the CPU with the content of a tensor's storage. All such tensors of one storage share memory while one of them lives.
// If `written`, the storage takes the memory's content when the last of them dies.
at::Tensor mirrored(const at::Tensor &tensor, bool written);

MemoryFigures buffer_figures(int index);
void reset_buffer_peak(int index);
void trim_buffers(); // gives freed memory back to the devices

} // namespace rynd_torch

#endif
