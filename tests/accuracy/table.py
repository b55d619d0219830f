# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/accuracy.md: errors of every kernel, and of the peers that this Python can import, on the same data.

    ninja -C build/release accuracy_table
    python3 tests/accuracy/table.py build/release/bin/accuracy_table --write docs/accuracy.md
"""

import argparse
import datetime
import json
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import peers as peer_list

MARK = "<!-- tables: tests/accuracy/table.py -->"
ORDER = ["strict", "near32", "tf32", "bf16", "int8"]
FINITE = ["ordinary", "signed", "channels", "pixels", "cancelling", "subnormal", "tiny", "huge"]
HARD = ["non-finite x", "non-finite w"]
# Problems that peers are compared on: of each method one. Those that take seconds a run only run the first.
SHOWN = ["conv c=64 h=15 w=17", "conv c=256", "conv c=3 ", "conv c=72", "convt c=64"]


def cpu_name():
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def number(value):
    return "0" if value == 0 else f"{value:.1e}".replace("e-0", "e-").replace("e+0", "e+")


def worst(rows, key):
    return max((row[key] for row in rows), default=0.0)


def kernel_rows(cases):
    """{(class, name): {data: [measurement]}}, with the direct sum and the sum of rounded operands as kernels of their own."""
    rows = {}
    for case in cases:
        models = [dict(case["direct"], name="(direct sum)", **{"class": ""}), dict(case["rounded"], name="(direct sum of bfloat16)", **{"class": ""})]
        for kernel in models + case["kernels"]:
            rows.setdefault((kernel["class"], kernel["name"]), {}).setdefault(case["data"], []).append(kernel)
    return rows


def kernel_table(cases):
    rows = kernel_rows(cases)
    lines = ["| class | kernel | " + " | ".join(FINITE) + " | largest | Inf, NaN |", "|---|---|" + "---|" * (len(FINITE) + 2)]
    for kind, name in sorted(rows, key=lambda key: (ORDER.index(key[0]) if key[0] else -1, key[1])):
        data = rows[kind, name]
        cells = [number(worst(data.get(d, []), "rms")) for d in FINITE]
        largest = max(worst(data.get(d, []), "largest") for d in FINITE if d not in ("cancelling", "subnormal", "tiny"))
        misplaced = sum(row["misplaced"] for d in FINITE + HARD for row in data.get(d, []))
        lines.append(f"| {kind} | {name} | " + " | ".join(cells) + f" | {number(largest)} | {'as the direct sum' if not misplaced else f'{misplaced} elsewhere'} |")
    return lines


def operands(case, folder):
    def read(what, dtype, shape):
        path = folder / f"{case['files']}.{what}"
        return np.fromfile(path, dtype).reshape(shape) if path.exists() else None

    return (read("x", np.float32, case["x"]), read("w", np.float32, case["w"]), read("b", np.float32, -1),
            read("y", np.float64, case["y"]), read("direct", np.float32, case["y"]), read("padded", np.float32, case["y"]))


def kind_of(values):
    return np.where(np.isnan(values), 2, np.where(np.isinf(values), np.sign(values) * 3, 0))


def peer_error(got, exact, direct, padded):
    """Relative RMS error on what is finite in both, and the number of outputs of another kind than the direct sum's."""
    with np.errstate(all="ignore"):
        other = int(((kind_of(got) != kind_of(direct)) & (kind_of(got) != kind_of(padded))).sum())
        both = np.isfinite(got) & np.isfinite(exact)
        scale = np.sqrt(np.sum(exact[both] ** 2))
        return (float(np.sqrt(np.sum((got[both].astype(np.float64) - exact[both]) ** 2)) / scale) if scale else 0.0), other


def peer_tables(cases, folder):
    """One table a problem: a line a peer and a class of rynd, a column a kind of data."""
    lines, found = [], peer_list.find()
    for prefix in SHOWN:
        chosen = [case for case in cases if case["problem"].startswith(prefix)]
        if not chosen:
            continue
        lines += ["", f"`{chosen[0]['problem']}`", "", "| | " + " | ".join(FINITE + HARD) + " |", "|---|" + "---|" * len(FINITE + HARD)]
        table = {}
        for case in chosen:
            print(f"{case['problem']}: {case['data']}", file=sys.stderr, flush=True)
            x, w, b, exact, direct, padded = operands(case, folder)
            for peer in found if prefix == SHOWN[0] else [peer for peer in found if not peer.slow]:
                got = peer.run(case["problem"], x, w, b)
                table.setdefault(peer.name, {})[case["data"]] = None if got is None else peer_error(got.reshape(exact.shape), exact, direct, padded)
            for kind in ("strict", "near32", "bf16"):
                fit = [k for k in case["kernels"] if ORDER.index(k["class"]) <= ORDER.index(kind) and k["layout"] == "nchw"]
                best = next((k for k in fit if not k["reference"]), fit[0])
                table.setdefault(f"rynd {kind}: {best['name']}", {})[case["data"]] = (best["rms"], best["misplaced"])
        for name, errors in table.items():
            if all(value is None for value in errors.values()):
                continue
            cells = [cell(errors.get(d), d) for d in FINITE + HARD]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def cell(error, data):
    if error is None:
        return "-"
    rms, other = error
    if other:
        return f"{other} wrong"
    return "right" if data in HARD else number(rms)


def tables(program):
    with tempfile.TemporaryDirectory() as folder:
        cases = json.loads(subprocess.run([program, folder], check=True, capture_output=True, text=True).stdout)
        versions = ", ".join(f"{peer.name} {peer.version}" for peer in peer_list.find()) or "none"
        today = datetime.date.today().isoformat()
        return [MARK, "", f"{cpu_name()}, {today}; peers: {versions}.", "", "## Kernels", "", *kernel_table(cases), "", "## Peers",
                *peer_tables(cases, Path(folder)), ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the built accuracy_table")
    parser.add_argument("--write", metavar="FILE", help="replaces what follows the mark in this file; default: prints")
    arguments = parser.parse_args()
    text = "\n".join(tables(arguments.program))
    if not arguments.write:
        print(text)
        return
    path = Path(arguments.write)
    head = re.split(re.escape(MARK), path.read_text())[0]
    path.write_text(head + text)


if __name__ == "__main__":
    main()
