# SPDX-License-Identifier: Apache-2.0
"""bench/fences: each case is a model that rynd plans without a reference, and the table has a row of each, the worst first."""

import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import reference_steps  # noqa: E402  (found by the line above)


@pytest.fixture
def fences(monkeypatch):
    monkeypatch.setenv("FENCES_HERE", "1")
    loader = importlib.machinery.SourceFileLoader("fences", str(ROOT / "bench/fences"))
    made = importlib.util.module_from_spec(importlib.util.spec_from_loader("fences", loader))
    sys.modules["fences"] = made  # dataclasses look their module up
    loader.exec_module(made)
    return made


def test_cases_are_planned_without_references(fences):
    import rynd
    assert len({operator.name for operator in fences.OPERATORS}) >= 50
    for operator in fences.OPERATORS:
        for dtype in operator.dtypes:
            model, feeds = fences.model_of(operator, *fences.feeds_of(operator, "small", dtype))
            loaded = rynd.Model(model, threads=1)
            assert reference_steps.unlisted([vars(step) for step in loaded.plan(inputs=feeds).steps]) == [], (operator.title, dtype)
            loaded(*feeds.values())


def test_the_table(tmp_path):
    written = tmp_path / "fences.md"
    done = subprocess.run([sys.executable, ROOT / "bench/fences", "--operators", "Relu,Einsum", "--sizes", "small,medium", "--seconds", "0", "--peers",
                           "onnxruntime", "--worst", "0", "--write", written], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^\| (Relu|Einsum)[^|]*\| (\w+) \| (\w+) \| (\w+) \| ([\d.]+) \| ([\d.]*) \| ([\d.]*) \|", done.stdout, re.M)
    assert len(rows) == 2 * (4 + 3 + 2) and {row[3] for row in rows} == {"small", "medium"}
    ratios = [float(row[6]) for row in rows if row[6]]
    assert ratios == sorted(ratios) and re.search(r"^ONNX Runtime: \d+ cases, geometric mean [\d.]+, worst [\d.]+", done.stdout, re.M)
    assert all(line in written.read_text() for line in done.stdout.splitlines() if line.startswith("| Relu"))
    refused = subprocess.run([sys.executable, ROOT / "bench/fences", "--operators", "Reluu"], capture_output=True, text=True)
    assert refused.returncode == 2 and "there is no 'Reluu'" in refused.stderr
