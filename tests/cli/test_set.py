# SPDX-License-Identifier: Apache-2.0
"""--set: a step's kernel and its knobs by the caller's choice; what is not legal is refused with what is."""

import numpy as np
import pytest
from conftest import run_rynd
from onnx import TensorProto, helper, numpy_helper

PROBLEM = "conv n=1 c=16 h=20 w=20 k=24 r=3 s=3 pad=1"


@pytest.fixture
def two_convolutions(tmp_path):
    random = np.random.default_rng(1)
    nodes, constants = [], []
    for i, name in enumerate(["first/conv", "second.conv"]):
        constants.append(numpy_helper.from_array(random.standard_normal((8, 8, 3, 3)).astype(np.float32), f"w{i}"))
        nodes.append(helper.make_node("Conv", ["x" if i == 0 else "h", f"w{i}"], ["h" if i == 0 else "y"], name=name, pads=[1] * 4))
    graph = helper.make_graph(nodes, "two", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, 20, 20])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], constants)
    path = tmp_path / "two.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
    np.save(tmp_path / "x.npy", random.standard_normal((1, 8, 20, 20)).astype(np.float32))
    return path


def ran(*arguments):
    result = run_rynd(*arguments)
    assert result.code == 0, result.err
    return result


def nodes_of(*arguments):
    return ran("plan", *arguments, "--json").results[0]["nodes"]


def test_kernel_of_a_problem():
    node = nodes_of(PROBLEM, "--set", "conv.kernel=conv_fwd_f32_igemm_generic")[0]
    assert node["kernel"] == "conv_fwd_f32_igemm_generic"
    assert "set" in node["reason"]


def test_kernel_of_one_step(two_convolutions):
    before = nodes_of(two_convolutions)
    after = nodes_of(two_convolutions, "--set", "second.conv.kernel=conv_fwd_f32_igemm_generic")
    assert [n["name"] for n in after] == [n["name"] for n in before]
    assert after[0]["kernel"] == before[0]["kernel"]
    assert after[1]["kernel"] == "conv_fwd_f32_igemm_generic"


def test_it_computes_the_same(two_convolutions, tmp_path):
    outputs = []
    for i, extra in enumerate([[], ["--set", "first/conv.kernel=conv_fwd_f32_igemm_generic"]]):
        out = tmp_path / f"y{i}.npy"
        ran("run", two_convolutions, "-i", tmp_path / "x.npy", "-o", out, *extra)
        outputs.append(np.load(out))
    assert np.abs(outputs[0] - outputs[1]).max() <= 1e-4 * np.abs(outputs[1]).max()


def test_a_problem_needs_no_step():
    node = nodes_of(PROBLEM, "--set", "kernel=conv_fwd_f32_igemm_generic", "--set", "conv.apart=0")[0]
    assert node["kernel"] == "conv_fwd_f32_igemm_generic" and "apart=0" in node["knobs"].split()


def test_a_model_needs_one(two_convolutions):
    run_rynd("plan", two_convolutions, "--set", "kernel=conv_fwd_f32_igemm_generic").failed("name the step", "STEP.kernel=", code=2)
    run_rynd("plan", two_convolutions, "--set", ".kernel=conv_fwd_f32_igemm_generic").failed("STEP.KNOB=V", code=2)


def test_expressions_have_no_knobs():
    assert nodes_of("expr x0=8x8:f32 y0=8x8:f32 program='max(x0, 0)'")[0]["knob_values"] == []


@pytest.mark.parametrize("setting, words", [
    ("conv.kernel=no_such", ["no_such", "conv_fwd_f32_igemm", "conv_fwd_f32_winograd"]),
    ("conv.kernel=conv_fwd_f32_depthwise_nchw_generic", ["does not take"]),
    ("other.kernel=conv_fwd_f32_igemm_generic", ["no step is called 'other'"]),
    ("conv.no_such=1", ["no knob 'no_such'", "it has"]),
])
def test_what_is_not_legal(setting, words):
    run_rynd("plan", PROBLEM, "--set", setting).failed(*words)


def test_knobs_are_listed(two_convolutions):
    text = ran("plan", two_convolutions, "--knobs", "--wide").out
    assert "legal values" in text and "second.conv." in text and "0 to 1000 percent of " in text
    for node in nodes_of(two_convolutions):
        values = {knob["name"]: knob["value"] for knob in node["knob_values"]}
        assert all(knob["value"] in knob["values"] for knob in node["knob_values"])
        assert node["knobs"] == " ".join(f"{name}={value}" for name, value in values.items())


def form_of(*arguments):
    (result,) = ran("plan", *arguments, "--json").results
    return result["form"], [n["problem"] for n in result["nodes"]] + [n["problem"] for n in result["conversions"]]


def test_the_plan_itself(two_convolutions, tmp_path):
    """Its knobs turn layouts, and what is computed stays the same."""
    form, problems = form_of(two_convolutions)
    assert form == {"knobs": "", "reason": "predicted", "measured": None}
    outputs, turned = [], []
    for i, value in enumerate([0, 1000]):
        setting = ["--set", f"plan.channels_last={value}"]
        form, other = form_of(two_convolutions, *setting)
        assert form == {"knobs": f"channels_last={value}", "reason": "set", "measured": None}
        turned.append(other)
        ran("run", two_convolutions, "-i", tmp_path / "x.npy", "-o", tmp_path / f"z{i}.npy", *setting)
        outputs.append(np.load(tmp_path / f"z{i}.npy"))
    assert turned[0] != turned[1] and problems in turned
    assert np.abs(outputs[0] - outputs[1]).max() <= 1e-4 * np.abs(outputs[1]).max()
    text = ran("plan", two_convolutions, "--wide", "--set", f"plan.channels_last={1000 if turned[0] == problems else 0}").out
    explained = ran("plan", two_convolutions, "--explain", "--set", "plan.conversions=70").out
    assert explained.startswith("plan: conversions=70; set\n")
    assert "plan: channels_last=" in text and "; the plan is set: channels_last=" in text


def test_knobs_of_the_plan(two_convolutions):
    lines = ran("plan", two_convolutions, "--knobs", "--set", "plan.conversions=70").out.splitlines()
    (row,) = [line.split() for line in lines if line.startswith("plan.conversions ")]
    assert row[1:3] == ["70", "plan"] and "percent" in row


def test_wrong_settings_of_the_plan(two_convolutions):
    run_rynd("plan", two_convolutions, "--set", "plan.warp=1").failed("warp", "channels_last")
    run_rynd("plan", two_convolutions, "--set", "plan.shuffles=many").failed("plan.shuffles", "many", "0 to 1000")
