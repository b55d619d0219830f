# SPDX-License-Identifier: Apache-2.0
"""bench/gradients: both gradients of a layer agree with PyTorch's, and its errors."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["RYND"]).resolve().parents[1] if "RYND" in os.environ else ROOT / "build/release"


def gradients(*arguments):
    return subprocess.run([sys.executable, ROOT / "bench/gradients", "--build", BUILD, *map(str, arguments)], capture_output=True, text=True, timeout=600)


def test_layers(tmp_path):
    pytest.importorskip("torch")
    out = tmp_path / "gradients.json"
    done = gradients("--layers", "dw.960x7,tr.256*,1d.*", "--batch", 1, "--threads", 1, "--rounds", 1, "--turn", 0.001, "--out", out)
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads(out.read_text())["results"]
    assert [result["direction"] for result in results] == ["bwd_weights", "bwd_data"] * 3
    for result in results:
        # 1-D has no channels last in PyTorch
        assert set(result["seconds"]) >= {"rynd", "rynd.nhwc", "torch"}
        assert all(times and min(times) > 0 for times in result["seconds"].values())
    assert "bwd_weights: geometric mean" in done.stdout


def test_errors():
    for arguments, word in ((["--layers", "nosuchlayer"], "nosuchlayer"), (["--directions", "fwd"], "'fwd'"), (["--rounds", 0], "positive"), (["--build", "/nowhere"], "/nowhere")):
        done = gradients(*arguments)
        assert done.returncode == 2 and word in done.stderr, (arguments, done.stderr)
