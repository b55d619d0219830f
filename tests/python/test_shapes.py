# SPDX-License-Identifier: Apache-2.0
"""Inputs of many shapes: weights are packed once, sessions are kept up to a bound, figures tell."""

import numpy
import pytest
from conftest import save
from onnx import TensorProto, helper

import rynd

CHANNELS, LAYERS = 160, 4  # 3.5 MiB of weights: more than a model may pack for each plan


def weights(seed=3):
    random = numpy.random.default_rng(seed)
    return [(f"w{i}", random.standard_normal((CHANNELS, CHANNELS, 3, 3), dtype=numpy.float32) * 0.03) for i in range(LAYERS)]


def layers(first):
    names = [first] + [f"y{i}" for i in range(LAYERS)]
    return [helper.make_node("Conv", [names[i], f"w{i}"], [names[i + 1]], pads=[1, 1, 1, 1]) for i in range(LAYERS)]


@pytest.fixture(scope="module")
def open_model(folder):
    """Four convolutions of images of any size."""
    return save(folder / "open.onnx", layers("x"), [("x", TensorProto.FLOAT, [1, CHANNELS, "h", "w"])],
                [(f"y{LAYERS - 1}", TensorProto.FLOAT, None)], weights())


def image(height, width=8):
    return numpy.random.default_rng(height).standard_normal((1, CHANNELS, height, width), dtype=numpy.float32)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_new_shapes_take_no_memory_for_weights(open_model):
    model = rynd.load(open_model, threads=2)
    assert model.weights.packed == 0
    model(image(8))
    first, before = model.weights, resident()
    assert first.packed > 4 * LAYERS * CHANNELS * CHANNELS * 9 * 0.9
    for height in range(9, 27):
        model(image(height))
    assert model.weights.packed == first.packed and model.weights.unused_packed == 0
    assert resident() - before < 4 * first.packed  # 18 times as much without sharing


def test_results_are_those_of_other_orders_and_of_models_of_their_own(open_model):
    one, other = rynd.load(open_model, threads=2), rynd.load(open_model, threads=2)
    heights = (7, 12, 20, 9)
    results = {height: one(image(height)).numpy() for height in heights}
    for height in heights[:1] + heights[:0:-1]:  # the first shape decides, the order of others does not matter
        assert (other(image(height)).numpy() == results[height]).all()
    for height in heights:
        own = rynd.load(open_model, threads=2)(image(height)).numpy()
        assert abs(own - results[height]).max() <= 1e-5 * abs(own).max()


def test_own_weights_are_the_choice_of_the_shape(open_model):
    bound, own = rynd.load(open_model, threads=2), rynd.load(open_model, threads=2, own_weights=-1)
    shapes = [{"x": ("f32", (1, CHANNELS, size, size))} for size in (3, 48)]
    alone = [[step.kernel for step in rynd.load(open_model, threads=2).plan(inputs=shape).steps] for shape in shapes]
    assert [[step.kernel for step in own.plan(inputs=shape).steps] for shape in shapes] == alone
    plans = [bound.plan(inputs=shape) for shape in shapes]
    assert [step.kernel for step in plans[0].steps] == alone[0]
    assert all("as the model has packed them" in step.reason for step in plans[1].steps if step.op == "Conv")
    shared = bound.plan(inputs=shapes[1], own_weights=0)
    assert all("as the model has packed them" in step.reason for step in shared.steps if step.op == "Conv")
    free = bound.plan(inputs=shapes[1], own_weights=2**40)
    assert [step.kernel for step in free.steps] == alone[1]


def test_unused_weights_go(open_model):
    model = rynd.load(open_model, threads=2)
    model(image(8))
    packed = model.weights.packed
    model.forget()
    assert model.weights == (packed, model.weights.derived, packed, model.weights.derived, model.weights.keep)
    model.keep_weights(0)
    assert model.weights == (0, 0, 0, 0, 0)
    model(image(9))
    assert model.weights.packed == packed
    model.forget()
    assert model.weights.packed == 0


def test_kept_sessions_have_a_bound(folder):
    """Each session takes tens of MiB: sixteen of them are not kept."""
    path = save(folder / "wide.onnx", [helper.make_node("Conv", ["x", "a"], ["m"]), helper.make_node("Conv", ["m", "b"], ["y"])],
                [("x", TensorProto.FLOAT, [1, 2, "h", "w"])], [("y", TensorProto.FLOAT, None)],
                [("a", numpy.ones((32, 2, 1, 1), numpy.float32)), ("b", numpy.ones((2, 32, 1, 1), numpy.float32))])
    model = rynd.load(path, threads=1)
    largest = model.plan(inputs={"x": ("f32", (1, 2, 512, 531))}).session().memory
    assert largest > 2**25
    model(numpy.ones((1, 2, 512, 512), numpy.float32))
    before = resident()
    for width in range(513, 532):
        y = model(numpy.ones((1, 2, 512, width), numpy.float32))
        assert (y.numpy() == 64).all()
    assert resident() - before < 5 * largest


def test_shapes_that_data_decides(folder):
    """A reshape to what an input says is planned while it runs, with the same weights."""
    path = save(folder / "reshaped.onnx", [helper.make_node("Reshape", ["x", "shape"], ["r"])] + layers("r"),
                [("x", TensorProto.FLOAT, ["n"]), ("shape", TensorProto.INT64, [4])], [(f"y{LAYERS - 1}", TensorProto.FLOAT, None)], weights())
    model, plain = rynd.load(path, threads=2), None
    packed = None
    for height in (6, 9, 14, 6):
        x = image(height)
        y = model(x.ravel(), numpy.array(x.shape)).numpy()
        packed = packed or model.weights.packed
        assert model.weights.packed == packed > 0
        plain = rynd.load(path, threads=2)(x.ravel(), numpy.array(x.shape)).numpy()
        assert y.shape == x.shape and abs(y - plain).max() <= 1e-5 * abs(plain).max()


def test_a_node_without_elements_is_no_step(folder):
    """Nothing is computed, and no reference stands in the plan; types and shapes are those of other extents."""
    nodes = [helper.make_node("Softmax", ["x"], ["s"]), helper.make_node("Conv", ["s", "w"], ["y"])]
    path = save(folder / "empty.onnx", nodes, [("x", TensorProto.FLOAT, ["n", 3, 8, 8])], [("y", TensorProto.FLOAT, None)],
                [("w", numpy.ones((4, 3, 3, 3), numpy.float32))])
    model = rynd.Model(path, threads=1)
    assert model.plan(dims={"n": 0}).steps == [] and len(model.plan(dims={"n": 2}).steps) == 2
    y = numpy.asarray(model(numpy.zeros((0, 3, 8, 8), numpy.float32)))
    assert y.shape == (0, 4, 6, 6) and y.dtype == numpy.float32
