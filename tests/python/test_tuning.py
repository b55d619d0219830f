# SPDX-License-Identifier: Apache-2.0
"""Tuning in Python: results, stopping early, records kept."""

import numpy
import pytest

import rynd

PROBLEM = "conv n=1 c=16 h=20 w=20 k=24 r=3 s=3 pad=1"


def test_problem():
    tuning = rynd.tune(PROBLEM, budget=0.05)
    (problem,) = tuning.problems
    assert problem.problem == PROBLEM and problem.constants == 2 and problem.steps == 1 and problem.cold and not problem.elsewhere
    assert tuning.budget == 0.05 and tuning.used > 0 and not tuning.ended and tuning.taken == (problem.taken != 0)
    assert problem.choice.verdict == "taken" and problem.default is problem.forms[0] and len(problem.forms) > 3
    assert all(form.verdict in ("taken", "equal", "slower", "untried") and form.reason == "" for form in problem.forms)
    assert all(0 < form.min <= form.median <= form.max for form in problem.forms if form.n)
    assert PROBLEM in str(tuning) and "rynd.Tuning" in repr(tuning) and "rynd.TunedProblem" in repr(problem) and "rynd.TunedForm" in repr(problem.default)


def test_options():
    (problem,) = rynd.tune(PROBLEM, budget=0.02, weights="warm", constants=0, accuracy="strict", keep=False).problems
    assert not problem.cold and problem.constants == 0 and problem.problem == PROBLEM + " accuracy=strict"


def test_progress():
    heard = []
    tuning = rynd.tune(PROBLEM, budget=0.05, progress=heard.append)
    assert not tuning.ended and heard[0]["problem"] == PROBLEM and heard[-1]["spent"] >= heard[0]["spent"] > 0
    assert set(heard[0]) == {"problem", "index", "count", "looked", "forms", "left", "kernel", "knobs", "ratio", "spent", "budget", "saved"}
    assert rynd.tune(PROBLEM, progress=lambda facts: True).ended


def test_progress_that_fails():
    def fail(facts):
        raise KeyError("mine")
    with pytest.raises(KeyError, match="mine"):
        rynd.tune(PROBLEM, progress=fail)


@pytest.mark.parametrize("wrong, error", [({"budget": -1}, rynd.ArgumentError), ({"weights": "hot"}, rynd.ArgumentError),
                                          ({"accuracy": "sloppy"}, rynd.ArgumentError)])
def test_wrong_options(wrong, error):
    with pytest.raises(error):
        rynd.tune(PROBLEM, **wrong)


def test_wrong_problem():
    with pytest.raises(rynd.FormatError):
        rynd.tune("conv c=0")


def test_model(conv_model):
    model = rynd.load(conv_model)
    x = numpy.random.default_rng(2).standard_normal((1, 3, 20, 24), dtype=numpy.float32)
    before = numpy.asarray(model(x)).copy()
    tuning = model.tune(budget=0.1, batch=1)
    assert tuning.problems and all(p.steps >= 1 and len(p.forms) > 1 for p in tuning.problems)
    assert tuning.ratio < 1 if tuning.taken else True
    numpy.testing.assert_allclose(numpy.asarray(model(x)), before, rtol=1e-4, atol=1e-4)


def test_steps_with_settings_are_not_tuned(conv_model):
    model = rynd.load(conv_model)
    step = model.plan(batch=1).steps[0]
    def first(tuning):  # the first step in any layout: timing decides whether tuning works on another plan
        return [p.problem for p in tuning.problems if p.problem.startswith(("conv n=1 c=3 ", "conv x0=1x3x"))]
    assert first(model.tune(budget=0.02, batch=1, keep=False))
    assert not first(model.tune(budget=0.02, batch=1, keep=False, settings={step.name: {"kernel": step.kernel}}))


def test_wisdom(tmp_path):
    """What is learned is taken by what is made later, in a file of its own; a frozen context measures nothing."""
    file = tmp_path / "w.db"
    (problem,) = rynd.tune(PROBLEM, budget=0.05, constants=0, wisdom=file).problems
    op = rynd.Op(PROBLEM, wisdom=file)
    assert (op.step.kernel, op.step.knobs) == (problem.choice.kernel, problem.choice.knobs) and "measured" in op.step.reason
    with pytest.raises(rynd.UnsupportedError, match="frozen"):
        rynd.tune(PROBLEM, wisdom=file, frozen=True)


def test_model_and_wisdom(conv_model, tmp_path):
    model = rynd.load(conv_model, wisdom=tmp_path / "w.db")
    tuning = model.tune(budget=0.1, batch=1)
    steps = {step.problem: step for step in model.plan(batch=1).steps}
    assert not tuning.taken or {problem.problem for problem in tuning.problems} <= set(steps)
    for problem in tuning.problems:
        form = problem.choice if tuning.taken else problem.default
        step = steps.get(problem.problem)  # None: tuning worked on another plan, and did not take it
        assert not step or (step.kernel, step.knobs) == (form.kernel, form.knobs)


def test_plans(conv_model, tmp_path):
    """Tuning a model times other plans too. A plan made later has the winning form."""
    model = rynd.load(conv_model, wisdom=tmp_path / "w.db")
    tuning = model.tune(budget=0.5, batch=1)
    assert tuning.plans == [] or tuning.plans[0].knobs == "" and tuning.plan < len(tuning.plans) <= tuning.plans_listed + 1
    assert all(plan.predicted > 0 and "rynd.TunedPlan" in repr(plan) for plan in tuning.plans)
    form = model.plan(batch=1).form
    assert form.knobs == (tuning.plans[tuning.plan].knobs if tuning.plans else "")
    assert form.reason.startswith("measured" if form.measured else "predicted")


def test_plans_by_hand(conv_model):
    model = rynd.load(conv_model)
    plan = model.plan(batch=1, settings={"plan": {"channels_last": 1000}})
    assert plan.form == ("channels_last=1000", "set", 0)
    assert all(knob.values[-1] == "1000" and knob.unit.startswith("percent of ") for knob in plan.knobs())
    assert [knob.value for knob in plan.knobs()] == ["1000"] + ["100"] * 4 and plan.knobs()[0].name == "channels_last"
    assert model.plan(batch=1).form == ("", "predicted", 0)
    with pytest.raises(rynd.ArgumentError, match="plan has no knob 'warp'"):
        model.plan(batch=1, settings={"plan": {"warp": 1}})


def test_energy(monkeypatch):
    monkeypatch.setenv("RYND_METER", "off")
    (problem,) = rynd.tune(PROBLEM, budget=0.02, energy=True, keep=False).problems
    assert all(form.joule == 0 for form in problem.forms)
