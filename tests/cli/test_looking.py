# SPDX-License-Identifier: Apache-2.0
"""Tables that fit a page, lists of layers and parameters, pages and graphs of plans and profiles."""

import json
import re
import shutil
import subprocess

import numpy as np
import onnx
import pytest
from conftest import save
from onnx import helper

QUICK = ["--min-time", "0", "--rounds", "2", "--warmup", "0"]
LONG = "conv n=1 c=16 h=30 w=30 k=16 r=3 s=3 pad=1 bias=1 residual=1 act=relu layout=nhwc"


@pytest.fixture(scope="module")
def blocks(tmp_path_factory):
    """Two residual blocks with the long names of PyTorch's exporter, and a layer whose name could end a script."""
    rng = np.random.default_rng(3)
    nodes, weights, value = [], {}, "x"
    for i in range(2):
        where = f"/features/features.{i}/block/convolution"
        for j in range(2):
            weights[f"features.{i}.{j}.weight"] = rng.standard_normal((8, 8, 3, 3)).astype("float32")
            nodes.append(helper.make_node("Conv", [value if j == 0 else f"r{i}", f"features.{i}.{j}.weight"], [f"c{i}{j}"], name=f"{where}.{j}/Conv",
                                          pads=[1, 1, 1, 1]))
            nodes += [helper.make_node("Relu", [f"c{i}0"], [f"r{i}"], name=f"{where}/Relu")] if j == 0 else []
        nodes.append(helper.make_node("Add", [f"c{i}1", value], [f"a{i}"], name=f"{where}/Add"))
        value = f"a{i}"
    nodes.append(helper.make_node("MaxPool", [value], ["y"], name="</script><b>pool", kernel_shape=[2, 2], strides=[2, 2]))
    ends = [("x", "float32", ["batch", 8, 16, 16])], [("y", "float32", ["batch", 8, 8, 8])]
    return save(tmp_path_factory.mktemp("blocks") / "a_model_with_a_name_that_takes_a_good_part_of_the_line.onnx", nodes, *ends, weights)


TABLES = [
    ["plan"], ["plan", "--explain"], ["plan", "--knobs"], ["predict", "--steps"], ["bench", *QUICK], ["profile", *QUICK],
    ["profile", "--by", "kernel", *QUICK], ["inspect"], ["inspect", "--layers", "--parameters"], ["tune", "--budget", "0.05"],
    ["tune", "--budget", "0.05", "--report"],
]


@pytest.mark.parametrize("command", TABLES, ids=" ".join)
def test_tables_fit_a_page(ran, blocks, command):
    subjects = [[blocks, "--batch", "1"]] + [[LONG]] * (command[0] in ("plan", "predict", "bench", "tune"))
    for subject in subjects:
        for line in ran(command[0], *subject, *command[1:]).out.splitlines():
            # problems stand alone on a line, whole: they are to be copied
            assert len(line) <= 100 or re.match(r"[a-z_]+ (x0|n)=|step |predicted |arithmetic |rejected|a_model|/|\d+ runs", line.strip()), line


def test_other_tables_fit_a_page(ran):
    for command in (["devices"], ["sweep", LONG, "pad=0..2"], ["wisdom", "show"]):
        assert all(len(line) <= 100 for line in ran(*command).out.splitlines()), command


def test_wide_shows_everything(ran, blocks):
    narrow, wide = (ran("plan", blocks, "--batch", "1", *more).out for more in ([], ["--wide"]))
    assert "--wide also shows" in narrow and "--wide also" not in wide
    assert "reason" in wide.splitlines()[0] and "/features/features.1/block/convolution.1/Conv" in wide


def test_predicted_is_one_number(ran, blocks):
    """What plan and profile call predicted is what predict says; costs that kernels were compared by are called costs."""
    (plan,), (predicted,) = (ran(command, blocks, "--batch", "1", "--json").results for command in ("plan", "predict"))
    seconds = {node["name"]: node["time"]["median"] for node in predicted["nodes"]}
    assert not any("predicted" in node["reason"] for node in plan["nodes"])
    factors = {"us": 1e-6, "ms": 1e-3, "ns": 1e-9}
    lines = ran("plan", blocks, "--batch", "1", "--wide").out.splitlines()
    column = lines[0].index("predicted")
    for line in lines[1:lines.index("")]:
        number, unit = line[column - 4:column + len("predicted")].split()[-2:]
        assert float(number) * factors[unit] == pytest.approx(seconds[line.split("  ")[0]], rel=0.01)


def test_layers_and_parameters(ran, blocks):
    (result,) = ran("inspect", blocks, "--layers", "--parameters", "--json").results
    model = onnx.load(blocks)
    assert [layer["name"] for layer in result["layers"]] == [node.name for node in model.graph.node]
    assert result["layers"][0]["outputs"] == [{"name": "c00", "shape": ["batch", 8, 16, 16], "dtype": "f32"}]
    assert {p["name"]: tuple(p["shape"]) for p in result["parameter_list"]} == {t.name: tuple(t.dims) for t in model.graph.initializer}
    text = ran("inspect", blocks, "--parameters").out
    assert text.split()[:4] == ["parameter", "shape", "elements", "read"] and "features.1.1.weight" in text


def data_of(page):
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page) and "<link" not in page and " src=" not in page
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


def pages(ran, blocks, folder):
    ran("plan", blocks, "--batch", "1", "--html", folder / "plan.html")
    ran("profile", blocks, "--batch", "1", "--threads", "2", "--html", folder / "profile.html", *QUICK)
    return [folder / "plan.html", folder / "profile.html"]


def test_pages_have_the_whole_plan(ran, blocks, tmp_path):
    (plan,) = ran("plan", blocks, "--batch", "1", "--json").results
    names = sorted(node["name"] for node in plan["nodes"] + plan["conversions"])
    for file, kind in zip(pages(ran, blocks, tmp_path), ("plan", "profile")):
        data = data_of(file.read_text())
        assert data["kind"] == kind and sorted(step["name"] for step in data["steps"]) == names and "</script><b>pool" in names
        assert data["memory"] == plan["memory"] and data["roofline"]["f32"] > 0
        for i, step in enumerate(data["steps"]):
            reads = [o for o in step["operands"] if not o["output"]]
            assert all(o["producer"] is None or o["producer"] < i for o in reads)
            assert any(o["producer"] is not None or o["storage"] == "input" for o in reads)
            assert ("time" in step) == (kind == "profile")
        assert {span[0] for span in data.get("spans", [])} == (set(range(len(names))) if kind == "profile" else set())


def test_pages_in_a_browser(ran, blocks, tmp_path):
    """Every picture is drawn, and no script fails."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if not chromium:
        pytest.skip("there is no chromium")
    for file in pages(ran, blocks, tmp_path):
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/user", "--virtual-time-budget=5000", "--dump-dom"]
        dom = subprocess.run([*command, file.as_uri()], capture_output=True, text=True, timeout=100).stdout
        steps = len(data_of(file.read_text())["steps"])
        assert f'data-ready="{steps}"' in dom
        for picture in ("groups", "roofline", "agreement", "timeline", "memory", "graph"):
            (drawn,) = re.findall(rf'<svg id="{picture}".*?</svg>', dom, re.DOTALL)
            assert 'data-step="0"' in drawn and "NaN" not in drawn and "undefined" not in drawn, picture
        assert dom.count("<tr data-step=") == steps and "<b>pool" not in dom


def test_dot(ran, rynd, blocks):
    text = ran("plan", blocks, "--batch", "1", "--dot").out
    (plan,) = ran("plan", blocks, "--batch", "1", "--json").results
    assert text.startswith("digraph plan {") and text.rstrip().endswith("}")
    assert len(re.findall(r"^  s\d+ \[", text, re.M)) == len(plan["nodes"] + plan["conversions"])
    edges = re.findall(r"^  (\w+) -> (\w+) ", text, re.M)
    assert ("in0", "s0") in edges and any(to == "out0" for _, to in edges)
    if shutil.which("dot"):
        assert "<svg" in subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, text=True, check=True).stdout
    rynd("plan", LONG, "--dot").failed("--dot", code=2)
    rynd("plan", LONG, "--html", "a.html").failed("--html", code=2)


def test_pages_that_cannot_be_written(rynd, blocks, tmp_path):
    for command in ("plan", "profile"):
        rynd(command, blocks, "--batch", "1", "--html", tmp_path / "no" / "a.html").failed("a.html")
