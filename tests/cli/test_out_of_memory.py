# SPDX-License-Identifier: Apache-2.0
"""One allocation after another fails: a message and exit code 1, or the result as ever; never a crash or a part of a file."""

import os
import pathlib
import re
import subprocess

import numpy as np
import pytest
from conftest import RYND, SANITIZED, save
from onnx import helper
from PIL import Image

LIBRARY = pathlib.Path(RYND).parents[1] / "lib" / "libfailing_malloc.so"
pytestmark = pytest.mark.skipif(SANITIZED, reason="AddressSanitizer has an allocator of its own")


def run(folder, arguments, **environment):
    environment = {**os.environ, "LD_PRELOAD": str(LIBRARY), **{key: str(value) for key, value in environment.items()}}
    read, write = os.pipe()
    process = subprocess.Popen([RYND, *map(str, arguments)], cwd=folder, env={**environment, "RYND_TEST_COUNT": str(write)}, pass_fds=[write],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.close(write)
    _, error = process.communicate(timeout=60)
    with os.fdopen(read) as counted:
        return process.returncode, error.decode(errors="replace"), counted.read()


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def check(folder, arguments, outputs, first=0.0, step=1, same=True):
    """From a share of all allocations on. `same`: the outputs have the same bytes in each run."""
    folder.mkdir()
    code, error, count = run(folder, arguments)
    assert code == 0 and int(count) > 100, error
    whole = content(folder)
    assert set(outputs) <= set(whole)
    for at in range(int(first * int(count)), int(count), step):
        for path in folder.iterdir():
            path.unlink()
        code, error, _ = run(folder, arguments, RYND_TEST_FAIL_AT=at, **({"RYND_TEST_FAIL_ON": 1} if at % 4 == 3 else {}))
        there = content(folder)
        assert code in (0, 1), (at, code, error)
        assert code == 0 or re.search("memory|malloc", error, re.IGNORECASE), (at, error)
        assert code == 1 or set(outputs) <= set(there), at
        assert set(there) <= set(whole), (at, set(there))
        for name in outputs:
            assert not same or name not in there or there[name] == whole[name], (at, name)


@pytest.fixture
def model(tmp_path):
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Neg", ["x"], ["z"])]
    shape = [1, 3, 8, 8]
    return save(tmp_path / "two.onnx", nodes, [("x", "float32", shape)], [("y", "float32", shape), ("z", "float32", shape)])


@pytest.fixture
def picture(tmp_path):
    Image.fromarray(np.arange(192, dtype=np.uint8).reshape(8, 8, 3)).save(tmp_path / "x.png")
    return tmp_path / "x.png"


def test_an_archive(tmp_path, model, picture):
    check(tmp_path / "out", ["run", model, "-i", picture, "-o", "o.npz"], ["o.npz"], first=0.5)


def test_from_the_first_allocation_on(tmp_path, model, picture):
    check(tmp_path / "out", ["run", model, "-i", picture, "-o", "o.npz"], ["o.npz"], step=7)


def test_training(tmp_path, small_net):
    random = np.random.default_rng(1)
    np.savez(tmp_path / "data.npz", x=random.standard_normal((8, 3, 8, 8), dtype=np.float32), y=np.ones((8, 4, 1, 1), "float32"))
    arguments = ["train", small_net, "--data", tmp_path / "data.npz", "--batch", 4, "--steps", 2, "--log", "l.jsonl", "--plot", "p.svg", "-o", "o.onnx"]
    check(tmp_path / "out", arguments, ["o.onnx", "o.checkpoint.npz"], step=29)


def test_a_machine(tmp_path):
    check(tmp_path / "out", ["devices", "--export", "m.txt"], ["m.txt"], step=23, same=False)


def test_a_trace(tmp_path, model):
    check(tmp_path / "out", ["profile", model, "--min-time", 0.01, "--trace", "t.json"], ["t.json"], first=0.6, step=5, same=False)


def test_wisdom(tmp_path, ran):
    """Also what is read of it: records that there is no memory for are not left out of a list in silence."""
    problem, wisdom = "conv c=4 h=8 w=8 k=4 r=3 s=3", tmp_path / "wisdom.db"
    ran("tune", problem, "--budget", 0.05, "--wisdom", wisdom)
    check(tmp_path / "out", ["wisdom", "export", "e.jsonl", "--wisdom", wisdom], ["e.jsonl"], step=37)
