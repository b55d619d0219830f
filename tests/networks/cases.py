# SPDX-License-Identifier: Apache-2.0
"""What the comparisons of whole networks share: each case in a process of its own, so that a crash is one failure and the rest goes on."""
import pathlib
import signal
import subprocess
import sys

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/support"))

TOLERANCE = 1e-4  # relative to the largest output
TIME_LIMIT = 600  # seconds a case


def relative_difference(got, expected):
    """The largest difference as a part of the largest expected value; infinite where shapes, types or NaNs disagree."""
    if got.shape != expected.shape or got.dtype != expected.dtype or not numpy.array_equal(numpy.isnan(got), numpy.isnan(expected)):
        return numpy.inf
    if got.size == 0:
        return 0.0
    difference = numpy.nanmax(numpy.abs(got.astype(numpy.float64) - expected.astype(numpy.float64)))
    return float(difference / max(numpy.nanmax(numpy.abs(expected.astype(numpy.float64))), 1e-30))


def run_case(script, case):
    """Exit code and text of `script --one case`. A case fails by an exception, is skipped by exit code 77."""
    try:
        done = subprocess.run([sys.executable, script, "--one", case], capture_output=True, text=True, timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return 1, f"no end within {TIME_LIMIT} s"
    if done.returncode < 0:
        return 1, f"crashed: {signal.Signals(-done.returncode).name}"
    lines = (done.stdout if done.returncode in (0, 77) else done.stderr or done.stdout).strip().splitlines()
    return done.returncode, lines[-1] if lines else ""


def run_cases(script, cases):
    """Runs all, prints a line for each, and closes with N passed, N failed. Returns the exit code."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for case in cases:
        code, text = run_case(script, case)
        word = {0: "passed", 77: "skipped"}.get(code, "failed")
        counts[word] += 1
        print(f"{word} {case}: {text}", flush=True)
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    print(f"{counts['passed']} passed, {counts['failed']} failed{skipped}")
    if counts["failed"]:
        return 1
    return 0 if counts["passed"] else 77
