# SPDX-License-Identifier: Apache-2.0
"""bench/quantised: rows, and drawn networks."""
import importlib.machinery
import importlib.util
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench/comparison")]


@pytest.fixture(scope="module")
def quantised():
    loader = importlib.machinery.SourceFileLoader("quantised", str(ROOT / "bench/quantised"))
    made = importlib.util.module_from_spec(importlib.util.spec_from_loader("quantised", loader))
    loader.exec_module(made)
    return made


def test_row(quantised, capsys):
    row = {"network": "unet", "quantizer": "rynd", "threads": 2, "memory": 0.25, "differs": None, "failures": {"openvino": "ended"},
           "turns": {"rynd": [1e-3] * 7, "f32": [3e-3] * 7, "onnxruntime": [2e-3] * 7}}
    assert quantised.ratios(row)[0][0] == pytest.approx(2) and quantised.ratios(row)[1][0] == pytest.approx(3)
    quantised.print_row(row)
    quantised.print_means([row, row | {"turns": {"rynd": [1e-3], "f32": [1e-3]}}])
    out = capsys.readouterr().out
    assert "unet" in out and "openvino: left out: ended" in out
    assert "over the best peer, 2 threads: geometric mean of 1 2.00, least 2.00" in out and "over float32, 2 threads: geometric mean of 2 1.73, least 1.00" in out


def test_drawn_networks():
    from quantised_models import unet, yolo

    assert [dim.dim_value for dim in yolo(64).graph.output[0].type.tensor_type.shape.dim] == [1, 84, 84]
    assert sum(node.op_type == "ConvTranspose" for node in unet(32).graph.node) == 3
