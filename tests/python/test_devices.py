# SPDX-License-Identifier: Apache-2.0
"""Functions of the package that measure devices."""

import pytest
import rynd


class Ended(Exception):
    pass


def test_progress_ends_a_calibration():
    """The exception of the first call reaches the caller."""
    heard = []

    def progress(done, all):
        heard.append((done, all))
        raise Ended

    with pytest.raises(Ended):
        rynd.calibrate_device(threads=1, seconds=1, progress=progress)
    assert len(heard) == 1 and 0 < heard[0][0] <= heard[0][1]
