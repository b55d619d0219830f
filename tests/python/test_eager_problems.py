# SPDX-License-Identifier: Apache-2.0
"""Problems that eager frameworks need, beside PyTorch: gradients of softmax and normalisations, adaptive pools and their indices."""

import numpy
import pytest

import rynd

torch = pytest.importorskip("torch")
F = torch.nn.functional
DEVICES = [device for device in rynd.devices() if not device.startswith("cuda")]


def text(kind, arrays):
    return " ".join(f"{kind}{i}={'x'.join(map(str, array.shape)) or 'scalar'}:{rynd._rynd.describe(array)[0]}"
                    for i, array in enumerate(arrays) if array is not None)


def run(op, inputs, outputs, attributes="", device=None):
    """Runs a problem; outputs: the wanted tensors, None for one that is not wanted."""
    outputs = [None if output is None else output.detach() for output in outputs]
    problem = f"{op} {text('x', inputs)} {text('y', outputs)} {attributes}"
    results = rynd.Op(problem, device=device).run(*[array for array in inputs if array is not None])
    results = results if isinstance(results, tuple) else (results,)
    return [None if output is None else torch.from_numpy(result.numpy()) for result, output in zip(results, outputs)]


def close(got, wanted, tolerance=2e-6):
    scale = wanted.abs().max().clamp_min(1e-30)
    assert got.shape == wanted.shape and float((got - wanted).abs().max() / scale) <= tolerance


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape, axis", [((5, 37), 1), ((3, 19, 4), 1), ((3, 4), 0), ((7, 1), 1), ((2, 3, 400), 2)])
@pytest.mark.parametrize("kind", ["softmax", "log_softmax"])
def test_softmax(device, shape, axis, kind):
    torch.manual_seed(1)
    x, dy = torch.randn(shape, requires_grad=True), torch.randn(shape)
    y = getattr(F, kind)(x, axis)
    y.backward(dy)
    got, = run("softmax_grad", [dy, y.detach()], [x.grad], f"axis={axis} kind={kind}", device)
    close(got, x.grad)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape, rank", [((3, 5, 33), 1), ((3, 5, 7), 2), ((4, 1, 9), 1), ((2, 300), 1)])
@pytest.mark.parametrize("scaled", [True, False])
def test_layer_norm(device, shape, rank, scaled):
    torch.manual_seed(2)
    x, dy = torch.randn(shape, requires_grad=True), torch.randn(shape)
    inner = shape[len(shape) - rank:]
    w, b = (torch.randn(inner, requires_grad=True) for _ in range(2))
    _, mean, inverse = torch.native_layer_norm(x, inner, w if scaled else None, b, 1e-5)
    F.layer_norm(x, inner, w if scaled else None, b).backward(dy)
    dw = w.grad if scaled else None
    results = run("layer_norm_grad", [dy, x.detach(), w.detach() if scaled else None, mean.detach(), inverse.detach()], [x.grad, dw, b.grad],
                  f"axis={len(shape) - rank}", device)
    for got, wanted in zip(results, [x.grad, dw, b.grad]):
        if wanted is not None:
            close(got, wanted)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape, groups", [((2, 12, 5, 7), 3), ((2, 5, 9, 8), 5), ((3, 8), 2), ((1, 6, 2, 3, 4), 1)])
def test_group_norm(device, shape, groups):
    torch.manual_seed(3)
    x, dy = torch.randn(shape, requires_grad=True), torch.randn(shape)
    w, b = (torch.randn(shape[1], requires_grad=True) for _ in range(2))
    positions = int(numpy.prod(shape[2:], dtype=int))
    _, mean, inverse = torch.native_group_norm(x, w, b, shape[0], shape[1], positions, groups, 1e-5)
    F.group_norm(x, groups, w, b).backward(dy)
    results = run("group_norm_grad", [dy, x.detach(), w.detach(), mean.detach(), inverse.detach()], [x.grad, w.grad, b.grad], f"groups={groups}",
                  device)
    for got, wanted in zip(results, [x.grad, w.grad, b.grad]):
        close(got, wanted, 1e-5)


POOLS = [((2, 3, 7, 5), (5, 3)), ((2, 3, 2, 3), (5, 7)), ((1, 2, 9, 9), (1, 1)), ((2, 3, 11), (4,)), ((1, 2, 5, 6, 7), (3, 2, 4)), ((1, 2, 6, 6), (3, 2)),
         ((1, 2, 5, 11), (4, 9)), ((1, 1, 13, 3), (8, 3))]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape, output", POOLS)
def test_adaptive_average(device, shape, output):
    torch.manual_seed(4)
    x = torch.randn(shape, requires_grad=True)
    y = getattr(F, f"adaptive_avg_pool{len(output)}d")(x, output)
    dy = torch.randn(y.shape)
    y.backward(dy)
    got, = run("pool", [x.detach()], [y], f"kind=average output={','.join(map(str, output))}", device)
    close(got, y.detach())
    dx, = run("pool_grad", [dy], [x.grad], f"kind=average adaptive=1 image={','.join(map(str, shape[2:]))}", device)
    close(dx, x.grad)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape, output", POOLS)
def test_adaptive_maximum(device, shape, output):
    torch.manual_seed(5)
    x = torch.randint(-9, 9, shape).float().requires_grad_()  # with equal ones
    y, indices = getattr(F, f"adaptive_max_pool{len(output)}d")(x, output, return_indices=True)
    dy = torch.randn(y.shape)
    y.backward(dy)
    got, where = run("pool", [x.detach()], [y, indices], f"plane_indices=1 output={','.join(map(str, output))}", device)
    assert (got == y).all() and (where == indices).all()
    dx, = run("pool_grad", [dy, x.detach()], [x.grad], f"adaptive=1 image={','.join(map(str, shape[2:]))}", device)
    close(dx, x.grad)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape, kernel, stride, padding", [((2, 3, 9, 8), 3, 2, 1), ((1, 2, 7), 2, 2, 0), ((1, 2, 5, 6, 7), 3, 2, 1)])
def test_indices_of_a_plane(device, shape, kernel, stride, padding):
    torch.manual_seed(6)
    x, rank = torch.randint(-5, 5, shape).float(), len(shape) - 2
    y, indices = getattr(F, f"max_pool{rank}d")(x, kernel, stride, padding, return_indices=True)
    each = {name: ",".join([str(value)] * rank) for name, value in (("kernel", kernel), ("stride", stride))}
    pads = ",".join([str(padding)] * 2 * rank)
    got, where = run("pool", [x], [y, indices], f"plane_indices=1 kernel={each['kernel']} stride={each['stride']} pads={pads}", device)
    assert (got == y).all() and (where == indices).all()
    _, whole = run("pool", [x], [y, indices], f"kernel={each['kernel']} stride={each['stride']} pads={pads}", device)
    assert (whole % int(numpy.prod(shape[2:])) == indices).all()


@pytest.mark.parametrize("device", DEVICES)
def test_fills_are_the_numbers_of_a_seed(device):
    op = rynd.Op("random x0=scalar:u64 x1=scalar:u64 y0=1000:f32 kind=normal stream=2", device=device)
    seed, offset = numpy.uint64(7), numpy.uint64(3)
    assert op.run(seed, offset).tolist() == rynd.random.normal(1000, seed=7, stream=2, first=12).tolist()


@pytest.mark.parametrize("device", DEVICES)
def test_a_dropout_and_its_gradient(device):
    x = torch.randn(33, 7)
    op = rynd.Op("dropout x0=33x7:f32 x2=scalar:u64 x3=scalar:u64 y0=33x7:f32 y1=33x7:bool ratio=0.25", device=device)
    y, mask = (torch.from_numpy(result.numpy()) for result in op.run(x, numpy.uint64(1), numpy.uint64(0)))
    kept = torch.tensor(rynd.random.uniform(231, seed=1).tolist()).view(33, 7) >= 0.25
    assert (mask == kept).all()
    close(y, x * kept / 0.75)
    wide = rynd.Op("dropout x0=33x7:f64 x2=scalar:u64 x3=scalar:u64 y0=33x7:f64 y1=33x7:bool ratio=0.25", device=device)
    for seed, offset in ((1, 0), (1, 7), (5, 0)):
        y, mask = (torch.from_numpy(result.numpy()) for result in wide.run(x.double(), numpy.uint64(seed), numpy.uint64(offset)))
        kept = torch.tensor(rynd.random.uniform(231, seed=seed, first=4 * offset).tolist()).view(33, 7) >= 0.25
        assert (mask == kept).all()
        close(y, x.double() * kept / 0.75)
