# SPDX-License-Identifier: Apache-2.0
"""rynd train: what --freeze, --train-only and --train-last leave as it is, by names of weights and nodes, and by place."""

import numpy as np
import pytest
from conftest import save
from onnx import helper, load, numpy_helper

SIDE, CLASSES = 6, 3
NAMES = {"own": ["conv1.weight", "bn1.weight", "bn1.bias", "layer1.weight", "layer2.weight", "fc.weight", "fc.bias"],
         "exported": ["onnx::Conv_1", "bn1.weight", "bn1.bias", "onnx::Conv_2", "onnx::Conv_3", "fc.weight", "fc.bias"]}


def network(path, names):
    """A classifier by the names that PyTorch's exporter gives: its own, or those of weights that it has folded; nodes have the same in both."""
    random = np.random.default_rng(0)
    first, scale, bias, second, third, fc, fc_bias = NAMES[names]
    weights = {first: random.standard_normal((4, 2, 3, 3)), scale: np.ones(4), bias: np.zeros(4), second: random.standard_normal((4, 4, 3, 3)) * 0.2,
               third: random.standard_normal((4, 4, 1, 1)), fc: random.standard_normal((CLASSES, 4)), fc_bias: np.zeros(CLASSES), "mean": np.zeros(4), "variance": np.ones(4)}
    nodes = [helper.make_node("Conv", ["x", first], ["a"], name="/conv1/Conv", pads=[1] * 4),
             helper.make_node("BatchNormalization", ["a", scale, bias, "mean", "variance"], ["n"], name="/bn1/BatchNormalization"),
             helper.make_node("Relu", ["n"], ["b"]), helper.make_node("Conv", ["b", second], ["c"], name="/layer1/conv/Conv", pads=[1] * 4),
             helper.make_node("Relu", ["c"], ["d"]), helper.make_node("Conv", ["d", third], ["e"], name="/layer2/conv/Conv"),
             helper.make_node("GlobalAveragePool", ["e"], ["g"]), helper.make_node("Flatten", ["g"], ["f"]),
             helper.make_node("Gemm", ["f", fc, fc_bias], ["y"], name="/fc/Gemm", transB=1)]
    return save(path, nodes, [("x", "float32", ["N", 2, SIDE, SIDE])], [("y", "float32", ["N", CLASSES])], {name: value.astype("float32") for name, value in weights.items()})


@pytest.fixture
def trained(ran, tmp_path):
    """The weights that a training changes, by their places in NAMES (7: the running statistics)."""
    random = np.random.default_rng(1)
    np.savez(tmp_path / "data.npz", x=random.standard_normal((16, 2, SIDE, SIDE), "float32"), y=random.integers(0, CLASSES, 16))

    def call(names, *options):
        net = network(tmp_path / "net.onnx", names)
        ran("train", net, "--data", tmp_path / "data.npz", "--batch", 8, "--lr", "0.1", "-o", tmp_path / "out.onnx", *options)
        before, after = ({tensor.name: numpy_helper.to_array(tensor) for tensor in load(path).graph.initializer} for path in (net, tmp_path / "out.onnx"))
        order = [*NAMES[names], "mean"]
        return [i for i, name in enumerate(order) if not np.array_equal(before[name], after[name])]

    return call


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("options, expected", [
    ([], [0, 1, 2, 3, 4, 5, 6, 7]),
    (["--train-last", "1"], [5, 6]),
    (["--train-last", "2"], [4, 5, 6]),
    (["--train-last", "4"], [0, 1, 2, 3, 4, 5, 6, 7]),
    (["--train-only", "fc.*"], [5, 6]),
    (["--train-only", "fc.*", "--train-only", "layer2*"], [4, 5, 6]),
    (["--train-only", "/layer1/*", "--train-last", "1"], [3, 5, 6]),
    (["--train-last", "2", "--freeze", "fc.bias"], [4, 5]),
    (["--freeze", "layer*"], [0, 1, 2, 5, 6, 7]),
    (["--freeze", "conv1*", "--freeze", "bn1*", "--freeze", "layer*"], [5, 6]),
    (["--freeze", "bn1*"], [0, 3, 4, 5, 6]),
])
def test_what_is_trained(trained, names, options, expected):
    assert trained(names, *options) == expected


def test_mistakes(rynd, trained, tmp_path):
    trained("exported")
    train = ["train", tmp_path / "net.onnx", "--data", tmp_path / "data.npz", "--batch", 8, "-o", tmp_path / "no.onnx"]
    for option in ("--freeze", "--train-only"):
        rynd(*train, option, "nothing*").failed("net.onnx", "'nothing*' matches no parameter", "'onnx::Conv_1'", "'fc.bias'")
    rynd(*train, "--train-last", 5).failed("last 5 layers", "has 4")
    rynd(*train, "--train-last", 0).failed("--train-last", code=2)
    rynd(*train, "--freeze", "*").failed("nothing to train", "not frozen")
    rynd(*train, "--train-only", "bn1*", "--freeze", "bn1*").failed("nothing to train")
    assert not (tmp_path / "no.onnx").exists()
