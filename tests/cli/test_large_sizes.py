# SPDX-License-Identifier: Apache-2.0
"""Sizes that no machine has: planning and predicting take no time or memory in proportion to them, and a run says what it would need."""

import resource

import numpy as np
import pytest
from conftest import SANITIZED, needs_limited_memory, save
from onnx import helper


def bounded():
    """1 GiB of addresses, but for a sanitizer, which reserves more. The limit of seconds only ends a command that would not end by itself."""
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))


def resize(tmp_path, mode, size):
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], name="r", mode=mode)
    sizes = np.array([1, 2, 4, size], "int64")
    return save(tmp_path / "resize.onnx", [node], [("x", "float32", [1, 2, 4, 4])], [("y", "float32", None)], {"sizes": sizes})


def pad(tmp_path, mode, size):
    node = helper.make_node("Pad", ["x", "pads"], ["y"], name="p", mode=mode)
    pads = np.array([0, 1, 0, size], "int64")
    return save(tmp_path / "pad.onnx", [node], [("x", "float32", [3, 4])], [("y", "float32", None)], {"pads": pads})


def one(tmp_path, node, shape, weights=None):
    inputs = ["x", "w"] if weights is not None else ["x"]
    node = helper.make_node(node, inputs, ["y"], name="n")
    path = tmp_path / "one.onnx"
    return save(path, [node], [("x", "float32", shape)], [("y", "float32", None)], {"w": weights} if weights is not None else {})


CASES = {
    "linear": lambda t: resize(t, "linear", 1 << 40),
    "nearest": lambda t: resize(t, "nearest", (1 << 40) + 15),
    "cubic": lambda t: resize(t, "cubic", 100_000_007),
    "edge": lambda t: pad(t, "edge", 1 << 40),
    "wrap": lambda t: pad(t, "wrap", 1 << 40),
    "prime": lambda t: one(t, "Sqrt", [1099511627689, 4, 5]),
    "tall": lambda t: one(t, "Conv", [1, 1, (1 << 31) - 1, 3], np.ones([1, 1, 3, 3], "float32")),
    "deep": lambda t: one(t, "Conv", [1, 1 << 20, 3, 1 << 20], np.ones([1, 1 << 20, 1, 1], "float32")),
    "product": lambda t: one(t, "MatMul", [(1 << 40) + 15, 3], np.ones([3, 2], "float32")),
    "batch": lambda t: one(t, "Relu", [1 << 40, 3, 8, 8]),
}


@needs_limited_memory
@pytest.mark.parametrize("case", CASES)
def test_planning_takes_no_memory_for_sizes(rynd, tmp_path, case):
    path = CASES[case](tmp_path)
    for command in ("inspect", "plan", "predict"):
        result = rynd(command, path, preexec_fn=bounded)
        assert result.code == 0, result.err


@needs_limited_memory
@pytest.mark.parametrize("problem", [
    "matmul x0=2x1099511627776:f32 x1=1099511627776x3:f32 y0=2x3:f32",
    "softmax x0=1099511627689x3:f32 y0=1099511627689x3:f32 axis=1",
    "convt c=4 w=6 k=4 s=3 stride=2147483647",
    "conv c=4 h=9 w=9 k=8 r=3 s=3 pad=1 stride=2147483647",
])
def test_planning_a_problem_takes_no_memory_for_sizes(rynd, problem):
    for command in ("plan", "predict"):
        result = rynd(command, problem, preexec_fn=bounded)
        assert result.code == 0, result.err


@pytest.mark.parametrize("case, size", [("linear", 4 << 42), ("nearest", 4 * ((1 << 40) + 15))])
def test_a_run_says_what_it_needs(rynd, tmp_path, case, size):
    np.save(tmp_path / "x.npy", np.zeros([1, 2, 4, 4], "float32"))
    result = rynd("run", CASES[case](tmp_path), "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    result.failed("'r' (Resize)", "out of memory for", "bytes")
    assert not (tmp_path / "y.npy").exists()


@pytest.mark.parametrize("constant", [True, False])
def test_a_negative_size_of_a_grid(rynd, tmp_path, constant):
    """The size decides the output's shape: -1 is no size that is known later."""
    size, theta = np.array([-1, 3, 4, 5], "int64"), np.zeros([2, 2, 3], "float32")
    node = helper.make_node("AffineGrid", ["theta", "size"], ["grid"], name="g")
    inputs = [("theta", "float32", [2, 2, 3])] + ([] if constant else [("size", "int64", [4])])
    path = save(tmp_path / "grid.onnx", [node], inputs, [("grid", "float32", None)], {"size": size} if constant else {}, opset=20)
    np.save(tmp_path / "theta.npy", theta)
    np.save(tmp_path / "size.npy", size)
    files = ["-i", f"theta={tmp_path / 'theta.npy'}"] + ([] if constant else ["-i", f"size={tmp_path / 'size.npy'}"])
    rynd("run", path, *files, preexec_fn=bounded).failed(path, "node 'g' (AffineGrid)", "'size'", "-1")


def test_parts_that_only_a_run_knows(ran, tmp_path):
    """A split into more parts than other lists have numbers: its rest is planned once they are known, and not again and again."""
    names, parts = [f"y{i}" for i in range(40)], np.ones(40, "int64")
    parts[3] = 4
    nodes = [helper.make_node("Abs", ["parts"], ["sizes"]), helper.make_node("Split", ["x", "sizes"], names, name="s", axis=0)]
    inputs = [("x", "float32", [43]), ("parts", "int64", [40])]
    path = save(tmp_path / "split.onnx", nodes, inputs, [(n, "float32", None) for n in names])
    x = np.arange(43, dtype="float32")
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "parts.npy", parts)
    files = ["-i", f"x={tmp_path / 'x.npy'}", "-i", f"parts={tmp_path / 'parts.npy'}"]
    ran("run", path, *files, "-o", tmp_path / "out.npz", preexec_fn=bounded)
    with np.load(tmp_path / "out.npz") as out:
        assert [out[n].shape for n in names] == [(p,) for p in parts]
        assert np.array_equal(np.concatenate([out[n] for n in names]), x)
