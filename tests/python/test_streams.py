# SPDX-License-Identifier: Apache-2.0
"""Streams, buffers, operators in streams and kept operators, on every device."""

import gc
import threading
import weakref

import numpy
import pytest

import rynd

DEVICES = [device for device in rynd.devices() if not device.startswith("cuda")]


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


@pytest.fixture
def stream(device):
    return rynd.Stream(device=device)


def buffer_of(array, device):
    buffer = rynd.Buffer(array.nbytes, device=device)
    buffer.write(array)
    return buffer


def content(buffer, like):
    got = numpy.empty_like(like)
    buffer.read(got)
    return got


def ramp(*shape, dtype="float32"):
    return numpy.arange(numpy.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def test_bytes_of_a_buffer(device):
    buffer = buffer_of(ramp(6), device)
    assert buffer.size == 24 and buffer.native
    buffer.write(numpy.float32([9]), offset=8)
    got = numpy.empty(3, "float32")
    buffer.read(got, offset=4)
    assert got.tolist() == [1, 9, 3]
    for call in (lambda: buffer.write(ramp(6), offset=4), lambda: buffer.read(got, offset=16), lambda: buffer.write(ramp(1), offset=-4),
                 lambda: rynd.Buffer(-1, device=device)):
        with pytest.raises(rynd.ArgumentError):
            call()
    with pytest.raises(rynd.ArgumentError, match="row-major"):
        buffer.write(ramp(2, 3).T)
    read_only = ramp(3)
    read_only.flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        buffer.read(read_only)


def test_memory_of_others():
    array = ramp(4)
    buffer = rynd.Buffer(array.nbytes, native=array.ctypes.data)
    assert buffer.native == array.ctypes.data
    rynd.Stream().fill(buffer, numpy.float32(7).tobytes())
    assert array.tolist() == [7] * 4


def test_copies_follow_one_another(device, stream):
    x, got = ramp(5), numpy.empty(5, "float32")
    a, b = rynd.Buffer(20, device=device), rynd.Buffer(20, device=device)
    stream.write(a, x)
    stream.fill(b, numpy.float32(-1).tobytes())
    stream.copy(b, a, size=8, to_offset=4, source_offset=12)
    stream.read(b, got)
    stream.synchronize()
    assert got.tolist() == [-1, 3, 4, -1, -1]
    stream.copy(b, a)
    stream.synchronize()
    assert content(b, x).tolist() == x.tolist()
    with pytest.raises(rynd.ArgumentError):
        stream.copy(b, a, size=24)
    with pytest.raises(rynd.ArgumentError):
        stream.fill(b, b"abc", size=3)


def test_copies_between_devices(device, stream):
    x = ramp(5)
    there, here = buffer_of(x, "cpu"), rynd.Buffer(20, device=device)
    stream.copy(here, there)
    stream.synchronize()
    assert content(here, x).tolist() == x.tolist()


def test_tensors_convert_and_transpose(device, stream):
    x = ramp(3, 4)
    source = buffer_of(x, device)
    to = rynd.Buffer(24 + 2, device=device)
    stream.copy_tensor(rynd.View(to, "i16", (4, 3), offset=2), rynd.View(source, "f32", (4, 3), strides=(1, 4)))
    stream.synchronize()
    got = numpy.empty(12, "int16")
    to.read(got, offset=2)
    assert (got.reshape(4, 3) == x.T).all()
    stream.copy_tensor(rynd.View(source, "f32", (2, 2), strides=(4, 1), offset=4), 0.5)
    stream.synchronize()
    x[:2, 1:3] = 0.5
    assert (content(source, x) == x).all()
    with pytest.raises(rynd.ShapeError):
        stream.copy_tensor(rynd.View(source, "f32", (2, 3)), rynd.View(to, "i16", (3, 2)))


@pytest.mark.parametrize("dtype, value", [("f32", 1.5), ("f16", -2.0), ("bf16", 3.140625), ("i32", -7), ("u8", 200), ("bool", True)])
def test_numbers_of_each_kind(device, stream, dtype, value):
    buffer, wide = rynd.Buffer(64, device=device), rynd.Buffer(64, device=device)
    stream.copy_tensor(rynd.View(buffer, dtype, (3,)), value)
    stream.copy_tensor(rynd.View(wide, "f32", (3,)), rynd.View(buffer, dtype, (3,)))
    stream.synchronize()
    assert content(wide, numpy.empty(3, "float32")).tolist() == [float(value)] * 3


def test_bad_numbers(stream, device):
    buffer = rynd.Buffer(8, device=device)
    for dtype, value in (("u8", 256), ("i32", 1.5), ("f32", "x")):
        with pytest.raises(rynd.ArgumentError, match=f"no element of {dtype}"):
            stream.copy_tensor(rynd.View(buffer, dtype, (1,)), value)


def test_operators_in_a_stream(device, stream):
    p, g = ramp(2, 3), ramp(2, 3) + 1
    weights, gradient = buffer_of(p, device), buffer_of(g, device)
    op = rynd.Op("expr x0=2x3:f32 x1=2x3:f32 x2=scalar:f32 y0=2x3:f32 program='x0 - x1 * x2'", device=device)
    assert op.inputs[2] == ("f32", (), ()) and op.outputs == [("f32", (2, 3), (3, 1))] and op.in_place(0, 0)
    for rate in (0.5, 0.25):
        op.run_async([weights, rynd.View(gradient, "f32", (2, 3)), rate], [weights], stream)
    op.wait()
    assert (content(weights, p) == p - 0.75 * g).all()


def test_offsets_and_workspace(device, stream):
    x = numpy.random.default_rng(1).standard_normal((1, 4, 9, 9), "float32")
    w = numpy.random.default_rng(2).standard_normal((8, 4, 3, 3), "float32")
    op = rynd.Op("conv n=1 c=4 h=9 w=9 k=8 r=3 s=3 pad=1", device=device)
    inputs = [rynd.Buffer(8 + x.nbytes, device=device), buffer_of(w, device)]
    inputs[0].write(x, offset=8)
    y = rynd.Buffer(8 * 81 * 4, device=device)
    space = (rynd.Buffer(64 + op.workspace, device=device), 64) if op.workspace else None
    op.run_async([(inputs[0], 8), inputs[1]], [y], stream, workspace=space)
    op.wait()
    numpy.testing.assert_allclose(content(y, numpy.empty((1, 8, 9, 9), "float32")), rynd.conv2d(x, w, padding=1), rtol=1e-4, atol=1e-4)


def test_refused_operands(device, stream):
    x = rynd.Buffer(16, device=device)
    op = rynd.Op("softmax x0=1x4:f32 y0=1x4:f32 axis=1", device=device)
    for inputs, outputs, kind, text in (([x], [x], rynd.ArgumentError, "shares memory"), ([], [x], rynd.ShapeError, "0 inputs"),
                                        ([rynd.View(x, "f32", (4, 1))], [x], rynd.ShapeError, "made for"),
                                        (["y"], [x], rynd.ArgumentError, "no element"), ([None], [x], rynd.ArgumentError, "neither"),
                                        ([1], [x], rynd.ArgumentError, "one element"), ([(x, -4)], [x], rynd.ArgumentTypeError, "offset")):
        with pytest.raises(kind, match=text):
            op.run_async(inputs, outputs, stream)
    with pytest.raises(rynd.ArgumentError, match="context"):
        op.run_async([x], [rynd.Buffer(16, device=device, threads=1)], stream)


def test_illegal_contents(device, stream):
    op = rynd.Op("gather x0=4:f32 x1=2:i64 y0=2:f32 axis=0", device=device)
    x, y = buffer_of(ramp(4), device), rynd.Buffer(8, device=device)
    bad, good = buffer_of(numpy.int64([1, 9]), device), buffer_of(numpy.int64([1, 3]), device)
    with pytest.raises(rynd.ShapeError, match="gather"):
        op.run_async([x, bad], [y], stream)
        op.wait()
    op.run_async([x, good], [y], stream)
    op.wait()
    assert content(y, numpy.empty(2, "float32")).tolist() == [1, 3]


def test_extents_that_depend_on_data():
    op, stream = rynd.Op("nonzero x0=2x3:f32 y0=2x6:i64"), rynd.Stream()
    x, y = buffer_of(numpy.float32([[0, 2, 0], [4, 5, 0]]), None), rynd.Buffer(96)
    op.run_async([x], [y], stream)
    dtype, shape, strides = op.result(0)
    assert (dtype, shape) == ("i64", (2, 3))
    got = numpy.empty(shape, "int64")
    y.read(got)
    assert got.tolist() == [[0, 1, 1], [1, 0, 1]]


def test_streams_wait_for_each_other(device):
    a, b = rynd.Stream(device=device), rynd.Stream(device=device)
    x = buffer_of(numpy.ones(4096, "float32"), device)
    ops = [rynd.Op("expr x0=4096:f32 y0=4096:f32 program='x0 + x0'", device=device) for _ in range(2)]
    assert rynd.Event(device=device).done
    for turn in range(4):
        ops[0].run_async([x], [x], a)
        b.wait(a.record() if turn % 2 else a)
        ops[1].run_async([x], [x], b)
        a.wait(b)
    event = a.record()
    event.wait()
    assert event.done
    assert (content(x, numpy.empty(4096, "float32")) == 256).all()
    with pytest.raises(rynd.ArgumentTypeError):
        a.wait(3)
    with pytest.raises(rynd.ArgumentError, match="context"):
        a.wait(rynd.Stream(device=device, threads=1))


def test_times(device, stream):
    stream.profile(True)
    first = stream.record()
    assert first.elapsed(stream.record()) >= 0


def test_a_stream_keeps_what_it_uses(device, stream):
    """Arrays and buffers that the program drops stay until the copy is done, and no longer."""
    class Owned(numpy.ndarray):
        pass

    x = ramp(1 << 16).view(Owned)
    gone = weakref.ref(x)
    buffer, got = rynd.Buffer(x.nbytes, device=device), numpy.empty(1 << 16, "float32")
    for _ in range(3):
        between = rynd.Buffer(x.nbytes, device=device)
        stream.write(between, x)
        stream.copy(buffer, between)
        del between
    del x
    stream.read(buffer, got)
    stream.synchronize()
    gc.collect()
    assert gone() is None
    assert (got == ramp(1 << 16)).all()


def test_memory_does_not_grow(device, stream):
    op = rynd.Op("expr x0=256:f32 y0=256:f32 program='x0 + 1'", device=device)
    for turn in range(300):
        x, y = rynd.Buffer(1024, device=device), rynd.Buffer(1024, device=device)
        stream.fill(x, bytes(4))
        op.run_async([x], [y], stream)
        if turn == 100:
            stream.synchronize()
            del x, y
            before = rynd.device_memory(device)
    stream.synchronize()
    del x, y
    after = rynd.device_memory(device)
    assert after.used <= before.used and after.peak >= after.used and after.held >= after.used


def test_freed_memory_goes_back(device):
    buffer = rynd.Buffer(1 << 20, device=device)
    used = rynd.device_memory(device).used
    del buffer
    assert rynd.device_memory(device).used <= used - (1 << 20)
    rynd.trim_memory(device=device)
    memory = rynd.device_memory(device)
    assert memory.held == memory.used


def test_kept_operators():
    text = "softmax x0=3x11:f32 y0=3x11:f32 axis=1"
    before = rynd.op_cache(threads=1)
    op = rynd.Op(text, threads=1, cached=True)
    middle = rynd.op_cache(threads=1)
    assert middle.misses == before.misses + 1
    del op
    kept = rynd.op_cache(threads=1)
    assert kept.ops == middle.ops + 1
    again = rynd.Op(text, threads=1, cached=True)
    assert rynd.op_cache(threads=1).hits == before.hits + 1
    assert again.run(ramp(3, 11)).shape == (3, 11)
    del again
    rynd.limit_op_cache(0, 0, threads=1)
    last = rynd.op_cache(threads=1)
    assert (last.ops, last.bytes, last.limit_ops) == (0, 0, 0) and last.evictions > before.evictions
    rynd.limit_op_cache(before.limit_ops, before.limit_bytes, threads=1)
    with pytest.raises(rynd.ArgumentError):
        rynd.limit_op_cache(-1, 0, threads=1)


def test_two_threads_take_turns():
    """One stream in two threads: each call works or says that it is busy."""
    stream, x = rynd.Stream(threads=1), rynd.Buffer(1 << 22, threads=1)
    failed = []

    def work():
        for _ in range(50):
            try:
                stream.fill(x, bytes(4))
            except rynd.BusyError:
                pass
            except Exception as error:
                failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stream.synchronize()
    assert not failed
