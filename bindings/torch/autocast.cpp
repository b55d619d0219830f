// SPDX-License-Identifier: Apache-2.0
// torch.amp.autocast("rynd"): the casts that PyTorch's lists name for each operator.
#include <ATen/autocast_mode.h>
#include <torch/library.h>

namespace at::autocast // PyTorch's macros name what is in it
{
namespace
{

#define RYND_LOWER(...)     KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define RYND_F32(...)       KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define RYND_F32_DTYPE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define RYND_WIDEST(...)    KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m)
{
    m.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m)
{
    AT_FORALL_LOWER_PRECISION_FP(RYND_LOWER)
    AT_FORALL_FP32(RYND_F32)
    AT_FORALL_FP32_SET_OPT_DTYPE(RYND_F32_DTYPE)
    AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
    AT_FORALL_PROMOTE(RYND_WIDEST)
}

#undef RYND_LOWER
#undef RYND_F32
#undef RYND_F32_DTYPE
#undef RYND_WIDEST

} // namespace
} // namespace at::autocast
