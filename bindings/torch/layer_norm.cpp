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
    List reduced, summed; // axes of a mean; axes over which a weight's gradient is summed

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
    static const int64_t reduced[] = {3}, summed[] = {0};
    return {{rows, 1, 1, columns}, {rows, 1, 1, 1}, {1, 1, 1, columns}, reduced, summed};
}

Grid group_grid(int64_t n, int64_t groups, int64_t channels, int64_t positions)
{
    static const int64_t reduced[] = {2, 3}, summed[] = {0, 3};
    const int64_t each = channels / groups;
    return {{n, groups, each, positions}, {n, groups, 1, 1}, {1, groups, each, 1}, reduced, summed};
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

// With h = (x - mean) * deviation and g = dy * weight: dx = deviation * (g - mean(g) - h * mean(g * h)).
at::Tensor row_gradient(const Grid &grid, const at::Tensor &dy, const at::Tensor &x,
                        const at::Tensor &mean, const at::Tensor &deviation,
                        const at::Tensor &weight)
{
    const std::string terms =
        std::string(weight.defined() ? "g = x0 * x4" : "g = x0") + "; h = (x1 - x2) * x3; ";
    const at::Tensor first = at::empty_like(mean), second = at::empty_like(mean),
                     dx = at::empty_like(x);
    Problem means("expr"), result("expr");
    for (Problem *problem : {&means, &result}) {
        problem->in(dy).in(x).in(mean).in(deviation);
        if (weight.defined()) {
            problem->in(weight);
        } else {
            problem->in(mean); // not read
        }
    }
    means.out(first)
        .out(second)
        .program(terms + "y0 = mean(g); y1 = mean(g * h)")
        .with("axes", grid.reduced)
        .run();
    result.in(first).in(second).out(dx).program(terms + "y0 = x3 * (g - x5 - h * x6)").run();
    return dx;
}

Three gradients(const Grid &grid, const at::Tensor &dy_, const at::Tensor &x_,
                const at::Tensor &mean_, const at::Tensor &deviation_, const MaybeTensor &weight,
                List weight_sizes, std::array<bool, 3> wanted)
{
    const at::Tensor dy = grid.data(dy_), x = grid.data(x_), mean = mean_.reshape(grid.statistics),
                     deviation = deviation_.reshape(grid.statistics);
    at::Tensor dx, dweight, dbias;
    if (x.numel() == 0) {
        return {at::zeros_like(x_), is_given(weight) ? at::zeros_like(*weight) : dweight,
                is_given(weight) ? at::zeros_like(*weight) : dbias};
    }
    if (wanted[0]) {
        dx = row_gradient(grid, dy, x, mean, deviation,
                          is_given(weight) ? grid.weight(*weight) : at::Tensor())
                 .view(x_.sizes())
                 .to(x_.scalar_type());
    }
    if (wanted[1] || wanted[2]) {
        dweight = at::empty(grid.weights, x.options());
        dbias = at::empty(grid.weights, x.options());
        Problem("expr")
            .in(dy)
            .in(x)
            .in(mean)
            .in(deviation)
            .out(dweight)
            .out(dbias)
            .program("y0 = sum(x0 * (x1 - x2) * x3); y1 = sum(x0)")
            .with("axes", grid.summed)
            .run();
        const auto dtype = is_given(weight) ? weight->scalar_type() : x_.scalar_type();
        dweight = wanted[1] ? dweight.view(weight_sizes).to(dtype) : at::Tensor();
        dbias = wanted[2] ? dbias.view(weight_sizes).to(dtype) : at::Tensor();
    }
    return {dx, dweight, dbias};
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
    return gradients(grid_of_layer(x, shape), dy, x, mean, deviation, weight, shape, wanted);
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
    return gradients(group_grid(n, groups, channels, positions), dy, x, mean, deviation, weight,
                     {channels}, wanted);
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
