// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <atomic>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <unistd.h>
#include <vector>

#include "buffers.h"
#include "contexts.h"

namespace rynd_torch
{
namespace
{

constexpr size_t ALIGNMENT = 64;
// Freed memory that is kept at most: a quarter of the machine's. New memory costs a page fault for each 4 KiB.
int64_t most_held()
{
    static const int64_t bytes = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) / 4;
    return bytes;
}

size_t rounded(size_t size)
{
    const size_t unit = size < (1 << 20) ? ALIGNMENT : 4096;
    return std::max(unit, (size + unit - 1) / unit * unit);
}

class Blocks
{
  public:
    void *take(size_t size)
    {
        const std::lock_guard<std::mutex> lock(mutex);
        void *block = reuse(size);
        if (!block) {
            block = std::aligned_alloc(size < 4096 ? ALIGNMENT : 4096, size);
            TORCH_CHECK_WITH(OutOfMemoryError, block, "rynd: no memory for a tensor of ", size,
                             " bytes");
            figures.held += int64_t(size);
        }
        figures.used += int64_t(size);
        figures.peak = std::max(figures.peak, figures.used);
        return block;
    }

    void give(void *block, size_t size)
    {
        const std::lock_guard<std::mutex> lock(mutex);
        figures.used -= int64_t(size);
        if (figures.held - figures.used > most_held()) {
            std::free(block);
            figures.held -= int64_t(size);
        } else {
            free_blocks[size].push_back(block);
        }
    }

    void empty()
    {
        const std::lock_guard<std::mutex> lock(mutex);
        for (auto &[size, blocks] : free_blocks) {
            for (void *block : blocks) {
                std::free(block);
                figures.held -= int64_t(size);
            }
        }
        free_blocks.clear();
    }

    std::mutex mutex;
    MemoryFigures figures = {0, 0, 0};

  private:
    void *reuse(size_t size)
    {
        const auto found = free_blocks.find(size);
        if (found == free_blocks.end() || found->second.empty()) {
            return nullptr;
        }
        void *block = found->second.back();
        found->second.pop_back();
        return block;
    }

    std::map<size_t, std::vector<void *>> free_blocks;
};

Blocks &blocks()
{
    static Blocks *const only = new Blocks; // never destroyed: tensors may outlive it
    return *only;
}

// In front of each block's memory: a DataPtr frees by address alone.
struct Header {
    size_t size;
    std::atomic<uint64_t> stamp;
};
static_assert(sizeof(Header) <= ALIGNMENT);

std::atomic<uint64_t> last_stamp{0};

Header *header_of(void *memory)
{
    return reinterpret_cast<Header *>(static_cast<char *>(memory) - ALIGNMENT);
}

void release(void *memory)
{
    if (memory) {
        Header *header = header_of(memory);
        blocks().give(header, header->size);
    }
}

at::DataPtr allocate_block(size_t size)
{
    const c10::Device device(c10::DeviceType::PrivateUse1, 0);
    if (size == 0) {
        return {nullptr, nullptr, &release, device};
    }
    const size_t whole = rounded(size + ALIGNMENT);
    char *block = static_cast<char *>(blocks().take(whole));
    new (block) Header{whole, ++last_stamp};
    return {block + ALIGNMENT, block + ALIGNMENT, &release, device};
}

struct Allocator final : c10::Allocator {
    at::DataPtr allocate(size_t size) override
    {
        return allocate_on(current_device(), size);
    }
    void copy_data(void *to, const void *from, size_t count) const override
    {
        if (const int index = device_at(to); index > 0) {
            copy_buffer(index, to, from, count);
        } else {
            std::memcpy(to, from, count);
        }
    }
};

// Blocks of pinned memory: address behind the last byte, by first address.
class PinnedBlocks final : public c10::Allocator
{
  public:
    at::DataPtr allocate(size_t size) override
    {
        at::DataPtr data = c10::GetCPUAllocator()->allocate(size);
        void *memory = data.get();
        if (!memory) {
            return data;
        }
        {
            const std::lock_guard<std::mutex> lock(mutex);
            ends[memory] = static_cast<char *>(memory) + size;
        }
        return {memory, new at::DataPtr(std::move(data)), &release, c10::DeviceType::CPU};
    }
    void copy_data(void *to, const void *from, size_t count) const override
    {
        std::memcpy(to, from, count);
    }
    bool has(const void *memory)
    {
        const std::lock_guard<std::mutex> lock(mutex);
        const auto after = ends.upper_bound(const_cast<void *>(memory));
        return after != ends.begin() && memory < std::prev(after)->second;
    }

  private:
    static void release(void *context);

    std::mutex mutex;
    std::map<void *, void *> ends;
};

PinnedBlocks &pinned()
{
    static PinnedBlocks *const only = new PinnedBlocks; // never destroyed: tensors may outlive it
    return *only;
}

void PinnedBlocks::release(void *context)
{
    at::DataPtr *data = static_cast<at::DataPtr *>(context);
    {
        const std::lock_guard<std::mutex> lock(pinned().mutex);
        pinned().ends.erase(data->get());
    }
    delete data;
}

} // namespace

c10::Allocator &pinned_allocator()
{
    return pinned();
}

bool is_pinned(const void *memory)
{
    return pinned().has(memory);
}

c10::Allocator &allocator()
{
    static Allocator only;
    return only;
}

at::DataPtr allocate_on(int index, size_t size)
{
    return index > 0 ? allocate_buffer(index, size) : allocate_block(size);
}

uint64_t stamp(const c10::StorageImpl &storage)
{
    const bool own = storage.data() && storage.data_ptr().get_deleter() == &release;
    return own ? header_of(const_cast<void *>(storage.data()))->stamp.load() : 0;
}

void written(const c10::StorageImpl &storage)
{
    if (stamp(storage) != 0) {
        header_of(const_cast<void *>(storage.data()))->stamp = ++last_stamp;
    }
}

MemoryFigures memory_figures(int index)
{
    if (index > 0) {
        return buffer_figures(index);
    }
    const std::lock_guard<std::mutex> lock(blocks().mutex);
    return blocks().figures;
}

void reset_peak(int index)
{
    if (index > 0) {
        return reset_buffer_peak(index);
    }
    const std::lock_guard<std::mutex> lock(blocks().mutex);
    blocks().figures.peak = blocks().figures.used;
}

void empty_cache()
{
    blocks().empty();
    trim_buffers();
}

} // namespace rynd_torch
