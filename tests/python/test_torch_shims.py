# SPDX-License-Identifier: Apache-2.0
"""The search for the device's library: beside the package, in the cache folder, by the compiler."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from torch_strict import rynd, torch  # noqa: F401
from rynd import torch_shim
from rynd.torch import build

OTHER = build.identity()[:-16] + "0123456789abcdef"  # from other sources
IMPORT = "import torch, rynd.torch; print(torch.ones(2, device='rynd').sum().item(), *torch.ops.loaded_libraries)"


@pytest.fixture
def shim():
    """The library that this process uses."""
    return pathlib.Path(next(path for path in torch.ops.loaded_libraries if "torch" in path and rynd.__name__ in path))


def test_series():
    assert [torch_shim.series(version) for version in ("2.15.0", "2.15.1+cu130", "2.11.0+cpu")] == ["2.15", "2.15", "2.11"]
    for own in ("2.15.0a0+git12ab34c", "2.16.0.dev20261101+cpu", "2.15.0rc1"):
        assert torch_shim.series(own) == own


def test_identity_names_torch_and_sources(tmp_path):
    names = {torch_shim.identity(version, abi) for version in ("2.14.0", "2.15.0") for abi in (True, False)}
    assert len(names) == 4 and torch_shim.identity("2.15.1+cpu", True) in names
    shutil.copytree(torch_shim.PACKAGE / "src", tmp_path / "src")
    shutil.copytree(torch_shim.PACKAGE / "include", tmp_path / "include")
    assert torch_shim.identity("2.15.0", True, tmp_path) in names
    with open(tmp_path / "include/rynd/version.h", "a") as file:
        file.write("\n")
    assert torch_shim.identity("2.15.0", True, tmp_path) not in names


def test_a_library_that_does_not_fit_is_not_taken(tmp_path):
    name = tmp_path / f"torch-{torch_shim.series(torch.__version__)}.so"
    assert build.prebuilt(tmp_path) is None
    for content, taken in ((build.identity(), True), (OTHER, False), (build.identity() + "0", False), ("", False)):
        name.write_bytes(b"\x7fELF..." + torch_shim.MARK + content.encode() + b"\0...")
        assert (build.prebuilt(tmp_path) == name) == taken
    name.rename(tmp_path / "torch-2.1.so")
    assert build.prebuilt(tmp_path) is None


def imported(tmp_path, *shims, compiler):
    """Imports rynd.torch in another process, from a copy of the package with these libraries and an empty cache folder."""
    package = tmp_path / "package/rynd"
    shutil.copytree(pathlib.Path(rynd.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__", "shims"))
    (package / "torch/shims").mkdir()
    for name, content in shims:
        (package / "torch/shims" / name).write_bytes(content)
    environment = os.environ | {"PYTHONPATH": str(package.parent), "XDG_CACHE_HOME": str(tmp_path / "cache"), "CXX": compiler}
    return subprocess.run([sys.executable, "-c", IMPORT], env=environment, capture_output=True, text=True)


def test_a_library_of_the_wheel_needs_no_compiler(tmp_path, shim):
    assert torch_shim.has_identity(shim, build.identity())
    done = imported(tmp_path, (f"torch-{torch_shim.series(torch.__version__)}.so", shim.read_bytes()), compiler="/nonexistent/c++")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2.0") and str(tmp_path / "package") in done.stdout and "compil" not in done.stderr
    assert not list(tmp_path.glob("cache/rynd/torch-*"))


def test_without_a_library_and_a_compiler(tmp_path, shim):
    other = shim.read_bytes().replace(build.identity().encode(), OTHER.encode())
    done = imported(tmp_path, (f"torch-{torch_shim.series(torch.__version__)}.so", other), compiler="/nonexistent/c++")
    assert done.returncode != 0 and "UnsupportedError" in done.stderr and "install g++" in done.stderr and torch.__version__ in done.stderr


def test_a_broken_library_is_compiled_anew(tmp_path, shim):
    """A script stands for the compiler. It copies the library of this process."""
    compiler = tmp_path / "compiler"
    compiler.write_text(f"""#!/bin/sh
while [ "$1" != -o ]; do shift; done
cp {shim} "$2"
""")
    compiler.chmod(0o755)
    broken = torch_shim.MARK + build.identity().encode() + b"\0"
    done = imported(tmp_path, (f"torch-{torch_shim.series(torch.__version__)}.so", broken), compiler=str(compiler))
    assert done.returncode == 0, done.stderr
    assert "cannot be loaded" in done.stderr and "compiling the device" in done.stderr and str(tmp_path / "cache") in done.stdout
    again = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True,
                           env=os.environ | {"PYTHONPATH": str(tmp_path / "package"), "XDG_CACHE_HOME": str(tmp_path / "cache"), "CXX": "/nonexistent/c++"})
    assert again.returncode == 0 and "compiling" not in again.stderr


def test_a_compiler_that_fails_says_why(tmp_path):
    compiler = tmp_path / "compiler"
    compiler.write_text("#!/bin/sh\necho 'whole.cpp:1: error: no such thing' >&2\nexit 1\n")
    compiler.chmod(0o755)
    done = imported(tmp_path, compiler=str(compiler))
    assert done.returncode != 0 and "did not compile" in done.stderr and "no such thing" in done.stderr
