# SPDX-License-Identifier: Apache-2.0
"""Compares the losses of the first 20 steps of `rynd train` with PyTorch's, from the same weights on the same batches:

    build/venv/bin/python tests/networks/losses.py [NETWORK.OPTIMIZER...]
    build/venv/bin/python tests/networks/losses.py --all

They differ by at most 1e-4 from PyTorch's in float64, or by twice of what PyTorch's float32 does."""
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import cases
import numpy

NETWORKS = "alexnet resnet18 resnet50 vgg16 mobilenet_v2".split()
RATES = {"sgd": 1e-3, "adam": 1e-4}
QUICK = ["resnet18.adam"]
STEPS, BATCH, BATCHES, CLASSES = 20, 4, 5, 1000
NOISE = 2  # as in gradients.py
MOMENTUM = 0.9
RYND = os.environ.get("RYND", cases.ROOT / "build/release/bin/rynd")


def samples(shape):
    rng = numpy.random.default_rng(2)
    return rng.standard_normal((BATCH * BATCHES, *shape[1:]), numpy.float32), rng.integers(0, CLASSES, BATCH * BATCHES)


def by_torch(network, optimizer, x, labels, dtype):
    import torch
    from training_networks import loss_of

    network = copy.deepcopy(network).to(dtype)
    rate = RATES[optimizer]
    stepper = torch.optim.SGD(network.parameters(), rate, MOMENTUM) if optimizer == "sgd" else torch.optim.Adam(network.parameters(), rate)
    losses = []
    for step in range(STEPS):
        rows = slice(step % BATCHES * BATCH, (step % BATCHES + 1) * BATCH)
        stepper.zero_grad()
        loss = loss_of(network, torch.from_numpy(x[rows]).to(dtype), torch.from_numpy(labels[rows]))
        loss.backward()
        stepper.step()
        losses.append(loss.item())
    return numpy.array(losses)


def by_rynd(file, optimizer, x, labels):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "net.onnx").write_bytes(file)
        numpy.savez(folder / "data.npz", x=x, y=labels)
        command = [RYND, "train", folder / "net.onnx", "--data", folder / "data.npz", "--batch", BATCH, "--steps", STEPS, "--no-shuffle", "--optimizer", optimizer,
                   "--lr", RATES[optimizer], "--threads", 2, "--log", folder / "log.jsonl"]
        command += ["--momentum", MOMENTUM] if optimizer == "sgd" else []
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        rows = map(json.loads, (folder / "log.jsonl").read_text().splitlines())
        return numpy.array([row["loss"] for row in rows if row["row"] == "step"])


def largest_difference(losses, exact):
    assert losses.shape == exact.shape, f"{len(losses)} steps, expected {len(exact)}"
    return float(numpy.max(numpy.abs(losses - exact) / exact))


def compare(case):
    import torch
    from training_networks import network_of, onnx_of, shape_of

    name, _, optimizer = case.partition(".")
    shape = shape_of(name, BATCH)
    x, labels = samples(shape)
    network = network_of(name, x[:BATCH])
    got = by_rynd(onnx_of(network, x[:BATCH]), optimizer, x, labels)
    exact = by_torch(network, optimizer, x, labels, torch.float64)
    direct = by_torch(network, optimizer, x, labels, torch.float32)
    ours, theirs = largest_difference(got, exact), largest_difference(direct, exact)
    text = f"{ours:.1e} of the loss, PyTorch in float32 {theirs:.1e}; it goes from {exact[0]:.3f} to {exact[-1]:.3f}"
    assert ours <= max(cases.TOLERANCE, NOISE * theirs), text
    print(text)
    return 0


def main():
    if sys.argv[1:2] == ["--one"]:
        return compare(sys.argv[2])
    chosen = sys.argv[1:] or QUICK
    return cases.run_cases(__file__, [f"{name}.{optimizer}" for name in NETWORKS for optimizer in RATES] if chosen == ["--all"] else chosen)


if __name__ == "__main__":
    sys.exit(main())
