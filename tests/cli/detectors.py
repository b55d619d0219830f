# SPDX-License-Identifier: Apache-2.0
"""Detectors of random numbers: for each head outputs, and the boxes that numpy decodes from them."""

import numpy as np
from conftest import save
from onnx import helper
from PIL import Image

SIDE = 64
RNG = np.random.default_rng(7)


def constants(path, outputs, side=SIDE):
    """A model whose outputs are these arrays, whatever the picture."""
    nodes = [helper.make_node("ReduceMean", ["x"], ["mean"], axes=[0, 1, 2, 3], keepdims=0), helper.make_node("Mul", ["mean", "none"], ["zero"])]
    nodes += [helper.make_node("Add", [f"c{i}", "zero"], [name]) for i, name in enumerate(outputs)]
    values = {f"c{i}": value.astype("float32") for i, value in enumerate(outputs.values())}
    ends = [(name, "float32", value.shape) for name, value in outputs.items()]
    return save(path, nodes, [("x", "float32", [1, 3, side, side])], ends, {"none": np.float32(0), **values})


def photo(path, height=SIDE, width=SIDE):
    Image.fromarray(RNG.integers(0, 255, (height, width, 3), "uint8")).save(path)
    return path


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def centres(c):
    return np.concatenate([c[:, :2] - c[:, 2:] / 2, c[:, :2] + c[:, 2:] / 2], 1)


def grid(strides, each=1):
    """x, y, stride of each candidate, levels one after another, anchors innermost."""
    parts = []
    for s in strides:
        n = -(-SIDE // s)
        y, x, _ = np.meshgrid(np.arange(n), np.arange(n), np.arange(each), indexing="ij")
        parts.append(np.stack([x.ravel(), y.ravel(), np.full(x.size, s)], 1))
    return np.concatenate(parts).astype(float)


def anchors(table, strides):
    """Anchors of each candidate."""
    return np.concatenate([np.tile(a, ((-(-SIDE // s)) ** 2, 1)) for a, s in zip(table, strides)]).astype(float)


def suppressed(boxes, scores, labels, least, overlap):
    """Greedy suppression within a class, as torchvision's batched_nms."""
    keep, order = [], [i for i in np.argsort(-scores, kind="stable") if scores[i] >= least]
    area = lambda b: np.clip(b[2:] - b[:2], 0, None).prod()
    for i in order:
        def common(k):
            c = np.clip(np.minimum(boxes[i, 2:], boxes[k, 2:]) - np.maximum(boxes[i, :2], boxes[k, :2]), 0, None).prod()
            return c / (area(boxes[i]) + area(boxes[k]) - c)
        if not overlap or all(labels[k] != labels[i] or common(k) <= overlap for k in keep):
            keep.append(i)
    return [(int(labels[i]), scores[i], *np.clip(boxes[i], 0, SIDE)) for i in keep]


def random(*shape, low=0.0, high=1.0):
    return RNG.uniform(low, high, shape)


def sizes(count):
    """Boxes as centre and size in pixels, inside the input."""
    return np.concatenate([random(count, 2, low=10, high=54), random(count, 2, low=4, high=24)], 1)


V3 = np.array([[10, 13], [16, 30], [33, 23], [30, 61], [62, 45], [59, 119], [116, 90], [156, 198], [373, 326]], float).reshape(3, 3, 2)
V4 = np.array([[12, 16], [19, 36], [40, 28], [36, 75], [76, 55], [72, 146], [142, 110], [192, 243], [459, 401]], float).reshape(3, 3, 2)
TINY = np.array([[10, 14], [23, 27], [37, 58], [81, 82], [135, 169], [344, 319]], float).reshape(2, 3, 2)


def best(scores):
    return scores.max(1), scores.argmax(1)


def as_rows(result):
    return [(b["label"], b["score"], b["left"], b["top"], b["right"], b["bottom"]) for b in result["boxes"]]


def yolov8():
    boxes, scores = sizes(84), random(84, 3)
    return {"output0": np.concatenate([boxes, scores], 1).T[None]}, centres(boxes), *best(scores), 0.25, 0.7


def yolov8_seg():
    outputs, *rest = yolov8()
    return {"output0": np.concatenate([outputs["output0"], random(1, 32, 84)], 1), "output1": random(1, 32, 16, 16)}, *rest


def yolov8_pose():
    boxes, scores = sizes(84), random(84, 1)
    points = random(84, 17, 3, low=1, high=60)
    return {"output0": np.concatenate([boxes, scores, points.reshape(84, 51)], 1).T[None]}, centres(boxes), *best(scores), 0.25, 0.7


def yolov5(strides=(8, 16, 32)):
    count = len(grid(strides, 3))
    boxes, objects, scores = sizes(count), random(count, 1), random(count, 3)
    return {"output": np.concatenate([boxes, objects, scores], 1)[None]}, centres(boxes), *best(objects * scores), 0.25, 0.45


def yolov6():
    boxes, objects, scores = sizes(84), random(84, 1), random(84, 3)
    return {"outputs": np.concatenate([boxes, objects, scores], 1)[None]}, centres(boxes), *best(objects * scores), 0.25, 0.45


def yolox():
    g = grid((8, 16, 32))
    raw = np.concatenate([random(84, 2), random(84, 2, low=-1), random(84, 1), random(84, 3)], 1)
    boxes = np.concatenate([(raw[:, :2] + g[:, :2]) * g[:, 2:], np.exp(raw[:, 2:4]) * g[:, 2:]], 1)
    return {"output": raw[None]}, centres(boxes), *best(raw[:, 4:5] * raw[:, 5:]), 0.3, 0.45


def maps(table, strides, order, square=False, spread=(1, 1, 1)):
    """YOLO v3, v4 and v5 before decoding: random logits for each level."""
    outputs, boxes, scores = {}, [], []
    for s, level, k in zip(strides, table, spread):
        n = SIDE // s
        raw = np.concatenate([random(n * n * 3, 4, low=-1), random(n * n * 3, 4, low=-3, high=2)], 1)
        g = grid((s,), 3)
        a = np.tile(level, (n * n, 1))
        p = sigmoid(raw)
        centre = (2 * p[:, :2] - 0.5 + g[:, :2]) * s if square else (p[:, :2] * k - (k - 1) / 2 + g[:, :2]) * s
        boxes.append(centres(np.concatenate([centre, (2 * p[:, 2:4]) ** 2 * a if square else np.exp(raw[:, 2:4]) * a], 1)))
        scores.append(p[:, 4:5] * p[:, 5:])
        cube = raw.reshape(n, n, 3, 8)
        outputs[f"map{s}"] = {"nkhwc": cube.transpose(2, 0, 1, 3), "nhwkc": cube, "nChw": cube.transpose(2, 3, 0, 1).reshape(24, n, n)}[order][None]
    return outputs, np.concatenate(boxes), *best(np.concatenate(scores)), 0.25, 0.45


def yolov2_tiny():
    a = np.array([[1.08, 1.19], [3.42, 4.41], [6.63, 11.38], [9.42, 5.11], [16.62, 10.52]]) * 32
    raw = np.concatenate([random(20, 4, low=-1), random(20, 1, low=-1, high=3), random(20, 20, low=-2, high=6)], 1)
    g = grid((32,), 5)
    boxes = np.concatenate([(sigmoid(raw[:, :2]) + g[:, :2]) * 32, np.exp(raw[:, 2:4]) * np.tile(a, (4, 1))], 1)
    scores = sigmoid(raw[:, 4:5]) * softmax(raw[:, 5:])
    return {"grid": raw.reshape(2, 2, 5, 25).transpose(2, 3, 0, 1).reshape(1, 125, 2, 2)}, centres(boxes), *best(scores), 0.3, 0.45


def yunet():
    outputs, boxes, scores = {}, [], []
    for s in (8, 16, 32):
        g = grid((s,))
        n = len(g)
        cls, obj, box = random(n, 1), random(n, 1), random(n, 4, low=-0.5)
        outputs |= {f"cls_{s}": cls[None], f"obj_{s}": obj[None], f"bbox_{s}": box[None], f"kps_{s}": random(1, n, 10)}
        boxes.append(centres(np.concatenate([(box[:, :2] + g[:, :2]) * s, np.exp(box[:, 2:]) * s], 1)))
        scores.append(np.sqrt(cls * obj))
    ordered = {f"{part}_{s}": outputs[f"{part}_{s}"] for part in ("cls", "obj", "bbox", "kps") for s in (8, 16, 32)}
    return ordered, np.concatenate(boxes), *best(np.concatenate(scores)), 0.6, 0.3


def distances(raw, g, offset):
    d = (softmax(raw.reshape(-1, 4, 8)) * np.arange(8)).sum(2) * g[:, 2:]
    c = (g[:, :2] + offset) * g[:, 2:]
    return np.concatenate([c - d[:, :2], c + d[:, 2:]], 1)


def nanodet():
    outputs, boxes, scores = {}, [], []
    for s in (8, 16, 32):
        g = grid((s,))
        cls, dis = random(len(g), 3), random(len(g), 32, low=-3, high=3)
        outputs |= {f"cls_pred_stride_{s}": cls[None], f"dis_pred_stride_{s}": dis[None]}
        boxes.append(distances(dis, g, 0.5))
        scores.append(cls)
    return outputs, np.concatenate(boxes), *best(np.concatenate(scores)), 0.35, 0.6


def nanodet_plus():
    g = grid((8, 16, 32, 64))
    cls, dis = random(len(g), 3), random(len(g), 32, low=-3, high=3)
    return {"output": np.concatenate([cls, dis], 1)[None]}, distances(dis, g, 0), *best(cls), 0.35, 0.6


def fastestdet():
    g = grid((16,))
    obj, reg, cls = random(16, 1), random(16, 4, low=-1), random(16, 3)
    boxes = np.concatenate([(np.tanh(reg[:, :2]) + g[:, :2]) * 16, sigmoid(reg[:, 2:]) * SIDE], 1)
    raw = np.concatenate([obj, reg, cls], 1).T.reshape(1, 8, 4, 4)
    return {"758": raw}, centres(boxes), *best(obj**0.6 * cls**0.4), 0.5, 0.45


def prior_boxes(raw, prior):
    return centres(np.concatenate([prior[:, :2] + 0.1 * raw[:, :2] * prior[:, 2:], prior[:, 2:] * np.exp(0.2 * raw[:, 2:])], 1))


def ssd():
    prior, raw, logits = sizes(50), random(50, 4, low=-1), random(50, 4, low=-2, high=4)
    return {"loc": raw[None], "conf": logits[None], "prior": prior / SIDE}, prior_boxes(raw, prior), *best(softmax(logits)[:, 1:]), 0.4, 0.45


def retinaface():
    g = grid((8, 16, 32), 2)
    a = anchors([[[16, 16], [32, 32]], [[64, 64], [128, 128]], [[256, 256], [512, 512]]], (8, 16, 32))
    prior = np.concatenate([(g[:, :2] + 0.5) * g[:, 2:], a], 1)
    raw, p = random(168, 4, low=-1), softmax(random(168, 2, low=-2, high=2))
    return {"loc": raw[None], "conf": p[None], "landms": random(1, 168, 10)}, prior_boxes(raw, prior), *best(p[:, 1:]), 0.6, 0.4


def corners(count=40):
    return centres(sizes(count))


def ultraface():
    boxes, p = corners(), softmax(random(40, 2, low=-2, high=4))
    return {"scores": p[None], "boxes": boxes[None] / SIDE}, boxes, *best(p[:, 1:]), 0.7, 0.3


def pytorch_ssd():
    boxes, p = corners(), softmax(random(40, 5, low=-2, high=4))
    return {"scores": p[None], "boxes": boxes[None] / SIDE}, boxes, *best(p[:, 1:]), 0.4, 0.45


def yolov4_pytorch():
    boxes, scores = corners(), random(40, 3)
    return {"boxes": boxes[None, :, None] / SIDE, "confs": scores[None]}, boxes, *best(scores), 0.4, 0.6


def yolo_nas():
    boxes, scores = corners(84), random(84, 3)
    return {"a": boxes[None], "b": scores[None]}, boxes, *best(scores), 0.25, 0.7


def detr():
    boxes, logits = sizes(100), random(100, 6, low=-2, high=6)
    return {"logits": logits[None], "pred_boxes": boxes[None] / SIDE}, centres(boxes), *best(softmax(logits)[:, :-1]), 0.7, 0


def rt_detr(logits_name="logits", boxes_name="pred_boxes"):
    boxes, logits = sizes(30), random(30, 6, low=-4, high=2)
    return {logits_name: logits[None], boxes_name: boxes[None] / SIDE}, centres(boxes), *best(sigmoid(logits)), 0.5, 0


def rt_detr_ultralytics():
    boxes, scores = sizes(300), random(300, 5)
    return {"output0": np.concatenate([boxes / SIDE, scores], 1)[None]}, centres(boxes), *best(scores), 0.25, 0


def ended():
    """Boxes after suppression: corners, scores, labels."""
    return corners(30), random(30), RNG.integers(0, 5, 30)


def yolo_end():
    boxes, scores, labels = ended()
    return {"output0": np.concatenate([boxes, scores[:, None], labels[:, None]], 1)[None]}, boxes, scores, labels, 0.25, 0


def yolo_end_pose():
    outputs, *rest = yolo_end()
    return {"output0": np.concatenate([outputs["output0"], random(1, 30, 51)], 2)}, *rest


def yolov7_end():
    boxes, scores, labels = ended()
    zeros = np.zeros((30, 1))
    return {"output": np.concatenate([zeros, boxes, labels[:, None], scores[:, None]], 1)}, boxes, scores, labels, 0.25, 0


def tensorflow():
    boxes, scores, labels = ended()
    outputs = {"num_detections": np.array([30.0]), "detection_boxes": boxes[None][..., [1, 0, 3, 2]] / SIDE, "detection_scores": scores[None],
               "detection_classes": labels[None] + 1}
    return outputs, boxes, scores, labels, 0.4, 0


def plugin():
    boxes, scores, labels = ended()
    return {"num_dets": np.array([[30.0]]), "det_boxes": boxes[None], "det_scores": scores[None], "det_classes": labels[None]}, boxes, scores, labels, 0.25, 0


def ssd_zoo():
    boxes, scores, labels = ended()
    return {"bboxes": boxes[None] / SIDE, "labels": labels[None] + 1, "scores": scores[None]}, boxes, scores, labels, 0.4, 0


def torchvision():
    boxes, scores, labels = ended()
    return {"boxes": boxes, "labels": labels, "scores": scores}, boxes, scores, labels, 0.5, 0


HEADS = {
    "yunet": yunet, "nanodet": nanodet, "tensorflow": tensorflow, "suppressed": plugin, "ssd-suppressed": ssd_zoo, "torchvision": torchvision,
    "ultraface": ultraface, "pytorch-ssd": pytorch_ssd, "yolov4-pytorch": yolov4_pytorch, "detr": detr,
    "rf-detr": lambda: rt_detr("labels", "dets"), "rt-detr": rt_detr, "yolov6": yolov6, "yolox": yolox, "nanodet-plus": nanodet_plus,
    "yolov5": yolov5, "yolov5-p6": lambda: yolov5((8, 16, 32, 64)), "yolov8-pose": yolov8_pose, "yolov8-seg": yolov8_seg, "yolov8": yolov8,
    "yolo-end": yolo_end, "yolo-end-pose": yolo_end_pose, "yolov7-end": yolov7_end, "rt-detr-ultralytics": rt_detr_ultralytics,
    "retinaface": retinaface, "ssd": ssd, "yolo-nas": yolo_nas,
    "yolov5-maps": lambda: maps(V3, (8, 16, 32), "nkhwc", square=True),
    "yolov4": lambda: maps(V4, (8, 16, 32), "nhwkc", spread=(1.2, 1.1, 1.05)),
    "yolov3": lambda: maps(V3, (8, 16, 32), "nChw"),
    "yolov4-maps": lambda: maps(V4, (8, 16, 32), "nChw", spread=(1.2, 1.1, 1.05)),
    "yolov3-tiny": lambda: maps(TINY, (16, 32), "nChw"),
    "yolov2-tiny": yolov2_tiny, "fastestdet": fastestdet,
}
