# SPDX-License-Identifier: Apache-2.0
"""rynd train on pictures with boxes: COCO's and YOLO's data, small detectors whose model decodes boxes or leaves that to the head."""

import json

import numpy as np
import pytest
from conftest import save
from onnx import helper
from PIL import Image, ImageDraw
from test_train import rows

NAMES = ["square", "disc"]
SIDE = 64


class Network:
    """Convolutions of stride 2 down to stride 32, and a head at the last three."""

    def __init__(self, seed=0):
        self.random = np.random.default_rng(seed)
        self.nodes, self.values = [], {}

    def node(self, operator, *inputs, **attributes):
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def constant(self, value, dtype="float32"):
        name = f"v{len(self.values)}"
        self.values[name] = np.asarray(value, dtype)
        return name

    def conv(self, x, before, after, side=3, stride=1, bias=0.0, scale=1.0):
        weight = self.random.standard_normal((after, before, side, side)) * (2 / (before * side * side))**0.5 * scale
        name = f"layer{len(self.values)}.weight"
        self.values[name] = weight.astype("float32")
        return self.node("Conv", x, name, self.constant(np.broadcast_to(np.float32(bias), after)), strides=[stride] * 2, pads=[side // 2] * 4)

    def levels(self):
        """Features of the strides 8, 16 and 32, each with 32 channels."""
        x = "x"
        for before, after in ((3, 12), (12, 24)):
            x = self.node("Relu", self.conv(x, before, after, stride=2))
        features = []
        for before in (24, 32, 32):
            x = self.node("Relu", self.conv(x, before, 32, stride=2))
            features.append(self.node("Relu", self.conv(x, 32, 32)))
        return features

    def rows(self, features, fields, bias, each=1):
        """[N, fields, A]."""
        maps = [self.conv(x, 32, each * fields, side=1, bias=np.tile(bias, each), scale=0.3) for x in features]
        flat = [self.node("Reshape", m, self.constant([0, each * fields, -1], "int64")) for m in maps]
        return self.node("Concat", *flat, axis=2)

    def split(self, x, sizes):
        names = [f"s{len(self.nodes)}_{i}" for i in range(len(sizes))]
        self.nodes.append(helper.make_node("Split", [x, self.constant(sizes, "int64")], names, axis=1))
        return names

    def cells(self):
        """Column, row and stride of each candidate, [1, 3, A]."""
        rows = [(x, y, s) for s in (8, 16, 32) for y in range(SIDE // s) for x in range(SIDE // s)]
        return np.array(rows, "float32").T[None]

    def save(self, path, *outputs):
        for old, new, _ in outputs:
            self.nodes.append(helper.make_node("Identity", [old], [new]))
        return save(path, self.nodes, [("x", "float32", ["N", 3, SIDE, SIDE])], [(new, "float32", shape) for _, new, shape in outputs], self.values)


COUNT = sum((SIDE // s)**2 for s in (8, 16, 32))


def yolox(path, classes=2):
    """[N, A, 5+C]: raw boxes, probabilities."""
    net = Network()
    raw = net.rows(net.levels(), 5 + classes, np.array([0.5, 0.5, 0.5, 0.5] + [-4] + [0] * classes))
    boxes, scores = net.split(raw, [4, 1 + classes])
    y = net.node("Transpose", net.node("Concat", boxes, net.node("Sigmoid", scores), axis=1), perm=[0, 2, 1])
    return net.save(path, (y, "output", ["N", COUNT, 5 + classes]))


def yolov8(path, classes=2):
    """[N, 4+C, A]: the model decodes, distances from the cell's centre are expectations over 4 bins."""
    net = Network()
    raw = net.rows(net.levels(), 16 + classes, np.array([0.0] * 16 + [-4] * classes))
    bins, scores = net.split(raw, [16, classes])
    shares = net.node("Softmax", net.node("Reshape", bins, net.constant([0, 4, 4, -1], "int64")), axis=2)
    distances = net.node("ReduceSum", net.node("Mul", shares, net.constant(np.arange(4.0).reshape(1, 1, 4, 1))), net.constant([2], "int64"), keepdims=0)
    before, behind = net.split(distances, [2, 2])
    cells = net.cells()
    centre, stride = net.constant(cells[:, :2] + 0.5), net.constant(cells[:, 2:])
    low, high = net.node("Sub", centre, before), net.node("Add", centre, behind)
    middle = net.node("Mul", net.node("Add", low, high), net.constant(0.5))
    boxes = net.node("Mul", net.node("Concat", middle, net.node("Sub", high, low), axis=1), stride)
    return net.save(path, (net.node("Concat", boxes, net.node("Sigmoid", scores), axis=1), "output0", ["N", 4 + classes, COUNT]))


def yolov5(path, classes=2):
    """Three outputs [N, 3, H, W, 5+C] before decoding, for pictures with larger anchors than these: only by name."""
    net = Network()
    outputs = []
    for stride, x in zip((8, 16, 32), net.levels()):
        m = net.conv(x, 32, 3 * (5 + classes), side=1, bias=np.tile([0.0] * 4 + [-4] + [0.0] * classes, 3), scale=0.3)
        cut = net.node("Reshape", m, net.constant([0, 3, 5 + classes, SIDE // stride, SIDE // stride], "int64"))
        outputs.append((net.node("Transpose", cut, perm=[0, 1, 3, 4, 2]), f"map{stride}", ["N", 3, SIDE // stride, SIDE // stride, 5 + classes]))
    return net.save(path, *outputs)


def scene(random, height=SIDE, width=SIDE):
    """A picture of noise with one to three shapes that do not overlap; [(class, left, top, width, height)]."""
    image = Image.fromarray(random.integers(0, 70, (height, width, 3)).astype("uint8"))
    draw, boxes = ImageDraw.Draw(image), []
    for _ in range(random.integers(1, 4)):
        label, side = random.integers(0, 2), random.integers(14, 28)
        left, top = random.integers(0, width - side), random.integers(0, height - side)
        if any(abs(left + side / 2 - l - s / 2) < (side + s) / 2 and abs(top + side / 2 - t - s / 2) < (side + s) / 2 for _, l, t, s, _ in boxes):
            continue
        place = [left, top, left + side - 1, top + side - 1]
        if label:
            draw.ellipse(place, fill=(90, 120, int(random.integers(170, 255))))
        else:
            draw.rectangle(place, fill=(int(random.integers(170, 255)), 120, 90))
        boxes.append((int(label), int(left), int(top), int(side), int(side)))
    return image, boxes


def coco(folder, count, seed, **sizes):
    """folder/images and folder/boxes.json."""
    random = np.random.default_rng(seed)
    (folder / "images").mkdir(parents=True)
    document = {"images": [], "annotations": [], "categories": [{"id": 3 * i + 1, "name": name} for i, name in enumerate(NAMES)]}
    for number in range(count):
        image, boxes = scene(random, **sizes)
        image.save(folder / "images" / f"{number}.png")
        document["images"].append({"id": number + 10, "file_name": f"{number}.png"})
        for label, left, top, width, height in boxes:
            document["annotations"].append({"id": len(document["annotations"]), "image_id": number + 10, "category_id": 3 * label + 1,
                                            "bbox": [left, top, width, height], "area": width * height, "iscrowd": 0})
    (folder / "boxes.json").write_text(json.dumps(document))
    return folder / "boxes.json"


def yolo(folder, count, seed, **sizes):
    """folder/images, folder/labels and folder/data.yaml."""
    random = np.random.default_rng(seed)
    for name in ("images", "labels"):
        (folder / name).mkdir(parents=True)
    for number in range(count):
        image, boxes = scene(random, **sizes)
        image.save(folder / "images" / f"{number}.png")
        lines = [f"{label} {(left + w / 2) / image.width:.6f} {(top + h / 2) / image.height:.6f} {w / image.width:.6f} {h / image.height:.6f}\n"
                 for label, left, top, w, h in boxes]
        (folder / "labels" / f"{number}.txt").write_text("".join(lines))
    (folder / "data.yaml").write_text("path: .\nnames:\n  0: square\n  1: 'disc'\nnc: 2\n")
    return folder


@pytest.fixture
def data(tmp_path):
    return ["--data", coco(tmp_path / "train", 48, 1), "--validate", yolo(tmp_path / "validate", 16, 2)]


FAST = ["--batch", 8, "--scale", "1/255", "--optimizer", "adam", "--lr", "0.004", "--schedule", "cosine", "--clip", 10]


def figure(ran, model, folder, name="map50"):
    """By rynd eval, from a COCO file."""
    (result,) = ran("eval", model, "--data", folder / "images", "--boxes", folder / "boxes.json", "--json").results
    return result["figures"][name]


@pytest.mark.parametrize("network", [yolox, yolov8, yolov5])
def test_learns(ran, data, tmp_path, network):
    """Random weights find little; seconds of training find the shapes. run and eval know names and preparation by themselves."""
    net = network(tmp_path / "net.onnx")
    data[-1] = coco(tmp_path / "seen", 16, 2).parent / "boxes.json"
    assert figure(ran, net, tmp_path / "seen") < 0.2
    (result,) = ran("train", net, *data, *FAST, "--epochs", 12, "--flip", "-o", tmp_path / "out.onnx", "--log", tmp_path / "log.jsonl", "--json").results
    last = rows(tmp_path / "log.jsonl", "validation")[-1]
    assert result["validation"]["map50"] == pytest.approx(last["map50"]) and last["map50"] > 0.6
    for name, of in (("map", "accuracy"), ("map50", "map50")):
        assert figure(ran, tmp_path / "out.onnx", tmp_path / "seen", name) == pytest.approx(last[of], abs=2e-3)
    for form in (tmp_path / "seen" / "boxes.json", yolo(tmp_path / "lines", 16, 2)):
        (again,) = ran("eval", tmp_path / "out.onnx", "--data", form, "--json").results
        assert again["figures"]["map"] == pytest.approx(last["accuracy"], abs=2e-3)
    picture = tmp_path / "seen" / "images" / "0.png"
    (found,) = ran("run", tmp_path / "out.onnx", "--task", "detect", "-i", picture, "-o", tmp_path / "drawn.png", "--json").results
    assert {box["name"] for box in found["boxes"]} <= set(NAMES) and found["boxes"]
    assert (np.array(Image.open(tmp_path / "drawn.png")) != np.array(Image.open(picture))).any()
    assert (tmp_path / "out-best.onnx").exists()


def test_same_bits(ran, data, tmp_path):
    """At any number of threads, and after an interruption, with all augmentations."""
    net = yolov8(tmp_path / "net.onnx")
    options = [*data, *FAST[:-4], "--flip", "--random-area", "0.5", "--jitter", "0.2", "--erase", "0.5", "--lr", "0.002"]
    for name, more in (("a", ["--epochs", 3]), ("b", ["--epochs", 3, "--threads", 1]), ("c", ["--epochs", 1])):
        ran("train", net, *options, *more, "-o", tmp_path / f"{name}.onnx")
    ran("train", net, *options, "--epochs", 3, "--resume", tmp_path / "c.checkpoint.npz", "-o", tmp_path / "c.onnx")
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes() == (tmp_path / "c.onnx").read_bytes()


def test_same_data(ran, tmp_path):
    """COCO's and YOLO's form of the same pictures give the same losses, also of pictures that are no squares."""
    net = yolox(tmp_path / "net.onnx")
    losses = []
    for name, make in (("coco", coco), ("yolo", yolo)):
        path = make(tmp_path / name, 8, 3, height=48, width=80)
        ran("train", net, "--data", path, *FAST, "--no-shuffle", "--epochs", 2, "--log", tmp_path / "log.jsonl", "-o", tmp_path / "out.onnx")
        losses.append([row["loss"] for row in rows(tmp_path / "log.jsonl")])
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


def test_boxes_move_with_their_pictures(ran, tmp_path):
    """A picture flipped by hand has the loss of one that --flip flips."""
    random = np.random.default_rng(4)
    image, boxes = scene(random)
    nets, losses = yolox(tmp_path / "net.onnx"), {}
    for name in ("plain", "flipped"):
        folder = tmp_path / name
        for inner in ("images", "labels"):
            (folder / inner).mkdir(parents=True)
        flipped = name == "flipped"
        for number in range(8):
            (image.transpose(Image.FLIP_LEFT_RIGHT) if flipped else image).save(folder / "images" / f"{number}.png")
            lines = [f"{label} {(SIDE - left - w / 2 if flipped else left + w / 2) / SIDE} {(top + h / 2) / SIDE} {w / SIDE} {h / SIDE}" for label, left, top, w, h in boxes]
            (folder / "labels" / f"{number}.txt").write_text("\n".join(lines))
        for more in ([], ["--flip"]):
            ran("train", nets, "--data", folder, "--batch", 1, "--scale", "1/255", "--lr", 0, "--log", tmp_path / "log.jsonl", "-o", tmp_path / "out.onnx", *more)
            losses[name, bool(more)] = {round(row["loss"], 4) for row in rows(tmp_path / "log.jsonl")}
    assert len(losses["plain", False]) == len(losses["flipped", False]) == 1 and losses["plain", False] != losses["flipped", False]
    assert losses["plain", True] == losses["flipped", True] == losses["plain", False] | losses["flipped", False]


def test_refused(rynd, tmp_path):
    """Errors name the file, its line or the option, and what would do."""
    net, text = yolov8(tmp_path / "net.onnx"), yolo(tmp_path / "yolo", 4, 1)
    file = coco(tmp_path / "coco", 4, 1)

    def failing(*args):
        result = rynd("train", *args, "--batch", 2, "-o", tmp_path / "out.onnx")
        assert result.code in (1, 2) and not (tmp_path / "out.onnx").exists()
        return result.err
    label = text / "labels" / "2.txt"
    for line, what in (("0 0.5 0.5 0.2", "too few"), ("x 0 0 0 0", "no class"), ("0 0.5 0.5 0.2 1.2", "outside of 0 to 1"), ("0.5 .1 .1 .1 .1", "whole number"),
                       ("0 .1 .1 .1 .1 .3 .3", "more than a box")):
        label.write_text(f"0 0.5 0.5 0.25 0.25\n{line}\n")
        error = failing(net, "--data", text)
        assert f"labels/2.txt', line 2: " in error and what in error and line in error
    label.write_text("7 0.5 0.5 0.25 0.25\n")
    assert "class 7" in failing(net, "--data", text)
    label.unlink()
    document = json.loads(file.read_text())
    document["images"][0]["file_name"] = "absent.png"
    other = tmp_path / "coco" / "other.json"
    other.write_text(json.dumps(document))
    assert "absent.png" in failing(net, "--data", other)
    for option in (["--turn"], ["--random-crop", 2], ["--rand-augment", 2], ["--mixup", "0.2"], ["--crop", 32]):
        error = failing(net, "--data", file, *option)
        assert option[0] in error and "--random-area" in error
    assert "give detection" in failing(net, "--data", file, "--loss", "mse")
    assert "room for 1" in failing(yolov8(tmp_path / "one.onnx", 1), "--data", file)
    assert "no head is called 'yolo'" in failing(net, "--data", file, "--head", "yolo")
    end = save(tmp_path / "end.onnx", [helper.make_node("Flatten", ["x"], ["f"]), helper.make_node("Gemm", ["f", "w"], ["g"]), helper.make_node("Reshape", ["g", "shape"], ["y"])],
               [("x", "float32", [2, 3, 8, 8])], [("y", "float32", [2, 2, 6])], {"w": np.ones((192, 12), "float32"), "shape": np.array([2, 2, 6])})
    error = failing(end, "--data", file)
    assert "yolo-end" in error and "no gradient" in error and "yolox" in error


def test_the_head_knows_the_preparation(ran, data, tmp_path):
    """Without options for pictures the trained model names its classes only, and eval prepares as the head says."""
    import onnx
    ran("train", yolov8(tmp_path / "net.onnx"), *data, "--batch", 8, "--steps", 1, "--size", SIDE, "-o", tmp_path / "out.onnx")
    facts = {entry.key: entry.value for entry in onnx.load(tmp_path / "out.onnx").metadata_props}
    assert facts == {"names": "{0: 'square', 1: 'disc'}", "rynd.pictures": f"--size {SIDE}"}
    assert "not understood" not in ran("eval", tmp_path / "out.onnx", "--data", tmp_path / "validate").err
