# SPDX-License-Identifier: Apache-2.0
"""Results that are known exactly, where a shorter way to compute them would be wrong."""

import numpy as np
import pytest
from conftest import load, save_node


@pytest.mark.parametrize("numbers", [(2**53 + 1, 2**53 + 6, 2), (-(2**63), 2**63 - 1, 2**62), (2**63 - 1, -(2**63), -(2**62)), (5, 5, 1), (5, 1, 1)])
def test_integer_ranges_are_exact(ran, tmp_path, numbers):
    for constants in [], [0, 1, 2]:
        arguments = save_node(tmp_path, "Range", {}, [np.array(n, "int64") for n in numbers], constants)
        ran("run", *arguments, "-o", tmp_path / "y.npy")
        assert load(tmp_path / "y.npy").tolist() == list(range(*numbers))


def test_crop_by_scales(ran, tmp_path):
    """The roi says which part is resized; the size is the whole input's times the scale."""
    x = np.arange(8, dtype="float32").reshape(1, 1, 1, 8)
    attributes = {"coordinate_transformation_mode": "tf_crop_and_resize", "mode": "linear"}
    for scale, size in (2, 16), (1.3, 10), (0.7, 5):
        inputs = [x, np.array([0, 0, 0, 0.25, 1, 1, 1, 0.75], "float32"), np.array([1, 1, 1, scale], "float32")]
        ran("run", *save_node(tmp_path, "Resize", attributes, inputs, [1, 2]), "-o", tmp_path / "y.npy")
        assert np.allclose(load(tmp_path / "y.npy"), np.linspace(1.75, 5.25, size).reshape(1, 1, 1, size), atol=1e-6)
