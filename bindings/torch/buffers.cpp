// SPDX-License-Identifier: Apache-2.0
#include "buffers.h"

#include <map>
#include <memory>
#include <mutex>
#include <sys/mman.h>
#include <unordered_map>

#include "contexts.h"

namespace rynd_torch
{
namespace
{

struct Buffer {
    rynd_buffer *buffer;
    size_t size;
    int index; // the device's
};

// Buffers by the addresses that name them, and bytes by device.
struct Buffers {
    std::mutex mutex;
    std::map<uintptr_t, Buffer> by_address;
    std::map<int, MemoryFigures> figures;
};

Buffers &buffers()
{
    static Buffers *const only = new Buffers; // never destroyed: tensors may outlive it
    return *only;
}

void forget_address(void *address)
{
    if (!address) {
        return;
    }
    Buffers &all = buffers();
    const std::lock_guard<std::mutex> lock(all.mutex);
    const auto found = all.by_address.find(reinterpret_cast<uintptr_t>(address));
    rynd_buffer_destroy(found->second.buffer);
    munmap(address, found->second.size);
    all.figures[found->second.index].used -= int64_t(found->second.size);
    all.by_address.erase(found);
}

struct Place {
    Buffer buffer; // all 0: the address is the host's
    size_t offset;
};

Place place_of(const void *address)
{
    Buffers &all = buffers();
    const std::lock_guard<std::mutex> lock(all.mutex);
    const auto after = all.by_address.upper_bound(reinterpret_cast<uintptr_t>(address));
    if (after == all.by_address.begin()) {
        return {};
    }
    const auto &[begin, buffer] = *std::prev(after);
    const size_t offset = reinterpret_cast<uintptr_t>(address) - begin;
    return offset < buffer.size ? Place{buffer, offset} : Place{};
}

size_t size_of(const c10::StorageImpl &storage)
{
    return storage.nbytes();
}

// The content of a storage in the host's memory, which goes back if it was written.
class Mirror
{
  public:
    explicit Mirror(c10::intrusive_ptr<c10::StorageImpl> given)
        : storage(std::move(given)), host(new unsigned char[size_of(*storage)])
    {
        read_buffer(index(), storage->data(), host.get(), size_of(*storage));
    }
    Mirror(const Mirror &) = delete;
    ~Mirror()
    {
        if (written) {
            try {
                write_buffer(index(), storage->mutable_data(), host.get(), size_of(*storage));
            } catch (const std::exception &error) {
                TORCH_WARN("a result did not reach the device: ", error.what());
            }
        }
    }

    const c10::intrusive_ptr<c10::StorageImpl> storage;
    const std::unique_ptr<unsigned char[]> host;
    bool written = false;

  private:
    int index() const
    {
        return storage->device().index();
    }
};

std::shared_ptr<Mirror> mirror_of(const at::Tensor &tensor)
{
    static std::mutex mutex;
    static std::unordered_map<c10::StorageImpl *, std::weak_ptr<Mirror>> mirrors;
    const std::lock_guard<std::mutex> lock(mutex);
    c10::StorageImpl *storage = tensor.storage().unsafeGetStorageImpl();
    std::shared_ptr<Mirror> mirror = mirrors[storage].lock();
    if (!mirror) {
        mirror =
            std::make_shared<Mirror>(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(storage));
        for (auto one = mirrors.begin(); one != mirrors.end();) { // storages that are gone
            one = one->second.expired() ? mirrors.erase(one) : std::next(one);
        }
        mirrors[storage] = mirror;
    }
    return mirror;
}

} // namespace

at::DataPtr allocate_buffer(int index, size_t size)
{
    const c10::Device device(c10::DeviceType::PrivateUse1, c10::DeviceIndex(index));
    if (size == 0) {
        return {nullptr, nullptr, &forget_address, device};
    }
    const size_t whole = (size + 4095) / 4096 * 4096;
    rynd_buffer *buffer = nullptr;
    const rynd_status status = rynd_buffer_create(queue_of(index).context, whole, &buffer);
    TORCH_CHECK_WITH(OutOfMemoryError, status == RYND_OK, "rynd:", index,
                     ": no memory for a tensor of ", size, " bytes: ", rynd_last_error());
    void *address =
        mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) {
        rynd_buffer_destroy(buffer);
        TORCH_CHECK(false, "rynd:", index, ": no addresses for a tensor of ", size, " bytes");
    }
    Buffers &all = buffers();
    const std::lock_guard<std::mutex> lock(all.mutex);
    all.by_address[reinterpret_cast<uintptr_t>(address)] = {buffer, whole, index};
    MemoryFigures &figures = all.figures[index];
    figures.used += int64_t(whole);
    figures.peak = std::max(figures.peak, figures.used);
    return {address, address, &forget_address, device};
}

rynd_operand operand_at(const void *address)
{
    const Place place = place_of(address);
    rynd_operand operand = {};
    operand.buffer = place.buffer.buffer;
    operand.offset = place.offset;
    return operand;
}

int device_at(const void *address)
{
    return place_of(address).buffer.index;
}

void write_buffer(int index, void *address, const void *host, size_t size)
{
    if (size > 0) {
        const rynd_operand to = operand_at(address);
        Queue &queue = queue_of(index);
        const std::lock_guard<std::mutex> lock(queue.mutex);
        check(rynd_buffer_write_async(queue.stream, to.buffer, to.offset, host, size));
        check(rynd_stream_synchronize(queue.stream));
    }
}

void read_buffer(int index, const void *address, void *host, size_t size)
{
    if (size > 0) {
        const rynd_operand from = operand_at(address);
        Queue &queue = queue_of(index);
        const std::lock_guard<std::mutex> lock(queue.mutex);
        check(rynd_buffer_read_async(queue.stream, from.buffer, from.offset, host, size));
        check(rynd_stream_synchronize(queue.stream));
    }
}

void fill_buffer(int index, void *address, size_t size, const void *pattern, size_t pattern_size)
{
    const rynd_operand to = operand_at(address);
    Queue &queue = queue_of(index);
    const std::lock_guard<std::mutex> lock(queue.mutex);
    check(rynd_buffer_fill_async(queue.stream, to.buffer, to.offset, size, pattern, pattern_size));
}

void copy_buffer(int index, void *to_address, const void *from_address, size_t size)
{
    if (size > 0) {
        const rynd_operand to = operand_at(to_address), from = operand_at(from_address);
        Queue &queue = queue_of(index);
        const std::lock_guard<std::mutex> lock(queue.mutex);
        check(rynd_buffer_copy_async(queue.stream, to.buffer, to.offset, from.buffer, from.offset,
                                     size));
    }
}

at::Tensor mirrored(const at::Tensor &tensor, bool written)
{
    const auto options = tensor.options().device(at::kCPU);
    if (!tensor.storage().data()) {
        return at::empty_strided(tensor.sizes(), tensor.strides(), options);
    }
    const std::shared_ptr<Mirror> mirror = mirror_of(tensor);
    mirror->written |= written;
    return at::from_blob(
        mirror->host.get() + size_t(tensor.storage_offset()) * tensor.itemsize(), tensor.sizes(),
        tensor.strides(), [mirror](void *) {}, options);
}

MemoryFigures buffer_figures(int index)
{
    rynd_device_memory memory = {};
    memory.size = sizeof memory;
    check(rynd_context_get_memory(queue_of(index).context, &memory));
    Buffers &all = buffers();
    const std::lock_guard<std::mutex> lock(all.mutex);
    MemoryFigures figures = all.figures[index];
    figures.held = int64_t(memory.held);
    return figures;
}

void reset_buffer_peak(int index)
{
    Buffers &all = buffers();
    const std::lock_guard<std::mutex> lock(all.mutex);
    all.figures[index].peak = all.figures[index].used;
}

void trim_buffers()
{
    for (int index = 1; index < device_count(); index++) {
        if (has_queue(index)) {
            synchronize(index);
            rynd_context_trim(queue_of(index).context, 0);
        }
    }
}

} // namespace rynd_torch
