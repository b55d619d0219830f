# SPDX-License-Identifier: Apache-2.0
"""bench/fit --device cuda finds costs of a GPU that is not here: the times are the model's own with other constants, so a fit can be right."""
import json
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIT = ROOT / "bench/fit"
TRUTH = {"tile_warps": 3.5, "tile_step": 5, "tile_ends": 4}
LAYERS = ["c=512 h=7 w=7 k=512 r=3 s=3 pad=1", "c=256 h=14 w=14 k=256 r=3 s=3 pad=1", "c=1024 h=14 w=14 k=256", "c=128 h=28 w=28 k=128 r=3 s=3 pad=1",
          "c=64 h=56 w=56 k=256", "c=2048 h=7 w=7 k=512", "c=256 h=14 w=14 k=1024", "n=16 c=64 h=56 w=56 k=64 r=3 s=3 pad=1"]
TILES = ["128x128", "64x64", "64x32", "32x32", "few32x32", "few64x32"]


def run(*arguments, status=0):
    done = subprocess.run([sys.executable, FIT, "--device", "cuda", "--machine", "h100", "--threads", "1", *map(str, arguments)],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """Times of forms by a GPU with TRUTH."""
    if not (ROOT / "build/release/bin/bench_fit").exists():
        pytest.skip("bench_fit is not built: ninja -C build/release bench_fit")
    folder = tmp_path_factory.mktemp("fit")
    forms = [{"problem": f"conv {layer}", "kernel": "conv_fwd_f32_igemm_gpu", "knobs": f"tile={tile} split={split}", "least": 1e-3}
             for layer in LAYERS for tile in TILES for split in (1, 2, 6)]
    (folder / "forms.jsonl").write_text("".join(json.dumps(form) + "\n" for form in forms))
    settings = [word for name, value in TRUTH.items() for word in ("--set", f"{name}={value}")]
    run(*settings, "--predict", folder / "times.jsonl", folder / "forms.jsonl")
    return folder / "times.jsonl"


def test_constants_change_times(simulated, tmp_path):
    own = tmp_path / "own.jsonl"
    run("--predict", own, simulated)
    times, others = ([row["least"] for row in rows_of(path)] for path in (simulated, own))
    assert len(times) == len(LAYERS) * len(TILES) * 3
    assert sum(abs(a / b - 1) > 0.05 for a, b in zip(times, others)) > len(times) / 4


def test_a_fit_finds_what_times_were_made_of(simulated):
    """From a start where the waits of steps count: a fit goes downhill, and sees no slope where they hide behind instructions."""
    said = run("--dry-run", "--rounds", 300, "--set", "tile_step=2", *(word for name in TRUTH for word in ("--family", f"gpu.{name}")), simulated)
    fitted = {line.split()[1]: float(line.split()[3]) for line in said.splitlines() if line.startswith("gpu ")}
    for name, value in TRUTH.items():
        assert abs(fitted[name] / value - 1) < 0.2, said
    before, after = (float(re.search(rf"{when}, 2 problems that check: .* predictions ([\d.]+)% off", said)[1]) for when in ("before", "after"))
    assert before > 15 and after < 10, said


def test_unknown_costs_are_refused(simulated):
    assert "these are no costs" in run("--set", "tile_wraps=3", "--dry-run", simulated, status=1)
