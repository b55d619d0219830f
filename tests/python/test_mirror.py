# SPDX-License-Identifier: Apache-2.0
"""The build's copy of the Python sources: it loses the files that the sources lose, and keeps what was built beside them."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def mirror(source, copy):
    subprocess.run(["cmake", f"-DFROM={source}", f"-DTO={copy}", "-P", ROOT / "cmake/mirror.cmake"], check=True)
    return {str(p.relative_to(copy)) for p in copy.rglob("*") if p.is_file()}


def test_deleted_sources_vanish(tmp_path):
    source, copy = tmp_path / "a b", tmp_path / "copy"
    (source / "inner").mkdir(parents=True)
    for name in ("one.py", "two.py", "inner/three.cpp"):
        (source / name).write_text(name)
    assert mirror(source, copy) == {"one.py", "two.py", "inner/three.cpp"}
    assert mirror(source, copy) == {"one.py", "two.py", "inner/three.cpp"}  # nothing to delete
    (copy / "_rynd.so").write_text("built")
    (source / "two.py").unlink()
    (source / "inner/three.cpp").unlink()
    (source / "one.py").write_text("changed")
    assert mirror(source, copy) == {"one.py", "_rynd.so"} and (copy / "one.py").read_text() == "changed"


def test_the_build_uses_it():
    text = (ROOT / "bindings/python/CMakeLists.txt").read_text()
    assert "cmake/mirror.cmake" in text and "copy_directory" not in text
