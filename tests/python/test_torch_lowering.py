# SPDX-License-Identifier: Apache-2.0
"""Operators that PyTorch's exporter would pass on otherwise than PyTorch computes them: written in other terms, or left to PyTorch."""

import importlib.util
import itertools
import warnings

import pytest

import rynd

torch = pytest.importorskip("torch")
lowering = pytest.importorskip("rynd.torch_lowering")
F = torch.nn.functional
aten = torch.ops.aten
can_compile = pytest.mark.skipif(not hasattr(torch, "compile") or not importlib.util.find_spec("onnxscript"),
                                 reason="torch.compile to ONNX needs PyTorch 2.6 and onnxscript")


class Of(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *tensors):
        return self.function(*tensors)


def same(op, *arguments, **named):
    """Is an operator written in other terms? These compute the same."""
    becomes = lowering.TABLE[op](*arguments, **named)
    if becomes is not NotImplemented:
        torch.testing.assert_close(becomes, op(*arguments, **named), rtol=1e-5, atol=1e-5)
    return becomes is not NotImplemented


# --- what is written in other terms: with PyTorch's own operators, of any version ---

@pytest.mark.parametrize("rank, op", [(1, aten.upsample_nearest1d.vec), (2, aten.upsample_nearest2d.vec), (3, aten.upsample_nearest3d.vec)])
def test_nearest_takes_pytorchs_pixels(rank, op):
    for n, factor in itertools.product((5, 9, 14, 29), (0.3, 0.43, 0.7, 1.3, 1.7, 2.0, 2.3, 3.0, 3.3)):
        assert same(op, torch.arange(float(n)).reshape(1, 1, *[1] * (rank - 1), n), None, [1.0] * (rank - 1) + [factor])
    for n, size in itertools.product((14, 29, 47, 61), (2, 9, 23, 41, 50, 100)):
        assert same(op, torch.arange(float(n)).reshape(1, 1, *[1] * (rank - 1), n), [1] * (rank - 1) + [size], None)


def test_averages_with_a_divisor():
    x = torch.randn(2, 3, 9, 10)
    for kernel, stride, padding, count, divisor in itertools.product(([2], [3, 2]), ([], [2, 1]), ([0], [1, 1]), (True, False), (None, 1, 3)):
        assert same(aten.avg_pool2d.default, x, kernel, stride, padding, False, count, divisor) == (divisor is not None)
    assert same(aten.avg_pool3d.default, torch.randn(1, 2, 4, 5, 6), [2, 3, 2], [], [0], False, True, 5)
    with pytest.raises(lowering.Inexpressible, match="ceil_mode"):
        same(aten.avg_pool2d.default, x, [3], [2], [0], True, True, 5)


def test_means_that_scatter():
    x, source, index = torch.randn(3, 5), torch.randn(3, 4), torch.tensor([[0, 0, 2, 4], [1, 1, 1, 1], [3, 0, 3, 3]])
    for include in (True, False):
        assert same(aten.scatter_reduce.two, x, -1, index, source, "mean", include_self=include)
    assert not same(aten.scatter_reduce.two, x, 1, index, source, "amax")
    with pytest.raises(lowering.Inexpressible, match="integers"):
        same(aten.scatter_reduce.two, x.long(), 1, index, source.long(), "mean")


def test_small_ones():
    x, whole = torch.randn(3, 5), torch.tensor([[1, 2, 4], [-1, 3, 5]])
    assert same(aten.mean.dim, whole, [1], True, dtype=torch.float32) and not same(aten.mean.dim, x, [0])
    assert same(aten.mean.default, whole, dtype=torch.float64)
    assert same(aten.argmin.default, x, None, True) and not same(aten.argmax.default, x, 1, True)
    assert same(aten.elu.default, x, 0.7, 1.3, 0.9) and not same(aten.elu.default, x, 0.7)


def test_linear_and_cubic_by_factors():
    x = torch.randn(1, 2, 9, 13)
    for op, corners, factors in itertools.product((aten.upsample_bilinear2d.vec, aten.upsample_bicubic2d.vec), (False, True), ([1.7, 0.6], [2.0, 1.3], [2.0, 3.0])):
        same(op, x, None, corners, factors)
    same(aten.upsample_linear1d.vec, x[0], None, False, [0.43])
    same(aten.upsample_linear1d.vec, x[0], [7], True, None)
    for arguments, says in (((x, None, False, [1.05, 2.0]), "own kernels disagree"),
                            ((torch.randn(1, 1, 100, 100), None, False, [0.29, 0.29]), "100 pixels become 29, not 28"),
                            ((torch.ones(1, 1, 4, 4, dtype=torch.uint8), [5, 5], False, None), "rounds")):
        with pytest.raises(lowering.Inexpressible, match=says):
            lowering.TABLE[aten.upsample_bilinear2d.vec](*arguments)
    with pytest.raises(lowering.Inexpressible, match="align_corners"):
        lowering.TABLE[aten._upsample_bilinear2d_aa.vec](x, [4, 4], True, None)


# --- arguments that are left out ---

def test_arguments_that_nothing_reads_are_found():
    def reads_all_but_one(self, kernel_size, stride=(), padding=(0, 0), ceil_mode=False, count_include_pad=True, divisor_override=None):
        """divisor_override"""
        return self, kernel_size, stride, padding, ceil_mode, count_include_pad

    def lacks_two(input, kernel_size, stride, padding, ceil_mode):
        return input, kernel_size, stride, padding, ceil_mode

    schema = aten.avg_pool2d.default._schema
    assert lowering._left_out(schema, reads_all_but_one) == {"divisor_override"}
    assert lowering._left_out(schema, lacks_two) == {"count_include_pad", "divisor_override"}
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    node = graph.call_function(aten.avg_pool2d.default, (x, [2], [], [1]), {"divisor_override": 3})
    assert dict(lowering._given(node, schema)) == {"padding": [1], "divisor_override": 3}


def test_a_model_that_computes_something_else_is_refused():
    module = Of(lambda x: x * 2 if torch.onnx.is_in_onnx_export() or torch.jit.is_tracing() else x)
    if hasattr(torch, "compiler"):
        module = Of(lambda x: x * 2 if torch.compiler.is_exporting() else x)
    with pytest.raises(rynd.UnsupportedError, match="other results"):
        rynd.from_torch(module, torch.rand(3, 4))


# --- as users meet it ---

CASES = {
    "divisor_override": (lambda x: F.avg_pool2d(x, 2, divisor_override=3), None),
    "divisor_override, ceil_mode": (lambda x: F.avg_pool2d(x, 3, 2, ceil_mode=True, divisor_override=3), "ceil_mode"),
    "scatter_reduce mean": (lambda x: torch.zeros(2, 4, 10, 12).scatter_reduce(3, torch.arange(960).reshape(2, 4, 10, 12) % 7, x, "mean", include_self=False), None),
    "antialias, factor": (lambda x: F.interpolate(x, scale_factor=0.43, mode="bilinear", antialias=True), None),
    "cubic antialias, factor": (lambda x: F.interpolate(x, scale_factor=0.43, mode="bicubic", antialias=True), None),
    "antialias, align_corners": (lambda x: F.interpolate(x, size=(5, 7), mode="bilinear", antialias=True, align_corners=True), "align_corners"),
    "align_corners, factor": (lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear", align_corners=True), None),
    "nearest, factor": (lambda x: F.interpolate(x, scale_factor=1.7, mode="nearest"), None),
    "nearest, factor 0.3": (lambda x: F.interpolate(x, scale_factor=0.3, mode="nearest"), None),
    "linear, a size that stays": (lambda x: F.interpolate(x, scale_factor=1.05, mode="bilinear"), "own kernels disagree"),
    "nearest, a size that stays": (lambda x: F.interpolate(x, scale_factor=1.05, mode="nearest"), "own kernels disagree"),
    "antialias, a size that stays": (lambda x: F.interpolate(x, scale_factor=(1.05, 1.7), mode="bilinear", antialias=True), None),
    "mean of integers": (lambda x: (x * 9).long().mean(1, dtype=torch.float32), None),
    "argmin, keepdim": (lambda x: x.argmin(keepdim=True), None),
    "label_smoothing": (lambda x: F.cross_entropy(x, x.argmax(1), label_smoothing=0.2), "label_smoothing"),
}


@can_compile
@pytest.mark.parametrize("name", CASES)
def test_compiled(name):
    import rynd.torch_backend as backend
    function, says = CASES[name]
    x = torch.randn(2, 4, 10, 12)
    torch._dynamo.reset()
    compiled = torch.compile(function, backend=backend.compile_graph)
    with torch.inference_mode(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.testing.assert_close(compiled(x), function(x), rtol=1e-4, atol=1e-5)
    said = [str(warning.message) for warning in caught if issubclass(warning.category, backend.StaysWithPyTorch)]
    assert not said if says is None else len(said) == 1 and says in said[0], said


@can_compile
@pytest.mark.parametrize("name", CASES)
def test_from_torch(name):
    function, says = CASES[name]
    x = torch.randn(2, 4, 10, 12)
    if says:
        with pytest.raises(rynd.UnsupportedError, match=says):
            rynd.from_torch(Of(function), x)
    else:
        torch.testing.assert_close(torch.from_dlpack(rynd.from_torch(Of(function), x)(x)), function(x), rtol=1e-4, atol=1e-5)


class OfOne(Of):
    def forward(self, x):
        return self.function(x)


@can_compile
def test_open_sizes():
    for function in (lambda x: F.interpolate(x, scale_factor=1.7, mode="nearest"), lambda x: F.interpolate(x, size=(23, 31), mode="nearest")):
        model = rynd.from_torch(OfOne(function), torch.randn(1, 2, 10, 12), dims={3: "width"})
        for width in (12, 17, 29, 47):
            x = torch.randn(1, 2, 10, width)
            assert torch.equal(torch.from_dlpack(model(x)), function(x)), width
    with pytest.raises(rynd.UnsupportedError, match="stays open"):
        rynd.from_torch(OfOne(lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear")), torch.randn(1, 2, 10, 12), dims={3: "width"})


@can_compile
def test_what_the_exporter_does_otherwise_is_compared(monkeypatch):
    """Without the table and the search for arguments the results themselves tell."""
    import rynd.torch_backend as backend
    monkeypatch.setattr(lowering, "TABLE", {})
    monkeypatch.setattr(lowering, "check_operators", lambda program: None)
    x, function = torch.randn(2, 4, 10, 12), CASES["divisor_override"][0]
    torch._dynamo.reset()
    with torch.inference_mode(), pytest.warns(backend.StaysWithPyTorch, match="other results"):
        torch.testing.assert_close(torch.compile(function, backend=backend.compile_graph)(x), function(x))
