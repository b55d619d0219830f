# SPDX-License-Identifier: Apache-2.0
"""Training: steps of a model by a loss and an optimizer."""

import os
from collections import namedtuple

from . import _rynd
from .candidates import Prediction
from .context import accuracy_number
from .errors import ArgumentError
from .model import Model, load
from .plan import Profile, Step

LOSSES = ("cross_entropy", "mse", "l1", "charbonnier", "bce", "detection")
OPTIMIZERS = ("sgd", "adam", "adamw")
INITS = ("model", "he", "uniform")
DROPOUTS = ("model", "off")
STORAGES = ("f32", "bf16")
KINDS = ("parameter", "statistic", "optimizer")

State = namedtuple("State", "name kind dtype shape")
State.__doc__ = """State that lives from step to step: `kind` is "parameter", "statistic" (a running mean or variance) or "optimizer"."""

Bucket = namedtuple("Bucket", "bytes made awaited")
Bucket.__doc__ = """What ranks add up at once: it is there behind `made` steps, and step `awaited` waits for the sums (as many as there are: none does)."""


def _number(what, name, names):
    if name not in names:
        raise ArgumentError(f"{what}: there is no '{name}', only {', '.join(names)}")
    return names.index(name)


def _limit(memory_limit):
    """Bytes, of which the extension's 0 is any number."""
    if memory_limit is not None and memory_limit < 1:
        raise ArgumentError(f"memory_limit is {memory_limit}: give bytes, or None")
    return memory_limit or 0


def _layers(train_last):
    """Layers, of which the extension's 0 is all."""
    if train_last is not None and train_last < 1:
        raise ArgumentError(f"train_last is {train_last}: give a number of layers, or None")
    return train_last or 0


def _patterns(given):
    return [given] if isinstance(given, str) else list(given)


def _list(inputs, model):
    if isinstance(inputs, dict):
        missing = [value.name for value in model.inputs if value.name not in inputs]
        if missing:
            raise ArgumentError(f"inputs: '{missing[0]}' is missing")
        return [inputs[value.name] for value in model.inputs]
    return list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]


class Trainer(_rynd.Trainer):
    """Trains a model, in memory of its own: docs/training.md. One thread at a time.

        trainer = rynd.Trainer("network.onnx", loss="cross_entropy", optimizer="sgd", momentum=0.9, batch=32)
        loss = trainer.step(x, labels, learning_rate=0.01)

    model: a Model, or what rynd.load takes.
    loss: "cross_entropy", "mse", "l1", "charbonnier", "bce", "detection"; output: the name of what it is of, the model's first otherwise.
    head, boxes, box_weight: for "detection", whose target is f32 [batch, boxes, 5]: class (below 0: no box), left, top, right, bottom in pixels of the
    input. head: the name of the model's head, None: recognised (rynd.tasks); box_weight: factor of the boxes' part of the loss.
    target: "i64", "i32" (class numbers), "f32"; what is usual for the loss otherwise.
    ignore_label: a class number whose positions count neither in the loss nor in its mean, as PyTorch's ignore_index; None: all count.
    optimizer: "sgd" (momentum, nesterov, weight_decay), "adam", "adamw" (beta1, beta2, epsilon, weight_decay).
    clip_norm: how long all gradients together may be; 0: as long as they are.
    norm_momentum: the part that a batch's statistics have in the running ones of batch normalisations; 0: what each node of the file says (0.1 by default).
    freeze: patterns (* and ?) of parameters that stay as they are: of their names, or of the names of nodes that read them.
    train_only: such patterns of the only parameters that are trained. train_last: how many layers with weights are, counted from the output; None: all.
    keep_gradients: for `gradient`.
    accumulate: how many calls of `step`, each with a micro-batch of `batch`, make one update, by the mean of their gradients.
    memory_limit: bytes that `memory` may be before the first evaluation; what does not fit is recomputed in the backward pass, to the same bits. None: any.
    storage: how activations are kept for the backward pass: "f32", or "bf16", in half the memory; gradients are then those of rounded activations.
    init: "model", to train on; "he" or "uniform", fresh parameters by init_seed.
    dropout: what Dropout nodes do in a step: "model", drop by dropout_seed; "off", nothing.
    batch, dims, inputs, accuracy, settings: as in Model.plan.
    exchange: the way to other ranks that train the same: rynd.mpi(), or any object with rank, ranks and all_reduce(array), which adds up a writable
    memoryview of float32 over all ranks in place, called by another thread. batch is this rank's part then. bucket_bytes: how much is added up at once;
    0: 8 MiB.

    Raises UnsupportedError (an operator without a gradient, by name; nothing to train), ShapeError, NotFoundError, ArgumentError, OutOfMemoryError.
    """

    def __new__(cls, model, loss="cross_entropy", output=None, target=None, label_smoothing=0.0, charbonnier_epsilon=1e-3, optimizer="sgd",
                momentum=0.0, nesterov=False, weight_decay=0.0, beta1=0.9, beta2=0.999, epsilon=1e-8, clip_norm=0.0, norm_momentum=0.0, freeze=(), train_only=(), train_last=None,
                 keep_gradients=False, init="model", init_seed=0, dropout="model", dropout_seed=0, accumulate=1, memory_limit=None, storage="f32", batch=None, dims=None, inputs=None, accuracy=None, settings=None,
                 exchange=None, bucket_bytes=0, ignore_label=None, head=None, boxes=0, box_weight=0.0):
        if not 0 <= bucket_bytes < 1 << 48:
            raise ArgumentError(f"bucket_bytes is {bucket_bytes}: give a number of bytes, or 0")
        model = model if isinstance(model, Model) else load(model)
        choices = [(step, knob, str(value)) for step, knobs in (settings or {}).items() for knob, value in knobs.items()]
        numbers = (label_smoothing, charbonnier_epsilon, momentum, weight_decay, beta1, beta2, epsilon, clip_norm, norm_momentum, box_weight)
        self = super().__new__(cls, model._model_for(model._options), _number("loss", loss, LOSSES), output,
                               _number("optimizer", optimizer, OPTIMIZERS), target, _patterns(freeze), _patterns(train_only),
                               _layers(train_last),
                               accuracy_number(accuracy or model._accuracy), bool(nesterov), bool(keep_gradients), _number("init", init, INITS), init_seed,
                               _number("dropout", dropout, DROPOUTS), dropout_seed, accumulate, _limit(memory_limit),
                               STORAGES[_number("storage", storage, STORAGES)],
                               tuple(float(number) for number in numbers), batch or 0, list((dims or {}).items()), model._descriptions(inputs),
                               choices, exchange, bucket_bytes, ignore_label, head, boxes)
        self._model = model
        return self

    def __init__(self, *args, **kwargs):
        self.states = [State(name, KINDS[kind], dtype, shape) for name, kind, (dtype, shape, _) in self._states()]
        self._by_name = {state.name: state for state in self.states}

    def step(self, inputs, target, learning_rate):
        """One step, forward, loss, backward and update; the loss before it, a float.

        inputs: an array, a tuple of them in the model's order, or a dict by name.
        Raises ShapeError (another shape; a class number outside the classes: nothing has changed then), ArgumentError.
        """
        return self._step(_list(inputs, self._model), target, float(learning_rate))

    def evaluate(self, inputs, target):
        """The loss with the parameters as they are, as in inference. Nothing changes."""
        return self._evaluate(_list(inputs, self._model), target)

    def prepare_evaluation(self):
        """Plans what `evaluate` runs now, not at its first call: `memory` counts it then."""
        self._prepare_evaluation()

    @property
    def output(self):
        """What the loss was of in the last step or evaluation, as an Array; of a detection head its first output."""
        return self._output(0)[1]

    @property
    def outputs(self):
        """All outputs that the loss read in the last step or evaluation, as a dict of Arrays by name."""
        return dict(self._output(index) for index in range(self._output_count()))

    @property
    def target(self):
        """(dtype, shape) of the target."""
        return self._target()[:2]

    def read(self, name):
        """A copy of a state, as an Array. Raises NotFoundError."""
        state = self._by_name.get(name)
        return self._read(name, (state.dtype, state.shape, None) if state else ("f32", (), None))

    def write(self, name, array):
        """Sets a state. Raises NotFoundError, ShapeError."""
        self._write(name, array)

    @property
    def identity(self):
        """What decides about the bits that it computes, besides states, batches and rates, as a dict: options, instruction set, kernels and their forms.

        Keep it beside the states, and compare before going on with them: trainers of equal identity make equal bits of equal states and batches.
        """
        return dict(word.partition("=")[::2] for word in self._identity().split(" "))

    def save(self, path=None):
        """Writes the model's ONNX file with the present parameters and running statistics, for inference.

        path: the file, written whole or not at all; None returns its bytes.

        Everything else of the file stays as it is, but for batch normalisations and dropouts in training mode: they are written in inference's form,
        which a Trainer trains just as well. Raises FileError, UnsupportedError.
        """
        return self._save_memory() if path is None else self._save(os.fspath(path))

    def gradient(self, name):
        """A copy of a parameter's gradient in the last step, where keep_gradients was set."""
        return self._gradient(name)

    @property
    def steps(self):
        """What a step runs by, as a list of Step."""
        return [Step(index, step) for index, step in enumerate(self._steps())]

    @property
    def buckets(self):
        """What goes through the exchange, as a list of Bucket."""
        return [Bucket(*bucket) for bucket in self._buckets()]

    def predict(self, step=None):
        """How long a step takes, or one of what it runs by (a Step of `steps`, or its index), as a Prediction. Nothing is run."""
        return Prediction(*self._predict(step.index if isinstance(step, Step) else step))

    def profile(self, inputs, target, learning_rate=0.0, rounds=3):
        """Takes `rounds` steps on one batch and returns a Profile of what a step runs by.

        They are real steps, which move what the optimizer keeps and running statistics; parameters stay as they are with a learning rate of 0.
        """
        self._profile(True)
        try:
            runs = []
            for _ in range(max(1, rounds)):
                self.step(inputs, target, learning_rate)
                runs.append(self._step_seconds())
        finally:
            self._profile(False)
        return Profile(self, runs)

    @property
    def memory(self):
        """Bytes that it holds for steps and evaluations, states and packed weights included."""
        return self._memory()

    def __repr__(self):
        parameters = sum(state.kind == "parameter" for state in self.states)
        return f"rynd.Trainer({self._model.path or 'a model of memory'}: {parameters} parameters, {len(self.steps)} steps)"
