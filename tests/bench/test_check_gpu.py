# SPDX-License-Identifier: Apache-2.0
"""tools/check_gpu on a machine without a GPU: it says what is missing; behind the stand-in for CUDA's driver its parts run, and their time is bounded."""
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATH = ROOT / "tools/check_gpu"
STAND_IN = {"RYND_CUDA_LIBRARY": ROOT / "build/release/lib/libfake_cuda.so", "RYND_NVRTC_LIBRARY": ROOT / "build/release/lib/libfake_nvrtc.so",
            "EMULATION_PREFIX": ROOT / "tests/cuda/emulation_prefix.cpp"}


def load():
    loader = importlib.machinery.SourceFileLoader("check_gpu", str(PATH))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_gpu", loader))
    sys.modules["check_gpu"] = module
    loader.exec_module(module)
    return module


def run(*arguments, **environment):
    return subprocess.run([sys.executable, PATH, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                          env=os.environ | {name: str(value) for name, value in environment.items()})


@pytest.fixture
def stand_in():
    absent = [path.name for path in STAND_IN.values() if not path.exists()]
    if absent:
        pytest.skip(f"the stand-in for CUDA is not built: {', '.join(absent)}")
    return STAND_IN


def test_what_is_missing_is_said(tmp_path):
    done = run("--out", tmp_path, "machine", "cudnn", RYND_CUDA_LIBRARY="/nothing/libcuda.so")
    assert done.returncode == 77, done.stdout + done.stderr
    assert "a CUDA device: `rynd devices --device cuda` says why there is none" in done.stdout
    assert "PyTorch with CUDA" in (tmp_path / "summary.txt").read_text()


def test_parts_run_on_a_device(tmp_path, stand_in):
    done = run("--out", tmp_path, "machine", **stand_in)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 of 2 commands passed" in done.stdout
    assert "\nisa cuda\n" in (tmp_path / "machine.txt").read_text()
    assert "Fake GPU 0" in (tmp_path / "machine.log").read_text()


def test_unknown_parts_are_refused():
    done = run("kernels")
    assert done.returncode == 2 and "'kernels' is none of build, machine" in done.stderr


def test_a_part_ends_when_its_time_is_up(tmp_path):
    check = load()
    begin = time.monotonic()
    part = check.Part("slow", "", 1, [[sys.executable, "-c", "print('begun', flush=True); import time; time.sleep(60)"], ["true"]])
    words, good = check.run_part(part, tmp_path, 3)
    assert time.monotonic() - begin < 30
    assert words == "0 of 2 commands passed, 2 not done: its time was up" and good
    assert "begun" in (tmp_path / "slow.log").read_text() and "its time was up" in (tmp_path / "slow.log").read_text()


def test_a_failure_is_a_failure(tmp_path):
    check = load()
    words, good = check.run_part(check.Part("bad", "", 1, [["false"], ["true"]], keep_going=True), tmp_path, 30)
    assert words == "1 of 2 commands passed, 1 failed" and not good


def test_layers_beside_pytorch(tmp_path):
    """bench/cudnn compares on the CPU as it does on a GPU; what it does not know it refuses."""
    if not (ROOT / "build/release/bin/bench_forms").exists():
        pytest.skip("bench_forms is not built: ninja -C build/release bench_forms")
    command = [sys.executable, ROOT / "bench/cudnn", "--device", "cpu", "--batches", "1", "--rounds", "1", "--seconds", "0.01", "--out", tmp_path / "rows.jsonl"]
    done = subprocess.run([*command, "--classes", "near32", "res.512x7"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [row["layout"] for row in rows] == ["nchw", "nhwc"]
    assert all(row["rynd"] > 0 and row["torch"] > 0 and row["predicted"] > 0 for row in rows)
    refused = subprocess.run([*command, "res.512x8"], capture_output=True, text=True, timeout=60)
    assert refused.returncode == 2 and "'res.512x8' is none of resnet50" in refused.stderr
