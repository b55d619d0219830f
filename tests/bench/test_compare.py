# SPDX-License-Identifier: Apache-2.0
"""bench/compare: a small run's JSON, chart and table, and the arithmetic behind them."""
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["RYND"]).resolve().parents[1] if "RYND" in os.environ else ROOT / "build/release"
sys.path.insert(0, str(ROOT / "bench"))

from comparison import chart, estimates, limits, subjects, summary, turns  # noqa: E402

LAYER = "dw.960x7"
PEAKS = {"cores": 2, "caches": {"l1": 32768, "l2": 2**20, "l3": 2**25}, "peak": {"f32": 2e11},
         "bandwidth": {"l1": 4e11, "l2": 2e11, "l3": 6e10, "dram": 3e10}}


def compare(*arguments):
    command = [sys.executable, ROOT / "bench/compare", "--build", BUILD, "--python", sys.executable, *arguments]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    out = tmp_path_factory.mktemp("compare") / "small.json"
    done = compare("--layers", LAYER, "--peers", "onnxruntime", "--rounds", 6, "--turn", 0.001, "--seed", 1, "--out", out)
    assert done.returncode == 0, done.stderr
    return done.stdout, out


def test_json(measured):
    results = json.loads(measured[1].read_text())
    assert set(results) == {"rynd", "commit", "commands", "date", "machine", "peaks", "versions", "threads", "rounds", "turn", "seed", "subjects",
                            "summary"}
    (entry,) = results["subjects"]
    assert set(entry) == {"name", "group", "batch", "problem", "flop", "steps", "kernel", "memory", "differs", "failures", "turns", "seconds", "winner",
                          "near32", "strict", "layouts", "igemm", "limit_near32", "limit_strict"}
    forms = {"rynd", "rynd.strict", "rynd.nhwc", "rynd.igemm", "onnxruntime"}
    assert set(entry["turns"]) == set(entry["seconds"]) == set(entry["differs"]) == forms and not entry["failures"]
    assert all(len(values) == 6 and min(values) > 0 for values in entry["turns"].values())
    assert max(entry["differs"].values()) < 1e-5
    assert entry["flop"] == 2 * 960 * 49 * 9 and entry["kernel"]
    assert entry["winner"] in ("rynd", "onnxruntime") and entry["near32"]["peer"] == "onnxruntime"
    assert entry["near32"]["low"] <= entry["near32"]["ratio"] <= entry["near32"]["high"] and entry["near32"]["coverage"] >= 0.95
    assert {(row["of"], row["kind"]) for row in results["summary"]} >= {("layers", "near32"), ("depthwise layers", "strict")}


def test_chart(measured):
    root = ElementTree.parse(measured[1].with_suffix(".svg")).getroot()
    words = "".join(root.itertext())
    assert root.tag.endswith("svg") and LAYER in words and summary.PEERS["onnxruntime"] in words


def test_table(measured):
    (line,) = [line for line in measured[0].splitlines() if line.startswith(LAYER)]
    assert line.count("*") == 1 and "seed 1" in measured[0]


def test_joined(measured, tmp_path):
    out = tmp_path / "joined.json"
    done = compare("--layers", "none", "--peers", "none", "--join", measured[1], "--out", out)
    assert done.returncode == 0, done.stderr
    before, after = json.loads(measured[1].read_text()), json.loads(out.read_text())
    assert [entry["name"] for entry in after["subjects"]] == [LAYER]
    assert (after["seed"], after["commands"], after["date"]) == (1, before["commands"], before["date"])


def test_report(measured, tmp_path):
    out = tmp_path / "performance.md"
    command = [sys.executable, ROOT / "bench/report", "--out", out, measured[1]]
    assert subprocess.run(command).returncode == 0
    document = out.read_text()
    tables = [block.splitlines() for block in document.split("\n\n") if block.startswith("|")]
    assert len(tables) == 2 and all(len({len(line) for line in table}) == 1 for table in tables)
    assert LAYER in document and json.loads(measured[1].read_text())["commands"][0] in document
    assert subprocess.run([*command, "--check"]).returncode == 0
    out.write_text(document.replace(LAYER, "another"))
    assert subprocess.run([*command, "--check"], capture_output=True).returncode == 1


def test_report_tells_a_forced_instruction_set(measured, tmp_path):
    results, out = json.loads(measured[1].read_text()), tmp_path / "performance.md"
    for command, told in (("bench/compare", False), ("RYND_ISA=avx2 bench/compare", True)):
        path = tmp_path / "forced.json"
        path.write_text(json.dumps(results | {"commands": [command]}))
        assert subprocess.run([sys.executable, ROOT / "bench/report", "--out", out, path]).returncode == 0
        assert ("the peers use the best that the CPU has" in out.read_text()) == told


def test_document_is_what_the_results_say():
    if not list((ROOT / "bench/results").glob("*.json")):
        pytest.skip("nothing is measured")
    assert subprocess.run([sys.executable, ROOT / "bench/report", "--check"]).returncode == 0


def test_refused():
    for arguments, part in ((["--peers", "nobody"], "nobody"), (["--layers", "nothing*"], "nothing*"), (["--rounds", "0"], "positive"), (["--build", "/nowhere"], "not built")):
        done = compare(*arguments)
        assert done.returncode == 2 and part in done.stderr


def test_ratio():
    middle, low, high, coverage = estimates.ratio([2, 4, 6, 8, 10, 12, 14, 16, 18], [2] * 9)
    assert (middle, low, high) == (5, 2, 8) and coverage == pytest.approx(1 - 20 / 512)
    assert estimates.ratio([3, 1], [1, 1])[1:] == (1, 3, 0.5)
    assert estimates.geomean([1, 4]) == pytest.approx(2) and estimates.geomean([]) is None


def test_interval_covers():
    rng, covered = random.Random(0), 0
    for _ in range(2000):
        _, low, high, _ = estimates.ratio([math.exp(rng.gauss(0, 1)) for _ in range(12)], [1] * 12)
        covered += low <= 1 <= high
    assert covered / 2000 > 0.94


def test_list():
    layers = subjects.listed(["*"])
    assert len(layers) == 45 and len({layer.name for layer in layers}) == 45
    assert all(subjects.write(subjects.parse(layer.problem)) == layer.problem for layer in layers)
    assert [layer.name for layer in subjects.listed(["dw.9*"])] == ["dw.96x112s2", "dw.960x7", "dw.96x56k7"]


def test_random_layers():
    layers = subjects.drawn(50, 3)
    assert layers == subjects.drawn(50, 3) != subjects.drawn(50, 4)
    for layer in layers:
        problem = subjects.parse(layer.problem)
        assert subjects.write(problem) == layer.problem and problem.flop <= 4e9 and min(problem.out) >= 1
        assert problem.c % problem.groups == 0 and problem.k % problem.groups == 0


def test_sweep():
    points = subjects.swept("conv c=3 h=225 w=225 k=32 r=3 s=3 pad=0..8:4")
    assert [p.name for p in points] == ["pad=0", "pad=4", "pad=8"]
    assert points[1].problem == "conv n=1 c=3 h=225 w=225 k=32 r=3 s=3 pad=4"
    entries = [{"name": p.name, "turns": {"rynd": [t], "mnn": [1, 1, 9]}} for p, t in zip(points, (3, 1, 2))]
    assert summary.dominance(entries, "rynd") == (3, "pad=0")
    assert [line.split()[0] for line in summary.dominance_lines(entries)] == ["D_max", "mnn", "rynd"]
    refused = compare("--sweep", "conv c=3 h=9 w=9 k=4")
    assert refused.returncode == 2 and "has not one range" in refused.stderr


def test_limits():
    def seconds(text, accuracy="near32", peaks=PEAKS):
        return limits.limit([text], accuracy, peaks)

    # What no form of Winograd's takes is bound by its operations, or by its bytes.
    strided = subjects.parse("conv n=1 c=64 h=57 w=57 k=64 r=3 s=3 stride=3")
    assert seconds(subjects.write(strided)) == pytest.approx(strided.flop / 2e11)
    depthwise = subjects.parse("conv n=1 c=32 h=112 w=112 k=32 r=3 s=3 pad=1 groups=32")
    assert seconds(subjects.write(depthwise)) == pytest.approx(depthwise.bytes / 6e10)
    assert limits.limit([[2e11, 1], [1, 3e10]], "near32", PEAKS) == pytest.approx(2)
    # Winograd's form saves at most 9 t^2 / (m^2 t^2) of the products: 5.06 at eight points, 2.25 at four.
    dense = "conv n=1 c=64 h=60 w=60 k=64 r=3 s=3 pad=1"
    direct = subjects.parse(dense).flop / 2e11
    assert direct / 5.07 < seconds(dense) < direct / 2.5
    assert direct / 2.26 < seconds(dense, "strict") < direct / 1.5
    line, wide = "conv n=1 c=512 w=510 k=512 s=3 pad=1", "conv n=1 c=600 h=60 w=60 k=600 r=3 s=3 pad=1"
    assert 1.8 < subjects.parse(line).flop / 2e11 / seconds(line) < 2.26
    assert 3 < subjects.parse(wide).flop / 2e11 / seconds(wide) < 4.01
    # Four phases of 2x2 taps; of 3x3 taps with stride 2 they have 1, 2, 2 and 4 of them.
    for size, low, high in ((4, 2.2, 2.79), (3, 1.5, 1.87)):
        transposed = subjects.parse(f"convt n=1 c=128 h=60 w=60 k=128 r={size} s={size} pad=1 stride=2")
        assert low < transposed.flop / 2e11 / seconds(subjects.write(transposed)) < high
    # Residues of x with 1, 2, 2 and 4 of nine taps.
    halved = subjects.parse("conv n=1 c=128 h=60 w=60 k=128 r=3 s=3 pad=1 stride=2")
    assert 1.5 < halved.flop / 2e11 / seconds(subjects.write(halved)) < 1.97
    # A dilated dim is interleaved ones.
    dilated = "conv n=1 c=512 h=28 w=28 k=512 r=3 s=3 pad=2 dilation=2"
    assert seconds(dilated) == pytest.approx(seconds("conv n=4 c=512 h=14 w=14 k=512 r=3 s=3 pad=1"))
    matrix_unit = {**PEAKS, "peak": {"f32": 2e11, "bf16": 3e13}}
    assert seconds(dense, "strict", matrix_unit) == pytest.approx(max(direct * 2e11 * 6 / 3e13, subjects.parse(dense).bytes / 6e10))


class FakeProcess:
    """Takes a second for each run, and fails in the third question."""

    def __init__(self, fails):
        self.left = 3 if fails else 1000

    def ask(self, run):
        self.left -= 1
        if self.left == 0:
            raise turns.Failure("ended")
        return {"seconds": [1.0] * run}


def test_who_fails_is_taken_out():
    failures = {}
    taken = turns.take_turns({"good": FakeProcess(False), "bad": FakeProcess(True)}, 4, 0.01, random.Random(0), lambda text: None, failures)
    assert taken == {"good": [1.0] * 4} and failures == {"bad": "ended"}


def test_chart_escapes():
    assert "&lt;" in chart.text(0, 0, "a<b")
