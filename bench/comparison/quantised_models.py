# SPDX-License-Identifier: Apache-2.0
"""Writes the models of bench/quantised: quantised_models.py FOLDER NAME...

Of each: NAME.onnx in float32 at batch 1, NAME.npz with the examples that quantizers see (random numbers), and NAME.onnxruntime.onnx by ONNX Runtime's
static quantizer (QDQ, uint8 activations, int8 weights per channel, min-max). Torchvision's networks have random weights."""
import pathlib
import sys

import models
import numpy
import onnx
from onnx import helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/support"))
from upscaler_model import Builder  # noqa: E402

EXAMPLES = 4


class Drawn(Builder):
    """Builds a network with random weights; every value has a known number of channels."""

    def __init__(self):
        super().__init__(1)
        self.channels = {"x": 3}

    def add(self, channels, op, inputs, **attributes):
        name = self.node(op, inputs, **attributes)
        self.channels[name] = channels
        return name

    def layer(self, x, k, window=3, stride=1, act="Relu", op="Conv"):
        c = self.channels[x]
        shape = (k, c, window, window) if op == "Conv" else (c, k, window, window)
        weights = (self.random.standard_normal(shape) * numpy.sqrt(2 / (c * window * window))).astype(numpy.float32)
        bias = (0.1 * self.random.standard_normal(k)).astype(numpy.float32)
        pads = [window // 2 if op == "Conv" else 0] * 4
        y = self.add(k, op, [x, self.constant(weights), self.constant(bias)], kernel_shape=[window] * 2, strides=[stride] * 2, pads=pads)
        if act == "SiLU":
            return self.add(k, "Mul", [y, self.add(k, "Sigmoid", [y])])
        return self.add(k, act, [y]) if act else y

    def joined(self, values):
        return self.add(sum(self.channels[v] for v in values), "Concat", values, axis=1)

    def doubled(self, x):
        scales = self.constant(numpy.array([1, 1, 2, 2], numpy.float32))
        return self.add(self.channels[x], "Resize", [x, "", scales], mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")

    def halves(self, x):
        half = self.channels[x] // 2
        names = [f"v{len(self.nodes)}_{i}" for i in (0, 1)]
        self.nodes.append(helper.make_node("Split", [x, self.constant(numpy.array([half, half], numpy.int64))], names, axis=1))
        self.channels |= dict.fromkeys(names, half)
        return names


def stage(b, x, k, blocks, add=True):
    """YOLOv8's C2f: halves, bottlenecks of 3x3, everything joined."""
    parts = b.halves(b.layer(x, k, 1, act="SiLU"))
    for _ in range(blocks):
        y = b.layer(b.layer(parts[-1], k // 2, act="SiLU"), k // 2, act="SiLU")
        parts.append(b.add(k // 2, "Add", [parts[-1], y]) if add else y)
    return b.layer(b.joined(parts), k, 1, act="SiLU")


def pyramid(b, x):
    """YOLOv8's SPPF."""
    half = b.channels[x] // 2
    parts = [b.layer(x, half, 1, act="SiLU")]
    for _ in range(3):
        parts.append(b.add(half, "MaxPool", [parts[-1]], kernel_shape=[5, 5], pads=[2] * 4, strides=[1, 1]))
    return b.layer(b.joined(parts), 2 * half, 1, act="SiLU")


def head(b, x, positions):
    """Boxes by distributions of 16 distances a side, and 80 classes: [1, 84, positions]."""
    y = b.layer(b.layer(b.layer(x, 64, act="SiLU"), 64, act="SiLU"), 64, 1, act=None)
    y = b.node("Reshape", [y, b.constant(numpy.array([1, 4, 16, positions], numpy.int64))])
    y = b.node("Softmax", [b.node("Transpose", [y], perm=[0, 2, 1, 3])], axis=1)
    b.channels[y] = 16
    y = b.layer(y, 1, 1, act=None)
    boxes = b.node("Reshape", [y, b.constant(numpy.array([1, 4, positions], numpy.int64))])
    y = b.layer(b.layer(b.layer(x, 80, act="SiLU"), 80, act="SiLU"), 80, 1, act=None)
    classes = b.node("Reshape", [y, b.constant(numpy.array([1, 80, positions], numpy.int64))])
    return b.node("Concat", [boxes, b.node("Sigmoid", [classes])], axis=1)


def ending(b, shape, size):
    """The network, whose last node gives `y`."""
    b.nodes[-1].output[0] = "y"
    return b.model("x", (1, 3, size, size), "y", shape)


def yolo(size=320):
    """YOLOv8n's layers and widths."""
    b = Drawn()
    x = b.layer(b.layer("x", 16, stride=2, act="SiLU"), 32, stride=2, act="SiLU")
    x = stage(b, x, 32, 1)
    p3 = stage(b, b.layer(x, 64, stride=2, act="SiLU"), 64, 2)
    p4 = stage(b, b.layer(p3, 128, stride=2, act="SiLU"), 128, 2)
    p5 = pyramid(b, stage(b, b.layer(p4, 256, stride=2, act="SiLU"), 256, 1))
    n4 = stage(b, b.joined([b.doubled(p5), p4]), 128, 1, add=False)
    n3 = stage(b, b.joined([b.doubled(n4), p3]), 64, 1, add=False)
    m4 = stage(b, b.joined([b.layer(n3, 64, stride=2, act="SiLU"), n4]), 128, 1, add=False)
    m5 = stage(b, b.joined([b.layer(m4, 128, stride=2, act="SiLU"), p5]), 256, 1, add=False)
    sides = [size // step for step in (8, 16, 32)]
    b.node("Concat", [head(b, p, side * side) for p, side in zip((n3, m4, m5), sides)], axis=2)
    return ending(b, (1, 84, sum(side * side for side in sides)), size)


def unet(size=224):
    """Four levels of 32 to 256 channels, transposed convolutions upwards."""
    b, x, kept = Drawn(), "x", []
    for k in (32, 64, 128):
        kept.append(b.layer(b.layer(x, k), k))
        x = b.add(k, "MaxPool", [kept[-1]], kernel_shape=[2, 2], strides=[2, 2])
    x = b.layer(b.layer(x, 256), 256)
    for skip in reversed(kept):
        k = b.channels[skip]
        x = b.layer(b.layer(b.joined([b.layer(x, k, 2, 2, None, "ConvTranspose"), skip]), k), k)
    b.layer(x, 2, 1, act=None)
    return ending(b, (1, 2, size, size), size)


OWN = {"yolov8n_like": yolo, "unet": unet}


class Examples(CalibrationDataReader):
    def __init__(self, x):
        self.rest = [{"x": row[None]} for row in x]

    def get_next(self):
        return self.rest.pop(0) if self.rest else None


def write(folder, name):
    plain, examples, quantised = (folder / f"{name}{end}" for end in (".onnx", ".npz", ".onnxruntime.onnx"))
    if not plain.exists():
        if name in OWN:
            models.save(OWN[name](), plain)
        else:
            models.write_network(plain, name, 1)
    shape = [dim.dim_value for dim in onnx.load(plain).graph.input[0].type.tensor_type.shape.dim]
    x = numpy.random.default_rng(3).standard_normal((EXAMPLES, *shape[1:]), numpy.float32)
    numpy.savez(examples, x=x)
    if not quantised.exists():
        ready, part = (quantised.with_suffix(end) for end in (".ready", ".part"))
        quant_pre_process(plain, ready, skip_symbolic_shape=True)
        quantize_static(ready, part, Examples(x), quant_format=QuantFormat.QDQ, per_channel=True, activation_type=QuantType.QUInt8,
                        weight_type=QuantType.QInt8)
        ready.unlink()
        part.rename(quantised)


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:]:
        write(folder, name)
