# SPDX-License-Identifier: Apache-2.0
"""Figures of data with known answers: equal to pycocotools' and to formulas in numpy."""

import contextlib
import io
import os
import pathlib

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

import rynd
from rynd.tasks import Box, Evaluation, Object


def random_boxes(seed, images, classes, most, ties):
    """For each picture the objects (left, top, width, height, area, label, crowd) and the boxes (corners, score, label) that a fair detector finds."""
    rng = np.random.default_rng(seed)
    truth, found = [], []
    for _ in range(images):
        objects, boxes = [], []
        for _ in range(rng.integers(0, most + 1)):
            (x, y), (w, h) = rng.uniform(0, 300, 2), rng.choice([12, 25, 60, 150]) * rng.uniform(0.6, 1.4, 2)
            label, crowd = int(rng.integers(classes)), bool(rng.random() < 0.15)
            objects.append((x, y, w, h, w * h * rng.uniform(0.5, 1), label, crowd))
            for _ in range(rng.integers(0, 3) + 3 * crowd):
                dx, dy, dw, dh = rng.normal(0, rng.choice([0.05, 0.25]), 4)
                boxes.append((x + dx * w, y + dy * h, w * abs(1 + dw), h * abs(1 + dh), label if rng.random() < 0.9 else int(rng.integers(classes))))
        for _ in range(rng.integers(0, 2 * most)):
            boxes.append((*rng.uniform(0, 300, 2), *rng.uniform(5, 120, 2), int(rng.integers(classes))))
        corners = [np.float32([x, y, x + w, y + h]).astype(float) for x, y, w, h, _ in boxes]
        scores = rng.integers(0, 5, len(boxes)) / 8 if ties else rng.random(len(boxes)).astype("float32")
        truth.append(objects)
        found.append([(*map(float, c), float(s), box[4], []) for c, s, box in zip(corners, scores, boxes)])
    return truth, found


def by_pycocotools(truth, found, classes):
    annotations = [{"image_id": i, "category_id": label, "bbox": [x, y, w, h], "area": area, "iscrowd": int(crowd)}
                   for i, objects in enumerate(truth) for x, y, w, h, area, label, crowd in objects]
    results = [{"image_id": i, "category_id": label, "bbox": [left, top, right - left, bottom - top], "score": score}
               for i, boxes in enumerate(found) for left, top, right, bottom, score, label, _ in boxes]
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = {"images": [{"id": i} for i in range(len(truth))], "annotations": [{**a, "id": i + 1} for i, a in enumerate(annotations)],
                        "categories": [{"id": i} for i in range(classes)]}
        coco.createIndex()
        peer = COCOeval(coco, coco.loadRes(results), "bbox")
        peer.evaluate()
        peer.accumulate()
        peer.summarize()
    return np.where(peer.stats < 0, np.nan, peer.stats), peer.eval["precision"]


# (images, classes, most objects, ties): the last has more than 100 boxes of a class in a picture
@pytest.mark.parametrize("case", [(8, 1, 4, False), (12, 3, 10, False), (12, 3, 10, True), (20, 9, 3, False), (3, 1, 80, True)])
def test_boxes_beside_pycocotools(case):
    images, classes, most, ties = case
    truth, found = random_boxes(sum(case), images, classes, most, ties)
    evaluation = Evaluation("detect", classes)
    for boxes, objects in zip(found, truth):
        evaluation.add([Box(*b[:6], None, []) for b in boxes], [Object(x, y, w, h, label, area, crowd) for x, y, w, h, area, label, crowd in objects])
    expected, precision = by_pycocotools(truth, found, classes)
    np.testing.assert_allclose(list(evaluation.figures.values()), expected, rtol=0, atol=1e-12)
    assert 0.01 < evaluation.figures["map"] < 0.9
    for label, row in enumerate(evaluation.classes):
        for value, part in ((row.ap, precision[:, :, label, 0, 2]), (row.ap50, precision[0, :, label, 0, 2])):
            np.testing.assert_allclose(value, part.mean() if part.min() > -1 else np.nan, atol=1e-12)


def test_no_boxes():
    evaluation = Evaluation("detect", 2)
    evaluation.add([], [Object(0, 0, 9, 9, 1)])
    assert evaluation.figures["map"] == 0 and np.isnan(evaluation.figures["map_large"])


def test_labels():
    rng = np.random.default_rng(0)
    evaluation = Evaluation("classify", 12)
    truth = rng.integers(0, 10, 300)
    orders = [list(map(int, rng.permutation(12))) if rng.random() < 0.5 else [int(t), *(int(i) for i in range(12) if i != t)] for t in truth]
    for order, label in zip(orders, truth):
        evaluation.add(order, int(label))
    found = np.array([order[0] for order in orders])
    matrix = np.zeros((12, 12), "int64")
    np.add.at(matrix, (truth, found), 1)
    np.testing.assert_array_equal(evaluation.confusion, matrix)
    right, true, given = np.diag(matrix), matrix.sum(1), matrix.sum(0)
    expected = {"top1": (found == truth).mean(), "top5": np.mean([label in order[:5] for order, label in zip(orders, truth)]),
                "recall": (right[true > 0] / true[true > 0]).mean(),
                "precision": np.mean([r / g if g else 0 for r, g, t in zip(right, given, true) if g or t])}
    assert evaluation.figures == pytest.approx(expected, abs=1e-12)
    with pytest.raises(rynd.ArgumentError, match="label 12 is outside the 12 classes"):
        evaluation.add([0], 12)


def test_maps():
    rng = np.random.default_rng(1)
    evaluation = Evaluation("segment", 6)
    matrix = np.zeros((6, 6), "int64")
    for shape in ((5, 7), (16, 3)):
        truth = rng.choice([0, 1, 2, 4, 255], shape).astype("uint8")
        found = np.where(rng.random(shape) < 0.6, truth % 250, 3).astype("int64")
        evaluation.add(found, truth, 255)
        np.add.at(matrix, (truth[truth != 255], found[truth != 255]), 1)
    union = matrix.sum(0) + matrix.sum(1) - np.diag(matrix)
    iou = np.diag(matrix)[union > 0] / union[union > 0]
    true = matrix.sum(1)
    expected = {"mean_iou": iou.mean(), "pixel_accuracy": np.diag(matrix).sum() / matrix.sum(), "recall": (np.diag(matrix)[true > 0] / true[true > 0]).mean()}
    assert evaluation.figures == pytest.approx(expected, abs=1e-12)
    assert np.isnan(evaluation.classes[5].iou) and evaluation.classes[3].iou == 0


def gaussian_means(picture):
    """Means over windows of 11x11 with Gaussian weights of deviation 1.5, by the definition."""
    line = np.exp(-((np.arange(11) - 5) ** 2) / (2 * 1.5**2))
    window = np.outer(line, line) / line.sum() ** 2
    picture = np.pad(picture, ((5, 5), (5, 5), (0, 0)), "reflect")
    return np.einsum("yxcij,ij->yxc", np.lib.stride_tricks.sliding_window_view(picture, (11, 11), (0, 1)), window)


def test_pictures():
    """As torchmetrics' StructuralSimilarityIndexMeasure(data_range=255) and PeakSignalNoiseRatio(data_range=255, dim=(1, 2, 3))."""
    rng = np.random.default_rng(2)
    evaluation = Evaluation("image")
    psnr, ssim = [], []
    for shape in ((11, 11, 1), (20, 33, 3)):
        a = rng.integers(0, 256, shape).astype("uint8")
        b = np.clip(a + rng.normal(0, 12, shape), 0, 255).astype("uint8")
        evaluation.add(b, a)
        x, y = a.astype(float), b.astype(float)
        mx, my = gaussian_means(x), gaussian_means(y)
        vx, vy, both = gaussian_means(x * x) - mx * mx, gaussian_means(y * y) - my * my, gaussian_means(x * y) - mx * my
        c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
        ssim.append(((2 * mx * my + c1) * (2 * both + c2) / ((mx**2 + my**2 + c1) * (vx + vy + c2))).mean())
        psnr.append(10 * np.log10(255**2 / ((x - y) ** 2).mean()))
    assert evaluation.figures == pytest.approx({"psnr": np.mean(psnr), "ssim": np.mean(ssim)}, abs=1e-9)


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A model whose scores are its input, and rows of it with their classes. The command is on PATH."""
    monkeypatch.setenv("PATH", str(pathlib.Path(rynd.__file__).parents[2] / "bin"), prepend=os.pathsep)
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 6])] for name in "xy"]
    onnx.save(helper.make_model(helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", *ends), opset_imports=[helper.make_opsetid("", 13)], ir_version=8),
              tmp_path / "m.onnx")
    x, y = np.random.default_rng(3).standard_normal((30, 6)).astype("float32"), np.arange(30) % 6
    np.savez(tmp_path / "d.npz", x=x, y=y)
    return tmp_path / "m.onnx", tmp_path / "d.npz", x, y


def test_evaluate(small, tmp_path):
    model, data, x, y = small
    found = rynd.tasks.evaluate(model, data)
    evaluation = Evaluation("classify", 6)
    for row, label in zip(x, y):
        evaluation.add(list(map(int, np.argsort(-row))), int(label))
    assert found.figures == pytest.approx(evaluation.figures) and found.pictures == 30 and found.agreement is None
    assert found.confusion == {(t, f): n for (t, f), n in np.ndenumerate(evaluation.confusion) if n}
    assert [c[3:6] for c in found.classes] == [pytest.approx(c[3:6]) for c in evaluation.classes]
    assert "top1" in str(found) and "30 pictures" in repr(found) and "top1=" in repr(evaluation) and "best class" in evaluation.about["top1"]
    first, second = rynd.tasks.evaluate(rynd.load(model), data, against=model, examples=10, threads=1)
    assert first.figures == second.figures and second.agreement == 1 and first.pictures == 10
    first, second = rynd.tasks.evaluate(model, data, against_accuracy="strict", confusion=tmp_path / "c.svg")
    assert first.figures == second.figures and (tmp_path / "c.svg").read_text().startswith("<")
    with pytest.raises(rynd.Error, match="no.npz"):
        rynd.tasks.evaluate(model, tmp_path / "no.npz")
    with pytest.raises(rynd.ArgumentError, match="--bogus"):
        rynd.tasks.evaluate(model, data, bogus=1)
    with pytest.raises(rynd.ArgumentError, match="'guess'"):
        Evaluation("guess", 6)
    with pytest.raises(rynd.ArgumentError, match="confusion"):
        Evaluation("image").confusion
