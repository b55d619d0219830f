# SPDX-License-Identifier: Apache-2.0
"""Options: what --help says, what is refused and how; the man page and the completion know what --help knows."""

import os
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest
from conftest import ROOT, RYND

COMMANDS = ["run", "eval", "inspect", "bench", "profile", "plan", "predict", "sweep", "tune", "train", "quantize", "place", "wisdom", "devices"]
ARGUMENTS = {"devices": [], "eval": ["m.onnx", "--data", "."], "train": ["m.onnx", "--data", "."], "quantize": ["m.onnx", "--data", ".", "-o", "q.onnx"], "sweep": ["conv c=1 w=1 k=1", "c=1"], "wisdom": ["show"]}  # other commands: a model
COMMON = ["--json", "--quiet", "--verbose", "--help"]
SHARED = ["--accuracy", "--dim", "--batch", "--set", "--device", "--machine", "--wisdom", "--frozen", "--threads", "--wide"]  # by the commands that use them
UNUSED = {
    "train": ["--wide"],
    "inspect": ["--accuracy", "--set", "--device", "--machine", "--wisdom", "--frozen", "--threads"],
    "sweep": ["--dim", "--batch"],
    "quantize": ["--accuracy", "--set"],
    "place": ["--set", "--device", "--machine", "--threads"],
    "wisdom": ["--accuracy", "--dim", "--batch", "--set"],
    "devices": ["--accuracy", "--dim", "--batch", "--set", "--wisdom", "--frozen"],
}


def options_of(rynd, command):
    out = rynd(command, "--help").out
    return re.findall(r"^  (?:-., )?(--[a-z-]+)", out, re.M)


def test_overview_lists_the_commands(ran):
    out = ran("--help").out
    assert re.findall(r"^  ([a-z]+) ", out, re.M) == COMMANDS


def test_no_command_is_wrong_usage(rynd):
    rynd().failed("command is missing", code=2)


def test_unknown_command(rynd):
    rynd("frobnicate").failed("frobnicate", "rynd --help", code=2)


def test_version(ran):
    assert re.fullmatch(r"rynd \d+\.\d+\.\d+\n", ran("--version").out)


@pytest.mark.parametrize("command", COMMANDS)
def test_help(ran, command):
    for flag in ("--help", "-h"):
        out = ran(command, flag).out
        assert out.startswith(f"usage: rynd {command}")
        assert all(len(line) <= 100 for line in out.splitlines())
        assert len(re.findall(rf"^  rynd {command} ", out, re.M)) >= 2 or command == "devices"
    assert ran("help", command).out == out
    options = options_of(ran, command)
    assert set(COMMON) <= set(options)
    assert set(SHARED) & set(options) == set(SHARED) - set(UNUSED.get(command, []))
    assert len(options) == len(set(options))


def test_help_of_no_command(rynd, ran):
    assert ran("help").out == ran("--help").out
    rynd("help", "frobnicate").failed("frobnicate", "rynd --help", code=2)


@pytest.mark.parametrize("command, option", [(c, o) for c, unused in UNUSED.items() for o in unused])
def test_option_that_a_command_does_not_use(rynd, command, option):
    rynd(command, option, "1").failed(f"no option '{option}'", code=2)


@pytest.mark.parametrize(
    "arguments, parts",
    [
        (["run"], ["MODEL"]),
        (["run", "a", "b"], ["'b'"]),
        (["run", "a", "--bogus"], ["--bogus", "--help"]),
        (["run", "a", "-x"], ["-x"]),
        (["run", "a", "--json=1"], ["--json", "'1'"]),
        (["run", "a", "--threads"], ["--threads", "N"]),
        (["run", "a", "--threads", "0"], ["--threads", "'0'", "from 1 to"]),
        (["run", "a", "--threads", "two"], ["--threads", "'two'"]),
        (["run", "a", "--threads=3x"], ["--threads", "'3x'"]),
        (["run", "a", "--threads", "99999999999999999999"], ["--threads"]),
        (["run", "a", "--accuracy", "sloppy"], ["--accuracy", "'sloppy'", "strict|near32|tf32|bf16|int8"]),
        (["run", "a", "--device", "gpu"], ["--device", "'gpu'", "cpu"]),
        (["run", "a", "--device", "cpu:1"], ["--device", "'cpu:1'"]),
        (["run", "a", "--batch", "0"], ["--batch", "'0'"]),
        (["run", "a", "--dim", "batch"], ["--dim", "'batch'", "NAME=N"]),
        (["run", "a", "--dim", "batch=x"], ["--dim", "'batch=x'"]),
        (["run", "a", "--dim", "=3"], ["--dim", "'=3'"]),
        (["plan", "a", "--set", "conv"], ["--set", "'conv'", "STEP.KNOB=V"]),
        (["plan", "a", "--set", "conv.block"], ["--set", "'conv.block'"]),
        (["plan", "a", "--set", "conv.=3"], ["--set", "'conv.=3'"]),
        (["plan", "a", "--set", ".block=3"], ["--set", "'.block=3'"]),
        (["plan", "a", "--set", "conv.block="], ["--set", "'conv.block='"]),
        (["run", "a", "--dim", "batch=-3"], ["--dim", "'batch=-3'"]),
        (["run", "a", "--size", "0"], ["--size", "'0'", "HEIGHTxWIDTH"]),
        (["run", "a", "--size", "10x"], ["--size", "'10x'"]),
        (["run", "a", "--size", "axb"], ["--size", "'axb'"]),
        (["run", "a", "--crop", "-4"], ["--crop", "'-4'"]),
        (["run", "a", "--crop", "100000"], ["--crop", "'100000'"]),
        (["run", "a", "--scale", "0"], ["--scale", "'0'"]),
        (["run", "a", "--scale", "1/0"], ["--scale", "'1/0'"]),
        (["run", "a", "--scale", "nan"], ["--scale", "'nan'"]),
        (["run", "a", "--mean", "1,2"], ["--mean", "'1,2'"]),
        (["run", "a", "--mean", "1,2,3,4"], ["--mean"]),
        (["run", "a", "--mean", ""], ["--mean", "''"]),
        (["run", "a", "--std", "1,0,1"], ["--std", "'1,0,1'"]),
        (["run", "a", "--channels", "gbr"], ["--channels", "'gbr'", "rgb|bgr"]),
        (["run", "a", "--preset", "cifar"], ["--preset", "'cifar'", "imagenet"]),
        (["run", "a", "--top", "-1"], ["--top", "'-1'"]),
        (["run", "a", "--output", ""], ["--output", "''"]),
        (["bench"], ["MODEL"]),
        (["bench", "a", "--min-time", "-1"], ["--min-time", "'-1'"]),
        (["bench", "a", "--rounds", "0"], ["--rounds", "'0'"]),
        (["bench", "a", "--warmup", "1.5"], ["--warmup", "'1.5'"]),
        (["plan"], ["MODEL"]),
        (["plan", "a", "b"], ["'b'"]),
        (["tune"], ["MODEL"]),
        (["tune", "a", "--budget", "0"], ["--budget", "'0'"]),
        (["tune", "a", "--budget", "-1"], ["--budget", "'-1'"]),
        (["tune", "a", "--weights", "hot"], ["--weights", "'hot'", "cold|warm"]),
        (["tune", "a", "--random", "conv"], ["'a'", "--random"]),
        (["tune", "a", "--range", "c=1..2"], ["--range", "--random"]),
        (["tune", "--random", "pool"], ["--random", "'pool'", "conv"]),
        (["tune", "--random", "conv", "--range", "c"], ["--range", "'c'"]),
        (["tune", "--random", "conv", "--range", "c=3..2"], ["--range", "'c=3..2'"]),
        (["tune", "--random", "conv", "--range", "c=0..2"], ["--range", "'c=0..2'"]),
        (["tune", "--random", "conv", "--range", "q=1..2"], ["--range", "'q=1..2'"]),
        (["tune", "--random", "conv", "--range", "k=1..2x"], ["--range", "'k=1..2x'"]),
        (["tune", "--random", "conv", "--range", "flop=1e14..1e15"], ["--range", "no convolution"]),
        (["tune", "conv c=1 h=3 w=3 k=1", "--samples", "a.txt"], ["--samples", "a.txt", ".csv", ".jsonl"]),
        (["tune", "conv c=1 h=3 w=3 k=1", "--set", "kernel=a"], ["--set"]),
        (["inspect"], ["MODEL"]),
        (["devices", "a"], ["'a'"]),
        (["devices", "--top", "5"], ["--top"]),
    ],
)
def test_wrong_usage(rynd, arguments, parts):
    rynd(*arguments).failed(*parts, code=2)


@pytest.mark.parametrize("command", [c for c in COMMANDS if "--device" not in UNUSED.get(c, [])])
def test_device_that_this_build_lacks(rynd, command):
    for device in ("metal", "opencl:x", "cudas"):
        assert device not in rynd(command, "--help").out
        rynd(command, *ARGUMENTS.get(command, ["m.onnx"]), "--device", device).failed(f"'{device}'", "this build has: cpu", code=2)


@pytest.mark.parametrize("value", ["zero", "0", "-1", "1e9", "-18446744073709551614", "18446744073709551618", "+2", " 2", "2 ", "2x", "1025"])
def test_threads_by_environment(rynd, value):
    result = rynd("devices", env={**os.environ, "RYND_THREADS": value})
    result.failed("RYND_THREADS", f"'{value}'")


def test_isa_by_environment(rynd, ran):
    rynd("devices", env={**os.environ, "RYND_ISA": "mmx"}).failed("mmx", "generic")
    device, *_ = ran("devices", "--json", env={**os.environ, "RYND_ISA": "generic"}).results
    assert device["isa"] == "generic"


def test_standard_output_that_is_full(rynd):
    with open("/dev/full", "w") as full:
        process = subprocess.run([RYND, "run", "--help"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert process.returncode == 1
    assert "standard output" in process.stderr and "No space left" in process.stderr


def test_man_page_knows_what_help_knows(rynd):
    page = (ROOT / "cli/rynd.1").read_text().replace("\\-", "-").replace("\\fB", "").replace("\\fR", "").replace("\\fI", "")
    sections = re.split(r"^\.S[SH] ", page, flags=re.M)
    options = {s.split("\n")[0]: set(re.findall(r"^\.TP\n(?:\.B )?(?:-., )?(--[a-z-]+)", s, re.M)) for s in sections}
    common = options["COMMON OPTIONS"]
    for command in COMMANDS:
        own = options[f"rynd {command}"]
        expected = set(options_of(rynd, command))
        assert own | set(COMMON) | set(SHARED) - set(UNUSED.get(command, [])) == expected, command
        assert own & common == set()
    assert common == set(COMMON) | set(SHARED)


def complete_in_bash(*words):
    """What bash offers for the last word."""
    script = f"""
        source {ROOT / 'cli/completion/rynd.bash'}
        COMP_WORDS=({' '.join(repr(w) for w in (RYND, *words))})
        COMP_CWORD={len(words)}
        _rynd
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    out = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout
    return out.split()


def complete_in_fish(*words):
    """What fish offers for the last word, without the explanations."""
    line = " ".join((RYND, *words))
    script = f"source {ROOT / 'cli/completion/rynd.fish'}; complete -C '{line}'"
    path = f"{pathlib.Path(RYND).parent}:{os.environ['PATH']}"
    out = subprocess.run(["fish", "-c", script], capture_output=True, text=True, check=True, env={**os.environ, "PATH": path}).stdout
    return [offer.split("\t")[0] for offer in out.splitlines()]


def complete_in_zsh(*words):
    """What zsh offers for the last word: compadd and _describe print their words instead."""
    script = f"""
        compdef() {{ : }}
        compadd() {{ [[ $1 == -- ]] && shift; print -l -- "$@" }}
        _describe() {{ local item; for item in "${{(P@)2}}"; do print -r -- "${{item%%:*}}"; done }}
        _files() {{ print -l -- $PREFIX*(N) }}
        compset() {{ PREFIX=${{PREFIX#*=}} }}
        words=({' '.join(repr(w) for w in (RYND, *words))}) CURRENT={len(words) + 1} PREFIX=$words[-1]
        source {ROOT / 'cli/completion/_rynd'}
    """
    out = subprocess.run(["zsh", "-f", "-c", script], capture_output=True, text=True, check=True).stdout
    return [offer for offer in out.split() if offer.startswith(words[-1].split("=")[-1])]


@pytest.mark.parametrize("complete", [complete_in_bash, complete_in_fish, complete_in_zsh])
def test_completion(rynd, complete):
    shell = complete.__name__.split("_")[-1]
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    offered = complete("")
    assert [offer for offer in offered if not offer.startswith("--")] == (sorted if shell == "fish" else list)(COMMANDS + ["help"])
    assert complete("de") == ["devices"]
    assert complete("help", "de") == ["devices"]
    for command in COMMANDS if shell == "bash" else ["run", "place"]:
        assert set(complete(command, "--")) == set(options_of(rynd, command))
    assert complete("run", "--acc") == ["--accuracy"]
    assert set(complete("run", "m.onnx", "--accuracy", "")) == {"strict", "near32", "tf32", "bf16", "int8"}
    equals = ["--channels", "=", "b"] if shell == "bash" else ["--channels=b"]
    assert [offer.split("=")[-1] for offer in complete("run", "m.onnx", *equals)] == ["bgr"]
    assert complete("run", str(ROOT / "READ"))[:1] == [str(ROOT / "README.md")]


def said(rynd, model, *options, **environment):
    """Standard error of a run that has a warning to say and, from the library, a detail."""
    result = rynd("run", model, "-i", model.parent / "nan.npy", "-o", model.parent / "out.npy", *options, env={**os.environ, **environment})
    assert result.code == 0, result.err
    return result.err


def test_log_level(rynd, identity, tmp_path):
    model = identity([2])
    np.save(tmp_path / "nan.npy", np.array([1, np.nan], "float32"))
    note, detail, debug = "output 'y' holds 1 NaN", "input 'x' holds 1 NaN", "threads"
    shown = {"error": [], "warn": [note], "info": [note, detail], "debug": [note, detail, debug]}
    for level, parts in shown.items():
        err = said(rynd, model, RYND_LOG=level)
        assert [part for part in (note, detail, debug) if part in err] == parts, (level, err)
        assert all(line.startswith("rynd: ") for line in err.splitlines())
    assert said(rynd, model) == said(rynd, model, RYND_LOG="") == said(rynd, model, RYND_LOG="warn")
    assert said(rynd, model, "-q", RYND_LOG="debug") == ""
    assert said(rynd, model, "-v", RYND_LOG="error") == said(rynd, model, RYND_LOG="debug")


def test_unknown_log_level(rynd, identity):
    result = rynd("inspect", identity([2]), env={**os.environ, "RYND_LOG": "loud"})
    result.failed("RYND_LOG", "'loud'", "error, warn, info or debug", code=2)
