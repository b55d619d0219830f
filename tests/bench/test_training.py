# SPDX-License-Identifier: Apache-2.0
"""bench/training: rynd and PyTorch make the same steps, each is timed and its memory measured, and its errors."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["RYND"]).resolve().parents[1] if "RYND" in os.environ else ROOT / "build/release"


def training(*arguments):
    command = [sys.executable, ROOT / "bench/training", "--build", BUILD, "--python", sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def test_network(tmp_path):
    pytest.importorskip("torchvision")
    out = tmp_path / "training.json"
    done = training("--nets", "resnet18", "--batch", 2, "--rounds", 2, "--storage", "bf16", "--out", out)
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(out.read_text())
    (result,) = document["results"]
    assert document["storage"] == "bf16"
    assert not result["failures"]
    for key in ("rynd", "torch", "torch.nhwc"):
        first, second = result["losses"][key]
        assert first == pytest.approx(result["losses"]["torch"][0], rel=1e-3) and second != first
        assert len(result["seconds"][key]) == 2 and min(result["seconds"][key]) > 0
        # Weights, gradients and moments at least.
        assert result["memory"][key]["peak"] > result["memory"][key]["memory"] > 3 * 11_600_000 * 4
    assert result["ratio"]["low"] <= result["ratio"]["median"] <= result["ratio"]["high"] and result["memory_ratio"] > 0
    assert "geometric mean" in done.stdout


def test_errors(tmp_path):
    for arguments, word in ((["--nets", "nosuchnet"], "nosuchnet"), (["--rounds", 0], "positive"), (["--storage", "f16"], "--storage"), (["--build", "/nowhere"], "/nowhere"),
                            (["--python", "/nowhere"], "/nowhere"), (["--python", "/bin/false"], "/bin/false")):
        done = training("--out", tmp_path / "training.json", *arguments)
        assert done.returncode == 2 and word in done.stderr, (arguments, done.stderr)
