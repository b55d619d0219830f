# SPDX-License-Identifier: Apache-2.0
"""A graph that PyTorch captured, as a model: its tensors and constants become inputs, all other arguments are known when it is exported."""

import contextlib
import warnings

import torch

from .torch_export import Exported, model_of
from .torch_lowering import functional_in_training


# Operators, functions and methods that change what has a gradient.
UNTOLD = frozenset("detach detach_ requires_grad_ _set_grad_enabled set_grad_enabled register_hook retain_grad backward grad".split())


class Refused(Exception):
    """Why a graph stays with PyTorch."""


class _Number:
    """Stands for a tensor of one number that the graph only takes the number of."""

    def __init__(self, value):
        self.value = value

    def item(self):
        return self.value


def _only_read(node):
    return bool(node.users) and all(user.op == "call_method" and user.target == "item" for user in node.users)


def _symbol(size):
    """The expression of a size that PyTorch leaves open; None for a number."""
    return size.node.expr if isinstance(size, torch.SymInt) else None


def size_of(size, sizes):
    """A size as a number. sizes: numbers of symbols, as Arguments.sizes gives them."""
    symbol = _symbol(size)
    return size if symbol is None else int(symbol.subs(sizes))


def _hint(size):
    return size if isinstance(size, int) else int(size.node.hint)


# --- what a graph's arguments are ---

class _Tensor:
    """An argument that is an input of the model: the index-th of them."""

    def __init__(self, index, meta):
        self.index = index
        self.shape = [_hint(size) for size in meta.shape]
        self.strides = [_hint(step) for step in meta.stride()]
        self.dtype = meta.dtype
        self.open = [dim for dim, size in enumerate(meta.shape) if _symbol(size) is not None]
        self.symbols = [_symbol(size) for size in meta.shape]

    def example(self):
        return torch.empty_strided(self.shape, self.strides, dtype=self.dtype).zero_()


def _kind(node, example):
    """What an argument is: "constant", "number", "size" or "tensor"."""
    if not isinstance(example, torch.Tensor):
        return "size" if isinstance(example, torch.SymInt) else "number"
    if isinstance(example, torch.nn.Parameter) or getattr(example, "_dynamo_static_input_type", None) is not None:
        return "constant"
    return "number" if example.ndim == 0 and _only_read(node) else "tensor"


class Arguments:
    """A graph's arguments: its tensors are inputs of the model, all else is known when the model is made."""

    def __init__(self, nodes, examples):
        self.kinds = [_kind(node, example) for node, example in zip(nodes, examples)]
        self.tensors, self.at = [], []  # inputs of the model, and their argument positions
        self.examples = examples
        for position, (node, kind) in enumerate(zip(nodes, self.kinds)):
            if kind == "tensor":
                self.tensors.append(_Tensor(len(self.tensors), node.meta["example_value"]))
                self.at.append(position)
        self.sources = {}  # sources of sizes: position -> (input, dimension)
        for position, kind in enumerate(self.kinds):
            if kind == "size":
                self._find(position, _symbol(examples[position]))
        self.constants = [position for position, kind in enumerate(self.kinds) if kind == "constant"]
        self.numbers = [position for position, kind in enumerate(self.kinds) if kind == "number"]

    def _find(self, position, symbol):
        for tensor in self.tensors:
            if symbol in tensor.symbols:
                self.sources[position] = (tensor.index, tensor.symbols.index(symbol))
                return
        self.kinds[position] = "number"  # a size of no input: the number itself counts

    def needs_gradient(self, graph):
        """For each result that is a tensor of the model: does PyTorch give it a gradient?"""
        output = next(node for node in graph.nodes if node.op == "output").args[0]
        metas = [result.meta.get("example_value") for result in output if isinstance(result, torch.fx.Node)]
        return [meta.requires_grad and meta.dtype.is_floating_point for meta in metas if isinstance(meta, torch.Tensor)]

    def sizes(self, values):
        """The numbers of the symbols in the shapes of inputs."""
        return {symbol: values[position].shape[dim] for tensor, position in zip(self.tensors, self.at) if position < len(values)
                for dim, symbol in enumerate(tensor.symbols) if symbol is not None and symbol.is_Symbol}

    def numbers_of(self, values):
        """The numbers that the model is made for."""
        return tuple(_number(values[position]) for position in self.numbers)


def _number(argument):
    if isinstance(argument, torch.SymInt):
        return _hint(argument)
    return argument.item() if isinstance(argument, torch.Tensor) else argument


class _Bound(torch.nn.Module):
    """A graph as a function of its tensors, then its constants."""

    def __init__(self, graph_module, arguments, values):
        super().__init__()
        self.graph_module = graph_module
        self.kinds = arguments.kinds
        self.sources = arguments.sources
        self.numbers = {}
        for position in arguments.numbers:
            value = values[position]
            self.numbers[position] = _Number(value.item()) if isinstance(value, torch.Tensor) else _number(value)

    def forward(self, *tensors):
        count = self.kinds.count("tensor")
        given = {"tensor": iter(tensors[:count]), "constant": iter(tensors[count:])}
        arguments = []
        for position, kind in enumerate(self.kinds):
            if kind in given:
                arguments.append(next(given[kind]))
            elif kind == "size":
                index, dim = self.sources[position]
                arguments.append(tensors[index].shape[dim])
            else:
                arguments.append(self.numbers[position])
        return tuple(result for result in self.graph_module(*arguments) if isinstance(result, torch.Tensor))


# --- what a graph returns ---

def results_of(graph, arguments, placeholders):
    """For each result of the graph: ("model", index), ("argument", position) or ("value", it)."""
    output = next(node for node in graph.nodes if node.op == "output").args[0]
    storages = {node.meta["example_value"].untyped_storage()._cdata for node in placeholders
                if isinstance(node.meta.get("example_value"), torch.Tensor)}
    results, count = [], 0
    for result in output:
        meta = result.meta.get("example_value") if isinstance(result, torch.fx.Node) else result
        if result in placeholders:
            results.append(("argument", placeholders.index(result)))
            count += isinstance(meta, torch.Tensor)
        elif isinstance(meta, torch.Tensor):
            if meta.untyped_storage()._cdata in storages:
                raise Refused("a result shares the memory of an input")
            results.append(("model", count))
            count += 1
        elif isinstance(result, torch.fx.Node):
            raise Refused(f"a result, {result}, is no tensor")
        else:
            results.append(("value", result))
    if not any(kind == "model" for kind, _ in results):
        raise Refused("it computes no tensor")
    return results


# --- the export ---

@contextlib.contextmanager
def _exporting():
    with torch._guards.tracing(None), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _program(graph_module, arguments, values):
    """The graph as torch.export has it, a function of its tensors and constants; and names for them."""
    constants = [values[position].detach() for position in arguments.constants]
    examples = (*(tensor.example() for tensor in arguments.tensors), *constants)
    shapes = [{dim: torch.export.Dim.AUTO for dim in tensor.open} for tensor in arguments.tensors] + [{} for _ in constants]
    bound = _Bound(graph_module, arguments, values)
    program = torch.export.export(bound, examples, dynamic_shapes=(tuple(shapes),), strict=False)
    return program, [f"x{i}" for i in range(len(arguments.tensors))], [f"c{i}" for i in range(len(constants))]


def export(graph_module, arguments, values):
    """The graph as an Exported: inputs x0, x1 ... are its tensors, constants c0, c1 ... its parameters and buffers. Raises Refused."""
    with _exporting():
        program, inputs, constants = _program(graph_module, arguments, values)
        signature = program.run_decompositions({}).graph_signature  # which alone lists changes in place
        if signature.buffers_to_mutate or signature.user_inputs_to_mutate:
            raise Refused("it changes a tensor in place (a module in training?)")
        return Exported(program, inputs, constants)


def _check_differentiable(graph):
    """Raises Refused if the graph says something about gradients that ONNX has no words for."""
    for node in graph.nodes:
        name = getattr(node.target, "__name__", str(node.target))
        if isinstance(node.target, torch._ops.HigherOrderOperator) or name in UNTOLD:
            raise Refused(f"{name} decides about gradients, and ONNX has no words for it")


def export_training(graph_module, arguments, values, options):
    """(the graph as a Model, the inputs that it changes in place). The Model's inputs are tensors x0, x1 ... and constants c0, c1 ..., without those
    that nothing reads; its first outputs are the new contents of changed inputs. Raises Refused."""
    _check_differentiable(graph_module.graph)
    with _exporting():
        program, inputs, constants = _program(graph_module, arguments, values)
        program = functional_in_training(program)
        names = [*inputs, *constants]
        signature = program.graph_signature
        changed = [signature.user_inputs.index(name) for name in signature.user_inputs_to_mutate.values()]
        for spec in signature.output_specs:
            if spec.kind == torch.export.graph_signature.OutputKind.USER_INPUT_MUTATION:
                spec.kind, spec.target = torch.export.graph_signature.OutputKind.USER_OUTPUT, None
        program.module_call_graph[0].signature.out_spec = torch.utils._pytree.tree_structure((0,) * len(signature.output_specs))
        return model_of(program, names, options), changed
