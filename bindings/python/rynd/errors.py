# SPDX-License-Identifier: Apache-2.0
"""Exceptions: each is a rynd.Error, and also Python's exception of its kind."""


class Error(Exception):
    """Any failure of rynd."""


class ArgumentError(Error, ValueError):
    """An argument has an illegal value."""


class ArgumentTypeError(Error, TypeError):
    """An argument has the wrong type, such as a list instead of an array."""


class ShapeError(Error, ValueError):
    """Shapes or element types that disagree, or a tensor's content that is illegal."""


class FormatError(Error, ValueError):
    """A file is damaged, or not of its format."""


class UnsupportedError(Error, NotImplementedError):
    """Legal, but not supported by rynd."""


class NotFoundError(Error, KeyError):
    """No input, output, node or kernel has this name."""

    __str__ = Exception.__str__  # KeyError's would put the message in quotes


class FileError(Error, OSError):
    """A file cannot be opened, read or written."""


class MissingFileError(FileError, FileNotFoundError):
    """A file does not exist."""


class OutOfMemoryError(Error, MemoryError):
    """The machine, or the device, has too little memory."""


class DeviceError(Error, RuntimeError):
    """The device failed, or does not exist."""


class CancelledError(Error, RuntimeError):
    """Planning was cancelled."""


class BusyError(Error, RuntimeError):
    """Another thread is running the session or operator."""
