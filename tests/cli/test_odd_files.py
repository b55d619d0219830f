# SPDX-License-Identifier: Apache-2.0
"""What a file's name may stand for besides a small file, and files that claim more than an input takes: refused at once, without the memory."""

import io
import os
import socket
import subprocess
import sys
import threading
import zipfile
import zlib

import numpy as np
import onnx
import pytest
from conftest import RYND, Result, load, save
from onnx import TensorProto, helper, numpy_helper

FORMATS = ["npy", "npz", "pb", "png", "jpg"]


def measured(*arguments, stdin=subprocess.DEVNULL):
    """The command's result, and the most memory that it held, in MiB."""
    with subprocess.Popen([RYND, *map(str, arguments)], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        limit = threading.Timer(60, process.kill)
        limit.start()
        out, err = process.stdout.read().decode(), process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        limit.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout, process.stderr = out, err
    return Result(process), usage.ru_maxrss / 1024


@pytest.fixture
def usual(identity):
    """The memory that a refusal takes, with room for what differs from run to run."""
    _, memory = measured("run", identity([2, 3]), "-i", "none.npy")
    return memory + 40


def make_odd(path, kind):
    """A pipe without a writer, a device without an end, a socket that listens, a folder, an empty file, a large one without data."""
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "socket":
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        return listener
    elif kind == "folder":
        path.mkdir()
    else:
        path.touch()
        os.truncate(path, 0 if kind == "empty" else 1 << 40)
    return None


def said_of(kind):
    return {"empty": "is empty", "large": ""}.get(kind, f"is a {kind}; a regular file is needed")


ODD = ["pipe", "device", "socket", "folder", "empty", "large"]


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("extension", FORMATS)
def test_inputs(identity, usual, tmp_path, extension, kind):
    path = tmp_path / f"x.{extension}"
    held = make_odd(path, kind)
    result, memory = measured("run", identity([2, 3]), "-i", path)
    result.failed(path, said_of(kind))
    assert memory < usual
    del held


@pytest.mark.parametrize("kind", ODD)
def test_models(usual, tmp_path, kind):
    path = tmp_path / "x.onnx"
    held = make_odd(path, kind)
    for command in ("run", "inspect", "plan", "bench"):
        result, memory = measured(command, path)
        result.failed(path)
        assert memory < usual
    del held


@pytest.mark.parametrize("kind", ODD)
def test_external_data(tmp_path, usual, kind):
    model = save(tmp_path / "m.onnx", [helper.make_node("Add", ["x", "w"], ["y"])], [("x", "float32", [3])], [("y", "float32", [3])], {"w": np.ones(3, "float32")})
    loaded = onnx.load(str(model))
    tensor = loaded.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="w.bin")
    model.write_bytes(loaded.SerializeToString())
    held = make_odd(tmp_path / "w.bin", kind)
    result, memory = measured("inspect", model)
    if kind == "large":  # only the first bytes are written
        assert result.code == 0, result.err
    else:
        result.failed(model, "w.bin" if kind != "device" else "w")
    assert memory < usual
    del held


@pytest.mark.parametrize("kind", ODD)
def test_labels(identity, usual, tmp_path, kind):
    np.save(tmp_path / "x.npy", np.zeros((2, 3), "float32"))
    path = tmp_path / "labels"
    held = make_odd(path, kind)
    result, memory = measured("run", identity([2, 3]), "-i", tmp_path / "x.npy", "--top", 1, "--labels", path)
    result.failed(path, said_of(kind) or "at most 67108864 are read")
    assert memory < usual
    del held


# Outputs


def test_output_into_a_pipe(ran, identity, tmp_path):
    array = np.arange(6, dtype="float32").reshape(2, 3)
    np.save(tmp_path / "x.npy", array)
    os.mkfifo(tmp_path / "y.npy")
    got = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "y.npy").read_bytes()))
    reader.start()
    ran("run", identity([2, 3]), "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    reader.join()
    np.testing.assert_array_equal(np.load(io.BytesIO(got[0])), array)


def test_output_that_takes_nothing(rynd, identity, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((2, 3), "float32"))
    (tmp_path / "y.npz").symlink_to("/dev/full")
    rynd("run", identity([2, 3]), "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npz").failed("y.npz", "No space left")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "y.npy"))
    rynd("run", identity([2, 3]), "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy").failed("y.npy", "cannot write")


# Headers before content


def npy(array):
    data = io.BytesIO()
    np.save(data, array)
    return data.getvalue()


def npy_header(shape, dtype="<f4"):
    data = io.BytesIO()
    np.lib.format.write_array_header_1_0(data, {"descr": dtype, "fortran_order": False, "shape": shape})
    return data.getvalue()


def test_npy_larger_than_the_input(identity, usual, tmp_path):
    path = tmp_path / "x.npy"
    path.write_bytes(npy_header((1 << 20, 1 << 17)))
    os.truncate(path, 1 << 40)
    result, memory = measured("run", identity([2, 3]), "-i", path)
    result.failed(path, "[1048576, 131072]", "[2, 3]")
    assert memory < usual


@pytest.mark.parametrize("size", [1, 4, 1 << 40])
def test_npy_with_more_behind_it(rynd, identity, tmp_path, size):
    path = tmp_path / "x.npy"
    path.write_bytes(npy(np.ones((2, 3), "float32")))
    os.truncate(path, path.stat().st_size + size)
    rynd("run", identity([2, 3]), "-i", path).failed(path, "more bytes follow its array")


@pytest.mark.parametrize("version, length", [(1, 200), (1, 65535), (2, 200), (2, 2**32 - 1), (3, 1 << 20)])
def test_npy_header_that_ends_behind_the_file(rynd, identity, tmp_path, version, length):
    head = b"\x93NUMPY" + bytes([version, 0]) + length.to_bytes(2 if version == 1 else 4, "little")
    path = tmp_path / "x.npy"
    path.write_bytes(head + b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }")
    rynd("run", identity([2, 3]), "-i", path).failed(path, "truncated", f"its header is of {length} bytes")


@pytest.mark.parametrize("shape", [(1 << 62, 4), (1 << 40, 1 << 40), ((1 << 63) - 1,)])
def test_npy_of_more_bytes_than_addresses(rynd, identity, tmp_path, shape):
    path = tmp_path / "x.npy"
    path.write_bytes(npy_header(shape) + b"\0" * 4)
    rynd("run", identity([2, 3]), "-i", path).failed(path, "truncated", str(shape[0]), "but 4 follow")


def test_npy_header_of_any_length(rynd, identity, tmp_path):
    path = tmp_path / "x.npy"
    for length in range(12):
        path.write_bytes(npy(np.ones((2, 3), "float32"))[: length + 1])
        rynd("run", identity([2, 3]), "-i", path).failed(path)
    path.write_bytes(b"\x93NUMPY\x02\x00" + (1 << 20).to_bytes(4, "little") + b" " * (1 << 20))
    rynd("run", identity([2, 3]), "-i", path).failed(path, "1048576 bytes", "plain array")


@pytest.mark.parametrize("dimensions", [17, 24, 32])
def test_npy_of_too_many_dimensions(rynd, identity, tmp_path, dimensions):
    path = tmp_path / "x.npy"
    path.write_bytes(npy_header((1,) * dimensions) + b"\0" * 4)
    rynd("run", identity([None]), "-i", path).failed(path, "more than 16 dimensions")


def test_pb_larger_than_the_input(identity, usual, tmp_path):
    path = tmp_path / "x.pb"
    head = TensorProto(dims=[1 << 29], data_type=TensorProto.FLOAT).SerializeToString()
    path.write_bytes(head + b"\x4a\x80\x80\x80\x80\x08")  # raw_data of 2 GiB
    os.truncate(path, path.stat().st_size + (1 << 31))
    result, memory = measured("run", identity([2, 3]), "-i", path)
    result.failed(path, "more than a tensor of 6 elements takes")
    assert memory < usual


@pytest.mark.parametrize("extension", ["png", "jpg"])
def test_picture_larger_than_the_input(identity, usual, tmp_path, extension):
    path = tmp_path / f"x.{extension}"
    # A separate process creates the file: this process's peak memory would count for its children.
    subprocess.run([sys.executable, "-c", f"from PIL import Image; Image.new('L', (8000, 8000)).save({str(path)!r})"], check=True)
    result, memory = measured("run", identity([1, 1, 8, 8]), "-i", path)
    result.failed(path, "8000x8000", "--size 8x8")
    assert memory < usual


def png_chunk(kind, data):
    return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")


@pytest.mark.parametrize("options", [[], ["--size", "8x8"], ["--crop", "8"], ["--preset", "imagenet"]])
def test_picture_larger_than_any_camera_s(identity, usual, tmp_path, options):
    path = tmp_path / "x.png"
    side = 50000
    head = side.to_bytes(4, "big") * 2 + bytes([1, 0, 0, 0, 0])  # one bit a pixel, grey
    data = bytes((side * side) // 8 // 1000)  # as much as could hold it
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", head) + png_chunk(b"IDAT", data) + png_chunk(b"IEND", b""))
    result, memory = measured("run", identity(["n", 1, "h", "w"]), "-i", path, *options)
    result.failed(path, "50000x50000", "268435456 pixels")
    assert memory < usual


# Archives


def zeros_entry(archive, name, megabytes):
    """A float32 array of zeros, deflated."""
    with archive.open(name, "w") as entry:
        entry.write(npy_header((megabytes << 18,)))
        for _ in range(megabytes):
            entry.write(bytes(1 << 20))


def test_npz_member_larger_than_the_input(identity, ran, usual, tmp_path):
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        zeros_entry(archive, "x.npy", 256)
    result, memory = measured("run", identity([2, 3]), "-i", path)
    result.failed(path, "[67108864]", "[2, 3]")
    assert memory < usual


def test_npz_member_that_no_input_wants(usual, identity, two_inputs, tmp_path):
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        zeros_entry(archive, "other.npy", 64)
        for name in "ab":
            archive.writestr(f"{name}.npy", npy(np.full((2, 3), ord(name), "float32")))
        archive.writestr("notes.txt", "not an array")
    result, memory = measured("run", two_inputs, "-i", path, "-o", tmp_path / "out.npz")
    assert result.code == 0 and "'other'" in result.err and "'notes.txt'" in result.err
    assert memory < usual
    with np.load(tmp_path / "out.npz") as out:
        assert out["y"][0, 0] == ord("a") + ord("b")


@pytest.mark.parametrize("method, name", [(zipfile.ZIP_LZMA, "lzma (zip method 14)"), (zipfile.ZIP_BZIP2, "bzip2 (zip method 12)")])
def test_npz_packed_by_others(rynd, identity, tmp_path, method, name):
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("x.npy", npy(np.zeros((2, 3), "float32")))
    rynd("run", identity([2, 3]), "-i", path).failed(path, "x.npy", name, "stored and deflated", "numpy.savez_compressed")


def test_npz_that_claims_more_than_it_can_hold(rynd, identity, tmp_path):
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", npy(np.zeros((2, 3), "float32")))
    data = path.read_bytes()
    size = (128 + 24).to_bytes(4, "little")
    assert data.count(size) == 2
    path.write_bytes(data.replace(size, (1 << 30).to_bytes(4, "little")))
    rynd("run", identity([2, 3]), "-i", path).failed(path, "damaged")


def test_npz_with_more_behind_an_array(rynd, identity, tmp_path):
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", npy(np.zeros((2, 3), "float32")) + b"more")
    rynd("run", identity([2, 3]), "-i", path).failed(path, "x.npy", "more bytes follow its array")


def test_npz_with_more_behind_its_directory(rynd, ran, identity, tmp_path):
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", npy(np.zeros((2, 3), "float32")))
        archive.comment = b"a comment is a part of it PK\5\6"
    ran("run", identity([2, 3]), "-i", path)
    whole = path.read_bytes()
    for more in (b"\0", b"more", b"PK\5\6", b"\0" * 70000):
        path.write_bytes(whole + more)
        rynd("run", identity([2, 3]), "-i", path).failed(path)
    for less in (1, 10, 40, len(whole) - 1):
        path.write_bytes(whole[:-less])
        rynd("run", identity([2, 3]), "-i", path).failed(path)


def test_npz_that_is_encrypted(rynd, identity, tmp_path):
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", npy(np.zeros((2, 3), "float32")))
    data = bytearray(path.read_bytes())
    for start, flags in ((data.index(b"PK\x03\x04"), 6), (data.index(b"PK\x01\x02"), 8)):
        data[start + flags] |= 1
    path.write_bytes(data)
    rynd("run", identity([2, 3]), "-i", path).failed(path, "x.npy", "is encrypted; save it without a password")


def test_npz_whose_checksum_is_wrong(rynd, identity, tmp_path):
    path = tmp_path / "x.npz"
    array = npy(np.arange(6, dtype="float32").reshape(2, 3))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", array)
    data = path.read_bytes()
    checksum = zlib.crc32(array).to_bytes(4, "little")
    path.write_bytes(data.replace(checksum, b"\0\0\0\0"))
    rynd("run", identity([2, 3]), "-i", path).failed(path, "damaged")
    path.write_bytes(data.replace(array[-4:], b"\0\0\0\0"))
    rynd("run", identity([2, 3]), "-i", path).failed(path, "damaged")


# Standard input


def piped(data, *arguments):
    """With data through a pipe that is closed behind it."""
    process = subprocess.run([RYND, *map(str, arguments)], input=data, capture_output=True, timeout=60)
    process.stdout, process.stderr = process.stdout.decode(), process.stderr.decode()
    return Result(process)


@pytest.mark.parametrize("shape", [(2, 3), (0, 3), (400, 3000)])
@pytest.mark.parametrize("open_dim", [False, True])
def test_standard_input(identity, tmp_path, shape, open_dim):
    array = np.random.default_rng(1).random(shape, "float32")
    result = piped(npy(array), "run", identity(["n", shape[1]] if open_dim else list(shape)), "-i", "-", "-o", tmp_path / "y.npy")
    assert result.code == 0, result.err
    np.testing.assert_array_equal(load(tmp_path / "y.npy"), array)
    with open(tmp_path / "y.npy", "rb") as file:
        result, _ = measured("run", identity(list(shape)), "-i", "x=-", stdin=file)
    assert result.code == 0 and "standard input" not in result.err


def test_two_arrays_through_standard_input(two_inputs, tmp_path):
    a, b = np.full((2, 3), 3, "float32"), np.full((2, 3), 5, "int8")
    result = piped(npy(b) + npy(a), "run", two_inputs, "-i", "b=-", "-i", "a=-", "-o", tmp_path / "out.npz")
    assert result.code == 0, result.err
    with np.load(tmp_path / "out.npz") as out:
        np.testing.assert_array_equal(out["y"], a + b)


def test_standard_input_that_cannot_be_used(identity, usual):
    good = npy(np.zeros((2, 3), "float32"))
    model = identity([2, 3])
    for data, part in [
        (b"", "does not begin with"),
        (b"hello\n" * 100, "does not begin with"),
        (good[:9], "does not begin with"),
        (good[:50], "ends inside its header"),
        (good[:-1], "needs 24 bytes, but 23 follow"),
        (npy(np.zeros((3, 2), "float32")), "has shape [3, 2]"),
        (npy_header((1 << 40,)), "has shape"),
    ]:
        piped(data, "run", model, "-i", "x=-").failed("standard input" if "shape" not in part else "'-'", part)
    with open("/dev/zero", "rb") as zeros:
        result, memory = measured("run", model, "-i", "-", stdin=zeros)
    result.failed("standard input", "does not begin with")
    assert memory < usual
    result = piped(npy_header((1 << 40, 3)) + bytes(3 << 20), "run", identity(["n", 3]), "-i", "-")
    result.failed("standard input", "but 3145728 follow")
    folder = os.open("/", os.O_RDONLY)
    measured("run", model, "-i", "-", stdin=folder)[0].failed("standard input", "directory")
    os.close(folder)


def test_file_named_like_standard_input(rynd, identity, tmp_path):
    (tmp_path / "-").write_bytes(b"")
    rynd("run", identity([2, 3]), "-i", "./-", cwd=tmp_path).failed("'./-'", "- for an .npy", code=2)


@pytest.mark.parametrize("method", ["npy", "pb"])
def test_wrong_shape_is_told_before_the_content_is_read(rynd, identity, tmp_path, method):
    path = tmp_path / f"x.{method}"
    array = np.zeros((5, 3), "float32")
    path.write_bytes(npy(array) if method == "npy" else numpy_helper.from_array(array).SerializeToString())
    rynd("run", identity(["n", 3]), "--batch", 4, "-i", path).failed(path, "[5, 3]", "[4, 3]")
