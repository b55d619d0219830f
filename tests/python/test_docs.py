# SPDX-License-Identifier: Apache-2.0
"""Each recipe of docs/python.md runs as it stands."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECIPES = re.findall(r"### (\d+\. [^\n]*)\n.*?```python\n(.*?)```", (ROOT / "docs/python.md").read_text(), re.DOTALL)


def test_there_are_fourteen():
    assert len(RECIPES) == 15


@pytest.mark.parametrize("title, code", RECIPES, ids=[title for title, _ in RECIPES])
def test_recipe(title, code, monkeypatch):
    if "import torch" in code:
        pytest.importorskip("torch")
    monkeypatch.chdir(ROOT)
    (ROOT / "build").mkdir(exist_ok=True)
    exec(compile(code, f"docs/python.md, {title}", "exec"), {"__name__": "recipe"})
