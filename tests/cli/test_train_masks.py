# SPDX-License-Identifier: Apache-2.0
"""rynd train on pictures with masks: segmentation networks."""

import numpy as np
import onnx
import pytest
from conftest import save
from onnx import helper
from PIL import Image
from test_train import rows

CLASSES, VOID = 3, 255


def segmenter(path, stride=1, side=None):
    """[N, 3, H, W] -> three convolutions, of which the first has the stride -> [N, 3, H / stride, W / stride]."""
    random = np.random.default_rng(0)
    shapes = {"w1": (8, 3, 3, 3), "w2": (8, 8, 3, 3), "w3": (CLASSES, 8, 1, 1)}
    weights = {name: (random.standard_normal(shape) * (2 / np.prod(shape[1:]))**0.5).astype("float32") for name, shape in shapes.items()}
    nodes = [helper.make_node("Conv", ["x", "w1"], ["c1"], pads=[1] * 4, strides=[stride] * 2), helper.make_node("Relu", ["c1"], ["r1"]),
             helper.make_node("Conv", ["r1", "w2"], ["c2"], pads=[1] * 4), helper.make_node("Relu", ["c2"], ["r2"]), helper.make_node("Conv", ["r2", "w3"], ["y"])]
    size = [side or "H", side or "W"]
    return save(path, nodes, [("x", "float32", ["N", 3, *size])], [("y", "float32", ["N", CLASSES, *([side // stride] * 2 if side else "AB")])], weights)


def scenes(folder, count, seed, side=24, palette=False):
    """Bright squares are class 1, blue ones class 2; their borders belong to nobody."""
    random = np.random.default_rng(seed)
    for name in ("images", "masks"):
        (folder / name).mkdir(parents=True)
    for number in range(count):
        picture, mask = random.integers(0, 60, (side, side, 3)).astype("uint8"), np.zeros((side, side), "uint8")
        for kind, colour in ((1, (160, 160, 160)), (2, (0, 0, 190))):
            y, x, size = *random.integers(0, side - 9, 2), random.integers(5, 9)
            mask[y:y + size, x:x + size] = VOID
            mask[y + 1:y + size - 1, x + 1:x + size - 1] = kind
            picture[y:y + size, x:x + size] = np.array(colour) + random.integers(0, 30, (size, size, 3))
        Image.fromarray(picture).save(folder / "images" / f"{number}.jpg", quality=95)
        image = Image.fromarray(mask, "P" if palette else "L")
        if palette:
            image.putpalette(list(random.integers(0, 256, 768)))
        image.save(folder / "masks" / f"{number}.png")
    return folder


@pytest.fixture
def data(tmp_path):
    return ["--data", scenes(tmp_path / "train", 24, 1), "--validate", scenes(tmp_path / "validate", 8, 2, palette=True), "--scale", "1/255", "--batch", 4]


def test_learns(ran, data, tmp_path):
    """A small network finds the squares; a palette's numbers are classes, too. The trained model makes masks."""
    net = segmenter(tmp_path / "net.onnx")
    options = [*data, "--optimizer", "adam", "--lr", "0.02", "--epochs", 12, "--flip", "--random-crop", 2, "--crop", "24", "--jitter", "0.1"]
    (result,) = ran("train", net, *options, "-o", tmp_path / "out.onnx", "--json").results
    assert result["validation"]["accuracy"] > 0.95 and result["validation"]["samples"] == 8
    ran("run", tmp_path / "out.onnx", "-i", tmp_path / "validate" / "images" / "0.jpg", "-o", tmp_path / "y.npy")
    mask = np.array(Image.open(tmp_path / "validate" / "masks" / "0.png"))
    right = np.load(tmp_path / "y.npy")[0].argmax(0) == mask
    assert right[mask != VOID].mean() > 0.93
    ran("train", net, *options, "-o", tmp_path / "again.onnx", "--threads", 1)
    assert (tmp_path / "again.onnx").read_bytes() == (tmp_path / "out.onnx").read_bytes()


@pytest.mark.parametrize("stride", [1, 2])
def test_losses(ran, data, tmp_path, stride):
    """numpy's loss over positions that count; masks get the output's size, by nearest pixels."""
    import onnxruntime
    net = segmenter(tmp_path / "net.onnx", stride, side=24)
    options = [*data[:-1], 8, "--lr", 0, "--no-shuffle", "--steps", 1, "--log", tmp_path / "log.jsonl", "-o", tmp_path / "out.onnx"]
    ran("train", net, *options)
    session = onnxruntime.InferenceSession(str(net), providers=["CPUExecutionProvider"])

    def expected(folder):
        names = sorted((folder / "images").iterdir())[:8]
        x = np.stack([np.array(Image.open(name)).transpose(2, 0, 1) for name in names]).astype("float32") / 255
        y = session.run(None, {"x": x})[0].astype(float)
        masks = np.stack([np.array(Image.open(folder / "masks" / f"{name.stem}.png")) for name in names])[:, stride // 2::stride, stride // 2::stride]
        logs = y - np.log(np.exp(y).sum(1, keepdims=True))
        losses = -np.take_along_axis(logs, np.where(masks == VOID, 0, masks)[:, None].astype(int), 1)[:, 0]
        return losses, masks

    losses, masks = expected(tmp_path / "train")
    assert rows(tmp_path / "log.jsonl")[0]["loss"] == pytest.approx(losses[masks != VOID].mean(), rel=1e-3)
    losses, masks = expected(tmp_path / "validate")
    wanted = np.mean([loss[mask != VOID].mean() for loss, mask in zip(losses, masks)])
    assert rows(tmp_path / "log.jsonl", "validation")[0]["loss"] == pytest.approx(wanted, rel=1e-3)


def test_mask_follows_its_picture(ran, tmp_path):
    """Whatever is cut, flipped and turned: a network that copies red into class 1 stays right where the mask is 1 in red places."""
    net = onnx.helper.make_model(onnx.helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"])], "copy", [helper.make_tensor_value_info("x", 1, ["N", 3, 16, 16])],
        [helper.make_tensor_value_info("y", 1, ["N", 2, 16, 16])],
        [onnx.numpy_helper.from_array(np.array([[-0.02, 0, 0], [0.02, 0, 0]], "float32").reshape(2, 3, 1, 1), "w")]), opset_imports=[helper.make_opsetid("", 17)])
    net.graph.initializer.append(onnx.numpy_helper.from_array(np.array([2.5, -2.5], "float32"), "b"))
    net.graph.node[0].input.append("b")
    net.ir_version = 8
    onnx.save(net, tmp_path / "net.onnx")
    for name in ("images", "masks"):
        (tmp_path / "data" / name).mkdir(parents=True)
    random = np.random.default_rng(3)
    for number in range(12):
        mask = np.kron(random.integers(0, 2, (6, 6)), np.ones((8, 8))).astype("uint8")
        Image.fromarray(np.stack([mask * 250] * 3, -1)).save(tmp_path / "data" / "images" / f"{number}.png")
        Image.fromarray(mask).save(tmp_path / "data" / "masks" / f"{number}.png")
    for options in (["--crop", 16], ["--crop", 16, "--random-crop", 3, "--flip", "--turn"], ["--random-area", "0.3", "--flip"], ["--size", 20, "--random-crop", 0]):
        ran("train", tmp_path / "net.onnx", "--data", tmp_path / "data", "--batch", 4, "--lr", 0, *options, "--epochs", 4, "--log", tmp_path / "log.jsonl",
            "-o", tmp_path / "out.onnx")
        accuracy = np.mean([row["accuracy"] for row in rows(tmp_path / "log.jsonl")])
        assert accuracy > (0.999 if "--size" not in options and "--random-area" not in options else 0.9), options


def test_mistakes(rynd, data, tmp_path):
    net = segmenter(tmp_path / "net.onnx")
    folder = tmp_path / "train"
    rynd("train", net, *data, "--loss", "mse").failed("has classes; give cross_entropy", code=2)
    rynd("train", net, *data, "--mixup", "0.2").failed("--mixup applies to pictures with classes", "pictures with masks", code=2)
    rynd("train", net, *data, "--ignore-label", 9).failed(folder / "masks", "has the class 255", "room for 3", "--ignore-label N")
    Image.fromarray(np.zeros((5, 24), "uint8")).save(folder / "masks" / "3.png")
    Image.fromarray(np.zeros((24, 24, 3), "uint8")).save(folder / "masks" / "4.png")
    run = rynd("train", net, *data, "-o", tmp_path / "out.onnx")
    assert run.code == 0
    assert f"'{folder}/masks/3.png' is of 5x24, and '{folder}/images/3.jpg' of 24x24 (height x width): a mask has the size of its picture; it is skipped" in run.err
    assert f"'{folder}/masks/4.png' is a picture of colours" in run.err
    (folder / "masks" / "7.png").unlink()
    rynd("train", net, *data).failed(f"'{folder}/images/7.jpg' has no file of that name in '{folder}/masks'")
