# SPDX-License-Identifier: Apache-2.0
"""bench/scaling: the model of a step by hand, the fit of links, the chart, the table that is simulated, and what is refused."""
import os
import pathlib
import shutil
import subprocess
import sys
import xml.etree.ElementTree

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["RYND"]).resolve().parents[1] if "RYND" in os.environ else ROOT / "build/release"
sys.path.insert(0, str(ROOT / "bench"))

from comparison import scaling

LINK = scaling.Link("test", 0.5, 100)


def test_a_ring_hands_on_each_byte_but_a_ranks_own():
    assert scaling.all_reduce_seconds(400, 1, LINK) == 0
    assert scaling.all_reduce_seconds(400, 2, LINK) == 2 * (0.5 + 2)
    assert scaling.all_reduce_seconds(400, 4, LINK) == 6 * (0.5 + 1)


def test_steps_go_on_beside_the_exchange():
    # forward, two gradients, their updates: bucket 0 is there at 2, back at 3; bucket 1 at 3, back at 4.
    steps, fast = [1, 1, 1, 0.25, 0.25], scaling.Link("fast", 0.25, 400)
    buckets = [(200, 2, 3), (200, 3, 4)]
    assert scaling.all_reduce_seconds(200, 2, fast) == 1
    assert scaling.step_seconds(steps, buckets, 1, fast) == (3.5, 0)
    assert scaling.step_seconds(steps, buckets, 2, fast) == (4.25, 0.75)
    # twice the latency: bucket 0 is back at 3.5, and only then bucket 1 begins, back at 5
    slow = scaling.Link("slow", 0.5, 400)
    assert scaling.step_seconds(steps, buckets, 2, slow) == (5.25, 1.75)


def test_a_bucket_that_no_step_awaits_is_waited_for_at_the_end():
    assert scaling.step_seconds([1], [(0, 1, 1)], 2, LINK) == (2, 1)


def test_links_are_found_again():
    for link in (LINK, scaling.Link("no latency", 0, 5e9), scaling.Link("lan", 3e-5, 1.25e9)):
        times = [(size, ranks, scaling.all_reduce_seconds(size, ranks, link)) for size in (1 << 10, 1 << 16, 1 << 22) for ranks in (2, 4)]
        found = scaling.fit_link(times)
        assert found.latency == pytest.approx(link.latency, rel=1e-6, abs=1e-12) and found.bandwidth == pytest.approx(link.bandwidth, rel=1e-6)
    falling = [(1 << 10, 2, 1.0), (1 << 22, 2, 0.5)]  # noise: what grows with the bytes falls
    assert scaling.fit_link(falling).bandwidth > 0 and scaling.fit_link(falling).latency >= 0


def test_table_and_chart():
    table = scaling.simulate([1, 1], [(100, 0, 1)], [1, 2, 1000], [LINK, scaling.Link("free", 0, 1e30)])
    assert [row[3] for row in table["free"]] == [1, 1, 1]
    efficiencies = [row[3] for row in table["test"]]
    assert efficiencies[0] == 1 and efficiencies[0] > efficiencies[1] > efficiencies[2] > 0
    svg = xml.etree.ElementTree.fromstring(scaling.chart({"a net": table}, "words & more"))
    assert sum(child.tag.endswith("polyline") for child in svg) == 2


def scaled(*arguments):
    return subprocess.run([sys.executable, ROOT / "bench/scaling", "--build", BUILD, *map(str, arguments)], capture_output=True, text=True, timeout=600)


needs_network = pytest.mark.skipif(not (ROOT / "build/networks/resnet18.onnx").exists(), reason="no exported networks: tests/networks/export.py")


@needs_network
def test_simulated(tmp_path):
    done = scaled("--simulate", "--batch", 2, "--faster", 8, "--svg", tmp_path / "chart.svg")
    assert done.returncode == 0, done.stderr
    assert "| 1000 |" in done.stdout and (tmp_path / "chart.svg").read_text().startswith("<svg")


@needs_network
@pytest.mark.skipif(not shutil.which("mpirun") or not (BUILD / "lib/librynd_mpi.so").exists(), reason="no mpirun, or librynd_mpi.so was not built")
def test_measured(tmp_path):
    done = scaled("--batch", 1, "--ranks", "1,2", "--steps", 1, "--rounds", 1, "--out", tmp_path / "out.json")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3 and '"speedup"' in (tmp_path / "out.json").read_text()


def test_errors():
    for arguments, word in ((["--nets", "nosuchnet"], "nosuchnet"), (["--ranks", "0"], "positive"), (["--faster", 0], "positive")):
        done = scaled(*arguments)
        assert done.returncode == 1 and word in done.stderr and "Traceback" not in done.stderr
    done = subprocess.run([sys.executable, ROOT / "bench/scaling", "--build", "/nowhere"], capture_output=True, text=True)
    assert done.returncode == 1 and "/nowhere" in done.stderr
