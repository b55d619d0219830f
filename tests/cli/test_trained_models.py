# SPDX-License-Identifier: Apache-2.0
"""Trained models through the command: what a person would see. They lie in ../shared/models, or where RYND_MODELS says, and are skipped when absent."""

import os
import pathlib

import numpy as np
import pytest
from conftest import ROOT, load
from onnx import TensorProto, numpy_helper
from PIL import Image

MODELS = pathlib.Path(os.environ.get("RYND_MODELS", ROOT.parent / "shared/models"))


def model(*parts):
    path = MODELS.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return path


def test_squeezenet_sees_a_tabby_cat(ran):
    path = model("squeezenet_fp16", "SqueezeNet_fp16.onnx")
    options = ["-i", path.parent / "kitten_224.png", "--top", "5", "--labels", path.parent / "Labels.txt"]
    (run,) = ran("run", path, *options, "--json").results
    best = run["outputs"][0]["top"][0][0]
    assert best["index"] == 281 and "tabby" in best["label"] and best["value"] > 0.8
    assert "tabby" in ran("run", path, *options).out


def test_mnist_golden(ran, tmp_path):
    folder = model("mnist_8")
    for number in range(3):
        data = folder / f"test_data_set_{number}"
        ran("run", folder / "model.onnx", "-i", data / "input_0.pb", "-o", tmp_path / "y.npy")
        expected = numpy_helper.to_array(TensorProto.FromString((data / "output_0.pb").read_bytes()))
        np.testing.assert_allclose(load(tmp_path / "y.npy"), expected, atol=1e-4 * np.abs(expected).max())


def test_mnist_on_a_grey_picture(ran):
    folder = model("mnist_8")
    (run,) = ran("run", folder / "model.onnx", "-i", folder / "mnist_28.png", "--top", "1", "--json").results
    assert run["outputs"][0]["shape"] == [1, 10]


def test_super_resolution_writes_a_picture(ran, tmp_path):
    path = model("super_resolution_10", "model.onnx")
    kitten = model("squeezenet_fp16", "kitten_224.png")
    ran("run", path, "-i", kitten, "--scale", "1/255", "-o", tmp_path / "large.png", "--output-scale", "255")
    large = np.asarray(Image.open(tmp_path / "large.png"), "float64")
    grey = Image.open(kitten).convert("L")
    bicubic = np.asarray(grey.resize((672, 672), Image.BICUBIC), "float64")
    assert large.shape == (672, 672)
    assert np.sqrt(np.mean((large - bicubic) ** 2)) < 12


def test_style_transfer_gives_its_picture(ran, tmp_path):
    path = model("fns_style", "candy.onnx")
    options = ["--size", "720x720", "-o", tmp_path / "out.png"]
    ran("run", path, "-i", path.parent / "Input.jpg", *options)
    assert Image.open(tmp_path / "out.png").size == (720, 720)
