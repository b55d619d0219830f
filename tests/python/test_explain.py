# SPDX-License-Identifier: Apache-2.0
"""What choices are made among, and sweeps: the same as the command says."""

import json
import os
import pathlib
import subprocess
import xml.etree.ElementTree as xml

import pytest
import rynd

CONV = "conv n=1 c=64 h=28 w=28 k=64 r=3 s=3 pad=1"
BIN = pathlib.Path(rynd.__file__).parents[2] / "bin"


def test_explain_op():
    op = rynd.Op(CONV)
    candidates = op.explain()
    chosen = candidates.chosen
    assert chosen.chosen and (chosen.kernel, chosen.knobs) == (op.step.kernel, op.step.knobs)
    assert chosen.prediction == op.predict() and chosen.measured is None and chosen.refused is None
    assert [each.chosen for each in candidates].count(True) == 1
    medians = [each.prediction.median for each in candidates.forms[1:]]
    assert medians == sorted(medians) and len(candidates.forms) + len(candidates.refused) == len(candidates)
    reasons = {each.kernel: each.refused for each in candidates.refused}
    assert reasons["conv_ref"] == "reference: only where nothing else takes it"
    assert all(each.prediction is None for each in candidates.refused)
    assert chosen.kernel in str(candidates) and "rejected" in str(candidates)
    op = rynd.Op(CONV, settings={"kernel": "conv_ref"})
    assert op.explain().chosen.kernel == "conv_ref" and op.step.reason.startswith("set; cost")


def test_explain_plan(conv_model):
    plan = rynd.load(conv_model).plan(batch=2)
    for step in plan.steps:
        chosen = plan.explain(step).chosen
        assert (chosen.kernel, chosen.knobs, chosen.prediction) == (step.kernel, step.knobs, plan.predict(step))
    assert list(plan.explain(0)) == list(plan.explain(plan.steps[0].name))
    with pytest.raises(rynd.NotFoundError):
        plan.explain("no such step")
    with pytest.raises(ValueError):
        plan.explain(len(plan.steps))
    with pytest.raises(ValueError):
        plan.explain(-1)


@pytest.fixture
def command(monkeypatch):
    monkeypatch.setenv("PATH", str(BIN), prepend=os.pathsep)
    return str(BIN / "rynd")


def test_sweep(command):
    swept = rynd.sweep(CONV, threads=1, pad=range(3), layout=["nchw", "nhwc"], **{"h+w": 20})
    args = [command, "sweep", CONV, "pad=0..2", "layout=nchw,nhwc", "h+w=20", "--threads", "1", "--json"]
    (result,) = json.loads(subprocess.run(args, capture_output=True, check=True).stdout)["results"]
    assert swept.problem == CONV and swept.dominance == result["dominance"] and swept.excess == result["excess"]
    assert [point._asdict() | {"time": point.time._asdict()} for point in swept.points] == result["points"]
    assert xml.fromstring(swept._repr_html_()).tag == "{http://www.w3.org/2000/svg}svg"
    assert "predicted" in str(swept) and "6 points" in repr(swept)


def test_sweep_measures(command):
    swept = rynd.sweep("conv c=3 h=9 w=9 k=4 r=3 s=3", measure=True, seconds=0, rounds=3, pad=(0, 1))
    assert [point.measured.n for point in swept.points] == [3, 3]
    assert all(0 < point.measured.min <= point.measured.median for point in swept.points)


def test_sweep_settings(command):
    assert {point.kernel for point in rynd.sweep(CONV, settings={"kernel": "conv_ref"}, pad=[0, 1]).points} == {"conv_ref"}


def test_sweep_refuses(command, monkeypatch):
    with pytest.raises(rynd.ArgumentError, match="no problem"):
        rynd.sweep("model.onnx", pad=range(2))
    with pytest.raises(rynd.ArgumentError, match="no values"):
        rynd.sweep(CONV, pad=[])
    with pytest.raises(rynd.Error, match="depth"):
        rynd.sweep(CONV, depth=range(2))
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(rynd.MissingFileError, match="pip install"):
        rynd.sweep(CONV, pad=range(2))


def test_kinds():
    """A form's arithmetic by kind of operation; rejected kernels have none."""
    candidates = rynd.Op(CONV).explain()
    for form in candidates.forms:
        assert abs(sum(form.kinds.values()) / form.prediction.arithmetic - 1) < 1e-9 and form.kinds["multiply-add"] > 0
    assert all(each.kinds == {} for each in candidates.refused)
