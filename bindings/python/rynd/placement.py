# SPDX-License-Identifier: Apache-2.0
"""Assigns parts of models to devices (docs/placement.md)."""

import math
import os
from collections import namedtuple

from . import _rynd
from .context import _log, accuracy_number
from .errors import ArgumentError, ArgumentTypeError
from .model import Model
from .parts import Part
from .plan import Memory
from .table import seconds_text, size_text, table

OBJECTIVES = ("latency", "throughput", "energy", "memory")

FleetDevice = namedtuple("FleetDevice", "name device machine threads memory watts")
FleetDevice.__doc__ = """A device of the file; None for unstated values. `machine`: it is another machine."""


class PlacedPart(Part):
    """A Part, and its device.

    Attributes: network (the index of its model), device (a name), first and end (its nodes, from 0, to before `end`), first_node, last_node,
    steps, seconds (predicted), memory, bytes_in, bytes_out. It runs where its device is here.
    """

    def __init__(self, native, facts, devices, accuracy):
        super().__init__(native, accuracy)
        self.__dict__.update(facts, device=devices[facts["device"]].name, memory=Memory(*facts["memory"]))


class Placement(_rynd.Placement):
    """An assignment of models' parts to devices, by predicted times.

    Attributes: objective, value, bound (no placement of these parts is below), gap (value / bound - 1), searched (nodes), latency and period
    (seconds), energy (joules; None: a device has no meter), memory (bytes on the device that holds most), complete, parts (PlacedPart),
    devices (FleetDevice).
    """

    def __new__(cls, models, devices, objective, accuracy, batch, dims, parts, nodes, progress):
        natives = [model._first() for model in models]
        return super().__new__(cls, os.fspath(devices), natives, OBJECTIVES.index(objective), accuracy_number(accuracy), batch or 0,
                               list((dims or {}).items()), parts or 0, nodes or 0, progress, _log)

    def __init__(self, models, devices, objective, accuracy, *others):
        info = self._info()
        self.objective = objective
        self.value, self.bound, self.searched = info["value"], info["bound"], info["searched"]
        self.gap = 0.0 if self.bound >= self.value else self.value / self.bound - 1 if self.bound > 0 else math.inf
        self.latency, self.period, self.memory, self.complete = info["latency"], info["period"], info["memory"], info["complete"]
        self.energy = info["energy"] or None
        self.devices = [FleetDevice(name, device, machine, threads or None, memory or None, watts or None)
                        for name, device, machine, threads, memory, watts in self._devices()]
        # Without a reference from here to there and back: a part keeps its placement alive.
        self._count, self._accuracy = info["parts"], accuracy

    @property
    def parts(self):
        """All parts, in the order of models and nodes."""
        return [PlacedPart(*self._part(i), self.devices, self._accuracy) for i in range(self._count)]

    def link(self, a, b):
        """(bytes a second, seconds) between two devices, by their names."""
        names = [device.name for device in self.devices]
        for name in (a, b):
            if name not in names:
                raise ArgumentError(f"there is no device {name!r}: there are {', '.join(names)}")
        return self._link(names.index(a), names.index(b))

    def makespan(self, inputs):
        """Returns the predicted seconds for this number of inputs of every model; parts on different devices overlap."""
        return self._makespan(inputs)

    def __repr__(self):
        return f"rynd.Placement({self._count} parts, {self.objective})"

    def __str__(self):
        rows = [[part.network, f"{part.first + 1} to {part.end}", part.last_node, part.device, seconds_text(part.seconds), size_text(part.memory.total),
                 size_text(part.bytes_out)] for part in self.parts]
        return "\n".join([
            table(["network", "nodes", "last node", "device", "time", "memory", "bytes on"], rows),
            f"latency {seconds_text(self.latency)}, an input every {seconds_text(self.period)}, at most {size_text(self.memory)} on a device, "
            + (f"{self.energy:.4g} J" if self.energy else "energy: no meter"),
        ])


def place(models, devices, objective="latency", batch=None, dims=None, accuracy=None, parts=None, nodes=None, progress=None):
    """Assigns models, or parts of them cut between nodes, to devices by predicted times. Runs nothing.

    models: a rynd.Model, or several.
    devices: a file of devices and links (docs/placement.md); inputs come from the first, and outputs return to it.
    objective: what to make least: "latency", "throughput" (the time from an input to the next), "energy", "memory".
    batch, dims, accuracy: as Model.plan has them.
    parts: that a model is cut into at most, 1 to 32; 12 otherwise, or fewer for many different devices and models.
    nodes: of the search at most; otherwise four million, or fewer for many devices. It may then leave a gap.
    progress: called with what is done and how much there is.

    Raises FileError, FormatError (the file's line), UnsupportedError (energy without a meter), NotFoundError (too little memory), ShapeError.
    """
    models = [models] if isinstance(models, Model) else list(models)
    for model in models:
        if not isinstance(model, Model):
            raise ArgumentTypeError(f"{type(model).__name__} is no rynd.Model")
    if objective not in OBJECTIVES:
        raise ArgumentError(f"objective {objective!r}: give one of {', '.join(OBJECTIVES)}")
    for name, value in ("parts", parts), ("nodes", nodes):
        if value is not None and value < 1:
            raise ArgumentError(f"{name} is {value}: give at least 1")
    return Placement(models, devices, objective, accuracy, batch, dims, parts, nodes, progress)
