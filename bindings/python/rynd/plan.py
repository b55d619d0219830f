# SPDX-License-Identifier: Apache-2.0
"""Plans and sessions."""

from collections import namedtuple
from statistics import median

from . import _rynd
from .candidates import Candidates, Prediction
from .table import seconds_text, size_text, table

Memory = namedtuple("Memory", "weights activations workspace total")
Memory.__doc__ = """Bytes: `activations` is exact; `total` is all memory of a session with the plan, the file's mapped weights included."""
Knob = namedtuple("Knob", "name value values unit main")
Knob.__doc__ = """A knob of a step's kernel: its value, a tuple of the legal values, their unit ("percent of ..."; ""), and whether tuning tries them."""

Operand = namedtuple("Operand", "name output dtype shape storage offset bytes producer")
Operand.__doc__ = """A value that a step reads or writes (`output`): its storage ("packed", "input", "constant", "arena", "output"), offset in the session's
arena and bytes there, and the index of the step that wrote it, or None."""
Span = namedtuple("Span", "step thread begin end tasks")
Span.__doc__ = """What one thread did of a step: from its first task to its last, in seconds since the run's first step began. Thread 0 is the caller's."""

PlanForm = namedtuple("PlanForm", "knobs reason measured")
PlanForm.__doc__ = """How a plan decides about layouts, fusions and micro-batches: the knobs that are not 100 percent ("channels_last=80"; "": all is as
predicted), why ("predicted", "set", "measured 12.1 ms (wisdom)"), and seconds of a run when it was tuned, or 0."""


class Step:
    """A step of a plan: a node (several when fused) and what was chosen for it.

    Attributes: name, op (its ONNX operator), problem (text), kernel, knobs (text), layout_in, layout_out, fused, reason, flop, bytes,
    accuracy, kernel_flop, micro_batches, activations and workspace (bytes in use
    while it runs), source (of what the kernel was compiled from: records of wisdom are of it), reference (True: no fast kernel takes the step,
    a scalar reference computes it). `plan.knobs(step)` tells what may be set.
    """

    def __init__(self, index, facts):
        self.index = index
        self.__dict__.update(facts)

    def __repr__(self):
        return f"rynd.Step({self.name!r}, kernel={self.kernel!r})"


def _bar(progress):
    """Returns a progress callback, and a function that closes the bar."""
    if progress is not True:
        return progress, lambda: None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None, lambda: None
    bar = tqdm(desc="plan", leave=False, bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed}")

    def hear(done, everything):
        bar.total = everything
        bar.update(done - bar.n)
    return hear, bar.close


def description(given):
    """(dtype, shape, strides or None) of an array, or of such a tuple."""
    if isinstance(given, tuple) and given and isinstance(given[0], str):
        dtype, shape, *strides = given
        return dtype, tuple(shape), tuple(strides[0]) if strides else None
    return _rynd.describe(given)


class Plan(_rynd.Plan):
    """Every decision for a model on a device, made before anything runs. Many threads may share it, each with a session of its own."""

    def __new__(cls, model, accuracy, batch, dims, inputs, settings, weights, progress, own_weights=0):
        choices = [(step, knob, str(value)) for step, knobs in settings.items() for knob, value in knobs.items()]
        hear, end = _bar(progress)
        try:
            return super().__new__(cls, model, accuracy, batch, list(dims.items()), inputs, choices, weights, hear, own_weights)
        finally:
            end()

    def __init__(self, *args):
        self._model = args[0]
        self.memory = Memory(*self._memory())
        self.planning_seconds = self._plan_seconds()
        self.complete = self._complete()
        self._steps = None

    @property
    def steps(self):
        """All steps in order, as a list of Step."""
        if self._steps is None:
            self._steps = [Step(i, self._step(i)) for i in range(self._step_count())]
        return self._steps

    @property
    def seconds(self):
        """Predicted seconds of a run: `predict().median`."""
        return self.predict().median

    def predict(self, step=None):
        """Predicts the time of a run, or of one of its steps (a Step, its index or its name), as a Prediction. Runs nothing."""
        return Prediction(*self._predict(None if step is None else self._index(step)))

    def explain(self, step):
        """Explains the choice for a step (a Step, its index or its name), as Candidates. Runs nothing."""
        return Candidates(self._explain(self._index(step)))

    @property
    def form(self):
        """The decisions about the network as a whole, as a PlanForm."""
        return PlanForm(*self._form())

    def knobs(self, step=None):
        """The knobs of a step (a Step, its index or its name), or without one of the plan itself ("plan" in settings), as a list of Knob."""
        return [Knob(*knob) for knob in self._knobs(-1 if step is None else self._index(step))]

    def operands(self, step):
        """The values that a step (a Step, its index or its name) reads and writes, as a list of Operand."""
        return [Operand(*facts[:-1], None if facts[-1] < 0 else facts[-1]) for facts in self._operands(self._index(step))]

    def _index(self, step):
        if isinstance(step, Step):
            return step.index
        if isinstance(step, int):
            return step
        for other in self.steps:
            if other.name == step:
                return other.index
        from .errors import NotFoundError
        raise NotFoundError(f"the plan has no step {step!r}")

    def session(self):
        """Makes a Session with all the memory of a run. One thread at a time may run it."""
        return Session(self)

    def __repr__(self):
        return f"rynd.Plan({self._step_count()} steps, {size_text(self.memory.total)})"

    def _table(self):
        """(heads, rows, summary): what printing and HTML both show."""
        rows = [[step.name, step.op, step.kernel, seconds_text(self.predict(step).median), f"{step.flop / 1e6:,.2f}", step.knobs,
                 f"{step.layout_in} -> {step.layout_out}", step.fused] for step in self.steps]
        memory = self.memory
        return ["step", "operator", "kernel", "predicted", "Mflop", "knobs", "layouts", "fused"], rows, (
            f"{len(rows)} steps, {sum(step.flop for step in self.steps) / 1e9:,.3f} Gflop; predicted {seconds_text(self.seconds)}; memory: weights "
            f"{size_text(memory.weights)}, activations {size_text(memory.activations)}, workspace {size_text(memory.workspace)}; planned in "
            f"{seconds_text(self.planning_seconds)}")

    def __str__(self):
        heads, rows, summary = self._table()
        return f"{table(heads, rows)}\n{summary}"

    def _repr_html_(self):
        from .pictures import plan_html
        return plan_html(self)


def _places(kind, given, descriptions):
    """Views as (Buffer, offset), other things as they are."""
    from .streams import View, operand
    wanted = [*descriptions, *[None] * len(given)]
    return tuple(operand(one, wanted[i], f"{kind} {i}") if isinstance(one, View) else one for i, one in enumerate(given))


class Session(_rynd.Session):
    """The running state of a plan. `run(*arrays, **arrays)` runs it; `profile` tells where the time goes; `memory` is in bytes."""

    def __init__(self, plan):
        self.plan = plan

    def run_in_stream(self, inputs, outputs=None, stream=None, wait=(), record=None):
        """Puts a run into a Stream (None: the session's own) and returns its outputs as a tuple: C's rynd_session_run_async.

        inputs: for each input an array of any strides, a Buffer, (Buffer, offset in bytes), or a View. outputs: the same, written by the run;
        None, also for one of them: a new Array. Memory in a Buffer has the plan's strides. wait: Events to wait for before the run; record:
        an Event, reached when the run and its copies to host memory are done.

        Outputs are written when `wait()` returns; do not touch arrays and buffers before. The session keeps them alive. On the CPU the run is
        done at once. An earlier run is waited for first, also by `run`. Memory of `rynd.host_allocate` is fastest. Raises ArgumentError
        (a buffer too small, or of another device), ShapeError, UnsupportedError (the shape of an output depends on data), BusyError.
        """
        from_, to = self._descriptions()
        inputs, outputs = tuple(inputs), (None,) * len(to) if outputs is None else tuple(outputs)
        made = self._run_in_stream(_places("input", inputs, from_), _places("output", outputs, to), stream, tuple(wait), record)
        return tuple(new if given is None else given for given, new in zip(outputs, made))

    async def run_async(self, *arrays, **named):
        """As run, without blocking the event loop: the session runs in a thread, and one run at a time."""
        import asyncio
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, lambda: self.run(*arrays, **named))

    def profile(self, *arrays, rounds=5, **named):
        """Runs `rounds` times on these arrays, after one run that is not timed, and returns a Profile."""
        self.run(*arrays, **named)
        self._profile(True)
        try:
            runs = []
            for _ in range(max(1, rounds)):
                self.run(*arrays, **named)
                runs.append(self._step_seconds())
        finally:
            self._profile(False)
        return Profile(self.plan, runs)

    def trace(self, *arrays, **named):
        """Runs once on these arrays, and returns what each thread did, as a list of Span in the order of the steps."""
        self._trace(True)
        try:
            self.run(*arrays, **named)
        finally:
            self._trace(False)
        steps = self.plan.steps
        return [Span(steps[step], *rest) for step, *rest in self._spans()]


class Profile:
    """Measured times of some runs, beside the predicted ones, in seconds.

    Attributes: `steps`, a list of (Step, median); `spread`, for each step its (min, max) over the runs; `predicted`, for each step; `seconds`, the
    median of whole runs (all steps together), and `total_spread` their (min, max); `total_predicted`; `rounds`, the number of runs. Prints as a
    table, slowest first.
    """

    def __init__(self, plan, runs):
        columns = list(zip(*runs))
        totals = [sum(run) for run in runs]
        self.rounds = len(runs)
        self.steps = [(step, median(column)) for step, column in zip(plan.steps, columns)]
        self.spread = [(min(column), max(column)) for column in columns]
        self.predicted = [plan.predict(i).median for i in range(len(self.steps))]
        self.seconds = median(totals)
        self.total_spread = min(totals), max(totals)
        self.total_predicted = plan.predict().median

    def __repr__(self):
        return f"rynd.Profile({len(self.steps)} steps, {self.rounds} runs, {seconds_text(self.seconds)})"

    def _table(self, order):
        """(heads, rows, summary) of steps in this order: what printing and HTML both show."""
        whole = sum(seconds for _, seconds in self.steps) or 1
        rows = []
        for i in order:
            (step, seconds), (low, high) = self.steps[i], self.spread[i]
            rows.append([step.name, step.op, step.kernel, seconds_text(seconds), f"{100 * seconds / whole:.1f}%", seconds_text(low), seconds_text(high),
                         seconds_text(self.predicted[i])])
        low, high = self.total_spread
        return ["step", "operator", "kernel", "time", "share", "min", "max", "predicted"], rows, (
            f"{len(self.steps)} steps, {self.rounds} runs: median {seconds_text(self.seconds)}, min {seconds_text(low)}, max {seconds_text(high)}; "
            f"predicted {seconds_text(self.total_predicted)}")

    def __str__(self):
        heads, rows, summary = self._table(sorted(range(len(self.steps)), key=lambda i: -self.steps[i][1]))
        return f"{table(heads, rows)}\n{summary}"

    def _repr_html_(self):
        from .pictures import profile_html
        return profile_html(self)


def save_html(thing, path):
    """Writes a plan's or a profile's picture as a page of its own."""
    from html import escape
    page = f'<!doctype html><meta charset="utf-8"><title>{escape(repr(thing))}</title>{thing._repr_html_()}\n'
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)
