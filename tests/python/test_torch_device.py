# SPDX-License-Identifier: Apache-2.0
"""The device "rynd" of PyTorch, strict: what falls back to the CPU is an error. The CPU's results are the reference."""

import copy
import gc
import io

import pytest

from torch_strict import F, nn, rynd, seed, torch  # noqa: F401


def close(got, expected, tolerance=1e-4):
    """Within `tolerance` of the largest element."""
    assert got.shape == expected.shape and got.dtype == expected.dtype
    if expected.numel():
        largest = max(expected.double().abs().max().item(), 1e-6)
        assert (got.cpu().double() - expected.double()).abs().max().item() <= tolerance * largest


def both(function, *tensors, tolerance=1e-5):
    """Computes on the CPU and on the device; compares results and strides."""
    expected = function(*tensors)
    got = function(*(tensor.to("rynd") for tensor in tensors))
    assert got.device.type == "rynd"
    close(got, expected, tolerance)
    return got, expected


# --- tensors ---

@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool])
def test_copies_keep_every_bit(dtype):
    x = torch.randn(3, 5, 7).mul(10).to(dtype)
    for tensor in (x, x.transpose(0, 2), x[1:, ::2], x[0, 0, 0], x[:0]):
        assert torch.equal(tensor.to("rynd").cpu(), tensor)
        assert torch.equal(tensor.to("rynd").clone().cpu(), tensor)
        assert torch.equal(tensor.to("rynd").contiguous().cpu(), tensor)


def test_views_share_memory():
    x = torch.zeros(4, 6, device="rynd")
    x[1:3, ::2] = 5
    x.t()[0].fill_(7)
    expected = torch.zeros(4, 6)
    expected[1:3, ::2] = 5
    expected.t()[0].fill_(7)
    assert torch.equal(x.cpu(), expected)


def test_channels_last_is_kept():
    x = torch.randn(2, 8, 5, 5).to(memory_format=torch.channels_last)
    for function in (torch.relu, lambda x: x + 1, lambda x: F.max_pool2d(x, 2), lambda x: F.conv2d(x, torch.ones(4, 8, 3, 3).to(x.device))):
        got, expected = both(function, x)
        assert got.stride() == expected.stride()


def test_casts():
    x = torch.randn(5, 6)
    for a in (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int32, torch.int64):
        for b in (torch.float32, torch.float16, torch.bool, torch.int64):
            assert torch.equal(x.to(a).to("rynd").to(b).cpu(), x.to(a).to(b))


def test_saved_and_loaded():
    x = torch.randn(3, 4)
    file = io.BytesIO()
    torch.save({"x": x.to("rynd")}, file)
    for where, device in (("cpu", "cpu"), ("rynd", "rynd"), (None, "rynd")):
        file.seek(0)
        loaded = torch.load(file, map_location=where)["x"]
        assert loaded.device.type == device and torch.equal(loaded.cpu(), x)


def test_memory_is_given_back():
    gc.collect()
    before = torch.rynd.memory_allocated()
    x = torch.empty(1 << 20, device="rynd")
    assert torch.rynd.memory_allocated() >= before + (4 << 20)
    del x
    assert torch.rynd.memory_allocated() == before
    torch.rynd.empty_cache()
    assert torch.rynd.memory_reserved() == before and torch.rynd.operators()[0] == 0


def test_printing():
    assert "device='rynd:0'" in repr(torch.ones(2, 3, device="rynd"))


# --- elementwise operators ---

UNARY = ["abs", "ceil", "cos", "erf", "exp", "expm1", "floor", "log1p", "neg", "reciprocal", "relu", "round", "rsqrt", "sigmoid", "sign", "sin", "sqrt", "tanh"]


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    x = torch.rand(3, 1, 7) + 0.1
    for tensor in (x, x.transpose(0, 2), x[..., ::2]):
        both(getattr(torch, name), tensor)


@pytest.mark.parametrize("function", [F.silu, F.gelu, F.hardswish, F.hardsigmoid, F.relu6, F.mish, F.elu, F.leaky_relu, lambda x: F.gelu(x, approximate="tanh"),
                                      lambda x: x.clamp(-0.5, 0.5), lambda x: x.clamp(min=0.2), lambda x: x ** 2, lambda x: 2 - x, lambda x: 1 / x])
def test_activations_and_scalars(function):
    x = torch.randn(4, 33)
    both(function, x)
    a, b = x.clone().requires_grad_(), x.to("rynd").requires_grad_()
    function(a).sum().backward()
    function(b).sum().backward()
    close(b.grad, a.grad, 1e-5)


BINARY = [torch.add, torch.sub, torch.mul, torch.div, torch.maximum, torch.minimum, torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge]


@pytest.mark.parametrize("function", BINARY)
def test_binary_broadcasts(function):
    a = torch.randn(4, 1, 6).round(decimals=1) + 3
    for b in (torch.randn(4, 5, 6).round(decimals=1) + 3, torch.randn(6) + 3, torch.tensor(2.5), torch.randn(4, 1, 6).transpose(0, 2).transpose(0, 2) + 3):
        both(function, a, b)
    both(lambda a: function(a, 3), a) if function not in (torch.maximum, torch.minimum) else None


def test_promotion():
    i, f, h, t = torch.arange(1, 7).reshape(2, 3), torch.randn(2, 3), torch.randn(2, 3).half(), torch.randn(2, 3) > 0
    both(torch.add, i, f)
    both(torch.mul, h, f)
    both(torch.div, i, i)
    both(torch.mul, t, f)
    both(torch.add, t, i)
    both(torch.mul, t, t)
    both(torch.bitwise_and, t, ~t)
    both(lambda i: i + 1.5, i)
    both(lambda i: i > 2.5, i)
    both(lambda h: h * 2.5, h)
    both(torch.where, t, f, f * 2)


def test_in_place():
    x = torch.randn(4, 5)
    for change in (torch.Tensor.relu_, lambda x: x.add_(2), lambda x: x.mul_(x), lambda x: x[1:].sub_(1), lambda x: x.addcmul_(x, x, value=0.5), lambda x: x.lerp_(x * 2, 0.3)):
        a, b = x.clone(), x.to("rynd")
        change(a)
        change(b)
        close(b, a, 1e-6)


# --- reductions, products, rows ---

@pytest.mark.parametrize("function", [torch.sum, torch.mean, torch.amax, torch.amin])
def test_reductions(function):
    x = torch.randn(3, 4, 5)
    for tensor in (x, x.transpose(0, 1)):
        both(lambda x: function(x, dim=(0, 2)), tensor)
        both(lambda x: function(x, dim=-1, keepdim=True), tensor)
    both(lambda x: x.sum(), x)
    both(lambda x: x.argmax(1), x)
    both(lambda x: (x > 0).sum(), x)


def test_products():
    a, b, c = torch.randn(7, 5), torch.randn(5, 9), torch.randn(9)
    both(torch.mm, a, b)
    both(torch.mm, b.t(), a.t())
    both(lambda a, b, c: torch.addmm(c, a, b, beta=0.5, alpha=2), a, b, c)
    both(torch.bmm, torch.randn(3, 4, 5), torch.randn(3, 5, 6))
    both(F.linear, a, b.t().contiguous(), c)


@pytest.mark.parametrize("function", [F.softmax, F.log_softmax])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax(function, dim):
    x, dy = torch.randn(4, 5, 6), torch.randn(4, 5, 6)
    a, b = x.clone().requires_grad_(), x.to("rynd").requires_grad_()
    close(function(b, dim), function(a, dim), 1e-5)
    function(a, dim).backward(dy)
    function(b, dim).backward(dy.to("rynd"))
    close(b.grad, a.grad, 1e-5)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy(reduction, weighted):
    x, target, weight = torch.randn(6, 5), torch.tensor([0, 4, -100, 2, 2, 1]), torch.rand(5) if weighted else None
    a, b = x.clone().requires_grad_(), x.to("rynd").requires_grad_()
    y = F.cross_entropy(a, target, weight=weight, reduction=reduction)
    z = F.cross_entropy(b, target.to("rynd"), weight=weight.to("rynd") if weighted else None, reduction=reduction)
    close(z.detach(), y.detach(), 1e-5)
    y.sum().backward()
    z.sum().backward()
    close(b.grad, a.grad, 1e-5)


def test_concatenation():
    both(lambda a, b: torch.cat([a, b], 1), torch.randn(2, 3, 4), torch.randn(2, 5, 4))
    both(lambda a, b: torch.stack([a, b.transpose(0, 1)]), torch.randn(3, 4), torch.randn(4, 3))


# --- layers, forward and backward ---

LAYERS = {
    "conv": (nn.Conv2d(6, 8, 3, padding=1), (2, 6, 9, 11)),
    "conv stride": (nn.Conv2d(6, 8, 3, stride=2), (2, 6, 10, 12)),
    "conv dilated grouped": (nn.Conv2d(6, 9, (3, 2), dilation=2, groups=3, bias=False), (1, 6, 12, 9)),
    "depthwise": (nn.Conv2d(6, 6, 5, padding=2, groups=6), (2, 6, 9, 9)),
    "conv1d": (nn.Conv1d(4, 5, 3, padding=2), (3, 4, 17)),
    "conv3d": (nn.Conv3d(2, 3, 3, padding=1), (1, 2, 5, 6, 7)),
    "unbatched": (nn.Conv2d(6, 8, 3), (6, 9, 9)),
    "transposed": (nn.ConvTranspose2d(5, 4, 3, stride=2, padding=1, output_padding=1), (2, 5, 6, 7)),
    "transposed, output_padding of two strides": (nn.ConvTranspose2d(5, 4, 3, padding=1, output_padding=2, dilation=3), (2, 5, 6, 7)),
    "transposed, output_padding beyond the windows": (nn.ConvTranspose2d(4, 6, (1, 3), stride=(1, 2), output_padding=(2, 3), dilation=(3, 4), groups=2), (2, 4, 1, 7)),
    "transposed grouped": (nn.ConvTranspose2d(6, 4, 4, stride=2, groups=2), (1, 6, 5, 5)),
    "batch norm": (nn.BatchNorm2d(5), (4, 5, 6, 7)),
    "batch norm 1d": (nn.BatchNorm1d(5), (8, 5)),
    "batch norm plain": (nn.BatchNorm2d(5, affine=False, track_running_stats=False), (4, 5, 6, 7)),
    "max pool": (nn.MaxPool2d(3, 2, 1), (2, 3, 11, 12)),
    "max pool ceil": (nn.MaxPool2d(3, 2, ceil_mode=True), (2, 3, 10, 12)),
    "average pool": (nn.AvgPool2d(3, 2, 1), (2, 3, 11, 12)),
    "average pool inside": (nn.AvgPool2d(3, 2, 1, count_include_pad=False), (2, 3, 11, 12)),
    "average pool divisor": (nn.AvgPool2d(2, divisor_override=3), (2, 3, 8, 8)),
    "adaptive pool": (nn.AdaptiveAvgPool2d((3, 2)), (2, 3, 9, 8)),
    "adaptive pool uneven": (nn.AdaptiveAvgPool2d(5), (2, 3, 9, 8)),
    "adaptive pool of volumes": (nn.AdaptiveAvgPool3d((3, 2, 5)), (2, 3, 7, 9, 8)),
    "adaptive pool, unbatched": (nn.AdaptiveAvgPool3d(2), (3, 5, 4, 3)),
    "adaptive maximum": (nn.AdaptiveMaxPool2d((3, 5)), (2, 3, 9, 8)),
    "adaptive maximum of volumes": (nn.AdaptiveMaxPool3d((3, 2, 5)), (2, 3, 7, 9, 8)),
    "layer norm": (nn.LayerNorm((5, 7)), (4, 5, 7)),
    "layer norm plain": (nn.LayerNorm(7, elementwise_affine=False), (4, 5, 7)),
    "group norm": (nn.GroupNorm(2, 6), (3, 6, 5, 4)),
    "softmax of channels": (nn.Softmax(1), (2, 6, 5, 4)),
    "log-softmax": (nn.LogSoftmax(-1), (5, 7)),
    "global pool": (nn.AdaptiveAvgPool2d(1), (2, 3, 9, 8)),
    "linear": (nn.Linear(7, 9), (5, 7)),
    "linear of images": (nn.Linear(7, 9), (2, 3, 7)),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("training", [True, False])
def test_layers(name, training):
    layer, shape = LAYERS[name]
    a, b = copy.deepcopy(layer).train(training), copy.deepcopy(layer).to("rynd").train(training)
    for layout in (torch.contiguous_format, torch.channels_last) if len(shape) == 4 else (torch.contiguous_format,):
        x = torch.randn(shape).contiguous(memory_format=layout)
        u, v = x.clone().requires_grad_(), x.to("rynd").requires_grad_()
        y, z = a(u), b(v)
        close(z.detach(), y.detach())
        dy = torch.randn_like(y)
        y.backward(dy)
        z.backward(dy.to("rynd"))
        close(v.grad, u.grad)
        for p, q in zip(a.parameters(), b.parameters()):
            close(q.grad, p.grad)
        for p, q in zip(a.buffers(), b.buffers()):
            close(q, p)


def test_layers_run_no_loop_of_pytorch():
    """Forward and backward of layers whose gradients are problems of rynd."""
    layers = nn.Sequential(nn.LayerNorm((9, 8)), nn.GroupNorm(2, 4), nn.Dropout(0.2), nn.Softmax(1), nn.AdaptiveMaxPool2d((5, 7)), nn.AdaptiveAvgPool2d((3, 2)),
                           nn.Flatten(), nn.LogSoftmax(1)).to("rynd")
    x = torch.randn(2, 4, 9, 8).to("rynd").requires_grad_()
    before = rynd.torch.host_calls()
    layers(x).sum().backward()
    values, indices = F.max_pool2d(x, 3, 2, return_indices=True)
    values.sum().backward()
    places = F.adaptive_max_pool2d(x, (4, 3), return_indices=True)[1]
    assert rynd.torch.host_calls() == before and indices.device.type == "rynd"
    host = x.detach().cpu()
    assert torch.equal(indices.cpu(), F.max_pool2d(host, 3, 2, return_indices=True)[1])
    assert torch.equal(places.cpu(), F.adaptive_max_pool2d(host, (4, 3), return_indices=True)[1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("size", [3, (4, 3, 5)])
def test_adaptive_pools_of_each_dtype(dtype, size):
    x = torch.randn(2, 3, 7, 6, 8, dtype=torch.float64).to(dtype) if isinstance(size, tuple) else torch.randn(2, 3, 7, 8, dtype=torch.float64).to(dtype)
    for function in (F.adaptive_avg_pool3d, F.adaptive_max_pool3d) if x.dim() == 5 else (F.adaptive_avg_pool2d, F.adaptive_max_pool2d):
        u, v = x.clone().requires_grad_(), x.to("rynd").requires_grad_()
        y, z = function(u, size), function(v, size)
        tolerance = 2e-2 if dtype == torch.bfloat16 else 1e-5
        close(z.detach(), y.detach(), tolerance)
        y.sum().backward()
        z.sum().backward()
        close(v.grad, u.grad, tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_dropout_of_each_dtype(dtype):
    x = torch.rand(40, 50).add(1).to(dtype).to("rynd").t().requires_grad_()
    y = F.dropout(x, 0.25)
    kept = y.detach().cpu() != 0
    assert abs(kept.double().mean().item() - 0.75) < 0.05  # five deviations; the seed is fixed
    assert y.stride() == x.stride()
    torch.testing.assert_close(y.detach().cpu(), kept * x.detach().cpu() / 0.75, rtol=1e-2 if dtype == torch.bfloat16 else 1e-3, atol=1e-6)
    y.sum().backward()
    assert torch.equal(x.grad.cpu() != 0, kept)
    for p, share in ((0, 1), (1, 0)):
        assert F.dropout(x, p).count_nonzero().item() == share * x.numel()


def test_dropout_follows_the_seed():
    x = torch.ones(1000, device="rynd", requires_grad=True)
    torch.manual_seed(5)
    y = F.dropout(x, 0.25)
    torch.manual_seed(5)
    assert torch.equal(y.cpu(), F.dropout(x, 0.25).cpu()) and not torch.equal(y.cpu(), F.dropout(x, 0.25).cpu())
    assert y.cpu().unique().tolist() == [0, pytest.approx(1 / 0.75)]
    y.sum().backward()
    assert torch.equal(x.grad.cpu(), y.detach().cpu())


def test_weights_are_packed_while_nobody_writes():
    layer, x = nn.Conv2d(8, 8, 3).to("rynd").eval(), torch.randn(1, 8, 12, 12)
    host = copy.deepcopy(layer).cpu()
    with torch.no_grad():
        for change in (lambda p: None, lambda p: p.data.mul_(2), lambda p: p.copy_(torch.ones_like(p)), lambda p: p.data[0].zero_(), lambda p: p.normal_()):
            for _ in range(4):
                close(layer(x.to("rynd")), host(x))
            change(layer.weight)
            host.weight.copy_(layer.weight.cpu())
            close(layer(x.to("rynd")), host(x))


@pytest.mark.parametrize("optimizer", [lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=1e-3), lambda p: torch.optim.Adam(p, 0.01), lambda p: torch.optim.AdamW(p, 0.01),
                                       lambda p: torch.optim.SGD(p, 0.1, foreach=False), lambda p: torch.optim.RMSprop(p, 0.01)])
def test_training(optimizer):
    host = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 4))
    device = copy.deepcopy(host).to("rynd")
    x, target = torch.randn(16, 3, 8, 8), torch.randint(0, 4, (16,))
    losses = []
    for network, where in ((host, "cpu"), (device, "rynd")):
        steps = optimizer(network.parameters())
        for _ in range(10):
            loss = F.cross_entropy(network(x.to(where)), target.to(where))
            steps.zero_grad()
            loss.backward()
            steps.step()
        losses.append(loss.item())
    assert losses[1] == pytest.approx(losses[0], rel=1e-3) and losses[0] < 1.2


def test_without_strict_the_cpu_helps(monkeypatch):
    monkeypatch.setenv("RYND_TORCH_STRICT", "0")
    x = torch.rand(4, 4)
    with pytest.warns(UserWarning, match="no kernel for aten::special_bessel_j0.out: it runs on the CPU"):
        y = torch.special.bessel_j0(x.to("rynd"))
    close(y, torch.special.bessel_j0(x), 1e-6)
    into = torch.empty(0, device="rynd")
    torch.special.bessel_j0(x.to("rynd"), out=into)
    close(into, y.cpu(), 1e-6)


def test_strict_refuses(monkeypatch):
    with pytest.raises(NotImplementedError, match="no kernel for aten::"):
        torch.special.bessel_j0(torch.rand(4, device="rynd"))
