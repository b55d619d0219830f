# SPDX-License-Identifier: Apache-2.0
"""Operators in every type that ONNX allows, compared with float64 or exact results; no plan has a reference kernel."""
import numpy
import pytest
from onnx import helper

import rynd

torch = pytest.importorskip("torch")
functional = torch.nn.functional
FLOATS = ["float64", "float32", "float16"]
INTEGERS = ["int32", "int64", "uint32", "uint64"]
EPSILON = numpy.float32(1e-5).item()
# The largest difference, as a share of the largest result.
BOUNDS = {"float64": 4e-14, "float32": 2e-6, "float16": 1e-3}


def check(op, expected, arrays, outputs=1, opset=18, **attributes):
    names, results = [f"x{i}" for i in range(len(arrays))], [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, results, **attributes)
    inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape) for name, array in zip(names, arrays)]
    graph = helper.make_graph([node], "graph", inputs, [helper.make_empty_tensor_value_info(name) for name in results])
    model = rynd.Model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9).SerializeToString(), threads=2)
    got = model(*arrays)
    for y, wanted in zip(got if outputs > 1 else [got], expected if outputs > 1 else [expected]):
        y, wanted = numpy.asarray(y), numpy.asarray(wanted)
        assert y.shape == wanted.shape
        if arrays[0].dtype.kind == "f":
            bound = BOUNDS[str(arrays[0].dtype)] if y.dtype == arrays[0].dtype else 1e-6
            numpy.testing.assert_allclose(y.astype("float64"), wanted, rtol=0, atol=bound * max(1, numpy.abs(wanted).max(initial=0)))
        else:
            numpy.testing.assert_array_equal(y, wanted)
    kernels = [step.kernel for step in model.plan().steps]
    assert not [kernel for kernel in kernels if kernel.endswith("_ref")], kernels


def draw(dtype, *shapes):
    numbers = numpy.random.default_rng(5)
    if numpy.dtype(dtype).kind == "f":
        return [numbers.uniform(-1, 1, shape).astype(dtype) for shape in shapes]
    low = 0 if numpy.dtype(dtype).kind == "u" else -2**30
    return [numbers.integers(low, 2**31 - 1, shape).astype(dtype) for shape in shapes]  # sums wrap


def wide(arrays):
    return [torch.from_numpy(array.astype("float64")) for array in arrays]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("rank, attributes", [(1, {}), (2, {"stride": 2, "padding": 1}), (2, {"dilation": 2, "groups": 3}), (3, {"padding": 2, "stride": 2})])
def test_convolutions(dtype, rank, attributes):
    groups = attributes.get("groups", 1)
    onnx = {"strides": [attributes.get("stride", 1)] * rank, "pads": [attributes.get("padding", 0)] * 2 * rank,
            "dilations": [attributes.get("dilation", 1)] * rank, "group": groups}
    arrays = draw(dtype, (2, 6) + (9, 8, 7)[:rank], (9, 6 // groups) + (3,) * rank, (9,))
    check("Conv", getattr(functional, f"conv{rank}d")(*wide(arrays), **attributes), arrays, **onnx)
    arrays = draw(dtype, (2, 6) + (5, 4, 3)[:rank], (6, 9 // groups) + (3,) * rank, (9,))
    check("ConvTranspose", getattr(functional, f"conv_transpose{rank}d")(*wide(arrays), **attributes), arrays, **onnx)


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_products(dtype):
    for shapes in [((3, 5, 70), (3, 70, 9)), ((2, 1, 7, 4), (3, 4, 5)), ((13,), (2, 13, 4)), ((2, 6, 13), (13,)), ((3, 0), (0, 4))]:
        arrays = draw(dtype, *shapes)
        check("MatMul", numpy.matmul(*(wide(arrays) if numpy.dtype(dtype).kind == "f" else arrays)), arrays)
    arrays = draw(dtype, (7, 19), (5, 7), (5,))
    a, b, c = wide(arrays) if numpy.dtype(dtype).kind == "f" else arrays
    check("Gemm", a.T @ b.T + c, arrays, transA=1, transB=1)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_softmax(dtype, axis):
    arrays = draw(dtype, (3, 19, 5))
    x, = wide(arrays)
    check("Softmax", x.softmax(axis), arrays, axis=axis)
    check("LogSoftmax", x.log_softmax(axis), arrays, axis=axis)
    # Before opset 13 the dims from the axis on are one row.
    check("Softmax", x.flatten(axis).softmax(axis).reshape(x.shape), arrays, opset=11, axis=axis)


@pytest.mark.parametrize("dtype", FLOATS)
def test_hardmax(dtype):
    x = numpy.round(draw(dtype, (3, 19, 5))[0] * 4)  # with equal numbers: the first wins
    for axis in range(3):
        first = numpy.expand_dims(x.argmax(axis), axis)
        check("Hardmax", (numpy.arange(x.shape[axis]).reshape([-1 if d == axis else 1 for d in range(3)]) == first).astype(dtype), [x], axis=axis)
    rows = x.reshape(3, 95)
    check("Hardmax", (numpy.arange(95) == rows.argmax(1)[:, None]).reshape(x.shape).astype(dtype), [x], opset=11, axis=1)


@pytest.mark.parametrize("dtype", FLOATS)
def test_normalisations(dtype):
    arrays = draw(dtype, (2, 6, 5, 7), (6,), (6,))
    x, scale, bias = wide(arrays)
    check("InstanceNormalization", functional.instance_norm(x, weight=scale, bias=bias, eps=EPSILON), arrays)
    check("GroupNormalization", functional.group_norm(x, 3, scale, bias, EPSILON), arrays, opset=21, num_groups=3)
    statistics = draw(dtype, (2, 6, 5, 7), (6,), (6,), (6,), (6,))
    statistics[4] = numpy.abs(statistics[4]) + numpy.dtype(dtype).type(0.5)
    x, scale, bias, mean, variance = wide(statistics)
    check("BatchNormalization", functional.batch_norm(x, mean, variance, scale, bias, eps=EPSILON), statistics)
    for size in (1, 4, 5, 30):
        # torch's window begins size // 2 channels before, ONNX's (size - 1) // 2.
        squares = torch.nn.functional.pad((x * x).flatten(2), (0, 0, (size - 1) // 2, size // 2)).unfold(1, size, 1).sum(3).reshape(x.shape)
        check("LRN", x / (1.5 + numpy.float32(0.5).item() / size * squares) ** 0.75, statistics[:1], size=size, alpha=0.5, beta=0.75, bias=1.5)


@pytest.mark.parametrize("dtype", FLOATS)
def test_layer_normalisation(dtype):
    # A scale of the row's shape; a scale and bias that are broadcast within it.
    for scale, bias in [((5, 7), (5, 7)), ((7,), (5, 1)), ((1,), ())]:
        arrays = draw(dtype, (2, 3, 5, 7), scale, bias)
        x, w, b = wide(arrays)
        mean = x.mean((2, 3), keepdim=True)
        inverse = 1 / (((x - mean) ** 2).mean((2, 3), keepdim=True) + EPSILON).sqrt()
        check("LayerNormalization", [(x - mean) * inverse * w + b, mean, inverse], arrays, outputs=3, axis=2)
