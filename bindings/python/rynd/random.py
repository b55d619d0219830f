# SPDX-License-Identifier: Apache-2.0
"""Random numbers as functions of a seed and an index (Philox 4x32-10): the same bits on every machine.

`stream` is one purpose (two with other streams share no numbers), `step` that of a run; seed is of 64 bits, both others of 32.
"""

from . import _rynd


def _draw(kind, count, seed, stream, step, first):
    for name, value, bits in (("seed", seed, 64), ("stream", stream, 32), ("step", step, 32), ("first", first, 64), ("count", count, 48)):
        if not 0 <= value < 1 << bits:
            raise ValueError(f"{name} is {value}: it must be from 0 to 2**{bits} - 1")
    return _rynd.random(kind, seed, stream, step, first, count)


def uniform(count, seed=0, stream=0, step=0, first=0):
    """An Array of `count` f32 from 0 inclusive to 1 exclusive: those of the elements from `first` on."""
    return _draw("uniform", count, seed, stream, step, first)


def normal(count, seed=0, stream=0, step=0, first=0):
    """As uniform, of the standard normal distribution."""
    return _draw("normal", count, seed, stream, step, first)


def permutation(count, seed=0, stream=0, step=0):
    """An Array of u64 with the numbers 0 to count-1, each order as likely as any other."""
    return _draw("permutation", count, seed, stream, step, 0)
