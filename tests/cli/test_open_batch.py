# SPDX-License-Identifier: Apache-2.0
"""Models that leave their batch open: commands that are given no data take 1, and say so."""

import numpy as np
import pytest
from conftest import save
from onnx import helper

COMMANDS = {"plan": [], "predict": [], "profile": [], "bench": ["--rounds", "1", "--min-time", "0"], "tune": ["--budget", "0.01"]}


def network(path, x, y):
    w = np.random.default_rng(0).standard_normal((4, 3, 3, 3)).astype("float32")
    return save(path, [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 4)], [("x", "float32", x)], [("y", "float32", y)], {"w": w})


@pytest.mark.parametrize("command", COMMANDS)
def test_an_open_batch_is_one(rynd, tmp_path, command):
    net, options = network(tmp_path / "net.onnx", ["batch", 3, 8, 8], ["batch", 4, 8, 8]), COMMANDS[command]
    result = rynd(command, net, *options)
    assert result.code == 0 and "input 'x' leaves its first dimension open ('batch'): it is 1 here; --batch N" in result.err
    for given in (["--batch", "2"], ["--dim", "batch=2"], ["--batch", "1"]):
        result = rynd(command, net, *options, *given)
        assert (result.code, result.err) == (0, ""), given


@pytest.mark.parametrize("command", COMMANDS)
def test_the_batch_that_a_model_has(rynd, tmp_path, command):
    net, options = network(tmp_path / "net.onnx", [2, 3, 8, 8], [2, 4, 8, 8]), COMMANDS[command]
    assert rynd(command, net, *options, "--batch", 2).code == 0
    rynd(command, net, *options, "--batch", 1).failed("--batch 1", "leaves its first dimension open", code=2)


def test_other_open_dims_are_still_asked_for(rynd, tmp_path):
    net = network(tmp_path / "net.onnx", ["n", 3, "h", 8], ["n", 4, "h", 8])
    rynd("plan", net).failed("'h'", "--dim h=")
    assert rynd("plan", net, "--dim", "h=8").code == 0


def test_data_says_the_batch(rynd, tmp_path):
    net = network(tmp_path / "net.onnx", ["n", 3, 8, 8], ["n", 4, 8, 8])
    np.save(tmp_path / "x.npy", np.zeros((3, 3, 8, 8), "float32"))
    result = rynd("run", net, "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    assert (result.code, result.err) == (0, "") and np.load(tmp_path / "y.npy").shape == (3, 4, 8, 8)
