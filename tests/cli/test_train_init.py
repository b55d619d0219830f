# SPDX-License-Identifier: Apache-2.0
"""rynd train --init: fresh weights have the deviation or bound that their fan-in gives, whoever reads them, and depend on seed and name alone."""

import math

import numpy as np
import onnx
import pytest
from conftest import save
from onnx import helper, numpy_helper

# name: shape, fan-in
WEIGHTS = {
    "conv": ((64, 3, 5, 5), 75),
    "grouped": ((128, 16, 3, 3), 144),
    "up": ((128, 32, 2, 2), 64),  # two groups of 64 channels, four taps at a stride of two: one tap meets an element
    "gemm": ((96, 64), 64),  # transB
    "matmul": ((96, 200), 96),
    "turned": ((40, 200), 200),  # transposed by a node
}
KEPT = {"slope": np.float32([[[0.1]]] * 64), "factor": np.full(200, 0.5, "float32"), "offset": np.full((1, 40), 0.5, "float32"),
        "frozen": np.full((40, 40), 0.25, "float32")}
VECTORS = {"conv.bias": 64, "scale": 128, "shift": 128, "mean": 128, "variance": 128, "gemm.bias": 96, "added": 200}


@pytest.fixture
def net(tmp_path):
    """Every kind of reader; what is not kept is 7 at first."""
    nodes = [
        helper.make_node("Conv", ["x", "conv", "conv.bias"], ["a"], pads=[2] * 4), helper.make_node("PRelu", ["a", "slope"], ["b"]),
        helper.make_node("Conv", ["b", "grouped"], ["c"], pads=[1] * 4, group=4), helper.make_node("BatchNormalization", ["c", "scale", "shift", "mean", "variance"], ["d"]),
        helper.make_node("ConvTranspose", ["d", "up"], ["e"], strides=[2, 2], group=2), helper.make_node("GlobalAveragePool", ["e"], ["f"]),
        helper.make_node("Flatten", ["f"], ["g"]), helper.make_node("Gemm", ["g", "gemm", "gemm.bias"], ["h"], transB=1),
        helper.make_node("MatMul", ["h", "matmul"], ["i"]), helper.make_node("Add", ["i", "added"], ["j"]),
        helper.make_node("Transpose", ["turned"], ["t"], perm=[1, 0]), helper.make_node("Mul", ["j", "factor"], ["k"]),
        helper.make_node("MatMul", ["k", "t"], ["l"]), helper.make_node("Add", ["l", "offset"], ["m"]), helper.make_node("MatMul", ["m", "frozen"], ["y"])]
    arrays = {name: np.full(shape, 7, "float32") for name, (shape, _) in WEIGHTS.items()} | KEPT
    arrays |= {name: np.full(count, 7, "float32") for name, count in VECTORS.items()}
    return save(tmp_path / "net.onnx", nodes, [("x", "float32", ["N", 3, 6, 6])], [("y", "float32", ["N", 40])], arrays)


@pytest.fixture
def data(tmp_path):
    random = np.random.default_rng(3)
    np.savez(tmp_path / "data.npz", x=random.random((4, 3, 6, 6), "float32"), y=random.random((4, 40), "float32"))
    return tmp_path / "data.npz"


@pytest.fixture
def weights(ran, net, data, tmp_path):
    """Weights after a step of no length."""

    def make(*options):
        ran("train", net, "--data", data, "--batch", 4, "--lr", 0, "--freeze", "frozen", *options, "-o", tmp_path / "out.onnx")
        return {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(tmp_path / "out.onnx").graph.initializer}

    return make


def check_vectors(found):
    """Running statistics have taken in a batch: a tenth of theirs."""
    for name, value in KEPT.items():
        np.testing.assert_array_equal(found[name], value)
    np.testing.assert_array_equal(found["scale"], np.ones(128, "float32"))
    np.testing.assert_array_equal(found["shift"], np.zeros(128, "float32"))
    np.testing.assert_array_equal(found["added"], np.zeros(200, "float32"))
    assert np.abs(found["mean"]).max() < 1 and (found["variance"] >= 0.9).all() and (found["variance"] < 5).all()


@pytest.mark.parametrize("name", WEIGHTS)
def test_he(weights, name):
    found = weights("--init", "he")
    array, fan = found[name].astype("float64"), WEIGHTS[name][1]
    deviation = math.sqrt(2 / fan)
    assert abs(array.std() / deviation - 1) < 4 / math.sqrt(2 * array.size)
    assert abs(array.mean()) < 4 * deviation / math.sqrt(array.size)
    assert 2.5 < np.abs(array).max() / deviation < 6.5
    for bias in ("conv.bias", "gemm.bias"):
        np.testing.assert_array_equal(found[bias], np.zeros_like(found[bias]))
    check_vectors(found)


@pytest.mark.parametrize("name", WEIGHTS)
def test_uniform(weights, name):
    found = weights("--init", "uniform")
    array, bound = found[name].astype("float64"), 1 / math.sqrt(WEIGHTS[name][1])
    assert 0.99 * bound < np.abs(array).max() <= bound * (1 + 1e-6)
    assert abs(array.std() / (bound / math.sqrt(3)) - 1) < 4 / math.sqrt(2 * array.size)
    for bias, weight in (("conv.bias", "conv"), ("gemm.bias", "gemm")):
        limit = 1 / math.sqrt(WEIGHTS[weight][1])
        assert 0.8 * limit < np.abs(found[bias]).max() <= limit * (1 + 1e-6)
    check_vectors(found)


def test_seed_and_name_decide(weights):
    one, same, other = weights("--init", "he", "--seed", 5), weights("--init", "he", "--seed", 5, "--threads", 3), weights("--init", "he", "--seed", 6)
    free = weights("--init", "he", "--seed", 5, "--freeze", "c*")
    for name in WEIGHTS:
        np.testing.assert_array_equal(one[name], same[name])
        assert (one[name] != other[name]).mean() > 0.99
        if name != "conv":
            np.testing.assert_array_equal(one[name], free[name])
    assert (free["conv"] == 7).all()
    assert (one["gemm"].ravel()[:1000] != one["matmul"].ravel()[:1000]).mean() > 0.99


def test_model_is_what_is_usual(weights):
    found, said = weights(), weights("--init", "model")
    assert all((found[name] == 7).all() and (said[name] == 7).all() for name in WEIGHTS)


def test_what_is_resumed_is_not_begun_again(ran, net, data, tmp_path):
    options = ["--data", data, "--batch", 4, "--lr", "0.001", "--freeze", "frozen", "--init", "he"]
    ran("train", net, *options, "--epochs", 4, "-o", tmp_path / "whole.onnx")
    ran("train", net, *options, "--epochs", 2, "-o", tmp_path / "half.onnx")
    ran("train", net, *options, "--epochs", 4, "--resume", tmp_path / "half.checkpoint.npz", "-o", tmp_path / "half.onnx")
    assert (tmp_path / "half.onnx").read_bytes() == (tmp_path / "whole.onnx").read_bytes()


def test_unknown_rule(rynd, net, data):
    rynd("train", net, "--data", data, "--init", "xavier").failed("init", "xavier", code=2)
