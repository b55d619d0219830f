# SPDX-License-Identifier: Apache-2.0
"""The figures of rynd eval are those of torchmetrics: torchmetrics.json, which torchmetrics_data.py writes."""

import json

import numpy as np
import pytest
import torchmetrics_data as data
from conftest import save
from onnx import helper
from PIL import Image

EXPECTED = json.loads(data.TABLE.read_text())


def check(result, names, tolerance=2e-6):
    for name in names:
        assert result["figures"][name] == pytest.approx(EXPECTED[name], rel=tolerance), name


@pytest.mark.parametrize("make, names", [(data.classes, ("top1", "top5")), (data.maps, ("mean_iou",)), (data.pictures, ("psnr", "ssim"))])
def test_arrays(make, names, ran, tmp_path):
    x, y = make()
    save(tmp_path / "m.onnx", [helper.make_node("Identity", ["x"], ["y"])], [("x", "float32", ["n", *x.shape[1:]])], [("y", "float32", ["n", *x.shape[1:]])])
    np.savez(tmp_path / "d.npz", x=x, y=y)
    check(ran("eval", tmp_path / "m.onnx", "--data", tmp_path / "d.npz", "--json").results[0], names)


def test_boxes(ran, tmp_path):
    """A detector that finds the same boxes in each picture."""
    found, objects = data.boxes()
    nodes = [helper.make_node("ReduceMean", ["x"], ["m"], axes=[0, 1, 2, 3], keepdims=0), helper.make_node("Mul", ["m", "zero"], ["z"]), helper.make_node("Add", ["found", "z"], ["output0"])]
    save(tmp_path / "m.onnx", nodes, [("x", "float32", [1, 3, 96, 96])], [("output0", "float32", [1, 40, 6])], {"found": found[None], "zero": np.float32(0)})
    document = {"images": [], "annotations": [], "categories": [{"id": i, "name": f"c{i}"} for i in range(3)]}
    (tmp_path / "d").mkdir()
    (tmp_path / "labels.txt").write_text("c0\nc1\nc2\n")
    for i, each in enumerate(objects):
        Image.new("RGB", (96, 96)).save(tmp_path / "d" / f"{i}.png")
        document["images"].append({"id": i, "file_name": f"{i}.png"})
        for left, top, right, bottom, label in each:
            box = [left, top, right - left, bottom - top]
            document["annotations"].append({"id": len(document["annotations"]) + 1, "image_id": i, "category_id": label, "bbox": [float(v) for v in box], "iscrowd": 0})
    (tmp_path / "c.json").write_text(json.dumps(document))
    (result,) = ran("eval", tmp_path / "m.onnx", "--data", tmp_path / "d", "--boxes", tmp_path / "c.json", "--head", "yolo-end", "--labels", tmp_path / "labels.txt", "--json").results
    check(result, ("map", "map50", "map75", "ar1", "ar10", "ar100"))


def test_table():
    """With torchmetrics, the table is computed again."""
    pytest.importorskip("torchmetrics")
    assert data.compute() == pytest.approx(EXPECTED, rel=1e-6)
