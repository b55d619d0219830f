# SPDX-License-Identifier: Apache-2.0
"""The command that the package brings."""

import os
import shutil


def own_command():
    """Its path, whether it is there or not."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "rynd")


def find_command():
    """The package's own command, else the one on PATH."""
    from .errors import MissingFileError
    own = own_command()
    found = own if os.path.exists(own) else shutil.which("rynd")
    if not found:
        raise MissingFileError(f"{own} is not there, and no command rynd on PATH: this is not an installed package (pip install .)")
    return found
