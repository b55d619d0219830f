#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write an untrained network for pictures of 28x28 grey pixels and ten classes, for `rynd train --init he`.

    build/venv/bin/python models/fashion_network.py fashion.onnx

Convolutions of 3x3 with batch normalisation, in three stages of halved size, the mean over the rest, and one product. Needs the package onnx.
"""
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

STAGES = ((16,), (32, 64), (128,))  # channels of each stage's convolutions
CLASSES = 10


class Network:
    def __init__(self):
        self.nodes, self.weights, self.count = [], [], 0

    def weight(self, name, array):
        self.weights.append(numpy_helper.from_array(array.astype(numpy.float32), name))
        return name

    def add(self, operator, inputs, **attributes):
        self.count += 1
        output = f"{operator.lower()}{self.count}"
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def block(self, x, channels, out):
        """Convolution, batch normalisation, ReLU."""
        n = self.count
        x = self.add("Conv", [x, self.weight(f"conv{n}.weight", numpy.zeros((out, channels, 3, 3)))], pads=[1] * 4)
        vectors = (("scale", 1), ("bias", 0), ("mean", 0), ("variance", 1))
        x = self.add("BatchNormalization", [x, *(self.weight(f"norm{n}.{name}", numpy.full(out, value)) for name, value in vectors)])
        return self.add("Relu", [x])


def main():
    path = sys.argv[1] if len(sys.argv) == 2 else sys.exit(__doc__)
    net, x, channels = Network(), "picture", 1
    for stage, widths in enumerate(STAGES):
        x = net.add("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2]) if stage else x
        for width in widths:
            x, channels = net.block(x, channels, width), width
    x = net.add("Flatten", [net.add("GlobalAveragePool", [x])])
    product = [x, net.weight("classes.weight", numpy.zeros((CLASSES, channels))), net.weight("classes.bias", numpy.zeros(CLASSES))]
    net.nodes.append(helper.make_node("Gemm", product, ["scores"], transB=1))
    graph = helper.make_graph(net.nodes, "fashion", [helper.make_tensor_value_info("picture", TensorProto.FLOAT, ["batch", 1, 28, 28])],
                              [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", CLASSES])], net.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="models/fashion_network.py")
    onnx.checker.check_model(model)
    onnx.save(model, path)
    print(f"{path}: {sum(numpy.prod(w.dims) for w in net.weights)} numbers")


if __name__ == "__main__":
    main()
