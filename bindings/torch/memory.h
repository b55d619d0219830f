// SPDX-License-Identifier: Apache-2.0
// Memory of tensors: host memory aligned to 64 bytes. Freed blocks are kept for the next of their size.
#ifndef RYND_TORCH_MEMORY_H
#define RYND_TORCH_MEMORY_H

#include <c10/core/Allocator.h>
#include <c10/core/StorageImpl.h>
#include <cstdint>

namespace rynd_torch
{

c10::Allocator &allocator();

// Host memory for transfers, of the CPU's allocator. The device reads all memory of the host: it is pinned by name only.
c10::Allocator &pinned_allocator();
bool is_pinned(const void *memory);

// A number that is another one after each write to a block of the allocator, and for each new block: equal stamps of one address mean equal content.
// 0: the memory is not the allocator's.
uint64_t stamp(const c10::StorageImpl &storage);
void written(const c10::StorageImpl &storage); // call for every write

// Bytes of live tensors, their maximum since reset_peak(), and bytes with freed blocks.
struct MemoryFigures {
    int64_t used, peak, held;
};
MemoryFigures memory_figures();
void reset_peak();
void empty_cache();

} // namespace rynd_torch

#endif
