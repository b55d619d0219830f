# SPDX-License-Identifier: Apache-2.0
"""Sessions that run in streams, with arrays, pinned arrays and device memory, on every device."""

import gc
import weakref

import numpy
import pytest
from test_streams import device, stream  # noqa: F401 (fixtures)

import rynd

@pytest.fixture
def a():
    return numpy.arange(12, dtype="float32").reshape(3, 4)


@pytest.fixture
def b():
    return numpy.arange(12, dtype="float32").reshape(3, 4) / 4 - 1


@pytest.fixture
def session(add_model, device, a):
    return rynd.load(add_model, device=device).plan(inputs={"a": a, "b": a}).session()


def same(got, expected):
    assert numpy.asarray(got).tolist() == expected.tolist()


def test_pinned_memory(device):
    array = rynd.host_allocate("f16", (2, 3), device=device)
    assert (array.shape, array.dtype, array.nbytes) == ((2, 3), "f16", 12) and not array.numpy().any()
    assert array.numpy().ctypes.data % 64 == 0
    view = array.numpy()
    view[:] = 7
    del array
    gc.collect()
    assert (view == 7).all()  # the view holds the memory
    assert rynd.host_allocate("f32", (0,), device=device).nbytes == 0
    with pytest.raises(rynd.ShapeError, match="f33"):
        rynd.host_allocate("f33", (2,), device=device)


def test_arrays_and_pinned_arrays(session, stream, device, a, b):
    both = session.run_in_stream([a, b.T.copy().T], stream=stream)
    session.wait()
    same(both[0], a + b)
    same(both[1], a * b)
    source, result = (rynd.host_allocate("f32", a.shape, device=device) for _ in range(2))
    for factor in (1, 2):
        source.numpy()[:] = factor * a
        outputs = session.run_in_stream([source, b], [None, result], stream)
        assert outputs[1] is result
        session.wait()
        same(outputs[0], factor * a + b)
        same(result, factor * a * b)
    result.numpy()[:] = 5
    session.run(a, b)  # into memory of its own
    assert (result.numpy() == 5).all()


def test_the_session_s_own_stream(session, a, b):
    session.wait()  # nothing to wait for
    both = session.run_in_stream([a, b])
    same(session.run(a, a)[0], a + a)  # run waits for the run before
    same(both[0], a + b)


def test_device_memory_and_events(session, stream, device, a, b):
    given, result = rynd.Buffer(a.nbytes + 64, device=device), rynd.Buffer(a.nbytes, device=device)
    other, got = rynd.Stream(device=device), rynd.host_allocate("f32", a.shape, device=device)
    other.write(given, a, offset=64)
    written, done = other.record(), rynd.Event(device=device)
    outputs = session.run_in_stream([rynd.View(given, "f32", a.shape, offset=64), b], [result, None], stream, wait=[written], record=done)
    assert outputs[0] is result
    other.wait(done)
    other.read(result, got)
    other.synchronize()
    assert done.done
    session.wait()
    same(got, a + b)
    same(outputs[1], a * b)
    session.run_in_stream([(given, 64), b], [got, None], stream)
    session.wait()
    same(got, a + b)


def test_runs_follow_one_another(add_model, device, a, b):
    """Two sessions in one stream, the second on the first's output."""
    plan = rynd.load(add_model, device=device).plan(inputs={"a": a, "b": a})
    first, second = plan.session(), plan.session()
    stream, between = rynd.Stream(device=device), rynd.Buffer(a.nbytes, device=device)
    first.run_in_stream([a, b], [between, None], stream)
    both = second.run_in_stream([between, b], stream=stream)
    second.wait()
    first.wait()
    same(both[0], a + b + b)


def test_what_a_run_uses_stays_until_it_is_waited_for(session, stream, a, b):
    class Owned(numpy.ndarray):
        pass

    given = a.copy().view(Owned)
    gone = weakref.ref(given)
    both = session.run_in_stream([given, b], stream=stream)
    del given
    gc.collect()
    assert gone() is not None
    session.wait()
    assert gone() is None
    same(both[0], a + b)
    session.run_in_stream([a.copy(), b.copy()], stream=stream)  # session, arrays and results are dropped while it may run
    del session, both
    gc.collect()
    stream.synchronize()


def test_refused_runs(session, stream, device, a, b):
    small, foreign, read_only = rynd.Buffer(8, device=device), rynd.Stream(device=device, threads=1), a.copy()
    read_only.flags.writeable = False
    outputs = [None, None]
    for arguments, kind, text in ((([],), rynd.ArgumentTypeError, "0 inputs"), (([a, b], []), rynd.ArgumentTypeError, "0 outputs"),
                                  (([small, b],), rynd.ArgumentError, "small|bytes"), (([a, b], [small, None]), rynd.ArgumentError, "small|bytes"),
                                  (([rynd.View(small, "f32", (1, 2)), b],), rynd.ShapeError, "made for"), (([(small, -4), b],), rynd.ArgumentTypeError, "offset"),
                                  (([a[1:], b],), rynd.ShapeError, "'a'"), (([3, b],), rynd.ArgumentTypeError, "'a'"),
                                  (([a, b], [read_only, None]), (ValueError, BufferError), None), (([a, b], outputs, 3), rynd.ArgumentTypeError, "Stream"),
                                  (([a, b], outputs, foreign), rynd.ArgumentError, "context"), (([a, b], outputs, stream, [3]), rynd.ArgumentTypeError, "Event"),
                                  (([a, b], outputs, stream, [], 3), rynd.ArgumentTypeError, "Event")):
        with pytest.raises(kind, match=text):
            session.run_in_stream(*arguments)
    both = session.run_in_stream([a, b], stream=stream)
    session.wait()
    same(both[1], a * b)


def test_outputs_whose_shape_depends_on_data(nonzero_model):
    x = numpy.float32([0, 1, 2])
    session = rynd.load(nonzero_model).plan(inputs={"x": x}).session()
    for _ in range(2):
        with pytest.raises(rynd.UnsupportedError, match="depends on data"):
            session.run_in_stream([x])
        same(session.run(x), numpy.int64([[1, 2]]))


def test_options_have_the_names_of_other_calls(device):
    options = {"device": device, "threads": 1, "machine": None, "wisdom": "off", "frozen": True}
    stream, event = rynd.Stream(**options), rynd.Event(**options)
    stream.fill(rynd.Buffer(8, **options), bytes(4))
    stream.record(event)
    assert rynd.host_allocate("f32", (2,), **options).tolist() == [0, 0]
    stream.synchronize()
