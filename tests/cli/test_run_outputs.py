# SPDX-License-Identifier: Apache-2.0
"""rynd run: what is printed, and output files, which are written whole or not at all."""

import json
import os
import re
import resource
import signal

import numpy as np
import pytest
from conftest import load, save
from onnx import helper
from PIL import Image


@pytest.fixture
def scores(identity, tmp_path):
    """A model and its input of [2, 5]; the output has the same shape."""
    array = np.array([[1, 5, 3, 5, np.nan], [-1, -2, -3, -4, -5]], "float32")
    np.save(tmp_path / "x.npy", array)
    return identity([2, 5]), tmp_path / "x.npy", array


@pytest.fixture
def two_outputs(tmp_path):
    """y/1 and y:2 are both x: names that no file should have."""
    nodes = [helper.make_node("Identity", ["x"], [name], name=f"n{i}") for i, name in enumerate(("y/1", "y:1", ".."))]
    np.save(tmp_path / "x.npy", np.ones((2, 2), "float32"))
    ends = [("x", "float32", [2, 2])], [(name, "float32", [2, 2]) for name in ("y/1", "y:1", "..")]
    return save(tmp_path / "two.onnx", nodes, *ends), tmp_path / "x.npy"


def leftovers(folder):
    return [name for name in os.listdir(folder) if name.startswith(".rynd")]


# What is printed


def test_text(ran, scores):
    model, file, _ = scores
    result = ran("run", model, "-i", file)
    assert re.search(r"^y +\[2, 5\] +f32 +-5 +[-0-9.e]+ +5\s*$", result.out, re.M)
    assert re.search(r"^time .*, peak memory .* MiB$", result.out, re.M)
    assert "output 'y' holds 1 NaN" in result.err


def test_json(ran, scores, tmp_path):
    model, file, array = scores
    result = ran("run", model, "-i", file, "-o", tmp_path / "y.npy", "--json")
    document = json.loads(result.out)
    assert document["command"] == "run" and re.fullmatch(r"\d+\.\d+\.\d+", document["rynd"])
    (run,) = document["results"]
    (output,) = run["outputs"]
    assert output["name"] == "y" and output["shape"] == [2, 5] and output["dtype"] == "f32" and output["file"] == str(tmp_path / "y.npy")
    assert output["min"] == -5 and output["max"] == 5 and abs(output["mean"] - np.nanmean(array)) < 1e-6
    assert run["time"] > 0 and run["peak_memory"] > 1e6 and isinstance(run["peak_memory"], int)
    assert ran("run", model, "-i", file, "--json").results[0]["outputs"][0]["file"] is None


def test_top(ran, scores, tmp_path):
    model, file, _ = scores
    (tmp_path / "labels.txt").write_bytes(b"zero\none\r\ntwo\n\nfour")
    result = ran("run", model, "-i", file, "--top", "3", "--labels", tmp_path / "labels.txt", "--json")
    top = result.results[0]["outputs"][0]["top"]
    assert [[v["index"] for v in row] for row in top] == [[1, 3, 2], [0, 1, 2]]
    assert [v["value"] for v in top[0]] == [5, 5, 3]
    assert [v["label"] for v in top[0]] == ["one", "", "two"]
    out = ran("run", model, "-i", file, "--top", "9", "--labels", tmp_path / "labels.txt").out
    assert "the 5 largest of 5" in out
    assert re.search(r"^ +0 +1 +5 +one$", out, re.M)
    assert ran("run", model, "-i", file, "--top", "1", "--json").results[0]["outputs"][0]["top"][0][0]["label"] is None


def test_labels(rynd, scores, tmp_path):
    model, file, _ = scores
    rynd("run", model, "-i", file, "--top", "1", "--labels", tmp_path / "none.txt").failed("none.txt", "No such file")
    rynd("run", model, "-i", file, "--labels", tmp_path / "none.txt").failed("--labels", "--top", code=2)


def test_no_progress_bar_without_a_terminal(ran, scores):
    model, file, _ = scores
    assert "\r" not in ran("run", model, "-i", file).err


def test_progress_bar_on_a_terminal(scores):
    pty = pytest.importorskip("pty")
    import subprocess

    from conftest import RYND

    model, file, _ = scores
    for quiet in ([], ["--quiet"]):
        parent, child = pty.openpty()
        process = subprocess.run([RYND, "run", model, "-i", file, "--json", *quiet], stdout=subprocess.PIPE, stderr=child)
        os.close(child)
        try:
            shown = os.read(parent, 100000)
        except OSError:
            shown = b""
        os.close(parent)
        assert process.returncode == 0
        assert (b"%" in shown) == (not quiet)


# Files


def test_folder_takes_every_output(ran, two_outputs, tmp_path):
    model, file = two_outputs
    result = ran("run", model, "-i", file, "-o", f"{tmp_path}/out/", "--json")
    files = [o["file"] for o in result.results[0]["outputs"]]
    assert files == [f"{tmp_path}/out/y_1.npy", f"{tmp_path}/out/y_1_1.npy", f"{tmp_path}/out/_..npy"]
    for path in files:
        np.testing.assert_array_equal(load(path), np.ones((2, 2)))
    ran("run", model, "-i", file, "-o", tmp_path / "out")


def test_archive_takes_every_output(ran, two_outputs, tmp_path):
    model, file = two_outputs
    ran("run", model, "-i", file, "-o", tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as archive:
        assert archive.files == ["y_1", "y_1_1", "_."]
    first = (tmp_path / "out.npz").read_bytes()
    ran("run", model, "-i", file, "-o", tmp_path / "out.npz")
    assert (tmp_path / "out.npz").read_bytes() == first


def test_one_file_takes_one_output(rynd, two_outputs, tmp_path):
    model, file = two_outputs
    for name in ("out.npy", "out.pb", "out.png"):
        rynd("run", model, "-i", file, "-o", tmp_path / name).failed(name, "3", ".npz", code=2)


@pytest.mark.parametrize("name", ["out", "out.gif", "out.onnx", ".npy/out"])
def test_formats_that_are_not_written(rynd, scores, tmp_path, name):
    model, file, _ = scores
    rynd("run", model, "-i", file, "-o", tmp_path / name).failed(name, ".npy", ".png", code=2)


def test_missing_folder(rynd, scores, tmp_path):
    model, file, _ = scores
    rynd("run", model, "-i", file, "-o", tmp_path / "none/out.npy").failed("none/out.npy", "no folder", "make it")
    rynd("run", model, "-i", file, "-o", f"{tmp_path}/none/out/").failed("none/out/", "No such file")


def test_file_in_place_of_a_folder(rynd, scores, tmp_path):
    model, file, _ = scores
    (tmp_path / "plain").write_text("")
    rynd("run", model, "-i", file, "-o", tmp_path / "plain/out.npy").failed("plain", "no folder")
    rynd("run", model, "-i", file, "-o", f"{tmp_path}/plain/").failed("plain/", "folder")


def test_folder_that_cannot_be_written(rynd, scores, tmp_path):
    model, file, _ = scores
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    # The superuser writes everywhere but into the kernel's own folders.
    closed = "/proc/self" if os.geteuid() == 0 else str(folder)
    rynd("run", model, "-i", file, "-o", f"{closed}/out.npy").failed(f"{closed}/out.npy", "cannot write")


def test_folder_with_the_name_of_the_file(rynd, scores, tmp_path):
    model, file, _ = scores
    (tmp_path / "out.npy").mkdir()
    result = rynd("run", model, "-i", file, "-o", tmp_path / "out.npy", "--json")
    assert result.results[0]["outputs"][0]["file"] == f"{tmp_path}/out.npy/y.npy"


@pytest.mark.parametrize("name", ["out.npy", "out.npz", "out.pb"])
def test_full_disk_leaves_the_old_file(rynd, identity, tmp_path, name):
    np.save(tmp_path / "x.npy", np.zeros(100000, "float32"))
    (tmp_path / name).write_text("old")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    result = rynd("run", identity([100000]), "-i", tmp_path / "x.npy", "-o", tmp_path / name, preexec_fn=limit)
    result.failed(name, "File too large", "nothing was written")
    assert (tmp_path / name).read_text() == "old"
    assert leftovers(tmp_path) == []


def test_full_device(rynd, scores, tmp_path):
    model, file, _ = scores
    (tmp_path / "out.npy").symlink_to("/dev/full")
    rynd("run", model, "-i", file, "-o", tmp_path / "out.npy").failed("out.npy", "No space left")
    assert (tmp_path / "out.npy").is_symlink()


def test_link_stays_and_its_file_is_replaced(ran, scores, tmp_path):
    model, file, array = scores
    (tmp_path / "real").mkdir()
    (tmp_path / "real/data.npy").write_text("old")
    (tmp_path / "out.npy").symlink_to("real/data.npy")
    ran("run", model, "-i", file, "-o", tmp_path / "out.npy")
    assert (tmp_path / "out.npy").is_symlink()
    np.testing.assert_array_equal(load(tmp_path / "real/data.npy"), array)
    assert leftovers(tmp_path) == leftovers(tmp_path / "real") == []


def test_mode_follows_umask(ran, scores, tmp_path):
    model, file, _ = scores
    ran("run", model, "-i", file, "-o", tmp_path / "out.npy", preexec_fn=lambda: os.umask(0o027))
    assert (tmp_path / "out.npy").stat().st_mode & 0o777 == 0o640


# Pictures


@pytest.mark.parametrize("shape", [(1, 3, 4, 5), (1, 4, 5, 3), (3, 4, 5), (4, 5, 3), (1, 1, 4, 5), (4, 5)])
def test_picture_out(ran, identity, tmp_path, shape):
    array = (np.arange(np.prod(shape)) * 4 % 256).reshape(shape).astype("float32")
    np.save(tmp_path / "x.npy", array)
    ran("run", identity(list(shape)), "-i", tmp_path / "x.npy", "-o", tmp_path / "y.png")
    got = np.asarray(Image.open(tmp_path / "y.png"))
    expected = array.reshape([d for d in shape if d != 1])
    if expected.ndim == 3 and expected.shape[0] == 3:
        expected = expected.transpose(1, 2, 0)
    np.testing.assert_array_equal(got, expected)


def test_values_are_scaled_rounded_and_clamped(ran, identity, tmp_path):
    np.save(tmp_path / "x.npy", np.array([[0, 0.5, 1, 1.5, -1, np.nan, np.inf, 0.0039]], "float32"))
    result = ran("run", identity([1, 8]), "-i", tmp_path / "x.npy", "-o", tmp_path / "y.png", "--output-scale", "255", "-v")
    assert np.asarray(Image.open(tmp_path / "y.png")).tolist() == [[0, 128, 255, 255, 0, 0, 255, 1]]
    assert "4 of 8 values" in result.err and "clamped" in result.err


def test_picture_in_and_out_with_blue_first(ran, identity, tmp_path):
    array = np.arange(60, dtype="uint8").reshape(4, 5, 3)
    Image.fromarray(array).save(tmp_path / "x.png")
    options = ["--channels", "bgr", "--scale", "1/255", "--output-scale", "255"]
    ran("run", identity(["n", 3, "h", "w"]), "-i", tmp_path / "x.png", "-o", tmp_path / "y.png", *options)
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "y.png")), array)


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 7, 4, 5), (5,), (0, 3, 4, 5)])
def test_tensor_that_is_no_picture(rynd, identity, tmp_path, shape):
    np.save(tmp_path / "x.npy", np.zeros(shape, "float32"))
    result = rynd("run", identity(list(shape)), "-i", tmp_path / "x.npy", "-o", tmp_path / "y.png")
    result.failed("'y'", str(list(shape)), "y.png", ".npy")
    assert not (tmp_path / "y.png").exists()


def test_output_scale_needs_an_output(rynd, scores):
    model, file, _ = scores
    rynd("run", model, "-i", file, "--output-scale", "2").failed("--output-scale", code=2)


def test_model_without_inputs(ran, tmp_path):
    value = helper.make_tensor("v", 1, [2], [3.0, 4.0])
    model = save(tmp_path / "constant.onnx", [helper.make_node("Constant", [], ["y"], name="c", value=value)], [], [("y", "float32", [2])])
    result = ran("run", model, "-o", tmp_path / "y.npy")
    assert load(tmp_path / "y.npy").tolist() == [3, 4]
    assert result.out.startswith("output ")
