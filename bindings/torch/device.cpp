// SPDX-License-Identifier: Apache-2.0
// The device "rynd" for PyTorch: its memory, guard, generator and hooks. rynd:0 is the processor, whose memory is the host's.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/GeneratorForPrivateuseone.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include "memory.h"

namespace rynd_torch
{
namespace
{

constexpr c10::DeviceType TYPE = c10::DeviceType::PrivateUse1;

// Runs are synchronous: a stream is a name, and every event is reached.
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
        return c10::Stream(c10::Stream::DEFAULT, device);
    }
    c10::Stream getDefaultStream(c10::Device device) const override
    {
        return c10::Stream(c10::Stream::DEFAULT, device);
    }
    c10::Stream getNewStream(c10::Device device, int) const override
    {
        return c10::Stream(c10::Stream::DEFAULT, device);
    }
    c10::Stream exchangeStream(c10::Stream stream) const override
    {
        return stream;
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
    void record(void **, const c10::Stream &, c10::DeviceIndex, c10::EventFlag) const override
    {
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
    void destroyEvent(void *, c10::DeviceIndex) const noexcept override
    {
    }
    void recordDataPtrOnStream(const c10::DataPtr &, const c10::Stream &) const override
    {
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
    bool isPinnedPtr(const void *) const override
    {
        return false;
    }
    c10::Allocator *getPinnedMemoryAllocator() const override
    {
        return c10::GetCPUAllocator();
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
