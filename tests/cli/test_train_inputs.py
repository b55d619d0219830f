# SPDX-License-Identifier: Apache-2.0
"""rynd train on models of several inputs and outputs: arrays by the inputs' names, the output that the loss is of, and what is missing by its name."""

import json

import numpy as np
import pytest
from conftest import save
from onnx import helper


@pytest.fixture
def net(tmp_path):
    """y = left V + right W, of which `low` is the half, and `other` is of the right alone."""
    nodes = [helper.make_node("MatMul", ["left", "v"], ["a"]), helper.make_node("MatMul", ["right", "w"], ["other"]), helper.make_node("Add", ["a", "other"], ["sum"]),
             helper.make_node("Mul", ["sum", "half"], ["low"])]
    random = np.random.default_rng(1)
    arrays = {"v": random.random((3, 2), "float32"), "w": random.random((5, 2), "float32"), "half": np.float32(0.5)}
    ends = [("left", "float32", ["N", 3]), ("right", "float32", ["N", 5])]
    return save(tmp_path / "net.onnx", nodes, ends, [(name, "float32", ["N", 2]) for name in ("sum", "low", "other")], arrays)


@pytest.fixture
def arrays():
    random = np.random.default_rng(2)
    left, right = random.random((24, 3)), random.random((24, 5))  # float64: converted
    return {"left": left.astype("float32"), "right": right.astype("float32"), "y": (left[:, :2] - right[:, 2:4]).astype("float32")}


@pytest.fixture
def data(tmp_path, arrays):
    np.savez(tmp_path / "data.npz", **arrays, more=np.zeros(3))
    return tmp_path / "data.npz"


def losses(ran, net, data, tmp_path, *options):
    ran("train", net, "--data", data, "--batch", 8, "--no-shuffle", "--log", tmp_path / "log.jsonl", *options)
    return [row["loss"] for row in map(json.loads, (tmp_path / "log.jsonl").read_text().splitlines()) if row["row"] == "step"]


@pytest.mark.parametrize("output", [None, "sum", "low", "other"])
def test_losses(ran, net, data, arrays, tmp_path, output):
    """Those of numpy, of the rows in their order."""
    import onnx
    v, w = (onnx.numpy_helper.to_array(t).astype("float64") for t in onnx.load(net).graph.initializer[:2])
    of = {"sum": lambda a, b: a + b, "low": lambda a, b: (a + b) / 2, "other": lambda a, b: b}[output or "sum"]
    wanted = [((of(arrays["left"][i:i + 8] @ v, arrays["right"][i:i + 8] @ w) - arrays["y"][i:i + 8])**2).mean() for i in (0, 8, 16)]
    got = losses(ran, net, data, tmp_path, "--lr", 0, *(["--loss-of", output] if output else []))
    np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_it_learns_from_both(ran, net, data, tmp_path):
    got = losses(ran, net, data, tmp_path, "--validate", data, "--epochs", 60, "--lr", "0.1", "-o", tmp_path / "out.onnx")
    assert got[-1] < 1e-2 * got[0]
    out = ran("train", net, "--data", data, "--batch", 8, "--dry-run").out
    assert "[8, 3] [8, 5] -> [8, 2]" in out


def test_what_is_missing(rynd, net, arrays, tmp_path):
    del arrays["right"]
    np.savez(tmp_path / "data.npz", **arrays)
    result = rynd("train", net, "--data", tmp_path / "data.npz")
    assert result.code == 1 and "data.npz' has no array 'right'; it needs one array per input of the model (with the input's name) and y (targets)" in result.err


def test_rows_that_differ(rynd, net, arrays, tmp_path):
    arrays["right"] = arrays["right"][:20]
    np.savez(tmp_path / "data.npz", **arrays)
    result = rynd("train", net, "--data", tmp_path / "data.npz")
    assert result.code == 1 and "left has 24 rows, and right 20" in result.err


def test_pictures_are_one_input(rynd, net, tmp_path):
    from PIL import Image
    (tmp_path / "pictures" / "a").mkdir(parents=True)
    Image.new("RGB", (4, 4)).save(tmp_path / "pictures" / "a" / "1.png")
    result = rynd("train", net, "--data", tmp_path / "pictures")
    assert result.code == 1 and "has 2 inputs" in result.err and "give an .npz" in result.err


def test_no_such_output(rynd, net, data, tmp_path):
    result = rynd("train", net, "--data", data, "--loss-of", "high")
    assert result.code == 1 and "no output 'high' for --loss-of" in result.err


def test_going_on_with_another_output_is_refused(rynd, ran, net, data, tmp_path):
    losses(ran, net, data, tmp_path, "--steps", 1, "-o", tmp_path / "out.onnx")
    result = rynd("train", net, "--data", data, "--batch", 8, "--no-shuffle", "--resume", tmp_path / "out.checkpoint.npz", "--loss-of", "low")
    result.failed("output=sum, but this run has output=low", "--other-bits")
