# SPDX-License-Identifier: Apache-2.0
"""How each engine loads a model and runs it: the body of worker.py, under the Python that has the engines.

A loader takes a Job and returns (run, output): `run()` computes once, with input and output where the engine likes them best and are kept from
run to run; `output()` is the result of the last run as an array, channels first."""
import importlib
import math
import pathlib
import subprocess
import sys
from dataclasses import dataclass

import numpy

from subjects import parse

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/support"))
LINE = 64  # bytes of a line of the cache
SPIN_MS = 10  # how long a thread pool may spin after its work: less than the pause between turns


@dataclass
class Job:
    model: pathlib.Path  # ONNX, every dim fixed
    problem: str  # empty for a network
    network: str  # empty for a layer
    batch: int
    threads: int
    layout: str
    accuracy: str
    kernel: str  # rynd's, "igemm"; empty: its choice

    def shape(self):
        return [dim.dim_value for dim in self._graph().input[0].type.tensor_type.shape.dim]

    def _graph(self):
        import onnx

        return onnx.load(self.model).graph

    def weights(self):
        """A layer's weights and bias."""
        from onnx import numpy_helper

        return [numpy_helper.to_array(tensor) for tensor in self._graph().initializer]

    def input(self):
        return at_line(numpy.random.default_rng(1).standard_normal(self.shape(), numpy.float32))


def place(shape):
    """Memory of float32 that begins at a line of the cache, as tensors that engines allocate do; numpy's own begins 16 bytes behind one."""
    size = 4 * math.prod(shape)
    whole = numpy.empty(size + LINE, numpy.uint8)
    first = -whole.ctypes.data % LINE
    return whole[first : first + size].view(numpy.float32).reshape(shape)


def at_line(array):
    to = place(array.shape)
    to[...] = array
    return to


def channels_last(array):
    """The same values, channels innermost in memory."""
    return at_line(numpy.moveaxis(array, 1, -1))


def load_rynd(job):
    import rynd_ctypes as rynd

    context, x = rynd.Context(threads=job.threads), job.input()
    if job.network:
        session = rynd.Session(rynd.Plan(rynd.Model(context, job.model), {"x": x}, accuracy=job.accuracy))
        session.bind("x", x)
        return session.execute, lambda: session.outputs()[0]
    p = parse(job.problem)
    last = job.layout == "nhwc"
    x = channels_last(x) if last else x
    y = place((p.n, *p.out, p.k) if last else (p.n, p.k, *p.out))
    text = f"{job.problem} bias=1" + (" layout=nhwc" if last else "")
    # avx512_bf16 and amx add kernels to those of avx512
    isa = context.info()["isa"]
    isa = isa if job.kernel.startswith("split") or not isa.startswith(("avx512", "amx")) else "avx512"
    kernel = f"{p.kind}_fwd_f32_{job.kernel}_{isa}" if job.kernel else None
    op = rynd.Op(context, text, constants=dict(enumerate(job.weights(), 1)), accuracy=job.accuracy, kernel=kernel)
    run = op.bind([x], [y])
    run.kernel = op.kernel()
    return run, lambda: numpy.moveaxis(y, -1, 1) if last else y


def load_onnxruntime(job):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = job.threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(job.model, options, providers=["CPUExecutionProvider"])
    x = onnxruntime.OrtValue.ortvalue_from_numpy(job.input())
    y = onnxruntime.OrtValue.ortvalue_from_shape_and_type(session.get_outputs()[0].shape, numpy.float32, "cpu")
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", x)
    binding.bind_ortvalue_output("y", y)
    return lambda: session.run_with_iobinding(binding), y.numpy


def load_openvino(job):
    import openvino

    core = openvino.Core()
    settings = {"INFERENCE_NUM_THREADS": job.threads, "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    request = core.compile_model(core.read_model(job.model), "CPU", settings).create_infer_request()
    x = job.input()
    request.set_input_tensor(openvino.Tensor(x, shared_memory=True))

    def run(x=x):
        request.infer(share_outputs=True)

    return run, lambda: request.get_output_tensor(0).data


def load_ncnn(job):
    import ncnn

    shape = ",".join(map(str, [1, *job.shape()[1:]]))
    folder = job.model.with_suffix(".ncnn")
    files = folder / "model.ncnn.param", folder / "model.ncnn.bin"
    if not all(file.exists() for file in files):
        folder.mkdir(exist_ok=True)
        single = folder / "model.onnx"
        with_batch(job.model, single, 1)
        pnnx = pathlib.Path(sys.executable).parent / "pnnx"
        subprocess.run([pnnx, single, f"inputshape=[{shape}]", "fp16=0"], cwd=folder, check=True)
        single.unlink()
    net = ncnn.Net()
    net.opt.num_threads = job.threads
    net.opt.openmp_blocktime = SPIN_MS
    for name in ("use_vulkan_compute", "use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage"):
        setattr(net.opt, name, False)
    if net.load_param(str(files[0])) or net.load_model(str(files[1])):
        raise RuntimeError("the converted model does not load")
    x = job.input()
    images = [ncnn.Mat(image) for image in x]
    results = [None] * len(images)

    def run(x=x):
        for i, image in enumerate(images):  # ncnn has no batch
            extractor = net.create_extractor()
            extractor.input("in0", image)
            results[i] = extractor.extract("out0")[1]

    return run, lambda: numpy.stack([numpy.array(result) for result in results])


def load_mnn(job):
    import MNN

    file = job.model.with_suffix(".mnn")
    if not file.exists():
        part = file.with_suffix(".part")
        # Not the command mnnconvert, which reports to its makers and installs a package for that.
        code = "import sys, _tools; _tools.mnnconvert(sys.argv)"
        subprocess.run([sys.executable, "-c", code, "-f", "ONNX", "--modelFile", job.model, "--MNNModel", part, "--bizCode", "rynd"], check=True)
        part.rename(file)
    interpreter = MNN.Interpreter(str(file))
    session = interpreter.createSession({"numThread": job.threads, "backend": "CPU", "precision": "high"})
    inside, outside = interpreter.getSessionInput(session), interpreter.getSessionOutput(session)
    x, y = job.input(), place(outside.getShape())
    source = MNN.Tensor(x.shape, MNN.Halide_Type_Float, x, MNN.Tensor_DimensionType_Caffe)
    target = MNN.Tensor(y.shape, MNN.Halide_Type_Float, y, MNN.Tensor_DimensionType_Caffe)

    def run(x=x):
        inside.copyFrom(source)
        interpreter.runSession(session)
        outside.copyToHostTensor(target)

    return run, lambda: numpy.array(target.getData(), numpy.float32).reshape(y.shape)


def load_torch(job):
    import torch

    torch.set_num_threads(job.threads)
    x = torch.from_numpy(job.input())
    if job.network:
        import torchvision

        module = getattr(torchvision.models, job.network)(weights=None)
    else:
        p = parse(job.problem)
        name = {"conv": "Conv", "convt": "ConvTranspose"}[p.kind] + f"{len(p.space)}d"
        module = getattr(torch.nn, name)(p.c, p.k, p.window, stride=p.stride, padding=p.pad, dilation=p.dilation, groups=p.groups)
        weight, bias = (torch.from_numpy(array.copy()) for array in job.weights())
        module.load_state_dict({"weight": weight, "bias": bias})
    module = module.eval()
    if job.layout == "nhwc" and x.dim() > 3:
        form = torch.channels_last if x.dim() == 4 else torch.channels_last_3d
        module, x = module.to(memory_format=form), x.to(memory_format=form)
    last = [None]

    def run():
        with torch.inference_mode():
            last[0] = module(x)

    return run, lambda: last[0].numpy()


MODULES = {"rynd": ["rynd_ctypes"], "mnn": ["MNN"], "torch": ["torch", "torchvision"]}


def import_engine(engine):
    """So that its code is there before a model's memory is counted. PyTorch's networks may be missing."""
    for module in ["onnx", *MODULES.get(engine, [engine])]:
        try:
            importlib.import_module(module)
        except ImportError:
            if module != "torchvision":
                raise


LOADERS = {"rynd": load_rynd, "onnxruntime": load_onnxruntime, "openvino": load_openvino, "ncnn": load_ncnn, "mnn": load_mnn, "torch": load_torch}


def with_batch(model, path, batch):
    import onnx

    loaded = onnx.load(model)
    for value in [*loaded.graph.input, *loaded.graph.output]:
        value.type.tensor_type.shape.dim[0].dim_value = batch
    onnx.save(loaded, path)
