# SPDX-License-Identifier: Apache-2.0
"""Training beside PyTorch, from the same weights on the same batches: losses of 20 steps, gradients, parameters and running statistics."""
import io
import pathlib
import sys
import warnings

import numpy
import pytest
import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import rynd_ctypes as rynd  # noqa: E402  (found by the line above)

BATCH, CLASSES, STEPS = 8, 7, 20
OPTIMIZERS = {
    "sgd": (dict(optimizer="sgd"), lambda p: torch.optim.SGD(p, 0.1), 0.1),
    "momentum": (dict(optimizer="sgd", momentum=0.9, weight_decay=1e-3),
                 lambda p: torch.optim.SGD(p, 0.05, momentum=0.9, weight_decay=1e-3), 0.05),
    "nesterov": (dict(optimizer="sgd", momentum=0.9, nesterov=1), lambda p: torch.optim.SGD(p, 0.05, momentum=0.9, nesterov=True), 0.05),
    "adam": (dict(optimizer="adam", weight_decay=1e-3), lambda p: torch.optim.Adam(p, 1e-3, weight_decay=1e-3), 1e-3),
    "adamw": (dict(optimizer="adamw", weight_decay=0.1), lambda p: torch.optim.AdamW(p, 1e-3, weight_decay=0.1), 1e-3),
}


class Block(torch.nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = torch.nn.Conv2d(channels, channels, 3, padding=1, groups=2, bias=False)
        self.norm = torch.nn.BatchNorm2d(channels)

    def forward(self, x):
        return F.relu(x + self.norm(self.conv(x)))


class Network(torch.nn.Module):
    """Convolutions with strides and groups, batch normalisation, a residual, pools, a linear layer."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 12, 3, stride=2, padding=1, bias=False)
        self.norm = torch.nn.BatchNorm2d(12)
        self.block = Block(12)
        self.narrow = torch.nn.Conv2d(12, 10, 1)
        self.last = torch.nn.Linear(10, CLASSES)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.first(x))), 3, 2, 1)
        x = F.relu(self.narrow(self.block(x)))
        return self.last(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


def onnx_of(network, x):
    """As training wants it: in inference's form, batch normalisation and all."""
    file = io.BytesIO()
    mode = network.training
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(network.eval(), x, file, opset_version=13, input_names=["x"], output_names=["y"], do_constant_folding=False,
                          training=torch.onnx.TrainingMode.PRESERVE, dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}})
    network.train(mode)
    return file.getvalue()


def pair(seed=3, **options):
    """A network, and rynd's trainer of it."""
    torch.manual_seed(seed)
    network = Network()
    with torch.no_grad():
        network.norm.running_mean.normal_(0, 0.1)
    network.train()
    model = rynd.Model(rynd.Context(threads=2), onnx_of(network, torch.randn(2, 3, 21, 21)))
    return network, rynd.Trainer(model, batch=BATCH, **options)


def batches(count):
    rng = numpy.random.default_rng(11)
    for _ in range(count):
        labels = rng.integers(0, CLASSES, BATCH)
        x = rng.standard_normal((BATCH, 3, 21, 21)) + labels[:, None, None, None] / 4
        yield x.astype(numpy.float32), labels.astype(numpy.int64)


def close(got, wanted, bound):
    wanted = wanted.detach().numpy()
    assert got.shape == wanted.shape
    assert numpy.abs(got - wanted).max() <= bound * max(numpy.abs(wanted).max(), 1e-3)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_losses_of_steps(name):
    options, make, rate = OPTIMIZERS[name]
    network, trainer = pair(**options)
    optimizer = make(network.parameters())
    for x, labels in batches(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(network(torch.from_numpy(x)), torch.from_numpy(labels))
        loss.backward()
        optimizer.step()
        assert trainer.step([x], labels, rate) == pytest.approx(loss.item(), rel=1e-4, abs=1e-4)
    states = trainer.states()
    for key, value in network.state_dict().items():
        if key.endswith("num_batches_tracked"):
            continue
        assert numpy.abs(states[key] - value.numpy()).max() <= 2e-3 * max(1, numpy.abs(value.numpy()).max()), key
    network.eval()
    x, labels = next(batches(1))
    wanted = network(torch.from_numpy(x))
    loss = trainer.evaluate([x], labels)
    assert loss == pytest.approx(F.cross_entropy(wanted, torch.from_numpy(labels)).item(), rel=2e-3)
    close(trainer.output(), wanted, 5e-3)


def test_gradients():
    network, trainer = pair(keep_gradients=1)
    x, labels = next(batches(1))
    trainer.step([x], labels, 0.0)
    F.cross_entropy(network(torch.from_numpy(x)), torch.from_numpy(labels)).backward()
    for name, parameter in network.named_parameters():
        close(trainer.gradient(name), parameter.grad, 1e-4)


def test_clipping():
    network, trainer = pair(clip_norm=0.3)
    optimizer = torch.optim.SGD(network.parameters(), 0.5)
    for x, labels in batches(5):
        optimizer.zero_grad()
        loss = F.cross_entropy(network(torch.from_numpy(x)), torch.from_numpy(labels))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 0.3)
        optimizer.step()
        assert trainer.step([x], labels, 0.5) == pytest.approx(loss.item(), rel=1e-4)


def charbonnier(y, t):
    return torch.sqrt((y - t) ** 2 + 1e-6).mean()


LOSSES = {"mse": F.mse_loss, "l1": F.l1_loss, "charbonnier": charbonnier, "bce": F.binary_cross_entropy_with_logits}


@pytest.mark.parametrize("name", LOSSES)
def test_losses(name):
    network, trainer = pair(loss=name, keep_gradients=1)
    x, _ = next(batches(1))
    target = numpy.random.default_rng(5).random((BATCH, CLASSES), numpy.float32)
    loss = LOSSES[name](network(torch.from_numpy(x)), torch.from_numpy(target))
    loss.backward()
    assert trainer.step([x], target, 0.0) == pytest.approx(loss.item(), rel=1e-5)
    close(trainer.gradient("last.weight"), network.last.weight.grad, 1e-4)


def test_label_smoothing():
    network, trainer = pair(label_smoothing=0.15, keep_gradients=1)
    x, labels = next(batches(1))
    loss = F.cross_entropy(network(torch.from_numpy(x)), torch.from_numpy(labels), label_smoothing=0.15)
    loss.backward()
    assert trainer.step([x], labels, 0.0) == pytest.approx(loss.item(), rel=1e-5)
    close(trainer.gradient("last.bias"), network.last.bias.grad, 1e-4)


def test_frozen_layers():
    """A frozen batch normalisation keeps its statistics, and uses them."""
    network, trainer = pair(freeze=["first.*", "norm.*", "block.*"])
    network.eval()
    optimizer = torch.optim.SGD([*network.narrow.parameters(), *network.last.parameters()], 0.1)
    for x, labels in batches(5):
        optimizer.zero_grad()
        loss = F.cross_entropy(network(torch.from_numpy(x)), torch.from_numpy(labels))
        loss.backward()
        optimizer.step()
        assert trainer.step([x], labels, 0.1) == pytest.approx(loss.item(), rel=1e-4)
    assert set(trainer.states()) == {"train/step", "narrow.weight", "narrow.bias", "last.weight", "last.bias"}
