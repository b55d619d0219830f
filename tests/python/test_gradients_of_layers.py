# SPDX-License-Identifier: Apache-2.0
"""Gradients of sampling and of recurrent layers, as a trainer computes them, compared with PyTorch's; the same bits at any number of threads."""
import numpy
import pytest
from conftest import save
from onnx import TensorProto, helper

import rynd

torch = pytest.importorskip("torch")
DRAW = numpy.random.default_rng(11)


def normal(*shape):
    return DRAW.standard_normal(shape).astype(numpy.float32)


def gradients(folder, nodes, weights, x, target, trained=None, opset=20, threads=2):
    """Gradients by name. The loss is the mean square error of y, the sum of the nodes' output `r` and the input x."""
    shape = list(x.shape)
    trained = trained or [name for name, array in weights.items() if array.dtype == numpy.float32]
    model = save(folder / "layer.onnx", [*nodes, helper.make_node("Add", ["r", "x"], ["y"])], [("x", TensorProto.FLOAT, shape)], [("y", TensorProto.FLOAT, shape)],
                 list(weights.items()), opset=opset)
    trainer = rynd.Trainer(rynd.load(model, threads=threads), loss="mse", keep_gradients=True, batch=shape[0])
    trainer.step(x, target, 0.0)
    return {name: numpy.array(trainer.gradient(name)) for name in trained}


def check(folder, nodes, weights, layer, trained=None, tolerance=1e-4, **options):
    """layer: the same in PyTorch, of tensors by the names of the weights."""
    tensors = {name: torch.tensor(array, requires_grad=array.dtype == numpy.float32) for name, array in weights.items()}
    r = layer(**tensors)
    x, target = normal(*r.shape), normal(*r.shape)
    torch.nn.functional.mse_loss(r + torch.tensor(x), torch.tensor(target)).backward()
    found = gradients(folder, nodes, weights, x, target, trained, **options)
    for name in found:
        want = tensors[name].grad.numpy()
        numpy.testing.assert_allclose(found[name], want, rtol=tolerance, atol=tolerance * numpy.abs(want).max(), err_msg=name)
    alone = gradients(folder, nodes, weights, x, target, trained, threads=1, **options)
    assert all((alone[name] == found[name]).all() for name in found)


@pytest.mark.parametrize("mode", ["linear", "cubic", "nearest"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("aligned", [0, 1])
def test_grid_sample(folder, mode, padding, aligned):
    weights = {"image": normal(2, 5, 7, 9), "grid": (normal(2, 6, 8, 2) * 0.8).astype(numpy.float32)}
    named = {"linear": "bilinear", "cubic": "bicubic", "nearest": "nearest"}[mode]
    check(folder, [helper.make_node("GridSample", ["image", "grid"], ["r"], mode=mode, padding_mode=padding, align_corners=aligned)], weights,
          lambda image, grid: torch.nn.functional.grid_sample(image, grid, named, padding, bool(aligned)), trained=["image"] if mode == "nearest" else None)


def test_spatial_transformer(folder):
    weights = {"image": normal(2, 3, 8, 8), "theta": normal(2, 2, 3), "size": numpy.array([2, 3, 6, 5])}
    nodes = [helper.make_node("AffineGrid", ["theta", "size"], ["grid"]), helper.make_node("GridSample", ["image", "grid"], ["r"])]
    check(folder, nodes, weights, lambda image, theta, size: torch.nn.functional.grid_sample(
        image, torch.nn.functional.affine_grid(theta, [2, 3, 6, 5], align_corners=False), align_corners=False))


def deformed(image, w, offset, mask):
    """Each tap by grid_sample, of stride 1 and pads of 1."""
    n, c, height, width = image.shape
    ys, xs = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    total = 0
    for tap in range(9):
        y, x = ys + tap // 3 - 1 + offset[:, 2 * tap], xs + tap % 3 - 1 + offset[:, 2 * tap + 1]
        grid = torch.stack([2 * x / (width - 1) - 1, 2 * y / (height - 1) - 1], -1)
        sampled = torch.nn.functional.grid_sample(image, grid, padding_mode="zeros", align_corners=True) * mask[:, tap : tap + 1]
        total = total + torch.einsum("nchw,kc->nkhw", sampled, w[:, :, tap // 3, tap % 3])
    return total


def test_deform_conv(folder):
    weights = {"image": normal(2, 4, 6, 7), "w": normal(5, 4, 3, 3), "offset": normal(2, 18, 6, 7), "mask": normal(2, 9, 6, 7)}
    check(folder, [helper.make_node("DeformConv", ["image", "w", "offset", "", "mask"], ["r"], pads=[1, 1, 1, 1])], weights, deformed)


def test_col2im(folder):
    weights = {"columns": normal(2, 3 * 6, 20), "image": numpy.array([6, 7]), "block": numpy.array([3, 2])}
    check(folder, [helper.make_node("Col2Im", ["columns", "image", "block"], ["r"], pads=[1, 0, 1, 0], strides=[2, 1], dilations=[1, 2])],
          {**weights, "columns": normal(2, 3 * 6, 3 * 5)},
          lambda columns, image, block: torch.nn.functional.fold(torch.nn.functional.pad(columns, (0, 0)), (6, 7), (3, 2), (1, 2), (1, 0), (2, 1)))


def test_resize(folder):
    weights = {"image": normal(2, 3, 7, 6), "sizes": numpy.array([2, 3, 12, 13])}
    for mode, named in (("linear", "bilinear"), ("cubic", "bicubic")):
        check(folder, [helper.make_node("Resize", ["image", "", "", "sizes"], ["r"], mode=mode)], weights,
              lambda image, sizes: torch.nn.functional.interpolate(image, (12, 13), mode=named, align_corners=False), tolerance=1e-3)


# PyTorch's gates in ONNX's order.
ORDER = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN": (0,)}


@pytest.mark.parametrize("op", ORDER)
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_recurrent(folder, op, direction):
    time, batch, size, hidden, directions = 6, 3, 4, 5, 2 if direction == "bidirectional" else 1
    layer = getattr(torch.nn, op)(size, hidden, bidirectional=directions == 2)
    blocks = len(ORDER[op])

    def ordered(tensor):
        return torch.cat([tensor.reshape(blocks, hidden, *tensor.shape[1:])[i] for i in ORDER[op]])

    def stacked(kind, get):
        return numpy.stack([ordered(get(getattr(layer, f"{kind}_l0{suffix}"))).detach().numpy() for suffix in ("", "_reverse")[:directions]])

    def tensors(get):
        bias = numpy.concatenate([stacked("bias_ih", get), stacked("bias_hh", get)], 1)
        return {"w": stacked("weight_ih", get), "h": stacked("weight_hh", get), "bias": bias}

    weights = {"sequence": normal(time, batch, size), **tensors(lambda parameter: parameter)}
    more = {"linear_before_reset": 1} if op == "GRU" else {}
    nodes = [helper.make_node(op, ["sequence", "w", "h", "bias"], ["r"], hidden_size=hidden, direction=direction, **more)]
    sequence = torch.tensor(weights["sequence"], requires_grad=True)
    y = layer(sequence)[0].reshape(time, batch, directions, hidden).permute(0, 2, 1, 3)
    x, target = normal(*y.shape), normal(*y.shape)
    torch.nn.functional.mse_loss(y + torch.tensor(x), torch.tensor(target)).backward()
    found = gradients(folder, nodes, weights, x, target)
    for name, want in {"sequence": sequence.grad.numpy(), **tensors(lambda parameter: parameter.grad)}.items():
        numpy.testing.assert_allclose(found[name], want, rtol=1e-4, atol=1e-4 * numpy.abs(want).max(), err_msg=name)
    alone = gradients(folder, nodes, weights, x, target, threads=1)
    assert all((alone[name] == found[name]).all() for name in found)


def test_what_has_no_gradient(folder):
    weights = {"image": normal(1, 2, 6, 6), "rois": numpy.array([[0, 0, 4, 4]], numpy.float32), "batches": numpy.array([0])}
    for attributes in ({"mode": "max", "sampling_ratio": 2}, {"sampling_ratio": 0}):
        with pytest.raises(rynd.Error, match="only averages with a sampling_ratio of 1 to 8"):
            gradients(folder, [helper.make_node("RoiAlign", ["image", "rois", "batches"], ["r"], output_height=2, output_width=2, **attributes)], weights,
                      normal(1, 2, 2, 2), normal(1, 2, 2, 2))
