#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Train models/upscale2x.onnx: a small subpixel network that doubles a colour photo.

    apt-get install python3-torch python3-pil lomiri-wallpapers-16.04 lomiri-wallpapers-20.04
    python3 models/train_upscale.py --steps 40000 --out models/upscale2x.onnx

The network is ESPCN's (Shi et al., "Real-Time Single Image and Video Super-Resolution Using an Efficient Sub-Pixel
Convolutional Neural Network", CVPR 2016) with a learned linear path beside it: all convolutions run at the small size, and
DepthToSpace makes the large picture. The photos are those of Debian's Lomiri wallpapers (CC-BY-4.0 and CC-BY-SA-4.0, authors in
/usr/share/doc/lomiri-wallpapers-16.04/copyright); none of them is bundled, and the photos of models/photos are not among them.
The log goes to standard output; models/upscale2x.log is the committed network's.
"""
import argparse
import glob
import math
import os
import random
import time

import numpy
import PIL.Image
import torch
import torch.nn as nn
import torch.nn.functional as F


class Upscale(nn.Module):
    """[N, 3, H, W] to [N, 3, 2H, 2W], both RGB from 0 to 1."""

    def __init__(self, width=32):
        super().__init__()
        self.head = nn.Conv2d(3, width, 5, padding=2)
        self.body1 = nn.Conv2d(width, width, 3, padding=1)
        self.body2 = nn.Conv2d(width, width, 3, padding=1)
        self.tail = nn.Conv2d(width, 12, 3, padding=1)
        self.linear = nn.Conv2d(3, 12, 5, padding=2)
        self.start_linear()

    def start_linear(self):
        """The linear path begins as nearest-neighbour, the rest as nearly nothing."""
        with torch.no_grad():
            self.linear.weight.zero_()
            self.linear.bias.zero_()
            for channel in range(3):
                self.linear.weight[channel * 4 : channel * 4 + 4, channel, 2, 2] = 1
            self.tail.weight.mul_(0.1)
            self.tail.bias.zero_()

    def forward(self, x):
        y = F.relu(self.head(x))
        y = F.relu(self.body1(y))
        y = F.relu(self.body2(y))
        return F.pixel_shuffle(self.tail(y) + self.linear(x), 2)


def halve(photo):
    """The small picture: Pillow's antialiased bicubic, rounded to 8 bits."""
    return photo.resize((photo.width // 2, photo.height // 2), PIL.Image.BICUBIC)


def tensor(photo):
    return torch.from_numpy(numpy.asarray(photo, dtype=numpy.float32).transpose(2, 0, 1) / 255)


def load_photos(folder):
    """Photos as (small, large) pairs, each at two sizes. JPEG's blocks are averaged away: a photo is at least halved first."""
    pairs = []
    for path in sorted(glob.glob(os.path.join(folder, "*.jpg"))):
        photo = PIL.Image.open(path).convert("RGB")
        for pixels in (1.2e6, 0.3e6):
            shrink = max(2.0, math.sqrt(photo.width * photo.height / pixels))
            size = (int(photo.width / shrink) // 2 * 2, int(photo.height / shrink) // 2 * 2)
            large = photo.resize(size, PIL.Image.LANCZOS)
            pairs.append((tensor(halve(large)), tensor(large)))
            print(f"photo {os.path.basename(path)} {size[0]}x{size[1]}", flush=True)
    return pairs


def crop(pair, size):
    """A random crop of the small picture and the same of the large one, turned and mirrored at random."""
    small, large = pair
    y, x = random.randrange(small.shape[1] - size), random.randrange(small.shape[2] - size)
    small = small[:, y : y + size, x : x + size]
    large = large[:, 2 * y : 2 * (y + size), 2 * x : 2 * (x + size)]
    turns, mirror = random.randrange(4), random.random() < 0.5
    small, large = (torch.rot90(t, turns, (1, 2)) for t in (small, large))
    return (small.flip(2), large.flip(2)) if mirror else (small, large)


def psnr(a, b):
    return -10 * math.log10(float(((a.clamp(0, 1) * 255).round() / 255 - b).pow(2).mean()))


def evaluate(net, folder):
    """PSNR over RGB of bicubic and of the network on photos that it was not trained on."""
    rows = []
    for path in sorted(glob.glob(os.path.join(folder, "*.png"))):
        photo = PIL.Image.open(path).convert("RGB")
        photo = photo.crop((0, 0, photo.width // 2 * 2, photo.height // 2 * 2))
        small, large = halve(photo), tensor(photo)
        bicubic = tensor(small.resize(photo.size, PIL.Image.BICUBIC))
        with torch.no_grad():
            y = net(tensor(small)[None])[0]
        rows.append((os.path.basename(path), psnr(bicubic, large), psnr(y, large)))
    return rows


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--photos", default="/usr/share/backgrounds", help="folder of the training photos")
    p.add_argument("--held-out", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "photos"), help="folder of the photos to judge by")
    p.add_argument("--steps", type=int, default=40000)
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--crop", type=int, default=32, help="side of a crop of the small picture")
    p.add_argument("--minutes", type=float, default=600, help="stop after this long")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--out", default="upscale2x.onnx")
    a = p.parse_args()
    torch.manual_seed(1)
    random.seed(1)
    torch.set_num_threads(a.threads)
    pairs = load_photos(a.photos)
    weights = [math.sqrt(small.shape[1] * small.shape[2]) for small, _ in pairs]
    net = Upscale()
    print(f"{sum(w.numel() for w in net.parameters())} parameters, {len(pairs)} pictures", flush=True)
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    start, total, done = time.time(), 0.0, 0
    for step in range(1, a.steps + 1):
        part = max(step / a.steps, (time.time() - start) / (60 * a.minutes))
        for group in optimizer.param_groups:
            group["lr"] = 2e-3 * 0.5 * (1 + math.cos(math.pi * min(part, 1))) + 1e-6
        batch = [crop(pair, a.crop) for pair in random.choices(pairs, weights, k=a.batch)]
        x, y = torch.stack([b[0] for b in batch]), torch.stack([b[1] for b in batch])
        loss = F.l1_loss(net(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        total, done = total + loss.item(), done + 1
        if step % 1000 == 0 or part >= 1:
            rows = evaluate(net, a.held_out)
            gain = sum(r[2] - r[1] for r in rows) / max(1, len(rows))
            print(f"step {step} loss {total / done:.5f} held-out gain over bicubic {gain:+.2f} dB after {time.time() - start:.0f} s", flush=True)
            total, done = 0.0, 0
        if part >= 1:
            break
    for name, bicubic, ours in evaluate(net, a.held_out):
        print(f"{name:20s} bicubic {bicubic:.2f} dB  network {ours:.2f} dB  {ours - bicubic:+.2f}")
    torch.onnx.export(net.eval(), torch.rand(1, 3, 48, 48), a.out, opset_version=13, input_names=["input"], output_names=["output"],
                      dynamic_axes={"input": {0: "batch", 2: "height", 3: "width"}, "output": {0: "batch", 2: "2*height", 3: "2*width"}})
    print(f"wrote {a.out}")


if __name__ == "__main__":
    main()
