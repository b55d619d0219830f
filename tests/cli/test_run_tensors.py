# SPDX-License-Identifier: Apache-2.0
"""rynd run on tensor files: every format, dtype and order that NumPy writes, and what is refused."""

import io
import zipfile

import numpy as np
import pytest
from conftest import load, save
from onnx import helper, numpy_helper

DTYPES = ["float32", "float16", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]


def values(dtype, shape=(2, 3, 4)):
    count = int(np.prod(shape))
    if dtype == "bool":
        return (np.arange(count) % 3 == 0).reshape(shape)
    info = np.finfo(dtype) if np.dtype(dtype).kind == "f" else np.iinfo(dtype)
    array = np.arange(count).astype(dtype)
    array[0], array[1] = info.min, info.max
    return array.reshape(shape)


def same(path, expected):
    got = load(path)
    assert got.dtype == expected.dtype and got.shape == expected.shape
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_comes_back(ran, identity, tmp_path, dtype):
    array = values(dtype)
    np.save(tmp_path / "x.npy", array)
    model = identity([2, 3, 4], dtype)
    for output in ("y.npy", "y.npz", "y.pb"):
        ran("run", model, "-i", tmp_path / "x.npy", "-o", tmp_path / output)
    same(tmp_path / "y.npy", array)
    with np.load(tmp_path / "y.npz") as archive:
        np.testing.assert_array_equal(archive["y"], array)
    (tmp_path / "x.pb").write_bytes((tmp_path / "y.pb").read_bytes())
    ran("run", model, "-i", tmp_path / "x.pb", "-o", tmp_path / "again.npy")
    same(tmp_path / "again.npy", array)


def test_pb_of_onnx(ran, identity, tmp_path):
    array = values("float32")
    (tmp_path / "x.pb").write_bytes(numpy_helper.from_array(array, "x").SerializeToString())
    ran("run", identity([2, 3, 4]), "-i", tmp_path / "x.pb", "-o", tmp_path / "y.pb")
    from onnx import TensorProto

    proto = TensorProto.FromString((tmp_path / "y.pb").read_bytes())
    assert proto.name == "y"
    np.testing.assert_array_equal(numpy_helper.to_array(proto), array)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_npy_versions(ran, identity, tmp_path, version):
    array = values("float32")
    with open(tmp_path / "x.npy", "wb") as file:
        np.lib.format.write_array(file, array, version=version)
    ran("run", identity([2, 3, 4]), "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    same(tmp_path / "y.npy", array)


def test_npy_in_fortran_order(ran, identity, tmp_path):
    array = values("float32")
    np.save(tmp_path / "x.npy", np.asfortranarray(array))
    assert b"'fortran_order': True" in (tmp_path / "x.npy").read_bytes()
    ran("run", identity([2, 3, 4]), "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    same(tmp_path / "y.npy", array)


@pytest.mark.parametrize("dtype", [">f4", ">f8", ">i2", ">u8"])
def test_npy_in_the_other_byte_order(ran, identity, tmp_path, dtype):
    native = np.dtype(dtype).newbyteorder("=").name
    array = values(native)
    np.save(tmp_path / "x.npy", array.astype(dtype))
    ran("run", identity([2, 3, 4], native), "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    same(tmp_path / "y.npy", array)


def test_npy_whose_data_is_not_aligned(ran, identity, tmp_path):
    array = values("float64")
    np.save(tmp_path / "x.npy", array)
    data = (tmp_path / "x.npy").read_bytes()
    length = int.from_bytes(data[8:10], "little")
    header = data[10 : 10 + length].rstrip() + b"\n"
    (tmp_path / "x.npy").write_bytes(data[:8] + len(header).to_bytes(2, "little") + header + data[10 + length :])
    ran("run", identity([2, 3, 4], "float64"), "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    same(tmp_path / "y.npy", array)


def test_scalar(ran, identity, tmp_path):
    np.save(tmp_path / "x.npy", np.float32(2.5))
    ran("run", identity([]), "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    same(tmp_path / "y.npy", np.array(2.5, "float32"))


def test_empty_tensor_is_legal(ran, identity, tmp_path):
    array = np.zeros((0, 3, 4), "float32")
    np.save(tmp_path / "x.npy", array)
    result = ran("run", identity(["n", 3, 4]), "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy", "--json")
    same(tmp_path / "y.npy", array)
    (output,) = result.results[0]["outputs"]
    assert output["shape"] == [0, 3, 4] and output["mean"] is None


def test_open_dimensions_take_the_tensor_s(ran, identity, tmp_path):
    array = values("float32", (5, 2))
    np.save(tmp_path / "x.npy", array)
    ran("run", identity(["n", "m"]), "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    same(tmp_path / "y.npy", array)


def test_convolution(ran, small_net, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    x = np.random.default_rng(2).standard_normal((2, 3, 8, 8)).astype("float32")
    np.save(tmp_path / "x.npy", x)
    ran("run", small_net, "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    (expected,) = onnxruntime.InferenceSession(str(small_net), providers=["CPUExecutionProvider"]).run(None, {"x": x})
    np.testing.assert_allclose(load(tmp_path / "y.npy"), expected, rtol=1e-4, atol=1e-5)


# dtypes


@pytest.mark.parametrize("source, target", [("uint8", "float32"), ("float32", "float64"), ("int64", "int32"), ("bool", "uint8"), ("int32", "float16")])
def test_conversion_that_loses_nothing(ran, identity, tmp_path, source, target):
    array = np.arange(24).reshape(2, 3, 4).astype(source)
    np.save(tmp_path / "x.npy", array)
    result = ran("run", identity([2, 3, 4], target), "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    same(tmp_path / "y.npy", array.astype(target))
    assert " to " in result.out


def test_floats_are_rounded_with_a_note(ran, identity, tmp_path):
    array = np.linspace(0, 1, 24).reshape(2, 3, 4)
    np.save(tmp_path / "x.npy", array)
    model = identity([2, 3, 4])
    result = ran("run", model, "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    assert "f64" in result.err and "rounded" in result.err
    same(tmp_path / "y.npy", array.astype("float32"))
    assert ran("run", model, "-q", "-i", tmp_path / "x.npy").err == ""


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_rounding_to_half_is_numpy_s(ran, identity, tmp_path, dtype):
    rng = np.random.default_rng(3)
    array = (rng.standard_normal(2000) * 10.0 ** rng.integers(-9, 4, 2000)).astype("float32")
    array[:8] = [0, -0.0, np.inf, -np.inf, np.nan, 65504, 2**-24, 2**-25]
    np.save(tmp_path / "x.npy", array)
    model = identity([2000], dtype)
    if dtype == "float16":
        ran("run", model, "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
        same(tmp_path / "y.npy", array.astype("float16"))
    else:
        np.save(tmp_path / "x.npy", array.astype("float16"))
        ran("run", model, "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
        same(tmp_path / "y.npy", array.astype("float16").astype("float64"))


@pytest.mark.parametrize(
    "value, source, target", [(300, "int64", "uint8"), (-1, "int32", "uint64"), (0.5, "float32", "int32"), (2**24 + 1, "int64", "float32"), (1e300, "float64", "float32")]
)
def test_conversion_that_would_lose_values(rynd, identity, tmp_path, value, source, target):
    array = np.zeros((2, 3, 4), source)
    array[1, 2, 3] = value
    np.save(tmp_path / "x.npy", array)
    result = rynd("run", identity([2, 3, 4], target), "-i", tmp_path / "x.npy")
    result.failed(tmp_path / "x.npy", "'x'", "[1, 2, 3]", "does not fit")


@pytest.mark.parametrize("array", [np.zeros(3, "complex64"), np.array(["a"]), np.zeros(2, [("a", "f4")]), np.array([None])])
def test_dtypes_that_no_tensor_has(rynd, identity, tmp_path, array):
    np.save(tmp_path / "x.npy", array, allow_pickle=True)
    rynd("run", identity([3]), "-i", tmp_path / "x.npy").failed(tmp_path / "x.npy", "dtype")


# Inputs


def test_two_inputs_by_order_and_by_name(ran, two_inputs, tmp_path):
    a, b = np.full((2, 3), 3, "float32"), np.full((2, 3), 5, "float32")
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    np.savez(tmp_path / "ab.npz", b=b, a=a)
    calls = [
        ["-i", tmp_path / "a.npy", "-i", tmp_path / "b.npy"],
        ["-i", f"b={tmp_path / 'b.npy'}", "-i", tmp_path / "a.npy"],
        [f"--input=a={tmp_path / 'a.npy'}", "--input", f"b={tmp_path / 'b.npy'}"],
        ["-i", tmp_path / "ab.npz"],
    ]
    for call in calls:
        ran("run", two_inputs, *call, "-o", tmp_path / "out.npz")
        with np.load(tmp_path / "out.npz") as out:
            np.testing.assert_array_equal(out["y"], a + b)
            np.testing.assert_array_equal(out["z"], a * b)


def test_missing_input_is_named_with_its_shape(rynd, two_inputs, tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 3), "float32"))
    result = rynd("run", two_inputs, "-i", tmp_path / "a.npy")
    result.failed("'b'", "--input b=FILE", "a f32 [2, 3]", "b f32 [2, 3]", code=2)


def test_input_that_is_not_there(rynd, two_inputs, tmp_path):
    rynd("run", two_inputs, "-i", "c=x.npy").failed("'c'", "a f32 [2, 3]", code=2)


def test_input_given_twice(rynd, two_inputs, tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 3), "float32"))
    rynd("run", two_inputs, "-i", f"a={tmp_path}/a.npy", "-i", f"a={tmp_path}/a.npy").failed("'a'", "twice", code=2)


def test_one_file_too_many(rynd, two_inputs, tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 3), "float32"))
    rynd("run", two_inputs, *["-i", tmp_path / "a.npy"] * 3).failed("a.npy", "every input has a file", code=2)


def test_shape_that_is_not_the_input_s(rynd, identity, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((2, 5), "float32"))
    rynd("run", identity([2, 3]), "-i", tmp_path / "x.npy").failed(tmp_path / "x.npy", "[2, 5]", "'x'", "[2, 3]")
    rynd("run", identity([2, 5, 1]), "-i", tmp_path / "x.npy").failed("[2, 5]", "[2, 5, 1]")


def test_nan_is_computed_with_and_mentioned(ran, identity, tmp_path):
    np.save(tmp_path / "x.npy", np.array([1, np.nan, 3], "float32"))
    model = identity([3])
    result = ran("run", model, "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy", "-v")
    assert "input 'x' holds 1 NaN" in result.err
    same(tmp_path / "y.npy", np.array([1, np.nan, 3], "float32"))
    assert "input 'x'" not in ran("run", model, "-i", tmp_path / "x.npy").err


# Bad files


def npy(array):
    data = io.BytesIO()
    np.save(data, array)
    return data.getvalue()


GOOD = npy(np.zeros((2, 3), "float32"))
BAD_NPY = {
    "empty": b"",
    "text": b"hello\n",
    "magic only": b"\x93NUMPY",
    "version": b"\x93NUMPY\x09" + GOOD[7:],
    "header beyond the end": GOOD[:8] + b"\xff\xff" + GOOD[10:],
    "half of the data": GOOD[:-10],
    "no shape": GOOD.replace(b"shape", b"shade"),
    "no order": GOOD.replace(b"fortran", b"foltran"),
    "no dtype": GOOD.replace(b"descr", b"descl"),
    "negative dimension": GOOD.replace(b"(2, 3)", b"(-2,3)"),
    "huge": GOOD.replace(b"(2, 3), }      ", b"(9999999999,3),}"),
    "overflow": GOOD.replace(b"(2, 3), }                                    ", b"(9223372036854775807,9223372036854775807), }  "),
    "too many dimensions": GOOD.replace(b"(2, 3), }" + b" " * 50, b"(" + b"1," * 24 + b"1), }      "),
    "letters": GOOD.replace(b"(2, 3)", b"(a, b)"),
    "no end": GOOD.replace(b"(2, 3), }", b"(2, 3   }"),
}


@pytest.mark.parametrize("kind", BAD_NPY)
def test_bad_npy(rynd, identity, tmp_path, kind):
    assert BAD_NPY[kind] != GOOD
    path = tmp_path / "x.npy"
    path.write_bytes(BAD_NPY[kind])
    rynd("run", identity([2, 3]), "-i", path).failed(path)


def zipped(**entries):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return data.getvalue()


def test_bad_npz(rynd, identity, tmp_path):
    path = tmp_path / "x.npz"
    good = zipped(**{"x.npy": GOOD})
    damaged = bytearray(good)
    damaged[60 + len(GOOD) - 30] ^= 1  # in the entry's data: the checksum no longer fits
    for content in (b"", b"hello\n", good[:40], good[:-30], zipped(), zipped(**{"x.npy": b"nothing"}), bytes(damaged)):
        path.write_bytes(content)
        rynd("run", identity([2, 3]), "-i", path).failed(path)


def test_npz_without_the_input_s_name(rynd, two_inputs, tmp_path):
    np.savez(tmp_path / "x.npz", c=np.zeros(1), d=np.zeros(1))
    rynd("run", two_inputs, "-i", tmp_path / "x.npz").failed("x.npz", "a f32 [2, 3]")


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\x08\x02\x08\x02\x10\x01\x4a\xff\xff\xff\xff\x0f", b"\x08\x02\x10\x01\x4a\x02ab"])
def test_bad_pb(rynd, identity, tmp_path, content):
    path = tmp_path / "x.pb"
    path.write_bytes(content)
    rynd("run", identity([2, 3]), "-i", path).failed(path)


def test_input_files_that_cannot_be_read(rynd, identity, tmp_path):
    model = identity([2, 3])
    rynd("run", model, "-i", tmp_path / "missing.npy").failed("missing.npy", "No such file")
    (tmp_path / "folder.npy").mkdir()
    rynd("run", model, "-i", tmp_path / "folder.npy").failed("folder.npy", "folder")
    (tmp_path / "x.txt").write_text("1 2 3")
    rynd("run", model, "-i", tmp_path / "x.txt").failed("x.txt", ".npy", ".png", code=2)


def test_old_resize_grows_by_the_pixel_below_and_shrinks_by_the_one_above(ran, tmp_path):
    scales = {"scales": np.array([1, 1, 1.5, 0.6], "float32")}
    node = helper.make_node("Resize", ["x", "scales"], ["y"], mode="nearest")
    model = save(tmp_path / "resize.onnx", [node], [("x", "float32", [1, 1, 2, 5])], [("y", "float32", [1, 1, 3, 3])], scales, opset=10)
    x = np.arange(10, dtype="float32").reshape(1, 1, 2, 5)
    np.save(tmp_path / "x.npy", x)
    ran("run", model, "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    assert np.array_equal(load(tmp_path / "y.npy"), x[:, :, [0, 0, 1]][..., [0, 2, 4]])
