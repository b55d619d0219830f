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
