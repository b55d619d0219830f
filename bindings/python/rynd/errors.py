# SPDX-License-Identifier: Apache-2.0
"""What goes wrong: each exception is a rynd.Error, and also of the kind that Python has for it."""


class Error(Exception):
    """Any failure of rynd."""


class ArgumentError(Error, ValueError):
    """A value that a function does not take."""


class ArgumentTypeError(Error, TypeError):
    """A thing of another kind than a function takes: a list where an array is wanted."""


class ShapeError(Error, ValueError):
    """Shapes or element types that disagree, or a tensor's content that is illegal."""


class FormatError(Error, ValueError):
    """A file whose content is not what its format says."""


class UnsupportedError(Error, NotImplementedError):
    """Legal, but not something that rynd computes."""


class NotFoundError(Error, KeyError):
    """There is no input, output, node or kernel of that name."""

    __str__ = Exception.__str__  # KeyError's would put the message in quotes


class FileError(Error, OSError):
    """A file that could not be opened, read or written."""


class MissingFileError(FileError, FileNotFoundError):
    """A file that is not there."""


class OutOfMemoryError(Error, MemoryError):
    """The machine, or the device, has too little memory."""


class DeviceError(Error, RuntimeError):
    """The device failed, or is not there."""


class CancelledError(Error, RuntimeError):
    """A plan that was ended before it was made."""


class BusyError(Error, RuntimeError):
    """A session or operator that another thread runs at this moment."""
