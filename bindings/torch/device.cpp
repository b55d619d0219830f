// SPDX-License-Identifier: Apache-2.0
// The device "rynd" for PyTorch: its memory, guard, generator and hooks. rynd:0 is the processor, whose memory is the host's.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/GeneratorForPrivateuseone.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <atomic>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <chrono>
#include <torch/library.h>

#include "memory.h"

namespace rynd_torch
{
namespace
{

constexpr c10::DeviceType TYPE = c10::DeviceType::PrivateUse1;

using Clock = std::chrono::steady_clock;

// Runs are synchronous: a stream is a name, and an event the time at which it was recorded.
thread_local c10::StreamId current_stream = 0;
std::atomic<c10::StreamId> last_stream{0};

struct Guard final : c10::impl::DeviceGuardImplInterface {
    c10::DeviceType type() const override
    {
        return TYPE;
    }
    c10::Device exchangeDevice(c10::Device) const override
    {
        return getDevice();
    }
    c10::Device getDevice() const override
    {
        return {TYPE, 0};
    }
    void setDevice(c10::Device device) const override
    {
        TORCH_CHECK(device.index() <= 0, "rynd has one device: rynd:0");
    }
    void uncheckedSetDevice(c10::Device) const noexcept override
    {
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
        return 1;
    }
    bool queryStream(const c10::Stream &) const override
    {
        return true;
    }
    void synchronizeStream(const c10::Stream &) const override
    {
    }
    void synchronizeDevice(c10::DeviceIndex) const override
    {
    }
    void record(void **event, const c10::Stream &, c10::DeviceIndex, c10::EventFlag) const override
    {
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
        return {TYPE, std::max<c10::DeviceIndex>(device.index(), 0)};
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
        return 1;
    }
    c10::DeviceIndex getCurrentDevice() const override
    {
        return 0;
    }
    void setCurrentDevice(c10::DeviceIndex) const override
    {
    }
    c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override
    {
        return 0;
    }
    c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const override
    {
        return 0;
    }
    bool isPinnedPtr(const void *memory) const override
    {
        return is_pinned(memory);
    }
    c10::Allocator *getPinnedMemoryAllocator() const override
    {
        return &pinned_allocator();
    }
    at::Device getDeviceFromPtr(void *) const override
    {
        return {TYPE, 0};
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
        at::DataPtr data = allocator().allocate(size);
        std::memcpy(data.get(), storage.data(), std::min(size, storage.nbytes()));
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
