# SPDX-License-Identifier: Apache-2.0
"""rynd train on models with Dropout: what is dropped, that it follows from seed and step alone, and that evaluation drops nothing."""

import json

import numpy as np
import pytest
from conftest import save
from onnx import helper

IN, OUT, BATCH = 40, 6, 8


def dropout(form, ratio):
    """Nodes and constants from x to d; `forms` are what exporters write."""
    if form == "opset 7":
        return [helper.make_node("Dropout", ["x"], ["d"], ratio=ratio)], {}, 7
    given = {"ratio": np.float32(ratio)}
    if form == "training":
        given["mode"] = np.bool_(True)
    return [helper.make_node("Dropout", ["x", *given], ["d"])], given, 13


def network(path, form="inference", ratio=0.5):
    nodes, arrays, opset = dropout(form, ratio)
    nodes += [helper.make_node("MatMul", ["d", "w"], ["y"])]
    arrays["w"] = np.random.default_rng(1).standard_normal((IN, OUT)).astype("float32")
    return save(path, nodes, [("x", "float32", [BATCH, IN])], [("y", "float32", [BATCH, OUT])], arrays, opset)


@pytest.fixture
def data(tmp_path):
    random = np.random.default_rng(3)
    np.savez(tmp_path / "data.npz", x=random.random((4 * BATCH, IN), "float32"), y=random.random((4 * BATCH, OUT), "float32"))
    return tmp_path / "data.npz"


@pytest.fixture
def losses(ran, data, tmp_path):
    def train(net, *options):
        log = tmp_path / "log.jsonl"
        ran("train", net, "--data", data, "--no-shuffle", "--lr", 0, "--log", log, *options)
        return [row["loss"] for row in map(json.loads, log.read_text().splitlines()) if row["row"] == "step"]

    return train


def expected(data, w, ratio, seed, step):
    """By Philox as rynd/random.h tells: key (seed, 0), counter (element / 4, 0, step, stream), all as numpy's own would not give it."""
    words = []
    for block in range(BATCH * IN // 4):
        c, key = [block, 0, step, 0x64726f70], [seed, 0]
        for _ in range(10):
            a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [(b >> 32) ^ c[1] ^ key[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ key[1], a & 0xFFFFFFFF]
            key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
        words += c
    keep = (np.array(words) >> 8) * 2.0**-24 >= np.float32(ratio)
    x, y = (np.load(data)[name][step * BATCH:(step + 1) * BATCH].astype("float64") for name in "xy")
    return (((np.where(keep.reshape(BATCH, IN), x / (1 - ratio), 0) @ w) - y)**2).mean()


@pytest.mark.parametrize("form", ["opset 7", "inference", "training"])
def test_what_is_dropped(losses, data, tmp_path, form):
    """Each form of dropout in a file gives the same result, with and without a training flag."""
    net, w = network(tmp_path / "net.onnx", form, 0.3), np.random.default_rng(1).standard_normal((IN, OUT)).astype("float32").astype("float64")
    for seed in (0, 5):
        got = losses(net, "--seed", seed)
        np.testing.assert_allclose(got, [expected(data, w, 0.3, seed, step) for step in range(4)], rtol=1e-5)


def test_off_and_evaluation(ran, losses, data, tmp_path):
    """Without dropping a step of no length has the loss of an evaluation, also where the file says that it trains."""
    for form in ("inference", "training"):
        net = network(tmp_path / "net.onnx", form)
        off = losses(net, "--dropout", "off")
        assert losses(net) != off and losses(net, "--dropout", "model") == losses(net)
        (result,) = ran("train", net, "--data", data, "--validate", data, "--lr", 0, "--json").results
        np.testing.assert_allclose(result["validation"]["loss"], np.mean(off), rtol=1e-6)


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_any_number_of_threads(losses, tmp_path, threads):
    net = network(tmp_path / "net.onnx")
    options = ["--lr", "0.1", "--epochs", 3, "-o", tmp_path / "out.onnx"]
    one = losses(net, *options, "--threads", 1), (tmp_path / "out.onnx").read_bytes()
    assert one == (losses(net, *options, "--threads", threads), (tmp_path / "out.onnx").read_bytes())


def test_going_on(losses, tmp_path):
    net = network(tmp_path / "net.onnx")
    options = ["--lr", "0.1", "--optimizer", "adam", "-o", tmp_path / "out.onnx"]
    whole = losses(net, *options, "--steps", 7), (tmp_path / "out.onnx").read_bytes()
    first = losses(net, *options, "--steps", 3)
    rest = losses(net, *options, "--steps", 7, "--resume", tmp_path / "out.checkpoint.npz")
    assert whole == (rest, (tmp_path / "out.onnx").read_bytes()) and first == rest[:3]


def test_going_on_with_other_dropout_is_refused(rynd, losses, data, tmp_path):
    net = network(tmp_path / "net.onnx")
    losses(net, "--steps", 1, "-o", tmp_path / "out.onnx")
    result = rynd("train", net, "--data", data, "--no-shuffle", "--lr", 0, "--resume", tmp_path / "out.checkpoint.npz", "--dropout", "off", "--steps", 2)
    assert result.code == 1 and "dropout=model" in result.err and "dropout=off" in result.err


@pytest.mark.parametrize("ratio", [1.0, -0.5, float("nan")])
def test_bad_ratios(rynd, losses, data, tmp_path, ratio):
    net = network(tmp_path / "net.onnx", ratio=ratio)
    result = rynd("train", net, "--data", data)
    assert result.code == 1 and "net.onnx" in result.err and "Dropout" in result.err and "from 0 to below 1" in result.err
    assert len(losses(net, "--dropout", "off")) == 4


def test_gradient_is_of_the_same_mask(ran, data, tmp_path):
    """After one step of SGD the weight has moved by the gradient of the masked product."""
    net = network(tmp_path / "net.onnx", ratio=0.5)
    ran("train", net, "--data", data, "--no-shuffle", "--steps", 1, "--momentum", 0, "--lr", 1, "-o", tmp_path / "out.onnx")
    from onnx import load, numpy_helper
    before, after = ({t.name: numpy_helper.to_array(t).astype("float64") for t in load(path).graph.initializer}["w"] for path in (net, tmp_path / "out.onnx"))
    for i, j in ((0, 0), (7, 3), (IN - 1, OUT - 1)):
        by = np.zeros_like(before)
        by[i, j] = 1e-4
        wanted = (expected(data, before + by, 0.5, 0, 0) - expected(data, before - by, 0.5, 0, 0)) / 2e-4
        np.testing.assert_allclose(before[i, j] - after[i, j], wanted, rtol=1e-4, atol=1e-6)
