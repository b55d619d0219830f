#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Error of Winograd's form in float32 for given points, beside the direct sum's: the table of docs/notes/2026-11-21-winograd-points.md.

    build/venv/bin/python bench/winograd_points.py [CHANNELS]

Every step is rounded to float32 as the kernels do, the weights' transform once; x is normal data after a ReLU, weights are normal."""
import sys

import numpy as np

POINTS = [((1,), 3), ((1, 2), 3), ((1, 0.5), 3), ((0.75, 1.5), 3), ((0.625, 1.5), 3), ((0.5, 1, 2), 3), ((0.5, 1, 1.5), 3), ((0.75, 1.5, 0.375), 3),
          ((0.625, 1.5), 5), ((0.5, 1, 2), 5), ((0.5, 1, 2), 7), ((1,), 2), ((1, 2), 2), ((0.625, 1.5), 2), ((0.5, 1, 2), 2), ((0.625, 1.5), 4),
          ((0.5, 1, 2), 4)]
OUTPUTS, TILES = 8, 40


def matrices(magnitudes, taps):
    """B^T, G and A^T of Toom-Cook at 0, +-magnitudes and infinity."""
    finite = [0.0] + [sign * m for m in magnitudes for sign in (1, -1)]
    t = len(finite) + 1
    b, g, a = np.zeros((t, t)), np.zeros((t, taps)), np.zeros((t - taps + 1, t))
    for i, p in enumerate(finite):
        others = [q for q in finite if q != p]
        b[i, :t - 1] = np.poly(others)[::-1]
        g[i] = np.power(p, np.arange(taps)) / np.prod([p - q for q in others])
        a[:, i] = np.power(p, np.arange(t - taps + 1))
    b[t - 1] = np.poly(finite)[::-1]
    g[t - 1, taps - 1] = a[-1, t - 1] = 1
    return b, g, a


def data(channels, taps, size):
    random = np.random.default_rng(0)
    x = np.maximum(random.standard_normal((TILES, channels, size, size)), 0).astype(np.float32)
    w = (random.standard_normal((OUTPUTS, channels, taps, taps)) / np.sqrt(channels * taps * taps)).astype(np.float32)
    return x, w


def error(sums, exact):
    difference = sums - exact
    scale = np.sqrt((exact ** 2).mean())
    return np.sqrt((difference ** 2).mean()) / scale, np.abs(difference).max() / scale


def direct(x, w, outputs, dtype):
    """Sum over channels, then taps; with float32 each multiply-add is rounded once."""
    taps = w.shape[2]
    total = np.zeros((OUTPUTS, TILES, outputs, outputs), dtype)
    for c in range(x.shape[1]):
        for r in range(taps):
            for s in range(taps):
                term = w[:, c, r, s].astype(np.float64)[:, None, None, None] * x[None, :, c, r:r + outputs, s:s + outputs].astype(np.float64)
                total = (total.astype(np.float64) + term).astype(dtype)
    return total


def winograd(x, w, magnitudes):
    b, g, a = matrices(magnitudes, w.shape[2])
    u = np.einsum("ir,kcrs,js->ijkc", g, w.astype(np.float64), g).astype(np.float32)
    b, a = b.astype(np.float32), a.astype(np.float32)
    v = (b @ x @ b.T).transpose(2, 3, 1, 0)
    m = np.zeros((*u.shape[:3], TILES), np.float32)
    for c in range(x.shape[1]):
        m += u[:, :, :, c:c + 1] * v[:, :, c:c + 1, :]
    return a @ m.transpose(2, 3, 0, 1) @ a.T


def main():
    channels = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    print(f"{channels} channels\n{'form':8} {'points':22} {'products':>8} {'rms':>8} {'largest':>8} {'direct':>8}")
    for magnitudes, taps in POINTS:
        t = 2 * len(magnitudes) + 2
        outputs = t - taps + 1
        x, w = data(channels, taps, t)
        exact = direct(x, w, outputs, np.float64)
        rms, largest = error(winograd(x, w, magnitudes), exact)
        plain, _ = error(direct(x, w, outputs, np.float32), exact)
        points = "0 " + " ".join(f"±{m:g}" for m in magnitudes) + " ∞"
        print(f"F({outputs},{taps})   {points:22} {(taps * outputs / t) ** 2:7.2f}x {rms:8.1e} {largest:8.1e} {plain:8.1e}")


if __name__ == "__main__":
    main()
