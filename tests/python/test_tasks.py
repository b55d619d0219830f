# SPDX-License-Identifier: Apache-2.0
"""rynd.tasks gives what `rynd run --task` gives."""

import json
import os
import pathlib
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

import rynd

ROOT = pathlib.Path(__file__).resolve().parents[2]
RYND = os.environ.get("RYND_BIN") or os.environ.get("RYND") or str(ROOT / "build/release/bin/rynd")


def save(path, nodes, x, y, constants):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)], [helper.make_tensor_value_info("y", TensorProto.FLOAT, y)],
                              [numpy_helper.from_array(v, n) for n, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), str(path))
    return path


@pytest.fixture
def photo(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 255, (5, 8, 3), "uint8").repeat(10, 0).repeat(10, 1)
    Image.fromarray(pixels).save(tmp_path / "p.png")
    return tmp_path / "p.png"


def command(model, photo, task, *options):
    text = subprocess.run([RYND, "run", model, "-i", photo, "--task", task, "--json", *options], capture_output=True, text=True, check=True,
                          env={**os.environ, "RYND_WISDOM": "off"}).stdout
    return json.loads(text)["results"][0]


def test_detect_and_draw(photo, tmp_path):
    raw = np.random.default_rng(1).uniform(0, 1, (1, 84, 189)).astype("float32")
    raw[:, :4] *= 80
    nodes = [helper.make_node("ReduceMean", ["x"], ["m"], axes=[0, 1, 2, 3], keepdims=0), helper.make_node("Mul", ["m", "zero"], ["z"]), helper.make_node("Add", ["raw", "z"], ["y"])]
    path = save(tmp_path / "m.onnx", nodes, [1, 3, 96, 96], [1, 84, 189], {"raw": raw, "zero": np.float32(0)})
    assert rynd.tasks.head(path).name == "yolov8" and rynd.tasks.head(path).labels == "coco"
    boxes = rynd.tasks.detect(path, photo, score=0.97)
    expected = command(path, photo, "detect", "--score", "0.97", "-o", tmp_path / "o.png")["boxes"]
    assert len(boxes) == len(expected) > 0
    for box, other in zip(boxes, expected):
        assert box.name == other["name"] and box.name in rynd.tasks.labels("coco")
        np.testing.assert_allclose(box[:5], [other[k] for k in ("left", "top", "right", "bottom", "score")], atol=1e-3)
    np.testing.assert_array_equal(rynd.tasks.draw(photo, boxes), np.asarray(Image.open(tmp_path / "o.png")))
    with pytest.raises(rynd.UnsupportedError, match="yolox"):
        rynd.tasks.detect(path, photo, head="yolox")
    with pytest.raises(rynd.ArgumentError, match="yolo99"):
        rynd.tasks.detect(path, photo, head="yolo99")
    with pytest.raises(rynd.ArgumentError, match="fit"):
        rynd.tasks.detect(path, photo, fit="squash")
    names = [head.name for head in rynd.tasks.heads()]
    text = (ROOT / "docs/tasks.md").read_text()
    assert len(set(names)) == len(names) and all(f"| `{name}` |" in text for name in names)


def test_segment_and_classify(photo, tmp_path):
    w = np.random.default_rng(2).standard_normal((4, 3, 1, 1)).astype("float32")
    path = save(tmp_path / "m.onnx", [helper.make_node("Conv", ["x", "w"], ["y"])], [1, 3, "h", "w"], [1, 4, "h", "w"], {"w": w})
    classes = rynd.tasks.segment(path, photo)
    command(path, photo, "segment", "-o", tmp_path / "map.npy")
    np.testing.assert_array_equal(classes, np.load(tmp_path / "map.npy"))
    command(path, photo, "segment", "-o", tmp_path / "o.png")
    np.testing.assert_array_equal(rynd.tasks.draw(photo, classes), np.asarray(Image.open(tmp_path / "o.png")))
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("GlobalAveragePool", ["c"], ["y"])]
    path = save(tmp_path / "c.onnx", nodes, [1, 3, 32, 32], [1, 4, 1, 1], {"w": w})
    for options, named in [([], {}), (["--scale", "1/255"], {"scale": 1 / 255}), (["--mean", "100", "--channels", "bgr"], {"mean": 100, "bgr": True})]:
        found = rynd.tasks.classify(rynd.load(path), np.asarray(Image.open(photo)), top=3, labels=list("abcd"), **named)
        expected = command(path, photo, "classify", "--top", "3", *options)["classes"]
        assert [c.label for c in found] == [c["label"] for c in expected] and found[0].name == "abcd"[found[0].label]
        np.testing.assert_allclose([c.score for c in found], [c["score"] for c in expected], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("pictures", ["--size 48 --crop 32 --channels bgr --scale 1 --mean 104,117,123 --std 2", "--size 20x30 --channels rgb --scale 0.01 --mean 0 --std 1"])
def test_metadata(pictures, photo, tmp_path):
    """Names and preparation that `rynd train` stores are found."""
    w = np.random.default_rng(2).standard_normal((4, 3, 1, 1)).astype("float32") / 100
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("GlobalAveragePool", ["c"], ["y"])]
    path = save(tmp_path / "c.onnx", nodes, [1, 3, "h", "w"], [1, 4, 1, 1], {"w": w})
    model = onnx.load(path)
    helper.set_model_props(model, {"names": "{0: 'a', 1: 'it\\'s', 3: 'd'}", "rynd.pictures": pictures})
    onnx.save(model, path)
    found, expected = rynd.tasks.classify(path, photo), command(path, photo, "classify")["classes"]
    assert [c.name for c in found] == [c["name"] for c in expected] and {c.name for c in found} == {"a", "it's", None, "d"}
    np.testing.assert_allclose([c.score for c in found], [c["score"] for c in expected], rtol=1e-4, atol=1e-6)
    own = rynd.tasks.classify(path, photo, labels=list("wxyz"), scale=0.5, bgr=False)
    expected = command(path, photo, "classify", "--scale", "0.5", "--channels", "rgb")["classes"]
    np.testing.assert_allclose([c.score for c in own], [c["score"] for c in expected], rtol=1e-4, atol=1e-6)
    assert {c.name for c in own} == set("wxyz")


def test_caffe(photo, tmp_path):
    """Networks of Caffe take blue first, 0 to 255 without a mean; label files may number their lines."""
    w = np.random.default_rng(2).standard_normal((4, 3, 1, 1)).astype("float32") / 100
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("GlobalAveragePool", ["c"], ["y"])]
    path = save(tmp_path / "c.onnx", nodes, [1, 3, 32, 32], [1, 4, 1, 1], {"w": w})
    model = onnx.load(path)
    model.producer_name = "onnx-caffe2"
    onnx.save(model, path)
    expected = command(path, photo, "classify", "--scale", "1", "--mean", "104,117,123", "--channels", "bgr")["classes"]
    plain = ["tench, Tinca tinca", "goldfish", "12 monkeys", "n"]
    for lines in (plain, [f"{i},{name}" for i, name in enumerate(plain)], [f"n0144076{i} {name}" for i, name in enumerate(plain)], [f"{i}: n0144076{i} {name}" for i, name in enumerate(plain)]):
        (tmp_path / "labels.txt").write_text("\n".join(lines) + "\n")
        answers = command(path, photo, "classify", "--labels", tmp_path / "labels.txt")["classes"]
        found = rynd.tasks.classify(path, photo, labels=tmp_path / "labels.txt")
        assert [c["name"] for c in answers] == [c.name for c in found] == [plain[c["label"]] for c in expected]
        np.testing.assert_allclose([c.score for c in found], [c["score"] for c in expected], rtol=1e-4, atol=1e-6)
        assert [c["score"] for c in answers] == [c["score"] for c in expected]
