# SPDX-License-Identifier: Apache-2.0
"""What is measured: the layers of layers.txt, random layers, whole networks."""
import fnmatch
import math
import pathlib
import random
from dataclasses import dataclass

LIST = pathlib.Path(__file__).resolve().parent.parent / "layers.txt"
NETS = ["alexnet", "resnet18", "resnet50", "vgg16", "mobilenet_v2"]
DEFAULTS = {"n": 1, "pad": 0, "stride": 1, "dilation": 1, "groups": 1}
IGNORED = {"bias", "residual", "act", "alpha", "beta", "layout", "accuracy"}
FLOAT = 4  # bytes


@dataclass(frozen=True)
class Problem:
    """A convolution (conv) or transposed convolution (convt): one pad, stride and dilation for all of its one to three dims."""

    kind: str
    n: int
    c: int
    k: int
    space: tuple
    window: tuple
    pad: int
    stride: int
    dilation: int
    groups: int

    @property
    def out(self):
        spans = [self.dilation * (w - 1) + 1 for w in self.window]
        if self.kind == "conv":
            return tuple((x + 2 * self.pad - span) // self.stride + 1 for x, span in zip(self.space, spans))
        return tuple((x - 1) * self.stride - 2 * self.pad + span for x, span in zip(self.space, spans))

    @property
    def weight_shape(self):
        ends = (self.k, self.c // self.groups) if self.kind == "conv" else (self.c, self.k // self.groups)
        return ends + self.window

    @property
    def flop(self):
        """Multiplications and additions of the definition; what falls into the padding counts too."""
        positions = math.prod(self.out if self.kind == "conv" else self.space)
        return 2 * self.n * positions * math.prod(self.window) * self.c * self.k // self.groups

    @property
    def bytes(self):
        """Input, weights, bias and output, each once."""
        ends = self.n * (self.c * math.prod(self.space) + self.k * math.prod(self.out))
        return FLOAT * (ends + math.prod(self.weight_shape) + self.k)


def parse(text):
    """Parses a short problem text with one pad, stride and dilation (else ValueError); ignores epilogue, layout and accuracy class."""
    kind, *words = text.split()
    values = dict(word.split("=") for word in words)
    values = DEFAULTS | {key: int(value) for key, value in values.items() if key not in IGNORED}
    if kind not in ("conv", "convt"):
        raise ValueError(text)
    space, window = (tuple(values[key] for key in keys if key in values) for keys in ("dhw", "trs"))
    return Problem(kind, values["n"], values["c"], values["k"], space, window, *(values[key] for key in ("pad", "stride", "dilation", "groups")))


def write(p):
    """The problem's text."""
    rank = len(p.space)
    words = [p.kind, f"n={p.n}", f"c={p.c}", *(f"{key}={value}" for key, value in zip("dhw"[3 - rank:], p.space)), f"k={p.k}"]
    words += [f"{key}={value}" for key, value in zip("trs"[3 - rank:], p.window)]
    words += [f"{key}={getattr(p, key)}" for key in ("pad", "stride", "dilation", "groups") if getattr(p, key) != DEFAULTS[key]]
    return " ".join(words)


@dataclass(frozen=True)
class Subject:
    name: str
    group: str  # a group of layers.txt, "random", or "net"
    batch: int
    problem: str = ""  # empty for a network


def listed(patterns):
    """The layers whose name matches one of the patterns."""
    layers, group = [], ""
    for line in LIST.read_text().splitlines():
        if line.startswith("## "):
            group = line[3:]
        elif line and not line.startswith("#"):
            name, text = line.split(None, 1)
            if any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
                layers.append(Subject(name, group, 1, write(parse(text))))
    return layers


def networks(names, batches):
    return [Subject(f"{name} b{batch}", "net", batch) for batch in batches for name in names]


def draw(rng):
    """A random layer: sizes log-uniform, so that small and large ones are equally likely; odd and prime ones come by themselves."""
    def between(low, high):
        return min(high, int(math.exp(rng.uniform(math.log(low), math.log(high + 1)))))

    kind = "convt" if rng.random() < 0.1 else "conv"
    rank = rng.choices([1, 2, 3], [1, 12, 1])[0]
    width = between(5, {1: 400, 2: 400, 3: 48}[rank])
    space = tuple(max(5, width + rng.choice([0, 0, 0, -1, 1, width // 2])) for _ in range(rank))
    size = rng.choices([1, 2, 3, 4, 5, 7, 9, 11], [6, 1, 8, 1, 3, 2, 1, 1])[0]
    c, k = between(1, 2048), between(1, 2048)
    groups = 1
    chance = rng.random()
    if chance < 0.2:
        groups, k = c, c * rng.choices([1, 2, 3], [6, 1, 1])[0]
    elif chance < 0.35:
        groups = rng.choice([2, 4, 8, 16, 32])
        c, k = groups * between(1, 64), groups * between(1, 64)
    stride = rng.choices([1, 2, 3, 4], [10, 5, 1, 1])[0]
    dilation = rng.choices([1, 2, 3], [10, 1, 1])[0]
    pad = min(rng.choice([0, size // 2, dilation * (size // 2)]), size - 1 if kind == "convt" else size * dilation)
    return Problem(kind, between(1, 32), c, k, space, (size,) * rank, pad, stride, dilation, groups)


def drawn(count, seed, flop=4e9, size=2**28):
    """Random layers of at most so many operations, and bytes; at least a thousandth of the operations, so that a run is no mere call."""
    rng = random.Random(seed)
    layers = []
    while len(layers) < count:
        p = draw(rng)
        if min(p.out) >= 1 and flop / 1000 <= p.flop <= flop and p.bytes <= size:
            layers.append(Subject(write(p), "random", p.n, write(p)))
    return layers


def swept(text):
    """The points of a sweep: a problem of which one word has a range, `pad=0..8` or `w=200..260:4`, smallest first."""
    words = text.split()
    at, = [i for i, word in enumerate(words) if ".." in word]
    name, span = words[at].split("=")
    ends, _, step = span.partition(":")
    first, last = map(int, ends.split(".."))
    points = [(value, words[:at] + [f"{name}={value}"] + words[at + 1:]) for value in range(first, last + 1, int(step or 1))]
    return [Subject(f"{name}={value}", "sweep", 1, write(parse(" ".join(point)))) for value, point in points]
