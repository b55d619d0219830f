# SPDX-License-Identifier: Apache-2.0
"""What bench/amd_code and bench/intel_code have in common: the texts of a card's tiled kernels, and the table of their main loops."""
import argparse
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def problems():
    """The problems of bench/gpu_code in both layouts."""
    loader = importlib.machinery.SourceFileLoader("gpu_code", str(ROOT / "bench/gpu_code"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_code", loader))
    loader.exec_module(module)
    return [f"{problem} layout={layout}" for problem in module.PROBLEMS for layout in ("nchw", "nhwc") if problem.startswith("conv")] + [
        problem for problem in module.PROBLEMS if not problem.startswith("conv")
    ]


def texts(arguments, folder):
    """(file of an OpenCL text, kernel, problem) of the forms that are chosen for the arguments' card."""
    program = arguments.build / "bin/bench_gpu_texts"
    if not program.exists():
        sys.exit(f"{program} is not built: cmake --build {arguments.build} --target bench_gpu_texts, configured with -DRYND_TESTS=ON; --build names another folder")
    done = subprocess.run([program, arguments.card, folder], input="".join(f"{problem}\n" for problem in arguments.problem or problems()),
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"bench_gpu_texts: {done.stderr}")
    for line in done.stdout.splitlines():
        number, kernel, problem = line.split("\t")
        yield pathlib.Path(folder, f"{number}.cl"), kernel, problem


def table_of(head, words, rows):
    """Aligned: columns of words to the left, numbers to the right."""
    rows = [head, *rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return "".join("  ".join(cell.ljust(width) if name in words else cell.rjust(width) for name, cell, width in zip(head, row, widths)).rstrip() + "\n" for row in rows)


def parser_of(description, card):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--card", default=card)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("problem", nargs="*")
    return parser


def show(arguments, tool, kept, head, rows_of):
    """Prints the table of rows_of(arguments, folder), writes it to the file `kept`, or compares it with that."""
    with tempfile.TemporaryDirectory() as folder:
        table = table_of(head, {"kernel", "tile", "problem"}, list(rows_of(arguments, folder)))
    if arguments.write:
        kept.write_text(table)
    elif not arguments.check:
        print(table, end="")
    elif table != kept.read_text():
        old = kept.read_text().splitlines()
        changed = [line for line in table.splitlines() if line not in old] + [f"gone: {line}" for line in old if line not in table.splitlines()]
        sys.exit(f"The main loops are not those of {kept.relative_to(ROOT)}; look at them, then `{tool} --write`:\n" + "\n".join(changed))
