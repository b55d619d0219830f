# SPDX-License-Identifier: Apache-2.0
"""predict and profile: JSON keys are a contract, and nothing is run by predict."""

import json

import numpy as np
import pytest
from conftest import save
from onnx import helper

CONV = "conv n=1 c=8 h=10 w=10 k=8 r=3 s=3 pad=1"
QUICK = ["--min-time", "0", "--rounds", "3", "--warmup", "0"]


def check_time(time):
    assert set(time) == {"median", "low", "high", "coverage"}
    assert 0 < time["low"] < time["median"] < time["high"]
    assert time["coverage"] == 0.9


def test_predict_json(ran, small_net):
    rows = ran("predict", small_net, CONV, "--batch", "2", "--json").results
    assert [row["name"] for row in rows] == [str(small_net), CONV]
    (plan,) = ran("plan", small_net, "--batch", "2", "--json").results
    for row in rows:
        check_time(row["time"])
        assert row["energy"] is None and row["complete"] is True
        assert row["nodes"]
        for node in row["nodes"]:
            check_time(node["time"])
            assert {"name", "op", "kernel", "knobs", "problem", "arithmetic", "memory", "overhead"} <= set(node)
        assert sum(node["time"]["median"] for node in row["nodes"]) == pytest.approx(row["time"]["median"])
    assert rows[0]["memory"] == plan["memory"]
    assert [node["kernel"] for node in rows[0]["nodes"]] == [node["kernel"] for node in plan["nodes"] + plan["conversions"]]


def test_predict_is_the_same_every_time(ran, small_net):
    documents = [ran("predict", small_net, "--batch", "2", "--json").out for _ in range(2)]
    assert documents[0] == documents[1]


def test_predict_text(ran, small_net):
    head, row = ran("predict", small_net, "--batch", "1", "--wide").out.splitlines()
    assert head.split()[:3] == ["name", "time", "90%"] and "no meter" in row
    lines = ran("predict", CONV, "--steps", "--wide").out.splitlines()
    assert lines[3].split()[:2] == ["step", "kernel"] and "conv_fwd" in lines[4]


def test_predict_of_another_machine(ran, tmp_path):
    """A machine with twice the rates and half the waiting takes half the time, to what text rounds."""
    file, fast = tmp_path / "machine.txt", tmp_path / "fast.txt"
    ran("devices", "--export", file)
    lines = []
    for line in file.read_text().splitlines():
        name, *numbers = line.split(" ")
        rate = name in ("f32", "bf16", "int8") or name.startswith("kind_") or name.endswith("_bandwidth")
        wait = name.endswith("_latency") or name in ("task", "region", "transfer")
        if rate or wait:
            numbers = [str(int(number) * 2 if rate else int(number) // 2) for number in numbers]
        lines.append(" ".join([name, *numbers]))
    fast.write_text("\n".join(lines) + "\n")
    (slow_row,), (fast_row,) = (ran("predict", CONV, "--machine", f, "--json").results for f in (file, fast))
    assert fast_row["time"]["median"] == pytest.approx(slow_row["time"]["median"] / 2, rel=0.05)


def test_energy_where_a_meter_measured(ran, tmp_path):
    file, metered = tmp_path / "machine.txt", tmp_path / "metered.txt"
    ran("devices", "--export", file)
    lines = [line for line in file.read_text().splitlines() if line.split(" ")[0] not in ("meter", "milliwatts", "memory_milliwatts")]
    metered.write_text("\n".join(lines[:-1] + ["meter rapl", "milliwatts 20000 30000", "end"]) + "\n")
    for threads, watts in ((1, 20), (2, 30)):
        (row,) = ran("predict", CONV, "--machine", metered, "--threads", threads, "--json").results
        if threads == 1 or "cores 2" in lines:
            assert row["energy"]["joule"] == pytest.approx(watts * row["time"]["median"])
            assert row["energy"]["high"] == pytest.approx(watts * row["time"]["high"])
        assert row["energy"]["meter"] == "rapl"
    assert " J" in ran("predict", CONV, "--machine", metered).out
    (device, *_) = ran("devices", "--machine", metered, "--json").results
    assert device["watts"] == {"one_thread": 20, "all": 30, "memory_one_thread": 0, "memory_all": 0, "meter": "rapl"}


def test_energy_of_memory(ran, tmp_path):
    """Arithmetic and memory have powers of their own, by their shares of a step's time."""
    file, metered = tmp_path / "machine.txt", tmp_path / "metered.txt"
    ran("devices", "--export", file)
    lines = [line for line in file.read_text().splitlines() if line.split(" ")[0] not in ("meter", "milliwatts", "memory_milliwatts")]
    powers = ["meter rapl", "milliwatts 20000 20000", "memory_milliwatts 8000 8000"]
    metered.write_text("\n".join(lines[:-1] + powers + ["end"]) + "\n")
    for problem in CONV, "slice x0=64x1048576:f32 y0=64x524288:f32 starts=0 ends=524288 steps=1 axes=1":
        (row,) = ran("predict", problem, "--machine", metered, "--threads", 1, "--json").results
        (node,) = row["nodes"]
        share = node["memory"] / (node["arithmetic"] + node["memory"])
        assert row["energy"]["joule"] == pytest.approx((20 - 12 * share) * row["time"]["median"])
    assert share > 0.3


def test_energy_by_kind(ran, tmp_path):
    """Static power for the time, and joules of operations and bytes; the interval is wider than the time's."""
    file, metered = tmp_path / "machine.txt", tmp_path / "metered.txt"
    ran("devices", "--export", file)
    kinds = ["meter rapl", "milliwatts 20000 20000", "static_milliwatts 5000 8000", "energy_f32 100000000", "energy_spread 50000", "end"]
    metered.write_text("\n".join(file.read_text().splitlines()[:-1] + kinds) + "\n")
    (row,) = ran("predict", CONV, "--machine", metered, "--threads", 1, "--json").results
    (node,) = row["nodes"]
    time, energy = row["time"], row["energy"]
    work = energy["joule"] - 5 * time["median"]
    assert 0 < work < 100e-12 * 1e7 and energy["meter"] == "rapl" and node["energy"] == energy
    assert energy["low"] < energy["joule"] / 1.08 and energy["high"] > energy["joule"] * 1.08
    text = ran("predict", CONV, "--machine", metered, "--threads", 1, "--steps").out
    assert text.count(" J (") == 2
    (device, *_) = ran("devices", "--machine", metered, "--json").results
    assert device["energy"]["static_watts"] == 8 and device["energy"]["f32"] == pytest.approx(100e-12) and device["energy"]["memory"] == 0
    assert "power, static" in ran("devices", "--machine", metered).out
    (device, *_) = ran("devices", "--machine", file, "--json").results
    assert device["energy"] is None


def test_predict_refuses(rynd, small_net, tmp_path):
    rynd("predict", tmp_path / "none.onnx").failed("none.onnx")
    rynd("predict", "conv n=1 c=8").failed("conv")
    rynd("predict").failed("MODEL|'PROBLEM'", code=2)


PROFILE_KEYS = {"name", "op", "kernel", "time", "share", "flop", "bytes", "limit_fraction", "predicted", "predicted_low", "predicted_high"}


def test_profile_json(ran, small_net):
    (result,) = ran("profile", small_net, "--batch", "2", "--json", *QUICK).results
    (plan,) = ran("plan", small_net, "--batch", "2", "--json").results
    assert result["name"] == str(small_net) and result["n"] == 3
    assert len(result["nodes"]) == len(plan["nodes"]) + len(plan["conversions"])
    for node in result["nodes"]:
        assert PROFILE_KEYS <= set(node)
        assert 0 < node["min"] <= node["time"] <= node["max"]
        assert node["predicted_low"] < node["predicted"] < node["predicted_high"]
        assert node["min"] <= node["quiet"] <= node["time"]
    assert sum(node["share"] for node in result["nodes"]) == pytest.approx(1)
    assert 0 < result["min"] <= result["quiet"] <= result["total"]
    assert 0 <= result["disturbance"] <= 1


def test_profile_text(ran, small_net):
    out = ran("profile", small_net, "--batch", "1", *QUICK).out
    assert out.split()[:3] == ["step", "op", "kernel"]
    assert "3 runs: median" in out and "quiet" in out and "disturbed" in out and "predicted" in out


def test_profile_of_steps_that_depend_on_data(ran, tmp_path):
    """A run plans them; their time counts, and the trace shows it."""
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("NonZero", ["r"], ["z"]), helper.make_node("Cast", ["z"], ["f"], to=1), helper.make_node("Exp", ["f"], ["y"])]
    save(tmp_path / "m.onnx", nodes, [("x", "float32", [40, 40])], [("y", "float32", [2, "n"])], {})
    np.savez(tmp_path / "x.npz", x=np.ones((40, 40), "float32"))
    options = ["profile", tmp_path / "m.onnx", "-i", tmp_path / "x.npz", *QUICK]
    (result,) = ran(*options, "--json", "--trace", tmp_path / "t.json").results
    assert result["rest"] > 0 and result["total"] > result["rest"]
    assert [node["op"] for node in result["nodes"]] == ["Relu", "NonZero"]
    last = json.loads((tmp_path / "t.json").read_text())["traceEvents"][-1]
    assert last["name"] == "steps that depend on data" and last["dur"] == pytest.approx(1e6 * result["rest"], rel=1e-4)
    assert "shapes depend on data" in ran(*options).out


def test_profile_trace(ran, small_net, tmp_path):
    """The trace of a run has each step on its threads, and the steps in their order."""
    trace = tmp_path / "trace.json"
    (result,) = ran("profile", small_net, "--batch", "1", "--threads", "2", "--trace", trace, "--json", *QUICK).results
    events = json.loads(trace.read_text())["traceEvents"]
    tracks = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    spans = [event for event in events if event["ph"] == "X"]
    assert set(tracks) == set(range(len(tracks))) and tracks[0] == "thread 0 (caller)" and {span["tid"] for span in spans} <= set(tracks)
    assert list(dict.fromkeys(span["name"] for span in spans)) == [node["name"] for node in result["nodes"]]
    end = 0
    for name in dict.fromkeys(span["name"] for span in spans):
        own = [span for span in spans if span["name"] == name]
        assert min(span["ts"] for span in own) >= end - 1e-3 and all(span["args"]["tasks"] > 0 for span in own)
        end = max(span["ts"] + span["dur"] for span in own)


def test_profile_sums_and_order(ran, small_net):
    for by, head in (("operator", "operator"), ("kernel", "kernel")):
        lines = ran("profile", small_net, "--batch", "1", "--by", by, *QUICK).out.splitlines()
        assert lines[0].split()[:3] == [head, "steps", "time"]
        steps = [int(line.split()[1]) for line in lines[1:lines.index("")]]
        assert sum(steps) == 2
    names = [line.split()[0] for line in ran("profile", small_net, "--batch", "1", "--sort", "name", *QUICK).out.splitlines()[1:3]]
    assert names == sorted(names)


def test_profile_on_files(ran, rynd, small_net, tmp_path):
    """Shapes come from the files, which are read as `rynd run` reads them."""
    np.save(tmp_path / "x.npy", np.ones((3, 3, 8, 8), "float32"))
    (result,) = ran("profile", small_net, "-i", tmp_path / "x.npy", "--json", *QUICK).results
    assert "conv n=3 " in result["nodes"][0]["problem"]
    rynd("profile", small_net, "-i", tmp_path / "none.npy", *QUICK).failed("none.npy")


def test_profile_refuses(rynd, small_net, tmp_path):
    rynd("profile", CONV).failed("rynd bench", code=2)
    rynd("profile", tmp_path / "none.onnx").failed("none.onnx")
    rynd("profile", small_net, "--batch", "1", "--trace", tmp_path / "no" / "trace.json", *QUICK).failed("trace.json")
