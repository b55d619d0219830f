# SPDX-License-Identifier: Apache-2.0
"""`python -m rynd` is the command."""

import os
import sys

from .command import own_command


def main():
    """Becomes the command that the package brings, with this process's arguments."""
    command = own_command()
    if not os.path.exists(command):
        sys.exit(f"{command} is not there: this is not an installed package (pip install .)")
    os.execv(command, ["rynd", *sys.argv[1:]])


if __name__ == "__main__":
    main()
