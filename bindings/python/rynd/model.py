# SPDX-License-Identifier: Apache-2.0
"""Models: an ONNX file, ready to be called."""

import os
from collections import namedtuple

from . import _rynd
from .context import accuracy_number, context
from .errors import MissingFileError, ShapeError
from .gradients import Gradient
from .parts import Part, Value
from .plan import Plan, description
from .table import table
from .tuning import Tuning, weights_number

Weights = namedtuple("Weights", "packed derived unused_packed unused_derived keep")
Weights.__doc__ = """Bytes of weights that the plans of a model share: `packed` for kernels, `derived` from the model's constants by folding;
those of them that no plan reads; and how many of each stay then."""
Node = namedtuple("Node", "name op source inputs outputs")
Node.__doc__ = """A node as rynd reads it: `op` is rynd's operator, `source` the ONNX operator it came from."""

Parameter = namedtuple("Parameter", "name dtype shape node")
Parameter.__doc__ = """A parameter of a model: an initialiser of floats, and the first node that reads it."""

Quantization = namedtuple("Quantization", "form layers quantized per_channel weights activations")
Quantization.__doc__ = """How a model is quantised: `form` is "QDQ", "QOperator", "integer" or "mixed"; numbers of all layers (convolutions and products), of
quantised ones, and of those with a scale per output channel; types of weights and activations (None: several, or float32)."""


def _shape_text(shape):
    return "?" if shape is None else "x".join(str(extent) for extent in shape) or "scalar"


class Model(_rynd.Caller):
    """An ONNX model. Called with arrays it plans once for their shapes (and strides) and runs.

        y = model(x)                 # one input
        y = model(a, b)              # several, in the model's order
        y = model(ids=a, mask=b)     # or by name; model({"ids": a}) where names are no identifiers

    Arrays are numpy's, PyTorch's or any others with the buffer protocol or DLPack; they are not copied. The result is an Array, or a tuple
    of them where the model has several outputs. Several threads may call one model at once. Made by rynd.load.
    """

    def __new__(cls, source, device=None, threads=None, accuracy=None, isa=None, machine=None, wisdom=None, frozen=None, own_weights=None):
        source = _source(source)
        options = {"device": device, "threads": threads, "isa": isa, "machine": machine, "wisdom": wisdom, "frozen": frozen}
        accuracy_number(accuracy)
        native = _rynd.Model(context(**options), source)
        self = super().__new__(cls, native)
        self._source = source
        self._options = options
        self._accuracy = accuracy
        self._own_weights = own_weights
        self._native = {tuple(options.values()): native}
        self._changes = []  # metadata that set_metadata() set
        self._plans = {}
        return self

    def __init__(self, *args, **kwargs):
        self.inputs = [Value(*value) for value in self._first().inputs()]
        self.outputs = [Value(*value) for value in self._first().outputs()]

    def _first(self):
        return next(iter(self._native.values()))

    def _model_for(self, options):
        """The file as loaded for a device, threads and instruction set."""
        key = tuple(options.values())
        if key not in self._native:
            self._native[key] = _rynd.Model(context(**options), self._source)
            for change in self._changes:
                self._native[key].set_metadata(*change)
        return self._native[key]

    # --- what it is ---

    @property
    def info(self):
        """Facts as a dict: name, producer, ir_version, opset, parameters, macs, nodes, operators."""
        return self._first().info()

    @property
    def metadata(self):
        """The file's metadata, as a new dict of texts: `names`, `rynd.pictures` and what other programs wrote."""
        return self._first().metadata()

    def set_metadata(self, key, value):
        """Sets a text of the metadata, for files that save() and trainers write later; None removes the key."""
        self._changes.append((key, value))
        for native in self._native.values():
            native.set_metadata(key, value)

    @property
    def quantization(self):
        """How the model is quantised: a Quantization; None: it is not."""
        facts = self._first().quantization()
        return facts and Quantization(*facts)

    @property
    def nodes(self):
        """All nodes, as a list of Node."""
        return [Node(*node) for node in self._first().nodes()]

    @property
    def parameters(self):
        """What training changes, by the names that patterns of `freeze` and `train_only` match, as a list of Parameter."""
        return [Parameter(*parameter) for parameter in self._first().parameters()]

    @property
    def path(self):
        """The file; None for a model of memory."""
        return self._source if isinstance(self._source, str) else None

    def __repr__(self):
        return f"rynd.Model({os.path.basename(self.path) if self.path else f'{len(self._source)} bytes'!r})"

    def __str__(self):
        info = self.info
        rows = [["input", *_row(value)] for value in self.inputs] + [["output", *_row(value)] for value in self.outputs]
        operators = ", ".join(f"{name} {count}" for name, count in sorted(info["operators"].items(), key=lambda item: -item[1]))
        return "\n".join([
            f"{self!r}: {info['nodes']} nodes, {info['parameters']:,} parameters, "
            + (f"{info['macs']:,} multiply-adds" if info["macs"] >= 0 else "multiply-adds depend on data"),
            table(["", "name", "type", "shape"], rows),
            f"operators: {operators}",
        ])

    @property
    def weights(self):
        """Memory of the weights that the plans share, as Weights (docs/shapes.md)."""
        counts = [native.weights() for native in self._native.values()]
        return Weights(*(sum(column) for column in zip(*counts)))

    def keep_weights(self, size):
        """Sets how many bytes of packed weights, and of derived ones, stay when no plan reads them; before: the size of the model's constants.

        0 frees all that no plan reads. Plans for the last shapes are kept by the model; forget() drops them.
        """
        for native in self._native.values():
            native.keep(size)

    def forget(self):
        """Drops the plans and sessions that calls of the model have kept for their shapes."""
        self._plans.clear()
        self._forget()

    # --- plans ---

    def plan(self, batch=None, dims=None, inputs=None, accuracy=None, device=None, threads=None, isa=None, machine=None, settings=None,
             weights=True, progress=None, wisdom=None, frozen=None, own_weights=None):
        """Makes a plan: every decision, before anything runs.

        batch: the first dimension of every input that leaves it open.
        dims: sizes of open dimensions by name, {"height": 224}.
        inputs: arrays, or (dtype, shape) or (dtype, shape, strides in elements), by name: the shapes to plan for. The plan reads arrays in the
            strides that are given here without copying them.
        accuracy: "strict", "near32", "tf32", "bf16"; what rynd.load was given otherwise.
        device, threads, isa, machine, wisdom, frozen: likewise.
        settings: own choices of kernels and knobs by step, {"conv1": {"kernel": "conv_fwd_f32_winograd_avx512", "points_h": 6}}.
        weights: False leaves weights unpacked: the plan can be looked at, not run.
        progress: called with what is done and how much there is; True shows a bar where tqdm is installed.
        own_weights: bytes; a model with more reads its weights as its first plan packed them (docs/shapes.md). None: 2 MiB, or what
            rynd.load was given. -1: no bound; every plan has the kernels that are best for its shape.

        Raises ShapeError where a dimension is left open, UnsupportedError, NotFoundError (a dimension or step), OutOfMemoryError.
        """
        options = {name: own if own is not None else self._options[name]
                   for name, own in (("device", device), ("threads", threads), ("isa", isa), ("machine", machine), ("wisdom", wisdom),
                                     ("frozen", frozen))}
        return Plan(self._model_for(options), accuracy_number(accuracy or self._accuracy), batch or 0, dims or {},
                    self._descriptions(inputs), settings or {}, weights, progress, self._own(own_weights))

    def tune(self, budget=0.0, batch=None, dims=None, inputs=None, seed=1, weights=None, settings=None, keep=True, progress=None,
             energy=False):
        """Measures the fastest plan, kernels and forms, and returns a Tuning (see rynd.tune).

        budget: seconds; 0: 20 at most.
        batch, dims, inputs, settings: of the plan, as in `plan`; steps that have settings of their own are not tuned, nor is a plan that has ("plan").
        weights, keep, progress, energy: as in rynd.tune.

        Plans that are made later take what was found, and so do later calls of this model; plans and sessions that are there already stay as
        they are.
        """
        choices = [(step, knob, str(value)) for step, knobs in (settings or {}).items() for knob, value in knobs.items()]
        tuning = Tuning(*_rynd.tune_model(self._model_for(self._options), accuracy_number(self._accuracy), batch or 0, list((dims or {}).items()),
                                          self._descriptions(inputs), choices, float(budget), seed, weights_number(weights), keep, energy, progress))
        self.forget()
        return tuning

    def part(self, inputs, outputs, batch=None, dims=None):
        """Makes a Part: the nodes that compute some values (outputs, by name) from others (inputs), planned and run like a model.

        batch, dims: as plan() has them; its shapes are fixed.
        Raises NotFoundError (no such value), ArgumentError (outputs need more than the inputs), ShapeError (a dimension is open).
        """
        return Part(self._first().part(list(inputs), list(outputs), batch or 0, list((dims or {}).items())), self._accuracy)

    def gradient(self, inputs, outputs=None, batch=None, dims=None):
        """Makes a Gradient: a model of this model's outputs, and of gradients of inputs by gradients of outputs.

        inputs: names of inputs and initializers whose gradients are computed; such an initializer becomes an input.
        outputs: names of outputs whose gradients are given; None: all of floating-point types.
        batch, dims: as plan() has them; its shapes are fixed.
        Raises NotFoundError (no such input or output), ArgumentError (a name twice, or of integers), ShapeError (a dimension is open),
        UnsupportedError (an operator without a gradient, by name).
        """
        outputs = None if outputs is None else list(outputs)
        return Gradient(self._first().gradient(list(inputs), outputs, batch or 0, list((dims or {}).items())), self._accuracy)

    def save(self, path=None, tensors=None):
        """Writes the model's ONNX file with other values of some constants.

        path: the file, written whole or not at all; None returns its bytes in place of writing them.
        tensors: arrays by the name of an initializer (or of a Constant node's output), of its type and shape.

        What rynd does not read (metadata, documentation) stays as it is; weights that were in other files are inside, or, above 2 GiB, in
        "<path>.data" beside it.
        Raises NotFoundError (no such constant), ShapeError, FileError.
        """
        tensors = dict(tensors or {})
        if path is None:
            return self._first().save_memory(tensors)
        return self._first().save(os.fspath(path), tensors)

    def new_head(self, classes, seed=0):
        """A model with another last layer, to be trained on other classes: the weights of the last product are random, its bias is 0.

        seed: the same seed and sizes give the same weights.
        Raises UnsupportedError (naming the node that is in the way), ArgumentError.
        """
        return Model(self._first().new_head(classes, seed), accuracy=self._accuracy, own_weights=self._own_weights, **self._options)

    def _own(self, own_weights):
        own = own_weights if own_weights is not None else self._own_weights
        return 0 if own is None else max(1, own) if own >= 0 else -1

    def _descriptions(self, inputs):
        if inputs is None:
            return None
        known = [value.name for value in self.inputs]
        unknown = [name for name in inputs if name not in known]
        if unknown:
            from .errors import NotFoundError
            raise NotFoundError(f"the model has no input {unknown[0]!r}: its inputs are {', '.join(map(repr, known))}")
        return [None if name not in inputs else description(inputs[name]) for name in known]

    def _session_for(self, tensors):
        """A session for tensors of these (dtype, shape, strides): called where no kept one is idle."""
        plan = self._plans.pop(tensors, None)
        if plan is None:
            for value, (dtype, shape, _) in zip(self.inputs, tensors):
                _check(value, dtype, shape)
            if len(self._plans) >= 16:
                del self._plans[next(iter(self._plans))]
            plan = Plan(self._model_for(self._options), accuracy_number(self._accuracy), 0, {}, list(tensors), {}, True, None, self._own(None))
        self._plans[tensors] = plan  # the last used is the last
        return plan.session()

    # --- pickling, for other processes: the file's content goes along ---

    def __reduce__(self):
        return _restore, (_content(self._source), self._options, self._accuracy, self._own_weights)


def _row(value):
    return [value.name, value.dtype, _shape_text(value.shape)]


def _check(value, dtype, shape):
    if value.dtype not in ("none", dtype):
        raise ShapeError(f"input '{value.name}' is of {value.dtype}, and {dtype} was given")
    if value.shape is not None and len(value.shape) != len(shape):
        raise ShapeError(f"input '{value.name}' has {len(value.shape)} dimensions ({_shape_text(value.shape)}), and {len(shape)} were given "
                         f"({_shape_text(shape)})")


def _source(source):
    """A path as str, or the content of a file as bytes."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source)
    path = os.fspath(source)
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if not os.path.exists(path):
        raise MissingFileError(f"{path}: there is no such file")
    return path


def _content(source):
    """What a model is restored from: its bytes, or the path where weights lie in files of their own, which bytes do not find."""
    if isinstance(source, bytes):
        return source
    with open(source, "rb") as file:
        content = file.read()
    try:
        _rynd.Model(context(), content)
        return content
    except Exception:
        return os.path.abspath(source)


def _restore(source, options, accuracy, own_weights=None):
    return Model(source, accuracy=accuracy, own_weights=own_weights, **options)


def load(source, device=None, threads=None, accuracy=None, isa=None, machine=None, wisdom=None, frozen=None, own_weights=None):
    """Loads an ONNX model from a path, or from bytes.

    device: "cpu", "opencl", "opencl:1", "cuda"; RYND_DEVICE or "cpu" otherwise.
    threads: how many; RYND_THREADS or all processors otherwise.
    accuracy: the loosest arithmetic that plans may use: "strict", "near32" (the default), "tf32", "bf16".
    isa: the best instruction set to use: "generic", "avx2", "avx512".
    machine: a file of a machine's measured rates, to plan for that machine.
    wisdom: the file of measured records that kernels are chosen by, or "off"; RYND_WISDOM, or the user's own otherwise (docs/tuning.md).
    frozen: True takes them as they are now, and never writes any.
    own_weights: as in Model.plan, for calls of the model and for plans that say nothing else.

    Raises MissingFileError, FileError, FormatError (file, node, value), UnsupportedError (every operator that rynd lacks), ShapeError,
    DeviceError (the device is not there), OutOfMemoryError.
    """
    return Model(source, device=device, threads=threads, accuracy=accuracy, isa=isa, machine=machine, wisdom=wisdom, frozen=frozen,
                 own_weights=own_weights)
