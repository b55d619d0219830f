# SPDX-License-Identifier: Apache-2.0
"""Compares torchvision's networks, run by librynd, with PyTorch's outputs:

    build/venv/bin/python tests/networks/run.py [CASE[@ISA|@DEVICE]...]
    build/venv/bin/python tests/networks/run.py --device DEVICE [--all]

Networks are exported once into build/networks (export.py says what a case is). For each: batch 1 and 3, largest difference at most 1e-4 of the
largest output; the same bits at 1, 2, 3 and 7 threads; no step run by a reference; and loading takes little memory, because weights stay in the mapped file. Some run at
lower instruction sets than the machine's best too. On another device than the CPU (--device: six of them, or all): every step runs there."""
import argparse
import pathlib
import subprocess
import sys

import cases
import numpy

NETWORKS = """alexnet resnet18 resnet50 vgg16 densenet161 googlenet squeezenet1_0 inception_v3 shufflenet_v2_x1_0 mobilenet_v2 mobilenet_v3_large
              mobilenet_v3_small resnext50_32x4d wide_resnet50_2 mnasnet1_0 efficientnet_b0 efficientnet_b4 regnet_y_400mf""".split()
VARIANTS = ["resnet18.unfused", "mobilenet_v2.unfused", "resnet18.fixed"]
# Winograd's form; depthwise windows and gates; channels split and shuffled.
AT_LOWER_ISAS = [f"{name}@{isa}" for name in ("resnet18", "mobilenet_v3_small", "shufflenet_v2_x1_0") for isa in ("avx2", "generic")]
# Each of a kind: plain and strided convolutions, residual sums, depthwise windows, gates, channels split and shuffled, large matrices, branches.
ON_DEVICES = "resnet18 mobilenet_v2 mobilenet_v3_small shufflenet_v2_x1_0 alexnet squeezenet1_0".split()
FOLDER = cases.ROOT / "build/networks"
HERE = pathlib.Path(__file__).resolve().parent
LOADING_LIMIT = 32 << 20  # bytes of private memory, for any model


def private_memory():
    """Bytes of memory that no file backs."""
    return next(int(line.split()[1]) * 1024 for line in pathlib.Path("/proc/self/status").read_text().splitlines() if line.startswith("RssAnon:"))


def export(wanted):
    """In one process: PyTorch takes seconds to start."""
    subprocess.run([sys.executable, HERE / "export.py", FOLDER, *dict.fromkeys(case.partition("@")[0] for case in wanted)], check=True)


def compare_on_device(case, device):
    import rynd_ctypes as rynd

    lacks = rynd.lacks_device(device)
    if lacks:
        print(f"skipped: {lacks}")
        return 77
    expected = numpy.load(FOLDER / f"{case}.npz")
    feeds = {"x": numpy.ascontiguousarray(expected["x"][:1])}
    plan = rynd.Plan(rynd.Model(rynd.Context(device=device), FOLDER / f"{case}.onnx"), feeds)
    steps = plan.steps()
    fallen = [f"{step['name']} ({step['kernel']})" for step in steps if not step["kernel"].endswith("_gpu")]
    assert not fallen, f"on the CPU run {', '.join(fallen)}"
    worst = cases.relative_difference(rynd.Session(plan).run(feeds)[0], expected["y1"])
    assert worst <= cases.TOLERANCE, f"{worst:.1e} of the largest output"
    print(f"{worst:.1e} of the largest output; all {len(steps)} steps run there")
    return 0


def compare(case):
    import reference_steps
    import rynd_ctypes as rynd

    case, _, isa = case.partition("@")
    if isa.partition(":")[0] in ("opencl", "cuda"):
        return compare_on_device(case, isa)
    lacks = rynd.lacks_isa(isa)
    if lacks:
        print(f"skipped: {lacks}")
        return 77
    expected = numpy.load(FOLDER / f"{case}.npz")
    worst = {}
    by_threads = {}
    for threads in (2, 1, 3, 7):
        context = rynd.Context(threads=threads, isa=isa)
        before = private_memory()
        model = rynd.Model(context, FOLDER / f"{case}.onnx")
        loading = private_memory() - before
        assert loading <= LOADING_LIMIT, f"loading took {loading >> 20} MiB of private memory"
        for batch in (1, 3) if threads == 2 and not case.endswith(".fixed") else (1,):
            feeds = {"x": numpy.ascontiguousarray(expected["x"][:batch])}
            plan = rynd.Plan(model, feeds)
            slow = reference_steps.unlisted(plan.steps())
            assert not slow, f"batch {batch}: {', '.join(slow)}"
            output = rynd.Session(plan).run(feeds)[0]
            if threads == 2:
                worst[batch] = cases.relative_difference(output, expected[f"y{batch}"])
            if batch == 1:
                by_threads[threads] = output
    text = ", ".join(f"batch {batch}: {value:.1e} of the largest output" for batch, value in worst.items())
    assert max(worst.values()) <= cases.TOLERANCE, text
    other = [threads for threads, output in by_threads.items() if output.tobytes() != by_threads[1].tobytes()]
    assert not other, f"{text}; other bits at {other} threads than at 1"
    print(f"{text}; same bits at {sorted(by_threads)} threads")
    return 0


def main():
    if sys.argv[1:2] == ["--one"]:
        return compare(sys.argv[2])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="opencl, opencl:1, cuda, ...")
    parser.add_argument("--all", action="store_true", help="with --device: all networks, instead of six")
    parser.add_argument("cases", nargs="*")
    arguments = parser.parse_args()
    wanted = arguments.cases or NETWORKS + VARIANTS + AT_LOWER_ISAS
    if arguments.device:
        wanted = [f"{name}@{arguments.device}" for name in arguments.cases or (NETWORKS if arguments.all else ON_DEVICES)]
    export(wanted)
    return cases.run_cases(__file__, wanted)


if __name__ == "__main__":
    sys.exit(main())
