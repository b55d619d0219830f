# SPDX-License-Identifier: Apache-2.0
"""Arrays of other libraries, in and out, without a copy."""

import array
import ctypes
import gc
import pickle

import numpy
import pytest

import rynd

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def model(add_model):
    return rynd.load(add_model)


def test_every_kind_of_array(model):
    a = numpy.arange(4, dtype=numpy.float32).reshape(1, 4)
    flat = array.array("f", [0, 1, 2, 3])
    kinds = [a, memoryview(a), torch.from_numpy(a), memoryview(flat).cast("B").cast("f", [1, 4])]
    read_only = a.copy()
    read_only.flags.writeable = False
    total, _ = model(a, a)
    for x in kinds + [read_only, total]:
        assert model(x, a)[0].shape == (1, 4)
    assert model(total, a)[0].tolist() == (3 * a).tolist()


def test_results_share_their_memory(model):
    a = numpy.ones((1, 4), numpy.float32)
    total, _ = model(a, a)
    as_numpy, as_torch, view = numpy.asarray(total), torch.from_dlpack(total), memoryview(total)
    as_numpy[0, 0] = 7
    assert as_torch[0, 0] == 7 and view[0, 0] == 7 and total.tolist()[0][0] == 7
    assert as_numpy.ctypes.data == as_torch.data_ptr() == total.__array_interface__["data"][0]
    assert as_torch.data_ptr() % 64 == 0


def test_results_live_as_long_as_their_views(model):
    a = numpy.ones((1, 4), numpy.float32)
    views = [numpy.asarray(model(a * i, a)[0]) for i in range(100)] + [torch.from_dlpack(model(a * i, a)[0]) for i in range(100)]
    gc.collect()
    assert [float(view[0, 0]) for view in views] == [i + 1.0 for i in range(100)] * 2


def test_results_survive_their_model(conv_model):
    x = numpy.ones((1, 3, 20, 24), numpy.float32)
    model = rynd.load(conv_model)
    y = torch.from_dlpack(model(x))
    before = y.clone()
    del model
    gc.collect()
    assert (y == before).all()


STRIDED = {
    "row-major": lambda x: x,
    "channels last": lambda x: numpy.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2),
    "crop": lambda x: numpy.pad(x, ((0, 0), (0, 0), (2, 2), (3, 3)))[:, :, 2:-2, 3:-3],
    "every second": lambda x: numpy.repeat(x, 2, axis=3)[..., ::2],
    "reversed": lambda x: x[..., ::-1].copy()[..., ::-1],
    "one channel for all": lambda x: numpy.broadcast_to(x[:, :1], x.shape),
}


@pytest.mark.parametrize("name", STRIDED)
def test_strides(conv_model, name):
    x = STRIDED[name](numpy.random.default_rng(0).standard_normal((2, 3, 20, 24), dtype=numpy.float32))
    model = rynd.load(conv_model)
    session = model.plan(inputs={"x": x}).session()
    session.run(x)
    assert session.copied == 0
    expected = model(numpy.ascontiguousarray(x))
    numpy.testing.assert_allclose(model(x), expected, rtol=1e-5, atol=1e-5)
    if name != "reversed":  # PyTorch has no negative strides
        numpy.testing.assert_allclose(model(torch.from_numpy(x)), expected, rtol=1e-5, atol=1e-5)


def test_bfloat16(bf16_model):
    model = rynd.load(bf16_model)
    x = torch.tensor([1.0, -2.5, 3.0], dtype=torch.bfloat16)
    y = model(x)
    assert y.dtype == "bf16" and torch.from_dlpack(y).tolist() == [-1.0, 2.5, -3.0] and y.tolist() == [-1.0, 2.5, -3.0]
    with pytest.raises(BufferError, match="bf16"):
        memoryview(y)
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert y.numpy().dtype == ml_dtypes.bfloat16 and y.numpy().tolist() == [-1.0, 2.5, -3.0]
    assert model(x.float().numpy().astype(ml_dtypes.bfloat16)).tolist() == [-1.0, 2.5, -3.0]


def test_dlpack_of_both_versions(model):
    a = numpy.ones((1, 4), numpy.float32)
    y = model(a, a)[0]
    assert "dltensor_versioned" in repr(y.__dlpack__(max_version=(1, 0))) and "dltensor" in repr(y.__dlpack__())
    assert y.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError):
        y.__dlpack__(dl_device=(2, 0))
    assert numpy.from_dlpack(y).tolist() == y.tolist()


def test_unusual_strides_are_refused_with_a_reason(model):
    records = numpy.zeros((1, 4), dtype=[("a", "f4"), ("b", "u1")])
    with pytest.raises(rynd.ArgumentError, match="bytes apart"):
        model(records["a"], numpy.ones((1, 4), numpy.float32))


def test_array_to_numbers(model):
    a = numpy.ones((1, 4), numpy.float32)
    y = model(a, a)[0]
    assert (y.ndim, y.size, y.nbytes, y.strides) == (2, 4, 16, (16, 4)) and y[0, 1] == 2 and sum(next(iter(y))) == 8
    assert numpy.asarray(y, dtype=numpy.float64).dtype == numpy.float64
    with pytest.raises(rynd.ShapeError, match="4"):
        y.item()


def convolution(x, w, b, **options):
    return torch.nn.functional.conv2d(torch.as_tensor(x), torch.as_tensor(w), torch.as_tensor(b), **options)


def test_conv2d():
    random = numpy.random.default_rng(3)
    x = random.standard_normal((2, 8, 15, 17), dtype=numpy.float32)
    w = random.standard_normal((12, 4, 3, 3), dtype=numpy.float32)
    b = random.standard_normal(12, dtype=numpy.float32)
    options = {"stride": (2, 1), "padding": 1, "dilation": (1, 2), "groups": 2}
    expected = convolution(x, w, b, **options)
    numpy.testing.assert_allclose(rynd.conv2d(x, w, b, **options), expected, rtol=1e-4, atol=1e-4)
    last = torch.from_numpy(x).to(memory_format=torch.channels_last)
    numpy.testing.assert_allclose(rynd.conv2d(last, torch.from_numpy(w), torch.from_numpy(b), **options), expected, rtol=1e-4, atol=1e-4)
    assert rynd.conv2d(x, w[:, :, :1, :1], groups=2).shape == (2, 12, 15, 17)
    with pytest.raises(rynd.ShapeError, match="channels a group"):
        rynd.conv2d(x, w)
    with pytest.raises(rynd.ShapeError, match="4 dimensions"):
        rynd.conv2d(x[0], w)


def test_conv1d_and_conv3d():
    x, w = numpy.ones((1, 2, 9), numpy.float32), numpy.ones((3, 2, 3), numpy.float32)
    assert (rynd.conv1d(x, w, padding=1).numpy()[0, :, 1:-1] == 6).all()
    x, w = numpy.ones((1, 2, 4, 5, 6), numpy.float32), numpy.ones((3, 2, 3, 3, 3), numpy.float32)
    assert rynd.conv3d(x, w).shape == (1, 3, 2, 3, 4) and (rynd.conv3d(x, w).numpy() == 54).all()


def test_op():
    op = rynd.Op("matmul x0=2x3:f32 x1=3x4:f32 y0=2x4:f32", threads=1)
    a, b = numpy.ones((2, 3), numpy.float32), numpy.ones((3, 4), numpy.float32)
    assert op.run(a, b).tolist() == [[3.0] * 4] * 2 and op.step.kernel
    with pytest.raises(rynd.ShapeError, match="made for"):
        op.run(b, a)
    with pytest.raises(rynd.ArgumentTypeError, match="more inputs"):
        op.run(a)
    with pytest.raises(rynd.Error, match="nonsense"):
        rynd.Op("nonsense n=1")


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("number", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p),
                ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Lent:
    """Floats by DLPack, with any of the tensor's fields replaced."""

    def __init__(self, dims=(4, 4), steps=None, name=b"dltensor", **fields):
        self.name = name
        self.memory = (ctypes.c_float * 64)(*range(64))
        self.dims = (ctypes.c_int64 * 32)(*dims)
        self.steps = None if steps is None else (ctypes.c_int64 * 32)(*steps)
        self.tensor = DLTensor(data=ctypes.addressof(self.memory), device=1, ndim=len(dims), code=2, bits=32, lanes=1,
                               shape=ctypes.addressof(self.dims), strides=self.steps and ctypes.addressof(self.steps))
        for field, value in fields.items():
            setattr(self.tensor, field, value)

    def __dlpack__(self):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), self.name, None)

    def __dlpack_device__(self):
        return (1, 0)


LIES = {
    "rank below 0": {"ndim": -1}, "least rank": {"ndim": -2**31}, "rank 17": {"ndim": 17}, "largest rank": {"ndim": 2**31 - 1},
    "no dims": {"shape": None}, "dim below 0": {"dims": (4, -4)}, "least dim": {"dims": (-2**63, 4)},
    "dims beyond memory": {"dims": (2**62, 4)}, "dims whose product is 2^64": {"dims": (2**32, 2**32)}, "bytes beyond memory": {"dims": (2**31, 2**31)},
    "no data": {"data": None}, "no data, but an offset": {"data": None, "offset": 4096},
    "offset around": {"offset": 2**64 - 1}, "offset to 0": {"data": 4096, "offset": 2**64 - 4096},
    "strides beyond memory": {"steps": (2**62, 1)}, "strides below memory": {"steps": (-2**60, 1)}, "least strides": {"steps": (-2**63, -2**63)},
    "lanes": {"lanes": 4}, "no lanes": {"lanes": 0}, "33 bits": {"bits": 33}, "1 bit": {"bits": 1}, "no bits": {"bits": 0}, "128 bits": {"bits": 128},
    "kind": {"code": 255}, "complex": {"code": 5, "bits": 64}, "device": {"device": 2}, "device below 0": {"device": -1},
    "a taken capsule": {"name": b"used_dltensor"},
}


@pytest.mark.parametrize("lie", LIES)
def test_dlpack_that_lies(add_model, conv_model, lie):
    """An exception wherever arrays come in."""
    array, good = Lent(**LIES[lie]), numpy.ones((4, 4), numpy.float32)
    model, op = rynd.load(add_model), rynd.Op("matmul x0=4x4:f32 x1=4x4:f32 y0=4x4:f32", inputs=[good, good])
    image = numpy.ones((1, 3, 20, 24), numpy.float32)
    trainer = rynd.Trainer(conv_model, batch=1, loss="mse")
    weight = next(state.name for state in trainer.states if state.kind == "parameter")
    for enter in (lambda: rynd.expr("x0+1", array), lambda: model(array, good), lambda: model(good, b=array), lambda: model.plan(array, good),
                  lambda: op(array, good), lambda: rynd.Op("matmul x0=4x4:f32 x1=4x4:f32 y0=4x4:f32", inputs=[array, good]), lambda: trainer.step(array, good, 0.1), lambda: trainer.step(image, array, 0.1),
                  lambda: trainer.write(weight, array), lambda: rynd.load(conv_model).save(None, {"w": array})):
        with pytest.raises((rynd.Error, TypeError, ValueError)):
            enter()


def test_dlpack_that_is_right():
    """Offsets, strides below 0, and no elements without data."""
    assert rynd.expr("x0+1", Lent()).tolist()[0] == [1, 2, 3, 4]
    assert rynd.expr("x0+1", Lent(offset=16)).tolist()[0] == [5, 6, 7, 8]
    assert rynd.expr("x0+1", Lent(offset=12, dims=(4,), steps=(-1,))).tolist() == [4, 3, 2, 1]
    assert rynd.expr("x0+1", Lent(data=None, dims=(0, 4))).shape == (0, 4)
    assert rynd.expr("x0+1", Lent(dims=())).tolist() == 1


def test_bfloat16_that_lies():
    class Bytes(numpy.ndarray):
        """Says that it is of bfloat16, and shows itself as bytes."""
        dtype = property(lambda self: type("dtype", (), {"name": "bfloat16"}))

        def view(self, *_):
            return numpy.zeros(4, numpy.uint8)

    with pytest.raises(TypeError):
        rynd.expr("x0+1", numpy.zeros(4, "V2").view(Bytes))


@pytest.mark.parametrize("kind, count", [("uniform", 7), ("permutation", 3), ("normal", 0)])
def test_arrays_pickle(kind, count):
    array = getattr(rynd.random, kind)(count)
    other = pickle.loads(pickle.dumps(array))
    assert isinstance(other, rynd.Array) and (other.dtype, other.shape, other.tobytes()) == (array.dtype, array.shape, array.tobytes())


def test_bf16_arrays_pickle():
    op = rynd.Op("expr x0=4:f32 y0=4:bf16 program='cast(x0, bf16)'")
    array = op.run(numpy.arange(4, dtype=numpy.float32))
    other = pickle.loads(pickle.dumps(array))
    assert (other.dtype, other.shape, other.tobytes()) == ("bf16", (4,), b"\x00\x00\x80\x3f\x00\x40\x40\x40")
