# SPDX-License-Identifier: Apache-2.0
"""inspect, plan, bench and devices: JSON keys are a contract, texts say the same."""

import os
import platform
import re
import socket

import pytest
from conftest import quick_when_sanitized

CONV = "conv n=1 c=8 h=10 w=10 k=8 r=3 s=3 pad=1"
CONV_MACS = 8 * 8 * 9 * 100


def test_inspect_json(ran, small_net):
    (model,) = ran("inspect", small_net, "--json").results
    assert model["inputs"] == [{"name": "x", "shape": ["batch", 3, 8, 8], "dtype": "f32"}]
    assert model["outputs"] == [{"name": "y", "shape": ["batch", 4, 1, 1], "dtype": "f32"}]
    assert model["operators"] == {"Conv": 1, "GlobalAveragePool": 1, "Relu": 1}
    assert model["parameters"] == 4 * 27 + 4
    assert model["macs"] == 4 * 27 * 64
    assert model["opset"] == 13
    assert model["producer"] == "tests"


def test_inspect_with_sizes(ran, small_net):
    for option in (["--batch", "5"], ["--dim", "batch=5"]):
        (model,) = ran("inspect", small_net, "--json", *option).results
        assert model["inputs"][0]["shape"] == [5, 3, 8, 8]
        assert model["outputs"][0]["shape"] == [5, 4, 1, 1]
        assert model["macs"] == 5 * 4 * 27 * 64


def test_inspect_text(ran, small_net):
    out = ran("inspect", small_net).out
    assert "[batch, 3, 8, 8]" in out and "opset 13" in out and "parameters 112" in out
    assert re.search(r"^Conv +1$", out, re.M)


def test_plan_json(ran, small_net):
    (plan,) = ran("plan", small_net, "--batch", "2", "--json").results
    assert plan["nodes"]
    for node in plan["nodes"]:
        assert {"name", "op", "kernel", "accuracy", "knobs", "layout_in", "layout_out", "fused", "reason"} <= set(node)
        assert node["kernel"] and node["reason"] and node["problem"]
    assert isinstance(plan["conversions"], list)
    memory = plan["memory"]
    assert set(memory) == {"weights", "activations", "workspace", "total"}
    assert memory["total"] >= memory["weights"] + memory["activations"] > 0


def test_plan_is_deterministic(ran, small_net):
    def stable():
        (plan,) = ran("plan", small_net, "--batch", "2", "--json").results
        return {**plan, "planning_seconds": None}

    assert stable() == stable()


def test_plan_text(ran, small_net):
    out = ran("plan", small_net, "--batch", "1").out
    (plan,) = ran("plan", small_net, "--batch", "1", "--json").results
    for node in plan["nodes"]:
        assert node["kernel"] in out and node["name"] in out
    assert "memory: weights" in out


def test_the_right_operand_of_a_product_is_constant(ran):
    (plan,) = ran("plan", "matmul x0=64x256:f32 x1=256x512:f32 x2=512:f32 y0=64x512:f32", "--json").results
    assert plan["memory"]["weights"] >= 4 * 256 * 512
    assert plan["memory"]["activations"] == 4 * (64 * 256 + 64 * 512)
    assert any(method in plan["nodes"][0]["kernel"] for method in ("igemm", "split"))  # those that pack it


def test_plan_of_a_problem(ran):
    (plan,) = ran("plan", CONV, "--json").results
    (node,) = plan["nodes"]
    assert node["op"] == "conv" and node["problem"].startswith("conv ")
    assert node["flop"] == 2 * CONV_MACS
    memory = plan["memory"]
    assert memory["weights"] >= 4 * 8 * 8 * 9 and memory["activations"] == 2 * 4 * 8 * 10 * 10
    assert memory["total"] == memory["weights"] + memory["activations"] + memory["workspace"]
    assert node["kernel"] in ran("plan", CONV).out
    assert "memory: weights" in ran("plan", CONV).out
    (again,) = ran("plan", node["problem"], "--json").results
    assert again["nodes"][0]["problem"] == node["problem"]


CLASSES = ["strict", "near32", "tf32", "bf16", "int8"]


def no_looser(plan, asked):
    return all(CLASSES.index(node["accuracy"]) <= CLASSES.index(asked) for node in plan["nodes"] + plan["conversions"])


@pytest.mark.parametrize("asked", CLASSES)
def test_kernels_hold_the_class_that_is_asked(ran, small_net, asked):
    for subject in ([CONV], [small_net, "--batch", "2"]):
        (plan,) = ran("plan", *subject, "--accuracy", asked, "--json").results
        assert no_looser(plan, asked)
        (row,) = ran("bench", *subject, "--accuracy", asked, "--json", *QUICK).results
        assert row["median"] > 0
    assert plan["nodes"][0]["problem"].endswith(f" accuracy={asked}") == (asked != "near32")


def test_a_class_in_a_problem_holds_until_an_option_overrides_it(ran):
    def asked(*arguments):
        (plan,) = ran("plan", *arguments, "--json").results
        return plan["nodes"][0]["problem"].partition(" accuracy=")[2] or "near32"

    assert asked(CONV) == "near32"
    assert asked(CONV + " accuracy=strict") == "strict"
    assert asked(CONV + " accuracy=strict", "--accuracy", "bf16") == "bf16"
    assert asked(CONV + " accuracy=strict", "--accuracy", "near32") == "near32"


def test_plan_text_shows_the_class_of_each_kernel(ran):
    head, row = ran("plan", CONV, "--accuracy", "strict", "--wide").out.splitlines()[:2]
    assert row[head.index("class"):].split()[0] == "strict"


@pytest.mark.parametrize("problem", [CONV, "conv n=1 c=8 h=9 w=9 k=8 r=3 s=3 bias=1", "convt n=1 c=8 h=9 w=9 k=8 r=2 s=2 stride=2"])
def test_plan_of_a_problem_chooses_what_bench_times(ran, problem):
    (plan,) = ran("plan", problem, "--json").results
    (row,) = ran("bench", problem, "--json", *QUICK).results
    assert plan["nodes"][0]["kernel"] == row["kernel"]


BENCH_KEYS = {"name", "n", "mean", "variance", "median", "quiet", "disturbance", "min", "max", "flop", "bytes", "kernel", "limit_fraction"}
QUICK = ["--min-time", "0", "--rounds", "3", "--warmup", "0"]


def test_a_problem_of_several_steps(ran):
    """plan, predict, bench and tune have the steps of a one-node graph, and none is a reference."""
    problem = "convt c=4 w=16 k=3 s=70 stride=65"
    (planned,), (predicted,) = ran("plan", problem, "--json").results, ran("predict", problem, "--json").results
    kernels = [node["kernel"] for node in planned["nodes"]]
    assert len(kernels) > 1 and not any(kernel.endswith("_ref") for kernel in kernels)
    assert [node["kernel"] for node in predicted["nodes"]] == kernels
    assert predicted["time"]["median"] > max(node["time"]["median"] for node in predicted["nodes"])
    (timed,) = ran("bench", problem, "--min-time", "0", "--rounds", "1", "--json").results
    assert timed["kernel"] == " + ".join(kernels) and timed["flop"] > 0
    (tuned,) = ran("tune", problem, "--budget", "0.01", "--json").results
    assert {entry["problem"] for entry in tuned["problems"]} <= {node["problem"] for node in planned["nodes"]}
    (forced,) = ran("plan", problem, "--set", "kernel=convt_ref", "--json").results
    assert [node["kernel"] for node in forced["nodes"]] == ["convt_ref"]
    set_step = f"{planned['nodes'][0]['name']}.kernel=conv_fwd_f32_igemm_generic"
    (own,) = ran("plan", problem, "--set", set_step, "--json").results
    assert own["nodes"][0]["kernel"] == "conv_fwd_f32_igemm_generic"


def test_bench_json(ran, small_net):
    rows = ran("bench", CONV, small_net, "--batch", "2", "--json", *QUICK).results
    assert [row["name"] for row in rows] == [CONV, str(small_net)]
    for row in rows:
        assert BENCH_KEYS <= set(row)
        assert row["n"] == 3
        assert 0 < row["min"] <= row["quiet"] <= row["median"] <= row["max"]
        assert 0 <= row["disturbance"] <= 1
        assert row["min"] <= row["mean"] <= row["max"]
        assert row["variance"] >= 0
        assert row["limit_fraction"] is None or row["limit_fraction"] > 0
    assert rows[0]["flop"] == 2 * CONV_MACS and rows[0]["kernel"]
    assert rows[1]["flop"] >= 2 * 2 * 4 * 27 * 64 and rows[1]["kernel"] is None
    assert {"planning_seconds", "load_time", "peak_memory"} <= set(rows[1])
    assert "peak_memory" not in rows[0]


def test_bench_text(ran):
    out = ran("bench", CONV, "--wide", *QUICK).out
    head, row = out.splitlines()
    assert head.split() == ["name", "n", "median", "quiet", "min", "max", "disturbed", "Gflop/s", "of", "limit", "kernel", "mean", "variance"]
    assert row.startswith(CONV)


def test_bench_runs_for_the_time_asked(ran):
    (row,) = ran("bench", CONV, "--min-time", "0.2", "--rounds", "1", "--json").results
    assert row["n"] * row["mean"] >= 0.19


@pytest.mark.parametrize("direction", ["fwd", "bwd_data", "bwd_weights"])
@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
def test_bench_of_every_direction_and_layout(ran, direction, layout):
    (row,) = ran("bench", f"{CONV} dir={direction} layout={layout}", "--json", *QUICK).results
    assert row["median"] > 0


@pytest.mark.parametrize("command", ["bench", "plan"])
@pytest.mark.parametrize(
    "problem, part",
    [("conv n=1", ""), (CONV + " colour=red", "colour"), (CONV + " r=x", "r"), (CONV.replace("c=8", "c=-8"), "c"), (CONV + " groups=3", "groups"), (CONV + " dtype=f99", "f99")],
)
def test_bad_problems(rynd, command, problem, part):
    rynd(command, problem).failed(part)


def test_a_file_is_no_problem(rynd, tmp_path):
    rynd("bench", "convolution n=1").failed("convolution n=1", "No such file")


def test_bench_keeps_what_it_measured_before_a_failure(rynd, tmp_path):
    result = rynd("bench", CONV, tmp_path / "none.onnx", *QUICK)
    result.failed("none.onnx")
    assert CONV in result.out


LEVELS = {"l1", "l2", "l3", "dram"}


def test_devices_json(ran):
    device, *_ = ran("devices", "--json").results
    assert {"name", "isa", "cores", "peak", "bandwidth", "device", "threads", "caches", "architecture", "latency", "task", "region", "transfer"} <= set(device)
    assert device["device"] == "cpu" and device["cores"] >= 1 and device["origin"] == "built-in" and device["machine"] is None
    assert device["peak"]["f32"] >= device["peak_one_thread"]["f32"] > 1e8
    assert set(device["bandwidth"]) == set(device["bandwidth_one_thread"]) == set(device["latency"]) == LEVELS
    assert device["bandwidth"]["dram"] >= device["bandwidth_one_thread"]["dram"] > 1e7


@quick_when_sanitized
def test_devices_measured(ran, rynd, monkeypatch, tmp_path):
    """Whether it is kept depends on what else the machine does; what is shown is measured, and a file that is kept is read again."""
    path = tmp_path / "new" / "machine.txt"
    monkeypatch.setenv("RYND_MACHINE", str(path))
    result = ran("devices", "--measure", "--json")
    (device,) = result.results
    assert device["origin"] == "measured"
    assert device["peak"]["f32"] >= device["peak_one_thread"]["f32"] > 1e8
    assert device["peak"]["bf16"] >= device["peak_one_thread"]["bf16"] > 1e6
    assert device["bandwidth"]["dram"] >= device["bandwidth_one_thread"]["dram"] > 1e7
    assert len(device["kinds"]) == 12 and all(device["kinds"][kind] >= rate > 1e6 for kind, rate in device["kinds_one_thread"].items())
    assert 0 < device["latency"]["l1"] < device["latency"]["dram"] < 1e-3 and device["region"] > 0
    if device["disturbance"] > 0.1:
        assert device["machine"] is None and "not kept" in result.err and not path.exists()
    else:
        assert device["machine"] == str(path) and [entry.name for entry in path.parent.iterdir()] == ["machine.txt"]
        again, *_ = ran("devices", "--json").results
        assert again["origin"] == "measured" and again["machine"] == str(path)
        assert abs(again["peak"]["f32"] - device["peak"]["f32"]) <= 1


def test_a_device_beside_the_cpu_measured(ran, rynd, monkeypatch, tmp_path):
    """By its own kernels; the file of one kind of device is refused for the other."""
    if len(ran("devices", "--json").results) == 1:
        pytest.skip("there is no device beside the CPU (Debian: pocl-opencl-icd is one)")
    # compilers of drivers keep memory to the end
    monkeypatch.setenv("LSAN_OPTIONS", f"suppressions={tmp_path / 'drivers'}:print_suppressions=0")
    (tmp_path / "drivers").write_text("leak:libstdc++\nleak:libpocl\nleak:libLLVM\n")
    path, cpu = tmp_path / "opencl.txt", exported(ran, tmp_path / "cpu.txt")
    monkeypatch.setenv("RYND_MACHINE", str(path))
    (built_in,) = ran("devices", "--device", "opencl", "--json").results
    result = ran("devices", "--device", "opencl", "--measure", "--json")
    (device,) = result.results
    assert built_in["origin"] == "built-in" and device["origin"] == "measured" and device["name"] == built_in["name"]
    assert device["peak"]["f32"] >= device["peak_one_thread"]["f32"] > 1e8 and device["bandwidth"]["dram"] > 1e7
    assert 0 < device["latency"]["dram"] < 1e-3 and 0 < device["region"] < 1 and 0 < device["task"] < 1
    assert built_in["upload"] is built_in["copy"] is None
    assert device["upload"] > 1e6 and device["download"] > 1e6 and 0 < device["copy"] < 1
    if device["disturbance"] > 0.1:
        assert device["machine"] is None and "not kept" in result.err and not path.exists()
    else:
        (again,) = ran("devices", "--device", "opencl", "--json").results
        assert again["origin"] == "measured" and again["machine"] == device["machine"] == str(path)
    monkeypatch.setenv("RYND_MACHINE", "off")
    gpu = tmp_path / "gpu.txt"
    ran("devices", "--device", "opencl", "--export", gpu)
    ran("plan", CONV, "--device", "opencl", "--machine", gpu)
    rynd("plan", CONV, "--machine", gpu).failed(str(gpu), "of a GPU")
    rynd("plan", CONV, "--device", "opencl", "--machine", cpu).failed(str(cpu), "of a CPU")


def exported(ran, path, **changes):
    """The file of this machine, with other values in some of its lines."""
    ran("devices", "--export", path)
    lines = path.read_text().splitlines()
    assert lines[0] == "rynd machine 1" and lines[-1] == "end"
    path.write_text("".join(f"{name} {changes.get(name, value)}\n".replace("end \n", "end\n") for name, _, value in
                            (line.partition(" ") for line in lines)))
    return path


def test_machine_from_a_file(ran, rynd, monkeypatch, tmp_path):
    """Another machine's file is taken where it is asked for, and makes other plans; from the environment it is not."""
    slow = exported(ran, tmp_path / "slow.txt", cores="64", name="another one", f32="1000000000 64000000000")
    device, *_ = ran("devices", "--json", "--machine", slow).results
    assert device["name"] == "another one" and device["cores"] == 64 and device["origin"] == "imported" and device["peak"]["f32"] == 64e9
    reasons = [ran("plan", CONV, "--json", *more).results[0]["nodes"][0]["reason"] for more in ([], ["--machine", slow])]
    assert reasons[0] != reasons[1]
    monkeypatch.setenv("RYND_MACHINE", str(slow))
    result = ran("plan", CONV, "--json")
    assert f"{slow}: of another machine" in result.err and result.results[0]["nodes"][0]["reason"] == reasons[0]
    rynd("plan", CONV, "--machine", tmp_path / "none.txt").failed("none.txt")


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="instruction sets of x86")
def test_machine_with_a_better_instruction_set(ran, rynd, monkeypatch, tmp_path):
    """Plans for it are made in plain C, whatever this machine has: they can be looked at, and are not run."""
    better = exported(ran, tmp_path / "better.txt", isa="amx", bf16="4000000000000 8000000000000")
    monkeypatch.setenv("RYND_ISA", "generic")
    node = ran("plan", CONV, "--json", "--machine", better).results[0]["nodes"][0]
    assert node["kernel"].endswith(("_avx512", "_amx"))
    rynd("bench", CONV, "--machine", better).failed("amx", "generic", "looked at only")
    assert ran("plan", CONV, "--json").results[0]["nodes"][0]["kernel"].endswith("_generic")


def test_damaged_machines(ran, rynd, monkeypatch, tmp_path):
    """Nothing that a damaged disk left there is believed; by default that stops nothing, and is said."""
    path = exported(ran, tmp_path / "machine.txt")
    good = path.read_text()
    monkeypatch.setenv("RYND_MACHINE", str(path))
    assert str(path) not in ran("plan", CONV).err
    for text in ["", "rynd machine 1\nvendor other\n", good.replace("end", ""), good.replace("f32 ", "f32 nan "), good.replace("machine 1", "machine 2"),
                 "\0" * 1000]:
        path.write_text(text)
        assert str(path) in ran("plan", CONV).err
        rynd("plan", CONV, "--machine", path).failed(path)


@pytest.mark.parametrize("kind", ["pipe", "device", "socket", "folder", "large"])
def test_machine_that_is_no_small_file(ran, rynd, monkeypatch, tmp_path, kind):
    path = tmp_path / "profile.txt"
    monkeypatch.setenv("RYND_MACHINE", str(path))
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "socket":
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
    elif kind == "folder":
        path.mkdir()
    else:
        path.touch()
        os.truncate(path, 1 << 40)
    assert str(path) in ran("plan", CONV).err
    if kind == "device":  # which measuring must not replace
        before = path.lstat()
        rynd("devices", "--export", path).failed(path, "not a regular file")
        assert (path.lstat().st_ino, path.lstat().st_mode) == (before.st_ino, before.st_mode)
        assert os.listdir(tmp_path) == [path.name]


def test_machine_that_cannot_be_written(ran, rynd, tmp_path):
    (tmp_path / "file").write_text("")
    rynd("devices", "--export", tmp_path / "file" / "machine").failed("machine")
    assert os.listdir(tmp_path) == ["file"]


def test_devices_text(ran):
    out = ran("devices", "--threads", "1").out
    assert "flop/s" in out and "threads 1" in out and "dram" in out and "built-in" in out
