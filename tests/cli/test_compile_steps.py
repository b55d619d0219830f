# SPDX-License-Identifier: Apache-2.0
"""Programs of a plan for a GPU are compiled on all threads: with the same outputs and errors as on one."""

import numpy as np
import pytest


@pytest.fixture
def on_opencl(monkeypatch, ran, tmp_path, small_net):
    """The arguments of a run on OpenCL."""
    if "opencl:0" not in [result["device"] for result in ran("devices", "--json").results]:
        pytest.skip("there is no device beside the CPU (Debian: pocl-opencl-icd is one)")
    monkeypatch.setenv("RYND_CACHE", "off")
    x = tmp_path / "x.npy"
    np.save(x, np.random.default_rng(2).standard_normal((2, 3, 8, 8)).astype("float32"))
    return ["run", small_net, "-i", x, "--device", "opencl"]


def test_outputs_are_the_same(ran, on_opencl, tmp_path):
    outputs = []
    for threads in (1, 2):
        ran(*on_opencl, "--threads", threads, "-o", tmp_path / "y.npy")
        outputs.append(np.load(tmp_path / "y.npy"))
    assert outputs[0].shape == (2, 4, 1, 1) and np.array_equal(*outputs)


def test_the_first_step_that_does_not_compile_is_named(rynd, on_opencl, monkeypatch, tmp_path):
    monkeypatch.setenv("RYND_OPENCL_OPTIONS", "-Dfloat=@")
    messages = []
    for threads in (1, 2):
        failed = rynd(*on_opencl, "--threads", threads, "-o", tmp_path / "y.npy")
        assert failed.code == 1
        messages.append([line for line in failed.err.splitlines() if line.startswith("rynd: ")])
    assert "does not compile" in messages[0][-1] and messages[0] == messages[1]
