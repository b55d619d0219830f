# SPDX-License-Identifier: Apache-2.0
"""From a picture to boxes, masks and classes (docs/tasks.md), as `rynd run --task` does it. Needs numpy, and Pillow for files.

    boxes = rynd.tasks.detect("yolov8n.onnx", "photo.jpg")
    rynd.tasks.draw("photo.jpg", boxes)                       # a picture with them, as an array
    classes = rynd.tasks.segment("deeplab.onnx", "photo.jpg") # an array [height, width]
    best = rynd.tasks.classify("squeezenet.onnx", "photo.jpg", scale=1)
    found = rynd.tasks.evaluate("squeezenet.onnx", "photos", scale=1)    # figures on data with known answers

model: a rynd.Model, or what rynd.load takes. picture: a path, or an array [height, width, 3] of red, green, blue from 0 to 255 (or grey, [height,
width] or [height, width, 1]). labels: a list of class names, the path of a file with one on each line, or "coco", "voc", "face"; default: the
names in the model's metadata.
fit: "stretch", "letterbox", "corner" or "crop". scale, mean, deviation, bgr: values of the input, (pixel * scale - mean) / deviation. size: of
an input with open height and width, (height, width). What is not given comes from the model's metadata, where `rynd train` writes it.
"""

import ast
import os
import re
from collections import namedtuple

from . import _rynd
from .errors import ArgumentError, ShapeError
from .evaluation import ClassFigures, Evaluated, Evaluation, Object, Speed, evaluate  # noqa: F401  part of this module
from .model import Model, load

Box = namedtuple("Box", "left top right bottom score label name keypoints")
Box.__doc__ = """A detected object: corners in the photo's pixels, score from 0 to 1, class index, class name or None, list of keypoints (x, y)."""
Class = namedtuple("Class", "label score name")
Class.__doc__ = """A class of a picture: index, probability, name or None."""
Head = namedtuple("Head", "name about classes labels preparation score overlap")
Head.__doc__ = """How a detector codes its boxes: name, networks and output shapes, number of classes (0: not told), likely set of labels or None,
preparation of pictures, default least score and largest overlap."""
Preparation = namedtuple("Preparation", "fit share fill bgr no_antialias scale mean deviation", defaults=("stretch", 0.0, 0.0, False, False, 1.0, (0.0,) * 3, (1.0,) * 3))
Preparation.__doc__ = """How a picture becomes an input: fit, part of the shorter side that a crop keeps, value around the picture, channel order, filter,
and values: (pixel * scale - mean) / deviation."""

_FITS = ("stretch", "letterbox", "corner", "crop")
_DTYPES = {"f32": "float32", "f16": "float16", "f64": "float64", "u8": "uint8", "i8": "int8"}
_IMAGENET = Preparation(share=224 / 256, scale=1 / 255, mean=(0.485, 0.456, 0.406), deviation=(0.229, 0.224, 0.225))
_CAFFE = Preparation(share=224 / 256, bgr=True, mean=(104.0, 117.0, 123.0))
_TENSORFLOW = Preparation(share=224 / 256, scale=1 / 127.5, mean=(1.0, 1.0, 1.0))


def _head(row):
    return Head(*row[:4], Preparation(_FITS[row[4][0]], *row[4][1:]), *row[5:])


def heads():
    """All detection heads, a list of Head."""
    return [_head(row) for row in _rynd.heads()]


def head(model, name=None):
    """The head of a model, by the names and shapes of its outputs, or the one called `name`, which must fit. Raises UnsupportedError."""
    return _head(_rynd.model_head(_model(model)._first(), name))


def _stripped(lines):
    """Without a number or ImageNet's code before the names, if all have it."""
    for pattern in (lambda i: rf"{i}[,:; \t]+", lambda i: r"n\d{8}[,: \t]+(?=.)"):
        found = [re.match(pattern(i), line) for i, line in enumerate(lines)]
        if all(match or not line for match, line in zip(found, lines)):
            lines = [line[match.end() if match else 0:] for match, line in zip(found, lines)]
    return lines


def labels(source):
    """Class names of a data set ("coco", "voc", "face"), of a file, or of a list; None: no names."""
    if source is None or isinstance(source, (list, tuple)):
        return list(source or [])
    if os.path.exists(source):
        with open(source, encoding="utf-8") as file:
            return _stripped(file.read().splitlines())
    return _rynd.labels(os.fspath(source))


def _model(model):
    return model if isinstance(model, Model) else load(model)


def _picture(picture):
    import numpy
    if isinstance(picture, (str, os.PathLike)):
        from PIL import Image, ImageOps
        with Image.open(picture) as image:
            return numpy.array(ImageOps.exif_transpose(image).convert("RGB"))
    picture = numpy.asarray(picture)
    return picture[..., None] if picture.ndim == 2 else picture


def _input(model, size):
    """Shape and numpy dtype of the only input for one picture; whether channels are last."""
    if len(model.inputs) != 1:
        raise ArgumentError(f"the model has {len(model.inputs)} inputs; a task needs one")
    value = model.inputs[0]
    shape = list(value.shape) if value.shape is not None else [1, 3, "height", "width"]
    last = len(shape) == 4 and shape[1] not in (1, 3) and shape[3] in (1, 3)
    if len(shape) != 4 or value.dtype not in _DTYPES:
        raise ShapeError(f"input '{value.name}' {value.dtype} {shape} takes no picture")
    rows = 1 if last else 2
    known = [1 if i == 0 else size[i - rows] if i in (rows, rows + 1) else 3 for i in range(4)]
    return [d if isinstance(d, int) and d > 0 and i > 0 else known[i] for i, d in enumerate(shape)], _DTYPES[value.dtype], last


def _changed(preparation, fit, scale, mean, deviation, bgr):
    """Values replace all of the preparation's, as the command's options do."""
    if scale is not None or mean is not None or deviation is not None:
        triple = lambda value, default: (float(default),) * 3 if value is None else tuple(map(float, value)) if hasattr(value, "__len__") else (float(value),) * 3
        preparation = preparation._replace(scale=float(scale or 1), mean=triple(mean, 0), deviation=triple(deviation, 1))
    if bgr is not None:
        preparation = preparation._replace(bgr=bgr)
    return preparation if fit is None else preparation._replace(fit=fit)


def _run(model, picture, preparation, shape, dtype):
    """Outputs as a list, and the frame."""
    import numpy
    if preparation.fit not in _FITS:
        raise ArgumentError(f"fit {preparation.fit!r}: give one of {', '.join(_FITS)}")
    values = numpy.zeros(shape, dtype)
    frame = _rynd.prepare(picture, (_FITS.index(preparation.fit), *preparation[1:]), values, 0)
    outputs = model(values)
    return list(outputs) if isinstance(outputs, tuple) else [outputs], frame


def _names(model):
    """Class names in the model's metadata, a dict or a list of Python or JSON; none or another form: no names."""
    try:
        names = ast.literal_eval(model.metadata.get("names", "[]"))
    except (ValueError, SyntaxError):
        return []
    if isinstance(names, dict):
        names = {int(key): name for key, name in names.items() if str(key).isdigit() and int(key) < 1 << 20}
        return [names.get(i) for i in range(max(names, default=-1) + 1)]
    return list(names) if isinstance(names, (list, tuple)) else []


def _facts(model):
    """The preparation of pictures in the model's metadata: lists of numbers (and "rgb" or "bgr") by option."""
    words = model.metadata.get("rynd.pictures", "").split()
    return {key[2:]: [value] if key == "--channels" else [float(v) for v in re.split("[x,]", value)] for key, value in zip(words[::2], words[1::2])}


def _prepared(preparation, facts):
    size, crop = facts.get("size", []), facts.get("crop", [])
    if len(size) == 1 and crop and size[0] >= crop[0]:
        preparation = preparation._replace(fit="crop", share=crop[0] / size[0])
    elif len(size) == 2 and not crop:
        preparation = preparation._replace(fit="stretch")
    first = lambda name: values[0] if len(values := facts.get(name, [])) == 1 else values or None
    return _changed(preparation, None, first("scale"), first("mean"), first("std"), facts["channels"] == ["bgr"] if "channels" in facts else None)


def _usual(model, fit, size, options):
    shape, dtype, last = _input(model, size)
    usual = _CAFFE if "caffe" in model.info["producer"] else _TENSORFLOW if last else _IMAGENET
    return shape, dtype, last, _changed(_prepared(usual._replace(fit=fit), _facts(model)), **options)


def _open_size(model, otherwise):
    """Sides of an open input: those in the metadata."""
    facts = _facts(model)
    side = facts.get("crop") or facts.get("size")
    return [int(side[0]), int(side[-1])] if side else otherwise


def detect(model, picture, head=None, score=0, overlap=0, labels=None, size=None, fit=None, scale=None, mean=None, deviation=None, bgr=None):
    """Finds objects; returns a list of Box, best score first.

    head: its name; None: found. score: least score; overlap: most intersection over union of two boxes of one class; 0: the head's. Raises
    UnsupportedError if no head fits."""
    model, picture = _model(model), _picture(picture)
    found = _head(_rynd.model_head(model._first(), head))
    names = globals()["labels"](labels if labels is not None else _names(model) or found.labels)
    shape, dtype, last = _input(model, size or _open_size(model, (640, 640)))
    outputs, frame = _run(model, picture, _changed(_prepared(found.preparation, _facts(model)), fit, scale, mean, deviation, bgr), shape, dtype)
    rows = _rynd.detect(head, [value.name for value in model.outputs], outputs, *(shape[1:3] if last else shape[2:]), 0, frame, score, overlap)
    return [Box(*row[:6], names[row[5]] if 0 <= row[5] < len(names) else None, row[6]) for row in rows]


def segment(model, picture, output=0, size=None, fit=None, scale=None, mean=None, deviation=None, bgr=None):
    """Finds the class of each pixel; returns an array [height, width] of uint16. output: index of the output with the scores."""
    import numpy
    model, picture = _model(model), _picture(picture)
    ratio = min(1, 520 / min(picture.shape[:2]))
    size = size or _open_size(model, [(int(side * ratio) + 31) // 32 * 32 for side in picture.shape[:2]])
    shape, dtype, last, preparation = _usual(model, "stretch", size, {"fit": fit, "scale": scale, "mean": mean, "deviation": deviation, "bgr": bgr})
    outputs, frame = _run(model, picture, preparation, shape, dtype)
    classes = numpy.zeros(picture.shape[:2], "uint16")
    _rynd.segment(outputs[output], 0, frame, *(shape[1:3] if last else shape[2:]), classes)
    return classes


def classify(model, picture, top=5, labels=None, output=0, size=None, fit=None, scale=None, mean=None, deviation=None, bgr=None):
    """Names a picture; returns the `top` best classes, a list of Class."""
    model, picture = _model(model), _picture(picture)
    names = _names(model) if labels is None else globals()["labels"](labels)
    shape, dtype, _, preparation = _usual(model, "crop", size or _open_size(model, (224, 224)), {"fit": fit, "scale": scale, "mean": mean, "deviation": deviation, "bgr": bgr})
    outputs, _ = _run(model, picture, preparation, shape, dtype)
    return [Class(*row, names[row[0]] if row[0] < len(names) else None) for row in _rynd.classify(outputs[output], 0, top)]


def draw(picture, found, labels=None, opacity=0.5):
    """A copy of the picture, uint8 [height, width, 3], with boxes (a list of Box) or with the colours of classes (an array of segment)."""
    import numpy
    picture = _picture(picture)
    copy = numpy.clip(numpy.rint(numpy.repeat(picture, 3 // picture.shape[-1], -1)), 0, 255).astype("uint8")
    if not isinstance(found, list):
        _rynd.draw_classes(copy, found, opacity)
        return copy
    names = dict(enumerate(globals()["labels"](labels)))
    names.update({box.label: box.name for box in found if box.name})
    _rynd.draw_boxes(copy, [(*box[:6], box.keypoints) for box in found], [names.get(i, str(i)) for i in range(max(names, default=-1) + 1)])
    return copy
