# SPDX-License-Identifier: Apache-2.0
"""rynd eval: figures of small models on generated data, beside formulas in numpy and pycocotools."""

import contextlib
import io
import json
import xml.etree.ElementTree

import numpy as np
import onnx
import pytest
from conftest import load, save
from onnx import helper
from PIL import Image
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

RNG = np.random.default_rng(5)
COLOURS = {"red": (220, 30, 20), "green": (20, 200, 40), "blue": (30, 20, 210)}


def means(path, names=None, batch="n", swap=False):
    """Scores of a picture are its mean red, green and blue, or in another order."""
    nodes = [helper.make_node("GlobalAveragePool", ["x"], ["p"]), helper.make_node("Flatten", ["p"], ["f"]), helper.make_node("Gather", ["f", "order"], ["y"], axis=1)]
    save(path, nodes, [("x", "float32", [batch, 3, 8, 8])], [("y", "float32", [batch, 3])], {"order": np.array([1, 0, 2] if swap else [0, 1, 2])})
    if names:
        model = onnx.load(path)
        helper.set_model_props(model, {"names": str(dict(enumerate(names)))})
        onnx.save(model, path)
    return path


def colours(folder, names=("red", "green", "blue"), many=3):
    """Folders of pictures of a colour; the first picture of "red" is green."""
    for name in names:
        (folder / name).mkdir(parents=True)
        for i in range(many):
            colour = COLOURS["green" if (name, i) == ("red", 0) else name]
            Image.new("RGB", (10, 12), colour).save(folder / name / f"{i}.png")
    return folder


def test_classes(ran, tmp_path):
    data = colours(tmp_path / "d")
    model = means(tmp_path / "m.onnx", ["red", "green", "blue"])
    (result,) = ran("eval", model, "--data", data, "--json").results
    assert result["figures"] == pytest.approx({"top1": 8 / 9, "top5": 1, "recall": (2 / 3 + 2) / 3, "precision": (1 + 3 / 4 + 1) / 3})
    assert {c["name"]: (c["label"], c["count"], c["found"]) for c in result["classes"]} == {"red": (0, 3, 2), "green": (1, 3, 4), "blue": (2, 3, 3)}
    assert {(c["true"], c["found"]): c["count"] for c in result["confusion"]} == {(0, 0): 2, (0, 1): 1, (1, 1): 3, (2, 2): 3}
    assert result["pictures"] == 9 and result["left_out"] == 0
    speed = result["speed"]
    assert speed["pictures_per_second"] > 0 and 0 < speed["median"] <= speed["quantile90"]
    out = ran("eval", model, "--data", data, "--confusion", tmp_path / "c.svg").out
    assert all(len(line) <= 100 for line in out.splitlines())
    rows = [line.split() for line in out.splitlines()]
    assert ["top1", "0.8889"] in rows and ["red", "0", "2", "1", "0"] in rows and ["red", "0", "3", "0.6667", "1.0000"] in rows
    drawing = xml.etree.ElementTree.parse(tmp_path / "c.svg")
    texts = " ".join(e.text or "" for e in drawing.iter())
    assert "red found as green: 1 (33.3 %)" in texts


@pytest.mark.parametrize("batch", ["n", 1, 4])
def test_batches_and_names_do_not_matter(batch, ran, tmp_path):
    """Classes are found by name; without names, in the order of the folders."""
    data = colours(tmp_path / "d")
    result = ran("eval", means(tmp_path / "m.onnx", ["green", "red", "blue"], batch, swap=True), "--data", data, "--json").results[0]
    assert result["figures"]["top1"] == pytest.approx(8 / 9) and result["pictures"] == 9
    # blue, green, red are 0, 1, 2, but the model says 2, 1, 0
    lone = ran("eval", means(tmp_path / "n.onnx", None, batch), "--data", data, "--json").results[0]
    assert lone["figures"]["top1"] == pytest.approx(3 / 9)
    (tmp_path / "names.txt").write_text("red\ngreen\nblue\n")
    named = ran("eval", tmp_path / "n.onnx", "--data", data, "--json", "--labels", tmp_path / "names.txt", "--examples", "4").results[0]
    assert named["pictures"] == 4 and named["figures"]["top1"] == 1  # three blue ones, one green one


def test_many_classes(ran, tmp_path):
    """Instead of a matrix that is too wide, the most frequent confusions; worst classes first."""
    save(tmp_path / "m.onnx", [helper.make_node("Identity", ["x"], ["y"])], [("x", "float32", ["n", 200])], [("y", "float32", ["n", 200])])
    truth = RNG.integers(0, 200, 400)
    x = np.eye(200, dtype="float32")[np.where(truth % 7 == 3, (truth + 1) % 200, truth)]
    np.savez(tmp_path / "d.npz", x=x, y=truth)
    out = ran("eval", tmp_path / "m.onnx", "--data", tmp_path / "d.npz").out
    assert "the 20 worst of" in out and "the most frequent confusions" in out and all(len(line) <= 100 for line in out.splitlines())
    ran("eval", tmp_path / "m.onnx", "--data", tmp_path / "d.npz", "--confusion", tmp_path / "c.svg")
    xml.etree.ElementTree.parse(tmp_path / "c.svg")


@pytest.mark.parametrize("batch", ["n", 1, 7])
def test_archive_of_classes(batch, ran, tmp_path):
    save(tmp_path / "m.onnx", [helper.make_node("Identity", ["x"], ["y"])], [("x", "float32", [batch, 8])], [("y", "float32", [batch, 8])])
    x, y = RNG.standard_normal((45, 8)).astype("float32"), RNG.integers(0, 8, 45)
    np.savez(tmp_path / "d.npz", x=x, y=y)
    (result,) = ran("eval", tmp_path / "m.onnx", "--data", tmp_path / "d.npz", "--json").results
    order = np.argsort(-x, axis=1)
    assert result["figures"]["top1"] == pytest.approx((order[:, 0] == y).mean())
    assert result["figures"]["top5"] == pytest.approx((order[:, :5] == y[:, None]).any(1).mean())
    assert result["pictures"] == 45


def test_archive_of_maps(ran, rynd, tmp_path):
    save(tmp_path / "m.onnx", [helper.make_node("Identity", ["x"], ["y"])], [("x", "float32", ["n", 4, 6, 5])], [("y", "float32", ["n", 4, 6, 5])])
    x, y = RNG.standard_normal((20, 4, 6, 5)).astype("float32"), RNG.integers(0, 4, (20, 6, 5))
    y[:, 0] = 255
    np.savez(tmp_path / "d.npz", x=x, y=y)
    (result,) = ran("eval", tmp_path / "m.onnx", "--data", tmp_path / "d.npz", "--json").results
    assert result["figures"] == pytest.approx(figures_of_maps(y, x.argmax(1), 4))
    rynd("eval", tmp_path / "m.onnx", "--data", tmp_path / "d.npz", "--ignore", "-1").failed("row 0 of", "class 255 of the pixel in row 0, column 0", "4 classes")


def figures_of_maps(truth, found, classes):
    truth, found = np.ravel(truth), np.ravel(found)
    matrix = np.zeros((classes, classes))
    np.add.at(matrix, (truth[truth != 255], found[truth != 255]), 1)
    right, true, given = np.diag(matrix), matrix.sum(1), matrix.sum(0)
    union = true + given - right
    return {"mean_iou": (right[union > 0] / union[union > 0]).mean(), "pixel_accuracy": right.sum() / matrix.sum(), "recall": (right[true > 0] / true[true > 0]).mean()}


def pixels(path):
    """Scores of 4 classes per pixel."""
    w = RNG.standard_normal((4, 3, 1, 1)).astype("float32")
    return save(path, [helper.make_node("Conv", ["x", "w"], ["y"])], [("x", "float32", ["n", 3, "h", "w"])], [("y", "float32", ["n", 4, "h", "w"])], {"w": w})


def test_masks(ran, rynd, tmp_path):
    """Masks are grey or have a palette, of 1 to 8 bits; 255 is left out."""
    model, data = pixels(tmp_path / "m.onnx"), tmp_path / "d"
    (data / "images").mkdir(parents=True)
    (data / "masks").mkdir()
    truth, found = [], []
    for i, (height, width) in enumerate([(16, 24), (16, 24), (20, 10)]):
        photo = RNG.integers(0, 255, (height // 2, width // 2, 3), "uint8").repeat(2, 0).repeat(2, 1)
        Image.fromarray(photo).save(data / "images" / f"p{i}.png")
        ran("run", model, "-i", data / "images" / f"p{i}.png", "--task", "segment", "-o", tmp_path / "map.npy")
        found.append(load(tmp_path / "map.npy"))
        mask = np.where(RNG.random((height, width)) < 0.7, found[-1], RNG.integers(0, 2 if i == 2 else 4, (height, width))).astype("uint8")
        mask[0] = 255 if i < 2 else 1
        picture = Image.fromarray(mask)
        if i == 1:
            picture.putpalette(list(RNG.integers(0, 255, 768)))
        picture.save(data / "masks" / f"p{i}.png")
        truth.append(mask)
    everything = [np.concatenate([np.ravel(a) for a in arrays]) for arrays in (truth, found)]
    (result,) = ran("eval", model, "--data", data, "--json").results
    assert result["figures"] == pytest.approx(figures_of_maps(*everything, 4))
    assert "mean_iou" in ran("eval", model, "--data", data).out
    Image.fromarray(truth[0][:-1]).save(data / "masks" / "p0.png")
    rynd("eval", model, "--data", data).failed("p0.png", "15x24", "16x24")
    Image.fromarray(truth[0] * 0 + 7).save(data / "masks" / "p0.png")
    rynd("eval", model, "--data", data).failed("p0.png", "class 7 of the pixel in row 0, column 0", "4 classes")
    Image.new("RGB", (24, 16)).save(data / "masks" / "p0.png")
    rynd("eval", model, "--data", data).failed("p0.png", "picture of colours")
    (data / "masks" / "p0.png").unlink()
    rynd("eval", model, "--data", data).failed("images/p0.png", "no file of that name", "masks")


def detector(path):
    """A YOLOv8 that says the same boxes of 80 classes for each picture."""
    raw = RNG.uniform(0, 0.02, (1, 84, 189)).astype("float32")
    raw[:, :4] = RNG.uniform(8, 80, (1, 4, 189))
    raw[0, 4 + RNG.integers(0, 3, 60), np.arange(60)] = RNG.uniform(0.3, 1, 60)
    nodes = [helper.make_node("ReduceMean", ["x"], ["m"], axes=[0, 1, 2, 3], keepdims=0), helper.make_node("Mul", ["m", "zero"], ["z"]), helper.make_node("Add", ["raw", "z"], ["y"])]
    return save(path, nodes, [("x", "float32", [1, 3, 96, 96])], [("y", "float32", [1, 84, 189])], {"raw": raw, "zero": np.float32(0)})


def annotations(path, boxes, sizes):
    """Objects near some of the boxes, in a file whose ids are not in order; names as COCO's."""
    ids, names = [7, 3, 9], {1: "person", 2: "bicycle", 5: "car"}
    labels = {0: 1, 1: 2, 2: 5}
    objects = []
    for i, each in enumerate(boxes):
        for k, box in enumerate([b for b in each if b["label"] in labels][: 12 + i]):
            w, h = box["right"] - box["left"], box["bottom"] - box["top"]
            if w < 2 or h < 2:
                continue
            objects.append({"id": len(objects) + 1, "image_id": ids[i], "category_id": labels[box["label"]], "iscrowd": int(k == 5),
                            "bbox": [box["left"] + RNG.normal(0, 0.05) * w, box["top"], w, h * 0.95], "area": w * h * 0.8})
    document = {"images": [{"id": id, "file_name": f"{i}.png", "height": h, "width": w} for i, (id, (h, w)) in enumerate(zip(ids, sizes))],
                "annotations": objects, "categories": [{"id": id, "name": name} for id, name in names.items()]}
    path.write_text(json.dumps(document))
    return document, labels


def test_boxes(ran, tmp_path):
    model, data, sizes = detector(tmp_path / "m.onnx"), tmp_path / "d", [(50, 80), (96, 96), (200, 120)]
    data.mkdir()
    for i, (h, w) in enumerate(sizes):
        Image.fromarray(RNG.integers(0, 255, (h, w, 3), "uint8")).save(data / f"{i}.png")
    boxes = [r["boxes"] for r in ran("run", model, "-i", data, "--task", "detect", "--json", "--score", "0.001").results]
    document, labels = annotations(tmp_path / "c.json", boxes, sizes)
    categories = {name: id for name, id in labels.items()}
    results = [{"image_id": document["images"][i]["id"], "category_id": categories[b["label"]], "score": b["score"],
                "bbox": [b["left"], b["top"], b["right"] - b["left"], b["bottom"] - b["top"]]} for i, each in enumerate(boxes) for b in each[:300] if b["label"] in categories]
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO(tmp_path / "c.json")
        peer = COCOeval(coco, coco.loadRes(results), "bbox")
        peer.evaluate()
        peer.accumulate()
        peer.summarize()
    (result,) = ran("eval", model, "--data", data, "--boxes", tmp_path / "c.json", "--json").results
    found = [np.nan if v is None else v for v in result["figures"].values()]
    np.testing.assert_allclose(found, np.where(peer.stats < 0, np.nan, peer.stats), atol=1e-9)
    assert 0.1 < result["figures"]["map"] < 1 and [c["name"] for c in result["classes"]] == ["person", "bicycle", "car"]
    out = ran("eval", model, "--data", data, "--boxes", tmp_path / "c.json").out
    assert "map75" in out and "bicycle" in out


def test_broken_boxes(rynd, tmp_path):
    model, data, path = detector(tmp_path / "m.onnx"), tmp_path / "d", tmp_path / "c.json"
    data.mkdir()
    Image.new("RGB", (30, 20)).save(data / "a.png")
    good = {"images": [{"id": 1, "file_name": "a.png"}], "categories": [{"id": 1, "name": "person"}], "annotations": [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 5, 5]}]}

    def fails(*parts, text=None, **changes):
        path.write_text(text or json.dumps({**good, **changes}))
        rynd("eval", model, "--data", data, "--boxes", path).failed(*parts)

    fails("c.json", "broken at byte 12", text='{"images": [}')
    fails('no list "annotations"', annotations=None)
    fails("annotations[0]", "image_id 4", annotations=[{"image_id": 4, "category_id": 1, "bbox": [0, 0, 5, 5]}])
    fails("annotations[0]", "category_id 2", annotations=[{"image_id": 1, "category_id": 2, "bbox": [0, 0, 5, 5]}])
    fails("annotations[0]", '"bbox"', annotations=[{"image_id": 1, "category_id": 1, "bbox": [0, 0, 5]}])
    fails("images[0]", "file_name", images=[{"id": 1}])
    fails("images[0]", "whole number", images=[{"id": 1e300, "file_name": "a.png"}])
    fails("annotations[0]", "image_id", annotations=[{"image_id": 0.5, "category_id": 1, "bbox": [0, 0, 5, 5]}])
    fails("the id 1", images=good["images"] * 2)
    fails("b.png", "c.json", "No such file", images=[{"id": 1, "file_name": "b.png"}])
    fails("'unicorn'", "person, bicycle", categories=[{"id": 1, "name": "unicorn"}])
    fails("has no picture", images=[], annotations=[])


def enlarge(path):
    """Repeats each pixel twice along both sides."""
    w = np.zeros((3, 3, 2, 2), "float32")
    w[range(3), range(3)] = 1
    return save(path, [helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2])], [("x", "float32", [1, 3, "h", "w"])], [("y", "float32", [1, 3, "h2", "w2"])], {"w": w})


def test_targets(ran, rynd, tmp_path):
    """The figures are those of the pictures that rynd run writes."""
    model, data, psnr = enlarge(tmp_path / "m.onnx"), tmp_path / "d", []
    (data / "inputs").mkdir(parents=True)
    (data / "targets").mkdir()
    for i, shape in enumerate([(16, 12), (9, 20)]):
        target = RNG.integers(0, 255, (*shape, 3), "uint8").repeat(2, 0).repeat(2, 1)
        target = np.clip(target + RNG.normal(0, 9, target.shape), 0, 255).astype("uint8")
        Image.fromarray(target).save(data / "targets" / f"{i}.png")
        Image.fromarray(target[::2, ::2]).save(data / "inputs" / f"{i}.bmp")
        ran("run", model, "-i", data / "inputs" / f"{i}.bmp", "--task", "image", "-o", tmp_path / "o.png")
        psnr.append(10 * np.log10(255**2 / np.mean((np.asarray(Image.open(tmp_path / "o.png"), float) - target) ** 2)))
    (result,) = ran("eval", model, "--data", data, "--json").results
    assert result["figures"]["psnr"] == pytest.approx(np.mean(psnr)) and 0.5 < result["figures"]["ssim"] < 1
    assert "psnr dB" in ran("eval", model, "--data", data).out
    Image.new("RGB", (20, 32)).save(data / "targets" / "0.png")
    rynd("eval", model, "--data", data).failed("targets/0.png", "32x20", "32x24")
    Image.new("L", (24, 32)).save(data / "targets" / "0.png")
    rynd("eval", model, "--data", data).failed("targets/0.png", "1 channel", "3")


@pytest.mark.parametrize("kind", ["float32", "uint8", "uint16", "int32"])
@pytest.mark.parametrize("last", [False, True])
def test_archive_of_pictures(last, kind, ran, rynd, tmp_path):
    """Values count as they are; the range is that of the type, or --range's."""
    usual = {"float32": 1, "uint8": 255, "uint16": 65535, "int32": None}[kind]
    shape, top = ((17, 12, 3) if last else (3, 17, 12)), usual or 1000
    save(tmp_path / "m.onnx", [helper.make_node("Mul", ["x", "a"], ["y"])], [("x", "float32", ["n", *shape])], [("y", "float32", ["n", *shape])], {"a": np.float32(0.9)})
    x = RNG.random((5, *shape)).astype("float32") * top
    y = (x * RNG.uniform(0.8, 1, x.shape)).astype(kind)
    np.savez(tmp_path / "d.npz", x=x, y=y)
    extra = [] if usual else ["--range", top]
    result, same = ran("eval", tmp_path / "m.onnx", "--data", tmp_path / "d.npz", "--json", *extra, "--against", tmp_path / "m.onnx").results
    psnr = 10 * np.log10(top**2 / np.mean((np.float32(x * np.float32(0.9)) - np.float64(y)) ** 2, axis=(1, 2, 3)))
    assert result["figures"]["psnr"] == pytest.approx(psnr.mean()) and 0.5 < result["figures"]["ssim"] < 1 and result["pictures"] == 5
    wide = ran("eval", tmp_path / "m.onnx", "--data", tmp_path / "d.npz", "--json", "--range", 2 * top).results[0]
    assert wide["figures"]["psnr"] == pytest.approx(psnr.mean() + 20 * np.log10(2))
    if not usual:
        rynd("eval", tmp_path / "m.onnx", "--data", tmp_path / "d.npz").failed("d.npz", "i32", "--range")


def test_wrong_archive_of_pictures(rynd, tmp_path):
    model, x = tmp_path / "m.onnx", np.zeros((2, 3, 16, 16), "float32")
    save(model, [helper.make_node("Identity", ["x"], ["y"])], [("x", "float32", ["n", 3, "h", "w"])], [("y", "float32", ["n", 3, "h", "w"])])

    def fails(y, *parts, code=1, more=()):
        np.savez(tmp_path / "d.npz", x=x, y=y)
        rynd("eval", model, "--data", tmp_path / "d.npz", *more).failed("d.npz", *parts, code=code)

    fails(np.full((2, 3, 16, 16), [[[[0, 200] * 8]]], "float32"), "from 0 to 200", "--range")
    fails(np.full((2, 3, 16, 16), np.nan, "float32"), "--range")
    fails(np.zeros((2, 4, 16, 16), "float32"), "1 or 3 channels", "[2, 4, 16, 16]")
    fails(np.zeros((2, 3, 16, 20), "float32"), "row 0", "16x20", "16x16")
    fails(np.zeros((2, 1, 16, 16), "float32"), "row 0", "1 channel", "3")
    rynd("eval", model, "--data", tmp_path, "--range", "3").failed("--range", ".npz", code=2)


def test_against(ran, tmp_path):
    data = colours(tmp_path / "d")
    model, other = means(tmp_path / "m.onnx", ["red", "green", "blue"]), means(tmp_path / "o.onnx", ["red", "green", "blue"], 2, swap=True)
    first, second = ran("eval", model, "--data", data, "--against", other, "--json").results
    assert first["figures"]["top1"] == pytest.approx(8 / 9) and second["figures"]["top1"] == pytest.approx(4 / 9)
    assert "agreement" not in first and second["agreement"] == pytest.approx(3 / 9)
    out = ran("eval", model, "--data", data, "--against", other).out
    rows = [line.split() for line in out.splitlines()]
    assert ["figure", "m.onnx", "o.onnx", "difference"] in rows and ["top1", "0.8889", "0.4444", "-0.4444"] in rows
    assert "agreement 0.3333" in out and all(len(line) <= 100 for line in out.splitlines())
    first, second = ran("eval", model, "--data", data, "--against-accuracy", "strict", "--json").results
    assert first["figures"] == second["figures"] and second["agreement"] == 1
    rows = [line.split() for line in ran("eval", model, "--data", data, "--against-accuracy", "strict").out.splitlines()]
    assert ["figure", "near32", "strict", "difference"] in rows
    np.savez(tmp_path / "d.npz", x=RNG.standard_normal((5, 3, 8, 8)).astype("float32"), y=np.arange(5) % 3)
    first, second = ran("eval", model, "--data", tmp_path / "d.npz", "--against", other, "--json").results
    assert first["pictures"] == second["pictures"] == 5 and "agreement" in second


def test_wrong_data(rynd, tmp_path):
    model, data = means(tmp_path / "m.onnx", ["red", "green", "blue"]), colours(tmp_path / "d", many=1)
    rynd("eval", model).failed("--data", code=2)
    rynd("eval", model, "--data", data, "--crop", "4").failed("--crop", "--fit crop", code=2)
    rynd("eval", model, "--data", data, "--size", "9x9").failed("--size", "input 'x'", code=2)
    rynd("eval", model, "--data", tmp_path / "no").failed("no'", "cannot be read")
    (tmp_path / "empty").mkdir()
    rynd("eval", model, "--data", tmp_path / "empty").failed("empty", "no folder", "--boxes")
    rynd("eval", model, "--data", model).failed("m.onnx", "neither a folder nor an .npz")
    rynd("eval", model, "--data", data, "--confusion", tmp_path / "c.png").failed("c.png", ".svg", code=2)
    (data / "violet").mkdir()
    rynd("eval", model, "--data", data).failed("violet", "class without a picture")
    Image.new("RGB", (8, 8)).save(data / "violet" / "v.png")
    rynd("eval", model, "--data", data).failed("'violet'", "red, green, blue")
    rynd("eval", means(tmp_path / "n.onnx"), "--data", data).failed("violet/v.png", "label 3", "3 classes")
    np.savez(tmp_path / "d.npz", x=np.zeros((3, 3, 8, 8), "float32"), y=[0, 1, 9])
    rynd("eval", model, "--data", tmp_path / "d.npz").failed("row 2 of", "label 9", "3 classes")
    np.savez(tmp_path / "e.npz", x=np.zeros((3, 3, 8, 8), "float32"), y=np.zeros((3, 2), int))
    rynd("eval", model, "--data", tmp_path / "e.npz").failed("y has 2 dimensions")
    fixed = means(tmp_path / "f.onnx", batch=4)
    np.savez(tmp_path / "f.npz", x=np.zeros((3, 3, 8, 8), "float32"), y=[0, 1, 2])
    rynd("eval", fixed, "--data", tmp_path / "f.npz").failed("3 rows", "4 at once")


def test_unreadable_picture(rynd, tmp_path):
    """It is named and left out; the figures are printed, and the exit code is 1."""
    model, data = means(tmp_path / "m.onnx", ["red", "green", "blue"]), colours(tmp_path / "d")
    (data / "blue" / "1.png").write_bytes(b"no picture")
    result = rynd("eval", model, "--data", data)
    assert result.code == 1 and "top1" in result.out and "blue/1.png" in result.err and "1 of 9 pictures could not be read" in result.err
