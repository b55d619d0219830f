# SPDX-License-Identifier: Apache-2.0
"""Models, plans and sessions."""

import asyncio
import gc
import multiprocessing
import pathlib
import pickle
import re
import resource
import threading
from html import unescape

import numpy
import pytest
from onnx import TensorProto, helper

import rynd
from conftest import save


def image(n=1, seed=0):
    return numpy.random.default_rng(seed).standard_normal((n, 3, 20, 24), dtype=numpy.float32)


def reference(path, *arrays):
    import onnxruntime
    session = onnxruntime.InferenceSession(path)
    return session.run(None, {value.name: array for value, array in zip(session.get_inputs(), arrays)})


def test_result_is_that_of_another_engine(conv_model):
    x = image(2)
    y = rynd.load(conv_model)(x)
    assert y.shape == (2, 8, 10, 12) and y.dtype == "f32" and len(y) == 2
    numpy.testing.assert_allclose(y, reference(conv_model, x)[0], rtol=1e-4, atol=1e-4)


def test_memory_counts_every_output(tmp_path):
    nodes = [helper.make_node("Softmax", ["x"], ["y"]), helper.make_node("Softmax", ["y"], ["z"]), helper.make_node("Softmax", ["z"], ["out"])]
    values = [(name, TensorProto.FLOAT, [4, 256]) for name in ("x", "y", "z", "out")]
    plan = rynd.load(save(tmp_path / "outputs.onnx", nodes, values[:1], values[1:])).plan()
    assert plan.memory.activations >= 3 * 4 * 4 * 256


def test_all_processors_by_default(monkeypatch):
    kept = rynd.context._kept
    monkeypatch.setenv("RYND_THREADS", "3")
    kept.cache_clear()
    try:
        assert rynd.device_info()["threads"] == 3 and rynd.device_info(threads=2)["threads"] == 2
    finally:
        kept.cache_clear()


def test_a_plan_a_shape(conv_model):
    model = rynd.load(conv_model)
    for n in (1, 3, 1, 2):
        assert model(image(n)).shape[0] == n
    assert len(model._plans) == 3


def test_plan_predicts(conv_model):
    plan = rynd.load(conv_model).plan(batch=4)
    whole = plan.predict()
    assert whole.low < whole.median < whole.high and whole.coverage == 0.9 and plan.seconds == whole.median
    steps = [plan.predict(step) for step in plan.steps]
    assert sum(step.median for step in steps) == pytest.approx(whole.median)
    assert plan.predict(0) == plan.predict(plan.steps[0].name) == steps[0]
    with pytest.raises(rynd.NotFoundError):
        plan.predict("no such step")
    with pytest.raises(ValueError):
        plan.predict(len(plan.steps))
    op = rynd.Op("conv n=1 c=64 h=56 w=56 k=64 r=3 s=3 pad=1")
    assert op.predict().low < op.predict().median


def test_inputs_by_position_name_and_dict(add_model):
    model = rynd.load(add_model)
    a, b = numpy.arange(4, dtype=numpy.float32)[None], numpy.full((1, 4), 2, numpy.float32)
    for total, product in (model(a, b), model(b=b, a=a), model(a, b=b), model({"a": a, "b": b})):
        assert total.tolist() == (a + b).tolist() and product.tolist() == (a * b).tolist()


def test_plan_tells_all_before_it_runs(conv_model):
    plan = rynd.load(conv_model).plan(batch=4, threads=1, accuracy="strict")
    assert [step.name for step in plan.steps] and all(step.accuracy == "strict" for step in plan.steps)
    assert plan.memory.total == plan.memory.weights + plan.memory.activations + plan.memory.workspace
    assert plan.complete and plan.seconds > 0
    assert 0 < max(step.activations for step in plan.steps) <= plan.memory.activations
    assert 0 <= max(step.workspace for step in plan.steps) <= plan.memory.workspace
    assert any(knob.main for knob in plan.knobs("first"))
    assert all(knob.value in knob.values and knob.unit == "" for knob in plan.knobs("first"))
    assert "kernel" in str(plan) and "Memory over the steps" in plan._repr_html_()


def test_settings_and_progress(conv_model):
    model, heard = rynd.load(conv_model), []
    plan = model.plan(batch=1, settings={"second": {"kernel": "conv_ref"}}, progress=lambda done, of: heard.append((done, of)))
    assert [step.kernel for step in plan.steps][-1] == "conv_ref"
    assert heard == sorted(heard) and all(done <= of for done, of in heard)
    with pytest.raises(rynd.NotFoundError, match="no_such"):
        model.plan(batch=1, settings={"no_such": {"kernel": "conv_ref"}})


def test_progress_may_end_the_plan(conv_model):
    def end(done, of):
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        rynd.load(conv_model).plan(batch=1, progress=end)


def test_sessions_of_a_plan(conv_model):
    plan = rynd.load(conv_model).plan(batch=1)
    first, second = plan.session(), plan.session()
    x, z = image(), image(seed=1)
    y = first.run(x)
    kept = y.numpy().copy()
    second.run(z), first.run(z)
    assert (y.numpy() == kept).all()  # results own their memory
    assert (first.run(x=x).numpy() == kept).all()
    assert first.memory > 0


def test_profile(conv_model):
    plan = rynd.load(conv_model).plan(batch=1)
    profile = plan.session().profile(image())
    assert len(profile.steps) == len(plan.steps) and profile.seconds > 0 and profile.rounds == 5
    assert all(low <= seconds <= high for (_, seconds), (low, high) in zip(profile.steps, profile.spread))
    assert profile.total_spread[0] <= profile.seconds <= profile.total_spread[1]
    assert profile.predicted == [plan.predict(step).median for step in plan.steps] and profile.total_predicted == plan.seconds
    assert "share" in str(profile) and "<svg" in profile._repr_html_()


def test_operands_spans_and_parameters(conv_model):
    model = rynd.load(conv_model)
    plan = model.plan(batch=1, threads=2)
    operands = [plan.operands(step) for step in plan.steps]
    assert any(operand.storage == "input" for operand in operands[0]) and any(operand.storage == "output" for operand in operands[-1])
    assert all(operand.producer is None or operand.producer < i for i, own in enumerate(operands) for operand in own)
    spans = plan.session().trace(image())
    assert list(dict.fromkeys(span.step.name for span in spans)) == [step.name for step in plan.steps]
    assert all(0 <= span.begin <= span.end and span.thread < 2 and span.tasks > 0 for span in spans)
    trainer = rynd.Trainer(conv_model, batch=1)
    assert {p.name for p in model.parameters} == {state.name for state in trainer.states if state.kind == "parameter"}


def cells_of(html):
    return [[re.sub("<.*?>", "", cell) for cell in re.findall("<t[hd].*?</t[hd]>", row)] for row in re.findall("<tr>.*?</tr>", html)]


def test_html_shows_what_print_shows(conv_model):
    plan = rynd.load(conv_model).plan(batch=1)
    profile = plan.session().profile(image())
    for thing in (plan, profile):
        text, html = str(thing), thing._repr_html_()
        head, *rows = cells_of(html)
        assert text.splitlines()[0].split() == head[:-1] and text.splitlines()[-1] in html
        assert all(any(all(unescape(cell) in line for cell in row) for line in text.splitlines()) for row in rows) and len(rows) == len(plan.steps)


def test_arrays_print_their_values(conv_model):
    y = rynd.load(conv_model).plan(batch=1).session().run(image())
    values = numpy.asarray(y)
    assert y.numpy() is not None and (y.numpy() == values).all()
    assert str(y) == numpy.array2string(values, separator=", ") and repr(y).startswith("rynd.Array([")
    assert repr(y).endswith(f"shape={y.shape}, dtype=f32)")


def test_docstrings_name_kernels_and_knobs_that_exist():
    """Settings in docstrings plan a convolution as they stand, with the kernel of this machine's instruction set."""
    problem, isa = "conv c=64 h=56 w=56 k=64 r=3 s=3 pad=1", rynd.device_info()["isa"].split("_")[0]
    folder = pathlib.Path(rynd.__file__).parent
    found = {match for file in folder.glob("*.py") for match in re.findall(r'\{"kernel": "\w+"[^}]*\}', file.read_text())}
    assert found
    for match in found:
        settings = eval(match)
        settings["kernel"] = settings["kernel"].replace("avx512", isa)
        assert rynd.Op(problem, settings=settings).step.kernel == settings["kernel"]


def test_pages(conv_model, tmp_path):
    rynd.save_html(rynd.load(conv_model).plan(batch=1), tmp_path / "plan.html")
    assert (tmp_path / "plan.html").read_text().startswith("<!doctype html>")


def test_run_async(conv_model):
    session, x = rynd.load(conv_model).plan(batch=1).session(), image()
    expected = session.run(x).tolist()

    async def main():
        return (await session.run_async(x)).tolist()
    assert asyncio.run(main()) == expected


def test_threads_call_one_model(conv_model):
    model, x = rynd.load(conv_model, threads=1), image()
    expected, wrong = model(x).tolist(), []

    def work():
        for _ in range(50):
            if model(x).tolist() != expected:
                wrong.append(1)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_one_session_refuses_two_threads(conv_model):
    session = rynd.load(conv_model, threads=1).plan(batch=64).session()
    x, refused = image(64), []

    def work():
        for _ in range(100):
            try:
                session.run(x)
            except rynd.BusyError as error:
                refused.append(str(error))
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refused and "plan.session()" in refused[0]


def test_shape_known_after_the_run(nonzero_model):
    model = rynd.load(nonzero_model)
    assert model(numpy.array([0, 1, 0, 2], numpy.float32)).tolist() == [[1, 3]]
    assert model(numpy.zeros(4, numpy.float32)).tolist() == [[]]


def test_pickle(conv_model):
    model, x = rynd.load(conv_model, threads=1, accuracy="strict"), image()
    other = pickle.loads(pickle.dumps(model))
    assert (other(x).numpy() == model(x).numpy()).all()


def run_in_child(model, x, queue):
    queue.put(model(x).tolist())


@pytest.mark.parametrize("threads", [1, 2])
def test_fork(conv_model, threads):
    model, x = rynd.load(conv_model, threads=threads), image(16)
    expected = model(x).tolist()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=run_in_child, args=(model, x, queue))
    child.start()
    assert queue.get(timeout=60) == expected
    child.join()


def test_bytes(conv_model):
    with open(conv_model, "rb") as file:
        content = file.read()
    assert rynd.load(content)(image()).shape == (1, 8, 10, 12)
    with pytest.raises(rynd.FormatError):
        rynd.load(content[:100])


def test_what_a_model_tells(conv_model):
    model = rynd.load(conv_model)
    assert model.inputs == [("x", "f32", ("n", 3, 20, 24))] and model.outputs[0].shape == ("n", 8, 10, 12)
    assert model.info["operators"] == {"Conv": 2, "Relu": 1} and [node.source for node in model.nodes] == ["Conv", "Relu", "Conv"]
    assert "conv.onnx" in repr(model) and "nx3x20x24" in str(model)


def test_memory_stays(conv_model):
    def once():
        model = rynd.load(conv_model, threads=1)
        model(image())
    for _ in range(20):
        once()
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(500):
        once()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096  # KiB


BAD = [
    (lambda m, x: m(x.astype("float64")), rynd.ShapeError, "f32.*f64"),
    (lambda m, x: m(x[0]), rynd.ShapeError, "4 dimensions"),
    (lambda m, x: m(x[:, :2]), rynd.ShapeError, "x"),
    (lambda m, x: m(z=x), rynd.NotFoundError, "no input 'z': its inputs are 'x'"),
    (lambda m, x: m(x.tolist()), rynd.ArgumentTypeError, "a list was given"),
    (lambda m, x: m(None), rynd.ArgumentTypeError, "a NoneType was given"),
    (lambda m, x: m(), rynd.ArgumentTypeError, "'x' is not given"),
    (lambda m, x: m(x, x), rynd.ArgumentTypeError, "2 arrays"),
    (lambda m, x: m(x, x=x), rynd.ArgumentTypeError, "given twice"),
    (lambda m, x: m(x.astype("complex64")), rynd.ArgumentTypeError, "Zf"),
    (lambda m, x: m(x.astype(">f4")), rynd.ArgumentTypeError, ">f"),
    (lambda m, x: m.plan(), rynd.ShapeError, "'n'"),
    (lambda m, x: m.plan(batch=-1), rynd.ArgumentError, "-1"),
    (lambda m, x: m.plan(dims={"q": 1}), rynd.NotFoundError, "q"),
    (lambda m, x: m.plan(inputs={"q": x}), rynd.NotFoundError, "'q'"),
    (lambda m, x: m.plan(batch=1, accuracy="best"), rynd.ArgumentError, "strict"),
    (lambda m, x: m.plan(batch=1, device="tpu"), rynd.ArgumentError, "tpu"),
    (lambda m, x: m.plan(batch=1, threads=-1), rynd.ArgumentError, "-1"),
    (lambda m, x: m.plan(batch=1, weights=False).session(), rynd.ArgumentError, "weights"),
    (lambda m, x: rynd.load("/nowhere/at.all"), FileNotFoundError, "/nowhere/at.all"),
    (lambda m, x: rynd.load("/dev/null"), rynd.Error, "/dev/null"),
    (lambda m, x: rynd.load(5), TypeError, "int"),
]


@pytest.mark.parametrize("call, error, says", BAD)
def test_bad_input(conv_model, call, error, says):
    with pytest.raises(error, match=says):
        call(rynd.load(conv_model), image())


def test_every_error_is_rynds(conv_model):
    assert issubclass(rynd.ShapeError, ValueError) and issubclass(rynd.MissingFileError, FileNotFoundError)
    assert issubclass(rynd.OutOfMemoryError, MemoryError) and issubclass(rynd.NotFoundError, KeyError)
    assert all(issubclass(getattr(rynd, name), rynd.Error) for name in rynd.__all__ if name.endswith("Error"))


def test_outputs_that_are_inputs_constants_and_aliases(folder):
    """Each output has its own memory, whatever name or value it shares."""
    node, number = helper.make_node, TensorProto.FLOAT
    w = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    outputs = {"x": (2, 3), "y": (2, 3), "w": (2, 3), "same": (2, 3), "turned": (3, 2), "z": (2, 3)}
    path = save(folder / "shared_ends.onnx",
                [node("Relu", ["x"], ["r"]), node("Add", ["r", "w"], ["y"]), node("Identity", ["x"], ["same"]),
                 node("Transpose", ["y"], ["turned"], perm=[1, 0])],
                [("x", number, (2, 3)), ("z", number, (2, 3))],
                [(name, number, outputs[name]) for name in (*outputs, "y", "x")], [("w", w)])
    x, z = (numpy.random.default_rng(seed).standard_normal((2, 3), dtype=numpy.float32) for seed in (1, 2))
    y = numpy.maximum(x, 0) + w
    for device in rynd.devices():
        model = rynd.load(path, device=device)
        for given in ((x, z), (x.T.copy().T, z), (z, x), (x, z)):
            first, second = given
            y = numpy.maximum(first, 0) + w
            results = model(x=first, z=second)
            assert len(results) == 8
            for got, expected in zip(results, (first, y, w, first, y.T, second, y, first)):
                assert numpy.array_equal(numpy.asarray(got), expected)
        mine = rynd.load(path, device=device)(x, z)
        x_before = x.copy()
        numpy.asarray(mine[0])[:] = 0  # results own their memory
        assert numpy.array_equal(x, x_before) and numpy.array_equal(numpy.asarray(mine[3]), x)


def test_competition_is_a_share():
    watch = rynd.Competition()
    assert 0 <= watch.since() <= 1
    assert 0.75 <= watch.disturbance(1, 4) <= 1
