# SPDX-License-Identifier: Apache-2.0
"""Attention beside what ONNX's suite has of it: open dimensions, short masks by opset, and what is refused."""

import numpy as np
import pytest
from conftest import save
from onnx import helper

RNG = np.random.default_rng(0)


def attention(q, k, v, bias=0.0, scale=None):
    """Attention in float64 for [batch, heads, length, size]; each head of k and v serves a group of q's heads."""
    q, k, v = (array.astype("float64") for array in (q, k, v))
    k, v = (np.repeat(array, q.shape[1] // array.shape[1], 1) for array in (k, v))
    scores = q @ k.swapaxes(2, 3) * (scale or 1 / np.sqrt(q.shape[3])) + bias
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ v


def heads(x, count):
    return x.reshape(*x.shape[:2], count, -1).swapaxes(1, 2)


def numbers(*shape):
    return RNG.standard_normal(shape).astype("float32")


def run(ran, tmp_path, path, inputs):
    files = []
    for name, array in inputs.items():
        np.save(tmp_path / f"{name}.npy", array)
        files += ["-i", f"{name}={tmp_path / name}.npy"]
    ran("run", path, *files, "-o", tmp_path / "y.npy")
    return np.load(tmp_path / "y.npy")


def model(tmp_path, inputs, opset=23, shapes=None, **attributes):
    node = helper.make_node("Attention", list(inputs), ["y"], name="look", **attributes)
    ends = [(name, inputs[name].dtype, (shapes or {}).get(name, inputs[name].shape)) for name in inputs if name]
    return save(tmp_path / "attention.onnx", [node], ends, [("y", "float32", None)], opset=opset)


@pytest.mark.parametrize("causal", [0, 1])
def test_open_dimensions(ran, tmp_path, causal):
    """Heads as in the model, lengths when a plan is made."""
    inputs = {"q": numbers(2, 7, 24), "k": numbers(2, 9, 12), "v": numbers(2, 9, 21)}
    shapes = {"q": ["batch", "queries", 24], "k": ["batch", "keys", 12], "v": ["batch", "keys", 21]}
    path = model(tmp_path, inputs, shapes=shapes, q_num_heads=6, kv_num_heads=3, is_causal=causal)
    bias = np.where(np.arange(9) <= np.arange(7)[:, None], 0, -np.inf) if causal else 0
    expected = attention(heads(inputs["q"], 6), heads(inputs["k"], 3), heads(inputs["v"], 3), bias)
    assert np.allclose(run(ran, tmp_path, path, inputs), expected.swapaxes(1, 2).reshape(2, 7, -1), 1e-4, 1e-5)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("opset", [23, 24])
def test_heads_that_the_model_leaves_open(ran, tmp_path, opset, groups):
    """As where an exporter computes the shape of a Reshape: number and size of the heads are known when a plan is made."""
    inputs = {"q": numbers(2, 4, 7, 6), "k": numbers(2, 4 // groups, 9, 6), "v": numbers(2, 4 // groups, 9, 5), "mask": numbers(7, 9)}
    shapes = {name: [f"{name}{axis}" for axis in range(array.ndim)] for name, array in inputs.items()}
    path = model(tmp_path, inputs, opset, shapes)
    assert np.allclose(run(ran, tmp_path, path, inputs), attention(*inputs.values()), 1e-4, 1e-5)


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("opset, covers", [(23, 5), (24, 1)])
def test_a_mask_of_one_column(ran, tmp_path, opset, covers, is_open):
    """Is for all keys at opset 23; from 24 on the keys behind it are hidden."""
    inputs = {"q": numbers(1, 2, 4, 8), "k": numbers(1, 2, 5, 8), "v": numbers(1, 2, 5, 8), "mask": numbers(4, 1)}
    bias = np.where(np.arange(5) < covers, inputs["mask"], -np.inf)
    expected = attention(inputs["q"], inputs["k"], inputs["v"], bias)
    shapes = {"mask": ["rows", "columns"], "k": [1, 2, "keys", 8], "v": [1, 2, "keys", 8]} if is_open else {}
    assert np.allclose(run(ran, tmp_path, model(tmp_path, inputs, opset, shapes), inputs), expected, 1e-4, 1e-5)


@pytest.mark.parametrize("left", [-1, 0, 2])
@pytest.mark.parametrize("right", [-1, 0, 1])
@pytest.mark.parametrize("causal", [0, 1])
def test_windows(ran, tmp_path, left, right, causal):
    """More queries than keys: the last ones see nothing through a narrow window, and give zeros."""
    inputs = {"q": numbers(1, 2, 8, 4), "k": numbers(1, 2, 5, 4), "v": numbers(1, 2, 5, 4)}
    i, j = np.arange(8)[:, None], np.arange(5)
    seen = ((j >= i - left) | (left < 0)) & ((j <= i + right) | (right < 0)) & ((j <= i) | (causal == 0))
    blind = ~seen.any(-1)
    expected = attention(inputs["q"], inputs["k"], inputs["v"], np.where(seen | blind[:, None], 0, -np.inf))
    expected[:, :, blind] = 0
    path = model(tmp_path, inputs, 25, left_window_size=left, right_window_size=right, is_causal=causal)
    assert np.allclose(run(ran, tmp_path, path, inputs), expected, 1e-4, 1e-5)


@pytest.mark.parametrize(
    "shapes, attributes, parts",
    [
        ([(1, 3, 4, 8), (1, 2, 5, 8), (1, 2, 5, 8)], {}, ["3 heads of queries", "2 groups"]),
        ([(1, 4, 8), (1, 5, 8), (1, 5, 8)], {}, ["3 each and a positive q_num_heads"]),
        ([(1, 4, 8), (1, 5, 8), (1, 5, 8)], {"q_num_heads": 2, "kv_num_heads": -2}, ["a positive kv_num_heads"]),
        ([(1, 4, 8), (1, 2, 5, 4), (1, 2, 5, 4)], {"q_num_heads": 2}, ["Q, K and V must have 4 dimensions each"]),
        ([(1, 2, 4, 8), (1, 2, 5, 7), (1, 2, 5, 8)], {}, ["has 7 rows to sum over"]),
        ([(1, 2, 4, 8), (1, 2, 5, 8), (1, 2, 5, 8)], {"qk_matmul_output_mode": 4}, ["qk_matmul_output_mode is 4"]),
        ([(1, 2, 4, 8), (1, 2, 5, 8), (1, 2, 5, 8)], {"left_window_size": 2}, ["'left_window_size'", "opset 23"]),
        ([(1, 2, 4, 8), (1, 2, 5, 8), (1, 2, 5, 8), (4, 5), (1, 2, 3, 8)], {}, ["past_key and past_value belong together"]),
    ],
)
def test_refused(rynd, tmp_path, shapes, attributes, parts):
    inputs = {name: numbers(*shape) for name, shape in zip(["q", "k", "v", "mask", "past"], shapes)}
    path = model(tmp_path, inputs, **attributes)
    rynd("inspect", path).failed(path, "node 'look' (Attention)", *parts)
