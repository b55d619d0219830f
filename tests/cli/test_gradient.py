# SPDX-License-Identifier: Apache-2.0
"""plan, bench and predict --gradient: the gradient of a problem of expr."""

import pytest

RELU = "expr x0=8x64:f32 y0=8x64:f32 program='max(x0, 0)'"
NORM = "expr x0=8x64:f32 y0=8:f32 program='sqrt(sum(x0 * x0))' axes=1 keepdims=0"


def test_programs_are_printed(ran):
    assert "program='select(x0 <= 0, 0, x1)'" in ran("plan", RELU, "--gradient").out
    assert "x0=8x64:f32 x1=8x1:f32 y0=8x64:f32 program='x0 * x1 * 2'" in ran("plan", NORM, "--gradient").out


def test_json_has_the_steps(ran):
    (result,) = ran("plan", NORM, "--gradient", "--json").results
    assert result["nodes"] and all(node["problem"] for node in result["nodes"])
    shapes = [node["problem"] for node in result["nodes"]]
    assert any("y0=8x64:f32" in shape for shape in shapes), "dx has the shape of x"


def test_bench_and_predict(ran):
    (result,) = ran("bench", NORM, "--gradient", "--json", "--min-time", "0", "--rounds", "3").results
    assert result["n"] >= 3 and result["bytes"] > 8 * 64 * 4 * 2
    (result,) = ran("predict", NORM, "--gradient", "--json").results
    assert result["time"]["median"] > 0


@pytest.mark.parametrize("command", ["plan", "bench", "predict"])
def test_refuses(rynd, command):
    rynd(command, "conv c=1 k=1 h=2 w=2", "--gradient").failed("problem of conv")
    rynd(command, "model.onnx", "--gradient").failed("expression", "model.onnx", code=2)
    rynd(command, "expr x0=4:i32 y0=4:i32 program='x0 * 2'", "--gradient").failed("rynd_expr_create_gradient", "wanted")
