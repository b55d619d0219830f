# SPDX-License-Identifier: Apache-2.0
"""A plan depends on the model, the profile and the number of threads: not on the process, nor on the CPUs that it may run on."""

import json
import os
import re

import numpy as np
import pytest
from conftest import run_rynd
from onnx import TensorProto, helper, numpy_helper


def residual_network():
    """Convolutions of several kinds, a long skip connection, an operator of its own and one output inside."""
    random = np.random.default_rng(3)
    nodes, constants, at = [], [], "x"
    for i, (channels, groups, window) in enumerate([(16, 1, 3), (16, 16, 3), (24, 1, 1), (24, 1, 5), (24, 24, 3), (16, 1, 1)]):
        before = 3 if i == 0 else constants[-1].dims[0]
        weights = random.standard_normal((channels, before // groups, window, window)).astype(np.float32)
        constants.append(numpy_helper.from_array(weights, f"w{i}"))
        nodes.append(helper.make_node("Conv", [at, f"w{i}"], [f"c{i}"], group=groups, pads=[window // 2] * 4))
        nodes.append(helper.make_node(["Relu", "HardSwish", "Softmax"][i % 3], [f"c{i}"], [f"r{i}"]))
        at = f"r{i}"
    nodes.append(helper.make_node("Add", [at, "r0"], ["sum"]))
    nodes.append(helper.make_node("GlobalAveragePool", ["sum"], ["y"]))
    return make(nodes, constants, ["N", 3, 40, 36], ["y", "r2"])


def shuffled_network():
    """Reshapes, transposes and products, in the order that an exporter would not write."""
    weights = numpy_helper.from_array(np.random.default_rng(4).standard_normal((36, 50)).astype(np.float32), "w")
    shape = numpy_helper.from_array(np.array([0, 0, -1], np.int64), "shape")
    nodes = [
        helper.make_node("Softmax", ["m"], ["y"]),
        helper.make_node("MatMul", ["t", "w"], ["m"]),
        helper.make_node("Transpose", ["p"], ["q"], perm=[0, 2, 3, 1]),
        helper.make_node("Reshape", ["q", "shape"], ["u"]),
        helper.make_node("Transpose", ["u"], ["t"], perm=[0, 1, 2]),
        helper.make_node("MaxPool", ["x"], ["p"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
    ]
    return make(nodes, [weights, shape], ["N", 2, 20, 36], ["y"])


def make(nodes, constants, shape, outputs):
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)


def plan_text(path, cpus, threads):
    """The whole document as text, without the time that making the plan took."""
    result = run_rynd("plan", path, "--batch", "4", "--threads", threads, "--json", preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    assert result.code == 0, result.err
    document = json.loads(result.out)
    assert document["results"][0].pop("planning_seconds") > 0
    return json.dumps(document)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The file of this machine, as a measurement would write it: with rates that are not the built-in ones."""
    file = tmp_path_factory.mktemp("machine") / "machine.txt"
    assert run_rynd("devices", "--export", file).code == 0
    file.write_text(re.sub(r"^(f32|l3_bandwidth) .*$", r"\1 87654321000 123456789000", file.read_text(), flags=re.M))
    device, *_ = run_rynd("devices", "--json", env={**os.environ, "RYND_MACHINE": str(file)}).results
    assert device["origin"] == "measured" and device["peak"]["f32"] == 123456789000
    return file


@pytest.mark.parametrize("network", [residual_network, shuffled_network])
@pytest.mark.parametrize("profile", ["off", "measured"])
def test_ten_processes(tmp_path, monkeypatch, measured, network, profile):
    path = tmp_path / "net.onnx"
    path.write_bytes(network().SerializeToString())
    monkeypatch.setenv("RYND_MACHINE", str(measured) if profile == "measured" else "off")
    cpus = sorted(os.sched_getaffinity(0))
    choices = [set(cpus), {cpus[0]}, {cpus[-1]}, set(cpus[:2])]
    for threads in (1, 2):
        texts = {plan_text(path, choices[i % len(choices)], threads) for i in range(10)}
        assert len(texts) == 1


def test_problem(monkeypatch):
    cpus = sorted(os.sched_getaffinity(0))
    documents = set()
    for allowed in (set(cpus), {cpus[-1]}):
        result = run_rynd(
            "plan", "conv n=2 c=48 h=30 w=30 k=64 r=3 s=3 pad=1", "--threads", 2, "--json", preexec_fn=lambda: os.sched_setaffinity(0, allowed)
        )
        assert result.code == 0, result.err
        documents.add(result.out)
    assert len(documents) == 1
