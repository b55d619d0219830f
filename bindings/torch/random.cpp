// SPDX-License-Identifier: Apache-2.0
// Random numbers: fills and dropout. The CPU's generator decides all of them.
#include <ATen/CPUGeneratorImpl.h>
#include <torch/library.h>

#include "problem.h"
#include "tensors.h"

namespace rynd_torch
{
namespace
{

using MaybeGenerator = std::optional<at::Generator>;

// The seed of one call's numbers, which rynd makes by Philox.
uint64_t draw_seed(const MaybeGenerator &generator)
{
    auto *source = at::get_generator_or_default<at::CPUGeneratorImpl>(
        generator, at::detail::getDefaultCPUGenerator());
    const std::lock_guard<std::mutex> lock(source->mutex_);
    return source->random64();
}

// The tensor's elements in the order of its memory, which has no gaps.
at::Tensor flat(const at::Tensor &tensor)
{
    return tensor.as_strided({tensor.numel()}, {1});
}

// rynd:0 has the CPU's own numbers. Memory that the host cannot read is filled where it is.
bool fills_itself(const at::Tensor &self)
{
    return self.device().index() > 0 && self.is_floating_point() && self.numel() > 0 &&
           self.is_non_overlapping_and_dense();
}

Problem fill_problem(const at::Tensor &self, const MaybeGenerator &generator)
{
    Problem problem("random");
    problem.in_seed(draw_seed(generator)).in_seed(0).out(flat(self));
    return problem;
}

at::Tensor &bernoulli(at::Tensor &self, double p, MaybeGenerator generator)
{
    if (fills_itself(self)) {
        fill_problem(self, generator).with("kind", "bernoulli").with("p", p).run();
    } else {
        written_on_host(self).bernoulli_(p, std::move(generator));
    }
    return self;
}

at::Tensor &uniform(at::Tensor &self, double from, double to, MaybeGenerator generator)
{
    if (fills_itself(self)) {
        fill_problem(self, generator)
            .with("kind", "uniform")
            .with("low", from)
            .with("high", to)
            .run();
    } else {
        written_on_host(self).uniform_(from, to, std::move(generator));
    }
    return self;
}

at::Tensor &normal(at::Tensor &self, double mean, double deviation, MaybeGenerator generator)
{
    if (fills_itself(self)) {
        fill_problem(self, generator)
            .with("kind", "normal")
            .with("mean", mean)
            .with("deviation", deviation)
            .run();
    } else {
        written_on_host(self).normal_(mean, deviation, std::move(generator));
    }
    return self;
}

// The mask is true where an element stays. PyTorch calls it for 0 < p < 1.
std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor &given, double p,
                                                  std::optional<bool> train)
{
    const at::Tensor x = given.is_non_overlapping_and_dense() ? given : given.contiguous();
    const at::Tensor mask = at::empty_like(x, x.options().dtype(at::kBool));
    if (!train.value_or(true) || p <= 0 || p >= 1 || x.numel() == 0) {
        const bool stays = !train.value_or(true) || p <= 0;
        mask.fill_(stays);
        return {stays ? x.clone() : at::zeros_like(x), mask};
    }
    const at::Tensor y = at::empty_like(x);
    Problem("dropout")
        .in(flat(x))
        .in_absent()
        .in_seed(draw_seed({}))
        .in_seed(0)
        .out(flat(y))
        .out(flat(mask))
        .with("ratio", p)
        .run();
    return {y, mask};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library)
{
    library.impl("bernoulli_.float", bernoulli);
    library.impl("uniform_", uniform);
    library.impl("normal_", normal);
    library.impl("native_dropout", native_dropout);
}

} // namespace
} // namespace rynd_torch
