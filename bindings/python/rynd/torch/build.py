# SPDX-License-Identifier: Apache-2.0
"""Compiles the device for the PyTorch that is installed, once: each of its minor versions has another interface in C++."""

import hashlib
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile

import torch

from .. import _rynd
from ..errors import UnsupportedError

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = sorted((HERE / "src").glob("*.cpp"))
OLDEST = (2, 11)


def _cache_folder():
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "rynd"


def _flags():
    from torch.utils import cpp_extension
    includes = [HERE / "include", *cpp_extension.include_paths(), sysconfig.get_paths()["include"]]
    return ["-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-DTORCH_EXTENSION_NAME=_rynd_torch", f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
            *(f"-I{path}" for path in includes)]


def _key():
    """A name that differs for other sources, PyTorch or rynd."""
    digest = hashlib.sha256("\n".join([torch.__version__, sys.version, _rynd.library(), *_flags()]).encode())
    for path in [*sorted((HERE / "src").iterdir()), *sorted((HERE / "include").rglob("*.h"))]:
        digest.update(path.read_bytes())
    return f"torch-{torch.__version__.split('+')[0]}-{digest.hexdigest()[:16]}"


def _run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()[-5:]
        raise UnsupportedError(f"rynd's device for PyTorch {torch.__version__} did not compile: {' '.join(map(str, command[:1]))} says\n" + "\n".join(errors[:10]))


def _compile(compiler, into):
    """One translation unit: PyTorch's headers take most of the time."""
    from torch.utils import cpp_extension
    whole = into / "whole.cpp"
    whole.write_text("".join(f'#include "{path}"\n' for path in SOURCES))
    folders = [*cpp_extension.library_paths(), str(pathlib.Path(_rynd.library()).parent)]
    _run([*compiler, *_flags(), "-shared", "-o", into / "_rynd_torch.so", whole, _rynd.library(), *(f"-L{path}" for path in folders), "-lc10", "-ltorch_cpu", "-ltorch",
          "-ltorch_python", *(f"-Wl,-rpath,{path}" for path in folders)])


def _built():
    """The path of the compiled device; compiles it if it is not kept."""
    folder = _cache_folder() / _key()
    library = folder / "_rynd_torch.so"
    if library.exists():
        return library
    compiler = os.environ.get("CXX", "c++").split()
    if not shutil.which(compiler[0]):
        raise UnsupportedError(f"rynd.torch compiles its device for PyTorch {torch.__version__} at the first import, and there is no compiler {compiler[0]!r}: "
                               "install g++, or name one in CXX")
    print(f"rynd: compiling the device for PyTorch {torch.__version__} (once, a minute) into {folder}", file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        _compile(compiler, pathlib.Path(temporary))
        os.replace(pathlib.Path(temporary) / "_rynd_torch.so", library)  # whole, also if two processes compile
    return library


def extension():
    """The compiled device as a module."""
    if tuple(int(part) for part in torch.__version__.split(".")[:2]) < OLDEST:
        raise UnsupportedError(f"rynd.torch needs PyTorch {'.'.join(map(str, OLDEST))}, and {torch.__version__} is installed")
    spec = importlib.util.spec_from_file_location("_rynd_torch", _built())
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
