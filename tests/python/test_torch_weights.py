# SPDX-License-Identifier: Apache-2.0
"""torch.compile(backend="rynd") and everything that changes between two calls: weights by any road, numbers, random numbers."""

import importlib.util
import warnings

import pytest

torch = pytest.importorskip("torch")
if not hasattr(torch, "compile") or not importlib.util.find_spec("onnxscript"):
    pytest.skip("torch.compile to ONNX needs PyTorch 2.6 and onnxscript: make check-torch", allow_module_level=True)

import rynd.torch_backend  # noqa: E402
from rynd.torch_weights import MOST_CHANGES, Watch  # noqa: E402


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3)
        self.norm = torch.nn.BatchNorm2d(8)
        self.head = torch.nn.Conv2d(8, 4, 1)

    def forward(self, x):
        return self.head(torch.relu(self.norm(self.conv(x))))


@pytest.fixture
def network():
    torch.manual_seed(0)
    return Network().eval()


def compiled(module, **options):
    torch._dynamo.reset()
    return torch.compile(module, backend="rynd", options=options)


@pytest.fixture
def all_by_rynd():
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*stays with PyTorch.*")
        yield


def ema(network):
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.data.mul_(0.9).add_(torch.ones_like(parameter), alpha=0.1)


def by_numpy(network):
    network.conv.weight.detach().numpy()[0, 0, 0, 0] = 5


def in_inference_mode(network):
    with torch.inference_mode():
        network.head.weight.mul_(3)


def another_storage(network):
    network.conv.weight.data = torch.full_like(network.conv.weight, 0.1)


def another_order(network):
    """The same memory, read as another matrix."""
    weight = network.head.weight.data
    network.head.weight.data = torch.as_strided(weight, weight.shape, (1, 4, 1, 1))


def loaded(network):
    network.load_state_dict({name: value * 2 for name, value in network.state_dict().items()})


CHANGES = [ema, by_numpy, in_inference_mode, another_storage, another_order, loaded,
           lambda network: network.norm.running_mean.data.add_(1), lambda network: network.conv.bias.data.neg_()]


@pytest.mark.parametrize("change", CHANGES)
def test_weights_that_anybody_writes_are_seen(network, all_by_rynd, change):
    f, x = compiled(network), torch.rand(2, 3, 9, 9)
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            torch.testing.assert_close(f(x), network(x), rtol=1e-4, atol=1e-4)
        change(network)
        with mode():
            torch.testing.assert_close(f(x), network(x), rtol=1e-4, atol=1e-4)


def test_a_watch_sees_every_byte():
    tensor = torch.zeros(100, dtype=torch.uint8)
    watch = Watch()
    states = {watch.state([tensor])}
    for i in range(100):
        tensor.numpy()[i] = 128
        states.add(watch.state([tensor]))
    assert len(states) == 101


def test_evaluation_between_steps_exports_once(network, all_by_rynd, monkeypatch):
    exports = []
    export = rynd.torch_backend.export
    monkeypatch.setattr(rynd.torch_backend, "export", lambda *given: exports.append(1) or export(*given))
    f, x = compiled(network), torch.rand(2, 3, 9, 9)
    optimizer = torch.optim.SGD(network.parameters(), 0.01)
    for _ in range(3 * MOST_CHANGES):
        network(x).square().mean().backward()
        optimizer.step()
        with torch.no_grad():
            for _ in range(2):
                torch.testing.assert_close(f(x), network(x), rtol=1e-4, atol=1e-4)
    assert len(exports) == 1


def test_weights_that_never_stay_run_by_pytorch_until_they_do(network):
    f, x = compiled(network), torch.rand(2, 3, 9, 9)
    with torch.no_grad(), pytest.warns(rynd.torch_backend.StaysWithPyTorch, match="until they stay") as said:
        for _ in range(3 * MOST_CHANGES):
            ema(network)
            torch.testing.assert_close(f(x), network(x), rtol=1e-4, atol=1e-4)
    assert len(said) == 1
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(f(x), network(x), rtol=1e-4, atol=1e-4)


def test_frozen_weights_are_not_read(network, all_by_rynd, monkeypatch):
    monkeypatch.setattr(Watch, "state", None)
    f, x = compiled(network, weights="frozen"), torch.rand(2, 3, 9, 9)
    with torch.no_grad():
        torch.testing.assert_close(f(x), network(x), rtol=1e-4, atol=1e-4)


def test_numbers_that_change():
    f, x = compiled(lambda x, by: torch.tanh(x) * by.item()), torch.rand(3, 4)
    torch._dynamo.config.capture_scalar_outputs = True
    try:
        with torch.no_grad(), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for by in list(range(12)) + [0, 1, 11]:
                torch.testing.assert_close(f(x, torch.tensor(float(by))), torch.tanh(x) * by)
    finally:
        torch._dynamo.config.capture_scalar_outputs = False
    assert sum("combinations" in str(warning.message) for warning in said) <= 1


@pytest.mark.parametrize("module", [torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5)).train(), torch.rand_like, torch.bernoulli])
def test_random_numbers_stay_with_pytorch(module):
    x = torch.rand(2, 8)
    with torch.no_grad(), pytest.warns(rynd.torch_backend.StaysWithPyTorch, match="draws random numbers"):
        f = compiled(module)
        assert not torch.equal(f(x), f(x))


def test_from_torch_refuses_random_numbers():
    class Noisy(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.dropout(x, training=True)

    with pytest.raises(rynd.UnsupportedError, match="draws random numbers"):
        rynd.from_torch(Noisy(), torch.rand(2, 3))


def test_dropout_in_evaluation_is_none(all_by_rynd):
    network = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5)).eval()
    with torch.no_grad():
        x = torch.rand(2, 8)
        torch.testing.assert_close(compiled(network)(x), network(x))


def test_bfloat16_with_batch_normalisation(network, all_by_rynd):
    network.bfloat16()
    x = torch.rand(2, 3, 9, 9, dtype=torch.bfloat16)
    with torch.no_grad():
        torch.testing.assert_close(compiled(network)(x), network(x), rtol=0.05, atol=0.05)


def test_negated_views(all_by_rynd):
    z = torch.randn(5, dtype=torch.complex64).conj().imag
    assert z.is_neg()
    with torch.no_grad():
        torch.testing.assert_close(compiled(lambda x: x * 2)(z), z * 2)


@pytest.mark.parametrize("options, says", [({"threads": "many"}, "threads"), ({"threads": -1}, "threads"), ({"accuracy": "nope"}, "nope"), ({"device": "nowhere"}, "nowhere"),
                                           ({"isa": "z80"}, "z80"), ({"weights": "melted"}, "melted")])
def test_a_wrong_option_is_an_error(options, says):
    with torch.no_grad(), pytest.raises(Exception, match=says):
        compiled(lambda x: x * 2, **options)(torch.rand(3))
