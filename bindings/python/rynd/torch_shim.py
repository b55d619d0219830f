# SPDX-License-Identifier: Apache-2.0
"""Compiles `rynd.torch`'s device for a PyTorch, by its headers and libraries alone: tools/make_torch_shims does it without importing PyTorch.

The library needs C++ of one series of PyTorch (2.15), and nothing of Python. Its identity is the text "torch-2.15-x86_64-<digest>", which stands in the file.
"""

import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import tempfile

from .errors import UnsupportedError

PACKAGE = pathlib.Path(__file__).resolve().parent / "torch"
MARK = b"rynd_torch_identity="
FLAGS = ("-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-shared", "-s", "-Wl,-z,now")


def series(version):
    """Returns "2.15" for "2.15.0" and "2.15.1+cu130": a series has one interface in C++. Returns other versions whole, such as "2.15.0a0+git12ab"."""
    release = re.fullmatch(r"(\d+\.\d+)\.\d+(\+\w+)?", version)
    return release[1] if release else version


def identity(version, cxx11_abi, package=PACKAGE):
    """A name that differs for another PyTorch, processor, standard library's interface, or other sources in `package`."""
    digest = hashlib.sha256("\n".join([series(version), platform.machine(), str(int(cxx11_abi)), *FLAGS]).encode())
    for path in [*sorted((package / "src").iterdir()), *sorted((package / "include").rglob("*.h"))]:
        digest.update(path.name.encode() + path.read_bytes())
    return f"torch-{series(version)}-{platform.machine()}-{digest.hexdigest()[:16]}"


def has_identity(library, name):
    """Was the file made under this identity?"""
    return MARK + name.encode() + b"\0" in library.read_bytes()


def _run(command, version):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()[-5:]
        raise UnsupportedError(f"rynd's device for PyTorch {version} did not compile: {command[0]} says\n" + "\n".join(errors[:10]))


def compiler():
    """The command of the C++ compiler: CXX, or c++."""
    command = os.environ.get("CXX", "c++").split()
    if not command or not shutil.which(command[0]):
        raise UnsupportedError(f"there is no C++ compiler {' '.join(command) or 'c++'!r}: install g++, or name one in CXX")
    return command


def build(library, version, cxx11_abi, torch, rynd, package=PACKAGE):
    """Writes `library` for the PyTorch in the folder `torch`, linked with the library `rynd`. All sources are one unit: PyTorch's headers take most of the time."""
    command = compiler()
    name = identity(version, cxx11_abi, package)
    library.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=library.parent) as temporary:
        whole, made = pathlib.Path(temporary) / "whole.cpp", pathlib.Path(temporary) / library.name
        whole.write_text("".join(f'#include "{path}"\n' for path in sorted((package / "src").glob("*.cpp"))))
        includes = [package / "include", torch / "include", torch / "include/torch/csrc/api/include"]
        _run([*command, *FLAGS, f"-D_GLIBCXX_USE_CXX11_ABI={int(cxx11_abi)}", f'-DRYND_TORCH_IDENTITY="{name}"', *(f"-I{path}" for path in includes),
              "-o", str(made), str(whole), str(rynd), f"-L{torch / 'lib'}", "-lc10", "-ltorch_cpu"], version)
        os.replace(made, library)  # whole, also if two processes compile
