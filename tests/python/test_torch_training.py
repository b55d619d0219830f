# SPDX-License-Identifier: Apache-2.0
"""torch.compile(backend="rynd") with gradients, beside PyTorch: everything that people do to a module in training."""

import copy
import gc
import importlib.util
import warnings

import pytest

torch = pytest.importorskip("torch")
if not hasattr(torch, "compile") or not importlib.util.find_spec("onnxscript"):
    pytest.skip("torch.compile to ONNX needs PyTorch 2.6 and onnxscript: make check-torch", allow_module_level=True)

import rynd.torch_backend  # noqa: E402
from torch.nn import functional  # noqa: E402


class Network(torch.nn.Module):
    """A residual, normalisations of two momentums, a weight that is used twice."""

    def __init__(self, drop=0.0):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.twice = torch.nn.Conv2d(8, 8, 1)
        self.other = torch.nn.BatchNorm2d(8, momentum=0.3, eps=1e-3)
        self.drop = torch.nn.Dropout(drop)
        self.head = torch.nn.Linear(8, 5)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x)))
        x = torch.relu(self.other(self.twice(self.twice(x))) + x)
        return self.head(self.drop(x.mean((2, 3))))


@pytest.fixture(autouse=True)
def all_by_rynd():
    """A graph that stays with PyTorch is an error, but where a test expects the warning."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*stays with PyTorch.*")
        yield


def compiled(module, **options):
    return torch.compile(module, backend="rynd", options=options or None)


def pair(module):
    """(the module compiled, the same module, a copy of it in float64)."""
    exact = copy.deepcopy(module).double()
    return compiled(module), module, exact


def pictures(batch=4, seed=1):
    return torch.rand(batch, 3, 10, 12, generator=torch.Generator().manual_seed(seed))


def close(mine, exact, part=1e-4):
    bound = part * max(exact.abs().max().item(), 1e-3)
    assert mine.shape == exact.shape
    assert (mine.double() - exact).abs().max().item() <= bound


def gradients_close(module, exact, part=1e-4):
    largest = max(parameter.grad.abs().max().item() for parameter in exact.parameters() if parameter.grad is not None)
    for (name, mine), theirs in zip(module.named_parameters(), exact.parameters()):
        assert (mine.grad is None) == (theirs.grad is None), name
        if mine.grad is not None:
            assert (mine.grad.double() - theirs.grad).abs().max().item() <= part * largest, name


def buffers_close(module, exact):
    for (name, mine), theirs in zip(module.named_buffers(), exact.buffers()):
        assert torch.allclose(mine.double(), theirs.double(), atol=1e-5), name


def backward(network, x):
    y = network(x)
    y.square().sum().backward()
    return y


# --- gradients, statistics, steps ---

def test_gradients_and_statistics():
    fast, module, exact = pair(Network().train())
    x = pictures()
    close(backward(fast, x), backward(exact, x.double()))
    gradients_close(module, exact)
    buffers_close(module, exact)
    assert module.norm.num_batches_tracked == 1


def test_statistics_without_a_gradient():
    fast, module, exact = pair(Network().train())
    with torch.no_grad(), pytest.warns(rynd.torch_backend.StaysWithPyTorch, match="changes a tensor in place"):
        fast(pictures())
    exact(pictures().double())
    buffers_close(module, exact)


def test_evaluation_takes_the_running_statistics():
    fast, module, exact = pair(Network().eval())
    module.norm.running_mean.fill_(0.2), exact.norm.running_mean.fill_(0.2)
    x = pictures()
    close(backward(fast, x), backward(exact, x.double()))
    gradients_close(module, exact)
    assert module.norm.num_batches_tracked == 0
    module.train(), exact.train()
    close(backward(fast, x), backward(exact, x.double()))
    gradients_close(module, exact)


def test_steps_of_an_optimizer():
    fast, module, exact = pair(Network().train())
    mine, theirs = (torch.optim.SGD(network.parameters(), 0.1, momentum=0.9) for network in (module, exact))
    for step in range(6):
        losses = []
        for network, optimizer, dtype in ((fast, mine, torch.float32), (exact, theirs, torch.float64)):
            optimizer.zero_grad()
            loss = functional.cross_entropy(network(pictures(seed=step).to(dtype)), torch.arange(4))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[0] == pytest.approx(losses[1], rel=1e-3)


def test_weights_that_anybody_changes():
    fast, module, exact = pair(Network().train())
    x = pictures()
    backward(fast, x), backward(exact, x.double())
    module.conv.weight.data.mul_(0.5), exact.conv.weight.data.mul_(0.5)
    module.head.weight.detach().numpy()[0, 0] = 3
    exact.head.weight.detach().numpy()[0, 0] = 3
    module.twice.weight = torch.nn.Parameter(module.twice.weight.detach() * 2)
    exact.twice.weight = torch.nn.Parameter(exact.twice.weight.detach() * 2)
    module.zero_grad(), exact.zero_grad()
    close(backward(fast, x), backward(exact, x.double()))
    gradients_close(module, exact)


def test_gradients_add_up():
    fast, module, exact = pair(Network().train())
    for seed in range(3):
        backward(fast, pictures(seed=seed)), backward(exact, pictures(seed=seed).double())
    gradients_close(module, exact)


# --- what needs a gradient ---

def test_frozen_layers():
    module = Network().train()
    module.conv.requires_grad_(False)
    module.norm.weight.requires_grad_(False)
    fast, module, exact = pair(module)
    close(backward(fast, pictures()), backward(exact, pictures().double()))
    gradients_close(module, exact)
    assert module.conv.weight.grad is None
    module.conv.requires_grad_(True), exact.conv.requires_grad_(True)
    module.head.requires_grad_(False), exact.head.requires_grad_(False)
    module.zero_grad(), exact.zero_grad()
    close(backward(fast, pictures()), backward(exact, pictures().double()))
    gradients_close(module, exact)
    assert module.conv.weight.grad is not None and module.head.weight.grad is None


def test_gradients_of_inputs():
    fast, module, exact = pair(Network().train())
    x, wanted = pictures().requires_grad_(), pictures().double().requires_grad_()
    backward(fast, x), backward(exact, wanted)
    close(x.grad, wanted.grad)


def test_no_gradient():
    fast, module, exact = pair(Network().eval())
    x = pictures()
    with torch.no_grad():
        close(fast(x), exact(x.double()))
    with torch.inference_mode():
        close(fast(x), exact(x.double()))
    assert backward(fast, x).requires_grad


# --- results ---

def test_several_results():
    class Several(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(6, 4), torch.nn.Linear(4, 3)

        def forward(self, x):
            hidden = torch.tanh(self.first(x))
            return {"hidden": hidden, "y": self.second(hidden), "best": hidden.argmax(1)}

    fast, module, exact = pair(Several())
    x = torch.rand(5, 6)
    for used in (("hidden", "y"), ("y",), ("hidden",)):
        module.zero_grad(), exact.zero_grad()
        mine, theirs = fast(x), exact(x.double())
        assert not mine["best"].requires_grad and torch.equal(mine["best"], theirs["best"])
        for results in (mine, theirs):
            sum(results[name].square().sum() for name in used).backward()
        if used == ("hidden",):
            assert module.second.weight.grad is None or not module.second.weight.grad.any()
            close(module.first.weight.grad, exact.first.weight.grad)
        else:
            gradients_close(module, exact)


def test_results_may_be_changed_in_place():
    fast, module, exact = pair(torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.Sigmoid()))
    x = torch.rand(5, 6)
    fast(x).mul_(3).square().sum().backward()  # the gradient of sigmoid reads the unchanged result
    (exact(x.double()) * 3).square().sum().backward()
    gradients_close(module, exact)


def test_saved_tensors_must_stay():
    fast, module, _ = pair(torch.nn.Linear(6, 4))
    x = torch.rand(5, 6)
    y = fast(x)
    x.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_the_loss_is_in_the_graph():
    module = Network().train()
    exact = copy.deepcopy(module).double()
    target = torch.arange(4)
    fast = torch.compile(lambda x: functional.cross_entropy(module(x), target), backend="rynd")
    mine, theirs = fast(pictures()), functional.cross_entropy(exact(pictures().double()), target)
    mine.backward(), theirs.backward()
    assert mine.item() == pytest.approx(theirs.item(), rel=1e-5)
    gradients_close(module, exact)


# --- calls ---

def test_several_calls_before_a_backward_pass():
    fast, module, exact = pair(Network().train())
    for network, dtype in ((fast, torch.float32), (exact, torch.float64)):
        loss = sum(network(pictures(seed=seed).to(dtype)).square().sum() for seed in range(3))
        loss.backward()
    gradients_close(module, exact)


def test_results_without_a_backward_pass():
    fast, module, exact = pair(Network().train())
    for seed in range(5):
        fast(pictures(seed=seed))
        exact(pictures(seed=seed).double())
    gc.collect()
    backward(fast, pictures()), backward(exact, pictures().double())
    gradients_close(module, exact)


def test_other_batches():
    fast, module, exact = pair(Network().train())
    for batch in (4, 6, 3, 4, 7):
        module.zero_grad(), exact.zero_grad()
        close(backward(fast, pictures(batch)), backward(exact, pictures(batch).double()))
        gradients_close(module, exact)
        buffers_close(module, exact)


def test_channels_last_and_strided_inputs():
    fast, module, exact = pair(Network().train())
    for x in (pictures().to(memory_format=torch.channels_last), pictures(8)[::2], torch.rand(4, 3, 12, 10).transpose(2, 3)):
        module.zero_grad(), exact.zero_grad()
        close(backward(fast, x), backward(exact, x.double()))
        gradients_close(module, exact)


def test_negative_views():
    fast, module, exact = pair(Network().train())
    numbers = torch.rand(4, 3, 10, 12, dtype=torch.complex64)
    x = numbers.conj().imag
    assert x.is_neg()
    y, theirs = fast(x), exact(x.double())
    torch.rand(4, 3, 10, 12).neg_()  # another tensor where the copy would have been
    y.square().sum().backward(), theirs.square().sum().backward()
    gradients_close(module, exact)


def test_strided_gradients():
    fast, module, exact = pair(Network().train())
    for network, x in ((fast, pictures()), (exact, pictures().double())):
        network(x).sum().backward()  # expanded from one number
    gradients_close(module, exact)


def test_numbers_that_change():
    class Scaled(torch.nn.Linear):
        factor = 1.0

        def forward(self, x):
            return super().forward(x) * self.factor

    fast, module, exact = pair(Scaled(6, 4))
    x = torch.rand(5, 6)
    for factor in (1.0, 0.5, 0.25):
        module.factor = exact.factor = factor
        module.zero_grad(), exact.zero_grad()
        close(backward(fast, x), backward(exact, x.double()))
        gradients_close(module, exact)


def test_a_failed_backward_pass_leaves_nothing_half_done():
    fast, module, exact = pair(Network().train())
    y = fast(pictures())
    with pytest.raises(RuntimeError):
        y.backward(torch.ones(3, 3))
    assert all(parameter.grad is None for parameter in module.parameters())
    exact(pictures().double())
    close(backward(fast, pictures()), backward(exact, pictures().double()))
    gradients_close(module, exact)
    buffers_close(module, exact)


# --- random numbers ---

def test_dropout_draws_as_pytorch_does():
    module = Network(drop=0.4).train()
    fast, module, _ = pair(module)
    plain = copy.deepcopy(module)
    results = []
    for network in (fast, plain):
        torch.manual_seed(7)
        results.append([network(pictures()).detach() for _ in range(3)])
    for mine, theirs in zip(*results):
        assert torch.allclose(mine, theirs, atol=1e-5)
    assert not torch.allclose(results[0][0], results[0][1], atol=1e-3)
    torch.manual_seed(7)
    backward(fast, pictures())
    plain.load_state_dict(module.state_dict())
    torch.manual_seed(7)
    backward(plain, pictures())
    gradients_close(module, plain)


def test_drawn_tensors_of_open_size():
    class Depth(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 4, 3)

        def forward(self, x):
            x = functional.dropout2d(self.conv(x), 0.3, self.training)
            return x * torch.empty(x.shape[0], 1, 1, 1).bernoulli_(0.5)

    fast, module, _ = pair(Depth().train())
    plain = copy.deepcopy(module)
    for batch in (4, 5, 7):
        for network in (fast, plain):
            network.zero_grad()
            torch.manual_seed(batch)
            y = network(pictures(batch))
            y.square().sum().backward()
        gradients_close(module, plain)


# --- what stays with PyTorch, and mistakes ---

def stays(module, x, why):
    exact = copy.deepcopy(module).double()
    fast = compiled(module)
    with pytest.warns(rynd.torch_backend.StaysWithPyTorch, match=why):
        backward(fast, x)
    backward(exact, x.double())
    gradients_close(module, exact)


class Detached(torch.nn.Linear):
    def forward(self, x):
        y = super().forward(x)
        return y * y.detach()


class Silent(torch.nn.Linear):
    def forward(self, x):
        with torch.no_grad():
            part = super().forward(x)
        return super().forward(x) * part


class Random(torch.nn.Linear):
    def forward(self, x):
        return super().forward(x) + 0 * torch.rand(4)


@pytest.mark.parametrize("kind, why", [(Detached, "detach decides about gradients"), (Silent, "grad_enabled decides about gradients"),
                                       (Random, "draws random numbers")])
def test_graphs_that_stay_with_pytorch(kind, why):
    stays(kind(6, 4), torch.rand(5, 6), why)


def test_two_backward_passes_are_refused():
    fast, module, _ = pair(torch.nn.Linear(6, 4))
    y = fast(torch.rand(5, 6)).square().sum()
    y.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="has run already"):
        y.backward()


def test_second_derivatives_are_refused():
    fast, module, _ = pair(torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.Tanh()))
    x = torch.rand(5, 6, requires_grad=True)
    with pytest.raises(RuntimeError, match="second derivatives"):
        torch.autograd.grad(fast(x).sum(), x, create_graph=True)


def test_plans_and_sessions_have_a_bound():
    from rynd.torch_training import MOST_PLANS, MOST_READY, MOST_SESSIONS, TrainedGraph
    fast, module, exact = pair(Network().train())
    for batch in range(2, 2 + MOST_PLANS + 4):
        backward(fast, pictures(batch))
    many = [fast(pictures(4)) for _ in range(MOST_SESSIONS + 3)]
    sum(y.sum() for y in many).backward()
    gc.collect()
    graphs = [thing for thing in gc.get_objects() if isinstance(thing, TrainedGraph)]
    assert graphs
    for graph in graphs:
        assert len(graph.plans) <= MOST_PLANS
        assert all(len(plan.idle) <= MOST_SESSIONS for plan in graph.plans.values())
        assert sum(bool(plan.idle) for plan in graph.plans.values()) <= MOST_READY


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2"])
def test_networks(name):
    models = pytest.importorskip("torchvision").models
    fast, module, exact = pair(getattr(models, name)(num_classes=10).train())
    plain = copy.deepcopy(module)
    x, target = torch.rand(4, 3, 64, 64), torch.arange(4)
    for network, dtype in ((fast, torch.float32), (plain, torch.float32), (exact, torch.float64)):
        torch.manual_seed(3)
        functional.cross_entropy(network(x.to(dtype)), target).backward()
    largest = max(parameter.grad.abs().max().item() for parameter in exact.parameters())

    def error(network):
        return max((mine.grad.double() - theirs.grad).abs().max().item() for mine, theirs in zip(network.parameters(), exact.parameters()))
    assert error(module) <= max(1e-4 * largest, 4 * error(plain))
