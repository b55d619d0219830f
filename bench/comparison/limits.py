# SPDX-License-Identifier: Apache-2.0
"""The least time that a machine of given peaks could take: T* of a problem, over the algorithms that an accuracy class admits.

    T_a = max(F_a / P, Q_a / B)      F_a: operations really done, transforms and ragged tiles included      P: the measured peak
                                     Q_a: input, output and (transformed) weights, each moved once          B: bandwidth of the smallest
                                                                                                            memory that holds them all

(the roofline of Williams, Waterman and Patterson, 2009). Algorithms: direct; for near32 also Winograd's F(4,3) and F(6,3) (Lavin and Gray, 2016), in
one or two dims; where the machine has a bf16 matrix unit, f32 as a sum of bf16 parts: 3 products for near32, 6 for strict. A tile's transforms count
one operation slot (a multiply-add's two) for each addition or multiply-add of the even/odd factored matrices."""
import math

from .subjects import FLOAT, parse

# F(m,3): outputs of a tile, length of its input, and slots of one 1-D input and output transform.
WINOGRAD = {4: (6, 12, 10), 6: (8, 26, 20)}
PRODUCTS = {"near32": 3, "strict": 6}


def bandwidth(peaks, size):
    """Bytes a second of the smallest memory that holds so many bytes."""
    caches, rates = peaks["caches"], peaks["bandwidth"]
    for level, room in (("l1", caches["l1"] * peaks["cores"]), ("l2", caches["l2"] * peaks["cores"]), ("l3", caches["l3"])):
        if size <= room and rates.get(level):
            return rates[level]
    return rates["dram"]


def winograd_flop(p, m):
    """Slots times two of F(m,3) over the dims where the window is 3 (one or two of them), and floats of the transformed weights."""
    points, in_slots, out_slots = WINOGRAD[m]
    dims = [i for i, size in enumerate(p.window) if size == 3][-2:]
    others = math.prod(size for i, size in enumerate(p.window) if i not in dims)
    tiles = p.n * math.prod(math.ceil(size / m) if i in dims else size for i, size in enumerate(p.out))
    rank = len(dims)
    c, k = p.c, p.k
    multiply = points**rank * c * k // p.groups * others
    into = c * in_slots * (2 * points if rank == 2 else 1)
    back = k * out_slots * (points + m if rank == 2 else 1)
    return 2 * tiles * (multiply + into + back), points**rank * others * c * k // p.groups


def algorithms(p, accuracy, peaks):
    """(seconds of arithmetic, bytes) of each."""
    peak = peaks["peak"]
    ways = [(p.flop / peak["f32"], p.bytes)]
    if peak.get("bf16") and p.groups == 1:
        ways.append((p.flop * PRODUCTS[accuracy] / peak["bf16"], p.bytes))
    if accuracy == "near32" and p.kind == "conv" and p.groups == 1 and 3 in p.window and p.stride == 1 and p.dilation == 1:
        for m in WINOGRAD:
            flop, weights = winograd_flop(p, m)
            ways.append((flop / peak["f32"], p.bytes + FLOAT * (weights - math.prod(p.weight_shape))))
    return ways


def limit(steps, accuracy, peaks):
    """T* in seconds of steps that follow one another: problems' texts, or [operations, bytes] of what is no convolution."""
    seconds = 0
    for step in steps:
        ways = algorithms(parse(step), accuracy, peaks) if isinstance(step, str) else [(step[0] / peaks["peak"]["f32"], step[1])]
        seconds += min(max(arithmetic, size / bandwidth(peaks, size)) for arithmetic, size in ways)
    return seconds
