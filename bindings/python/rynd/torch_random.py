# SPDX-License-Identifier: Apache-2.0
"""Random numbers of a captured graph as further inputs: PyTorch's generator draws them at each call, in the order and with the numbers of eager code."""

import torch
from torch.nn import functional

FEATURES = (functional.dropout1d, functional.dropout2d, functional.dropout3d, torch.feature_dropout)


class _Drawn:
    """Stands for the value of a drawn tensor where a graph's argument is described."""

    def __init__(self, shape, dtype):
        self.shape = tuple(shape)
        self.dtype = dtype

    def stride(self):
        strides = [1]
        for size in reversed(self.shape[1:]):
            strides.insert(0, strides[0] * size)
        return tuple(strides[:len(self.shape)])


class Draw:
    """Zeros and ones by a probability; scaled, the mean is 1. `meta` has shape and dtype."""

    def __init__(self, shape, dtype, keep, scaled):
        self.meta = _Drawn(shape, dtype)
        self.keep = keep
        self.scaled = scaled

    def tensor(self, shape):
        if self.keep == 0:
            return torch.zeros(shape, dtype=self.meta.dtype)
        drawn = torch.empty(shape, dtype=self.meta.dtype).bernoulli_(self.keep)
        return drawn.div_(self.keep) if self.scaled else drawn


def _argument(node, position, name, default):
    return node.args[position] if len(node.args) > position else node.kwargs.get(name, default)


def _dropout(node):
    """The Draw of a dropout; None for another node."""
    if node.op != "call_function" or node.target not in (functional.dropout, torch.dropout, torch.dropout_, *FEATURES):
        return None
    share = _argument(node, 1, "p", 0.5)
    training = _argument(node, 2, "training", _argument(node, 2, "train", True))
    if training is not True or not isinstance(share, (int, float)) or share == 0:
        return None
    meta = _argument(node, 0, "input", None).meta["example_value"]
    shape = tuple(meta.shape)
    if node.target in FEATURES:
        if len(shape) < 3 or (node.target, len(shape)) in ((functional.dropout1d, 2), (functional.dropout2d, 3), (functional.dropout3d, 4)):
            return None  # without a batch: it stays random, and with PyTorch
        shape = shape[:2] + (1,) * (len(shape) - 2)
    return Draw(shape, meta.dtype, 1 - share, True)


def _bernoulli(node):
    """The Draw of tensor.bernoulli_(p); None for another node."""
    if node.op != "call_method" or node.target != "bernoulli_" or not isinstance(_argument(node, 1, "p", 0.5), (int, float)):
        return None
    if "generator" in node.kwargs:
        return None
    meta = node.args[0].meta["example_value"]
    return Draw(meta.shape, meta.dtype, _argument(node, 1, "p", 0.5), False)


def _replace(graph, node, noise):
    with graph.inserting_before(node):
        if node.op == "call_method":
            made = graph.call_method("copy_", (node.args[0], noise))
        else:
            in_place = node.target is torch.dropout_ or _argument(node, 3, "inplace", False) is True
            made = graph.call_method("mul_" if in_place else "mul", (_argument(node, 0, "input", None), noise))
    made.meta = dict(node.meta)
    node.replace_all_uses_with(made)
    graph.erase_node(node)


def draw_outside(graph_module):
    """(a copy of the graph module with drawn tensors as further arguments, their Draws)."""
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(graph_module.graph, {}))
    draws = []
    for node in list(graph.nodes):
        draw = _dropout(node) or _bernoulli(node)
        if draw is None:
            continue
        last = [other for other in graph.nodes if other.op == "placeholder"][-1]
        with graph.inserting_after(last):
            noise = graph.placeholder(f"drawn_{len(draws)}")
        noise.meta["example_value"] = draw.meta
        _replace(graph, node, noise)
        draws.append(draw)
    return torch.fx.GraphModule(graph_module, graph), draws
