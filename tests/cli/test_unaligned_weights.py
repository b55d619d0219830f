# SPDX-License-Identifier: Apache-2.0
"""Weights that lie at odd addresses of a file are rewritten as others are: BatchNormalization and slices of pixels go into their convolutions."""

import numpy as np
import onnx
import pytest
from conftest import run_rynd
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

CHANNELS = 96  # large weights are read from the mapped file


def make(odd, focus):
    """The length of the name of a value before them moves all weights."""
    random = np.random.default_rng(8)
    weights = random.standard_normal((CHANNELS, 4 * CHANNELS if focus else CHANNELS, 3, 3)).astype(np.float32) / 30
    constants = [numpy_helper.from_array(weights, "w")]
    constants += [numpy_helper.from_array(random.uniform(1, 2, CHANNELS).astype(np.float32), name) for name in "abmv"]
    nodes, x = [], "x"
    if focus:
        constants += [numpy_helper.from_array(np.array(v, np.int64), n) for n, v in (("axes", [2, 3]), ("steps", [2, 2]), ("ends", [99, 99]))]
        for i, start in enumerate([(0, 0), (1, 0), (0, 1), (1, 1)]):
            constants.append(numpy_helper.from_array(np.array(start, np.int64), f"start{i}"))
            nodes.append(helper.make_node("Slice", ["x", f"start{i}", "ends", "axes", "steps"], [f"s{i}"]))
        nodes.append(helper.make_node("Concat", [f"s{i}" for i in range(4)], ["s"], axis=1))
        x = "s"
    nodes.append(helper.make_node("Conv", [x, "w"], ["c" * (1 + odd)], pads=[1] * 4))
    nodes.append(helper.make_node("BatchNormalization", ["c" * (1 + odd), *"abmv"], ["y"]))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", (1, CHANNELS, 8, 10)), ("y", None))]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)


@pytest.mark.parametrize("focus", [False, True], ids=["batch_norm", "slices"])
def test_every_address(ran, tmp_path, focus):
    addresses = set()
    for odd in range(4):
        model, path = make(odd, focus), tmp_path / f"net{odd}.onnx"
        onnx.save(model, path)
        addresses.add(path.read_bytes().index(model.graph.initializer[0].raw_data) % 4)
        (plan,) = run_rynd("plan", path, "--json").results
        assert [node["op"] for node in plan["nodes"]] == ["Conv"], odd
        x = np.random.default_rng(odd).standard_normal((1, CHANNELS, 8, 10)).astype(np.float32)
        np.save(tmp_path / "x.npy", x)
        ran("run", path, "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
        expected = ReferenceEvaluator(model).run(None, {"x": x})[0]
        np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())
    assert len(addresses) > 1
