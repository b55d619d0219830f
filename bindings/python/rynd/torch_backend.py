# SPDX-License-Identifier: Apache-2.0
"""torch.compile(model, backend="rynd"): inference and training by rynd, graph by graph.

A graph that PyTorch captures is exported once, with the sizes open that PyTorch calls dynamic, and rynd plans for each shape that comes. Weights
are constants of the plan. Each call reads them to see whether somebody wrote to them, and loads them again if so; while they change from call to call,
PyTorch runs the graph. weights="frozen" promises that nobody writes to them, and saves the reading.
A graph that needs gradients reads its weights anew in each call (torch_training.py).
The first call of an exported graph runs by PyTorch, too, and compares: an exporter may drop what ONNX has no operator for.
A graph that rynd cannot run stays with PyTorch, and a StaysWithPyTorch warning says so once, with the reason.

    compiled = torch.compile(network, backend="rynd", options={"threads": 2, "accuracy": "strict"})

options: device, threads, accuracy, isa, machine, wisdom, frozen, as for rynd.load; weights, "watched" (default) or "frozen". Installed packages are found by PyTorch; from a folder, `import rynd.torch_backend`
makes the name known. Needs PyTorch 2.6 and the packages onnx and onnxscript.
"""

import warnings

import torch

from .errors import ArgumentError
from .operators import Op
from .torch_export import differs, dynamo_exporter, reason
from .torch_graph import Arguments, Refused, export, results_of
from .torch_training import TrainedGraph
from .torch_weights import Watch

OPTIONS = ("device", "threads", "accuracy", "isa", "machine", "wisdom", "frozen")
WEIGHTS = ("watched", "frozen")
MOST_NUMBERS = 8  # models per graph, one for each combination of its Python numbers
MANY_NUMBERS = f"its numbers have more than {MOST_NUMBERS} combinations of values: further ones run by PyTorch"


class StaysWithPyTorch(UserWarning):
    """A graph that rynd does not run: the message has the reason."""


def _refuse_at_once(examples):
    tensors = [example for example in examples if isinstance(example, torch.Tensor)]
    if not dynamo_exporter():
        raise Refused("PyTorch's exporter to ONNX needs PyTorch 2.6 and the package onnxscript")
    for tensor in tensors:
        if tensor.device.type != "cpu":
            raise Refused(f"a tensor is on {tensor.device}, and rynd takes those of the CPU")


class _ByNumbers:
    """The model of a graph for one combination of numbers."""

    def __init__(self, exported):
        self.exported = exported
        self.model = None
        self.state = None  # the state of the weights in the model
        self.compared = False

    def load(self, constants, state, options):
        self.model = self.exported.model(constants, options)
        self.inputs = [int(value.name[1:]) for value in self.model.inputs]  # the exporter drops inputs that nothing reads
        self.state = state

    def run(self, tensors):
        results = self.model(*[tensors[index].detach().resolve_neg() for index in self.inputs])
        return results if isinstance(results, tuple) else (results,)


class _Compiled:
    """A graph by rynd; by PyTorch from the first failure on."""

    def __init__(self, graph_module, examples, options):
        self.graph_module = graph_module
        self.options = options
        placeholders = [node for node in graph_module.graph.nodes if node.op == "placeholder"]
        self.arguments = Arguments(placeholders, examples)
        self.results = results_of(graph_module.graph, self.arguments, placeholders)
        self.watch = None if self.options.pop("weights", "watched") == "frozen" else Watch()
        self.models = {}  # numbers -> _ByNumbers
        self.failed = False
        self.said = set()

    def plan(self, examples):
        """Plans for the shapes that the graph was captured with."""
        self._settled_model(examples).run([tensor.example() for tensor in self.arguments.tensors])

    def _model(self, values):
        numbers = self.arguments.numbers_of(values)
        if numbers not in self.models:
            if len(self.models) >= MOST_NUMBERS:
                self._say_once(MANY_NUMBERS)
                return None
            self.models[numbers] = _ByNumbers(export(self.graph_module, self.arguments, values))
        return self.models[numbers]

    def _settled_model(self, values):
        """The model with the weights of now; None where PyTorch shall run this call."""
        constants = [values[position] for position in self.arguments.constants]
        state = self.watch.state(constants) if self.watch else "frozen"
        if self.watch and not self.watch.settles(state):
            self._say_once("its weights change from call to call: PyTorch runs it until they stay")
            return None
        model = self._model(values)
        if model and model.state != state:
            model.load(constants, state, self.options)
        return model

    def _say_once(self, why):
        if why not in self.said:
            self.said.add(why)
            _say(self.graph_module, why)

    def _compare(self, values, computed):
        expected = self.graph_module(*values)
        for (kind, what), theirs in zip(self.results, expected):
            if kind == "model" and differs(torch.from_dlpack(computed[what]), theirs, self.options.get("accuracy")):
                raise Refused("as PyTorch exports it, it computes other results than PyTorch")

    def __call__(self, *values):
        try:
            model = None if self.failed else self._settled_model(values)
            if model:
                computed = model.run([values[position] for position in self.arguments.at])
                if not model.compared:
                    self._compare(values, computed)
                    model.compared = True
        except Exception as error:
            _say(self.graph_module, reason(error))
            self.failed, model = True, None
        if not model:
            return self.graph_module(*values)
        made = {"model": lambda index: torch.from_dlpack(computed[index]), "argument": values.__getitem__, "value": lambda value: value}
        return tuple(made[kind](what) for kind, what in self.results)


class _Trained:
    """A graph with gradients by rynd; by PyTorch from the first failure on."""

    def __init__(self, graph_module, examples, options):
        options.pop("weights", None)
        self.graph_module = graph_module
        self.make = lambda: TrainedGraph(graph_module, examples, options)
        self.graphs = {}  # numbers -> TrainedGraph
        self.numbers_of = self.make().arguments.numbers_of
        self.failed = self.said = False

    def _graph(self, values):
        """The graph for the Python numbers of now; None beyond the bound."""
        numbers = self.numbers_of(values)
        if numbers not in self.graphs:
            if len(self.graphs) >= MOST_NUMBERS:
                if not self.said:
                    _say(self.graph_module, MANY_NUMBERS)
                self.said = True
                return None
            graph = self.make()
            graph.prepare(values)
            self.graphs[numbers] = graph
        return self.graphs[numbers]

    def __call__(self, *values):
        call = None
        try:
            if not self.failed and torch.is_grad_enabled():
                graph = self._graph(values)
                call = graph.begin(values) if graph else None
        except Exception as error:
            self.failed = True
            self.graphs.clear()
            _say(self.graph_module, reason(error))
        return call() if call else self.graph_module(*values)


def _say(graph_module, why):
    operators = sum(node.op.startswith("call") for node in graph_module.graph.nodes)
    warnings.warn(f"a graph of {operators} operations stays with PyTorch: {why}", StaysWithPyTorch, stacklevel=2)


def _check_options(options, mode):
    unknown = [name for name in options if name not in (*OPTIONS, "weights")]
    if unknown:
        raise ArgumentError(f"options has {unknown[0]!r}: rynd's are {', '.join((*OPTIONS, 'weights'))}")
    if mode not in (None, "default"):
        raise ArgumentError(f"mode {mode!r}: backend rynd has none; omit it")
    if options.get("weights", "watched") not in WEIGHTS:
        raise ArgumentError(f"weights {options['weights']!r}: give one of {', '.join(WEIGHTS)}")
    given = {name: value for name, value in options.items() if name != "weights"}
    Op("softmax x0=1x1:f32 y0=1x1:f32 axis=1", **given)  # a wrong value is an error here, not a graph that stays with PyTorch


def compile_graph(graph_module, example_inputs, *, options=None, mode=None):
    """Compiles a graph for torch.compile: returns a function of the graph's arguments."""
    options = dict(options or {})
    _check_options(options, mode)
    try:
        _refuse_at_once(example_inputs)
        if torch.is_grad_enabled() and any(isinstance(example, torch.Tensor) and example.requires_grad for example in example_inputs):
            return _Trained(graph_module, example_inputs, options)
        compiled = _Compiled(graph_module, example_inputs, options)
        compiled.plan(example_inputs)
        return compiled
    except Exception as error:
        _say(graph_module, reason(error))
        return graph_module.forward


if hasattr(torch, "compile"):
    from torch._dynamo import list_backends, register_backend
    if "rynd" not in list_backends(exclude_tags=()):
        register_backend(compile_graph, name="rynd")
