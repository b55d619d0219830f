# SPDX-License-Identifier: Apache-2.0
"""torch.compile(model, backend="rynd"): inference by rynd, graph by graph.

A graph that PyTorch captures is exported once, with the sizes open that PyTorch calls dynamic, and rynd plans for each shape that comes. Weights
are frozen into the plan; each call looks whether they are still the same (their addresses and versions), and exports anew where they are not.
The first call of what was exported runs by PyTorch, too, and compares: an exporter may leave out what ONNX has no words for.
A graph that rynd cannot run stays with PyTorch, and a StaysWithPyTorch warning says so once, with the reason.

    compiled = torch.compile(network, backend="rynd", options={"threads": 2, "accuracy": "strict"})

options: device, threads, accuracy, isa, profile, wisdom, frozen, as for rynd.load. Installed packages are found by PyTorch; from a folder, `import rynd.torch_backend`
makes the name known. Needs PyTorch 2.6 and the packages onnx and onnxscript.
"""

import warnings

import torch

from .errors import ArgumentError
from .torch_export import differs, dynamo_exporter, exported_model, reason

OPTIONS = ("device", "threads", "accuracy", "isa", "profile", "wisdom", "frozen")
MOST_EXPORTS = 4  # per graph: weights that change at every call are no constants


class StaysWithPyTorch(UserWarning):
    """A graph that rynd does not run: the message has the reason."""


class _Refused(Exception):
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


class _Arguments:
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

    def key(self, arguments):
        """The model's key besides shapes: another key, another model."""
        key = [(arguments[position].data_ptr(), _version(arguments[position])) for position in self.constants]
        key += [_number(arguments[position]) for position in self.numbers]
        return key


def _version(tensor):
    return 0 if tensor.is_inference() else tensor._version


def _number(argument):
    if isinstance(argument, torch.SymInt):
        return _hint(argument)
    return argument.item() if isinstance(argument, torch.Tensor) else argument


class _Bound(torch.nn.Module):
    """A graph as a function of its tensors alone."""

    def __init__(self, graph_module, arguments, values):
        super().__init__()
        self.graph_module = graph_module
        self.arguments = arguments
        self.numbers = {}
        for position in arguments.constants:
            self.register_buffer(f"constant_{position}", values[position].detach())
        for position in arguments.numbers:
            value = values[position]
            self.numbers[position] = _Number(value.item()) if isinstance(value, torch.Tensor) else _number(value)

    def forward(self, *tensors):
        given = []
        for position, kind in enumerate(self.arguments.kinds):
            if kind == "tensor":
                given.append(tensors[self.arguments.at.index(position)])
            elif kind == "constant":
                given.append(getattr(self, f"constant_{position}"))
            elif kind == "size":
                index, dim = self.arguments.sources[position]
                given.append(tensors[index].shape[dim])
            else:
                given.append(self.numbers[position])
        return tuple(result for result in self.graph_module(*given) if isinstance(result, torch.Tensor))


# --- what a graph returns ---

def _results(graph, arguments, placeholders):
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
                raise _Refused("a result shares the memory of an input")
            results.append(("model", count))
            count += 1
        elif isinstance(result, torch.fx.Node):
            raise _Refused(f"a result, {result}, is no tensor")
        else:
            results.append(("value", result))
    if not any(kind == "model" for kind, _ in results):
        raise _Refused("it computes no tensor")
    return results


# --- the compiled graph ---

def _refuse_at_once(examples):
    tensors = [example for example in examples if isinstance(example, torch.Tensor)]
    if not dynamo_exporter():
        raise _Refused("PyTorch's exporter to ONNX needs PyTorch 2.6 and the package onnxscript")
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        raise _Refused("gradients are wanted: call it under torch.no_grad() or torch.inference_mode()")
    for tensor in tensors:
        if tensor.device.type != "cpu":
            raise _Refused(f"a tensor is on {tensor.device}, and rynd takes those of the CPU")


def _exported(graph_module, arguments, values):
    bound = _Bound(graph_module, arguments, values)
    shapes = (tuple({dim: torch.export.Dim.AUTO for dim in tensor.open} for tensor in arguments.tensors),)
    examples = tuple(tensor.example() for tensor in arguments.tensors)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(bound, examples, dynamic_shapes=shapes, strict=False)
    signature = program.run_decompositions({}).graph_signature  # only then does it tell of what changes in place
    if signature.buffers_to_mutate or signature.user_inputs_to_mutate:
        raise _Refused("it changes a tensor in place (a module in training?)")
    return program


class _Compiled:
    """A graph by rynd; by PyTorch from the first failure on."""

    def __init__(self, graph_module, examples, options):
        self.graph_module = graph_module
        self.options = options
        placeholders = [node for node in graph_module.graph.nodes if node.op == "placeholder"]
        self.arguments = _Arguments(placeholders, examples)
        self.results = _results(graph_module.graph, self.arguments, placeholders)
        self.exports = 0
        self._make(examples)

    def _make(self, values):
        self.exports += 1
        if self.exports > MOST_EXPORTS:
            raise _Refused("its weights or numbers change from call to call")
        with torch._guards.tracing(None), torch.no_grad():
            program = _exported(self.graph_module, self.arguments, values)
            names = [f"x{tensor.index}" for tensor in self.arguments.tensors]
            self.model = exported_model(program, self.options, input_names=names)
        self.inputs = [names.index(value.name) for value in self.model.inputs]  # the exporter drops those that nothing reads
        self.key = self.arguments.key(values)
        self.compared = False

    def plan(self):
        """Plans for the shapes that the graph was captured with."""
        self._run([tensor.example() for tensor in self.arguments.tensors])

    def _run(self, tensors):
        results = self.model(*[tensors[index].detach() for index in self.inputs])
        return results if isinstance(results, tuple) else (results,)

    def _compare(self, values, computed):
        expected = self.graph_module(*values)
        for (kind, what), theirs in zip(self.results, expected):
            if kind == "model" and differs(torch.from_dlpack(computed[what]), theirs, self.options.get("accuracy")):
                raise _Refused("as PyTorch exports it, it computes other results than PyTorch")
        self.compared = True

    def __call__(self, *values):
        if self.model is None:
            return self.graph_module(*values)
        try:
            if self.arguments.key(values) != self.key:
                self._make(values)
            computed = self._run([values[position] for position in self.arguments.at])
            if not self.compared:
                self._compare(values, computed)
        except Exception as error:
            _say(self.graph_module, error)
            self.model = None
            return self.graph_module(*values)
        made = {"model": lambda index: torch.from_dlpack(computed[index]), "argument": values.__getitem__, "value": lambda value: value}
        return tuple(made[kind](what) for kind, what in self.results)


def _say(graph_module, error):
    operators = sum(node.op.startswith("call") for node in graph_module.graph.nodes)
    warnings.warn(f"a graph of {operators} operations stays with PyTorch: {reason(error)}", StaysWithPyTorch, stacklevel=2)


def compile_graph(graph_module, example_inputs, *, options=None, mode=None):
    """Compiles a graph for torch.compile: returns a function of the graph's arguments."""
    unknown = [name for name in options or {} if name not in OPTIONS]
    if unknown:
        raise ArgumentError(f"options has {unknown[0]!r}: rynd's are {', '.join(OPTIONS)}")
    if mode not in (None, "default"):
        raise ArgumentError(f"mode {mode!r}: backend rynd has none; leave it away")
    try:
        _refuse_at_once(example_inputs)
        compiled = _Compiled(graph_module, example_inputs, dict(options or {}))
        compiled.plan()
        return compiled
    except Exception as error:
        _say(graph_module, error)
        return graph_module.forward


if hasattr(torch, "compile"):
    from torch._dynamo import list_backends, register_backend
    if "rynd" not in list_backends(exclude_tags=()):
        register_backend(compile_graph, name="rynd")
