# SPDX-License-Identifier: Apache-2.0
"""place: JSON keys are a contract; what is placed runs and computes what the unplaced network does; bad lists of devices are told by line."""

import numpy as np
import pytest
from conftest import save
from onnx import helper

KEYS = {"objective", "value", "bound", "gap", "searched", "latency", "period", "energy", "memory", "complete", "parts", "devices", "run"}
PART_KEYS = {"network", "device", "first", "end", "first_node", "last_node", "steps", "time", "memory", "bytes_in", "bytes_out"}
DEVICE_KEYS = {"name", "device", "machine", "threads", "memory", "watts", "parts", "busy", "holds"}
TWO = "device a cpu threads=1\ndevice b cpu threads=1\n"


@pytest.fixture
def devices(tmp_path):
    def write(text, name="devices.txt"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def has_opencl(ran):
    return any(row["device"].startswith("opencl") for row in ran("devices", "--json").results)


@pytest.fixture
def branched(tmp_path):
    """Convolutions with a sum over one of them, an output from the middle, and a shape that is computed."""
    rng = np.random.default_rng(3)
    weights = {f"w{i}": (rng.standard_normal(shape) / 6).astype("float32") for i, shape in enumerate([(8, 3, 3, 3), (8, 8, 3, 3), (16, 8, 3, 3), (16, 16, 3, 3)])}
    weights |= {"zero": np.array([0], "int64"), "minus": np.array([-1], "int64")}
    pads = {"pads": [1, 1, 1, 1]}
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["c0"], name="conv0", **pads),
        helper.make_node("Relu", ["c0"], ["r0"], name="relu0"),
        helper.make_node("Conv", ["r0", "w1"], ["c1"], name="conv1", **pads),
        helper.make_node("Add", ["c1", "r0"], ["sum"], name="add"),
        helper.make_node("GlobalAveragePool", ["sum"], ["early"], name="early_pool"),
        helper.make_node("Conv", ["sum", "w2"], ["c2"], name="conv2", **pads),
        helper.make_node("Relu", ["c2"], ["r2"], name="relu2"),
        helper.make_node("Conv", ["r2", "w3"], ["c3"], name="conv3", **pads),
        helper.make_node("Shape", ["x"], ["s"], name="shape"),
        helper.make_node("Gather", ["s", "zero"], ["n"], name="gather"),
        helper.make_node("Concat", ["n", "minus"], ["target"], name="concat", axis=0),
        helper.make_node("Reshape", ["c3", "target"], ["y"], name="reshape"),
    ]
    ends = [("x", "float32", ["batch", 3, 12, 12])], [("early", "float32", ["batch", 8, 1, 1]), ("y", "float32", ["batch", 2304])]
    return save(tmp_path / "branched.onnx", nodes, *ends, weights)


def test_json(ran, branched, devices):
    (result,) = ran("place", branched, "--devices", devices(TWO), "--objective", "memory", "--batch", "2", "--json").results
    assert set(result) == KEYS
    assert result["objective"] == "memory" and result["run"] is None and result["energy"] is None and result["complete"] is True
    assert result["value"] == result["bound"] == result["memory"] and result["gap"] == 0
    parts = result["parts"]
    assert len(parts) >= 2 and {part["device"] for part in parts} == {"a", "b"}
    for part, before in zip(parts, [None, *parts]):
        assert set(part) == PART_KEYS and part["time"] > 0 and part["memory"]["total"] > 0
        assert part["network"] == str(branched) and part["first"] == (before["end"] if before else 0)
        assert before is None or (part["bytes_in"] == before["bytes_out"] and part["device"] != before["device"])
    assert parts[0]["bytes_in"] == 4 * 2 * 3 * 12 * 12 and parts[-1]["bytes_out"] == 4 * 2 * (8 + 2304)
    for device in result["devices"]:
        assert set(device) == DEVICE_KEYS
        own = [part for part in parts if part["device"] == device["name"]]
        assert device["parts"] == len(own) and device["busy"] == pytest.approx(sum(part["time"] for part in own))
        assert device["holds"] == sum(part["memory"]["total"] for part in own)
    assert result["memory"] == max(device["holds"] for device in result["devices"])


def test_the_same_every_time(ran, branched, devices):
    arguments = "place", branched, "--devices", devices(TWO), "--objective", "throughput", "--batch", "1", "--json"
    assert ran(*arguments).out == ran(*arguments).out


def test_uncut_is_as_predicted(ran, branched, devices):
    (placed,) = ran("place", branched, "--devices", devices("device a cpu threads=1\n"), "--parts", "1", "--batch", "1", "--json").results
    (predicted,) = ran("predict", branched, "--threads", "1", "--batch", "1", "--json").results
    assert placed["latency"] == placed["period"] == predicted["time"]["median"]
    assert placed["parts"][0]["memory"] == predicted["memory"]


def test_runs_in_a_pipeline(ran, branched, devices):
    (result,) = ran("place", branched, "--devices", devices(TWO), "--objective", "memory", "--batch", "2", "--run", "5", "--json").results
    run = result["run"]
    assert set(run) == {"inputs", "predicted", "measured", "unplaced", "difference"}
    assert len(result["parts"]) >= 2 and run["inputs"] == 5
    assert run["predicted"] >= result["period"] * 5 and run["measured"] > 0 and run["unplaced"] > 0
    assert run["difference"] <= 1e-5  # the class near32


def test_runs_on_cpu_and_opencl(ran, branched, small_net, devices):
    if not has_opencl(ran):
        pytest.skip("there is no OpenCL device")
    fleet = devices("device host cpu threads=1\ndevice other opencl:0\n")
    (result,) = ran("place", branched, small_net, "--devices", fleet, "--objective", "memory", "--batch", "1", "--run", "4", "--json").results
    assert {part["device"] for part in result["parts"]} == {"host", "other"}
    assert {part["network"] for part in result["parts"]} == {str(branched), str(small_net)}
    assert result["run"]["difference"] <= 1e-5


def test_faster_machine_gets_the_work(ran, branched, devices, tmp_path):
    """A hundred times as fast, and as near as can be: all goes there; far away: nothing does."""
    ran("devices", "--export", tmp_path / "machine.txt")
    lines = []
    for line in (tmp_path / "machine.txt").read_text().splitlines():
        name, *numbers = line.split(" ")
        rate = name in ("f32", "bf16", "int8") or name.startswith("kind_") or name.endswith("_bandwidth")
        wait = name.endswith("_latency") or name in ("task", "region", "transfer")
        if rate or wait:
            numbers = [str(int(number) * 100 if rate else int(number) // 100) for number in numbers]
        lines.append(" ".join([name, *numbers]))
    (tmp_path / "fast.txt").write_text("\n".join(lines) + "\n")
    there = "device here cpu threads=1\ndevice there machine=fast.txt threads=1\n"
    for link, name in ("link here there bandwidth=1e15 latency=0\n", "there"), ("link here there bandwidth=1e3 latency=1\n", "here"):
        (result,) = ran("place", branched, "--devices", devices(there + link), "--batch", "1", "--json").results
        assert [part["device"] for part in result["parts"]] == [name]
    assert result["devices"][1]["machine"] == str(tmp_path / "fast.txt")


def test_another_machine_is_not_run(ran, rynd, branched, devices, tmp_path):
    ran("devices", "--export", tmp_path / "machine.txt")
    fleet = devices("device there machine=machine.txt\n")
    rynd("place", branched, "--devices", fleet, "--batch", "1", "--run", "1").failed("--run", "device 'there' is another machine", "machine.txt")


def test_energy(ran, rynd, branched, devices):
    rynd("place", branched, "--devices", devices(TWO), "--objective", "energy", "--batch", "1").failed("no meter", "device 'a'", "line 1")
    fleet = devices("device a cpu threads=1 watts=5\ndevice b cpu threads=1 watts=50\n")
    (result,) = ran("place", branched, "--devices", fleet, "--objective", "energy", "--batch", "1", "--json").results
    assert [part["device"] for part in result["parts"]] == ["a"]
    assert result["value"] == result["energy"] == pytest.approx(5 * result["parts"][0]["time"])


def test_few_nodes_leave_a_gap_that_is_told(ran, branched, devices):
    fleet = devices("device a cpu threads=1\ndevice b cpu threads=2\ndevice c cpu threads=1\n")
    arguments = "place", branched, branched, branched, "--devices", fleet, "--objective", "memory", "--batch", "1"
    (whole,) = ran(*arguments, "--json").results
    (part,) = ran(*arguments, "--nodes", "1", "--json").results
    assert part["searched"] == 1 and part["bound"] <= whole["value"] <= part["value"]
    assert part["gap"] == pytest.approx(part["value"] / part["bound"] - 1)
    out = ran(*arguments, "--nodes", "1").out
    assert ("search stopped" in out) == (part["gap"] > 0)


def test_text(ran, branched, devices):
    lines = ran("place", branched, "--devices", devices(TWO), "--objective", "memory", "--batch", "1", "--run", "2").out.splitlines()
    assert lines[0].split()[:3] == ["part", "network", "nodes"] and lines[1].split()[0] == "1"
    assert any(line.split()[:1] == ["a"] and "cpu" in line for line in lines)
    assert any("memory: optimal" in line for line in lines) and any("no meter" in line for line in lines)
    assert lines[-1].startswith("2 inputs: predicted ")


def test_shapes_of_data_are_not_cut(ran, rynd, tmp_path, devices):
    nodes = [helper.make_node("NonZero", ["x"], ["i"], name="nonzero"), helper.make_node("Cast", ["i"], ["y"], name="cast", to=1)]
    model = save(tmp_path / "data.onnx", nodes, [("x", "float32", [4, 4])], [("y", "float32", [2, "count"])])
    result = ran("place", model, "--devices", devices(TWO), "--objective", "memory", "--json")
    assert len(result.results[0]["parts"]) == 1
    rynd("place", model, "--devices", devices(TWO), "--run", "1").failed("place")


def test_output_that_is_an_input_or_a_constant(ran, tmp_path, devices):
    nodes = [helper.make_node("Relu", ["x"], ["r"], name="relu"), helper.make_node("Neg", ["r"], ["y"], name="neg"), helper.make_node("Identity", ["w"], ["z"], name="same")]
    model = save(tmp_path / "odd.onnx", nodes, [("x", "float32", [64, 64])], [("y", "float32", [64, 64]), ("z", "float32", [3])], {"w": np.arange(3, dtype="float32")})
    (result,) = ran("place", model, "--devices", devices(TWO), "--objective", "throughput", "--run", "2", "--json").results
    assert len(result["parts"]) == 1 and result["run"]["difference"] == 0


@pytest.mark.parametrize(
    "text, parts",
    [
        ("", ["names no device"]),
        ("device\n", ["line 1", "'device' takes a name"]),
        ("device a cpu\nlink a b bandwidth=1 latency=1\n", ["line 2", "no device 'b'"]),
        ("device a cpu threads=x\n", ["line 1", "threads takes a whole number", "'x'"]),
        ("device a tpu\n", ["line 1", "device 'a'", "tpu"]),
        ("device a opencl:99\n", ["line 1", "device 'a'"]),
        ("device a machine=none.txt\n", ["line 1", "device 'a'", "none.txt"]),
        ("device a machine=devices.txt\n", ["line 1", "device 'a'", "not a machine"]),
        ("device a cpu memory=1\n", ["memory"]),
    ],
)
def test_bad_lists(rynd, small_net, devices, text, parts):
    file = devices(text)
    rynd("place", small_net, "--devices", file, "--batch", "1").failed(*parts)


def test_refuses(rynd, small_net, devices, tmp_path):
    fleet = devices(TWO)
    rynd("place", small_net).failed("--devices FILE is missing", code=2)
    rynd("place", "--devices", fleet).failed("MODEL", code=2)
    rynd("place", small_net, "--devices", tmp_path / "none.txt", "--batch", "1").failed("none.txt")
    rynd("place", tmp_path / "none.onnx", "--devices", fleet).failed("none.onnx")
    rynd("place", small_net, "--devices", fleet).failed("small.onnx", "--batch")
    rynd("place", small_net, "--devices", fleet, "--batch", "1", "--threads", "2").failed("--threads", code=2)
    rynd("place", small_net, "--devices", fleet, "--batch", "1", "--objective", "beauty").failed("beauty", code=2)
    rynd("place", small_net, "--devices", fleet, "--batch", "1", "--parts", "33").failed("--parts", code=2)
