# SPDX-License-Identifier: Apache-2.0
"""Peers that run one convolution on given data, in float32 with their own choice of method. Skips peers that cannot be imported."""

import contextlib
import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np


def window(problem):
    """The attributes of a problem's text that a convolution has here."""
    words = dict(word.split("=", 1) for word in problem.split()[1:] if "=" in word)
    rank = 2 if "h" in words else 1
    return {"rank": rank, "pad": int(words.get("pad", 0)), "stride": int(words.get("stride", 1)), "groups": int(words.get("groups", 1))}


def onnx_file(problem, x, w, b, path):
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    a = window(problem)
    operator = "ConvTranspose" if problem.startswith("convt") else "Conv"
    inputs, initializers = ["x", "w"], [numpy_helper.from_array(w, "w")]
    if b is not None:
        inputs.append("b")
        initializers.append(numpy_helper.from_array(b, "b"))
    node = helper.make_node(operator, inputs, ["y"], pads=[a["pad"]] * 2 * a["rank"], strides=[a["stride"]] * a["rank"], group=a["groups"],
                            kernel_shape=list(w.shape[2:]))
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    model.ir_version = 8
    onnx.save(model, path)


class Peer:
    name, module, package = "", "", ""
    slow = False  # seconds a run, because a converter of its own is started

    @property
    def version(self):
        return importlib.metadata.version(self.package)

    def run(self, problem, x, w, b):
        """The output, or None if the peer refuses the problem."""
        if problem.startswith("matmul"):
            return None
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/m.onnx"
            onnx_file(problem, x, w, b, path)
            return self.infer(path, problem, x, w, b)


class OnnxRuntime(Peer):
    name, module, package = "ONNX Runtime", "onnxruntime", "onnxruntime"

    def infer(self, path, problem, x, w, b):
        import onnxruntime

        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        return session.run(None, {"x": x})[0]


class OpenVino(Peer):
    name, module, package = "OpenVINO", "openvino", "openvino"

    def infer(self, path, problem, x, w, b):
        import openvino

        core = openvino.Core()
        compiled = core.compile_model(core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        return np.array(compiled([x])[0])


class Torch(Peer):
    name, module, package = "PyTorch", "torch", "torch"

    def infer(self, path, problem, x, w, b):
        import torch

        a = window(problem)
        functions = {(False, 1): torch.conv1d, (False, 2): torch.conv2d, (True, 1): torch.conv_transpose1d, (True, 2): torch.conv_transpose2d}
        function = functions[problem.startswith("convt"), a["rank"]]
        bias = None if b is None else torch.from_numpy(b)
        with torch.inference_mode():
            return function(torch.from_numpy(x), torch.from_numpy(w), bias, stride=a["stride"], padding=a["pad"], groups=a["groups"]).numpy()


@contextlib.contextmanager
def silence():
    """The converters print from C++."""
    with open(os.devnull, "w") as null:
        saved = [os.dup(1), os.dup(2)]
        os.dup2(null.fileno(), 1)
        os.dup2(null.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(saved[0], 1)
            os.dup2(saved[1], 2)
            os.close(saved[0])
            os.close(saved[1])


class Ncnn(Peer):
    name, module, package = "ncnn", "ncnn", "ncnn"
    slow = True

    def infer(self, path, problem, x, w, b):
        import ncnn

        folder = Path(path).parent
        shape = "[" + ",".join(map(str, x.shape)) + "]"
        converter = Path(sys.executable).parent / "pnnx"
        subprocess.run([converter, path, f"inputshape={shape}", "fp16=0"], cwd=folder, capture_output=True, check=True)
        net = ncnn.Net()
        net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = net.opt.use_bf16_storage = False
        if net.load_param(str(folder / "m.ncnn.param")) or net.load_model(str(folder / "m.ncnn.bin")):
            return None
        rows = []
        for image in x:
            extractor = net.create_extractor()
            extractor.input("in0", ncnn.Mat(np.ascontiguousarray(image)))
            rows.append(np.array(extractor.extract("out0")[1]))
        return np.stack(rows)


class Mnn(Peer):
    name, module, package = "MNN", "MNN", "mnn"
    slow = True

    def infer(self, path, problem, x, w, b):
        import MNN

        target = re.sub(r"onnx$", "mnn", path)
        converter = Path(sys.executable).parent / "mnnconvert"
        subprocess.run([converter, "-f", "ONNX", "--modelFile", path, "--MNNModel", target, "--bizCode", "x"], capture_output=True, check=True)
        with silence():
            interpreter = MNN.Interpreter(target)
            session = interpreter.createSession({"numThread": 1, "backend": "CPU", "precision": "high"})
            given = interpreter.getSessionInput(session)
            given.copyFrom(MNN.Tensor(x.shape, MNN.Halide_Type_Float, x, MNN.Tensor_DimensionType_Caffe))
            interpreter.runSession(session)
            made = interpreter.getSessionOutput(session)
            shape = made.getShape()
            host = MNN.Tensor(shape, MNN.Halide_Type_Float, np.zeros(shape, np.float32), MNN.Tensor_DimensionType_Caffe)
            made.copyToHostTensor(host)
            return np.array(host.getNumpyData()).reshape(shape)


def find():
    """The peers that this Python has."""
    return [peer() for peer in (OnnxRuntime, OpenVino, Torch, Ncnn, Mnn) if importlib.util.find_spec(peer.module)]
