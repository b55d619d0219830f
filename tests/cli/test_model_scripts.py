# SPDX-License-Identifier: Apache-2.0
"""The scripts of models/ make networks that train: a few steps of each, the upscaler's on tiles of the held-out photos."""

import gzip
import os
import subprocess
import sys

import numpy as np
import onnx
from conftest import ROOT, RYND, quick_when_sanitized

MODELS = ROOT / "models"


def script(name, *arguments, **variables):
    command = [MODELS / name, *arguments] if name.endswith(".sh") else [sys.executable, MODELS / name, *arguments]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, env=os.environ | variables)
    assert done.returncode == 0, done.stderr
    return done.stdout


@quick_when_sanitized
def test_fashion_network(ran, tmp_path):
    script("fashion_network.py", tmp_path / "fashion.onnx")
    assert (tmp_path / "fashion.onnx").stat().st_size < 1 << 21
    random = np.random.default_rng(1)
    labels = (np.arange(64) % 10).astype("uint8")
    pictures = (random.integers(0, 80, (64, 28, 28)) + 12 * labels[:, None, None]).astype("uint8")
    for name, array in (("train-images-idx3-ubyte.gz", pictures), ("train-labels-idx1-ubyte.gz", labels)):
        head = bytes([0, 0, 8, array.ndim]) + b"".join(extent.to_bytes(4, "big") for extent in array.shape)
        (tmp_path / name).write_bytes(gzip.compress(head + array.tobytes()))
    (result,) = ran("train", tmp_path / "fashion.onnx", "--data", tmp_path / "train-images-idx3-ubyte.gz", "--scale", "1/255", "--init", "he", "--batch", 16,
                    "--epochs", 3, "--lr", "0.05", "--json").results
    assert result["step"] == 12 and result["loss"] < 2.3


@quick_when_sanitized
def test_upscale(tmp_path):
    out = script("train_upscale.sh", tmp_path, EPOCHS="1", PHOTOS=str(MODELS / "photos"), RYND=RYND, PYTHON=sys.executable)
    lines = out.splitlines()
    assert sum("upscale2x.onnx" in line and "dB, bicubic" in line for line in lines) == 2 * len(list((MODELS / "photos").glob("*.png")))
    assert sum('"row":"validation"' in line for line in lines) == 1
    assert out.endswith((tmp_path / "upscale2x.log").read_text())
    onnx.checker.check_model(onnx.load(tmp_path / "upscale2x.onnx"))
    assert "<svg" in (tmp_path / "upscale2x.svg").read_text()


def test_usage(tmp_path):
    for name in ("fashion_network.py", "upscale_network.py", "photo_tiles.py"):
        done = subprocess.run([sys.executable, MODELS / name], capture_output=True, text=True)
        assert done.returncode == 1 and name in done.stderr and "\n\n" in done.stderr
