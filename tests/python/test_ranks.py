# SPDX-License-Identifier: Apache-2.0
"""Ranks: trainers that are threads with an exchange written in Python, and processes with MPI's."""
import os
import pathlib
import shutil
import subprocess
import sys
import threading

import numpy
import pytest
from conftest import save
from onnx import TensorProto, helper

import rynd

PARTS, STEPS = 2, 8


class Meeting:
    """Adds up what threads bring, in the order of their ranks."""

    def __init__(self, ranks):
        self.barrier, self.brought = threading.Barrier(ranks), [None] * ranks


class Rank:
    def __init__(self, meeting, rank):
        self.meeting, self.rank, self.ranks, self.calls = meeting, rank, len(meeting.brought), 0

    def all_reduce(self, array):
        view = numpy.asarray(array)
        assert view.dtype == numpy.float32 and view.ndim == 1
        self.calls += 1
        self.meeting.brought[self.rank] = view.copy()
        self.meeting.barrier.wait(60)
        view[:] = sum(self.meeting.brought[1:], self.meeting.brought[0])
        self.meeting.barrier.wait(60)


def batch(n=4):
    random = numpy.random.default_rng(2)
    return random.standard_normal((n, 3, 20, 24), dtype=numpy.float32), random.standard_normal((n, 8, 10, 12), dtype=numpy.float32)


def as_ranks(model, **options):
    """Losses and weights of each rank."""
    meeting, told = Meeting(PARTS), [None] * PARTS
    x, target = batch()

    def run(rank):
        try:
            exchange = Rank(meeting, rank)
            trainer = rynd.Trainer(model, loss="mse", optimizer="adam", batch=len(x) // PARTS, exchange=exchange, **options)
            losses = [trainer.step(part(x, rank), part(target, rank), 0.01) for _ in range(STEPS)]
            told[rank] = losses, numpy.array(trainer.read("w")), trainer.buckets, exchange.calls
        except BaseException as error:
            meeting.barrier.abort()
            told[rank] = error

    threads = [threading.Thread(target=run, args=[rank]) for rank in range(PARTS)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    for result in told:
        if isinstance(result, BaseException):
            raise result
    return told


def part(array, rank):
    size = len(array) // PARTS
    return numpy.ascontiguousarray(array[rank * size:(rank + 1) * size])


def test_threads_make_the_steps_of_one(conv_model):
    x, target = batch()
    alone = rynd.Trainer(conv_model, loss="mse", optimizer="adam", batch=4)
    losses = [alone.step(x, target, 0.01) for _ in range(STEPS)]
    assert alone.buckets == []
    for bucket_bytes in (0, 1):
        (first, w, buckets, calls), (second, other, *_) = as_ranks(conv_model, bucket_bytes=bucket_bytes)
        assert first == second and (w == other).all()
        numpy.testing.assert_allclose(first, losses, rtol=1e-5)
        numpy.testing.assert_allclose(w, numpy.array(alone.read("w")), rtol=1e-4, atol=1e-6)
        assert len(buckets) == (1 if bucket_bytes == 0 else 4)  # w, b, v, and the loss
        assert calls == len(buckets) * STEPS + 1  # the first compares what they train
        assert all(bucket.bytes > 0 and bucket.made <= bucket.awaited <= len(alone.steps) + 9 for bucket in buckets)


def test_gradients_that_others_read_are_copied(folder):
    """a and b are added to the input and to each other: their gradients are one value, which the activation before them reads, too."""
    nodes = [helper.make_node("Add", ["x", "a"], ["s"]), helper.make_node("Mul", ["s", "s"], ["m"]), helper.make_node("Add", ["m", "b"], ["y"])]
    a, b = numpy.full((1, 4), 0.5, "float32"), numpy.zeros((1, 4), "float32")
    ends = [("x", TensorProto.FLOAT, [1, 4])], [("y", TensorProto.FLOAT, [1, 4])]
    model = save(folder / "added.onnx", nodes, *ends, [("a", a), ("b", b)])
    meeting, told = Meeting(PARTS), [None] * PARTS
    x, target = (numpy.random.default_rng(5).standard_normal((PARTS, 1, 4), dtype=numpy.float32) for _ in range(2))

    def run(rank):
        trainer = rynd.Trainer(model, loss="mse", exchange=Rank(meeting, rank), bucket_bytes=1)
        loss = trainer.step(x[rank], target[rank], 0.1)
        told[rank] = loss, numpy.array(trainer.read("a")), numpy.array(trainer.read("b"))

    threads = [threading.Thread(target=run, args=[rank]) for rank in range(PARTS)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    away = (x + a) ** 2 + b - target
    gradient = 2 * away / 4
    for loss, new_a, new_b in told:
        numpy.testing.assert_allclose(loss, (away ** 2).mean(), rtol=1e-6)
        numpy.testing.assert_allclose(new_b, b - 0.1 * gradient.mean(0), rtol=1e-5, atol=1e-7)
        numpy.testing.assert_allclose(new_a, a - 0.1 * (gradient * 2 * (x + a)).mean(0), rtol=1e-5, atol=1e-7)


def test_what_all_reduce_raises_is_raised_by_the_step(conv_model):
    class Broken:
        rank, ranks, calls = 0, 1, 0

        def all_reduce(self, array):
            self.calls += 1
            if self.calls == 3:
                raise ConnectionError("the cable is out")

    x, target = batch()
    trainer = rynd.Trainer(conv_model, loss="mse", batch=4, exchange=Broken())
    trainer.step(x, target, 0.1)
    with pytest.raises(ConnectionError, match="the cable is out"):
        trainer.step(x, target, 0.1)
    with pytest.raises(rynd.ArgumentError, match="an earlier step failed"):
        trainer.step(x, target, 0.1)
    broken = Broken()
    broken.calls = 2
    with pytest.raises(ConnectionError, match="the cable is out"):
        rynd.Trainer(conv_model, loss="mse", batch=4, exchange=broken)


@pytest.mark.parametrize("exchange, error, text", [(object(), AttributeError, "rank"), (type("R", (), {"rank": 1, "ranks": 1})(), rynd.ArgumentError, "rank 1 of 1"),
                                                   (type("R", (), {"rank": "0", "ranks": 1})(), TypeError, "int")])
def test_bad_exchanges(conv_model, exchange, error, text):
    with pytest.raises(error, match=text):
        rynd.Trainer(conv_model, loss="mse", batch=4, exchange=exchange)


@pytest.mark.parametrize("bucket_bytes", [-1, 1 << 48])
def test_bad_bucket(conv_model, bucket_bytes):
    with pytest.raises(rynd.ArgumentError, match=f"bucket_bytes is {bucket_bytes}"):
        rynd.Trainer(conv_model, loss="mse", batch=4, bucket_bytes=bucket_bytes)


PROGRAM = """
import sys, numpy, rynd
assert rynd.mpi_ranks() == 2
with rynd.mpi() as exchange:
    assert exchange.ranks == 2 and exchange.local_ranks == 2
    numbers = numpy.arange(5, dtype="float32") + exchange.rank
    exchange.all_reduce(numbers)
    assert numbers.tolist() == [1, 3, 5, 7, 9], numbers
    for bad in (numpy.zeros(3), b"abcd"):
        try:
            exchange.all_reduce(bad)
            sys.exit("taken")
        except (TypeError, BufferError):
            pass
    try:
        rynd.mpi()
        sys.exit("opened twice")
    except rynd.ArgumentError:
        pass
    random = numpy.random.default_rng(2)
    x, target = (random.standard_normal(shape, dtype="float32") for shape in ((4, 3, 20, 24), (4, 8, 10, 12)))
    half = slice(2 * exchange.rank, 2 * exchange.rank + 2)
    trainer = rynd.Trainer(sys.argv[1], loss="mse", optimizer="adam", batch=2, exchange=exchange)
    losses = [trainer.step(x[half].copy(), target[half].copy(), 0.01) for _ in range(8)]
    if exchange.rank == 0:
        print(*map(repr, losses))
    del trainer
"""


@pytest.mark.skipif(not shutil.which("mpirun"), reason="there is no mpirun (Debian: openmpi-bin)")
@pytest.mark.skipif(not (pathlib.Path(rynd.__file__).resolve().parents[2] / "lib/librynd_mpi.so").exists(), reason="librynd_mpi.so was not built")
def test_mpi(conv_model, tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(pathlib.Path(conv_model).read_bytes())
    environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    process = subprocess.run(["mpirun", "-n", "2", sys.executable, "-c", PROGRAM, str(path)], env=environment, capture_output=True, text=True, timeout=120)
    assert process.returncode == 0, process.stderr
    x, target = batch()
    alone = rynd.Trainer(conv_model, loss="mse", optimizer="adam", batch=4)
    numpy.testing.assert_allclose([float(word) for word in process.stdout.split()], [alone.step(x, target, 0.01) for _ in range(8)], rtol=1e-5)


def test_alone():
    assert rynd.mpi_ranks() == 1
