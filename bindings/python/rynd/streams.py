# SPDX-License-Identifier: Apache-2.0
"""Device memory, and streams: queues of a device's work on it."""

import struct
from typing import NamedTuple

from . import _rynd
from .context import context
from .errors import ArgumentError, ShapeError

_FORMATS = {"f32": "f", "f16": "e", "f64": "d", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
            "bool": "?"}


def _element(value, dtype):
    """The bytes of a number as one element."""
    try:
        if dtype != "bf16":
            return struct.pack("=" + _FORMATS[dtype], value)
        bits, = struct.unpack("=I", struct.pack("=f", value))
        rounded = bits if value != value else bits + 0x7fff + (bits >> 16 & 1)
        return struct.pack("=H", rounded >> 16)
    except (struct.error, OverflowError, TypeError) as error:
        raise ArgumentError(f"{value!r} is no element of {dtype}: {error}") from None


def _row_major(shape):
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


class Buffer(_rynd.Buffer):
    """A block of `size` bytes of device memory with undefined content. Any thread; the caller orders its uses by streams and events.

    native: the device's own handle of existing memory, which stays the caller's (an address of the CPU or of CUDA, a cl_mem).

    Attributes: size (bytes), native. A stream keeps the buffers of its work alive. Raises OutOfMemoryError, DeviceError.
    """

    def __new__(cls, size, device=None, threads=None, isa=None, machine=None, wisdom=None, frozen=None, native=None):
        return super().__new__(cls, context(device, threads, isa, machine, wisdom, frozen), size, native)

    def __init__(self, *args, **kwargs):
        pass

    def write(self, array, offset=0):
        """Copies a row-major array to `offset` bytes, and returns when done. Does not wait for streams."""
        self._write(array, offset)

    def read(self, array, offset=0):
        """Copies from `offset` bytes into a writable row-major array, and returns when done. Does not wait for streams."""
        self._read(array, offset)

    def __repr__(self):
        return f"rynd.Buffer({self.size})"


def host_allocate(dtype, shape, device=None, threads=None, isa=None, machine=None, wisdom=None, frozen=None):
    """Makes an Array of zeros in host memory, aligned to 64 bytes, that the device copies directly (page-locked if the device needs it).

    Copies of a stream between it and a Buffer, and runs in a stream that read or write it, need not wait. Raises OutOfMemoryError."""
    return _rynd.host_allocate(context(device, threads, isa, machine, wisdom, frozen), (dtype, tuple(shape), None))


class View(NamedTuple):
    """A tensor in a Buffer: strides in elements (None: row-major), offset in bytes."""
    buffer: Buffer
    dtype: str
    shape: tuple
    strides: tuple = None
    offset: int = 0

    @property
    def description(self):
        """(dtype, shape, strides in elements), as `rynd.Op` takes it."""
        shape = tuple(self.shape)
        return self.dtype, shape, _row_major(shape) if self.strides is None else tuple(self.strides)


class Event(_rynd.Event):
    """A point in a device's work: `stream.record(event)` sets it. Attribute: done.

    Any thread may wait for it; one thread at a time records it.
    """

    def __new__(cls, device=None, threads=None, isa=None, machine=None, wisdom=None, frozen=None):
        return super().__new__(cls, context(device, threads, isa, machine, wisdom, frozen))

    def __init__(self, *args, **kwargs):
        pass


class Stream(_rynd.Stream):
    """A queue of runs, copies and fills, done in the order in which they were put in.

        stream = rynd.Stream(device="opencl")

    Methods return when the work is queued; on the CPU, when it is done. Streams of one device and the same options run side by side, unless
    one waits for another. Buffers, events and operators must have the stream's options. One thread at a time: BusyError otherwise.
    Raises ArgumentError (memory beyond a buffer's end, another context), DeviceError, OutOfMemoryError.
    """

    def __new__(cls, device=None, threads=None, isa=None, machine=None, wisdom=None, frozen=None):
        self = super().__new__(cls, context(device, threads, isa, machine, wisdom, frozen))
        self._options = device, threads, isa, machine, wisdom, frozen
        return self

    def __init__(self, *args, **kwargs):
        pass

    def record(self, event=None):
        """Sets an Event, a new one by default, which is reached when all present work is done. Returns it."""
        event = Event(*self._options) if event is None else event
        self._record(event)
        return event

    def write(self, buffer, array, offset=0):
        """Copies a row-major array to `offset` bytes of a Buffer. Do not change the array before the copy is done."""
        self._write(buffer, array, offset)

    def read(self, buffer, array, offset=0):
        """Copies from `offset` bytes of a Buffer into a writable row-major array. Its content is valid when the copy is done."""
        self._read(buffer, array, offset)

    def copy(self, to, source, size=None, to_offset=0, source_offset=0):
        """Copies `size` bytes (None: to the end of `source`) between Buffers without overlap. One of them may be of another device."""
        self._copy(to, to_offset, source, source_offset, source.size - source_offset if size is None else size)

    def fill(self, buffer, pattern, size=None, offset=0):
        """Fills `size` bytes (None: to the buffer's end) with copies of 1, 2, 4 or 8 bytes."""
        self._fill(buffer, offset, buffer.size - offset if size is None else size, pattern)

    def copy_tensor(self, to, source):
        """Copies a View to a View of the same shape with any strides and dtypes, or fills it with a number.

        Numbers are converted as "cast" of an expression does (docs/expressions.md). Raises ShapeError, UnsupportedError."""
        if isinstance(source, View):
            given = source.description, (source.buffer, source.offset)
        else:
            shape = tuple(to.shape)
            given = (to.dtype, shape, (0,) * len(shape)), _element(source, to.dtype)
        self._copy_tensor(to.description, (to.buffer, to.offset), *given)


def operand(given, description, what):
    """What the extension takes as the operand of an input or output with this description."""
    if isinstance(given, View):
        if description is None or not _same(given.description, description):
            raise ShapeError(f"{what}: the view has {given.description}, and the run was made for {description}")
        return given.buffer, given.offset
    if given is None or isinstance(given, (_rynd.Buffer, tuple)):
        return given
    if description is None:
        raise ShapeError(f"{what} is absent: give None")
    return _element(given, description[0])


def _same(view, wanted):
    return view[:2] == wanted[:2] and all(a == b for a, b, extent in zip(view[2], wanted[2], wanted[1]) if extent > 1)


class OpCache(NamedTuple):
    """Figures of a device's kept operators: calls that took one and that made one, operators freed to stay within the limits,
    operators kept now, their bytes, and both limits."""
    hits: int
    misses: int
    evictions: int
    ops: int
    bytes: int
    limit_ops: int
    limit_bytes: int


def op_cache(device=None, threads=None):
    """Figures of the operators that `rynd.Op(..., cached=True)` keeps, as an OpCache."""
    return OpCache(*context(device, threads).op_cache())


def limit_op_cache(ops, bytes, device=None, threads=None):
    """Sets the limits of kept operators, and frees those beyond them, the least recently used first; 0 keeps none.

    Without a call: 1024 operators, 256 MiB."""
    context(device, threads).limit_op_cache(ops, bytes)


class DeviceMemory(NamedTuple):
    """Bytes of device memory: in buffers, the library's included; that and freed memory kept for the next buffer; the most that was
    used; the device's capacity (0: unknown)."""
    used: int
    held: int
    peak: int
    total: int


def device_memory(device=None, threads=None):
    """Counts a device's memory, as a DeviceMemory."""
    return DeviceMemory(*context(device, threads).memory())


def trim_memory(keep=0, device=None, threads=None):
    """Returns freed memory to the device, except `keep` bytes."""
    context(device, threads).trim(keep)
