# SPDX-License-Identifier: Apache-2.0
"""The examples do what their first lines say. RYND_EXAMPLES names the folder with their programs."""
import os
import pathlib
import subprocess

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

PROGRAMS = pathlib.Path(os.environ.get("RYND_EXAMPLES", pathlib.Path(__file__).resolve().parents[2] / "build/release/bin"))


def run(name, *arguments, code=0):
    done = subprocess.run([PROGRAMS / f"example_{name}", *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code == 0 else done.stderr


def save(path, nodes, output_shape, constants=(), input_shape=(1, 3, 32, 32)):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, input_shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, output_shape)], list(constants))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


@pytest.fixture
def colours(tmp_path):
    """A classifier of the brightest of red, green, blue, in this order of classes."""
    weights = numpy_helper.from_array(numpy.eye(3, dtype=numpy.float32).reshape(3, 3, 1, 1), "w")
    save(tmp_path / "colours.onnx",
         [helper.make_node("Conv", ["x", "w"], ["a"]), helper.make_node("GlobalAveragePool", ["a"], ["b"]), helper.make_node("Flatten", ["b"], ["y"])],
         (1, 3), [weights])
    (tmp_path / "labels.txt").write_text("red\ngreen\nblue\n")
    return tmp_path


@pytest.mark.parametrize("index,label,colour", [(0, "red", (250, 10, 10)), (1, "green", (10, 250, 10)), (2, "blue", (10, 10, 250))])
def test_classify(colours, index, label, colour):
    Image.new("RGB", (50, 40), colour).save(colours / "photo.png")
    assert run("classify", colours / "colours.onnx", colours / "photo.png", colours / "labels.txt") == f"{index} {label}\n"


def test_classify_says_what_is_wrong(colours):
    assert "missing.onnx" in run("classify", colours / "missing.onnx", colours / "photo.png", code=1)


def test_upscale(tmp_path):
    scales = numpy_helper.from_array(numpy.array([1, 1, 2, 2], numpy.float32), "scales")
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    save(tmp_path / "double.onnx", [node], (1, 3, "H2", "W2"), [scales], (1, 3, "H", "W"))
    small = numpy.random.default_rng(0).integers(0, 256, (11, 17, 3), numpy.uint8)
    Image.fromarray(small).save(tmp_path / "small.png")
    run("upscale", tmp_path / "double.onnx", tmp_path / "small.png", tmp_path / "large.png")
    large = numpy.asarray(Image.open(tmp_path / "large.png"))
    assert numpy.array_equal(large, small.repeat(2, axis=0).repeat(2, axis=1))


def test_convolve():
    lines = run("convolve").splitlines()
    assert lines[0].startswith("conv ") and " by " in lines[0]
    values = {part.split(":")[0].strip(): float(part.split(":")[1].replace(",", " ").split()[0]) for part in lines[-1].replace(", directly", "; directly").split(";")}
    assert values["mean at (1, 1)"] == pytest.approx(values["directly"], rel=1e-5)
    assert abs(values["largest difference of the layouts"]) <= 1e-6
