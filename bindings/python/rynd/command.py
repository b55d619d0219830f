# SPDX-License-Identifier: Apache-2.0
"""The command `rynd` of the package."""

import os
import shutil


def own_command():
    """Returns the path of the package's command, which may be missing."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "rynd")


def find_command():
    """Returns the path of the package's own command, or of the one on PATH."""
    from .errors import MissingFileError
    own = own_command()
    found = own if os.path.exists(own) else shutil.which("rynd")
    if not found:
        raise MissingFileError(f"{own} is not there, and no command rynd on PATH: this is not an installed package (pip install .)")
    return found
