# SPDX-License-Identifier: Apache-2.0
"""Trains torchvision's networks on a device beside the CPU:

    build/venv/bin/python tests/networks/train_devices.py [--device DEVICE] [NETWORK.OPTIMIZER[.bf16]...]
    build/venv/bin/python tests/networks/train_devices.py [--device DEVICE] --all

Every step runs there; the losses of the first steps and of an evaluation behind one differ from the CPU's by at most 1e-4, and a second training
there gives the same ones to the bit. With .bf16 activations are kept as bfloat16 on both."""
import argparse
import sys

import cases
import numpy

NETWORKS = "alexnet resnet18 resnet50 vgg16 mobilenet_v2".split()
RATES = {"sgd": 1e-3, "adam": 1e-4}
QUICK = ["resnet18.sgd", "mobilenet_v2.adam", "mobilenet_v2.sgd.bf16"]
STEPS, BATCH, CLASSES = 3, 2, 1000


def train(rynd, device, file, optimizer, storage, x, labels):
    """Losses of steps, of an evaluation behind the first, and what a step runs by. Adam takes a step of the learning rate for each gradient, however small:
    what rounding makes of those that are nearly 0 grows from step to step, and an evaluation of other statistics sees it most."""
    numbers = {"momentum": 0.9} if optimizer == "sgd" else {}
    trainer = rynd.Trainer(rynd.Model(rynd.Context(threads=2, device=device), file), optimizer=optimizer, storage=storage, **numbers)
    losses = [trainer.step([x], labels, RATES[optimizer]), trainer.evaluate([x], labels)]
    losses += [trainer.step([x], labels, RATES[optimizer]) for _ in range(STEPS - 1)]
    return numpy.array(losses), trainer.steps()


def compare(case):
    import rynd_ctypes as rynd

    case, _, device = case.partition("@")
    name, optimizer, *storage = case.split(".")
    storage = storage[0] if storage else "f32"
    lacks = rynd.lacks_device(device)
    if lacks:
        print(f"skipped: {lacks}")
        return 77
    from training_networks import network_of, onnx_of, shape_of

    rng = numpy.random.default_rng(2)
    x = rng.standard_normal(shape_of(name, BATCH), numpy.float32)
    labels = rng.integers(0, CLASSES, BATCH)
    file = onnx_of(network_of(name, x), x)
    expected, _ = train(rynd, "cpu", file, optimizer, storage, x, labels)
    got, steps = train(rynd, device, file, optimizer, storage, x, labels)
    again, _ = train(rynd, device, file, optimizer, storage, x, labels)
    fallen = [f"{step['name']} ({step['kernel']})" for step in steps if not step["kernel"].endswith("_gpu")]
    assert not fallen, f"on the CPU run {', '.join(fallen)}"
    worst = float(numpy.max(numpy.abs(got - expected) / numpy.abs(expected)))
    text = f"{worst:.1e} of the CPU's losses, which go from {expected[0]:.3f} to {expected[-1]:.3f}; all {len(steps)} steps run there"
    assert worst <= cases.TOLERANCE, text
    assert numpy.array_equal(got, again), f"{text}; a second training gives {again}, the first {got}"
    print(text)
    return 0


def main():
    if sys.argv[1:2] == ["--one"]:
        return compare(sys.argv[2])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="opencl", help="opencl, opencl:1, cuda, ...")
    parser.add_argument("--all", action="store_true", help="five networks by two optimizers, and with activations as bfloat16, instead of a few")
    parser.add_argument("cases", nargs="*")
    arguments = parser.parse_args()
    every = [f"{name}.{optimizer}" for name in NETWORKS for optimizer in RATES] + [f"{name}.sgd.bf16" for name in NETWORKS]
    wanted = arguments.cases or (every if arguments.all else QUICK)
    return cases.run_cases(__file__, [f"{case}@{arguments.device}" for case in wanted])


if __name__ == "__main__":
    sys.exit(main())
