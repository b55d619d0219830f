# SPDX-License-Identifier: Apache-2.0
"""What the command is started by and runs on: a parent with much memory, a clock before 1970."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from conftest import RYND, SANITIZED

PROBLEM = "conv c=4 h=8 w=8 k=4 r=3 s=3"
# Holds 300 MiB while the command runs.
PARENT = "import subprocess, sys; held = bytearray(b'x' * (300 << 20)); sys.exit(subprocess.run(sys.argv[1:]).returncode)"


@pytest.fixture
def training(tmp_path, small_net):
    random = np.random.default_rng(1)
    np.savez(tmp_path / "data.npz", x=random.standard_normal((8, 3, 8, 8), dtype=np.float32), y=np.ones((8, 4, 1, 1), np.float32))
    return ["train", small_net, "--data", tmp_path / "data.npz", "--batch", 4, "--steps", 1, "-o", tmp_path / "o.onnx"]


@pytest.mark.skipif(SANITIZED, reason="AddressSanitizer holds memory of its own")
def test_peak_memory_is_not_the_parents(training):
    command = [sys.executable, "-c", PARENT, RYND, *map(str, training), "--json"]
    results = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout)["results"]
    assert 1 << 20 < results[0]["peak_memory"] < 200 << 20


def test_settings_of_a_training_name_a_step(rynd, training):
    rynd(*training, "--set", "kernel=conv_ref").failed("--set kernel=conv_ref", "name the step", "STEP.kernel=conv_ref", code=2)


@pytest.mark.skipif(SANITIZED, reason="AddressSanitizer must be the first library")
def test_a_clock_before_1970(tmp_path):
    library = pathlib.Path(RYND).parents[1] / "lib" / "libold_clock.so"
    environment = {**os.environ, "LD_PRELOAD": f"{library}:{os.environ.get('LD_PRELOAD', '')}"}
    for arguments in (["tune", PROBLEM, "--budget", "0.05"], ["wisdom", "export", "e.jsonl"]):
        process = subprocess.run([RYND, *arguments, "--wisdom", "w.db"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
        assert process.returncode == 0, process.stderr
    records = [json.loads(line) for line in (tmp_path / "e.jsonl").read_text().splitlines()]
    assert records and all(record["time"] == 0 for record in records)
