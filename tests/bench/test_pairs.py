# SPDX-License-Identifier: Apache-2.0
"""bench/pairs: two sides in one process, and its errors."""
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["RYND"]).resolve().parents[1] if "RYND" in os.environ else ROOT / "build/release"
PROBLEM = "conv c=8 h=9 w=9 k=8 r=3 s=3 pad=1"


def pairs(*arguments):
    return subprocess.run([ROOT / "bench/pairs", *map(str, arguments)], capture_output=True, text=True, timeout=300)


def test_sides():
    done = pairs("-t", 1, "-s", 0.05, f"{BUILD},{BUILD}@layout=nhwc,{BUILD}@i:generic", PROBLEM, "dw.960x7")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 8 and lines[0] == PROBLEM and lines[4].startswith("conv ")
    rows = [re.fullmatch(r" +(\S+) +(\S+) us +least +(\S+) +ratio +(\S+) \((\S+)\.\.(\S+)\) +n (\d+) +(\S+)", line) for line in lines[1:4]]
    assert all(rows), done.stdout
    for row in rows:
        median, least, ratio, low, high = map(float, row.group(2, 3, 4, 5, 6))
        assert 0 < least <= median and low <= ratio <= high and int(row[7]) >= 3
    assert float(rows[0][4]) == 1.0 and rows[2][8].endswith("_generic")


def quantised(*arguments):
    return subprocess.run([ROOT / "bench/quantised_layers", *map(str, arguments)], capture_output=True, text=True, timeout=300)


def test_quantised_layers():
    done = quantised("-s", 0.02, "-f", BUILD, "p512-2048x7", "dw3x14")
    assert done.returncode == 0, done.stderr
    rows = [re.fullmatch(r"(\S+)( f32| residual)? +([0-9.]+) us  (?:\d+% \(\d+\.\.\d+\)|-) +of the peak  ratio [0-9.]+ \(.*\) +n \d+ +\S+", line) for line in done.stdout.splitlines()]
    assert all(rows), done.stdout
    assert [row.group(1, 2) for row in rows] == [("p512-2048x7", " f32"), ("p512-2048x7", None), ("p512-2048x7", " residual"), ("dw3x14", " f32"), ("dw3x14", None)]
    unknown = quantised(BUILD, "nosuchlayer")
    assert unknown.returncode == 1 and "'nosuchlayer'" in unknown.stderr
    assert quantised().returncode == 2


def test_errors():
    for arguments, word in ((["/nowhere", PROBLEM], "/nowhere"), ([f"{BUILD}@what", PROBLEM], "'what'"), ([BUILD, "conv c=8"], "w="), ([BUILD, "nosuchlayer"], "layers.txt"),
                            ([BUILD, "concat " + " ".join(f"x{i}=1x2:f32" for i in range(9)) + " y0=1x18:f32 axis=1"], "more than 8"),
                           
                            (["-t", "x", BUILD, PROBLEM], "'x'"), (["-s", "-1", BUILD, PROBLEM], "'-1'")):
        done = pairs(*arguments)
        assert done.returncode == 1 and word in done.stderr, (arguments, done.stderr)
    assert pairs().returncode == 2
