# SPDX-License-Identifier: Apache-2.0
"""Networks in bfloat16 and float16, by value, against PyTorch in float64.

rynd rounds to the type where a network's outputs are stored, and nowhere between its nodes (docs/operators.md). So an output differs from the
exact one by the rounding of the format, and by what the accuracy class may lose beside a direct sum in float32, which PyTorch computes."""
import pathlib
import sys

import ml_dtypes
import numpy
import pytest
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import rynd_ctypes as rynd  # noqa: E402  (found by the line above)

# For each type: ONNX's code, half a unit in the last place of 1, half the smallest number.
FORMATS = {ml_dtypes.bfloat16: (TensorProto.BFLOAT16, 2.0**-8, 2.0**-134), numpy.float16: (TensorProto.FLOAT16, 2.0**-11, 2.0**-25)}
# What a class may lose in a sum, as a multiple of a direct sum in float32 (docs/accuracy.md).
CLASSES = {"strict": 2, "near32": 32}
INPUT = (2, 5, 19, 17)
SHAPES = {"w1": (16, 5, 3, 3), "b1": (16,), "w2": (16, 1, 5, 5), "w3": (24, 16, 1, 1), "b3": (24,), "w4": (24, 24, 3, 3), "w5": (24, 7, 4, 4),
          "w6": (10, 7), "b6": (10,)}


def numbers(dtype):
    """Input and weights, numbers of the type themselves; by name."""
    rng = numpy.random.default_rng(7)
    arrays = {"x": rng.standard_normal(INPUT)}
    for name, shape in SHAPES.items():
        arrays[name] = rng.standard_normal(shape) / numpy.sqrt(numpy.prod(shape[1:]))
    return {name: array.astype(dtype) for name, array in arrays.items()}


def network(arrays, code):
    """An ONNX model: convolutions of several kinds, one transposed, a residual, pools, a product with a matrix; three of its values are outputs."""
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], pads=[2, 2, 2, 2], group=16),
        helper.make_node("Conv", ["c2", "w3", "b3"], ["c3"]),
        helper.make_node("MaxPool", ["c3"], ["p3"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["p3", "w4"], ["c4"], pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["c4", "p3"], ["s4"]),
        helper.make_node("ConvTranspose", ["s4", "w5"], ["c5"], strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("AveragePool", ["c5"], ["a5"], kernel_shape=[3, 3], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["a5"], ["g5"]),
        helper.make_node("Flatten", ["g5"], ["f5"]),
        helper.make_node("Gemm", ["f5", "w6", "b6"], ["y"], transB=1),
    ]
    outputs = [helper.make_tensor_value_info(name, code, None) for name in ("s4", "c5", "y")]
    weights = [helper.make_tensor(name, code, arrays[name].shape, arrays[name].tobytes(), raw=True) for name in SHAPES]
    graph = helper.make_graph(nodes, "narrow", [helper.make_tensor_value_info("x", code, INPUT)], outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10).SerializeToString()


def by_torch(arrays, dtype):
    """The outputs, computed in a wider type."""
    v = {name: torch.tensor(array.astype(dtype)) for name, array in arrays.items()}
    r1 = F.relu(F.conv2d(v["x"], v["w1"], v["b1"], padding=1))
    c3 = F.conv2d(F.conv2d(r1, v["w2"], padding=2, groups=16), v["w3"], v["b3"])
    p3 = F.max_pool2d(c3, 2)
    s4 = F.conv2d(p3, v["w4"], padding=1) + p3
    c5 = F.conv_transpose2d(s4, v["w5"], stride=2, padding=1)
    y = F.avg_pool2d(c5, 3, 2).mean((2, 3)) @ v["w6"].T + v["b6"]
    return [value.numpy().astype(numpy.float64) for value in (s4, c5, y)]


@pytest.mark.parametrize("isa", ["", "avx2", "generic"])
@pytest.mark.parametrize("accuracy", CLASSES)
@pytest.mark.parametrize("dtype", FORMATS, ids=lambda dtype: numpy.dtype(dtype).name)
def test_values(dtype, accuracy, isa):
    if rynd.lacks_isa(isa):
        pytest.skip(rynd.lacks_isa(isa))
    code, half_unit, half_least = FORMATS[dtype]
    arrays = numbers(dtype)
    outputs = rynd.run(rynd.Context(isa=isa), network(arrays, code), [arrays["x"]], accuracy=accuracy)
    assert len(outputs) == 3
    for output, expected, direct in zip(outputs, by_torch(arrays, numpy.float64), by_torch(arrays, numpy.float32)):
        assert output.dtype == dtype and output.shape == expected.shape
        allowed = numpy.maximum(half_unit * abs(expected), half_least) + CLASSES[accuracy] * abs(direct - expected).max()
        wrong = abs(output.astype(numpy.float64) - expected) > allowed
        assert not wrong.any(), f"{wrong.sum()} of {wrong.size}; {output[wrong][0]}, exactly {expected[wrong][0]}"
