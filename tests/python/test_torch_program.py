# SPDX-License-Identifier: Apache-2.0
"""Everything round the operators that a program for PyTorch uses, on the device "rynd": streams, autocast, optimizers, checkpoints, memory."""

import copy
import gc
import time

import pytest

from torch_strict import F, nn, rynd, seed, torch  # noqa: F401


def close(got, expected, tolerance=1e-5):
    assert got.shape == expected.shape and got.dtype == expected.dtype
    largest = max(expected.double().abs().max().item(), 1e-6)
    assert (got.detach().cpu().double() - expected.detach().double()).abs().max().item() <= tolerance * largest


def small():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU6(inplace=True), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 4))


# --- streams and events ---

def test_streams_and_events():
    side = torch.rynd.Stream()
    default = torch.rynd.current_stream()
    assert default == torch.rynd.default_stream() and side != default and side.query()
    with torch.rynd.stream(side):
        assert torch.rynd.current_stream() == side
        first, second = torch.rynd.Event(enable_timing=True), torch.rynd.Event(enable_timing=True)
        first.record()
        time.sleep(0.02)
        x = torch.ones(100, device="rynd") * 2
        second.record()
    assert torch.rynd.current_stream() == default
    default.wait_stream(side)
    second.synchronize()
    default.wait_event(second)
    assert second.query() and 20 <= first.elapsed_time(second) < 20000 and x.sum().item() == 200
    side.synchronize()
    torch.rynd.synchronize()


def test_pinned_memory():
    x = torch.randn(10, 10)
    pinned = x.pin_memory()
    assert pinned.is_pinned() and pinned[3:].is_pinned() and not x.is_pinned()
    assert torch.equal(pinned.to("rynd", non_blocking=True).cpu(), x)
    data = torch.utils.data.TensorDataset(torch.arange(8.0), torch.arange(8))
    for a, b in torch.utils.data.DataLoader(data, batch_size=4, pin_memory=True):
        assert a.is_pinned() and torch.equal(a.to("rynd").cpu(), b.float())


# --- autocast ---

@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast(dtype):
    host, x, target = small(), torch.randn(8, 3, 8, 8), torch.randint(0, 4, (8,))
    device = copy.deepcopy(host).to("rynd")
    with torch.amp.autocast("rynd", dtype=dtype):
        y = device(x.to("rynd"))
        assert y.dtype == dtype and F.softmax(y, 1).dtype == torch.float32
        loss = F.cross_entropy(y, target.to("rynd"))
    assert loss.dtype == torch.float32
    loss.backward()
    expected = F.cross_entropy(host(x), target)
    expected.backward()
    assert loss.item() == pytest.approx(expected.item(), rel=0.03)
    for p, q in zip(host.parameters(), device.parameters()):
        close(q.grad, p.grad, 0.15)
    with torch.amp.autocast("rynd", enabled=False):
        assert device(x.to("rynd")).dtype == torch.float32


def test_gradient_scaler():
    scaler, p = torch.amp.GradScaler("rynd", init_scale=4.0), nn.Parameter(torch.ones(3, device="rynd"))
    optimizer = torch.optim.SGD([p], 0.5)
    scaler.scale((p * 2).sum()).backward()
    assert p.grad.tolist() == [8, 8, 8]
    scaler.step(optimizer)
    scaler.update()
    assert p.tolist() == [0, 0, 0]
    p.grad.fill_(float("inf"))
    scaler.step(optimizer)
    scaler.update()
    assert p.tolist() == [0, 0, 0] and scaler.get_scale() == 2.0


# --- optimizers ---

OPTIMIZERS = {"SGD": lambda p, **o: torch.optim.SGD(p, 0.05, momentum=0.9, weight_decay=1e-3, nesterov=True, **o), "Adam": lambda p, **o: torch.optim.Adam(p, 0.01, amsgrad=True, **o),
              "AdamW": lambda p, **o: torch.optim.AdamW(p, 0.01, **o)}


@pytest.mark.parametrize("options", [{}, {"fused": True}, {"foreach": True}, {"foreach": False}], ids=str)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name, options):
    host = small()
    device = copy.deepcopy(host).to("rynd")
    first, second = OPTIMIZERS[name](host.parameters()), OPTIMIZERS[name](device.parameters(), **options)
    for _ in range(4):
        for p, q in zip(host.parameters(), device.parameters()):
            p.grad = torch.randn_like(p)
            q.grad = p.grad.to("rynd")
        nn.utils.clip_grad_norm_(host.parameters(), 3.0)
        nn.utils.clip_grad_norm_(device.parameters(), 3.0)
        first.step()
        second.step()
    for p, q in zip(host.parameters(), device.parameters()):
        close(q, p)
    second.load_state_dict(copy.deepcopy(second.state_dict()))


# --- programs ---

def test_checkpointing():
    network, x = small().to("rynd"), torch.randn(4, 3, 8, 8, device="rynd")
    network.insert(4, nn.Dropout(0.5))
    slopes = []
    for again in (False, True):
        torch.manual_seed(3)
        copied = copy.deepcopy(network)
        y = torch.utils.checkpoint.checkpoint(copied, x, use_reentrant=False) if again else copied(x)
        y.sum().backward()
        slopes.append([p.grad.cpu() for p in copied.parameters()])
    for a, b in zip(*slopes):
        close(b, a)


def test_generator_has_a_state():
    state = torch.rynd.get_rng_state()
    x = torch.randn(5, device="rynd")
    torch.rynd.set_rng_state(state)
    assert torch.equal(torch.randn(5, device="rynd").cpu(), x.cpu())
    torch.rynd.manual_seed(7)
    y = torch.rand(5, device="rynd")
    torch.rynd.manual_seed(7)
    assert torch.equal(torch.rand(5, device="rynd").cpu(), y.cpu())
    with torch.random.fork_rng(device_type="rynd"):
        torch.rand(1, device="rynd")


def test_second_derivative_of_a_pool():
    x = torch.randn(1, 2, 6, 6, dtype=torch.float64)
    slopes = []
    for where in ("cpu", "rynd"):
        z = x.to(where).requires_grad_()
        first, = torch.autograd.grad(F.max_pool2d(z, 2).pow(3).sum(), z, create_graph=True)
        slopes.append(torch.autograd.grad(first.pow(2).sum(), z)[0])
    close(slopes[1], slopes[0], 1e-9)


def test_relu6_in_place():
    x = torch.randn(4, 50) * 6
    a, b = x.clone().requires_grad_(), x.to("rynd").requires_grad_()
    (F.relu6(a * 1, inplace=True) ** 2).sum().backward()
    (F.relu6(b * 1, inplace=True) ** 2).sum().backward()
    close(b.grad, a.grad)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        F.relu6(b, inplace=True)


def test_conjugated_and_negated_views():
    x = torch.randn(4, 3, dtype=torch.complex64)
    y = x.to("rynd")
    assert torch.equal(y.conj().cpu(), x.conj()) and torch.equal(y.conj().clone().cpu(), x.conj())
    assert torch.equal(y.conj().imag.cpu(), x.conj().imag) and torch.equal(y.conj().imag.contiguous().cpu(), x.conj().imag)
    assert torch.equal(torch.relu(y.conj().imag).cpu(), torch.relu(x.conj().imag))


def test_dlpack_and_profiler():
    x = torch.arange(6.0, device="rynd").reshape(2, 3)
    y = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x))
    assert y.device == x.device and y.data_ptr() == x.data_ptr() and torch.equal(y.cpu(), x.cpu())
    with torch.profiler.profile() as profile:
        torch.relu(x)
    assert any(event.key == "aten::relu" for event in profile.key_averages())
    assert "device='rynd:0'" in repr(torch.randn(2000, device="rynd")) and "nan" in repr(torch.tensor([float("nan"), 1.0], device="rynd"))


def test_attention():
    q, k, v = (torch.randn(2, 4, 9, 8) for _ in range(3))
    mask = torch.ones(9, 9, dtype=torch.bool).tril()
    for options in ({}, {"is_causal": True}, {"attn_mask": mask}):
        a, b = [x.clone().requires_grad_() for x in (q, k, v)], [x.to("rynd").requires_grad_() for x in (q, k, v)]
        y = F.scaled_dot_product_attention(*a, **options)
        z = F.scaled_dot_product_attention(*b, **{name: value.to("rynd") if isinstance(value, torch.Tensor) else value for name, value in options.items()})
        close(z, y)
        y.pow(2).sum().backward()
        z.pow(2).sum().backward()
        for s, t in zip(a, b):
            close(t.grad, s.grad)
    for host, shape in ((nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), (5, 3, 8)), (nn.Sequential(nn.Embedding(10, 6), nn.LayerNorm(6)), None)):
        device = copy.deepcopy(host).to("rynd")
        x = torch.randn(shape) if shape else torch.randint(0, 10, (4, 5))
        y, z = host(x), device(x.to("rynd"))
        close(z, y, 1e-4)
        dy = torch.randn_like(y)
        y.backward(dy)
        z.backward(dy.to("rynd"))
        for p, q in zip(host.parameters(), device.parameters()):
            close(q.grad, p.grad, 1e-4)


def test_memory_stays_the_same_and_goes():
    gc.collect()
    before = torch.rynd.memory_allocated()
    network, x, target = small().to("rynd"), torch.randn(8, 3, 8, 8, device="rynd"), torch.randint(0, 4, (8,)).to("rynd")
    optimizer = torch.optim.SGD(network.parameters(), 0.01, momentum=0.9)
    figures = []
    for step in range(300):
        loss = F.cross_entropy(network(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step in (99, 299):
            figures.append((torch.rynd.memory_allocated(), torch.rynd.memory_reserved(), torch.rynd.operators()[:2]))
    assert figures[0] == figures[1] and torch.rynd.memory_stats()["allocated_bytes.all.current"] == figures[1][0]
    del network, x, target, optimizer, loss
    gc.collect()
    assert torch.rynd.memory_allocated() == before


def _rank(rank, store, results):
    torch.distributed.init_process_group("rynd", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.manual_seed(rank)
    network = nn.parallel.DistributedDataParallel(small().to("rynd"))
    torch.manual_seed(10 + rank)
    F.cross_entropy(network(torch.randn(4, 3, 8, 8, device="rynd")), torch.tensor([0, 1, 2, 3]).to("rynd")).backward()
    total = torch.ones(3, device="rynd") * (rank + 1)
    torch.distributed.all_reduce(total)
    torch.save([total.cpu()] + [p.grad.cpu() for p in network.parameters()], results + str(rank))
    del network  # its reducer, and the other rank's last exchange, end before the group does
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def test_data_parallel(tmp_path):
    torch.multiprocessing.spawn(_rank, (str(tmp_path / "store"), str(tmp_path / "rank")), nprocs=2)
    first, second = (torch.load(tmp_path / f"rank{rank}") for rank in (0, 1))
    assert first[0].tolist() == [3, 3, 3]
    for a, b in zip(first, second):
        assert torch.equal(a, b) and a.abs().sum() > 0
