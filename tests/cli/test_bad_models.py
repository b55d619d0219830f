# SPDX-License-Identifier: Apache-2.0
"""Models that cannot be used: every command that takes one says why, naming file, node and value."""

import numpy as np
import onnx
import pytest
from conftest import save
from onnx import TensorProto, helper, numpy_helper

COMMANDS = ["run", "inspect", "bench", "plan"]


@pytest.mark.parametrize("command", COMMANDS)
def test_files_that_are_no_models(rynd, small_net, tmp_path, command):
    missing, folder, empty, text, truncated = (tmp_path / f"{name}.onnx" for name in ("missing", "folder", "empty", "text", "truncated"))
    folder.mkdir()
    empty.write_bytes(b"")
    text.write_text("This is not a model, but a text of several words.\n")
    truncated.write_bytes(small_net.read_bytes()[:-100])
    rynd(command, missing).failed(missing, "No such file")
    rynd(command, folder).failed(folder)
    rynd(command, empty).failed(empty)
    rynd(command, text).failed(text)
    rynd(command, truncated).failed(truncated)


@pytest.mark.parametrize("keep", [0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_truncated_anywhere(rynd, small_net, keep):
    data = small_net.read_bytes()
    small_net.write_bytes(data[: int(len(data) * keep)])
    rynd("inspect", small_net).failed(small_net)


def value(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def write(tmp_path, nodes, initializers=(), opset=13, x=(1, 3, 8, 8), domain=""):
    graph = helper.make_graph(nodes, "bad", [value("x", x)], [value("y", None)], list(initializers))
    path = tmp_path / "bad.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid(domain, opset)], ir_version=8).SerializeToString())
    return path


def conv(inputs=("x", "w"), **attributes):
    return helper.make_node("Conv", list(inputs), ["y"], name="the_conv", **attributes)


def weights(*shape):
    return numpy_helper.from_array(np.zeros(shape, "float32"), "w")


def test_cycle(rynd, tmp_path):
    nodes = [helper.make_node("Add", ["x", "b"], ["a"], name="first"), helper.make_node("Relu", ["a"], ["b"], name="second"), helper.make_node("Relu", ["b"], ["y"], name="third")]
    path = write(tmp_path, nodes)
    result = rynd("inspect", path).failed(path)
    assert "first" in result.err or "second" in result.err


def test_missing_initializer(rynd, tmp_path):
    path = write(tmp_path, [conv()])
    rynd("inspect", path).failed(path, "the_conv", "'w'")


def test_unknown_operator(rynd, tmp_path):
    path = write(tmp_path, [helper.make_node("Frobnicate", ["x"], ["y"], name="odd_one")])
    rynd("inspect", path).failed(path, "odd_one", "Frobnicate")


def test_operator_of_another_domain(rynd, tmp_path):
    node = helper.make_node("Relu", ["x"], ["y"], name="odd_one", domain="com.example")
    path = write(tmp_path, [node])
    rynd("inspect", path).failed(path, "odd_one", "com.example")


def test_opset_of_the_future(rynd, tmp_path):
    path = write(tmp_path, [helper.make_node("Relu", ["x"], ["y"], name="r")], opset=999)
    rynd("inspect", path).failed(path, "999")


def test_shapes_that_disagree(rynd, tmp_path):
    path = write(tmp_path, [conv()], [weights(4, 5, 3, 3)])
    rynd("plan", path).failed(path, "the_conv")


def test_initializer_whose_data_is_short(rynd, tmp_path):
    tensor = weights(4, 3, 3, 3)
    tensor.raw_data = tensor.raw_data[:40]
    path = write(tmp_path, [conv()], [tensor])
    rynd("inspect", path).failed(path, "w")


def test_initializer_whose_size_overflows(rynd, tmp_path):
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2**40, 2**40, 3, 3], raw_data=b"1234")
    path = write(tmp_path, [conv()], [tensor])
    rynd("inspect", path).failed(path, "w")


def test_negative_dimension(rynd, tmp_path):
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[-4, 3, 3, 3], raw_data=b"")
    path = write(tmp_path, [conv()], [tensor])
    rynd("inspect", path).failed(path, "w")


def external(tmp_path, location, **entries):
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4, 3, 3, 3], data_location=TensorProto.EXTERNAL)
    for key, text in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=str(text))
    return write(tmp_path, [conv()], [tensor])


def test_external_data(ran, rynd, tmp_path):
    (tmp_path / "w.bin").write_bytes(np.zeros(4 * 27, "float32").tobytes())
    ran("inspect", external(tmp_path, "w.bin"))
    (tmp_path / "w.bin").write_bytes(b"1234")
    path = external(tmp_path, "w.bin")
    rynd("inspect", path).failed(path, "w")


@pytest.mark.parametrize("location", ["../secret.bin", "/etc/passwd", "a/../../secret.bin", "none.bin"])
def test_external_data_may_not_leave_the_folder(rynd, tmp_path, location):
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "secret.bin").write_bytes(np.zeros(4 * 27, "float32").tobytes())
    path = external(inner, location)
    rynd("inspect", path).failed(path, location)


def test_open_dimension_that_nothing_binds(rynd, ran, small_net):
    assert "'batch'" in rynd("plan", small_net).err  # it is 1, with a note
    ran("plan", small_net, "--batch", "2")
    ran("plan", small_net, "--dim", "batch=2")


def test_dimension_that_the_model_does_not_have(rynd, small_net):
    rynd("plan", small_net, "--batch", "1", "--dim", "height=7").failed("height")


def test_batch_that_the_model_fixes(rynd, identity):
    model = identity([1, 3, 8, 8])
    for command in ("plan", "bench", "inspect"):
        rynd(command, model, "--batch", "3").failed("--batch 3", code=2)
