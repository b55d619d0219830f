# SPDX-License-Identifier: Apache-2.0
"""What tests of the device "rynd" share: PyTorch, or a skip of the module that imports this one; errors in place of fallbacks; a seed."""

import importlib.util
import os

import pytest

torch = pytest.importorskip("torch")
if tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 11) or not importlib.util.find_spec("rynd"):
    pytest.skip("the device needs PyTorch 2.11: make check-torch", allow_module_level=True)

os.environ["RYND_TORCH_STRICT"] = "1"
import rynd.torch  # noqa: E402, F401

nn, F = torch.nn, torch.nn.functional


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)
