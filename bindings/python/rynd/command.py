# SPDX-License-Identifier: Apache-2.0
"""The command `rynd` of the package."""

import json
import os
import shutil
import subprocess


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


def command_results(name, words):
    """Runs a command with --json; returns its results. A failure raises its message, wrong usage as ArgumentError."""
    from .errors import ArgumentError, Error
    done = subprocess.run([find_command(), name, "--json", "--quiet", *words], capture_output=True, text=True)
    if done.returncode:
        message = done.stderr.strip().removeprefix("rynd: ") or f"rynd {name} ended with {done.returncode}"
        raise (ArgumentError if done.returncode == 2 else Error)(message)
    return json.loads(done.stdout)["results"]
