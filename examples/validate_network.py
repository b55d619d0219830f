#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs torchvision's networks on the device rynd, forward and backward, and compares with the CPU.

    python examples/validate_network.py                        18 networks, random weights, batch 2
    python examples/validate_network.py --device rynd:1 --size 64    the same on the first device of OpenCL or CUDA (`rynd devices`)
    python examples/validate_network.py resnet50 --image cat.jpg --weights resnet50.pth

The largest difference is over the largest value: of the result, and of all gradients. It must stay below 1e-4, or below four times the CPU's own float32 against float64.
In training, the statistics of a small batch amplify rounding, and an activation close to 0 may fall to either side, which changes gradients by a hundred times as much.
So training has up to five attempts, with weights that differ in the last bit: a wrong operator is wrong in all of them. Operators without a kernel are an error.
Needs torchvision."""
import argparse
import copy
import os
import sys
import time

os.environ.setdefault("RYND_TORCH_STRICT", "1")
import torch  # noqa: E402
import torchvision  # noqa: E402

import rynd.torch  # noqa: E402, F401

NETWORKS = ("alexnet resnet18 resnet50 vgg16 squeezenet1_0 densenet121 densenet161 inception_v3 googlenet shufflenet_v2_x1_0 mobilenet_v2 mobilenet_v3_large "
            "mobilenet_v3_small resnext50_32x4d wide_resnet50_2 mnasnet1_0 efficientnet_b0 regnet_y_400mf").split()
ATTEMPTS = 5
SIZES = {"alexnet": 96, "inception_v3": 299}


def made(name, weights):
    torch.manual_seed(0)
    options = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    network = torchvision.models.get_model(name, weights=None, **options)
    if weights:
        network.load_state_dict(torch.load(weights, map_location="cpu"))
    for module in network.modules():  # random numbers would differ between dtypes
        if isinstance(module, (torch.nn.Dropout, torchvision.ops.StochasticDepth)):
            module.p = 0.0
    return network


def images(name, options):
    if options.image:
        transform = torchvision.transforms.Compose([torchvision.transforms.Resize(256), torchvision.transforms.CenterCrop(SIZES.get(name, 224)),
                                                    torchvision.transforms.ToTensor(), torchvision.transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
        from PIL import Image
        return transform(Image.open(options.image).convert("RGB")).unsqueeze(0)
    size = options.size or SIZES.get(name, 64)
    return torch.randn(options.batch, 3, size, size)


def step(network, x, target):
    """The result, all gradients, and seconds."""
    begin = time.perf_counter()
    results = network(x)
    results = [result for result in (results if isinstance(results, tuple) else (results,)) if result is not None]
    loss = sum(torch.nn.functional.cross_entropy(result, target) for result in results)
    network.zero_grad()
    loss.backward()
    gradients = torch.cat([parameter.grad.reshape(-1).cpu().double() for parameter in network.parameters() if parameter.grad is not None])
    return results[0].detach().cpu().double(), gradients, time.perf_counter() - begin


def differs(mine, exact):
    return ((mine - exact).abs().max() / exact.abs().max()).item()


def perturb(network):
    """Changes each weight in its last bit."""
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(1 + 2.0**-24 * torch.randn_like(parameter))


def compare(host, x, target, device):
    """Results by the device and by the CPU; differences from float64 of result and gradients, of both; seconds of both."""
    y64, g64, _ = step(copy.deepcopy(host).double(), x.double(), target)
    y32, g32, seconds = step(copy.deepcopy(host), x, target)
    y, g, own = step(copy.deepcopy(host).to(device), x.to(device), target.to(device))
    return (y, y32), (differs(y, y64), differs(g, g64)), (differs(y32, y64), differs(g32, g64)), (own, seconds)


def validate(name, options):
    host, x = made(name, options.weights), images(name, options)
    target = torch.randint(0, 1000, (x.shape[0],))
    fine = True
    for mode in ("eval", "train") if x.shape[0] > 1 else ("eval",):
        host.train(mode == "train")
        right, bound = False, (1e-4, 1e-4)
        for _ in range(ATTEMPTS if mode == "train" else 1):
            results, found, cpu, seconds = compare(host, x, target, options.device)
            bound = tuple(max(a, 4 * b) for a, b in zip(bound, cpu))
            right = all(a <= b for a, b in zip(found, bound))
            print(f"{name:20} {mode:6} {found[0]:9.1e} {cpu[0]:9.1e} {found[1]:9.1e} {cpu[1]:9.1e} {seconds[0]:7.2f} {seconds[1]:7.2f}   {'right' if right else 'differs'}", flush=True)
            if right:
                break
            perturb(host)
        fine &= right
        if options.image and mode == "eval":
            print(f"  classes: rynd {results[0].topk(3).indices[0].tolist()}, CPU {results[1].topk(3).indices[0].tolist()}")
    if not fine:
        print(f"{name}: WRONG")
    return fine


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=NETWORKS, help="torchvision's names (default: 18 networks)")
    parser.add_argument("--image", help="a picture instead of random numbers")
    parser.add_argument("--weights", help="a file of trained weights, for one network")
    parser.add_argument("--device", default="rynd", help="the device (default: rynd, the processor)")
    parser.add_argument("--size", type=int, help="height and width of random images (default: 64; inception_v3 299, alexnet 96)")
    parser.add_argument("--batch", type=int, default=2, help="random images (default: 2)")
    options = parser.parse_args()
    print(f"{'network':20} {'mode':6} {'y':>9} {'CPU f32':>9} {'gradient':>9} {'CPU f32':>9} {'s':>7} {'CPU s':>7}   over the largest value of float64's")
    return 0 if all([validate(name, options) for name in options.networks or NETWORKS]) else 1


if __name__ == "__main__":
    sys.exit(main())
