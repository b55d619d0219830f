# SPDX-License-Identifier: Apache-2.0
"""What rynd train does to take less memory: several batches for one step, recomputation within a limit."""

import re

import numpy as np
import pytest
from conftest import quick_when_sanitized, save
from onnx import helper
from test_train import CLASSES, classifier, losses, rows, samples, weights_of


@pytest.fixture
def net(tmp_path):
    return classifier(tmp_path / "net.onnx")


@pytest.fixture
def data(tmp_path):
    """An archive of 70 samples."""
    pictures, labels = samples(70)
    np.savez(tmp_path / "data.npz", x=pictures[:, None].astype("float32") / 255, y=labels)
    return tmp_path / "data.npz"


# --- several batches for one step ---


@pytest.mark.parametrize("options", [[], ["--optimizer", "adam", "--clip", "0.5"]])
def test_batches_of_a_step_are_one_batch(ran, net, data, tmp_path, options):
    """The same samples in the same order: 70 are four steps of sixteen, and six are left out."""
    found = {}
    for batch, times in ((16, 1), (8, 2), (4, 4)):
        ran("train", net, "--data", data, "--batch", batch, "--accumulate", times, "--epochs", 3, "--lr", "0.01", "--validate", data, *options, "-o",
            tmp_path / f"{batch}.onnx", "--log", tmp_path / "log.jsonl")
        steps = rows(tmp_path / "log.jsonl")
        assert [row["step"] for row in steps] == list(range(1, 13)) and [row["epoch"] for row in steps] == [i // 4 for i in range(12)]
        found[batch] = [row["loss"] for row in steps], [row["accuracy"] for row in steps], [row["loss"] for row in rows(tmp_path / "log.jsonl", "validation")]
    for batch in (8, 4):
        for ours, theirs in zip(found[batch], found[16]):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)
        for ours, theirs in zip(weights_of(tmp_path / f"{batch}.onnx").values(), weights_of(tmp_path / "16.onnx").values()):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-3)


def test_steps_of_several_batches_go_on(ran, rynd, net, data, tmp_path):
    options = ["train", net, "--data", data, "--batch", 8, "--accumulate", 3, "--steps", 9, "--lr", "0.02"]
    ran(*options, "-o", tmp_path / "whole.onnx", "--log", tmp_path / "whole.jsonl")
    ran(*options[:-3], 5, *options[-2:], "-o", tmp_path / "part.onnx")
    ran(*options, "-o", tmp_path / "part.onnx", "--resume", tmp_path / "part.checkpoint.npz", "--log", tmp_path / "part.jsonl")
    assert (tmp_path / "part.onnx").read_bytes() == (tmp_path / "whole.onnx").read_bytes()
    assert losses(tmp_path / "part.jsonl") == losses(tmp_path / "whole.jsonl")[5:]
    assert rows(tmp_path / "whole.jsonl", "start")[0]["per_epoch"] == 2
    other = ["train", net, "--data", data, "--batch", 8, "--steps", 20, "--lr", "0.02", "-o", tmp_path / "part.onnx", "--resume", tmp_path / "part.checkpoint.npz"]
    rynd(*other).failed("accumulate=3", "give the same options")


def test_forecast_of_several_batches(ran, rynd, net, data):
    one, four = (ran("train", net, "--data", data, "--batch", 4, "--accumulate", n, "--dry-run", "--json").results[0] for n in (1, 4))
    assert 3 < four["time"]["median"] / one["time"]["median"] < 5
    assert four["memory"] > one["memory"] and four["steps_per_epoch"] == 4
    assert 0 < four["peak_values"] and four["peak_values"] + four["peak_workspace"] < four["memory"]
    assert f"most at {four['peak_step']}: " in ran("train", net, "--data", data, "--batch", 4, "--accumulate", 4, "--dry-run").out
    assert "4 per step" in ran("train", net, "--data", data, "--batch", 4, "--accumulate", 4, "--dry-run").out
    rynd("train", net, "--data", data, "--batch", 16, "--accumulate", 5).failed("70 samples, less than 5 batches of 16", "--accumulate")
    rynd("train", net, "--data", data, "--accumulate", 0).failed("--accumulate", code=2)


# --- recomputation ---


@pytest.fixture
def deep(tmp_path):
    """Eight convolutions with batch normalisations, every second one with a skip, and dropouts; most of the memory is activations."""
    random = np.random.default_rng(3)
    arrays = {"w": 0.05 * random.standard_normal((16 * 12 * 12, CLASSES)), "ratio": np.float32(0.25)}
    nodes, x, skip = [], "x", None
    for i in range(8):
        arrays |= {f"w{i}": 0.2 * random.standard_normal((16, 1 if i == 0 else 16, 3, 3)), f"s{i}": np.ones(16), f"t{i}": np.zeros(16), f"m{i}": np.zeros(16), f"v{i}": np.ones(16)}
        nodes += [helper.make_node("Conv", [x, f"w{i}"], [f"c{i}"], pads=[1] * 4), helper.make_node("BatchNormalization", [f"c{i}"] + [f"{k}{i}" for k in "stmv"], [f"n{i}"])]
        if i % 2 and skip:
            nodes.append(helper.make_node("Add", [f"n{i}", skip], [f"a{i}"]))
        nodes.append(helper.make_node("Relu", [nodes[-1].output[0]], [f"r{i}"]))
        x, skip = f"r{i}", f"r{i}" if i % 2 else skip
        if i % 3 == 2:
            nodes.append(helper.make_node("Dropout", [x, "ratio"], [f"d{i}"]))
            x = f"d{i}"
    nodes += [helper.make_node("Flatten", [x], ["f"]), helper.make_node("MatMul", ["f", "w"], ["y"])]
    return save(tmp_path / "deep.onnx", nodes, [("x", "float32", ["N", 1, 12, 12])], [("y", "float32", ["N", CLASSES])], {name: a.astype("float32") for name, a in arrays.items()})


def forecast(ran, *options):
    (result,) = ran("train", *options, "--dry-run", "--json").results
    return result["memory"], result["time"]["median"]


@quick_when_sanitized
@pytest.mark.parametrize("options", [["--batch", 32], ["--batch", 8, "--accumulate", 4, "--optimizer", "adam", "--clip", "1"]])
def test_recomputed_bits_are_the_same(ran, rynd, deep, data, tmp_path, options):
    """Within any limit, at any number of threads: running statistics, which a step that runs again must not change twice, among them."""
    options = [deep, "--data", data, "--lr", "0.01", *options]
    most_threads = ["--threads", 7]  # each thread has some memory of its own
    memory, time = forecast(ran, *options, *most_threads)
    least = int(re.search(r"at least (\d+) bytes", rynd("train", *options, *most_threads, "--memory-limit", "1K").failed("memory limit of 1024 bytes").err)[1])
    assert least < 0.92 * memory
    limits = [memory, int(0.93 * memory), (least + memory) // 2, least]
    found = [forecast(ran, *options, *most_threads, "--memory-limit", limit) for limit in limits]
    assert all(taken <= limit for (taken, _), limit in zip(found, limits))
    assert found[0] == (memory, time)
    times = [seconds for _, seconds in found]
    assert time < times[-1] < 1.6 * time and time <= min(times) and max(times) == times[-1]
    seen = set()
    for limit, threads in [(memory, 2), *((limit, threads) for limit in limits[1:] for threads in (1, 2, 3, 7))]:
        ran("train", *options, "--epochs", 3, "--memory-limit", limit, "--threads", threads, "-o", tmp_path / "out.onnx", "--log", tmp_path / "log.jsonl")
        seen.add((tuple(losses(tmp_path / "log.jsonl")), (tmp_path / "out.onnx").read_bytes(), (tmp_path / "out.checkpoint.npz").read_bytes()))
    assert len(seen) == 1


# --- activations as bfloat16 ---


@quick_when_sanitized
@pytest.mark.parametrize("options", [["--batch", 32], ["--batch", 16, "--accumulate", 2, "--optimizer", "adam"]])
def test_bf16_storage(ran, rynd, deep, data, tmp_path, options):
    """Less memory; the same loss before the first update and others, but not far away, behind it; the same bits at any number of threads, recomputed or not."""
    options = [deep, "--data", data, "--lr", "0.01", *options]
    exact, rounded = (forecast(ran, *options, "--threads", 7, "--storage", storage)[0] for storage in ("f32", "bf16"))
    assert forecast(ran, *options, "--threads", 7)[0] == exact
    assert rounded < 0.85 * exact

    def train(*more):
        ran("train", *options, "--epochs", 3, *more, "-o", tmp_path / "out.onnx", "--log", tmp_path / "log.jsonl")
        return losses(tmp_path / "log.jsonl"), (tmp_path / "out.onnx").read_bytes(), (tmp_path / "out.checkpoint.npz").read_bytes()

    expected = train("--threads", 2)
    assert train("--threads", 2, "--storage", "f32") == expected
    got = train("--threads", 2, "--storage", "bf16")
    assert np.isclose(got[0][0], expected[0][0], rtol=1e-6) and got[0] != expected[0]
    assert np.allclose(got[0][:3], expected[0][:3], rtol=0.01)
    limits = [[], ["--memory-limit", int(0.95 * rounded)]]
    assert all(train("--threads", threads, "--storage", "bf16", *limit) == got for threads in (1, 2, 3) for limit in limits)


def test_storage_belongs_to_a_checkpoint(ran, rynd, deep, data, tmp_path):
    options = ["train", deep, "--data", data, "--batch", 32, "--lr", "0.01"]
    whole, half = tmp_path / "whole.onnx", tmp_path / "half.onnx"
    ran(*options, "--epochs", 4, "--storage", "bf16", "-o", whole)
    ran(*options, "--epochs", 2, "--storage", "bf16", "-o", half)
    rynd(*options, "--epochs", 4, "--resume", tmp_path / "half.checkpoint.npz", "-o", half).failed("comes from a run with storage=bf16, but this run has storage=f32: it cannot continue")
    ran(*options, "--epochs", 4, "--storage", "bf16", "--resume", tmp_path / "half.checkpoint.npz", "-o", half)
    assert half.read_bytes() == whole.read_bytes()
    rynd(*options, "--storage", "f16").failed("--storage", "f32|bf16", code=2)


def test_sizes_of_memory(ran, rynd, net, data):
    memory, _ = forecast(ran, net, "--data", data, "--batch", 8)
    for text in ("1.5G", "512M", "524288K", "1T", "2MiB", str(memory)):
        assert forecast(ran, net, "--data", data, "--batch", 8, "--memory-limit", text)[0] == memory
    for text in ("M", "1.5X", "-1G", "0", "1e9G", "1GB", "nan", "99999999T"):
        rynd("train", net, "--data", data, f"--memory-limit={text}").failed("--memory-limit", "800M", code=2)
