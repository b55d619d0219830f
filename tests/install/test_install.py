# SPDX-License-Identifier: Apache-2.0
"""What `make install` leaves behind is complete: programs compile against it by pkg-config and by find_package, and the command runs from it."""
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CONSUMER = pathlib.Path(__file__).resolve().parent / "consumer"
PROGRAMS = {f"{path.name}_{number}": code for path in sorted((ROOT / "docs").glob("*.md"))
            for number, code in enumerate(re.findall(r"```c\n(#include.*?)```", path.read_text(), re.DOTALL))}
EXAMPLES = sorted((ROOT / "examples").glob("*.c"))


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def tree(request, tmp_path_factory):
    """Installed with DESTDIR, as a packager does, then used from where it lies: nothing in it may depend on its place."""
    destination = tmp_path_factory.mktemp("destination")
    build = pathlib.Path(request.config.getoption("--build"))
    run("cmake", "--install", build, "--prefix", "/usr", env=os.environ | {"DESTDIR": str(destination)})
    return destination / "usr"


@pytest.fixture(scope="session")
def libdir(tree):
    return next(tree.rglob("librynd.so")).parent


@pytest.fixture(scope="session")
def flags(libdir):
    """Compiler and linker flags, as pkg-config gives them for the shared and for the static library."""
    environment = os.environ | {"PKG_CONFIG_PATH": str(libdir / "pkgconfig"), "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1", "PKG_CONFIG_ALLOW_SYSTEM_LIBS": "1"}
    return {kind: run("pkg-config", "--cflags", "--libs", *options, "rynd", env=environment).split()
            for kind, options in [("shared", []), ("static", ["--static"])]}


def test_tree(tree, libdir):
    names = {str(path.relative_to(tree)) for path in tree.rglob("*")}
    public = {f"include/rynd/{path.name}" for path in (ROOT / "include/rynd").glob("*.h")}
    assert public <= names
    assert {"bin/rynd", "share/man/man1/rynd.1", "share/bash-completion/completions/rynd", "share/zsh/site-functions/_rynd", "share/fish/vendor_completions.d/rynd.fish"} <= names
    lib = str(libdir.relative_to(tree))
    assert {f"{lib}/librynd.so", f"{lib}/librynd.a", f"{lib}/pkgconfig/rynd.pc", f"{lib}/cmake/rynd/rynd-config.cmake"} <= names


def test_soname(libdir):
    """Before 1.0 each minor version has its own soname; version.h, the library's file and the command agree."""
    text = (ROOT / "include/rynd/version.h").read_text()
    major, minor, patch = (re.search(rf"VERSION_{part} (\d+)", text).group(1) for part in ("MAJOR", "MINOR", "PATCH"))
    soname = f"librynd.so.{major}.{minor}"
    assert f"[{soname}]" in run("readelf", "-d", libdir / "librynd.so")
    assert (libdir / soname).resolve().name == f"{soname}.{patch}"


def test_nothing_names_the_build(tree):
    """The build folder's path would break an installed tree as soon as the folder is gone."""
    for path in tree.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.suffix in {".cmake", ".pc", ".h"}:
            assert str(ROOT) not in path.read_text(), path


def test_command_runs(tree, libdir):
    assert "rynd" in run(tree / "bin/rynd", "--help", env=os.environ | {"LD_LIBRARY_PATH": str(libdir)})


def test_pkg_config_shared(libdir, flags, tmp_path):
    run("gcc", "-std=c11", "-Wall", "-Werror", CONSUMER / "consumer.c", *flags["shared"], "-o", tmp_path / "consumer")
    assert run(tmp_path / "consumer", env=os.environ | {"LD_LIBRARY_PATH": str(libdir)}).startswith("rynd ")


def test_pkg_config_static(flags, tmp_path):
    words = ["-l:librynd.a" if word == "-lrynd" else word for word in flags["static"]]
    run("gcc", "-std=c11", CONSUMER / "consumer.c", *words, "-o", tmp_path / "consumer")
    assert run(tmp_path / "consumer").startswith("rynd ")


def test_documents_have_programs():
    assert len(PROGRAMS) >= 3


@pytest.mark.parametrize("name", PROGRAMS)
def test_documents_compile(flags, tmp_path, name):
    (tmp_path / "program.c").write_text(PROGRAMS[name])
    includes = [word for word in flags["shared"] if word.startswith("-I")]
    run("gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *includes, tmp_path / "program.c")


@pytest.mark.parametrize("kind", ["shared", "static"])
def test_find_package(tree, tmp_path, kind):
    run("cmake", "-S", CONSUMER, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={tree}", f"-DKIND={kind}")
    run("cmake", "--build", tmp_path)
    assert run(tmp_path / "consumer").startswith("rynd ")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_compiles(flags, tmp_path, example):
    run("gcc", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Werror", example, *flags["shared"], "-lm", *extra(example), "-o", tmp_path / "example")


def extra(example):
    """What an example links besides."""
    return ["-lpng"] if "<png.h>" in example.read_text() else []
