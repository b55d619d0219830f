# SPDX-License-Identifier: Apache-2.0
"""A network of super-resolution with two pixel shuffles, in every way that exporters spell them; as a program, writes one of them.

    conv 3->64, two residual blocks of 64, conv 64->128, shuffle 2, conv 32->64, shuffle 2, conv 16->3; all 3x3
"""
import argparse

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# DepthToSpace in both modes; Reshape-Transpose-Reshape of channels that are split [C, r, r] or [r, r, C]
SPELLINGS = ("CRD", "DCR", "split_crd", "split_dcr")


class Builder:
    def __init__(self, seed):
        self.nodes, self.weights, self.random = [], [], np.random.default_rng(seed)

    def constant(self, values):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def node(self, op, inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def conv(self, x, c, k, relu=False, window=3):
        weights = (self.random.standard_normal((k, c, window, window)) / np.sqrt(c * window * window)).astype(np.float32)
        bias = self.random.standard_normal(k).astype(np.float32)
        y = self.node("Conv", [x, self.constant(weights), self.constant(bias)], pads=[window // 2] * 4, kernel_shape=[window] * 2)
        return self.node("Relu", [y]) if relu else y

    def shuffle(self, x, spelling, shape, r=2):
        n, c, h, w = shape
        if not spelling.startswith("split"):
            return self.node("DepthToSpace", [x], blocksize=r, mode=spelling)
        crd = spelling == "split_crd"
        split = [n, c, r, r, h, w] if crd else [n, r, r, c, h, w]
        y = self.node("Reshape", [x, self.constant(np.array(split, np.int64))])
        y = self.node("Transpose", [y], perm=[0, 1, 4, 2, 5, 3] if crd else [0, 3, 4, 1, 5, 2])
        return self.node("Reshape", [y, self.constant(np.array([n, c, h * r, w * r], np.int64))])

    def model(self, x, x_shape, y, y_shape):
        ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in ((x, x_shape), (y, y_shape))]
        graph = helper.make_graph(self.nodes, "upscaler", ends[:1], ends[1:], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        onnx.checker.check_model(model, full_check=True)
        return model


def make(spelling, h, w, nhwc=False, batch=1, seed=1):
    """nhwc: input and output have their channels last, and Transposes stand at both ends."""
    b = Builder(seed)
    x = b.node("Transpose", ["x"], perm=[0, 3, 1, 2]) if nhwc else "x"
    x = b.conv(x, 3, 64, relu=True)
    for _ in range(2):
        x = b.node("Add", [b.conv(b.conv(x, 64, 64, relu=True), 64, 64), x])
    x = b.conv(x, 64, 128)
    x = b.node("Relu", [b.shuffle(x, spelling, (batch, 32, h, w))])
    x = b.conv(x, 32, 64)
    x = b.node("Relu", [b.shuffle(x, spelling, (batch, 16, 2 * h, 2 * w))])
    x = b.conv(x, 16, 3)
    if nhwc:
        x = b.node("Transpose", [x], perm=[0, 2, 3, 1])
    shapes = [(batch, h, w, 3), (batch, 4 * h, 4 * w, 3)] if nhwc else [(batch, 3, h, w), (batch, 3, 4 * h, 4 * w)]
    return b.model("x", shapes[0], x, shapes[1])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--spelling", choices=SPELLINGS, default="CRD")
    parser.add_argument("--height", type=int, default=720)
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--nhwc", action="store_true")
    arguments = parser.parse_args()
    onnx.save(make(arguments.spelling, arguments.height, arguments.width, arguments.nhwc), arguments.file)
