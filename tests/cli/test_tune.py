# SPDX-License-Identifier: Apache-2.0
"""rynd tune: what it prints and writes, what it refuses, and how it is ended. Nothing here depends on how long anything takes."""

import csv
import json
import re
import signal
import subprocess
import threading
import time

import pytest
from conftest import RYND, save
from onnx import helper

PROBLEM = "conv n=1 c=16 h=20 w=20 k=24 r=3 s=3 pad=1"
QUICK = ["--budget", 0.05]


def only_problem(result):
    (entry,) = result.results
    (problem,) = entry["problems"]
    return entry, problem


def test_json_of_a_problem(ran):
    entry, problem = only_problem(ran("tune", PROBLEM, *QUICK, "--json"))
    assert entry["name"] == problem["problem"] == PROBLEM
    assert 0 < entry["budget"] <= 0.05 and entry["used"] > 0 and entry["ended"] is False
    assert "model" not in entry
    default, choice = problem["default"], problem["choice"]
    assert problem["kernel"] == choice["kernel"] and problem["knobs"] == choice["knobs"]
    assert problem["before"] == default["median"] > 0 and choice["median"] > 0
    assert problem["after"] == pytest.approx(problem["before"] * problem["ratio"])
    assert problem["tuned"] == ((default["kernel"], default["knobs"]) != (choice["kernel"], choice["knobs"]))
    assert problem["tuned"] or problem["ratio"] == 1
    assert problem["network_ratio"] is None and problem["elsewhere"] is False
    assert problem["samples"] >= default["n"] >= 1 and problem["forms"] > 3 and problem["weights"] == "cold"
    for form in (default, choice):
        assert 0 < form["min"] <= form["median"] <= form["max"] and form["min"] <= form["mean"] <= form["max"] and form["variance"] >= 0


def test_text(ran):
    out = ran("tune", PROBLEM, *QUICK).out
    assert PROBLEM in out and re.search(r"another form is faster|the untuned choice stays", out)


def test_report(ran):
    lines = ran("tune", PROBLEM, *QUICK, "--report", "--wide").out.splitlines()
    assert lines[0].split()[:7] == ["form", "n", "mean", "variance", "median", "min", "max"]
    assert [line.split()[0] for line in lines[1:3]] == ["default", "tuned"]
    assert lines[1].endswith(PROBLEM)


def test_warm_weights(ran):
    assert only_problem(ran("tune", PROBLEM, *QUICK, "--json", "--weights", "warm"))[1]["weights"] == "warm"


def test_accuracy(ran):
    _, problem = only_problem(ran("tune", PROBLEM, *QUICK, "--json", "--accuracy", "strict"))
    assert problem["problem"] == PROBLEM + " accuracy=strict"


@pytest.mark.parametrize("problem", ["softmax x0=8x100:f32 y0=8x100:f32 axis=1", "transpose x0=2x3x4:f32 y0=4x2x3:f32 perm=2,0,1"])
def test_other_operators(ran, problem):
    entry, tuned = only_problem(ran("tune", problem, *QUICK, "--json"))
    assert tuned["default"]["n"] >= 1


def test_several(ran):
    results = ran("tune", PROBLEM, "conv c=4 h=8 w=8 k=4", "--budget", 0.1, "--json").results
    assert [r["name"] for r in results] == [PROBLEM, "conv c=4 h=8 w=8 k=4"]


def test_bad_problems(rynd):
    rynd("tune", "conv c=4 h=8 w=8 k=4 stride=0").failed("stride=0")
    rynd("tune", "conv c=4 h=8").failed("conv")
    rynd("tune", "nowhere.onnx").failed("nowhere.onnx")


def test_model(ran, small_net):
    (entry,) = ran("tune", small_net, "--budget", 0.3, "--json", "--batch", 1).results
    model = entry["model"]
    assert entry["name"] == str(small_net) and set(model) == {"before", "after", "ratio", "runs", "tuned"}
    assert model["ratio"] < 1 if model["tuned"] else True
    assert all(p["steps"] >= 1 and p["forms"] > 1 for p in entry["problems"])
    assert len({p["problem"] for p in entry["problems"]}) == len(entry["problems"])
    plans = entry["plans"]
    assert plans == [] or plans[0]["knobs"] == "" and sum(p["taken"] for p in plans) == 1
    assert len(plans) <= entry["plans_listed"] + 1


def test_nothing_to_measure(ran, tmp_path):
    node = helper.make_node("Transpose", ["x"], ["y"], perm=[1, 0])
    model = save(tmp_path / "transpose.onnx", [node], [("x", "float32", [3, 4])], [("y", "float32", [4, 3])])
    assert ran("tune", model).out == f"{model}: nothing to measure: each step has a single kernel and form\n"


def test_a_plan_that_is_set_is_not_tuned(ran, small_net):
    (entry,) = ran("tune", small_net, "--budget", 0.3, "--json", "--batch", 1, "--set", "plan.channels_last=80").results
    assert entry["plans"] == [] and entry["plans_listed"] == 0 and entry["problems"]


def samples(path):
    if path.suffix == ".csv":
        return list(csv.DictReader(path.open()))
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("name", ["s.csv", "s.jsonl"])
def test_samples(ran, tmp_path, name):
    path = tmp_path / name
    ran("tune", PROBLEM + " act=relu bias=1", "softmax x0=8x100:f32 y0=8x100:f32 axis=1", "--budget", 0.1, "--samples", path)
    rows = samples(path)
    convolutions = [r for r in rows if r["op"] == "conv"]
    assert {r["op"] for r in rows} == {"conv", "softmax"}
    for row in rows:
        assert int(row["samples"]) >= 1 and float(row["min"]) <= float(row["median"]) <= float(row["max"])
        assert row["verdict"] in ("taken", "equal", "slower") and row["device"] == "cpu" and int(row["threads"]) >= 1
        assert float(row["flop"]) >= 0 and float(row["bytes"]) > 0 and int(row["tasks"]) >= 1 and float(row["predicted"]) > 0
    for row in convolutions:
        assert [str(row[k]) for k in ("n", "c", "h", "w", "k", "r", "s", "pad", "stride", "groups", "bias")] == "1 16 20 20 24 3 3 1 1 1 1".split()
        assert (row["act"], row["dtype"], row["layout"], row["accuracy"]) == ("relu", "f32", "nchw", "near32")
    assert sum(str(r["untuned"]) in ("1", "True") for r in convolutions) == 1
    assert len({(r["kernel"], r["knobs"]) for r in convolutions}) == len(convolutions)


@pytest.mark.parametrize("name", ["s.csv", "s.jsonl"])
def test_energy_of_samples(ran, tmp_path, monkeypatch, name):
    """A fake meter counts a joule a millisecond. Without a meter the column is empty or absent."""
    package = tmp_path / "intel-rapl:0"
    package.mkdir()
    (package / "max_energy_range_uj").write_text("1000000000000\n")
    (package / "energy_uj").write_text("0\n")
    counts = threading.Event()

    def count():
        joules = 0
        while not counts.is_set():
            joules += 1
            new = tmp_path / "new"
            new.write_text(f"{joules * 1000000}\n")
            new.rename(package / "energy_uj")
            time.sleep(0.001)

    monkeypatch.setenv("RYND_METER", str(tmp_path))
    counter = threading.Thread(target=count)
    counter.start()
    ran("tune", PROBLEM, *QUICK, "--samples", tmp_path / name)
    counts.set()
    counter.join()
    metered = [float(row["energy"]) for row in samples(tmp_path / name) if row.get("energy")]
    assert metered and min(metered) > 0
    monkeypatch.setenv("RYND_METER", "off")
    ran("tune", PROBLEM, *QUICK, "--samples", tmp_path / name)
    assert not any(row.get("energy") for row in samples(tmp_path / name))


def random_problems(ran, path, *options):
    ran("tune", "--random", "conv", "--samples", path, *options)
    return list(dict.fromkeys(r["problem"] for r in samples(path)))


def test_random(ran, tmp_path):
    options = ["--count", 6, "--budget", 0.6, "--range", "flop=1e5..1e6", "--range", "n=2", "--range", "c=3..40", "--range", "size=5..30"]
    first = random_problems(ran, tmp_path / "a.jsonl", *options, "--seed", 4)
    again = random_problems(ran, tmp_path / "b.csv", *options, "--seed", 4)
    other = random_problems(ran, tmp_path / "c.csv", *options, "--seed", 5)
    assert first == again != other
    for row in samples(tmp_path / "a.jsonl"):
        assert row["n"] == 2 and 3 <= row["c"] <= 40 and 5 <= row["h"] <= 30 and 5 <= row["w"] <= 30


def test_samples_that_cannot_be_written(rynd, tmp_path):
    rynd("tune", PROBLEM, *QUICK, "--samples", tmp_path / "none" / "s.csv").failed("s.csv")


def test_interrupt_keeps_what_was_learned(tmp_path):
    """A signal after some of many problems: finished problems are written, and the process ends by the signal."""
    path = tmp_path / "s.csv"
    process = subprocess.Popen([RYND, "tune", "--random", "conv", "--count", "1000000", "--samples", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT, err
    assert "samples of" in out
    assert not path.exists() or len(samples(path)) >= 1


def test_second_interrupt_ends_at_once(tmp_path):
    process = subprocess.Popen([RYND, "tune", "--random", "conv", "--count", "1000000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    for _ in range(50):
        if process.poll() is not None:
            break
        process.send_signal(signal.SIGTERM)
        time.sleep(0.01)
    assert process.wait(timeout=60) == -signal.SIGTERM


def test_what_is_learned_is_kept(ran, rynd, tmp_path, monkeypatch):
    """In the file that RYND_WISDOM names: later choices are the tuned ones. A frozen process measures nothing."""
    monkeypatch.setenv("RYND_WISDOM", str(tmp_path / "w.db"))
    _, tuned = only_problem(ran("tune", PROBLEM, *QUICK, "--json"))
    (node,) = ran("plan", PROBLEM, "--json").results[0]["nodes"]
    assert (node["kernel"], node["knobs"]) == (tuned["kernel"], tuned["knobs"]) and "measured" in node["reason"]
    monkeypatch.setenv("RYND_FREEZE", "1")
    rynd("tune", PROBLEM, *QUICK).failed("RYND_FREEZE=1")


def test_random_problems_are_not_kept(ran, tmp_path, monkeypatch):
    monkeypatch.setenv("RYND_WISDOM", str(tmp_path / "w.db"))
    (problem,) = random_problems(ran, tmp_path / "s.csv", "--count", 1, "--budget", 0.1)
    assert "measured" not in ran("plan", problem, "--json").results[0]["nodes"][0]["reason"]
