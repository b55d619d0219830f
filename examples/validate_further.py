#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs further networks on the device rynd, forward and backward, and compares with the CPU: 20 of timm, a YOLOv8n, a U-Net, a block of Stable Diffusion,
r3d_18 and Conv-TasNet.

    python examples/validate_further.py                     all of them
    python examples/validate_further.py unet yolov8n        some
    python examples/validate_further.py --device rynd:1 unet

As in validate_network.py, results and gradients are compared with float64, the bound is 1e-4 of the largest value or four times the difference of the
CPU's float32, and each mode has up to five attempts, with other inputs. The last columns are operators that ran by PyTorch's loops for the CPU on the device's
memory: their share of the time of one forward and backward pass, and their calls. Operators without a kernel are an error. Needs torchvision, and timm for its networks."""
import argparse
import copy
import os
import sys
import time

os.environ.setdefault("RYND_TORCH_STRICT", "1")
import torch  # noqa: E402

import rynd.torch  # noqa: E402
from further_networks import NETWORKS  # noqa: E402
from validate_network import ATTEMPTS, differs  # noqa: E402

DROPS = ("Dropout", "Dropout1d", "Dropout2d", "DropPath", "StochasticDepth")


def without_dropout(network):
    """Random numbers would differ between dtypes."""
    for module in network.modules():
        if type(module).__name__ in DROPS:
            for name in ("p", "drop_prob"):
                if hasattr(module, name):
                    setattr(module, name, 0.0)
    return network


def with_weights(network):
    """Some last layers begin as zeros, which would hide all errors."""
    for parameter in network.parameters():
        if parameter.ndim > 1 and not parameter.any():
            torch.nn.init.normal_(parameter, std=0.02)
    return network


def tensors(value):
    """All floating tensors of a network's result."""
    if isinstance(value, torch.Tensor):
        return [value] if value.is_floating_point() else []
    values = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [tensor for one in values for tensor in tensors(one)]


def step(network, inputs):
    """The results and all gradients of a weighted sum of the results, as vectors of float64."""
    results = tensors(network(*inputs))
    weights = [torch.cos(torch.arange(result.numel(), dtype=torch.float32)).reshape(result.shape).to(result.device, result.dtype) for result in results]
    network.zero_grad()
    sum((result * weight).mean() for result, weight in zip(results, weights)).backward()
    gradients = [parameter.grad for parameter in network.parameters() if parameter.grad is not None]
    return [torch.cat([tensor.detach().reshape(-1).cpu().double() for tensor in group]) for group in (results, gradients)]


def on_device(network, inputs, device):
    """step() on the device; of a second step the share of time and the calls on the host."""
    twin, inputs = copy.deepcopy(network).to(device), [x.to(device) for x in inputs]
    found = step(twin, inputs)
    before, begin = rynd.torch.host_calls(), time.perf_counter()
    step(twin, inputs)  # again: the first has compiled and chosen
    whole, after = time.perf_counter() - begin, rynd.torch.host_calls()
    calls = {name: tuple(a - b for a, b in zip(figures, before.get(name, (0, 0)))) for name, figures in after.items()}
    share = sum(seconds for _, seconds in calls.values()) / whole
    return found, share, {name.removeprefix("aten::"): count for name, (count, _) in calls.items() if count}


def double(inputs):
    return [x.double() if x.is_floating_point() else x for x in inputs]


def validate(name, device):
    torch.manual_seed(0)
    network, inputs = NETWORKS[name]()
    network = without_dropout(with_weights(network))
    fine = True
    for mode in ("eval", "train"):
        network.train(mode == "train")
        right, bound = False, (1e-4, 1e-4)
        for _ in range(ATTEMPTS):
            exact = step(copy.deepcopy(network).double(), double(inputs))
            cpu = [differs(got, true) for got, true in zip(step(copy.deepcopy(network), inputs), exact)]
            results, share, calls = on_device(network, inputs, device)
            found = [differs(got, true) for got, true in zip(results, exact)]
            bound = tuple(max(a, 4 * b) for a, b in zip(bound, cpu))
            right = all(mine <= most for mine, most in zip(found, bound))
            print(f"{name:28} {mode:5} {found[0]:9.1e} {cpu[0]:9.1e} {found[1]:9.1e} {cpu[1]:9.1e}   {'right  ' if right else 'differs'} {100 * share:5.1f}%  "
                  + (", ".join(f"{operator} {count}" for operator, count in sorted(calls.items())) or "-"), flush=True)
            if right:
                break
            inputs = NETWORKS[name]()[1]  # others: one activation at 0 decides the largest difference
        fine &= right
    if not fine:
        print(f"{name}: WRONG")
    return fine


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help=", ".join(NETWORKS))
    parser.add_argument("--device", default="rynd", help="the device (default: rynd, the processor)")
    options = parser.parse_args()
    print(f"{'network':28} {'mode':5} {'y':>9} {'CPU f32':>9} {'gradient':>9} {'CPU f32':>9}   share of time and calls on the host")
    right = True
    for name in options.networks or NETWORKS:
        if name not in NETWORKS:
            parser.error(f"there is no network {name!r}: {', '.join(NETWORKS)}")
        right &= validate(name, options.device)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
