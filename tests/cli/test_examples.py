# SPDX-License-Identifier: Apache-2.0
"""The programs in examples/ compile against this build's library and do what they say."""

import os
import pathlib
import subprocess

import numpy as np
import pytest
from conftest import ROOT, RYND, save
from detectors import constants, yolov8
from onnx import helper
from PIL import Image

LIBRARY = pathlib.Path(os.environ.get("RYND_LIBRARY") or pathlib.Path(RYND).parent.parent / "lib/librynd.so")
pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="sanitized builds have no shared library")


@pytest.fixture
def example(tmp_path):
    """Compiles an example, and gives a function that runs it."""

    def build(name):
        program = tmp_path / name
        command = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include", ROOT / f"examples/{name}.c", LIBRARY, "-lpng", "-lm", "-o", program]
        compiled = subprocess.run([*map(str, command)], capture_output=True, text=True)
        assert compiled.returncode == 0, compiled.stderr
        environment = {**os.environ, "LD_LIBRARY_PATH": str(LIBRARY.parent)}
        return lambda *args: subprocess.run([str(program), *map(str, args)], capture_output=True, text=True, env=environment)

    return build


def test_convolve(example):
    done = example("convolve")()
    assert done.returncode == 0, done.stdout + done.stderr
    first, second, last = done.stdout.splitlines()
    assert first.startswith("conv ") and second.startswith("conv ") and first != second
    assert last.startswith("mean at (1, 1): 8.33333, directly: 8.33333")


def test_classify(example, tmp_path):
    """A classifier of the mean colour: class 0 red, 1 green, 2 blue."""
    nodes = [helper.make_node("GlobalAveragePool", ["x"], ["m"], name="mean"), helper.make_node("Flatten", ["m"], ["y"], name="flat")]
    model = save(tmp_path / "colour.onnx", nodes, [("x", "float32", ["n", 3, 8, 8])], [("y", "float32", ["n", 3])])
    (tmp_path / "labels.txt").write_text("red\ngreen\nblue\n")
    run = example("classify")
    for index, label in enumerate(["red", "green", "blue"]):
        picture = np.zeros((20, 30, 3), "uint8")
        picture[..., index] = 200
        Image.fromarray(picture).save(tmp_path / "p.png")
        assert run(model, tmp_path / "p.png", tmp_path / "labels.txt").stdout == f"{index} {label}\n"
        assert run(model, tmp_path / "p.png").stdout == f"{index} \n"
    done = run(model, tmp_path / "none.png")
    assert done.returncode == 1 and done.stderr.startswith("classify: ")
    done = run(tmp_path / "none.onnx", tmp_path / "p.png")
    assert done.returncode == 1 and "none.onnx" in done.stderr


def test_upscale(example, tmp_path):
    """Three copies of four equal channels, shuffled: every pixel becomes 2x2."""
    weights = np.zeros((12, 3, 1, 1), "float32")
    for i in range(12):
        weights[i, i // 4] = 1
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="copy"),
        helper.make_node("DepthToSpace", ["c"], ["y"], name="shuffle", blocksize=2, mode="CRD"),
    ]
    ends = [("x", "float32", [1, 3, "h", "w_"])], [("y", "float32", [1, 3, "h2", "w2"])]
    model = save(tmp_path / "double.onnx", nodes, *ends, {"w": weights})
    picture = np.random.default_rng(5).integers(0, 256, (7, 9, 3)).astype("uint8")
    Image.fromarray(picture).save(tmp_path / "small.png")
    done = example("upscale")(model, tmp_path / "small.png", tmp_path / "large.png")
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "large.png")), picture.repeat(2, 0).repeat(2, 1))


def test_detect(example, ran, tmp_path):
    """The boxes and the drawing of rynd run --task detect."""
    raw = yolov8()[0]["output0"]
    model = constants(tmp_path / "m.onnx", {"output0": raw})
    Image.fromarray(np.random.default_rng(5).integers(0, 256, (40, 60, 3), "uint8")).save(tmp_path / "p.png")
    done = example("detect")(model, tmp_path / "p.png", tmp_path / "a.png")
    assert done.returncode == 0, done.stderr
    ran("run", model, "-i", tmp_path / "p.png", "--task", "detect", "--head", "yolov8", "-o", tmp_path / "b.png")
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "a.png")), np.asarray(Image.open(tmp_path / "b.png")))
    assert done.stdout.startswith("class ")
