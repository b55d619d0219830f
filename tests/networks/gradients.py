# SPDX-License-Identifier: Apache-2.0
"""Compares the gradients of all parameters of torchvision's networks, for cross-entropy of a batch, with PyTorch's in float64:

    build/venv/bin/python tests/networks/gradients.py [--batch N] [--accuracy CLASS] [NETWORK[.fixed]...]
    build/venv/bin/python tests/networks/gradients.py --all
    build/venv/bin/python tests/networks/gradients.py --batch 16 --accuracy strict --all

Batch normalisations use the batch's statistics, or, with .fixed, the running ones (and then are not trained). The largest difference of each parameter
is at most 1e-4 of the largest element of its gradient, where PyTorch's own float32 is that near, else at most twice PyTorch's largest; half of the
parameters are within 1e-4 in any case. A gradient that is 0 but for rounding (of a shift that the next batch normalisation takes away) is small.

The more pictures, the more max-pools see values that are nearer to each other than rounding: eight times as many need a class that rounds less."""
import argparse
import copy
import statistics
import sys

import cases
import numpy

NETWORKS = """alexnet resnet18 resnet50 vgg16 densenet121 densenet161 googlenet squeezenet1_0 inception_v3 shufflenet_v2_x1_0 mobilenet_v2
              mobilenet_v3_large mobilenet_v3_small resnext50_32x4d wide_resnet50_2 mnasnet1_0 efficientnet_b0 efficientnet_b4
              regnet_y_400mf""".split()
# Residual sums, channels split and shuffled, depthwise windows and gates, channels joined; elementwise kinks.
QUICK = ["resnet18", "shufflenet_v2_x1_0", "mobilenet_v3_small", "squeezenet1_0", "resnet18.fixed"]
# Those whose max-pools see values nearer to each other than the default class rounds: they are compared in the class strict.
STRICT = ["googlenet", "inception_v3"]
CLASSES = 1000
NOISE = 2  # how often PyTorch's largest error in float32 rynd's may be, where that is above the tolerance
NOTHING = 1e-9  # relative to the network's largest gradient: rounding in float64
NEARLY_NOTHING = 1e-5  # the same in float32


def batch_of(shape):
    rng = numpy.random.default_rng(1)
    return rng.standard_normal(shape, numpy.float32), rng.integers(0, CLASSES, shape[0])


def by_torch(network, x, labels, dtype):
    """Gradients by name, as float64."""
    import torch
    from training_networks import loss_of

    network = copy.deepcopy(network).to(dtype)
    loss_of(network, torch.from_numpy(x).to(dtype), torch.from_numpy(labels)).backward()
    return {name: parameter.grad.double().numpy() for name, parameter in network.named_parameters() if parameter.grad is not None}


def by_rynd(file, names, frozen, x, labels, accuracy):
    import rynd_ctypes as rynd

    trainer = rynd.Trainer(rynd.Model(rynd.Context(threads=2), file), keep_gradients=1, freeze=frozen, accuracy=rynd.ACCURACIES[accuracy])
    slow = [step["name"] for step in trainer.steps() if step["kernel"].endswith("_ref")]
    assert not slow, f"references run {', '.join(slow)}"
    trainer.step([x], labels, 0.0)
    return {name: trainer.gradient(name).astype(numpy.float64) for name in names}


def compare(case):
    import torch
    from training_networks import network_of, onnx_of, shape_of

    case, batch, accuracy = case.split("@")
    name, _, variant = case.partition(".")
    x, labels = batch_of(shape_of(name, int(batch)))
    network = network_of(name, x, variant == "fixed")
    exact = by_torch(network, x, labels, torch.float64)
    direct = by_torch(network, x, labels, torch.float32)
    # The auxiliary classifiers of googlenet and inception_v3 are not in the file.
    frozen = [key for key, parameter in network.named_parameters() if not parameter.requires_grad and not key.lower().startswith("aux")]
    got = by_rynd(onnx_of(network, x), exact, frozen, x, labels, "strict" if name in STRICT else accuracy)
    largest = max(numpy.abs(gradient).max() for gradient in exact.values())
    nothing = {key for key, gradient in exact.items() if numpy.abs(gradient).max() <= NOTHING * largest}
    for key in nothing:
        assert numpy.abs(got[key]).max() <= NEARLY_NOTHING * largest, f"{key}: {numpy.abs(got[key]).max():.1e}, exactly 0; the largest is {largest:.1e}"
    ours, theirs = ({key: cases.relative_difference(of[key], exact[key]) for key in exact.keys() - nothing} for of in (got, direct))
    worst, median = max(ours, key=ours.get), statistics.median(ours.values())
    text = f"{ours[worst]:.1e} of the largest element ({worst}), half within {median:.1e}; PyTorch in float32 {max(theirs.values()):.1e}, " \
           f"{statistics.median(theirs.values()):.1e}; {len(ours)} parameters, {len(nothing)} without a gradient"
    assert ours[worst] <= max(cases.TOLERANCE, NOISE * max(theirs.values())) and median <= cases.TOLERANCE, text
    print(text)
    return 0


def main():
    if sys.argv[1:2] == ["--one"]:
        return compare(sys.argv[2])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--accuracy", default="default", help="class of accuracy")
    parser.add_argument("--all", action="store_true", help="every network, with a batch's statistics and with fixed ones")
    parser.add_argument("cases", nargs="*")
    arguments = parser.parse_args()
    every = NETWORKS + [f"{name}.fixed" for name in NETWORKS]
    wanted = arguments.cases or (every if arguments.all else QUICK)
    return cases.run_cases(__file__, [f"{case}@{arguments.batch}@{arguments.accuracy}" for case in wanted])


if __name__ == "__main__":
    sys.exit(main())
