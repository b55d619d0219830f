# SPDX-License-Identifier: Apache-2.0
"""The package as the build made it, and small models."""

import pathlib
import sys

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))


def save(path, nodes, inputs, outputs, weights=(), opset=17):
    """Writes a model of these nodes; inputs and outputs are (name, element type, dims)."""
    graph = helper.make_graph(nodes, "graph", [helper.make_tensor_value_info(*value) for value in inputs],
                              [helper.make_tensor_value_info(*value) for value in outputs],
                              [numpy_helper.from_array(value, name) for name, value in weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    return str(path)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def conv_model(folder):
    """Two convolutions of a batch of any size: x [n, 3, 20, 24] -> y [n, 8, 10, 12]."""
    random = numpy.random.default_rng(1)
    weights = [("w", random.standard_normal((16, 3, 3, 3), dtype=numpy.float32)), ("b", random.standard_normal(16, dtype=numpy.float32)),
               ("v", random.standard_normal((8, 16, 1, 1), dtype=numpy.float32))]
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["a"], pads=[1, 1, 1, 1], strides=[2, 2], name="first"),
             helper.make_node("Relu", ["a"], ["r"]), helper.make_node("Conv", ["r", "v"], ["y"], name="second")]
    return save(folder / "conv.onnx", nodes, [("x", TensorProto.FLOAT, ["n", 3, 20, 24])], [("y", TensorProto.FLOAT, ["n", 8, 10, 12])],
                weights)


@pytest.fixture(scope="session")
def add_model(folder):
    """Two inputs and two outputs: sum and product."""
    nodes = [helper.make_node("Add", ["a", "b"], ["sum"]), helper.make_node("Mul", ["a", "b"], ["product"])]
    shape = ["n", 4]
    return save(folder / "add.onnx", nodes, [("a", TensorProto.FLOAT, shape), ("b", TensorProto.FLOAT, shape)],
                [("sum", TensorProto.FLOAT, shape), ("product", TensorProto.FLOAT, shape)])


@pytest.fixture(scope="session")
def nonzero_model(folder):
    """An output whose shape depends on data."""
    return save(folder / "nonzero.onnx", [helper.make_node("NonZero", ["x"], ["y"])], [("x", TensorProto.FLOAT, ["n"])],
                [("y", TensorProto.INT64, [1, "m"])])


@pytest.fixture(scope="session")
def bf16_model(folder):
    """y = -x of bfloat16."""
    return save(folder / "bf16.onnx", [helper.make_node("Neg", ["x"], ["y"])], [("x", TensorProto.BFLOAT16, ["n"])],
                [("y", TensorProto.BFLOAT16, ["n"])])
