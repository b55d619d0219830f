# SPDX-License-Identifier: Apache-2.0
"""Runs the documented command lines in a folder with small stand-ins for the models, pictures and data that they name.

A command that measures for minutes, or needs another device, is left out with its reason."""

import gzip
import os
import pathlib
import shutil
import struct
import sys

import numpy as np
import pytest
import test_train_boxes as boxes
from conftest import run_rynd, save
from detectors import constants, yolov8
from documented import ROOT, of_documents, of_help
from onnx import helper
from PIL import Image
from test_options import COMMANDS

LEFT_OUT = {"--device": "another device", "--measure": "measures for seconds", "--calibrate": "measures for minutes", "--check": "checks every kernel"}
CLASSES = 3
DOCUMENTED = [*of_documents(), *of_help(run_rynd, COMMANDS)]


def classifier(path, side=8, channels=3):
    """A convolution with open height and width, a mean and a product: what training and classifying take."""
    rng = np.random.default_rng(2)
    weights = {"conv.weight": rng.standard_normal((4, channels, 3, 3)), "fc.weight": rng.standard_normal((4, CLASSES)), "fc.bias": np.zeros(CLASSES)}
    nodes = [helper.make_node("Conv", ["x", "conv.weight"], ["c"], name="conv", pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["r"], name="relu"),
             helper.make_node("GlobalAveragePool", ["r"], ["m"], name="mean"), helper.make_node("Flatten", ["m"], ["f"], name="flat"),
             helper.make_node("Gemm", ["f", "fc.weight", "fc.bias"], ["y"], name="fc")]
    ends = [("x", "float32", ["batch", channels, side, side])], [("y", "float32", ["batch", CLASSES])]
    save(path, nodes, *ends, {name: value.astype("float32") for name, value in weights.items()})


def segmenter(path):
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], name="classes")]
    ends = [("x", "float32", [1, 3, 16, 16])], [("y", "float32", [1, 21, 16, 16])]
    save(path, nodes, *ends, {"w": np.random.default_rng(1).standard_normal((21, 3, 1, 1)).astype("float32")})


def pictures(folder, *classes):
    for name in classes:
        (folder / name).mkdir(parents=True)
        for i in range(4):
            picture(folder / name / f"{i}.png")


def picture(path, side=40):
    Image.fromarray(np.random.default_rng(4).integers(0, 256, (side, side, 3), "uint8")).save(path)


def idx(folder, part, count=128):
    """Images and labels in the format of MNIST, plain and compressed."""
    rng = np.random.default_rng(6)
    files = {f"{part}-images-idx3-ubyte": struct.pack(">4I", 2051, count, 28, 28) + rng.integers(0, 256, count * 784, "uint8").tobytes(),
             f"{part}-labels-idx1-ubyte": struct.pack(">2I", 2049, count) + rng.integers(0, CLASSES, count, "uint8").tobytes()}
    for name, data in files.items():
        (folder / name).write_bytes(data)
        (folder / f"{name}.gz").write_bytes(gzip.compress(data))


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory):
    folder = tmp_path_factory.mktemp("documented")
    for name in ("resnet50", "resnet18", "model", "classifier", "first", "second"):
        classifier(folder / f"{name}.onnx", 224)
    for name in ("squeezenet", "net-trained-best"):
        classifier(folder / f"{name}.onnx", 40)
    for name in ("net", "out", "fashion", "fashion_8"):
        classifier(folder / f"{name}.onnx", 28, 1)
    constants(folder / "yolov8n.onnx", {"output0": yolov8()[0]["output0"]})
    for name, network in (("detector", boxes.yolov8), ("detector-trained-best", boxes.yolov8), ("yolox_nano", boxes.yolov8)):
        network(folder / f"{name}.onnx")
    for part in ("train", "val"):
        boxes.yolo(folder / "cars" / part, 8, 1)
        boxes.coco(folder / "shapes" / part, 16, 1)
    segmenter(folder / "deeplab.onnx")
    shutil.copytree(ROOT / "models", folder / "models")
    shutil.copy(folder / "models/upscale2x.onnx", folder / "upscale.onnx")
    shutil.copy(folder / "models/upscale2x.onnx", folder / "upscale2x_int8.onnx")
    (folder / "build/demo").mkdir(parents=True)
    for name in ("photo.jpg", "street.jpg", "cat.jpg", "small.png", "build/demo/small.png"):
        picture(folder / name)
    picture(folder / "shirt.png", 28)
    picture(folder / "photo.png", 224)
    x, y = np.zeros((8, 3, 224, 224), "float32"), np.zeros((8, CLASSES), "float32")
    np.save(folder / "x.npy", x[:1])
    np.savez(folder / "x.npz", x=x)
    np.savez(folder / "train.npz", x=x, y=y)
    for name in ("photos", "more-photos", "pictures", "others"):
        pictures(folder / name, "a", "b", "c")
    for part in ("train", "t10k"):
        idx(folder, part)
    for name in ("labels.txt", "names.txt"):
        (folder / name).write_text("a\nb\nc\n")
    (folder / "devices.txt").write_text("device a cpu threads=1\ndevice b cpu threads=1\n")
    shutil.copy(folder / "devices.txt", folder / "two.txt")
    run_rynd("devices", "--export", folder / "machine.txt")
    for name in ("other-machine", "h100", "example"):
        shutil.copy(folder / "machine.txt", folder / f"{name}.txt")
    environment = {**os.environ, "HOME": str(folder), "RYND_WISDOM": str(folder / "wisdom.db"), "RYND_MACHINE": "off"}
    run_rynd("tune", "conv c=8 h=8 w=8 k=8", "--budget", "0.1", env=environment)
    run_rynd("wisdom", "export", folder / "wisdom.jsonl", env=environment)
    shutil.copy(folder / "wisdom.db", folder / "other.db")
    return folder, environment


def shortened(command):
    """Less of the same: fewer problems, seconds, epochs and processes."""
    short = {"--count": "2", "--budget": "1", "--epochs": "1", "--run": "2", "--batch": "4" if command[0] == "train" else "1"}
    command = [short.get(before, word) for before, word in zip(["", *command], command)]
    command = [word.replace("~", ".") for word in command]
    less = {"tune": ["--budget", "1"], "train": ["--batch", "4"], "place": ["--batch", "1"]}.get(command[0], [])
    return command if less[:1] and less[0] in command else command + less


@pytest.mark.parametrize("place, command", DOCUMENTED, ids=[f"{place} {' '.join(command)[:60]}" for place, command in DOCUMENTED])
def test_runs(place, command, sandbox):
    why = next((LEFT_OUT[word] for word in command if word in LEFT_OUT), None)
    if why:
        pytest.skip(why)
    folder, environment = sandbox
    if command[0] == "train" and {"photos", "pictures"} & set(command):
        classifier(folder / "net.onnx", 224)
    result = run_rynd(*shortened(command), cwd=folder, env=environment)
    assert result.code == 0, (place, result.err)
