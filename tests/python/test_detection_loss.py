# SPDX-License-Identifier: Apache-2.0
"""The loss of detection heads beside an implementation in PyTorch, or in numpy where PyTorch is missing; its gradient beside PyTorch's."""
import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import rynd

SIDE, PICTURES, CLASSES = 64, 2, 3
BOXES = numpy.array([[[1, 5, 8, 33, 40], [0, 30, 18, 63, 60.5], [-1, 0, 0, 0, 0]],
                     [[2, 8, 8, 56, 54], [2, 18, 16, 46, 48], [0, 40, 2, 62, 26]]], "f4")


def model_of(outputs):
    """Outputs that are parameters, each plus 0 times the picture."""
    nodes = [helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0), helper.make_node("Mul", ["sum", "zero"], ["nothing"])]
    weights = [numpy_helper.from_array(numpy.float32(0), "zero")]
    infos = []
    for name, value in outputs.items():
        weights.append(numpy_helper.from_array(value, name + "_weight"))
        nodes.append(helper.make_node("Add", [name + "_weight", "nothing"], [name]))
        infos.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape))
    graph = helper.make_graph(nodes, "head", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (PICTURES, 3, SIDE, SIDE))], infos, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()


def cells(strides, each=1):
    """Column, row and stride of each candidate, [A]."""
    rows = []
    for stride in strides:
        count = SIDE // stride
        rows += [(column, row, stride) for row in range(count) for column in range(count) for _ in range(each)]
    return numpy.array(rows, "f8").T


def iou_of(a, b, lib):
    """a [N, 4, 1, A], b [N, 4, M, 1]: IoU and GIoU."""
    width = lib.minimum(a[:, 2], b[:, 2]) - lib.maximum(a[:, 0], b[:, 0])
    height = lib.minimum(a[:, 3], b[:, 3]) - lib.maximum(a[:, 1], b[:, 1])
    common = width.clip(0, None) * height.clip(0, None)
    both = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1]) + (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1]) - common
    hull = (lib.maximum(a[:, 2], b[:, 2]) - lib.minimum(a[:, 0], b[:, 0])) * (lib.maximum(a[:, 3], b[:, 3]) - lib.minimum(a[:, 1], b[:, 1]))
    iou = common / both
    return iou, iou - (hull - both) / hull


def assign(boxes, scores, places):
    """Task-aligned assignment in plain loops. boxes [N, 4, A], scores [N, M, A]: weight [N, A], box index [N, A]."""
    truth = BOXES[:, :, 1:].transpose(0, 2, 1).astype("f8")[:, :, :, None]
    with numpy.errstate(all="ignore"):
        iou = iou_of(boxes[:, :, None], truth, numpy)[0]
    weight = numpy.zeros((PICTURES, boxes.shape[2]))
    index = numpy.full(weight.shape, -1)
    for n in range(PICTURES):
        overlap = numpy.full(iou[n].shape, -1.0)
        metric = scores[n] ** 0.5 * numpy.nan_to_num(iou[n]) ** 6
        for m, (label, left, top, right, bottom) in enumerate(BOXES[n]):
            if label < 0:
                continue
            if places is not None:
                x, y, stride = (places[0] + 0.5) * places[2], (places[1] + 0.5) * places[2], places[2]
                inside = (abs(x - (left + right) / 2) < numpy.maximum((right - left) / 2, stride)) & \
                         (abs(y - (top + bottom) / 2) < numpy.maximum((bottom - top) / 2, stride))
                metric[m] *= inside
            best = numpy.argsort(-metric[m], kind="stable")[:10]
            best = best[metric[m][best] > 0]
            overlap[m, best] = iou[n, m, best]
        owner = overlap.argmax(0)
        for m in range(len(BOXES[n])):
            own = (owner == m) & (overlap[m] > 0)
            if own.any():
                weight[n, own] = metric[m, own] / metric[m, own].max() * iou[n, m, own].max()
                index[n, own] = m
    return weight, index


def loss_of(lib, boxes, scores, weight, index, kind):
    """boxes [N, 4, A], scores [N, C, A], for kind "object" objectness first."""
    floats = (lambda a: lib.tensor(numpy.asarray(a, "f8"))) if lib is not numpy else numpy.asarray
    rows = numpy.arange(PICTURES)[:, None]
    labels = numpy.where(index >= 0, BOXES[rows, index.clip(0), 0], -1)
    truth = BOXES[rows, index.clip(0), 1:].transpose(0, 2, 1).astype("f8")[:, :, None]
    giou = iou_of(boxes[:, :, None], floats(truth), lib)[1][:, 0]
    sum_boxes = (floats(weight) * lib.where(floats(weight) > 0, 1 - giou, floats(0.0))).sum()
    right = (labels[:, None] == numpy.arange(CLASSES)[None, :, None]).astype("f8")

    def binary(x, t):
        return -(floats(t) * lib.log(x) + floats(1 - t) * lib.log(1 - x))
    if kind == "plain":
        sum_scores = binary(scores, right * weight[:, None]).sum()
    elif kind == "object":
        sum_scores = binary(scores[:, 0], weight).sum() + (floats(weight)[:, None] * binary(scores[:, 1:], right)).sum()
    else:
        wanted = numpy.concatenate([1 - weight[:, None], right * weight[:, None]], 1)
        sum_scores = -(floats(wanted) * (lib.log_softmax(scores, 1) if lib is not numpy else scores - numpy.log(numpy.exp(scores).sum(1, keepdims=True)))).sum()
    return (sum_scores + 5 * sum_boxes) / max(weight.sum(), 1)


def yolov8(random):
    places = cells((8, 16, 32))
    count = places.shape[1]
    value = numpy.empty((PICTURES, 4 + CLASSES, count), "f4")
    value[:, :2] = (places[:2] + 0.5) * places[2] + random.uniform(-6, 6, (PICTURES, 2, count))
    value[:, 2:4] = random.uniform(12, 50, (PICTURES, 2, count))
    value[:, 4:] = random.uniform(0.02, 0.9, (PICTURES, CLASSES, count))

    def decode(lib, given):
        raw = given["output0"]
        x, y, w, h = (raw[:, i] for i in range(4))
        return lib.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], 1), raw[:, 4:]
    return {"output0": value}, decode, places, "plain"


def yolox(random):
    places = cells((8, 16, 32))
    value = random.uniform(-1, 1, (PICTURES, places.shape[1], 5 + CLASSES)).astype("f4")
    value[..., 4:] = random.uniform(0.02, 0.9, value[..., 4:].shape)

    def decode(lib, given):
        raw = lib.moveaxis(given["output"], 2, 1)
        column, row, stride = (lib.asarray(place) for place in places)
        x, y = (raw[:, 0] + column) * stride, (raw[:, 1] + row) * stride
        w, h = lib.exp(raw[:, 2]) * stride, lib.exp(raw[:, 3]) * stride
        return lib.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], 1), raw[:, 4:]
    return {"output": value}, decode, places, "object"


def ssd(random):
    """Priors as an output, logits with the background first."""
    count = 40
    prior = random.uniform(0.2, 0.8, (count, 4)).astype("f4")
    values = {"loc": random.uniform(-1, 1, (PICTURES, count, 4)).astype("f4"),
              "conf": random.uniform(-2, 2, (PICTURES, count, 1 + CLASSES)).astype("f4"), "priors": prior}

    def decode(lib, given):
        raw, place = lib.moveaxis(given["loc"], 2, 1), lib.asarray(prior.astype("f8").T * SIDE)
        x, y = place[0] + 0.1 * raw[:, 0] * place[2], place[1] + 0.1 * raw[:, 1] * place[3]
        w, h = place[2] * lib.exp(0.2 * raw[:, 2]), place[3] * lib.exp(0.2 * raw[:, 3])
        return lib.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], 1), lib.moveaxis(given["conf"], 2, 1)
    return values, decode, None, "background"


def probabilities(scores, kind):
    if kind == "plain":
        return scores
    if kind == "object":
        return scores[:, 1:] * scores[:, :1]
    shares = numpy.exp(scores) / numpy.exp(scores).sum(1, keepdims=True)
    return shares[:, 1:]


@pytest.mark.parametrize("head", [yolov8, yolox, ssd])
def test_loss_and_gradient(head):
    try:
        import torch as lib
        lib.asarray, lib.moveaxis  # old versions lack them
    except (ImportError, AttributeError):
        lib = numpy
    values, decode, places, kind = head(numpy.random.default_rng(5))
    doubles = {name: value.astype("f8") for name, value in values.items()}
    boxes, scores = decode(numpy, doubles)
    labels = BOXES[:, :, 0].astype(int)
    score = numpy.stack([probabilities(scores, kind)[n][labels[n].clip(0)] for n in range(PICTURES)])
    weight, index = assign(boxes, score, places)
    assert weight.sum() > 1.5 and (weight > 0).sum() > 8
    trainer = rynd.Trainer(model_of(values), loss="detection", boxes=3, keep_gradients=True, accuracy="strict")
    assert trainer.target == ("f32", (PICTURES, 3, 5))
    x = numpy.zeros((PICTURES, 3, SIDE, SIDE), "f4")
    loss = trainer.step(x, BOXES, 0.0)
    assert loss == pytest.approx(float(loss_of(numpy, boxes, scores, weight, index, kind)), rel=1e-4)
    assert trainer.evaluate(x, BOXES) == pytest.approx(loss, rel=1e-5)
    assert list(trainer.outputs) == list(values)
    if lib is numpy:
        return
    given = {name: lib.tensor(value, requires_grad=True) for name, value in doubles.items()}
    boxes, scores = decode(lib, given)
    loss_of(lib, boxes, scores, weight, index, kind).backward()
    for name in values:
        if given[name].grad is not None:
            wanted = given[name].grad.numpy()
            got = trainer.gradient(name + "_weight").numpy()
            assert abs(got - wanted).max() <= 1e-4 * abs(wanted).max()


def test_targets_and_heads_are_checked():
    values = yolov8(numpy.random.default_rng(1))[0]
    model = model_of(values)
    x = numpy.zeros((PICTURES, 3, SIDE, SIDE), "f4")
    trainer = rynd.Trainer(model, loss="detection", boxes=3, head="yolov8")
    for place, number in [((0, 0, 0), 3), ((1, 1, 0), 0.5), ((1, 0, 3), 8), ((0, 1, 2), float("nan"))]:
        boxes = BOXES.copy()
        boxes[place] = number
        with pytest.raises(rynd.ShapeError, match=f"picture {place[0]}, row {place[1]}"):
            trainer.step(x, boxes, 0.1)
    with pytest.raises(rynd.ArgumentError, match="boxes is 0"):
        rynd.Trainer(model, loss="detection")
    with pytest.raises(rynd.ArgumentError, match="detection only"):
        rynd.Trainer(model, loss="mse", boxes=3)
    with pytest.raises(rynd.UnsupportedError, match="yolov5.*output0"):
        rynd.Trainer(model, loss="detection", boxes=3, head="yolov5")
    end = model_of({"output0": numpy.ones((PICTURES, 30, 6), "f4")})
    with pytest.raises(rynd.UnsupportedError, match="yolo-end.*no gradient passes"):
        rynd.Trainer(end, loss="detection", boxes=3)
    assert trainer.identity["head"] == "yolov8" and trainer.identity["boxes"] == "3"
