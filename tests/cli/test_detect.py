# SPDX-License-Identifier: Apache-2.0
"""rynd run --task detect: each head of src/tasks/heads.c against a decoder in numpy, on outputs of random numbers."""

import numpy as np
import pytest
from conftest import save
from detectors import HEADS, RNG, as_rows, best, constants, photo, prior_boxes, random, softmax, suppressed, yolov8
from onnx import helper
from PIL import Image


def same(found, expected):
    assert len(found) == len(expected)
    assert [row[0] for row in found] == [row[0] for row in expected]
    np.testing.assert_allclose([row[1] for row in found], [row[1] for row in expected], atol=1e-5)
    np.testing.assert_allclose([row[2:] for row in found], [row[2:] for row in expected], atol=0.01)


@pytest.mark.parametrize("head", HEADS)
def test_head(head, ran, tmp_path):
    outputs, boxes, scores, labels, least, overlap = HEADS[head]()
    path = constants(tmp_path / "m.onnx", outputs)
    options = ["--head", head] if head == "yolov4-maps" else []
    (result,) = ran("run", path, "-i", photo(tmp_path / "p.png"), "--task", "detect", "--json", *options).results
    assert result["head"] == head
    expected = suppressed(boxes, scores, labels, least, overlap)
    assert expected
    same(as_rows(result), expected)


def test_ssd300(ran, tmp_path):
    """8,732 priors, made as in ssd.pytorch's PriorBox."""
    prior = []
    for k, (f, step, low, high, ratios) in enumerate(zip([38, 19, 10, 5, 3, 1], [8, 16, 32, 64, 100, 300], [30, 60, 111, 162, 213, 264],
                                                          [60, 111, 162, 213, 264, 315], [[2], [2, 3], [2, 3], [2, 3], [2], [2]])):
        for i in range(f):
            for j in range(f):
                cx, cy, s = (j + 0.5) * step, (i + 0.5) * step, float(low)
                prior += [[cx, cy, s, s], [cx, cy, np.sqrt(s * high), np.sqrt(s * high)]]
                for r in ratios:
                    prior += [[cx, cy, s * np.sqrt(r), s / np.sqrt(r)], [cx, cy, s / np.sqrt(r), s * np.sqrt(r)]]
    prior = np.array(prior)
    assert len(prior) == 8732
    logits = np.zeros((8732, 3))
    logits[:, 0] = 5
    chosen = RNG.choice(8732, 40, replace=False)
    logits[chosen, RNG.integers(1, 3, 40)] = RNG.uniform(6, 9, 40)
    raw = random(8732, 4, low=-1)
    path = constants(tmp_path / "m.onnx", {"loc": raw[None], "conf": logits[None]}, 300)
    (result,) = ran("run", path, "-i", photo(tmp_path / "p.png", 300, 300), "--task", "detect", "--overlap", "1", "--json").results
    assert result["head"] == "ssd300"
    boxes, (scores, labels) = np.clip(prior_boxes(raw, prior), 0, 300), best(softmax(logits)[:, 1:])
    order = [i for i in np.argsort(-scores, kind="stable") if scores[i] >= 0.4]
    same(as_rows(result), [(labels[i], scores[i], *boxes[i]) for i in order])


def test_letterbox_and_options(ran, tmp_path):
    """A photo of 100x200 in an input of 64x64 is scaled by 0.32, with 16 rows above."""
    boxes = np.array([[32, 32, 20, 10], [33, 32, 20, 10], [10, 30, 8, 8]], float)
    raw = np.zeros((84, 5))
    raw[:3, :4], raw[:3, 4] = boxes, [0.9, 0.8, 0.3]
    path = constants(tmp_path / "m.onnx", {"output0": raw.T[None]})
    picture = photo(tmp_path / "p.jpg", 100, 200)
    command = ["run", path, "-i", picture, "--task", "detect", "--head", "yolov8", "--json"]
    (result,) = ran(*command).results
    assert (result["height"], result["width"]) == (100, 200)
    found = as_rows(result)
    assert len(found) == 2
    np.testing.assert_allclose(found[0][2:], [22 / 0.32, 11 / 0.32, 42 / 0.32, 21 / 0.32], atol=0.01)
    assert len(ran(*command, "--score", "0.5").results[0]["boxes"]) == 1
    assert len(ran(*command, "--overlap", "0.95").results[0]["boxes"]) == 3
    stretched = as_rows(ran(*command, "--fit", "stretch").results[0])
    np.testing.assert_allclose(stretched[0][2:], [22 * 200 / 64, 27 * 100 / 64, 42 * 200 / 64, 37 * 100 / 64], atol=0.01)


def test_drawing_and_labels(ran, tmp_path):
    raw = np.zeros((84, 6))
    raw[0] = [32, 32, 40, 30, 0, 0.9]
    path = constants(tmp_path / "m.onnx", {"output0": raw.T[None]})
    Image.new("RGB", (128, 128), (10, 10, 10)).save(tmp_path / "p.png")
    (tmp_path / "names.txt").write_text("one\ntwo things\n")
    out = ran("run", path, "-i", tmp_path / "p.png", "--task", "detect", "--labels", tmp_path / "names.txt", "-o", tmp_path / "d.png").out
    assert "two things" in out and "0.900" in out and "d.png" in out
    drawn = np.asarray(Image.open(tmp_path / "d.png"))
    assert drawn.shape == (128, 128, 3)
    left, middle = drawn[64, 24], drawn[64, 64]  # the box is from 24 to 104, 34 to 94
    assert left.max() > 100 and (middle == 10).all() and (drawn[64, 22] == 10).all()
    ran("run", path, "-i", tmp_path / "p.png", "--task", "detect", "-o", tmp_path / "d.jpg")
    assert Image.open(tmp_path / "d.jpg").format == "JPEG"


def test_wrong_uses(rynd, tmp_path):
    picture = photo(tmp_path / "p.png")
    unknown = constants(tmp_path / "u.onnx", {"strange": random(1, 7, 3)})
    detect = ["-i", picture, "--task", "detect"]
    rynd("run", unknown, *detect).failed("none of the known detection heads", "64x64", "strange [1, 7, 3]")
    rynd("run", unknown, *detect, "--head", "yolov8").failed("head 'yolov8'", "strange [1, 7, 3]")
    rynd("run", unknown, *detect, "--head", "yolo99").failed("no head is called 'yolo99'", "yolov8")
    good = constants(tmp_path / "g.onnx", {"output0": random(1, 6, 84)})
    rynd("run", good, "-i", picture, "--head", "yolov8").failed("--head needs --task", code=2)
    rynd("run", good, "--task", "detect").failed("give --input", code=2)
    rynd("run", good, *detect, "-o", tmp_path / "x.npy").failed(".png or .jpg", code=2)
    rynd("run", good, *detect, "-i", picture, "-o", tmp_path / "x.png").failed("there are 2", "folder", code=2)
    rynd("run", good, *detect, "--size", "32x32").failed("--size", code=2)
    rynd("run", good, *detect, "--crop", "32").failed("--crop", "--fit crop", code=2)
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n")
    rynd("run", good, "-i", tmp_path / "broken.png", "--task", "detect").failed("broken.png")
    np.save(tmp_path / "a.npy", np.zeros(3))
    rynd("run", good, "-i", tmp_path / "a.npy", "--task", "detect").failed("takes pictures", code=2)


def test_a_folder_and_open_batches(ran, tmp_path):
    """One line a picture, a file for each in -o; a batch whose dimension is open gives the same boxes as one after another."""
    source, target = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    for name, (height, width) in {"a.png": (64, 64), "b.jpg": (100, 80), "c.png": (40, 90)}.items():
        photo(source / name, height, width)
    raw = yolov8()[0]["output0"].astype("float32")
    for batch in (1, "N"):
        nodes = [helper.make_node("ReduceMean", ["x"], ["mean"], axes=[2, 3], keepdims=0), helper.make_node("Slice", ["mean", "b", "e", "a"], ["one"]),
                 helper.make_node("Unsqueeze", ["one", "a"], ["column"]), helper.make_node("Add", ["column", "raw"], ["output0"])]
        values = {"raw": raw, "b": np.array([0]), "e": np.array([1]), "a": np.array([1])}
        save(tmp_path / f"{batch}.onnx", nodes, [("x", "float32", [batch, 3, 64, 64])], [("output0", "float32", [batch, *raw.shape[1:]])], values)
    command = ["-i", source, "--task", "detect"]
    lines = ran("run", tmp_path / "1.onnx", *command, "-o", f"{target}/").out.strip().splitlines()
    assert [line.split()[1] for line in lines] == ["64x64:", "100x80:", "40x90:"]
    assert sorted(p.name for p in target.iterdir()) == ["a.png", "b.jpg", "c.png"]
    assert Image.open(target / "b.jpg").size == (80, 100)
    alone = ran("run", tmp_path / "1.onnx", *command, "--json").results
    assert [r["file"] for r in alone] == [str(source / n) for n in ("a.png", "b.jpg", "c.png")]
    assert len({tuple(as_rows(r)) for r in alone}) == 3
    for options in ([], ["--batch", "2"]):
        together = ran("run", tmp_path / "N.onnx", *command, "--json", *options).results
        assert [as_rows(r) for r in together] == [as_rows(r) for r in alone]


def test_two_pictures_of_one_name(ran, tmp_path):
    path = constants(tmp_path / "m.onnx", {"output0": yolov8()[0]["output0"]})
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        photo(tmp_path / folder / "p.png")
    ran("run", path, "-i", tmp_path / "a", "-i", tmp_path / "b" / "p.png", "--task", "detect", "-o", f"{tmp_path}/out/")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["p-2.png", "p.png"]


def test_an_unreadable_picture_among_others(rynd, tmp_path):
    """The others are done; the exit code says that one is missing."""
    path = constants(tmp_path / "m.onnx", {"output0": yolov8()[0]["output0"]})
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("a.png", "c.png"):
        photo(folder / name)
    (folder / "b.png").write_bytes(b"nothing")
    done = rynd("run", path, "-i", folder, "--task", "detect", "--json")
    assert done.code == 1 and "b.png" in done.err and "1 of 3 pictures" in done.err.splitlines()[-1]
    assert [r["file"][-5:] for r in done.results] == ["a.png", "c.png"]
