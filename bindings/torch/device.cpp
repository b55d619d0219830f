// SPDX-License-Identifier: Apache-2.0
// The device "rynd" for PyTorch: its guard, generator and hooks.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/GeneratorForPrivateuseone.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <atomic>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <chrono>
#include <torch/library.h>

#include "buffers.h"
#include "contexts.h"
#include "memory.h"

namespace rynd_torch
{
namespace
{

constexpr c10::DeviceType TYPE = c10::DeviceType::PrivateUse1;

using Clock = std::chrono::steady_clock;

// A device has one queue: a stream is a name. An event is the time at which all work before it was done: recording one waits.
thread_local c10::StreamId current_stream = 0;
std::atomic<c10::StreamId> last_stream{0};

struct Guard final : c10::impl::DeviceGuardImplInterface {
    c10::DeviceType type() const override
    {
        return TYPE;
    }
    c10::Device exchangeDevice(c10::Device device) const override
    {
        const c10::Device before = getDevice();
        setDevice(device);
        return before;
    }
    c10::Device getDevice() const override
    {
        return {TYPE, c10::DeviceIndex(current_device())};
    }
    void setDevice(c10::Device device) const override
    {
        set_current_device(device.index());
    }
    void uncheckedSetDevice(c10::Device device) const noexcept override
    {
        set_current_device(device.index()); // the caller has a tensor there
    }
    c10::Stream getStream(c10::Device device) const override
    {
        return c10::Stream(c10::Stream::UNSAFE, whole(device), current_stream);
    }
    c10::Stream getDefaultStream(c10::Device device) const override
    {
        return c10::Stream(c10::Stream::DEFAULT, whole(device));
    }
    c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override
    {
        return getNewStream(device, 0);
    }
    c10::Stream getNewStream(c10::Device device, int) const override
    {
        return c10::Stream(c10::Stream::UNSAFE, whole(device), ++last_stream);
    }
    c10::Stream exchangeStream(c10::Stream stream) const override
    {
        const c10::Stream before = getStream(stream.device());
        current_stream = stream.id();
        return before;
    }
    c10::DeviceIndex deviceCount() const noexcept override
    {
        return c10::DeviceIndex(device_count());
    }
    bool queryStream(const c10::Stream &) const override
    {
        return true;
    }
    void synchronizeStream(const c10::Stream &stream) const override
    {
        synchronize(stream.device_index());
    }
    void synchronizeDevice(c10::DeviceIndex index) const override
    {
        synchronize(index < 0 ? current_device() : index);
    }
    void record(void **event, const c10::Stream &stream, c10::DeviceIndex,
                c10::EventFlag) const override
    {
        synchronize(stream.device_index());
        if (!*event) {
            *event = new Clock::time_point;
        }
        *static_cast<Clock::time_point *>(*event) = Clock::now();
    }
    void block(void *, const c10::Stream &) const override
    {
    }
    bool queryEvent(void *) const override
    {
        return true;
    }
    void synchronizeEvent(void *) const override
    {
    }
    void destroyEvent(void *event, c10::DeviceIndex) const noexcept override
    {
        delete static_cast<Clock::time_point *>(event);
    }
    double elapsedTime(void *from, void *to, c10::DeviceIndex) const override
    {
        TORCH_CHECK(from && to, "rynd: elapsed_time needs two events that were recorded");
        const auto time =
            *static_cast<Clock::time_point *>(to) - *static_cast<Clock::time_point *>(from);
        return std::chrono::duration<double, std::milli>(time).count();
    }
    void recordDataPtrOnStream(const c10::DataPtr &, const c10::Stream &) const override
    {
    }

  private:
    static c10::Device whole(c10::Device device)
    {
        return {TYPE, device.index() < 0 ? c10::DeviceIndex(current_device()) : device.index()};
    }
};

at::Generator make_generator()
{
    auto generator = at::make_generator<at::CPUGeneratorImpl>(c10::default_rng_seed_val);
    return generator;
}

struct Hooks final : at::PrivateUse1HooksInterface {
    bool isBuilt() const override
    {
        return true;
    }
    bool isAvailable() const override
    {
        return true;
    }
    bool hasPrimaryContext(c10::DeviceIndex) const override
    {
        return true;
    }
    c10::DeviceIndex deviceCount() const override
    {
        return c10::DeviceIndex(device_count());
    }
    c10::DeviceIndex getCurrentDevice() const override
    {
        return c10::DeviceIndex(current_device());
    }
    void setCurrentDevice(c10::DeviceIndex index) const override
    {
        set_current_device(index);
    }
    c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override
    {
        const int before = current_device();
        set_current_device(index);
        return c10::DeviceIndex(before);
    }
    c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override
    {
        return exchangeDevice(index);
    }
    bool isPinnedPtr(const void *memory) const override
    {
        return is_pinned(memory);
    }
    c10::Allocator *getPinnedMemoryAllocator() const override
    {
        return &pinned_allocator();
    }
    at::Device getDeviceFromPtr(void *address) const override
    {
        return {TYPE, c10::DeviceIndex(device_at(address))};
    }
    const at::Generator &getDefaultGenerator(c10::DeviceIndex) const override
    {
        static const at::Generator generator = make_generator();
        return generator;
    }
    at::Generator getNewGenerator(c10::DeviceIndex) const override
    {
        return make_generator();
    }
    void resizePrivateUse1Bytes(const c10::Storage &storage, size_t size) const override
    {
        at::DataPtr data = allocate_on(storage.device().index(), size);
        if (storage.data()) {
            allocator().copy_data(data.get(), storage.data(), std::min(size, storage.nbytes()));
        }
        storage.set_data_ptr(std::move(data));
        storage.set_nbytes(size);
    }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

const bool registered = [] {
    c10::SetAllocator(TYPE, &allocator());
    at::RegisterPrivateUse1HooksInterface(new Hooks);
    return true;
}();

} // namespace
} // namespace rynd_torch
