#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the demo's network as it is before training: a small subpixel network that doubles a colour photo.

    build/venv/bin/python models/upscale_network.py FILE.onnx

ESPCN's (Shi et al., "Real-Time Single Image and Video Super-Resolution Using an Efficient Sub-Pixel Convolutional Neural Network", CVPR 2016) with a learned
linear path beside it: all convolutions run at the small size, and DepthToSpace makes the large picture. The linear path begins as nearest neighbour and the rest
as nearly nothing, so that a training begins where a doubled photo is; its other weights are uniform, from -1/sqrt(fan-in) to that. Needs the package onnx.
"""
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH = 32
LAYERS = (("head", 3, WIDTH, 5), ("body1", WIDTH, WIDTH, 3), ("body2", WIDTH, WIDTH, 3), ("tail", WIDTH, 12, 3), ("linear", 3, 12, 5))


def weights():
    """By name, in the order of the layers."""
    random, made = numpy.random.default_rng(1), {}
    for name, channels, out, side in LAYERS:
        bound = (channels * side * side) ** -0.5
        made[f"{name}.weight"] = random.uniform(-bound, bound, (out, channels, side, side))
        made[f"{name}.bias"] = random.uniform(-bound, bound, out)
    made["tail.weight"] *= 0.1
    for name in ("tail.bias", "linear.weight", "linear.bias"):
        made[name][:] = 0
    for channel in range(3):  # four pixels of a channel are four channels
        made["linear.weight"][channel * 4 : channel * 4 + 4, channel, 2, 2] = 1
    return made


def main():
    path = sys.argv[1] if len(sys.argv) == 2 else sys.exit(__doc__)
    nodes, x = [], "input"
    for name, _, _, side in LAYERS:
        source = "input" if name == "linear" else x
        nodes.append(helper.make_node("Conv", [source, f"{name}.weight", f"{name}.bias"], [name], name=name, pads=[side // 2] * 4))
        if name in ("head", "body1", "body2"):
            x = f"{name}.relu"
            nodes.append(helper.make_node("Relu", [name], [x], name=x))
    nodes.append(helper.make_node("Add", ["tail", "linear"], ["sum"], name="sum"))
    nodes.append(helper.make_node("DepthToSpace", ["sum"], ["output"], name="shuffle", blocksize=2, mode="CRD"))
    tensors = [numpy_helper.from_array(array.astype(numpy.float32), name) for name, array in weights().items()]
    graph = helper.make_graph(nodes, "upscale2x", [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["batch", 3, "height", "width"])],
                              [helper.make_tensor_value_info("output", TensorProto.FLOAT, ["batch", 3, "2*height", "2*width"])], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7, producer_name="models/upscale_network.py")
    onnx.checker.check_model(model)
    onnx.save(model, path)


if __name__ == "__main__":
    main()
