// SPDX-License-Identifier: Apache-2.0
// One step of LSTM and GRU, and its gradient: expressions on the slices of the gates.
#include <torch/library.h>

#include "pointwise.h"

namespace rynd_torch
{
namespace
{

using MaybeTensor = std::optional<at::Tensor>;

at::Tensor sum_of_gates(const at::Tensor &input, const at::Tensor &hidden)
{
    at::Tensor sum = at::empty_like(input, at::MemoryFormat::Contiguous);
    pointwise("$0 + $1", {input, hidden}, sum);
    return sum;
}

at::Tensor biased(const at::Tensor &gates, const MaybeTensor &bias)
{
    return bias && bias->defined() ? at::add(gates, *bias) : gates;
}

at::Tensor or_zeros(const MaybeTensor &tensor, const at::Tensor &like)
{
    return tensor && tensor->defined() ? *tensor : at::zeros_like(like);
}

// Gates in PyTorch's order: input, forget, cell, output. The workspace keeps them activated.
std::tuple<at::Tensor, at::Tensor, at::Tensor>
lstm_cell(const at::Tensor &input, const at::Tensor &hidden, const at::Tensor &cx,
          const MaybeTensor &input_bias, const MaybeTensor &hidden_bias)
{
    const at::Tensor gates = sum_of_gates(biased(input, input_bias), biased(hidden, hidden_bias));
    const auto gate = gates.chunk(4, 1);
    for (const int index : {0, 1, 3}) {
        pointwise("sigmoid($0)", {gate[size_t(index)]}, gate[size_t(index)]);
    }
    pointwise("tanh($0)", {gate[2]}, gate[2]);
    const at::Tensor cy = at::empty_like(cx, at::MemoryFormat::Contiguous), hy = at::empty_like(cy);
    pointwise("$0 * $1 + $2 * $3", {gate[1], cx, gate[0], gate[2]}, cy);
    pointwise("$0 * tanh($1)", {gate[3], cy}, hy);
    return {hy, cy, gates};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor>
lstm_cell_backward(const MaybeTensor &dhy, const MaybeTensor &dcy, const at::Tensor &cx,
                   const at::Tensor &cy, const at::Tensor &gates, bool has_bias)
{
    if (!(dhy && dhy->defined()) && !(dcy && dcy->defined())) {
        return {};
    }
    const at::Tensor dh = or_zeros(dhy, cx), dc = at::empty_like(cy), dcx = at::empty_like(cx),
                     dgates = at::empty_like(gates);
    const auto gate = gates.chunk(4, 1), slope = dgates.chunk(4, 1);
    pointwise("$0 + $1 * $2 * (1 - tanh($3) * tanh($3))", {or_zeros(dcy, cx), dh, gate[3], cy}, dc);
    pointwise("$0 * $1 * $2 * (1 - $2)", {dc, gate[2], gate[0]}, slope[0]);
    pointwise("$0 * $1 * $2 * (1 - $2)", {dc, cx, gate[1]}, slope[1]);
    pointwise("$0 * $1 * (1 - $2 * $2)", {dc, gate[0], gate[2]}, slope[2]);
    pointwise("$0 * tanh($1) * $2 * (1 - $2)", {dh, cy, gate[3]}, slope[3]);
    pointwise("$0 * $1", {dc, gate[1]}, dcx);
    return {dgates, dcx, has_bias ? dgates.sum(0) : at::Tensor()};
}

// Gates in PyTorch's order: reset, update, new. The workspace keeps reset, update, new, hx and the hidden part of new.
std::tuple<at::Tensor, at::Tensor> gru_cell(const at::Tensor &input_, const at::Tensor &hidden_,
                                            const at::Tensor &hx, const MaybeTensor &input_bias,
                                            const MaybeTensor &hidden_bias)
{
    const auto input = biased(input_, input_bias).chunk(3, 1),
               hidden = biased(hidden_, hidden_bias).chunk(3, 1);
    const at::Tensor workspace = at::empty({hx.size(0), hx.size(1) * 5}, hx.options()),
                     hy = at::empty_like(hx, at::MemoryFormat::Contiguous);
    const auto kept = workspace.chunk(5, 1);
    pointwise("sigmoid($0 + $1)", {input[0], hidden[0]}, kept[0]);
    pointwise("sigmoid($0 + $1)", {input[1], hidden[1]}, kept[1]);
    pointwise("tanh($0 + $1 * $2)", {input[2], kept[0], hidden[2]}, kept[2]);
    kept[3].copy_(hx);
    kept[4].copy_(hidden[2]);
    pointwise("$0 + $1 * ($2 - $0)", {kept[2], kept[1], hx}, hy);
    return {hy, workspace};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>
gru_cell_backward(const at::Tensor &dh, const at::Tensor &workspace, bool has_bias)
{
    const auto kept = workspace.chunk(5, 1);
    const int64_t size = kept[0].size(1);
    const at::Tensor dinput = at::empty({dh.size(0), 3 * size}, dh.options()),
                     dhidden = at::empty_like(dinput),
                     dhx = at::empty_like(dh, at::MemoryFormat::Contiguous);
    const auto slope = dinput.chunk(3, 1);
    pointwise("$0 * (1 - $1) * (1 - $2 * $2)", {dh, kept[1], kept[2]}, slope[2]);
    pointwise("$0 * ($1 - $2) * $3 * (1 - $3)", {dh, kept[3], kept[2], kept[1]}, slope[1]);
    pointwise("$0 * $1 * $2 * (1 - $2)", {slope[2], kept[4], kept[0]}, slope[0]);
    pointwise("$0 * $1", {dh, kept[1]}, dhx);
    dhidden.copy_(dinput);
    pointwise("$0 * $1", {slope[2], kept[0]}, dhidden.chunk(3, 1)[2]);
    return {dinput, dhidden, dhx, has_bias ? dinput.sum(0) : at::Tensor(),
            has_bias ? dhidden.sum(0) : at::Tensor()};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library)
{
    library.impl("_thnn_fused_lstm_cell", lstm_cell);
    library.impl("_thnn_fused_lstm_cell_backward_impl", lstm_cell_backward);
    library.impl("_thnn_fused_gru_cell", gru_cell);
    library.impl("_thnn_fused_gru_cell_backward", gru_cell_backward);
}

} // namespace
} // namespace rynd_torch
