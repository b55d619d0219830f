# SPDX-License-Identifier: Apache-2.0
"""Devices other than the CPU: limits of narrow devices, the self-test, and planning for an absent device."""

import os
import re

import numpy as np
import pytest
from conftest import save
from onnx import helper

NARROW = os.environ.get("NARROW_OPENCL")
needs_opencl = pytest.mark.skipif(not NARROW, reason="there is no OpenCL loader (Debian: pocl-opencl-icd brings one)")
SOFTMAX = "softmax x0=37x600:f32 y0=37x600:f32 axis=1"


@pytest.fixture
def narrow(monkeypatch, ran):
    """Sets what OpenCL's first device lacks."""
    if "opencl:0" not in [result["device"] for result in ran("devices", "--json").results]:
        pytest.skip("there is no device beside the CPU (Debian: pocl-opencl-icd is one)")
    monkeypatch.setenv("RYND_OPENCL_LIBRARY", NARROW)
    monkeypatch.setenv("RYND_CACHE", "off")

    def lack(**what):
        for name, value in what.items():
            monkeypatch.setenv(f"NARROW_{name.upper()}", str(value))
    return lack


def group_of(step):
    return int(re.search(r"group=(\d+)", step["knobs"]).group(1))


@needs_opencl
def test_groups_fit_the_device(ran, rynd, narrow):
    narrow(group=128)
    (plan,) = ran("plan", SOFTMAX, "--device", "opencl", "--json").results
    assert plan["nodes"][0]["kernel"] == "softmax_gpu" and group_of(plan["nodes"][0]) == 128
    ran("bench", SOFTMAX, "--device", "opencl", "--rounds", "1", "--min-time", "0")
    rynd("plan", SOFTMAX, "--device", "opencl", "--set", "group=256").failed("group", "cannot be 256", "64, 128")


@needs_opencl
def test_groups_fit_the_built_kernel(ran, narrow):
    narrow(kernel=64)
    ran("bench", SOFTMAX, "--device", "opencl", "--rounds", "1", "--min-time", "0")
    (bench,) = ran("bench", "conv c=19 h=9 w=8 k=21 r=3 s=3 pad=1", "--device", "opencl", "--rounds", "1", "--min-time", "0", "--json").results
    assert bench["kernel"].endswith("_gpu")


@needs_opencl
def test_without_doubles_steps_fall_back(ran, narrow, tmp_path):
    nodes = [helper.make_node("Softplus", ["x"], ["y"], name="softplus")]
    narrow(doubles=0)
    for dtype, kernel in (("float32", "expr_gpu"), ("float64", "expr_")):
        model = save(tmp_path / f"{dtype}.onnx", nodes, [("x", dtype, [3, 5])], [("y", dtype, [3, 5])])
        np.save(tmp_path / "x.npy", np.full((3, 5), 0.5, dtype))
        (plan,) = ran("plan", model, "--device", "opencl", "--json").results
        assert plan["nodes"][0]["kernel"].startswith(kernel)
        assert plan["nodes"][0]["reason"].startswith("fallback") == (dtype == "float64")
        ran("run", model, "-i", tmp_path / "x.npy", "--device", "opencl", "-o", tmp_path / "y.npy")
        assert np.allclose(np.load(tmp_path / "y.npy"), np.log1p(np.exp(0.5)))


@needs_opencl
def test_memory_has_the_weights_of_fallback_steps(ran, narrow, tmp_path):
    weights = {"w": np.ones((8, 4, 128), "float32")}
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[64])
    model = save(tmp_path / "transposed.onnx", [node], [("x", "float32", [1, 8, 20])], [("y", "float32", [1, 4, 1344])], weights)
    (plan,) = ran("plan", model, "--device", "opencl", "--json").results
    assert plan["nodes"][0]["reason"].startswith("fallback")
    assert plan["memory"]["weights"] >= weights["w"].nbytes


@needs_opencl
def test_queues_have_the_time_only_where_it_is_asked_for(ran, narrow, tmp_path, small_net):
    narrow(log=tmp_path / "queues")
    np.save(tmp_path / "x.npy", np.ones((1, 3, 8, 8), "float32"))
    ran("run", small_net, "-i", tmp_path / "x.npy", "--device", "opencl", "-o", tmp_path / "y.npy")
    assert set((tmp_path / "queues").read_text().split()) == {"plain"}
    ran("profile", small_net, "--batch", "1", "--device", "opencl")
    assert "profiled" in (tmp_path / "queues").read_text()


@needs_opencl
def test_check_refuses_a_kernel_that_fails(rynd, ran, narrow, tmp_path, monkeypatch):
    """The compiler refuses a text with a name that softmax alone has."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("RYND_MACHINE")
    narrow(refused="highest")
    checked = rynd("devices", "--check", "--device", "opencl", "--json", timeout=1200)
    assert checked.code == 1 and "1 kernel is not right on opencl" in checked.err  # the driver tells of errors, too
    (result,) = checked.results
    kernels = {kernel["kernel"]: kernel["finding"] for kernel in result["check"]["kernels"]}
    assert kernels["softmax_gpu"] == "failed" and kernels["pool_gpu"] == kernels["gather_gpu"] == "right"
    file = tmp_path / "rynd" / os.path.basename(result["check"]["file"])
    text = file.read_text()
    assert text.startswith("rynd checked 1\ndevice ") and "\nfailed softmax_gpu\n" in text and text.endswith("end\n")
    model = save(tmp_path / "m.onnx", [helper.make_node("Softmax", ["x"], ["y"], axis=1)], [("x", "float32", [5, 37])], [("y", "float32", [5, 37])])
    (plan,) = ran("plan", model, "--device", "opencl", "--json").results
    reason = plan["nodes"][0]["reason"]
    assert not plan["nodes"][0]["kernel"].endswith("_gpu"), plan
    assert "softmax_gpu is not used" in reason and "rynd devices --check" in reason
    monkeypatch.delenv("NARROW_REFUSED")
    monkeypatch.setenv("RYND_OPENCL_OPTIONS", "-DANOTHER_COMPILER")  # for which the findings do not hold
    (plan,) = ran("plan", SOFTMAX, "--device", "opencl", "--json").results
    assert plan["nodes"][0]["kernel"] == "softmax_gpu"


@needs_opencl
@pytest.mark.parametrize("finding", ["wrong", "unsteady"])
def test_check_refuses_a_kernel_with_bad_results(rynd, ran, narrow, tmp_path, monkeypatch, finding):
    """The device changes softmax's first result: always, or the last bit in every other run."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("RYND_MACHINE")
    narrow(**{finding: 1})
    checked = rynd("devices", "--check", "--device", "opencl", "--json", timeout=1200)
    assert checked.code == 1 and "1 kernel is not right on opencl" in checked.err
    (result,) = checked.results
    (bad,) = [kernel for kernel in result["check"]["kernels"] if kernel["finding"] not in ("right", "untried")]
    assert (bad["kernel"], bad["finding"]) == ("softmax_gpu", finding) and bad["problem"].startswith("softmax")
    assert ("is 7" if finding == "wrong" else "different bits") in bad["why"]
    assert f"\n{finding} softmax_gpu\n" in (tmp_path / "rynd" / os.path.basename(result["check"]["file"])).read_text()
    # networks take the CPU's kernel, and the plan says why
    model = save(tmp_path / "m.onnx", [helper.make_node("Softmax", ["x"], ["y"], axis=1)], [("x", "float32", [5, 37])], [("y", "float32", [5, 37])])
    (plan,) = ran("plan", model, "--device", "opencl", "--json").results
    (step,) = plan["nodes"]
    assert not step["kernel"].endswith("_gpu") and "softmax_gpu is not used: `rynd devices --check` found it wrong" in step["reason"]
    x = np.linspace(-1, 1, 185, dtype="float32").reshape(5, 37)
    np.save(tmp_path / "x.npy", x)
    ran("run", model, "-i", tmp_path / "x.npy", "--device", "opencl", "-o", tmp_path / "y.npy")
    assert np.allclose(np.load(tmp_path / "y.npy"), np.exp(x) / np.exp(x).sum(1, keepdims=True), rtol=1e-5)
    # a single problem has no other kernel there: the error names the kernel and the finding
    for subject, *more in ((SOFTMAX,), (SOFTMAX, "--set", "kernel=softmax_gpu"), (SOFTMAX, "--set", "group=64"), (model, "--set", "y.kernel=softmax_gpu")):
        rynd("plan", subject, "--device", "opencl", *more).failed("softmax_gpu", "is not used", "rynd devices --check")
    for command in ("bench", "tune", "predict"):
        rynd(command, SOFTMAX, "--device", "opencl").failed("softmax_gpu", "is not used", "rynd devices --check")


def test_a_device_that_is_not_here_is_predicted(ran, rynd, absent_cuda, small_net, tmp_path):
    for subject in ("conv c=64 h=56 w=56 k=64 r=3 s=3 pad=1 bias=1", SOFTMAX, str(small_net)):
        batch = [] if " " in subject else ["--batch", "2"]
        (result,) = ran("predict", subject, *batch, "--device", "cuda", "--machine", absent_cuda, "--json").results
        assert result["time"]["median"] > 0
    rynd("predict", SOFTMAX, "--device", "cuda").failed("no-libcuda.so")
    rynd("bench", SOFTMAX, "--device", "cuda", "--machine", absent_cuda).failed("cuda", "not here", "no-libcuda.so")
    np.save(tmp_path / "x.npy", np.ones((1, 3, 8, 8), "float32"))
    rynd("run", small_net, "-i", tmp_path / "x.npy", "--device", "cuda", "--machine", absent_cuda).failed("cuda", "not here")
    rynd("devices", "--check", "--device", "cuda", "--machine", absent_cuda).failed("cuda", "not here")
