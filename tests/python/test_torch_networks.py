# SPDX-License-Identifier: Apache-2.0
"""Whole networks of examples/validate_further.py on the device "rynd", forward and backward, strict: right, and none needs PyTorch's loops for long."""

import pathlib
import sys

import pytest

from torch_strict import rynd, seed, torch  # noqa: F401

pytest.importorskip("torchvision")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
import further_networks  # noqa: E402
import validate_further  # noqa: E402


@pytest.mark.parametrize("name", ["unet", "yolov8n", "diffusion_block", "conv_tasnet"])
def test_network(name):
    assert validate_further.validate(name, "rynd")


def test_a_wrong_result_is_seen(monkeypatch):
    monkeypatch.setattr(validate_further, "on_device", lambda network, inputs, device: ([1.01 * part for part in validate_further.step(network, inputs)], 0.0, {}))
    assert not validate_further.validate("unet", "rynd")


def test_calls_on_the_host_are_counted():
    before = rynd.torch.host_calls().get("aten::topk.values", (0, 0))
    torch.topk(torch.randn(10, device="rynd"), 3)
    after = rynd.torch.host_calls()["aten::topk.values"]
    assert after[0] == before[0] + 1 and after[1] > before[1]


def test_networks_have_names():
    assert len(further_networks.TIMM) >= 20 and set(further_networks.TIMM) < set(further_networks.NETWORKS)
