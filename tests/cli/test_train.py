# SPDX-License-Identifier: Apache-2.0
"""rynd train: every kind of data, the same bits, what is kept and what a run goes on with, losses beside PyTorch's, and what is refused."""

import gzip
import json
import os
import signal
import subprocess
import time

import numpy as np
import onnx
import pytest
from conftest import RYND, save
from onnx import helper, numpy_helper
from PIL import Image

CLASSES = 4


def weights(channels, side, seed=0):
    random = np.random.default_rng(seed)
    arrays = {"w1": 0.3 * random.standard_normal((8, channels, 3, 3)), "b1": np.zeros(8),
              "w2": 0.03 * random.standard_normal((8 * (side // 2) ** 2, CLASSES)), "b2": np.zeros(CLASSES)}
    return {name: array.astype("float32") for name, array in arrays.items()}


def classifier(path, channels=1, side=12):
    """[N, channels, side, side] -> convolution, relu, pooling, product -> [N, 4]."""
    nodes = [helper.make_node("Conv", ["x", "w1", "b1"], ["c"], pads=[1] * 4), helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]), helper.make_node("Flatten", ["p"], ["f"]),
             helper.make_node("Gemm", ["f", "w2", "b2"], ["y"])]
    return save(path, nodes, [("x", "float32", ["N", channels, side, side])], [("y", "float32", ["N", CLASSES])], weights(channels, side))


def samples(count, side=12, seed=0):
    """Noise with one brighter quarter, whose number is the class."""
    random = np.random.default_rng(seed)
    labels = (np.arange(count) % CLASSES).astype("uint8")
    pictures = random.integers(0, 60, (count, side, side)).astype("uint8")
    half = side // 2
    for picture, label in zip(pictures, labels):
        picture[label // 2 * half:, label % 2 * half:][:half, :half] += 90
    return pictures, labels


def idx(array):
    return bytes([0, 0, 8, array.ndim]) + b"".join(extent.to_bytes(4, "big") for extent in array.shape) + array.tobytes()


@pytest.fixture
def net(tmp_path):
    return classifier(tmp_path / "net.onnx")


@pytest.fixture
def data(tmp_path):
    """An archive of 64 samples."""
    pictures, labels = samples(64)
    np.savez(tmp_path / "data.npz", x=pictures[:, None].astype("float32") / 255, y=labels)
    return tmp_path / "data.npz"


@pytest.fixture
def folder(tmp_path):
    """A folder a class, of pictures."""
    for name, seed, count in (("pictures", 0, 40), ("others", 1, 22)):
        for number, (picture, label) in enumerate(zip(*samples(count, 16, seed))):
            kind = tmp_path / name / f"class{label}"
            kind.mkdir(parents=True, exist_ok=True)
            Image.fromarray(picture).convert("RGB").save(kind / f"{number}.{'png' if number % 3 else 'jpg'}", quality=95)
    return tmp_path / "pictures", tmp_path / "others"


def rows(path, kind="step"):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [line for line in lines if line["row"] == kind]


def losses(path):
    return [row["loss"] for row in rows(path)]


def weights_of(path):
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer}


# --- kinds of data ---


def test_archive(ran, net, data, tmp_path):
    options = ["--data", data, "--validate", data, "--batch", 16, "--epochs", 8, "--lr", "0.1", "-o", tmp_path / "out.onnx", "--log", tmp_path / "log.jsonl",
               "--plot", tmp_path / "plot.svg"]
    (result,) = ran("train", net, *options, "--json").results
    assert result["step"] == result["steps"] == 32 and result["skipped"] == 0 and not result["interrupted"]
    assert result["validation"]["accuracy"] > 0.95 and result["validation"]["samples"] == 64
    log = rows(tmp_path / "log.jsonl")
    assert [row["step"] for row in log] == list(range(1, 33)) and [row["epoch"] for row in log] == [i // 4 for i in range(32)]
    assert log[-1]["loss"] == result["loss"] < 0.3 * log[0]["loss"]
    assert set(log[0]) == {"row", "step", "epoch", "loss", "lr", "accuracy", "images_per_second", "seconds", "memory"}
    assert len(rows(tmp_path / "log.jsonl", "validation")) == 8
    assert rows(tmp_path / "log.jsonl", "start")[0]["per_epoch"] == 4 and rows(tmp_path / "log.jsonl", "end")[0]["why"] == "done"
    assert "<svg" in (tmp_path / "plot.svg").read_text()
    onnx.checker.check_model(onnx.load(tmp_path / "out.onnx"))
    assert all(np.abs(new - old).max() > 0 for new, old in zip(weights_of(tmp_path / "out.onnx").values(), weights_of(net).values()))
    out = ran("train", net, *options).out
    assert "validation  loss" in out and "% right" in out and "out.checkpoint.npz" in out


def test_trained_model_in_another_engine(ran, net, data, tmp_path):
    import onnxruntime
    ran("train", net, "--data", data, "--batch", 16, "-o", tmp_path / "out.onnx")
    x = np.load(data)["x"][:8]
    np.save(tmp_path / "x.npy", x)
    ran("run", tmp_path / "out.onnx", "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
    session = onnxruntime.InferenceSession(str(tmp_path / "out.onnx"), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), session.run(None, {"x": x})[0], rtol=1e-4, atol=1e-4)


def test_names_for_one_tensor_become_tensors(ran, tmp_path):
    """Exporters write equal tensors once, with Identities for their further names; what trains apart is written apart, and can be trained again."""
    random = np.random.default_rng(1)
    nodes = [helper.make_node("Identity", ["b1"], ["b2"]), helper.make_node("Identity", ["b2"], ["b3"]), helper.make_node("MatMul", ["x", "w1"], ["h"]),
             helper.make_node("Add", ["h", "b1"], ["a"]), helper.make_node("Relu", ["a"], ["r"]), helper.make_node("MatMul", ["r", "w2"], ["m"]),
             helper.make_node("Add", ["m", "b2"], ["s"]), helper.make_node("Relu", ["s"], ["t"]), helper.make_node("Add", ["t", "b3"], ["y"])]
    arrays = {"w1": random.standard_normal((6, 4)), "w2": random.standard_normal((4, 4)), "b1": np.zeros(4)}
    net = save(tmp_path / "net.onnx", nodes, [("x", "float32", ["N", 6])], [("y", "float32", ["N", 4])],
               {name: array.astype("float32") for name, array in arrays.items()})
    np.savez(tmp_path / "data.npz", x=random.random((8, 6), "float32"), y=3 + random.random((8, 4), "float32"))
    for path in (net, tmp_path / "out.onnx"):
        ran("train", path, "--data", tmp_path / "data.npz", "--batch", 8, "--epochs", 3, "-o", tmp_path / "out.onnx")
        onnx.checker.check_model(onnx.load(tmp_path / "out.onnx"), full_check=True)
        found = weights_of(tmp_path / "out.onnx")
        assert set(found) == {"w1", "w2", "b1", "b2", "b3"}
        assert all(np.abs(found[one] - found[other]).max() > 0 for one, other in (("b1", "b2"), ("b2", "b3"), ("b1", "b3")))


def test_shared_vectors_become_vectors(ran, tmp_path):
    """Normalisations that share what is equal at first go their own ways, and are written so."""
    random = np.random.default_rng(1)
    nodes = [helper.make_node("Conv", ["x", "w1"], ["c"], name="first"), helper.make_node("BatchNormalization", ["c", "ones", "zeros", "zeros", "ones"], ["n"]),
             helper.make_node("Relu", ["n"], ["r"]), helper.make_node("Conv", ["r", "w2"], ["d"]),
             helper.make_node("BatchNormalization", ["d", "ones", "zeros", "zeros", "ones"], ["y"], epsilon=1e-3)]
    arrays = {"w1": random.standard_normal((4, 3, 1, 1)), "w2": random.standard_normal((4, 4, 1, 1)), "ones": np.ones(4), "zeros": np.zeros(4)}
    net = save(tmp_path / "net.onnx", nodes, [("x", "float32", ["N", 3, 5, 5])], [("y", "float32", ["N", 4, 5, 5])],
               {name: array.astype("float32") for name, array in arrays.items()})
    x, y = random.random((8, 3, 5, 5), "float32"), 3 + random.random((8, 4, 5, 5), "float32")
    np.savez(tmp_path / "data.npz", x=x, y=y)
    np.save(tmp_path / "x.npy", x)
    own = {"zeros/n/mean", "ones/n/variance", "ones/y/scale", "zeros/y/bias", "zeros/y/mean", "ones/y/variance"}
    for path in (net, tmp_path / "out.onnx"):
        (result,) = ran("train", path, "--data", tmp_path / "data.npz", "--validate", tmp_path / "data.npz", "--batch", 8, "--epochs", 3, "-o", tmp_path / "out.onnx",
                        "--json").results
        model = onnx.load(tmp_path / "out.onnx")
        onnx.checker.check_model(model, full_check=True)
        assert set(weights_of(tmp_path / "out.onnx")) == set(arrays) | own
        assert [list(node.input)[1:] for node in model.graph.node if node.op_type == "BatchNormalization"] == [
            ["ones", "zeros", "zeros/n/mean", "ones/n/variance"], ["ones/y/scale", "zeros/y/bias", "zeros/y/mean", "ones/y/variance"]]
        ran("run", tmp_path / "out.onnx", "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
        assert abs(((np.load(tmp_path / "y.npy") - y) ** 2).mean() / result["validation"]["loss"] - 1) < 1e-4


def test_idx(ran, net, tmp_path):
    pictures, labels = samples(48)
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(pictures))
    with gzip.open(tmp_path / "train-labels-idx1-ubyte.gz", "wb") as file:
        file.write(idx(labels))
    np.savez(tmp_path / "same.npz", x=pictures[:, None].astype("float32"), y=labels.astype("int64"))
    options = ["--batch", 8, "--lr", "1e-4", "--log", tmp_path / "log.jsonl"]
    ran("train", net, "--data", tmp_path / "train-images-idx3-ubyte", *options)
    first = losses(tmp_path / "log.jsonl")
    ran("train", net, "--data", tmp_path / "same.npz", *options)
    assert losses(tmp_path / "log.jsonl") == first


def test_folder_of_pictures(ran, rynd, folder, tmp_path):
    net = classifier(tmp_path / "net.onnx", 3)
    train, validate = folder
    torn = train / "class2" / "7torn.png"
    torn.write_bytes((train / "class2" / "2.png").read_bytes()[:60])
    options = ["--data", train, "--validate", validate, "--size", "12x12", "--scale", "1/255", "--batch", 8, "--lr", "0.05", "--epochs", 10, "--random-crop", "1",
               "--jitter", "0.1", "-o", tmp_path / "out.onnx"]
    for name in ("class0/notes.txt", "class1/more.txt", "class1/movie.gif", "class1/.hidden", "label", "stray.png"):
        (train / name).touch()
    (train / "class3" / "folder").mkdir()
    result = ran("train", net, *options, "--json")
    assert f"rynd: '{train}': files that are no samples are skipped: 1 without an end, 1 .png, 2 .txt, 1 .gif, 1 folders" in result.err
    assert result.err.count("are no samples") == 1
    (run,) = result.results
    assert result.err.count(str(torn)) == 1 and "it is skipped" in result.err
    assert run["skipped"] == 1 and run["validation"]["samples"] == 22 and run["validation"]["accuracy"] > 0.9
    assert "skipped     1 samples" in ran("train", net, *options, "-q").out
    # a picture of the validation set that is broken does not count
    broken = validate / "class0" / "0.jpg"
    broken.write_bytes(b"no picture")
    (run,) = ran("train", net, *options, "--json").results
    assert run["skipped"] == 2 and run["validation"]["samples"] == 21
    (validate / "class4").mkdir()
    rynd("train", net, *options).failed("class4", "without a picture")
    broken.rename(validate / "class4" / "0.jpg")
    rynd("train", net, *options).failed("have different folders of classes")


@pytest.mark.parametrize("made", [True, False])
def test_pairs(ran, tmp_path, made):
    """A convolution and a pixel shuffle learn to double pictures."""
    random = np.random.default_rng(1)
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 4), helper.make_node("DepthToSpace", ["c"], ["y"], blocksize=2, mode="CRD")]
    net = save(tmp_path / "net.onnx", nodes, [("x", "float32", ["N", 3, "H", "W"])], [("y", "float32", ["N", 3, "H2", "W2"])],
               {"w": (0.1 * random.standard_normal((12, 3, 3, 3))).astype("float32")})
    for number in range(6):
        y, x = np.mgrid[0:40, 0:48]
        picture = np.stack([120 + 100 * np.sin(x / (4 + number)), 120 + 100 * np.cos(y / 5), 2.0 * (x + y)], 2).astype("uint8")
        for name, image in (("high", Image.fromarray(picture)), ("low", Image.fromarray(picture).resize((24, 20), Image.BILINEAR))):
            if name == "high" or not made:
                (tmp_path / "sr" / name).mkdir(parents=True, exist_ok=True)
                image.save(tmp_path / "sr" / name / f"{number}.png")
    ran("train", net, "--data", tmp_path / "sr", *(["--factor", 2] if made else []), "--crop", "12", "--flip", "--turn", "--scale", "1/255", "--loss", "l1", "--optimizer", "adam",
        "--lr", "0.01", "--batch", 3, "--epochs", 60, "--validate", tmp_path / "sr", "--log", tmp_path / "log.jsonl")
    log = losses(tmp_path / "log.jsonl")
    assert np.mean(log[-10:]) < 0.3 * np.mean(log[:4])
    assert rows(tmp_path / "log.jsonl", "validation")[-1]["loss"] < 0.1
    assert "accuracy" not in rows(tmp_path / "log.jsonl")[0]


# --- the same bits ---


def test_same_bits_at_any_number_of_threads(ran, folder, tmp_path):
    net = classifier(tmp_path / "net.onnx", 3)
    seen = set()
    for threads in (1, 2, 3, 7):
        ran("train", net, "--data", folder[0], "--size", "12", "--batch", 8, "--lr", "1e-4", "--random-area", "0.5", "--flip", "--jitter", "0.2", "--epochs", 2, "--crop",
            "12", "--threads", threads, "-o", tmp_path / "out.onnx", "--log", tmp_path / "log.jsonl")
        seen.add((tuple(losses(tmp_path / "log.jsonl")), (tmp_path / "out.onnx").read_bytes(), (tmp_path / "out.checkpoint.npz").read_bytes()))
    assert len(seen) == 1


def test_seed_and_order(ran, net, data, tmp_path):
    def run(*options):
        ran("train", net, "--data", data, "--batch", 16, "--log", tmp_path / "log.jsonl", *options)
        return losses(tmp_path / "log.jsonl")

    assert run() == run("--seed", 0) != run("--seed", 1)
    assert run("--no-shuffle") == run("--no-shuffle", "--seed", 1) != run()


SCHEDULE = ["--schedule", "cosine", "--warmup", "3", "--lr", "0.05"]


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_resumed_after_kill(ran, net, data, tmp_path, optimizer):
    """Killed at any moment, and gone on: the same files as without."""
    options = ["train", net, "--data", data, "--validate", data, "--batch", 8, "--epochs", 40, "--optimizer", optimizer, *SCHEDULE, "--checkpoint-every", "3"]
    ran(*options, "-o", tmp_path / "whole.onnx", "--log", tmp_path / "whole.jsonl")
    checkpoint = tmp_path / "part.checkpoint.npz"
    command = [RYND, *map(str, options), "-o", str(tmp_path / "part.onnx"), "--log", str(tmp_path / "part.jsonl")]
    kills = 0
    for delay in (0.0, 0.05, 0.11):
        resume = ["--resume", str(checkpoint)] if checkpoint.exists() else []
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        process = subprocess.Popen([*command, *resume], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and not (checkpoint.exists() and checkpoint.stat().st_mtime_ns != before):
            time.sleep(0.001)
        time.sleep(delay)
        process.kill()
        kills += process.wait() == -signal.SIGKILL
    assert kills > 0
    result = subprocess.run([*command, "--resume", str(checkpoint)], capture_output=True, text=True)
    if result.returncode:  # the last process ended before it was killed
        assert "give more --epochs" in result.stderr
    assert (tmp_path / "part.onnx").read_bytes() == (tmp_path / "whole.onnx").read_bytes()
    assert checkpoint.read_bytes() == (tmp_path / "whole.checkpoint.npz").read_bytes()
    assert losses(tmp_path / "part.jsonl") == losses(tmp_path / "whole.jsonl")
    assert [row["loss"] for row in rows(tmp_path / "part.jsonl", "validation")] == [row["loss"] for row in rows(tmp_path / "whole.jsonl", "validation")]


def test_on_a_device(ran, rynd, net, data, tmp_path):
    """Beside the CPU's losses, the same bits again, and where it was stopped and went on; a checkpoint goes from device to device."""
    if rynd("devices", "--device", "opencl").code:
        pytest.skip("there is no device beside the CPU (Debian: pocl-opencl-icd is one)")
    options = ["--data", data, "--validate", data, "--batch", 8, "--lr", "0.1", "--device"]

    def train(name, device, epochs, *more):
        ran("train", net, *options, device, "--epochs", epochs, "-o", tmp_path / f"{name}.onnx", "--log", tmp_path / f"{name}.jsonl", *more)
        return (tmp_path / f"{name}.onnx").read_bytes(), losses(tmp_path / f"{name}.jsonl")

    _, by_cpu = train("cpu", "cpu", 2)
    whole, there = train("whole", "opencl", 2)
    assert np.allclose(there, by_cpu, rtol=1e-4)
    train("part", "opencl", 1)
    resumed = train("part", "opencl", 2, "--resume", tmp_path / "part.checkpoint.npz")
    assert resumed == (whole, there)
    train("moved", "cpu", 1)
    rynd("train", net, *options, "opencl", "--epochs", 2, "--resume", tmp_path / "moved.checkpoint.npz").failed("device=cpu", "device=opencl")
    _, moved = train("moved", "opencl", 2, "--resume", tmp_path / "moved.checkpoint.npz", "--other-bits")
    assert np.allclose(moved, by_cpu, rtol=1e-4)


def test_interrupted(ran, net, data, tmp_path):
    """Ctrl-C saves, says where, and ends the process as if nothing had caught it."""
    options = ["train", net, "--data", data, "--batch", 8, "--steps", "100000", "--lr", "0.05"]
    command = [RYND, *map(str, options), "-o", str(tmp_path / "part.onnx"), "--log", str(tmp_path / "log.jsonl")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "log.jsonl").exists() or len(losses(tmp_path / "log.jsonl")) < 5:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT and all(line.startswith("epoch ") for line in err.splitlines())
    assert "interrupted at step" in out and str(tmp_path / "part.checkpoint.npz") in out and str(tmp_path / "part.onnx") in out
    done = len(losses(tmp_path / "log.jsonl"))
    assert rows(tmp_path / "log.jsonl", "end")[0]["why"] == "interrupted"
    more = ["--steps", done + 8, "--lr", "0.05", "--batch", 8, "--data", data]
    ran("train", net, *more, "-o", tmp_path / "part.onnx", "--resume", tmp_path / "part.checkpoint.npz")
    ran("train", net, *more, "-o", tmp_path / "whole.onnx")
    assert (tmp_path / "part.onnx").read_bytes() == (tmp_path / "whole.onnx").read_bytes()


def test_running_statistics_are_kept(ran, data, tmp_path):
    """A batch normalisation's mean and variance go into the model and into the checkpoint."""
    w = weights(1, 12) | {"s": np.ones(8, "float32"), "t": np.zeros(8, "float32"), "mean": np.zeros(8, "float32"), "var": np.ones(8, "float32")}
    nodes = [helper.make_node("Conv", ["x", "w1"], ["c"], pads=[1] * 4), helper.make_node("BatchNormalization", ["c", "s", "t", "mean", "var"], ["n"]),
             helper.make_node("Relu", ["n"], ["r"]), helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Flatten", ["p"], ["f"]), helper.make_node("Gemm", ["f", "w2", "b2"], ["y"])]
    net = save(tmp_path / "net.onnx", nodes, [("x", "float32", ["N", 1, 12, 12])], [("y", "float32", ["N", CLASSES])], {name: w[name] for name in w if name != "b1"})
    options = ["train", net, "--data", data, "--validate", data, "--batch", 16, "--lr", "0.02"]
    ran(*options, "--epochs", 6, "-o", tmp_path / "whole.onnx")
    ran(*options, "--epochs", 2, "-o", tmp_path / "part.onnx")
    (result,) = ran(*options, "--epochs", 6, "-o", tmp_path / "part.onnx", "--resume", tmp_path / "part.checkpoint.npz", "--json").results
    assert result["validation"]["accuracy"] > 0.9
    assert (tmp_path / "part.onnx").read_bytes() == (tmp_path / "whole.onnx").read_bytes()
    after = weights_of(tmp_path / "whole.onnx")
    x = np.load(data)["x"]
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x[:, 0], ((0, 0), (1, 1), (1, 1))), (3, 3), (1, 2))
    convolved = np.einsum("nhwrs,krs->nkhw", windows, after["w1"][:, 0])
    np.testing.assert_allclose(after["mean"], convolved.mean((0, 2, 3)), atol=0.15)
    assert np.abs(after["mean"]).max() > 0.01 and np.abs(after["var"] - 1).max() > 0.1


# --- beside PyTorch ---


@pytest.mark.parametrize("optimizer, options", [("sgd", ["--momentum", "0.9"]), ("sgd", ["--nesterov", "--weight-decay", "0.01"]), ("adam", []), ("adamw", ["--weight-decay", "0.1"])])
def test_losses_are_those_of_pytorch(ran, net, data, tmp_path, optimizer, options):
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    ran("train", net, "--data", data, "--batch", 16, "--steps", 20, "--no-shuffle", "--optimizer", optimizer, "--lr", "0.01", *options, "--log", tmp_path / "log.jsonl",
        "--label-smoothing", "0.1")
    arrays, w = np.load(data), {name: torch.tensor(value, requires_grad=True) for name, value in weights(1, 12).items()}
    decay = float(options[options.index("--weight-decay") + 1]) if "--weight-decay" in options else 0
    make = {"sgd": lambda p: torch.optim.SGD(p, 0.01, 0.9, weight_decay=decay, nesterov="--nesterov" in options),
            "adam": lambda p: torch.optim.Adam(p, 0.01, weight_decay=decay), "adamw": lambda p: torch.optim.AdamW(p, 0.01, weight_decay=decay)}
    stepper = make[optimizer](w.values())
    expected = []
    for step in range(20):
        at = step % 4 * 16
        x, y = torch.tensor(arrays["x"][at:at + 16]), torch.tensor(arrays["y"][at:at + 16].astype("int64"))
        pooled = functional.max_pool2d(torch.relu(functional.conv2d(x, w["w1"], w["b1"], padding=1)), 2)
        loss = functional.cross_entropy(pooled.flatten(1) @ w["w2"] + w["b2"], y, label_smoothing=0.1)
        stepper.zero_grad()
        loss.backward()
        stepper.step()
        expected.append(loss.item())
    np.testing.assert_allclose(losses(tmp_path / "log.jsonl"), expected, rtol=1e-4)


@pytest.mark.parametrize("loss, function", [
    ("mse", lambda y, t: np.mean((y - t) ** 2)), ("l1", lambda y, t: np.mean(np.abs(y - t))), ("charbonnier", lambda y, t: np.mean(np.sqrt((y - t) ** 2 + 0.01))),
    ("bce", lambda y, t: np.mean(np.maximum(y, 0) - y * t + np.log1p(np.exp(-np.abs(y)))))])
def test_losses_of_values(ran, tmp_path, loss, function):
    """What validation adds up, of nine samples in batches of four, and the first step's loss."""
    random = np.random.default_rng(0)
    w = random.standard_normal((5, 3)).astype("float32")
    net = save(tmp_path / "net.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", "float32", ["N", 5])], [("y", "float32", ["N", 3])], {"w": w})
    x, t = random.standard_normal((9, 5)).astype("float32"), random.integers(0, 2, (9, 3)).astype("float32")
    np.savez(tmp_path / "data.npz", x=x, y=t)
    ran("train", net, "--data", tmp_path / "data.npz", "--validate", tmp_path / "data.npz", "--loss", loss, "--batch", 4, "--no-shuffle", "--lr", "0", "--log", tmp_path / "log.jsonl",
        *(["--epsilon", "0.1"] if loss == "charbonnier" else []))
    y = x.astype("float64") @ w
    assert losses(tmp_path / "log.jsonl")[0] == pytest.approx(function(y[:4], t[:4]), rel=1e-5)
    (validation,) = rows(tmp_path / "log.jsonl", "validation")
    assert validation["samples"] == 9 and validation["loss"] == pytest.approx(function(y, t), rel=1e-5)


# --- options ---


def test_frozen_weights_stay(ran, rynd, net, data, tmp_path):
    ran("train", net, "--data", data, "--batch", 16, "--freeze", "*1", "-o", tmp_path / "out.onnx")
    before, after = weights_of(net), weights_of(tmp_path / "out.onnx")
    assert {name for name in before if not np.array_equal(before[name], after[name])} == {"w2", "b2"}
    rynd("train", net, "--data", data, "--batch", 16, "--freeze", "layer*").failed("layer*")


def test_dry_run_says_what_it_takes(ran, net, data, tmp_path):
    before = set(os.listdir(tmp_path))
    options = ["train", net, "--data", data, "--batch", 16, "--epochs", 5, "--dry-run", "-o", tmp_path / "out.onnx", "--log", tmp_path / "log.jsonl", "--plot", tmp_path / "p.svg"]
    (result,) = ran(*options, "--json").results
    assert result["samples"] == 64 and result["steps"] == 20 and result["steps_per_epoch"] == 4
    assert result["parameters"] == sum(value.size for value in weights(1, 12).values())
    assert 0 < result["time"]["low"] < result["time"]["median"] < result["time"]["high"] and result["memory"] > 4 * result["parameters"]
    assert result["epoch_time"] == pytest.approx(4 * result["time"]["median"])
    assert "per epoch" in ran(*options).out
    assert set(os.listdir(tmp_path)) == before


def test_steps_and_schedule(ran, net, data, tmp_path):
    ran("train", net, "--data", data, "--batch", 16, "--steps", 10, "--epochs", 9, "--schedule", "step", "--decay", "0.5", "--decay-every", 1, "--lr", "0.01", "--log", tmp_path / "log.jsonl")
    assert [row["lr"] for row in rows(tmp_path / "log.jsonl")] == [0.01] * 4 + [0.005] * 4 + [0.0025] * 2


def test_loss_that_is_no_number(rynd, tmp_path):
    """A product whose weights grow without end: the first step whose loss is no number is named, and the weights before it are kept."""
    random = np.random.default_rng(0)
    x = random.standard_normal((16, 5)).astype("float32")
    net = save(tmp_path / "net.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", "float32", ["N", 5])], [("y", "float32", ["N", 3])],
               {"w": random.standard_normal((5, 3)).astype("float32")})
    np.savez(tmp_path / "data.npz", x=x, y=x[:, :3])
    result = rynd("train", net, "--data", tmp_path / "data.npz", "--batch", 8, "--lr", "100", "--epochs", 100, "-o", tmp_path / "out.onnx", "--log", tmp_path / "log.jsonl")
    log = losses(tmp_path / "log.jsonl")
    result.failed("the loss is", f"at step {len(log)} (epoch {(len(log) + 1) // 2}", "--lr", tmp_path / "out.checkpoint.npz")
    assert log[-1] is None and None not in log[:-1]
    assert rows(tmp_path / "log.jsonl", "end")[0]["why"] == "failed"
    assert all(np.isfinite(value).all() for value in weights_of(tmp_path / "out.onnx").values())


def test_another_run_does_not_go_on(ran, rynd, net, data, tmp_path):
    options = ["train", net, "--data", data, "--batch", 16, "-o", tmp_path / "out.onnx"]
    checkpoint = tmp_path / "out.checkpoint.npz"
    ran(*options)
    rynd(*options, "--resume", checkpoint).failed(checkpoint, "step 4", "give more --epochs")
    rynd(*options, "--epochs", 2, "--seed", 1, "--resume", checkpoint).failed("seed=0", "seed=1")
    rynd(*options, "--epochs", 2, "--lr", "0.02", "--resume", checkpoint).failed("lr=0.01", "lr=0.02")
    rynd(*options, "--epochs", 2, "--freeze", "w1", "--resume", checkpoint).failed(checkpoint, "--freeze")
    rynd(*options, "--epochs", 2, "--resume", data).failed(data, "no checkpoint of rynd train")
    rynd(*options, "--epochs", 2, "--resume", tmp_path / "none.npz").failed("none.npz")
    other = classifier(tmp_path / "other.onnx", side=14)
    rynd("train", other, *options[2:], "--epochs", 2, "--resume", checkpoint).failed("'x'")
    ran(*options, "--epochs", 2, "--resume", checkpoint)


@pytest.mark.parametrize("options, parts", [
    ([], ["--data"]),
    (["--data", "{data}", "--loss", "huber"], ["--loss", "'huber'", "cross_entropy|mse"]),
    (["--data", "{data}", "--loss", "mse", "--label-smoothing", "0.1"], ["--label-smoothing"]),
    (["--data", "{data}", "--optimizer", "adam", "--momentum", "0.9"], ["--momentum", "--optimizer sgd"]),
    (["--data", "{data}", "--nesterov", "--momentum", "0"], ["--nesterov"]),
    (["--data", "{data}", "--decay", "0.5"], ["--schedule step"]),
    (["--data", "{data}", "--lr-last", "0.5"], ["--schedule cosine"]),
    (["--data", "{data}", "--flip"], ["--flip", "archive of arrays"]),
    (["--data", "{data}", "--turn"], ["--turn", "archive of arrays"]),
    (["--data", "{data}", "--factor", "2"], ["--factor", "pairs"]),
    (["--data", "{data}", "-o", "out.txt"], ["--output", "'out.txt'", ".onnx"]),
    (["--data", "{data}", "--checkpoint", "c"], ["--checkpoint", "'c'", ".npz"]),
    (["--data", "{data}", "--plot", "p.png"], ["--plot", "'p.png'", ".svg"]),
    (["--data", "{data}", "--checkpoint-every", "5"], ["--checkpoint-every", "-o OUT.onnx"]),
    (["--data", "{data}", "--epochs", "0"], ["--epochs", "'0'"]),
])
def test_wrong_usage(rynd, net, data, options, parts):
    rynd("train", net, *[option.format(data=data) for option in options]).failed(*parts, code=2)


def test_data_that_does_not_fit(rynd, net, data, folder, two_inputs, tmp_path):
    rynd("train", net, "--data", tmp_path / "none").failed("none", "No such file")
    rynd("train", net, "--data", data, "--batch", 65).failed("64 samples", "less than a batch of 65")
    rynd("train", two_inputs, "--data", data).failed("no array 'a'", "input of the model")
    rynd("train", net, "--data", folder[0], "--batch", 4, "--scale", "1/255").failed("16x16", "12x12", "--size")
    np.savez(tmp_path / "d.npz", x=np.zeros((8, 1, 12, 12), "float32"), y=np.full(8, CLASSES))
    rynd("train", net, "--data", tmp_path / "d.npz", "--batch", 4).failed("5 classes", "room for 4")
    np.savez(tmp_path / "d.npz", x=np.zeros((8, 1, 12, 13), "float32"), y=np.zeros(8, int))
    rynd("train", net, "--data", tmp_path / "d.npz", "--batch", 4).failed("[4, 1, 12, 13]", "'x'", "[N, 1, 12, 12]")
    np.savez(tmp_path / "d.npz", x=np.full((8, 1, 12, 12), 1e300), y=np.zeros(8, int))
    rynd("train", net, "--data", tmp_path / "d.npz", "--batch", 4).failed("d.npz", "array 'x'")
    np.savez(tmp_path / "d.npz", x=np.zeros((8, 1, 12, 12), "float32"), y=np.zeros((8, 3), "float32"))
    rynd("train", net, "--data", tmp_path / "d.npz", "--batch", 4).failed("[4, 3]", "[4, 4]")
    rynd("train", net, "--data", tmp_path / "d.npz", "--loss", "cross_entropy", "--batch", 4).failed("d.npz")


def test_size_of_random_parts(ran, rynd, folder, tmp_path):
    """A model that leaves its extents open wants --crop, or --dim."""
    net = save(tmp_path / "open.onnx", [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("GlobalAveragePool", ["c"], ["g"]), helper.make_node("Flatten", ["g"], ["y"])],
               [("x", "float32", ["N", 3, "H", "W"])], [("y", "float32", ["N", CLASSES])], {"w": np.ones((CLASSES, 3, 3, 3), "float32")})
    options = ["--data", folder[0], "--batch", 4, "--random-area", "0.5", "--scale", "1/255"]
    rynd("train", net, *options).failed("--random-area", "--crop HxW", code=2)
    ran("train", net, *options, "--crop", "8x10")
    ran("train", net, *options, "--dim", "H=8", "--dim", "W=9")


def test_files_that_cannot_be_written(rynd, net, data, tmp_path):
    for option, name in (("-o", "no/out.onnx"), ("--checkpoint", "no/c.npz"), ("--log", "no/log.jsonl"), ("--plot", "no/p.svg")):
        rynd("train", net, "--data", data, "--batch", 16, option, tmp_path / name).failed(tmp_path / name)
