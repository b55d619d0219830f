# SPDX-License-Identifier: Apache-2.0
"""plan --explain: what choices were made among; JSON keys are a contract, and nothing is run."""

import pathlib
import re
import shlex
import textwrap

import pytest

CONV = "conv n=1 c=64 h=28 w=28 k=64 r=3 s=3 pad=1"
CANDIDATE = {"kernel", "accuracy", "knobs", "chosen", "time", "arithmetic", "memory", "overhead", "measured", "workspace", "packed", "forms", "kinds"}


def explained(ran, *args):
    (result,) = ran("plan", *args, "--explain", "--json").results
    assert set(result) == {"name", "explained"}
    for problem in result["explained"]:
        assert set(problem) == {"name", "op", "problem", "steps", "limit", "candidates", "refused"}
        check_candidates(problem["candidates"])
        for kernel in problem["refused"]:
            assert set(kernel) == {"kernel", "accuracy", "reason"} and kernel["reason"]
    return result["explained"]


def check_candidates(candidates):
    first, *others = candidates
    assert first["chosen"] is True
    for candidate in candidates:
        assert set(candidate) == CANDIDATE and candidate["measured"] is None
        assert sum(candidate["kinds"].values()) == pytest.approx(candidate["arithmetic"], rel=1e-6) and min(candidate["kinds"].values()) > 0
        assert 0 < candidate["time"]["low"] < candidate["time"]["median"] < candidate["time"]["high"]
    assert not any(other["chosen"] for other in others)
    medians = [other["time"]["median"] for other in others]
    assert medians == sorted(medians)


def test_explain_problem(ran):
    (problem,) = explained(ran, CONV)
    (plan,) = ran("plan", CONV, "--json").results
    (predicted,) = ran("predict", CONV, "--json").results
    (node,) = plan["nodes"]
    chosen = problem["candidates"][0]
    assert problem["problem"] == node["problem"] and problem["steps"] == 1 and problem["limit"] > 0
    assert (chosen["kernel"], chosen["knobs"]) == (node["kernel"], node["knobs"])
    assert chosen["time"] == predicted["time"]
    taken = {candidate["kernel"] for candidate in problem["candidates"]}
    reasons = {kernel["kernel"]: kernel["reason"] for kernel in problem["refused"]}
    assert not taken & set(reasons)
    assert reasons["conv_ref"] == "reference: only where nothing else takes it"
    assert "for another device" in reasons.values()


def test_forms(ran):
    """--forms N: N of each kernel, and the chosen one in any case; --verbose: all."""
    def shown(*args):
        candidates = explained(ran, CONV, *args)[0]["candidates"]
        kernels = [candidate["kernel"] for candidate in candidates]
        return {(c["kernel"], c["forms"]): kernels.count(c["kernel"]) for c in candidates}
    every, two = shown("-v"), shown("--forms", "2")
    assert all(count == forms for (_, forms), count in every.items())
    assert set(every) == set(two) and max(forms for _, forms in every) > 2
    for (kernel, forms), count in two.items():
        assert min(forms, 2) <= count <= min(forms, 3), kernel


def test_what_is_set_is_chosen(ran):
    (problem,) = explained(ran, CONV, "--set", "kernel=conv_ref")
    assert problem["candidates"][0]["kernel"] == "conv_ref"
    assert "conv_ref" not in {kernel["kernel"] for kernel in problem["refused"]}


def test_classes(ran):
    (strict,), (loose,) = (explained(ran, CONV, "--accuracy", name) for name in ("strict", "bf16"))
    looser = [kernel["reason"] for kernel in strict["refused"] if "looser than strict" in kernel["reason"]]
    assert looser and not any("looser" in kernel["reason"] for kernel in loose["refused"])


def test_explain_model(ran, small_net):
    """Each distinct problem once, all steps counted."""
    problems = explained(ran, small_net, "--batch", "2")
    (plan,) = ran("plan", small_net, "--batch", "2", "--json").results
    steps = plan["nodes"] + plan["conversions"]
    assert sum(problem["steps"] for problem in problems) == len(steps)
    assert len({problem["problem"] for problem in problems}) == len(problems)
    for step in steps:
        (problem,) = explained(ran, small_net, "--batch", "2", "--step", step["name"])
        assert (problem["name"], problem["steps"]) == (step["name"], 1)
        assert (problem["candidates"][0]["kernel"], problem["candidates"][0]["knobs"]) == (step["kernel"], step["knobs"])


def test_times_are_those_of_the_network(ran, small_net):
    (predicted,) = ran("predict", small_net, "--batch", "2", "--json").results
    for node in predicted["nodes"]:
        (problem,) = explained(ran, small_net, "--batch", "2", "--step", node["name"])
        assert problem["candidates"][0]["time"]["median"] == pytest.approx(node["time"]["median"])


def test_text(ran, small_net):
    out = ran("plan", CONV, "--explain", "--wide").out
    lines = out.splitlines()
    assert lines[0] == CONV and lines[1].startswith("predicted ") and "roofline limit" in lines[1]
    assert lines[2].startswith("arithmetic ") and "memory" in lines[2]
    assert lines[3].startswith("arithmetic: multiply-add ")
    assert lines[5].split()[:3] == ["kernel", "class", "form"]
    assert [line[0] for line in lines[6:9]] == ["*", " ", " "]
    assert "reference: only where nothing else takes it" in out
    assert out == ran("plan", CONV, "--explain", "--wide").out
    assert "step " in ran("plan", small_net, "--batch", "1", "--explain").out


def test_refuses(rynd, small_net):
    rynd("plan", CONV, "--step", "conv").failed("--explain", code=2)
    rynd("plan", small_net, "--batch", "1", "--explain", "--step", "nowhere").failed("small", "'nowhere'", "rynd plan")
    rynd("plan", CONV, "--explain", "--forms", "0").failed("--forms", code=2)
    rynd("plan", "conv c=64", "--explain").failed("conv")


def test_measured_times_are_beside(ran, tmp_path):
    """Shows measured times beside predicted times, and takes the best measured kernel."""
    problem, wisdom = "conv n=1 c=16 h=14 w=14 k=16 r=3 s=3 pad=1", tmp_path / "wisdom.db"
    ran("tune", problem, "--budget", "0.05", "--wisdom", wisdom)
    (explained,) = ran("plan", problem, "--explain", "--wisdom", wisdom, "-v", "--json").results
    candidates = explained["explained"][0]["candidates"]
    measured = [candidate for candidate in candidates if candidate["measured"]]
    assert measured and all(candidate["measured"] > 0 for candidate in measured)
    (chosen,) = [candidate for candidate in candidates if candidate["chosen"]]
    assert chosen["measured"] == min(candidate["measured"] for candidate in measured)
    assert "measured" in ran("plan", problem, "--explain", "--wisdom", wisdom).out


def test_example_by_hand(ran, tmp_path):
    """docs/prediction.md's example: the printed time is that of the text, of the formula, and of the parts."""
    text = (pathlib.Path(__file__).resolve().parents[2] / "docs/prediction.md").read_text()
    section = text.split("## An example to check by hand")[1].split("\n## ")[0]
    blocks = [textwrap.dedent(block) for block in re.findall(r"(?:^    .*\n)+", section, re.M)]
    (tmp_path / "example.txt").write_text(blocks[0])
    command, *lines = blocks[1].splitlines()
    words = shlex.split(command.removeprefix("$ rynd "))
    words[words.index("example.txt")] = tmp_path / "example.txt"
    printed = ran(*words).out.splitlines()
    assert lines[-2:] == printed[-2:]
    problem = words[1]
    (row,) = ran(*words, "--json").results
    ordered, rows = 262144 / (0.87 * 100e9), 64 * 173 / 100e9
    assert row["nodes"][0]["arithmetic"] == pytest.approx(ordered + rows, rel=1e-9)
    (chosen,) = ran("plan", problem, "--explain", "--json", "--threads", "1", "--machine", tmp_path / "example.txt").results[0]["explained"][0]["candidates"]
    assert chosen["kinds"] == pytest.approx({"l2": ordered, "scalar": rows}, rel=1e-6)
    (tmp_path / "example.txt").write_text(blocks[0].replace("l1_bytes", "kind_scalar 500000000 500000000\nl1_bytes", 1))
    (row,) = ran(*words, "--json").results
    assert row["nodes"][0]["arithmetic"] == pytest.approx(ordered + rows * 2 ** (-5 / 32), rel=1e-9)
