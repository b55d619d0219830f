# SPDX-License-Identifier: Apache-2.0
"""The least time that a machine of given peaks could take: T* of a problem, over the algorithms that an accuracy class admits.

    T_a = max(F_a / P, Q_a / B)      F_a: operations really done, transforms and ragged tiles included      P: the measured peak
                                     Q_a: input, output and (transformed) weights, each moved once          B: bandwidth of the smallest
                                                                                                            memory that holds them all

(the roofline of Williams, Waterman and Patterson, 2009). Algorithms: direct; at unit stride Winograd's form of the last one or two dims, whose windows
of r taps give m = t - r + 1 outputs from t points (S. Winograd, 1980; Lavin and Gray, 2016), as many points as the class admits: 4 for strict, 8 for
near32, 6 there when the sums are longer than 512; the same for the s phases a dim of a transposed convolution of stride s, of r / s taps rounded up,
where points 0 and infinity of a phase of fewer taps cost nothing; and for the s residues of x's
position in a convolution of stride s, whose products are summed before they are transformed; where the machine has a bf16 matrix unit, f32 as a sum of bf16 parts: 3 products for near32, 6 for
strict. A tile's transforms count one operation slot (a multiply-add's two) for each addition or multiply-add of the even/odd factored matrices."""
import itertools
import math

from .subjects import FLOAT, parse

IN_SLOTS = {1: 0, 4: 4, 6: 12, 8: 24}  # vector slots of a 1-D input transform, by its number of points
PRODUCTS = {"near32": 3, "strict": 6}


def out_slots(points, outputs):
    return 0 if points == 1 else points - 2 + outputs * (points // 2 - 1)


def bandwidth(peaks, size):
    """Bytes a second of the smallest memory that holds so many bytes."""
    caches, rates = peaks["caches"], peaks["bandwidth"]
    for level, room in (("l1", caches["l1"] * peaks["cores"]), ("l2", caches["l2"] * peaks["cores"]), ("l3", caches["l3"])):
        if size <= room and rates.get(level):
            return rates[level]
    return rates["dram"]


def points_most(p, accuracy):
    if accuracy == "strict":
        return 4
    return 8 if p.c // p.groups * math.prod(p.window[:-2]) <= 512 else 6


def tiles_of(size, dilation, outputs):
    """Tiles along one dim. Dilation splits the dim into interleaved dims; each ends in a ragged tile."""
    return sum(math.ceil(math.ceil((size - first) / dilation) / outputs) for first in range(min(dilation, size)))


def winograd_ways(p, accuracy):
    """(operations, floats of transformed weights) for each choice of points of the last two dims; 1 point: that dim is not transformed."""
    last = min(2, len(p.window))
    classes, phases = (1, p.stride) if p.kind == "convt" else (p.stride, 1)
    window, out = [math.ceil(size / p.stride) for size in p.window[-last:]], [math.ceil(size / phases) for size in p.out[-last:]]
    missing = [p.stride * taps - size for taps, size in zip(window, p.window[-last:])]
    choices = [[1, *(t for t in IN_SLOTS if size < t <= points_most(p, accuracy))] if size > 1 else [1] for size in window]
    for points in itertools.product(*choices):
        outputs = [t - size + 1 if t > 1 else 1 for t, size in zip(points, window)]
        taps = math.prod(p.stride * size - gap for t, size, gap in zip(points, window, missing) if t == 1) * math.prod(p.window[:-last])
        tiles = p.n * math.prod(p.out[:-last]) * math.prod(tiles_of(size, p.dilation, m) for size, m in zip(out, outputs))
        weights = math.prod(p.stride * t - gap for t, gap in zip(points, missing) if t > 1) * taps * p.c * p.k // p.groups
        (high, wide), (m_high, m_wide) = (1,) * (2 - last) + points, [1] * (2 - last) + outputs
        into = p.c * classes ** last * (wide * IN_SLOTS[high] + high * IN_SLOTS[wide])
        back = p.k * phases ** last * (wide * out_slots(high, m_high) + m_high * out_slots(wide, m_wide))
        yield 2 * tiles * (weights + into + back), weights


def algorithms(p, accuracy, peaks):
    """(seconds of arithmetic, bytes) of each."""
    peak = peaks["peak"]
    ways = [(p.flop / peak["f32"], p.bytes)]
    if peak.get("bf16") and p.groups == 1:
        ways.append((p.flop * PRODUCTS[accuracy] / peak["bf16"], p.bytes))
    if p.stride == 1 or (p.dilation == 1 and len(p.window) < 3):
        for flop, weights in winograd_ways(p, accuracy):
            ways.append((flop / peak["f32"], p.bytes + FLOAT * (weights - math.prod(p.weight_shape))))
    return ways


def limit(steps, accuracy, peaks):
    """T* in seconds of steps that follow one another: problems' texts, or [operations, bytes] of what is no convolution."""
    seconds = 0
    for step in steps:
        ways = algorithms(parse(step), accuracy, peaks) if isinstance(step, str) else [(step[0] / peaks["peak"]["f32"], step[1])]
        seconds += min(max(arithmetic, size / bandwidth(peaks, size)) for arithmetic, size in ways)
    return seconds
