# SPDX-License-Identifier: Apache-2.0
"""Finds the device for the PyTorch that is installed: made with the wheel, kept from an earlier import, or compiled now."""

import os
import pathlib
import sys

import torch

from .. import _rynd, torch_shim
from ..errors import UnsupportedError

SHIMS = torch_shim.PACKAGE / "shims"  # libraries that came with the wheel: tools/make_torch_shims
OLDEST = (2, 11)


def _cache_folder():
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "rynd"


def _cxx11_abi():
    return bool(torch._C._GLIBCXX_USE_CXX11_ABI)


def identity():
    """Returns the identity of the installed PyTorch's device."""
    return torch_shim.identity(torch.__version__, _cxx11_abi())


def prebuilt(folder):
    """Returns a library of `folder`, made from these sources for the installed series of PyTorch; or None."""
    library = folder / f"torch-{torch_shim.series(torch.__version__)}.so"
    return library if library.is_file() and torch_shim.has_identity(library, identity()) else None


def compiled():
    """Returns the library in the cache folder. Compiles it if it is missing."""
    library = _cache_folder() / identity() / "_rynd_torch.so"
    if not (library.is_file() and torch_shim.has_identity(library, identity())):
        try:
            torch_shim.compiler()
        except UnsupportedError as error:
            raise UnsupportedError(f"rynd has no device for PyTorch {torch.__version__} in {SHIMS}, so the first import compiles it, but {error}") from None
        print(f"rynd: compiling the device for PyTorch {torch.__version__} (once, a minute) into {library.parent}", file=sys.stderr)
        torch_shim.build(library, torch.__version__, _cxx11_abi(), pathlib.Path(torch.__file__).resolve().parent, pathlib.Path(_rynd.library()))
    return library


def extension(shims=SHIMS):
    """Loads the device; returns its functions."""
    if tuple(int(part) for part in torch.__version__.split(".")[:2]) < OLDEST:
        raise UnsupportedError(f"rynd.torch needs PyTorch {'.'.join(map(str, OLDEST))}, and {torch.__version__} is installed")
    library = prebuilt(shims)
    if library:
        try:
            torch.ops.load_library(library)
            return torch.ops.rynd
        except OSError as error:  # newer libraries of the system were there
            print(f"rynd: {library} cannot be loaded: {error}", file=sys.stderr)
    torch.ops.load_library(compiled())
    return torch.ops.rynd
