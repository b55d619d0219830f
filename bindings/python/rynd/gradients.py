# SPDX-License-Identifier: Apache-2.0
"""Gradients of a model's outputs, for a loss and an optimizer of one's own."""

from .context import accuracy_number
from .parts import Part
from .plan import Plan, description


class Gradient(Part):
    """A model of the outputs of a model, and of gradients. Made by Model.gradient; one thread at a time.

        gradient = model.gradient(["w1", "w2"], batch=16)
        y = gradient.forward(x, w1, w2)         # the inputs of the model, and the initializers that are named
        dw1, dw2 = gradient.backward(dy)        # one array for each output whose gradient is given

    inputs, outputs: those of the forward pass, then "gradient/OUTPUT" and "gradient/INPUT" of the backward pass.
    """

    def plan(self, inputs=None, accuracy=None, settings=None, weights=True, progress=None):
        """Makes a plan for both passes. inputs: arrays or (dtype, shape, strides) of some inputs, by name, as for Model.plan; the rest as for Part.plan."""
        given = [description(inputs[value.name]) if value.name in inputs else None for value in self.inputs] if inputs else None
        return Plan(self._native, accuracy_number(accuracy or self._accuracy), 0, {}, given, settings or {}, weights, progress)

    def forward(self, *arrays):
        """Runs the forward pass, after planning at the first call. Returns an Array, or a tuple of them for several outputs."""
        if self._session is None:
            self._session = self.plan().session()
        return self._session.run_forward(*arrays)

    def backward(self, *gradients):
        """Runs the backward pass after `forward`, whose arrays must still be there: it reads some of them again. Raises ArgumentError without a forward pass."""
        from .errors import ArgumentError
        if self._session is None:
            raise ArgumentError("run forward first: each run backward needs one of its own")
        return self._session.run_backward(*gradients)
