# SPDX-License-Identifier: Apache-2.0
"""A network of super-resolution, in every spelling of its pixel shuffles: right, and planned without a step that only moves data."""

import sys

import numpy as np
import onnx
import pytest
from conftest import ROOT, run_rynd
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(ROOT / "tests/support"))
import upscaler_model  # noqa: E402

SIZE = (24, 40)


@pytest.fixture(scope="module")
def expected():
    x = np.random.default_rng(5).standard_normal((1, 3, *SIZE)).astype(np.float32)
    return {spelling: (x, ReferenceEvaluator(upscaler_model.make(spelling, *SIZE)).run(None, {"x": x})[0]) for spelling in upscaler_model.SPELLINGS}


@pytest.mark.parametrize("isa", ["", "avx2", "generic"])
@pytest.mark.parametrize("nhwc", [False, True], ids=["nchw", "nhwc"])
@pytest.mark.parametrize("spelling", upscaler_model.SPELLINGS)
def test_spelling(ran, tmp_path, monkeypatch, expected, spelling, nhwc, isa):
    if isa:
        monkeypatch.setenv("RYND_ISA", isa)
    path = tmp_path / "net.onnx"
    onnx.save(upscaler_model.make(spelling, *SIZE, nhwc=nhwc), path)
    x, y = expected[spelling]
    np.save(tmp_path / "x.npy", x.transpose(0, 2, 3, 1) if nhwc else x)
    ran("run", path, "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    got = np.load(tmp_path / "y.npy")
    np.testing.assert_allclose(got.transpose(0, 3, 1, 2) if nhwc else got, y, rtol=1e-4, atol=1e-4 * np.abs(y).max())
    (plan,) = run_rynd("plan", path, "--json").results
    kernels = [node["kernel"] for node in plan["nodes"]]
    if any(kernel.endswith("split_amx") for kernel in kernels):
        return  # AMX's products have no transposed form: one of them and a shuffle behind it may well be the faster way
    assert len(kernels) == 8 and not [kernel for kernel in kernels if not kernel.startswith("conv")], kernels
    assert not plan["conversions"] or (isa == "generic" and not nhwc)  # plain C may write three planes by way of another layout


@pytest.mark.parametrize("seed", range(12))
def test_any_block(ran, tmp_path, seed):
    """Odd channels, blocks of 2 to 4, windows of 1 to 5, behind and before other convolutions: right, whether the planner joins them or not."""
    random = np.random.default_rng(seed)
    block, window, channels = (int(random.integers(low, high)) for low, high in ((2, 5), (0, 3), (1, 21)))
    spelling = upscaler_model.SPELLINGS[seed % 4]
    b = upscaler_model.Builder(seed)
    x = b.conv("x", 3, 19, relu=True)
    x = b.conv(x, 19, channels * block * block, window=2 * window + 1)
    x = b.node("Tanh", [b.shuffle(x, spelling, (1, channels, 13, 18), r=block)])
    if seed % 3:
        x = b.conv(x, channels, 5)
    model = b.model("x", (1, 3, 13, 18), x, (1, 5 if seed % 3 else channels, 13 * block, 18 * block))
    onnx.save(model, tmp_path / "net.onnx")
    data = random.standard_normal((1, 3, 13, 18)).astype(np.float32)
    np.save(tmp_path / "x.npy", data)
    ran("run", tmp_path / "net.onnx", "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    expected = ReferenceEvaluator(model).run(None, {"x": data})[0]
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())
