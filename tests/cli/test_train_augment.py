# SPDX-License-Identifier: Apache-2.0
"""rynd train: RandAugment, erased parts and mixed pictures, and logs as tables and for TensorBoard."""

import csv
import json
import struct

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from test_train import classifier, data, folder, net, rows  # noqa: F401 (fixtures)

AUGMENT = ["--rand-augment", 2, "--magnitude", 15, "--erase", "0.5", "--mixup", "0.4"]


@pytest.fixture
def pictures(folder):  # noqa: F811
    """Options for 16x16 pictures of four classes."""
    return ["--data", folder[0], "--validate", folder[1], "--scale", "1/255", "--batch", 8, "--lr", "0.05"]


def test_learns_and_repeats(ran, rynd, pictures, tmp_path):
    """Equal bits at any number of threads and after a resumption, other ones without an option."""
    net = classifier(tmp_path / "net.onnx", channels=3, side=16)  # noqa: F811

    def trained(name, *options):
        ran("train", net, *pictures, *options, "-o", tmp_path / f"{name}.onnx", "--log", tmp_path / f"{name}.jsonl")
        return (tmp_path / f"{name}.onnx").read_bytes()

    whole = trained("whole", *AUGMENT, "--epochs", 8, "--threads", 1)
    assert rows(tmp_path / "whole.jsonl", "validation")[-1]["accuracy"] > 0.9
    assert trained("again", *AUGMENT, "--epochs", 8, "--threads", 2) == whole
    trained("part", *AUGMENT, "--epochs", 5)
    assert trained("part", *AUGMENT, "--epochs", 8, "--resume", tmp_path / "part.checkpoint.npz") == whole
    for place in range(0, len(AUGMENT), 2):
        less = AUGMENT[:place] + AUGMENT[place + 2:]
        name = AUGMENT[place][2:]
        if name != "magnitude":
            less = [option for option in less if name != "rand-augment" or option not in ("--magnitude", 15)]
        assert trained(name, *less, "--epochs", 1) != trained("all", *AUGMENT, "--epochs", 1)
        if less:
            rynd("train", net, *pictures, *less, "--epochs", 9, "--resume", tmp_path / "part.checkpoint.npz", "-o", tmp_path / "no.onnx").failed(
                "rand-augment" if name == "magnitude" else name, "same bits")


def test_loss_of_mixed_pictures(ran, folder, tmp_path):  # noqa: F811
    """A network that gives constants has the loss of shares: the mean over a batch's classes, however they are mixed."""
    net = onnx.load(classifier(tmp_path / "net.onnx", channels=3, side=16))  # noqa: F811
    for tensor in net.graph.initializer:
        value = np.zeros_like(numpy_helper.to_array(tensor)) if tensor.name != "b2" else np.array([1, 2, 3, 4], "float32")
        tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))
    onnx.save(net, tmp_path / "net.onnx")
    options = ["--data", folder[0], "--validate", folder[0], "--batch", 40, "--lr", 0, "--log", tmp_path / "log.jsonl", "--mixup", "0.5"]
    log_softmax = np.arange(1, 5) - np.log(np.exp(np.arange(1, 5)).sum())
    for smoothing in (0, 0.2):
        ran("train", tmp_path / "net.onnx", *options, "--label-smoothing", smoothing, "-o", tmp_path / "out.onnx")
        for kind in ("step", "validation"):
            (row,) = rows(tmp_path / "log.jsonl", kind)
            assert row["loss"] == pytest.approx(-log_softmax.mean(), rel=1e-5)
    assert rows(tmp_path / "log.jsonl", "validation")[0]["accuracy"] == 0.25


def test_needs_pictures_with_classes(rynd, net, data, pictures, tmp_path):  # noqa: F811
    for option in (["--rand-augment", 2], ["--erase", "0.5"], ["--mixup", "0.2"]):
        rynd("train", net, "--data", data, *option).failed("archive of arrays", code=2)
    colours = classifier(tmp_path / "colours.onnx", channels=3, side=16)
    rynd("train", colours, *pictures[:-4], "--batch", 1, "--mixup", "0.2").failed("--mixup needs a --batch of at least 2", code=2)
    rynd("train", colours, *pictures, "--magnitude", 31).failed("--magnitude", code=2)


# --- logs ---


def checksum(content):
    crc = 0xffffffff
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    crc ^= 0xffffffff
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def fields(content):
    """(number, value) of a protobuf message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = content[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(content):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            size = {1: 8, 5: 4}.get(key & 7) or varint()
            yield key >> 3, content[at:at + size]
            at += size


def events(path):
    content, at = path.read_bytes(), 0
    while at < len(content):
        (size,) = struct.unpack_from("<Q", content, at)
        assert struct.unpack_from("<I", content, at + 8)[0] == checksum(content[at:at + 8])
        record = content[at + 12:at + 12 + size]
        assert struct.unpack_from("<I", content, at + 12 + size)[0] == checksum(record)
        at += size + 16
        yield dict(fields(record))


def scalars(path):
    found = {}
    for event in events(path):
        for _, value in fields(event.get(5, b"")):
            tag, number = (dict(fields(value))[key] for key in (1, 2))
            found[tag.decode(), event[2]] = struct.unpack("<f", number)[0]
    return found


def test_tensorboard(ran, rynd, net, data, tmp_path):  # noqa: F811
    options = ["--data", data, "--validate", data, "--batch", 16, "--lr", "0.1", "-o", tmp_path / "out.onnx", "--log", tmp_path / "log.jsonl",
               "--tensorboard", tmp_path / "board"]
    ran("train", net, *options, "--epochs", 2)
    (path,) = (tmp_path / "board").iterdir()
    assert path.name.startswith("events.out.tfevents.")
    first = next(events(path))
    assert first[3] == b"brain.Event:2"
    found = scalars(path)
    steps = {row["step"]: row for row in rows(tmp_path / "log.jsonl")}
    assert len(steps) == 8
    for name, tag in (("loss", "loss/train"), ("accuracy", "accuracy/train"), ("lr", "learning_rate"), ("images_per_second", "images_per_second")):
        assert {step: value for (key, step), value in found.items() if key == tag} == pytest.approx({step: row[name] for step, row in steps.items()}, rel=1e-5)
    validations = {row["step"]: row for row in rows(tmp_path / "log.jsonl", "validation")}
    for name in ("loss", "accuracy"):
        assert {step: value for (tag, step), value in found.items() if tag == f"{name}/validation"} == pytest.approx(
            {step: row[name] for step, row in validations.items()}, rel=1e-6)
    path.unlink()
    ran("train", net, *options, "--epochs", 3, "--resume", tmp_path / "out.checkpoint.npz")
    (path,) = (tmp_path / "board").iterdir()
    start = [event for event in events(path) if 7 in event]
    assert [event[2] for event in start] == [9] and dict(fields(start[0][7])) == {1: 1}  # what was behind step 8 is left out
    assert {step for _, step in scalars(path)} == {9, 10, 11, 12}
    (tmp_path / "file").touch()
    rynd("train", net, "--data", data, "--batch", 16, "--tensorboard", tmp_path / "file").failed(f"{tmp_path / 'file'}")


def test_table(ran, net, data, tmp_path):  # noqa: F811
    """The same numbers as in lines of JSON; a resumed run goes on in the same file."""
    options = ["--data", data, "--validate", data, "--batch", 16, "--lr", "0.1", "--threads", 1, "-o", tmp_path / "out.onnx"]
    ran("train", net, *options, "--epochs", 3, "--log", tmp_path / "log.jsonl")
    ran("train", net, *options, "--epochs", 2, "--log", tmp_path / "log.csv")
    with open(tmp_path / "log.csv", "a") as file:
        file.write("step,9,")  # a killed run's
    ran("train", net, *options, "--epochs", 3, "--log", tmp_path / "log.csv", "--resume", tmp_path / "out.checkpoint.npz", "--plot", tmp_path / "plot.svg")
    with open(tmp_path / "log.csv") as file:
        table = list(csv.DictReader(file))
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    lines = [line for line in lines if line["row"] in ("step", "validation")]
    assert len(table) == len(lines) == 15
    for row, line in zip(table, lines):
        assert row["row"] == line["row"]
        for name in ("step", "epoch", "loss", "accuracy", "lr", "samples"):
            assert float(row[name] or -1) == line.get(name, -1), name
    assert "12 steps" in (tmp_path / "plot.svg").read_text()
