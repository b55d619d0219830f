# SPDX-License-Identifier: Apache-2.0
"""The device "rynd:1", whose memory the host cannot read: moves, views, a network forward and backward, strict, against the CPU. Skipped without OpenCL or CUDA."""

import copy
import gc

import pytest

from torch_strict import F, nn, rynd, seed, torch  # noqa: F401

if torch.rynd.device_count() < 2:
    pytest.skip("there is no device behind rynd:0", allow_module_level=True)

DEVICE = "rynd:1"


def close(got, expected, tolerance=1e-5):
    assert got.device == torch.device(DEVICE) and got.shape == expected.shape and got.dtype == expected.dtype
    largest = max(expected.detach().double().abs().max().item(), 1e-6)
    assert (got.detach().cpu().double() - expected.detach().double()).abs().max().item() <= tolerance * largest


def test_moves():
    x = torch.randn(3, 4, 5)
    y = x.to(DEVICE)
    assert torch.equal(y.cpu(), x) and torch.equal(y.to("rynd:0").cpu(), x) and torch.equal(x.to("rynd:0").to(DEVICE).cpu(), x)
    assert torch.equal(y.transpose(0, 2).cpu(), x.transpose(0, 2)) and torch.equal(y[1:, ::2].contiguous().cpu(), x[1:, ::2])
    assert torch.equal(y.to(torch.float64).cpu(), x.double()) and y.sum().item() == pytest.approx(x.sum().item(), abs=1e-4)
    y[:, 1] = x[:, 0]
    y[:, 2].fill_(3)
    expected = x.clone()
    expected[:, 1], expected[:, 2] = x[:, 0], 3
    assert torch.equal(y.cpu(), expected)
    assert torch.equal(torch.zeros(7, device=DEVICE).cpu(), torch.zeros(7)) and torch.equal(torch.arange(7, device=DEVICE).cpu(), torch.arange(7))
    assert "2." in str(torch.full((3,), 2.0, device=DEVICE))


def test_resize():
    x = torch.arange(4.0, device=DEVICE)
    x.resize_(2, 4)
    assert x.shape == (2, 4) and torch.equal(x[0].cpu(), torch.arange(4.0))
    out = torch.empty(0, device=DEVICE)
    torch.abs(torch.tensor([-1.0, 2.0], device=DEVICE), out=out)
    assert torch.equal(out.cpu(), torch.tensor([1.0, 2.0]))


def test_loops_of_the_host():
    """Two results in one storage, and an argument that is another view of the written storage."""
    x = torch.randn(2, 6)
    whole = torch.zeros(2, 3, device=DEVICE)
    indices = torch.empty(2, 3, dtype=torch.int64, device=DEVICE)
    torch.topk(x.to(DEVICE), 3, out=(whole, indices))
    expected = torch.topk(x, 3)
    assert torch.equal(whole.cpu(), expected.values) and torch.equal(indices.cpu(), expected.indices)
    flat, mask = torch.arange(6.0, device=DEVICE), torch.tensor([True, False, True], device=DEVICE)
    flat[:3].masked_scatter_(mask, flat[3:])
    assert flat.tolist() == [3, 1, 4, 3, 4, 5]
    assert rynd.torch.host_calls()["aten::topk.values"][0] >= 1


def test_another_device_is_an_error():
    with pytest.raises(RuntimeError, match="rynd:0"):
        torch.ones(3, device="rynd:0") + torch.ones(3, device=DEVICE)
    with pytest.raises(ValueError, match="the last device"):
        torch.rynd.set_device(99)


def test_current_device():
    assert torch.rynd.current_device() == 0 and torch.rynd.get_device_name(0) == "cpu" and torch.rynd.get_device_name(1) != "cpu"
    with torch.rynd.device(1):
        assert torch.rynd.current_device() == 1 and torch.ones(2, device="rynd").device == torch.device(DEVICE)
    assert torch.rynd.current_device() == 0
    torch.rynd.synchronize(1)


def test_random_numbers_stay_on_the_device():
    """The generator decides fills and dropout; no number comes from the host."""
    def draw():
        torch.manual_seed(11)
        x = torch.empty(4, 500, device=DEVICE)
        return [x.uniform_(2, 4).cpu(), x.normal_(1, 0.5).cpu(), x.bernoulli_(0.25).cpu(), F.dropout(torch.ones_like(x), 0.25).cpu()]
    before = rynd.torch.host_calls()
    uniform, normal, bernoulli, dropped = draw()
    assert rynd.torch.host_calls() == before
    assert all(torch.equal(a, b) for a, b in zip((uniform, normal, bernoulli, dropped), draw()))
    assert 2 <= uniform.min() < 2.1 and 3.9 < uniform.max() < 4
    assert abs(normal.mean() - 1) < 0.06 and abs(normal.std() - 0.5) < 0.04
    assert bernoulli.unique().tolist() == [0, 1] and abs(bernoulli.mean() - 0.25) < 0.05
    assert abs(dropped.mean() - 1) < 0.07 and not torch.equal(dropped[0], dropped[1])


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2),
                                  nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.SiLU(), nn.Conv2d(8, 12, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(12, 5)

    def forward(self, x):
        return self.head(self.body(x))


def test_training():
    host, x, target = Network(), torch.randn(4, 3, 12, 12), torch.randint(0, 5, (4,))
    device = copy.deepcopy(host).to(DEVICE)
    for network, images, classes in ((host, x, target), (device, x.to(DEVICE), target.to(DEVICE))):
        optimizer = torch.optim.SGD(network.parameters(), 0.1, momentum=0.9)
        for _ in range(3):
            optimizer.zero_grad()
            F.cross_entropy(network(images), classes).backward()
            optimizer.step()
    for (name, mine), (_, expected) in zip(device.state_dict().items(), host.state_dict().items()):
        close(mine, expected, 1e-4)
    close(device.eval()(x.to(DEVICE)), host.eval()(x), 1e-4)


def test_memory_is_given_back():
    before = torch.rynd.memory_allocated(1)
    x = torch.ones(1000, 1000, device=DEVICE)
    assert torch.rynd.memory_allocated(1) >= before + 4000000
    del x
    gc.collect()
    assert torch.rynd.memory_allocated(1) == before
