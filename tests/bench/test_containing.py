# SPDX-License-Identifier: Apache-2.0
"""bench/containing: larger problems contain the smaller one, and what is printed is their times and copies."""

import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def containing():
    loader = importlib.machinery.SourceFileLoader("containing", str(ROOT / "bench/containing"))
    made = importlib.util.module_from_spec(importlib.util.spec_from_loader("containing", loader))
    sys.modules["containing"] = made  # dataclasses look their module up
    loader.exec_module(made)
    return made


def test_larger_problems_contain(containing):
    for conv in containing.convolutions(300, 3):
        larger = containing.containing(conv)
        assert larger and conv not in larger
        for other in larger:
            assert all(a <= b for a, b in zip(conv.input(), other.input()))
            assert all(a <= b for a, b in zip(conv.output(), other.output()))
            assert (other.window, other.stride, other.dilation) == (conv.window, conv.stride, conv.dilation)
            assert other.c // other.groups >= conv.c // conv.groups and other.c % other.groups == other.k % other.groups == 0


def test_what_it_prints():
    done = subprocess.run([sys.executable, ROOT / "bench/containing", "--count", "30", "--worst", "3"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("30 convolutions; ")
    ratios = [float(found) for found in re.findall(r"^(\d+\.\d{3})  conv ", done.stdout, re.M)]
    assert len(ratios) == 3 and ratios == sorted(ratios, reverse=True)
    assert int(re.search(r"with its copies: (\d+)", done.stdout)[1]) <= 30
