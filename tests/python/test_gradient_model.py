# SPDX-License-Identifier: Apache-2.0
"""Model.gradient: outputs and gradients by one plan, beside PyTorch's float64, and beside differences."""

import numpy
import pytest
import rynd
from conftest import save
from onnx import TensorProto, helper

GIVEN = ["x", "w", "scale", "bias", "v"]


def weights():
    random = numpy.random.default_rng(3)
    return {"w": random.standard_normal((6, 3, 3, 3), numpy.float32), "scale": random.standard_normal(6, numpy.float32),
            "bias": random.standard_normal(6, numpy.float32), "v": random.standard_normal((4, 6), numpy.float32),
            "mean": random.standard_normal(6, numpy.float32), "variance": random.random(6, numpy.float32)}


@pytest.fixture(scope="module")
def normalised_model(folder):
    """A normalisation in training mode: x [n, 3, 8, 8] -> y [n, 4], its statistics, and r, which y is computed from."""
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
             helper.make_node("BatchNormalization", ["c", "scale", "bias", "mean", "variance"], ["n", "next_mean", "next_variance"],
                              training_mode=1, momentum=0.75),
             helper.make_node("Relu", ["n"], ["r"]), helper.make_node("GlobalAveragePool", ["r"], ["p"]), helper.make_node("Flatten", ["p"], ["f"]),
             helper.make_node("Gemm", ["f", "v"], ["y"], transB=1)]
    outputs = [("y", TensorProto.FLOAT, ["n", 4]), ("next_mean", TensorProto.FLOAT, [6]), ("next_variance", TensorProto.FLOAT, [6]),
               ("r", TensorProto.FLOAT, ["n", 6, 8, 8])]
    return save(folder / "normalised.onnx", nodes, [("x", TensorProto.FLOAT, ["n", 3, 8, 8])], outputs, list(weights().items()))


def arrays():
    random = numpy.random.default_rng(4)
    held = weights()
    return [random.standard_normal((5, 3, 8, 8), numpy.float32), *(held[name] for name in GIVEN[1:])]


def test_a_normalisation_in_training_mode(normalised_model):
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    gradient = rynd.load(normalised_model).gradient(GIVEN, ["y", "r"], batch=5)
    assert [value.name for value in gradient.inputs] == [*GIVEN, "gradient/y", "gradient/r"]
    plan = gradient.plan()
    assert [step.kernel.startswith("batch_norm_train") for step in plan.steps].count(True) == 1
    assert [step.kernel.startswith("batch_norm_grad") for step in plan.steps].count(True) == 1
    given = arrays()
    dy, dr = (numpy.random.default_rng(seed).standard_normal(shape, numpy.float32) for seed, shape in ((5, (5, 4)), (6, (5, 6, 8, 8))))
    y, mean, variance, r = (numpy.asarray(result) for result in gradient.forward(*given))
    made = gradient.backward(dy, dr)
    tensors = [torch.tensor(array, dtype=torch.float64, requires_grad=True) for array in given]
    convolved = functional.conv2d(tensors[0], tensors[1], padding=1)
    theirs = functional.relu(functional.batch_norm(convolved, None, None, tensors[2], tensors[3], True))
    result = theirs.mean((2, 3)) @ tensors[4].T
    torch.autograd.backward([result, theirs], [torch.tensor(dy).double(), torch.tensor(dr).double()])
    held = weights()
    numpy.testing.assert_allclose(y, result.detach().numpy(), atol=1e-5)
    numpy.testing.assert_allclose(r, theirs.detach().numpy(), atol=1e-5)
    numpy.testing.assert_allclose(mean, 0.75 * held["mean"] + 0.25 * convolved.mean((0, 2, 3)).detach().numpy(), atol=1e-5)
    numpy.testing.assert_allclose(variance, 0.75 * held["variance"] + 0.25 * convolved.var((0, 2, 3), unbiased=False).detach().numpy(), atol=1e-4)
    for array, tensor in zip(made, tensors):
        numpy.testing.assert_allclose(numpy.asarray(array), tensor.grad.numpy(), atol=1e-5 * tensor.grad.abs().max().item())


def test_an_array_stays_bound(conv_model):
    session = rynd.load(conv_model).gradient(["w"], batch=2).plan().session()
    random = numpy.random.default_rng(1)
    x, w = random.standard_normal((2, 3, 20, 24), numpy.float32), random.standard_normal((16, 3, 3, 3), numpy.float32)
    first = numpy.array(session.run_forward(x, w))
    numpy.multiply(x, 2, out=x)
    again = numpy.array(session.run_forward(None, None))  # reads the memory anew
    assert not numpy.array_equal(first, again)
    assert session.rereads == [0]
    fresh = rynd.load(conv_model).gradient(["w"], batch=2).plan().session()
    with pytest.raises(TypeError, match="is None, and no run before"):
        fresh.run_forward(x, None)
    with pytest.raises(TypeError, match="the pass has 2 inputs"):
        fresh.run_forward(x)
    with pytest.raises(rynd.ArgumentError, match="run forward first"):
        fresh.run_backward(first)


def test_the_gradient_of_the_last_weights(conv_model):
    """The output is linear in them: <y, dy> is <v, dv>."""
    model = rynd.load(conv_model)
    gradient = model.gradient(["v"], batch=2)
    random = numpy.random.default_rng(2)
    x, dy = random.standard_normal((2, 3, 20, 24), numpy.float32), random.standard_normal((2, 8, 10, 12), numpy.float32)
    v = numpy.asarray(random.standard_normal((8, 16, 1, 1), numpy.float32))
    y = numpy.array(gradient.forward(x, v)).astype(numpy.float64)
    dv = numpy.array(gradient.backward(dy)).astype(numpy.float64)
    assert abs((y * dy).sum() - (v * dv).sum()) < 1e-5 * numpy.abs(y * dy).sum()


def test_other_sessions_have_no_passes(conv_model):
    session = rynd.load(conv_model).plan(batch=1).session()
    assert session.rereads == []
    with pytest.raises(ValueError, match="no gradients"):
        session.run_forward()


def test_operators_without_gradient_are_named(nonzero_model):
    with pytest.raises(rynd.Error, match="nonzero"):
        rynd.load(nonzero_model).gradient(["x"], dims={"n": 3})


SMALL_CACHES = """rynd machine 1
name small
architecture small
isa generic
cores 1
vector_bytes 16
line_bytes 64
f32 10000000000 10000000000
l1_bytes 32768
l1_shared_by 1
l1_bandwidth 50000000000 50000000000
l2_bytes 1048576
l2_shared_by 1
l2_bandwidth 20000000000 20000000000
dram_bandwidth 5000000000 5000000000
dram_latency 100000 100000
end
"""


def test_micro_batches_end_with_the_forward_pass(folder):
    """Convolutions of images that are larger than the caches run image by image, in both passes: the output is linear in x, so <y, dy> is <x, dx>."""
    (folder / "small.txt").write_text(SMALL_CACHES)
    random = numpy.random.default_rng(8)
    weights = [(name, 0.1 * random.standard_normal((16, 16, 3, 3), numpy.float32)) for name in ("w", "v")]
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]), helper.make_node("Conv", ["a", "v"], ["y"], pads=[1, 1, 1, 1])]
    shape = (4, 16, 64, 64)
    path = save(folder / "large.onnx", nodes, [("x", TensorProto.FLOAT, shape)], [("y", TensorProto.FLOAT, shape)], weights)
    gradient = rynd.load(path, machine=str(folder / "small.txt")).gradient(["x"])
    assert min(step.micro_batches for step in gradient.plan().steps) > 1
    x, dy = random.standard_normal(shape, numpy.float32), random.standard_normal(shape, numpy.float32)
    y = numpy.array(gradient.forward(x)).astype(numpy.float64)
    dx = numpy.array(gradient.backward(dy)).astype(numpy.float64)
    assert abs((y * dy).sum() - (x * dx).sum()) < 1e-5 * numpy.abs(y * dy).sum()
