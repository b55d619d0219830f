# SPDX-License-Identifier: Apache-2.0
"""bench/predictions: the arithmetic of fits and errors, and a small run."""
import importlib.machinery
import importlib.util
import json
import math
import os
import pathlib
import random
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["RYND"]).resolve().parents[1] if "RYND" in os.environ else ROOT / "build/release"


@pytest.fixture(scope="module")
def module():
    loader = importlib.machinery.SourceFileLoader("predictions", str(ROOT / "bench/predictions"))
    made = importlib.util.module_from_spec(importlib.util.spec_from_loader("predictions", loader))
    loader.exec_module(made)
    return made


def networks(factors, spread, count=12, steps=60):
    """Networks whose steps take `factors[kernel]` times what is predicted, times noise."""
    r = random.Random(1)
    rows = []
    for n in range(count):
        made = []
        for _ in range(steps):
            kernel = r.choice(list(factors))
            predicted = math.exp(r.uniform(-12, -7))
            time = predicted * factors[kernel] * math.exp(r.gauss(0, spread))
            made.append({"kernel": kernel, "problem": "", "predicted": predicted, "low": predicted / 2, "high": predicted * 2,
                         "time": [[time, time], [time, time]]})
        total = sum(step["time"][0][0] for step in made)
        predicted = sum(step["predicted"] for step in made)
        rows.append({"network": f"net{n} b1", "total": [[total, total]] * 2, "predicted": predicted, "low": predicted / 1.5, "high": predicted * 1.5,
                     "steps": made})
    return rows


def test_a_fit_finds_factors_and_spreads(module):
    factors = {"conv_fwd_f32_igemm_avx512": 1.5, "expr_avx2": 0.5}
    flat = {"": [1, 0.5, 1, 0.5]}
    table = module.fit(flat, module.raw_steps(networks(factors, 0.2), flat), 0)
    assert table["conv_fwd_f32_igemm"][2] == pytest.approx(1.5, rel=0.06)
    assert table["conv_fwd_f32_igemm"][:2] == [1, 0.5]  # of short vectors nothing was measured
    assert table["expr"][0] == pytest.approx(0.5, rel=0.06)
    assert table["expr"][1] == pytest.approx(math.hypot(0.2, module.LEAST_SPREAD), rel=0.2)


def test_what_is_compiled_in_does_not_matter(module):
    rows, flat = networks({"conv_fwd_f32_igemm_avx512": 2}, 0.1), {"": [1, 0.5, 1, 0.5]}
    own = {"conv_fwd_f32_igemm": [1, 0.5, 4, 0.5], **flat}
    anew = module.fit(own, module.raw_steps([{**row, "steps": [{**step, "predicted": 4 * step["predicted"]} for step in row["steps"]]} for row in rows], own), 0)
    assert anew["conv_fwd_f32_igemm"][2] == pytest.approx(2, rel=0.06)


def test_networks_left_out_are_predicted_by_the_others(module):
    rows, flat = networks({"conv_fwd_f32_igemm_avx512": 1.5, "expr_avx512": 3}, 0.1), {"": [1, 0.5, 1, 0.5]}
    for row in module.leave_one_out(rows, flat, 0):
        assert module.error(row["predicted"], row["total"][0][0]) < 0.1


def test_families_and_tables(module, tmp_path, monkeypatch):
    assert module.family_of("conv_fwd_f32_igemm_avx512_bf16") == "conv_fwd_f32_igemm"
    assert module.family_of("concat_move") == "concat_move"
    assert module.vector_of("x_amx") == 1 and module.vector_of("x_avx2") == 0
    path = tmp_path / "residuals.inc"
    path.write_text(module.TABLE.read_text())
    monkeypatch.setattr(module, "TABLE", path)
    before = module.read_table()
    module.write_table({**before, "expr": [1.25, 0.5, 2, 0.25]})
    assert module.read_table() == {**{family: pytest.approx(numbers, abs=1e-3) for family, numbers in before.items()}, "expr": [1.25, 0.5, 2, 0.25]}
    assert module.residual_of(module.read_table(), "expr_near", 1) == [2, 0.25]


def test_a_small_run(tmp_path):
    data = tmp_path / "data.jsonl"
    command = [sys.executable, ROOT / "bench/predictions", ROOT / "models/upscale2x.onnx", "--batch", "1", "--seconds", "0", "--threads", "1", "--data", data]
    environment = {**os.environ, "RYND": str(BUILD / "bin/rynd")}
    done = subprocess.run(command + ["--layers", "2", "--seed", "3"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for word in ("networks ", "steps ", "left out ", "layers "):
        (line,) = [line for line in lines if line.startswith(word) and "MAPE" in line]
        assert "in the interval" in line and "oracle" in line
    (row,) = [json.loads(line) for line in data.read_text().splitlines()]
    assert row["network"] == "upscale2x b1" and row["steps"]
    again = subprocess.run(command, capture_output=True, text=True, env={**environment, "RYND": "/no/rynd"})
    assert again.returncode == 0 and "networks" in again.stdout
