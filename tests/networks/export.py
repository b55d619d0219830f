# SPDX-License-Identifier: Apache-2.0
"""Exports torchvision's networks as ONNX files, with PyTorch's outputs beside them, into a folder: export.py FOLDER CASE...

A case is a network's name, or NAME.unfused (BatchNormalization left in the file: the exporter folds it otherwise) or NAME.fixed (batch 1 in the
file; otherwise the batch is a symbol). Weights are random by a fixed seed, BatchNormalization's statistics and scales are drawn as well, so that
nothing is an identity. Each case gives CASE.onnx and CASE.npz (x, and y1 and y3: the outputs for the first one and for all three rows of x)."""
import fcntl
import pathlib
import sys
import warnings

import numpy
import torch
import torchvision

SIZES = {"inception_v3": 299, "efficientnet_b4": 380}
BATCH = 3


def make_network(name):
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = getattr(torchvision.models, name)(weights=None).eval()
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
            module.weight.data.uniform_(0.8, 1.2)
            module.bias.data.normal_(0, 0.1)
    return network


def export(case, folder):
    name, _, variant = case.partition(".")
    network = make_network(name)
    size = SIZES.get(name, 224)
    x = torch.randn(BATCH, 3, size, size)
    options = {"opset_version": 13, "input_names": ["x"], "output_names": ["y"]}
    if variant != "fixed":
        options["dynamic_axes"] = {"x": {0: "batch"}, "y": {0: "batch"}}
    if variant == "unfused":
        options |= {"training": torch.onnx.TrainingMode.PRESERVE, "do_constant_folding": False}
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(network, x[:1], str(folder / f"{case}.onnx"), **options)
        numpy.savez(folder / f"{case}.part.npz", x=x.numpy(), y1=network(x[:1]).numpy(), y3=network(x).numpy())
    # The last step, so that an interrupted export is repeated.
    (folder / f"{case}.part.npz").rename(folder / f"{case}.npz")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for case in sys.argv[2:]:
        with open(folder / f"{case}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # tests of several devices run in parallel and share the folder
            if not (folder / f"{case}.npz").exists():
                export(case, folder)


if __name__ == "__main__":
    main()
