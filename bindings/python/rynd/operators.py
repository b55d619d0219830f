# SPDX-License-Identifier: Apache-2.0
"""Single operators: convolutions by name, everything else by a problem's text."""

import functools

from . import _rynd
from .candidates import Candidates, Prediction
from .context import accuracy_number, context
from .errors import ShapeError
from .plan import Step
from .streams import operand


class Op(_rynd.Op):
    """One problem, made once and run on many arrays: `op.run(x, w)`. One thread at a time.

        op = rynd.Op("conv n=1 c=64 h=56 w=56 k=64 r=3 s=3 pad=1")

    problem: text, as the command takes it (docs/problems.md).
    inputs: arrays, or (dtype, shape, strides in elements), in order: the strides that the operator reads; the text's layout otherwise.
    settings: own choices, {"kernel": "conv_fwd_f32_winograd_avx512", "points_h": 6}.
    cached: take an operator of the same problem and options that the device keeps (`rynd.op_cache`), and give it back in the end.

    Attributes: problem (text), step (the problem as one Step), steps (the Steps that run: several where the problem is cut into others, as
    "einsum ..." into transposes and products), inputs and outputs ((dtype, shape, strides), or None if absent), workspace (bytes that
    `run_async` needs).
    """

    def __new__(cls, problem, inputs=(), accuracy=None, device=None, threads=None, isa=None, machine=None, settings=None, wisdom=None,
                frozen=None, cached=False):
        layouts = [given if given is None or isinstance(given, tuple) else _rynd.describe(given) for given in inputs]
        choices = [(None, knob, str(value)) for knob, value in (settings or {}).items()]
        return super().__new__(cls, context(device, threads, isa, machine, wisdom, frozen), problem, accuracy_number(accuracy), layouts, choices, cached)

    def __init__(self, problem, *args, **kwargs):
        self.problem = problem
        self.step = Step(0, self._step())
        self.steps = [Step(index, step) for index, step in enumerate(self._steps())]

    def run_async(self, inputs, outputs, stream, workspace=None):
        """Puts a run on device memory into a Stream, and returns when it is queued (on the CPU: done).

        inputs, outputs: one operand for each of `self.inputs` and `self.outputs`: a View, a Buffer, (Buffer, offset in bytes), or None if
        absent. An input of one element may be a number: a learning rate needs no buffer. An output may have the place of an input if
        `in_place(output, input)`; no other operand may overlap an output.
        workspace: (Buffer, offset), a multiple of 64, with `self.workspace` bytes; None: the operator's own.

        Runs of one operator follow one another. Illegal contents, such as an index outside its axis, raise ShapeError here on the CPU, and
        in `wait()` on other devices. Raises ArgumentError, ShapeError, OutOfMemoryError, DeviceError, BusyError."""
        self._run_async(stream, _operands("input", inputs, self.inputs), _operands("output", outputs, self.outputs), workspace)

    def predict(self):
        """Predicts the time of `run`, repeated on the same memory, as a Prediction. Runs nothing."""
        return Prediction(*self._predict())

    def explain(self, step=0):
        """Explains the choice of a step's kernel, as Candidates. step: one of `steps`, or its index. Runs nothing."""
        return Candidates(self._explain(step.index if isinstance(step, Step) else step))

    def __repr__(self):
        return f"rynd.Op({self.step.problem!r}, kernel={self.step.kernel!r})"


def _operands(kind, given, descriptions):
    given = tuple(given)
    if len(given) != len(descriptions):
        raise ShapeError(f"{len(given)} {kind}s are given, and the operator has {len(descriptions)}: None stands for an absent one")
    return tuple(operand(one, description, f"{kind} {i}") for i, (one, description) in enumerate(zip(given, descriptions)))


@functools.lru_cache(maxsize=256)
def _kept(problem, layouts, accuracy, device, threads):
    return Op(problem, layouts, accuracy=accuracy, device=device, threads=threads)


def _numbers(value, count, what):
    if isinstance(value, int):
        return (value,) * count
    numbers = tuple(int(number) for number in value)
    if len(numbers) != count:
        raise ShapeError(f"{what} {value!r}: give one number, or {count}")
    return numbers


_EXTENTS = {1: "w", 2: "hw", 3: "dhw"}
_WINDOWS = {1: "s", 2: "rs", 3: "trs"}


def _padding(value, count):
    if isinstance(value, (tuple, list)) and len(value) == 2 * count:
        return tuple(int(number) for number in value)
    return _numbers(value, count, "padding") * 2


def _words(x, w, rank, groups):
    (dtype, x_shape, _), (_, w_shape, _) = x, w
    if len(x_shape) != rank + 2 or len(w_shape) != rank + 2:
        raise ShapeError(f"conv{rank}d wants x and w with {rank + 2} dimensions, and got {list(x_shape)} and {list(w_shape)}")
    words = [f"n={x_shape[0]}", f"c={x_shape[1]}"]
    words += [f"{name}={extent}" for name, extent in zip(_EXTENTS[rank], x_shape[2:])]
    words += [f"{name}={extent}" for name, extent in zip(_WINDOWS[rank], w_shape[2:])]
    return words + [f"groups={groups}", f"dtype={dtype}"]


def _convolve(rank, x, w, b, stride, padding, dilation, groups, accuracy, device, threads):
    arrays = (x, w) if b is None else (x, w, b)
    layouts = tuple(_rynd.describe(array) for array in arrays)
    words = _words(layouts[0], layouts[1], rank, groups)
    if layouts[1][1][1] * groups != layouts[0][1][1]:
        raise ShapeError(f"w {list(layouts[1][1])} has {layouts[1][1][1]} channels a group, and x {list(layouts[0][1])} in {groups} groups has "
                         f"{layouts[0][1][1] / groups:g}")
    words.append(f"k={layouts[1][1][0]}")
    for name, value in (("stride", stride), ("dilation", dilation)):
        words.append(f"{name}=" + ",".join(map(str, _numbers(value, rank, name))))
    words.append("pad=" + ",".join(map(str, _padding(padding, rank))))
    words.append(f"bias={int(b is not None)}")
    return _kept("conv " + " ".join(words), layouts, accuracy, device, threads).run(*arrays)


def conv1d(x, w, b=None, stride=1, padding=0, dilation=1, groups=1, accuracy=None, device=None, threads=None):
    """A 1-D convolution: x [n, c, w], w [k, c/groups, s], b [k]. See conv2d."""
    return _convolve(1, x, w, b, stride, padding, dilation, groups, accuracy, device, threads)


def conv2d(x, w, b=None, stride=1, padding=0, dilation=1, groups=1, accuracy=None, device=None, threads=None):
    """A 2-D convolution as PyTorch defines it: x [n, c, h, w], w [k, c/groups, r, s], b [k]; returns an Array [n, k, p, q].

    Arrays may have any strides (channels last, too) and are read where they are. stride and dilation: a number, or one a dimension; padding:
    a number, one a dimension, or two (all begins, then all ends). The operator is made once for shapes, strides and options, and kept.
    Raises ShapeError, ArgumentTypeError, UnsupportedError, OutOfMemoryError.
    """
    return _convolve(2, x, w, b, stride, padding, dilation, groups, accuracy, device, threads)


def conv3d(x, w, b=None, stride=1, padding=0, dilation=1, groups=1, accuracy=None, device=None, threads=None):
    """A 3-D convolution: x [n, c, d, h, w], w [k, c/groups, t, r, s], b [k]. See conv2d."""
    return _convolve(3, x, w, b, stride, padding, dilation, groups, accuracy, device, threads)
