# SPDX-License-Identifier: Apache-2.0
"""Expressions: pointwise, broadcast and reduce from a text, and their gradients."""

import functools

from . import _rynd
from .context import accuracy_number, context
from .parts import Part
from .plan import Step


def _described(given):
    if isinstance(given, tuple) and given and isinstance(given[0], str):
        dtype, shape, *strides = given
        return dtype, tuple(shape), tuple(strides[0]) if strides else None
    return _rynd.describe(given)


def _axes(axes):
    return axes if axes is None else (axes,) if isinstance(axes, int) else tuple(axes)


class Expr(_rynd.Expr):
    """A program of the expression language, made once and run on many arrays: `expr.run(x0, x1)`. One thread at a time.

        norm = rynd.Expr("sqrt(sum(x0 * x0))", x, axes=1)
        dx = norm.gradient().run(x, dy)

    text: the program (docs/expressions.md), or a problem of expr (docs/problems.md), which has inputs, axes and keepdims itself.
    inputs: arrays, or (dtype, shape) or (dtype, shape, strides in elements), one for each of x0, x1, ...
    axes: what reductions reduce: a number or several, of the broadcast shape; None: all of it.
    keepdims: reduced dimensions stay, as 1.

    Raises FormatError (the text), ShapeError (shapes or types that do not go together), ArgumentError, UnsupportedError, OutOfMemoryError.
    """

    def __new__(cls, text, *inputs, axes=None, keepdims=False, accuracy=None, device=None, threads=None, isa=None, machine=None, wisdom=None,
                frozen=None):
        return super().__new__(cls, context(device, threads, isa, machine, wisdom, frozen), text, accuracy_number(accuracy),
                               [_described(given) for given in inputs], _axes(axes), bool(keepdims))

    def __init__(self, *args, **kwargs):
        pass

    def gradient(self, wanted=None):
        """The gradient, as an Expr: it takes the inputs, and after them the gradient of each output that is a float, and gives those of the
        inputs.

        wanted: numbers of the inputs whose gradients are wanted; None: all floats.
        Raises ArgumentError (an input that is no float), UnsupportedError (the gradient of a gradient).
        """
        count = len(self._inputs())
        if wanted is None:
            return self._gradient(None)
        numbers = (wanted,) if isinstance(wanted, int) else tuple(wanted)
        outside = [number for number in numbers if not 0 <= number < count]
        if outside:
            from .errors import ArgumentError
            raise ArgumentError(f"wanted: there is no x{outside[0]}, the expression has {count} inputs")
        return self._gradient([i in numbers for i in range(count)])

    @property
    def inputs(self):
        """(dtype, shape, strides in elements) of each input."""
        return self._inputs()

    @property
    def outputs(self):
        """(dtype, shape, strides in elements) of each output."""
        return self._outputs()

    @property
    def steps(self):
        """The steps of `run`, as a list of Step: `step.problem` has the program."""
        return [Step(index, step) for index, step in enumerate(self._steps())]

    @property
    def model(self):
        """The same as a model with inputs x0, x1, ... and outputs y0, y1, ... (of a gradient dx0, dx1, ...), a Part: to plan, predict, tune."""
        return Part(self._model(), None)

    def predict(self):
        """Predicts the time of `run`, repeated on the same memory, as a Prediction. Runs nothing."""
        return self.model.plan(weights=False).predict()

    def __repr__(self):
        return f"rynd.Expr({len(self._inputs())} inputs, {len(self._outputs())} outputs: {'; '.join(step.problem for step in self.steps)})"


@functools.lru_cache(maxsize=256)
def _kept(text, layouts, axes, keepdims, accuracy, device, threads):
    return Expr(text, *layouts, axes=axes, keepdims=keepdims, accuracy=accuracy, device=device, threads=threads)


def expr(text, *arrays, axes=None, keepdims=False, accuracy=None, device=None, threads=None):
    """Computes a program of the expression language on arrays: `rynd.expr("max(x0 + x1, 0)", a, b)`. See Expr.

    Returns an Array, or a tuple of them where the program has several outputs. The expression is made once for text, shapes, strides and options, and
    kept.
    """
    layouts = tuple(_rynd.describe(array) for array in arrays)
    return _kept(text, layouts, _axes(axes), bool(keepdims), accuracy, device, threads).run(*arrays)
