# SPDX-License-Identifier: Apache-2.0
"""rynd run --task detect on trained detectors, against the programs that they are published with."""

import numpy as np
import pytest
from detectors import as_rows, best, centres, suppressed
from PIL import Image
from test_trained_models import model as trained


def onnx_outputs(path, x):
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path))
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, {session.get_inputs()[0].name: x})))


def bilinear(picture, height, width):
    """cv2.resize with INTER_LINEAR, in floats."""
    def places(size, to):
        p = np.clip((np.arange(to) + 0.5) * size / to - 0.5, 0, size - 1)
        low = np.floor(p).astype(int)
        return low, np.minimum(low + 1, size - 1), (p - low)
    y0, y1, v = places(picture.shape[0], height)
    x0, x1, u = places(picture.shape[1], width)
    rows = picture[y0] * (1 - v)[:, None, None] + picture[y1] * v[:, None, None]
    return rows[:, x0] * (1 - u)[None, :, None] + rows[:, x1] * u[None, :, None]


def matched(result, expected):
    """As many boxes, each within one pixel."""
    found = as_rows(result)
    assert len(found) == len(expected) > 0
    for label, score, *box in expected:
        near = [row for row in found if row[0] == label and np.abs(np.array(row[2:]) - box).max() < 1]
        assert any(abs(row[1] - score) < 0.01 for row in near), (label, score, box)


def clipped(boxes, picture):
    return np.clip(boxes, 0, [picture.shape[1], picture.shape[0]] * 2)


def test_yolox_nano_as_its_demo(ran, tmp_path):
    """As the demo of YOLOX for ONNX Runtime: preproc, demo_postprocess, class-wise suppression."""
    path = trained("yolox_nano", "yolox_nano.onnx")
    file = path.parent / "000000000139.jpg"
    picture = np.asarray(Image.open(file).convert("RGB"), float)[..., ::-1]
    ratio = min(416 / picture.shape[0], 416 / picture.shape[1])
    height, width = int(picture.shape[0] * ratio), int(picture.shape[1] * ratio)
    x = np.full((416, 416, 3), 114.0)
    x[:height, :width] = bilinear(picture, height, width)
    (raw,) = onnx_outputs(path, x.transpose(2, 0, 1)[None].astype("float32")).values()
    raw = raw[0].astype(float)
    g = np.concatenate([np.stack([*np.meshgrid(np.arange(416 // s), np.arange(416 // s)), np.full((416 // s, 416 // s), s)], 2).reshape(-1, 3)
                        for s in (8, 16, 32)])
    boxes = centres(np.concatenate([(raw[:, :2] + g[:, :2]) * g[:, 2:], np.exp(raw[:, 2:4]) * g[:, 2:]], 1)) / ratio
    scores, labels = best(raw[:, 4:5] * raw[:, 5:])
    (result,) = ran("run", path, "-i", file, "--task", "detect", "--json", "-o", tmp_path / "out.png").results
    assert {b["name"] for b in result["boxes"]} >= {"tv", "person", "chair", "clock"}
    kept = [(l, s) for l, s, *_ in suppressed(boxes, scores, labels, 0.3, 0.45)]
    order = {(int(l), s): b for b, s, l in zip(boxes, scores, labels)}
    matched(result, [(l, s, *clipped(order[l, s], picture)) for l, s in kept])


def test_ultraface_as_its_demo(ran):
    """As the demo of UltraFace for ONNX Runtime."""
    path = trained("ultraface", "version-RFB-320.onnx")
    file = path.parent / "1.jpg"
    picture = np.asarray(Image.open(file).convert("RGB"), float)
    x = (bilinear(picture, 240, 320) - 127) / 128
    outputs = onnx_outputs(path, x.transpose(2, 0, 1)[None].astype("float32"))
    boxes, scores = outputs["boxes"][0] * np.array([picture.shape[1], picture.shape[0]] * 2), outputs["scores"][0][:, 1]
    (result,) = ran("run", path, "-i", file, "--task", "detect", "--json").results
    kept = {s for _, s, *_ in suppressed(boxes, scores, np.zeros(len(scores)), 0.7, 0.3)}
    matched(result, [(0, s, *clipped(b, picture)) for b, s in zip(boxes, scores) if s in kept])
    assert {b["name"] for b in result["boxes"]} == {"face"}


def test_yunet_as_opencv(ran):
    """cv2.FaceDetectorYN on the same input, before suppression: OpenCV suppresses boxes of whole pixels, a tenth of a face here."""
    cv2 = pytest.importorskip("cv2")
    path = trained("yunet", "yunet_n_320_320.onnx")
    file = trained("ultraface", "1.jpg")
    picture = cv2.imread(str(file))
    ratio = min(320 / picture.shape[0], 320 / picture.shape[1])
    height, width = int(picture.shape[0] * ratio), int(picture.shape[1] * ratio)
    x = np.zeros((320, 320, 3), "uint8")
    x[:height, :width] = cv2.resize(picture, (width, height))
    _, faces = cv2.FaceDetectorYN.create(str(path), "", (320, 320), 0.6, 1.0, 5000).detect(x)
    theirs = [(*clipped(row[:4] / ratio, picture), row[14]) for row in np.concatenate([faces[:, :2], faces[:, :2] + faces[:, 2:4], faces[:, 4:]], 1)]
    (result,) = ran("run", path, "-i", file, "--task", "detect", "--overlap", "1", "--json").results
    ours = [(*row[2:], row[1]) for row in as_rows(result)]
    for some, others in ((ours, theirs), (theirs, ours)):
        sure = [row for row in some if row[4] > 0.65]  # bytes there, floats here: scores at the limit differ
        assert len(sure) > 60
        assert all(np.abs(np.array(others)[:, :4] - row[:4]).max(1).min() < 1 for row in sure)
    assert all(len(b["keypoints"]) == 5 for b in result["boxes"])
