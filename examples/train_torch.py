#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small network with PyTorch on the device rynd, and prints loss and accuracy of each epoch.

    python examples/train_torch.py                      8 epochs on drawn shapes
    python examples/train_torch.py --device cpu         the same on PyTorch's own
    python examples/train_torch.py --amp                in bf16 where autocast allows it

The pictures are circles, squares, crosses and stripes of random size, place and brightness, in noise. No file is read."""
import argparse
import time

import torch

import rynd.torch  # noqa: F401

SIZE, CLASSES = 28, 4


def pictures(count, generator):
    """[count, 1, SIZE, SIZE] in noise, and their classes."""
    target = torch.randint(0, CLASSES, (count,), generator=generator)
    centre = torch.rand(count, 2, 1, 1, generator=generator) * 12 + 8
    radius = torch.rand(count, 1, 1, generator=generator) * 4 + 4
    grid = torch.arange(SIZE, dtype=torch.float32)
    dy, dx = grid.reshape(1, -1, 1) - centre[:, 0], grid.reshape(1, 1, -1) - centre[:, 1]
    inside = (dx.abs() <= radius) & (dy.abs() <= radius)
    shapes = torch.stack([dx * dx + dy * dy <= radius * radius, inside, inside & ((dx.abs() < 1.5) | (dy.abs() < 1.5)), inside & (dy.remainder(4) < 2)], 1)
    shape = shapes[torch.arange(count), target].unsqueeze(1).float()
    bright = torch.rand(count, 1, 1, 1, generator=generator) + 0.5
    return shape * bright + 0.3 * torch.randn(count, 1, SIZE, SIZE, generator=generator), target


def made():
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(inplace=True), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Dropout(0.2), nn.Linear(32 * 7 * 7, CLASSES))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="rynd", help="device of PyTorch (default: rynd)")
    parser.add_argument("--epochs", type=int, default=8, help="passes over the pictures (default: 8)")
    parser.add_argument("--batch", type=int, default=64, help="pictures of a step (default: 64)")
    parser.add_argument("--amp", action="store_true", help="autocast to bf16")
    options = parser.parse_args()

    torch.manual_seed(0)
    x, y = pictures(4096, torch.Generator().manual_seed(1))
    test_x, test_y = pictures(1024, torch.Generator().manual_seed(2))
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=options.batch, shuffle=True)
    network = made().to(options.device)
    optimizer = torch.optim.AdamW(network.parameters(), 2e-3, fused=True)
    for epoch in range(options.epochs):
        begin, total = time.perf_counter(), 0.0
        network.train()
        for images, target in loader:
            with torch.amp.autocast(options.device, dtype=torch.bfloat16, enabled=options.amp):
                loss = torch.nn.functional.cross_entropy(network(images.to(options.device)), target.to(options.device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(images)
        network.eval()
        with torch.no_grad():
            right = (network(test_x.to(options.device)).argmax(1).cpu() == test_y).float().mean().item()
        print(f"epoch {epoch + 1}: loss {total / len(x):.4f}, accuracy {right:.3f}, {time.perf_counter() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
