// SPDX-License-Identifier: Apache-2.0
// Products of matrices.
#include <torch/library.h>

#include "problem.h"

namespace rynd_torch
{
namespace
{

at::Tensor &multiply(const at::Tensor &a, const at::Tensor &b, const at::Tensor *c, double alpha,
                     double beta, at::Tensor &out)
{
    if (out.numel() == 0) {
        return out;
    }
    if (a.size(-1) == 0) {
        return c && beta != 0 ? at::mul_out(out, *c, at::Scalar(beta)) : out.zero_();
    }
    Problem problem("matmul");
    problem.in(a).in_constant(b);
    if (c && beta != 0) {
        problem.in(*c).with("beta", beta);
    }
    problem.out(out).with("alpha", alpha).run();
    return out;
}

at::Tensor &mm_out(const at::Tensor &a, const at::Tensor &b, at::Tensor &out)
{
    return multiply(a, b, nullptr, 1, 1, out);
}

at::Tensor &addmm_out(const at::Tensor &c, const at::Tensor &a, const at::Tensor &b,
                      const at::Scalar &beta, const at::Scalar &alpha, at::Tensor &out)
{
    const at::Tensor apart =
        c.is_same(out) || c.is_alias_of(out) ? c.clone() : c; // rynd reads it while it writes
    return multiply(a, b, &apart, alpha.toDouble(), beta.toDouble(), out);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library)
{
    library.impl("mm.out", mm_out);
    library.impl("bmm.out", mm_out);
    library.impl("addmm.out", addmm_out);
    library.impl("baddbmm.out", addmm_out);
}

} // namespace
} // namespace rynd_torch
