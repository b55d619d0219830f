# SPDX-License-Identifier: Apache-2.0
"""rynd: convolutional networks at the speed of the machine they are on.

    import rynd
    model = rynd.load("resnet50.onnx")
    y = model(x)                        # numpy, PyTorch, or any array with the buffer protocol or DLPack

Nothing else needs to be installed; numpy, torch and tqdm are used where they are.
"""

from . import errors  # the extension looks for it
from . import _rynd
from . import random, tasks, wisdom
from .array import Array
from .context import Competition, calibrate_device, cards, check_device, device_info, devices
from .candidates import Candidate, Candidates, Prediction
from .errors import (ArgumentError, ArgumentTypeError, BusyError, CancelledError, DeviceError, Error, FileError, FormatError, MissingFileError,
                     NotFoundError, OutOfMemoryError, ShapeError, UnsupportedError)
from .expressions import Expr, expr
from .gradients import Gradient
from .model import Model, Node, Parameter, Quantization, Weights, load
from .operators import Op, conv1d, conv2d, conv3d
from .parts import Part, Value
from .placement import FleetDevice, PlacedPart, Placement, place
from .plan import Knob, Memory, Operand, Plan, Profile, Session, Span, Step, save_html
from .quantisation import QuantizedInfo, QuantizedLayer, Quantizer, quantize
from .ranks import Exchange, mpi, mpi_ranks
from .streams import Buffer, DeviceMemory, Event, OpCache, Stream, View, device_memory, host_allocate, limit_op_cache, op_cache, trim_memory
from .sweeps import Sweep, SweepPoint, sweep
from .torch_export import from_torch
from .training import Bucket, State, Trainer
from .tuning import TunedForm, TunedPlan, TunedProblem, Tuning, tune

__version__ = _rynd.version()

__all__ = [
    "load", "Model", "Plan", "Session", "Profile", "Prediction", "Candidate", "Candidates", "Step", "Knob", "Operand", "Span", "Parameter", "Memory", "Value", "Weights", "Node", "Quantization", "Array", "Op", "Expr", "expr", "Trainer", "State", "Bucket", "Exchange", "mpi", "mpi_ranks",
    "conv1d", "conv2d", "conv3d", "from_torch", "quantize", "Quantizer", "QuantizedLayer", "QuantizedInfo", "place", "Placement", "PlacedPart", "Part", "Gradient", "FleetDevice", "sweep", "Sweep", "SweepPoint", "tune", "random", "tasks", "wisdom", "Tuning", "TunedPlan", "TunedProblem", "TunedForm", "devices",
    "Stream", "Event", "Buffer", "View", "OpCache", "op_cache", "limit_op_cache", "DeviceMemory", "device_memory", "host_allocate", "trim_memory",
    "Competition", "cards", "check_device", "calibrate_device", "device_info", "save_html", "Error", "ArgumentError", "ArgumentTypeError", "BusyError", "CancelledError", "DeviceError",
    "FileError", "FormatError", "MissingFileError", "NotFoundError", "OutOfMemoryError", "ShapeError", "UnsupportedError",
]
