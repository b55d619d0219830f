# SPDX-License-Identifier: Apache-2.0
"""rynd train in several processes that mpirun starts: the losses of one process, the same bits every time, what is written and by whom, ranks that die or fail,
and runs that go on with another number of ranks."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
from conftest import RYND, load
from onnx import helper
from PIL import Image
from test_train import CLASSES, classifier, losses, rows, samples, save, weights, weights_of

MODULE = pathlib.Path(RYND).resolve().parents[1] / "lib/librynd_mpi.so"
pytestmark = [pytest.mark.skipif(not shutil.which("mpirun"), reason="there is no mpirun (Debian: openmpi-bin)"),
              pytest.mark.skipif(not MODULE.exists(), reason="librynd_mpi.so was not built (Debian: libopenmpi-dev)")]
# In a container: as root, more ranks than cores, and no rank bound to a core.
# Open MPI leaves memory of its own behind, which LeakSanitizer would count as the command's.
ENVIRONMENT = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
                            "OMPI_MCA_hwloc_base_binding_policy": "none", "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


def command(ranks, *args):
    return [*(["mpirun", "-n", str(ranks)] if ranks else []), RYND, "train", *map(str, args)]


def start(ranks, *args):
    return subprocess.Popen(command(ranks, *args), env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def train(ranks, *args):
    process = subprocess.run(command(ranks, *args), env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.fixture
def net(tmp_path):
    return classifier(tmp_path / "net.onnx")


@pytest.fixture
def data(tmp_path):
    """Not a whole number of batches."""
    pictures, labels = samples(70)
    np.savez(tmp_path / "data.npz", x=pictures[:, None].astype("float32") / 255, y=labels)
    return tmp_path / "data.npz"


@pytest.mark.parametrize("options", [["--lr", "0.05"], ["--optimizer", "adam", "--lr", "0.01", "--weight-decay", "0.01"], ["--lr", "0.2", "--clip", "0.1"],
                                     ["--lr", "0.1", "--accumulate", "2"]])
def test_losses_of_one_process(net, data, tmp_path, options):
    """20 steps of 1, 2 and 4 ranks; what validation says of all samples, though each rank looks at its part."""
    told = {}
    for ranks in (0, 2, 4):
        log = tmp_path / f"{ranks}.jsonl"
        out = train(ranks, net, "--data", data, "--validate", data, "--batch", 16, "--steps", 20, *options, "--log", log)
        told[ranks] = losses(log), rows(log, "validation"), [row["accuracy"] for row in rows(log)]
        assert rows(log, "start")[0]["ranks"] == max(ranks, 1)
        assert out.count("steps") == 1  # one rank has the word
    assert len(told[0][0]) == 20
    for ranks in (2, 4):
        np.testing.assert_allclose(told[ranks][0], told[0][0], rtol=1e-5)
        assert told[ranks][2] == told[0][2]
        for got, wanted in zip(told[ranks][1], told[0][1], strict=True):
            assert got["samples"] == wanted["samples"] == 70
            np.testing.assert_allclose(got["loss"], wanted["loss"], rtol=1e-5)


def test_same_bits(net, data, tmp_path):
    """Twice, and with other numbers of threads."""
    for name, options in (("a", []), ("b", ["--threads", 1]), ("c", ["--threads", 3])):
        train(2, net, "--data", data, "--batch", 8, "--epochs", 3, *options, "-o", tmp_path / f"{name}.onnx", "--log", tmp_path / f"{name}.jsonl")
    for name in ("b", "c"):
        assert (tmp_path / f"{name}.onnx").read_bytes() == (tmp_path / "a.onnx").read_bytes()
        assert losses(tmp_path / f"{name}.jsonl") == losses(tmp_path / "a.jsonl")
        assert (tmp_path / f"{name}.checkpoint.npz").read_bytes() == (tmp_path / "a.checkpoint.npz").read_bytes()


def test_ranks_drop_by_numbers_of_their_own(tmp_path):
    """Ranks drop different elements of equal samples: the loss differs from any single rank's, and repeats."""
    net = save(tmp_path / "net.onnx", [helper.make_node("Dropout", ["x"], ["d"], ratio=0.5), helper.make_node("MatMul", ["d", "w"], ["y"])],
               [("x", "float32", ["N", 64])], [("y", "float32", ["N", 4])], {"w": np.random.default_rng(1).standard_normal((64, 4)).astype("float32")}, 7)
    np.savez(tmp_path / "data.npz", x=np.ones((2, 64), "float32"), y=np.zeros(2, "uint8"))
    told = []
    for run, (ranks, batch) in enumerate([(0, 1), (2, 2), (2, 2)]):
        train(ranks, net, "--data", tmp_path / "data.npz", "--batch", batch, "--steps", 1, "--no-shuffle", "--log", tmp_path / f"{run}.jsonl")
        told += losses(tmp_path / f"{run}.jsonl")
    assert told[0] != told[1] == told[2]


def test_running_statistics_are_means(data, tmp_path):
    """Each rank normalises by its own part; the running statistics are the means of theirs."""
    w = weights(1, 12) | {"s": np.ones(8, "float32"), "t": np.zeros(8, "float32"), "mean": np.zeros(8, "float32"), "var": np.ones(8, "float32")}
    nodes = [helper.make_node("Conv", ["x", "w1"], ["c"], pads=[1] * 4), helper.make_node("BatchNormalization", ["c", "s", "t", "mean", "var"], ["n"]),
             helper.make_node("Relu", ["n"], ["r"]), helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Flatten", ["p"], ["f"]), helper.make_node("Gemm", ["f", "w2", "b2"], ["y"])]
    net = save(tmp_path / "net.onnx", nodes, [("x", "float32", ["N", 1, 12, 12])], [("y", "float32", ["N", CLASSES])], {name: w[name] for name in w if name != "b1"})
    options = [net, "--data", data, "--batch", 16, "--lr", "0", "--no-shuffle", "--steps", 1]
    for ranks in (0, 2):
        train(ranks, *options, "-o", tmp_path / f"{ranks}.onnx")
    x = load(data)["x"][:16]
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x[:, 0], ((0, 0), (1, 1), (1, 1))), (3, 3), (1, 2))
    convolved = np.einsum("nhwrs,krs->nkhw", windows, w["w1"][:, 0])
    after = weights_of(tmp_path / "2.onnx")
    means = [half.mean((0, 2, 3)) for half in (convolved[:8], convolved[8:])]
    variances = [half.var((0, 2, 3), ddof=1) for half in (convolved[:8], convolved[8:])]
    np.testing.assert_allclose(after["mean"], 0.1 * np.mean(means, 0), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(after["var"], 0.9 + 0.1 * np.mean(variances, 0), rtol=1e-4)
    assert np.abs(after["var"] - weights_of(tmp_path / "0.onnx")["var"]).max() > 1e-6  # statistics of 16 samples at once differ


def test_goes_on_with_another_number_of_ranks(net, data, tmp_path):
    """Training on 2, then 4, then 1 ranks gives the losses of a single process."""
    options = [net, "--data", data, "--batch", 8, "--lr", "0.05", "-o", tmp_path / "part.onnx", "--log", tmp_path / "part.jsonl"]
    checkpoint = tmp_path / "part.checkpoint.npz"
    train(2, *options, "--steps", 7)
    train(4, *options, "--steps", 14, "--resume", checkpoint, "--other-bits")
    train(0, *options, "--steps", 20, "--resume", checkpoint, "--other-bits")
    train(0, net, "--data", data, "--batch", 8, "--lr", "0.05", "--steps", 20, "--log", tmp_path / "whole.jsonl")
    got = losses(tmp_path / "part.jsonl")
    assert len(got) == 20
    np.testing.assert_allclose(got, losses(tmp_path / "whole.jsonl"), rtol=1e-5)
    assert [row["ranks"] for row in rows(tmp_path / "part.jsonl", "start")] == [2, 4, 1]


def ranks_of(process):
    """The process ids of the ranks, by their numbers."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            environment = path.read_bytes().split(b"\0")
            parent = int((path.parent / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError):
            continue
        rank = [entry.split(b"=")[1] for entry in environment if entry.startswith(b"OMPI_COMM_WORLD_RANK=")]
        if rank and parent == process.pid:
            found[int(rank[0])] = int(path.parent.name)
    return found


def wait_for_steps(process, log, count):
    while process.poll() is None and (not log.exists() or len(losses(log)) < count):
        time.sleep(0.01)


def test_killed_rank_ends_the_run(net, data, tmp_path):
    """mpirun names it, the files are those of a checkpoint, and a resumed run has the bits of one that was never killed."""
    options = [net, "--data", data, "--batch", 8, "--lr", "0.05", "--checkpoint-every", 10]
    part = [*options, "-o", tmp_path / "part.onnx", "--log", tmp_path / "part.jsonl"]
    process = start(2, *part, "--steps", 100000)
    wait_for_steps(process, tmp_path / "part.jsonl", 25)
    os.kill(ranks_of(process)[1], signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    assert process.returncode != 0 and "rank 1" in err and "signal 9" in err, err
    done = int(bytes(load(tmp_path / "part.checkpoint.npz")["about"]).split(b"step=")[1].split(b"\n")[0])
    assert done >= 20 and done % 10 == 0
    more = ["--steps", done + 9]
    train(2, *part, *more, "--resume", tmp_path / "part.checkpoint.npz")
    train(2, *options, *more, "-o", tmp_path / "whole.onnx", "--log", tmp_path / "whole.jsonl")
    assert (tmp_path / "part.onnx").read_bytes() == (tmp_path / "whole.onnx").read_bytes()
    assert losses(tmp_path / "part.jsonl") == losses(tmp_path / "whole.jsonl")


def test_interrupted_rank_ends_all_at_one_step(net, data, tmp_path):
    """A signal to one rank: all end behind the same step, rank 0 writes."""
    options = [net, "--data", data, "--batch", 8, "--lr", "0.05"]
    process = start(2, *options, "-o", tmp_path / "part.onnx", "--log", tmp_path / "part.jsonl", "--steps", 100000)
    wait_for_steps(process, tmp_path / "part.jsonl", 5)
    os.kill(ranks_of(process)[1], signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert "interrupted at step" in out, (out, err)
    done = len(losses(tmp_path / "part.jsonl"))
    assert rows(tmp_path / "part.jsonl", "end")[0]["why"] == "interrupted"
    train(2, *options, "--steps", done, "-o", tmp_path / "whole.onnx")
    assert (tmp_path / "part.onnx").read_bytes() == (tmp_path / "whole.onnx").read_bytes()


def failed(ranks, *args):
    process = subprocess.run(command(ranks, *args), env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    assert process.returncode != 0
    return process


def test_a_failure_ends_all_ranks(net, data, tmp_path):
    """The command prints one rank's message and exits with its code."""
    process = failed(2, net, "--data", data, "--batch", 9)
    assert process.returncode == 2 and process.stderr.count("rynd: ") == 1
    assert "rynd: rank 0 of 2: a batch of 9 has no equal parts for 2 ranks: give a --batch that 2 divides" in process.stderr
    process = failed(2, tmp_path / "none.onnx", "--data", data)
    assert process.returncode == 1 and process.stderr.count("rynd: ") == 1 and "none.onnx" in process.stderr
    content = dict(load(data))
    content["x"][12, 0, 0, 0] = np.nan  # in rank 1's part of the first batch
    np.savez(tmp_path / "bad.npz", **content)
    process = failed(2, net, "--data", tmp_path / "bad.npz", "--batch", 16, "--no-shuffle")
    assert process.returncode == 1 and process.stderr.count("rynd: ") == 1 and "the loss is not a number at step 1" in process.stderr


def pictures(folder, count):
    for number, (picture, label) in enumerate(zip(*samples(count, 12))):
        (folder / f"class{label}").mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(folder / f"class{label}/{number:02}.png")


def test_one_rank_fails(net, tmp_path):
    """Only rank 1 reads the picture that does not fit: it has the word, and rank 0 does not wait for ever."""
    pictures(tmp_path / "data", 16)
    Image.new("L", (12, 14)).save(tmp_path / "data/class3/15.png")
    process = failed(2, net, "--data", tmp_path / "data", "--batch", 16, "--no-shuffle", "--scale", "1/255")
    assert process.returncode == 1 and process.stderr.count("rynd: ") == 1
    assert "rynd: rank 1 of 2: " in process.stderr and "14x12" in process.stderr


def test_broken_pictures_of_all_ranks_are_counted(net, tmp_path):
    pictures(tmp_path / "data", 16)
    for name in ("class0/00", "class3/15"):
        (tmp_path / f"data/{name}.png").write_bytes(b"\x89PNG\r\n\x1a\nno picture")
    out = train(2, net, "--data", tmp_path / "data", "--batch", 16, "--epochs", 1, "--no-shuffle")
    assert "skipped     2 samples" in out


def test_started_by_another_mpirun(net, data):
    """Processes that do not know of each other would write the same files."""
    process = subprocess.run(command(0, net, "--data", data), env=ENVIRONMENT | {"PMI_SIZE": "3"}, capture_output=True, text=True, timeout=120)
    assert process.returncode == 1 and "3 processes were started" in process.stderr and "knows of 1" in process.stderr


def test_no_module(net, data):
    process = subprocess.run(command(0, net, "--data", data), env=ENVIRONMENT | {"PMI_SIZE": "3", "RYND_MPI_LIBRARY": "/nowhere.so"}, capture_output=True, text=True)
    assert process.returncode == 1 and process.stderr.startswith("rynd: ") and "/nowhere.so" in process.stderr


def test_dry_run_tells_of_ranks(net, data):
    out = train(2, net, "--data", data, "--batch", 16, "--dry-run")
    assert "ranks       2, which share batches of 16 samples" in out and "batch       [8, 1, 12, 12]" in out
    (result,) = json.loads(train(2, net, "--data", data, "--batch", 16, "--dry-run", "--json"))["results"]
    assert result["ranks"] == 2
