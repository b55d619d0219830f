# SPDX-License-Identifier: Apache-2.0
"""The demo's network beats bicubic interpolation by a decibel on each photo that it was not trained on, and the demo writes its picture."""

import math
import os
import subprocess

import numpy as np
import PIL.Image
import pytest

from conftest import ROOT, RYND

PHOTOS = sorted((ROOT / "models/photos").glob("*.png"))


def psnr(a, b):
    difference = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    return -10 * math.log10((difference**2).mean() / 255**2)


@pytest.mark.parametrize("path", PHOTOS, ids=lambda path: path.stem)
def test_gain_over_bicubic(ran, tmp_path, path):
    photo = PIL.Image.open(path).convert("RGB")
    photo = photo.crop((0, 0, photo.width // 2 * 2, photo.height // 2 * 2))
    small = photo.resize((photo.width // 2, photo.height // 2), PIL.Image.BICUBIC)
    small.save(tmp_path / "small.png")
    ran("run", ROOT / "models/upscale2x.onnx", "-i", tmp_path / "small.png", "--scale", 1 / 255, "-o", tmp_path / "large.png", "--output-scale", 255)
    large = PIL.Image.open(tmp_path / "large.png").convert("RGB")
    assert large.size == photo.size
    assert psnr(large, photo) >= psnr(small.resize(photo.size, PIL.Image.BICUBIC), photo) + 1


def test_demo(tmp_path):
    done = subprocess.run([ROOT / "tools/demo", "--rynd", RYND, "--out", tmp_path], capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    assert "dB PSNR" in done.stdout and "peak memory" in done.stdout
    assert PIL.Image.open(tmp_path / "upscale.png").width > 1000


def test_there_are_photos():
    assert len(PHOTOS) >= 3
