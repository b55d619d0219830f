# SPDX-License-Identifier: Apache-2.0
"""ONNX's messages as nanopb makes them: the same from the system's onnx.proto and from a later one, whichever a build finds."""

import pathlib
import re
import shutil
import subprocess

import pytest

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "src" / "onnx"
PACKAGED = pathlib.Path("/usr/include/onnx")


def fields(folder, into):
    """The fields of each message that is generated: name -> lines of its list."""
    generator = shutil.which("nanopb_generator.py") or shutil.which("nanopb_generator")
    if not generator:
        pytest.skip("nanopb's generator is not installed")
    into.mkdir()
    subprocess.run([generator, "--quiet", "-f", SOURCES / "onnx.options", "-D", into, "-I", folder, folder / "onnx.proto"], check=True)
    header = (into / "onnx.pb.h").read_text()
    return dict(re.findall(r"#define (ry_onnx_\w+)_FIELDLIST\(X, a\)((?:.*\\\n)*.*\n)", header))


def test_a_later_package_gives_the_same_messages(tmp_path):
    onnx = pytest.importorskip("onnx")
    later = pathlib.Path(onnx.__file__).parent
    if not PACKAGED.exists() or not (later / "onnx.proto").exists():
        pytest.skip("there are not two packages of onnx.proto")
    packaged = fields(PACKAGED, tmp_path / "packaged")
    assert "name" in packaged["ry_onnx_ValueInfoProto"]
    assert fields(later, tmp_path / "later") == packaged
