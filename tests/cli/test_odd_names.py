# SPDX-License-Identifier: Apache-2.0
"""Names that no terminal should obey: escaped in every text, exact in JSON, harmless as names of files."""

import json
import os
import re
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
        text = all_output(*arguments, "--wide")
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
        (["plan", odd_model], 0),
        (["plan", odd_model, "--dim", f"{ODD}=3"], 0),
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
    assert r"\xff\xc3\xed\xa0d" in all_output("plan", model)
    assert r"name\xff" in all_output("inspect", os.fsdecode(b"name\xff"), code=1)


NAMES = ["../evil", "/abs/x", ".", "..", "a/b", "a:b", "a_b", "a_b_5", ODD, "\u00f6", "l" * 300, "l" * 300 + "2", "CON", "a.npy", " "]
PLAIN = ["_._evil", "_abs_x", "_", "_.", "a_b_4", "a_b_6", "a_b", "a_b_5"]


@pytest.fixture
def many_outputs(tmp_path):
    nodes = [helper.make_node("Add", ["x", f"c{i}"], [name], name=f"n{i}") for i, name in enumerate(NAMES)]
    constants = {f"c{i}": np.array(i, "float32") for i in range(len(NAMES))}
    np.save(tmp_path / "x.npy", np.zeros(1, "float32"))
    return save(tmp_path / "many.onnx", nodes, [("x", "float32", [1])], [(name, "float32", [1]) for name in NAMES], constants), tmp_path / "x.npy"


def check_plain(names):
    assert names[: len(PLAIN)] == PLAIN
    assert len(set(names)) == len(NAMES)
    for name in names:
        assert re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]*", name) and len(name) <= 251, name


def test_folder(ran, many_outputs, tmp_path):
    model, file = many_outputs
    folder = tmp_path / "deep" / "out"
    folder.parent.mkdir()
    (run,) = ran("run", model, "-i", file, "-o", f"{folder}/", "--json").results
    files = [output["file"] for output in run["outputs"]]
    assert [output["name"] for output in run["outputs"]] == NAMES
    check_plain([os.path.basename(path)[:-4] for path in files])
    assert {os.path.dirname(path) for path in files} == {str(folder)}
    assert [np.load(path)[0] for path in files] == list(range(len(NAMES)))
    assert len(os.listdir(folder)) == len(NAMES) and os.listdir(folder.parent) == ["out"]


def test_archive(ran, many_outputs, tmp_path):
    model, file = many_outputs
    ran("run", model, "-i", file, "-o", tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as archive:
        check_plain(archive.files)
        assert [archive[name][0] for name in archive.files] == list(range(len(NAMES)))


def test_archive_into_inputs_of_the_same_names(ran, many_outputs, tmp_path):
    model, file = many_outputs
    ran("run", model, "-i", file, "-o", tmp_path / "out.npz")
    node = helper.make_node("Concat", NAMES, ["y"], name="all", axis=0)
    reader = save(tmp_path / "reader.onnx", [node], [(name, "float32", [1]) for name in NAMES], [("y", "float32", [len(NAMES)])])
    ran("run", reader, "-i", tmp_path / "out.npz", "-o", tmp_path / "y.npy")
    assert np.load(tmp_path / "y.npy").tolist() == list(range(len(NAMES)))
    np.savez(tmp_path / "exact.npz", **{name: np.full(1, i, "float32") for i, name in enumerate(NAMES) if name != ODD})  # libzip refuses that one
    np.save(tmp_path / "odd.npy", np.full(1, NAMES.index(ODD), "float32"))
    ran("run", reader, "-i", tmp_path / "exact.npz", "-i", tmp_path / "odd.npy", "-o", tmp_path / "y.npy")
    assert np.load(tmp_path / "y.npy").tolist() == list(range(len(NAMES)))
