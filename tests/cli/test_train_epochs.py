# SPDX-License-Identifier: Apache-2.0
"""rynd train: the best epoch and patience, and facts in the metadata of trained models."""

import numpy as np
import onnx
from conftest import save
from onnx import helper
from test_train import CLASSES, classifier, data, folder, net, rows  # noqa: F401 (fixtures)


def test_best_and_last(ran, rynd, net, data, tmp_path):
    """The best epoch's weights are kept beside the last one's; a line an epoch tells which it is."""
    x, y = np.load(data)["x"], np.load(data)["y"]
    np.savez(tmp_path / "other.npz", x=x, y=(y + 1) % CLASSES)  # validation gets worse as training gets better
    options = ["--data", data, "--validate", tmp_path / "other.npz", "--batch", 16, "--lr", "0.1", "--epochs", 8]
    run = ran("train", net, *options, "-o", tmp_path / "out.onnx", "--log", tmp_path / "log.jsonl", "--json")
    (result,) = run.results
    validations = rows(tmp_path / "log.jsonl", "validation")
    best = max(validations, key=lambda row: (row["accuracy"], -row["loss"]))
    assert result["best"] == {"output": str(tmp_path / "out-best.onnx"), **{name: best[name] for name in ("epoch", "step", "loss", "accuracy")}}
    assert best["epoch"] < 7 and not result["stopped"]
    lines = run.err.splitlines()
    assert [line.split(":")[0] for line in lines] == [f"epoch {n}/8" for n in range(1, 9)]
    assert [n for n, line in enumerate(lines) if "the best so far" in line][-1] == best["epoch"]
    ran("train", net, *options[:-1], best["epoch"] + 1, "-o", tmp_path / "short.onnx", "-q")
    assert (tmp_path / "out-best.onnx").read_bytes() == (tmp_path / "short.onnx").read_bytes() != (tmp_path / "out.onnx").read_bytes()
    ran("train", net, *options, "-o", tmp_path / "one.onnx", "--keep", "best")
    assert (tmp_path / "one.onnx").read_bytes() == (tmp_path / "out-best.onnx").read_bytes() and not (tmp_path / "one-best.onnx").exists()
    ran("train", net, *options, "-o", tmp_path / "two.onnx", "--keep", "last")
    assert (tmp_path / "two.onnx").read_bytes() == (tmp_path / "out.onnx").read_bytes() and not (tmp_path / "two-best.onnx").exists()
    for option in (["--keep", "best"], ["--keep", "both"], ["--patience", 2]):
        rynd("train", net, "--data", data, *option, "-o", tmp_path / "no.onnx").failed(option[0], "--validate", code=2)


def test_patience(ran, net, data, tmp_path):
    """The run ends early, and a resumed run remembers the best epoch."""
    x, y = np.load(data)["x"], np.load(data)["y"]
    np.savez(tmp_path / "other.npz", x=x, y=(y + 1) % CLASSES)
    options = ["--data", data, "--validate", tmp_path / "other.npz", "--batch", 16, "--lr", "0.1"]
    run = ran("train", net, *options, "--epochs", 20, "--patience", 3, "-o", tmp_path / "out.onnx", "--log", tmp_path / "log.jsonl", "--json")
    (whole,) = run.results
    assert whole["stopped"] and not whole["interrupted"] and whole["step"] == whole["best"]["step"] + 3 * 4 < whole["steps"]
    assert rows(tmp_path / "log.jsonl", "end")[0]["why"] == "patience"
    ran("train", net, *options, "--epochs", whole["best"]["epoch"] + 2, "-o", tmp_path / "part.onnx")
    part = ran("train", net, *options, "--epochs", 20, "--patience", 3, "-o", tmp_path / "part.onnx", "--resume", tmp_path / "part.checkpoint.npz", "--json")
    assert part.results[0]["step"] == whole["step"] and part.results[0]["best"] == {**whole["best"], "output": str(tmp_path / "part-best.onnx")}
    assert (tmp_path / "part.onnx").read_bytes() == (tmp_path / "out.onnx").read_bytes()
    assert "no better validation in 3 epochs" in ran("train", net, *options, "--epochs", 20, "--patience", 3, "-o", tmp_path / "out.onnx").out


def test_plot_of_accuracy(ran, net, data, tmp_path):
    """Classes have a second panel; values do not."""
    ran("train", net, "--data", data, "--validate", data, "--batch", 16, "--plot", tmp_path / "plot.svg", "-o", tmp_path / "out.onnx")
    plot = (tmp_path / "plot.svg").read_text()
    assert "loss (cross_entropy)" in plot and "samples right (%)" in plot and plot.count("<svg") == 1
    np.savez(tmp_path / "values.npz", x=np.load(data)["x"], y=np.zeros((64, CLASSES), "float32"))
    ran("train", net, "--data", tmp_path / "values.npz", "--batch", 16, "--plot", tmp_path / "plot.svg", "-o", tmp_path / "out.onnx")
    assert "loss (mse)" in (tmp_path / "plot.svg").read_text() and "samples right" not in (tmp_path / "plot.svg").read_text()


# --- facts in the metadata ---


def metadata_of(path):
    return {entry.key: entry.value for entry in onnx.load(path).metadata_props}


def test_folder_becomes_a_model_that_knows_its_classes(ran, folder, tmp_path):  # noqa: F811
    """Two commands: classes and the preparation of pictures are in the model."""
    net = classifier(tmp_path / "net.onnx", 3, 16)
    ran("train", net, "--data", folder[0], "--validate", folder[1], "--size", "16x16", "--scale", "1/255", "--mean", "0.1,0.2,0.3", "--epochs", 6,
        "--batch", 8, "--lr", "0.05", "-o", tmp_path / "out.onnx")
    found = metadata_of(tmp_path / "out.onnx")
    assert found["names"] == "{0: 'class0', 1: 'class1', 2: 'class2', 3: 'class3'}"
    assert found["rynd.pictures"].startswith("--size 16x16 --channels rgb --scale 0.00392") and found["rynd.pictures"].endswith(" --mean 0.1,0.2,0.3 --std 1")
    assert metadata_of(tmp_path / "out-best.onnx") == found
    for picture in sorted(folder[1].glob("*/*"))[::4]:
        alone = ran("run", tmp_path / "out.onnx", "-i", picture, "--top", 2, "--json").results
        assert alone[0]["outputs"][0]["top"][0][0]["label"] == picture.parent.name
        told = ran("run", tmp_path / "out.onnx", "-i", picture, "--top", 2, "--size", "16x16", "--scale", "1/255", "--mean", "0.1,0.2,0.3", "--json").results
        assert [row["value"] for row in told[0]["outputs"][0]["top"][0]] == [row["value"] for row in alone[0]["outputs"][0]["top"][0]]
    other = ran("run", tmp_path / "out.onnx", "-i", picture, "--top", 1, "--mean", "0.9", "--json").results  # an option counts before the metadata
    assert other[0]["outputs"][0]["top"][0][0]["value"] != alone[0]["outputs"][0]["top"][0][0]["value"]
    assert "class3" in ran("inspect", tmp_path / "out.onnx").out
    ran("train", tmp_path / "out.onnx", "--data", folder[0], "--batch", 8, "-o", tmp_path / "more.onnx")
    assert metadata_of(tmp_path / "more.onnx") == found


def test_names_in_forms_of_other_programs(ran, tmp_path):
    net = classifier(tmp_path / "net.onnx", 1, 4)
    np.save(tmp_path / "x.npy", np.zeros((1, 1, 4, 4), "float32"))
    for text, names in [("{0: 'a', 1: \"b's\", 3: 'd'}", ["a", "b's", None, "d"]), ('["p", "q", "r", "s"]', list("pqrs")),
                        ('{"0": "p", "2": "r"}', ["p", None, "r", None]), ("nothing", [None] * 4), ("{99999999999: 'x'}", [None] * 4), ("'", ["", None, None, None])]:
        model = onnx.load(net)
        entry = model.metadata_props.add()
        entry.key, entry.value = "names", text
        onnx.save(model, tmp_path / "named.onnx")
        (result,) = ran("run", tmp_path / "named.onnx", "-i", tmp_path / "x.npy", "--top", 4, "--json").results
        assert {row["index"]: row["label"] for row in result["outputs"][0]["top"][0]} == dict(enumerate(names)), text


def test_pictures_that_are_not_understood(ran, tmp_path):
    net = onnx.load(classifier(tmp_path / "net.onnx", 1, 4))
    entry = net.metadata_props.add()
    entry.key, entry.value = "rynd.pictures", "--size huge"
    onnx.save(net, tmp_path / "net.onnx")
    np.save(tmp_path / "x.npy", np.zeros((1, 1, 4, 4), "float32"))
    assert "is not understood: --size huge" in ran("run", tmp_path / "net.onnx", "-i", tmp_path / "x.npy").err


def test_folded_normalisations(ran, data, tmp_path):  # noqa: F811
    """Eight convolutions with biases are noticed, unless one has none or a normalisation is there."""
    random = np.random.default_rng(1)

    def err(convolutions, biases, normalised):
        nodes, arrays, before = [], {}, "x"
        for i in range(convolutions):
            arrays[f"w{i}"], arrays[f"b{i}"] = random.standard_normal((1, 1, 1, 1)).astype("float32"), np.zeros(1, "float32")
            nodes.append(helper.make_node("Conv", [before, f"w{i}"] + [f"b{i}"] * (i < biases), [f"c{i}"]))
            before = f"c{i}"
        if normalised:
            arrays["one"], arrays["zero"] = np.ones(1, "float32"), np.zeros(1, "float32")
            nodes.append(helper.make_node("BatchNormalization", [before, "one", "zero", "zero", "one"], ["n"]))
            before = "n"
        arrays["shape"] = np.array([0, -1])
        arrays["w"] = random.standard_normal((144, CLASSES)).astype("float32")
        nodes += [helper.make_node("Reshape", [before, "shape"], ["f"]), helper.make_node("MatMul", ["f", "w"], ["y"])]
        net = save(tmp_path / "deep.onnx", nodes, [("x", "float32", ["N", 1, 12, 12])], [("y", "float32", ["N", CLASSES])], arrays)
        return ran("train", net, "--data", data, "--batch", 16, "--lr", 0, "-o", tmp_path / "out.onnx").err

    assert "8 convolutions with biases and no normalisation" in err(8, 8, False)
    for case in ((7, 7, False), (8, 7, False), (8, 8, True)):
        assert "no normalisation" not in err(*case)
