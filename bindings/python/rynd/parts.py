# SPDX-License-Identifier: Apache-2.0
"""Parts of models, and their inputs and outputs."""

from collections import namedtuple

from .context import accuracy_number
from .plan import Plan

Value = namedtuple("Value", "name dtype shape")
Value.__doc__ = """An input or output. `shape` has numbers, and names of open dimensions; None if unknown."""


class Part:
    """The nodes between values of a model, with fixed shapes: planned and run like a model. Made by Model.part and rynd.place."""

    def __init__(self, native, accuracy=None):
        self._native = native
        self._accuracy = accuracy
        self._session = None
        self.inputs = [Value(*value) for value in native.inputs()]
        self.outputs = [Value(*value) for value in native.outputs()]

    def plan(self, accuracy=None, settings=None, weights=True, progress=None):
        """Makes a plan, as Model.plan does."""
        return Plan(self._native, accuracy_number(accuracy or self._accuracy), 0, {}, None, settings or {}, weights, progress)

    def __call__(self, *arrays, **named):
        """Plans the part at the first call, and runs it. One thread at a time."""
        if self._session is None:
            self._session = self.plan().session()
        return self._session.run(*arrays, **named)

    def __repr__(self):
        return f"rynd.{type(self).__name__}({', '.join(value.name for value in self.inputs)} -> {', '.join(value.name for value in self.outputs)})"
