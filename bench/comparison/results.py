# SPDX-License-Identifier: Apache-2.0
"""Reads the JSON files that bench/compare writes."""
import json
import sys


def read(path):
    """The content of a result file; ends the program where it is none, saying why."""
    try:
        results = json.loads(path.read_text())
    except OSError as error:
        sys.exit(f"{path}: {error.strerror}")
    except ValueError as error:
        sys.exit(f"{path}: not a result of bench/compare: {error}")
    if not isinstance(results, dict) or not {"subjects", "peaks", "machine", "commands"} <= results.keys():
        sys.exit(f"{path}: not a result of bench/compare, which has subjects, peaks, machine and commands")
    return results
