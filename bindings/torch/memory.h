// SPDX-License-Identifier: Apache-2.0
// Memory of tensors. The processor's is host memory aligned to 64 bytes: freed blocks are kept for the next of their size.
#ifndef RYND_TORCH_MEMORY_H
#define RYND_TORCH_MEMORY_H

#include <c10/core/Allocator.h>
#include <c10/core/StorageImpl.h>
#include <cstdint>

namespace rynd_torch
{

c10::Allocator &allocator(); // allocates on this thread's current device
at::DataPtr allocate_on(int index, size_t size);

// Host memory for transfers, of the CPU's allocator. The device reads all memory of the host: it is pinned by name only.
c10::Allocator &pinned_allocator();
bool is_pinned(const void *memory);

// A number that is another one after each write to a block of the allocator, and for each new block: equal stamps of one address mean equal content.
// 0: another device or allocator made the memory.
uint64_t stamp(const c10::StorageImpl &storage);
void written(const c10::StorageImpl &storage); // call for every write

// Bytes of a device's live tensors, their maximum since reset_peak(), and bytes with freed blocks.
struct MemoryFigures {
    int64_t used, peak, held;
};
MemoryFigures memory_figures(int index);
void reset_peak(int index);
void empty_cache(); // gives all devices' freed memory back

} // namespace rynd_torch

#endif
