# SPDX-License-Identifier: Apache-2.0
"""rynd: convolutional networks at the speed of the machine they are on.

    import rynd
    model = rynd.load("resnet50.onnx")
    y = model(x)                        # numpy, PyTorch, or any array with the buffer protocol or DLPack

Nothing else needs to be installed; numpy, torch and tqdm are used where they are.
"""

from . import errors  # the extension looks for it
from . import _rynd
from .array import Array
from .context import device_info, devices
from .errors import (ArgumentError, ArgumentTypeError, BusyError, CancelledError, DeviceError, Error, FileError, FormatError, MissingFileError,
                     NotFoundError, OutOfMemoryError, ShapeError, UnsupportedError)
from .model import Model, Node, Value, load
from .operators import Op, conv1d, conv2d, conv3d
from .placement import FleetDevice, Part, PlacedPart, Placement, place
from .plan import Knob, Memory, Plan, Prediction, Profile, Session, Step, save_html
from .torch_export import from_torch

__version__ = _rynd.version()

__all__ = [
    "load", "Model", "Plan", "Session", "Profile", "Prediction", "Step", "Knob", "Memory", "Value", "Node", "Array", "Op", "conv1d", "conv2d", "conv3d",
    "place", "Placement", "PlacedPart", "Part", "FleetDevice", "from_torch", "devices", "device_info", "save_html", "Error", "ArgumentError", "ArgumentTypeError", "BusyError", "CancelledError", "DeviceError",
    "FileError", "FormatError", "MissingFileError", "NotFoundError", "OutOfMemoryError", "ShapeError", "UnsupportedError",
]
