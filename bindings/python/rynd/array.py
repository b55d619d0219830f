# SPDX-License-Identifier: Apache-2.0
"""Results, and their way to other libraries."""

from . import _rynd


class Array(_rynd.Array):
    """A tensor in host memory of its own, row-major; valid as long as anything refers to it.

    It has the buffer protocol, DLPack and numpy's array interface, so `numpy.asarray(y)`, `torch.from_dlpack(y)` and `memoryview(y)` share
    its memory. Attributes: `shape`, `strides` (bytes), `dtype` ("f32", "bf16", ...), `nbytes`.
    """

    __slots__ = ()

    @property
    def ndim(self):
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self):
        """Number of elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    def numpy(self):
        """Returns a numpy array on the same memory; bf16 needs the package ml_dtypes."""
        import numpy
        if self.dtype == "bf16":
            import ml_dtypes
            return numpy.frombuffer(self, ml_dtypes.bfloat16).reshape(self.shape)
        return numpy.asarray(self)

    def torch(self):
        """Returns a PyTorch tensor on the same memory."""
        import torch
        return torch.from_dlpack(self)

    def tolist(self):
        """Returns the elements as nested lists of Python numbers."""
        if self.dtype == "bf16":
            return self.torch().tolist()
        return memoryview(self).tolist()

    def item(self):
        """Returns the single element as a Python number."""
        if self.size != 1:
            from .errors import ShapeError
            raise ShapeError(f"item() wants one element, and the array has {self.size}: shape {self.shape}")
        value = self.tolist()
        while isinstance(value, list):
            value = value[0]
        return value

    def __len__(self):
        if not self.shape:
            raise TypeError("an array without dimensions has no length")
        return self.shape[0]

    def __getitem__(self, index):
        return self.numpy()[index]

    def __iter__(self):
        return iter(self.numpy())

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __array__(self, dtype=None, copy=None):
        import numpy
        view = numpy.frombuffer(self, dtype=self.__array_interface__["typestr"]).reshape(self.shape)
        if dtype is not None and view.dtype != dtype:
            if copy is False:
                raise ValueError(f"the array is of {self.dtype}: as {dtype} it must be copied")
            return view.astype(dtype)
        return view.copy() if copy else view

    def __reduce__(self):
        return _rynd.array, ((self.dtype, self.shape, None), self.tobytes())

    def _text(self, prefix=""):
        """The values as numpy prints them; "..." without numpy."""
        try:
            import numpy
        except ImportError:
            return "..."
        if self.dtype == "bf16":
            halves = numpy.frombuffer(self, numpy.uint16).astype(numpy.uint32) << 16
            values = halves.view(numpy.float32).reshape(self.shape)
        else:
            values = self.numpy()
        return numpy.array2string(values, separator=", ", prefix=prefix)

    def __repr__(self):
        name = "rynd.Array("
        return f"{name}{self._text(name)}, shape={self.shape}, dtype={self.dtype})"

    def __str__(self):
        return self._text()


_rynd.set_result_type(Array)
