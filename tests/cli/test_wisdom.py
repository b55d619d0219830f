# SPDX-License-Identifier: Apache-2.0
"""rynd wisdom: what was measured, shown, exported, taken in, measured again, forgotten; and what plans make of it."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import time

import pytest
from conftest import RYND, run_rynd

PROBLEM = "conv c=16 h=12 w=12 k=16 r=3 s=3 pad=1"
KERNEL = "conv_fwd_f32_igemm_generic"


@pytest.fixture(autouse=True)
def own_file(tmp_path, monkeypatch):
    monkeypatch.setenv("RYND_WISDOM", str(tmp_path / "wisdom.db"))
    monkeypatch.setenv("RYND_THREADS", "2")
    monkeypatch.setenv("RYND_ISA", "generic")  # the forms of a kernel are then the same on each machine


@pytest.fixture
def record():
    """What could have been measured of PROBLEM here."""
    (device,) = [d for d in run_rynd("devices", "--json").results if d["device"] == "cpu"]
    (plan,) = run_rynd("plan", PROBLEM, "--set", f"kernel={KERNEL}", "--json").results
    (node,) = plan["nodes"]
    return {
        "machine": device["fingerprint"], "problem": node["problem"], "constants": 2, "threads": 2, "kernel": KERNEL, "form": node["knobs"],
        "source": node["source"], "rejected": None, "samples": 9, "mean": 43.1e-6, "variance": 1e-12, "median": 43.1e-6, "min": 4e-5, "max": 5e-5,
        "predicted": 48.2e-6, "time": 1790000000}


def lines(*records):
    return "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records)


def write(path, *records):
    path.write_text(lines(*records))
    return path


def sorted_records(record, count):
    random.seed(1)
    made = [dict(record, kernel=f"kernel_{i % 7}", form=f"a={i}", threads=1 + i % 11, samples=1 + i, median=record["median"] * (1 + random.random() / 50))
            for i in range(count)]
    keys = ("machine", "problem", "constants", "threads", "kernel", "form", "source")
    return sorted(made, key=lambda r: tuple(r[key] for key in keys))


def test_plans_take_what_was_measured(ran, tmp_path, record):
    before = ran("plan", PROBLEM, "--json").results[0]["nodes"][0]
    assert "wisdom" not in before["reason"]
    assert ran("wisdom", "import", write(tmp_path / "r.jsonl", record)).out == (
        f"{tmp_path}/r.jsonl: 1 record, 1 of them stored; 0 from other machines\n")
    node = ran("plan", PROBLEM, "--json").results[0]["nodes"][0]
    assert (node["kernel"], node["knobs"]) == (KERNEL, record["form"])
    assert node["reason"].startswith("measured 43.1 us (wisdom); cost ")
    assert ran("bench", PROBLEM, "--min-time", "0.01", "--json").results[0]["kernel"] == KERNEL
    assert ran("plan", PROBLEM, "--json", "--threads", "1").results[0]["nodes"][0]["reason"] == before["reason"]
    assert ran("plan", PROBLEM, "--json", "--wisdom", "off").results[0]["nodes"][0]["reason"] == before["reason"]
    assert ran("plan", PROBLEM, "--json", "--wisdom", tmp_path / "another.db").results[0]["nodes"][0]["reason"] == before["reason"]
    assert not (tmp_path / "another.db").exists()
    assert ran("plan", PROBLEM, "--json", "--frozen").results[0]["nodes"][0]["kernel"] == KERNEL
    assert ran("plan", PROBLEM, "--json", "--set", "kernel=conv_ref").results[0]["nodes"][0]["kernel"] == "conv_ref"


def test_where_weights_were(ran, tmp_path, record):
    """A record that was measured with weights in memory says so, and is checked so; a line without the word is of warm ones."""
    cold = dict(record, cold=1)
    ran("wisdom", "import", write(tmp_path / "r.jsonl", cold))
    assert [r["cold"] for r in ran("wisdom", "show", "--json").results] == [True]
    ran("wisdom", "export", tmp_path / "e.jsonl")
    assert (tmp_path / "e.jsonl").read_text() == lines(cold)
    assert len(ran("wisdom", "check", "--json").results) == 1
    run_rynd("wisdom", "import", write(tmp_path / "w.jsonl", dict(record, cold=2))).failed("w.jsonl", "line 1")
    ran("wisdom", "clear")
    ran("wisdom", "import", write(tmp_path / "r.jsonl", record))
    assert [r["cold"] for r in ran("wisdom", "show", "--json").results] == [False]


def test_a_step_of_a_model(ran, tmp_path, record, small_net):
    node = ran("plan", small_net, "--batch", 1, "--set", f"first_conv.kernel={KERNEL}", "--json").results[0]["nodes"][0]
    own = dict(record, problem=node["problem"], form=node["knobs"], constants=6 if "bias=1" in node["problem"] else 2)
    ran("wisdom", "import", write(tmp_path / "r.jsonl", own))
    node = ran("plan", small_net, "--batch", 1, "--json").results[0]["nodes"][0]
    assert node["kernel"] == KERNEL
    assert "measured 43.1 us (wisdom)" in node["reason"]


@pytest.mark.parametrize("change", [
    {"source": "0123456789abcdef"}, {"machine": "another"}, {"kernel": "conv_unknown"}, {"form": ""}, {"form": "mode=sideways"},
    {"constants": 0}, {"threads": 1}, {"rejected": "wrong: by 3"}], ids=str)
def test_what_does_not_hold_here(ran, tmp_path, record, change):
    before = ran("plan", PROBLEM).out
    ran("wisdom", "import", write(tmp_path / "r.jsonl", dict(record, **change)))
    assert ran("plan", PROBLEM).out == before


def test_show(ran, tmp_path, record):
    assert ran("wisdom", "show").out == ""
    foreign = dict(record, machine="elsewhere", source="0123456789abcdef")
    never = dict(record, kernel="conv_ref", form="", rejected="wrong: by 3", samples=0, mean=0, variance=0, median=0, min=0, max=0)
    ran("wisdom", "import", write(tmp_path / "r.jsonl", record, foreign, never))
    text = ran("wisdom", "show", "--wide").out
    assert f"{record['machine']} (here)" in text and "elsewhere (foreign)" in text
    assert "43.1 us" in text and "stale" in text and "wrong: by 3" in text
    shown = ran("wisdom", "show", "--json").results
    assert [(r["kernel"], r["machine"], r["here"], r["current"]) for r in shown] == [
        (KERNEL, record["machine"], True, True), ("conv_ref", record["machine"], True, False), (KERNEL, "elsewhere", False, False)]
    assert {key: shown[0][key] for key in record} == record
    assert len(ran("wisdom", "show", "--fingerprint", "else", "--json").results) == 1
    assert len(ran("wisdom", "show", "--fingerprint", "els", "--kernel", "*ref*", "--json").results) == 0
    assert len(ran("wisdom", "show", "--kernel", "conv_*", "--json").results) == 3
    assert len(ran("wisdom", "show", "--kernel", "igemm", "--json").results) == 2
    assert len(ran("wisdom", "show", "--problem", "conv n=1 c=1[67]*", "--json").results) == 3


def test_export_is_the_same_bytes(ran, tmp_path, record):
    records = sorted_records(record, 100)
    shuffled = random.Random(2).sample(records, len(records))
    ran("wisdom", "import", write(tmp_path / "in.jsonl", *shuffled))
    assert ran("wisdom", "export", tmp_path / "out.jsonl").out == f"{tmp_path}/out.jsonl: 100 records\n"
    text = (tmp_path / "out.jsonl").read_text()
    assert [json.loads(line) for line in text.splitlines()] == records
    assert ran("wisdom", "export").out == text
    assert ran("wisdom", "import", tmp_path / "out.jsonl", "--json").results == [
        {"file": str(tmp_path / "out.jsonl"), "read": 100, "taken": 0, "foreign": 0}]
    ran("wisdom", "import", tmp_path / "out.jsonl", "--wisdom", tmp_path / "second.db")
    assert ran("wisdom", "export", "--wisdom", tmp_path / "second.db").out == text
    ran("wisdom", "merge", tmp_path / "wisdom.db", "--wisdom", tmp_path / "third.db")
    assert ran("wisdom", "export", "--wisdom", tmp_path / "third.db").out == text
    few = ran("wisdom", "export", "--kernel", "kernel_3").out
    assert few and few == "".join(line + "\n" for line in text.splitlines() if '"kernel_3"' in line)


def test_import_keeps_the_better(ran, tmp_path, record):
    ways = [dict(record), dict(record, samples=20, median=5e-5), dict(record, samples=20, variance=1e-13), dict(record, samples=3, rejected="wrong")]
    for order in (ways, ways[::-1], [ways[2], ways[0], ways[3], ways[1]]):
        ran("wisdom", "clear")
        for i, way in enumerate(order):
            ran("wisdom", "import", write(tmp_path / f"{i}.jsonl", way))
        assert json.loads(ran("wisdom", "export").out) == ways[3]
    ran("wisdom", "clear")
    ran("wisdom", "import", write(tmp_path / "r.jsonl", *ways[:3]))
    assert json.loads(ran("wisdom", "export").out) == ways[2]


def test_clear(ran, tmp_path, record):
    ran("wisdom", "import", write(tmp_path / "r.jsonl", *sorted_records(record, 70)))
    assert ran("wisdom", "clear", "--kernel", "kernel_[01]").out == "20 records cleared\n"
    assert ran("wisdom", "clear", "--json").results == [{"cleared": 50}]
    assert ran("wisdom", "export").out == ""


def test_check(ran, tmp_path, record):
    assert "no record holds here" in ran("wisdom", "check").out
    ran("wisdom", "import", write(tmp_path / "r.jsonl", record, dict(record, machine="elsewhere"), dict(record, rejected="wrong", form="a=1")))
    (drift,) = ran("wisdom", "check", "--seconds", "0.01", "--count", "3", "--seed", "5", "--json").results
    assert drift["kernel"] == KERNEL and drift["median"] == record["median"]
    assert drift["ratio"] == pytest.approx(drift["now"]["median"] / record["median"])
    assert drift["now"]["samples"] >= 5 and drift["now"]["min"] <= drift["now"]["median"] <= drift["now"]["max"]
    text = ran("wisdom", "check", "--seconds", "0.01", "--wide").out
    assert "1 record: now by then" in text and KERNEL in text


@pytest.mark.parametrize("args, part", [
    ([], "show|export|import|merge|check|clear"), (["forget"], "forget"), (["import"], "a file is missing"), (["show", "x"], "'x' is one argument too many"),
    (["merge", "a", "b"], "'b' is one argument too many"), (["import", "x", "--kernel", "k"], "--kernel"), (["clear", "--count", "3"], "--count"),
    (["check", "--count", "0"], "--count"), (["check", "--seconds", "-1"], "--seconds"), (["export", "--json"], "--json"), (["show", "--accuracy", "strict"], "--accuracy")])
def test_wrong_usage(rynd, args, part):
    rynd("wisdom", *args).failed(part, code=2)


def test_bad_files(rynd, tmp_path, record):
    bad = write(tmp_path / "bad.jsonl", record, dict(record, median=-1))
    rynd("wisdom", "import", bad).failed(bad, "line 2", "median")
    rynd("wisdom", "import", tmp_path / "none.jsonl").failed("none.jsonl")
    rynd("wisdom", "import", tmp_path).failed(tmp_path, "folder")
    rynd("wisdom", "merge", bad).failed(bad, "not a database")
    rynd("wisdom", "merge", tmp_path / "none.db").failed("none.db")
    rynd("wisdom", "export", tmp_path / "no" / "x.jsonl").failed("x.jsonl")
    rynd("wisdom", "clear", "--wisdom", "off").failed("off")
    good = write(tmp_path / "good.jsonl", record)
    assert rynd("wisdom", "import", good).code == 0
    rynd("wisdom", "export", "/dev/full").failed("/dev/full")
    rynd("wisdom", "import", good, "--frozen").failed("frozen")
    for command in (["import", good], ["show"], ["export", tmp_path / "none.jsonl"], ["check"]):
        rynd("wisdom", *command, "--wisdom", bad).failed(bad, "not a database")
    assert not (tmp_path / "none.jsonl").exists()
    rynd("wisdom", "show", env={**os.environ, "RYND_FREEZE": "maybe"}).failed("RYND_FREEZE", "maybe")
    assert bad.read_text() == lines(record, dict(record, median=-1))
    assert not list(tmp_path.glob("*.jsonl.*"))


def test_a_file_that_cannot_be_used(ran, tmp_path, record):
    (tmp_path / "wisdom.db").write_bytes(b"x" * 5000)
    result = ran("plan", PROBLEM)
    assert result.err.count("\n") == 1 and "wisdom.db" in result.err and "memory only" in result.err
    assert ran("plan", PROBLEM, "--wisdom", "off").err == ""
    assert (tmp_path / "wisdom.db").read_bytes() == b"x" * 5000


def test_the_default_file(ran, tmp_path, record, monkeypatch):
    monkeypatch.delenv("RYND_WISDOM")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    ran("plan", PROBLEM)
    assert not (tmp_path / "cache").exists()
    ran("wisdom", "import", write(tmp_path / "r.jsonl", record))
    assert (tmp_path / "cache/rynd/wisdom.db").exists()
    assert "(wisdom)" in ran("plan", PROBLEM).out


def test_sixteen_processes_some_killed(ran, tmp_path, record):
    """Each takes in a file of its own, all or nothing; what one that ended by itself took is there, and the database is whole."""
    path = tmp_path / "wisdom.db"
    files = [write(tmp_path / f"{p}.jsonl", *(dict(record, kernel=f"process_{p}", form=f"a={i}") for i in range(300))) for p in range(16)]
    processes = [subprocess.Popen([RYND, "wisdom", "import", file], stdout=subprocess.PIPE, stderr=subprocess.PIPE) for file in files]
    for process in processes[::3]:
        time.sleep(0.004)  # some are killed before they write, some while, some are done
        process.send_signal(signal.SIGKILL)
    for process in processes:
        _, said = process.communicate(timeout=100)
        assert process.returncode in (0, -signal.SIGKILL) and said == b"", said
    kept = [r["kernel"] for r in ran("wisdom", "show", "--json").results]
    for p, process in enumerate(processes):
        count = kept.count(f"process_{p}")
        assert count in (0, 300)
        assert process.returncode != 0 or count == 300
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
