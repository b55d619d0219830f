# SPDX-License-Identifier: Apache-2.0
"""rynd behind the interfaces of others: PyTorch's, ONNX's, ONNX Runtime's."""

import importlib.util
import pathlib
import re
import sys
import unittest
import warnings

import numpy
import onnx
import pytest
from onnx import helper

import rynd

torch = pytest.importorskip("torch")
ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "examples/python"))
PINNED = re.search("^onnx==(.*)$", (ROOT / "tests/requirements.txt").read_text(), re.MULTILINE)[1]


class Network(torch.nn.Module):
    """Two outputs; a convolution, a normalisation, and a size of the input in the text."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.norm.running_mean.normal_()

    def forward(self, x):
        y = torch.relu(self.norm(self.conv(x)))
        return y, y.reshape(x.shape[0], -1).sum(1)


@pytest.fixture
def network():
    torch.manual_seed(0)
    return Network().eval()


def close(got, expected):
    for a, b in zip(got, expected, strict=True):
        numpy.testing.assert_allclose(numpy.asarray(a), b.detach().numpy(), rtol=1e-4, atol=1e-4)


# --- from_torch ---

def test_from_torch(network):
    network.train()
    network.conv.eval()
    model = rynd.from_torch(network, torch.rand(2, 3, 9, 11), dims={0: "batch"}, threads=1)
    assert network.training and network.norm.training and not network.conv.training
    network.eval()
    for n in (2, 5):
        x = torch.rand(n, 3, 9, 11)
        close(model(x), network(x))


@pytest.mark.parametrize("module, example, says", [(torch.relu, torch.rand(2), "torch.nn.Module"), (torch.nn.ReLU(), [[1.0]], "a list"),
                                                   (torch.nn.ReLU(), 5, "a int")])
def test_from_torch_refuses(module, example, says):
    with pytest.raises(rynd.ArgumentTypeError, match=says):
        rynd.from_torch(module, example)


@pytest.mark.parametrize("n", [1, 2])
def test_open_sizes_have_names_whatever_the_example_has(network, n):
    class Doubled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = network

        def forward(self, x):
            y = self.network(x)[0]
            return y, torch.cat([y, y])

    model = rynd.from_torch(Doubled(), torch.rand(n, 3, 9, 11), dims={0: "batch"}, threads=1)
    assert model.inputs[0].shape == ("batch", 3, 9, 11)
    if hasattr(torch, "export"):
        assert [output.shape[0] for output in model.outputs] == ["batch", "2*batch"]
    with torch.no_grad():
        x = torch.rand(3, 3, 9, 11)
        torch.testing.assert_close(torch.from_dlpack(model(x)[1]), Doubled().eval()(x)[1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dims, says", [({4: "batch"}, "no tensor of the example has a dimension 4"), ({-1: "width"}, "dimension -1"),
                                        ({0: 5}, "identifier"), ({"batch": 0}, "identifier"), ({0: "a b"}, "identifier")])
def test_from_torch_refuses_dims(dims, says):
    with pytest.raises(rynd.ArgumentError, match=says):
        rynd.from_torch(torch.nn.ReLU(), torch.rand(2, 3), dims=dims)


@pytest.mark.skipif(not hasattr(torch.onnx, "ONNXProgram"), reason="the exporter that needs onnxscript came with PyTorch 2.6")
def test_from_torch_names_packages_that_are_missing(monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "onnxscript" else found(name, *rest))
    with pytest.raises(rynd.UnsupportedError, match=r"pip install onnxscript, or 'rynd\[torch\]'"):
        rynd.from_torch(torch.nn.ReLU(), torch.rand(2, 3))


def test_from_torch_says_what_cannot_be_exported():
    class Odd(torch.nn.Module):
        def forward(self, x):
            return torch.linalg.svd(x)[1]
    with pytest.raises(rynd.UnsupportedError, match="cannot export Odd: .*svd"):
        rynd.from_torch(Odd(), torch.rand(3, 3))


# --- torch.compile ---

can_compile = pytest.mark.skipif(not hasattr(torch, "compile") or not importlib.util.find_spec("onnxscript"),
                                 reason="torch.compile to ONNX needs PyTorch 2.6 and onnxscript")


def compiled(module, **options):
    import rynd.torch_backend
    torch._dynamo.reset()
    return torch.compile(module, backend="rynd", **options)


@pytest.fixture
def all_by_rynd():
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*stays with PyTorch.*")
        yield


@can_compile
@pytest.mark.parametrize("dynamic", [None, True, False])
def test_compile(network, all_by_rynd, dynamic):
    f = compiled(network, dynamic=dynamic, options={"threads": 2, "accuracy": "strict"})
    with torch.no_grad():
        for n in (2, 3, 7, 2):
            x = torch.rand(n, 3, 8, 8)
            close(f(x), network(x))


@can_compile
def test_compile_follows_the_weights(network, all_by_rynd):
    f, x = compiled(network), torch.rand(2, 3, 8, 8)
    with torch.inference_mode():
        close(f(x), network(x))
        network.conv.weight.mul_(2)
        close(f(x), network(x))


@can_compile
def test_compile_reads_any_strides(network, all_by_rynd):
    x = torch.rand(2, 3, 8, 8).to(memory_format=torch.channels_last)
    with torch.no_grad():
        close(compiled(network)(x), network(x))


@can_compile
def test_compile_runs_parts(all_by_rynd):
    """A function that PyTorch breaks in two, with a number beside the tensors."""
    def function(x, times):
        y = torch.tanh(x) * times
        torch._dynamo.graph_break()
        return x, y + 1, None, times
    f, x = compiled(function), torch.rand(3, 4)
    with torch.no_grad():
        for times in (2, 3, 4):
            same, y, nothing, number = f(x, times)
            assert same is x and nothing is None and number == times
            close([y], [function(x, times)[1]])


@can_compile
@pytest.mark.parametrize("function, argument, reason", [
    (lambda x: torch.linalg.svd(x)[1], torch.rand(4, 4), "svd"),
    (lambda x: x.view(-1), torch.rand(4, 4), "memory of an input"),
    (lambda x: x.add_(1), torch.rand(4, 4), "in place|memory of an input"),
    (lambda x: torch.linalg.svd(x)[1], torch.rand(4, 4, requires_grad=True), "svd"),
    (lambda x: x * x.detach(), torch.rand(4, requires_grad=True), "detach decides about gradients"),
])
def test_what_rynd_cannot_stays(function, argument, reason):
    expected = function(argument.clone()).detach()
    with pytest.warns(UserWarning, match=f"stays with PyTorch: .*({reason})") as said:
        f = compiled(function)
        for _ in range(3):
            numpy.testing.assert_allclose(f(argument.clone()).detach(), expected, rtol=1e-5, atol=1e-6)
    assert sum("stays with PyTorch" in str(warning.message) for warning in said) == 1


@can_compile
def test_compile_in_training(network):
    """BatchNormalization's statistics go on as PyTorch's."""
    network.train()
    with torch.no_grad(), pytest.warns(UserWarning, match="in place"):
        compiled(network)(torch.rand(2, 3, 8, 8))
    assert network.norm.num_batches_tracked == 1


@can_compile
@pytest.mark.parametrize("options, says", [({"options": {"speed": 9}}, "speed"), ({"mode": "max-autotune"}, "mode")])
def test_compile_options(options, says):
    with torch.no_grad(), pytest.raises(Exception, match=says):
        compiled(lambda x: x * 2, **options)(torch.rand(3))


# --- ONNX's backend ---

def test_onnx_backend(conv_model):
    from rynd import onnx_backend
    x = numpy.random.default_rng(0).standard_normal((2, 3, 20, 24), dtype=numpy.float32)
    proto = onnx.load(conv_model)
    prepared = onnx_backend.prepare(proto, "CPU", threads=1)
    expected = rynd.load(conv_model)(x).numpy()
    for inputs in ([x], (x,), {"x": x}, x):
        assert numpy.array_equal(prepared.run(inputs).y, expected)
    assert numpy.array_equal(onnx_backend.run_model(proto, [x])[0], expected)
    assert onnx_backend.supports_device("CPU") and not onnx_backend.supports_device("TPU")
    assert onnx_backend.is_compatible(proto)
    with pytest.raises(rynd.ArgumentError, match="speed"):
        prepared.run([x], speed=1)


def test_onnx_backend_runs_a_node():
    from rynd import onnx_backend
    node = helper.make_node("Clip", ["x", "", "most"], ["y"])
    y, = onnx_backend.run_node(node, [numpy.array([1, 5], numpy.float32), numpy.float32(3)])
    assert y.tolist() == [1, 3]
    unknown = helper.make_model(helper.make_graph([helper.make_node("Det", ["x"], ["y"])], "g", [
        helper.make_tensor_value_info("x", 1, [3, 3])], [helper.make_tensor_value_info("y", 1, [])]))
    assert not onnx_backend.is_compatible(unknown)


def listed_tests():
    """The tests of ONNX's own runner that rynd must pass, as cases of unittest."""
    import onnx.backend.test

    from rynd import onnx_backend
    listed = set((ROOT / "tests/onnx_suite/tests.txt").read_text().split())
    names = {test.split("/")[1] + "_cpu" for test in listed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = onnx.backend.test.BackendTest(onnx_backend, __name__).test_cases
    found = [case(name) for case in cases.values() for name in dir(case) if name in names]
    return found, len(listed)


def outcome(tests):
    result = unittest.TestResult()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        unittest.TestSuite(tests).run(result)
    return result


@pytest.mark.skipif(onnx.__version__ != PINNED, reason="tests/onnx_suite/tests.txt is that of another version of onnx")
def test_onnx_runner(monkeypatch):
    """As many pass as by the command; and wrong results are noticed."""
    from rynd import onnx_backend
    tests, count = listed_tests()
    result = outcome(tests)
    assert len(tests) == count == result.testsRun and not result.skipped
    assert [str(test) for test, _ in result.failures + result.errors] == []
    run = onnx_backend.Representation.run
    monkeypatch.setattr(onnx_backend.Representation, "run", lambda self, inputs: tuple(1 - 2 * y.astype("f4") for y in run(self, inputs)))
    assert len(outcome(listed_tests()[0]).failures) > 0.9 * count


# --- ONNX Runtime's session ---

def test_as_onnxruntime(conv_model, add_model):
    import onnxruntime
    import onnxruntime_session
    random = numpy.random.default_rng(0)
    for path, feed in ((conv_model, {"x": random.standard_normal((2, 3, 20, 24), dtype=numpy.float32)}),
                       (add_model, {name: random.standard_normal((3, 4), dtype=numpy.float32) for name in "ab"})):
        ours, theirs = (engine.InferenceSession(path, providers=["CPUExecutionProvider"]) for engine in (onnxruntime_session, onnxruntime))
        for mine, other in zip(ours.get_inputs() + ours.get_outputs(), theirs.get_inputs() + theirs.get_outputs(), strict=True):
            assert (mine.name, mine.shape, mine.type) == (other.name, other.shape, other.type)
        names = [theirs.get_outputs()[-1].name]
        for wanted in (None, names):
            for mine, other in zip(ours.run(wanted, feed), theirs.run(wanted, feed), strict=True):
                numpy.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-4)
    options = onnxruntime_session.SessionOptions()
    options.intra_op_num_threads = 1
    assert onnxruntime_session.InferenceSession(conv_model, options).get_providers()[0] == "CPUExecutionProvider"
