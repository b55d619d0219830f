# SPDX-License-Identifier: Apache-2.0
"""Names that no terminal should obey: escaped in every text, exact in JSON, harmless as names of files."""

import json
import os
import subprocess
import unicodedata
import zipfile

import numpy as np
import pytest
from conftest import RYND, save
from onnx import helper

# Escapes of terminals, in C0 and C1; two lines; an override of direction; separators; a tag.
ODD = "a\x1b[31m\x9b2J\nb\r\x7f\u202ec\u2028\U000e0041"
SHOWN = r"a\x1b[31m\u009b2J\nb\r\x7f\u202ec\u2028\U000e0041"


def all_output(*arguments, code=0):
    """Both streams, checked: UTF-8 without a character that a terminal obeys or does not show."""
    process = subprocess.run([RYND, *map(os.fsencode, map(str, arguments))], capture_output=True, timeout=120)
    assert process.returncode == code, process.stderr
    text = (process.stdout + process.stderr).decode("utf-8")
    odd = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs") and c not in "\n\t"}
    assert not odd, odd
    return text


@pytest.fixture
def odd_model(tmp_path):
    """y = relu(x), and every name is odd."""
    node = helper.make_node("Relu", [ODD + "x"], [ODD + "y"], name=ODD + "node")
    end = [ODD + "dim", 3]
    return save(tmp_path / f"model{ODD}.onnx", [node], [(ODD + "x", "float32", end)], [(ODD + "y", "float32", end)])


@pytest.fixture
def odd_input(tmp_path):
    path = tmp_path / f"x{ODD}.npy"
    np.save(path, np.array([[np.nan, -1, 2]], "float32"))
    return path


def test_text(odd_model, odd_input, tmp_path):
    (tmp_path / "labels").write_text("zero\x1b[0m\n\u202eone\n")
    for arguments, parts in [
        (["inspect", odd_model], ["x", "y", "dim"]),
        (["inspect", odd_model, "--batch", 2], ["x", "y"]),
        (["plan", odd_model, "--batch", 2, "-v"], ["node"]),
        (["bench", odd_model, "--batch", 2, "--rounds", 1, "--min-time", 0], []),
        (["run", odd_model, "-i", odd_input, "-v", "--top", 2, "--labels", tmp_path / "labels"], ["x", "y"]),
        (["run", odd_model, "-i", f"{ODD}x={odd_input}", "-o", tmp_path / f"out{ODD}.npy", "-v"], ["x", "y"]),
    ]:
        text = all_output(*arguments)
        for part in parts:
            assert SHOWN + part in text, (arguments, text)


def test_messages(odd_model, odd_input, tmp_path):
    wrong = tmp_path / f"wrong{ODD}.npy"
    np.save(wrong, np.zeros(3, "float32"))
    archive = tmp_path / f"a{ODD}.npz"
    np.savez(archive, **{ODD + "c": np.zeros(1), ODD + "d": np.zeros(1)})
    damaged = tmp_path / f"d{ODD}.npz"
    with zipfile.ZipFile(damaged, "w") as entries:
        entries.writestr(ODD + ".npy", b"nothing")
    for arguments, code in [
        (["plan", odd_model], 1),
        (["plan", odd_model, "--dim", f"{ODD}=3"], 1),
        (["run", odd_model], 2),
        (["run", odd_model, "-i", wrong], 1),
        (["run", odd_model, "-i", archive], 1),
        (["run", odd_model, "-i", damaged], 1),
        (["run", odd_model, "-i", tmp_path / f"none{ODD}.npy"], 1),
        (["run", odd_model, "-i", tmp_path / f"none{ODD}.txt"], 2),
        (["run", odd_model, "-i", odd_input, "-o", tmp_path / f"none{ODD}/out.npy"], 1),
        (["inspect", tmp_path / f"none{ODD}.onnx"], 1),
        ([f"command{ODD}"], 2),
        (["run", f"--{ODD}"], 2),
    ]:
        assert SHOWN in all_output(*arguments, code=code), arguments
    assert r"'c=1\x1b[31m\u009b'" in all_output("bench", "conv c=1\x1b[31m\x9b", code=1)


def test_json_has_the_names_themselves(odd_model, odd_input, tmp_path):
    (model,) = json.loads(all_output("inspect", odd_model, "--json"))["results"]
    assert model["name"] == str(odd_model)
    assert model["inputs"][0]["name"] == ODD + "x" and model["inputs"][0]["shape"] == [ODD + "dim", 3]
    (tmp_path / "labels").write_text("\x9b\n\"quoted\"\\\n")
    (run,) = json.loads(all_output("run", odd_model, "-i", odd_input, "-o", tmp_path / f"out{ODD}.npy", "--top", 3, "--labels", tmp_path / "labels", "--json", "-q"))["results"]
    (output,) = run["outputs"]
    assert output["name"] == ODD + "y" and output["file"] == str(tmp_path / f"out{ODD}.npy")
    assert [v["label"] for v in output["top"][0]] == [None, '"quoted"\\', "\x9b"]
    (plan,) = json.loads(all_output("plan", odd_model, "--batch", 2, "--json"))["results"]
    assert plan["nodes"][0]["name"] == ODD + "node"


def test_names_that_are_no_utf8(odd_input, tmp_path):
    """Bytes that protobuf's own writers refuse: put into the file of a model with plain names."""
    node = helper.make_node("Relu", ["XXXXx"], ["XXXXy"], name="XXXXn")
    model = save(tmp_path / "plain.onnx", [node], [("XXXXx", "float32", ["XXXXd", 3])], [("XXXXy", "float32", ["XXXXd", 3])])
    model.write_bytes(model.read_bytes().replace(b"XXXX", b"\xff\xc3\xed\xa0"))
    for arguments in (["inspect", model], ["plan", model, "--batch", 2], ["run", model, "-i", odd_input]):
        assert r"\xff\xc3\xed\xa0" in all_output(*arguments)
        json.loads(all_output(*arguments, "--json", "-q"))
    assert json.loads(all_output("inspect", model, "--json"))["results"][0]["inputs"][0]["name"] == r"\xff\xc3\xed\xa0x"
    assert r"\xff\xc3\xed\xa0d" in all_output("plan", model, code=1)
    assert r"name\xff" in all_output("inspect", os.fsdecode(b"name\xff"), code=1)
