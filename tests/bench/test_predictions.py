# SPDX-License-Identifier: Apache-2.0
"""bench/predictions and bench/fit_networks.py: fits find what times were made of, tables are written as they are read, and a small run."""
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import random
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["RYND"]).resolve().parents[1] if "RYND" in os.environ else ROOT / "build/release"
sys.path.insert(0, str(ROOT / "bench"))

import fit_networks  # noqa: E402

MACHINE = {"footprint": 6e7, "l2": 4 << 20, "l3": 64 << 20, "l3_rate": 6e10, "dram_rate": 3e10, "latency": 1.5e-7, "cores": 2}
COSTS = {"own": 0.1, "shared": 16, "near": 0.4, "rate": 0.8, "around": 2, "exposed": 0.7, "region": 1.5, "lines": 10}


@pytest.fixture(scope="module")
def predictions():
    loader = importlib.machinery.SourceFileLoader("predictions", str(ROOT / "bench/predictions"))
    made = importlib.util.module_from_spec(importlib.util.spec_from_loader("predictions", loader))
    loader.exec_module(made)
    return made


def networks(factors, noise, count=10, steps=60):
    """Networks whose steps take what COSTS and factors say, times noise."""
    r, rows = random.Random(1), []
    for n in range(count):
        made = []
        for _ in range(steps):
            family, size = r.choice(list(factors)), 10 ** r.uniform(4, 7)
            made.append({"family": family, "arithmetic": 10 ** r.uniform(-6, -3), "overhead": 1e-6, "pack": 0, "bytes": size, "raw": size * r.choice([0, 0.5]),
                         "read": 0, "micro_batches": r.choice([1, 1, 4]), "time": 1})
            made[-1]["read"] = 2 * made[-1]["raw"]
        rows.append({"network": f"net{n} b1", "machine": MACHINE, "steps": made})
    all_steps = fit_networks.Steps(rows)
    factor = [factors[all_steps.families[f]] for f in all_steps.family]
    times = fit_networks.predict(all_steps, COSTS, fit_networks.numpy.array(factor))
    for step, time in zip([step for row in rows for step in row["steps"]], times):
        step["time"] = float(time) * r.lognormvariate(0, noise)
    return rows


def test_factors_and_spreads_are_found():
    factors = {"igemm": 1.5, "expr": 0.6}
    _, found, spreads = fit_networks.fit(networks(factors, 0.1), COSTS)
    assert found == {family: pytest.approx(factor, rel=0.1) for family, factor in factors.items()}
    assert spreads[""] == pytest.approx(0.11, rel=0.3)


def test_costs_are_found_from_others():
    rows = networks({"igemm": 1, "expr": 1}, 0.02)
    begin = {**COSTS, "lines": 3, "rate": 0.5, "own": 0.5}
    costs, factors, _ = fit_networks.fit(rows, begin, rounds=6)
    for row, total in zip(rows, fit_networks.sums(rows, costs, factors)):
        assert total == pytest.approx(sum(step["time"] for step in row["steps"]), rel=0.1)


def test_a_family_that_nobody_saw_is_taken_as_counted():
    rows = networks({"igemm": 1}, 0)
    assert fit_networks.sums(rows, COSTS, {}) == fit_networks.sums(rows, COSTS, {"igemm": 1.0})


def test_tables_are_written_as_they_are_read(predictions, tmp_path, monkeypatch):
    for name in ("TABLE", "COSTS"):
        copy = tmp_path / f"{name}.inc"
        copy.write_text(getattr(predictions, name).read_text())
        monkeypatch.setattr(predictions, name, copy)
    before = predictions.read_costs()
    assert set(before) == set(fit_networks.RANGES)
    predictions.write_costs({**before, "lines": 7.5})
    assert predictions.read_costs() == {**before, "lines": 7.5}
    rows = predictions.ROW.findall(predictions.TABLE.read_text())
    assert rows[-1][:2] == ("", "")
    predictions.write_residuals("Some core", {"conv": 1.25, "conv_long": 2}, {"conv": 0.3, "conv_long": 0.2, "": 0.4})
    after = predictions.ROW.findall(predictions.TABLE.read_text())
    assert [row for row in after if row[0] != "Some core"] == rows
    assert [row[1:] for row in after if row[0] == "Some core"] == [("conv_long", "2.000", "0.200"), ("conv", "1.250", "0.300"), ("", "1.000", "0.400")]


def test_a_small_run(tmp_path):
    data = tmp_path / "data.jsonl.gz"
    command = [sys.executable, ROOT / "bench/predictions", ROOT / "models/upscale2x.onnx", "--batch", "1", "--seconds", "0", "--threads", "1", "--data", data]
    environment = {**os.environ, "RYND": str(BUILD / "bin/rynd")}
    done = subprocess.run(command + ["--layers", "2", "--seed", "3"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for word in ("networks ", "steps ", "layers "):
        (line,) = [line for line in lines if line.startswith(word) and "MAPE" in line]
        assert "in the interval" in line and "oracle" in line
    again = subprocess.run(command, capture_output=True, text=True, env={**environment, "RYND": "/no/rynd"})
    assert again.returncode == 0 and "networks" in again.stdout
    assert json.dumps(again.stdout.splitlines()[0]) == json.dumps(lines[0])
