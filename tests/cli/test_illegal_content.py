# SPDX-License-Identifier: Apache-2.0
"""Inputs whose content is illegal: an error that names node, value and bounds, whether the content is part of the model or comes with a run."""

import numpy as np
import pytest
from conftest import load, save, save_node
from onnx import helper

X = np.arange(15, dtype="float32").reshape(5, 3)
PICTURES = np.arange(48, dtype="float32").reshape(3, 1, 4, 4)
POOLED = np.ones((1, 1, 2, 2), "float32")


def i64(*numbers):
    return np.array(numbers, "int64")


def f32(*numbers):
    return np.array(numbers, "float32")


# Operator, attributes, inputs, illegal inputs, part of the message.
CASES = {
    "gather above": ("Gather", {}, [X, i64(0, 5)], [1], "input 1, at [1], is 5, expected -5 to 4 (axis 0 of input 0)"),
    "gather below": ("Gather", {"axis": 1}, [X, i64([0], [-4])], [1], "input 1, at [1, 0], is -4, expected -3 to 2 (axis 1 of input 0)"),
    "gather from nothing": ("Gather", {}, [X[:0], i64(0)], [1], "axis 0 of input 0 has size 0"),
    "gather elements": ("GatherElements", {"axis": 1}, [X, i64([0, 3])], [1], "input 1, at [0, 1], is 3, expected -3 to 2"),
    "gather nd": ("GatherND", {}, [X, i64([0, 2], [5, 0])], [1], "input 1, at [1, 0], is 5, expected -5 to 4"),
    "scatter elements": ("ScatterElements", {}, [X, i64([0, 0, -6]), X[:1]], [1], "input 1, at [0, 2], is -6, expected -5 to 4"),
    "scatter sums": ("ScatterElements", {"reduction": "add"}, [X, i64([0, 0, 5]), X[:1]], [1], "input 1, at [0, 2], is 5, expected -5 to 4"),
    "scatter nd": ("ScatterND", {}, [X, i64([4, 2], [0, 3]), f32(1, 2)], [1], "input 1, at [1, 1], is 3, expected -3 to 2"),
    "max unpool": ("MaxUnpool", {"kernel_shape": [2, 2], "strides": [2, 2]}, [POOLED, i64(5, 7, 13, 16).reshape(1, 1, 2, 2)], [1], "input 1, at [0, 0, 1, 1], is 16, expected 0 to 15"),
    "roi align": ("RoiAlign", {"output_height": 2, "output_width": 2}, [PICTURES, f32([0, 0, 3, 3]), i64(3)], [2], "input 2, at [0], is 3, expected 0 to 2"),
    "reverse sequence": ("ReverseSequence", {"batch_axis": 0, "time_axis": 1}, [X, i64(1, 2, 4, 3, 0)], [1], "input 1, at [2], is 4, expected 0 to 3"),
    "unpooled shape": ("MaxUnpool", {"kernel_shape": [2, 2], "strides": [2, 2]}, [POOLED, i64(5, 7, 13, 15).reshape(1, 1, 2, 2), i64(1, 1, 3, 4)], [2], "has 3 for dim 2, expected at least 4"),
    "endless range": ("Range", {}, [np.array(0), np.array(2**62), np.array(1)], [0, 1, 2], "4611686018427387904 has more bytes than 2^63"),
    "resize twice": ("Resize", {}, [PICTURES, None, f32(1, 1, 2, 2), i64(3, 1, 8, 8)], [2, 3], "both scales and sizes"),
    "threshold": ("NonMaxSuppression", {}, [f32([[0, 0, 1, 1]]), f32([[1]]), i64(1), f32(1.5)], [3], "iou_threshold is 1.5, expected 0 to 1"),
}


@pytest.mark.parametrize("case", CASES)
def test_content(rynd, tmp_path, case):
    operator, attributes, inputs, illegal, message = CASES[case]
    for constants in [], illegal, [i for i, value in enumerate(inputs) if value is not None]:
        arguments = save_node(tmp_path, operator, attributes, inputs, constants)
        rynd("run", *arguments).failed(tmp_path / "model.onnx", "the_node", operator, message)


def test_old_scatter(rynd, tmp_path):
    arguments = save_node(tmp_path, "Scatter", {}, [X, i64([5, 0, 0]), X[:1]], [], opset=10)
    rynd("run", *arguments).failed("model.onnx", "the_node", "Scatter", "input 1, at [0, 0], is 5, expected -5 to 4")


def test_what_a_run_computes(rynd, ran, tmp_path):
    """Indices that no plan knows: the positions of what is not zero, gathered behind a shape that waits for data."""
    nodes = [
        helper.make_node("NonZero", ["mask"], ["where"], name="where"),
        helper.make_node("Gather", ["x", "where"], ["y"], name="the_gather"),
    ]
    model = save(tmp_path / "late.onnx", nodes, [("mask", "float32", [7]), ("x", "float32", [5, 3])], [("y", "float32", None)])
    np.save(tmp_path / "x.npy", X)
    for name, mask in ("good", [0, 1, 0, 0, 1, 0, 0]), ("bad", [0, 1, 0, 0, 0, 1, 1]):
        np.save(tmp_path / f"{name}.npy", f32(*mask))
    arguments = [model, "-i", f"x={tmp_path / 'x.npy'}", "-o", tmp_path / "y.npy", "-i"]
    ran("run", *arguments, f"mask={tmp_path / 'good.npy'}")
    assert np.array_equal(load(tmp_path / "y.npy"), X[[[1, 4]]])
    rynd("run", *arguments, f"mask={tmp_path / 'bad.npy'}").failed("late.onnx", "the_gather", "input 1, at [0, 1], is 5, expected -5 to 4")
