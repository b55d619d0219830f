# SPDX-License-Identifier: Apache-2.0
"""Small files that state something wrong, or that ask for more than the machine has."""

import resource

import numpy as np
import pytest
from conftest import load, needs_limited_memory, save
from onnx import helper


def declared(tmp_path, shape, inner=None):
    """y = -(-x) of [2,3], declared with another shape."""
    nodes = [helper.make_node("Neg", ["x"], ["m"]), helper.make_node("Neg", ["m"], ["y"])]
    path = save(tmp_path / "declared.onnx", nodes, [("x", "float32", [2, 3])], [("y", "float32", shape)])
    if inner:
        import onnx

        model = onnx.load(str(path))
        model.graph.value_info.append(helper.make_tensor_value_info("m", onnx.TensorProto.FLOAT, inner))
        onnx.save(model, str(path))
    return path


@pytest.mark.parametrize("shape", [[2, 4], [6], [2, 3, 1], [1, 3]])
def test_wrong_shape_of_an_output_is_a_warning(rynd, tmp_path, shape):
    path = declared(tmp_path, shape)
    np.save(tmp_path / "x.npy", np.arange(6, dtype="float32").reshape(2, 3))
    words = f"{path}: output 'y' is declared with shape {'x'.join(map(str, shape))}, but has 2x3, which holds"
    for command in (["inspect", path], ["plan", path], ["run", path, "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy"]):
        result = rynd(*command)
        assert result.code == 0, result.err
        assert result.err == f"rynd: {words}\n"
    assert np.array_equal(load(tmp_path / "y.npy"), load(tmp_path / "x.npy"))
    assert rynd("inspect", path, "-q").err == ""


def test_wrong_shape_of_a_value_inside_is_a_warning(rynd, tmp_path):
    result = rynd("plan", declared(tmp_path, [2, 3], inner=[7, 7]))
    assert result.code == 0
    assert "value 'm' is declared with shape 7x7, but has 2x3, which holds" in result.err


def test_right_or_open_shapes_are_none(rynd, tmp_path):
    for shape in ([2, 3], ["N", 3], None):
        assert rynd("plan", declared(tmp_path, shape, inner=["A", "B"])).err == ""


def limited():
    """4 GiB of addresses, as a machine with little memory has them."""
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))


@needs_limited_memory
def test_more_than_the_machine_has(rynd, tmp_path):
    shape = {"shape": np.array([1 << 31], "int64")}
    node = helper.make_node("ConstantOfShape", ["shape"], ["y"], name="ones")
    path = save(tmp_path / "large.onnx", [node], [], [("y", "float32", None)], shape)
    rynd("run", path, "-o", tmp_path / "y.npy", preexec_fn=limited).failed(path, "output 'y'", f"{8 << 30} bytes")
    nodes = [
        helper.make_node("ConstantOfShape", ["shape"], ["m"], name="ones"),
        helper.make_node("Softmax", ["m"], ["s"], name="shares"),
        helper.make_node("ReduceSum", ["s"], ["y"], name="sum", keepdims=0),
    ]
    path = save(tmp_path / "inner.onnx", nodes, [], [("y", "float32", [])], shape)
    rynd("run", path, "-o", tmp_path / "y.npy", preexec_fn=limited).failed(path, "node 'ones' (ConstantOfShape)", "bytes")


@needs_limited_memory
def test_constants_that_unfold(rynd, ran, tmp_path):
    nodes = [helper.make_node("Concat", [f"c{i}", f"c{i}"], [f"c{i + 1}"], name=f"twice{i}", axis=0) for i in range(60)]
    path = save(tmp_path / "unfold.onnx", nodes, [], [("c60", "float32", None)], {"c0": np.ones(1, "float32")})
    for command in ("inspect", "plan"):
        ran(command, path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)))
    rynd("run", path, "-o", tmp_path / "y.npy", preexec_fn=limited).failed(path, "node 'twice58' (Concat)", "bytes")


def test_values_that_no_address_reaches(rynd, tmp_path):
    """Each fits into 63 bits, all together do not fit into 64."""
    nodes = [helper.make_node("ConstantOfShape", ["shape"], [f"a{i}"], name=f"fill{i}") for i in range(8)]
    nodes.append(helper.make_node("Sum", [f"a{i}" for i in range(8)], ["s"], name="sum"))
    nodes.append(helper.make_node("ReduceMax", ["s"], ["y"], name="most", keepdims=0))
    path = save(tmp_path / "beyond.onnx", nodes, [], [("y", "float32", [])], {"shape": np.array([1 << 60], "int64")})
    rynd("plan", path).failed(path, "out of memory", "more bytes than there are addresses")


@needs_limited_memory
def test_picture_that_is_resized_beyond_memory(rynd, identity, tmp_path):
    from PIL import Image

    Image.fromarray(np.zeros((4, 4, 3), "uint8")).save(tmp_path / "p.png")
    model = identity([1, 3, "H", "W"])
    result = rynd("run", model, "-i", tmp_path / "p.png", "--size", "30000", "-o", tmp_path / "y.npy", preexec_fn=limited)
    result.failed("a picture of 4x4", "out of memory for", "bytes", "'resized' of 30000x30000")
