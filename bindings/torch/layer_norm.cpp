// SPDX-License-Identifier: Apache-2.0
// Layer and group normalisation, and their gradients. Half precision computes in f32.
#include <torch/library.h>

#include "pointwise.h"
#include "problem.h"

namespace rynd_torch
{
namespace
{

using List = at::IntArrayRef;
using MaybeTensor = std::optional<at::Tensor>;
using Three = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

bool is_given(const MaybeTensor &tensor)
{
    return tensor && tensor->defined();
}

at::ScalarType wide(const at::Tensor &x)
{
    return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

// The data as [rows, groups, channels, positions]; a row and group have one mean.
struct Grid {
    std::vector<int64_t> sizes, statistics, weights;

    at::Tensor data(const at::Tensor &x) const
    {
        return x.to(wide(x)).contiguous().view(sizes);
    }
    at::Tensor weight(const at::Tensor &x) const
    {
        return x.to(wide(x)).reshape(weights);
    }
};

Grid layer_grid(int64_t rows, int64_t columns)
{
    return {{rows, 1, 1, columns}, {rows, 1, 1, 1}, {1, 1, 1, columns}};
}

Grid group_grid(int64_t n, int64_t groups, int64_t channels, int64_t positions)
{
    const int64_t each = channels / groups;
    return {{n, groups, each, positions}, {n, groups, 1, 1}, {1, groups, each, 1}};
}

// Returns y, and means and inverse deviations of the grid's rows and groups.
Three normalise(const Grid &grid, const at::Tensor &x_, const MaybeTensor &weight,
                const MaybeTensor &bias, double epsilon)
{
    const at::Tensor x = grid.data(x_), mean = at::empty(grid.statistics, x.options()),
                     deviation = at::empty_like(mean), y = at::empty_like(x);
    if (x.numel() > 0) {
        const auto rows = std::vector<int64_t>{mean.numel(), x.numel() / mean.numel()};
        const int64_t row_statistics[] = {rows[0], 1};
        Problem("layer_norm")
            .in(x.view(rows))
            .out(y.view(rows))
            .out(mean.view(row_statistics))
            .out(deviation.view(row_statistics))
            .with("axis", int64_t(1))
            .with("epsilon", epsilon)
            .run();
    }
    const bool scaled = is_given(weight), shifted = is_given(bias);
    if (scaled || shifted) {
        pointwise(scaled ? (shifted ? "$0 * $1 + $2" : "$0 * $1") : "$0 + $2",
                  {y, scaled ? grid.weight(*weight) : y, shifted ? grid.weight(*bias) : y}, y);
    }
    return {y.view(x_.sizes()).to(x_.scalar_type()), mean, deviation};
}

// Gradients of x, weight and bias. The problem is of x under `sizes`, with statistics and weight under theirs.
Three gradients(Problem &problem, List sizes, const at::Tensor &dy, const at::Tensor &x,
                const MaybeTensor &weight, List weight_sizes, const at::Tensor &mean,
                const at::Tensor &deviation, std::array<bool, 3> wanted)
{
    if (x.numel() == 0) {
        const at::Tensor none = is_given(weight) ? at::zeros_like(*weight) : at::Tensor();
        return {at::zeros_like(x), none, none};
    }
    const auto options = is_given(weight) ? weight->options() : x.options();
    const at::Tensor dx =
        at::empty(x.sizes(), x.options().memory_format(at::MemoryFormat::Contiguous));
    at::Tensor sums[2];
    problem.in(dy.contiguous().view(sizes)).in(x.contiguous().view(sizes));
    if (is_given(weight)) {
        problem.in(weight->contiguous());
    } else {
        problem.in_absent();
    }
    problem.in(mean).in(deviation).out(dx.view(sizes));
    for (size_t i = 0; i < 2; i++) {
        if (wanted[i + 1]) {
            sums[i] = at::empty(weight_sizes, options);
            problem.out(sums[i]);
        } else {
            problem.out_absent();
        }
    }
    problem.run();
    return {dx, sums[0], sums[1]};
}

// The dims of x that a layer norm's statistics do not cover, and their number of rows.
std::vector<int64_t> outer(const at::Tensor &x, List shape)
{
    return x.sizes().slice(0, size_t(x.dim()) - shape.size()).vec();
}

Grid grid_of_layer(const at::Tensor &x, List shape)
{
    const int64_t columns = c10::multiply_integers(shape);
    return layer_grid(c10::multiply_integers(outer(x, shape)), columns);
}

Three native_layer_norm(const at::Tensor &x, List shape, const MaybeTensor &weight,
                        const MaybeTensor &bias, double epsilon)
{
    auto [y, mean, deviation] = normalise(grid_of_layer(x, shape), x, weight, bias, epsilon);
    std::vector<int64_t> sizes = outer(x, shape);
    sizes.insert(sizes.end(), shape.size(), 1);
    return {y, mean.view(sizes), deviation.view(sizes)};
}

Three native_layer_norm_backward(const at::Tensor &dy, const at::Tensor &x, List shape,
                                 const at::Tensor &mean, const at::Tensor &deviation,
                                 const MaybeTensor &weight, const MaybeTensor &,
                                 std::array<bool, 3> wanted)
{
    std::vector<int64_t> sizes = {c10::multiply_integers(outer(x, shape))},
                         statistics(shape.size() + 1, 1);
    statistics[0] = sizes[0];
    sizes.insert(sizes.end(), shape.begin(), shape.end());
    return gradients(Problem("layer_norm_grad").with("axis", int64_t(1)), sizes, dy, x, weight,
                     shape, mean.reshape(statistics), deviation.reshape(statistics), wanted);
}

Three native_group_norm(const at::Tensor &x, const MaybeTensor &weight, const MaybeTensor &bias,
                        int64_t n, int64_t channels, int64_t positions, int64_t groups,
                        double epsilon)
{
    auto [y, mean, deviation] =
        normalise(group_grid(n, groups, channels, positions), x, weight, bias, epsilon);
    return {y, mean.view({n, groups}), deviation.view({n, groups})};
}

Three native_group_norm_backward(const at::Tensor &dy, const at::Tensor &x, const at::Tensor &mean,
                                 const at::Tensor &deviation, const MaybeTensor &weight, int64_t n,
                                 int64_t channels, int64_t positions, int64_t groups,
                                 std::array<bool, 3> wanted)
{
    return gradients(Problem("group_norm_grad").with("groups", groups), {n, channels, positions},
                     dy, x, weight, {channels}, mean, deviation, wanted);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library)
{
    library.impl("native_layer_norm", native_layer_norm);
    library.impl("native_layer_norm_backward", native_layer_norm_backward);
    library.impl("native_group_norm", native_group_norm);
    library.impl("native_group_norm_backward", native_group_norm_backward);
}

} // namespace
} // namespace rynd_torch
