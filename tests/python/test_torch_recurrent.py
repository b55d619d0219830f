# SPDX-License-Identifier: Apache-2.0
"""nn.LSTM, nn.GRU and nn.RNN on the device "rynd", forward and backward, strict, against the CPU."""

import copy

import pytest

from torch_strict import nn, rynd, seed, torch  # noqa: F401
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

KINDS = ("LSTM", "GRU", "RNN")
FORMS = [  # layers, options
    (1, {}),
    (1, {"bias": False}),
    (2, {"batch_first": True}),
    (2, {"bidirectional": True}),
    (1, {"bidirectional": True, "batch_first": True, "bias": False}),
]


def states(network, batch):
    count = network.num_layers * (2 if network.bidirectional else 1)
    hidden = torch.randn(count, batch, network.proj_size or network.hidden_size)
    return (hidden, torch.randn(count, batch, network.hidden_size)) if isinstance(network, nn.LSTM) else (hidden,)


def computed(network, x, lengths=None, start=None):
    """Results, states, and the gradients of x, the first states and the weights."""
    network.zero_grad()
    x = x.clone().requires_grad_(True)
    start = tuple(state.clone().to(x.device).requires_grad_(True) for state in start or ())
    steps = pack_padded_sequence(x, lengths, network.batch_first, enforce_sorted=False) if lengths is not None else x
    y, end = network(steps, start if len(start) > 1 else start[0]) if start else network(steps)
    y = pad_packed_sequence(y, network.batch_first)[0] if lengths is not None else y
    end = end if isinstance(end, tuple) else (end,)
    roots = (y, *end)
    torch.autograd.backward(roots, [torch.cos(torch.arange(root.numel(), dtype=torch.float32)).reshape(root.shape).to(root.device) for root in roots])
    return [*roots, x.grad, *(state.grad for state in start), *(weight.grad for weight in network.parameters())]


def compare(network, x, lengths=None, start=None):
    expected = computed(network, x, lengths, start)
    got = computed(copy.deepcopy(network).to("rynd"), x.to("rynd"), lengths, start)
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a.cpu(), b, rtol=1e-4, atol=1e-5)


def made(kind, layers, options):
    return getattr(nn, kind)(5, 7, layers, **options), torch.randn(4, 6, 5) if options.get("batch_first") else torch.randn(6, 4, 5)


@pytest.mark.parametrize("layers, options", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_layers(kind, layers, options):
    network, x = made(kind, layers, options)
    compare(network, x)
    compare(network, x, start=states(network, 4))


@pytest.mark.parametrize("kind", KINDS)
def test_packed_sequences(kind):
    network, x = made(kind, 2, {"batch_first": True, "bidirectional": True})
    compare(network, x, torch.tensor([6, 2, 5, 3]), states(network, 4))


def test_projections():
    network, x = made("LSTM", 2, {"proj_size": 3, "bidirectional": True})
    compare(network, x, start=states(network, 4))


def test_relu():
    compare(*made("RNN", 1, {"nonlinearity": "relu"}))


@pytest.mark.parametrize("kind", KINDS)
def test_one_sequence(kind):
    compare(getattr(nn, kind)(5, 7), torch.randn(6, 5))


@pytest.mark.parametrize("kind", KINDS)
def test_cells(kind):
    cell, x = getattr(nn, kind + "Cell")(5, 7), torch.randn(4, 5)
    twin = copy.deepcopy(cell).to("rynd")
    for one, given in ((cell, x), (twin, x.to("rynd"))):
        y = one(given)
        (y if isinstance(y, torch.Tensor) else y[0] * y[1]).square().sum().backward()
    for a, b in zip(twin.parameters(), cell.parameters()):
        torch.testing.assert_close(a.grad.cpu(), b.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_dropout(kind):
    """The generator decides the mask, and evaluation has none."""
    network, x = getattr(nn, kind)(5, 7, 2, dropout=0.5), torch.randn(6, 4, 5)
    device = copy.deepcopy(network).to("rynd")

    def run(number):
        torch.manual_seed(number)
        return device(x.to("rynd"))[0]
    first = run(3)
    first.sum().backward()
    assert torch.equal(first.cpu(), run(3).cpu()) and not torch.equal(first.cpu(), run(4).cpu())
    torch.testing.assert_close(device.eval()(x.to("rynd"))[0].cpu(), network.eval()(x)[0], rtol=1e-4, atol=1e-5)


def test_training():
    """A network that counts: the loss falls as on the CPU."""
    def losses(where):
        torch.manual_seed(0)
        network, last = nn.LSTM(1, 16, batch_first=True).to(where), nn.Linear(16, 1).to(where)
        optimizer = torch.optim.Adam([*network.parameters(), *last.parameters()], 0.02)
        x = (torch.rand(32, 8, 1) > 0.5).float()
        target = x.sum(1).to(where) / 8
        found = []
        for _ in range(20):
            loss = nn.functional.mse_loss(last(network(x.to(where))[0][:, -1]), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found
    expected, got = losses("cpu"), losses("rynd")
    assert got[-1] < got[0] / 2 and got == pytest.approx(expected, rel=1e-3)
