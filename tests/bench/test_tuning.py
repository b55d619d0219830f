# SPDX-License-Identifier: Apache-2.0
"""bench/tuning: small runs; what is the same and what is near, from choices that the test makes up."""
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROBLEM = "conv c=8 h=12 w=12 k=8 r=3 s=3 pad=1"


@pytest.fixture
def module():
    loader = importlib.machinery.SourceFileLoader("tuning", str(ROOT / "bench/tuning"))
    made = importlib.util.module_from_spec(importlib.util.spec_from_loader("tuning", loader))
    loader.exec_module(made)
    made.PROGRAM = pathlib.Path(os.environ.get("RYND", made.PROGRAM))
    return made


def result(kernel, ratio):
    form = {"n": 5, "mean": 1.0, "variance": 0.04}
    return {"problems": [{"kernel": kernel, "knobs": "", "ratio": ratio, "time": 0.5, "choice": form | {"variance": 0.01}, "default": form}]}


def test_same_and_near(module, monkeypatch):
    made = iter([result("a", 0.80), result("a", 0.80), result("b", 0.82), result("c", 1.0)])
    monkeypatch.setattr(module, "tune", lambda *_: next(made))
    same, near, seconds, ratio, spread = module.layer(PROBLEM, 1, 4)
    assert (same, near, seconds, ratio) == (2, 3, 0.5, 0.80)
    assert spread == pytest.approx(0.5)


def test_network_that_is_not_taken_counts_as_untuned(module, monkeypatch, capsys):
    whole = {"before": 0.01, "after": 0.011, "ratio": 1.1, "runs": 5, "tuned": False}
    monkeypatch.setattr(module, "tune", lambda *_: {"model": whole, "used": 1.0})
    module.networks(["m.onnx"], 1, 1)
    out = capsys.readouterr().out
    assert "not taken" in out and "tuned over untuned 1.000" in out


def test_run(module, capsys):
    module.layers([PROBLEM], 1, 2)
    assert re.search(r"1 layers, 2 processes each, 1 threads: the same choice \d", capsys.readouterr().out)


def test_bad_problem():
    process = subprocess.run([sys.executable, ROOT / "bench/tuning", "conv c=0", "--processes", "1"], capture_output=True, text=True)
    assert process.returncode == 1 and "conv c=0" in process.stderr
