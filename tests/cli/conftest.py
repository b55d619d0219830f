# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command share: running it, and small models and pictures."""

import json
import os
import pathlib
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
RYND = os.environ.get("RYND_BIN") or os.environ.get("RYND") or str(ROOT / "build/release/bin/rynd")
SANITIZED = b"__asan_init" in pathlib.Path(RYND).read_bytes() if pathlib.Path(RYND).exists() else False
quick_when_sanitized = pytest.mark.skipif(SANITIZED, reason="it takes minutes under AddressSanitizer; shorter tests run the same code")
needs_limited_memory = pytest.mark.skipif(SANITIZED, reason="AddressSanitizer takes more addresses than the test allows")
os.environ["RYND_MACHINE"] = "off"  # a profile of the machine would decide what kernels a test reaches,
os.environ["RYND_WISDOM"] = "off"  # and so would what was measured
os.environ.pop("RYND_FREEZE", None)


class Result:
    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout
        self.err = process.stderr

    @property
    def results(self):
        document = json.loads(self.out)
        assert set(document) == {"rynd", "command", "results"}
        return document["results"]

    def failed(self, *parts, code=1):
        """Asserts that it failed with one line on standard error that has all of parts, and nothing of a result; `rynd train` tells its epochs before."""
        assert self.code == code, (self.code, self.out, self.err)
        first, *_, last = [line for line in self.err.strip().splitlines() if not line.startswith("epoch ")] * 2
        assert first.startswith("rynd: "), self.err
        for part in parts:
            assert str(part) in last, f"{part!r} is not in {last!r}"
        return self


def run_rynd(*args, **options):
    command = [RYND, *map(str, args)]
    process = subprocess.run(command, capture_output=True, text=True, **{"timeout": 120, **options})
    assert process.returncode in (0, 1, 2), (command, process.returncode, process.stderr)
    return Result(process)


@pytest.fixture
def rynd():
    return run_rynd


@pytest.fixture
def ran():
    """Runs the command, which must succeed."""

    def call(*args, **options):
        result = run_rynd(*args, **options)
        assert result.code == 0, result.err
        return result

    return call


def tensor_type(dtype):
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def save(path, nodes, inputs, outputs, initializers=(), opset=13):
    """inputs and outputs: (name, dtype, shape); an open dimension is a string, an unknown rank is None."""
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info(n, tensor_type(t), s) for n, t, s in inputs],
        [helper.make_tensor_value_info(n, tensor_type(t), s) for n, t, s in outputs],
        [numpy_helper.from_array(v, n) for n, v in dict(initializers).items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8, producer_name="tests")
    onnx.save(model, str(path))
    return path


def save_node(path, operator, attributes, inputs, constants, opset=18):
    """A model of one node, the_node, into a folder; inputs of `constants` are part of the model, None is absent. Returns the arguments that run it."""
    names = ["" if value is None else f"in{i}" for i, value in enumerate(inputs)]
    given = {name: value for i, (name, value) in enumerate(zip(names, inputs)) if name and i not in constants}
    node = helper.make_node(operator, names, ["y"], name="the_node", **attributes)
    dtype = "int64" if operator == "NonMaxSuppression" else inputs[0].dtype
    model = save(path / "model.onnx", [node], [(n, v.dtype, v.shape) for n, v in given.items()], [("y", dtype, None)],
                 {names[i]: inputs[i] for i in constants}, opset)
    arguments = [model]
    for name, value in given.items():
        np.save(path / f"{name}.npy", value)
        arguments += ["-i", f"{name}={path / name}.npy"]
    return arguments


@pytest.fixture
def identity(tmp_path):
    """A model whose output y is its input x, exactly."""

    def make(shape, dtype="float32", name="identity.onnx"):
        node = helper.make_node("Identity", ["x"], ["y"], name="same")
        return save(tmp_path / name, [node], [("x", dtype, shape)], [("y", dtype, shape)])

    return make


@pytest.fixture
def two_inputs(tmp_path):
    """y = a + b, z = a * b."""
    nodes = [helper.make_node("Add", ["a", "b"], ["y"], name="sum"), helper.make_node("Mul", ["a", "b"], ["z"], name="product")]
    ends = [("a", "float32", [2, 3]), ("b", "float32", [2, 3])]
    return save(tmp_path / "two.onnx", nodes, ends, [("y", "float32", [2, 3]), ("z", "float32", [2, 3])])


@pytest.fixture
def small_net(tmp_path):
    """[batch,3,8,8] -> convolution of 4 -> relu -> mean -> [batch,4,1,1]."""
    rng = np.random.default_rng(1)
    weights = {"w": rng.standard_normal((4, 3, 3, 3)).astype("float32"), "b": np.zeros(4, "float32")}
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], name="first_conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"], name="first_relu"),
        helper.make_node("GlobalAveragePool", ["r"], ["y"], name="pool"),
    ]
    ends = [("x", "float32", ["batch", 3, 8, 8])], [("y", "float32", ["batch", 4, 1, 1])]
    return save(tmp_path / "small.onnx", nodes, *ends, weights)


def load(path):
    return np.load(str(path), allow_pickle=False)


MACHINE = """rynd machine 1
vendor NVIDIA
name Some GPU
architecture sm_90
isa cuda
cores 132
vector_bytes 128
vector_registers 64
line_bytes 128
f32 400000000000 60000000000000
bf16 3000000000000 900000000000000
int8 400000000000 60000000000000
l1_bytes 233472
l1_shared_by 1
l1_bandwidth 200000000000 30000000000000
l1_latency 20000 20000
l2_bytes 52428800
l2_shared_by 132
l2_bandwidth 60000000000 8000000000000
l2_latency 150000 150000
dram_shared_by 132
dram_bandwidth 300000000000 3000000000000
dram_latency 500000 500000
task 50000
region 5000000
group_items 1024
step_items 32
unit_groups 8
local_bytes 232448
fp16 1
fp64 1
subgroups 1
matrix_units 1
end
"""


@pytest.fixture
def absent_cuda(monkeypatch, tmp_path):
    """A machine's file for a device whose driver is not here."""
    monkeypatch.setenv("RYND_CUDA_LIBRARY", str(tmp_path / "no-libcuda.so"))
    path = tmp_path / "gpu.txt"
    path.write_text(MACHINE)
    return path
