// SPDX-License-Identifier: Apache-2.0
// Elementwise operators: rows of a name and an expression, whose arguments are the operator's tensors and scalars in order.
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TypeProperties.h>
#include <torch/library.h>

#include "pointwise.h"
#include "problem.h"

namespace rynd_torch
{
namespace
{

struct Row {
    const char *name, *program;     // $0 is the first argument
    const char *of_bools = nullptr; // for operands that are all bool; nullptr: the same
};

const Row rows[] = {
    {"abs.out", "abs($0)"},
    {"add.out", "$0 + $1 * $2", "or($0, $1)"},
    {"addcdiv.out", "$0 + $3 * $1 / $2"},
    {"addcmul.out", "$0 + $3 * $1 * $2"},
    {"bitwise_and.Tensor_out", "bit_and($0, $1)", "and($0, $1)"},
    {"bitwise_not.out", "bit_not($0)", "not($0)"},
    {"bitwise_or.Tensor_out", "bit_or($0, $1)", "or($0, $1)"},
    {"ceil.out", "ceil($0)"},
    {"cos.out", "cos($0)"},
    {"div.out", "$0 / $1"},
    {"elu.out", "select($0 > 0, $0 * $2, expm1($0 * $3) * ($1 * $2))"},
    {"eq.Scalar_out", "$0 == $1"},
    {"eq.Tensor_out", "$0 == $1"},
    {"erf.out", "erf($0)"},
    {"exp.out", "exp($0)"},
    {"expm1.out", "expm1($0)"},
    {"floor.out", "floor($0)"},
    {"ge.Scalar_out", "$0 >= $1"},
    {"ge.Tensor_out", "$0 >= $1"},
    {"gt.Scalar_out", "$0 > $1"},
    {"gt.Tensor_out", "$0 > $1"},
    {"hardsigmoid.out", "max(min($0 / 6 + 0.5, 1), 0)"},
    {"hardsigmoid_backward.grad_input", "select(abs($1) < 3, $0 / 6, 0)"},
    {"hardswish", "$0 * max(min($0 / 6 + 0.5, 1), 0)"},
    {"hardswish.out", "$0 * max(min($0 / 6 + 0.5, 1), 0)"},
    {"hardswish_", "$0 * max(min($0 / 6 + 0.5, 1), 0)"},
    {"hardswish_backward", "select($1 < -3, 0, select($1 <= 3, $0 * ($1 / 3 + 0.5), $0))"},
    {"hardtanh", "min(max($0, $1), $2)"},
    {"hardtanh_", "min(max($0, $1), $2)"},
    {"hardtanh_backward", "select($1 > $2, select($1 < $3, $0, 0), 0)"},
    {"hardtanh_backward.grad_input", "select($1 > $2, select($1 < $3, $0, 0), 0)"},
    {"le.Scalar_out", "$0 <= $1"},
    {"le.Tensor_out", "$0 <= $1"},
    {"leaky_relu.out", "select($0 > 0, $0, $0 * $1)"},
    {"lerp.Scalar_out", "$0 + $2 * ($1 - $0)"},
    {"lerp.Tensor_out", "$0 + $2 * ($1 - $0)"},
    {"log.out", "log($0)"},
    {"log1p.out", "log1p($0)"},
    {"lt.Scalar_out", "$0 < $1"},
    {"lt.Tensor_out", "$0 < $1"},
    {"maximum.out", "max($0, $1)", "or($0, $1)"},
    {"minimum.out", "min($0, $1)", "and($0, $1)"},
    {"mish.out", "mish($0)"},
    {"mish_backward", "$0 * (tanh(softplus($1)) + $1 * sigmoid($1) * (1 - tanh(softplus($1)) * "
                      "tanh(softplus($1))))"},
    {"mul.out", "$0 * $1", "and($0, $1)"},
    {"native_dropout_backward", "$0 * $1 * $2"},
    {"ne.Scalar_out", "$0 != $1"},
    {"ne.Tensor_out", "$0 != $1"},
    {"neg.out", "-$0"},
    {"pow.Tensor_Scalar_out", "pow($0, $1)"},
    {"pow.Tensor_Tensor_out", "pow($0, $1)"},
    {"reciprocal.out", "reciprocal($0)"},
    {"relu", "max($0, 0)"},
    {"relu_", "max($0, 0)"},
    {"round.out", "round($0)"},
    {"rsqrt.out", "1 / sqrt($0)"},
    {"sigmoid.out", "sigmoid($0)"},
    {"sigmoid_backward.grad_input", "$0 * (1 - $1) * $1"},
    {"sign.out", "sign($0)"},
    {"silu.out", "silu($0)"},
    {"silu_backward",
     "$0 * sigmoid($1) * (1 + $1 * (1 - sigmoid($1)))"}, // PyTorch's own has ten calls
    {"silu_backward.grad_input", "$0 * sigmoid($1) * (1 + $1 * (1 - sigmoid($1)))"},
    {"sin.out", "sin($0)"},
    {"sqrt.out", "sqrt($0)"},
    {"sub.out", "$0 - $1 * $2"},
    {"tanh.out", "tanh($0)"},
    {"tanh_backward.grad_input", "$0 * (1 - $1 * $1)"},
    {"threshold_backward.grad_input", "select($1 > $2, $0, 0)"},
    {"bitwise_xor.Tensor_out", "bit_xor($0, $1)", "xor($0, $1)"},
    {"logical_and.out", "and(cast($0, bool), cast($1, bool))"},
    {"logical_or.out", "or(cast($0, bool), cast($1, bool))"},
    {"logical_not.out", "not(cast($0, bool))"},
    {"acos.out", "acos($0)"},
    {"acosh.out", "acosh($0)"},
    {"asin.out", "asin($0)"},
    {"asinh.out", "asinh($0)"},
    {"atan.out", "atan($0)"},
    {"atanh.out", "atanh($0)"},
    {"clamp_max.out", "min($0, $1)"},
    {"clamp_max.Tensor_out", "min($0, $1)"},
    {"clamp_min.out", "max($0, $1)"},
    {"clamp_min.Tensor_out", "max($0, $1)"},
    {"cosh.out", "cosh($0)"},
    {"exp2.out", "exp($0 * 0.6931471805599453)"},
    {"fmod.Tensor_out", "fmod($0, $1)"},
    {"log10.out", "log($0) * 0.4342944819032518"},
    {"log2.out", "log($0) * 1.4426950408889634"},
    {"pow.Scalar_out", "pow($0, $1)"},
    {"remainder.Tensor_out", "mod($0, $1)"},
    {"sgn.out", "sign($0)"},
    {"sinh.out", "sinh($0)"},
    {"tan.out", "tan($0)"},
    {"threshold.out", "select($0 <= $1, $2, $0)"},
    {"trunc.out", "select($0 < 0, ceil($0), floor($0))"},
    {"_prelu_kernel", "select($0 > 0, $0, $0 * $1)"},
    {"where.self", "select($0, $1, $2)"},
    {"where.self_out", "select($0, $1, $2)"},
};

bool is_number(const c10::IValue &value)
{
    return value.isScalar() || value.isDouble() || value.isInt() || value.isBool();
}

// The program with each $i replaced by words[i].
std::string spelled(const std::string &program, const std::vector<std::string> &words)
{
    std::string text;
    for (size_t i = 0; i < program.size(); i++) {
        if (program[i] == '$') {
            text += words[size_t(program[++i] - '0')];
        } else {
            text += program[i];
        }
    }
    return text;
}

// The dtype that an operator computes in: PyTorch's promotion, of a comparison's operands or of the result.
at::ScalarType compute_dtype(const std::vector<c10::IValue> &values, const at::Tensor &out)
{
    if (out.defined() && out.scalar_type() != at::kBool) {
        return out.scalar_type();
    }
    at::native::ResultTypeState state = {};
    for (const c10::IValue &value : values) {
        state = value.isTensor() ? at::native::update_result_type_state(value.toTensor(), state)
                                 : at::native::update_result_type_state(
                                       at::native::wrapped_scalar_tensor(value.toScalar()), state);
    }
    return at::native::result_type(state);
}

// The device of the first tensor that is on one.
at::Device device_of(const std::vector<c10::IValue> &values)
{
    for (const c10::IValue &value : values) {
        if (value.isTensor() && value.toTensor().is_privateuseone()) {
            return value.toTensor().device();
        }
    }
    return at::kPrivateUse1;
}

at::Tensor result_like(const std::vector<c10::IValue> &values, at::ScalarType dtype)
{
    std::vector<int64_t> sizes;
    at::Tensor whole; // whose layout the result takes
    for (const c10::IValue &value : values) {
        if (value.isTensor()) {
            sizes = at::infer_size(sizes, value.toTensor().sizes());
        }
    }
    for (const c10::IValue &value : values) {
        if (value.isTensor() && value.toTensor().sizes() == at::IntArrayRef(sizes) &&
            !whole.defined() && value.toTensor().is_privateuseone()) {
            whole = value.toTensor();
        }
    }
    const auto options = at::TensorOptions().dtype(dtype).device(device_of(values));
    return whole.defined() ? at::empty_like(whole, whole.options().dtype(dtype))
                           : at::empty(sizes, options);
}

} // namespace

void pointwise(const char *program, const std::vector<c10::IValue> &values, const at::Tensor &out)
{
    if (out.numel() == 0) {
        return;
    }
    const at::ScalarType dtype = compute_dtype(values, out);
    Problem problem("expr");
    std::vector<std::string> words;
    for (size_t i = 0; i < values.size(); i++) {
        std::string word = "x" + std::to_string(i);
        const bool tensor = values[i].isTensor();
        if (!tensor || (values[i].toTensor().dim() == 0 && values[i].toTensor().is_cpu())) {
            const at::Scalar value = tensor ? values[i].toTensor().item() : values[i].toScalar();
            problem.in_scalar(value.toDouble(), dtype);
        } else {
            const at::Tensor &operand = values[i].toTensor();
            TORCH_CHECK(operand.is_privateuseone(), "rynd: an operand is on ", operand.device(),
                        ", the others on ", out.device());
            problem.in(operand);
            if (operand.scalar_type() != dtype &&
                !(operand.scalar_type() == at::kBool && program[0] == 's' && i == 0)) {
                word = std::string("cast(") + word + ", " + dtype_name(dtype) + ")";
            }
        }
        words.push_back(std::move(word));
    }
    problem.out(out).program(spelled(program, words)).run();
}

namespace
{

// An operator of a row, called with a stack: tensors and numbers are operands, an argument that is written to is the result.
struct Kernel final : c10::OperatorKernel {
    explicit Kernel(const Row &row) : row(row)
    {
    }

    void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet, torch::jit::Stack *stack)
    {
        const auto &schema = op.schema();
        const size_t count = schema.arguments().size();
        const auto given = torch::jit::last(*stack, count);
        std::vector<c10::IValue> values;
        at::Tensor out;
        for (size_t i = 0; i < count; i++) {
            const c10::Argument &argument = schema.arguments()[i];
            const bool written = argument.alias_info() && argument.alias_info()->isWrite();
            if (written) {
                out = given[i].toTensor();
            }
            if ((given[i].isTensor() && !argument.kwarg_only() && !(written && i > 0)) ||
                is_number(given[i])) {
                values.push_back(given[i]);
            }
        }
        if (!out.defined()) {
            out = result_like(
                values, values[0].isTensor() && values[0].toTensor().scalar_type() == at::kBool &&
                                values.size() == 3
                            ? at::result_type(values[1].toTensor(), values[2].toTensor())
                            : compute_dtype(values, {}));
        } else if (schema.arguments().back().kwarg_only()) {
            at::native::resize_output(out, result_like(values, out.scalar_type()).sizes());
        }
        const bool bools = row.of_bools && out.scalar_type() == at::kBool &&
                           compute_dtype(values, {}) == at::kBool;
        pointwise(bools ? row.of_bools : row.program, values, out);
        torch::jit::drop(*stack, count);
        torch::jit::push(*stack, out);
    }

    const Row row;
};

at::Tensor isnan(const at::Tensor &self)
{
    at::Tensor out = at::empty_like(self, self.options().dtype(at::kBool));
    if (self.is_floating_point()) {
        pointwise("isnan($0)", {self}, out);
        return out;
    }
    return out.zero_();
}

// Gradients of x and of the slope, which PyTorch sums over what it was spread to.
std::tuple<at::Tensor, at::Tensor> prelu_backward(const at::Tensor &dy, const at::Tensor &x,
                                                  const at::Tensor &slope)
{
    const at::Tensor dx = at::empty_like(x), dslope = at::empty_like(x);
    pointwise("select($1 > 0, $0, $0 * $2)", {dy, x, slope}, dx);
    pointwise("select($1 > 0, 0, $0 * $1)", {dy, x}, dslope);
    return {dx, dslope};
}

at::Tensor &clamp_out(const at::Tensor &self, const std::optional<at::Scalar> &low,
                      const std::optional<at::Scalar> &high, at::Tensor &out)
{
    if (low && high) {
        pointwise("min(max($0, $1), $2)", {self, *low, *high}, out);
    } else {
        pointwise(low ? "max($0, $1)" : "min($0, $1)", {self, low ? *low : *high}, out);
    }
    return out;
}

at::Tensor &gelu_out(const at::Tensor &self, c10::string_view approximate, at::Tensor &out)
{
    pointwise(approximate == "tanh" ? "gelu_tanh($0)" : "gelu($0)", {self}, out);
    return out;
}

at::Tensor &gelu_backward_out(const at::Tensor &dy, const at::Tensor &self,
                              c10::string_view approximate, at::Tensor &dx)
{
    if (approximate == "tanh") {
        const char *inner = "tanh(0.7978845608028654 * ($1 + 0.044715 * $1 * $1 * $1))";
        const std::string slope = std::string("0.5 * (1 + ") + inner +
                                  ") + 0.3989422804014327 * $1 * (1 - " + inner + " * " + inner +
                                  ") * (1 + 0.134145 * $1 * $1)";
        pointwise(("$0 * (" + slope + ")").c_str(), {dy, self}, dx);
    } else {
        pointwise("$0 * (0.5 * (1 + erf($1 * 0.7071067811865476)) + $1 * exp($1 * $1 * -0.5) * "
                  "0.3989422804014327)",
                  {dy, self}, dx);
    }
    return dx;
}

at::Tensor &softplus_out(const at::Tensor &self, const at::Scalar &beta,
                         const at::Scalar &threshold, at::Tensor &out)
{
    pointwise("select($0 * $1 > $2, $0, softplus($0 * $1) / $1)", {self, beta, threshold}, out);
    return out;
}

at::Tensor &softplus_backward_out(const at::Tensor &dy, const at::Tensor &self,
                                  const at::Scalar &beta, const at::Scalar &threshold,
                                  at::Tensor &dx)
{
    pointwise("select($1 * $2 > $3, $0, $0 * sigmoid($1 * $2))", {dy, self, beta, threshold}, dx);
    return dx;
}

at::Tensor &leaky_relu_backward_out(const at::Tensor &dy, const at::Tensor &self,
                                    const at::Scalar &slope, bool, at::Tensor &dx)
{
    pointwise("select($1 > 0, $0, $0 * $2)", {dy, self, slope}, dx);
    return dx;
}

// If of_result, `self` is the function's result, whose derivative below 0 is result + alpha * scale.
at::Tensor &elu_backward_out(const at::Tensor &dy, const at::Scalar &alpha, const at::Scalar &scale,
                             const at::Scalar &input_scale, bool of_result, const at::Tensor &self,
                             at::Tensor &dx)
{
    pointwise(of_result ? "select($1 > 0, $0 * $3, $0 * $4 * ($1 + $2 * $3))"
                        : "select($1 > 0, $0 * $3, $0 * $4 * $2 * $3 * exp($1 * $4))",
              {dy, self, alpha, scale, input_scale}, dx);
    return dx;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library)
{
    for (const Row &row : rows) {
        library.impl(row.name,
                     torch::CppFunction::makeFromBoxedKernel(
                         c10::BoxedKernel::makeFromFunctor(std::make_unique<Kernel>(row))));
    }
    library.impl("isnan", isnan);
    library.impl("_prelu_kernel_backward", prelu_backward);
    library.impl("clamp.out", clamp_out);
    library.impl("gelu.out", gelu_out);
    library.impl("gelu_backward.grad_input", gelu_backward_out);
    library.impl("softplus.out", softplus_out);
    library.impl("softplus_backward.grad_input", softplus_backward_out);
    library.impl("leaky_relu_backward.grad_input", leaky_relu_backward_out);
    library.impl("elu_backward.grad_input", elu_backward_out);
}

} // namespace
} // namespace rynd_torch
